//! Objects: allocation, reference counts, release, deep copies. The C entry points and the checked Rust ones below them.

use std::ffi::c_char;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering, fence};

use crate::abi::{ArrayHeader, DATA_ALIGN, ElemTag, HEADER_SIZE, ObjectKind};
use crate::fault::{self, Fault};
use crate::{blocks, device, lost, profile, stats, stop};

/// Bytes behind the elements of every object that may be read: compiled code loads whole vectors of which only some lanes lie
/// inside an array. The header before the elements serves for the other end.
pub const PADDING: usize = DATA_ALIGN;

/// Bytes before the elements of an object of this rank.
///
/// A shape of up to four extents always has room, so a value may be reshaped in place within rank 4.
pub const fn data_offset(rank: u32) -> usize {
    (HEADER_SIZE + 8 * rank as usize).next_multiple_of(DATA_ALIGN)
}

/// Objects from this size on are staggered.
const STAGGERED: usize = 32 << 10;
/// Objects in a row whose elements begin at different places of a page.
const PLACES: usize = 7;
/// Bytes from place to place, a multiple of [`DATA_ALIGN`]: any two places are about this far apart, also across the end of a page.
const APART: usize = 576;

/// Bytes between header and elements of a new object of `bytes` bytes.
///
/// Large blocks all begin at the same place of a page. Processors compare the last 12 bits of addresses to find out whether a load needs
/// what was just stored; with operand and result at equal places, that of each cell seems to need the cell before it.
fn stagger(bytes: usize) -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    if bytes < STAGGERED { 0 } else { NEXT.fetch_add(1, Ordering::Relaxed) % PLACES * APART }
}

/// Number of elements of a shape.
///
/// # Errors
/// An extent is negative, or the product does not fit an `i64`.
pub fn count_of(shape: &[i64]) -> Result<i64, Fault> {
    if let Some(extent) = shape.iter().find(|&&extent| extent < 0) {
        let text = format!("an array cannot have the negative extent {}", fault::extent_text(*extent));
        return Err(Fault::coded(fault::Code::NEGATIVE_EXTENT, text));
    }
    if shape.contains(&0) {
        return Ok(0);
    }
    shape
        .iter()
        .try_fold(1i64, |count, &extent| count.checked_mul(extent))
        .ok_or_else(|| Fault::new(format!("an array of shape {} is too large", fault::shape_text(shape))))
}

/// Axes of an array: more than anybody needs, and what the compiler counts on.
pub const MAX_RANK: usize = 255;

/// A new object with `rc == 1`; its elements are undefined, except that handles start as null.
///
/// # Errors
/// The shape is not a valid one, or memory is exhausted.
pub fn allocate(elem: ElemTag, kind: ObjectKind, shape: &[i64]) -> Result<NonNull<ArrayHeader>, Fault> {
    let count = count_of(shape)?;
    if shape.len() > MAX_RANK {
        return Err(Fault::new(format!("an array would have {} axes; {MAX_RANK} are the most", shape.len())));
    }
    let rank = shape.len() as u32;
    let memory_fault = || fault::memory(shape);
    let bytes =
        usize::try_from(count).ok().and_then(|count| count.checked_mul(elem.size())).ok_or_else(memory_fault)?;
    let offset = data_offset(rank) + stagger(bytes);
    let total = bytes.checked_add(offset + PADDING).ok_or_else(memory_fault)?;
    let block = profile::allocating(bytes, || blocks::allocate(total)).ok_or_else(memory_fault)?;
    stats::on_allocate(bytes);
    let header = block.cast::<ArrayHeader>();
    // SAFETY: the block has `offset + bytes` bytes, `offset` covers the header and `rank` extents, and it is aligned to 64.
    unsafe {
        let data = block.add(offset);
        header.write(ArrayHeader {
            rc: AtomicI64::new(1),
            data,
            count,
            rank,
            elem: elem as u8,
            kind: kind as u8,
            pad: 0,
        });
        block.add(HEADER_SIZE).cast::<i64>().copy_from_nonoverlapping(shape.as_ptr(), shape.len());
        if elem == ElemTag::Handle {
            data.write_bytes(0, bytes);
        }
    }
    let object = NonNull::new(header).ok_or_else(memory_fault)?;
    lost::note_object(object, bytes);
    Ok(object)
}

