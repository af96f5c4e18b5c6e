//! C functions of programs, called through adapters that the driver compiles: the functions that adapters need, and the
//! adapters that this process has loaded.
//!
//! An adapter `f` has the interface of a native. `f_words` calls it with one word for each argument and one for each result.

use std::collections::HashMap;
use std::ffi::{CStr, CString, c_char, c_void};
use std::path::Path;
use std::ptr::NonNull;
use std::sync::Mutex;

use super::{Value, passing};
use crate::abi::{ArrayHeader, ElemTag, ObjectKind};
use crate::array::{Array, ArrayRef};
use crate::capi::{self, lent};
use crate::fault::{self, Fault};
use crate::{buffer, ranks};

/// A value that C code made and that only C code can look into.
struct Foreign {
    value: *mut c_void,
    free: Option<unsafe extern "C" fn(*mut c_void)>,
}

// SAFETY: the runtime only hands the pointer back to the C code that made it; what that does on other threads is its own affair.
unsafe impl Send for Foreign {}

impl Drop for Foreign {
    fn drop(&mut self) {
        if let Some(free) = self.free {
            // SAFETY: the declaration of the type says that this function releases such values, and nobody has it any more.
            unsafe { free(self.value) };
        }
    }
}

/// An object around a value of C code, which `free` releases when nobody has it any more.
///
/// # Safety
/// `free` is null or may be called with the value once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_foreign_box(
    value: *mut c_void,
    free: Option<unsafe extern "C" fn(*mut c_void)>,
) -> *mut ArrayHeader {
    match Array::opaque(ObjectKind::Other, Foreign { value, free }) {
        Ok(object) => object.into_raw().as_ptr(),
        Err(fault) => fault::raise(fault),
    }
}

/// The value in an object of [`ravel_foreign_box`].
///
/// # Safety
/// `object` is a valid object.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_foreign_value(object: *mut ArrayHeader) -> *mut c_void {
    // SAFETY: the caller says that a non-null pointer is a valid object.
    let view = NonNull::new(object).map(|object| unsafe { ArrayRef::from_raw(object) });
    match view.and_then(|view| view.opaque::<Foreign>()) {
        // SAFETY: the value lives as long as the object.
        Some(foreign) => unsafe { foreign.as_ref().value },
        None => fault::raise(Fault::new("a C function expects a value that C code made")),
    }
}

/// Ends the program because a C function gave no array or text where the program needs one.
///
/// # Safety
/// `name` is a NUL-terminated text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_foreign_null(name: *const c_char) -> ! {
    // SAFETY: the caller says so.
    let name = unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned();
    fault::raise(Fault::new(format!("the C function {name} gave a null pointer")))
}

/// Ends the program because a C function gave another array than it is declared to give, or, if `object` is null, something that is no
/// array; a rank of -1 admits any.
///
/// # Safety
/// `name` is a NUL-terminated text, `object` null or a valid object.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_foreign_shape(name: *const c_char, object: *mut ArrayHeader, elem: i32, rank: i32) -> ! {
    // SAFETY: the caller says so.
    let name = unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned();
    // SAFETY: the caller says that a non-null pointer is a valid object.
    let given = NonNull::new(object).map_or(
        "a pointer that ravel_array_new or ravel_array_borrow (ravel.h) have not made".to_string(),
        |object| {
            // SAFETY: the object is live, by contract.
            unsafe { ArrayRef::from_raw(object) }.description()
        },
    );
    let elem = u8::try_from(elem).ok().and_then(ElemTag::from_u8).map_or("another type", ElemTag::name);
    let axes = match rank {
        0 => "no axis".to_string(),
        1 => "1 axis".to_string(),
        n if n > 1 => format!("{n} axes"),
        _ => "any number of axes".to_string(),
    };
    let message = format!("the C function {name} gave {given}, not what it is declared to give: {elem} with {axes}");
    fault::raise(Fault::new(message))
}

/// Whether this process calls C functions that have an effect, or objects that C made: of several ranks, rank 0 does.
#[unsafe(no_mangle)]
pub extern "C" fn ravel_foreign_here() -> u8 {
    u8::from(ranks::is_root())
}

