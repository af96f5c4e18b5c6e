//! Helpers of compiled code: copies, and the operations on values whose rank only the run knows.
//!
//! Positions are `file.sac:3:10 in f` or null. Unless stated otherwise objects are borrowed and results are owned.

use std::ffi::{CStr, c_char};
use std::ptr::NonNull;

use crate::abi::{ArrayHeader, ElemTag, ObjectKind};
use crate::buffer::{self, allocate, ravel_rc_dec, ravel_rc_inc, ravel_unique, shape_of};
use crate::device;
use crate::fault::{self, Code, Fault, raise_at, several_from};
use crate::ranks::{Place, rows};
use crate::stop;

/// Ends the program at a position.
///
/// # Safety
/// `pos` is null or NUL-terminated.
pub(crate) unsafe fn raise(pos: *const c_char, fault: Fault) -> ! {
    if pos.is_null() {
        fault::raise(fault);
    }
    // SAFETY: not null, so NUL-terminated by contract.
    let text = unsafe { CStr::from_ptr(pos) }.to_string_lossy().into_owned();
    raise_at(Some(&text), fault)
}

fn elem_of(header: &ArrayHeader) -> ElemTag {
    ElemTag::from_u8(header.elem).unwrap_or(ElemTag::U8)
}

/// The `i32` elements of an index or shape vector.
///
/// # Safety
/// `vector` is a valid object of `i32` elements, alive and unchanged for `'a`.
pub(crate) unsafe fn ints<'a>(vector: *const ArrayHeader) -> &'a [i32] {
    // SAFETY: by contract; `count` elements follow the data pointer, which is never null.
    unsafe {
        device::settle(vector);
        let header = &*vector;
        std::slice::from_raw_parts(header.data.cast::<i32>(), usize::try_from(header.count).unwrap_or(0))
    }
}

/// Elements of one cell below the first `axes` axes.
fn cell_count(shape: &[i64], axes: usize) -> i64 {
    shape.get(axes..).unwrap_or(&[]).iter().product()
}

/// Offset, in elements, of the cell at an index.
///
/// # Errors
/// The index is too long or out of range.
fn cell_offset(shape: &[i64], index: impl ExactSizeIterator<Item = i64>) -> Result<i64, Fault> {
    let axes = index.len();
    if axes > shape.len() {
        let text = format!("an index of length {axes} does not fit an array of shape {}", fault::shape_text(shape));
        return Err(Fault::coded(Code::INDEX_LENGTH, text));
    }
    let mut number = 0;
    for (axis, (position, &extent)) in index.zip(shape).enumerate() {
        if position < 0 || position >= extent {
            return Err(fault::index(position, axis as i64, extent));
        }
        number = number * extent + position;
    }
    Ok(number * cell_count(shape, axes))
}

/// New object, or the end of the program.
///
/// # Safety
/// `pos` is null or NUL-terminated.
pub(crate) unsafe fn new_array(pos: *const c_char, elem: ElemTag, shape: &[i64]) -> NonNull<ArrayHeader> {
    match allocate(elem, ObjectKind::Array, shape) {
        Ok(object) => object,
        // SAFETY: by contract.
        Err(fault) => unsafe { raise(pos, fault) },
    }
}

/// Copies bytes between places that do not overlap.
///
/// # Safety
/// Both places hold `bytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_copy_bytes(to: *mut u8, from: *const u8, bytes: i64) {
    // SAFETY: by contract.
    unsafe { to.copy_from_nonoverlapping(from, usize::try_from(bytes).unwrap_or(0)) }
}

/// Copies handles, counting them and releasing what they replace.
///
/// # Safety
/// Both places hold `bytes / 8` handles, each null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_copy_handles(to: *mut *mut ArrayHeader, from: *const *mut ArrayHeader, bytes: i64) {
    for position in 0..usize::try_from(bytes / 8).unwrap_or(0) {
        // SAFETY: within both places.
        unsafe {
            let handle = from.add(position).read();
            ravel_rc_inc(handle);
            let old = to.add(position).replace(handle);
            ravel_rc_dec(old);
        }
    }
}

