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

use crate::edit::{Copier, Def, Defs, insert_before};
use crate::facts::places::{Places, visit_partitions};
use crate::facts::speculation::Safety;
use crate::pass::Context;
use ravel_types::{Affine, BinOp, Elem, Scalar, Shape, Ty};
use ravel_wir::{Frame, Func, Generator, Inst, Op, Part, Region, RegionData, Value, With, WithOp};

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
    /// The axis of the with-loop that it varies along, if it does.
    axis: Option<usize>,
    /// Elements of its array from one index of that axis to the next.
    stride: i64,
}

/// Puts columns before with-loops; whether there were any.
pub fn make(func: &mut Func, cx: &mut Context) -> bool {
    visit_partitions(func, |func, defs, places, inst, part| {
        let Some(home) = places.region_of[inst].expand() else { return false };
        let finder = Finder { func, defs, places, part, eager: cx.eager };
        let columns = finder.columns();
        if columns.is_empty() {
            return false;
        }
        for column in columns {
            let before = column_before(func, defs, part, &column);
            insert_before(func, home, inst, before);
        }
        cx.applied(func.insts[inst].span, "columns that all its rows read are put side by side before it");
        true
    })
}

struct Finder<'a> {
    func: &'a Func,
    defs: &'a Defs,
    places: &'a Places,
    part: &'a Part,
    eager: bool,
}

impl Finder<'_> {
    /// What holds at the start of the body, and the bounds; nothing if the partition is not one of scalar cells over several axes.
    fn start(&self) -> Option<(Safety<'_>, &[Value], &[Value])> {
        let body = &self.func.regions[self.part.body];
        let Generator::Known { lower, upper, step: None, .. } = &self.part.generator else { return None };
        let scalars = body.yields.iter().all(|v| self.func.ty(*v).is_scalar());
        let safety = Safety::before(self.func, self.defs, self.places, *body.insts.first()?);
        (lower.len() > 1 && scalars).then_some((safety, lower, upper))
    }

    /// Columns that all rows read.
    fn columns(&self) -> Vec<Column> {
        let Some((mut safety, lower, upper)) = self.start() else { return Vec::new() };
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
        let last = lower.len() - 1;
        let least = if self.eager { 2 } else { LEAST_STRIDE };
        found.retain(|column: &Column| column.axis == Some(last) && column.stride >= least);
        found.retain(|column| column.index.iter().chain([&column.select]).all(|inst| safety.is_safe(*inst)));
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
        let mut column = Column { select, index: Vec::new(), axis: None, stride: 0 };
        for (axis, i) in index.iter().enumerate() {
            let varied = column.axis.is_some();
            self.index(*i, &mut column)?;
            if column.axis.is_some() && !varied {
                let inner = forms[axis + 1..].iter().try_fold(1i64, |n, e| n.checked_mul(i64::from(e.as_const()?)));
                column.stride = inner.unwrap_or(i64::MAX);
            }
        }
        Some(column)
    }

    /// Notes the arithmetic of an index that depends on at most one axis.
    fn index(&self, v: Value, column: &mut Column) -> Option<()> {
        match self.defs.get(v) {
            Def::Param(region, axis) if region == self.part.body => {
                (*column.axis.get_or_insert(axis as usize) == axis as usize).then_some(())
            }
            Def::Inst(inst, _) if self.is_inside(v) => {
                let op = &self.func.insts[inst].op;
                if !matches!(op, Op::Const(_) | Op::Bin(BinOp::Add | BinOp::Sub | BinOp::Mul, ..)) {
                    return None;
                }
                let mut operands = Vec::new();
                op.for_each_operand(|v| operands.push(v));
                for v in operands {
                    self.index(v, column)?;
                }
                if !column.index.contains(&inst) {
                    column.index.push(inst);
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

/// Lets the selection read a vector; gives what makes that.
fn column_before(func: &mut Func, defs: &Defs, part: &Part, column: &Column) -> Vec<Inst> {
    let Generator::Known { lower, upper, .. } = &part.generator else { return Vec::new() };
    let mut copier = Copier::default();
    let axis = column.axis.expect("columns vary along an axis");
    let (lower, upper, index) = (lower[axis], upper[axis], func.regions[part.body].params[axis]);
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
    copier.values.insert(index, param);
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
