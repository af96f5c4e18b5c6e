//! Reshaped arrays that are only read: the same object, looked at with other extents.
//!
//! An object carries its shape, so that a reshape needs one of its own where somebody else holds the array: a copy. If all that happens to the
//! result is that elements are selected and extents asked for, nobody looks at the shape in the object. The result is then the operand, which it
//! keeps alive, and its extents are those that the reshape names.

use ravel_types::Elem;
use ravel_wir::Value;

use crate::facts::{Ext, Facts, Val};
use crate::lower::Lower;
use crate::memory::loop_unique::element_reads;

impl Facts<'_> {
    /// Is this value another array's object, whose shape is not its own?
    pub fn is_view(&self, v: Value) -> bool {
        self.views.contains_key(&v)
    }
}

impl Lower<'_, '_> {
    /// The operand as the result of a reshape, if nothing but elements and extents of that are asked for.
    pub fn try_view(&mut self, result: Value, array: Value, shape: &[Value]) -> Option<Val> {
        let (func, scope) = (self.func, self.facts.scopes.last()?.region);
        let ty = func.ty(result);
        let plain = self.cx.options.device.is_none()
            && !shape.is_empty()
            && ty.elem != Elem::Handle
            && !func.ty(array).is_scalar();
        if !plain || self.live.uses(result) != element_reads(func, scope, result) {
            return None;
        }
        let extents: Vec<Ext> = shape.iter().map(|v| self.scalar_extent(*v)).collect();
        self.facts.views.insert(result, extents);
        Some(self.take(array))
    }
}
