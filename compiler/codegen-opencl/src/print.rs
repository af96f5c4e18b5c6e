//! A kernel as OpenCL C.
//!
//! Values that are used once stand inside the expression that uses them, everything else gets a variable. Addresses become
//! subscripts: offsets are kept as sums of terms and divided by the size of the elements when an access is written.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;

use cranelift_entity::{EntityRef, PrimaryMap, SecondaryMap};
use ravel_nest::ir::{BinOp, ConvOp, Exit, Inst, Module, Op, Prim, Region, Ty, Value};

use crate::expr::{self, CType, Expr, Operands, Prec, Subscript, c_type};
use crate::kernel::Cut;
use crate::names::Names;
use crate::ranges::{self, Range};

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
const LONGEST: usize = 96;

/// Where an address points.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Space {
    Global,
    Private,
    Local,
    Constant,
}

impl Space {
    fn qualifier(self) -> &'static str {
        match self {
            Space::Global => "global",
            Space::Private => "private",
            Space::Local => "local",
            Space::Constant => "constant",
        }
    }
}

/// A piece of memory that addresses start from.
struct Base {
    name: String,
    space: Space,
    /// The type of all accesses, if they agree.
    elem: Option<Prim>,
    written: bool,
}

/// An address: a base and offsets in bytes.
#[derive(Clone)]
struct Address {
    base: Value,
    terms: Vec<Value>,
}

struct Printer<'a> {
    k: &'a Kernel<'a>,
    defs: HashMap<Value, &'a Inst>,
    /// Region in which a value is defined.
    home: SecondaryMap<Value, u32>,
    uses: SecondaryMap<Value, u32>,
    /// The region of the last use seen.
    used_in: SecondaryMap<Value, u32>,
    /// Integers that only addresses are made of.
    address_only: SecondaryMap<Value, bool>,
    exprs: HashMap<Value, Expr>,
    /// Bounds of integers.
    ranges: HashMap<Value, Range>,
    addresses: HashMap<Value, Address>,
    bases: HashMap<Value, Base>,
    /// Loads inside expressions that no statement contains yet, in program order.
    pending: Vec<Value>,
    names: Names,
    out: String,
    depth: usize,
    cut: Cut,
    faults: bool,
}

