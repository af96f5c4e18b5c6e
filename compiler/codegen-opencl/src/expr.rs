//! Operators as OpenCL C expressions.
//!
//! Expressions know their C type and their precedence, so that casts and parentheses stand only where C needs them. Integers
//! that may overflow are computed as unsigned numbers, for overflow of signed ones has no meaning in C; where bounds show that nothing
//! overflows, plain signed arithmetic is written.

use ravel_nest::ir::{BinOp, ConvOp, FloatCmp, IntCmp, MathOp, Prim, Ty, UnOp};

use crate::ranges::{self, Range};

/// How tightly an expression binds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Prec {
    /// Names, numbers, calls, subscripts.
    Atom,
    /// Signs and casts.
    Unary,
    /// Products.
    Product,
    /// Sums.
    Sum,
    /// Everything else.
    Other,
    /// A choice.
    Choice,
}

/// The C type of an expression, as far as it matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CType {
    /// A signed integer that C computes in 32 bits.
    Int,
    /// The same without sign.
    UInt,
    /// A signed integer of 64 bits.
    Long,
    /// The same without sign.
    ULong,
    /// A float.
    Real,
}

/// An expression.
#[derive(Clone, Debug)]
pub(crate) struct Expr {
    pub text: String,
    pub prec: Prec,
    pub ctype: CType,
}

/// The type of variables of a machine type.
pub(crate) fn ctype_of(prim: Prim) -> CType {
    match prim {
        Prim::I8 | Prim::I16 | Prim::I32 => CType::Int,
        Prim::I64 => CType::Long,
        Prim::Ptr => CType::ULong,
        Prim::F32 | Prim::F64 => CType::Real,
    }
}

impl Expr {
    pub fn atom(text: impl Into<String>, ctype: CType) -> Expr {
        Expr { text: text.into(), prec: Prec::Atom, ctype }
    }

    fn new(text: String, prec: Prec, ctype: CType) -> Expr {
        Expr { text, prec, ctype }
    }

    pub fn cast(to: &str, x: &Expr, ctype: CType) -> Expr {
        Expr::new(format!("({to}){}", x.within(Prec::Unary)), Prec::Unary, ctype)
    }

    /// As an operand that must bind at least as tightly.
    pub fn within(&self, prec: Prec) -> String {
        if self.prec <= prec { self.text.clone() } else { format!("({})", self.text) }
    }

    /// As a signed number.
    pub fn signed(&self) -> Expr {
        match self.ctype {
            CType::UInt => Expr::cast("int", self, CType::Int),
            CType::ULong => Expr::cast("long", self, CType::Long),
            _ => self.clone(),
        }
    }

    /// As a signed number of 64 bits.
    pub fn long(&self) -> Expr {
        match self.ctype {
            CType::Long => self.clone(),
            CType::ULong => self.signed(),
            _ => Expr::cast("long", &self.signed(), CType::Long),
        }
    }

    /// As an unsigned number of this width.
    fn unsigned(&self, prim: Prim) -> Expr {
        match (prim, self.ctype) {
            (Prim::I8, _) => Expr::cast("uchar", self, CType::Int),
            (Prim::I16, _) => Expr::cast("ushort", self, CType::Int),
            (Prim::I32, CType::UInt) | (_, CType::ULong) => self.clone(),
            (Prim::I32, _) => Expr::cast("uint", self, CType::UInt),
            _ => Expr::cast("ulong", &self.signed(), CType::ULong),
        }
    }

    /// As a number of exactly this type, for overloaded functions.
    fn typed(&self, prim: Prim) -> String {
        match prim {
            Prim::I8 | Prim::I16 => Expr::cast(c_type(prim), self, CType::Int).text,
            Prim::I32 if matches!(self.ctype, CType::Long | CType::ULong) => Expr::cast("int", self, CType::Int).text,
            Prim::I32 => self.signed().text,
            _ => self.long().text,
        }
    }
}

/// The C type of a scalar.
pub(crate) fn c_type(prim: Prim) -> &'static str {
    match prim {
        Prim::I8 => "char",
        Prim::I16 => "short",
        Prim::I32 => "int",
        Prim::I64 => "long",
        Prim::F32 => "float",
        Prim::F64 => "double",
        Prim::Ptr => "ulong",
    }
}

/// The C type of a scalar or a vector.
pub(crate) fn type_name(ty: Ty) -> String {
    if ty.is_vector() { format!("{}{}", c_type(ty.prim), ty.lanes) } else { c_type(ty.prim).to_string() }
}

