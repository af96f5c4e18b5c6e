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
use ravel_wir::{Inst, With};

use crate::Result;
use crate::facts::{Ext, Sink};
use crate::lower::Lower;
use crate::lower::emit::Around;
use crate::plan::append::Append;

impl Lower<'_, '_> {
    /// A with-loop that makes an array longer.
    pub fn append(&mut self, inst: Inst, with: &With, plan: &Append) -> Result<()> {
        let &Append { array, copy, ref frame } = plan;
        let (span, result) = (self.func.insts[inst].span, self.func.insts[inst].results[0]);
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
        Ok(())
    }
}
