//! Blocks of rows that are folded for all columns, and what follows them.

use super::Sweep;
use crate::edit::{Copier, Cut, Defs, Emitter, insert_before, substitute};
use ravel_source::Span;
use ravel_types::{Affine, BinOp, Elem, Shape, Ty};
use ravel_wir::{Combine, Frame, Func, Generator, Inst, Op, Part, Region, RegionData, Value, With, WithOp};

fn int() -> Ty {
    Ty::scalar(Elem::I32)
}

/// What new code is made in.
struct Build<'a> {
    func: &'a mut Func,
    defs: &'a mut Defs,
    span: Span,
}

impl Build<'_> {
    /// Appends to a list.
    fn at<'b>(&'b mut self, out: &'b mut Vec<Inst>) -> Emitter<'b> {
        Emitter { func: self.func, defs: self.defs, out, span: self.span }
    }

    /// Appends a with-loop of one partition to a list.
    fn with(&mut self, out: &mut Vec<Inst>, part: Part, ops: Vec<WithOp>, types: &[Ty]) -> Vec<Value> {
        let op = Op::With(With { parts: vec![part], ops, ordered: false });
        let inst = self.func.make_inst(op, types.to_vec(), self.span);
        self.defs.add_inst(self.func, inst);
        out.push(inst);
        self.func.insts[inst].results.clone()
    }

    fn constant_of(&self, v: Value) -> Option<i32> {
        self.defs.int(self.func, v)
    }
}

/// The indices from zero to these bounds.
fn up_to(zero: Value, upper: Vec<Value>) -> Generator {
    Generator::Known { lower: vec![zero; upper.len()], upper, step: None, width: None }
}

pub fn rewrite(func: &mut Func, defs: &mut Defs, home: Region, sweep: &Sweep) {
    let span = func.insts[sweep.fold].span;
    let mut before = Vec::new();
    let mut b = Build { func, defs, span };
    let (low, high) = sweep.bounds;
    let cut = b.at(&mut before).cut(low, high, (sweep.block.0 * sweep.block.1) as i32);
    let sums = blocks(&mut b, &mut before, sweep, &cut);
    finish(&mut b, sweep, &cut, &sums);
    insert_before(b.func, home, sweep.with, before);
}