/// A fault in words, or several that are violated together; [`several_from`] says how they are given.
///
/// # Safety
/// Texts are null or NUL-terminated; `numbers` points to `n` numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_fault_numbers(
    pos: *const c_char,
    text: *const c_char,
    numbers: *const i64,
    n: i64,
) -> ! {
    // SAFETY: by contract.
    let (text, numbers) = unsafe {
        let text = if text.is_null() { String::new() } else { CStr::from_ptr(text).to_string_lossy().into_owned() };
        (text, std::slice::from_raw_parts(numbers, usize::try_from(n).unwrap_or(0)))
    };
    // SAFETY: by contract.
    unsafe { raise(pos, several_from(&text, numbers)) }
}

/// The same elements in another shape of as many elements. Takes over `object`, in place if nobody else refers to it.
///
/// # Safety
/// `object` is valid and owned by the caller; `shape` points to `rank` extents whose product is its count.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_reshaped(object: *mut ArrayHeader, rank: u32, shape: *const i64) -> *mut ArrayHeader {
    stop::check();
    // SAFETY: by contract.
    unsafe {
        let extents = if rank == 0 { &[] } else { std::slice::from_raw_parts(shape, rank as usize) };
        reshaped(object, extents)
    }
}

/// # Safety
/// As [`ravel_reshaped`].
unsafe fn reshaped(object: *mut ArrayHeader, shape: &[i64]) -> *mut ArrayHeader {
    // SAFETY: by contract; in place the extents fit before the data, elsewhere the new object has room for all elements.
    unsafe {
        let room = ((*object).data as usize - object as usize - crate::abi::HEADER_SIZE) / 8;
        if shape_of(object).first() != shape.first() && rows::is_in_rows(object) {
            rows::gather(object, Place::NONE);
        }
        if ravel_unique(object) == 1 && shape.len() <= room {
            (*object).rank = shape.len() as u32;
            object
                .cast::<u8>()
                .add(crate::abi::HEADER_SIZE)
                .cast::<i64>()
                .copy_from_nonoverlapping(shape.as_ptr(), shape.len());
            return object;
        }
        device::settle(object);
        let elem = elem_of(&*object);
        let result = new_array(std::ptr::null(), elem, shape).as_ptr();
        let bytes = ((*object).count.min((*result).count)) * elem.size() as i64;
        if elem == ElemTag::Handle {
            ravel_copy_handles((*result).data.cast(), (*object).data.cast(), bytes);
        } else {
            ravel_copy_bytes((*result).data, (*object).data, bytes);
        }
        ravel_rc_dec(object);
        result
    }
}

/// The shape as an `i32` vector.
///
/// # Safety
/// `object` is valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_shape_vec(object: *const ArrayHeader) -> *mut ArrayHeader {
    // SAFETY: by contract; the result has as many elements as there are axes.
    unsafe {
        let shape = shape_of(object);
        let result = new_array(std::ptr::null(), ElemTag::I32, &[shape.len() as i64]);
        for (axis, &extent) in shape.iter().enumerate() {
            result.as_ref().data.cast::<i32>().add(axis).write(extent as i32);
        }
        result.as_ptr()
    }
}

/// Address of the element at an index vector as long as the rank.
///
/// # Safety
/// Objects are valid, `index` of `i32` elements; `pos` is null or NUL-terminated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_dyn_slot(
    pos: *const c_char,
    array: *const ArrayHeader,
    index: *const ArrayHeader,
) -> *mut u8 {
    stop::check();
    // SAFETY: by contract; the offset was checked to be inside the array.
    unsafe {
        device::settle(array);
        let (shape, index) = (shape_of(array), ints(index));
        if index.len() != shape.len() {
            let text = format!(
                "an index of length {} does not select an element of shape {}",
                index.len(),
                fault::shape_text(shape)
            );
            raise(pos, Fault::coded(Code::INDEX_LENGTH, text));
        }
        match cell_offset(shape, index.iter().map(|&i| i64::from(i))) {
            Ok(offset) => (*array).data.add(offset as usize * elem_of(&*array).size()),
            Err(fault) => raise(pos, fault),
        }
    }
}

/// The cell at an index vector, as a new array (of rank 0 if the index is as long as the rank).
///
/// # Safety
/// As [`ravel_dyn_slot`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_dyn_cell(
    pos: *const c_char,
    array: *const ArrayHeader,
    index: *const ArrayHeader,
) -> *mut ArrayHeader {
    stop::check();
    // SAFETY: by contract; the offset was checked.
    unsafe {
        let (shape, index) = (shape_of(array), ints(index));
        let offset = match cell_offset(shape, index.iter().map(|&i| i64::from(i))) {
            Ok(offset) => offset as usize,
            Err(fault) => raise(pos, fault),
        };
        device::settle(array);
        let elem = elem_of(&*array);
        let cell = new_array(pos, elem, &shape[index.len()..]).as_ptr();
        let (from, bytes) = ((*array).data.add(offset * elem.size()), (*cell).count * elem.size() as i64);
        if elem == ElemTag::Handle {
            ravel_copy_handles((*cell).data.cast(), from.cast(), bytes);
        } else {
            ravel_copy_bytes((*cell).data, from, bytes);
        }
        cell
    }
}

