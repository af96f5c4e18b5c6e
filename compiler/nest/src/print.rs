//! The text form of nest; [`crate::parse`] reads it back.
//!
//! ```text
//! extern ext0 "ravel_alloc"(i8, i32 signed, ptr) -> ptr
//! data data0 align 1 "f.sac:3\00"
//! func fn0 "sum"(v0: i64) -> (i64) entry optimize {
//!   v1: i64 = const 0
//!   v2: i64 = const 1
//!   v5: i64 = for v3 = v1 to v0 step v2 (v4: i64 = v1) {
//!     v6: i64 = iadd v4, v3
//!     yield v6
//!   }
//!   return v5
//! }
//! ```

use std::fmt::{self, Display, Formatter, Write};

use cranelift_entity::PrimaryMap;

use crate::ir::{
    Access, Data, Exit, Func, FuncId, Inst, Module, Op, Order, Param, Prim, Region, Sharing, Signature, Ty, Value,
    Visibility,
};

impl Display for Module {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (id, sig) in &self.sigs {
            writeln!(f, "sig {id} {sig}")?;
        }
        for (id, ext) in &self.externs {
            writeln!(f, "extern {id} {}{}", Quoted(ext.name.as_bytes()), ext.sig)?;
        }
        for (id, data) in &self.data {
            writeln!(f, "data {id} {data}")?;
        }
        for (id, global) in &self.globals {
            writeln!(f, "global {id} {} {}", Quoted(global.name.as_bytes()), global.ty)?;
        }
        for (id, func) in &self.funcs {
            print_func(f, id, func)?;
        }
        Ok(())
    }
}

/// A string literal: printable ASCII as it is, other bytes as two hexadecimal digits after a backslash.
struct Quoted<'a>(&'a [u8]);

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        for &byte in self.0 {
            match byte {
                b'"' | b'\\' | 0..=31 | 127.. => write!(f, "\\{byte:02x}")?,
                _ => f.write_char(char::from(byte))?,
            }
        }
        f.write_char('"')
    }
}

/// Things separated by `, `.
struct List<'a, T>(&'a [T]);

impl<T: Display> Display for List<'_, T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (n, item) in self.0.iter().enumerate() {
            if n > 0 {
                f.write_str(", ")?;
            }
            write!(f, "{item}")?;
        }
        Ok(())
    }
}

impl Display for Param {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.ty, if self.signed { " signed" } else { "" })
    }
}

impl Display for Signature {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "({})", List(&self.params))?;
        match self.result {
            Some(ty) => write!(f, " -> {ty}"),
            None => Ok(()),
        }
    }
}

impl Display for Data {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "align {}{} {}", self.align, if self.writable { " writable" } else { "" }, Quoted(&self.bytes))?;
        for reloc in &self.relocs {
            write!(f, " at {} {} + {}", reloc.at, reloc.target, reloc.addend)?;
        }
        Ok(())
    }
}

impl Display for Access {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let promises = [
            (self.aligned, " aligned"),
            (self.readonly, " readonly"),
            (self.movable, " movable"),
            (self.streaming, " streaming"),
        ];
        for (set, name) in promises {
            if set {
                f.write_str(name)?;
            }
        }
        Ok(())
    }
}

fn print_func(f: &mut Formatter<'_>, id: FuncId, func: &Func) -> fmt::Result {
    let order = match func.order {
        Order::Keep => "keep",
        Order::Optimize => "optimize",
    };
    let visibility = match func.visibility {
        Visibility::Private => "private",
        Visibility::Entry => "entry",
    };
    let name = Quoted(func.name.as_bytes());
    let params: Vec<Typed> = func.body.params.iter().map(|&v| Typed(v, &func.values)).collect();
    write!(f, "func {id} {name}({}) -> ({}) {visibility} {order} ", List(&params), List(&func.results))?;
    let printer = Printer { values: &func.values };
    printer.region(f, &func.body, 0)?;
    f.write_char('\n')
}

/// `v1: i64`.
struct Typed<'a>(Value, &'a PrimaryMap<Value, Ty>);

