//! Arrays: allocation, extents, element addresses, selection, construction, reshape and update.

use ravel_nest::ir::{Access, BinOp as NestBin, Prim, Ty};
use ravel_source::Span;
use ravel_types::{Elem, Scalar};
use ravel_wir::{ConstData, Op, Region, Value};

use crate::Result;
use crate::facts::coverage::FEW;
use crate::facts::{Ext, Form, Offset, Val, layout, prim_of};
use crate::lower::Lower;
use crate::lower::emit::Key;
use crate::plan::lanes::MOST_LANES;

/// Bytes of constant elements, row-major.
pub(crate) fn element_bytes(values: &[Scalar]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for value in values {
        bytes.extend(&value.bits().to_le_bytes()[..value.elem().bytes()]);
    }
    bytes
}

impl Lower<'_, '_> {
    // Parts of objects.

    /// Address of the first element of an object.
    pub fn data_of(&mut self, object: Val) -> Val {
        self.cached(Key::Data(object), |lower| {
            lower.host_reads(object);
            lower.b.load(Ty::PTR, object, layout::OFFSET_DATA, Access::ALIGNED)
        })
    }

    /// Address of the first element of an object that a with-loop is going to fill, which need not be valid on the host yet.
    pub fn target_of(&mut self, object: Val) -> Val {
        if self.asks_marks() {
            self.b.load(Ty::PTR, object, layout::OFFSET_DATA, Access::ALIGNED)
        } else {
            self.data_of(object)
        }
    }

    /// Address of the first element of an object of which ranks need their own rows alone.
    pub fn source_of(&mut self, object: Val) -> Val {
        if self.has_rows() {
            self.b.load(Ty::PTR, object, layout::OFFSET_DATA, Access::ALIGNED)
        } else {
            self.data_of(object)
        }
    }

    /// Extent of an axis of a value of known rank.
    pub fn extent(&mut self, array: Value, axis: usize) -> Ext {
        let known = self.func.ty(array).shape.extents().and_then(|e| e.get(axis)).and_then(|e| e.as_const());
        match known {
            Some(k) => Ext::Const(i64::from(k)),
            None if self.is_view(array) => self.views[&array][axis],
            None => {
                let object = self.val(array);
                Ext::Val(self.object_extent(object, axis))
            }
        }
    }

    /// Extent of an axis, from the object.
    pub fn object_extent(&mut self, object: Val, axis: usize) -> Val {
        self.cached(Key::Extent(object, axis), |lower| {
            lower.b.load(Ty::I64, object, layout::extent_offset(axis), Access::ALIGNED)
        })
    }

    /// All extents of a value of known rank.
    pub fn extents(&mut self, array: Value) -> Vec<Ext> {
        let rank = self.func.ty(array).rank().expect("callers ask for the extents of values of known rank");
        (0..rank).map(|axis| self.extent(array, axis)).collect()
    }

    /// Number of elements of an object.
    pub fn count_of(&mut self, object: Val) -> Val {
        self.b.load(Ty::I64, object, layout::OFFSET_COUNT, Access::ALIGNED)
    }

    // Allocation.

    /// Extents in memory, as `i64`.
    pub fn shape_memory(&mut self, extents: &[Ext]) -> Val {
        let constants: Option<Vec<i64>> =
            extents.iter().map(|e| if let Ext::Const(k) = e { Some(*k) } else { None }).collect();
        if let Some(constants) = constants {
            let bytes = constants.iter().flat_map(|k| k.to_le_bytes()).collect();
            let data = self.cx.nest.constant_bytes(bytes, 8);
            return self.b.data_addr(data);
        }
        let slot = self.b.stack_slot(8 * extents.len() as u32, 8);
        for (axis, &extent) in extents.iter().enumerate() {
            let extent = self.extent_val(extent);
            self.b.store(extent, slot, 8 * axis as i32, Access::ALIGNED);
        }
        slot
    }

