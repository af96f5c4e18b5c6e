//! The text form of WIR.
//!
//! [`print_module`] names values in order of definition and writes scalar constants where they are used; reading the text with
//! [`crate::parse`] and printing again gives the same text. [`print_raw`] shows the entities under their own numbers, constants
//! included, for reports about broken IR.

use crate::ir::*;
use ravel_types::HashMap;
use ravel_types::{Elem, Scalar};
use std::fmt::Write;

/// The canonical text of a module.
pub fn print_module(module: &Module) -> String {
    print_all(module, false)
}

/// The canonical text of one function.
pub fn print_func(id: FuncId, func: &Func) -> String {
    let mut out = String::new();
    Printer::new(func, false, &mut out).func(id);
    out
}

/// The text of a module under the numbers that the entities really have. It need not parse.
pub fn print_raw(module: &Module) -> String {
    print_all(module, true)
}

fn print_all(module: &Module, raw: bool) -> String {
    let mut out = String::new();
    for (id, global) in module.globals.iter() {
        let _ = writeln!(out, "global {id} {}: {}", quote(&global.name), global.ty);
    }
    if let Some(entry) = module.entry {
        let _ = writeln!(out, "entry {entry}");
    }
    for (name, export) in &module.exports {
        let _ = writeln!(out, "export {} {export}", quote(name));
    }
    for (id, func) in module.funcs.iter() {
        Printer::new(func, raw, &mut out).func(id);
    }
    out
}

/// A string literal; the bytes outside printable ASCII as `\hh`.
fn quote(text: &str) -> String {
    let mut out = String::from("\"");
    for byte in text.bytes() {
        match byte {
            b' '..=b'~' if byte != b'"' && byte != b'\\' => out.push(byte as char),
            _ => {
                let _ = write!(out, "\\{byte:02x}");
            }
        }
    }
    out.push('"');
    out
}

/// A scalar without its type; a NaN that is not the default one as its bits.
fn bare(value: Scalar) -> String {
    match value {
        Scalar::F64(v) if v.is_nan() && v.to_bits() != f64::NAN.to_bits() => format!("0x{:x}", v.to_bits()),
        Scalar::F32(v) if v.is_nan() && v.to_bits() != f32::NAN.to_bits() => format!("0x{:x}", v.to_bits()),
        other => other.to_string(),
    }
}

/// A scalar as an operand: `7` is an `i32`, `0.5` an `f64`, `true` a bool; anything else carries its type.
fn literal(value: Scalar) -> String {
    match value.elem() {
        Elem::I32 | Elem::Bool => bare(value),
        Elem::F64 if matches!(value, Scalar::F64(v) if v.is_finite()) => bare(value),
        elem => format!("{}:{elem}", bare(value)),
    }
}

struct Printer<'a> {
    func: &'a Func,
    raw: bool,
    names: HashMap<Value, usize>,
    constants: HashMap<Value, Scalar>,
    out: &'a mut String,
    depth: usize,
}

