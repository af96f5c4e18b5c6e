use super::*;
use crate::array::Array;
use std::ffi::CStr;
use std::sync::atomic::AtomicUsize;

/// Elements in pages of their own, 4096 bytes apart from anything else.
#[repr(align(4096))]
struct Pages([f64; 1536]);

unsafe extern "C" fn counted(owner: *mut c_void) {
    // SAFETY: the tests pass a counter.
    unsafe { &*owner.cast::<AtomicUsize>() }.fetch_add(1, Ordering::SeqCst);
}

fn owner(released: &AtomicUsize) -> Owner {
    Owner { release: Some(counted), owner: std::ptr::from_ref(released).cast_mut().cast() }
}

fn lend(pages: &Pages, first: usize, length: usize, released: &AtomicUsize) -> *mut ArrayHeader {
    let elements = &pages.0[first..first + length];
    // SAFETY: the elements outlive the array in each test.
    unsafe {
        borrow(elements.as_ptr().cast(), ElemTag::F64, &[length as i64], owner(released))
            .expect("a valid shape")
            .as_ptr()
    }
}

fn error() -> String {
    let words = ravel_last_error();
    assert!(!words.is_null());
    // SAFETY: NUL-terminated and good until the next failure on this thread.
    unsafe { CStr::from_ptr(words) }.to_string_lossy().into_owned()
}

#[test]
fn elements_inside_their_pages_are_borrowed_and_counted() {
    let (pages, released) = (Box::new(Pages([1.5; 1536])), AtomicUsize::new(0));
    let array = lend(&pages, 8, 1000, &released);
    // SAFETY: the array is live until its last reference goes.
    unsafe {
        assert_eq!(ravel_array_data(array).addr(), pages.0[8..].as_ptr().addr());
        assert_eq!((ravel_array_rank(array), ravel_array_size(array), ravel_array_type(array)), (1, 1000, 11));
        assert_eq!(*ravel_array_shape(array), 1000);
        assert_eq!((count(array), ravel_array_shared(array), buffer::ravel_unique(array)), (BASE + 1, 0, 0));
        ravel_array_retain(array);
        assert_eq!(ravel_array_shared(array), 1);
        ravel_array_release(array);
        assert_eq!(released.load(Ordering::SeqCst), 0);
        ravel_array_release(array);
    }
    assert_eq!(released.load(Ordering::SeqCst), 1);
}

#[test]
fn elements_at_the_ends_of_pages_are_copied() {
    let (pages, released) = (Box::new(Pages([2.5; 1536])), AtomicUsize::new(0));
    // From the begin of a page, 56 bytes behind it, with 56 bytes left in the last page, and one element in the middle.
    for (first, length, is_borrowed) in
        [(0, 100, false), (7, 100, false), (8, 497, false), (8, 496, true), (8, 1009, false), (300, 1, true)]
    {
        released.store(0, Ordering::SeqCst);
        let array = lend(&pages, first, length, &released);
        // SAFETY: live until it is released.
        unsafe {
            let same = ravel_array_data(array).addr() == pages.0[first..].as_ptr().addr();
            assert_eq!(same, is_borrowed, "{length} from {first}");
            assert_eq!(count(array), if same { BASE + 1 } else { 1 });
            assert_eq!(*ravel_array_data(array).cast::<f64>(), 2.5);
            // A copy needs nobody's elements.
            assert_eq!(released.load(Ordering::SeqCst), usize::from(!same));
            ravel_array_release(array);
        }
        assert_eq!(released.load(Ordering::SeqCst), 1);
    }
    assert!(may_be_read_beyond(PAGE + 64, PAGE - 128) && !may_be_read_beyond(PAGE + 64, PAGE - 127));
    assert!(!may_be_read_beyond(63, 1) && !may_be_read_beyond(usize::MAX - 100, 90));
}

#[test]
fn unaligned_elements_are_copied() {
    let (pages, released) = (Box::new(Pages([0.0; 1536])), AtomicUsize::new(0));
    // SAFETY: the bytes are inside the pages.
    unsafe {
        let data = pages.0.as_ptr().cast::<u8>().add(129);
        let array = borrow(data, ElemTag::F64, &[2], owner(&released)).expect("a valid shape");
        assert_ne!(array.as_ref().data.addr(), data.addr());
        release(array);
        let bytes = borrow(data, ElemTag::U8, &[2], owner(&released)).expect("a valid shape");
        assert_eq!(bytes.as_ref().data.addr(), data.addr());
        release(bytes);
    }
    assert_eq!(released.load(Ordering::SeqCst), 2);
}

