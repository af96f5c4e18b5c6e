//! Integers of bodies that are provably small, in 8 or 16 bits.
//!
//! ```text
//!    %x: i32 = convert %a   %y: i32 = convert %b   %n: i32 = add %x, %y   %t: bool = eq %n, 2        // %a, %b: bool
//! => %x: u8 = convert %a    %y: u8 = convert %b    %n: u8 = add %x, %y    %t: bool = eq %n, 2:u8
//! ```
//!
//! Elements of bytes and truth values are counted, compared and mixed as `int`, which fills vectors with zeros: four times the registers, and a
//! conversion per load. No value of such an expression leaves its range, so that fewer bits give the same.
//!
//! Before: folding has ended. After: bodies whose data are bytes have no wider data.
//! Leaves alone: bodies with other data, for these decide how wide lanes are; with loops; and with integers whose range is not known from conversions
//! and constants, or has negative numbers.
//! Worth: tests/survey/stencils/life (7.0 with Cranelift, 1.1 with LLVM).

use crate::edit::{Defs, Renames, all_insts, prepend, push_op};
use crate::pass::{Context, Pass};
use ravel_types::{BinOp, Elem, HashMap, HashSet, Scalar, Ty};
use ravel_wir::{Func, Inst, Op, Region, Value};

pub const PASS: Pass = Pass::of("narrow-integers", "compute what is provably small in 8 or 16 bits", narrow_integers);

pub fn narrow_integers(func: &mut Func, cx: &mut Context) -> bool {
    let mut bodies = Vec::new();
    for inst in all_insts(func, func.body) {
        if let Op::With(with) = &func.insts[inst].op {
            bodies.extend(with.parts.iter().map(|part| (part.body, func.insts[inst].span)));
        }
    }
    let mut changed = false;
    for (body, span) in bodies {
        let mut defs = Defs::new(func);
        let mut data = Data { func, defs: &defs, ranges: HashMap::default() };
        let Some(width) = data.width(body) else { continue };
        let small = data.ranges;
        narrow(func, &mut defs, body, &small, width);
        cx.applied(span, format!("integers in {} bits", 8 * width.bytes()));
        changed = true;
    }
    changed
}

/// What a body's results come from.
struct Data<'a> {
    func: &'a Func,
    defs: &'a Defs,
    /// Integers that are to be narrow, with their bounds.
    ranges: HashMap<Value, (i64, i64)>,
}

