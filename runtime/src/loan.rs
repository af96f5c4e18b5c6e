//! Elements that Rust code lends for one call of SaC code.

use std::alloc::{Layout, handle_alloc_error};
use std::ptr::NonNull;

use crate::abi::{ArrayHeader, ElemTag};
use crate::array::{Array, ArrayRef};
use crate::capi::{self, Owner};
use crate::fault::Fault;

/// An array over somebody else's elements, or over a copy of them. When the loan ends, by being dropped, nothing refers to the elements any
/// more: who still has the array gets a copy.
#[derive(Debug)]
pub struct Loan(NonNull<ArrayHeader>);

// SAFETY: a loan is a reference to an object, and counts are atomic.
unsafe impl Send for Loan {}

impl Loan {
    /// Lends the elements at `data`.
    ///
    /// # Errors
    /// The shape is not a valid one, or memory is exhausted.
    ///
    /// # Safety
    /// `data` holds the elements of such an array, which stay as they are until the loan has ended. It ends on a thread that knows that
    /// nobody reads the array at the moment.
    pub unsafe fn new(data: *const u8, elem: ElemTag, shape: &[i64]) -> Result<Loan, Fault> {
        // SAFETY: by contract.
        unsafe { capi::borrow(data, elem, shape, Owner::NOBODY) }.map(Loan)
    }

    /// A further reference to the array.
    pub fn array(&self) -> Array {
        // SAFETY: the loan has a reference.
        unsafe { ArrayRef::from_raw(self.0) }.to_owned()
    }

    /// Ends the loan of a call that has been broken off. The counts are those from before, so whether something like a global object still
    /// has the array is not known: it stays, with elements of its own.
    pub fn end_in_doubt(self) {
        let _kept = self.array().into_raw();
    }
}

impl Drop for Loan {
    fn drop(&mut self) {
        // SAFETY: the reference of `new`; nobody reads the array, by its contract.
        if unsafe { capi::end_loan(self.0, false) }.is_err() {
            // SAFETY: the array is alive: somebody has it still.
            let view = unsafe { ArrayRef::from_raw(self.0) };
            // The elements go back to their owner in any case, so there is no way on.
            let bytes = view.count().saturating_mul(view.elem().size());
            handle_alloc_error(Layout::array::<u8>(bytes).unwrap_or(Layout::new::<u8>()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Elements that are lent without a copy: bytes before and behind them lie in the same page.
    fn within_a_page(elements: &mut Vec<i64>) -> &[i64] {
        elements.resize(1024, 7);
        let first = (0..512).find(|at| elements[*at..].as_ptr().addr() % 4096 == 512).expect("a page has such a place");
        &elements[first..first + 8]
    }

    #[test]
    fn a_loan_ends_with_a_copy_for_whoever_has_the_array() {
        let mut room = Vec::new();
        let lent = within_a_page(&mut room);
        // SAFETY: the elements stay, and nobody else reads.
        let loan = unsafe { Loan::new(lent.as_ptr().cast(), ElemTag::I64, &[8]) }.expect("a valid shape");
        let kept = loan.array();
        let place = |array: &Array| array.view().as_slice::<i64>().map(<[i64]>::as_ptr);
        assert_eq!(place(&kept), Some(lent.as_ptr()));
        drop(loan);
        assert_ne!(place(&kept), Some(lent.as_ptr()));
        assert_eq!(kept.view().as_slice::<i64>(), Some(&[7i64; 8][..]));
    }

    #[test]
    fn in_doubt_the_array_stays() {
        let mut room = Vec::new();
        let lent = within_a_page(&mut room);
        // SAFETY: as above.
        let loan = unsafe { Loan::new(lent.as_ptr().cast(), ElemTag::I64, &[2, 4]) }.expect("a valid shape");
        let address = loan.array().view().as_ptr();
        loan.end_in_doubt();
        // SAFETY: it is alive, since it is in doubt whether somebody has it.
        let view = unsafe { ArrayRef::from_raw(address) };
        assert_eq!(view.as_slice::<i64>(), Some(&[7i64; 8][..]));
        assert_ne!(view.as_slice::<i64>().map(<[i64]>::as_ptr), Some(lent.as_ptr()));
    }
}