/// The folds of all blocks, as arrays over columns: of constant length `R * n` where rows lie side by side.
fn blocks(b: &mut Build<'_>, out: &mut Vec<Inst>, sweep: &Sweep, cut: &Cut) -> Vec<Value> {
    let beside = sweep.block.1 as i32;
    let extents: Vec<Affine> = sweep.frame.iter().map(|(_, extent)| extent.scale(beside)).collect();
    let mut frame = Vec::new();
    for ((v, _), extent) in sweep.frame.iter().zip(&extents) {
        frame.push(extent.as_const().map_or(*v, |n| b.at(out).int(n)));
    }
    let elems = || sweep.folds.iter().map(|(_, identity)| identity.elem());
    let scalars: Vec<Ty> = elems().map(Ty::scalar).collect();
    let arrays: Vec<Ty> = elems().map(|elem| Ty::new(elem, Shape::Known(extents.clone()))).collect();
    let zero = b.at(out).int(0);
    let (mut identities, mut neutrals) = (Vec::new(), Vec::new());
    for ((_, identity), ty) in sweep.folds.iter().zip(&arrays) {
        let one = b.at(out).constant(*identity);
        let op = WithOp::Genarray { frame: Frame::Known(frame.clone()), cell: Some(Vec::new()), default: Some(one) };
        neutrals.push(b.at(out).emit(Op::With(With { parts: Vec::new(), ops: vec![op], ordered: false }), ty.clone()));
        identities.push(one);
    }
    let fold = |neutral: &Value, op: BinOp| WithOp::Fold { neutral: *neutral, combine: Combine::Op(op), stop: None };
    // The body over columns, and the one over rows in it.
    let c = b.func.new_value(int());
    let (mut of_columns, mut of_rows) = (Vec::new(), Vec::new());
    let mut copier = Copier::default();
    let (indices, among) = columns(b, &mut of_columns, sweep, &mut copier);
    for &inst in &sweep.captured {
        let copy = copier.inst(b.func, inst);
        b.defs.add_inst(b.func, copy);
        of_columns.push(copy);
    }
    let params = b.func.regions[sweep.rows.body].params.clone();
    let fresh: Vec<Value> = params.iter().map(|_| b.func.new_value(int())).collect();
    let row = row(&mut b.at(&mut of_rows), sweep, cut, (c, fresh[0]), among);
    copier.values.insert(params[0], row);
    copier.values.extend(params[1..].iter().copied().zip(fresh[1..].iter().copied()));
    let yields = copier.splice(b.func, sweep.rows.body, &mut of_rows);
    let body = b.func.regions.push(RegionData { params: fresh, insts: of_rows, yields });
    let Generator::Known { lower, upper, .. } = &sweep.rows.generator else { unreachable!("checked before") };
    let number = b.at(&mut of_columns).int(sweep.block.0 as i32);
    let generator = Generator::Known {
        lower: std::iter::once(zero).chain(lower[1..].iter().map(|v| copier.value(*v))).collect(),
        upper: std::iter::once(number).chain(upper[1..].iter().map(|v| copier.value(*v))).collect(),
        step: None,
        width: None,
    };
    let ops = identities.iter().zip(&sweep.folds).map(|(v, (op, _))| fold(v, *op)).collect();
    let yields = b.with(&mut of_columns, Part { generator, body }, ops, &scalars);
    let body = b.func.regions.push(RegionData { params: indices, insts: of_columns, yields });
    let cells = sweep
        .folds
        .iter()
        .map(|_| WithOp::Genarray { frame: Frame::Known(frame.clone()), cell: Some(Vec::new()), default: None })
        .collect();
    let mut of_blocks = Vec::new();
    let yields = b.with(&mut of_blocks, Part { generator: up_to(zero, frame.clone()), body }, cells, &arrays);
    let body = b.func.regions.push(RegionData { params: vec![c], insts: of_blocks, yields });
    let ops = neutrals.iter().zip(&sweep.folds).map(|(v, (op, _))| fold(v, *op)).collect();
    b.with(out, Part { generator: up_to(zero, vec![cut.blocks]), body }, ops, &arrays)
}

/// Indices of the sums, what the columns are called in terms of them, and which of the rows side by side an index is about.
fn columns(
    b: &mut Build<'_>,
    out: &mut Vec<Inst>,
    sweep: &Sweep,
    copier: &mut Copier<'_>,
) -> (Vec<Value>, Option<Value>) {
    let Generator::Known { lower, .. } = &sweep.part.generator else { unreachable!("checked before") };
    let old = b.func.regions[sweep.part.body].params.clone();
    let indices: Vec<Value> = old.iter().map(|_| b.func.new_value(int())).collect();
    let mut among = None;
    for (axis, &index) in indices.iter().enumerate() {
        let low = b.constant_of(lower[axis]);
        let mut e = b.at(out);
        let mut index = index;
        if sweep.block.1 > 1 {
            let n = e.int(sweep.frame[axis].1.as_const().unwrap_or(1));
            among = Some(e.int_op(BinOp::Div, index, n));
            index = e.int_op(BinOp::Mod, index, n);
        }
        if low != Some(0) {
            let low = low.map_or(lower[axis], |k| e.int(k));
            index = e.int_op(BinOp::Add, index, low);
        }
        copier.values.insert(old[axis], index);
    }
    (indices, among)
}

