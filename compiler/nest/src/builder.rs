//! Builds one nest function, instruction by instruction.
//!
//! Structured control is opened and closed with `begin_*` / `end_*` pairs, so that a caller keeps its own state in between:
//!
//! ```
//! use ravel_nest::builder::FuncBuilder;
//! use ravel_nest::ir::{BinOp, Ty};
//! // fn sum(n) { s = 0; for i in 0..n { s += i }; s }
//! let (mut b, params) = FuncBuilder::new("sum", &[Ty::I64], &[Ty::I64]);
//! let (zero, one) = (b.i64(0), b.i64(1));
//! let (i, carried) = b.begin_for(zero, params[0], one, &[zero]);
//! let next = b.binary(BinOp::IAdd, carried[0], i);
//! let sums = b.end_for(&[next]);
//! b.ret(&sums);
//! let func = b.finish();
//! ```
//!
//! The builder computes result types and does not check operands; [`crate::verify`] does. Instructions after a `fault`
//! in the same region are dropped, for they cannot run. Ends that do not match their begins are a bug of the caller and panic.

use rustc_hash::FxHashSet as HashSet;
use std::collections::VecDeque;

mod operations;

use cranelift_entity::PrimaryMap;
use smallvec::SmallVec;

use crate::ir::{Exit, ExternId, Func, Inst, Op, Order, Region, Shared, Ty, Value, Visibility};

/// A construct whose end has not been reached.
enum Open {
    /// The function body.
    Body,
    /// The first region of an `if`.
    Then { cond: Value },
    /// The second region of an `if`; the first is complete.
    Else { cond: Value, then_region: Region },
    /// A `for`.
    For { lo: Value, hi: Value, step: Value, inits: Vec<Value> },
    /// A `loop`.
    Loop { inits: Vec<Value> },
    /// A `parfor`.
    ParFor { n: Value, chunk: Value, late: Option<Value>, shared: Option<Box<Shared>> },
    /// A `launch`.
    Launch { grid: Vec<Value>, local: Vec<u32> },
}

/// A function under construction.
pub struct FuncBuilder {
    name: String,
    results: Vec<Ty>,
    order: Order,
    visibility: Visibility,
    /// Bodies of parallel loops call the function.
    called_by_threads: bool,
    values: PrimaryMap<Value, Ty>,
    stack: Vec<(Open, Region)>,
}

impl FuncBuilder {
    /// Starts a function; also returns its parameters.
    pub fn new(name: impl Into<String>, params: &[Ty], results: &[Ty]) -> (FuncBuilder, Vec<Value>) {
        let mut values = PrimaryMap::new();
        let params: Vec<Value> = params.iter().map(|&ty| values.push(ty)).collect();
        let body = Region { params: params.clone(), ..Region::default() };
        let builder = FuncBuilder {
            name: name.into(),
            results: results.to_vec(),
            order: Order::default(),
            visibility: Visibility::default(),
            called_by_threads: false,
            values,
            stack: vec![(Open::Body, body)],
        };
        (builder, params)
    }

    /// Sets the freedom of the backend; the default is [`Order::Optimize`].
    pub fn set_order(&mut self, order: Order) {
        self.order = order;
    }

    /// Makes the function callable by the host.
    pub fn set_visibility(&mut self, visibility: Visibility) {
        self.visibility = visibility;
    }

    /// Says that bodies of parallel loops call the function, so that its reference counts must be atomic.
    pub fn set_called_by_threads(&mut self) {
        self.called_by_threads = true;
    }

    /// May several threads run the code under construction at once: is it inside a `parfor` body, or do such bodies call the function?
    pub fn is_run_by_threads(&self) -> bool {
        self.called_by_threads || self.in_parfor()
    }

    /// Type of a value.
    pub fn ty(&self, value: Value) -> Ty {
        self.values[value]
    }

    /// Is the code under construction inside a `parfor` body?
    pub fn in_parfor(&self) -> bool {
        self.parfors() > 0
    }

    /// Is the code under construction inside the body of a loop of any kind?
    pub fn in_loop(&self) -> bool {
        self.stack.iter().any(|(open, _)| matches!(open, Open::For { .. } | Open::Loop { .. } | Open::ParFor { .. }))
    }

