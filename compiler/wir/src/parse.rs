//! Reads the text form that [`crate::print`] writes.
//!
//! Names of values are free (`%a`, `%v7`); values are numbered in order of definition. A literal stands for a constant
//! wherever an operand may stand. Only the grammar is checked here; [`crate::verify`] checks meaning.
//! Every instruction's span is its place in the text.

use crate::ir::*;
use crate::tokens::{Token, tokenize};
use ravel_source::{FileId, Span};
use ravel_types::HashMap;
use ravel_types::{Affine, BinOp, Elem, Scalar, Shape, Sym, Ty, UnOp, eval_convert};
use std::fmt;
use std::sync::Arc;

/// Why a text is not WIR.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// Line of the offending token, from 1.
    pub line: usize,
    /// What the parser wanted.
    pub expected: &'static str,
    /// What it found; empty at the end of the text.
    pub found: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: expected {}, found `{}`", self.line, self.expected, self.found)
    }
}

impl std::error::Error for ParseError {}

/// Parses a module; spans refer to `file`.
///
/// # Errors
/// The first place where the text departs from the grammar.
pub fn parse_module(text: &str, file: FileId) -> Result<Module, ParseError> {
    let mut parser = Parser {
        tokens: tokenize(text),
        at: 0,
        depth: 0,
        file,
        func: Func::new("", Span::NONE),
        names: HashMap::default(),
    };
    let mut module = Module::default();
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
    file: FileId,
    /// The function being read.
    func: Func,
    names: HashMap<&'a str, Value>,
}

type Result<T, E = ParseError> = std::result::Result<T, E>;