    /// Memory for a list of `n` pointers that the runtime reads.
    pub fn pointer_slots(&mut self, n: usize) -> Val {
        let bytes = self.cx.target.pointer_bytes;
        self.b.stack_slot(bytes * n.max(1) as u32, bytes)
    }

    /// A new array with undefined elements (null handles).
    pub fn allocate(&mut self, elem: Elem, extents: &[Ext], span: Span) -> Val {
        let position = if span.is_none() { self.present_place() } else { self.position(span) };
        let shape = if extents.is_empty() { self.b.null() } else { self.shape_memory(extents) };
        let tag = self.b.iconst(Ty::I8, i64::from(elem.tag()));
        let rank = self.b.i32(extents.len() as i32);
        let constant = extents.iter().all(|e| matches!(e, Ext::Const(_)));
        if let Some(spares) = self.spares_for(elem, constant) {
            return self.allocate_spare(spares, [tag, rank, shape], position);
        }
        let alloc = self.cx.runtime("ravel_alloc", &[Ty::I8, Ty::I32, Ty::PTR, Ty::PTR], Some(Ty::PTR));
        self.b.call_extern(alloc, &[tag, rank, shape, position], Some(Ty::PTR)).expect("ravel_alloc returns the array")
    }

    /// An array constant: static data.
    pub fn const_array(&mut self, result: Value, data: &ConstData, span: Span) -> Result<Val> {
        let Some(shape) = self.func.ty(result).shape.constants() else {
            return self.unsupported(span, "an array constant without a constant shape");
        };
        let shape: Vec<i64> = shape.into_iter().map(i64::from).collect();
        let object = self.cx.constant(data.elem, &shape, element_bytes(&data.values));
        Ok(self.b.data_addr(object))
    }

    // Elements.

    /// Loads an element and makes it an owned value.
    pub fn load_element(&mut self, elem: Elem, address: (Val, i32)) -> Val {
        let value = self.b.load(Ty::scalar(prim_of(elem)), address.0, address.1, Access::ALIGNED);
        if elem == Elem::Handle {
            self.b.rc_inc(value);
        }
        value
    }

    /// Stores an element that the caller owns.
    pub fn store_element(&mut self, elem: Elem, value: Val, address: (Val, i32)) {
        if elem == Elem::Handle {
            let old = self.b.load(Ty::PTR, address.0, address.1, Access::ALIGNED);
            self.b.store(value, address.0, address.1, Access::ALIGNED);
            self.b.rc_dec(old);
        } else {
            self.b.store(value, address.0, address.1, Access::ALIGNED);
        }
    }

    /// Copies elements; handles are counted. Neither side is freed.
    pub fn copy_elements(&mut self, elem: Elem, to: Val, from: Val, count: Ext) {
        if let Some(n) = count.as_const().filter(|n| *n <= FEW && elem != Elem::Handle) {
            return self.copy_few(elem, to, from, n);
        }
        let name = if elem == Elem::Handle { "ravel_copy_handles" } else { "ravel_copy_bytes" };
        let copy = self.cx.runtime(name, &[Ty::PTR, Ty::PTR, Ty::I64], None);
        let bytes = self.extent_product(count, Ext::Const(elem.bytes() as i64));
        let bytes = self.extent_val(bytes);
        self.b.call_extern(copy, &[to, from, bytes], None);
    }

    /// Copies a few elements, all of which are loaded first: points, colours, the columns of a table. A call would take longer.
    pub fn copy_few(&mut self, elem: Elem, to: Val, from: Val, count: i64) {
        let ty = Ty::scalar(prim_of(elem));
        let offsets: Vec<i32> = (0..count).map(|k| (k * elem.bytes() as i64) as i32).collect();
        let values: Vec<Val> = offsets.iter().map(|at| self.b.load(ty, from, *at, Access::ALIGNED)).collect();
        for (value, at) in values.into_iter().zip(offsets) {
            self.b.store(value, to, at, Access::ALIGNED);
        }
    }