/// A scalar in all lanes of a vector.
pub(crate) fn splat(ty: Ty, x: &Expr) -> Expr {
    Expr::atom(format!("({})({})", type_name(ty), x.text), CType::Real)
}

/// The C type of a variable with these bounds.
pub(crate) fn variable_type(prim: Prim, range: Range) -> (&'static str, CType) {
    if prim == Prim::I64 && ranges::is_int(range) { ("int", CType::Int) } else { (c_type(prim), ctype_of(prim)) }
}

fn unsigned_name(prim: Prim) -> &'static str {
    match prim {
        Prim::I8 => "uchar",
        Prim::I16 => "ushort",
        Prim::I32 => "uint",
        _ => "ulong",
    }
}

/// A constant.
pub(crate) fn constant(ty: Ty, bits: u64) -> Expr {
    let literal = |text: String, ctype| {
        let prec = if text.starts_with('-') { Prec::Unary } else { Prec::Atom };
        Expr::new(text, prec, ctype)
    };
    match ty.prim {
        Prim::F32 => {
            let x = f32::from_bits(bits as u32);
            if x.is_finite() {
                literal(format!("{x:?}f"), CType::Real)
            } else {
                Expr::atom(format!("as_float(0x{:x}u)", bits as u32), CType::Real)
            }
        }
        Prim::F64 => {
            let x = f64::from_bits(bits);
            if x.is_finite() {
                literal(format!("{x:?}"), CType::Real)
            } else {
                Expr::atom(format!("as_double(0x{bits:x}ul)"), CType::Real)
            }
        }
        prim => {
            let unused = 64 - prim.bits();
            match ((bits << unused) as i64) >> unused {
                i64::MIN => Expr::atom("LONG_MIN", CType::Long),
                k if k == i64::from(i32::MIN) => Expr::atom("INT_MIN", CType::Int),
                k if i32::try_from(k).is_ok() => literal(k.to_string(), CType::Int),
                k => literal(format!("{k}L"), CType::Long),
            }
        }
    }
}

/// Operands of a binary operator with their bounds.
pub(crate) struct Operands<'e> {
    pub prim: Prim,
    pub x: &'e Expr,
    pub y: &'e Expr,
    pub x_range: Range,
    pub y_range: Range,
}

/// A sum, difference, product or left shift.
fn arithmetic(op: BinOp, o: &Operands<'_>) -> Expr {
    let (sign, prec, right) = match op {
        BinOp::IAdd => ("+", Prec::Sum, Prec::Product),
        BinOp::ISub => ("-", Prec::Sum, Prec::Product),
        BinOp::IMul => ("*", Prec::Product, Prec::Unary),
        _ => ("<<", Prec::Other, Prec::Unary),
    };
    let left = if op == BinOp::Shl { Prec::Unary } else { prec };
    let write =
        |x: &Expr, y: &Expr, ctype| Expr::new(format!("{} {sign} {}", x.within(left), y.within(right)), prec, ctype);
    let exact = ranges::exact(op, o.prim, o.x_range, o.y_range);
    match exact {
        Some(range) if op != BinOp::Shl || o.x_range.0 >= 0 => {
            let (x, y) = (o.x.signed(), o.y.signed());
            if ranges::is_int(range) || x.ctype == CType::Long || (y.ctype == CType::Long && op != BinOp::Shl) {
                let long = x.ctype == CType::Long || (y.ctype == CType::Long && op != BinOp::Shl);
                return write(&x, &y, if long { CType::Long } else { CType::Int });
            }
            write(&x.long(), &y, CType::Long)
        }
        _ => match o.prim {
            // Narrow integers are computed in `int`, where they cannot overflow.
            Prim::I8 | Prim::I16 if op != BinOp::Shl => {
                Expr::cast(c_type(o.prim), &write(&o.x.signed(), &o.y.signed(), CType::Int), CType::Int)
            }
            Prim::I8 | Prim::I16 => {
                Expr::cast(c_type(o.prim), &write(&o.x.unsigned(o.prim), &o.y.signed(), CType::Int), CType::Int)
            }
            Prim::I32 if o.y.ctype == CType::UInt && op != BinOp::Shl => write(o.x, o.y, CType::UInt),
            Prim::I32 => write(&o.x.unsigned(Prim::I32), o.y, CType::UInt),
            _ => write(&o.x.unsigned(Prim::I64), &o.y.signed(), CType::ULong),
        },
    }
}