/// An opaque object that owns `value`; `drop` runs when the last reference goes.
///
/// The element block holds two words: the boxed value and the function that drops it.
///
/// # Errors
/// Memory is exhausted.
pub fn allocate_opaque<T: Send + 'static>(kind: ObjectKind, value: T) -> Result<NonNull<ArrayHeader>, Fault> {
    unsafe fn drop_boxed<T>(value: *mut u8) {
        // SAFETY: `value` came from `Box::into_raw` of a `Box<T>` in `allocate_opaque`, and the object is being released.
        drop(unsafe { Box::from_raw(value.cast::<T>()) });
    }
    let object = allocate(ElemTag::U64, kind, &[2])?;
    let boxed = Box::into_raw(Box::new(value)).cast::<u8>();
    let dropper: unsafe fn(*mut u8) = drop_boxed::<T>;
    // SAFETY: the object has 16 writable, aligned data bytes.
    unsafe {
        let words = object.as_ref().data.cast::<*mut u8>();
        words.write(boxed);
        words.add(1).cast::<unsafe fn(*mut u8)>().write(dropper);
    }
    Ok(object)
}

/// Pointer to the Rust value inside an opaque object.
///
/// # Safety
/// The object was made by [`allocate_opaque`] and is alive.
pub unsafe fn opaque_value(object: NonNull<ArrayHeader>) -> *mut u8 {
    // SAFETY: by contract the first data word holds the boxed value.
    unsafe { object.as_ref().data.cast::<*mut u8>().read() }
}

/// Releases an object whose count has reached zero, and the references it holds.
///
/// # Safety
/// `object` is valid and nobody uses it afterwards.
unsafe fn release(object: NonNull<ArrayHeader>) {
    // SAFETY: by contract the object is valid; its fields are read before the block is given back.
    unsafe {
        let header = object.as_ref();
        let (data, count) = (header.data, usize::try_from(header.count).unwrap_or(0));
        let elem = ElemTag::from_u8(header.elem).unwrap_or(ElemTag::U8);
        if header.kind == ObjectKind::File as u8 || header.kind == ObjectKind::Other as u8 {
            let dropper = data.cast::<unsafe fn(*mut u8)>().add(1).read();
            dropper(opaque_value(object));
        } else if elem == ElemTag::Handle {
            for position in 0..count {
                ravel_rc_dec(data.cast::<*mut ArrayHeader>().add(position).read());
            }
        }
        if header.pad != 0 {
            device::forget(object);
        }
        let bytes = count * elem.size();
        let offset = data as usize - object.as_ptr() as usize;
        stats::on_free(bytes);
        lost::forget(object.as_ptr() as usize, bytes);
        blocks::free(object.as_ptr().cast(), offset + bytes + PADDING);
    }
}

/// Shape of an object.
///
/// # Safety
/// `object` is valid for the lifetime of the result.
pub unsafe fn shape_of<'a>(object: *const ArrayHeader) -> &'a [i64] {
    // SAFETY: `rank` extents follow the header of a valid object.
    unsafe { std::slice::from_raw_parts(object.cast::<u8>().add(HEADER_SIZE).cast::<i64>(), (*object).rank as usize) }
}

/// New array with undefined elements and `rc == 1`. Ends the program if the shape is invalid or memory is exhausted.
///
/// # Safety
/// `shape` points to `rank` extents; `pos` is null or NUL-terminated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_alloc(elem: u8, rank: u32, shape: *const i64, pos: *const c_char) -> *mut ArrayHeader {
    stop::check();
    let extents = if rank == 0 {
        &[]
    } else {
        // SAFETY: the caller provides `rank` extents.
        unsafe { std::slice::from_raw_parts(shape, rank as usize) }
    };
    let Some(tag) = ElemTag::from_u8(elem) else {
        fault::raise(Fault::new(format!("compiled code asked for the unknown element type {elem}")))
    };
    match allocate(tag, ObjectKind::Array, extents) {
        Ok(object) => object.as_ptr(),
        // SAFETY: by contract.
        Err(fault) => unsafe { fault::raise_from(pos, fault) },
    }
}

