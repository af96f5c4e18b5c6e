//! The last error of a thread: its status, its words and their JSON.

use ravel_driver::repl::call::CallError;
use std::cell::{Cell, RefCell};
use std::ffi::{CString, c_char};

pub const OK: i32 = 0;
pub const FAULT: i32 = 1;
pub const ARGUMENT: i32 = 2;
pub const SOURCE: i32 = 3;
pub const INTERRUPTED: i32 = 4;
pub const PENDING: i32 = 5;
pub const INTERNAL: i32 = 6;

thread_local! {
    static STATUS: Cell<i32> = const { Cell::new(OK) };
    static JSON: RefCell<CString> = RefCell::new(CString::default());
}

/// A text without the zero byte that ends texts of C.
pub fn c_text(text: &str) -> CString {
    CString::new(text.replace('\0', "?")).unwrap_or_default()
}

fn set(status: i32, words: &str, json: &str) -> i32 {
    ravel_runtime::capi::set_last_error(words);
    JSON.set(c_text(json));
    STATUS.set(status);
    status
}

/// The call itself was wrong.
pub fn argument(words: &str) -> i32 {
    set(ARGUMENT, words, "")
}

/// Remembers why there is no answer; the status.
pub fn remember(error: &CallError) -> i32 {
    let words = error.to_string();
    match error {
        CallError::Source { json, .. } => set(SOURCE, &words, json),
        CallError::Interrupted => set(INTERRUPTED, &words, ""),
        CallError::Unsupported(_) => set(ARGUMENT, &words, ""),
        CallError::Internal(_) => set(INTERNAL, &words, ""),
        CallError::Fault { report } => {
            let place = report.place();
            let json = serde_json::json!({
                "message": report.fault.message,
                "file": place.map(|(file, ..)| file),
                "line": place.map(|(_, line, _)| line),
                "column": place.map(|(.., column)| column),
                "function": report.function,
                "status": report.status(),
                "excerpt": report.excerpt(),
            });
            set(FAULT, &words, &json.to_string())
        }
    }
}

/// The status of the last failure of this thread; 0 if there was none.
#[unsafe(no_mangle)]
pub extern "C" fn ravel_last_status() -> i32 {
    STATUS.get()
}

/// What the last failure of this thread has to say as JSON; good until the next failure.
#[unsafe(no_mangle)]
pub extern "C" fn ravel_last_error_json() -> *const c_char {
    JSON.with_borrow(|json| json.as_ptr())
}