/// Passes the results of such a function from rank 0, where they are in `words`, to the other ranks, where they will be. Objects that only C
/// can look into have nothing behind them there.
///
/// # Safety
/// `name` is a NUL-terminated text; `tags` and `words` point to `n` entries, one for each result; on rank 0 those of objects are references.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_foreign_pass(name: *const c_char, tags: *const u8, words: *mut u64, n: i64) {
    if ranks::world().is_none() {
        return;
    }
    // SAFETY: the caller says so.
    let name = unsafe { CStr::from_ptr(name) }.to_string_lossy();
    let count = usize::try_from(n).unwrap_or(0);
    // SAFETY: the caller says so.
    let (tags, words) =
        unsafe { (std::slice::from_raw_parts(tags, count), std::slice::from_raw_parts_mut(words, count)) };
    let given = || Ok(words.iter().zip(tags).map(|(word, tag)| value(*word, ElemTag::from_u8(*tag))).collect());
    match passing::from_root::<Vec<Value>>(&format!("the C function {name}"), given) {
        Ok(values) => words.iter_mut().zip(values).for_each(|(word, value)| *word = value.into_bits()),
        Err(fault) => fault::raise(fault),
    }
}

/// What adapters in shared libraries call; executables link the functions themselves. The order is that of the adapters' own text.
#[repr(C)]
struct Interface {
    alloc: *const (),
    copy: *const (),
    string: *const (),
    boxed: *const (),
    value: *const (),
    null: *const (),
    shape: *const (),
    here: *const (),
    pass: *const (),
    lend: *const (),
    back: *const (),
    given: *const (),
    /// The functions of `ravel.h`.
    arrays: [*const (); 12],
}

// SAFETY: the addresses of functions are constants.
unsafe impl Sync for Interface {}

static INTERFACE: Interface = Interface {
    alloc: buffer::ravel_alloc as *const (),
    copy: buffer::ravel_copy as *const (),
    string: buffer::ravel_string_new as *const (),
    boxed: ravel_foreign_box as *const (),
    value: ravel_foreign_value as *const (),
    null: ravel_foreign_null as *const (),
    shape: ravel_foreign_shape as *const (),
    here: ravel_foreign_here as *const (),
    pass: ravel_foreign_pass as *const (),
    lend: lent::ravel_foreign_lend as *const (),
    back: lent::ravel_foreign_back as *const (),
    given: lent::ravel_foreign_given as *const (),
    arrays: [
        capi::ravel_array_new as *const (),
        capi::ravel_array_borrow as *const (),
        capi::ravel_array_data as *const (),
        capi::ravel_array_shape as *const (),
        capi::ravel_array_rank as *const (),
        capi::ravel_array_type as *const (),
        capi::ravel_array_size as *const (),
        capi::ravel_array_shared as *const (),
        capi::ravel_array_retain as *const (),
        capi::ravel_array_release as *const (),
        capi::ravel_array_collect as *const (),
        capi::ravel_last_error as *const (),
    ],
};

#[derive(Clone, Copy)]
struct Adapter {
    address: usize,
    words: unsafe extern "C" fn(*const u64, *mut u64),
}

static ADAPTERS: Mutex<Option<HashMap<String, Adapter>>> = Mutex::new(None);

fn adapter(name: &str) -> Option<Adapter> {
    let adapters = ADAPTERS.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    adapters.as_ref()?.get(name).copied()
}

/// The address of a loaded adapter.
pub(crate) fn address(name: &str) -> Option<*const u8> {
    adapter(name).map(|adapter| adapter.address as *const u8)
}

/// Calls a loaded adapter; the tags are those of scalar results, nothing for objects. Nothing if there is no such adapter.
pub fn call(name: &str, args: &[Value], results: &[Option<ElemTag>]) -> Option<Vec<Value>> {
    let adapter = adapter(name)?;
    let words: Vec<u64> = args.iter().map(word).collect();
    let mut out = vec![0u64; results.len().max(1)];
    // SAFETY: adapters read as many words as their function has arguments and write one for each result; the interpreter calls
    // them as they are declared.
    unsafe { (adapter.words)(words.as_ptr(), out.as_mut_ptr()) };
    Some(out.into_iter().zip(results).map(|(bits, tag)| value(bits, *tag)).collect())
}

