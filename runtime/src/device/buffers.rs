//! Buffers of the device: which array has which, transfers, and a pool of buffers that nobody uses.

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasherDefault, Hasher};

use opencl3::error_codes::ClError;
use opencl3::memory::{Buffer, CL_MEM_READ_WRITE, ClMem};
use opencl3::types::{CL_BLOCKING, CL_NON_BLOCKING};

use super::{Device, HAS_BUFFER, NOT_ON_HOST, ON_DEVICE, errors, marks, set_marks};
use crate::abi::{ArrayHeader, ElemTag};

/// Buffers are whole numbers of these.
const GRAIN: usize = 256;

/// Hashes of addresses, which differ in few bits and come from nobody who wants them to collide.
#[derive(Default)]
pub(super) struct AddressHasher(u64);

impl Hasher for AddressHasher {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_usize(usize::from(byte));
        }
    }

    fn write_usize(&mut self, address: usize) {
        // Fibonacci hashing; the high bits of the product depend on all of the address.
        self.0 = (self.0 ^ address as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 32
    }
}

/// For tables by address.
pub(super) type ByAddress = BuildHasherDefault<AddressHasher>;

/// A buffer and its size.
pub(super) struct Piece {
    pub memory: Buffer<u8>,
    pub bytes: usize,
}

#[derive(Default)]
pub(super) struct Buffers {
    /// By address of the object.
    pub of: HashMap<usize, Piece, ByAddress>,
    /// By size.
    pool: BTreeMap<usize, Vec<Piece>>,
    /// Bytes of all buffers that exist, those of the pool included.
    bytes: u64,
}

impl Buffers {
    /// Gives an object's buffer back to the pool.
    ///
    /// Kernels that still use it are queued before everything that will use it next.
    pub fn release(&mut self, object: usize) {
        if let Some(piece) = self.of.remove(&object) {
            self.pool.entry(piece.bytes).or_default().push(piece);
        }
    }

    fn pooled(&mut self, bytes: usize) -> Option<Piece> {
        // A little too large is better than new.
        let (&size, _) = self.pool.range(bytes..=bytes + bytes / 4).find(|(_, pieces)| !pieces.is_empty())?;
        self.pool.get_mut(&size)?.pop()
    }

    /// Frees what nobody uses.
    fn drain(&mut self) {
        for (size, pieces) in std::mem::take(&mut self.pool) {
            self.bytes -= (size * pieces.len()) as u64;
        }
    }
}

/// Bytes of an array's elements.
pub(super) unsafe fn size_of(object: *const ArrayHeader) -> usize {
    // SAFETY: live by contract of the callers.
    let header = unsafe { &*object };
    let elem = ElemTag::from_u8(header.elem).unwrap_or(ElemTag::U8);
    usize::try_from(header.count).unwrap_or(0) * elem.size()
}

impl Device {
    /// A buffer of at least this size.
    pub(super) fn piece(&mut self, bytes: usize) -> Result<Piece, String> {
        let bytes = bytes.max(1).next_multiple_of(GRAIN);
        if let Some(piece) = self.buffers.pooled(bytes) {
            return Ok(piece);
        }
        // SAFETY: no host pointer is given.
        let create = |device: &Device| unsafe {
            Buffer::<u8>::create(&device.context.context, CL_MEM_READ_WRITE, bytes, std::ptr::null_mut())
        };
        let memory = match create(self) {
            Ok(memory) => memory,
            Err(_) if !self.buffers.pool.is_empty() => {
                // What lies in the pool may make room.
                self.context.queue.finish().map_err(|e| self.lost(e))?;
                self.buffers.drain();
                self.programs.forget_arguments();
                create(self).map_err(|e| self.out_of_memory(bytes, e))?
            }
            Err(e) => return Err(self.out_of_memory(bytes, e)),
        };
        self.buffers.bytes += bytes as u64;
        Ok(Piece { memory, bytes })
    }

    fn out_of_memory(&self, bytes: usize, e: ClError) -> String {
        errors::no_room(&self.context.device.name, bytes, self.buffers.bytes, self.context.device.largest, e)
    }

    /// A transfer or a kernel before it failed.
    fn lost(&self, e: ClError) -> String {
        errors::failed(&self.context.device.name, "the device failed", e)
    }

