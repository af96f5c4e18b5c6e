//! OpenCL devices: arrays that live there, kernels, launches.
//!
//! The OpenCL library is loaded when the first launch asks for a device; a program starts without it. Launches are queued in program order
//! and nobody waits for them until the host needs an array or a fault flag.
//!
//! # Where an array is
//! Two marks in an object's header say where its elements are valid: [`ON_DEVICE`] if the device has them, [`NOT_ON_HOST`] if only the
//! device has them. An object without marks lives on the host alone. Compiled code looks at the marks before it touches elements
//! (`ravel_device_to_host`, `ravel_device_host_writes`), natives get arrays that are valid on the host.

mod buffers;
mod build;
pub mod cache;
mod context;
mod counters;
mod errors;
mod place;
mod profile;
mod program;
pub mod tune;
mod variant;
mod wish;

use std::ffi::c_char;
use std::ptr::NonNull;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use crate::abi::ArrayHeader;
use crate::fault::{self, Fault};
use crate::profile::{DeviceWork, Launch};
use crate::ranks::Place;
use crate::ranks::rows::{self, ROWS};

pub use context::{Listed, list};
pub use counters::Counters;
pub(crate) use place::copied_there;
pub use place::{ravel_device_element, ravel_device_pays};
pub use variant::{ravel_device_variant, ravel_device_variant_done};
pub use wish::{set_wish, wish};

/// Mark: a buffer of the device belongs to this object.
pub const HAS_BUFFER: u16 = 4;
/// Mark: the elements are valid in that buffer.
pub const ON_DEVICE: u16 = 1;
/// Mark: the elements in host memory are out of date.
pub const NOT_ON_HOST: u16 = 2;

/// The program asked for a device: without one it does not start.
pub const STRICT: i32 = 1;
/// The program has kernels with 64-bit floats.
pub const DOUBLES: i32 = 2;

/// The device in use.
struct Device {
    context: context::Context,
    buffers: buffers::Buffers,
    programs: program::Programs,
    counters: Counters,
    asked: place::Asked,
    tuner: tune::Tuner,
    profile: profile::Profile,
    trying: variant::Trying,
}

impl Device {
    fn open(wish: &str) -> Result<Device, String> {
        let context = context::Context::open(wish)?;
        let tuner = tune::Tuner::new(&context.device);
        let profile = profile::Profile::new(profile::wanted());
        let (buffers, programs) = (buffers::Buffers::default(), program::Programs::default());
        let (counters, asked, trying) = (Counters::default(), place::Asked::default(), variant::Trying::default());
        Ok(Device { context, tuner, profile, buffers, programs, counters, asked, trying })
    }
}

fn slot() -> &'static OnceLock<Result<Mutex<Device>, String>> {
    static DEVICE: OnceLock<Result<Mutex<Device>, String>> = OnceLock::new();
    &DEVICE
}

fn opened() -> &'static Result<Mutex<Device>, String> {
    slot().get_or_init(|| {
        let device = Device::open(&wish()?)?;
        wish::suits(&device.context.device)?;
        Ok(Mutex::new(device))
    })
}

/// The device; ends the program if there is none.
fn device() -> MutexGuard<'static, Device> {
    match opened() {
        Ok(device) => device.lock().unwrap_or_else(PoisonError::into_inner),
        Err(why) => fault::raise(Fault::new(why.clone())),
    }
}

/// The result; ends the program if there is none.
fn check<T>(result: Result<T, String>) -> T {
    result.unwrap_or_else(|why| fault::raise(Fault::new(why)))
}

/// The name of the open device and what has been counted so far; nothing if no device was opened.
pub fn counters() -> Option<(String, Counters)> {
    let device = slot().get()?.as_ref().ok()?.lock().unwrap_or_else(PoisonError::into_inner);
    Some((device.context.device.name.clone(), device.counters))
}

/// Where the device spent its time, kernel by kernel, as a table; empty if nobody asked before the device was opened.
pub fn kernel_times() -> String {
    let Some(Ok(device)) = slot().get() else { return String::new() };
    device.lock().unwrap_or_else(PoisonError::into_inner).profile.table()
}

/// What the device did, for a profile; nothing if there is none, or a fault ended the program in the middle of a command.
pub(crate) fn profiled() -> (Option<DeviceWork>, Vec<Launch>) {
    let Some(Ok(device)) = slot().get() else { return (None, Vec::new()) };
    let Ok(mut device) = device.try_lock() else { return (None, Vec::new()) };
    let (kernels, launches) = device.profile.work();
    let (name, counters) = (device.context.device.name.clone(), device.counters);
    (Some(DeviceWork { name, kernels, sent: counters.sent, fetched: counters.fetched }), launches)
}

/// At the end of a program: waits for the device, whose driver may have threads of its own that must not outlive what they use, and
/// keeps what was measured.
pub(crate) fn finish() {
    if let Some(Ok(device)) = slot().get()
        && let Ok(device) = device.try_lock()
    {
        // A device that fails now has nothing left to do.
        let _ = device.context.queue.finish();
        device.tuner.save(&device.context.device);
    }
}

