//! Launches with several cells per work-item: columns.
//!
//! ```text
//!    { [i,j] -> a[i-1,j] + a[i+1,j] + a[i,j-1] + a[i,j+1] }
//! => work-item (b, j) computes the cells [4*b, j] to [4*b + 3, j]
//! ```
//!
//! Cells that are neighbours along an axis other than the last one read many of the same rows: here six for four cells instead of twelve. A
//! work-item that computes them all loads each element once, before it stores anything, and has more loads under way. What counts is how
//! many rows are read per cell; where that does not fall by a quarter, there is a work-item per cell. So there is for index sets that are known
//! to be small: their work-items would be too few for a large device.

use ravel_nest::ir::IntCmp;
use ravel_wir::{Generator, Op, Part, Value, With};

use crate::Result;
use crate::device::tile_nest::is_forced;
use crate::facts::{Facts, Grid, Index, Jam, Measures, Sink};
use crate::lower::Lower;

/// Cells of a work-item.
const COPIES: i64 = 4;
/// Most loads of the cells of a work-item together: their results are in registers at the same time.
const MOST_LOADS: usize = 64;
/// Least number of work-items, where it is known: half a thousand for each unit of a large device.
pub(crate) const LEAST_ITEMS: i64 = 1 << 16;

/// Where an element is read: the array, and the index as constants and terms.
type Place = (Value, Vec<(i64, Vec<(Value, i64)>)>);

impl Facts<'_> {
    /// The axis along which the cells of a work-item lie, if columns pay.
    fn column_axis(&self, part: &Part) -> Option<usize> {
        let func = self.func;
        let Generator::Known { lower, upper, step, width: None } = &part.generator else { return None };
        let plain = |op: &Op| match op {
            Op::Const(_)
            | Op::Un(..)
            | Op::Bin(..)
            | Op::Convert(_)
            | Op::Select { .. }
            | Op::Extent { .. }
            | Op::Opaque(_)
            | Op::Native { .. }
            | Op::Sel { .. } => true,
            Op::Check { .. } => self.site.checked_before,
            _ => false,
        };
        if lower.len() < 2 || !func.regions[part.body].insts.iter().all(|inst| plain(&func.insts[*inst].op)) {
            return None;
        }
        if self.supported(part.body, &mut Measures::default()).is_err() {
            return None;
        }
        let dense = |axis: &usize| step.as_ref().is_none_or(|s| self.const_i32(s[*axis]) == Some(1));
        let long = |axis: &usize| {
            self.const_i32(upper[*axis]).zip(self.const_i32(lower[*axis])).is_none_or(|(u, l)| u - l >= COPIES)
        };
        let params = &func.regions[part.body].params;
        let rows = |axis: usize, copies: i64| self.rows_read(part, params[axis], copies);
        let (rows_of_one, _) = rows(0, 1);
        let axes = (0..lower.len() - 1).filter(dense).filter(long);
        let pays =
            |(count, loads): (usize, usize)| loads <= MOST_LOADS && 4 * count <= 3 * COPIES as usize * rows_of_one;
        axes.map(|axis| (rows(axis, COPIES), axis))
            .filter(|(cost, _)| rows_of_one > 0 && pays(*cost))
            .min()
            .map(|(_, axis)| axis)
    }

    /// How many rows, and how many elements, some neighbouring cells along an axis read.
    fn rows_read(&self, part: &Part, along: Value, copies: i64) -> (usize, usize) {
        let (mut rows, mut elements): (Vec<Place>, Vec<Place>) = (Vec::new(), Vec::new());
        let mut g = Grid::scalar(4);
        g.push_jam(Jam::of(along, copies as usize));
        for &inst in &self.func.regions[part.body].insts {
            let Op::Sel { array, index } = &self.func.insts[inst].op else { continue };
            for copy in 0..copies {
                let mut at = |v: &Value| {
                    let form = self.form(*v);
                    let factor = form.terms.iter().find(|(w, _)| *w == along).map_or(0, |(_, factor)| *factor);
                    // Where an index varies in another way, nothing is known of the copies.
                    let elsewhere = form.terms.iter().any(|(w, _)| *w != along && self.dep(&mut g, *w).jams != 0);
                    let distance = if elsewhere { copy << 40 } else { factor * copy };
                    (form.constant + distance, form.terms)
                };
                let mut place: Place = (*array, index.iter().map(&mut at).collect());
                if !elements.contains(&place) {
                    elements.push(place.clone());
                }
                // Constants on the last axis stay within the row.
                if let (Some(last), Some(v)) = (place.1.last_mut(), index.last()) {
                    last.0 -= self.form(*v).constant;
                }
                if !rows.contains(&place) {
                    rows.push(place);
                }
            }
        }
        (rows.len(), elements.len())
    }
}

