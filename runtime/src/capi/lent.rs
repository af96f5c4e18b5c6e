//! Arrays of open rank in calls of C functions: the pointer that C gets is that of the elements, as for every other array, and
//! the functions of `ravel.h` take the same pointer for the array itself.
//!
//! C functions that were written for `T *` and those that were written for `ravel_array *` cannot be told apart by a
//! declaration in SaC, so one pointer has to do for both. While an array is lent, or kept by C, a table has the array of each
//! such pointer. Elements and headers of live arrays never share an address.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::abi::{ArrayHeader, ElemTag, ObjectKind};
use crate::buffer;

struct Lent {
    object: usize,
    /// Calls that have it at the moment.
    calls: usize,
    /// References that C has taken.
    kept: usize,
    /// The array is a copy that was made for the calls, and goes with them.
    copied: bool,
}

static LENT: Mutex<Option<HashMap<usize, Lent>>> = Mutex::new(None);
/// The length of the table: most programs lend nothing, and need no lock to see that.
static COUNT: AtomicUsize = AtomicUsize::new(0);

struct Table(MutexGuard<'static, Option<HashMap<usize, Lent>>>);

impl Table {
    fn lock() -> Table {
        Table(LENT.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn entries(&mut self) -> &mut HashMap<usize, Lent> {
        self.0.get_or_insert_with(HashMap::new)
    }

    /// Ends one of `calls` or of `kept`; a copy that nobody needs any more is left to the caller.
    fn less(&mut self, pointer: usize, part: impl Fn(&mut Lent) -> &mut usize) -> Option<*mut ArrayHeader> {
        let entries = self.entries();
        let entry = entries.get_mut(&pointer)?;
        let number = part(entry);
        *number = number.saturating_sub(1);
        if entry.calls + entry.kept > 0 {
            return None;
        }
        let gone = entries.remove(&pointer)?;
        gone.copied.then_some(gone.object as *mut ArrayHeader)
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        COUNT.store(self.0.as_ref().map_or(0, HashMap::len), Ordering::Release);
    }
}

/// The array that C means: it has the array, or its elements, if those were lent.
pub(super) fn array_of(pointer: *mut ArrayHeader) -> *mut ArrayHeader {
    if COUNT.load(Ordering::Acquire) == 0 {
        return pointer;
    }
    Table::lock().entries().get(&pointer.addr()).map_or(pointer, |lent| lent.object as *mut ArrayHeader)
}

/// C has taken a reference, so the pointer stays good when the call is over.
pub(super) fn keep(pointer: *mut ArrayHeader) {
    if COUNT.load(Ordering::Acquire) > 0
        && let Some(lent) = Table::lock().entries().get_mut(&pointer.addr())
    {
        lent.kept += 1;
    }
}

/// C gives a reference up.
///
/// # Safety
/// C has taken one, if the pointer was lent.
pub(super) unsafe fn give_up(pointer: *mut ArrayHeader) {
    if COUNT.load(Ordering::Acquire) > 0 {
        let copy = Table::lock().less(pointer.addr(), |lent| &mut lent.kept);
        if let Some(copy) = copy {
            // SAFETY: the reference that the copy was made with.
            unsafe { buffer::ravel_rc_dec(copy) };
        }
    }
}

/// What C gets for an array: its elements, which stand for the array until [`ravel_foreign_back`]. Arrays without elements stand
/// for themselves.
///
/// # Safety
/// `object` is a live object, and stays so for the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_foreign_lend(object: *mut ArrayHeader) -> *mut u8 {
    // SAFETY: by contract.
    let (data, count) = unsafe { ((*object).data, (*object).count) };
    if count == 0 {
        return object.cast();
    }
    let mut table = Table::lock();
    let entries = table.entries();
    match entries.get_mut(&data.addr()) {
        Some(lent) if lent.object == object.addr() => lent.calls += 1,
        Some(_) => {
            // Two borrowed arrays over the same elements: one of them moves.
            drop(table);
            // SAFETY: live by contract.
            let copy = unsafe { buffer::ravel_copy(object, std::ptr::null()) };
            // SAFETY: the copy is live.
            let data = unsafe { (*copy).data };
            let lent = Lent { object: copy.addr(), calls: 1, kept: 0, copied: true };
            Table::lock().entries().insert(data.addr(), lent);
            return data;
        }
        None => {
            entries.insert(data.addr(), Lent { object: object.addr(), calls: 1, kept: 0, copied: false });
        }
    }
    data
}

/// The call that an array was lent for is over.
///
/// # Safety
/// `pointer` is what [`ravel_foreign_lend`] gave.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_foreign_back(pointer: *mut u8) {
    let copy = Table::lock().less(pointer.addr(), |lent| &mut lent.calls);
    if let Some(copy) = copy {
        // SAFETY: the reference that the copy was made with.
        unsafe { buffer::ravel_rc_dec(copy) };
    }
}

/// The array that C has given, with a reference for the caller: what C was lent and has not kept is copied. Null if it is none.
///
/// # Safety
/// `pointer` is not null and may be read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_foreign_given(pointer: *mut ArrayHeader) -> *mut ArrayHeader {
    let lent = {
        let mut table = Table::lock();
        table.entries().get_mut(&pointer.addr()).map(|lent| {
            let kept = lent.kept > 0;
            lent.kept = lent.kept.saturating_sub(1);
            (lent.object as *mut ArrayHeader, kept)
        })
    };
    match lent {
        Some((object, true)) => object,
        // SAFETY: lent arrays are live.
        Some((object, false)) => unsafe { buffer::ravel_copy(object, std::ptr::null()) },
        // SAFETY: by contract.
        None if unsafe { is_array(pointer) } => pointer,
        None => std::ptr::null_mut(),
    }
}

/// Whether an object can be there: a C function that gives its elements instead would have them taken for a header.
///
/// # Safety
/// The bytes of a header may be read at `pointer`.
unsafe fn is_array(pointer: *const ArrayHeader) -> bool {
    if !pointer.is_aligned() {
        return false;
    }
    // SAFETY: by contract.
    let header = unsafe { &*pointer };
    let rc = header.rc.load(Ordering::Relaxed);
    let kinds = [ObjectKind::Array as u8, ObjectKind::String as u8, ObjectKind::File as u8, ObjectKind::Other as u8];
    rc > 0
        && rc <= 2 * super::BASE
        && header.count >= 0
        && kinds.contains(&header.kind)
        && ElemTag::from_u8(header.elem).is_some()
        && header.rank as usize <= buffer::MAX_RANK
        // SAFETY: extents follow a header; what looks like one so far is one.
        && buffer::count_of(unsafe { buffer::shape_of(pointer.cast_mut()) }).is_ok_and(|count| {
            count == header.count || header.kind != ObjectKind::Array as u8
        })
}

/// A session has ended in the middle of calls, whose arrays are gone or no longer lent.
pub(crate) fn forget() {
    if COUNT.load(Ordering::Acquire) > 0 {
        Table::lock().entries().retain(|_, lent| lent.kept > 0);
    }
}