    /// The buffer of an object as kernels take it; with the elements in it if they are `wanted`, without the host's if it is `written`.
    ///
    /// # Safety
    /// `object` is a live array.
    pub(super) unsafe fn buffer(
        &mut self,
        object: *mut ArrayHeader,
        wanted: bool,
        written: bool,
    ) -> Result<*mut u8, String> {
        // SAFETY: live by contract.
        let (bytes, mut state) = unsafe { (size_of(object), marks(object)) };
        let key = object as usize;
        if state & HAS_BUFFER == 0 {
            // What an object without a buffer has here is left over from another one at its place.
            self.buffers.release(key);
            let piece = self.piece(bytes)?;
            self.buffers.of.insert(key, piece);
        }
        let piece = self.buffers.of.get_mut(&key).expect("just made sure of");
        if wanted && state & ON_DEVICE == 0 && bytes > 0 {
            // SAFETY: the elements of a live array; the write is complete when the call returns, so they may change after it.
            unsafe {
                let elements = std::slice::from_raw_parts((*object).data, bytes);
                self.context.queue.enqueue_write_buffer(&mut piece.memory, CL_BLOCKING, 0, elements, &[]).map_err(
                    |e| errors::failed(&self.context.device.name, "an array could not be sent to the device", e),
                )?;
            }
            self.counters.sent += bytes as u64;
        }
        state |= HAS_BUFFER | ON_DEVICE;
        if written {
            state |= NOT_ON_HOST;
            self.asked.written(key);
        }
        let handle = piece.memory.get();
        // SAFETY: live by contract.
        unsafe { set_marks(object, state) };
        Ok(handle.cast())
    }

    /// Copies the elements of an object back.
    ///
    /// # Safety
    /// `object` is a live array.
    pub(super) unsafe fn fetch(&mut self, object: *mut ArrayHeader) -> Result<(), String> {
        // SAFETY: live by contract.
        let (bytes, state) = unsafe { (size_of(object), marks(object)) };
        if let Some(piece) = self.buffers.of.get(&(object as usize))
            && bytes > 0
        {
            // SAFETY: nobody else touches the elements of an array whose host copy is out of date.
            unsafe {
                let elements = std::slice::from_raw_parts_mut((*object).data, bytes);
                self.context.queue.enqueue_read_buffer(&piece.memory, CL_BLOCKING, 0, elements, &[]).map_err(|e| {
                    errors::failed(&self.context.device.name, "an array could not be fetched from the device", e)
                })?;
            }
            self.counters.fetched += bytes as u64;
        }
        // SAFETY: live by contract.
        unsafe { set_marks(object, state & !NOT_ON_HOST) };
        Ok(())
    }

    /// Whether a flag was raised; lowers it.
    pub(super) fn faulted(&mut self) -> Result<bool, String> {
        let name = &self.context.device.name;
        let failed = |e| errors::failed(name, "the device failed", e);
        let Some(flag) = self.programs.flag.as_mut() else { return Ok(false) };
        let mut word = [0u8; 4];
        // SAFETY: the reads and writes are of four bytes, the size of the flag.
        unsafe {
            self.context.queue.enqueue_read_buffer(&flag.memory, CL_BLOCKING, 0, &mut word, &[]).map_err(failed)?;
            if word != [0; 4] {
                self.context
                    .queue
                    .enqueue_write_buffer(&mut flag.memory, CL_BLOCKING, 0, &[0u8; 4], &[])
                    .map_err(failed)?;
            }
        }
        Ok(word != [0; 4])
    }

    /// The flag that kernels raise at a fault.
    pub(super) fn flag(&mut self) -> Result<*mut u8, String> {
        if self.programs.flag.is_none() {
            let mut piece = self.piece(4)?;
            let failed = |e| self.lost(e);
            // SAFETY: four bytes, and the queue is in order: later kernels see them.
            unsafe { self.context.queue.enqueue_write_buffer(&mut piece.memory, CL_NON_BLOCKING, 0, &[0u8; 4], &[]) }
                .map_err(failed)?;
            self.context.queue.finish().map_err(failed)?;
            self.programs.flag = Some(piece);
        }
        Ok(self.programs.flag.as_ref().expect("just made").memory.get().cast())
    }
}
