//! Reads the text form that [`crate::print`] writes.
//!
//! Entities are numbered by their names, so that parsing a printed module gives an equal module. Only the grammar is
//! checked here; [`crate::verify`] checks meaning.

mod words;

use std::fmt;

use cranelift_entity::{EntityRef, PrimaryMap};
use smallvec::SmallVec;

use words::{Token, tokenize};

use crate::ir::{
    Access, BinOp, ConvOp, Data, Exit, Extern, ExternId, FloatCmp, Func, FuncId, Global, Inst, IntCmp, MathOp, Module,
    Op, Order, Output, Param, Prim, Read, ReduceOp, Region, Reloc, Shared, Sharing, Signature, Ty, UnOp, Value,
    Visibility,
};

/// Why a text is not nest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// Line of the offending token, from 1.
    pub line: usize,
    /// What the parser wanted.
    pub expected: &'static str,
    /// What it found, or nothing at the end of the text.
    pub found: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: expected {}, found `{}`", self.line, self.expected, self.found)
    }
}

impl std::error::Error for ParseError {}

/// Parses a module.
pub fn parse_module(text: &str) -> Result<Module, ParseError> {
    let mut parser = Parser { tokens: tokenize(text), at: 0, depth: 0 };
    let mut module = Module::new();
    while !parser.peek().is_empty() {
        parser.item(&mut module)?;
    }
    Ok(module)
}

/// Regions nested deeper than this are refused, for the parser recurses.
const MAX_DEPTH: usize = 200;

struct Parser<'a> {
    tokens: Vec<Token<'a>>,
    at: usize,
    depth: usize,
}

/// Types of the values of one function, by number; gaps are filled when the function ends.
type Values = Vec<Option<Ty>>;

impl<'a> Parser<'a> {
    fn args(&mut self) -> Result<Vec<Value>, ParseError> {
        self.expect("(")?;
        self.list(")", Self::value)
    }

    fn signature(&mut self) -> Result<Signature, ParseError> {
        self.expect("(")?;
        let params = self.list(")", |p| Ok(Param { ty: p.ty()?, signed: p.eat("signed") }))?;
        let result = if self.eat("->") { Some(self.ty()?) } else { None };
        Ok(Signature { params, result })
    }

    fn item(&mut self, module: &mut Module) -> Result<(), ParseError> {
        match self.next() {
            "sig" => {
                self.declared("sig", module.sigs.next_key())?;
                let sig = self.signature()?;
                module.sigs.push(sig);
            }
            "extern" => {
                self.declared("ext", module.externs.next_key())?;
                let (name, sig) = (self.name()?, self.signature()?);
                module.externs.push(Extern { name, sig });
            }
            "data" => {
                self.declared("data", module.data.next_key())?;
                self.expect("align")?;
                let align = self.int()?;
                let writable = self.eat("writable");
                let bytes = self.string()?;
                let mut relocs = Vec::new();
                while self.eat("at") {
                    let (at, target) = (self.int()?, self.entity("data")?);
                    self.expect("+")?;
                    relocs.push(Reloc { at, target, addend: self.int()? });
                }
                module.data.push(Data { bytes, align, writable, relocs });
            }
            "global" => {
                self.declared("glob", module.globals.next_key())?;
                let (name, ty) = (self.name()?, self.ty()?);
                module.globals.push(Global { name, ty });
            }
            "func" => {
                self.declared("fn", module.funcs.next_key())?;
                let func = self.func()?;
                module.funcs.push(func);
            }
            _ => return self.error("sig, extern, data, global or func"),
        }
        Ok(())
    }

    fn func(&mut self) -> Result<Func, ParseError> {
        let mut values = Values::new();
        let name = self.name()?;
        self.expect("(")?;
        let params = self.list(")", |p| p.typed(&mut values))?;
        self.expect("->")?;
        self.expect("(")?;
        let results = self.list(")", Self::ty)?;
        let visibility = match self.next() {
            "private" => Visibility::Private,
            "entry" => Visibility::Entry,
            _ => return self.error("private or entry"),
        };
        let order = match self.next() {
            "keep" => Order::Keep,
            "optimize" => Order::Optimize,
            _ => return self.error("keep or optimize"),
        };
        let body = self.region(params, &mut values)?;
        let mut types = PrimaryMap::with_capacity(values.len());
        types.extend(values.into_iter().map(|ty| ty.unwrap_or(Ty::I8)));
        Ok(Func { name, results, order, visibility, values: types, body })
    }