/// The row of a block and an index in it.
fn row(e: &mut Emitter<'_>, sweep: &Sweep, cut: &Cut, (c, index): (Value, Value), among: Option<Value>) -> Value {
    let (rows, beside) = (sweep.block.0 as i32, sweep.block.1 as i32);
    let size = e.int(rows * beside);
    let begin = e.int_op(BinOp::Mul, c, size);
    let mut row = index;
    if let Some(among) = among {
        let beside = e.int(beside);
        row = e.int_op(BinOp::Mul, row, beside);
        row = e.int_op(BinOp::Add, row, among);
    }
    row = e.int_op(BinOp::Add, begin, row);
    if e.defs.int(e.func, cut.low) == Some(0) { row } else { e.int_op(BinOp::Add, row, cut.low) }
}

/// The original fold begins with what the blocks made, and does the rest.
fn finish(b: &mut Build<'_>, sweep: &Sweep, cut: &Cut, sums: &[Value]) {
    let (Op::With(inner), Generator::Known { lower, .. }) =
        (b.func.insts[sweep.fold].op.clone(), &sweep.part.generator)
    else {
        return;
    };
    let neutrals: Vec<Value> = inner
        .ops
        .iter()
        .filter_map(|op| if let WithOp::Fold { neutral, .. } = op { Some(*neutral) } else { None })
        .collect();
    let mut list = Vec::new();
    let mut index = Vec::new();
    for (&v, &low) in b.func.regions[sweep.part.body].params.clone().iter().zip(lower) {
        index.push(match b.constant_of(low) {
            Some(0) => v,
            known => {
                let mut e = b.at(&mut list);
                let low = known.map_or(low, |k| e.int(k));
                e.int_op(BinOp::Sub, v, low)
            }
        });
    }
    let types: Vec<Ty> = sweep.folds.iter().map(|(_, identity)| Ty::scalar(identity.elem())).collect();
    let starts: Vec<Value> = if sweep.block.1 == 1 {
        let mut starts = Vec::new();
        for ((sum, neutral), (ty, (op, _))) in sums.iter().zip(&neutrals).zip(types.iter().zip(&sweep.folds)) {
            let mut e = b.at(&mut list);
            let sum = e.emit(Op::Sel { array: *sum, index: index.clone() }, ty.clone());
            starts.push(e.emit(Op::Bin(*op, *neutral, sum), ty.clone()));
        }
        starts
    } else {
        // Sums of rows that lie side by side.
        let (zero, beside) = (b.at(&mut list).int(0), b.at(&mut list).int(sweep.block.1 as i32));
        let n = b.at(&mut list).int(sweep.frame[0].1.as_const().unwrap_or(1));
        let q = b.func.new_value(int());
        let mut insts = Vec::new();
        let mut e = b.at(&mut insts);
        let at = e.int_op(BinOp::Mul, q, n);
        let at = e.int_op(BinOp::Add, at, index[0]);
        let yields = sums
            .iter()
            .zip(&types)
            .map(|(sum, ty)| e.emit(Op::Sel { array: *sum, index: vec![at] }, ty.clone()))
            .collect();
        let body = b.func.regions.push(RegionData { params: vec![q], insts, yields });
        let ops = neutrals.iter().zip(&sweep.folds).map(|(neutral, (op, _))| WithOp::Fold {
            neutral: *neutral,
            combine: Combine::Op(*op),
            stop: None,
        });
        let ops = ops.collect();
        b.with(&mut list, Part { generator: up_to(zero, vec![beside]), body }, ops, &types)
    };
    let body = sweep.part.body;
    let func = &mut *b.func;
    if cut.no_rest {
        return substitute(func, body, sweep.fold, list, starts);
    }
    insert_before(func, body, sweep.fold, list);
    if let Op::With(with) = &mut func.insts[sweep.fold].op {
        for (op, start) in with.ops.iter_mut().zip(starts) {
            if let WithOp::Fold { neutral, .. } = op {
                *neutral = start;
            }
        }
        if let Generator::Known { lower, .. } = &mut with.parts[0].generator {
            lower[0] = cut.rest;
        }
    }
}
