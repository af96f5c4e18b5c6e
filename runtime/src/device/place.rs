//! Where a with-loop runs: what moving its arrays costs against what the device saves, and single elements for the host.

use std::collections::HashMap;

use opencl3::types::CL_BLOCKING;

use super::buffers::{ByAddress, size_of};
use super::{Device, NOT_ON_HOST, ON_DEVICE, check, device, marks, opened, slot};
use crate::abi::ArrayHeader;
use crate::ranks::rows::{self, ROWS};

/// Nanoseconds of one cycle of estimated work, on one thread of the host.
const HOST_CYCLE: f64 = 0.3;
/// How many cycles of one thread's work a device with memory of its own does at once.
const DEVICE_CYCLES: f64 = 2000.0;
/// Nanoseconds to start a kernel, and to wait for a transfer.
const LAUNCH: f64 = 4_000.0;
const TRANSFER: f64 = 12_000.0;
/// Nanoseconds per byte over the bus, from and to memory that is not pinned.
const BYTE: f64 = 0.2;
/// The same for a device that computes with the host's processor and memory.
const SHARED_LAUNCH: f64 = 30_000.0;
const SHARED_TRANSFER: f64 = 3_000.0;
const SHARED_BYTE: f64 = 0.1;
/// More arrays than this are not remembered.
const MOST_REMEMBERED: usize = 4096;

/// What has been asked for in vain, by address of the object.
#[derive(Default)]
pub(super) struct Asked {
    /// By kernels: arrays that were not on the device.
    kernels: HashMap<usize, u32, ByAddress>,
    /// By the host: single elements.
    elements: HashMap<usize, u32, ByAddress>,
}

impl Asked {
    /// The elements of an object are new.
    pub fn written(&mut self, object: usize) {
        self.elements.remove(&object);
    }
}

fn ask(of: &mut HashMap<usize, u32, ByAddress>, object: usize) -> u32 {
    if of.len() >= MOST_REMEMBERED {
        of.clear();
    }
    let asked = of.entry(object).or_insert(0);
    *asked += 1;
    *asked
}

/// Costs of one device.
#[derive(Clone, Copy)]
struct Costs {
    launch: f64,
    transfer: f64,
    byte: f64,
    /// Nanoseconds of one cycle of estimated work.
    cycle: f64,
    host_cycle: f64,
}

impl Costs {
    fn of(device: &Device) -> Costs {
        let host_cycle = HOST_CYCLE / f64::from(crate::pool::threads().max(1) as u32);
        if device.context.device.gpu {
            Costs { launch: LAUNCH, transfer: TRANSFER, byte: BYTE, cycle: HOST_CYCLE / DEVICE_CYCLES, host_cycle }
        } else {
            Costs { launch: SHARED_LAUNCH, transfer: SHARED_TRANSFER, byte: SHARED_BYTE, cycle: host_cycle, host_cycle }
        }
    }

    /// Does the device pay? `to_send` and `to_fetch` are the sizes of arrays that would have to move, and how often each was wanted there.
    fn pays(self, work: f64, to_send: &[(usize, u32)], to_fetch: &[usize]) -> bool {
        // What is sent stays, so that an array that kernels ask for again and again is worth sending.
        let send: f64 =
            to_send.iter().map(|(bytes, asked)| (self.transfer + *bytes as f64 * self.byte) / f64::from(*asked)).sum();
        let fetch: f64 = to_fetch.iter().map(|bytes| self.transfer + *bytes as f64 * self.byte).sum();
        self.launch + send + work * self.cycle < fetch + work * self.host_cycle
    }

    /// Should an array of so many bytes move as a whole when the host asks for an element of it, for the `asked`-th time? Once single elements
    /// have cost as much as the whole array does.
    fn moves_whole(self, bytes: usize, asked: u32) -> bool {
        f64::from(asked) * self.transfer > bytes as f64 * self.byte
    }
}

/// 1 if a with-loop of `work` estimated cycles should run on the device; `least` is the least work that makes opening a device worth while,
/// and 1 or less sends everything there. `objects` are the `count` arrays that it reads.
///
/// # Safety
/// `objects` are live arrays.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_device_pays(work: i64, least: i64, objects: *const *mut ArrayHeader, count: i64) -> u8 {
    if least <= 1 {
        return u8::from(opened().is_ok());
    }
    if slot().get().is_none() && work < least || opened().is_err() {
        return 0;
    }
    let mut device = device();
    // SAFETY: as the caller states.
    let objects = unsafe { std::slice::from_raw_parts(objects, usize::try_from(count).unwrap_or(0)) };
    let (mut to_send, mut to_fetch) = (Vec::new(), Vec::new());
    for &object in objects {
        // SAFETY: live by contract.
        let (state, bytes) = unsafe { (marks(object), size_of(object)) };
        if state & ON_DEVICE == 0 {
            let asked = ask(&mut device.asked.kernels, object as usize);
            to_send.push((bytes, asked));
        }
        if state & NOT_ON_HOST != 0 {
            to_fetch.push(bytes);
        }
    }
    u8::from(Costs::of(&device).pays(work as f64, &to_send, &to_fetch))
}

