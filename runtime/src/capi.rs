//! The C interface of arrays, `include/ravel.h`: new arrays, and arrays over elements that somebody else owns.
//!
//! A borrowed array is a header of our own before elements that lie elsewhere. Its count starts at [`BASE`], as that of static objects
//! does, so compiled code never writes to it and never frees it. What is above the base are references, of C and of SaC code alike. A count
//! that is back at the base says that nobody has the array any more.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::{CString, c_char, c_void};
use std::ptr::{NonNull, null, null_mut};
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::abi::{ArrayHeader, DATA_ALIGN, ElemTag, HEADER_SIZE, LENT_REACH, ObjectKind};
use crate::fault::Fault;
use crate::{buffer, device};

pub(crate) mod lent;

/// The count of static objects, and of borrowed arrays that nobody has.
pub const BASE: i64 = 1 << 40;

/// A count from here on belongs to a static object or a borrowed array.
pub(crate) const COUNTED_BY_BASE: i64 = BASE >> 1;

/// Bytes behind the last element that compiled code may read, and before the first one unless it [limits its reach](limit_reach).
const REACH: usize = buffer::PADDING;

/// Bytes before the first element.
static REACH_BEFORE: AtomicUsize = AtomicUsize::new(REACH);

/// All code of this process that gets arrays of others reads at most [`LENT_REACH`] bytes before them.
pub fn limit_reach() {
    REACH_BEFORE.store(LENT_REACH, Ordering::Relaxed);
}

/// The smallest page that a processor may have: larger ones consist of such.
const PAGE: usize = 4096;

/// So many borrowed arrays are looked at for nothing before the first sweep.
const FIRST_SWEEP: usize = 64;

/// Who owns borrowed elements.
#[derive(Clone, Copy)]
pub struct Owner {
    pub release: Option<unsafe extern "C" fn(*mut c_void)>,
    pub owner: *mut c_void,
}

// SAFETY: whoever lends elements says that they may be released on any thread (`ravel.h`).
unsafe impl Send for Owner {}

impl Owner {
    /// Elements that stay for ever.
    pub const NOBODY: Owner = Owner { release: None, owner: null_mut() };

    fn released(self) {
        if let Some(release) = self.release {
            // SAFETY: the lender passed this function for this value, and it is called once.
            unsafe { release(self.owner) };
        }
    }
}

/// The borrowed arrays, by the address of their headers.
struct Registry {
    owners: Option<HashMap<usize, Owner>>,
    /// With so many arrays the next sweep pays.
    sweep_at: usize,
}

static REGISTRY: Mutex<Registry> = Mutex::new(Registry { owners: None, sweep_at: FIRST_SWEEP });

fn registry() -> MutexGuard<'static, Registry> {
    REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Registry {
    fn owners(&mut self) -> &mut HashMap<usize, Owner> {
        self.owners.get_or_insert_with(HashMap::new)
    }

    /// Takes out the arrays that nobody has, and gives back their headers.
    fn sweep(&mut self) -> Vec<Owner> {
        let unused: Vec<usize> = self
            .owners()
            .keys()
            .copied()
            // SAFETY: headers live as long as they are registered.
            .filter(|object| unsafe { count(*object as *const ArrayHeader) } == BASE)
            .collect();
        let owners = unused.into_iter().filter_map(|object| self.remove(object)).collect();
        self.sweep_at = (2 * self.owners().len()).max(FIRST_SWEEP);
        owners
    }

    /// Forgets an array that nobody has.
    fn remove(&mut self, object: usize) -> Option<Owner> {
        let owner = self.owners().remove(&object)?;
        let object = object as *mut ArrayHeader;
        // SAFETY: the header was allocated by `borrow` with this layout, and nobody refers to it.
        unsafe {
            if (*object).pad != 0 {
                device::forget(NonNull::new_unchecked(object));
            }
            dealloc(object.cast(), header_layout((*object).rank as usize));
        }
        Some(owner)
    }
}

/// # Safety
/// `object` is a live object.
unsafe fn count(object: *const ArrayHeader) -> i64 {
    // SAFETY: by contract. Acquires what those did who have given up their references.
    unsafe { (*object).rc.load(Ordering::Acquire) }
}