/// A scalar or the address of an object, as adapters take it.
pub(super) fn word(value: &Value) -> u64 {
    match value {
        Value::Bool(v) => u64::from(*v),
        Value::Char(v) | Value::U8(v) => u64::from(*v),
        Value::I8(v) => *v as u64,
        Value::I16(v) => *v as u64,
        Value::I32(v) => *v as u64,
        Value::I64(v) => *v as u64,
        Value::U16(v) => u64::from(*v),
        Value::U32(v) => u64::from(*v),
        Value::U64(v) => *v,
        Value::F32(v) => u64::from(v.to_bits()),
        Value::F64(v) => v.to_bits(),
        Value::Object(object) => object.view().as_ptr().as_ptr() as u64,
    }
}

/// What an adapter has given, an object with its reference.
pub(super) fn value(bits: u64, tag: Option<ElemTag>) -> Value {
    match tag {
        Some(ElemTag::Bool) => Value::Bool(bits & 1 == 1),
        Some(ElemTag::Char) => Value::Char(bits as u8),
        Some(ElemTag::I8) => Value::I8(bits as i8),
        Some(ElemTag::I16) => Value::I16(bits as i16),
        Some(ElemTag::I32) => Value::I32(bits as i32),
        Some(ElemTag::I64) => Value::I64(bits as i64),
        Some(ElemTag::U8) => Value::U8(bits as u8),
        Some(ElemTag::U16) => Value::U16(bits as u16),
        Some(ElemTag::U32) => Value::U32(bits as u32),
        Some(ElemTag::U64) => Value::U64(bits),
        Some(ElemTag::F32) => Value::F32(f32::from_bits(bits as u32)),
        Some(ElemTag::F64) => Value::F64(f64::from_bits(bits)),
        Some(ElemTag::Handle) | None => match NonNull::new(bits as *mut ArrayHeader) {
            // SAFETY: adapters give valid objects with a reference for the caller.
            Some(object) => Value::Object(unsafe { Array::from_raw(object) }),
            None => fault::raise(Fault::new("a C function gave a null pointer")),
        },
    }
}

/// Loads the adapters `names` of a shared library, which stays loaded.
///
/// # Errors
/// The words of the dynamic linker.
pub fn load(library: &Path, names: &[String]) -> Result<(), String> {
    let path = CString::new(library.as_os_str().as_encoded_bytes()).map_err(|_| "a zero in the path".to_string())?;
    // SAFETY: the path is NUL-terminated; initialisers of the program's own C code run, as they would in an executable.
    let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if handle.is_null() {
        return Err(dynamic_error());
    }
    let find = |name: &str| {
        let name = CString::new(name).map_err(|_| "a zero in a name".to_string())?;
        // SAFETY: the library was loaded and stays so.
        NonNull::new(unsafe { libc::dlsym(handle, name.as_ptr()) }).ok_or_else(dynamic_error)
    };
    let interface = find("ravel_foreign_interface")?.cast::<*const Interface>();
    // SAFETY: every library of adapters has this variable, and nobody runs its code yet.
    unsafe { interface.write(&raw const INTERFACE) };
    for name in names {
        let address = find(name)?.as_ptr() as usize;
        let words = find(&format!("{name}_words"))?;
        // SAFETY: this is the type of every such function.
        let words =
            unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*const u64, *mut u64)>(words.as_ptr()) };
        let mut adapters = ADAPTERS.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        adapters.get_or_insert_with(HashMap::new).insert(name.clone(), Adapter { address, words });
    }
    Ok(())
}

fn dynamic_error() -> String {
    // SAFETY: dlerror gives null or a text that is valid until the next call on this thread.
    let words = unsafe { libc::dlerror() };
    if words.is_null() {
        return "the dynamic linker does not say why".to_string();
    }
    // SAFETY: as above.
    unsafe { CStr::from_ptr(words) }.to_string_lossy().into_owned()
}