/// Makes the `size` bytes at `offset` of an array's elements valid on the host; the rest need not be.
///
/// # Safety
/// `object` is a live array with so many elements.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_device_element(object: *mut ArrayHeader, offset: i64, size: i64) {
    // SAFETY: live by contract.
    let (state, bytes) = unsafe { (marks(object), size_of(object)) };
    if state & NOT_ON_HOST == 0 {
        return;
    }
    if state & ROWS != 0 {
        // SAFETY: as the caller states.
        return unsafe { rows::element(object, offset, size) };
    }
    let mut device = device();
    let asked = ask(&mut device.asked.elements, object as usize);
    if Costs::of(&device).moves_whole(bytes, asked) {
        device.asked.elements.remove(&(object as usize));
        // SAFETY: passed on.
        return check(unsafe { device.fetch(object) });
    }
    let (offset, size) = (offset as usize, size as usize);
    // SAFETY: the element lies within the array.
    check(unsafe { device.fetch_part(object, offset, size) });
}

impl Device {
    /// Copies some bytes of an object's elements back.
    ///
    /// # Safety
    /// `object` is a live array with these bytes.
    unsafe fn fetch_part(&mut self, object: *mut ArrayHeader, offset: usize, size: usize) -> Result<(), String> {
        let Some(piece) = self.buffers.of.get(&(object as usize)) else { return Ok(()) };
        // SAFETY: nobody else touches the elements of an array whose host copy is out of date.
        unsafe {
            let elements = std::slice::from_raw_parts_mut((*object).data.add(offset), size);
            self.context
                .queue
                .enqueue_read_buffer(&piece.memory, CL_BLOCKING, offset, elements, &[])
                .map_err(|e| format!("an element could not be fetched from the device: {e}"))?;
        }
        self.counters.fetched += size as u64;
        Ok(())
    }

    /// Copies the elements of one object to another one on the device.
    ///
    /// # Safety
    /// Live arrays of one size; nobody else refers to `to`.
    unsafe fn copy(&mut self, from: *mut ArrayHeader, to: *mut ArrayHeader) -> Result<(), String> {
        // SAFETY: passed on.
        let bytes = unsafe {
            self.buffer(from, true, false)?;
            self.buffer(to, false, true)?;
            size_of(from)
        };
        if bytes == 0 {
            return Ok(());
        }
        let mut target = self.buffers.of.remove(&(to as usize)).expect("just made sure of");
        let source = &self.buffers.of[&(from as usize)];
        // SAFETY: both buffers have at least so many bytes, and the queue is in order.
        let copied =
            unsafe { self.context.queue.enqueue_copy_buffer(&source.memory, &mut target.memory, 0, 0, bytes, &[]) };
        self.buffers.of.insert(to as usize, target);
        copied.map(|_| ()).map_err(|e| format!("an array could not be copied on the device: {e}"))
    }
}

/// Copies the elements of an array that only the device has to a new one there; `false` if the host has them.
///
/// # Safety
/// Live arrays of one size; nobody else refers to `to`.
pub(crate) unsafe fn copied_there(from: *mut ArrayHeader, to: *mut ArrayHeader) -> bool {
    // SAFETY: live by contract.
    if unsafe { marks(from) } & NOT_ON_HOST == 0 {
        return false;
    }
    // SAFETY: passed on.
    if unsafe { rows::copied(from, to) } {
        return true;
    }
    let mut device = device();
    // SAFETY: passed on.
    check(unsafe { device.copy(from, to) });
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    const GPU: Costs = Costs {
        launch: LAUNCH,
        transfer: TRANSFER,
        byte: BYTE,
        cycle: HOST_CYCLE / DEVICE_CYCLES,
        host_cycle: HOST_CYCLE,
    };

    #[test]
    fn little_work_stays_where_its_data_is() {
        assert!(!GPU.pays(1000.0, &[], &[]));
        assert!(GPU.pays(1000.0, &[], &[1 << 20]));
        assert!(!GPU.pays(1000.0, &[(1 << 20, 1)], &[]));
    }

    #[test]
    fn much_work_pays_for_its_transfers() {
        assert!(GPU.pays(1e7, &[(1 << 20, 1)], &[]));
        // One pass over an array on the host alone does not, but the tenth does.
        let work = 1e6;
        let bytes = 8 << 20;
        assert!(!GPU.pays(work, &[(bytes, 1)], &[]));
        assert!(GPU.pays(work, &[(bytes, 10)], &[]));
    }
    #[test]
    fn arrays_move_whole_when_their_elements_have_cost_as_much() {
        assert!(GPU.moves_whole(1000, 1));
        assert!(!GPU.moves_whole(1 << 20, 1));
        assert!(GPU.moves_whole(1 << 20, 20));
        assert!(!GPU.moves_whole(1 << 30, 1000));
    }
}
