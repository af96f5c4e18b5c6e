//! Entering compiled code, and finding functions of the C library in this process: unsafe, and the same for every backend.

#![expect(unsafe_code, reason = "compiled code is entered through a raw address")]

use std::ffi::CString;
use std::ptr::NonNull;

use ravel_nest::ir::{Func, Ty};
use ravel_runtime::array::Array;

/// A compiled function that the host may call, from any thread and as long as the process lives.
#[derive(Clone, Copy)]
pub struct Entry {
    /// `extern "C" fn(*const u64, *mut u64)`.
    trampoline: *const u8,
    /// The function itself.
    function: *const u8,
    n_params: usize,
    n_results: usize,
    is_program: bool,
}

// SAFETY: the addresses point to finished, immutable machine code; sharing them between threads shares nothing that is written.
unsafe impl Send for Entry {}
// SAFETY: as above.
unsafe impl Sync for Entry {}

/// An argument or result together with what is owned through it.
#[derive(Clone, Debug)]
pub enum Word {
    /// A number in the low bits, or a null reference.
    Bits(u64),
    /// A reference that changes hands with the call.
    Object(Array),
}

impl Word {
    /// The object, if it is one.
    pub fn object(&self) -> Option<&Array> {
        match self {
            Word::Object(object) => Some(object),
            Word::Bits(_) => None,
        }
    }
}

impl Entry {
    /// Describes an entry function of nest.
    ///
    /// # Safety
    /// `function` is the compiled `func` and `trampoline` a `extern "C" fn(*const u64, *mut u64)` that reads the arguments of it as words, calls it and
    /// writes its results as words. Both stay in memory as long as the process lives.
    pub unsafe fn new(trampoline: *const u8, function: *const u8, func: &Func) -> Entry {
        let n_params = func.param_types().count();
        let n_results = func.results.len();
        Entry { trampoline, function, n_params, n_results, is_program: is_program(func) }
    }

    /// Number of argument words.
    pub fn n_params(&self) -> usize {
        self.n_params
    }

    /// Calls it. Each argument and result is one word: integers and floats in its low bits, pointers as addresses.
    ///
    /// Pointers must be what the function expects; whoever reads its type in nest knows.
    ///
    /// # Panics
    /// If the number of arguments is not [`Entry::n_params`].
    pub fn call(&self, args: &[u64]) -> Vec<u64> {
        assert_eq!(args.len(), self.n_params, "an entry is called with as many words as it has parameters");
        let mut results = vec![0u64; self.n_results];
        // SAFETY: `new` asks for the signature, the numbers of words and that the code lives; the slices have these lengths.
        let trampoline: extern "C" fn(*const u64, *mut u64) = unsafe { std::mem::transmute(self.trampoline) };
        trampoline(args.as_ptr(), results.as_mut_ptr());
        results
    }

    /// [`Entry::call`] for functions that schedule made of WIR: they take over the objects among their arguments and give away those
    /// among their results, which `objects` says by position.
    ///
    /// # Panics
    /// As [`Entry::call`], and if `objects` has not one item per result.
    pub fn call_owned(&self, args: Vec<Word>, objects: &[bool]) -> Vec<Word> {
        assert_eq!(objects.len(), self.n_results, "an entry has as many results as the caller describes");
        let args: Vec<u64> = args
            .into_iter()
            .map(|word| match word {
                Word::Bits(bits) => bits,
                Word::Object(object) => object.into_raw().as_ptr() as u64,
            })
            .collect();
        let results = self.call(&args);
        let word = |(bits, is_object): (u64, &bool)| match NonNull::new(bits as *mut ravel_runtime::abi::ArrayHeader) {
            // SAFETY: compiled functions return valid objects with a reference for the caller; where they do is for the caller to know.
            Some(object) if *is_object => Word::Object(unsafe { Array::from_raw(object) }),
            _ => Word::Bits(bits),
        };
        results.into_iter().zip(objects).map(word).collect()
    }