/// The device that would be used, which is not opened.
///
/// # Errors
/// OpenCL is not installed, or there is no such device.
pub fn find() -> Result<Listed, String> {
    context::choose(&list()?, &wish()?)
}

/// Whether a device can be used, and if not why not.
///
/// # Errors
/// OpenCL is not installed, or there is no such device.
pub fn ready() -> Result<(), String> {
    opened().as_ref().map(|_| ()).map_err(Clone::clone)
}

/// Gives the buffer of an object back that is being released.
pub(crate) fn forget(object: NonNull<ArrayHeader>) {
    // SAFETY: the object is not released yet.
    if unsafe { rows::is_in_rows(object.as_ptr()) } {
        rows::forget(object.as_ptr());
    }
    if let Some(Ok(device)) = slot().get() {
        device.lock().unwrap_or_else(PoisonError::into_inner).buffers.release(object.as_ptr() as usize);
    }
}

/// What a program with kernels does first: `needs` is made of [`STRICT`] and [`DOUBLES`]. Ends the program if it must have a device, or
/// the user named one, and that cannot be used.
#[unsafe(no_mangle)]
pub extern "C" fn ravel_device_start(needs: i32) {
    if needs & DOUBLES != 0 {
        wish::need_doubles();
    }
    if needs & STRICT != 0 || wish().is_ok_and(|wish| !wish.is_empty()) {
        check(ready());
    }
}

/// 1 if kernels can be launched from here: there is a device, and no parallel section is running.
#[unsafe(no_mangle)]
pub extern "C" fn ravel_device_ready() -> u8 {
    u8::from(opened().is_ok())
}

/// The buffer of an array that a kernel reads.
///
/// # Safety
/// `object` is a live array.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_device_read(object: *mut ArrayHeader) -> *mut u8 {
    let mut device = device();
    // SAFETY: passed on.
    check(unsafe { device.buffer(object, true, false) })
}

/// The buffer of an array all of whose elements kernels are going to write.
///
/// # Safety
/// `object` is a live array that nobody else refers to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_device_write(object: *mut ArrayHeader) -> *mut u8 {
    let mut device = device();
    // SAFETY: passed on.
    check(unsafe { device.buffer(object, false, true) })
}

/// The buffer of an array some of whose elements kernels are going to write.
///
/// # Safety
/// `object` is a live array that nobody else refers to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_device_update(object: *mut ArrayHeader) -> *mut u8 {
    let mut device = device();
    // SAFETY: passed on.
    check(unsafe { device.buffer(object, true, true) })
}

/// Makes the elements valid on the host.
///
/// # Safety
/// `object` is a live array.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_device_to_host(object: *mut ArrayHeader) {
    // SAFETY: live by contract.
    let state = unsafe { marks(object) };
    if state & NOT_ON_HOST == 0 {
        return;
    }
    if state & ROWS != 0 {
        // SAFETY: live by contract.
        return unsafe { rows::gather(object, Place::NONE) };
    }
    let mut device = device();
    // SAFETY: passed on.
    check(unsafe { device.fetch(object) });
}

/// Makes the elements valid on the host, which is going to change them: the device's copy is out of date from now on.
///
/// # Safety
/// `object` is a live array that nobody else refers to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_device_host_writes(object: *mut ArrayHeader) {
    // SAFETY: passed on.
    unsafe {
        ravel_device_to_host(object);
        set_marks(object, marks(object) & !ON_DEVICE);
    }
}

/// Starts a kernel of a program.
///
/// # Safety
/// `source` and `description` are texts made by the compiler, `grid` has `rank` extents, `arguments` as many words as the description says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_device_launch(
    source: *const c_char,
    description: *const c_char,
    rank: i64,
    grid: *const i64,
    arguments: *const u64,
) {
    // SAFETY: as the caller states.
    let grid = unsafe { std::slice::from_raw_parts(grid, usize::try_from(rank).unwrap_or(0)) };
    let mut device = device();
    // SAFETY: as the caller states.
    check(unsafe { device.launch(source, description, grid, arguments) });
}

/// 1 if a work-item of the launches since the last question found a fault. Waits for them.
#[unsafe(no_mangle)]
pub extern "C" fn ravel_device_faulted() -> u8 {
    u8::from(check(device().faulted()))
}

/// Makes the elements of an object valid on the host before a function of the runtime reads them.
///
/// # Safety
/// `object` is a live object.
pub(crate) unsafe fn settle(object: *const ArrayHeader) {
    // SAFETY: by contract; a stale host copy is brought up to date by the thread that runs the program, which no other one does.
    unsafe {
        if marks(object) & NOT_ON_HOST != 0 {
            ravel_device_to_host(object.cast_mut());
        }
    }
}

/// # Safety
/// `object` is a live array.
unsafe fn marks(object: *const ArrayHeader) -> u16 {
    // SAFETY: live by contract.
    unsafe { (*object).pad }
}

/// # Safety
/// `object` is a live array; marks are changed by the thread that runs the program alone.
unsafe fn set_marks(object: *mut ArrayHeader, marks: u16) {
    // SAFETY: live by contract.
    unsafe { (*object).pad = marks }
}