/// A header that is not followed by elements; its shape may be changed in place up to rank 4, as that of every object.
fn header_layout(rank: usize) -> Layout {
    let bytes = (HEADER_SIZE + 8 * rank).next_multiple_of(DATA_ALIGN);
    // A rank is at most 255.
    Layout::from_size_align(bytes, DATA_ALIGN).expect("a header has a layout")
}

/// May compiled code read beyond both ends of these elements? It does if the bytes there lie in the pages of the first and the last one.
fn may_be_read_beyond(data: usize, bytes: usize) -> bool {
    let page = |address: usize| address / PAGE;
    let Some(behind) = data.checked_add(bytes).and_then(|end| end.checked_add(REACH - 1)) else { return false };
    let last = data + bytes.saturating_sub(1);
    let before = data.checked_sub(REACH_BEFORE.load(Ordering::Relaxed));
    before.is_some_and(|before| page(before) == page(data)) && page(behind) == page(last)
}

/// An array over `bytes` at `data`, or a copy of it where that cannot be; one reference for the caller.
///
/// # Errors
/// The shape is not a valid one, or memory is exhausted; the owner is not asked to release anything.
///
/// # Safety
/// `data` holds the elements, which stay as they are until the owner is asked to release them.
pub unsafe fn borrow(
    data: *const u8,
    elem: ElemTag,
    shape: &[i64],
    owner: Owner,
) -> Result<NonNull<ArrayHeader>, Fault> {
    let elements = buffer::count_of(shape)?;
    if shape.len() > buffer::MAX_RANK {
        return Err(Fault::new(format!("an array has at most {} axes, not {}", buffer::MAX_RANK, shape.len())));
    }
    let bytes = usize::try_from(elements).ok().and_then(|count| count.checked_mul(elem.size()));
    let bytes = bytes.filter(|bytes| *bytes <= isize::MAX as usize).ok_or_else(|| crate::fault::memory(shape))?;
    if data.is_null() && bytes > 0 {
        return Err(Fault::new("an array cannot borrow its elements from a null pointer"));
    }
    if bytes == 0 || !data.addr().is_multiple_of(elem.size()) || !may_be_read_beyond(data.addr(), bytes) {
        let copied = buffer::allocate(elem, ObjectKind::Array, shape)?;
        if bytes > 0 {
            // SAFETY: both have as many bytes, and the new object overlaps nothing.
            unsafe { copied.as_ref().data.copy_from_nonoverlapping(data, bytes) };
        }
        owner.released();
        return Ok(copied);
    }
    let layout = header_layout(shape.len());
    // SAFETY: the layout is not empty.
    let object = unsafe { alloc(layout) }.cast::<ArrayHeader>();
    let Some(header) = NonNull::new(object) else { handle_alloc_error(layout) };
    // SAFETY: the block has room for the header and the extents behind it.
    unsafe {
        header.write(ArrayHeader {
            rc: AtomicI64::new(BASE + 1),
            data: data.cast_mut(),
            count: elements,
            rank: shape.len() as u32,
            elem: elem as u8,
            kind: ObjectKind::Array as u8,
            pad: 0,
        });
        object.cast::<u8>().add(HEADER_SIZE).cast::<i64>().copy_from_nonoverlapping(shape.as_ptr(), shape.len());
    }
    let unused = {
        let mut registry = registry();
        let full = registry.owners().len() >= registry.sweep_at;
        let unused = if full { registry.sweep() } else { Vec::new() };
        registry.owners().insert(object.addr(), owner);
        unused
    };
    unused.into_iter().for_each(Owner::released);
    Ok(header)
}

/// Gives up a reference of the C side.
///
/// # Safety
/// `object` is live, and the caller owns the reference.
pub unsafe fn release(object: NonNull<ArrayHeader>) {
    let raw = object.as_ptr();
    // SAFETY: live by contract.
    if unsafe { count(raw) } < COUNTED_BY_BASE {
        // SAFETY: by contract.
        unsafe { buffer::ravel_rc_dec(raw) };
        return;
    }
    let owner = {
        let mut registry = registry();
        // SAFETY: live by contract.
        let left = unsafe { raw.as_ref() }.map_or(0, |header| header.rc.fetch_sub(1, Ordering::AcqRel) - 1);
        if left == BASE { registry.remove(raw.addr()) } else { None }
    };
    if let Some(owner) = owner {
        owner.released();
    }
}

