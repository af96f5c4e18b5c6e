//! Cache tiles: which folds profit from packed operands, and how their tiles are sized.

use ravel_types::Elem;
use ravel_wir::{Combine, Func, Generator, Inst, Op, Part, Region, Value, With, WithOp};

use crate::facts::{Dep, Facts, Grid, Guard, Jam, Measures, Refusal, Sink};
use crate::plan::collapse::{Collapsed, Contraction};
use crate::plan::collapsed_rows::Flat;
use crate::plan::skip::Comparison;

/// Least product of the extents that tiles pay for: below, the operands fit the caches as they are.
pub(crate) const LEAST_CELLS: i64 = 80 * 80 * 80;

/// How often a packed value must be used.
pub(crate) const LEAST_REUSE: i64 = 24;

/// Operands of fewer bytes stay in the second cache: packing them pays only if vectors would have to be gathered.
pub(crate) const CACHED_BYTES: i64 = 512 << 10;

/// The same for one whose element is looked for by itself.
pub(crate) const LEAST_SEARCHED: i64 = 64;

/// Least number of indices of the fold: a tile is loaded and stored once for each block of them.
pub(crate) const LEAST_FOLD: i64 = 24;

/// Bytes of one panel of rows and one of columns that the first cache keeps.
const NEAR_BYTES: i64 = 48 << 10;

/// Most bytes of a panel of columns in a block.
const PANEL_BYTES: i64 = 256 << 10;

/// Bytes of the panels of columns of a task: the second cache keeps them while the rows stream by.
pub(crate) const TASK_BYTES: i64 = 1 << 20;

/// Least and most indices of the fold in one block, and how many are enough if the panels stay in the first cache.
const FOLD_BLOCK: (i64, i64) = (192, 1024);

const NEAR_BLOCK: i64 = 512;

/// With a constant outermost extent of at least this, whole products are shared among the threads, not parts of each.
pub(crate) const BATCHES: i64 = 32;

/// Registers of a tile besides accumulators and columns: for the value of a row, for one that is computed from both, and where a
/// multiply-add takes the register of a factor, for its copy and so many more that no accumulator is spilled. (Measured with
/// Cranelift: a tile of 5 x 2 vectors spills one, 4 x 2 none.)
pub(crate) const REGISTERS_OF_ROW: usize = 1;

pub(crate) const REGISTERS_OF_CELL: usize = 3;

pub(crate) const REGISTERS_OF_COPY: usize = 6;

/// Copies of a value of the rows in a panel at most. (Pairs in lanes of 8 bytes: one load for each where neighbours would take one and a half and a
/// shuffle, 5 to 10 % of the time with Cranelift. Four take twice the memory of a panel for one instruction less, which gains nothing.)
pub(crate) const MOST_SPREAD: usize = 2;

/// Indices of the fold in one block with such rows: what a panel of rows has to leave of the first cache.
const SPREAD_BLOCK: i64 = 256;

/// Packed values of one index of the fold, on either side.
const MOST_VALUES: usize = 4;

/// A value that is packed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packed {
    pub value: Value,
    /// Place of its first copy among the elements of one index of the fold.
    pub at: usize,
    /// One for each index of the panel, or a single one.
    pub copies: usize,
}

/// One of the two axes of a tile and what is packed along it.
#[derive(Clone, Debug)]
pub(crate) struct Side {
    pub axis: usize,
    pub param: Value,
    /// Indices per panel.
    pub width: usize,
    pub values: Vec<Packed>,
    /// Elements of a panel for one index of the fold.
    pub stride: usize,
    /// How often each copy is stored: as many times as a vector has lanes if the micro-kernel loads it into all of them.
    pub spread: u8,
}

