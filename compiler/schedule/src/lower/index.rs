//! Addresses: index expressions as affine forms in 64 bits, row-major offsets, and what of them can be computed outside of loops.

use ravel_nest::ir::BinOp as NestBin;
use ravel_wir::Value;

use crate::facts::{Ext, Offset, Term, Val};
use crate::lower::Lower;
use crate::lower::emit::Key;

impl Lower<'_, '_> {
    /// The address `base + offset` as a pointer and a constant number of bytes.
    pub fn address(&mut self, base: Val, offset: &Offset) -> (Val, i32) {
        let mut address = base;
        for term in &offset.terms {
            address = self.step_address(address, term);
        }
        match i32::try_from(offset.constant) {
            Ok(bytes) => (address, bytes),
            Err(_) => {
                let bytes = self.b.i64(offset.constant);
                (self.b.ptr_add(address, bytes), 0)
            }
        }
    }

    /// Computes, at this point of the code, what of an address is known here, so that loops opened later find it done.
    pub fn prepare_address(&mut self, base: Val, offset: &Offset) {
        let mut address = base;
        for term in &offset.terms {
            if term.atom.is_some_and(|v| !self.is_bound(v) && self.const_i32(v).is_none()) {
                return;
            }
            address = self.step_address(address, term);
        }
    }

    /// Value of a term in bytes.
    pub fn term(&mut self, term: &Term) -> Val {
        match term.atom {
            Some(v) => {
                let atom = self.wide(v);
                self.scaled(atom, term.bytes, term.stride)
            }
            None => match term.stride {
                Some(stride) => self.scaled(stride, term.bytes, None),
                None => self.b.i64(term.bytes),
            },
        }
    }

    /// `value * factor * stride`, once per scope.
    pub fn scaled(&mut self, value: Val, factor: i64, stride: Option<Val>) -> Val {
        if factor == 1 && stride.is_none() {
            return value;
        }
        self.cached(Key::Scaled(value, factor, stride), |lower| {
            let mut product = value;
            if let Some(stride) = stride {
                product = lower.b.mul(product, stride);
            }
            lower.times(product, factor)
        })
    }

    /// A product with a constant, by a shift for powers of two.
    pub fn times(&mut self, value: Val, factor: i64) -> Val {
        if factor == 1 {
            return value;
        }
        if factor > 0 && factor.count_ones() == 1 {
            let shift = self.b.i64(i64::from(factor.trailing_zeros()));
            return self.b.binary(NestBin::Shl, value, shift);
        }
        let factor = self.b.i64(factor);
        self.b.mul(value, factor)
    }

    /// An extent as an `i64` of the generated code.
    pub fn extent_val(&mut self, ext: Ext) -> Val {
        match ext {
            Ext::Const(k) => self.b.i64(k),
            Ext::Val(v) => v,
        }
    }

    /// Product of two extents.
    pub fn extent_product(&mut self, a: Ext, b: Ext) -> Ext {
        match (a, b) {
            (Ext::Const(a), Ext::Const(b)) => Ext::Const(a.saturating_mul(b)),
            (Ext::Const(1), other) | (other, Ext::Const(1)) => other,
            (Ext::Const(k), Ext::Val(v)) | (Ext::Val(v), Ext::Const(k)) => Ext::Val(self.scaled(v, k, None)),
            (Ext::Val(a), Ext::Val(b)) => Ext::Val(self.scaled(a, 1, Some(b))),
        }
    }

    /// Row-major strides, in elements, of an array with these extents whose elements are `cell` long.
    pub fn strides_of(&mut self, extents: &[Ext], cell: Ext) -> Vec<Ext> {
        let mut strides = vec![cell; extents.len()];
        for axis in (1..extents.len()).rev() {
            strides[axis - 1] = self.extent_product(strides[axis], extents[axis]);
        }
        strides
    }

    /// Product of extents.
    pub fn product(&mut self, extents: &[Ext]) -> Ext {
        extents.iter().fold(Ext::Const(1), |product, e| self.extent_product(product, *e))
    }

    /// An `i32` scalar as an extent.
    pub fn scalar_extent(&mut self, v: Value) -> Ext {
        match self.const_i32(v) {
            Some(k) => Ext::Const(k),
            None => Ext::Val(self.wide(v)),
        }
    }
}
