//! Spare objects: what a loop is done with, kept for the next iteration.
//!
//! Compiled code has a few words for them beside a loop. An array that dies in an iteration is put there if nobody else holds it, and
//! an allocation takes one of the right size from there. So a loop that makes a new array from an old one in each iteration
//! works with two buffers.

use std::ffi::c_char;
use std::sync::atomic::Ordering;

use crate::abi::{ArrayHeader, ElemTag, HEADER_SIZE, ObjectKind};
use crate::buffer::{self, data_offset, ravel_alloc, ravel_rc_dec};
use crate::device;
use crate::ranks::rows;

/// The words of a loop.
///
/// # Safety
/// `slots` points to `n` words, each null or an owned reference, that nobody else uses at the time.
unsafe fn words<'a>(slots: *mut *mut ArrayHeader, n: i64) -> &'a mut [*mut ArrayHeader] {
    // SAFETY: by contract.
    unsafe { std::slice::from_raw_parts_mut(slots, usize::try_from(n).unwrap_or(0)) }
}

/// [`ravel_alloc`], from the spare objects if one has the right size.
///
/// # Safety
/// As [`ravel_alloc`]; `slots` are the `n` words of a loop.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_spare_alloc(
    elem: u8,
    rank: u32,
    shape: *const i64,
    slots: *mut *mut ArrayHeader,
    n: i64,
    pos: *const c_char,
) -> *mut ArrayHeader {
    // SAFETY: by contract; spare objects are owned references with a count of one, so that they may be changed.
    unsafe {
        let extents = if rank == 0 { &[] } else { std::slice::from_raw_parts(shape, rank as usize) };
        if let (Some(tag), Ok(count)) = (ElemTag::from_u8(elem), buffer::count_of(extents)) {
            for slot in words(slots, n) {
                let Some(header) = slot.as_mut() else { continue };
                let old = ElemTag::from_u8(header.elem).map_or(0, ElemTag::size) as i64 * header.count;
                if count.checked_mul(tag.size() as i64) != Some(old) || data_offset(rank) != data_offset(header.rank) {
                    continue;
                }
                let object = std::mem::replace(slot, std::ptr::null_mut());
                (header.elem, header.rank, header.count) = (elem, rank, count);
                if header.pad & rows::ROWS != 0 {
                    rows::forget(header);
                }
                header.pad &= device::HAS_BUFFER;
                object
                    .cast::<u8>()
                    .add(HEADER_SIZE)
                    .cast::<i64>()
                    .copy_from_nonoverlapping(extents.as_ptr(), extents.len());
                return object;
            }
        }
        ravel_alloc(elem, rank, shape, pos)
    }
}

/// Gives up a reference; the object becomes a spare one if that was the last. The oldest spare object makes room.
///
/// # Safety
/// As [`ravel_rc_dec`]; `slots` are the `n` words of a loop.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_spare_keep(object: *mut ArrayHeader, slots: *mut *mut ArrayHeader, n: i64) {
    // SAFETY: by contract.
    unsafe {
        let slots = words(slots, n);
        // The reference is the caller's to give up; as in `ravel_unique`, a count of one stays one.
        let plain = object.as_ref().is_some_and(|header| {
            header.rc.load(Ordering::Acquire) == 1
                && header.kind == ObjectKind::Array as u8
                && header.elem != ElemTag::Handle as u8
        });
        if !plain || slots.is_empty() {
            ravel_rc_dec(object);
            return;
        }
        let place = slots.iter().position(|slot| slot.is_null()).unwrap_or_else(|| {
            ravel_rc_dec(slots[0]);
            slots.rotate_left(1);
            slots.len() - 1
        });
        slots[place] = object;
    }
}

/// Gives up the spare objects of a loop.
///
/// # Safety
/// `slots` are the `n` words of a loop.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_spare_drop(slots: *mut *mut ArrayHeader, n: i64) {
    // SAFETY: by contract.
    unsafe {
        for slot in words(slots, n) {
            ravel_rc_dec(std::mem::replace(slot, std::ptr::null_mut()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn array(shape: &[i64]) -> *mut ArrayHeader {
        // SAFETY: a valid shape.
        unsafe { ravel_alloc(ElemTag::F32 as u8, shape.len() as u32, shape.as_ptr(), std::ptr::null()) }
    }

    fn again(elem: ElemTag, shape: &[i64], slots: &mut [*mut ArrayHeader]) -> *mut ArrayHeader {
        // SAFETY: a valid shape, and the words of this test.
        unsafe {
            let (rank, n) = (shape.len() as u32, slots.len() as i64);
            ravel_spare_alloc(elem as u8, rank, shape.as_ptr(), slots.as_mut_ptr(), n, std::ptr::null())
        }
    }

    fn keep(object: *mut ArrayHeader, slots: &mut [*mut ArrayHeader]) {
        // SAFETY: the object belongs to the caller.
        unsafe { ravel_spare_keep(object, slots.as_mut_ptr(), slots.len() as i64) }
    }

    #[test]
    fn an_object_of_the_same_size_comes_back() {
        let mut slots = [std::ptr::null_mut(); 2];
        let first = array(&[6, 4]);
        keep(first, &mut slots);
        let other = again(ElemTag::F32, &[5], &mut slots);
        assert_ne!(other, first);
        let same = again(ElemTag::F64, &[12], &mut slots);
        assert_eq!(same, first);
        // SAFETY: alive.
        unsafe {
            assert_eq!(((*same).rank, (*same).count, buffer::shape_of(same)), (1, 12, &[12i64][..]));
            ravel_rc_dec(same);
            ravel_rc_dec(other);
        }
        assert_eq!(slots, [std::ptr::null_mut(); 2]);
    }

    #[test]
    fn shared_objects_are_only_released() {
        let mut slots = [std::ptr::null_mut(); 1];
        let object = array(&[3]);
        // SAFETY: alive.
        unsafe { buffer::ravel_rc_inc(object) };
        keep(object, &mut slots);
        assert!(slots[0].is_null());
        keep(object, &mut slots);
        assert_eq!(slots[0], object);
        let newer = array(&[3]);
        keep(newer, &mut slots);
        assert_eq!(slots[0], newer);
        // SAFETY: the words of this test.
        unsafe { ravel_spare_drop(slots.as_mut_ptr(), 1) };
        assert!(slots[0].is_null());
        keep(std::ptr::null_mut(), &mut slots);
    }
}
