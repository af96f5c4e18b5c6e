//! Arrays that are put together from cells: what is added to a place goes to the cell that stands there.

use crate::differentiate::adjoint::{Adjoints, Index, Term};
use crate::differentiate::reverse::Reverse;
use crate::differentiate::state::Result;
use ravel_types::BinOp;
use ravel_wir::{Op, Region, Value, cell_type};

/// Cells of an array that are chosen by their index.
const MOST_CHOSEN: usize = 8;

impl Reverse<'_> {
    /// Gives the terms of an array to its cells.
    pub fn cells(
        &mut self,
        at: Region,
        y: Value,
        cells: &[Value],
        terms: Vec<Term>,
        adjoints: &mut Adjoints,
    ) -> Result<()> {
        let ty = self.state.ty(y);
        let lead = ty.rank().unwrap_or(0) - cells.first().map_or(0, |c| self.state.func.ty(*c).rank().unwrap_or(0));
        let extents: Vec<i32> =
            ty.shape.extents().unwrap_or_default()[..lead].iter().filter_map(|e| e.as_const()).collect();
        // What is read at constants goes to its cell at once.
        let mut others = Vec::new();
        for term in terms {
            let at_constants = match &term.index {
                Index::Known(index) if index.len() >= lead => {
                    let fixed: Option<Vec<i32>> =
                        index[..lead].iter().map(|v| self.state.defs.int(self.state.func, *v)).collect();
                    fixed.map(|fixed| (fixed, index[lead..].to_vec()))
                }
                _ => None,
            };
            match at_constants {
                Some((fixed, inner)) => {
                    let number = fixed.iter().zip(&extents).fold(0, |n, (i, extent)| n * extent + i);
                    if let Some(cell) = cells.get(number as usize) {
                        self.contribute(adjoints, *cell, Term { index: Index::Known(inner), ..term });
                    }
                }
                None => others.push(term),
            }
        }
        // What is read at another index belongs to the cell that has it: no array is made for a few.
        let is_element =
            |term: &Term| term.levels.is_empty() && matches!(&term.index, Index::Known(index) if index.len() == lead);
        if cells.len() <= MOST_CHOSEN {
            let (elements, rest): (Vec<Term>, Vec<Term>) = others.into_iter().partition(is_element);
            others = rest;
            for term in elements {
                self.choose_cell(at, (cells, &extents), &term, adjoints);
            }
        }
        if others.is_empty() {
            return Ok(());
        }
        let g = self.value(at, y, others)?;
        for (number, cell) in cells.iter().enumerate() {
            if !self.state.is_varied(*cell) {
                continue;
            }
            let index = digits(number, &extents).into_iter().map(|i| self.state.int(at, i)).collect();
            let element = self.state.emit(at, Op::Sel { array: g, index }, cell_type(&ty, lead));
            self.mask(element, g);
            adjoints.add(*cell, Term::here(element));
        }
        Ok(())
    }

    /// Lets a term count for each cell under the condition that its index is that of the cell.
    fn choose_cell(&mut self, at: Region, (cells, extents): (&[Value], &[i32]), term: &Term, adjoints: &mut Adjoints) {
        for (number, cell) in
            cells.iter().enumerate().filter(|(_, cell)| self.state.is_varied(**cell)).collect::<Vec<_>>()
        {
            let mut guard = term.guard;
            for (v, k) in term.index.values().iter().zip(digits(number, extents)) {
                let k = self.state.int(at, k);
                let is_here = self.state.bin(at, BinOp::Eq, *v, k);
                guard = Some(self.state.both(at, guard, is_here));
            }
            self.contribute(adjoints, *cell, Term { guard, ..Term::here(term.value) });
        }
    }
}

/// The index of a cell by its number.
fn digits(number: usize, extents: &[i32]) -> Vec<i32> {
    let mut rest = number as i32;
    let mut index = Vec::new();
    for extent in extents.iter().rev() {
        index.push(rest % extent.max(&1));
        rest /= extent.max(&1);
    }
    index.reverse();
    index
}