impl Side {
    pub fn new(axis: usize, param: Value, width: usize, values: &[(Value, bool)], spread: u8) -> Side {
        let mut side = Side { axis, param, width, values: Vec::new(), stride: 0, spread };
        for &(value, varies) in values {
            let copies = if varies { width } else { 1 };
            side.values.push(Packed { value, at: side.stride, copies });
            side.stride += copies * usize::from(spread);
        }
        side
    }
}

/// The axes that the columns of tiles run through.
#[derive(Clone, Debug)]
pub(crate) enum Along {
    /// The last one.
    Last,
    /// Inner ones whose rows lie end to end in all arrays, as one.
    Flat(Flat),
    /// Several, whose elements are looked for when columns are packed.
    Collapsed(Collapsed),
}

/// A schedule with tiles for one partition.
#[derive(Clone, Debug)]
pub(crate) struct TilePlan {
    pub fold: Inst,
    /// The jam axis.
    pub rows: Side,
    /// The vector axis: the last one of the partition, alone or with those of `along`.
    pub columns: Side,
    /// What an index of the columns stands for.
    pub along: Along,
    pub lanes: u8,
    /// Vectors per row of a tile.
    pub u: usize,
    pub bytes: usize,
    /// Does a multiply-add take the register of a factor?
    pub takes_factor: bool,
    /// Most indices of the fold in one block.
    pub block: i64,
    /// Most panels of columns in one task.
    pub across: i64,
    /// Rows are so few that one task has all of them: then it packs its columns itself, and finds them in its cache.
    pub packs_in_tasks: bool,
    /// The sink whose cells hold accumulators between blocks.
    pub home: usize,
    /// Least product of the extents of columns and fold, for operands that vectors can load as they are.
    pub least_columns: i64,
    pub guards: Vec<Guard>,
    /// What some cell of a tile must meet for its fold to be needed.
    pub needed: Vec<Comparison>,
    /// Do threads share the tasks?
    pub shared: bool,
}

impl TilePlan {
    pub fn describe(&self) -> String {
        let Side { axis, width, .. } = self.rows;
        let last = self.columns.axis;
        let last = match &self.along {
            Along::Flat(flat) => format!("axes {} to {last} as one", flat.rows),
            Along::Collapsed(collapsed) => collapsed.describe(),
            Along::Last => format!("axis {last}"),
        };
        let (u, lanes) = (self.u, self.lanes);
        let skipped =
            if self.needed.is_empty() { "" } else { "; those without a cell that needs the fold are skipped" };
        let threads = if self.shared { ", shared by threads" } else { "" };
        format!("packed tiles of {width} along axis {axis} by {u} vectors of {lanes} along {last}{skipped}{threads}")
    }
}

/// What a fold's body consists of: values that vary over the rows, over the columns, over neither.
#[derive(Default)]
pub(crate) struct Split {
    seen: Vec<Value>,
    pub rows: Vec<(Value, bool)>,
    pub columns: Vec<(Value, bool)>,
    /// Operations on values that vary over both.
    pub operations: usize,
}

