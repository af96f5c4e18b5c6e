//! Copies of code for one lane of a block.
//!
//! With four lanes, a lane-varying array of shape `[a, b, c]` is stored as `[a, b, 4*c]`: element `[i, j, k]` of lane `l` is at `[i, j, 4*k + l]`. The
//! lanes share the last axis that is longer than one, [`lane_axis`]. Inside a with-loop over such an array the index `q` along that
//! axis stands for both, `k = q / 4` and `l = q % 4`, and a selection at `k + d` becomes one at `q + 4*d`.

use crate::edit::{Defs, push_op, push_ops, rename_syms};
use crate::facts::{Lin, MAX_DEPTH, Places, Sum, sum_of};
use ravel_source::Span;
use ravel_types::{Affine, BinOp, Elem, HashMap, Scalar, Shape, Sym, Ty};
use ravel_wir::{Frame, Func, Generator, Inst, InstData, Op, Part, Region, RegionData, Value, With, WithOp};

/// Why a with-loop cannot be interleaved.
pub type Res<T> = Result<T, &'static str>;

/// What a value of the outer body is in the block.
#[derive(Clone, Copy, Debug)]
pub enum Form {
    /// The same for all lanes: this value.
    Uniform(Value),
    /// The outer index that the lanes share out: the first lane's plus the lane.
    Index,
    /// A scalar so cheap that it is computed again wherever a lane is at hand; with the number of operations.
    Again(Inst, u32),
    /// A scalar per lane, in an array of that length.
    Stored(Value),
    /// An interleaved array.
    Lanes(Value),
}

impl Form {
    pub fn varies(self) -> bool {
        !matches!(self, Form::Uniform(_))
    }
}

/// A place of the new code where one lane is at hand.
pub struct Lane {
    pub lane: Value,
    split: Option<Split>,
    /// Copies that are visible here.
    pub map: HashMap<Value, Value>,
    /// Instructions to stand where the lane becomes known.
    pub head: Vec<Inst>,
}

/// An index along an interleaved axis.
#[derive(Clone, Copy)]
struct Split {
    /// The index of the original code, and its copy.
    old: Value,
    new: Value,
    /// The index of the interleaved axis.
    q: Value,
    /// Whether neither is ever negative.
    natural: bool,
}

impl Lane {
    pub fn new(lane: Value) -> Lane {
        Lane { lane, split: None, map: HashMap::default(), head: Vec::new() }
    }
}

/// The axis that the lanes share: the last one longer than one.
pub fn lane_axis(extents: &[i32]) -> usize {
    extents.iter().rposition(|n| *n != 1).unwrap_or(extents.len().saturating_sub(1))
}

/// Extents of an interleaved array.
pub fn widened(extents: &[i32], lanes: i32) -> Vec<i32> {
    let axis = lane_axis(extents);
    extents.iter().enumerate().map(|(k, n)| if k == axis { n * lanes } else { *n }).collect()
}

/// The body of a block under construction.
pub struct Block<'a> {
    /// How many iterations it does.
    pub lanes: i32,
    pub func: &'a mut Func,
    /// Of the original code.
    pub defs: &'a Defs,
    pub places: &'a Places,
    /// What the values of the outer body, and of some bodies inside it, have become.
    pub forms: HashMap<Value, Form>,
    /// The instruction of the outer body that is being rewritten.
    pub at: Inst,
    /// Index of the first lane.
    pub first: Value,
    /// Instructions of the block's body.
    pub out: Vec<Inst>,
    /// Slices of outer arrays, interleaved: by array and leading indices.
    pub packs: HashMap<(Value, Vec<Value>), Option<Value>>,
    /// Fresh symbols for those that describe one evaluation of the original body.
    pub syms: HashMap<Sym, Affine>,
    pub span: Span,
}

