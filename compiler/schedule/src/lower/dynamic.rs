//! Operations on values whose rank only the run knows. They call the runtime; this path only has to be right.

use ravel_nest::ir::{Access, ConvOp, Prim, Ty};
use ravel_source::Span;
use ravel_types::Elem;
use ravel_wir::{Op, Value};

use crate::Result;
use crate::facts::{Ext, Val, layout};
use crate::lower::Lower;

impl Lower<'_, '_> {
    /// Calls a runtime function.
    pub fn helper(&mut self, name: &str, args: &[Val], result: Option<Ty>) -> Option<Val> {
        let params: Vec<Ty> = args.iter().map(|&v| self.b.ty(v)).collect();
        let callee = self.cx.runtime(name, &params, result);
        self.b.call_extern(callee, args, result)
    }

    /// Calls a function of the runtime that gives a pointer.
    pub fn helper_ptr(&mut self, name: &str, args: &[Val]) -> Val {
        self.helper(name, args, Some(Ty::PTR)).expect("called with a result type")
    }

    /// A scalar as an array object of rank 0, which the caller owns.
    pub fn boxed(&mut self, v: Value) -> Val {
        let (elem, value) = (self.elem(v), self.take(v));
        self.boxed_value(elem, value)
    }

    fn boxed_value(&mut self, elem: Elem, value: Val) -> Val {
        let object = self.allocate(elem, &[], Span::NONE);
        let data = self.b.load(Ty::PTR, object, layout::OFFSET_DATA, Access::ALIGNED);
        self.store_element(elem, value, (data, 0));
        object
    }

    /// A value as an object, and whether that object was made for it and has to be dropped.
    fn as_object(&mut self, v: Value) -> (Val, bool) {
        if self.func.ty(v).is_scalar() { (self.boxed(v), true) } else { (self.val(v), false) }
    }

    /// An owned object as a value of a known type: machine scalars are taken out, known ranks and extents checked.
    fn unboxed(&mut self, object: Val, result: Value, checked: bool, span: Span) -> Val {
        let ty = self.func.ty(result);
        let Some(extents) = ty.shape.extents() else { return object };
        if !checked {
            let wanted: Vec<i64> = extents.iter().map(|e| e.as_const().map_or(-1, i64::from)).collect();
            self.narrow_check(object, &wanted, span);
        }
        if !extents.is_empty() {
            return object;
        }
        self.host_reads(object);
        let data = self.b.load(Ty::PTR, object, layout::OFFSET_DATA, Access::ALIGNED);
        let value = self.load_element(ty.elem, (data, 0));
        self.b.rc_dec(object);
        value
    }

    fn narrow_check(&mut self, object: Val, wanted: &[i64], span: Span) {
        let position = self.position(span);
        let extents: Vec<Ext> = wanted.iter().map(|k| Ext::Const(*k)).collect();
        let rank = self.b.i64(wanted.len() as i64);
        let memory = if wanted.is_empty() { self.b.null() } else { self.shape_memory(&extents) };
        self.helper("ravel_narrow", &[position, object, rank, memory], None);
    }

    pub fn dynamic(&mut self, op: &Op, result: Value, span: Span) -> Result<Val> {
        let func = self.func;
        Ok(match op {
            Op::Rank(v) => match func.ty(*v).rank() {
                Some(rank) => self.b.i32(rank as i32),
                None => {
                    let object = self.val(*v);
                    self.b.load(Ty::I32, object, layout::OFFSET_RANK, Access::ALIGNED)
                }
            },
            Op::ShapeVec(v) => match func.ty(*v).rank() {
                Some(rank) => {
                    let extents = self.extents(*v);
                    let vector = self.allocate(Elem::I32, &[Ext::Const(rank as i64)], span);
                    let data = self.b.load(Ty::PTR, vector, layout::OFFSET_DATA, Access::ALIGNED);
                    for (axis, extent) in extents.into_iter().enumerate() {
                        let extent = self.extent_val(extent);
                        let extent = self.b.convert(ConvOp::Narrow, extent, Prim::I32);
                        self.b.store(extent, data, 4 * axis as i32, Access::ALIGNED);
                    }
                    vector
                }
                None => {
                    let object = self.val(*v);
                    self.helper_ptr("ravel_shape_vec", &[object])
                }
            },
            Op::SelDyn { array, index } => {
                let (object, temporary) = self.as_object(*array);
                let (position, index) = (self.position(span), self.val(*index));
                let value = if func.ty(result).is_scalar() {
                    let slot = self.helper_ptr("ravel_dyn_slot", &[position, object, index]);
                    self.load_element(func.ty(result).elem, (slot, 0))
                } else {
                    let cell = self.helper_ptr("ravel_dyn_cell", &[position, object, index]);
                    self.unboxed(cell, result, false, span)
                };
                if temporary {
                    self.b.rc_dec(object);
                }
                value
            }
            Op::UpdateDyn { array, index, value } => {
                let elem = self.elem(*array);
                let object = if func.ty(*array).is_scalar() { self.boxed(*array) } else { self.take(*array) };
                let object = self.make_unique_for_host(object);
                let (position, index) = (self.position(span), self.val(*index));
                if func.ty(*value).is_scalar() {
                    let slot = self.helper_ptr("ravel_dyn_slot", &[position, object, index]);
                    let value = self.take(*value);
                    self.store_element(elem, value, (slot, 0));
                } else {
                    let cell = self.val(*value);
                    self.helper("ravel_dyn_update", &[position, object, index, cell], None);
                }
                self.unboxed(object, result, true, span)
            }
            Op::ReshapeDyn { array, shape } => {
                let object = if func.ty(*array).is_scalar() { self.boxed(*array) } else { self.take(*array) };
                let (position, shape) = (self.position(span), self.val(*shape));
                let object = self.helper_ptr("ravel_dyn_reshape", &[position, object, shape]);
                self.unboxed(object, result, false, span)
            }
            Op::Widen(v) => match func.ty(*v).is_scalar() && !func.ty(result).is_scalar() {
                true => self.boxed(*v),
                false => self.take(*v),
            },
            Op::Narrow(v) => {
                if func.ty(*v).is_scalar() {
                    if func.ty(result).is_scalar() {
                        return Ok(self.take(*v));
                    }
                    let object = self.boxed(*v);
                    return Ok(self.unboxed(object, result, false, span));
                }
                let object = self.take(*v);
                self.unboxed(object, result, false, span)
            }
            _ => return self.unsupported(span, "an operation on values of unknown rank"),
        })
    }

    /// An array of unknown rank from its cells.
    pub fn array_of_cells(&mut self, elem: Elem, cells: &[Value], span: Span) -> Result<Val> {
        let slot = self.pointer_slots(cells.len());
        let mut temporary = Vec::new();
        for (k, &cell) in cells.iter().enumerate() {
            let (object, made) = self.as_object(cell);
            self.b.store(object, slot, self.cx.target.pointer_offset(k), Access::ALIGNED);
            if made {
                temporary.push(object);
            }
        }
        let position = self.position(span);
        let (tag, n) = (self.b.iconst(Ty::I8, i64::from(elem.tag())), self.b.i64(cells.len() as i64));
        let array = self.helper_ptr("ravel_array_of_cells", &[position, tag, slot, n]);
        for object in temporary {
            self.b.rc_dec(object);
        }
        Ok(array)
    }
}