/// Ends a loan: from now on nothing refers to the elements that were borrowed. Who still has the array gets a copy of them.
///
/// # Safety
/// `object` came from [`borrow`], the caller owns the reference, and nobody reads the array at the moment. With `lost` references were
/// lost with threads that are gone, and nothing else has the array.
pub unsafe fn end_loan(object: NonNull<ArrayHeader>, lost: bool) -> Result<(), Fault> {
    let raw = object.as_ptr();
    // SAFETY: live by contract.
    if unsafe { count(raw) } < COUNTED_BY_BASE {
        if !lost {
            // SAFETY: by contract.
            unsafe { buffer::ravel_rc_dec(raw) };
        }
        return Ok(());
    }
    let mut registry = registry();
    // SAFETY: live by contract.
    let left = unsafe { object.as_ref() }.rc.fetch_sub(1, Ordering::AcqRel) - 1;
    if left == BASE || lost {
        registry.remove(raw.addr());
        return Ok(());
    }
    // SAFETY: live by contract; a copy is an object of its own.
    let copied = NonNull::new(unsafe { buffer::copy(raw)? }).ok_or_else(|| Fault::new("out of memory"))?;
    let owner = Owner { release: Some(release_copy), owner: copied.as_ptr().cast() };
    registry.owners().insert(raw.addr(), owner);
    // SAFETY: nobody reads the array, and both have the same elements.
    unsafe { (*raw).data = copied.as_ref().data };
    Ok(())
}

unsafe extern "C" fn release_copy(copied: *mut c_void) {
    // SAFETY: the reference of `end_loan`.
    unsafe { buffer::ravel_rc_dec(copied.cast()) }
}

thread_local! {
    static LAST_ERROR: RefCell<Option<CString>> = const { RefCell::new(None) };
}

/// What [`ravel_last_error`] gives on this thread from now on.
pub fn set_last_error(words: &str) {
    let words = CString::new(words.replace('\0', "?")).unwrap_or_default();
    LAST_ERROR.with_borrow_mut(|last| *last = Some(words));
}

/// The words of the last failure on this thread.
#[unsafe(no_mangle)]
pub extern "C" fn ravel_last_error() -> *const c_char {
    LAST_ERROR.with_borrow(|last| last.as_ref().map_or(null(), |words| words.as_ptr()))
}

fn given(result: Result<NonNull<ArrayHeader>, Fault>) -> *mut ArrayHeader {
    match result {
        Ok(object) => object.as_ptr(),
        Err(fault) => {
            set_last_error(&fault.message);
            null_mut()
        }
    }
}

/// Element type and extents as C passes them.
///
/// # Safety
/// `shape` points to `rank` extents, or is null.
unsafe fn checked<'a>(elem: u32, rank: i32, shape: *const i64) -> Result<(ElemTag, &'a [i64]), Fault> {
    let tag = u8::try_from(elem).ok().and_then(ElemTag::from_u8).filter(|tag| *tag != ElemTag::Handle);
    let tag = tag.ok_or_else(|| Fault::new(format!("{elem} is not an element type of arrays")))?;
    let rank = usize::try_from(rank).map_err(|_| Fault::new(format!("an array cannot have the rank {rank}")))?;
    match rank {
        0 => Ok((tag, &[])),
        _ if shape.is_null() => Err(Fault::new("an array of rank 1 or more needs a shape")),
        // SAFETY: by contract.
        rank => Ok((tag, unsafe { std::slice::from_raw_parts(shape, rank) })),
    }
}

/// A new array, all elements zero; null if there can be none.
///
/// # Safety
/// `shape` points to `rank` extents, or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_array_new(elem: u32, rank: i32, shape: *const i64) -> *mut ArrayHeader {
    // SAFETY: by contract.
    let made = unsafe { checked(elem, rank, shape) }
        .and_then(|(elem, shape)| crate::array::Array::zeroed(elem, shape).map(crate::array::Array::into_raw));
    given(made)
}