pub(crate) fn unary(op: UnOp, prim: Prim, x: &Expr, range: Range) -> Expr {
    let call = |name: &str| Expr::atom(format!("{name}({})", x.text), CType::Real);
    match op {
        UnOp::INeg => {
            let zero = constant(Ty::scalar(prim), 0);
            let difference =
                arithmetic(BinOp::ISub, &Operands { prim, x: &zero, y: x, x_range: (0, 0), y_range: range });
            match difference.ctype {
                CType::Int | CType::Long if difference.prec == Prec::Sum => {
                    let x = x.signed();
                    Expr::new(format!("-{}", x.within(Prec::Atom)), Prec::Unary, x.ctype)
                }
                _ => difference,
            }
        }
        UnOp::Not => Expr::new(format!("~{}", x.signed().within(Prec::Atom)), Prec::Unary, x.signed().ctype),
        UnOp::IAbs if range.0 >= 0 => x.clone(),
        UnOp::IAbs => {
            Expr::cast(c_type(prim), &Expr::atom(format!("abs({})", x.typed(prim)), CType::Int), ctype_of(prim))
        }
        UnOp::FNeg => Expr::new(format!("-{}", x.within(Prec::Atom)), Prec::Unary, CType::Real),
        UnOp::FAbs => call("fabs"),
        UnOp::Sqrt => call("sqrt"),
        UnOp::Floor => call("floor"),
        UnOp::Ceil => call("ceil"),
        UnOp::Trunc => call("trunc"),
        UnOp::Nearest => call("rint"),
    }
}

