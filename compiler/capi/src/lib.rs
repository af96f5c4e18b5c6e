//! The C interface of sessions, `include/ravel_session.h`: thin functions over [`Host`].
//!
//! What a caller passes is checked here. Panics do not leave the functions: whatever ends a session's thread, callers get an error.
#![deny(unsafe_op_in_unsafe_fn, clippy::undocumented_unsafe_blocks)]

mod failure;
mod values;

use failure::{ARGUMENT, OK, PENDING, c_text};
use ravel_driver::repl::call::CallError;
use ravel_driver::repl::host::{Answer, Given, Host, Pending, Request};
use std::ffi::{CStr, CString, c_char};
use std::path::PathBuf;
use std::ptr::null_mut;
use std::time::Duration;
use values::CValue;

/// A text of the caller.
///
/// # Safety
/// `text` is null or NUL-terminated.
unsafe fn text(text: *const c_char) -> Result<String, CallError> {
    // SAFETY: by contract.
    unsafe { borrowed_text(text) }.map(str::to_string)
}

/// The same, as long as the caller keeps it.
///
/// # Safety
/// As [`text`].
unsafe fn borrowed_text<'a>(text: *const c_char) -> Result<&'a str, CallError> {
    if text.is_null() {
        return Err(CallError::Unsupported("a text is missing".to_string()));
    }
    // SAFETY: by contract.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().map_err(|_| CallError::Unsupported("a text is not UTF-8".to_string()))
}

/// The session of the caller.
///
/// # Safety
/// `session` is null or came from [`ravel_session_new`] and was not freed.
unsafe fn host<'a>(session: *const Host) -> Result<&'a Host, CallError> {
    // SAFETY: by contract.
    unsafe { session.as_ref() }.ok_or_else(|| CallError::Unsupported("there is no session".to_string()))
}

/// The arguments of a call.
///
/// # Safety
/// `values` points to `n` values, whose objects are live.
unsafe fn given(values: *const CValue, n: i32) -> Result<Vec<Given>, CallError> {
    let values = match usize::try_from(n) {
        Ok(0) => &[],
        // SAFETY: by contract.
        Ok(n) if !values.is_null() => unsafe { std::slice::from_raw_parts(values, n) },
        _ => return Err(CallError::Unsupported("there are no arguments where some belong".to_string())),
    };
    // SAFETY: by contract.
    let given = values.iter().enumerate().map(|(at, value)| unsafe { value.given(at + 1) });
    given.collect::<Result<_, _>>().map_err(CallError::Unsupported)
}

fn status(result: Result<(), CallError>) -> i32 {
    result.map_or_else(|error| failure::remember(&error), |()| OK)
}

fn text_or_null(result: Result<String, CallError>) -> *mut c_char {
    match result {
        Ok(text) => c_text(&text).into_raw(),
        Err(error) => {
            failure::remember(&error);
            null_mut()
        }
    }
}

fn finish(host: &Host, request: Request) -> Result<Answer, CallError> {
    host.ask(request)?.finish()
}

/// A new session; null if there can be none.
#[unsafe(no_mangle)]
pub extern "C" fn ravel_session_new() -> *mut Host {
    match Host::start_inside() {
        Ok(host) => Box::into_raw(Box::new(host)),
        Err(why) => {
            failure::remember(&CallError::Internal(why));
            null_mut()
        }
    }
}

/// Ends a session, after the requests that it has.
///
/// # Safety
/// `session` is null or came from [`ravel_session_new`]; nobody uses it afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_session_free(session: *mut Host) {
    if !session.is_null() {
        // SAFETY: by contract.
        drop(unsafe { Box::from_raw(session) });
    }
}

/// Takes in definitions.
///
/// # Safety
/// `session` is one, texts are NUL-terminated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_session_define(session: *const Host, name: *const c_char, body: *const c_char) -> i32 {
    // SAFETY: by contract.
    let request = unsafe { text(name).and_then(|name| Ok(Request::Define { name, text: text(body)? })) };
    // SAFETY: by contract.
    status(request.and_then(|request| finish(unsafe { host(session)? }, request).map(drop)))
}

/// Takes in the definitions of a file.
///
/// # Safety
/// As [`ravel_session_define`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_session_load(session: *const Host, path: *const c_char) -> i32 {
    // SAFETY: by contract.
    let request = unsafe { text(path) }.map(|path| Request::Load(PathBuf::from(path)));
    // SAFETY: by contract.
    status(request.and_then(|request| finish(unsafe { host(session)? }, request).map(drop)))
}

/// Where results go.
struct Room {
    results: *mut CValue,
    room: i32,
    count: *mut i32,
}

impl Room {
    /// Waits for an answer; the status, and the values in their places. Nothing yet if it does not come in time.
    ///
    /// # Safety
    /// `results` has that room, `count` can be written.
    unsafe fn receive(&self, pending: &mut Pending, milliseconds: i32) -> Option<i32> {
        let time = Duration::from_millis(u64::try_from(milliseconds).unwrap_or(0));
        let values = match pending.wait(time)? {
            Ok(Answer::Values(values)) => values,
            Ok(_) => Vec::new(),
            Err(error) => return Some(failure::remember(&error)),
        };
        let room = usize::try_from(self.room).unwrap_or(0);
        if values.len() > room || self.results.is_null() && !values.is_empty() {
            return Some(failure::argument(&format!("there are {} results, and room for {room}", values.len())));
        }
        let values: Option<Vec<CValue>> = values.into_iter().map(CValue::of).collect();
        let Some(values) = values else {
            return Some(failure::argument("a result has no form outside of SaC"));
        };
        for (at, value) in values.iter().enumerate() {
            // SAFETY: there is room.
            unsafe { self.results.add(at).write(*value) };
        }
        if !self.count.is_null() {
            // SAFETY: by contract.
            unsafe { self.count.write(values.len() as i32) };
        }
        Some(OK)
    }
}

