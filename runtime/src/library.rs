//! Calls from C into a library that `ravel build --lib` has made.
//!
//! The C functions of a library describe their arguments and results and come here. The work is done on a thread of its own, as for an
//! input at the prompt: a fault ends that thread, and the call returns a status. One call runs at a time; its parallel loops have all threads.

use std::ffi::{CStr, c_char, c_void};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::abi::{ArrayHeader, ElemTag};
use crate::array::{Array, ArrayRef};
use crate::capi::{self, Owner};
use crate::fault::{self, Ending, Fault, Report};
use crate::{buffer, standard, stop, stream};

/// `ravel_status`.
const OK: i32 = 0;
const FAULT: i32 = 1;
const ARGUMENT: i32 = 2;

/// Compiled code for the host: reads arguments and writes results as words.
type Host = unsafe extern "C" fn(*const u64, *mut u64);

/// What a library keeps for itself; its C text has one.
#[repr(C)]
pub struct Library {
    /// Initialises the objects.
    init: Host,
    /// Whether that has been done.
    ready: AtomicU32,
    /// Whether the library has objects, which may keep arrays.
    has_objects: u32,
}

/// How an argument is handed over.
#[repr(u32)]
#[derive(Clone, Copy, PartialEq)]
pub enum Way {
    /// Elements and a shape.
    Elements = 0,
    /// A `ravel_array *`.
    Array = 1,
    /// A text that ends with a zero byte.
    Text = 2,
    /// `data` points to a scalar.
    Scalar = 3,
}

/// An argument, in C's layout.
#[repr(C)]
pub struct Argument {
    name: *const c_char,
    data: *const c_void,
    /// Extents that are given, and those that they must have; -1 admits any.
    shape: *const i64,
    fixed: *const i64,
    way: Way,
    elem: u32,
    rank: i32,
}

/// The place of a result, in C's layout: a `ravel_array *`, or a scalar.
#[repr(C)]
pub struct Outcome {
    place: *mut c_void,
    elem: u32,
    is_array: u32,
}

/// One call at a time.
static CALLS: Mutex<()> = Mutex::new(());

/// What the session's thread gets. Pointers in it stay good until it has stopped.
struct Call {
    init: Option<Host>,
    function: Host,
    words: Vec<u64>,
    n_results: usize,
}

// SAFETY: the objects behind the words belong to the call.
unsafe impl Send for Call {}

/// Calls a function of a library. Gives a `ravel_status`.
///
/// # Safety
/// The C text of a library calls it as `ravel build --lib` has written it; what callers of that pass is as its header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_library_call(
    library: *const Library,
    function: Host,
    name: *const c_char,
    arguments: *const Argument,
    n_arguments: i64,
    outcomes: *const Outcome,
    n_outcomes: i64,
) -> i32 {
    let length = |n: i64| usize::try_from(n).unwrap_or(0);
    // SAFETY: the C text passes arrays of these lengths, never null.
    let (library, arguments, outcomes, name) = unsafe {
        (
            &*library,
            std::slice::from_raw_parts(arguments, length(n_arguments)),
            std::slice::from_raw_parts(outcomes, length(n_outcomes)),
            CStr::from_ptr(name).to_string_lossy(),
        )
    };
    let wrong = |why: &str| {
        capi::set_last_error(&format!("{name}: {why}"));
        ARGUMENT
    };
    if let Some(n) = outcomes.iter().position(|outcome| outcome.place.is_null()) {
        return wrong(&format!("the place for result {} is a null pointer", n + 1));
    }
    for outcome in outcomes.iter().filter(|outcome| outcome.is_array != 0) {
        // SAFETY: the caller gives a place for a pointer.
        unsafe { outcome.place.cast::<*mut ArrayHeader>().write(std::ptr::null_mut()) };
    }
    if stop::session() != 0 {
        return wrong("a function that SaC code has called cannot call the library");
    }
    // The compiler has seen to it (`Options::lent`).
    capi::limit_reach();
    let _one = CALLS.lock().unwrap_or_else(PoisonError::into_inner);
    let (words, lent) = match given(arguments) {
        Ok(given) => given,
        Err(why) => return wrong(&why.message),
    };
    let first = library.ready.load(Ordering::Acquire) == 0;
    if first {
        standard::fill_closed();
        if let Err(why) = crate::start::check_environment() {
            lent.into_iter().for_each(|object| back(object, false));
            return wrong(&why.message);
        }
    }
    for object in &lent {
        // SAFETY: live; the function takes over this reference.
        unsafe { buffer::ravel_rc_inc(object.as_ptr()) };
    }
    let call = Call { init: first.then_some(library.init), function, words, n_results: outcomes.len() };
    let ran = fault::run_call(library.has_objects != 0, move || run(call));
    let written = stream::finish();
    match ran {
        Ok(results) => {
            library.ready.store(1, Ordering::Release);
            let given = give(outcomes, &results, &lent);
            lent.into_iter().for_each(|object| back(object, false));
            match given.and(written) {
                Ok(()) => OK,
                Err(why) => {
                    capi::set_last_error(&format!("{name}: {}", why.message));
                    FAULT
                }
            }
        }
        Err(report) => {
            // References were lost with the thread. Only an object can have kept an array.
            lent.into_iter().for_each(|object| back(object, library.has_objects == 0));
            capi::set_last_error(&words_of(&report));
            FAULT
        }
    }
}

