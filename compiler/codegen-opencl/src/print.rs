//! A kernel as OpenCL C.
//!
//! Values that are used once stand inside the expression that uses them, everything else gets a variable. Addresses become
//! subscripts: offsets are kept as sums of terms and divided by the size of the elements when an access is written.

use std::collections::BTreeMap;
use std::fmt::Write;

use cranelift_entity::{PrimaryMap, SecondaryMap};
use ravel_nest::ir::{BinOp, ConvOp, Exit, Inst, Module, Op, Prim, Region, Ty, Value};
use ravel_types::HashMap;

use crate::expr::{self, CType, Expr, Operands, c_type};
use crate::kernel::Cut;
use crate::memory::{Address, Base};
use crate::names::Names;
use crate::ranges::{self, Range};
use crate::text::is_name;

/// What a kernel is made of.
pub(crate) struct Kernel<'a> {
    pub name: &'a str,
    pub values: &'a PrimaryMap<Value, Ty>,
    pub arguments: &'a [Value],
    pub rank: usize,
    /// Work-items of a group along each axis, in launches of groups.
    pub local: &'a [u32],
    pub body: &'a Region,
    pub module: &'a Module,
    /// Bounds of the arguments and of the grid's positions.
    pub ranges: &'a HashMap<Value, Range>,
    /// Nothing is reached through two of the buffers, unless all only read it.
    pub distinct: bool,
}

/// Longer expressions are cut by a variable.
pub(crate) const LONGEST: usize = 96;

/// Writes one kernel.
pub(crate) struct Printer<'a> {
    pub k: &'a Kernel<'a>,
    pub defs: HashMap<Value, &'a Inst>,
    /// Region in which a value is defined.
    pub home: SecondaryMap<Value, u32>,
    pub uses: SecondaryMap<Value, u32>,
    /// The region of the last use seen.
    pub used_in: SecondaryMap<Value, u32>,
    /// Integers that only addresses are made of.
    pub address_only: SecondaryMap<Value, bool>,
    pub exprs: HashMap<Value, Expr>,
    /// Bounds of integers.
    pub ranges: HashMap<Value, Range>,
    pub addresses: HashMap<Value, Address>,
    pub bases: HashMap<Value, Base>,
    /// Loads inside expressions that no statement contains yet, in program order.
    pub pending: Vec<Value>,
    pub names: Names,
    pub out: String,
    pub depth: usize,
    pub cut: Cut,
    pub faults: bool,
}