/// Calls a function, and waits for some time.
///
/// # Safety
/// `session` is one, `function` is NUL-terminated, there are `n` arguments and room for `room` results; `count` and `pending` can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_session_call(
    session: *const Host,
    function: *const c_char,
    arguments: *const CValue,
    n: i32,
    milliseconds: i32,
    results: *mut CValue,
    room: i32,
    count: *mut i32,
    pending: *mut *mut Pending,
) -> i32 {
    if pending.is_null() {
        return failure::argument("there is no place for a pending call");
    }
    // SAFETY: by contract.
    let asked = unsafe {
        (|| {
            let function = borrowed_text(function)?;
            host(session)?.call(function, given(arguments, n)?)
        })()
    };
    match asked {
        Err(error) => failure::remember(&error),
        // SAFETY: by contract.
        Ok(mut asked) => match unsafe { Room { results, room, count }.receive(&mut asked, milliseconds) } {
            Some(status) => status,
            None => {
                // SAFETY: by contract.
                unsafe { pending.write(Box::into_raw(Box::new(asked))) };
                PENDING
            }
        },
    }
}

/// Waits on for a call; frees `pending` unless it returns `RAVEL_PENDING`.
///
/// # Safety
/// `pending` came from [`ravel_session_call`], and was not freed; the rest as there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_pending_wait(
    pending: *mut Pending,
    milliseconds: i32,
    results: *mut CValue,
    room: i32,
    count: *mut i32,
) -> i32 {
    // SAFETY: by contract.
    let Some(asked) = (unsafe { pending.as_mut() }) else {
        return failure::argument("there is no pending call");
    };
    // SAFETY: by contract.
    match unsafe { Room { results, room, count }.receive(asked, milliseconds) } {
        None => PENDING,
        Some(status) => {
            // SAFETY: it came from a box, and nobody uses it afterwards.
            drop(unsafe { Box::from_raw(pending) });
            status
        }
    }
}

/// Ends a call early.
///
/// # Safety
/// `pending` is null or a pending call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_pending_interrupt(pending: *const Pending) {
    // SAFETY: by contract.
    if let Some(pending) = unsafe { pending.as_ref() } {
        pending.interrupt();
    }
}

/// Ends what the session is computing; 0 if that is nothing.
///
/// # Safety
/// `session` is null or a session.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_session_interrupt(session: *const Host) -> i32 {
    // SAFETY: by contract.
    unsafe { session.as_ref() }.map_or(0, |host| i32::from(host.interrupt()))
}

/// What becomes of the with-loops of a call.
///
/// # Safety
/// As [`ravel_session_call`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_session_explain(
    session: *const Host,
    function: *const c_char,
    arguments: *const CValue,
    n: i32,
) -> *mut c_char {
    // SAFETY: by contract.
    let answer = unsafe {
        (|| {
            let request = Request::Explain { function: text(function)?, arguments: given(arguments, n)? };
            finish(host(session)?, request)
        })()
    };
    text_or_null(answer.map(words_of))
}

/// The instances of a function, one a line.
///
/// # Safety
/// `session` is one, `function` is NUL-terminated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_session_instances(session: *const Host, function: *const c_char) -> *mut c_char {
    // SAFETY: by contract.
    let found = unsafe { text(function).and_then(|name| Ok(host(session)?.signatures(&name).join("\n"))) };
    text_or_null(found)
}

/// The functions that were defined, one a line.
///
/// # Safety
/// `session` is one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_session_functions(session: *const Host) -> *mut c_char {
    // SAFETY: by contract.
    let answer = unsafe { host(session) }.and_then(|host| finish(host, Request::Functions));
    text_or_null(answer.map(words_of))
}

/// The heads of functions as JSON, one object a line: of a name, or of all that were defined.
///
/// # Safety
/// `session` is one, `function` is null or NUL-terminated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_session_heads(session: *const Host, function: *const c_char) -> *mut c_char {
    // SAFETY: by contract.
    let answer = unsafe {
        (|| {
            let name = if function.is_null() { None } else { Some(text(function)?) };
            finish(host(session)?, Request::Heads(name))
        })()
    };
    text_or_null(answer.map(words_of))
}

fn words_of(answer: Answer) -> String {
    match answer {
        Answer::Text(text) => text,
        Answer::Done | Answer::Values(_) => String::new(),
    }
}

/// Gives back a text.
///
/// # Safety
/// `text` is null or came from a function that says so.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_text_free(text: *mut c_char) {
    if !text.is_null() {
        // SAFETY: by contract.
        drop(unsafe { CString::from_raw(text) });
    }
}

/// Threads of parallel sections, for all sessions.
#[unsafe(no_mangle)]
pub extern "C" fn ravel_set_threads(threads: i32) {
    ravel_runtime::pool::set_threads(usize::try_from(threads).unwrap_or(1));
}

/// The version of Ravel.
#[unsafe(no_mangle)]
pub extern "C" fn ravel_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

const _: () = assert!(ARGUMENT == 2, "as in ravel.h");