/// Releases an object whose reference count has reached zero.
///
/// # Safety
/// `object` is null or valid, and nobody uses it afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_free(object: *mut ArrayHeader) {
    if let Some(object) = NonNull::new(object) {
        // SAFETY: passed on from the caller.
        unsafe { release(object) }
    }
}

/// Adds a reference.
///
/// # Safety
/// `object` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_rc_inc(object: *mut ArrayHeader) {
    if let Some(object) = NonNull::new(object) {
        // SAFETY: valid by contract.
        unsafe { object.as_ref() }.rc.fetch_add(1, Ordering::Relaxed);
    }
}

/// Gives up a reference; the last one releases the object.
///
/// # Safety
/// `object` is null or valid, and the caller owns the reference.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_rc_dec(object: *mut ArrayHeader) {
    let Some(object) = NonNull::new(object) else { return };
    // SAFETY: valid by contract until the count below reaches zero.
    if unsafe { object.as_ref() }.rc.fetch_sub(1, Ordering::Release) == 1 {
        fence(Ordering::Acquire);
        // SAFETY: that was the last reference.
        unsafe { release(object) }
    }
}

/// Gives the processor away: between load and store of counts, in programs that test who counts what (`--widen-counts`).
#[unsafe(no_mangle)]
pub extern "C" fn ravel_pause() {
    std::thread::yield_now();
}

/// 1 if the caller holds the only reference, so that it may write in place. The answer stays true: only who owns a reference, or borrows from
/// an owner, adds one, and the caller owns the only one. The load acquires what threads did that have given up theirs.
///
/// # Safety
/// `object` is valid and the caller owns a reference.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_unique(object: *const ArrayHeader) -> u8 {
    // SAFETY: valid by contract.
    u8::from(unsafe { &*object }.rc.load(Ordering::Acquire) == 1)
}

/// Deep copy of an array with `rc == 1`; handles inside are shared. Opaque objects cannot be copied: they are shared too.
///
/// # Safety
/// `object` is valid; `pos` is null or NUL-terminated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_copy(object: *mut ArrayHeader, pos: *const c_char) -> *mut ArrayHeader {
    stop::check();
    // SAFETY: valid by contract.
    match unsafe { copy(object) } {
        Ok(copy) => copy,
        // SAFETY: by contract.
        Err(fault) => unsafe { fault::raise_from(pos, fault) },
    }
}

/// [`ravel_copy`] for Rust callers.
///
/// # Safety
/// `object` is valid.
///
/// # Errors
/// Memory is exhausted.
pub unsafe fn copy(object: *mut ArrayHeader) -> Result<*mut ArrayHeader, Fault> {
    // SAFETY: valid by contract; the copy has the same number of data bytes.
    unsafe {
        let header = &*object;
        if header.kind == ObjectKind::File as u8 || header.kind == ObjectKind::Other as u8 {
            ravel_rc_inc(object);
            return Ok(object);
        }
        let elem = ElemTag::from_u8(header.elem).unwrap_or(ElemTag::U8);
        let kind = if header.kind == ObjectKind::String as u8 { ObjectKind::String } else { ObjectKind::Array };
        let result = allocate(elem, kind, shape_of(object))?;
        stats::on_copy();
        profile::on_copy();
        if device::copied_there(object, result.as_ptr()) {
            return Ok(result.as_ptr());
        }
        let count = usize::try_from(header.count).unwrap_or(0);
        result.as_ref().data.copy_from_nonoverlapping(header.data, count * elem.size());
        if elem == ElemTag::Handle {
            for position in 0..count {
                ravel_rc_inc(header.data.cast::<*mut ArrayHeader>().add(position).read());
            }
        }
        Ok(result.as_ptr())
    }
}