/// The text of a kernel, and whether it may fault.
pub(crate) fn kernel_text(k: &Kernel<'_>) -> Result<(Cut, bool), String> {
    let mut p = Printer {
        k,
        defs: HashMap::default(),
        home: SecondaryMap::new(),
        uses: SecondaryMap::new(),
        used_in: SecondaryMap::new(),
        address_only: SecondaryMap::new(),
        exprs: HashMap::default(),
        ranges: k.ranges.clone(),
        addresses: HashMap::default(),
        bases: HashMap::default(),
        pending: Vec::new(),
        names: Names::default(),
        out: String::new(),
        depth: 1,
        cut: Cut { name: k.name.to_string(), text: String::new(), data: BTreeMap::new(), doubles: false },
        faults: false,
    };
    p.index(k.body, &mut 0);
    p.find_bases(k.body)?;
    p.count_uses(k.body);
    p.forget_unwritten(k.body);
    let grid: Vec<String> = (0..k.rank).map(|_| p.names.index()).collect();
    let items: Vec<String> = grid.iter().take(k.local.len()).map(|name| format!("item_{name}")).collect();
    for (&param, name) in k.body.params.iter().zip(grid.iter().chain(&items)) {
        let (_, ctype) = expr::variable_type(Prim::I64, p.range(param));
        p.exprs.insert(param, Expr::atom(name.clone(), ctype));
    }
    let mut parameters = Vec::new();
    for &v in k.arguments {
        match p.bases.get(&v) {
            Some(base) => {
                let (constness, elem) = (if base.written { "" } else { "const " }, base.elem.map_or("uchar", c_type));
                let restrict = if k.distinct { "restrict " } else { "" };
                parameters.push(format!("global {constness}{elem} *{restrict}{}", base.name));
            }
            None if k.values[v].prim == Prim::Ptr => {
                parameters.push(format!("global uchar *{}", p.names.array()));
            }
            None => {
                let name = p.names.scalar();
                let (ty, ctype) = expr::variable_type(k.values[v].prim, p.range(v));
                parameters.push(format!("const {ty} {name}"));
                p.exprs.insert(v, Expr::atom(name, ctype));
            }
        }
    }
    if k.local.is_empty() {
        for name in &grid {
            parameters.push(format!("const long end_{name}"));
        }
        for (axis, name) in grid.iter().enumerate() {
            let (ty, _) = expr::variable_type(Prim::I64, p.range(k.body.params[axis]));
            p.line(&format!("const {ty} {name} = get_global_id({});", k.rank - 1 - axis));
        }
        let outside: Vec<String> = grid.iter().map(|name| format!("{name} >= end_{name}")).collect();
        p.line(&format!("if ({})", outside.join(" || ")));
        p.depth += 1;
        p.line("return;");
        p.depth -= 1;
    } else {
        for (axis, name) in grid.iter().enumerate() {
            let (ty, _) = expr::variable_type(Prim::I64, p.range(k.body.params[axis]));
            p.line(&format!("const {ty} {name} = get_group_id({});", k.rank - 1 - axis));
        }
        for (axis, name) in items.iter().enumerate() {
            p.line(&format!("const int {name} = get_local_id({});", k.rank - 1 - axis));
        }
        p.local_slots(k.body);
    }
    p.region(k.body, &[])?;
    if p.faults {
        parameters.push("global int *fault".to_string());
    }
    let uses_doubles =
        k.values.iter().any(|(v, ty)| ty.prim == Prim::F64 && (p.defs.contains_key(&v) || k.arguments.contains(&v)));
    let mut text = String::new();
    if !k.local.is_empty() {
        let size = |axis: usize| k.local.iter().rev().nth(axis).copied().unwrap_or(1);
        let _ = writeln!(text, "__attribute__((reqd_work_group_size({}, {}, {})))", size(0), size(1), size(2));
    }
    let _ = write!(text, "kernel void {}(", k.name);
    for (n, parameter) in parameters.iter().enumerate() {
        let _ = write!(text, "{}{parameter}", if n > 0 { ", " } else { "" });
    }
    let _ = write!(text, ")\n{{\n{}}}\n", p.out);
    let mut cut = p.cut;
    cut.text = text;
    cut.doubles = uses_doubles;
    Ok((cut, p.faults))
}

/// A whole program.
pub(crate) fn program_text(kernels: &[Cut]) -> String {
    let mut text = String::new();
    if kernels.iter().any(|k| k.doubles) {
        text.push_str("#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n");
    }
    text.push_str("#pragma OPENCL FP_CONTRACT OFF\n");
    for (use_of, definition) in expr::DEFINITIONS {
        if kernels.iter().any(|k| k.text.contains(use_of)) {
            text.push_str(definition);
        }
    }
    let data: BTreeMap<u32, &Vec<u8>> = kernels.iter().flat_map(|k| &k.data).map(|(id, bytes)| (*id, bytes)).collect();
    for (id, bytes) in data {
        let list: Vec<String> = bytes.iter().map(u8::to_string).collect();
        let _ = write!(text, "\nconstant uchar data{id}[] __attribute__((aligned(64))) = {{{}}};\n", list.join(", "));
    }
    for kernel in kernels {
        let _ = write!(text, "\n{}", kernel.text);
    }
    text
}

impl<'a> Printer<'a> {
    // What is where.