impl Data<'_> {
    /// The element type that holds all integers of a body, if its other data are bytes and truth values.
    fn width(&mut self, body: Region) -> Option<Elem> {
        let simple = |region: &Region| {
            self.func.regions[*region]
                .insts
                .iter()
                .all(|i| !matches!(self.func.insts[*i].op, Op::With(_) | Op::Loop { .. } | Op::Check { .. }))
        };
        let mut regions = vec![body];
        let mut inside = HashSet::default();
        while let Some(region) = regions.pop() {
            if !simple(&region) {
                return None;
            }
            inside.extend(self.func.regions[region].insts.iter().copied());
            regions.extend(self.func.regions[region].insts.iter().flat_map(|i| self.func.insts[*i].op.regions()));
        }
        let mut seen = HashSet::default();
        let mut open = self.func.regions[body].yields.clone();
        let mut products = false;
        if open.iter().any(|v| self.func.ty(*v).elem == Elem::I32) {
            return None;
        }
        while let Some(v) = open.pop() {
            if !seen.insert(v) {
                continue;
            }
            let ty = self.func.ty(v);
            match ty.elem {
                _ if !ty.is_scalar() => return None,
                Elem::Bool | Elem::U8 | Elem::Char => {}
                Elem::I32 => {
                    self.range(v, 64)?;
                }
                _ => return None,
            }
            let Some(inst) = self.defs.inst(v).filter(|inst| inside.contains(inst)) else {
                // From outside of the body: a constant, or as wide as it is.
                if ty.elem == Elem::I32 && self.defs.int(self.func, v).is_none() {
                    return None;
                }
                continue;
            };
            match &self.func.insts[inst].op {
                Op::Sel { .. } | Op::Const(_) => {}
                Op::If { cond, then, els } => {
                    let position = self.func.insts[inst].results.iter().position(|r| *r == v)?;
                    open.push(*cond);
                    open.extend([then, els].map(|arm| self.func.regions[*arm].yields[position]));
                    if ty.elem == Elem::I32 {
                        return None;
                    }
                }
                Op::Convert(a) => open.push(*a),
                Op::Un(_, a) if ty.elem == Elem::Bool => open.push(*a),
                Op::Bin(op, a, b) => {
                    products |= *op == BinOp::Mul && ty.elem == Elem::I32;
                    open.extend([*a, *b]);
                }
                Op::Select { cond, then, els } => open.extend([*cond, *then, *els]),
                _ => return None,
            }
        }
        let converted = seen
            .iter()
            .any(|v| self.func.ty(*v).elem == Elem::I32 && matches!(self.defs.op(self.func, *v), Some(Op::Convert(_))));
        if !inside.iter().all(|inst| self.is_used_as_data(*inst)) {
            return None;
        }
        let most = self.ranges.values().map(|range| range.1).max().filter(|_| converted)?;
        // Vectors of bytes have no products.
        match most {
            0..=0xff if !products => Some(Elem::U8),
            0..=0xffff => Some(Elem::U16),
            _ => None,
        }
    }

    /// Does an instruction use integers that are to be narrow for data alone, and no others beside them?
    fn is_used_as_data(&self, inst: Inst) -> bool {
        let op = &self.func.insts[inst].op;
        let is_small = |v: Value| self.ranges.contains_key(&v);
        let mut any = false;
        op.for_each_operand(|v| any |= is_small(v) && self.defs.int(self.func, v).is_none());
        match op {
            _ if !any => true,
            Op::Bin(op, a, b) => {
                is_small(*a) && is_small(*b) && (op.is_comparison() || is_small(self.func.insts[inst].results[0]))
            }
            Op::Select { then, els, .. } => {
                is_small(*then) && is_small(*els) && is_small(self.func.insts[inst].results[0])
            }
            Op::Convert(_) => true,
            _ => false,
        }
    }

    /// Bounds of an integer that is made of conversions and constants, if none of its parts is negative.
    fn range(&mut self, v: Value, depth: u32) -> Option<(i64, i64)> {
        if let Some(range) = self.ranges.get(&v) {
            return Some(*range);
        }
        let depth = depth.checked_sub(1)?;
        let range = match self.defs.op(self.func, v)? {
            Op::Const(Scalar::I32(k)) => (i64::from(*k), i64::from(*k)),
            Op::Convert(a) => match self.func.ty(*a).elem {
                Elem::Bool => (0, 1),
                Elem::U8 => (0, 0xff),
                _ => return None,
            },
            Op::Bin(op, a, b) => {
                let (op, (al, ah), (bl, bh)) = (*op, self.range(*a, depth)?, self.range(*b, depth)?);
                match op {
                    BinOp::Add => (al + bl, ah + bh),
                    BinOp::Sub => (al - bh, ah - bl),
                    BinOp::Mul => (al * bl, ah * bh),
                    BinOp::Min => (al.min(bl), ah.min(bh)),
                    BinOp::Max => (al.max(bl), ah.max(bh)),
                    _ => return None,
                }
            }
            Op::Select { then, els, .. } => {
                let ((al, ah), (bl, bh)) = (self.range(*then, depth)?, self.range(*els, depth)?);
                (al.min(bl), ah.max(bh))
            }
            _ => return None,
        };
        (0 <= range.0 && range.1 <= 0xffff).then(|| {
            self.ranges.insert(v, range);
            range
        })
    }
}

/// Gives the integers of a body another type.
fn narrow(func: &mut Func, defs: &mut Defs, body: Region, small: &HashMap<Value, (i64, i64)>, width: Elem) {
    // Constants may have other uses, in indices.
    let mut constants: HashMap<Value, Value> = HashMap::default();
    let mut before: Vec<Inst> = Vec::new();
    let mut known: Vec<Value> = small.keys().copied().filter(|v| defs.int(func, *v).is_some()).collect();
    known.sort();
    for v in known {
        let k = i64::from(defs.int(func, v).unwrap_or(0));
        let Some(scalar) = Scalar::from_i64(width, k) else { continue };
        let span = func.insts[defs.inst(v).unwrap_or_else(|| unreachable!("a constant"))].span;
        constants.insert(v, push_op(func, &mut before, Op::Const(scalar), Ty::scalar(width), span));
    }
    let mut renames = Renames::default();
    let mut regions = vec![body];
    while let Some(region) = regions.pop() {
        for inst in func.regions[region].insts.clone() {
            regions.extend(func.insts[inst].op.regions());
            let of_integers = match &func.insts[inst].op {
                Op::Bin(_, a, b) => [a, b].into_iter().any(|v| small.contains_key(v) && !constants.contains_key(v)),
                Op::Select { then, els, .. } => func.insts[inst]
                    .results
                    .iter()
                    .chain([then, els])
                    .any(|v| small.contains_key(v) && !constants.contains_key(v)),
                _ => false,
            };
            if of_integers {
                func.insts[inst].op.for_each_operand_mut(|v| *v = constants.get(v).copied().unwrap_or(*v));
            }
            if let Op::Convert(a) = func.insts[inst].op {
                let to = func.ty(func.insts[inst].results[0]).elem;
                if small.contains_key(&a) && to == width {
                    renames.set(func.insts[inst].results[0], a);
                }
                // A byte that is computed with is itself.
                if small.contains_key(&func.insts[inst].results[0]) && func.ty(a).elem == width {
                    renames.set(func.insts[inst].results[0], a);
                }
            }
        }
    }
    for v in small.keys().filter(|v| !constants.contains_key(v)) {
        func.values[*v].ty = Ty::scalar(width);
    }
    prepend(func, body, before);
    renames.apply_region(func, body);
}
