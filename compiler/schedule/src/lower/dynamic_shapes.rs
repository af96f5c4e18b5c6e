//! With-loops over index sets, frames or cells whose rank or shape only the run knows. Results are kept in stack slots and
//! addressed by the runtime.

use ravel_nest::ir::{Access, ConvOp, IntCmp, Prim, Ty};
use ravel_source::Span;
use ravel_types::Elem;
use ravel_wir::{Frame, Part, Value, With, WithOp};

use crate::Result;
use crate::facts::{Ext, Index, Sink, Val, layout};
use crate::lower::Lower;

impl Lower<'_, '_> {
    pub fn odometer(
        &mut self,
        with: &With,
        part: &Part,
        vectors: [Option<Value>; 4],
        sinks: &[Sink],
        carried: Vec<Val>,
    ) -> Result<Vec<Val>> {
        let func = self.func;
        let position = self.position(Span::NONE);
        let mut args = vec![position];
        for v in vectors {
            args.push(match v {
                Some(v) => self.val(v),
                None => self.b.null(),
            });
        }
        let state = self.helper_ptr("ravel_odometer_start", &args);
        let null = self.b.null();
        let some = self.b.icmp(IntCmp::Ne, state, null);
        self.b.begin_if(some);
        let inner = self.b.begin_loop(&carried);
        self.open(part.body);
        if let Some(&param) = func.regions[part.body].params.first() {
            let vector = self.helper_ptr("ravel_odometer_index", &[state]);
            self.bind(param, vector);
            self.own(param);
        }
        self.drop_unused();
        let next = self.cell_in_scope(with, part, sinks, &Index::Dyn(state), inner)?;
        self.close();
        let more = self.helper("ravel_odometer_next", &[state], Some(Ty::I8)).expect("called with a result type");
        let last = self.b.end_loop(more, &next);
        self.b.begin_else(&last);
        Ok(self.b.end_if(&carried))
    }

    pub fn allocate_frame(&mut self, frame: &Frame, elem: Elem, cell: Val, cell_rank: Val, span: Span) -> Result<Val> {
        let position = self.position(span);
        let tag = self.b.iconst(Ty::I8, i64::from(elem.tag()));
        let (vector, made) = match frame {
            Frame::Dyn(v) => (self.val(*v), false),
            Frame::Known(extents) => {
                let vector = self.allocate(Elem::I32, &[Ext::Const(extents.len() as i64)], span);
                let data = self.b.load(Ty::PTR, vector, layout::OFFSET_DATA, Access::ALIGNED);
                for (axis, &extent) in extents.iter().enumerate() {
                    let extent = self.val(extent);
                    self.b.store(extent, data, 4 * axis as i32, Access::ALIGNED);
                }
                (vector, true)
            }
        };
        let args = [position, tag, vector, cell, cell_rank];
        let object = self.helper_ptr("ravel_alloc_frame", &args);
        if made {
            self.b.rc_dec(vector);
        }
        Ok(object)
    }

    /// Number of frame axes.
    pub fn frame_axes(&mut self, frame: &Frame) -> Val {
        match frame {
            Frame::Known(extents) => self.b.i64(extents.len() as i64),
            Frame::Dyn(v) => {
                let vector = self.val(*v);
                self.count_of(vector)
            }
        }
    }

    pub fn fill_late(&mut self, object: Val, frame: &Frame, elem: Elem, default: Option<Value>, span: Span) {
        if let Some(default) = default
            && self.func.ty(default).is_scalar()
        {
            let data = self.b.load(Ty::PTR, object, layout::OFFSET_DATA, Access::ALIGNED);
            let count = self.count_of(object);
            let value = self.val(default);
            self.fill(elem, data, Ext::Val(count), value);
            return;
        }
        let (position, axes) = (self.position(span), self.frame_axes(frame));
        let default = match default {
            Some(default) => self.val(default),
            None => self.b.null(),
        };
        self.helper("ravel_fill_cells", &[position, object, axes, default], None);
    }