/// An array over elements of somebody else; see `ravel.h`.
///
/// # Safety
/// As [`borrow`]; `shape` points to `rank` extents, or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_array_borrow(
    data: *const u8,
    elem: u32,
    rank: i32,
    shape: *const i64,
    release: Option<unsafe extern "C" fn(*mut c_void)>,
    owner: *mut c_void,
) -> *mut ArrayHeader {
    // SAFETY: by contract.
    let made = unsafe {
        checked(elem, rank, shape).and_then(|(elem, shape)| borrow(data, elem, shape, Owner { release, owner }))
    };
    given(made)
}

/// The elements; null for objects.
///
/// # Safety
/// `object` is null or live.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_array_data(object: *mut ArrayHeader) -> *mut u8 {
    let object = lent::array_of(object);
    // SAFETY: by contract.
    let Some(header) = (unsafe { object.as_ref() }) else { return null_mut() };
    let plain = header.kind == ObjectKind::Array as u8 || header.kind == ObjectKind::String as u8;
    if !plain || header.elem == ElemTag::Handle as u8 {
        return null_mut();
    }
    // SAFETY: by contract.
    unsafe { device::settle(object) };
    header.data
}

/// The extents.
///
/// # Safety
/// `object` is null or live.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_array_shape(object: *const ArrayHeader) -> *const i64 {
    let object = lent::array_of(object.cast_mut());
    // SAFETY: extents follow the header.
    if object.is_null() { null() } else { unsafe { object.cast::<u8>().add(HEADER_SIZE).cast() } }
}

/// Number of axes; -1 without an array.
///
/// # Safety
/// `object` is null or live.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_array_rank(object: *const ArrayHeader) -> i32 {
    let object = lent::array_of(object.cast_mut());
    // SAFETY: by contract.
    unsafe { object.as_ref() }.map_or(-1, |header| i32::try_from(header.rank).unwrap_or(-1))
}

/// Element type, that of objects without an array.
///
/// # Safety
/// `object` is null or live.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_array_type(object: *const ArrayHeader) -> u32 {
    let object = lent::array_of(object.cast_mut());
    let is_opaque = |kind: u8| kind == ObjectKind::File as u8 || kind == ObjectKind::Other as u8;
    // SAFETY: by contract.
    let header = unsafe { object.as_ref() }.filter(|header| !is_opaque(header.kind));
    header.map_or(ElemTag::Handle as u32, |header| u32::from(header.elem))
}

/// Number of elements.
///
/// # Safety
/// `object` is null or live.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_array_size(object: *const ArrayHeader) -> i64 {
    let object = lent::array_of(object.cast_mut());
    // SAFETY: by contract.
    unsafe { object.as_ref() }.map_or(0, |header| header.count)
}

/// 1 if there are references besides one.
///
/// # Safety
/// `object` is null or live.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_array_shared(object: *const ArrayHeader) -> i32 {
    let object = lent::array_of(object.cast_mut());
    if object.is_null() {
        return 0;
    }
    // SAFETY: by contract.
    let count = unsafe { count(object) };
    i32::from(if count < COUNTED_BY_BASE { count > 1 } else { count > BASE + 1 })
}

/// One reference more.
///
/// # Safety
/// `object` is null or live.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_array_retain(object: *mut ArrayHeader) {
    // SAFETY: by contract.
    unsafe { buffer::ravel_rc_inc(lent::array_of(object)) }
    lent::keep(object);
}

/// One reference less.
///
/// # Safety
/// `object` is null or live, and the caller owns the reference.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_array_release(object: *mut ArrayHeader) {
    let Some(array) = NonNull::new(lent::array_of(object)) else { return };
    // SAFETY: by contract.
    unsafe {
        release(array);
        lent::give_up(object);
    }
}

/// Releases borrowed elements that nobody uses any more; how many arrays still do.
#[unsafe(no_mangle)]
pub extern "C" fn ravel_array_collect() -> i64 {
    let (unused, left) = {
        let mut registry = registry();
        (registry.sweep(), registry.owners().len())
    };
    unused.into_iter().for_each(Owner::released);
    left as i64
}

#[cfg(test)]
mod tests;
