//! Index sets whose rank only the run knows, index by index.

use std::ffi::c_char;

use crate::abi::{ArrayHeader, ElemTag};
use crate::dynamic::{ints, new_array, raise};
use crate::fault::{Code, Fault};

/// Runs over the index set of a generator whose length only the run knows.
pub struct Odometer {
    lower: Vec<i64>,
    upper: Vec<i64>,
    step: Vec<i64>,
    width: Vec<i64>,
    position: Vec<i64>,
}

impl Odometer {
    /// The first index, or nothing if the set is empty.
    ///
    /// # Errors
    /// The bounds differ in length, or a step or width is out of range.
    fn new(
        lower: &[i32],
        upper: &[i32],
        step: Option<&[i32]>,
        width: Option<&[i32]>,
    ) -> Result<Option<Odometer>, Fault> {
        let wide = |v: &[i32]| v.iter().map(|&i| i64::from(i)).collect::<Vec<i64>>();
        let ones = vec![1; lower.len()];
        let odometer = Odometer {
            lower: wide(lower),
            upper: wide(upper),
            step: step.map_or_else(|| ones.clone(), wide),
            width: width.map_or(ones, wide),
            position: wide(lower),
        };
        let length = odometer.lower.len();
        if [&odometer.upper, &odometer.step, &odometer.width].iter().any(|v| v.len() != length) {
            return Err(Fault::coded(Code::INDEX_LENGTHS_DIFFER, "the bounds of a generator differ in length"));
        }
        if odometer.step.iter().zip(&odometer.width).any(|(&step, &width)| step < 1 || width < 1) {
            return Err(Fault::coded(Code::BAD_GENERATOR, "the step or width of a generator is not positive"));
        }
        let empty = odometer.lower.iter().zip(&odometer.upper).any(|(lower, upper)| lower >= upper);
        Ok((!empty).then_some(odometer))
    }

    /// Moves to the next index in row-major order; `false` after the last one.
    fn advance(&mut self) -> bool {
        for axis in (0..self.position.len()).rev() {
            self.position[axis] += 1;
            let within = (self.position[axis] - self.lower[axis]) % self.step[axis];
            if within >= self.width[axis] {
                self.position[axis] += self.step[axis] - within;
            }
            if self.position[axis] < self.upper[axis] {
                return true;
            }
            self.position[axis] = self.lower[axis];
        }
        false
    }
}

/// Starts a generator; null if its index set is empty. `step` and `width` may be null.
///
/// # Safety
/// Vectors are valid `i32` vectors; `pos` is null or NUL-terminated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_odometer_start(
    pos: *const c_char,
    lower: *const ArrayHeader,
    upper: *const ArrayHeader,
    step: *const ArrayHeader,
    width: *const ArrayHeader,
) -> *mut Odometer {
    // SAFETY: by contract.
    unsafe {
        let optional = |v: *const ArrayHeader| (!v.is_null()).then(|| ints(v));
        match Odometer::new(ints(lower), ints(upper), optional(step), optional(width)) {
            Ok(Some(odometer)) => Box::into_raw(Box::new(odometer)),
            Ok(None) => std::ptr::null_mut(),
            Err(fault) => raise(pos, fault),
        }
    }
}

/// Number of axes.
///
/// # Safety
/// The odometer is running.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_odometer_axes(odometer: *const Odometer) -> i64 {
    // SAFETY: by contract.
    unsafe { &*odometer }.position.len() as i64
}

/// The current index in memory; good until the next step.
///
/// # Safety
/// The odometer is running.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_odometer_position(odometer: *const Odometer) -> *const i64 {
    // SAFETY: by contract.
    unsafe { &*odometer }.position.as_ptr()
}

/// The current index as a new vector.
///
/// # Safety
/// The odometer is running.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_odometer_index(odometer: *const Odometer) -> *mut ArrayHeader {
    // SAFETY: by contract; the vector has as many elements as there are axes.
    unsafe {
        let position = &(*odometer).position;
        let vector = new_array(std::ptr::null(), ElemTag::I32, &[position.len() as i64]);
        for (axis, &i) in position.iter().enumerate() {
            vector.as_ref().data.cast::<i32>().add(axis).write(i as i32);
        }
        vector.as_ptr()
    }
}

/// The next index; 0 after the last one, and the odometer is gone.
///
/// # Safety
/// The odometer is running, and not used after the result 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_odometer_next(odometer: *mut Odometer) -> u8 {
    // SAFETY: by contract.
    unsafe {
        if (*odometer).advance() {
            return 1;
        }
        drop(Box::from_raw(odometer));
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odometers_follow_steps_and_widths() {
        let mut odometer =
            Odometer::new(&[0, 1], &[2, 7], Some(&[1, 3]), Some(&[1, 2])).expect("valid").expect("not empty");
        let mut seen = vec![odometer.position.clone()];
        while odometer.advance() {
            seen.push(odometer.position.clone());
        }
        assert_eq!(seen, [[0, 1], [0, 2], [0, 4], [0, 5], [1, 1], [1, 2], [1, 4], [1, 5]]);
        assert!(Odometer::new(&[0], &[0], None, None).expect("valid").is_none());
        assert!(Odometer::new(&[], &[], None, None).expect("valid").is_some());
        assert!(Odometer::new(&[0], &[1, 1], None, None).is_err());
    }
}