impl<'a> Printer<'a> {
    fn new(func: &'a Func, raw: bool, out: &'a mut String) -> Printer<'a> {
        let mut constants = HashMap::default();
        if !raw {
            for inst in func.insts.values() {
                if let (Op::Const(value), [result]) = (&inst.op, &inst.results[..]) {
                    constants.insert(*result, *value);
                }
            }
        }
        Printer { func, raw, names: HashMap::default(), constants, out, depth: 0 }
    }

    fn func(&mut self, id: FuncId) {
        let func = self.func;
        let _ = write!(self.out, "func {id} {}", quote(&func.name));
        if func.noinline {
            self.out.push_str(" noinline");
        }
        if func.inline {
            self.out.push_str(" inline");
        }
        if func.effects {
            self.out.push_str(" effects");
        }
        for (kind, rule) in [("derivative", &func.rules.derivative), ("tangent", &func.rules.tangent)] {
            if let Some(Rule { func, by }) = rule {
                let by: Vec<String> = by.iter().map(u32::to_string).collect();
                let _ = write!(self.out, " {kind} {func} ({})", by.join(", "));
            }
        }
        if func.rules.recompute {
            self.out.push_str(" recompute");
        }
        if let Some(states) = func.rules.checkpoint {
            let _ = write!(self.out, " checkpoint {states}");
        }
        let params = self.typed_params(func.body);
        let results: Vec<String> = func.results().iter().map(|v| func.ty(*v).to_string()).collect();
        let _ = write!(self.out, " ({params}) -> ({}) ", results.join(", "));
        self.region(func.body, "");
        self.out.push('\n');
    }

    fn define(&mut self, value: Value) -> String {
        let number = if self.raw { value.as_u32() as usize } else { self.names.len() };
        self.names.insert(value, number);
        format!("%v{number}")
    }

    /// A value with its type, at its definition.
    fn typed(&mut self, value: Value) -> String {
        let name = self.define(value);
        format!("{name}: {}", self.func.ty(value))
    }

    fn typed_params(&mut self, region: Region) -> String {
        let func = self.func;
        let params: Vec<String> = func.regions[region].params.iter().map(|v| self.typed(*v)).collect();
        params.join(", ")
    }

    fn v(&self, value: Value) -> String {
        if let Some(constant) = self.constants.get(&value) {
            return literal(*constant);
        }
        match self.names.get(&value) {
            Some(number) => format!("%v{number}"),
            // Only in broken IR.
            None => format!("%undefined{}", value.as_u32()),
        }
    }

    fn fault(&self, fault: &Fault) -> String {
        match fault {
            Fault::Index { index, extent, axis } => format!("index {}, {}, {axis}", self.v(*index), self.v(*extent)),
            Fault::Shape { left, right, axis, what } => {
                format!("shape {}, {}, {axis}, {}", self.v(*left), self.v(*right), quote(what))
            }
            Fault::Division => "division".to_string(),
            Fault::Message { text, operands } => format!("message {} [{}]", quote(text), self.list(operands)),
            Fault::Several { first, .. } => self.fault(first),
        }
    }

    fn list(&self, values: &[Value]) -> String {
        let values: Vec<String> = values.iter().map(|v| self.v(*v)).collect();
        values.join(", ")
    }

    fn line(&mut self) {
        self.out.push('\n');
        for _ in 0..self.depth {
            self.out.push_str("  ");
        }
    }

    /// `{ params insts yield }`; `head` goes before the instructions.
    fn region(&mut self, region: Region, head: &str) {
        let func = self.func;
        self.out.push('{');
        self.depth += 1;
        if !head.is_empty() {
            let _ = write!(self.out, " {head}");
        }
        for &inst in &func.regions[region].insts {
            let is_inlined = func.insts[inst].results.first().is_some_and(|v| self.constants.contains_key(v));
            if !is_inlined {
                self.line();
                self.inst(inst);
            }
        }
        self.line();
        let yields = self.list(&func.regions[region].yields);
        let _ = write!(self.out, "yield{}{yields}", if yields.is_empty() { "" } else { " " });
        self.depth -= 1;
        self.line();
        self.out.push('}');
    }

    fn inst(&mut self, inst: Inst) {
        let func = self.func;
        let data = &func.insts[inst];
        let results: Vec<String> = data.results.iter().map(|v| self.typed(*v)).collect();
        if !results.is_empty() {
            let _ = write!(self.out, "{} = ", results.join(", "));
        }
        if matches!(data.op, Op::If { .. } | Op::Loop { .. } | Op::With(_) | Op::Derive { .. }) {
            self.structured(&data.op);
        } else {
            let text = self.plain(&data.op);
            self.out.push_str(&text);
        }
    }

    fn structured(&mut self, op: &Op) {
        match op {
            Op::If { cond, then, els } => {
                let _ = write!(self.out, "if {} ", self.v(*cond));
                self.region(*then, "");
                self.out.push_str(" else ");
                self.region(*els, "");
            }
            Op::Loop { init, body } => {
                let pairs = self.params_from(*body, init);
                let _ = write!(self.out, "loop ({pairs}) ");
                self.region(*body, "");
            }
            Op::Derive { mode, args, seeds, body } => {
                let seeds = self.list(seeds);
                let pairs = self.params_from(*body, args);
                let _ = write!(self.out, "derive {} ({pairs}) seeds ({seeds}) ", mode.name());
                self.region(*body, "");
            }
            Op::With(with) => self.with(with),
            _ => {}
        }
    }

    /// The parameters of a region with the values that they begin as.
    fn params_from(&mut self, region: Region, values: &[Value]) -> String {
        let func = self.func;
        let values: Vec<String> = values.iter().map(|v| self.v(*v)).collect();
        let params: Vec<String> = func.regions[region].params.iter().map(|v| self.typed(*v)).collect();
        let pairs: Vec<String> = params.iter().zip(&values).map(|(p, v)| format!("{p} = {v}")).collect();
        pairs.join(", ")
    }

    fn with(&mut self, with: &With) {
        self.out.push_str(if with.ordered { "with ordered {" } else { "with {" });
        self.depth += 1;
        for part in &with.parts {
            self.line();
            self.out.push_str("part ");
            self.generator(&part.generator, part.body);
            self.region(part.body, "");
        }
        self.depth -= 1;
        self.line();
        self.out.push('}');
        for op in &with.ops {
            self.out.push(' ');
            match op {
                WithOp::Genarray { frame, cell, default } => {
                    match frame {
                        Frame::Known(extents) => {
                            let _ = write!(self.out, "genarray [{}]", self.list(extents));
                        }
                        Frame::Dyn(v) => {
                            let _ = write!(self.out, "genarray dyn {}", self.v(*v));
                        }
                    }
                    if let Some(cell) = cell {
                        let _ = write!(self.out, " cell [{}]", self.list(cell));
                    }
                    if let Some(default) = default {
                        let _ = write!(self.out, " default {}", self.v(*default));
                    }
                }
                WithOp::Modarray { array } => {
                    let _ = write!(self.out, "modarray {}", self.v(*array));
                }
                WithOp::Fold { neutral, combine, stop } => {
                    match combine {
                        Combine::Op(op) => {
                            let _ = write!(self.out, "fold {op}");
                        }
                        Combine::Region(region) => {
                            let params = self.typed_params(*region);
                            self.out.push_str("fold ");
                            self.region(*region, &format!("({params})"));
                        }
                    }
                    let _ = write!(self.out, " neutral {}", self.v(*neutral));
                    if let Some(stop) = stop {
                        let _ = write!(self.out, " stop {}", self.v(*stop));
                    }
                }
            }
        }
    }

    fn generator(&mut self, generator: &Generator, body: Region) {
        let func = self.func;
        let params = &func.regions[body].params;
        match generator {
            Generator::Known { lower, upper, step, width } => {
                let names: Vec<String> = params.iter().map(|v| self.define(*v)).collect();
                let _ = write!(self.out, "[{}] <= [{}] < [{}] ", self.list(lower), names.join(", "), self.list(upper));
                if let Some(step) = step {
                    let _ = write!(self.out, "step [{}] ", self.list(step));
                }
                if let Some(width) = width {
                    let _ = write!(self.out, "width [{}] ", self.list(width));
                }
            }
            Generator::Dyn { lower, upper, step, width } => {
                let names = self.typed_params(body);
                let _ = write!(self.out, "dyn {} <= {names} < {} ", self.v(*lower), self.v(*upper));
                if let Some(step) = step {
                    let _ = write!(self.out, "step {} ", self.v(*step));
                }
                if let Some(width) = width {
                    let _ = write!(self.out, "width {} ", self.v(*width));
                }
            }
        }
    }

    /// Operations without regions.
    fn plain(&self, op: &Op) -> String {
        let v = |value: &Value| self.v(*value);
        match op {
            Op::Const(value) => format!("const {}", bare(*value)),
            Op::Str(text) => format!("str {}", quote(text)),
            Op::ConstArray(data) => {
                let values: Vec<String> = data.values.iter().map(|s| bare(*s)).collect();
                format!("constarray [{}]", values.join(", "))
            }
            Op::Un(op, a) => format!("{op} {}", v(a)),
            Op::Bin(op, a, b) => format!("{op} {}, {}", v(a), v(b)),
            Op::Convert(a) => format!("convert {}", v(a)),
            Op::Select { cond, then, els } => format!("select {}, {}, {}", v(cond), v(then), v(els)),
            Op::Extent { array, axis } => format!("extent {}, {axis}", v(array)),
            Op::Rank(a) => format!("rank {}", v(a)),
            Op::ShapeVec(a) => format!("shape {}", v(a)),
            Op::Sel { array, index } => format!("sel {}, [{}]", v(array), self.list(index)),
            Op::SelDyn { array, index } => format!("seldyn {}, {}", v(array), v(index)),
            Op::Array(cells) => format!("array [{}]", self.list(cells)),
            Op::Reshape { array, shape } => format!("reshape {}, [{}]", v(array), self.list(shape)),
            Op::ReshapeDyn { array, shape } => format!("reshapedyn {}, {}", v(array), v(shape)),
            Op::Update { array, index, value } => format!("update {}, [{}], {}", v(array), self.list(index), v(value)),
            Op::UpdateDyn { array, index, value } => format!("updatedyn {}, {}, {}", v(array), v(index), v(value)),
            Op::Widen(a) => format!("widen {}", v(a)),
            Op::Narrow(a) => format!("narrow {}", v(a)),
            Op::Opaque(a) => format!("opaque {}", v(a)),
            Op::Detach(a) => format!("detach {}", v(a)),
            Op::Call { func, args } => format!("call {func} ({})", self.list(args)),
            Op::Native { symbol, args, fixed, effect } => {
                let effect = if *effect { " effect" } else { "" };
                format!("native {} fixed {fixed}{effect} ({})", quote(symbol), self.list(args))
            }
            Op::GlobalGet(global) => format!("globalget {global}"),
            Op::GlobalSet(global, value) => format!("globalset {global}, {}", v(value)),
            Op::Check { cond, fault } => {
                let mut text = format!("check {}, {}", v(cond), self.fault(fault.own()));
                if let Fault::Several { others, .. } = fault {
                    for Violation { holds, fault } in others {
                        text.push_str(&format!(" and {}, {}", v(holds), self.fault(fault)));
                    }
                }
                text
            }
            Op::If { .. } | Op::Loop { .. } | Op::With(_) | Op::Derive { .. } => String::new(),
        }
    }
}