/// Gives an array another number of indices on its first axis where it is, if nothing else holds it and its block has room, and returns
/// 1; elements of new indices are undefined. Otherwise the array stays as it is, and the result is 0. Blocks are up to an eighth larger
/// than what they are made for, so an array that gets longer step by step moves a few times only.
///
/// # Safety
/// `object` is a valid array of rank 1 or more whose elements are no handles.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_resize(object: *mut ArrayHeader, rows: i64) -> u8 {
    stop::check();
    // SAFETY: the object is valid; with a count of one nobody else looks at it.
    unsafe {
        let header = &mut *object;
        let is_plain = header.kind == ObjectKind::Array as u8 && header.pad == 0;
        // The caller owns a reference; as in `ravel_unique`, a count of one stays one.
        if !is_plain || header.rc.load(Ordering::Acquire) != 1 || rows < 0 {
            return 0;
        }
        let size = ElemTag::from_u8(header.elem).unwrap_or(ElemTag::U8).size();
        let row = shape_of(object)[1..].iter().try_fold(1i64, |row, &extent| row.checked_mul(extent));
        let Some(count) = row.and_then(|row| row.checked_mul(rows)) else { return 0 };
        let bytes = |count: i64| usize::try_from(count).ok().and_then(|count| count.checked_mul(size));
        let (Some(before), Some(after)) = (bytes(header.count), bytes(count)) else { return 0 };
        let around = header.data as usize - object as usize + PADDING;
        if !after.checked_add(around).is_some_and(|after| blocks::same_block(before + around, after)) {
            return 0;
        }
        object.cast::<u8>().add(HEADER_SIZE).cast::<i64>().write(rows);
        header.count = count;
        stats::on_resize(before, after);
        1
    }
}

/// New string object from `length` bytes.
///
/// # Safety
/// `bytes` points to `length` readable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_string_new(bytes: *const u8, length: i64) -> *mut ArrayHeader {
    match allocate(ElemTag::Char, ObjectKind::String, &[length]) {
        Ok(object) => {
            // SAFETY: the object has `length` data bytes (a negative length was refused), and so has the source.
            unsafe { object.as_ref().data.copy_from_nonoverlapping(bytes, usize::try_from(length).unwrap_or(0)) };
            object.as_ptr()
        }
        Err(fault) => fault::raise(fault),
    }
}

/// Untyped temporary memory, 64-byte aligned; ends the program when memory is exhausted.
///
/// # Safety
/// `pos` is null or NUL-terminated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_scratch_alloc(bytes: i64, pos: *const c_char) -> *mut u8 {
    match usize::try_from(bytes).ok().and_then(blocks::allocate) {
        Some(block) => {
            lost::note_scratch(block, usize::try_from(bytes).unwrap_or(0));
            block
        }
        None => {
            let fault = Fault::here(format!("out of memory for {bytes} bytes of temporary values"));
            // SAFETY: by contract.
            unsafe { fault::raise_from(pos, fault) }
        }
    }
}

