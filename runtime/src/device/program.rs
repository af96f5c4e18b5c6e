//! Programs, kernels and launches.

use std::collections::HashMap;
use std::ffi::{CStr, c_char};

use opencl3::error_codes::ClError;
use opencl3::event::Event;
use opencl3::kernel::Kernel;
use opencl3::program::Program;

use super::buffers::{ByAddress, Piece};
use super::tune::{class_of, kernel_text};
use super::{Device, errors, profile};

/// Least and most work-items of a group whose size the kernel leaves open.
const GROUPS: (usize, usize) = (64, 512);
/// More groups than this are made larger: a device starts only so many at a time.
const MANY_GROUPS: usize = 4096;

/// Groups to try when tuning, innermost axis first.
const SIZES: [[usize; 2]; 11] =
    [[32, 1], [64, 1], [128, 1], [256, 1], [512, 1], [1024, 1], [32, 4], [32, 8], [16, 16], [8, 8], [64, 4]];

#[derive(Default)]
pub(super) struct Programs {
    /// By address of the source text, which is static.
    pub(super) built: HashMap<usize, Program>,
    /// By address of the description.
    kernels: HashMap<usize, Loaded, ByAddress>,
    /// What kernels raise at a fault.
    pub flag: Option<Piece>,
}

impl Programs {
    /// Buffers were freed: others may get their handles, and kernels must be told again what these mean.
    pub fn forget_arguments(&mut self) {
        for kernel in self.kernels.values_mut() {
            kernel.arguments.fill(None);
        }
    }
}

/// A kernel that was launched before.
struct Loaded {
    kernel: Kernel,
    name: String,
    /// Bytes of each argument of the compiler's.
    sizes: Vec<usize>,
    /// It may raise the flag.
    faults: bool,
    /// Work-items of a group along the axes, outermost first; empty if the size is open.
    group: Vec<usize>,
    /// The most work-items that a group may have.
    most: usize,
    /// Words that the arguments were set to: those of the compiler, then the grid, then the flag.
    arguments: Vec<Option<u64>>,
    /// Its row in the table of times.
    row: usize,
}

impl Loaded {
    /// Sets an argument, unless it has this value.
    fn set(&mut self, position: usize, size: usize, word: u64) -> Result<(), String> {
        if self.arguments[position] == Some(word) {
            return Ok(());
        }
        // Little-endian words: the low bytes of an argument come first.
        // SAFETY: the word has `size` bytes, as the kernel declares the argument.
        let set = unsafe {
            opencl3::kernel::set_kernel_arg(self.kernel.get(), position as u32, size, std::ptr::from_ref(&word).cast())
        };
        set.map_err(|code| format!("an argument of the kernel {} was refused: {}", self.name, ClError(code)))?;
        self.arguments[position] = Some(word);
        Ok(())
    }
}

impl Device {
    /// Makes sure that a kernel is at hand.
    ///
    /// # Safety
    /// See [`super::ravel_device_launch`].
    unsafe fn load(&mut self, source: *const c_char, description: *const c_char, rank: usize) -> Result<(), String> {
        let key = description as usize;
        if self.programs.kernels.contains_key(&key) {
            return Ok(());
        }
        // SAFETY: texts of the compiler end in NUL.
        let description = unsafe { CStr::from_ptr(description) }.to_str().unwrap_or_default();
        let (name, rest) = description.split_once(':').unwrap_or((description, ""));
        let (kinds, group) = rest.split_once('/').unwrap_or((rest, ""));
        let faults = kinds.ends_with('f');
        let sizes: Vec<usize> = kinds
            .trim_end_matches('f')
            .bytes()
            .map(|kind| if kind == b'b' { 8 } else { usize::from(kind - b'0') })
            .collect();
        let group: Vec<usize> =
            group.split('/').filter(|size| !size.is_empty()).map(|size| size.parse().unwrap_or(1)).collect();
        self.build(source)?;
        let program = &self.programs.built[&(source as usize)];
        let kernel = Kernel::create(program, name).map_err(|e| {
            errors::failed(&self.context.device.name, &format!("the kernel {name} could not be made"), e)
        })?;
        self.counters.kernels += 1;
        let most = kernel.get_work_group_size(self.context.id()).unwrap_or(GROUPS.0);
        let arguments = vec![None; sizes.len() + rank + 1];
        let row = self.profile.row(name);
        self.programs
            .kernels
            .insert(key, Loaded { kernel, name: name.to_string(), sizes, faults, group, most, arguments, row });
        Ok(())
    }

