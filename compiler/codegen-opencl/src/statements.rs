//! Statements of kernels.

use ravel_nest::ir::{BinOp, Exit, Inst, Op, Region, Value};

use crate::expr::{self, CType, Expr, Prec, c_type, type_name};
use crate::print::{LONGEST, Printer};
use crate::ranges;
use crate::text::{added, is_name, mentions, replace_name};

impl<'a> Printer<'a> {
    pub fn line(&mut self, text: &str) {
        for _ in 0..self.depth {
            self.out.push_str("    ");
        }
        self.out.push_str(text);
        self.out.push('\n');
    }

    /// Local memory is declared in the outermost scope of a kernel.
    pub fn local_slots(&mut self, region: &Region) {
        for inst in &region.insts {
            if let Op::LocalSlot { size, align } = &inst.op
                && let Some(base) = self.bases.get(&inst.results[0])
            {
                let line = match base.elem {
                    Some(prim) => {
                        let aligned = if *align > prim.bytes() {
                            format!(" __attribute__((aligned({align})))")
                        } else {
                            String::new()
                        };
                        format!(
                            "local {} {}[{}]{aligned};",
                            c_type(prim),
                            base.name,
                            size.div_ceil(prim.bytes()).max(1)
                        )
                    }
                    None => format!(
                        "local uchar {}[{}] __attribute__((aligned({})));",
                        base.name,
                        size.max(&1),
                        align.max(&8)
                    ),
                };
                self.line(&line);
            }
            for nested in inst.op.regions() {
                self.local_slots(nested);
            }
        }
    }

    /// Gives a value a variable.
    pub fn declare(&mut self, v: Value, expr: &Expr) {
        let name = self.names.temporary();
        let of = self.k.values[v];
        let (ty, ctype) = expr::variable_type(of.prim, self.range(v));
        let ty = if of.is_vector() { type_name(of) } else { ty.to_string() };
        self.line(&format!("const {ty} {name} = {};", expr.text));
        self.exprs.insert(v, Expr::atom(name, ctype));
    }

    /// Loads that are still inside expressions happen before what follows.
    pub fn settle(&mut self) {
        for v in std::mem::take(&mut self.pending) {
            let expr = self.exprs[&v].clone();
            self.declare(v, &expr);
        }
    }

    pub fn region(&mut self, region: &'a Region, targets: &[String]) -> Result<(), String> {
        for inst in &region.insts {
            self.inst(inst)?;
        }
        match &region.exit {
            Exit::Fault { .. } => {
                self.faults = true;
                self.line("*fault = 1;");
                self.line("return;");
            }
            exit => {
                let values: Vec<Expr> = exit.operands().iter().map(|v| self.expr(*v)).collect();
                self.settle();
                self.assign(targets, &values, exit.operands());
            }
        }
        Ok(())
    }

    /// Assigns values to variables at once.
    pub fn assign(&mut self, targets: &[String], values: &[Expr], of: &[Value]) {
        let moves: Vec<(usize, &String, &Expr)> = targets
            .iter()
            .zip(values)
            .enumerate()
            .filter(|(_, (t, e))| **t != e.text)
            .map(|(n, (t, e))| (n, t, e))
            .collect();
        // A variable that a later assignment reads keeps its old value in a copy.
        let mut values: Vec<String> = moves.iter().map(|(_, _, e)| e.text.clone()).collect();
        for at in 0..moves.len() {
            let target = moves[at].1.clone();
            if values[at + 1..].iter().any(|text| mentions(text, &target)) {
                let ty = type_name(self.k.values[of[moves[at].0]]);
                let old = self.names.temporary();
                self.line(&format!("const {ty} {old} = {target};"));
                for text in &mut values[at + 1..] {
                    *text = replace_name(text, &target, &old);
                }
            }
        }
        for ((_, target, _), text) in moves.iter().zip(&values) {
            match added(target, text) {
                Some(rest) => self.line(&format!("{target} += {rest};")),
                None => self.line(&format!("{target} = {text};")),
            }
        }
    }

