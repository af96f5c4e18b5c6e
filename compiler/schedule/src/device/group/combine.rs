//! Partial results of groups, and the launch that combines them: a work-item per element, in the order of the groups.
//!
//! Neutral elements that are one constant need no memory on the device.

use ravel_nest::ir::{Access, BinOp as NestBin, IntCmp, Ty};
use ravel_source::Span;
use ravel_types::{Elem, HashMap, Scalar};
use ravel_wir::{Combine, Op, Value, With, WithOp};

use crate::Result;
use crate::facts::{Ext, Facts, Val, prim_of};
use crate::lower::{Lower, scalars};

/// Partial results that are loaded before the first of them is used, for they are far away and do not wait for each other; fewer for the rest.
const TOGETHER: [i64; 3] = [16, 4, 1];

/// What a fold starts from.
enum Start {
    /// A scalar, or a constant all over an array.
    Value(Val),
    /// Object and buffer of an array.
    Array(Val, Val),
    /// The element of this array that the work-item has computed.
    Held(Value),
}

/// A fold over groups.
pub(crate) struct Partial {
    /// The result in WIR.
    pub of: Value,
    pub elem: Elem,
    /// Elements of the result and of each partial result.
    pub count: i64,
    /// Device memory of the partial results, one after the other.
    pub buffer: Val,
    object: Val,
    groups: Val,
    combine: Combine,
    start: Start,
    /// Object and buffer, unless nobody needs the result but the work-items that combine it.
    result: Option<(Val, Val)>,
    scalar: bool,
}

impl Facts<'_> {
    /// The element of an array constant whose elements have the same bits.
    fn constant_all_over(&self, v: Value) -> Option<Scalar> {
        match &self.func.insts[self.live.def(v)?].op {
            Op::ConstArray(data) => {
                let (first, rest) = data.values.split_first()?;
                rest.iter().all(|value| value.bits() == first.bits()).then_some(*first)
            }
            // Nothing but zeros.
            Op::With(With { parts, ops, .. })
                if parts.is_empty() && matches!(ops[..], [WithOp::Genarray { default: None, .. }]) =>
            {
                Scalar::zero(self.func.ty(v).elem)
            }
            _ => None,
        }
    }
}

impl Lower<'_, '_> {
    /// Memory for the partial results of a fold and for its result, if the result is `stored`. The neutral element is `held` by the work-items that
    /// combine, or else an array or scalar.
    #[expect(clippy::too_many_arguments, reason = "a fold as WIR has it, and where its ends are")]
    pub fn open_partial(
        &mut self,
        result: Value,
        neutral: Value,
        combine: &Combine,
        groups: Val,
        span: Span,
        held: bool,
        stored: bool,
    ) -> Partial {
        let elem = self.elem(result);
        let count = self.constant_count(result).unwrap_or(1);
        let scalar = self.func.ty(result).is_scalar();
        let object = self.allocate(elem, &[Ext::Val(groups), Ext::Const(count)], span);
        let buffer = self.buffer_of(object, "ravel_device_write");
        let start = if held {
            Start::Held(neutral)
        } else if scalar {
            Start::Value(self.val(neutral))
        } else if let Some(constant) = self.constant_all_over(neutral) {
            Start::Value(scalars::constant(&mut self.b, constant, 1))
        } else {
            let object = self.take(neutral);
            Start::Array(object, self.buffer_of(object, "ravel_device_read"))
        };
        let extents = self.func.ty(result).shape.constants().unwrap_or_default();
        let extents: Vec<Ext> =
            if scalar { vec![Ext::Const(1)] } else { extents.into_iter().map(|e| Ext::Const(i64::from(e))).collect() };
        let result_memory = (stored || scalar).then(|| {
            let total = self.allocate(elem, &extents, span);
            (total, self.buffer_of(total, "ravel_device_write"))
        });
        Partial {
            of: result,
            elem,
            count,
            buffer,
            object,
            groups,
            combine: combine.clone(),
            start,
            result: result_memory,
            scalar,
        }
    }

    fn buffer_of(&mut self, object: Val, call: &str) -> Val {
        self.helper_ptr(call, &[object])
    }