    /// Queues a kernel.
    ///
    /// # Safety
    /// See [`super::ravel_device_launch`].
    pub(super) unsafe fn launch(
        &mut self,
        source: *const c_char,
        description: *const c_char,
        grid: &[i64],
        arguments: *const u64,
    ) -> Result<(), String> {
        if grid.iter().any(|&n| n <= 0) {
            return Ok(());
        }
        // SAFETY: passed on.
        unsafe { self.load(source, description, grid.len())? };
        let key = description as usize;
        let flag = if self.programs.kernels[&key].faults { Some(self.flag()?) } else { None };
        let loaded = self.programs.kernels.get_mut(&key).expect("just made sure of");
        let mut position = loaded.sizes.len();
        for n in 0..position {
            // SAFETY: the caller has as many words as the description says.
            let word = unsafe { *arguments.add(n) };
            loaded.set(n, loaded.sizes[n], word)?;
        }
        // Groups are as many as wanted; single work-items come in whole groups, so that the kernel must be told where the grid ends.
        if loaded.group.is_empty() {
            for &extent in grid {
                loaded.set(position, 8, extent as u64)?;
                position += 1;
            }
        }
        if let Some(flag) = flag {
            loaded.set(position, 8, flag as u64)?;
        }
        let loaded = &self.programs.kernels[&key];
        let open = loaded.group.is_empty();
        let (global, local) = if open { shape_of_groups(grid, loaded.most) } else { groups_of(grid, &loaded.group) };
        let context = &self.context;
        // SAFETY: all arguments are set, and buffers stay alive until the queue is through with them: they go back to the pool of
        // this queue at most.
        let start = |global: [usize; 3], local: [usize; 3]| unsafe {
            context.start(&loaded.kernel, grid.len(), &global, &local, self.profile.on())
        };
        if open && !self.tuner.is_idle() {
            let (class, items) = (class_of(grid), grid.iter().product::<i64>() as f64);
            let text = || {
                // SAFETY: the source is a static text of the compiler.
                let source = unsafe { CStr::from_ptr(source) };
                kernel_text(source.to_str().unwrap_or_default(), &loaded.name).to_string()
            };
            if let Some((measured, way)) = self.tuner.next(key, &loaded.name, class, text, || ways(grid, loaded.most)) {
                // SAFETY: as above.
                let timed = |global: [usize; 3], local: [usize; 3]| unsafe {
                    context.start(&loaded.kernel, grid.len(), &global, &local, true)
                };
                let took = start_in(grid, &way, &timed).and_then(|event| profile::time_of(event.as_ref()));
                self.tuner.took(&measured, took.as_ref().ok().map(|nanoseconds| *nanoseconds as f64 / items));
                if took.is_ok() {
                    self.counters.launches += 1;
                    return Ok(());
                }
            } else if let Some(way) =
                self.tuner.way(key, class, text, || ways(grid, loaded.most), &mut self.counters.tuned)
                && let Ok(event) = start_in(grid, way, &start)
            {
                self.counters.launches += 1;
                self.profile.started(loaded.row, event);
                return Ok(());
            }
            // A way that this device refuses after all: the usual one does.
        }
        let event = start(global, local).map_err(|e| {
            errors::failed(&context.device.name, &format!("the kernel {} could not be started", loaded.name), e)
        })?;
        self.counters.launches += 1;
        self.profile.started(loaded.row, event);
        Ok(())
    }
}

/// Starts a kernel in groups of some size.
fn start_in(
    grid: &[i64],
    way: &[usize],
    start: &impl Fn([usize; 3], [usize; 3]) -> Result<Option<Event>, ClError>,
) -> Result<Option<Event>, ClError> {
    let (mut global, mut local) = ([1; 3], [1; 3]);
    for (axis, (&extent, &size)) in grid.iter().rev().zip(way).enumerate() {
        local[axis] = size;
        global[axis] = (extent as usize).next_multiple_of(size);
    }
    start(global, local)
}