    pub fn inst(&mut self, inst: &'a Inst) -> Result<(), String> {
        self.check_vectors(inst)?;
        match &inst.op {
            Op::Const { .. } | Op::PtrAdd(..) | Op::DataAddr(_) | Op::LocalSlot { .. } => {}
            Op::Barrier => {
                self.settle();
                self.line("barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);");
            }
            Op::StackSlot { size, .. } => {
                if let Some(base) = self.bases.get(&inst.results[0]) {
                    let text = match base.elem {
                        // What was put into memory is to stay out of registers, which are for what is used more often.
                        Some(prim) => {
                            format!("volatile {} {}[{}];", c_type(prim), base.name, size.div_ceil(prim.bytes()))
                        }
                        None => format!("uchar {}[{size}] __attribute__((aligned(8)));", base.name),
                    };
                    self.line(&text);
                }
            }
            Op::Store { value, ptr, offset, .. } => {
                let ty = self.k.values[*value];
                let (x, place) = (self.expr(*value), self.place(*ptr, *offset, ty));
                self.settle();
                self.line(&format!("{} = {};", place.text, x.text));
            }
            Op::If { cond, then_region, else_region } => {
                let cond = self.expr(*cond);
                self.settle();
                let targets = self.variables(&inst.results);
                // An arm that only faults is a guard in front of what follows.
                let empty = |r: &Region| r.insts.is_empty() && matches!(&r.exit, Exit::Yield(v) if v.is_empty());
                if empty(then_region) {
                    self.line(&format!("if (!{}) {{", cond.within(Prec::Atom)));
                    self.arm(else_region, &targets)?;
                } else {
                    self.line(&format!("if ({}) {{", cond.text));
                    self.arm(then_region, &targets)?;
                    if !empty(else_region) {
                        self.line("} else {");
                        self.arm(else_region, &targets)?;
                    }
                }
                self.line("}");
            }
            Op::For { lo, hi, step, inits, body } => {
                let (low, high, by) = (self.expr(*lo), self.expr(*hi), self.expr(*step));
                let carried = self.start_carried(&body.params[1..], inits);
                self.settle();
                let index = self.names.index();
                let (first, end, stride) = (self.range(*lo), self.range(*hi), self.range(*step));
                let past =
                    ranges::unbounded(BinOp::IAdd, (first.0, first.1.max(end.1.saturating_sub(1))), (0, stride.1))
                        .filter(|_| stride.0 >= 0);
                let range = (first.0, end.1.saturating_sub(1).max(first.0));
                // The index runs past the end by a step at most.
                let (ty, ctype) = match past {
                    Some(past) if ranges::is_int(past) => ("int", CType::Int),
                    _ => ("long", CType::Long),
                };
                if stride.0 > 0 {
                    self.ranges.insert(body.params[0], range);
                }
                self.exprs.insert(body.params[0], Expr::atom(index.clone(), ctype));
                let advance = if by.text == "1" { format!("{index}++") } else { format!("{index} += {}", by.text) };
                let (low, high) = (low.signed(), high.signed());
                self.line(&format!(
                    "for ({ty} {index} = {}; {index} < {}; {advance}) {{",
                    low.text,
                    high.within(Prec::Sum)
                ));
                self.arm(body, &carried)?;
                self.line("}");
                self.names.release(&index);
                self.finish_carried(&inst.results, carried);
            }
            Op::Loop { inits, body } => {
                let carried = self.start_carried(&body.params, inits);
                self.settle();
                let again = self.names.temporary();
                self.line(&format!("char {again};"));
                self.line("do {");
                let targets: Vec<String> = [again.clone()].into_iter().chain(carried.iter().cloned()).collect();
                self.arm(body, &targets)?;
                self.line(&format!("}} while ({again});"));
                self.finish_carried(&inst.results, carried);
            }
            Op::Load { .. } => self.value(inst, true),
            Op::Unary(..)
            | Op::Binary(..)
            | Op::Fma(..)
            | Op::IntCmp(..)
            | Op::FloatCmp(..)
            | Op::Select { .. }
            | Op::Convert(..)
            | Op::Math(..)
            | Op::Splat(..) => self.value(inst, false),
            other => return Err(format!("an operation of the host: {}", name(other))),
        }
        Ok(())
    }