    /// One launch for all folds of a with-loop.
    pub fn combine_partials_on_device(&mut self, partials: &[&Partial]) -> Result<()> {
        let total: i64 = partials.iter().map(|p| p.count).sum();
        let total = self.b.i64(total);
        let cache = self.emit.cache.clone();
        let place = self.begin_groups(&[total], &[]);
        let mut first = 0;
        for (n, partial) in partials.iter().enumerate() {
            let last = n + 1 == partials.len();
            if !last {
                let end = self.b.i64(first + partial.count);
                let inside = self.b.icmp(IntCmp::Slt, place[0], end);
                self.b.begin_if(inside);
            }
            let skipped = self.b.i64(first);
            let element = self.b.sub(place[0], skipped);
            self.combine_element(partial, element, &HashMap::default())?;
            if !last {
                self.b.begin_else(&[]);
            }
            first += partial.count;
        }
        for _ in 1..partials.len() {
            self.b.end_if(&[]);
        }
        self.end_launch();
        self.emit.cache = cache;
        Ok(())
    }

    /// One element of a result, which goes to its place if it has one; `held` are elements of arrays that the work-item has computed.
    pub fn combine_element(&mut self, p: &Partial, element: Val, held: &HashMap<Value, Val>) -> Result<Val> {
        let (ty, size) = (Ty::scalar(prim_of(p.elem)), p.elem.bytes() as i64);
        let bytes = self.times(element, size);
        let start = match &p.start {
            Start::Value(value) => *value,
            Start::Array(_, buffer) => {
                let from = self.b.ptr_add(*buffer, bytes);
                self.b.load(ty, from, 0, Access::ALIGNED)
            }
            Start::Held(array) => *held.get(array).expect("a chain computes the neutral element before the fold"),
        };
        let row = self.b.i64(p.count * size);
        let column = self.b.ptr_add(p.buffer, bytes);
        let (mut from, mut total) = (self.b.i64(0), start);
        for together in TOGETHER {
            let (step, mask) = (self.b.i64(together), self.b.i64(-together));
            let to = if together > 1 { self.b.binary(NestBin::And, p.groups, mask) } else { p.groups };
            let (g, acc) = self.b.begin_for(from, to, step, &[total]);
            let skipped = self.b.mul(g, row);
            let first = self.b.ptr_add(column, skipped);
            let mut cells = Vec::new();
            for k in 0..together {
                let further = self.b.i64(k * p.count * size);
                let cell = self.b.ptr_add(first, further);
                cells.push(self.b.load(ty, cell, 0, Access::ALIGNED));
            }
            let mut next = acc[0];
            for cell in cells {
                next = self.combine_values(p, next, cell)?;
            }
            total = self.b.end_for(&[next])[0];
            from = to;
        }
        if let Some((_, buffer)) = p.result {
            let to = self.b.ptr_add(buffer, bytes);
            self.b.store(total, to, 0, Access::ALIGNED);
        }
        Ok(total)
    }

    fn combine_values(&mut self, p: &Partial, acc: Val, cell: Val) -> Result<Val> {
        match &p.combine {
            Combine::Op(op) => {
                let arith = self.arith();
                Ok(scalars::binary(&mut self.b, arith, *op, p.elem, acc, cell))
            }
            Combine::Region(region) => {
                let func = self.func;
                let outside = std::mem::replace(&mut self.kernel.in_kernel_loop, true);
                self.facts.site.sequential += 1;
                self.open(*region);
                for (&param, value) in func.regions[*region].params.iter().zip([acc, cell]) {
                    self.bind(param, value);
                }
                let next = self.body(*region)?;
                self.close();
                self.facts.site.sequential -= 1;
                self.kernel.in_kernel_loop = outside;
                match next.first() {
                    Some(&next) => Ok(next),
                    None => self.unsupported(Span::NONE, "a fold function without a result"),
                }
            }
        }
    }

    /// Gives back what the fold does not need any more; its result, a scalar fetched from the device. Nothing if it was not stored.
    pub fn close_partial(&mut self, p: Partial) -> Option<Val> {
        self.b.rc_dec(p.object);
        if let Start::Array(object, _) = p.start {
            self.b.rc_dec(object);
        }
        let (object, _) = p.result?;
        if !p.scalar {
            return Some(object);
        }
        self.emit.cache.remove(&crate::lower::emit::Key::Data(object));
        let data = self.data_of(object);
        let value = self.load_element(p.elem, (data, 0));
        self.b.rc_dec(object);
        Some(value)
    }
}