impl Block<'_> {
    /// Extents of an interleaved array.
    pub fn widened(&self, extents: &[i32]) -> Vec<i32> {
        widened(extents, self.lanes)
    }

    /// The type of an interleaved array.
    pub fn interleaved(&self, elem: Elem, extents: &[i32]) -> Ty {
        Ty::new(elem, Shape::of(&self.widened(extents)))
    }

    pub fn emit(&mut self, list: &mut Vec<Inst>, op: Op, ty: Ty) -> Value {
        push_op(self.func, list, op, ty, self.span)
    }

    pub fn int(&mut self, list: &mut Vec<Inst>, v: i32) -> Value {
        self.emit(list, Op::Const(Scalar::I32(v)), Ty::scalar(Elem::I32))
    }

    pub fn bin(&mut self, list: &mut Vec<Inst>, op: BinOp, a: Value, b: Value) -> Value {
        self.emit(list, Op::Bin(op, a, b), Ty::scalar(Elem::I32))
    }

    pub fn bin_int(&mut self, list: &mut Vec<Inst>, op: BinOp, a: Value, b: i32) -> Value {
        let b = self.int(list, b);
        self.bin(list, op, a, b)
    }

    pub fn index_param(&mut self) -> Value {
        self.func.new_value(Ty::scalar(Elem::I32))
    }

    pub fn region_of(&mut self, params: Vec<Value>, insts: Vec<Inst>, yields: Vec<Value>) -> Region {
        self.func.regions.push(RegionData { params, insts, yields })
    }

    /// Constant extents of an array.
    pub fn extents(&self, v: Value) -> Res<Vec<i32>> {
        self.func.ty(v).shape.constants().ok_or("an array of its body has no constant shape")
    }

    /// Whether what an instruction computes may differ between lanes.
    pub fn varies(&self, inst: Inst) -> bool {
        let mut varies = false;
        let op = &self.func.insts[inst].op;
        let is_varying = |v: Value| self.forms.get(&v).is_some_and(|f| f.varies());
        op.for_each_operand(|v| varies |= is_varying(v));
        varies
            || op
                .regions()
                .into_iter()
                .any(|r| ravel_wir::traverse::free_values(self.func, r).into_iter().any(is_varying))
    }

    /// A copy of a value that is the same for all lanes.
    pub fn uniform(&self, v: Value) -> Res<Value> {
        match self.forms.get(&v) {
            None => Ok(v),
            Some(Form::Uniform(new)) => Ok(*new),
            Some(_) => Err("an extent or a bound in its body depends on the index"),
        }
    }

    pub fn uniform_all(&self, list: &[Value]) -> Res<Vec<Value>> {
        list.iter().map(|v| self.uniform(*v)).collect()
    }

    /// The lane and the index of the original code at a place with index `q` of an interleaved axis.
    pub fn split(&mut self, old: Value, q: Value, lower: Option<i32>, upper: Option<i32>) -> Lane {
        let mut head = Vec::new();
        let (lane, new) = match (lower, upper) {
            // A single index: the lane is all there is.
            (Some(low), Some(high)) if high == low.saturating_add(1) => {
                let new = self.int(&mut head, low);
                (self.bin_int(&mut head, BinOp::Sub, q, low * self.lanes), new)
            }
            _ => {
                let new = self.bin_int(&mut head, BinOp::Div, q, self.lanes);
                (self.bin_int(&mut head, BinOp::Mod, q, self.lanes), new)
            }
        };
        let natural = lower.is_some_and(|l| l >= 0);
        let split = Some(Split { old, new, q, natural });
        Lane { lane, split, map: HashMap::from_iter([(old, new)]), head }
    }

    /// The copy of a value in a lane.
    pub fn value(&mut self, lane: &mut Lane, v: Value) -> Res<Value> {
        if let Some(new) = lane.map.get(&v) {
            return Ok(*new);
        }
        let mut list = Vec::new();
        let new = match self.forms.get(&v).copied() {
            None => return Ok(v),
            Some(Form::Uniform(new)) => return Ok(new),
            Some(Form::Index) => self.bin(&mut list, BinOp::Add, self.first, lane.lane),
            Some(Form::Again(inst, _)) => {
                list = self.copy(lane, inst)?;
                lane.map[&v]
            }
            Some(Form::Stored(array)) => {
                let op = Op::Sel { array, index: vec![lane.lane] };
                self.emit(&mut list, op, Ty::scalar(self.func.ty(v).elem))
            }
            Some(Form::Lanes(_)) => return Err("an array made in its body is used as a whole"),
        };
        lane.head.append(&mut list);
        lane.map.insert(v, new);
        Ok(new)
    }

    /// Copies an instruction for a lane; it is the last of the list, after what it needs besides.
    pub fn copy(&mut self, lane: &mut Lane, inst: Inst) -> Res<Vec<Inst>> {
        let InstData { op, results, span } = self.func.insts[inst].clone();
        let mut list = Vec::new();
        let op = match op {
            Op::Sel { array, index } => self.selection(lane, array, &index, &mut list)?,
            Op::Extent { array, axis } if self.is_interleaved(lane, array) => {
                Op::Const(Scalar::I32(self.extents(array)?[axis as usize]))
            }
            mut op => {
                let mut failed = None;
                op.for_each_operand_mut(|v| match self.value(lane, *v) {
                    Ok(new) => *v = new,
                    Err(why) => failed = Some(why),
                });
                op.for_each_region_mut(|r| match self.region(lane, *r) {
                    Ok(new) => *r = new,
                    Err(why) => failed = Some(why),
                });
                match failed {
                    Some(why) => return Err(why),
                    None => op,
                }
            }
        };
        let results = self.renamed(lane, &results);
        list.push(self.func.insts.push(InstData { op, results, span }));
        Ok(list)
    }

    /// New values for the copies of some.
    fn renamed(&mut self, lane: &mut Lane, values: &[Value]) -> Vec<Value> {
        let mut new = Vec::new();
        for v in values {
            let ty = rename_syms(self.func.ty(*v), &self.syms);
            new.push(self.func.new_value(ty));
        }
        lane.map.extend(values.iter().copied().zip(new.iter().copied()));
        new
    }

    /// Copies instructions one after the other.
    pub fn copy_all(&mut self, lane: &mut Lane, insts: &[Inst], list: &mut Vec<Inst>) -> Res<()> {
        for &inst in insts {
            let mut copied = self.copy(lane, inst)?;
            list.append(&mut copied);
        }
        Ok(())
    }

    fn region(&mut self, lane: &mut Lane, region: Region) -> Res<Region> {
        let RegionData { params, insts, yields } = self.func.regions[region].clone();
        let params = self.renamed(lane, &params);
        let mut list = Vec::new();
        self.copy_all(lane, &insts, &mut list)?;
        let yields = yields.into_iter().map(|v| self.value(lane, v)).collect::<Res<Vec<_>>>()?;
        Ok(self.region_of(params, list, yields))
    }

    fn is_interleaved(&self, lane: &Lane, array: Value) -> bool {
        !lane.map.contains_key(&array) && matches!(self.forms.get(&array), Some(Form::Lanes(_)))
    }

    /// A selection as it is done for a lane.
    fn selection(&mut self, lane: &mut Lane, array: Value, index: &[Value], list: &mut Vec<Inst>) -> Res<Op> {
        if self.is_interleaved(lane, array) {
            let Some(Form::Lanes(new)) = self.forms.get(&array).copied() else { return Err("") };
            let extents = self.extents(array)?;
            if index.len() < extents.len() {
                return Err("a part of an array made in its body is selected");
            }
            return self.interleaved_selection(lane, new, &extents, index, list);
        }
        if !lane.map.contains_key(&array)
            && let Some((lead, pack)) = self.packed(lane, array, index)?
        {
            let extents = self.trailing(array, lead)?;
            return self.interleaved_selection(lane, pack, &extents, &index[lead..], list);
        }
        let array = self.value(lane, array)?;
        let index = index.iter().map(|v| self.value(lane, *v)).collect::<Res<Vec<_>>>()?;
        Ok(Op::Sel { array, index })
    }

    /// Constant extents of an array behind its leading axes.
    fn trailing(&self, array: Value, lead: usize) -> Res<Vec<i32>> {
        let extents = self.func.ty(array).shape.extents().unwrap_or_default();
        let trailing: Option<Vec<i32>> = extents.iter().skip(lead).map(|e| e.as_const()).collect();
        trailing.ok_or("what is read per iteration has no constant shape")
    }

    /// An element of an interleaved array whose original shape is given.
    fn interleaved_selection(
        &mut self,
        lane: &mut Lane,
        array: Value,
        extents: &[i32],
        index: &[Value],
        list: &mut Vec<Inst>,
    ) -> Res<Op> {
        let axis = lane_axis(extents);
        let mut new = Vec::new();
        for (k, &i) in index.iter().enumerate() {
            new.push(if k == axis { self.lane_index(lane, i, list)? } else { self.value(lane, i)? });
        }
        Ok(Op::Sel { array, index: new })
    }

    /// `4 * index + lane`, as a form in the interleaved index where there is one.
    fn lane_index(&mut self, lane: &mut Lane, index: Value, list: &mut Vec<Inst>) -> Res<Value> {
        let Some(split) = lane.split else {
            let scaled = match self.defs.int(self.func, index) {
                Some(k) => self.int(list, k.wrapping_mul(self.lanes)),
                None => {
                    let index = self.value(lane, index)?;
                    self.bin_int(list, BinOp::Mul, index, self.lanes)
                }
            };
            return Ok(self.bin(list, BinOp::Add, scaled, lane.lane));
        };
        let mut form = sum_of(self.func, self.defs, index, &|_| true, MAX_DEPTH).ok_or("an index is a long sum")?;
        let own = form.terms.remove(&split.old).unwrap_or(0);
        // Quotients of the index are quotients of the interleaved index.
        let mut total: Option<Value> = None;
        let mut tail = Vec::new();
        let sum = |block: &mut Self, total: Option<Value>, term: Value, list: &mut Vec<Inst>| match total {
            Some(total) => Some(block.bin(list, BinOp::Add, total, term)),
            None => Some(term),
        };
        for (v, k) in form.terms {
            let factor = k.wrapping_mul(self.lanes);
            match self.quotient(&split, v) {
                Some((offset, by)) => {
                    let shifted = if offset == 0 {
                        split.q
                    } else {
                        self.bin_int(list, BinOp::Add, split.q, offset * self.lanes)
                    };
                    let quotient = self.bin_int(list, BinOp::Div, shifted, by * self.lanes);
                    let term = self.bin_int(list, BinOp::Mul, quotient, factor);
                    total = sum(self, total, term, list);
                }
                None => {
                    let v = self.value(lane, v)?;
                    tail.push(self.bin_int(list, BinOp::Mul, v, factor));
                }
            }
        }
        if own == 1 {
            total = sum(self, total, split.q, list);
        } else {
            if own != 0 {
                let term = self.bin_int(list, BinOp::Mul, split.new, own.wrapping_mul(self.lanes));
                total = sum(self, total, term, list);
            }
            total = sum(self, total, lane.lane, list);
        }
        for term in tail {
            total = sum(self, total, term, list);
        }
        if form.constant != 0 {
            let constant = self.int(list, form.constant.wrapping_mul(self.lanes));
            total = sum(self, total, constant, list);
        }
        total.ok_or("an index without terms")
    }

    /// `(offset, by)` if the value is `(index + offset) / by` for the index that is split.
    fn quotient(&self, split: &Split, v: Value) -> Option<(i32, i32)> {
        const LIMIT: i32 = 1 << 20;
        let Some(Op::Bin(BinOp::Div, a, b)) = self.defs.op(self.func, v) else { return None };
        let by = self.defs.int(self.func, *b).filter(|n| (1..LIMIT).contains(n))?;
        let form = sum_of(self.func, self.defs, *a, &|_| true, MAX_DEPTH)?.add(&Sum::of(split.old), -1);
        let plain = form.terms.is_empty() && (0..LIMIT).contains(&form.constant);
        (plain && split.natural).then_some((form.constant, by))
    }

    /// The interleaved slice that a selection with lane-varying leading indices reads, and how many indices lead to it.
    fn packed(&mut self, lane: &Lane, array: Value, index: &[Value]) -> Res<Option<(usize, Value)>> {
        let Some(last) = index.iter().rposition(|v| self.forms.get(v).is_some_and(|f| f.varies())) else {
            return Ok(None);
        };
        let lead = last + 1;
        let is_outside = |v: &Value| {
            self.forms.contains_key(v) || !lane.map.contains_key(v) || self.defs.int(self.func, *v).is_some()
        };
        if lead == index.len()
            || !index[..lead].iter().all(is_outside)
            || self.func.ty(array).rank() != Some(index.len())
            || self.trailing(array, lead).is_err()
        {
            return Ok(None);
        }
        let key = (array, index[..lead].to_vec());
        if let Some(pack) = self.packs.get(&key) {
            return Ok(pack.map(|p| (lead, p)));
        }
        let pack = if self.is_in_range(array, &index[..lead]) { Some(self.pack(array, &index[..lead])?) } else { None };
        self.packs.insert(key, pack);
        Ok(pack.map(|p| (lead, p)))
    }

    /// Whether leading indices are certainly in range before the instruction at hand.
    fn is_in_range(&self, array: Value, index: &[Value]) -> bool {
        let Some(forms) = self.func.ty(array).shape.extents() else { return false };
        let mut ranges = self.places.ranges_at(self.func, self.defs, self.at);
        index.iter().zip(forms).all(|(i, form)| {
            let extent = ranges.extent(form);
            let i = ranges.form(self.func, self.defs, *i);
            ranges.compare(BinOp::Ge, &i, &Lin::constant(0)) == Some(true)
                && ranges.compare(BinOp::Lt, &i, &extent) == Some(true)
        })
    }

    /// Interleaves `array[lead]`, whose shape is constant.
    pub fn pack(&mut self, array: Value, lead: &[Value]) -> Res<Value> {
        let extents = self.trailing(array, lead.len())?;
        let elem = self.func.ty(array).elem;
        let array = self.uniform(array)?;
        let axis = lane_axis(&extents);
        let params: Vec<Value> = extents.iter().map(|_| self.index_param()).collect();
        let mut lane = self.split(params[axis], params[axis], Some(0), Some(extents[axis]));
        let mut index = Vec::new();
        for &v in lead {
            index.push(match self.defs.int(self.func, v) {
                Some(k) => self.int(&mut lane.head, k),
                None => self.value(&mut lane, v)?,
            });
        }
        for (k, param) in params.iter().enumerate() {
            index.push(if k == axis { lane.map[param] } else { *param });
        }
        let mut insts = lane.head;
        let cell = self.emit(&mut insts, Op::Sel { array, index }, Ty::scalar(elem));
        let body = self.region_of(params, insts, vec![cell]);
        Ok(self.genarray(body, &self.widened(&extents), elem))
    }

    /// A with-loop in the block's body that covers its result.
    pub fn genarray(&mut self, body: Region, extents: &[i32], elem: Elem) -> Value {
        self.genarrays(body, extents, &[elem])[0]
    }

    /// The same with several results, of these elements.
    pub fn genarrays(&mut self, body: Region, extents: &[i32], elems: &[Elem]) -> Vec<Value> {
        let mut list = Vec::new();
        let part = self.box_part(&mut list, body, extents);
        let frame: Vec<Value> = extents.iter().map(|n| self.int(&mut list, *n)).collect();
        let op = WithOp::Genarray { frame: Frame::Known(frame), cell: Some(Vec::new()), default: None };
        let types = elems.iter().map(|elem| Ty::new(*elem, Shape::of(extents))).collect();
        let ops = vec![op; elems.len()];
        let with = Op::With(With { parts: vec![part], ops, ordered: false });
        let arrays = push_ops(self.func, &mut list, with, types, self.span);
        self.out.append(&mut list);
        arrays
    }

    /// The partition of all indices below constant extents.
    pub fn box_part(&mut self, list: &mut Vec<Inst>, body: Region, extents: &[i32]) -> Part {
        let lower = extents.iter().map(|_| self.int(list, 0)).collect();
        let upper = extents.iter().map(|n| self.int(list, *n)).collect();
        Part { generator: Generator::Known { lower, upper, step: None, width: None }, body }
    }
}
