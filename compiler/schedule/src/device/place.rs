//! Where arrays are and where with-loops run.
//!
//! The work of a with-loop is estimated (`plan/device/launch`), as far as it is known; the runtime weighs it against the arrays that would have to move, for
//! it knows where they are (`ravel_device_pays`).

use ravel_nest::ir::{Access, BinOp as NestBin, ConvOp, IntCmp, Prim, Ty};
use ravel_types::Elem;
use ravel_wir::{Inst, Part, With};

use crate::device::transfers::transfers;
use crate::facts::{Guard, Offset, Sink, Val, layout};
use crate::lower::Lower;
use crate::lower::emit::Key;
use crate::plan::device::launch::Launch;

/// Mark of an object whose elements only the device has, as in the runtime.
const NOT_ON_HOST: i64 = 2;

/// With this least work at most every launch is made, as the runtime has it.
const FORCED: f64 = 1.0;

impl Lower<'_, '_> {
    /// A condition that holds where a planned launch pays; arrays that one of the with-loops makes are not counted.
    pub fn worth_launching(&mut self, withs: &[&With], launch: &Launch) -> Val {
        let parts: Vec<&Part> = withs.iter().flat_map(|with| &with.parts).collect();
        let mut total = self.b.i64(launch.known.min(1e15) as i64);
        for &(n, work) in &launch.unknown {
            let grid = self.grid_of(parts[n]);
            let mut cells = self.b.i64((work as i64).max(1));
            for extent in grid {
                cells = self.b.mul(cells, extent);
            }
            total = self.b.add(total, cells);
        }
        let mut arrays: Vec<Val> = Vec::new();
        for part in &parts {
            for v in self.captured_arrays(part.body) {
                let object = self.val(v);
                if !arrays.contains(&object) {
                    arrays.push(object);
                }
            }
        }
        let least = self.b.i64(launch.least as i64);
        let count = self.b.i64(arrays.len() as i64);
        let list = self.pointer_slots(arrays.len());
        for (k, object) in arrays.into_iter().enumerate() {
            self.b.store(object, list, self.cx.target.pointer_offset(k), Access::ALIGNED);
        }
        self.helper("ravel_device_pays", &[total, least, list, count], Some(Ty::I8)).expect("called with a result type")
    }

    /// Says that a with-loop may run on the device, and how.
    pub fn explain_launch(&mut self, inst: Inst, how: String, launch: &Launch) {
        let span = self.func.insts[inst].span;
        self.device.launched.insert(inst);
        let forced = self.cx.options.device.is_some_and(|device| device.launch_work <= FORCED);
        let text = if forced { how } else { format!("{how}, if that pays at run time: {}", launch.describe()) };
        self.cx.remark(span, text);
    }

    /// Says at the end of a function which arrays its launches move.
    pub fn explain_transfers(&mut self) {
        let func = self.func;
        let position = self.cx.options.position;
        for (inst, text) in transfers(func, &self.device.launched, &|span| position(span, &func.name)) {
            self.cx.with = Some(inst);
            self.cx.remark(func.insts[inst].span, text);
        }
        self.cx.with = None;
    }

    /// A condition and all guards.
    pub fn with_guards(&mut self, wanted: Val, guards: &[Guard]) -> Val {
        if guards.is_empty() {
            return wanted;
        }
        let holds = self.guard_condition(guards);
        self.b.binary(NestBin::And, wanted, holds)
    }

    /// The host is going to fill the results of a with-loop. Rows of ranks stay with them: who has a row changes it.
    pub fn host_fills(&mut self, sinks: &[Sink]) {
        if self.has_rows() {
            return;
        }
        for sink in sinks {
            if let Sink::Slice { object: Some(object), .. } = sink {
                self.host_writes(*object);
            }
        }
    }

    /// The results of a with-loop may be in rows from now on, so that whoever has their addresses asks again.
    pub fn forget_filled(&mut self, sinks: &[Sink]) {
        if !self.has_rows() {
            return;
        }
        for sink in sinks {
            if let Sink::Slice { object: Some(object), .. } = sink {
                self.emit.cache.remove(&Key::Data(*object));
            }
        }
    }

    /// The host is going to change the elements of an object that it alone refers to.
    pub fn host_writes(&mut self, object: Val) {
        if self.asks_marks() && !(self.has_rows() && self.site.in_parfor()) {
            let marked = self.marked(object, -1);
            self.call_if(marked, "ravel_device_host_writes", &[object]);
        }
    }

    /// The host is going to read the elements of an object.
    pub fn host_reads(&mut self, object: Val) {
        if self.has_rows() && (self.site.in_parfor() || self.emit.rows.iter().any(|read| read.object == object)) {
            return;
        }
        if self.asks_marks() && !self.site.in_launch {
            let marked = self.marked(object, NOT_ON_HOST);
            if self.has_rows() {
                return self.gather_if(marked, object);
            }
            self.call_if(marked, "ravel_device_to_host", &[object]);
        }
    }

    /// The host is going to read one element, outside of loops that read many: only that has to come from the device.
    pub fn host_element(&mut self, object: Val, elem: Elem, offset: &Offset) -> (Val, i32) {
        let zero = self.b.null();
        let (bytes, constant) = self.address(zero, offset);
        let bytes = self.b.convert(ConvOp::Bits, bytes, Prim::I64);
        let constant = self.b.i64(i64::from(constant));
        let bytes = self.b.add(bytes, constant);
        let size = self.b.i64(elem.bytes() as i64);
        let marked = self.marked(object, NOT_ON_HOST);
        self.call_if(marked, "ravel_device_element", &[object, bytes, size]);
        let data = self.b.load(Ty::PTR, object, layout::OFFSET_DATA, Access::ALIGNED);
        (self.b.ptr_add(data, bytes), 0)
    }

    /// Whether elements may be elsewhere: on a device, or with other ranks.
    pub fn asks_marks(&self) -> bool {
        self.cx.options.device.is_some() || self.has_rows()
    }

    /// Are elements of an object elsewhere?
    pub fn is_marked(&mut self, object: Val) -> Val {
        self.marked(object, NOT_ON_HOST)
    }

    /// Does an object have one of these marks?
    fn marked(&mut self, object: Val, mask: i64) -> Val {
        let marks = self.b.load(Ty::I16, object, layout::OFFSET_MARKS, Access::ANY);
        let marks = self.b.convert(ConvOp::ZExt, marks, Prim::I32);
        let mask = self.b.i32(mask as i32);
        let marks = self.b.binary(NestBin::And, marks, mask);
        let zero = self.b.i32(0);
        self.b.icmp(IntCmp::Ne, marks, zero)
    }

    /// Calls a function of the runtime where a condition holds.
    pub fn call_if(&mut self, cond: Val, function: &str, args: &[Val]) {
        self.b.begin_if(cond);
        self.helper(function, args, None);
        self.b.begin_else(&[]);
        self.b.end_if(&[]);
    }
}
