//! Cache tiles: which folds profit from packed operands, and how their tiles are sized.

use ravel_types::Elem;
use ravel_wir::{Combine, Func, Generator, Inst, Op, Part, Region, Value, WithOp};

use crate::facts::Facts;
use crate::facts::grid::Grid;
use crate::facts::guards::Guard;
use crate::facts::support::Refusal;
use crate::plan::collapse::Collapsed;
use crate::plan::flat::Flat;
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
        format!("packed tiles of {width} along axis {axis} by {u} vectors of {lanes} along {last}{skipped}")
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
        let refuse = |reason: &str| Err(reason.to_string());
        let mut found = None;
        for &inst in &func.regions[body].insts {
            let Op::With(with) = &func.insts[inst].op else { continue };
            let ([part], [WithOp::Fold { combine: Combine::Op(_), neutral, .. }], None) =
                (&with.parts[..], &with.ops[..], found)
            else {
                return refuse("there are several folds");
            };
            let nested = |inst: &Inst| matches!(func.insts[*inst].op, Op::With(_));
            if func.regions[part.body].insts.iter().any(nested) {
                return refuse("the fold has folds inside");
            }
            if self.loads_in_branches(part.body) {
                return refuse("the fold has branches that load");
            }
            if !self.is_at_hand(*neutral) {
                return refuse("the neutral element varies");
            }
            let Generator::Known { lower, upper, .. } = &part.generator else {
                return refuse("the rank of the fold is not known");
            };
            if !lower.iter().chain(upper).all(|v| self.is_at_hand(*v)) {
                return refuse("the bounds of the fold vary");
            }
            if func.regions[part.body].params.is_empty() {
                return refuse("the fold has a single index");
            }
            found = Some((inst, part));
        }
        found.ok_or_else(|| "there is no fold".to_string())
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
            return Err("nothing is used twice".to_string());
        }
        let indices = &func.regions[inner.body].params;
        for &inst in &func.regions[inner.body].insts {
            let Op::Sel { index, .. } = &func.insts[inst].op else { continue };
            for &i in index {
                let form = self.form(i);
                let among = |of: &[Value]| form.terms.iter().any(|(v, _)| of.contains(v));
                if among(indices) && among(fixed) {
                    return Err("windows overlap".to_string());
                }
            }
        }
        let mut split = Split::default();
        self.split_value(g, func.regions[inner.body].yields[0], &mut split)?;
        if split.rows.len() > MOST_VALUES || split.columns.len() > MOST_VALUES {
            return Err("too many values vary over one axis".to_string());
        }
        // Branches may decide between constants by both indices, and a condition of both is all there is.
        if split.rows.is_empty() || split.columns.is_empty() {
            return Err("nothing is used twice".to_string());
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
            if !g.packs(elem) {
                return Err("packed values do not fill a lane".to_string());
            }
            let side = if dep.vec { &mut split.columns } else { &mut split.rows };
            side.push((v, dep.vec || dep.jams != 0));
            return Ok(());
        }
        let Some(inst) = self.live.def(v) else { return Err("an index is used as data".to_string()) };
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
            _ => return Err("a load varies over both axes".to_string()),
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