    /// How many `parfor` bodies is the code under construction inside of?
    pub fn parfors(&self) -> usize {
        self.stack.iter().filter(|(open, _)| matches!(open, Open::ParFor { .. })).count()
    }

    /// Has the region under construction already faulted?
    pub fn is_unreachable(&self) -> bool {
        self.stack.last().is_some_and(|(_, region)| !matches!(region.exit, Exit::Open))
    }

    /// The finished function.
    pub fn finish(mut self) -> Func {
        assert_eq!(self.stack.len(), 1, "every begin has its end before the function is finished");
        let (_, body) = self.stack.pop().expect("the body is on the stack until here");
        Func {
            name: self.name,
            results: self.results,
            order: self.order,
            visibility: self.visibility,
            values: self.values,
            body,
        }
    }

    /// Appends any operation, with the result types it has.
    pub fn push(&mut self, op: Op, results: &[Ty]) -> SmallVec<[Value; 1]> {
        let results: SmallVec<[Value; 1]> = results.iter().map(|&ty| self.values.push(ty)).collect();
        let region = self.region();
        if matches!(region.exit, Exit::Open) {
            region.insts.push(Inst { results: results.clone(), op });
        }
        results
    }

    fn push_one(&mut self, op: Op, ty: Ty) -> Value {
        self.push(op, &[ty])[0]
    }

    fn region(&mut self) -> &mut Region {
        &mut self.stack.last_mut().expect("the body stays open until finish").1
    }

    /// Opens the first region of an `if`.
    pub fn begin_if(&mut self, cond: Value) {
        self.stack.push((Open::Then { cond }, Region::default()));
    }

    /// Ends the first region of an `if` with what it yields and opens the second.
    pub fn begin_else(&mut self, yields: &[Value]) {
        match self.close(yields) {
            (Open::Then { cond }, then_region) => {
                self.stack.push((Open::Else { cond, then_region }, Region::default()));
            }
            _ => panic!("begin_else follows begin_if"),
        }
    }

    /// Ends an `if`, from its second region, or from its first if nothing is yielded. Returns the results.
    pub fn end_if(&mut self, yields: &[Value]) -> Vec<Value> {
        let (cond, then_region, else_region) = match self.close(yields) {
            (Open::Else { cond, then_region }, region) => (cond, then_region, region),
            (Open::Then { cond }, region) => {
                (cond, region, Region { exit: Exit::Yield(Vec::new()), ..Region::default() })
            }
            _ => panic!("end_if follows begin_if or begin_else"),
        };
        let yielded = match (&then_region.exit, &else_region.exit) {
            (Exit::Yield(values), _) | (_, Exit::Yield(values)) => values.clone(),
            _ => Vec::new(),
        };
        let types = self.types_of(&yielded);
        self.push(Op::If { cond, then_region, else_region }, &types).to_vec()
    }

    /// Opens a counted loop; returns its index and carried values.
    pub fn begin_for(&mut self, lo: Value, hi: Value, step: Value, inits: &[Value]) -> (Value, Vec<Value>) {
        let index = self.values.push(Ty::I64);
        let carried = self.params_like(inits);
        let params = [index].into_iter().chain(carried.iter().copied()).collect();
        let open = Open::For { lo, hi, step, inits: inits.to_vec() };
        self.stack.push((open, Region { params, ..Region::default() }));
        (index, carried)
    }

    /// Ends a counted loop with the next carried values; returns the last ones.
    pub fn end_for(&mut self, yields: &[Value]) -> Vec<Value> {
        match self.close(yields) {
            (Open::For { lo, hi, step, inits }, body) => {
                let types = self.types_of(&inits);
                self.push(Op::For { lo, hi, step, inits, body }, &types).to_vec()
            }
            _ => panic!("end_for follows begin_for"),
        }
    }

    /// Opens a do-while loop; returns its carried values.
    pub fn begin_loop(&mut self, inits: &[Value]) -> Vec<Value> {
        let params = self.params_like(inits);
        self.stack.push((Open::Loop { inits: inits.to_vec() }, Region { params: params.clone(), ..Region::default() }));
        params
    }