/// The text of a kernel, and whether it may fault.
pub(crate) fn kernel_text(k: &Kernel<'_>) -> Result<(Cut, bool), String> {
    let mut p = Printer {
        k,
        defs: HashMap::new(),
        home: SecondaryMap::new(),
        uses: SecondaryMap::new(),
        used_in: SecondaryMap::new(),
        address_only: SecondaryMap::new(),
        exprs: HashMap::new(),
        ranges: k.ranges.clone(),
        addresses: HashMap::new(),
        bases: HashMap::new(),
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
    let uses_doubles = k.values.iter().any(|(v, ty)| ty.prim == Prim::F64 && (p.defs.contains_key(&v) || k.arguments.contains(&v)));
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

    fn index(&mut self, region: &'a Region, count: &mut u32) {
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

    fn base_of(&mut self, ptr: Value) -> Result<Address, String> {
        if let Some(address) = self.addresses.get(&ptr) {
            return Ok(address.clone());
        }
        let address = match self.defs.get(&ptr).map(|inst| &inst.op) {
            None if self.k.arguments.contains(&ptr) => self.new_base(ptr, Space::Global, None),
            Some(Op::StackSlot { .. }) => self.new_base(ptr, Space::Private, None),
            Some(Op::LocalSlot { .. }) => self.new_base(ptr, Space::Local, None),
            Some(Op::DataAddr(data)) => {
                let contents = &self.k.module.data[*data];
                if !contents.relocs.is_empty() {
                    return Err("static data with addresses in it".to_string());
                }
                self.cut.data.insert(data.index() as u32, contents.bytes.clone());
                self.new_base(ptr, Space::Constant, Some(format!("data{}", data.index())))
            }
            Some(Op::PtrAdd(base, bytes)) => {
                let mut address = self.base_of(*base)?;
                address.terms.push(*bytes);
                address
            }
            _ => return Err("an address that is no device buffer".to_string()),
        };
        self.addresses.insert(ptr, address.clone());
        Ok(address)
    }

    fn new_base(&mut self, ptr: Value, space: Space, name: Option<String>) -> Address {
        let name = name.unwrap_or_else(|| self.names.array());
        self.bases.insert(ptr, Base { name, space, elem: None, written: false });
        Address { base: ptr, terms: Vec::new() }
    }

    /// Finds what memory is accessed and as what.
    fn find_bases(&mut self, region: &'a Region) -> Result<(), String> {
        let mut accessed: HashMap<Value, Vec<Prim>> = HashMap::new();
        self.accesses(region, &mut accessed)?;
        for (base, prims) in accessed {
            let same = prims.iter().all(|p| *p == prims[0]);
            let typed = same && matches!(self.bases[&base].space, Space::Global | Space::Local);
            self.bases.get_mut(&base).expect("every access has a base").elem = typed.then_some(prims[0]);
        }
        Ok(())
    }

    fn accesses(&mut self, region: &'a Region, accessed: &mut HashMap<Value, Vec<Prim>>) -> Result<(), String> {
        for inst in &region.insts {
            match &inst.op {
                Op::Load { ty, ptr, .. } => {
                    let base = self.base_of(*ptr)?.base;
                    accessed.entry(base).or_default().push(ty.prim);
                }
                Op::Store { value, ptr, .. } => {
                    let base = self.base_of(*ptr)?.base;
                    self.bases.get_mut(&base).expect("just made").written = true;
                    accessed.entry(base).or_default().push(self.k.values[*value].prim);
                }
                _ => {}
            }
            for nested in inst.op.regions() {
                self.accesses(nested, accessed)?;
            }
        }
        Ok(())
    }

    /// How often each value will be written: offsets once per access, the rest once per operand.
    fn count_uses(&mut self, region: &'a Region) {
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

    fn count_address(&mut self, ptr: Value) {
        let terms = self.addresses.get(&ptr).map(|a| a.terms.clone()).unwrap_or_default();
        for term in terms {
            self.count_term(term);
        }
    }

    /// Sums and multiples inside addresses are written out at each access.
    fn count_term(&mut self, v: Value) {
        match self.sum_of(v) {
            Some((a, b)) => {
                self.address_only[v] = true;
                self.count_term(a);
                if let Some(b) = b {
                    self.count_term(b);
                }
            }
            None => self.uses[v] += 1,
        }
    }

    /// The operands of a sum, difference or product with a constant.
    fn sum_of(&self, v: Value) -> Option<(Value, Option<Value>)> {
        match self.defs.get(&v).map(|inst| &inst.op)? {
            Op::Binary(BinOp::IAdd | BinOp::ISub, a, b) => Some((*a, Some(*b))),
            Op::Binary(BinOp::IMul, a, b) if self.const_of(*b).is_some() => Some((*a, None)),
            Op::Binary(BinOp::Shl, a, b) if self.const_of(*b).is_some_and(|k| (0..32).contains(&k)) => Some((*a, None)),
            _ => None,
        }
    }

    fn const_of(&self, v: Value) -> Option<i64> {
        match self.defs.get(&v).map(|inst| &inst.op)? {
            Op::Const { ty, bits } if ty.prim.is_int() => {
                let unused = 64 - ty.prim.bits();
                Some(((bits << unused) as i64) >> unused)
            }
            _ => None,
        }
    }

    // Expressions.

    fn expr(&mut self, v: Value) -> Expr {
        if let Some(at) = self.pending.iter().position(|p| *p == v) {
            self.pending.remove(at);
        }
        match self.exprs.get(&v) {
            Some(expr) => expr.clone(),
            None => match self.defs.get(&v).map(|inst| &inst.op) {
                Some(Op::Const { ty, bits }) => expr::constant(*ty, *bits),
                // Written here for the first time: part of an address and of something else.
                Some(_) => self.compute(v),
                None => Expr::atom("0", CType::Int),
            },
        }
    }

    /// Bounds of an integer.
    fn range(&mut self, v: Value) -> Range {
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

    fn operands<'e>(&mut self, values: (Value, Value), exprs: (&'e Expr, &'e Expr)) -> Operands<'e> {
        let (x_range, y_range) = (self.range(values.0), self.range(values.1));
        Operands { prim: self.k.values[values.0].prim, x: exprs.0, y: exprs.1, x_range, y_range }
    }

    /// The expression of a pure operation.
    fn compute(&mut self, v: Value) -> Expr {
        let inst = self.defs[&v];
        let values = self.k.values;
        match &inst.op {
            Op::Const { ty, bits } => expr::constant(*ty, *bits),
            Op::Unary(op, a) => {
                let x = self.expr(*a);
                expr::unary(*op, values[*a].prim, &x, self.range(*a))
            }
            Op::Binary(op, a, b) => {
                let (mut x, mut y) = (self.expr(*a), self.expr(*b));
                if matches!(op, BinOp::SMin | BinOp::SMax | BinOp::UMin | BinOp::UMax) {
                    (x, y) = (self.widened(*a, x), self.widened(*b, y));
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
                let (x, y) = (self.expr(*a), self.expr(*b));
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
            Op::Load { ty, ptr, offset, .. } => self.place(*ptr, *offset, ty.prim),
            _ => Expr::atom("0", CType::Int),
        }
    }

    /// An operand of an overloaded function. What C would promote has a narrower type of its own, which makes the call ambiguous.
    fn widened(&self, v: Value, x: Expr) -> Expr {
        let promoted = |op: &Op| matches!(op, Op::Convert(ConvOp::SExt | ConvOp::ZExt, from, Prim::I32) if self.k.values[*from].prim.bits() < 32);
        let name = x.text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !name && self.defs.get(&v).is_some_and(|inst| promoted(&inst.op)) { Expr::cast("int", &x, CType::Int) } else { x }
    }

    /// An element in memory.
    fn place(&mut self, ptr: Value, offset: i32, prim: Prim) -> Expr {
        let address = self.addresses[&ptr].clone();
        let size = i64::from(prim.bytes());
        let base = &self.bases[&address.base];
        let (name, typed, qualifier) = (base.name.clone(), base.elem == Some(prim), base.space.qualifier());
        let size = if typed { size } else { 1 };
        let mut sum = Subscript::default();
        let mut bytes = 0;
        for term in address.terms {
            self.term(term, 1, size, &mut sum, &mut bytes);
        }
        sum.constant = (bytes + i64::from(offset)) / size;
        let sum = sum.write();
        if typed {
            return Expr::atom(format!("{name}[{sum}]"), expr::ctype_of(prim));
        }
        let mut place = Expr::atom(format!("*({qualifier} {} *)({name} + {sum})", c_type(prim)), expr::ctype_of(prim));
        place.prec = Prec::Unary;
        place
    }

    /// Adds `v * factor` bytes to a sum of elements.
    fn term(&mut self, v: Value, factor: i64, size: i64, sum: &mut Subscript, bytes: &mut i64) {
        if let Some(k) = self.const_of(v) {
            *bytes += k * factor;
            return;
        }
        let product = match self.defs.get(&v).map(|inst| &inst.op) {
            Some(Op::Binary(BinOp::IAdd, a, b)) => {
                self.term(*a, factor, size, sum, bytes);
                self.term(*b, factor, size, sum, bytes);
                return;
            }
            Some(Op::Binary(BinOp::ISub, a, b)) => {
                self.term(*a, factor, size, sum, bytes);
                self.term(*b, -factor, size, sum, bytes);
                return;
            }
            Some(Op::Binary(BinOp::IMul, a, b)) => self.const_of(*b).map(|k| (*a, factor * k)),
            Some(Op::Binary(BinOp::Shl, a, b)) => self.const_of(*b).filter(|k| (0..32).contains(k)).map(|k| (*a, factor << k)),
            _ => None,
        };
        if let Some((a, factor)) = product {
            self.term(a, factor, size, sum, bytes);
            return;
        }
        let x = self.expr(v);
        let range = self.range(v);
        if factor % size == 0 {
            sum.terms.push((x, factor / size, range));
            return;
        }
        // Offsets of elements are multiples of their size.
        let wide = ranges::unbounded(BinOp::IMul, range, (factor, factor));
        let whole = match size % factor == 0 {
            true => format!("{} / {}", x.signed().within(Prec::Product), size / factor),
            false => format!("{} * {factor} / {size}", x.long().within(Prec::Product)),
        };
        let quotient = Expr { text: whole, prec: Prec::Product, ctype: if size % factor == 0 { x.signed().ctype } else { CType::Long } };
        let quotient = if factor < 0 { Expr::atom(format!("({})", quotient.text), quotient.ctype) } else { quotient };
        sum.terms.push((quotient, 1, wide.unwrap_or(ranges::full(Prim::I64))));
    }

    // Statements.

    fn line(&mut self, text: &str) {
        for _ in 0..self.depth {
            self.out.push_str("    ");
        }
        self.out.push_str(text);
        self.out.push('\n');
    }

    /// Local memory is declared in the outermost scope of a kernel.
    fn local_slots(&mut self, region: &Region) {
        for inst in &region.insts {
            if let Op::LocalSlot { size, align } = inst.op
                && let Some(base) = self.bases.get(&inst.results[0])
            {
                let line = match base.elem {
                    Some(prim) => format!("local {} {}[{}];", c_type(prim), base.name, size.div_ceil(prim.bytes()).max(1)),
                    None => format!("local uchar {}[{}] __attribute__((aligned({})));", base.name, size.max(1), align.max(8)),
                };
                self.line(&line);
            }
            for nested in inst.op.regions() {
                self.local_slots(nested);
            }
        }
    }

    /// Gives a value a variable.
    fn declare(&mut self, v: Value, expr: &Expr) {
        let name = self.names.temporary();
        let (ty, ctype) = expr::variable_type(self.k.values[v].prim, self.range(v));
        self.line(&format!("const {ty} {name} = {};", expr.text));
        self.exprs.insert(v, Expr::atom(name, ctype));
    }

    /// Loads that are still inside expressions happen before what follows.
    fn settle(&mut self) {
        for v in std::mem::take(&mut self.pending) {
            let expr = self.exprs[&v].clone();
            self.declare(v, &expr);
        }
    }

    fn region(&mut self, region: &'a Region, targets: &[String]) -> Result<(), String> {
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
    fn assign(&mut self, targets: &[String], values: &[Expr], of: &[Value]) {
        let moves: Vec<(usize, &String, &Expr)> =
            targets.iter().zip(values).enumerate().filter(|(_, (t, e))| **t != e.text).map(|(n, (t, e))| (n, t, e)).collect();
        // A variable that a later assignment reads keeps its old value in a copy.
        let mut values: Vec<String> = moves.iter().map(|(_, _, e)| e.text.clone()).collect();
        for at in 0..moves.len() {
            let target = moves[at].1.clone();
            if values[at + 1..].iter().any(|text| mentions(text, &target)) {
                let ty = c_type(self.k.values[of[moves[at].0]].prim);
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

    fn inst(&mut self, inst: &'a Inst) -> Result<(), String> {
        match &inst.op {
            Op::Const { .. } | Op::PtrAdd(..) | Op::DataAddr(_) | Op::LocalSlot { .. } => {}
            Op::Barrier => {
                self.settle();
                self.line("barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);");
            }
            Op::StackSlot { size, .. } => {
                if let Some(base) = self.bases.get(&inst.results[0]) {
                    let text = format!("uchar {}[{size}] __attribute__((aligned(8)));", base.name);
                    self.line(&text);
                }
            }
            Op::Store { value, ptr, offset, .. } => {
                let prim = self.k.values[*value].prim;
                let (x, place) = (self.expr(*value), self.place(*ptr, *offset, prim));
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
                let past = ranges::unbounded(BinOp::IAdd, (first.0, first.1.max(end.1.saturating_sub(1))), (0, stride.1)).filter(|_| stride.0 >= 0);
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
                self.line(&format!("for ({ty} {index} = {}; {index} < {}; {advance}) {{", low.text, high.within(Prec::Sum)));
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
            | Op::Math(..) => self.value(inst, false),
            other => return Err(format!("an operation of the host: {}", name(other))),
        }
        Ok(())
    }

    /// A pure operation or a load: a variable, or a part of the one expression that uses it.
    fn value(&mut self, inst: &'a Inst, load: bool) {
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
        let inline = renamed || self.uses[v] == 1 && self.used_in[v] == self.home[v] && expr.text.len() <= LONGEST;
        if inline {
            self.exprs.insert(v, expr);
            if load || consumed {
                self.pending.push(v);
            }
        } else {
            self.declare(v, &expr);
        }
    }

    fn arm(&mut self, region: &'a Region, targets: &[String]) -> Result<(), String> {
        self.depth += 1;
        let done = self.region(region, targets);
        self.depth -= 1;
        done
    }

    /// Variables for the results of an `if`.
    fn variables(&mut self, results: &[Value]) -> Vec<String> {
        let mut targets = Vec::new();
        for &v in results {
            let name = self.names.temporary();
            self.line(&format!("{} {name};", c_type(self.k.values[v].prim)));
            self.exprs.insert(v, Expr::atom(name.clone(), expr::ctype_of(self.k.values[v].prim)));
            targets.push(name);
        }
        targets
    }

    fn start_carried(&mut self, params: &[Value], inits: &[Value]) -> Vec<String> {
        let mut carried = Vec::new();
        for (&param, &init) in params.iter().zip(inits) {
            let start = self.expr(init);
            let name = self.names.carried();
            self.line(&format!("{} {name} = {};", c_type(self.k.values[param].prim), start.text));
            self.exprs.insert(param, Expr::atom(name.clone(), expr::ctype_of(self.k.values[param].prim)));
            carried.push(name);
        }
        carried
    }

    /// After a loop its carried variables are its results.
    fn finish_carried(&mut self, results: &[Value], carried: Vec<String>) {
        for (&v, name) in results.iter().zip(carried) {
            self.exprs.insert(v, Expr::atom(name, expr::ctype_of(self.k.values[v].prim)));
        }
    }
}

/// The summand of a sum of two whose first one is this variable.
fn added<'t>(target: &str, text: &'t str) -> Option<&'t str> {
    let rest = text.strip_prefix(target)?.strip_prefix(" + ")?;
    let mut depth = 0i32;
    for (at, c) in rest.char_indices() {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            // Binary operators stand between spaces; products bind more tightly than the sum.
            ' ' if depth == 0 && !rest[at + 1..].starts_with(['*', '/', '%']) && !rest[..at].ends_with(['*', '/', '%']) => return None,
            _ => {}
        }
    }
    Some(rest)
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Occurrences of a name in an expression, as byte ranges.
fn occurrences<'t>(text: &'t str, name: &'t str) -> impl Iterator<Item = usize> + 't {
    text.match_indices(name).map(|(at, _)| at).filter(move |&at| {
        let before = text[..at].chars().next_back();
        let after = text[at + name.len()..].chars().next();
        !before.is_some_and(is_name) && !after.is_some_and(is_name)
    })
}

fn mentions(text: &str, name: &str) -> bool {
    occurrences(text, name).next().is_some()
}

fn replace_name(text: &str, name: &str, new: &str) -> String {
    let mut result = String::new();
    let mut from = 0;
    for at in occurrences(text, name) {
        result.push_str(&text[from..at]);
        result.push_str(new);
        from = at + name.len();
    }
    result.push_str(&text[from..]);
    result
}

fn name(op: &Op) -> &'static str {
    match op {
        Op::Call(..) | Op::CallExtern(..) | Op::CallIndirect { .. } => "a call",
        Op::RcInc(..) | Op::RcDec(..) => "counting references",
        Op::ParFor { .. } => "threads",
        Op::Launch { .. } => "a launch in a launch",
        Op::GlobalAddr(_) => "a global variable",
        Op::Splat(..) | Op::Extract(..) | Op::Insert { .. } | Op::Shuffle(..) | Op::Reduce(..) => "vectors",
        _ => "an address of a function",
    }
}
