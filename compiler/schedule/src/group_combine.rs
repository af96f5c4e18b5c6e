//! Partial results of groups, and the launch that combines them: a work-item per element, in the order of the groups.

use ravel_nest::ir::{Access, BinOp as NestBin, IntCmp, Ty};
use ravel_source::Span;
use ravel_types::Elem;
use ravel_wir::{Combine, Value};

use crate::Result;
use crate::index::Ext;
use crate::lower::{Lower, Val};
use crate::scalars::{self, prim_of};

/// Partial results that are loaded before the first of them is used.
const TOGETHER: i64 = 8;

/// A fold over groups.
pub(crate) struct Partial {
    pub elem: Elem,
    /// Elements of the result and of each partial result.
    pub count: i64,
    /// Device memory of the partial results, one after the other.
    pub buffer: Val,
    object: Val,
    groups: Val,
    combine: Combine,
    /// A scalar, or the object and buffer of an array.
    neutral: (Val, Option<Val>),
    result: (Val, Val),
    scalar: bool,
}

impl Lower<'_, '_> {
    /// Memory for the partial results of a fold and for its result.
    pub fn open_partial(&mut self, result: Value, neutral: Value, combine: &Combine, groups: Val, span: Span) -> Partial {
        let elem = self.elem(result);
        let count = self.constant_count(result).unwrap_or(1);
        let scalar = self.func.ty(result).is_scalar();
        let object = self.allocate(elem, &[Ext::Val(groups), Ext::Const(count)], span);
        let buffer = self.buffer_of(object, "ravel_device_write");
        let neutral = if scalar {
            (self.val(neutral), None)
        } else {
            let object = self.take(neutral);
            (object, Some(self.buffer_of(object, "ravel_device_read")))
        };
        let extents = self.func.ty(result).shape.constants().unwrap_or_default();
        let extents: Vec<Ext> = if scalar { vec![Ext::Const(1)] } else { extents.into_iter().map(|e| Ext::Const(i64::from(e))).collect() };
        let total = self.allocate(elem, &extents, span);
        let total_buffer = self.buffer_of(total, "ravel_device_write");
        Partial { elem, count, buffer, object, groups, combine: combine.clone(), neutral, result: (total, total_buffer), scalar }
    }

    fn buffer_of(&mut self, object: Val, call: &str) -> Val {
        self.helper(call, &[object], Some(Ty::PTR)).expect("called with a result type")
    }

    /// One launch for all folds of a with-loop.
    pub fn combine_partials_on_device(&mut self, partials: &[&Partial]) -> Result<()> {
        let total: i64 = partials.iter().map(|p| p.count).sum();
        let total = self.b.i64(total);
        let cache = self.cache.clone();
        let place = self.b.begin_launch(&[total]);
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
            self.combine_element(partial, element)?;
            if !last {
                self.b.begin_else(&[]);
            }
            first += partial.count;
        }
        for _ in 1..partials.len() {
            self.b.end_if(&[]);
        }
        self.b.end_launch();
        self.cache = cache;
        Ok(())
    }

    fn combine_element(&mut self, p: &Partial, element: Val) -> Result<()> {
        let (ty, size) = (Ty::scalar(prim_of(p.elem)), p.elem.bytes() as i64);
        let bytes = self.times(element, size);
        let start = match p.neutral {
            (value, None) => value,
            (_, Some(buffer)) => {
                let from = self.b.ptr_add(buffer, bytes);
                self.b.load(ty, from, 0, Access::ALIGNED)
            }
        };
        let row = self.b.i64(p.count * size);
        let (zero, one, step, mask) = (self.b.i64(0), self.b.i64(1), self.b.i64(TOGETHER), self.b.i64(-TOGETHER));
        let whole = self.b.binary(NestBin::And, p.groups, mask);
        let column = self.b.ptr_add(p.buffer, bytes);
        // Loads first: they do not wait for each other.
        let (g, acc) = self.b.begin_for(zero, whole, step, &[start]);
        let skipped = self.b.mul(g, row);
        let from = self.b.ptr_add(column, skipped);
        let mut cells = Vec::new();
        for k in 0..TOGETHER {
            let further = self.b.i64(k * p.count * size);
            let from = self.b.ptr_add(from, further);
            cells.push(self.b.load(ty, from, 0, Access::ALIGNED));
        }
        let mut next = acc[0];
        for cell in cells {
            next = self.combine_values(p, next, cell)?;
        }
        let acc = self.b.end_for(&[next]);
        let (g, acc) = self.b.begin_for(whole, p.groups, one, &acc);
        let skipped = self.b.mul(g, row);
        let from = self.b.ptr_add(column, skipped);
        let cell = self.b.load(ty, from, 0, Access::ALIGNED);
        let next = self.combine_values(p, acc[0], cell)?;
        let acc = self.b.end_for(&[next]);
        let to = self.b.ptr_add(p.result.1, bytes);
        self.b.store(acc[0], to, 0, Access::ALIGNED);
        Ok(())
    }

    fn combine_values(&mut self, p: &Partial, acc: Val, cell: Val) -> Result<Val> {
        match &p.combine {
            Combine::Op(op) => {
                let arith = self.arith();
                Ok(scalars::binary(&mut self.b, arith, *op, p.elem, acc, cell))
            }
            Combine::Region(region) => {
                let func = self.func;
                let outside = std::mem::replace(&mut self.in_kernel_loop, true);
                self.sequential += 1;
                self.open(*region);
                for (&param, value) in func.regions[*region].params.iter().zip([acc, cell]) {
                    self.bind(param, value);
                }
                let next = self.body(*region)?;
                self.close();
                self.sequential -= 1;
                self.in_kernel_loop = outside;
                match next.first() {
                    Some(&next) => Ok(next),
                    None => self.unsupported(Span::NONE, "a fold function without a result"),
                }
            }
        }
    }

    /// Gives back what the fold does not need any more; its result, a scalar fetched from the device.
    pub fn close_partial(&mut self, p: Partial) -> Val {
        self.b.rc_dec(p.object);
        if p.neutral.1.is_some() {
            self.b.rc_dec(p.neutral.0);
        }
        let (object, _) = p.result;
        if !p.scalar {
            return object;
        }
        self.cache.remove(&crate::lower::Key::Data(object));
        let data = self.data_of(object);
        let value = self.load_element(p.elem, (data, 0));
        self.b.rc_dec(object);
        value
    }
}