impl Display for Typed<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.1.get(self.0) {
            Some(ty) => write!(f, "{}: {ty}", self.0),
            None => write!(f, "{}: ?", self.0),
        }
    }
}

struct Printer<'a> {
    values: &'a PrimaryMap<Value, Ty>,
}

impl Printer<'_> {
    fn region(&self, f: &mut Formatter<'_>, region: &Region, depth: usize) -> fmt::Result {
        f.write_str("{\n")?;
        for inst in &region.insts {
            write!(f, "{:1$}", "", 2 * depth + 2)?;
            self.inst(f, inst, depth + 1)?;
            f.write_char('\n')?;
        }
        write!(f, "{:1$}", "", 2 * depth + 2)?;
        match &region.exit {
            Exit::Open => f.write_str("open")?,
            Exit::Yield(values) if values.is_empty() => f.write_str("yield")?,
            Exit::Yield(values) => write!(f, "yield {}", List(values))?,
            Exit::Return(values) if values.is_empty() => f.write_str("return")?,
            Exit::Return(values) => write!(f, "return {}", List(values))?,
            Exit::Fault { callee, args } => write!(f, "fault {callee}({})", List(args))?,
        }
        write!(f, "\n{:1$}}}", "", 2 * depth)
    }

    fn inst(&self, f: &mut Formatter<'_>, inst: &Inst, depth: usize) -> fmt::Result {
        if !inst.results.is_empty() {
            let results: Vec<Typed> = inst.results.iter().map(|&v| Typed(v, self.values)).collect();
            write!(f, "{} = ", List(&results))?;
        }
        match &inst.op {
            Op::Const { ty, bits } => print_const(f, *ty, *bits),
            Op::Unary(op, a) => write!(f, "{} {a}", op.name()),
            Op::Binary(op, a, b) => write!(f, "{} {a}, {b}", op.name()),
            Op::Fma(a, b, c) => write!(f, "fma {a}, {b}, {c}"),
            Op::IntCmp(cmp, a, b) => write!(f, "icmp.{} {a}, {b}", cmp.name()),
            Op::FloatCmp(cmp, a, b) => write!(f, "fcmp.{} {a}, {b}", cmp.name()),
            Op::Select { cond, on_true, on_false } => write!(f, "select {cond}, {on_true}, {on_false}"),
            Op::Convert(op, a, _) => write!(f, "{} {a}", op.name()),
            Op::Splat(a, _) => write!(f, "splat {a}"),
            Op::Extract(a, lane) => write!(f, "extract {a}, {lane}"),
            Op::Insert { vector, lane, scalar } => write!(f, "insert {vector}, {lane}, {scalar}"),
            Op::Shuffle(a, b, lanes) => write!(f, "shuffle {a}, {b}, [{}]", List(lanes)),
            Op::Any(a) => write!(f, "any {a}"),
            Op::Reduce(op, a) => write!(f, "reduce.{} {a}", op.name()),
            Op::Math(op, args) => write!(f, "math.{} {}", op.name(), List(args)),
            Op::Load { ty: _, ptr, offset, access } => write!(f, "load {ptr} + {offset}{access}"),
            Op::Gather { ty: _, ptr, offset, index, scale, mask } => {
                write!(f, "gather {ptr} + {offset} [{index} * {scale}]")?;
                mask.map_or(Ok(()), |mask| write!(f, " if {mask}"))
            }
            Op::Store { value, ptr, offset, access } => write!(f, "store {value}, {ptr} + {offset}{access}"),
            Op::PtrAdd(ptr, bytes) => write!(f, "ptr_add {ptr}, {bytes}"),
            Op::StackSlot { size, align } => write!(f, "stack_slot {size} align {align}"),
            Op::LocalSlot { size, align } => write!(f, "local_slot {size} align {align}"),
            Op::Barrier => f.write_str("barrier"),
            Op::DataAddr(data) => write!(f, "data_addr {data}"),
            Op::GlobalAddr(global) => write!(f, "global_addr {global}"),
            Op::FuncAddr(func) => write!(f, "func_addr {func}"),
            Op::ExternAddr(ext) => write!(f, "extern_addr {ext}"),
            Op::Call(func, args) => write!(f, "call {func}({})", List(args)),
            Op::CallExtern(ext, args) => write!(f, "call_extern {ext}({})", List(args)),
            Op::CallIndirect { sig, callee, args } => write!(f, "call_indirect {sig} {callee}({})", List(args)),
            Op::RcInc(object, sharing) => write!(f, "rc_inc {object} {}", sharing_name(*sharing)),
            Op::RcDec(object, sharing) => write!(f, "rc_dec {object} {}", sharing_name(*sharing)),
            Op::RcUnique(object) => write!(f, "rc_unique {object}"),
            Op::If { cond, then_region, else_region } => {
                write!(f, "if {cond} ")?;
                self.region(f, then_region, depth)?;
                f.write_str(" else ")?;
                self.region(f, else_region, depth)
            }
            Op::For { lo, hi, step, inits, body } => {
                let (index, carried) = match body.params.split_first() {
                    Some((index, carried)) => (index.to_string(), carried),
                    None => ("?".to_string(), &[][..]),
                };
                write!(f, "for {index} = {lo} to {hi} step {step} ")?;
                self.carried(f, carried, inits)?;
                self.region(f, body, depth)
            }
            Op::Loop { inits, body } => {
                f.write_str("loop ")?;
                self.carried(f, &body.params, inits)?;
                self.region(f, body, depth)
            }
            Op::ParFor { n, chunk, late, shared, body } => {
                write!(f, "parfor {n} chunk {chunk} ")?;
                if let Some(late) = late {
                    write!(f, "late {late} ")?;
                }
                if let Some(shared) = shared {
                    write!(f, "shared site {} work {} ", shared.site, shared.work)?;
                    if shared.uneven {
                        f.write_str("uneven ")?;
                    }
                    if shared.partials {
                        f.write_str("partials ")?;
                    }
                    for read in &shared.reads {
                        write!(f, "reads ({}) ", List(&read.values().map(|v| *v)))?;
                    }
                    for output in &shared.outputs {
                        write!(f, "yields ({}) ", List(&output.values().map(|v| *v)))?;
                    }
                }
                write!(f, "({}) ", List(&body.params))?;
                self.region(f, body, depth)
            }
            Op::Launch { grid, local, body } => {
                write!(f, "launch ({}) ", List(grid))?;
                if !local.is_empty() {
                    write!(f, "local ({}) ", List(local))?;
                }
                write!(f, "({}) ", List(&body.params))?;
                self.region(f, body, depth)
            }
        }
    }

    fn carried(&self, f: &mut Formatter<'_>, params: &[Value], inits: &[Value]) -> fmt::Result {
        f.write_char('(')?;
        for (n, (&param, init)) in params.iter().zip(inits).enumerate() {
            if n > 0 {
                f.write_str(", ")?;
            }
            write!(f, "{} = {init}", Typed(param, self.values))?;
        }
        f.write_str(") ")
    }
}

fn sharing_name(sharing: Sharing) -> &'static str {
    match sharing {
        Sharing::Plain => "plain",
        Sharing::Atomic => "atomic",
    }
}

/// Integers as signed decimals, finite floats as the shortest decimal that reads back, other floats as bits.
fn print_const(f: &mut Formatter<'_>, ty: Ty, bits: u64) -> fmt::Result {
    match ty.prim {
        Prim::F32 if f32::from_bits(bits as u32).is_finite() => write!(f, "const {:?}", f32::from_bits(bits as u32)),
        Prim::F64 if f64::from_bits(bits).is_finite() => write!(f, "const {:?}", f64::from_bits(bits)),
        Prim::F32 | Prim::F64 => write!(f, "const 0x{bits:x}"),
        int => {
            let unused = 64 - int.bits();
            write!(f, "const {}", ((bits << unused) as i64) >> unused)
        }
    }
}