    /// Ends a do-while loop, repeated while `again` is not zero; returns the last carried values.
    pub fn end_loop(&mut self, again: Value, yields: &[Value]) -> Vec<Value> {
        let yields: Vec<Value> = [again].into_iter().chain(yields.iter().copied()).collect();
        match self.close(&yields) {
            (Open::Loop { inits }, body) => {
                let types = self.types_of(&inits);
                self.push(Op::Loop { inits, body }, &types).to_vec()
            }
            _ => panic!("end_loop follows begin_loop"),
        }
    }

    /// Opens a parallel loop over `0..n`; returns `lo`, `hi` and `slot` of the chunk.
    pub fn begin_parfor(&mut self, n: Value, chunk: Value) -> (Value, Value, Value) {
        self.begin_shared_parfor(n, chunk, None, None)
    }

    /// The same, with the last `late` chunks begun after all others, and with what the chunks leave behind if processes may share them.
    pub fn begin_shared_parfor(
        &mut self,
        n: Value,
        chunk: Value,
        late: Option<Value>,
        shared: Option<Box<Shared>>,
    ) -> (Value, Value, Value) {
        let (lo, hi, slot) = (self.values.push(Ty::I64), self.values.push(Ty::I64), self.values.push(Ty::I64));
        let body = Region { params: vec![lo, hi, slot], ..Region::default() };
        self.stack.push((Open::ParFor { n, chunk, late, shared }, body));
        (lo, hi, slot)
    }

    /// Ends a parallel loop.
    pub fn end_parfor(&mut self) {
        match self.close(&[]) {
            (Open::ParFor { n, chunk, late, shared }, body) => {
                self.push(Op::ParFor { n, chunk, late, shared, body }, &[]);
            }
            _ => panic!("end_parfor follows begin_parfor"),
        }
    }

    /// Number of instructions in the region under construction so far.
    pub fn position(&self) -> usize {
        self.stack.last().map_or(0, |(_, region)| region.insts.len())
    }

    /// Interleaves sequences of instructions at the end of the region under construction, which begin at these positions: the first of
    /// each, the second of each and so on, as far as an instruction's operands are there. Sequences that take long one after the other
    /// because each waits for its own results then overlap. A sequence may use values of those before it; loads of a later
    /// sequence may move above stores of an earlier one. Nothing happens to sequences with control inside.
    pub fn interleave(&mut self, starts: &[usize]) {
        let Some(&first) = starts.first() else { return };
        let region = self.region();
        if region.insts[first..].iter().any(|inst| !inst.op.regions().is_empty()) {
            return;
        }
        let mut waiting: HashSet<Value> =
            region.insts[first..].iter().flat_map(|inst| inst.results.iter().copied()).collect();
        let mut sequences: Vec<VecDeque<Inst>> = Vec::new();
        for &start in starts.iter().rev() {
            sequences.push(region.insts.drain(start.max(first)..).collect());
        }
        sequences.reverse();
        while sequences.iter().any(|sequence| !sequence.is_empty()) {
            for sequence in &mut sequences {
                let Some(next) = sequence.front() else { continue };
                let mut ready = true;
                next.op.for_each_operand(|operand| ready &= !waiting.contains(&operand));
                if ready && let Some(inst) = sequence.pop_front() {
                    inst.results.iter().for_each(|result| {
                        waiting.remove(result);
                    });
                    region.insts.push(inst);
                }
            }
        }
    }

    /// Opens the work of a device for every position of a grid; returns the position.
    pub fn begin_launch(&mut self, grid: &[Value]) -> Vec<Value> {
        self.begin_groups(grid, &[])
    }

    /// Opens the work of groups of `local` work-items for every position of a grid; returns the position of the group and that in it.
    pub fn begin_groups(&mut self, grid: &[Value], local: &[u32]) -> Vec<Value> {
        let params: Vec<Value> = (0..grid.len() + local.len()).map(|_| self.values.push(Ty::I64)).collect();
        let open = Open::Launch { grid: grid.to_vec(), local: local.to_vec() };
        self.stack.push((open, Region { params: params.clone(), ..Region::default() }));
        params
    }