    /// A pointer and a constant offset as one pointer.
    pub fn pointer(&mut self, address: (Val, i32)) -> Val {
        if address.1 == 0 {
            return address.0;
        }
        let bytes = self.b.i64(i64::from(address.1));
        self.b.ptr_add(address.0, bytes)
    }

    /// Strides, in elements, of the first `axes` axes of a value of known rank.
    pub fn strides(&mut self, array: Value, axes: usize) -> Vec<Ext> {
        if let Some(strides) = self.device.padded.get(&array) {
            return strides[..axes].iter().map(|stride| Ext::Const(*stride)).collect();
        }
        let extents = self.extents(array);
        let cell = self.product(&extents[axes..]);
        self.strides_of(&extents[..axes], cell)
    }

    /// Offset of an index in a value of known rank.
    pub fn element_offset(&mut self, array: Value, index: &[Value]) -> Offset {
        let strides = self.strides(array, index.len());
        let forms: Vec<Form> = index.iter().map(|v| self.form(*v)).collect();
        self.offset(&forms, &strides, self.elem(array).bytes() as i64)
    }

    /// Address of the element or cell at an index.
    pub fn element_address(&mut self, array: Value, index: &[Value]) -> (Val, i32) {
        let offset = self.element_offset(array, index);
        let object = self.val(array);
        let data = self.data_of(object);
        self.address(data, &offset)
    }

    /// Computes outside of a loop what its body needs of captured arrays: data pointers, strides and the invariant parts of
    /// element addresses.
    pub fn preload(&mut self, body: Region) {
        let captured = self.live.free(body).to_vec();
        for v in captured {
            if !self.func.ty(v).is_scalar() && self.func.ty(v).rank().is_some() && self.has_val(v) {
                let object = self.val(v);
                self.data_of(object);
            }
        }
        self.prepare_body(body);
    }

    /// The same for a loop of the host among launches: only arrays of which every iteration reads elements, for others may rest on the device.
    pub fn preload_elements(&mut self, body: Region) {
        let func = self.func;
        for &inst in &func.regions[body].insts {
            match &func.insts[inst].op {
                Op::Sel { array, index }
                    if self.has_val(*array) && func.ty(*array).rank().is_some_and(|rank| index.len() <= rank) =>
                {
                    let object = self.val(*array);
                    self.data_of(object);
                }
                Op::Loop { body, .. } => self.preload_elements(*body),
                _ => {}
            }
        }
    }

    pub fn prepare_body(&mut self, region: Region) {
        let func = self.func;
        for &inst in &func.regions[region].insts {
            let op = &func.insts[inst].op;
            if let Op::Sel { array, index } = op
                && self.has_val(*array)
                && self.func.ty(*array).rank().is_some_and(|rank| index.len() <= rank)
            {
                let offset = self.element_offset(*array, index);
                let object = self.val(*array);
                let data = self.data_of(object);
                self.prepare_address(data, &offset);
            }
            for nested in op.regions() {
                self.prepare_body(nested);
            }
        }
    }

    // Operations.

    /// `array[index]` as an owned value; nothing if it was copied to its destination.
    pub fn select(&mut self, array: Value, index: &[Value], result: Value) -> Result<Option<Val>> {
        let elem = self.elem(array);
        let object = self.val(array);
        let once = self.facts.site.sequential == 0
            && !self.site.in_parfor()
            && !self.site.in_launch
            && !self.emit.cache.contains_key(&Key::Data(object));
        if once && self.asks_marks() && self.func.ty(result).is_scalar() && elem != Elem::Handle {
            let offset = self.element_offset(array, index);
            let address = self.host_element(object, elem, &offset);
            return Ok(Some(self.load_element(elem, address)));
        }
        let address = self.element_address(array, index);
        if self.func.ty(result).is_scalar() {
            return Ok(Some(self.load_element(elem, address)));
        }
        let extents = self.extents(array)[index.len()..].to_vec();
        if let Some(dest) = self.facts.dests.remove(&result) {
            let (count, from) = (self.product(&extents), self.pointer(address));
            self.copy_elements(elem, dest.data, from, count);
            return Ok(None);
        }
        let cell = self.allocate(elem, &extents, Span::NONE);
        let count = self.product(&extents);
        let from = self.pointer(address);
        let to = self.b.load(Ty::PTR, cell, layout::OFFSET_DATA, Access::ALIGNED);
        self.copy_elements(elem, to, from, count);
        Ok(Some(cell))
    }