#[test]
fn what_compiled_code_gives_up_last_is_collected() {
    let (pages, released) = (Box::new(Pages([0.0; 1536])), AtomicUsize::new(0));
    let array = lend(&pages, 8, 16, &released);
    // SAFETY: a reference of compiled code, which counts as it counts all objects.
    unsafe {
        buffer::ravel_rc_inc(array);
        ravel_array_release(array);
        assert_eq!(released.load(Ordering::SeqCst), 0);
        buffer::ravel_rc_dec(array);
    }
    ravel_array_collect();
    assert_eq!(released.load(Ordering::SeqCst), 1);
}

#[test]
fn many_borrowed_arrays_do_not_pile_up() {
    let (pages, released) = (Box::new(Pages([0.0; 1536])), AtomicUsize::new(0));
    for n in 0..10_000 {
        let array = lend(&pages, 8 + n % 64, 16, &released);
        // SAFETY: compiled code gives up the only reference.
        unsafe { buffer::ravel_rc_dec(array) };
    }
    assert!(released.load(Ordering::SeqCst) > 9_000);
    ravel_array_collect();
    assert_eq!(released.load(Ordering::SeqCst), 10_000);
}

#[test]
fn static_objects_are_never_freed() {
    let object = buffer::allocate(ElemTag::I32, ObjectKind::Array, &[3]).expect("small");
    // SAFETY: the object is live; its count is made that of a static one for a while.
    unsafe {
        object.as_ref().rc.store(BASE + 1, Ordering::SeqCst);
        ravel_array_release(object.as_ptr());
        assert_eq!(count(object.as_ptr()), BASE);
        object.as_ref().rc.store(1, Ordering::SeqCst);
        buffer::ravel_rc_dec(object.as_ptr());
    }
}

#[test]
fn new_arrays_are_zero_and_freed_with_the_last_reference() {
    // SAFETY: shapes have as many extents as stated; arrays are live until released.
    unsafe {
        let array = ravel_array_new(ElemTag::I64 as u32, 2, [2i64, 3].as_ptr());
        assert_eq!(std::slice::from_raw_parts(ravel_array_data(array).cast::<i64>(), 6), [0; 6]);
        assert_eq!((count(array), ravel_array_shared(array)), (1, 0));
        ravel_array_retain(array);
        assert_eq!(ravel_array_shared(array), 1);
        ravel_array_release(array);
        ravel_array_release(array);
        let scalar = ravel_array_new(ElemTag::F32 as u32, 0, null());
        assert_eq!((ravel_array_rank(scalar), ravel_array_size(scalar)), (0, 1));
        ravel_array_release(scalar);
        let text = Array::string(b"ab").expect("small").into_raw().as_ptr();
        assert_eq!((ravel_array_type(text), ravel_array_size(text)), (1, 2));
        ravel_array_release(text);
    }
}

#[test]
fn impossible_arrays_say_why() {
    // SAFETY: shapes have as many extents as stated.
    unsafe {
        assert!(ravel_array_new(4, 1, [-1i64].as_ptr()).is_null());
        assert!(error().contains("negative extent"));
        assert!(ravel_array_new(12, 0, null()).is_null());
        assert!(error().contains("12 is not an element type"));
        assert!(ravel_array_new(99, 0, null()).is_null());
        assert!(ravel_array_new(4, -1, null()).is_null());
        assert!(error().contains("rank -1"));
        assert!(ravel_array_new(4, 1, null()).is_null());
        assert!(ravel_array_new(11, 2, [1i64 << 40, 1 << 40].as_ptr()).is_null());
        assert!(ravel_array_borrow(null(), 11, 1, [5i64].as_ptr(), None, null_mut()).is_null());
        assert!(error().contains("null pointer"));
        let none = ravel_array_borrow(null(), 11, 1, [0i64].as_ptr(), None, null_mut());
        assert_eq!(ravel_array_size(none), 0);
        ravel_array_release(none);
        assert!(ravel_array_data(null_mut()).is_null() && ravel_array_shape(null()).is_null());
        assert_eq!((ravel_array_rank(null()), ravel_array_size(null()), ravel_array_shared(null())), (-1, 0, 0));
        ravel_array_retain(null_mut());
        ravel_array_release(null_mut());
    }
}