/// Sizes of groups that are worth trying, innermost axis first: the usual one, and those of up to `most` work-items that are not much larger
/// than the grid.
fn ways(grid: &[i64], most: usize) -> Vec<Vec<usize>> {
    let mut ways = vec![shape_of_groups(grid, most).1[..grid.len()].to_vec()];
    for sizes in SIZES {
        let axes = grid.iter().rev().map(|&extent| (extent as usize).next_power_of_two());
        let fits =
            sizes.iter().product::<usize>() <= most && axes.clone().zip(sizes).all(|(extent, size)| size <= extent);
        let way = sizes[..grid.len().min(2)].iter().copied().chain(std::iter::repeat(1)).take(grid.len()).collect();
        let lost = grid.len() < 2 && sizes[1] > 1;
        if fits && !lost && !ways.contains(&way) {
            ways.push(way);
        }
    }
    ways
}

/// Work-items and group sizes, innermost axis first, as OpenCL counts, for a kernel whose groups have at most `most` work-items. Sizes are
/// rounded up to whole groups.
fn shape_of_groups(grid: &[i64], most: usize) -> ([usize; 3], [usize; 3]) {
    let (mut global, mut local) = ([1; 3], [1; 3]);
    let items = grid.iter().fold(1usize, |n, &extent| n.saturating_mul(extent as usize));
    let wanted = (items / MANY_GROUPS).clamp(GROUPS.0, GROUPS.1).min(most.max(1));
    let mut left = 1 << wanted.ilog2();
    for (axis, &extent) in grid.iter().rev().enumerate() {
        let extent = extent as usize;
        local[axis] = left.min(extent.next_power_of_two()).max(1);
        left /= local[axis];
        global[axis] = extent.next_multiple_of(local[axis]);
    }
    (global, local)
}

/// Work-items and group sizes for a grid of groups, whose sizes the description gives, outermost axis first.
fn groups_of(grid: &[i64], group: &[usize]) -> ([usize; 3], [usize; 3]) {
    let (mut global, mut local) = ([1; 3], [1; 3]);
    for (axis, (&extent, &size)) in grid.iter().rev().zip(group.iter().rev()).enumerate() {
        local[axis] = size;
        global[axis] = extent as usize * local[axis];
    }
    (global, local)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_to_try_fit_the_grid_and_the_device() {
        assert_eq!(ways(&[1000], 256), [vec![64], vec![32], vec![128], vec![256]]);
        assert_eq!(ways(&[20, 16], 1024), [vec![16, 4], vec![16, 16], vec![8, 8]]);
        assert_eq!(
            ways(&[5, 100, 100], 128),
            [vec![64, 1, 1], vec![32, 1, 1], vec![128, 1, 1], vec![32, 4, 1], vec![8, 8, 1]]
        );
        assert_eq!(ways(&[3], 1024), [vec![4]]);
    }

    #[test]
    fn groups_fill_the_innermost_axes_first() {
        assert_eq!(shape_of_groups(&[1000], 1024), ([1024, 1, 1], [64, 1, 1]));
        assert_eq!(shape_of_groups(&[10, 5], 1024), ([8, 16, 1], [8, 8, 1]));
        assert_eq!(shape_of_groups(&[3, 1, 100], 1024), ([128, 1, 3], [64, 1, 1]));
    }

    #[test]
    fn large_grids_have_large_groups() {
        assert_eq!(shape_of_groups(&[1 << 20], 1024).1, [256, 1, 1]);
        assert_eq!(shape_of_groups(&[1 << 28], 1024).1, [512, 1, 1]);
        assert_eq!(shape_of_groups(&[1 << 24, 16], 1024).1, [16, 32, 1]);
        assert_eq!(shape_of_groups(&[1 << 28], 200).1, [128, 1, 1]);
    }

    #[test]
    fn grids_of_groups_have_the_sizes_of_the_description() {
        assert_eq!(groups_of(&[100], &[128]), ([12800, 1, 1], [128, 1, 1]));
        assert_eq!(groups_of(&[3, 5], &[8, 16]), ([80, 24, 1], [16, 8, 1]));
    }
}