fn words_of(report: &Report) -> String {
    match report.fault.ending {
        Ending::Exit { status } => format!("the program ended itself with status {status}"),
        Ending::User { .. } => report.fault.message.clone(),
        _ => report.to_string().trim().to_string(),
    }
}

/// On the thread of the session.
fn run(call: Call) -> Vec<u64> {
    let mut status = [0u64; 1];
    if let Some(init) = call.init {
        // SAFETY: the initialiser takes nothing and gives one word.
        unsafe { init(std::ptr::null(), status.as_mut_ptr()) };
    }
    let mut results = vec![0u64; call.n_results.max(1)];
    // SAFETY: the C text passes the function with the arguments and results that it has.
    unsafe { (call.function)(call.words.as_ptr(), results.as_mut_ptr()) };
    results
}

/// An object that was made for a call.
struct Lent(NonNull<ArrayHeader>);

impl Lent {
    fn as_ptr(&self) -> *mut ArrayHeader {
        self.0.as_ptr()
    }
}

fn back(object: Lent, lost: bool) {
    // SAFETY: the caller's reference of an object from `given`; the threads of the call have stopped.
    if let Err(why) = unsafe { capi::end_loan(object.0, lost) } {
        capi::set_last_error(&why.message);
    }
}

/// The words of arguments, and the objects among them.
fn given(arguments: &[Argument]) -> Result<(Vec<u64>, Vec<Lent>), Fault> {
    let mut lent: Vec<Lent> = Vec::new();
    let mut words = Vec::new();
    for argument in arguments {
        // SAFETY: the C text names each argument.
        let name = unsafe { CStr::from_ptr(argument.name) }.to_string_lossy();
        match word(argument) {
            Ok((word, object)) => {
                words.push(word);
                lent.extend(object.map(Lent));
            }
            Err(why) => {
                lent.into_iter().for_each(|object| back(object, false));
                return Err(Fault::new(format!("argument `{name}`: {}", why.message)));
            }
        }
    }
    Ok((words, lent))
}