    /// Runs it as the whole program on the runtime's main thread and returns its status after flushing all output. A fault ends the process.
    ///
    /// Nothing if its type is not `() -> i32`.
    pub fn run_program(&self) -> Option<i32> {
        if !self.is_program {
            return None;
        }
        // SAFETY: the function has this type, and nest that verifies obeys the runtime's interface.
        let status = unsafe {
            let function: unsafe extern "C" fn() -> i32 = std::mem::transmute(self.function);
            ravel_runtime::start::run_program(function)
        };
        Some(status)
    }
}

/// The places of global variables that are large enough for an address.
#[derive(Clone, Default, Debug)]
pub struct Globals(Vec<*const u8>);

// SAFETY: the variables live as long as the process, and who reads them says when.
unsafe impl Send for Globals {}
// SAFETY: as above.
unsafe impl Sync for Globals {}

impl Globals {
    /// One more.
    ///
    /// # Safety
    /// `address` is that of an aligned variable of eight bytes or more, which is never freed.
    pub unsafe fn push(&mut self, address: *const u8) {
        self.0.push(address);
    }

    /// What they hold. No code of the session may run at the time.
    pub fn words(&self) -> Vec<usize> {
        // SAFETY: `push` asks for such variables. A word that changes meanwhile is one of its two values.
        self.0.iter().map(|address| unsafe { address.cast::<usize>().read_volatile() }).collect()
    }
}

/// Is this the type of a program, `() -> i32`?
pub fn is_program(func: &Func) -> bool {
    func.param_types().count() == 0 && func.results == [Ty::I32]
}

/// Finds the address of a runtime function by its symbol.
pub type SymbolLookup = dyn Fn(&str) -> Option<*const u8> + Send + Sync;

/// The address of an import: from `runtime`, else the mathematical library, else anything in this process.
pub fn find_symbol(runtime: &SymbolLookup, name: &str) -> Option<*const u8> {
    runtime(name).or_else(|| math_symbol(name)).or_else(|| process_symbol(name))
}

/// The address of a symbol of this process or its C library.
fn process_symbol(name: &str) -> Option<*const u8> {
    let name = CString::new(name).ok()?;
    // SAFETY: the name is a NUL-terminated string; RTLD_DEFAULT needs no handle.
    let address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    (!address.is_null()).then_some(address.cast_const().cast())
}

macro_rules! math_functions {
    ($($name:ident($($arg:ident),*): $ty:ident;)*) => {
        unsafe extern "C" {
            $(safe fn $name($($arg: $ty),*) -> $ty;)*
        }

        /// The address of a function of the C mathematical library. Naming the functions here links the library.
        fn math_symbol(name: &str) -> Option<*const u8> {
            match name {
                $(stringify!($name) => Some($name as *const u8),)*
                _ => None,
            }
        }
    };
}

math_functions! {
    sin(x): f64; sinf(x): f32; cos(x): f64; cosf(x): f32; tan(x): f64; tanf(x): f32;
    asin(x): f64; asinf(x): f32; acos(x): f64; acosf(x): f32; atan(x): f64; atanf(x): f32;
    atan2(x, y): f64; atan2f(x, y): f32;
    sinh(x): f64; sinhf(x): f32; cosh(x): f64; coshf(x): f32; tanh(x): f64; tanhf(x): f32;
    asinh(x): f64; asinhf(x): f32; acosh(x): f64; acoshf(x): f32; atanh(x): f64; atanhf(x): f32;
    exp(x): f64; expf(x): f32; exp2(x): f64; exp2f(x): f32; expm1(x): f64; expm1f(x): f32;
    log(x): f64; logf(x): f32; log2(x): f64; log2f(x): f32; log10(x): f64; log10f(x): f32; log1p(x): f64; log1pf(x): f32;
    pow(x, y): f64; powf(x, y): f32; cbrt(x): f64; cbrtf(x): f32; hypot(x, y): f64; hypotf(x, y): f32;
    fmod(x, y): f64; fmodf(x, y): f32; round(x): f64; roundf(x): f32;
}
