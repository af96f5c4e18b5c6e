//! The steps of formulas as operations of a function under construction.

use std::cell::RefCell;

use ravel_math::MathOp;
use ravel_math::machine::{BinOp, Cmp, Conv, Kind, Machine, UnOp, Val};
use ravel_nest::builder::FuncBuilder;
use ravel_nest::ir::{self as nest, ConvOp, FloatCmp, IntCmp, Prim};

pub(super) struct Steps<'a, 'b>(pub &'a RefCell<&'b mut FuncBuilder>);

impl Steps<'_, '_> {
    fn with<T>(&self, f: impl FnOnce(&mut FuncBuilder) -> T) -> T {
        f(&mut self.0.borrow_mut())
    }

    /// The number of a value is what formulas hand around.
    pub fn val(&self, v: nest::Value) -> Val {
        let kind = match self.with(|b| b.ty(v)).prim {
            Prim::F32 => Kind::F32,
            Prim::F64 => Kind::F64,
            Prim::I32 => Kind::I32,
            _ => Kind::I64,
        };
        Val { raw: u64::from(v.as_u32()), kind }
    }

    pub fn value(v: Val) -> nest::Value {
        nest::Value::from_u32(v.raw as u32)
    }

    fn step(&self, f: impl FnOnce(&mut FuncBuilder) -> nest::Value) -> Val {
        let made = self.with(f);
        self.val(made)
    }

    fn truth(&self, f: impl FnOnce(&mut FuncBuilder) -> nest::Value) -> Val {
        Val { raw: u64::from(self.with(f).as_u32()), kind: Kind::Truth }
    }
}

impl Machine for Steps<'_, '_> {
    fn constant(&self, like: Val, value: f64) -> Val {
        self.step(|b| {
            let ty = b.ty(Self::value(like));
            b.fconst(ty, value)
        })
    }

    fn bits(&self, like: Val, bits: u64) -> Val {
        self.step(|b| {
            let ty = b.ty(Self::value(like));
            b.bits(ty, bits)
        })
    }

    fn unary(&self, op: UnOp, x: Val) -> Val {
        let op = match op {
            UnOp::Neg => nest::UnOp::FNeg,
            UnOp::Abs => nest::UnOp::FAbs,
            UnOp::Sqrt => nest::UnOp::Sqrt,
            UnOp::Nearest => nest::UnOp::Nearest,
            UnOp::Floor => nest::UnOp::Floor,
            UnOp::Trunc => nest::UnOp::Trunc,
        };
        self.step(|b| b.unary(op, Self::value(x)))
    }

    fn binary(&self, op: BinOp, x: Val, y: Val) -> Val {
        let op = match op {
            BinOp::FAdd => nest::BinOp::FAdd,
            BinOp::FSub => nest::BinOp::FSub,
            BinOp::FMul => nest::BinOp::FMul,
            BinOp::FDiv => nest::BinOp::FDiv,
            BinOp::FMin => nest::BinOp::FMin,
            BinOp::FMax => nest::BinOp::FMax,
            BinOp::IAdd => nest::BinOp::IAdd,
            BinOp::UShr => nest::BinOp::UShr,
            BinOp::Shl => nest::BinOp::Shl,
            BinOp::And => nest::BinOp::And,
            BinOp::Or => nest::BinOp::Or,
            BinOp::Xor => nest::BinOp::Xor,
        };
        let made = |b: &mut FuncBuilder| b.binary(op, Self::value(x), Self::value(y));
        if x.kind == Kind::Truth { self.truth(made) } else { self.step(made) }
    }

    fn compare(&self, cmp: Cmp, x: Val, y: Val) -> Val {
        let (p, q) = (Self::value(x), Self::value(y));
        if matches!(x.kind, Kind::F32 | Kind::F64) {
            let cmp = match cmp {
                Cmp::Eq => FloatCmp::Eq,
                Cmp::Ne => FloatCmp::Ne,
                Cmp::Lt => FloatCmp::Lt,
                Cmp::Le => FloatCmp::Le,
                Cmp::Gt => FloatCmp::Gt,
            };
            return self.truth(|b| b.fcmp(cmp, p, q));
        }
        let cmp = match cmp {
            Cmp::Eq => IntCmp::Eq,
            Cmp::Ne => IntCmp::Ne,
            Cmp::Lt => IntCmp::Slt,
            Cmp::Le => IntCmp::Sle,
            Cmp::Gt => IntCmp::Sgt,
        };
        self.truth(|b| b.icmp(cmp, p, q))
    }

    fn fma(&self, x: Val, y: Val, z: Val) -> Val {
        self.step(|b| b.fma(Self::value(x), Self::value(y), Self::value(z)))
    }

    fn convert(&self, how: Conv, x: Val, to: Kind) -> Val {
        let how = match how {
            Conv::Bits => ConvOp::Bits,
            Conv::Float => ConvOp::FConv,
            Conv::Signed => ConvOp::SToF,
        };
        let to = match to {
            Kind::F32 => Prim::F32,
            Kind::F64 => Prim::F64,
            Kind::I32 => Prim::I32,
            Kind::I64 | Kind::Truth => Prim::I64,
        };
        self.step(|b| b.convert(how, Self::value(x), to))
    }

    fn select(&self, truth: Val, x: Val, y: Val) -> Val {
        self.step(|b| b.select(Self::value(truth), Self::value(x), Self::value(y)))
    }

    fn not(&self, truth: Val) -> Val {
        self.truth(|b| {
            let ty = b.ty(Self::value(truth));
            let all = b.bits(ty, if ty.is_vector() { u64::MAX } else { 1 });
            b.binary(nest::BinOp::Xor, Self::value(truth), all)
        })
    }

    fn library(&self, op: MathOp, x: Val) -> Val {
        let op = nest::MathOp::from_name(op.name()).expect("formulas have the names of functions");
        self.step(|b| b.math(op, &[Self::value(x)]))
    }

    fn rarely(&self, when: Val, usual: &[Val], rare: &mut dyn FnMut() -> Vec<Val>) -> Vec<Val> {
        let when = Self::value(when);
        let any = self.with(|b| if b.ty(when).is_vector() { b.any(when) } else { when });
        self.with(|b| b.begin_if(any));
        let rare: Vec<_> = rare().into_iter().map(Self::value).collect();
        self.with(|b| b.begin_else(&rare));
        let usual: Vec<_> = usual.iter().map(|v| Self::value(*v)).collect();
        let results = self.with(|b| b.end_if(&usual));
        results.into_iter().map(|v| self.val(v)).collect()
    }
}