/// Gives back temporary memory.
///
/// # Safety
/// `block` came from `ravel_scratch_alloc(bytes)` and is not used afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_scratch_free(block: *mut u8, bytes: i64) {
    if let Ok(bytes) = usize::try_from(bytes) {
        lost::forget(block as usize, bytes);
        // SAFETY: passed on from the caller.
        unsafe { blocks::free(block, bytes) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::Array;

    #[test]
    fn counts_follow_shapes() {
        assert_eq!(count_of(&[]).expect("a scalar"), 1);
        assert_eq!(count_of(&[2, 3]).expect("a matrix"), 6);
        assert_eq!(count_of(&[i64::MAX, 0, i64::MAX]).expect("empty"), 0);
        assert!(count_of(&[i64::MAX, 2]).is_err());
        assert!(count_of(&[-1]).is_err());
    }

    #[test]
    fn absurd_arrays_are_out_of_memory() {
        assert!(allocate(ElemTag::F64, ObjectKind::Array, &[1 << 60]).is_err());
        assert!(allocate(ElemTag::F64, ObjectKind::Array, &[1 << 55]).is_err());
    }

    #[test]
    fn headers_carry_shape_and_aligned_data() {
        for rank in 0..12usize {
            let shape = vec![2i64; rank];
            let object = allocate(ElemTag::F32, ObjectKind::Array, &shape).expect("small");
            // SAFETY: freshly allocated, released once at the end.
            unsafe {
                assert_eq!(object.as_ref().data as usize % DATA_ALIGN, 0);
                assert_eq!(object.as_ref().count, 1 << rank);
                assert_eq!(shape_of(object.as_ptr()), shape);
                ravel_rc_inc(object.as_ptr());
                assert_eq!(ravel_unique(object.as_ptr()), 0);
                ravel_rc_dec(object.as_ptr());
                assert_eq!(ravel_unique(object.as_ptr()), 1);
                ravel_rc_dec(object.as_ptr());
            }
        }
    }

    #[test]
    fn large_objects_in_a_row_lie_at_different_places_of_a_page() {
        let objects: Vec<_> = (0..PLACES)
            .map(|_| allocate(ElemTag::F64, ObjectKind::Array, &[1 << 20]).expect("some megabytes"))
            .collect();
        let place = |object: &NonNull<ArrayHeader>| {
            // SAFETY: allocated above.
            (unsafe { object.as_ref() }.data as usize - object.as_ptr() as usize) % 4096
        };
        let mut places: Vec<_> = objects.iter().map(place).collect();
        places.sort_unstable();
        assert!(places.windows(2).all(|pair| pair[1] - pair[0] >= APART), "{places:?}");
        assert!(places.iter().all(|place| place % DATA_ALIGN == 0), "{places:?}");
        for object in objects {
            // SAFETY: the only references.
            unsafe { ravel_rc_dec(object.as_ptr()) };
        }
    }

    #[test]
    fn arrays_get_longer_while_their_block_has_room() {
        let mut array = Array::from_slice(&[1, 2], &[7i64, 8]).expect("small");
        let mut moved = 0;
        for rows in 2..=1900 {
            let raw = array.view().as_ptr().as_ptr();
            // SAFETY: the array is valid, and nobody else has it.
            if unsafe { ravel_resize(raw, rows) } == 0 {
                moved += 1;
                let mut elements = array.view().as_slice::<i64>().expect("of this type").to_vec();
                elements.extend([0, 0]);
                array = Array::from_slice(&[rows, 2], &elements).expect("small");
            }
            assert_eq!((array.view().shape(), array.view().count() as i64), (&[rows, 2][..], 2 * rows));
            array.as_mut_slice::<i64>().expect("unshared")[2 * rows as usize - 1] = -rows;
        }
        assert!(moved < 60, "{moved}");
        let ends: Vec<i64> =
            array.view().as_slice::<i64>().expect("of this type").iter().copied().skip(1).step_by(2).collect();
        assert!(ends[0] == 8 && (2..=1900).zip(&ends[1..]).all(|(rows, end)| *end == -rows));
        let other = array.clone();
        // SAFETY: the array is valid; it is held twice, so nothing happens.
        assert_eq!(unsafe { ravel_resize(array.view().as_ptr().as_ptr(), 1899) }, 0);
        assert_eq!(other.view().count(), 3800);
    }

    #[test]
    fn copies_are_deep() {
        let object = allocate(ElemTag::I32, ObjectKind::Array, &[3]).expect("small");
        // SAFETY: both objects are valid until their release.
        unsafe {
            object.as_ref().data.cast::<i32>().copy_from_nonoverlapping([1, 2, 3].as_ptr(), 3);
            let copied = ravel_copy(object.as_ptr(), std::ptr::null());
            object.as_ref().data.cast::<i32>().write(9);
            assert_eq!((*copied).data.cast::<i32>().read(), 1);
            ravel_rc_dec(copied);
            ravel_rc_dec(object.as_ptr());
        }
    }

    #[test]
    fn opaque_objects_drop_their_value() {
        use std::sync::Arc;
        let value = Arc::new(7);
        let object = allocate_opaque(ObjectKind::Other, value.clone()).expect("small");
        assert_eq!(Arc::strong_count(&value), 2);
        // SAFETY: the only reference.
        unsafe { ravel_rc_dec(object.as_ptr()) };
        assert_eq!(Arc::strong_count(&value), 1);
    }
}