impl<'a> Parser<'a> {
    fn peek(&self) -> &'a str {
        self.tokens.get(self.at).map_or("", |token| token.text)
    }

    fn next(&mut self) -> &'a str {
        let text = self.peek();
        self.at += 1;
        text
    }

    /// An error about the token just taken.
    fn error<T>(&self, expected: &'static str) -> Result<T> {
        let at = self.at.saturating_sub(1);
        let line = self.tokens.get(at).or(self.tokens.last()).map_or(1, |token| token.line);
        let found = self.tokens.get(at).map_or(String::new(), |token| token.text.to_string());
        Err(ParseError { line, expected, found })
    }

    fn eat(&mut self, text: &str) -> bool {
        let found = self.peek() == text;
        if found {
            self.at += 1;
        }
        found
    }

    fn expect(&mut self, text: &'static str) -> Result<()> {
        if self.next() == text { Ok(()) } else { self.error(text) }
    }

    fn number<T: std::str::FromStr>(&mut self) -> Result<T> {
        match self.next().parse() {
            Ok(number) => Ok(number),
            Err(_) => self.error("a number"),
        }
    }

    fn id<T>(&mut self, prefix: &'static str, make: impl Fn(u32) -> T) -> Result<T> {
        match self.next().strip_prefix(prefix).and_then(|digits| digits.parse::<u32>().ok()) {
            Some(n) if n < u32::MAX / 2 => Ok(make(n)),
            _ => self.error(prefix),
        }
    }

    fn string(&mut self) -> Result<String> {
        let Some(inner) = self.next().strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) else {
            return self.error("a string");
        };
        let mut bytes = Vec::new();
        let mut rest = inner.as_bytes();
        while let Some((&first, tail)) = rest.split_first() {
            rest = tail;
            if first != b'\\' {
                bytes.push(first);
                continue;
            }
            let code = tail.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
            match code.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
                Some(byte) => bytes.push(byte),
                None => return self.error("two hexadecimal digits after a backslash"),
            }
            rest = &tail[2..];
        }
        match String::from_utf8(bytes) {
            Ok(text) => Ok(text),
            Err(_) => self.error("a string in UTF-8"),
        }
    }

    /// `open` item `,` item ... `close`.
    fn list<T>(
        &mut self,
        open: &'static str,
        close: &'static str,
        mut item: impl FnMut(&mut Self) -> Result<T>,
    ) -> Result<Vec<T>> {
        self.expect(open)?;
        let mut items = Vec::new();
        if self.eat(close) {
            return Ok(items);
        }
        loop {
            items.push(item(self)?);
            if self.eat(close) {
                return Ok(items);
            }
            self.expect(",")?;
        }
    }

    fn item(&mut self, module: &mut Module) -> Result<()> {
        match self.next() {
            "global" => {
                let id = self.id("@g", GlobalId::from_u32)?;
                if id != module.globals.next_key() {
                    return self.error("the next number in order");
                }
                let name = self.string()?;
                self.expect(":")?;
                let ty = self.ty()?;
                module.globals.push(Global { name, ty });
            }
            "entry" => module.entry = Some(self.id("@f", FuncId::from_u32)?),
            "export" => {
                let name = self.string()?;
                module.exports.push((name, self.id("@f", FuncId::from_u32)?));
            }
            "func" => {
                let id = self.id("@f", FuncId::from_u32)?;
                if id != module.funcs.next_key() {
                    return self.error("the next number in order");
                }
                let func = self.function()?;
                module.funcs.push(func);
            }
            _ => return self.error("global, entry, export or func"),
        }
        Ok(())
    }

    fn function(&mut self) -> Result<Func> {
        let start = self.start();
        let name = self.string()?;
        self.func = Func::new(name, Span::NONE);
        self.names.clear();
        self.func.noinline = self.eat("noinline");
        self.func.inline = self.eat("inline");
        self.func.effects = self.eat("effects");
        self.func.rules.derivative = self.rule("derivative")?;
        self.func.rules.tangent = self.rule("tangent")?;
        self.func.rules.recompute = self.eat("recompute");
        if self.eat("checkpoint") {
            let states = self.next().parse().ok().filter(|n| *n > 0);
            self.func.rules.checkpoint = Some(states.map_or_else(|| self.error("a number of states"), Ok)?);
        }
        let body = self.func.body;
        let params = self.list("(", ")", Self::typed)?;
        self.func.regions[body].params = params;
        self.expect("->")?;
        self.list("(", ")", Self::ty)?;
        self.func.span = self.span_from(start);
        self.region(body)?;
        Ok(std::mem::replace(&mut self.func, Func::new("", Span::NONE)))
    }

    /// `derivative @f3 (0, 2)`.
    fn rule(&mut self, kind: &str) -> Result<Option<Rule>> {
        if !self.eat(kind) {
            return Ok(None);
        }
        let func = self.id("@f", FuncId::from_u32)?;
        let number = |p: &mut Self| p.next().parse().or_else(|_| p.error("the number of a parameter"));
        let by = self.list("(", ")", number)?;
        Ok(Some(Rule { func, by }))
    }

    fn start(&self) -> usize {
        self.tokens.get(self.at).map_or(0, |t| t.start)
    }

    fn span_from(&self, start: usize) -> Span {
        let last = self.at.checked_sub(1).and_then(|i| self.tokens.get(i));
        Span::new(self.file, start, last.map_or(start, |t| t.start + t.text.len()))
    }

    fn ty(&mut self) -> Result<Ty> {
        let Some(elem) = Elem::from_name(self.next()) else { return self.error("an element type") };
        if self.peek() != "[" {
            return Ok(Ty::scalar(elem));
        }
        if self.tokens.get(self.at + 1).is_some_and(|t| t.text == "*")
            && self.tokens.get(self.at + 2).is_some_and(|t| t.text == "]")
        {
            self.at += 3;
            return Ok(Ty::new(elem, Shape::Unknown));
        }
        let extents = self.list("[", "]", Self::affine)?;
        Ok(Ty::new(elem, Shape::Known(extents)))
    }

    /// `7`, `s0`, `2*s0+s1-3`.
    fn affine(&mut self) -> Result<Affine> {
        let mut sum = Affine::constant(0);
        let mut first = true;
        loop {
            let mut sign = 1;
            match self.peek() {
                "+" if !first => self.at += 1,
                "-" => {
                    self.at += 1;
                    sign = -1;
                }
                token if first || token.starts_with('-') => {}
                _ => return Ok(sum),
            }
            first = false;
            let token = self.next();
            let term = if let Some(sym) = token.strip_prefix('s').and_then(|n| n.parse::<u32>().ok()) {
                self.symbol(sym)
            } else if let Ok(k) = token.parse::<i32>() {
                if self.eat("*") {
                    let sym = self.id("s", |n| n)?;
                    self.symbol(sym).scale(k)
                } else {
                    Affine::constant(k)
                }
            } else {
                return self.error("an extent");
            };
            sum = sum.add(&term.scale(sign));
        }
    }

    fn symbol(&mut self, n: u32) -> Affine {
        self.func.n_syms = self.func.n_syms.max(n.saturating_add(1));
        Affine::sym(Sym(n))
    }

    /// `%a: f64[3]`, a definition.
    fn typed(&mut self) -> Result<Value> {
        let name = self.next();
        if !name.starts_with('%') {
            return self.error("a value");
        }
        self.expect(":")?;
        let ty = self.ty()?;
        self.define(name, ty)
    }

    fn define(&mut self, name: &'a str, ty: Ty) -> Result<Value> {
        let value = self.func.new_value(ty);
        match self.names.insert(name, value) {
            None => Ok(value),
            Some(_) => self.error("a name that is not used yet"),
        }
    }

    /// A name or a literal, which becomes a constant in `region`.
    fn operand(&mut self, region: Region) -> Result<Value> {
        let start = self.start();
        let token = self.next();
        if let Some(value) = self.names.get(token) {
            return Ok(*value);
        }
        if token.starts_with('%') {
            return self.error("a value defined before");
        }
        let elem = if self.eat(":") {
            match Elem::from_name(self.next()) {
                Some(elem) => elem,
                None => return self.error("an element type"),
            }
        } else if matches!(token, "true" | "false") {
            Elem::Bool
        } else if token.parse::<i32>().is_ok() {
            Elem::I32
        } else {
            Elem::F64
        };
        let Some(scalar) = scalar(token, elem) else { return self.error("an operand") };
        let span = self.span_from(start);
        Ok(self.func.push1(region, Op::Const(scalar), Ty::scalar(elem), span))
    }

    fn operands(&mut self, region: Region) -> Result<Vec<Value>> {
        self.list("[", "]", |p| p.operand(region))
    }

    /// `{ insts yield values }` into `region`, whose parameters are set.
    fn region(&mut self, region: Region) -> Result<()> {
        self.expect("{")?;
        self.region_rest(region)
    }

    fn region_rest(&mut self, region: Region) -> Result<()> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return self.error("less nesting");
        }
        while !self.eat("yield") {
            self.inst(region)?;
        }
        let mut yields = Vec::new();
        while !self.eat("}") {
            if !yields.is_empty() {
                self.expect(",")?;
            }
            yields.push(self.operand(region)?);
        }
        self.func.regions[region].yields = yields;
        self.depth -= 1;
        Ok(())
    }

    fn inst(&mut self, region: Region) -> Result<()> {
        let start = self.start();
        let mut results: Vec<(&'a str, Ty)> = Vec::new();
        if self.peek().starts_with('%') {
            loop {
                let name = self.next();
                self.expect(":")?;
                results.push((name, self.ty()?));
                if self.eat("=") {
                    break;
                }
                self.expect(",")?;
            }
        }
        let elem = results.first().map(|(_, ty)| ty.elem);
        let op = self.op(region, elem)?;
        let span = self.span_from(start);
        let mut values = Vec::new();
        for (name, ty) in results {
            values.push(self.define(name, ty)?);
        }
        let inst = self.func.insts.push(InstData { op, results: values, span });
        self.func.regions[region].insts.push(inst);
        Ok(())
    }

    fn op(&mut self, region: Region, elem: Option<Elem>) -> Result<Op> {
        let name = self.next();
        if let Some(op) = UnOp::from_name(name) {
            return Ok(Op::Un(op, self.operand(region)?));
        }
        if let Some(op) = BinOp::from_name(name) {
            let a = self.operand(region)?;
            return Ok(Op::Bin(op, a, self.then(region)?));
        }
        Ok(match name {
            "const" => Op::Const(self.constant(elem)?),
            "str" => Op::Str(self.string()?.into()),
            "constarray" => {
                let values = self.list("[", "]", |p| p.constant(elem))?;
                match elem {
                    Some(elem) => Op::ConstArray(Arc::new(ConstData { elem, values })),
                    None => return self.error("a result"),
                }
            }
            "convert" => Op::Convert(self.operand(region)?),
            "select" => Op::Select { cond: self.operand(region)?, then: self.then(region)?, els: self.then(region)? },
            "extent" => {
                let array = self.operand(region)?;
                self.expect(",")?;
                Op::Extent { array, axis: self.number()? }
            }
            "rank" => Op::Rank(self.operand(region)?),
            "shape" => Op::ShapeVec(self.operand(region)?),
            "sel" => Op::Sel { array: self.operand(region)?, index: self.then_list(region)? },
            "seldyn" => Op::SelDyn { array: self.operand(region)?, index: self.then(region)? },
            "array" => Op::Array(self.operands(region)?),
            "reshape" => Op::Reshape { array: self.operand(region)?, shape: self.then_list(region)? },
            "reshapedyn" => Op::ReshapeDyn { array: self.operand(region)?, shape: self.then(region)? },
            "update" => {
                Op::Update { array: self.operand(region)?, index: self.then_list(region)?, value: self.then(region)? }
            }
            "updatedyn" => {
                Op::UpdateDyn { array: self.operand(region)?, index: self.then(region)?, value: self.then(region)? }
            }
            "widen" => Op::Widen(self.operand(region)?),
            "narrow" => Op::Narrow(self.operand(region)?),
            "opaque" => Op::Opaque(self.operand(region)?),
            "detach" => Op::Detach(self.operand(region)?),
            "if" => {
                let cond = self.operand(region)?;
                let then = self.func.new_region();
                self.region(then)?;
                self.expect("else")?;
                let els = self.func.new_region();
                self.region(els)?;
                Op::If { cond, then, els }
            }
            "loop" => {
                let (body, init) = self.params_from(region)?;
                self.region(body)?;
                Op::Loop { init, body }
            }
            "derive" => {
                let mode = match self.next() {
                    "forward" => Mode::Forward,
                    "reverse" => Mode::Reverse,
                    _ => return self.error("forward or reverse"),
                };
                let (body, args) = self.params_from(region)?;
                self.expect("seeds")?;
                let seeds = self.list("(", ")", |p| p.operand(region))?;
                self.region(body)?;
                Op::Derive { mode, args, seeds, body }
            }
            "with" => Op::With(self.with(region)?),
            "call" => {
                let func = self.id("@f", FuncId::from_u32)?;
                Op::Call { func, args: self.list("(", ")", |p| p.operand(region))? }
            }
            "native" => {
                let symbol = self.string()?.into();
                self.expect("fixed")?;
                let fixed = self.number()?;
                let effect = self.eat("effect");
                Op::Native { symbol, args: self.list("(", ")", |p| p.operand(region))?, fixed, effect }
            }
            "globalget" => Op::GlobalGet(self.id("@g", GlobalId::from_u32)?),
            "globalset" => {
                let global = self.id("@g", GlobalId::from_u32)?;
                Op::GlobalSet(global, self.then(region)?)
            }
            "check" => {
                let cond = self.operand(region)?;
                self.expect(",")?;
                Op::Check { cond, fault: self.faults(region)? }
            }
            _ => return self.error("an operation"),
        })
    }

    /// `(%p: f64 = operand, ..)`: a new region with these parameters, and what they begin as.
    fn params_from(&mut self, outer: Region) -> Result<(Region, Vec<Value>)> {
        let region = self.func.new_region();
        let mut values = Vec::new();
        let params = self.list("(", ")", |p| {
            let param = p.typed()?;
            p.expect("=")?;
            values.push(p.operand(outer)?);
            Ok(param)
        })?;
        self.func.regions[region].params = params;
        Ok((region, values))
    }

    /// `, operand`
    fn then(&mut self, region: Region) -> Result<Value> {
        self.expect(",")?;
        self.operand(region)
    }

    /// `, [operands]`
    fn then_list(&mut self, region: Region) -> Result<Vec<Value>> {
        self.expect(",")?;
        self.operands(region)
    }

    fn constant(&mut self, elem: Option<Elem>) -> Result<Scalar> {
        match scalar(self.next(), elem.unwrap_or(Elem::Handle)) {
            Some(value) => Ok(value),
            None => self.error("a constant of the result's type"),
        }
    }

    /// `fault and condition, fault ..`
    fn faults(&mut self, region: Region) -> Result<Fault> {
        let first = self.fault(region)?;
        let mut others = Vec::new();
        while self.eat("and") {
            let holds = self.operand(region)?;
            self.expect(",")?;
            others.push(Violation { holds, fault: self.fault(region)? });
        }
        Ok(if others.is_empty() { first } else { Fault::Several { first: Box::new(first), others } })
    }

    fn fault(&mut self, region: Region) -> Result<Fault> {
        Ok(match self.next() {
            "index" => {
                let (index, extent) = (self.operand(region)?, self.then(region)?);
                self.expect(",")?;
                Fault::Index { index, extent, axis: self.number()? }
            }
            "shape" => {
                let (left, right) = (self.operand(region)?, self.then(region)?);
                self.expect(",")?;
                let axis = self.number()?;
                self.expect(",")?;
                Fault::Shape { left, right, axis, what: self.string()?.into() }
            }
            "division" => Fault::Division,
            "message" => Fault::Message { text: self.string()?.into(), operands: self.operands(region)? },
            _ => return self.error("a fault"),
        })
    }

    fn with(&mut self, region: Region) -> Result<With> {
        let ordered = self.eat("ordered");
        self.expect("{")?;
        let mut parts = Vec::new();
        while !self.eat("}") {
            self.expect("part")?;
            parts.push(self.part(region)?);
        }
        let mut ops = Vec::new();
        while let "genarray" | "modarray" | "fold" = self.peek() {
            ops.push(self.with_op(region)?);
        }
        Ok(With { parts, ops, ordered })
    }

    fn part(&mut self, region: Region) -> Result<Part> {
        let body = self.func.new_region();
        let generator = if self.eat("dyn") {
            let lower = self.operand(region)?;
            self.expect("<=")?;
            let param = self.typed()?;
            self.func.regions[body].params = vec![param];
            self.expect("<")?;
            let upper = self.operand(region)?;
            let step = if self.eat("step") { Some(self.operand(region)?) } else { None };
            let width = if self.eat("width") { Some(self.operand(region)?) } else { None };
            Generator::Dyn { lower, upper, step, width }
        } else {
            let lower = self.operands(region)?;
            self.expect("<=")?;
            let params = self.list("[", "]", |p| {
                let name = p.next();
                if !name.starts_with('%') {
                    return p.error("an index");
                }
                p.define(name, Ty::scalar(Elem::I32))
            })?;
            self.func.regions[body].params = params;
            self.expect("<")?;
            let upper = self.operands(region)?;
            let step = if self.eat("step") { Some(self.operands(region)?) } else { None };
            let width = if self.eat("width") { Some(self.operands(region)?) } else { None };
            Generator::Known { lower, upper, step, width }
        };
        self.region(body)?;
        Ok(Part { generator, body })
    }

    fn with_op(&mut self, region: Region) -> Result<WithOp> {
        Ok(match self.next() {
            "genarray" => {
                let frame = if self.eat("dyn") {
                    Frame::Dyn(self.operand(region)?)
                } else {
                    Frame::Known(self.operands(region)?)
                };
                let cell = if self.eat("cell") { Some(self.operands(region)?) } else { None };
                let default = if self.eat("default") { Some(self.operand(region)?) } else { None };
                WithOp::Genarray { frame, cell, default }
            }
            "modarray" => WithOp::Modarray { array: self.operand(region)? },
            "fold" => {
                let combine = if self.eat("{") {
                    let body = self.func.new_region();
                    let params = self.list("(", ")", Self::typed)?;
                    self.func.regions[body].params = params;
                    self.region_rest(body)?;
                    Combine::Region(body)
                } else {
                    match BinOp::from_name(self.next()) {
                        Some(op) => Combine::Op(op),
                        None => return self.error("a fold function"),
                    }
                };
                self.expect("neutral")?;
                let neutral = self.operand(region)?;
                let stop = if self.eat("stop") { Some(self.operand(region)?) } else { None };
                WithOp::Fold { neutral, combine, stop }
            }
            _ => return self.error("an operator"),
        })
    }
}

/// A literal as a scalar of the given type.
fn scalar(token: &str, elem: Elem) -> Option<Scalar> {
    match elem {
        Elem::Bool => token.parse().ok().map(Scalar::Bool),
        Elem::F32 | Elem::F64 => match token.strip_prefix("0x") {
            Some(hex) => Scalar::from_bits(elem, u64::from_str_radix(hex, 16).ok()?),
            None if elem == Elem::F32 => token.parse().ok().map(Scalar::F32),
            None => token.parse().ok().map(Scalar::F64),
        },
        Elem::U64 => token.parse().ok().map(Scalar::U64),
        Elem::Handle => None,
        _ => {
            let value = Scalar::I64(token.parse().ok()?);
            let narrowed = eval_convert(value, elem)?;
            (narrowed.as_i64() == value.as_i64()).then_some(narrowed)
        }
    }
}
