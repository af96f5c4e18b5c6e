//! Columns that every row of a with-loop reads again are put side by side before it.
//!
//! ```text
//!    modarray(a) { [i, j] -> a[i, j] - a[i, k] * a[j, k] }
//! => t = genarray { [j] -> a[j, k] }   modarray(a) { [i, j] -> a[i, j] - a[i, k] * t[j] }
//! ```
//!
//! Lanes run along the last axis. A load that they make far apart takes an instruction and a line of the cache for each lane, again in every
//! row; from a vector it is one load, and the vector stays in the cache.
//!
//! Before: folding has ended, or it would undo this; invariant motion follows. After: no selection in a dense partition of scalar cells, outside
//! of the with-loops and loops in its body, that varies along the last axis alone and is not along the last axis of its array.
//! Leaves alone: selections that may be out of range, rows that lie close together, and with-loops of few or short rows.

use crate::edit::{Copier, Def, Defs};
use crate::pass::{Context, Pass, Run};
use crate::places::Places;
use crate::safety::Safety;
use ravel_types::{Affine, BinOp, Elem, Scalar, Shape, Ty};
use ravel_wir::{Frame, Func, Generator, Inst, Op, Part, Region, RegionData, Value, With, WithOp};

pub const PASS: Pass = Pass {
    name: "hoist-columns",
    summary: "put columns that every row of a with-loop reads side by side before it",
    run: Run::Func(hoist_columns),
};

/// Rows that must share a column, if their number is known.
const LEAST_ROWS: i64 = 4;
/// Least length of a column, if known.
const LEAST_LENGTH: i64 = 16;
/// Elements between neighbours of a column, if known: what lies closer comes with one or two lines.
const LEAST_STRIDE: i64 = 8;
/// Most columns for one partition: each takes a stream of loads.
const MOST_COLUMNS: usize = 4;

/// A selection, with the arithmetic of its index in the order of execution.
struct Column {
    select: Inst,
    index: Vec<Inst>,
}

pub fn hoist_columns(func: &mut Func, cx: &mut Context) -> bool {
    let mut changed = false;
    // Valid until something changes.
    let mut facts = None;
    for inst in Places::new(func).withs {
        let Op::With(With { parts, ops, ordered: false }) = &func.insts[inst].op else { continue };
        if ops.iter().any(|op| matches!(op, WithOp::Fold { .. })) {
            continue;
        }
        for part in parts.clone() {
            let (defs, places) = facts.get_or_insert_with(|| (Defs::new(func), Places::new(func)));
            let Some(home) = places.region_of[inst].expand() else { continue };
            let columns = Finder { func, defs, places, part: &part, eager: cx.eager }.columns();
            if columns.is_empty() {
                continue;
            }
            for column in columns {
                let before = make(func, defs, &part, &column);
                let insts = &mut func.regions[home].insts;
                if let Some(at) = insts.iter().position(|i| *i == inst) {
                    insts.splice(at..at, before);
                }
            }
            cx.applied(func.insts[inst].span, "columns that all its rows read are put side by side before it");
            (facts, changed) = (None, true);
        }
    }
    changed
}

struct Finder<'a> {
    func: &'a Func,
    defs: &'a Defs,
    places: &'a Places,
    part: &'a Part,
    eager: bool,
}

