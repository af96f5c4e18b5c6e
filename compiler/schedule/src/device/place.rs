//! Where arrays are and where with-loops run.
//!
//! The work of a with-loop is estimated here, as far as it is known; the runtime weighs it against the arrays that would have to move, for
//! it knows where they are (`ravel_device_pays`).

use ravel_nest::ir::{Access, BinOp as NestBin, ConvOp, IntCmp, Prim, Ty};
use ravel_source::Span;
use ravel_types::Elem;
use ravel_wir::{Fault, Inst, Op, Part, Region, Value, With};

use crate::device::transfers::transfers;
use crate::facts::{Facts, Guard, Offset, Sink, Val, layout};
use crate::lower::Lower;

/// Estimated cycles below which no launch pays, wherever the arrays are.
const LEAST_WORK: f64 = 500.0;
/// Mark of an object whose elements only the device has, as in the runtime.
const NOT_ON_HOST: i64 = 2;

/// With this least work at most every launch is made, as the runtime has it.
const FORCED: f64 = 1.0;

/// An estimate in two digits.
fn rounded(work: f64) -> String {
    let mut unit = 1.0;
    while work / unit >= 100.0 {
        unit *= 10.0;
    }
    format!("{}", (work / unit).round() * unit)
}

impl Facts<'_> {
    /// Comparisons that imply all checks in the bodies of a with-loop; nothing if some check cannot be made before a launch.
    pub fn device_guards(&self, with: &With) -> Option<Vec<Guard>> {
        let mut guards = Vec::new();
        with.parts.iter().all(|part| self.guards_in(part.body, true, &mut guards)).then_some(guards)
    }

    /// Checks under a condition or in a loop are not made for all indices, so that only proven ones will do there.
    fn guards_in(&self, region: Region, always: bool, guards: &mut Vec<Guard>) -> bool {
        self.func.regions[region].insts.iter().all(|inst| match &self.func.insts[*inst].op {
            Op::Check { fault, .. } if self.options.unchecked && !matches!(fault, Fault::Division) => true,
            Op::Check { cond, .. } => self.proven(*cond, 8) || always && self.guards_of(*cond, guards, 8),
            Op::With(inner) => inner.parts.iter().all(|part| self.guards_in(part.body, always, guards)),
            op => op.regions().into_iter().all(|nested| self.guards_in(nested, false, guards)),
        })
    }

    /// The arrays that a body reads and that exist outside of it.
    pub fn captured_arrays(&self, body: Region) -> Vec<Value> {
        let array = |v: &Value| {
            let ty = self.func.ty(*v);
            !ty.is_scalar() && ty.rank().is_some() && self.has_val(*v)
        };
        self.live.free(body).iter().copied().filter(array).collect()
    }
}

impl Lower<'_, '_> {
    /// A condition that holds where running a with-loop on the device pays; nothing where it certainly does not.
    pub fn worth_launching(&mut self, with: &With) -> Option<Val> {
        self.worth_launching_all(&[with])
    }

    /// The same for several with-loops, all or none of which are to run there; arrays that one of them makes are not counted.
    pub fn worth_launching_all(&mut self, withs: &[&With]) -> Option<Val> {
        let parts: Vec<&Part> = withs.iter().flat_map(|with| &with.parts).collect();
        let least = self.cx.options.device?.launch_work;
        let mut known = 0.0;
        let mut unknown = Vec::new();
        for part in &parts {
            let work = self.work(part.body).max(1.0);
            match self.const_count(part) {
                Some(cells) => known += cells as f64 * work,
                None => unknown.push((*part, work)),
            }
        }
        // What a loop carries, or the device has just made, may be there and nowhere else: fetching it would take longer than a launch.
        let there = parts.iter().any(|part| {
            self.captured_arrays(part.body)
                .iter()
                .any(|v| self.facts.references.carried.contains(v) || self.device.on_device.contains(v))
        });
        self.device.estimate = match &unknown[..] {
            [] => format!("about {} cycles of work in all", rounded(known)),
            [(_, work)] => format!("about {} cycles of work per index", rounded(*work)),
            _ => format!(
                "about {} cycles of work per index",
                rounded(unknown.iter().fold(0.0, |most, (_, work)| work.max(most)))
            ),
        };
        if unknown.is_empty() && known < least.min(LEAST_WORK) && !there {
            return None;
        }
        let mut total = self.b.i64(known.min(1e15) as i64);
        for (part, work) in unknown {
            let grid = self.grid_of(part);
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
        let least = self.b.i64(least as i64);
        let count = self.b.i64(arrays.len() as i64);
        let list = self.pointer_slots(arrays.len());
        for (k, object) in arrays.into_iter().enumerate() {
            self.b.store(object, list, self.cx.target.pointer_offset(k), Access::ALIGNED);
        }
        self.helper("ravel_device_pays", &[total, least, list, count], Some(Ty::I8))
    }

    /// Says that a with-loop may run on the device, and how.
    pub fn explain_launch(&mut self, inst: Inst, how: String) {
        let span = self.func.insts[inst].span;
        self.device.launched.insert(inst);
        let forced = self.cx.options.device.is_some_and(|device| device.launch_work <= FORCED);
        let text = if forced { how } else { format!("{how}, if that pays at run time: {}", self.device.estimate) };
        self.cx.remark(span, text);
    }

    /// Says that a with-loop is not worth a launch.
    pub fn explain_too_little(&mut self, span: Span) {
        let text = format!("on the host: too little work for a launch, {}", self.device.estimate);
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

    /// The host is going to fill the results of a with-loop.
    pub fn host_fills(&mut self, sinks: &[Sink]) {
        for sink in sinks {
            if let Sink::Slice { object: Some(object), .. } = sink {
                self.host_writes(*object);
            }
        }
    }

    /// The host is going to change the elements of an object that it alone refers to.
    pub fn host_writes(&mut self, object: Val) {
        if self.cx.options.device.is_some() {
            let marked = self.marked(object, -1);
            self.call_if(marked, "ravel_device_host_writes", &[object]);
        }
    }

    /// The host is going to read the elements of an object.
    pub fn host_reads(&mut self, object: Val) {
        if self.cx.options.device.is_some() && !self.site.in_launch {
            let marked = self.marked(object, NOT_ON_HOST);
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
    fn call_if(&mut self, cond: Val, function: &str, args: &[Val]) {
        self.b.begin_if(cond);
        self.helper(function, args, None);
        self.b.begin_else(&[]);
        self.b.end_if(&[]);
    }
}