/// `constant` is the right operand if that is known.
pub(crate) fn binary(op: BinOp, o: &Operands<'_>, constant: Option<i64>) -> Expr {
    let prim = o.prim;
    let bits = i64::from(prim.bits());
    let real = |sign: &str, prec: Prec, right: Prec| {
        Expr::new(format!("{} {sign} {}", o.x.within(prec), o.y.within(right)), prec, CType::Real)
    };
    let signed = |sign: &str, prec: Prec| {
        let (x, y) = (o.x.signed(), o.y.signed());
        let left = if prec == Prec::Other { Prec::Sum } else { prec };
        let right = if prec == Prec::Other { Prec::Sum } else { Prec::Unary };
        let long = x.ctype == CType::Long || y.ctype == CType::Long;
        Expr::new(
            format!("{} {sign} {}", x.within(left), y.within(right)),
            prec,
            if long { CType::Long } else { CType::Int },
        )
    };
    let unsigned = |sign: &str, prec: Prec| {
        let (x, y) = (o.x.unsigned(prim), o.y.unsigned(prim));
        let e = Expr::new(format!("{} {sign} {}", x.within(Prec::Unary), y.within(Prec::Unary)), prec, x.ctype);
        if bits < 32 { Expr::cast(c_type(prim), &e, CType::Int) } else { e }
    };
    let amount = match constant {
        Some(k) => (k & (bits - 1)).to_string(),
        None => format!("({} & {})", o.y.signed().within(Prec::Sum), bits - 1),
    };
    let natural = o.x_range.0 >= 0 && o.y_range.0 >= 0;
    let least = |name: &str| Expr::atom(format!("{name}({}, {})", o.x.text, o.y.text), CType::Real);
    match op {
        BinOp::IAdd | BinOp::ISub | BinOp::IMul => arithmetic(op, o),
        BinOp::Shl => match constant {
            Some(k) if (0..bits).contains(&k) => arithmetic(op, o),
            _ => {
                let amount = Expr::atom(amount, CType::Int);
                arithmetic(
                    op,
                    &Operands { prim, x: o.x, y: &amount, x_range: ranges::full(prim), y_range: (0, bits - 1) },
                )
            }
        },
        BinOp::SDiv | BinOp::UDiv if natural => signed("/", Prec::Product),
        BinOp::SRem | BinOp::URem if natural => signed("%", Prec::Product),
        BinOp::SDiv if constant.is_some_and(|k| k != -1) || o.y_range.0 > -1 || o.y_range.1 < -1 => {
            signed("/", Prec::Product)
        }
        BinOp::SRem if constant.is_some_and(|k| k != -1) || o.y_range.0 > -1 || o.y_range.1 < -1 => {
            signed("%", Prec::Product)
        }
        // The least value over -1 wraps, and leaves no remainder.
        BinOp::SDiv => {
            let negated = unary(UnOp::INeg, prim, o.x, o.x_range).signed();
            let (x, y) = (o.x.signed(), o.y.signed());
            let ctype = ctype_of(prim);
            Expr::new(
                format!(
                    "{} == -1 ? {} : {} / {}",
                    y.within(Prec::Sum),
                    negated.within(Prec::Other),
                    x.within(Prec::Product),
                    y.within(Prec::Unary)
                ),
                Prec::Choice,
                ctype,
            )
        }
        BinOp::SRem => {
            let (x, y) = (o.x.signed(), o.y.signed());
            let ctype = ctype_of(prim);
            Expr::new(
                format!("{} == -1 ? 0 : {} % {}", y.within(Prec::Sum), x.within(Prec::Product), y.within(Prec::Unary)),
                Prec::Choice,
                ctype,
            )
        }
        BinOp::UDiv => unsigned("/", Prec::Product),
        BinOp::URem => unsigned("%", Prec::Product),
        BinOp::And => signed("&", Prec::Other),
        BinOp::Or => signed("|", Prec::Other),
        BinOp::Xor => signed("^", Prec::Other),
        BinOp::SShr => {
            let x = o.x.signed();
            Expr::new(format!("{} >> {amount}", x.within(Prec::Unary)), Prec::Other, x.ctype)
        }
        BinOp::UShr => {
            let x = o.x.unsigned(prim);
            let e = Expr::new(format!("{} >> {amount}", x.within(Prec::Unary)), Prec::Other, x.ctype);
            if bits < 32 { Expr::cast(c_type(prim), &e, CType::Int) } else { e }
        }
        BinOp::SMin | BinOp::SMax => {
            let name = if op == BinOp::SMin { "min" } else { "max" };
            let int = prim == Prim::I64 && ranges::is_int(o.x_range) && ranges::is_int(o.y_range);
            let prim = if int { Prim::I32 } else { prim };
            Expr::atom(format!("{name}({}, {})", o.x.typed(prim), o.y.typed(prim)), ctype_of(prim))
        }
        BinOp::UMin | BinOp::UMax => {
            let name = if op == BinOp::UMin { "min" } else { "max" };
            let (x, y) = (o.x.unsigned(prim), o.y.unsigned(prim));
            let e = Expr::atom(format!("{name}({}, {})", x.text, y.text), x.ctype);
            if bits < 32 { Expr::cast(c_type(prim), &e, CType::Int) } else { e }
        }
        BinOp::FAdd => real("+", Prec::Sum, Prec::Product),
        BinOp::FSub => real("-", Prec::Sum, Prec::Product),
        BinOp::FMul => real("*", Prec::Product, Prec::Unary),
        BinOp::FDiv => real("/", Prec::Product, Prec::Unary),
        BinOp::FMin => least("MIN"),
        BinOp::FMax => least("MAX"),
    }
}

/// Definitions of the functions above that OpenCL does not have: a program begins with those it uses.
pub(crate) const DEFINITIONS: [(&str, &str); 2] = [
    ("MIN(", "#define MIN(x, y) ((y) < (x) || (y) != (y) ? (y) : (x))\n"),
    ("MAX(", "#define MAX(x, y) ((y) > (x) || (y) != (y) ? (y) : (x))\n"),
];

fn comparison(sign: &str, x: &Expr, y: &Expr) -> Expr {
    Expr::new(format!("{} {sign} {}", x.within(Prec::Sum), y.within(Prec::Sum)), Prec::Other, CType::Int)
}

pub(crate) fn int_compare(op: IntCmp, o: &Operands<'_>) -> Expr {
    let natural = o.x_range.0 >= 0 && o.y_range.0 >= 0;
    let signed = |sign: &str| comparison(sign, &o.x.signed(), &o.y.signed());
    let compare = |sign: &str| {
        if natural { signed(sign) } else { comparison(sign, &o.x.unsigned(o.prim), &o.y.unsigned(o.prim)) }
    };
    match op {
        IntCmp::Eq => signed("=="),
        IntCmp::Ne => signed("!="),
        IntCmp::Slt => signed("<"),
        IntCmp::Sle => signed("<="),
        IntCmp::Sgt => signed(">"),
        IntCmp::Sge => signed(">="),
        IntCmp::Ult => compare("<"),
        IntCmp::Ule => compare("<="),
        IntCmp::Ugt => compare(">"),
        IntCmp::Uge => compare(">="),
    }
}