    pub fn index(&mut self, region: &'a Region, count: &mut u32) {
        *count += 1;
        let id = *count;
        for &param in &region.params {
            self.home[param] = id;
        }
        for inst in &region.insts {
            for &result in &inst.results {
                self.defs.insert(result, inst);
                self.home[result] = id;
            }
            inst.op.for_each_operand(|v| self.used_in[v] = id);
            for nested in inst.op.regions() {
                self.index(nested, count);
            }
        }
        for &v in region.exit.operands() {
            self.used_in[v] = id;
        }
    }

    /// How often each value will be written: offsets once per access, the rest once per operand.
    pub fn count_uses(&mut self, region: &'a Region) {
        for inst in &region.insts {
            match &inst.op {
                Op::PtrAdd(..) => {}
                Op::Load { ptr, .. } => self.count_address(*ptr),
                Op::Store { value, ptr, .. } => {
                    self.uses[*value] += 1;
                    self.count_address(*ptr);
                }
                op => op.for_each_operand(|v| self.uses[v] += 1),
            }
            for nested in inst.op.regions() {
                self.count_uses(nested);
            }
        }
        if !matches!(region.exit, Exit::Fault { .. }) {
            for &v in region.exit.operands() {
                self.uses[v] += 1;
            }
        }
    }

    /// Operations whose results only addresses are made of are not written, and use nothing.
    fn forget_unwritten(&mut self, region: &Region) {
        for inst in region.insts.iter().rev() {
            for nested in inst.op.regions() {
                self.forget_unwritten(nested);
            }
            let pure = matches!(
                inst.op,
                Op::Unary(..) | Op::Binary(..) | Op::IntCmp(..) | Op::Select { .. } | Op::Convert(..)
            );
            if pure && inst.results.iter().all(|v| self.uses[*v] == 0) {
                inst.op.for_each_operand(|v| self.uses[v] -= 1);
            }
        }
    }

    // Expressions.

    pub fn expr(&mut self, v: Value) -> Expr {
        if let Some(at) = self.pending.iter().position(|p| *p == v) {
            self.pending.remove(at);
        }
        match self.exprs.get(&v) {
            Some(expr) => expr.clone(),
            None => match self.defs.get(&v).map(|inst| &inst.op) {
                Some(Op::Const { ty, bits }) => self.constant(*ty, *bits),
                // Written here for the first time: part of an address and of something else.
                Some(_) => self.compute(v),
                None => Expr::atom("0", CType::Int),
            },
        }
    }

    /// Bounds of an integer.
    pub fn range(&mut self, v: Value) -> Range {
        if let Some(range) = self.ranges.get(&v) {
            return *range;
        }
        let (defs, values) = (&self.defs, self.k.values);
        let prim = values[v].prim;
        let Some(op) = defs.get(&v).map(|inst| &inst.op).filter(|_| prim.is_int()) else { return ranges::full(prim) };
        let range = ranges::of_op(op, prim, &|v| values[v].prim, &mut |v| self.range(v));
        self.ranges.insert(v, range);
        range
    }

    pub fn operands<'e>(&mut self, values: (Value, Value), exprs: (&'e Expr, &'e Expr)) -> Operands<'e> {
        let (x_range, y_range) = (self.range(values.0), self.range(values.1));
        Operands { prim: self.k.values[values.0].prim, x: exprs.0, y: exprs.1, x_range, y_range }
    }

