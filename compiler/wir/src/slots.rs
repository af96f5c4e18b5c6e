//! Slots for extents in the labels below the source line of a fault.
//!
//! Labels are made while compiling. A fault that the run finds fills their slots: an index that of its axis, a message those at its marks.

/// Slots below are axes of an array that is indexed.
const OF_INDEX: u32 = 64;

/// Axes that have slots, of each label.
const MOST_AXES: u32 = 16;

/// The slot of an axis of the array that is indexed.
pub fn indexed(axis: usize) -> Option<u32> {
    u32::try_from(axis).ok().filter(|axis| *axis < OF_INDEX)
}

/// The slot of an axis of the array with this number.
pub fn measured(array: usize, axis: usize) -> Option<u32> {
    let (array, axis) = (u32::try_from(array).ok()?, u32::try_from(axis).ok()?);
    let first = MOST_AXES.checked_mul(array)?.checked_add(OF_INDEX)?;
    if axis < MOST_AXES { first.checked_add(axis) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_slot_is_used_twice() {
        assert_eq!((indexed(63), indexed(64)), (Some(63), None));
        assert_eq!(
            (measured(0, 0), measured(0, 15), measured(0, 16), measured(1, 0)),
            (Some(64), Some(79), None, Some(80))
        );
        assert_eq!(measured(usize::MAX, 0), None);
        assert_eq!(measured(u32::MAX as usize, 0), None);
    }
}