pub(crate) fn float_compare(op: FloatCmp, a: &Expr, b: &Expr) -> Expr {
    let op = match op {
        FloatCmp::Eq => "==",
        FloatCmp::Ne => "!=",
        FloatCmp::Lt => "<",
        FloatCmp::Le => "<=",
        FloatCmp::Gt => ">",
        FloatCmp::Ge => ">=",
    };
    comparison(op, a, b)
}

/// `cond ? x : y`.
pub(crate) fn choice(cond: &Expr, x: &Expr, y: &Expr) -> Expr {
    let (x, y) = (x.signed(), y.signed());
    let ctype = if x.ctype == CType::Long || y.ctype == CType::Long { CType::Long } else { x.ctype };
    Expr::new(
        format!("{} ? {} : {}", cond.within(Prec::Other), x.within(Prec::Other), y.within(Prec::Other)),
        Prec::Choice,
        ctype,
    )
}

pub(crate) fn convert(op: ConvOp, from: Prim, to: Prim, x: &Expr, range: Range) -> Expr {
    let to_type = c_type(to);
    match op {
        ConvOp::SExt => x.signed(),
        ConvOp::ZExt if range.0 >= 0 => x.signed(),
        ConvOp::ZExt if from.bits() < 32 => x.unsigned(from),
        ConvOp::ZExt => Expr::cast("long", &x.unsigned(from), CType::Long),
        ConvOp::Narrow if x.ctype == CType::Int && ranges::within(range, ranges::full(to)) => x.clone(),
        ConvOp::Narrow => Expr::cast(to_type, x, CType::Int),
        ConvOp::FConv => Expr::cast(to_type, x, CType::Real),
        ConvOp::SToF => Expr::cast(to_type, &x.signed(), CType::Real),
        ConvOp::UToF => Expr::cast(to_type, &x.unsigned(from), CType::Real),
        ConvOp::FToS => Expr::atom(format!("convert_{to_type}_sat({})", x.text), ctype_of(to)),
        ConvOp::FToU => {
            let number = Expr::atom(format!("convert_{}_sat({})", unsigned_name(to), x.text), CType::Int);
            match to {
                Prim::I32 => Expr { ctype: CType::UInt, ..number },
                Prim::I64 => Expr { ctype: CType::ULong, ..number },
                _ => Expr::cast(to_type, &number, CType::Int),
            }
        }
        ConvOp::Bits if from.is_int() && from != Prim::I32 => {
            Expr::atom(format!("as_{to_type}({})", x.typed(from)), ctype_of(to))
        }
        ConvOp::Bits => Expr::atom(format!("as_{to_type}({})", x.text), ctype_of(to)),
    }
}

/// A mathematical function; OpenCL has all of them under C's names.
pub(crate) fn math(op: MathOp, args: &[Expr]) -> Expr {
    let list: Vec<&str> = args.iter().map(|x| x.text.as_str()).collect();
    Expr::atom(format!("{}({})", op.name(), list.join(", ")), CType::Real)
}

/// Parts of the subscript of an element: terms with their factors and bounds, and a constant.
#[derive(Default)]
pub(crate) struct Subscript {
    pub terms: Vec<(Expr, i64, Range)>,
    pub constant: i64,
}

impl Subscript {
    /// The subscript of the vector of so many elements that begins there; nothing unless all terms are whole vectors.
    pub fn divided(&self, lanes: i64) -> Option<Subscript> {
        let whole = self.constant % lanes == 0 && self.terms.iter().all(|(_, factor, _)| factor % lanes == 0);
        let terms = || self.terms.iter().map(|(x, factor, range)| (x.clone(), factor / lanes, *range)).collect();
        whole.then(|| Subscript { terms: terms(), constant: self.constant / lanes })
    }