impl Facts<'_> {
    /// The only fold of a body, with its partition.
    pub fn only_fold<'f>(&self, func: &'f Func, body: Region) -> std::result::Result<(Inst, &'f Part), Refusal> {
        let mut found = None;
        for &inst in &func.regions[body].insts {
            let Op::With(with) = &func.insts[inst].op else { continue };
            let ([part], [WithOp::Fold { combine: Combine::Op(_), neutral, .. }], None) =
                (&with.parts[..], &with.ops[..], found)
            else {
                return Err(Refusal::SeveralFolds);
            };
            let nested = |inst: &Inst| matches!(func.insts[*inst].op, Op::With(_));
            if func.regions[part.body].insts.iter().any(nested) {
                return Err(Refusal::NestedFolds);
            }
            if !self.is_at_hand(*neutral) {
                return Err(Refusal::VaryingNeutral);
            }
            self.check_fold(part)?;
            found = Some((inst, part));
        }
        found.ok_or(Refusal::NoFold)
    }

    /// May all cells of a tile go through a fold together?
    pub fn check_fold(&self, part: &Part) -> std::result::Result<(), Refusal> {
        if self.loads_in_branches(part.body) {
            return Err(Refusal::FoldBranches);
        }
        match &part.generator {
            Generator::Dyn { .. } => Err(Refusal::FoldRankUnknown),
            Generator::Known { lower, .. } if lower.is_empty() => Err(Refusal::SingleIndex),
            Generator::Known { lower, upper, .. } => {
                let known = lower.iter().chain(upper).all(|v| self.is_at_hand(*v));
                if known { Ok(()) } else { Err(Refusal::VaryingBounds) }
            }
        }
    }

    /// Does a fold only add products, by multiply-adds?
    pub fn only_product(&self, func: &Func, fold: Inst, inner: &Part) -> bool {
        let cell = func.regions[inner.body].yields[0];
        let Op::With(with) = &func.insts[fold].op else { return false };
        matches!(with.ops[..], [WithOp::Fold { combine: Combine::Op(op), .. }]
            if self.fused_product(op, self.elem(cell), cell).is_some())
    }

    /// Is the scalar known in front of the loops?
    pub fn is_at_hand(&self, v: Value) -> bool {
        self.is_bound(v) || self.live.def(v).is_some_and(|inst| matches!(self.func.insts[inst].op, Op::Const(_)))
    }

    /// Splits the body of a fold by what its values vary over. Subscripts must not add an index of the fold to a `fixed` one.
    pub fn split_fold(
        &self,
        g: &mut Grid,
        inner: &Part,
        fixed: &[Value],
        result: Value,
    ) -> std::result::Result<Split, Refusal> {
        let func = self.func;
        let of_result = self.dep(g, result);
        if !of_result.vec || of_result.jams == 0 {
            return Err(Refusal::NothingTwice);
        }
        let indices = &func.regions[inner.body].params;
        for &inst in &func.regions[inner.body].insts {
            let Op::Sel { index, .. } = &func.insts[inst].op else { continue };
            for &i in index {
                let form = self.form(i);
                let among = |of: &[Value]| form.terms.iter().any(|(v, _)| of.contains(v));
                if among(indices) && among(fixed) {
                    return Err(Refusal::WindowsOverlap);
                }
            }
        }
        let mut split = Split::default();
        self.split_value(g, func.regions[inner.body].yields[0], &mut split)?;
        if split.rows.len() > MOST_VALUES || split.columns.len() > MOST_VALUES {
            return Err(Refusal::ManyValues);
        }
        // Branches may decide between constants by both indices, and a condition of both is all there is.
        if split.rows.is_empty() || split.columns.is_empty() {
            return Err(Refusal::NothingTwice);
        }
        Ok(split)
    }

    fn split_value(&self, g: &mut Grid, v: Value, split: &mut Split) -> std::result::Result<(), Refusal> {
        if self.is_at_hand(v) || split.seen.contains(&v) {
            return Ok(());
        }
        split.seen.push(v);
        if let Some(same) = self.alias[v] {
            return self.split_value(g, same, split);
        }
        let dep = self.dep(g, v);
        let elem = self.elem(v);
        if !(dep.vec && dep.jams != 0) && elem != Elem::Bool {
            let side = if dep.vec { &mut split.columns } else { &mut split.rows };
            side.push((v, dep.vec || dep.jams != 0));
            return Ok(());
        }
        let Some(inst) = self.live.def(v) else { return Err(Refusal::LoadOverBoth) };
        let op = &self.func.insts[inst].op;
        match op {
            Op::Un(..) | Op::Bin(..) | Op::Convert(_) | Op::Select { .. } | Op::Opaque(_) | Op::Native { .. } => {}
            Op::If { then, els, .. } => {
                for region in [*then, *els] {
                    for &v in &self.func.regions[region].yields {
                        self.split_value(g, v, split)?;
                    }
                }
            }
            _ => return Err(Refusal::LoadOverBoth),
        }
        split.operations += 1;
        let mut operands = Vec::new();
        op.for_each_operand(|v| operands.push(v));
        operands.into_iter().try_for_each(|v| self.split_value(g, v, split))
    }

    /// Vectors per row and rows of a tile: accumulators fill the registers, and few cells of the last tiles go to waste.
    pub fn size_tile(
        &self,
        (lanes, bytes): (usize, usize),
        rows: Option<i64>,
        columns: Option<i64>,
        spare: usize,
    ) -> (usize, usize) {
        let registers = (self.target.vector_registers as usize).max(8);
        // Loads of 16 bytes that a vector of the columns takes.
        let column = lanes * bytes / 16;
        let mut best = (f64::INFINITY, (1, 1));
        for u in 1..=4usize {
            for j in u..=16usize {
                if u * j + u + spare > registers {
                    break;
                }
                // Columns come from the second cache where their panel does not fit the first, 32 bytes a cycle. Each row of a tile is a
                // place of its own in the result, which is loaded and stored for every block of the fold.
                let load = 0.5 * (column * u + j) as f64;
                let step = (0.5 * (u * j) as f64).max(4.0).max(load) + 0.05 * load + 0.06 * j as f64;
                // Extents that only the run knows are multiples of powers of two more often than of three.
                let rest = |n: usize| if n.is_power_of_two() { 0.25 } else { 0.5 };
                let tiles = |extent: Option<i64>, size: usize, rest: f64| match extent {
                    Some(n) => (n as f64 / size as f64).ceil(),
                    None => 1000.0 / size as f64 + rest,
                };
                let cost = step * tiles(rows, j, rest(j)) * tiles(columns, u * lanes, rest(u));
                if cost < best.0 * 0.999 {
                    best = (cost, (u, j));
                }
            }
        }
        best.1
    }

    /// Decides whether a partition is a contraction with enough reuse, and sizes its tiles.
    pub fn plan_tiles(
        &self,
        with: &With,
        part: &Part,
        sinks: &[Sink],
        chunked: bool,
    ) -> std::result::Result<TilePlan, Refusal> {
        self.plan_columns(with, part, sinks, chunked, false)
            .or_else(|refusal| self.plan_columns(with, part, sinks, chunked, true).map_err(|_| refusal))
    }

    /// The same with columns along the last axis, or `collapsed` along several.
    fn plan_columns(
        &self,
        with: &With,
        part: &Part,
        sinks: &[Sink],
        chunked: bool,
        collapsed: bool,
    ) -> std::result::Result<TilePlan, Refusal> {
        let func = self.func;
        let Generator::Known { lower, upper, step, .. } = &part.generator else {
            return Err(Refusal::FoldRankUnknown);
        };
        let params = &func.regions[part.body].params;
        let Some(last) = params.len().checked_sub(1).filter(|last| *last > 0) else {
            return Err(Refusal::OneAxis);
        };
        if step.as_ref().is_some_and(|s| s.iter().any(|v| self.const_i32(*v) != Some(1))) {
            return Err(Refusal::GeneratorSteps);
        }
        if sinks.is_empty() || !sinks.iter().all(|s| matches!(s, Sink::Slice { cell: crate::facts::Ext::Const(1), .. }))
        {
            return Err(Refusal::CellsNoScalars);
        }
        let (fold, inner) = self.only_fold(func, part.body)?;
        let mut measures = Measures::default();
        self.supported(part.body, &mut measures)?;
        let result = func.insts[fold].results[0];
        let bytes = self.kernel_width(part.body).max(4);
        let g = &mut Grid::scalar(bytes);
        let elem = self.elem(result);
        if elem == Elem::Bool || !g.packs(elem) {
            return Err(Refusal::NarrowAccumulator);
        }
        let Some(home) = sinks.iter().position(|s| matches!(s, Sink::Slice { elem: of, .. } if *of == elem)) else {
            return Err(Refusal::NoHome);
        };
        let extent = |l: &Value, u: &Value| self.const_i32(*u).zip(self.const_i32(*l)).map(|(u, l)| (u - l).max(0));
        let mut extents: Vec<Option<i64>> = lower.iter().zip(upper).map(|(l, u)| extent(l, u)).collect();
        let flat = self.rows_end_to_end(part, sinks, chunked.then_some(1), None).filter(|_| !collapsed);
        if let Some(flat) = flat {
            extents[last] = extents[flat.rows].and_then(|n| n.checked_mul(flat.length));
        }
        let Generator::Known { lower, upper, .. } = &inner.generator else {
            return Err(Refusal::FoldRankUnknown);
        };
        let trips = lower.iter().zip(upper).try_fold(1i64, |n, (l, u)| n.checked_mul(extent(l, u)?));
        if trips.is_some_and(|n| n < LEAST_FOLD) {
            return Err(Refusal::ShortFold);
        }
        let most = self.target.vector_bytes as usize / bytes;
        let fits = |n: Option<i64>, least: i64| n.is_none_or(|n| n >= least);
        if !collapsed && !fits(extents[last], LEAST_REUSE) {
            return Err(Refusal::RareRows);
        }
        let mut best: Option<(i64, usize, Split, Along)> = None;
        let mut refusal = Refusal::RareColumns;
        let outer = usize::from(chunked)..flat.map_or(last, |flat| flat.rows);
        let least_rows = if collapsed { LEAST_SEARCHED } else { LEAST_REUSE };
        for axis in outer.filter(|k| fits(extents[*k], least_rows)) {
            g.set_vec(Some(params[last]), 2, 1);
            g.push_jam(Jam::of(params[axis], 2));
            let fixed: &[Value] = if collapsed { &[params[axis]] } else { &[params[axis], params[last]] };
            let split = self.split_fold(g, inner, fixed, result).and_then(|split| {
                let along = match flat {
                    _ if collapsed => {
                        let (rows, first) = (axis, usize::from(chunked));
                        let contraction =
                            Contraction { part, sinks, fold, inner, split: &split, rows, first, lanes: most };
                        Along::Collapsed(self.collapse(g, &contraction).ok_or(Refusal::WindowsOverlap)?)
                    }
                    Some(flat) => Along::Flat(flat),
                    None => Along::Last,
                };
                Ok((split, along))
            });
            g.pop_jam();
            match split {
                Ok((split, along)) => {
                    let extent = extents[axis].unwrap_or(crate::facts::UNKNOWN_EXTENT);
                    if best.as_ref().is_none_or(|(n, ..)| extent > *n) {
                        best = Some((extent, axis, split, along));
                    }
                }
                Err(reason) => refusal = reason,
            }
        }
        let Some((_, axis, split, along)) = best else { return Err(refusal) };
        if let Along::Collapsed(collapsed) = &along {
            extents[last] = collapsed.axes.iter().try_fold(1i64, |n, k| n.checked_mul(extents[*k]?));
            if !fits(extents[last], LEAST_REUSE) {
                return Err(Refusal::RareRows);
            }
        }
        let known = [extents[axis], extents[last], trips].into_iter().try_fold(1i64, |n, e| n.checked_mul(e?));
        if known.is_some_and(|n| n < LEAST_CELLS) {
            return Err(Refusal::FitsCaches);
        }
        g.set_vec(Some(params[last]), 2, 1);
        let gathers = collapsed || !self.loads_are_unit(g, inner, |dep| dep.vec);
        let least_columns = if gathers { 0 } else { CACHED_BYTES / (split.columns.len() * bytes) as i64 };
        let known = extents[last].and_then(|n| n.checked_mul(trips?));
        if known.is_some_and(|n| n < least_columns) {
            return Err(Refusal::FitsCaches);
        }
        let is_batch = axis > 0 && !matches!(&along, Along::Collapsed(collapsed) if collapsed.axes[0] == 0);
        if is_batch && !chunked && extents[0].is_some_and(|n| n >= BATCHES) && self.may_run_on_threads(with, part) {
            return Err(Refusal::WholeProducts);
        }
        let lanes = std::iter::successors(Some(most), |n| Some(n / 2)).take_while(|n| *n * bytes >= 16);
        let Some(lanes) = lanes.into_iter().find(|n| fits(extents[last], *n as i64)) else {
            return Err(Refusal::NoVectors);
        };
        let takes_factor =
            split.operations == 1 && self.target.fma_takes_factor && self.only_product(func, fold, inner);
        let spare = match split.operations {
            1 if takes_factor => REGISTERS_OF_COPY,
            0 | 1 => REGISTERS_OF_ROW,
            _ => REGISTERS_OF_CELL,
        };
        // Instructions are what such a tile waits for.
        let spread = if takes_factor && lanes <= MOST_SPREAD { lanes as u8 } else { 1 };
        let (u, j) = self.size_tile((lanes, bytes), extents[axis], extents[last], spare);
        let rows = Side::new(axis, params[axis], j, &split.rows, spread);
        let columns = Side::new(last, params[last], u * lanes, &split.columns, 1);
        let block = fold_block(&rows, &columns, bytes);
        let across = (TASK_BYTES / (block * (columns.stride * bytes) as i64)).max(1);
        let packs_in_tasks = extents[axis].is_some_and(|n| n <= TASK_ROWS * j as i64);
        let needed = match along {
            Along::Collapsed(_) => Vec::new(),
            _ => self.tile_conditions(part.body, result, &[params[axis], params[last]]),
        };
        let lanes = lanes as u8;
        Ok(TilePlan {
            fold,
            rows,
            columns,
            along,
            lanes,
            u,
            bytes,
            takes_factor,
            block,
            across,
            packs_in_tasks,
            home,
            least_columns,
            guards: measures.guards,
            needed,
            shared: !chunked && self.may_run_on_threads(with, part),
        })
    }

    /// Do all loads of the fold that vary as wanted (at least one does) load consecutive elements?
    pub fn loads_are_unit(&self, g: &mut Grid, inner: &Part, wanted: impl Fn(Dep) -> bool) -> bool {
        let mut any = false;
        for &inst in &self.func.regions[inner.body].insts {
            let Op::Sel { array, index } = &self.func.insts[inst].op else { continue };
            let v = self.func.insts[inst].results[0];
            if wanted(self.dep(g, v)) {
                let elem = self.elem(v);
                let offset = self.known_offset(g, *array, index);
                if !offset.is_some_and(|offset| self.is_contiguous(g, &offset, elem, 0, 0)) {
                    return false;
                }
                any = true;
            }
        }
        any
    }
}

/// Most indices of the fold in one block. Accumulators are loaded and stored once for each block, at places far apart: if the
/// panels stream from the second cache anyway, that is rarer in long blocks.
pub(crate) fn fold_block(rows: &Side, columns: &Side, bytes: usize) -> i64 {
    if rows.spread > 1 {
        return SPREAD_BLOCK;
    }
    let near = NEAR_BYTES / ((rows.stride + columns.stride) * bytes) as i64;
    if near >= NEAR_BLOCK {
        return NEAR_BLOCK;
    }
    (PANEL_BYTES / (columns.stride * bytes) as i64).clamp(FOLD_BLOCK.0, FOLD_BLOCK.1) / BLOCK_UNIT * BLOCK_UNIT
}

/// Most panels of rows in one task.
pub(crate) const TASK_ROWS: i64 = 8;

/// Blocks of a fold hold a multiple of this many indices, except the last one.
pub(crate) const BLOCK_UNIT: i64 = 16;

/// Bytes of the narrowest vector.
pub(crate) const LEAST_VECTOR: usize = 16;