    /// The expression of a pure operation.
    pub fn compute(&mut self, v: Value) -> Expr {
        let inst = self.defs[&v];
        let values = self.k.values;
        match &inst.op {
            Op::Const { ty, bits } => self.constant(*ty, *bits),
            Op::Splat(x, _) => {
                let x = self.expr(*x);
                expr::splat(values[v], &x)
            }
            Op::Unary(op, a) => {
                let x = self.expr(*a);
                expr::unary(*op, values[*a].prim, &x, self.range(*a))
            }
            Op::Binary(op, a, b) => {
                if let Some(quotient) = self.quotient_by_root(*op, *a, *b) {
                    return quotient;
                }
                let (mut x, mut y) = (self.expr(*a), self.expr(*b));
                if matches!(op, BinOp::SMin | BinOp::SMax | BinOp::UMin | BinOp::UMax) {
                    (x, y) = (self.widened(*a, x), self.widened(*b, y));
                }
                if values[v].is_vector() && matches!(op, BinOp::FAdd | BinOp::FSub | BinOp::FMul | BinOp::FDiv) {
                    (x, y) = self.beside((*a, x), (*b, y));
                }
                let operands = self.operands((*a, *b), (&x, &y));
                expr::binary(*op, &operands, self.const_of(*b))
            }
            Op::Fma(a, b, c) => {
                let (x, y, z) = (self.expr(*a), self.expr(*b), self.expr(*c));
                Expr::atom(format!("fma({}, {}, {})", x.text, y.text, z.text), CType::Real)
            }
            Op::IntCmp(op, a, b) => {
                let (x, y) = (self.expr(*a), self.expr(*b));
                expr::int_compare(*op, &self.operands((*a, *b), (&x, &y)))
            }
            Op::FloatCmp(op, a, b) => {
                let (mut x, mut y) = (self.expr(*a), self.expr(*b));
                if values[v].is_vector() {
                    (x, y) = self.beside((*a, x), (*b, y));
                }
                expr::float_compare(*op, &x, &y)
            }
            Op::Select { cond, on_true, on_false } => {
                let (c, x, y) = (self.expr(*cond), self.expr(*on_true), self.expr(*on_false));
                expr::choice(&c, &x, &y)
            }
            Op::Convert(op, a, to) => {
                let x = self.expr(*a);
                expr::convert(*op, values[*a].prim, *to, &x, self.range(*a))
            }
            Op::Math(op, args) => {
                let args: Vec<Expr> = args.iter().map(|a| self.expr(*a)).collect();
                expr::math(*op, &args)
            }
            Op::Load { ty, ptr, offset, .. } => self.place(*ptr, *offset, *ty),
            _ => Expr::atom("0", CType::Int),
        }
    }

    fn constant(&self, ty: Ty, bits: u64) -> Expr {
        let scalar = expr::constant(Ty::scalar(ty.prim), bits);
        if ty.is_vector() { expr::splat(ty, &scalar) } else { scalar }
    }

    /// Operands of one of C's operators on vectors, of which one may be written as a scalar.
    fn beside(&self, a: (Value, Expr), b: (Value, Expr)) -> (Expr, Expr) {
        match (self.lane(a.0), self.lane(b.0)) {
            (Some(lane), None) => (lane, b.1),
            (None, Some(lane)) => (a.1, lane),
            _ => (a.1, b.1),
        }
    }

    /// The scalar that all lanes of a value are, where it is written as such: C's operators take it beside a vector.
    fn lane(&self, v: Value) -> Option<Expr> {
        match self.defs.get(&v).map(|inst| &inst.op)? {
            Op::Const { ty, bits } => Some(expr::constant(Ty::scalar(ty.prim), *bits)),
            Op::Splat(x, _) if !self.is_named(v) => match self.defs.get(x).map(|inst| &inst.op) {
                Some(Op::Const { ty, bits }) => Some(expr::constant(*ty, *bits)),
                _ => self.exprs.get(x).cloned(),
            },
            _ => None,
        }
    }

    /// Does a value have a variable?
    pub fn is_named(&self, v: Value) -> bool {
        self.exprs.get(&v).is_some_and(|e| e.text.chars().all(is_name))
    }

    /// An operand of an overloaded function. What C would promote has a narrower type of its own, which makes the call ambiguous.
    pub fn widened(&self, v: Value, x: Expr) -> Expr {
        let promoted = |op: &Op| matches!(op, Op::Convert(ConvOp::SExt | ConvOp::ZExt, from, Prim::I32) if self.k.values[*from].prim.bits() < 32);
        let name = x.text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !name && self.defs.get(&v).is_some_and(|inst| promoted(&inst.op)) {
            Expr::cast("int", &x, CType::Int)
        } else {
            x
        }
    }
}
