//! Operators as OpenCL C expressions.

use ravel_nest::ir::{BinOp, ConvOp, FloatCmp, IntCmp, MathOp, Prim, Ty, UnOp};

/// An expression and whether it can stand as an operand without parentheses.
#[derive(Clone, Debug)]
pub(crate) struct Expr {
    pub text: String,
    pub atom: bool,
}

impl Expr {
    pub fn atom(text: impl Into<String>) -> Expr {
        Expr { text: text.into(), atom: true }
    }

    pub fn compound(text: impl Into<String>) -> Expr {
        Expr { text: text.into(), atom: false }
    }

    /// As an operand.
    pub fn operand(&self) -> String {
        if self.atom { self.text.clone() } else { format!("({})", self.text) }
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

fn unsigned(prim: Prim) -> &'static str {
    match prim {
        Prim::I8 => "uchar",
        Prim::I16 => "ushort",
        Prim::I32 => "uint",
        _ => "ulong",
    }
}

/// A constant.
pub(crate) fn constant(ty: Ty, bits: u64) -> Expr {
    let literal = |text: String| if text.starts_with('-') { Expr::compound(text) } else { Expr::atom(text) };
    match ty.prim {
        Prim::F32 => {
            let x = f32::from_bits(bits as u32);
            if x.is_finite() { literal(format!("{x:?}f")) } else { Expr::atom(format!("as_float(0x{:x}u)", bits as u32)) }
        }
        Prim::F64 => {
            let x = f64::from_bits(bits);
            if x.is_finite() { literal(format!("{x:?}")) } else { Expr::atom(format!("as_double(0x{bits:x}ul)")) }
        }
        Prim::I64 if bits as i64 == i64::MIN => Expr::atom("LONG_MIN"),
        Prim::I32 if bits as u32 as i32 == i32::MIN => Expr::atom("INT_MIN"),
        Prim::I64 => {
            let value = bits as i64;
            literal(if i32::try_from(value).is_ok() { value.to_string() } else { format!("{value}L") })
        }
        prim => {
            let unused = 64 - prim.bits();
            literal((((bits << unused) as i64) >> unused).to_string())
        }
    }
}

/// Wrapping arithmetic goes through unsigned numbers: overflow of signed ones has no meaning in C.
fn wrapping(prim: Prim, op: char, a: &Expr, b: &Expr) -> Expr {
    let (signed, unsigned) = (c_type(prim), unsigned(prim));
    match prim {
        // Narrow operands are computed in `int`, where they cannot overflow (products of shorts are made unsigned).
        Prim::I8 => Expr::compound(format!("({signed})({} {op} {})", a.operand(), b.operand())),
        _ => Expr::compound(format!("({signed})(({unsigned}){} {op} ({unsigned}){})", a.operand(), b.operand())),
    }
}

pub(crate) fn unary(op: UnOp, prim: Prim, x: &Expr) -> Expr {
    let call = |name: &str| Expr::atom(format!("{name}({})", x.text));
    match op {
        UnOp::INeg => wrapping(prim, '-', &Expr::atom("0"), x),
        UnOp::Not => Expr::compound(format!("({})~{}", c_type(prim), x.operand())),
        UnOp::IAbs => Expr::compound(format!("({})abs({})", c_type(prim), x.text)),
        UnOp::FNeg => Expr::compound(format!("-{}", x.operand())),
        UnOp::FAbs => call("fabs"),
        UnOp::Sqrt => call("sqrt"),
        UnOp::Floor => call("floor"),
        UnOp::Ceil => call("ceil"),
        UnOp::Trunc => call("trunc"),
        UnOp::Nearest => call("rint"),
    }
}

/// `constant` is the right operand if that is known; it spares the treatment of special divisors.
pub(crate) fn binary(op: BinOp, prim: Prim, a: &Expr, b: &Expr, constant: Option<i64>) -> Expr {
    let (x, y) = (a.operand(), b.operand());
    let (signed, uns) = (c_type(prim), unsigned(prim));
    let plain = |op: &str| Expr::compound(format!("{x} {op} {y}"));
    let as_unsigned = |op: &str| Expr::compound(format!("({signed})(({uns}){x} {op} ({uns}){y})"));
    let bits = prim.bits();
    let amount = match constant {
        Some(k) => (k & i64::from(bits - 1)).to_string(),
        None => format!("({y} & {})", bits - 1),
    };
    match op {
        BinOp::IAdd => wrapping(prim, '+', a, b),
        BinOp::ISub => wrapping(prim, '-', a, b),
        BinOp::IMul if prim == Prim::I16 => Expr::compound(format!("(short)((uint){x} * (uint){y})")),
        BinOp::IMul => wrapping(prim, '*', a, b),
        BinOp::SDiv if constant.is_some_and(|k| k != -1) => plain("/"),
        BinOp::SRem if constant.is_some_and(|k| k != -1) => plain("%"),
        // The least value over -1 wraps, and leaves no remainder.
        BinOp::SDiv => Expr::compound(format!("{y} == -1 ? {} : ({signed})({x} / {y})", wrapping(prim, '-', &Expr::atom("0"), a).text)),
        BinOp::SRem => Expr::compound(format!("{y} == -1 ? ({signed})0 : ({signed})({x} % {y})")),
        BinOp::UDiv => as_unsigned("/"),
        BinOp::URem => as_unsigned("%"),
        BinOp::And => plain("&"),
        BinOp::Or => plain("|"),
        BinOp::Xor => plain("^"),
        BinOp::Shl => Expr::compound(format!("({signed})(({uns}){x} << {amount})")),
        BinOp::SShr => Expr::compound(format!("({signed})({x} >> {amount})")),
        BinOp::UShr => Expr::compound(format!("({signed})(({uns}){x} >> {amount})")),
        BinOp::SMin => Expr::atom(format!("min({}, {})", typed(prim, a), typed(prim, b))),
        BinOp::SMax => Expr::atom(format!("max({}, {})", typed(prim, a), typed(prim, b))),
        BinOp::UMin => Expr::compound(format!("({signed})min(({uns}){x}, ({uns}){y})")),
        BinOp::UMax => Expr::compound(format!("({signed})max(({uns}){x}, ({uns}){y})")),
        BinOp::FAdd => plain("+"),
        BinOp::FSub => plain("-"),
        BinOp::FMul => plain("*"),
        BinOp::FDiv => plain("/"),
        BinOp::FMin => Expr::compound(format!("{x} < {y} ? {x} : {y}")),
        BinOp::FMax => Expr::compound(format!("{x} > {y} ? {x} : {y}")),
    }
}

/// An argument of an overloaded function: literals are `int` and must be told their type.
fn typed(prim: Prim, x: &Expr) -> String {
    match prim {
        Prim::I32 => x.text.clone(),
        _ => format!("({}){}", c_type(prim), x.operand()),
    }
}

pub(crate) fn int_compare(op: IntCmp, prim: Prim, a: &Expr, b: &Expr) -> Expr {
    let (x, y) = (a.operand(), b.operand());
    let uns = unsigned(prim);
    let signed = |op: &str| Expr::compound(format!("{x} {op} {y}"));
    let compare = |op: &str| Expr::compound(format!("({uns}){x} {op} ({uns}){y}"));
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
    Expr::compound(format!("{} {op} {}", a.operand(), b.operand()))
}

pub(crate) fn convert(op: ConvOp, from: Prim, to: Prim, x: &Expr) -> Expr {
    let (to_type, from_unsigned) = (c_type(to), unsigned(from));
    match op {
        ConvOp::Narrow | ConvOp::SExt | ConvOp::FConv | ConvOp::SToF => Expr::compound(format!("({to_type}){}", x.operand())),
        ConvOp::ZExt => Expr::compound(format!("({to_type})({from_unsigned}){}", x.operand())),
        ConvOp::UToF => Expr::compound(format!("({to_type})({from_unsigned}){}", x.operand())),
        ConvOp::FToS => Expr::atom(format!("convert_{to_type}_sat({})", x.text)),
        ConvOp::FToU => Expr::compound(format!("({to_type})convert_{}_sat({})", unsigned(to), x.text)),
        ConvOp::Bits => Expr::atom(format!("as_{to_type}({})", x.text)),
    }
}

/// A mathematical function; OpenCL has all of them under C's names.
pub(crate) fn math(op: MathOp, args: &[Expr]) -> Expr {
    let list: Vec<&str> = args.iter().map(|x| x.text.as_str()).collect();
    Expr::atom(format!("{}({})", op.name(), list.join(", ")))
}