    /// An array from its cells; nothing if it was built in its destination.
    pub fn array(&mut self, result: Value, cells: &[Value], span: Span) -> Result<Option<Val>> {
        let elem = self.elem(result);
        if self.func.ty(result).rank().is_none() {
            return self.array_of_cells(elem, cells, span).map(Some);
        }
        let cell_rank = cells.first().map_or(Some(0), |c| self.func.ty(*c).rank());
        let Some(cell_rank) = cell_rank else {
            return self.unsupported(span, "an array of known rank made of cells of unknown rank");
        };
        let Some(shape) = &self.func.ty(result).shape.extents() else {
            return self.unsupported(span, "an array without a shape");
        };
        let leading = shape.len().saturating_sub(cell_rank);
        let constants: Option<Vec<i64>> = shape[..leading].iter().map(|e| e.as_const().map(i64::from)).collect();
        let whole: Option<Vec<i64>> = shape.iter().map(|e| e.as_const().map(i64::from)).collect();
        let Some(mut extents) = constants.map(|c| c.into_iter().map(Ext::Const).collect::<Vec<Ext>>()) else {
            return self.unsupported(span, "an array constructor without constant extents");
        };
        match cells.first() {
            // Without an object of its own, and the array will have none either.
            Some(cell) if self.emit.placed.contains(cell) => {
                let count = self.count_in_advance(*cell).expect("cells are placed when their size is known");
                extents.push(count);
            }
            Some(cell) => {
                let cell = self.extents(*cell);
                extents.extend(cell);
            }
            None => match whole {
                Some(whole) => extents = whole.into_iter().map(Ext::Const).collect(),
                None => return self.unsupported(span, "an empty array of unknown shape"),
            },
        }
        let (object, data) = match self.facts.dests.remove(&result) {
            Some(dest) => (None, dest.data),
            None => {
                let object = self.allocate(elem, &extents, span);
                (Some(object), self.data_of(object))
            }
        };
        let count = self.product(&extents[leading..]);
        for (position, &cell) in cells.iter().enumerate() {
            if cell_rank == 0 {
                let value = self.take(cell);
                let offset = (position * elem.bytes()) as i32;
                self.store_element(elem, value, (data, offset));
            } else if !self.emit.placed.remove(&cell) {
                let skipped = self.extent_product(count, Ext::Const((position * elem.bytes()) as i64));
                let skipped = self.extent_val(skipped);
                let to = self.b.ptr_add(data, skipped);
                let cell = self.val(cell);
                let from = self.data_of(cell);
                self.copy_elements(elem, to, from, count);
            }
        }
        Ok(object)
    }