    /// `v1: i64`, a definition.
    fn typed(&mut self, values: &mut Values) -> Result<Value, ParseError> {
        let value = self.value()?;
        self.expect(":")?;
        let ty = self.ty()?;
        self.define(value, ty, values)
    }

    fn define(&self, value: Value, ty: Ty, values: &mut Values) -> Result<Value, ParseError> {
        // A value number far beyond the number of tokens cannot come from the printer and must not size the table.
        if value.index() > self.tokens.len() {
            return self.error("a smaller value number");
        }
        if values.len() <= value.index() {
            values.resize(value.index() + 1, None);
        }
        match values[value.index()].replace(ty) {
            None => Ok(value),
            Some(_) => self.error("a value that is not defined yet"),
        }
    }

    fn region(&mut self, params: Vec<Value>, values: &mut Values) -> Result<Region, ParseError> {
        self.expect("{")?;
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return self.error("less nesting");
        }
        let mut insts = Vec::new();
        let exit = loop {
            match self.peek() {
                "open" => {
                    self.next();
                    break Exit::Open;
                }
                "yield" => {
                    self.next();
                    break Exit::Yield(self.exit_values()?);
                }
                "return" => {
                    self.next();
                    break Exit::Return(self.exit_values()?);
                }
                "fault" => {
                    self.next();
                    break Exit::Fault { callee: self.entity("ext")?, args: self.args()? };
                }
                _ => insts.push(self.inst(values)?),
            }
        };
        self.expect("}")?;
        self.depth -= 1;
        Ok(Region { params, insts, exit })
    }

    fn exit_values(&mut self) -> Result<Vec<Value>, ParseError> {
        if self.peek() == "}" {
            return Ok(Vec::new());
        }
        let mut all = vec![self.value()?];
        while self.eat(",") {
            all.push(self.value()?);
        }
        Ok(all)
    }

    fn inst(&mut self, values: &mut Values) -> Result<Inst, ParseError> {
        let mut results = SmallVec::new();
        let mut types: SmallVec<[Ty; 2]> = SmallVec::new();
        if self.tokens.get(self.at + 1).is_some_and(|token| token.text == ":") {
            loop {
                let value = self.typed(values)?;
                results.push(value);
                types.push(values[value.index()].expect("typed() has just defined it"));
                if !self.eat(",") {
                    break;
                }
            }
            self.expect("=")?;
        }
        let ty = types.first().copied();
        let op = self.op(ty, values)?;
        Ok(Inst { results, op })
    }

    /// The operation; `ty` is the type of its first result.
    fn op(&mut self, ty: Option<Ty>, values: &mut Values) -> Result<Op, ParseError> {
        let name = self.next();
        let result = match ty {
            Some(ty) => Ok(ty),
            None => self.error("an operation without results"),
        };
        if let Some(op) = UnOp::from_name(name) {
            return Ok(Op::Unary(op, self.value()?));
        }
        if let Some(op) = ConvOp::from_name(name) {
            return Ok(Op::Convert(op, self.value()?, result?.prim));
        }
        if let Some(op) = BinOp::from_name(name) {
            let (a, b) = self.two()?;
            return Ok(Op::Binary(op, a, b));
        }
        if let Some((family, member)) = name.split_once('.') {
            return self.family(family, member);
        }
        Ok(match name {
            "const" => {
                let ty = result?;
                Op::Const { ty, bits: self.constant(ty.prim)? }
            }
            "fma" => {
                let (a, b) = self.two()?;
                self.expect(",")?;
                Op::Fma(a, b, self.value()?)
            }
            "select" => {
                let (cond, on_true) = self.two()?;
                self.expect(",")?;
                Op::Select { cond, on_true, on_false: self.value()? }
            }
            "splat" => Op::Splat(self.value()?, result?.lanes),
            "extract" => {
                let vector = self.value()?;
                self.expect(",")?;
                Op::Extract(vector, self.int()?)
            }
            "any" => Op::Any(self.value()?),
            "insert" => {
                let vector = self.value()?;
                self.expect(",")?;
                let lane = self.int()?;
                self.expect(",")?;
                Op::Insert { vector, lane, scalar: self.value()? }
            }
            "shuffle" => {
                let (a, b) = self.two()?;
                self.expect(",")?;
                self.expect("[")?;
                Op::Shuffle(a, b, self.list("]", Self::int)?)
            }
            "load" => {
                let (ptr, offset, access) = self.place()?;
                Op::Load { ty: result?, ptr, offset, access }
            }
            "gather" => {
                let ptr = self.value()?;
                self.expect("+")?;
                let offset = self.int()?;
                self.expect("[")?;
                let index = self.value()?;
                self.expect("*")?;
                let scale = self.int()?;
                self.expect("]")?;
                let mask = if self.eat("if") { Some(self.value()?) } else { None };
                Op::Gather { ty: result?, ptr, offset, index, scale, mask }
            }
            "store" => {
                let value = self.value()?;
                self.expect(",")?;
                let (ptr, offset, access) = self.place()?;
                Op::Store { value, ptr, offset, access }
            }
            "ptr_add" => {
                let (ptr, bytes) = self.two()?;
                Op::PtrAdd(ptr, bytes)
            }
            "stack_slot" => {
                let size = self.int()?;
                self.expect("align")?;
                Op::StackSlot { size, align: self.int()? }
            }
            "local_slot" => {
                let size = self.int()?;
                self.expect("align")?;
                Op::LocalSlot { size, align: self.int()? }
            }
            "barrier" => Op::Barrier,
            "data_addr" => Op::DataAddr(self.entity("data")?),
            "global_addr" => Op::GlobalAddr(self.entity("glob")?),
            "func_addr" => Op::FuncAddr(self.entity("fn")?),
            "extern_addr" => Op::ExternAddr(self.entity("ext")?),
            "call" => Op::Call(self.entity::<FuncId>("fn")?, self.args()?),
            "call_extern" => Op::CallExtern(self.entity::<ExternId>("ext")?, self.args()?),
            "call_indirect" => Op::CallIndirect { sig: self.entity("sig")?, callee: self.value()?, args: self.args()? },
            "rc_inc" => Op::RcInc(self.value()?, self.sharing()?),
            "rc_dec" => Op::RcDec(self.value()?, self.sharing()?),
            "rc_unique" => Op::RcUnique(self.value()?),
            "if" => {
                let cond = self.value()?;
                let then_region = self.region(Vec::new(), values)?;
                self.expect("else")?;
                Op::If { cond, then_region, else_region: self.region(Vec::new(), values)? }
            }
            "for" => {
                let index = self.value()?;
                self.define(index, Ty::I64, values)?;
                self.expect("=")?;
                let lo = self.value()?;
                self.expect("to")?;
                let hi = self.value()?;
                self.expect("step")?;
                let step = self.value()?;
                let (carried, inits) = self.carried(values)?;
                let params = [index].into_iter().chain(carried).collect();
                Op::For { lo, hi, step, inits, body: self.region(params, values)? }
            }
            "loop" => {
                let (params, inits) = self.carried(values)?;
                Op::Loop { inits, body: self.region(params, values)? }
            }
            "parfor" => {
                let n = self.value()?;
                self.expect("chunk")?;
                let chunk = self.value()?;
                let late = if self.eat("late") { Some(self.value()?) } else { None };
                let shared = if self.eat("shared") { Some(Box::new(self.shared()?)) } else { None };
                let params = self.args()?;
                for &param in &params {
                    self.define(param, Ty::I64, values)?;
                }
                Op::ParFor { n, chunk, late, shared, body: self.region(params, values)? }
            }
            "launch" => {
                let grid = self.args()?;
                let local = if self.eat("local") {
                    self.expect("(")?;
                    self.list(")", Self::int)?
                } else {
                    Vec::new()
                };
                let params = self.args()?;
                for &param in &params {
                    self.define(param, Ty::I64, values)?;
                }
                Op::Launch { grid, local, body: self.region(params, values)? }
            }
            _ => return self.error("an operation"),
        })
    }

    /// Operations spelled `family.member`.
    fn family(&mut self, family: &str, member: &str) -> Result<Op, ParseError> {
        match family {
            "icmp" => {
                if let Some(cmp) = IntCmp::from_name(member) {
                    let (a, b) = self.two()?;
                    return Ok(Op::IntCmp(cmp, a, b));
                }
            }
            "fcmp" => {
                if let Some(cmp) = FloatCmp::from_name(member) {
                    let (a, b) = self.two()?;
                    return Ok(Op::FloatCmp(cmp, a, b));
                }
            }
            "reduce" => {
                if let Some(op) = ReduceOp::from_name(member) {
                    return Ok(Op::Reduce(op, self.value()?));
                }
            }
            "math" => {
                if let Some(op) = MathOp::from_name(member) {
                    let mut args = SmallVec::from_slice(&[self.value()?]);
                    while self.eat(",") {
                        args.push(self.value()?);
                    }
                    return Ok(Op::Math(op, args));
                }
            }
            _ => {}
        }
        self.error("an operation")
    }

    fn two(&mut self) -> Result<(Value, Value), ParseError> {
        let a = self.value()?;
        self.expect(",")?;
        Ok((a, self.value()?))
    }

    fn place(&mut self) -> Result<(Value, i32, Access), ParseError> {
        let ptr = self.value()?;
        self.expect("+")?;
        let offset = self.int()?;
        let access = Access {
            aligned: self.eat("aligned"),
            readonly: self.eat("readonly"),
            movable: self.eat("movable"),
            streaming: self.eat("streaming"),
        };
        Ok((ptr, offset, access))
    }

    fn sharing(&mut self) -> Result<Sharing, ParseError> {
        match self.next() {
            "plain" => Ok(Sharing::Plain),
            "atomic" => Ok(Sharing::Atomic),
            _ => self.error("plain or atomic"),
        }
    }

    /// `site v1 work v2 reads (v3, v4, v5, v6) ... yields (v7, ...) ...`.
    fn shared(&mut self) -> Result<Shared, ParseError> {
        self.expect("site")?;
        let site = self.value()?;
        self.expect("work")?;
        let work = self.value()?;
        let (uneven, partials) = (self.eat("uneven"), self.eat("partials"));
        let (mut reads, mut outputs) = (Vec::new(), Vec::new());
        while self.eat("reads") {
            match <[Value; 4]>::try_from(self.args()?) {
                Ok([object, factor, low, high]) => reads.push(Read { object, factor, low, high }),
                Err(_) => return self.error("an array, a factor and two numbers of rows"),
            }
        }
        while self.eat("yields") {
            match <[Value; 9]>::try_from(self.args()?) {
                Ok(values) => outputs.push(Output::of(values)),
                Err(_) => return self.error("the nine values of an output"),
            }
        }
        Ok(Shared { site, work, uneven, partials, reads, outputs })
    }

    /// `(v3: i64 = v1, ...)`: parameters and initial values.
    fn carried(&mut self, values: &mut Values) -> Result<(Vec<Value>, Vec<Value>), ParseError> {
        self.expect("(")?;
        let pairs = self.list(")", |p| {
            let param = p.typed(values)?;
            p.expect("=")?;
            Ok((param, p.value()?))
        })?;
        Ok(pairs.into_iter().unzip())
    }

    fn constant(&mut self, prim: Prim) -> Result<u64, ParseError> {
        let text = self.next();
        let mask = if prim.bits() == 64 { u64::MAX } else { (1u64 << prim.bits()) - 1 };
        let bits = match (text.strip_prefix("0x"), prim) {
            (Some(hex), _) => u64::from_str_radix(hex, 16).ok(),
            (None, Prim::F32) => text.parse::<f32>().ok().map(|x| u64::from(x.to_bits())),
            (None, Prim::F64) => text.parse::<f64>().ok().map(f64::to_bits),
            (None, _) => text.parse::<i64>().ok().map(|x| x as u64 & mask),
        };
        match bits {
            Some(bits) => Ok(bits),
            None => self.error("a constant"),
        }
    }
}
