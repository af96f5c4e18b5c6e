//! Choosing the lanes of a kernel: where they run, how many they are and in what steps, by estimated cycles per cell.

use ravel_wir::{Generator, Part, Value, With};

use crate::facts::interleaved_cells::weaving_cost;
use crate::facts::{Comb, Dep, Facts, Grid, Measures, Refusal, Sink, UNKNOWN_EXTENT, Walk};
use crate::plan::collapsed_rows::Flat;
use crate::plan::row_crossing::crossing_cycles;
use crate::plan::{LEAST_WORK, VecChoice};

/// Vectors per step, or multiples of them, that may be needed for steps to begin where an index expression repeats its pattern.
const GRAINS: [usize; 3] = [1, 2, 4];
/// Indices of an axis at most whose steps may be written one by one.
const SEPARATE: i64 = 128;
/// Cycles of a store that leaves some lanes as they are, more than of another.
const BLEND: f64 = 1.5;
/// Lanes of the longest vector that the nest has.
pub(crate) const MOST_LANES: usize = 16;
/// Bytes of the narrowest vector that is used.
const LEAST_VECTOR: usize = 16;
/// What lanes may take of the cycles of scalar code there: a kernel is much code for few cells.
const BORDER_SHARE: f64 = 0.5;
/// Lanes must take less than this part of the cycles of what was found before: fewer lanes and later axes are no better for a little.
pub(crate) const CLEARLY_LESS: f64 = 0.95;

/// A partition of scalar cells that may run in lanes.
pub(crate) struct Cells<'p> {
    pub part: &'p Part,
    pub sinks: &'p [Sink],
    /// The index along each axis.
    pub params: Vec<Value>,
    /// The axis that is cut into chunks, if one is.
    chunked: Option<usize>,
    /// First index along each axis, where it is constant.
    starts: Vec<Option<i64>>,
    /// Indices along each axis, where known, with those between wide teeth; along the last one all of rows that are walked as one.
    pub extents: Vec<Option<i64>>,
    pub combs: Vec<Comb>,
    pub flat: Option<Flat>,
    /// Numbers of lanes worth considering, the largest first.
    sizes: Vec<u8>,
    /// Width of packed elements.
    pub bytes: usize,
    pub measures: Measures,
    /// Axes along rows that the innermost axis walks across ([`crate::plan::row_crossing`]).
    crossing: Vec<usize>,
    /// Cycles of a cell in scalar code.
    scalar: f64,
    /// Whether another partition is much larger.
    pub is_border: bool,
}

impl Cells<'_> {
    /// May a cell be computed twice? Not if cells are built in an operand.
    fn may_overlap(&self) -> bool {
        !self.sinks.iter().any(|sink| matches!(sink, Sink::Slice { reused: Some(_), .. }))
    }

    /// Must steps follow each other as scalar code does? Those whose checks fail must not have changed what they read.
    pub fn is_in_order(&self) -> bool {
        !self.may_overlap() && !self.measures.by_lanes.is_empty()
    }

    /// Whether wider teeth leave an axis to others: they suit lanes alone.
    fn has_wide_teeth_beside(&self, axis: Option<usize>) -> bool {
        self.combs.iter().enumerate().any(|(k, comb)| comb.width > 1 && Some(k) != axis)
    }

    /// Indices from the first to the last one along an axis, with those that steps leave out.
    fn span(&self, axis: usize) -> Option<i64> {
        let comb = self.combs[axis];
        self.extents[axis].map(|n| if comb.width > 1 { comb.span(n) } else { n * comb.step })
    }

    /// Where the steps of lanes along an axis begin.
    pub fn walk(&self, axis: usize, lanes: u8, grain: usize, separate: bool) -> Walk {
        Walk { start: self.starts[axis], grain: i64::from(lanes) * grain as i64, trips: separate.then_some(1) }
    }

    /// Lanes along axes: the most lanes first, and with each the steps that may suit index expressions or teeth.
    fn candidates(&self) -> Vec<Lanes> {
        let mut all = Vec::new();
        for &lanes in &self.sizes {
            for (axis, comb) in self.combs.iter().enumerate() {
                let teeth = (!comb.is_dense()).then(|| comb.vectors(i64::from(lanes)) as usize);
                let teeth = teeth.filter(|u| !GRAINS.contains(u)).map(|u| (u, false));
                let steps = GRAINS.iter().map(|u| (*u, false)).chain([(1, true)]).chain(teeth);
                all.extend(steps.map(|(u, separate)| Lanes { vec: VecChoice::Axis { axis, u }, lanes, separate }));
            }
        }
        all
    }
}

/// Where lanes run, how many, and whether all steps are written one by one.
#[derive(Clone, Copy)]
pub(crate) struct Lanes {
    pub vec: VecChoice,
    pub lanes: u8,
    pub separate: bool,
}