/// Replaces the cell at an index vector. The array is written in place.
///
/// # Safety
/// As [`ravel_dyn_slot`]; the caller holds the only reference of `array`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_dyn_update(
    pos: *const c_char,
    array: *mut ArrayHeader,
    index: *const ArrayHeader,
    cell: *const ArrayHeader,
) {
    stop::check();
    // SAFETY: by contract; the offset and the shape of the cell are checked.
    unsafe {
        let (shape, index) = (shape_of(array), ints(index));
        let offset = match cell_offset(shape, index.iter().map(|&i| i64::from(i))) {
            Ok(offset) => offset,
            Err(fault) => raise(pos, fault),
        };
        write_cell(pos, array, index.len(), offset, cell);
    }
}

/// # Safety
/// `offset` is that of a cell below `axes` axes; objects are valid, the array may be written.
unsafe fn write_cell(pos: *const c_char, array: *mut ArrayHeader, axes: usize, offset: i64, cell: *const ArrayHeader) {
    // SAFETY: by contract; the cell has the extents of the place.
    unsafe {
        let place = shape_of(array).get(axes..).unwrap_or(&[]);
        if place != shape_of(cell) {
            raise(pos, fault::shapes("the cell and its place in an array", shape_of(cell), place));
        }
        device::settle(cell);
        let elem = elem_of(&*array);
        let (to, bytes) = ((*array).data.add(offset as usize * elem.size()), (*cell).count * elem.size() as i64);
        if elem == ElemTag::Handle {
            ravel_copy_handles(to.cast(), (*cell).data.cast(), bytes);
        } else {
            ravel_copy_bytes(to, (*cell).data, bytes);
        }
    }
}

/// The elements in the shape of a vector. Takes over `array`; faults if the counts differ.
///
/// # Safety
/// As [`ravel_dyn_slot`]; the caller owns `array`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_dyn_reshape(
    pos: *const c_char,
    array: *mut ArrayHeader,
    shape: *const ArrayHeader,
) -> *mut ArrayHeader {
    // SAFETY: by contract; the counts agree before the reshape.
    unsafe {
        let shape: Vec<i64> = ints(shape).iter().map(|&e| i64::from(e)).collect();
        match buffer::count_of(&shape) {
            Ok(count) if count == (*array).count => reshaped(array, &shape),
            Ok(count) => raise(pos, fault::reshape((*array).count, count)),
            Err(fault) => raise(pos, fault),
        }
    }
}

/// Faults unless the object has this rank and these extents; an extent of -1 admits any.
///
/// # Safety
/// `object` is valid; `extents` points to `rank` extents; `pos` is null or NUL-terminated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_narrow(pos: *const c_char, object: *const ArrayHeader, rank: i64, extents: *const i64) {
    // SAFETY: by contract.
    unsafe {
        let shape = shape_of(object);
        let wanted =
            if rank == 0 { &[] } else { std::slice::from_raw_parts(extents, usize::try_from(rank).unwrap_or(0)) };
        let admits = |(&found, &expected): (&i64, &i64)| expected < 0 || found == expected;
        if shape.len() != wanted.len() || !shape.iter().zip(wanted).all(admits) {
            raise(pos, fault::narrow(wanted, shape));
        }
    }
}

/// Faults unless the object has this many elements.
///
/// # Safety
/// `object` is valid; `pos` is null or NUL-terminated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_check_count(pos: *const c_char, object: *const ArrayHeader, count: i64) {
    // SAFETY: by contract.
    unsafe {
        if (*object).count != count {
            let text =
                format!("a value of shape {} where {count} elements belong", fault::shape_text(shape_of(object)));
            raise(pos, Fault::coded(Code::DECLARED_SHAPE, text));
        }
    }
}

