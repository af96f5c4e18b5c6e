//! Tiles whose columns run through several axes: which axes, and whether their elements lie close enough.

use ravel_wir::{Generator, Inst, Op, Part, Value};

use crate::facts::{Facts, Grid, Sink};
use crate::plan::collapsed_rows::fills_vectors;
use crate::plan::tile::{Along, Split, TilePlan};

/// Columns that are enough for tiles: further axes stay loops around them.
const ENOUGH: i64 = 512;

/// The axes that columns run through.
#[derive(Clone, Debug)]
pub(crate) struct Collapsed {
    /// Row-major; the last one is the partition's last.
    pub axes: Vec<usize>,
    /// So many of the innermost ones are rows that lie end to end in the results.
    pub run: usize,
    /// The loads that vary over the columns.
    pub loads: Vec<Inst>,
}

impl Collapsed {
    pub fn describe(&self) -> String {
        let names: Vec<String> = self.axes.iter().map(usize::to_string).collect();
        match names.split_last() {
            Some((last, [])) => format!("axis {last}"),
            Some((last, rest)) => format!("axes {} and {last} as one", rest.join(", ")),
            None => String::new(),
        }
    }
}

impl TilePlan {
    pub fn collapsed(&self) -> Option<&Collapsed> {
        match &self.along {
            Along::Collapsed(collapsed) => Some(collapsed),
            _ => None,
        }
    }
}

/// What is asked about the columns of a contraction.
pub(crate) struct Contraction<'a> {
    pub part: &'a Part,
    pub sinks: &'a [Sink],
    pub fold: Inst,
    pub inner: &'a Part,
    pub split: &'a Split,
    /// The axis of the rows.
    pub rows: usize,
    /// The first axis that may be one of columns.
    pub first: usize,
    /// Lanes of a vector.
    pub lanes: usize,
}

impl Facts<'_> {
    /// The axes that columns may run through, if their elements are neighbours and loads that sums of indices find. The grid's vector axis is the last one.
    pub fn collapse(&self, g: &mut Grid, of: &Contraction<'_>) -> Option<Collapsed> {
        let Generator::Known { lower, upper, .. } = &of.part.generator else { return None };
        let params = &self.func.regions[of.part.body].params;
        let last = params.len() - 1;
        let extent = |axis: usize| Some((self.const_i32(upper[axis])? - self.const_i32(lower[axis])?).max(0));
        // Longer rows fill vectors.
        if of.lanes < 2 || extent(last).is_none_or(|n| fills_vectors(n, of.lanes)) {
            return None;
        }
        let mut axes = vec![last];
        for axis in (of.first..last).rev().filter(|axis| *axis != of.rows) {
            let columns = axes.iter().try_fold(1i64, |n, k| n.checked_mul(extent(*k)?));
            if columns.is_none_or(|n| n >= ENOUGH) {
                break;
            }
            g.set_vec(Some(params[axis]), 2, 1);
            let rows_vary = of.split.rows.iter().any(|(v, _)| self.dep(g, *v).vec);
            g.set_vec(Some(params[last]), 2, 1);
            if rows_vary {
                break;
            }
            axes.insert(0, axis);
        }
        let indices: Vec<Value> = axes.iter().map(|axis| params[*axis]).collect();
        let mut loads = Vec::new();
        for &(value, _) in &of.split.columns {
            self.column_loads((params, of.inner), value, &indices, &mut loads)?;
        }
        let behind = axes.iter().rev().zip((0..=last).rev()).take_while(|(axis, expected)| **axis == *expected).count();
        let flat = self.rows_end_to_end(of.part, of.sinks, Some(params.len() - behind), Some(of.fold));
        let run = flat.map_or(1, |flat| params.len() - flat.rows);
        if run == 1 && axes.len() > 1 {
            return None;
        }
        Some(Collapsed { axes, run, loads })
    }

    /// Notes the loads that a packed value is made of, if it is made of nothing else.
    fn column_loads(
        &self,
        (params, inner): (&[Value], &Part),
        v: Value,
        columns: &[Value],
        loads: &mut Vec<Inst>,
    ) -> Option<()> {
        if let Some(same) = self.alias[v].filter(|_| !self.is_bound(v)) {
            return self.column_loads((params, inner), same, columns, loads);
        }
        let fold = &self.func.regions[inner.body].params;
        if self.is_at_hand(v) || fold.contains(&v) {
            return Some(());
        }
        let inst = self.live.def(v).filter(|_| !columns.contains(&v))?;
        let op = &self.func.insts[inst].op;
        if let Op::Sel { array, index } = op {
            let is_known = |v: &Value| params.contains(v) || fold.contains(v) || self.is_at_hand(*v);
            let is_sum = |i: &Value| self.form(*i).terms.iter().all(|(v, _)| is_known(v));
            if !self.has_val(*array) || !index.iter().all(is_sum) {
                return None;
            }
            if !loads.contains(&inst) {
                loads.push(inst);
            }
            return Some(());
        }
        if !op.regions().is_empty() {
            return None;
        }
        let mut operands = Vec::new();
        op.for_each_operand(|v| operands.push(v));
        operands.into_iter().try_for_each(|v| self.column_loads((params, inner), v, columns, loads))
    }
}