    /// Memory that the work-items of a group share.
    pub fn local_slot(&mut self, size: u32, align: u32) -> Value {
        self.push_one(Op::LocalSlot { size, align }, Ty::PTR)
    }

    /// The work-items of a group wait for each other, and see what the others wrote.
    pub fn barrier(&mut self) {
        self.push(Op::Barrier, &[]);
    }

    /// Ends the work of a device.
    pub fn end_launch(&mut self) {
        match self.close(&[]) {
            (Open::Launch { grid, local }, body) => {
                self.push(Op::Launch { grid, local, body }, &[]);
            }
            _ => panic!("end_launch follows begin_launch"),
        }
    }

    /// Is the code under construction the work of a device?
    pub fn in_launch(&self) -> bool {
        self.stack.iter().any(|(open, _)| matches!(open, Open::Launch { .. }))
    }

    /// Ends the function.
    pub fn ret(&mut self, values: &[Value]) {
        let region = self.region();
        if matches!(region.exit, Exit::Open) {
            region.exit = Exit::Return(values.to_vec());
        }
    }

    /// Ends the region by calling a function that never returns.
    pub fn fault(&mut self, callee: ExternId, args: &[Value]) {
        let region = self.region();
        if matches!(region.exit, Exit::Open) {
            region.exit = Exit::Fault { callee, args: args.to_vec() };
        }
    }

    /// `if cond { fault callee(args) }`.
    pub fn fault_if(&mut self, cond: Value, callee: ExternId, args: &[Value]) {
        self.begin_if(cond);
        self.fault(callee, args);
        self.end_if(&[]);
    }

    fn close(&mut self, yields: &[Value]) -> (Open, Region) {
        let (open, mut region) = self.stack.pop().expect("the body stays open until finish");
        if matches!(region.exit, Exit::Open) {
            region.exit = Exit::Yield(yields.to_vec());
        }
        (open, region)
    }

    fn types_of(&self, values: &[Value]) -> SmallVec<[Ty; 4]> {
        values.iter().map(|&v| self.values[v]).collect()
    }

    fn params_like(&mut self, inits: &[Value]) -> Vec<Value> {
        inits.iter().map(|&v| self.values.push(self.values[v])).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::FuncBuilder;
    use crate::ir::{Access, Op, Ty};

    #[test]
    fn sequences_are_interleaved_as_far_as_operands_are_there() {
        let (mut b, params) = FuncBuilder::new("f", &[Ty::F32, Ty::PTR], &[]);
        let mut starts = Vec::new();
        let mut shared = None;
        for k in 0..3 {
            starts.push(b.position());
            let x = b.mul(params[0], params[0]);
            // The others use what the first sequence computes second.
            let y = *shared.get_or_insert_with(|| b.add(x, params[0]));
            let z = b.mul(x, y);
            b.store(z, params[1], 4 * k, Access::ANY);
        }
        b.interleave(&starts);
        b.ret(&[]);
        let func = b.finish();
        let names: Vec<&str> = func
            .body
            .insts
            .iter()
            .map(|inst| match inst.op {
                Op::Store { .. } => "store",
                Op::Binary(op, ..) => {
                    if op == crate::ir::BinOp::FMul {
                        "mul"
                    } else {
                        "add"
                    }
                }
                _ => "other",
            })
            .collect();
        assert_eq!(names, ["mul", "mul", "mul", "add", "mul", "mul", "mul", "store", "store", "store"]);
        let mut module = crate::ir::Module::new();
        module.add(func);
        assert_eq!(crate::verify::verify(&module), Ok(()));
    }

    #[test]
    fn sequences_with_control_stay_as_they_are() {
        let (mut b, params) = FuncBuilder::new("f", &[Ty::I8, Ty::PTR], &[]);
        let mut starts = Vec::new();
        for k in 0..2 {
            starts.push(b.position());
            b.begin_if(params[0]);
            b.end_if(&[]);
            b.store(params[0], params[1], k, Access::ANY);
        }
        b.interleave(&starts);
        b.ret(&[]);
        let ifs: Vec<bool> = b.finish().body.insts.iter().map(|inst| matches!(inst.op, Op::If { .. })).collect();
        assert_eq!(ifs, [true, false, true, false]);
    }
}