impl Facts<'_> {
    /// Indices of a partition along an axis with constant bounds, with those that steps leave out.
    fn const_extent(&self, part: &Part, axis: usize) -> Option<i64> {
        let Generator::Known { lower, upper, .. } = &part.generator else { return None };
        Some(self.const_i32(upper[axis])? - self.const_i32(lower[axis])?)
    }

    /// Numbers of lanes worth considering for elements of this width, the largest first.
    pub fn lane_sizes(&self, bytes: usize) -> Vec<u8> {
        let most = (self.target.vector_bytes as usize / bytes).min(MOST_LANES);
        let least = LEAST_VECTOR / bytes.max(4);
        std::iter::successors(Some(most), |n| Some(n / 2)).take_while(|n| *n >= least).map(|n| n as u8).collect()
    }

    /// What the choice of lanes needs to know of a partition, and what must hold before a kernel runs.
    pub fn examine_cells<'p>(
        &self,
        with: &With,
        part: &'p Part,
        sinks: &'p [Sink],
        chunked: Option<usize>,
    ) -> Result<Cells<'p>, Refusal> {
        let Generator::Known { lower, upper, .. } = &part.generator else {
            return Err(Refusal::FoldRankUnknown);
        };
        let params = self.func.regions[part.body].params.clone();
        if params.is_empty() {
            return Err(Refusal::SingleCell);
        }
        let Some(combs) = self.combs(part) else {
            return Err(Refusal::VariableSteps);
        };
        if combs.iter().filter(|comb| comb.width > 1).count() > 1 {
            return Err(Refusal::SeveralWidths);
        }
        let mut measures = self.measures_for(std::slice::from_ref(part));
        self.supported_cells(part.body, &mut measures)?;
        let bytes = self.kernel_width(part.body);
        let sizes = self.lane_sizes(bytes);
        if sizes.is_empty() {
            return Err(Refusal::NoVectors);
        }
        let start = |k: usize| self.const_i32(lower[k]).filter(|_| chunked != Some(k));
        let starts: Vec<Option<i64>> = (0..params.len()).map(start).collect();
        let extent = |k: usize| match starts[k].zip(self.const_i32(upper[k])) {
            Some((low, high)) if combs[k].width > 1 => Some((high - low).max(0)),
            Some((low, high)) => Some(((high - low).max(0) + combs[k].step - 1) / combs[k].step),
            None => self.alias[params[k]].map(|_| 1),
        };
        let mut extents: Vec<Option<i64>> = (0..params.len()).map(extent).collect();
        let flat = self.flat_rows(part, sinks, usize::from(sizes[0]), chunked);
        if let Some(flat) = flat {
            let (rows, last) = (extents[flat.rows], params.len() - 1);
            extents[flat.rows..last].fill(Some(1));
            extents[last] = rows.map(|n| n * flat.length);
        }
        let crossing = self.crossing_loads(part, &extents);
        let mut g = Grid { masked: measures.masked.clone(), ..Grid::scalar(bytes) };
        let scalar = self.region_cost(&mut g, part.body) + 1.0 + self.checks_cost(&measures.by_lanes, false);
        let scalar = scalar + crossing_cycles(&crossing, None);
        let cells = extents.iter().try_fold(1i64, |n, e| n.checked_mul((*e)?));
        if cells.is_some_and(|n| n as f64 * scalar < LEAST_WORK) {
            return Err(Refusal::LittleWork);
        }
        let is_border = self.is_border(with, part);
        Ok(Cells {
            part,
            sinks,
            params,
            chunked,
            starts,
            extents,
            combs,
            flat,
            sizes,
            bytes,
            measures,
            crossing,
            scalar,
            is_border,
        })
    }

    /// The same of a partition whose cells are computed in chunks of elements, whatever its axes are.
    pub fn examine_elements<'p>(
        &self,
        with: &With,
        part: &'p Part,
        sinks: &'p [Sink],
        extents: &[i64],
    ) -> Result<Cells<'p>, Refusal> {
        let mut cells = self.examine_cells(with, part, sinks, Some(0))?;
        let last = extents.len() - 1;
        if last > 0 {
            cells.flat = Some(Flat { rows: 0, length: extents[1..].iter().product(), cut: true });
            cells.extents = vec![Some(1); last];
            cells.extents.push(None);
            cells.crossing.clear();
        }
        Ok(cells)
    }

    /// The lanes that take the fewest cycles for a cell, if they take clearly fewer than scalar code.
    pub fn choose_lanes(&self, g: &mut Grid, cells: &Cells) -> Result<Lanes, Refusal> {
        let mut best = None;
        let mut least = if cells.is_border { cells.scalar * BORDER_SHARE } else { cells.scalar };
        let mut consider = |lanes: Lanes, cycles: f64| {
            if cycles < least * CLEARLY_LESS {
                (least, best) = (cycles, Some(lanes));
            }
        };
        for lanes in cells.candidates() {
            if let VecChoice::Axis { axis, u } = lanes.vec
                && self.can_run_along_axis(g, cells, lanes, axis, u)
            {
                consider(lanes, self.cycles_along_axis(g, cells, lanes.lanes, axis));
            }
        }
        g.set_vec(None, 1, 1);
        if !cells.has_wide_teeth_beside(None)
            && self.folds_can_run_along(g, cells.part.body)
            && self.bounds_dep(g, cells.part.body) == Dep::default()
        {
            g.fold_u = 1;
            for &lanes in &cells.sizes {
                g.fold_lanes = lanes;
                let cycles =
                    self.region_cost(g, cells.part.body) + 1.0 + self.checks_cost(&cells.measures.by_lanes, true);
                consider(Lanes { vec: VecChoice::Fold { u: 1 }, lanes, separate: false }, cycles);
            }
            (g.fold_lanes, g.fold_u) = (0, 0);
        }
        best.ok_or_else(|| match (cells.is_border, self.is_slow_in_lanes(cells.part.body)) {
            (false, false) => Refusal::NoAxis,
            (false, true) => Refusal::NoAxisDivisions,
            (true, false) => Refusal::NoAxisOfBorder,
            (true, true) => Refusal::NoAxisOfBorderDivisions,
        })
    }

    /// Whether lanes may run along an axis in steps of `grain` vectors; the grid has them then.
    fn can_run_along_axis(&self, g: &mut Grid, cells: &Cells, lanes: Lanes, axis: usize, grain: usize) -> bool {
        let (part, comb, extent) = (cells.part, cells.combs[axis], cells.extents[axis]);
        let Lanes { lanes, separate, .. } = lanes;
        let span = cells.span(axis);
        if (cells.is_in_order() && axis + 1 < cells.params.len())
            || span.is_some_and(|n| n < i64::from(lanes) * grain as i64)
            || cells.has_wide_teeth_beside(Some(axis))
        {
            return false;
        }
        g.set_vec(Some(cells.params[axis]), lanes, 1);
        if !comb.is_dense() {
            let simple = cells.may_overlap() && extent.is_some() && cells.chunked != Some(axis);
            if separate
                || !cells.measures.by_lanes.is_empty()
                || !cells.measures.masked.is_empty()
                || grain as i64 != comb.vectors(i64::from(lanes))
                || !self.can_comb(g, part, axis, comb, simple)
                || self.waits_for_stores(part, axis, cells.sinks)
            {
                return false;
            }
        }
        let comes_out_even = extent.is_some_and(|n| n <= SEPARATE && n % i64::from(lanes) == 0);
        if separate && (cells.flat.is_some() || cells.starts[axis].is_none() || !comes_out_even) {
            return false;
        }
        g.walk = cells.walk(axis, lanes, grain, separate);
        let is_uneven = self.bounds_dep(g, part.body).vec;
        !is_uneven || (cells.measures.by_lanes.is_empty() && self.uneven_plan(g, part, axis, extent).is_some())
    }

    /// Cycles per cell with the lanes that the grid has along an axis.
    fn cycles_along_axis(&self, g: &mut Grid, cells: &Cells, lanes: u8, axis: usize) -> f64 {
        let (part, comb) = (cells.part, cells.combs[axis]);
        let lanes_i64 = i64::from(lanes);
        let mut step = self.region_cost(g, part.body) + self.checks_cost(&cells.measures.by_lanes, true);
        step += crossing_cycles(&cells.crossing, Some((axis, lanes)));
        step += self.stores_cost(g, cells, comb);
        let extent = cells.extents[axis].unwrap_or(UNKNOWN_EXTENT);
        let span = cells.span(axis).unwrap_or(UNKNOWN_EXTENT * comb.step);
        let steps = (span + lanes_i64 - 1) / lanes_i64;
        let mut cycles = step * steps as f64 / extent as f64;
        if let (true, Some(n)) = (cells.chunked == Some(axis), self.const_extent(part, axis)) {
            // What the last chunk has beyond whole vectors is computed one by one.
            cycles += cells.scalar * (n.max(0) % lanes_i64) as f64 / n.max(1) as f64;
        }
        cycles
    }

    /// Cycles of storing what the lanes of a step have computed.
    fn stores_cost(&self, g: &mut Grid, cells: &Cells, comb: Comb) -> f64 {
        let (part, lanes) = (cells.part, f64::from(g.lanes));
        let mut cost = 0.0;
        for (sink, cell) in cells.sinks.iter().zip(&self.func.regions[part.body].yields) {
            let Sink::Slice { elem, strides, .. } = sink else { continue };
            let offset = self.slice_offset(part, *elem, strides);
            cost += match self.tuple_of(part.body, *cell).map(|tuple| tuple.1.len()) {
                Some(count) if self.weaves(g, *elem, &offset, count, 0, 0) => {
                    count as f64 * (1.0 + weaving_cost(count))
                }
                Some(count) => count as f64 * 2.0 * lanes,
                None if g.packs(*elem) && self.is_contiguous(g, &offset, *elem, 0, 0) => {
                    if comb.is_dense() {
                        1.0
                    } else {
                        1.0 + BLEND
                    }
                }
                None => 2.0 * lanes,
            };
        }
        cost
    }
}
