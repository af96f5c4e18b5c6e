//! Raw memory blocks: size classes, a cache of free blocks per thread and one for the whole process.
//!
//! Compiled programs allocate arrays of the same few sizes over and over. A freed block is kept for the next array of its
//! size class, because returning megabytes to the system and faulting them in again costs more than computing their content.
//! The cache of the process never makes it larger than it had to be before: live and kept blocks together stay within what was
//! alive at once at some time, plus a constant.
//! Every block is aligned to [`DATA_ALIGN`] and its size is a multiple of it, so vector loads may touch the padding. Huge blocks
//! ask the system for huge pages, which are faulted in and looked up in fewer steps.

use std::alloc::{Layout, alloc, dealloc};
use std::cell::RefCell;
use std::sync::Mutex;

use crate::abi::DATA_ALIGN;

/// Blocks up to this size are cached per thread, without a lock.
const SMALL_LIMIT: usize = 256 << 10;
/// Bytes that one thread may hold in its cache.
const THREAD_CAPACITY: usize = 4 << 20;
/// Bytes that the process-wide cache may hold in any case.
const SHARED_CAPACITY: usize = 128 << 20;
/// Blocks from this size on are aligned to a huge page and consist of such, where the system has them.
const HUGE_LIMIT: usize = 4 << 20;
const HUGE_PAGE: usize = 2 << 20;
/// Size classes per power of two: at most one eighth of a block is wasted.
const STEPS: usize = 8;

/// Free blocks by size class.
struct Cache {
    bins: Vec<Vec<*mut u8>>,
    /// Bytes in the bins, and at most.
    held: usize,
    capacity: usize,
}

/// The cache of the process, which knows how many bytes of its blocks are in use, and how many once were.
struct Shared {
    cache: Cache,
    live: usize,
    most_live: usize,
}

impl Shared {
    /// Counts a block that comes into use. What that makes too many of the kept blocks is given back, the largest first.
    fn enter(&mut self, size: usize) {
        self.live += size;
        self.most_live = self.most_live.max(self.live);
        self.adapt();
        for class in (0..self.cache.bins.len()).rev() {
            while self.cache.held > self.cache.capacity {
                let Some(block) = self.cache.take(class, class_size(class)) else { break };
                release(block, class_size(class));
            }
        }
    }

    fn leave(&mut self, size: usize) {
        self.live = self.live.saturating_sub(size);
        self.adapt();
    }

    fn adapt(&mut self) {
        self.cache.capacity = SHARED_CAPACITY.max(self.most_live - self.live);
    }
}

// SAFETY: the cached pointers are free blocks that nobody else refers to; whoever holds the cache owns them.
unsafe impl Send for Cache {}

impl Cache {
    const fn new(capacity: usize) -> Cache {
        Cache { bins: Vec::new(), held: 0, capacity }
    }

    fn take(&mut self, class: usize, size: usize) -> Option<*mut u8> {
        let block = self.bins.get_mut(class)?.pop()?;
        self.held -= size;
        Some(block)
    }

    /// Keeps the block; `false` if the cache is full and the block stays with the caller.
    fn keep(&mut self, class: usize, size: usize, block: *mut u8) -> bool {
        if self.held + size > self.capacity {
            return false;
        }
        if self.bins.len() <= class {
            self.bins.resize_with(class + 1, Vec::new);
        }
        self.bins[class].push(block);
        self.held += size;
        true
    }
}

impl Drop for Cache {
    fn drop(&mut self) {
        for (class, bin) in self.bins.iter_mut().enumerate() {
            for block in bin.drain(..) {
                release(block, class_size(class));
            }
        }
    }
}

thread_local! {
    static LOCAL: RefCell<Cache> = const { RefCell::new(Cache::new(THREAD_CAPACITY)) };
}

static SHARED: Mutex<Shared> = Mutex::new(Shared { cache: Cache::new(SHARED_CAPACITY), live: 0, most_live: 0 });

/// Size class of a request, or `None` if the size is out of any machine's range.
fn class_of(bytes: usize) -> Option<usize> {
    if bytes > isize::MAX as usize / 2 {
        return None;
    }
    let units = bytes.max(1).div_ceil(DATA_ALIGN);
    if units <= STEPS {
        return Some(units - 1);
    }
    // units lies in (2^k, 2^(k+1)]; the class is the step of the octave that holds it.
    let octave = (units - 1).ilog2() as usize;
    let step = 1usize << (octave - STEPS.ilog2() as usize);
    let within = (units - (1 << octave)).div_ceil(step);
    Some(STEPS + (octave - STEPS.ilog2() as usize) * STEPS + within - 1)
}

/// Size in bytes of the blocks of a class.
fn class_size(class: usize) -> usize {
    if class < STEPS {
        return (class + 1) * DATA_ALIGN;
    }
    let shift = (class - STEPS) / STEPS;
    let within = (class - STEPS) % STEPS + 1;
    ((STEPS << shift) + (within << shift)) * DATA_ALIGN
}