    /// Vectors hold floats (or are masks), lie at multiples of their size, and are computed lane by lane.
    fn check_vectors(&self, inst: &Inst) -> Result<(), String> {
        // Comparisons make masks, which choices take.
        let mask = match &inst.op {
            Op::FloatCmp(..) => inst.results.first().copied(),
            Op::Select { cond, .. } => Some(*cond),
            _ => None,
        };
        let mut vectors = false;
        let mut floats = true;
        let mut look = |v: Value| {
            let ty = self.k.values[v];
            vectors |= ty.is_vector();
            floats &= !ty.is_vector() || ty.prim.is_float() || mask == Some(v);
        };
        inst.op.for_each_operand(&mut look);
        inst.results.iter().copied().for_each(look);
        let fine = match &inst.op {
            Op::Load { access, .. } | Op::Store { access, .. } => access.aligned,
            Op::Convert(..) => false,
            _ => true,
        };
        if vectors && !(floats && fine) {
            Err("vectors of a kind that kernels do not have".to_string())
        } else {
            Ok(())
        }
    }

    /// A pure operation or a load: a variable, or a part of the one expression that uses it.
    pub fn value(&mut self, inst: &'a Inst, load: bool) {
        let v = inst.results[0];
        if self.uses[v] == 0 && (!load || self.address_only[v]) {
            return;
        }
        let reads = std::mem::take(&mut self.pending);
        self.pending = reads.clone();
        let expr = self.compute(v);
        let consumed = self.pending.len() < reads.len();
        // Another name for the same number is no variable of its own.
        let renamed = matches!(inst.op, Op::Convert(..)) && expr.text.chars().all(is_name);
        // Nor is a number, or a variable, in all lanes.
        let plain =
            |x: Value| self.is_named(x) || matches!(self.defs.get(&x).map(|inst| &inst.op), Some(Op::Const { .. }));
        let inline = renamed
            || matches!(inst.op, Op::Splat(x, _) if plain(x))
            || self.uses[v] == 1 && self.used_in[v] == self.home[v] && expr.text.len() <= LONGEST;
        if inline {
            self.exprs.insert(v, expr);
            if load || consumed {
                self.pending.push(v);
            }
        } else {
            self.declare(v, &expr);
        }
    }

    pub fn arm(&mut self, region: &'a Region, targets: &[String]) -> Result<(), String> {
        self.depth += 1;
        let done = self.region(region, targets);
        self.depth -= 1;
        done
    }

    /// Variables for the results of an `if`.
    pub fn variables(&mut self, results: &[Value]) -> Vec<String> {
        let mut targets = Vec::new();
        for &v in results {
            let name = self.names.temporary();
            self.line(&format!("{} {name};", type_name(self.k.values[v])));
            self.exprs.insert(v, Expr::atom(name.clone(), expr::ctype_of(self.k.values[v].prim)));
            targets.push(name);
        }
        targets
    }

    pub fn start_carried(&mut self, params: &[Value], inits: &[Value]) -> Vec<String> {
        let mut carried = Vec::new();
        for (&param, &init) in params.iter().zip(inits) {
            let start = self.expr(init);
            let name = self.names.carried();
            self.line(&format!("{} {name} = {};", type_name(self.k.values[param]), start.text));
            self.exprs.insert(param, Expr::atom(name.clone(), expr::ctype_of(self.k.values[param].prim)));
            carried.push(name);
        }
        carried
    }

    /// After a loop its carried variables are its results.
    pub fn finish_carried(&mut self, results: &[Value], carried: Vec<String>) {
        for (&v, name) in results.iter().zip(carried) {
            self.exprs.insert(v, Expr::atom(name, expr::ctype_of(self.k.values[v].prim)));
        }
    }
}

fn name(op: &Op) -> &'static str {
    match op {
        Op::Call(..) | Op::CallExtern(..) | Op::CallIndirect { .. } => "a call",
        Op::RcInc(..) | Op::RcDec(..) | Op::RcUnique(_) => "counting references",
        Op::ParFor { .. } => "threads",
        Op::Launch { .. } => "a launch in a launch",
        Op::GlobalAddr(_) => "a global variable",
        Op::Extract(..) | Op::Insert { .. } | Op::Shuffle(..) | Op::Gather { .. } | Op::Reduce(..) => {
            "lanes of vectors"
        }
        _ => "an address of a function",
    }
}