    /// The sum, in 64 bits where 32 might not do.
    pub fn write(mut self) -> String {
        if self.terms.is_empty() {
            return self.constant.to_string();
        }
        // Wide terms first, for they make the rest of the sum wide; then those that are added.
        self.terms.sort_by_key(|(x, factor, _)| (*factor < 0, x.signed().ctype != CType::Long));
        let mut text = String::new();
        let mut sum = Some((0, 0));
        let mut parts = Vec::new();
        for (_, factor, range) in &self.terms {
            let product = ranges::unbounded(BinOp::IMul, *range, (*factor, *factor));
            sum = sum.zip(product).and_then(|(a, b)| ranges::unbounded(BinOp::IAdd, a, b));
            parts.push(product);
        }
        let whole = sum.and_then(|sum| ranges::unbounded(BinOp::IAdd, sum, (self.constant, self.constant)));
        let mut lows = 0i64;
        let mut highs = 0i64;
        for part in parts.iter().flatten() {
            lows = lows.saturating_add(part.0.min(0));
            highs = highs.saturating_add(part.1.max(0));
        }
        let fits =
            whole.is_some_and(ranges::is_int) && ranges::is_int((lows, highs)) && parts.iter().all(Option::is_some);
        for (n, (x, factor, _)) in self.terms.iter().enumerate() {
            let x = x.signed();
            let small = parts[n].is_some_and(ranges::is_int);
            let widen = x.ctype != CType::Long && ((n == 0 && !fits) || (factor.abs() != 1 && !small));
            let x = if widen { x.long() } else { x };
            let size = factor.unsigned_abs();
            let product =
                if size == 1 { x.within(Prec::Product) } else { format!("{} * {size}", x.within(Prec::Product)) };
            match (n == 0, *factor < 0) {
                (true, false) => text = product,
                (true, true) => {
                    text = format!("-{}", if size == 1 { x.within(Prec::Atom) } else { format!("({product})") })
                }
                (false, false) => text.push_str(&format!(" + {product}")),
                (false, true) => text.push_str(&format!(" - {product}")),
            }
        }
        match self.constant {
            0 => {}
            k if k < 0 => text.push_str(&format!(" - {}", k.unsigned_abs())),
            k => text.push_str(&format!(" + {k}")),
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn int(name: &str) -> Expr {
        Expr::atom(name, CType::Int)
    }

    fn sum(prim: Prim, x: &Expr, y: &Expr, range: Range) -> Expr {
        binary(BinOp::IAdd, &Operands { prim, x, y, x_range: range, y_range: range }, None)
    }

    #[test]
    fn sums_are_plain_where_nothing_overflows_and_unsigned_elsewhere() {
        let (i, j) = (int("i"), int("j"));
        assert_eq!(sum(Prim::I32, &i, &j, (0, 1000)).text, "i + j");
        let wraps = sum(Prim::I32, &i, &j, ranges::full(Prim::I32));
        assert_eq!((wraps.text.as_str(), wraps.ctype), ("(uint)i + j", CType::UInt));
        assert_eq!(sum(Prim::I32, &wraps, &j, ranges::full(Prim::I32)).text, "(uint)i + j + j");
        assert_eq!(sum(Prim::I64, &i, &j, ranges::EXTENT).text, "(long)i + j");
        assert_eq!(wraps.signed().text, "(int)((uint)i + j)");
    }

    #[test]
    fn subscripts_are_wide_where_they_must_be() {
        let small = Subscript { terms: vec![(int("i"), 100, (0, 99)), (int("j"), 1, (0, 99))], constant: 1 };
        assert_eq!(small.write(), "i * 100 + j + 1");
        let large = Subscript { terms: vec![(int("i"), 1000, ranges::EXTENT), (int("j"), 1, (0, 99))], constant: -1 };
        assert_eq!(large.write(), "(long)i * 1000 + j - 1");
        let mixed = Subscript {
            terms: vec![(int("j"), 1, ranges::EXTENT), (Expr::atom("t", CType::Long), 1, (0, 1 << 40))],
            constant: 0,
        };
        assert_eq!(mixed.write(), "t + j");
    }

    #[test]
    fn parentheses_stand_where_the_order_needs_them() {
        let real = |name: &str| Expr::atom(name, CType::Real);
        let o = |x, y| Operands { prim: Prim::F32, x, y, x_range: (0, 0), y_range: (0, 0) };
        let (a, b, c) = (real("a"), real("b"), real("c"));
        let ab = binary(BinOp::FAdd, &o(&a, &b), None);
        assert_eq!(binary(BinOp::FAdd, &o(&ab, &c), None).text, "a + b + c");
        assert_eq!(binary(BinOp::FAdd, &o(&c, &ab), None).text, "c + (a + b)");
        assert_eq!(binary(BinOp::FMul, &o(&c, &ab), None).text, "c * (a + b)");
        assert_eq!(unary(UnOp::FNeg, Prim::F32, &ab, (0, 0)).text, "-(a + b)");
    }
}