impl Finder<'_> {
    fn columns(&self) -> Vec<Column> {
        let body = &self.func.regions[self.part.body];
        let scalars = body.yields.iter().all(|v| self.func.ty(*v).is_scalar());
        let (Generator::Known { lower, upper, step: None, .. }, Some(&first)) =
            (&self.part.generator, body.insts.first())
        else {
            return Vec::new();
        };
        if lower.len() < 2 || !scalars {
            return Vec::new();
        }
        let mut safety = Safety::before(self.func, self.defs, self.places, first);
        let mut extents: Vec<Option<i64>> =
            lower.iter().zip(upper).map(|(low, high)| safety.distance(*low, *high)).collect();
        let length = extents.pop().flatten();
        let rows = extents.iter().try_fold(1i64, |n, extent| n.checked_mul((*extent)?));
        // An axis of one index, whatever the others are, is no reason to expect rows.
        let single = extents.iter().all(|extent| extent.is_some_and(|n| n < 2));
        let few = single || length.is_some_and(|n| n < LEAST_LENGTH) || rows.is_some_and(|n| n < LEAST_ROWS);
        if few && !self.eager {
            return Vec::new();
        }
        let mut found = Vec::new();
        self.search(self.part.body, &mut found);
        found.retain(|column: &Column| column.index.iter().chain([&column.select]).all(|inst| safety.is_safe(*inst)));
        found.truncate(MOST_COLUMNS);
        found
    }

    /// Selections of columns in a region and the branches in it.
    fn search(&self, region: Region, found: &mut Vec<Column>) {
        for &inst in &self.func.regions[region].insts {
            match &self.func.insts[inst].op {
                Op::If { then, els, .. } => {
                    self.search(*then, found);
                    self.search(*els, found);
                }
                Op::Sel { array, index } => found.extend(self.column(inst, *array, index)),
                _ => {}
            }
        }
    }

    fn column(&self, select: Inst, array: Value, index: &[Value]) -> Option<Column> {
        let is_scalar = self.func.ty(self.func.insts[select].results[0]).is_scalar();
        if !is_scalar || index.len() < 2 || self.is_inside(array) {
            return None;
        }
        let forms = self.func.ty(array).shape.extents()?;
        let mut column = Column { select, index: Vec::new() };
        let mut stride = None;
        for (axis, i) in index.iter().enumerate() {
            let mut varies = false;
            self.index(*i, &mut column.index, &mut varies)?;
            if varies && stride.is_none() {
                // Elements from one index of this axis to the next.
                let inner = forms[axis + 1..].iter().try_fold(1i64, |n, e| n.checked_mul(i64::from(e.as_const()?)));
                stride = Some(if axis + 1 == index.len() { 1 } else { inner.unwrap_or(i64::MAX) });
            }
        }
        stride.is_some_and(|stride| stride >= if self.eager { 2 } else { LEAST_STRIDE }).then_some(column)
    }

    /// Notes the arithmetic of an index that depends on the last axis alone.
    fn index(&self, v: Value, insts: &mut Vec<Inst>, varies: &mut bool) -> Option<()> {
        match self.defs.get(v) {
            Def::Param(region, _) if region == self.part.body => {
                *varies = true;
                (self.func.regions[region].params.last() == Some(&v)).then_some(())
            }
            Def::Inst(inst, _) if self.is_inside(v) => {
                let op = &self.func.insts[inst].op;
                if !matches!(op, Op::Const(_) | Op::Bin(BinOp::Add | BinOp::Sub | BinOp::Mul, ..)) {
                    return None;
                }
                let mut operands = Vec::new();
                op.for_each_operand(|v| operands.push(v));
                for v in operands {
                    self.index(v, insts, varies)?;
                }
                if !insts.contains(&inst) {
                    insts.push(inst);
                }
                Some(())
            }
            Def::Param(region, _) if self.is_region_inside(region) => None,
            _ => Some(()),
        }
    }

    fn is_region_inside(&self, region: Region) -> bool {
        region == self.part.body || self.places.path(region, self.part.body).is_some()
    }

    /// Whether the body defines a value, or may not be known without it.
    fn is_inside(&self, v: Value) -> bool {
        match self.defs.get(v) {
            Def::Inst(inst, _) => self.places.region_of[inst].expand().is_none_or(|r| self.is_region_inside(r)),
            Def::Param(region, _) => self.is_region_inside(region),
            Def::None => true,
        }
    }
}

/// Lets the selection read a vector, and gives what makes that.
fn make(func: &mut Func, defs: &Defs, part: &Part, column: &Column) -> Vec<Inst> {
    let Generator::Known { lower, upper, .. } = &part.generator else { return Vec::new() };
    let (Some(&lower), Some(&upper)) = (lower.last(), upper.last()) else { return Vec::new() };
    let Some(&index) = func.regions[part.body].params.last() else { return Vec::new() };
    let span = func.insts[column.select].span;
    let elem = func.ty(func.insts[column.select].results[0]).elem;
    let mut before = Vec::new();
    let mut emit = |func: &mut Func, op: Op, elem: Elem| {
        let inst = func.make_inst(op, vec![Ty::scalar(elem)], span);
        before.push(inst);
        func.insts[inst].results[0]
    };
    let known = defs.int(func, upper).filter(|n| *n > 0);
    let extent = match known {
        Some(_) => upper,
        None => {
            let zero = emit(func, Op::Const(Scalar::I32(0)), Elem::I32);
            emit(func, Op::Bin(BinOp::Max, upper, zero), Elem::I32)
        }
    };
    let default = (defs.int(func, lower) != Some(0))
        .then(|| Scalar::zero(elem).map(|zero| emit(func, Op::Const(zero), elem)))
        .flatten();
    let form = known.map_or_else(|| Affine::sym(func.fresh_sym()), Affine::constant);

    let param = func.new_value(Ty::scalar(Elem::I32));
    let mut copier = Copier { source: None, values: [(index, param)].into_iter().collect(), syms: Default::default() };
    let insts: Vec<Inst> = column.index.iter().chain([&column.select]).map(|inst| copier.inst(func, *inst)).collect();
    let cell = copier.value(func.insts[column.select].results[0]);
    let body = func.regions.push(RegionData { params: vec![param], insts, yields: vec![cell] });
    let generator = Generator::Known { lower: vec![lower], upper: vec![upper], step: None, width: None };
    let op = WithOp::Genarray { frame: Frame::Known(vec![extent]), cell: Some(Vec::new()), default };
    let with = With { parts: vec![Part { generator, body }], ops: vec![op], ordered: false };
    let made = func.make_inst(Op::With(with), vec![Ty::new(elem, Shape::Known(vec![form]))], span);
    before.push(made);
    let array = func.insts[made].results[0];
    func.insts[column.select].op = Op::Sel { array, index: vec![index] };
    before
}