    #[expect(clippy::too_many_arguments, reason = "one cell and all that is known of its place")]
    pub fn put_late(
        &mut self,
        with: &With,
        sinks: &[Sink],
        sink: &Sink,
        elem: Elem,
        slot: Val,
        v: Value,
        index: &Index,
        span: Span,
    ) -> Result<()> {
        let which = sinks.iter().position(|s| std::ptr::eq(s, sink)).expect("the sink is one of these");
        let cache = self.emit.cache.clone();
        let scalar = self.func.ty(v).is_scalar();
        if let WithOp::Genarray { frame, cell: None, default } = &with.ops[which] {
            let object = self.b.load(Ty::PTR, slot, 0, Access::ALIGNED);
            let null = self.b.null();
            let first = self.b.icmp(IntCmp::Eq, object, null);
            self.b.begin_if(first);
            let (shape, rank) = if scalar {
                (self.b.null(), self.b.i64(0))
            } else {
                let cell = self.val(v);
                let offset = self.b.i64(i64::from(layout::OFFSET_SHAPE));
                let shape = self.b.ptr_add(cell, offset);
                let rank = self.b.load(Ty::I32, cell, layout::OFFSET_RANK, Access::ALIGNED);
                (shape, self.b.convert(ConvOp::ZExt, rank, Prim::I64))
            };
            let object = self.allocate_frame(frame, elem, shape, rank, span)?;
            self.fill_late(object, frame, elem, *default, span);
            self.b.store(object, slot, 0, Access::ALIGNED);
            self.b.end_if(&[]);
            self.emit.cache = cache.clone();
        }
        let object = self.b.load(Ty::PTR, slot, 0, Access::ALIGNED);
        let (axes, place) = match index {
            Index::Known(params) => {
                let memory = self.b.stack_slot(8 * params.len().max(1) as u32, 8);
                for (axis, &param) in params.iter().enumerate() {
                    let i = self.wide(param);
                    self.b.store(i, memory, 8 * axis as i32, Access::ALIGNED);
                }
                (self.b.i64(params.len() as i64), memory)
            }
            Index::Dyn(state) => {
                let axes =
                    self.helper("ravel_odometer_axes", &[*state], Some(Ty::I64)).expect("called with a result type");
                let place = self.helper_ptr("ravel_odometer_position", &[*state]);
                (axes, place)
            }
        };
        let position = self.position(span);
        let offset = self.helper("ravel_cell_offset", &[position, object, axes, place], Some(Ty::I64));
        let offset = offset.expect("called with a result type");
        if scalar {
            let data = self.b.load(Ty::PTR, object, layout::OFFSET_DATA, Access::ALIGNED);
            let bytes = self.times(offset, elem.bytes() as i64);
            let address = self.b.ptr_add(data, bytes);
            let value = self.take(v);
            self.store_element(elem, value, (address, 0));
        } else {
            let cell = self.val(v);
            self.helper("ravel_put_cell", &[position, object, axes, offset, cell], None);
        }
        self.emit.cache = cache;
        Ok(())
    }

    /// The result of a late sink once all cells are there: without any cell the default decides the shape.
    pub fn finish_late(&mut self, op: &WithOp, result: Value, slot: Val, span: Span) -> Result<Val> {
        let object = self.b.load(Ty::PTR, slot, 0, Access::ALIGNED);
        let WithOp::Genarray { frame, cell: None, default } = op else { return Ok(object) };
        let elem = self.elem(result);
        let cache = self.emit.cache.clone();
        let null = self.b.null();
        let none = self.b.icmp(IntCmp::Eq, object, null);
        self.b.begin_if(none);
        let (shape, rank) = match default {
            Some(default) if !self.func.ty(*default).is_scalar() => {
                let object = self.val(*default);
                let offset = self.b.i64(i64::from(layout::OFFSET_SHAPE));
                let shape = self.b.ptr_add(object, offset);
                let rank = self.b.load(Ty::I32, object, layout::OFFSET_RANK, Access::ALIGNED);
                (shape, self.b.convert(ConvOp::ZExt, rank, Prim::I64))
            }
            Some(_) => (self.b.null(), self.b.i64(0)),
            // Only the type knows; what it leaves open is empty.
            None => {
                let lead = if let Frame::Known(lead) = frame { lead.len() } else { usize::MAX };
                let extents = self.func.ty(result).shape.extents().and_then(|e| e.get(lead..)).unwrap_or_default();
                let cell: Vec<Ext> = extents.iter().map(|e| Ext::Const(e.as_const().unwrap_or(0).into())).collect();
                let shape = if cell.is_empty() { self.b.null() } else { self.shape_memory(&cell) };
                (shape, self.b.i64(cell.len() as i64))
            }
        };
        let made = self.allocate_frame(frame, elem, shape, rank, span)?;
        self.fill_late(made, frame, elem, *default, span);
        self.b.begin_else(&[made]);
        let object = self.b.end_if(&[object])[0];
        self.emit.cache = cache;
        Ok(object)
    }
}
