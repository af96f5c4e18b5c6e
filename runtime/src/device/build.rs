//! From a source text to a program of the device: from memory, from the cache folder, or by the device's compiler.

use std::ffi::{CStr, c_char};
use std::time::Instant;

use opencl3::program::Program;

use super::{Device, cache, errors, wish};

/// What a program text says that needs 64-bit floats.
const DOUBLES: &str = "cl_khr_fp64";

/// Options of the device's compiler: divisions and square roots of `float` need not be rounded correctly.
const OPTIONS: &str = "";

impl Device {
    /// Makes sure that the program of a static source text is built.
    pub(super) fn build(&mut self, source: *const c_char) -> Result<(), String> {
        let key = source as usize;
        if self.programs.built.contains_key(&key) {
            return Ok(());
        }
        // SAFETY: the source is a static text of the compiler.
        let text = unsafe { CStr::from_ptr(source) }.to_str().map_err(|e| e.to_string())?;
        let program = self.program(text)?;
        self.programs.built.insert(key, program);
        Ok(())
    }

    /// The program of a text, from the cache folder if it is there.
    pub(super) fn program(&mut self, text: &str) -> Result<Program, String> {
        let device = &self.context.device;
        if text.contains(DOUBLES) && !device.doubles {
            return Err(wish::no_doubles(&device.name));
        }
        let start = Instant::now();
        let options = OPTIONS;
        let context = &self.context.context;
        let store = cache::Store::open();
        let name = cache::name_of(&[text, options, &device.name, &device.driver, &device.platform].map(str::as_bytes));
        let kept = store.as_ref().and_then(|store| store.read(&name));
        // A driver may refuse a program that it made itself; then the source is built again.
        let cached = kept.and_then(|binary| Program::create_and_build_from_binary(context, &[&binary], options).ok());
        let program = match cached {
            Some(program) => {
                self.counters.cache_hits += 1;
                program
            }
            None => {
                let program = Program::create_and_build_from_source(context, text, options).map_err(|log| errors::refused(&device.name, &log))?;
                self.counters.builds += 1;
                if let (Some(store), Ok(binaries)) = (&store, program.get_binaries())
                    && let [binary] = &binaries[..]
                    && !binary.is_empty()
                {
                    store.write(&name, binary);
                }
                program
            }
        };
        self.counters.build_ns += start.elapsed().as_nanos() as u64;
        Ok(program)
    }
}