impl Lower<'_, '_> {
    /// Runs a partition in columns, if they pay; `false` if nothing was emitted.
    pub fn launch_columns(&mut self, with: &With, part: &Part, targets: &[Sink]) -> Result<bool> {
        let Some(axis) = self.column_axis(part) else { return Ok(false) };
        let least = if is_forced(self.cx.options.device) { 1 } else { LEAST_ITEMS };
        if self.const_count(part).is_some_and(|cells| cells / COPIES < least) {
            return Ok(false);
        }
        self.launch_remark(format!("in columns: a work-item computes {COPIES} cells along axis {axis}"));
        self.column_launch(with, part, targets, axis)?;
        Ok(true)
    }

    fn column_launch(&mut self, with: &With, part: &Part, targets: &[Sink], axis: usize) -> Result<()> {
        let func = self.func;
        let Generator::Known { lower, upper, .. } = &part.generator else { return Ok(()) };
        let (lows, steps, ranges) = self.axes_of(with, part);
        let high = self.wide(upper[axis]);
        let whole =
            self.const_i32(upper[axis]).zip(self.const_i32(lower[axis])).is_some_and(|(u, l)| (u - l) % COPIES == 0);
        let mut lengths = self.grid_of(part);
        lengths[axis] = self.ceil_div(lengths[axis], COPIES);
        let cache = self.emit.cache.clone();
        let (place, shared) = self.begin_cells(&lengths, false);
        self.facts.site.sequential += 1;
        self.open(part.body);
        let positions = self.positions_in(&place, &lengths, shared);
        let params = func.regions[part.body].params.clone();
        for (other, &param) in params.iter().enumerate() {
            let scaled = if other == axis {
                self.times(positions[axis], COPIES)
            } else {
                self.b.mul(positions[other], steps[other])
            };
            let index = self.b.add(scaled, lows[other]);
            self.bind_wide(param, index, ranges[other]);
        }
        let first = self.wide(params[axis]);
        if !whole {
            let last = self.b.i64(COPIES - 1);
            let last = self.b.add(first, last);
            let inside = self.b.icmp(IntCmp::Slt, last, high);
            self.b.begin_if(inside);
        }
        let outside = self.emit.cache.clone();
        let mut g = Grid::scalar(4);
        g.push_jam(Jam::of(params[axis], COPIES as usize));
        // All loads come before the first store.
        for &cell in &func.regions[part.body].yields {
            for copy in 0..g.j() {
                self.scalar_of(&mut g, cell, copy, 0)?;
            }
        }
        self.kernel_cells(&mut g, part, targets)?;
        self.emit.cache = outside.clone();
        if !whole {
            self.b.begin_else(&[]);
            let one = self.b.i64(1);
            let (index, _) = self.b.begin_for(first, high, one, &[]);
            self.open(part.body);
            self.bind_wide(params[axis], index, ranges[axis]);
            self.cell_in_scope(with, part, targets, &Index::Known(params), Vec::new())?;
            self.close();
            self.b.end_for(&[]);
            self.b.end_if(&[]);
            self.emit.cache = outside;
        }
        self.close();
        self.facts.site.sequential -= 1;
        self.end_launch();
        self.emit.cache = cache;
        Ok(())
    }
}
