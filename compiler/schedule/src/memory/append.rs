//! Arrays that get longer, in their own memory.
//!
//! ```text
//!    b = with { [0] <= [i] < [n] : a[i];  [n] <= [i] < [m] : f(i); } : genarray([m])
//!                                                        =>      b = a, if it can be resized to m, or a new array and a copy;  b[n .. m] = f
//! ```
//!
//! So `a = a ++ [x]` in a loop writes one element in most iterations: an array is copied only when its block has no room left (`ravel_resize`), or
//! something else holds it. The first partition must be all of an array that is used for the last time, and nothing else may look
//! at that. On any number of axes, the first of which gets longer.
//!
//! Leaves alone: arrays of handles, programs with a device, results in the memory of something around them.

use ravel_nest::ir::{IntCmp, Ty};
use ravel_types::Elem;
use ravel_wir::{Frame, Generator, Inst, Op, Part, Value, With, WithOp};

use crate::Result;
use crate::facts::{Ext, Facts, Sink};
use crate::lower::Lower;
use crate::lower::emit::Around;

impl Facts<'_> {
    /// The array that a partition copies from end to end, if only its first extent differs from that of the frame.
    fn copied_whole(&self, part: &Part, frame: &[Value]) -> Option<Value> {
        let Generator::Known { lower, upper, step: None, .. } = &part.generator else { return None };
        let body = &self.func.regions[part.body];
        let ([cell], [load]) = (&body.yields[..], &body.insts[..]) else { return None };
        let Op::Sel { array, index } = &self.func.insts[*load].op else { return None };
        let extents = self.func.ty(*array).shape.extents()?;
        let is_extent = |axis: usize, v: Value| {
            let known = extents[axis].as_const();
            match self.live.def(v).map(|inst| &self.func.insts[inst].op) {
                Some(Op::Extent { array: of, axis: along }) => of == array && *along as usize == axis,
                _ => known.is_some() && known == self.const_i32(v).and_then(|n| i32::try_from(n).ok()),
            }
        };
        let whole = extents.len() == frame.len()
            && self.func.insts[*load].results[..] == [*cell]
            && *index == body.params
            && lower.iter().all(|v| self.const_i32(*v) == Some(0))
            && upper.iter().enumerate().all(|(axis, v)| is_extent(axis, *v))
            && upper.iter().zip(frame).skip(1).all(|(u, f)| self.same_scalar(*u, *f));
        whole.then_some(*array)
    }

    /// The partition that copies an array, and the array, if it may become the result.
    fn grown_operand(&self, with: &With, result: Value) -> Option<(usize, Value)> {
        let [WithOp::Genarray { frame: Frame::Known(frame), cell: Some(cell), .. }] = &with.ops[..] else {
            return None;
        };
        let elem = self.elem(result);
        if with.ordered
            || with.parts.len() < 2
            || !cell.is_empty()
            || elem == Elem::Handle
            || self.options.device.is_some()
            || self.dests.contains_key(&result)
            || self.func.ty(result).shape.constants().is_some()
            || !self.covers(with, frame)
        {
            return None;
        }
        with.parts.iter().enumerate().find_map(|(n, part)| {
            let array = self.copied_whole(part, frame)?;
            let alone = |(k, other): (usize, &Part)| k == n || !self.live.free(other.body).contains(&array);
            let takes = self.elem(array) == elem
                && !self.is_view(array)
                && self.dies_in(with, array)
                && with.parts.iter().enumerate().all(alone);
            takes.then_some((n, array))
        })
    }
}

impl Lower<'_, '_> {
    /// Lowers a with-loop that makes an array longer; false if nothing was emitted.
    pub fn try_growth(&mut self, inst: Inst, with: &With) -> Result<bool> {
        let span = self.func.insts[inst].span;
        let [result] = self.func.insts[inst].results[..] else { return Ok(false) };
        let Some((copy, array)) = self.grown_operand(with, result) else { return Ok(false) };
        let [WithOp::Genarray { frame: Frame::Known(frame), .. }] = &with.ops[..] else { return Ok(false) };
        self.cx
            .remark(span, "in the memory of the array that gets longer, if nothing else holds that and there is room");
        // What the new elements need is known before the array has other extents.
        for (_, part) in with.parts.iter().enumerate().filter(|(n, _)| *n != copy) {
            self.preload(part.body);
        }
        let extents: Vec<Ext> = frame.iter().map(|v| self.scalar_extent(*v)).collect();
        self.set_position(span);
        let rows = self.extent_val(extents[0]);
        let before = self.hand_over(array);
        let elem = self.elem(result);
        let resized = self.helper("ravel_resize", &[before, rows], Some(Ty::I8)).expect("called with a result type");
        let zero = self.b.iconst(Ty::I8, 0);
        let stays = self.b.icmp(IntCmp::Ne, resized, zero);
        let cache = self.emit.cache.clone();
        self.b.begin_if(stays);
        self.b.begin_else(&[before]);
        let new = self.allocate(elem, &extents, span);
        let object = self.b.end_if(&[new])[0];
        self.emit.cache = cache;
        let data = self.target_of(object);
        let strides = self.strides_of(&extents, Ext::Const(1));
        let sinks = [Sink::Slice { elem, data, object: Some(object), strides, cell: Ext::Const(1), reused: None }];
        for (n, part) in with.parts.iter().enumerate().filter(|(n, _)| *n != copy) {
            self.cx.part = Some(n);
            self.partition(inst, with, part, (&sinks, Around::NOTHING), Vec::new())?;
        }
        let moves = self.b.icmp(IntCmp::Ne, object, before);
        let cache = self.emit.cache.clone();
        self.b.begin_if(moves);
        self.cx.part = Some(copy);
        self.partition(inst, with, &with.parts[copy], (&sinks, Around::NOTHING), Vec::new())?;
        self.release(array, before);
        self.b.end_if(&[]);
        self.emit.cache = cache;
        self.bind(result, object);
        Ok(true)
    }
}