    /// The same elements in another shape; in place if the array is at its end.
    pub fn reshape(&mut self, array: Value, shape: &[Value]) -> Val {
        let extents: Vec<Ext> = shape.iter().map(|v| self.scalar_extent(*v)).collect();
        if self.func.ty(array).is_scalar() {
            // Only the shape with one element fits a scalar.
            let value = self.take(array);
            let elem = self.elem(array);
            let object = self.allocate(elem, &extents, Span::NONE);
            let data = self.data_of(object);
            self.store_element(elem, value, (data, 0));
            return object;
        }
        let object = self.take(array);
        let memory = if extents.is_empty() { self.b.null() } else { self.shape_memory(&extents) };
        let rank = self.b.i32(extents.len() as i32);
        let reshape = self.cx.runtime("ravel_reshaped", &[Ty::PTR, Ty::I32, Ty::PTR], Some(Ty::PTR));
        let reshaped = self.b.call_extern(reshape, &[object, rank, memory], Some(Ty::PTR));
        let reshaped = reshaped.expect("ravel_reshaped returns the array");
        if !extents.is_empty() {
            return reshaped;
        }
        // Rank 0 is a machine value.
        self.host_reads(reshaped);
        let data = self.b.load(Ty::PTR, reshaped, layout::OFFSET_DATA, Access::ALIGNED);
        let value = self.load_element(self.elem(array), (data, 0));
        self.b.rc_dec(reshaped);
        value
    }

    /// `array` with one element or cell replaced.
    pub fn update(&mut self, array: Value, index: &[Value], value: Value) -> Result<Val> {
        let elem = self.elem(array);
        let offset = self.element_offset(array, index);
        let count = {
            let extents = self.extents(array);
            self.product(&extents[index.len()..])
        };
        let object = self.take_unique(array);
        // Every rank changes the element, whoever has its row.
        if !self.has_rows() && !self.device.host_writable.contains(&object) {
            self.host_writes(object);
        }
        let data = self.source_of(object);
        let address = self.address(data, &offset);
        if self.func.ty(value).is_scalar() {
            let value = self.take(value);
            self.store_element(elem, value, address);
        } else {
            let cell = self.val(value);
            let from = self.data_of(cell);
            let to = self.pointer(address);
            self.copy_elements(elem, to, from, count);
        }
        Ok(object)
    }

    /// Fills consecutive elements with a scalar that the caller keeps, in vectors; handles one by one.
    pub fn fill(&mut self, elem: Elem, data: Val, count: Ext, value: Val) {
        let bytes = i64::from(prim_of(elem).bytes());
        let lanes = match elem {
            Elem::Handle => 1,
            _ => (i64::from(self.cx.target.vector_bytes) / bytes).min(MOST_LANES as i64),
        };
        let (zero, one) = (self.b.i64(0), self.b.i64(1));
        let all = self.extent_val(count);
        let too_few = matches!(count, Ext::Const(count) if count < lanes);
        let (mut first, mut rest) = (zero, true);
        if lanes > 1 && !too_few {
            let vector = self.b.splat(value, lanes as u8);
            let (step, mask) = (self.b.i64(lanes), self.b.i64(-lanes));
            first = self.b.binary(NestBin::And, all, mask);
            let (i, _) = self.b.begin_for(zero, first, step, &[]);
            let skipped = self.times(i, bytes);
            let address = self.b.ptr_add(data, skipped);
            self.b.store(vector, address, 0, Access::ANY);
            self.b.end_for(&[]);
            if let Ext::Const(count) = count {
                // The rest is a vector that overlaps the one before.
                rest = false;
                if count % lanes != 0 {
                    let skipped = self.b.i64((count - lanes) * bytes);
                    let address = self.b.ptr_add(data, skipped);
                    self.b.store(vector, address, 0, Access::ANY);
                }
            }
        }
        if rest {
            let (i, _) = self.b.begin_for(first, all, one, &[]);
            let skipped = self.times(i, bytes);
            let address = self.b.ptr_add(data, skipped);
            if elem == Elem::Handle {
                self.b.rc_inc(value);
            }
            self.store_element(elem, value, (address, 0));
            self.b.end_for(&[]);
        }
    }

    /// The element that uncovered positions have if nothing else is said; null for handles.
    pub fn zero_element(&mut self, elem: Elem) -> Val {
        match Scalar::zero(elem) {
            Some(scalar) => crate::lower::scalars::constant(&mut self.b, scalar, 1),
            None => self.b.bits(Ty::scalar(Prim::Ptr), 0),
        }
    }
}
