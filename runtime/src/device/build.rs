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
        let program = self.program(text, cache::Store::open().as_ref())?;
        self.programs.built.insert(key, program);
        Ok(())
    }

    /// The program of a text, from a cache folder if it is there.
    fn program(&mut self, text: &str, store: Option<&cache::Store>) -> Result<Program, String> {
        let device = &self.context.device;
        if text.contains(DOUBLES) && !device.doubles {
            return Err(wish::no_doubles(&device.name));
        }
        let start = Instant::now();
        let options = OPTIONS;
        let context = &self.context.context;
        let name = cache::name_of(&[text, options, &device.name, &device.driver, &device.platform].map(str::as_bytes));
        let kept = store.and_then(|store| store.read(&name));
        // A driver may refuse a program that it made itself; then the source is built again.
        let cached = kept.and_then(|binary| Program::create_and_build_from_binary(context, &[&binary], options).ok());
        let program = match cached {
            Some(program) => {
                self.counters.cache_hits += 1;
                program
            }
            None => {
                let program = Program::create_and_build_from_source(context, text, options)
                    .map_err(|log| errors::refused(&device.name, &log))?;
                self.counters.builds += 1;
                if let (Some(store), Ok(binaries)) = (store, program.get_binaries())
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

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "kernel void f(global int *a)\n{\n    a[get_global_id(0)] = 1;\n}\n";

    /// The first device; none where a test can do nothing.
    fn device() -> Option<Device> {
        Device::open("").ok()
    }

    #[test]
    fn a_refused_program_shows_what_the_compiler_says() {
        let Some(mut device) = device() else { return };
        let why = device
            .program("kernel void f(global int *a)\n{\n    a[0] = nothing_such;\n}\n", None)
            .err()
            .unwrap_or_default();
        assert!(why.contains(&device.context.device.name) && why.contains("nothing_such"), "{why}");
        assert_eq!(device.counters.builds, 0);
        assert!(device.program(GOOD, None).is_ok());
    }

    #[test]
    fn doubles_need_a_device_that_has_them() {
        let Some(mut device) = device() else { return };
        device.context.device.doubles = false;
        let text = format!("#pragma OPENCL EXTENSION {DOUBLES} : enable\n{GOOD}");
        let why = device.program(&text, None).err().unwrap_or_default();
        assert!(why.contains("has no double precision"), "{why}");
        assert!(device.program(GOOD, None).is_ok());
    }

    #[test]
    fn a_binary_that_the_driver_refuses_is_made_again() {
        let Some(mut device) = device() else { return };
        let folder = std::env::temp_dir().join(format!("ravel-refused-{}", std::process::id()));
        let store = cache::Store::at(&folder).expect("the temporary folder is writable");
        assert!(device.program(GOOD, Some(&store)).is_ok());
        let entry = std::fs::read_dir(folder.join("kernels"))
            .ok()
            .and_then(|mut entries| entries.next()?.ok())
            .expect("one program was built");
        store.write(&entry.file_name().to_string_lossy(), b"a whole entry, but no program");
        assert!(device.program(GOOD, Some(&store)).is_ok());
        assert_eq!((device.counters.builds, device.counters.cache_hits), (2, 0));
        assert!(device.program(GOOD, Some(&store)).is_ok());
        assert_eq!((device.counters.builds, device.counters.cache_hits), (2, 1));
        drop(std::fs::remove_dir_all(&folder));
    }
}
