//! Programs, kernels and launches.

use std::collections::HashMap;
use std::ffi::{c_char, c_void};

use opencl3::kernel::Kernel;
use opencl3::program::Program;

use super::buffers::Piece;
use super::{Device, errors};

/// Work-items per group along the innermost axis, unless the kernel or the device allow less.
const GROUP: usize = 64;

#[derive(Default)]
pub(super) struct Programs {
    /// By address of the source text, which is static.
    pub(super) built: HashMap<usize, Program>,
    /// By address of the description.
    kernels: HashMap<usize, Kernel>,
    /// What kernels raise at a fault.
    pub flag: Option<Piece>,
}

impl Device {
    /// Queues a kernel.
    ///
    /// # Safety
    /// See [`super::ravel_device_launch`].
    pub(super) unsafe fn launch(&mut self, source: *const c_char, description: &str, grid: &[i64], arguments: &[u64]) -> Result<(), String> {
        if grid.iter().any(|&n| n <= 0) {
            return Ok(());
        }
        let (name, rest) = description.split_once(':').unwrap_or((description, ""));
        let (kinds, group) = rest.split_once('/').unwrap_or((rest, ""));
        let key = description.as_ptr() as usize;
        if !self.programs.kernels.contains_key(&key) {
            self.build(source)?;
            let program = &self.programs.built[&(source as usize)];
            let kernel = Kernel::create(program, name).map_err(|e| errors::failed(&self.context.device.name, &format!("the kernel {name} could not be made"), e))?;
            self.counters.kernels += 1;
            self.programs.kernels.insert(key, kernel);
        }
        let flag = if kinds.ends_with('f') { Some(self.flag()?) } else { None };
        let kernel = &self.programs.kernels[&key];
        let mut position = 0;
        let mut argument = |size: usize, value: *const c_void| {
            // SAFETY: `value` points to an argument of `size` bytes, as the kernel declares it.
            let set = unsafe { opencl3::kernel::set_kernel_arg(kernel.get(), position, size, value) };
            position += 1;
            set.map_err(|code| format!("an argument of the kernel {name} was refused: {}", opencl3::error_codes::ClError(code)))
        };
        for (kind, word) in kinds.bytes().zip(arguments) {
            // Little-endian words: the low bytes of an argument come first.
            let size = if kind == b'b' { 8 } else { usize::from(kind - b'0') };
            argument(size, std::ptr::from_ref(word).cast())?;
        }
        // Groups are as many as wanted; single work-items come in whole groups, so that the kernel must be told where the grid ends.
        for extent in grid.iter().filter(|_| group.is_empty()) {
            argument(8, std::ptr::from_ref(extent).cast())?;
        }
        if let Some(flag) = &flag {
            argument(8, std::ptr::from_ref(flag).cast())?;
        }
        let (global, local) = if group.is_empty() { shape_of_groups(grid) } else { groups_of(grid, group) };
        // SAFETY: all arguments are set, and buffers stay alive until the queue is through with them: they go back to the pool of
        // this queue at most.
        unsafe {
            self.context.queue.enqueue_nd_range_kernel(kernel.get(), grid.len() as u32, std::ptr::null(), global.as_ptr(), local.as_ptr(), &[])
        }
        .map_err(|e| errors::failed(&self.context.device.name, &format!("the kernel {name} could not be started"), e))?;
        self.counters.launches += 1;
        Ok(())
    }
}

/// Work-items and group sizes, innermost axis first, as OpenCL counts. Sizes are rounded up to whole groups.
fn shape_of_groups(grid: &[i64]) -> ([usize; 3], [usize; 3]) {
    let (mut global, mut local) = ([1; 3], [1; 3]);
    let mut left = GROUP;
    for (axis, &extent) in grid.iter().rev().enumerate() {
        let extent = extent as usize;
        local[axis] = left.min(extent.next_power_of_two()).max(1);
        left /= local[axis];
        global[axis] = extent.next_multiple_of(local[axis]);
    }
    (global, local)
}

/// Work-items and group sizes for a grid of groups, whose sizes the description gives, outermost axis first.
fn groups_of(grid: &[i64], group: &str) -> ([usize; 3], [usize; 3]) {
    let (mut global, mut local) = ([1; 3], [1; 3]);
    for (axis, (&extent, size)) in grid.iter().rev().zip(group.split('/').rev()).enumerate() {
        local[axis] = size.parse().unwrap_or(1);
        global[axis] = extent as usize * local[axis];
    }
    (global, local)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_fill_the_innermost_axes_first() {
        assert_eq!(shape_of_groups(&[1000]), ([1024, 1, 1], [64, 1, 1]));
        assert_eq!(shape_of_groups(&[10, 5]), ([8, 16, 1], [8, 8, 1]));
        assert_eq!(shape_of_groups(&[3, 1, 100]), ([128, 1, 3], [64, 1, 1]));
    }

    #[test]
    fn grids_of_groups_have_the_sizes_of_the_description() {
        assert_eq!(groups_of(&[100], "128"), ([12800, 1, 1], [128, 1, 1]));
        assert_eq!(groups_of(&[3, 5], "8/16"), ([80, 24, 1], [16, 8, 1]));
    }
}