fn word(argument: &Argument) -> Result<(u64, Option<NonNull<ArrayHeader>>), Fault> {
    let elem = u8::try_from(argument.elem).ok().and_then(ElemTag::from_u8).unwrap_or(ElemTag::U8);
    let rank = usize::try_from(argument.rank).unwrap_or(0);
    let made = match argument.way {
        Way::Scalar => {
            let mut bits = 0u64;
            // SAFETY: the C text passes the address of a scalar of this type.
            unsafe {
                std::ptr::copy_nonoverlapping(argument.data.cast::<u8>(), (&raw mut bits).cast::<u8>(), elem.size())
            };
            return Ok((bits, None));
        }
        Way::Elements => {
            if rank > 0 && argument.shape.is_null() {
                return Err(Fault::new("its shape is a null pointer"));
            }
            // SAFETY: the header asks for as many extents; the C text has as many fixed ones.
            let (shape, fixed) = unsafe {
                (std::slice::from_raw_parts(argument.shape, rank), std::slice::from_raw_parts(argument.fixed, rank))
            };
            conforms(shape, fixed)?;
            // SAFETY: the header asks for the elements; they stay during the call.
            unsafe { capi::borrow(argument.data.cast(), elem, shape, Owner::NOBODY)? }
        }
        Way::Array => {
            let object = NonNull::new(argument.data.cast_mut().cast::<ArrayHeader>());
            let object = object.ok_or_else(|| Fault::new("it is a null pointer"))?;
            // SAFETY: the header asks for a live array.
            let view = unsafe { ArrayRef::from_raw(object) };
            // SAFETY: as above.
            let data = unsafe { capi::ravel_array_data(object.as_ptr()) };
            if data.is_null() || view.elem() != elem {
                return Err(Fault::new(format!("{} where {}[*] belongs", view.description(), elem.name())));
            }
            conforms(view.shape(), &vec![-1; view.rank()])?;
            // A header of the call's own: counts of others change at any time.
            // SAFETY: the caller keeps the array during the call.
            unsafe { capi::borrow(data, elem, view.shape(), Owner::NOBODY)? }
        }
        Way::Text => {
            if argument.data.is_null() {
                return Err(Fault::new("it is a null pointer"));
            }
            // SAFETY: the header asks for a text that ends with a zero byte.
            Array::string(unsafe { CStr::from_ptr(argument.data.cast()) }.to_bytes())?.into_raw()
        }
    };
    Ok((made.as_ptr() as u64, Some(made)))
}

/// Is this a shape that SaC has, with the extents that are fixed?
fn conforms(shape: &[i64], fixed: &[i64]) -> Result<(), Fault> {
    for (axis, (extent, wanted)) in shape.iter().zip(fixed).enumerate() {
        if i32::try_from(*extent).is_err() || *extent < 0 {
            return Err(Fault::new(format!("{extent} is not an extent of an array")));
        }
        if *wanted >= 0 && extent != wanted {
            return Err(Fault::new(format!("axis {axis} has {extent} indices, not {wanted}")));
        }
    }
    Ok(())
}

/// Writes the results to their places.
fn give(outcomes: &[Outcome], results: &[u64], lent: &[Lent]) -> Result<(), Fault> {
    let mut outcome_of_all = Ok(());
    for (outcome, word) in outcomes.iter().zip(results) {
        if outcome.is_array == 0 {
            let size = u8::try_from(outcome.elem).ok().and_then(ElemTag::from_u8).map_or(0, ElemTag::size);
            // SAFETY: the place is one for a scalar of this type; words are little-endian, as the machines that Ravel compiles for.
            unsafe {
                std::ptr::copy_nonoverlapping(std::ptr::from_ref(word).cast::<u8>(), outcome.place.cast::<u8>(), size)
            };
            continue;
        }
        let mut object = *word as *mut ArrayHeader;
        if lent.iter().any(|lent| lent.as_ptr() == object) {
            // The elements are the caller's: the result gets its own.
            // SAFETY: live, and the result is a reference.
            unsafe {
                match buffer::copy(object) {
                    Ok(copied) => {
                        buffer::ravel_rc_dec(object);
                        object = copied;
                    }
                    Err(why) => {
                        buffer::ravel_rc_dec(object);
                        outcome_of_all = Err(why);
                        continue;
                    }
                }
            }
        }
        // SAFETY: the place is one for a pointer.
        unsafe { outcome.place.cast::<*mut ArrayHeader>().write(object) };
    }
    outcome_of_all
}