/// An array of shape `[n] ++ cell` from `n` cells of one shape.
///
/// # Safety
/// `cells` points to `n` valid objects with elements of type `elem`; `pos` is null or NUL-terminated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_array_of_cells(
    pos: *const c_char,
    elem: u8,
    cells: *const *const ArrayHeader,
    n: i64,
) -> *mut ArrayHeader {
    stop::check();
    // SAFETY: by contract; every cell's shape is checked before it is copied.
    unsafe {
        let cells = std::slice::from_raw_parts(cells, usize::try_from(n).unwrap_or(0));
        let mut shape = vec![n];
        if let Some(&first) = cells.first() {
            shape.extend(shape_of(first));
        }
        let elem = ElemTag::from_u8(elem).unwrap_or(ElemTag::U8);
        let result = new_array(pos, elem, &shape).as_ptr();
        let size = cell_count(&shape, 1);
        for (position, &cell) in cells.iter().enumerate() {
            write_cell(pos, result, 1, position as i64 * size, cell);
        }
        result
    }
}

/// A new array of shape frame ++ cell whose frame is a vector.
///
/// # Safety
/// `frame` is a valid `i32` vector; `cell` points to `cell_rank` extents; `pos` is null or NUL-terminated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_alloc_frame(
    pos: *const c_char,
    elem: u8,
    frame: *const ArrayHeader,
    cell: *const i64,
    cell_rank: i64,
) -> *mut ArrayHeader {
    stop::check();
    // SAFETY: by contract.
    unsafe {
        let mut shape: Vec<i64> = ints(frame).iter().map(|&e| i64::from(e)).collect();
        if cell_rank > 0 {
            shape.extend(std::slice::from_raw_parts(cell, usize::try_from(cell_rank).unwrap_or(0)));
        }
        new_array(pos, ElemTag::from_u8(elem).unwrap_or(ElemTag::U8), &shape).as_ptr()
    }
}

/// Sets every cell below `axes` axes to a default, or to the zero of the element type if there is none.
///
/// # Safety
/// `array` is valid and may be written; `default` is null or valid; `pos` is null or NUL-terminated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_fill_cells(
    pos: *const c_char,
    array: *mut ArrayHeader,
    axes: i64,
    default: *const ArrayHeader,
) {
    stop::check();
    // SAFETY: by contract; cells are written inside the array.
    unsafe {
        let elem = elem_of(&*array);
        let count = usize::try_from((*array).count).unwrap_or(0);
        if default.is_null() {
            match elem {
                ElemTag::Handle => {}
                ElemTag::Char => (*array).data.write_bytes(b' ', count),
                _ => (*array).data.write_bytes(0, count * elem.size()),
            }
            return;
        }
        let axes = usize::try_from(axes).unwrap_or(0);
        let size = cell_count(shape_of(array), axes);
        if size == 0 {
            return;
        }
        for number in 0..(*array).count / size {
            write_cell(pos, array, axes, number * size, default);
        }
    }
}

/// Offset, in elements, of the cell at `index`; faults if it is out of range.
///
/// # Safety
/// `array` is valid; `index` points to `axes` numbers; `pos` is null or NUL-terminated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_cell_offset(
    pos: *const c_char,
    array: *const ArrayHeader,
    axes: i64,
    index: *const i64,
) -> i64 {
    // SAFETY: by contract.
    unsafe {
        let index = if axes == 0 { &[] } else { std::slice::from_raw_parts(index, usize::try_from(axes).unwrap_or(0)) };
        match cell_offset(shape_of(array), index.iter().copied()) {
            Ok(offset) => offset,
            Err(fault) => raise(pos, fault),
        }
    }
}

/// Writes a cell at an offset that [`ravel_cell_offset`] gave for `axes` axes; faults if the shapes differ.
///
/// # Safety
/// Objects are valid, the array may be written; `pos` is null or NUL-terminated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_put_cell(
    pos: *const c_char,
    array: *mut ArrayHeader,
    axes: i64,
    offset: i64,
    cell: *const ArrayHeader,
) {
    // SAFETY: by contract.
    unsafe { write_cell(pos, array, usize::try_from(axes).unwrap_or(0), offset, cell) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_of_cells_are_checked() {
        assert_eq!(cell_offset(&[2, 3, 4], [1i64, 2].into_iter()), Ok(20));
        assert_eq!(cell_offset(&[2, 3], [].into_iter()), Ok(0));
        assert!(cell_offset(&[2, 3], [2i64].into_iter()).is_err());
        assert!(cell_offset(&[2], [0i64, 0].into_iter()).is_err());
    }
}
