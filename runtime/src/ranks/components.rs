//! Components of Open MPI stay mapped until the process ends.
//!
//! `MPI_Finalize` of Open MPI 4.1.4 was seen to end with a segmentation fault now and then on a machine with much else to do: the library's own thread
//! called what was mapped no longer. It seems that a component had been unloaded before its last event. What stays mapped can still be called.

use std::ffi::{CStr, CString, c_int, c_void};

/// What the names of components' files, and of those of PMIx, have in common.
const COMPONENT: &[u8] = b"mca_";

/// Keeps the components that are loaded now.
pub(super) fn keep() {
    let mut names: Vec<CString> = Vec::new();
    // SAFETY: the function is called with the address of `names`, while this waits.
    unsafe { libc::dl_iterate_phdr(Some(note), (&raw mut names).cast()) };
    for name in names {
        // SAFETY: what is loaded already is not loaded again: nothing of it runs here.
        unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD | libc::RTLD_NODELETE) };
    }
}

/// Notes the name of a loaded file if it is a component.
///
/// # Safety
/// `names` is the address of a vector of names.
unsafe extern "C" fn note(info: *mut libc::dl_phdr_info, _: usize, names: *mut c_void) -> c_int {
    // SAFETY: by contract.
    let names = unsafe { &mut *names.cast::<Vec<CString>>() };
    // SAFETY: the loader describes a file that is loaded; its name is null or a C string.
    let name = unsafe { (*info).dlpi_name };
    if !name.is_null() {
        // SAFETY: as above.
        let name = unsafe { CStr::from_ptr(name) };
        if name.to_bytes().windows(COMPONENT.len()).any(|part| part == COMPONENT) {
            names.push(name.to_owned());
        }
    }
    0
}