/// Is a block of so many bytes also one of so many others, when it is given back as when it is made?
pub fn same_block(bytes: usize, others: usize) -> bool {
    class_of(bytes).is_some_and(|class| class_of(others) == Some(class))
}

fn layout(size: usize) -> Option<Layout> {
    Layout::from_size_align(size, if size >= HUGE_LIMIT { HUGE_PAGE } else { DATA_ALIGN }).ok()
}

/// A new block of a class.
fn fresh(size: usize) -> Option<*mut u8> {
    // SAFETY: the layout has a nonzero size.
    let block = unsafe { alloc(layout(size)?) };
    #[cfg(target_os = "linux")]
    if !block.is_null() && size >= HUGE_LIMIT {
        // SAFETY: the range is the new block up to its last whole page, and the advice changes no content. A system without huge
        // pages refuses, which does no harm.
        unsafe { libc::madvise(block.cast(), size & !(HUGE_PAGE - 1), libc::MADV_HUGEPAGE) };
    }
    (!block.is_null()).then_some(block)
}

fn release(block: *mut u8, size: usize) {
    if let Some(layout) = layout(size) {
        // SAFETY: every block of a class comes from `alloc` with exactly this layout (see `allocate`), and the caller owns it.
        unsafe { dealloc(block, layout) }
    }
}

/// A block of at least `bytes` bytes with undefined content; `None` when memory is exhausted.
pub fn allocate(bytes: usize) -> Option<*mut u8> {
    let class = class_of(bytes)?;
    let size = class_size(class);
    if size <= SMALL_LIMIT {
        let cached = LOCAL.try_with(|cache| cache.borrow_mut().take(class, size)).ok().flatten();
        return cached.or_else(|| fresh(size));
    }
    let cached = SHARED.lock().ok().and_then(|mut shared| {
        let block = shared.cache.take(class, size);
        shared.enter(size);
        block
    });
    if cached.is_some() {
        return cached;
    }
    let block = fresh(size);
    if block.is_none()
        && let Ok(mut shared) = SHARED.lock()
    {
        shared.leave(size);
    }
    block
}

/// Gives back a block that [`allocate`] returned for the same number of bytes.
///
/// # Safety
/// `block` came from `allocate(bytes)` and is not used afterwards.
pub unsafe fn free(block: *mut u8, bytes: usize) {
    let Some(class) = class_of(bytes) else { return };
    let size = class_size(class);
    let kept = if size <= SMALL_LIMIT {
        LOCAL.try_with(|cache| cache.borrow_mut().keep(class, size, block)).unwrap_or(false)
    } else {
        SHARED.lock().is_ok_and(|mut shared| {
            shared.leave(size);
            shared.cache.keep(class, size, block)
        })
    };
    if !kept {
        release(block, size);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_cover_every_size_with_little_waste() {
        let mut last = 0;
        for bytes in (1..200_000).step_by(37).chain([1 << 30, (1 << 30) + 1]) {
            let class = class_of(bytes).expect("sizes in this test are moderate");
            let size = class_size(class);
            assert!(size >= bytes, "{bytes} does not fit {size}");
            assert!(size < bytes + bytes / 8 + 2 * DATA_ALIGN, "{bytes} wastes too much in {size}");
            assert!(class >= last);
            assert_eq!(class_of(size), Some(class));
            last = class;
        }
    }

    #[test]
    fn absurd_sizes_are_refused() {
        assert_eq!(allocate(usize::MAX), None);
    }

    #[test]
    fn no_more_is_kept_than_was_once_in_use() {
        let mut shared = Shared { cache: Cache::new(SHARED_CAPACITY), live: 0, most_live: 0 };
        let sizes = [class_of(300 << 20), class_of(200 << 20)].map(|c| class_size(c.expect("a size of this test")));
        let blocks = sizes.map(|size| {
            shared.enter(size);
            fresh(size).expect("address space is available")
        });
        for (block, size) in blocks.into_iter().zip(sizes) {
            shared.leave(size);
            assert!(shared.cache.keep(class_of(size).expect("as above"), size, block));
        }
        assert_eq!(shared.cache.held, sizes[0] + sizes[1]);
        // A block of another size makes room for itself, from the largest.
        let other = class_size(class_of(100 << 20).expect("a size of this test"));
        shared.enter(other);
        assert_eq!(shared.cache.held, sizes[1]);
        assert!(shared.live + shared.cache.held <= shared.most_live);
    }

    #[test]
    fn a_freed_block_is_reused() {
        let first = allocate(1000).expect("a kilobyte is available");
        // SAFETY: allocated just above with the same size.
        unsafe { free(first, 1000) };
        let second = allocate(1000).expect("a kilobyte is available");
        assert_eq!(first, second);
        // SAFETY: as above.
        unsafe { free(second, 1000) };
    }
}
