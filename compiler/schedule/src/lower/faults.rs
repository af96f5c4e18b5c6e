//! Checks and positions.

use ravel_nest::ir::{Access, ConvOp, IntCmp, Prim, Ty};
use ravel_source::Span;
use ravel_types::{BinOp, Elem};
use ravel_wir::{Fault, Op, Value, slots};

use crate::Result;
use crate::facts::{Facts, Val};
use crate::lower::{Lower, scalars};

impl Facts<'_> {
    /// The parts of `index >= 0 && index < extent`, where the extent is not negative: one comparison without signs decides that.
    pub fn in_extent(&self, cond: Value) -> Option<(Value, Value)> {
        let op = |v: Value| self.live.def(v).map(|inst| &self.func.insts[inst].op);
        let Op::Bin(BinOp::And, first, second) = op(cond)? else { return None };
        let (Op::Bin(BinOp::Ge, index, zero), Op::Bin(BinOp::Lt, other, extent)) = (op(*first)?, op(*second)?) else {
            return None;
        };
        let fits = index == other
            && self.elem(*index) == Elem::I32
            && self.const_i32(*zero) == Some(0)
            && self.bounds(*extent).0 >= 0;
        fits.then_some((*index, *extent))
    }
}

impl Lower<'_, '_> {
    /// Address of the text `file.sac:3:10 in f`.
    pub fn position(&mut self, span: Span) -> Val {
        let text = (self.cx.options.position)(span, &self.func.name);
        let text = self.cx.text(&text);
        self.b.data_addr(text)
    }

    /// Address of the text of the place that is lowered at the moment; null if that has none.
    pub fn present_place(&mut self) -> Val {
        match self.emit.at {
            Some(span) => self.position(span),
            None => self.b.null(),
        }
    }

    /// Tells the runtime where a function that may fault is called.
    pub fn set_position(&mut self, span: Span) {
        if span.is_none() {
            return;
        }
        let position = self.position(span);
        let set = self.cx.runtime("ravel_set_position", &[Ty::PTR], None);
        self.b.call_extern(set, &[position], None);
    }

    /// Faults unless the condition holds.
    pub fn check(&mut self, cond: Value, fault: &Fault, span: Span) -> Result<()> {
        if self.cx.options.unchecked && !matches!(fault, Fault::Division) {
            return Ok(());
        }
        if self.facts.site.checked_before || self.proven(cond, 8) {
            return Ok(());
        }
        if self.site.in_launch {
            self.device.launch_checks += 1;
        }
        let cond = match self.in_extent(cond) {
            Some((index, extent)) => {
                let (index, extent) = (self.val(index), self.val(extent));
                self.b.icmp(IntCmp::Ult, index, extent)
            }
            None => self.val(cond),
        };
        let cache = self.emit.cache.clone();
        self.b.begin_if(cond);
        self.b.begin_else(&[]);
        self.fault(fault, span);
        self.b.end_if(&[]);
        self.emit.cache = cache;
        Ok(())
    }

    fn fault(&mut self, fault: &Fault, span: Span) {
        let position = self.position(span);
        let (ptr, long) = (Ty::PTR, Ty::I64);
        match fault {
            Fault::Index { index, extent, axis } => {
                let args = [position, self.number(*index), self.b.i64(i64::from(*axis)), self.number(*extent)];
                let callee = self.cx.runtime("ravel_fault_index", &[ptr, long, long, long], None);
                self.b.fault(callee, &args);
            }
            Fault::Shape { left, right, axis, what } => {
                let what = self.cx.text(what);
                let what = self.b.data_addr(what);
                let args = [position, what, self.b.i64(i64::from(*axis)), self.number(*left), self.number(*right)];
                let callee = self.cx.runtime("ravel_fault_extent", &[ptr, ptr, long, long, long], None);
                self.b.fault(callee, &args);
            }
            Fault::Division => {
                let callee = self.cx.runtime("ravel_fault_division", &[ptr], None);
                self.b.fault(callee, &[position]);
            }
            // A device only says that there was a fault.
            Fault::Several { first, .. } if self.site.in_launch => self.fault(first, span),
            Fault::Message { .. } => self.fault_in_words(position, &[(None, fault)]),
            Fault::Several { first, others } => {
                let others = others.iter().map(|other| (Some(other.holds), &other.fault));
                let violated: Vec<_> = std::iter::once((None, &**first)).chain(others).collect();
                self.fault_in_words(position, &violated);
            }
        }
    }

    /// Reports those faults whose condition, if they have one, does not hold.
    fn fault_in_words(&mut self, position: Val, faults: &[(Option<Value>, &Fault)]) {
        let mut lines = Vec::new();
        let mut numbers = Vec::new();
        for (holds, fault) in faults {
            let (text, shown) = in_words(fault);
            lines.push(text.replace('\n', " "));
            numbers.push(match holds {
                Some(holds) => self.number(*holds),
                None => self.b.i64(0),
            });
            numbers.push(self.b.i64(shown.len() as i64));
            numbers.extend(shown.into_iter().map(|v| self.number(v)));
        }
        let (ptr, long) = (Ty::PTR, Ty::I64);
        let text = self.cx.text(&lines.join("\n"));
        let text = self.b.data_addr(text);
        let place = self.b.stack_slot(8 * numbers.len() as u32, 8);
        let count = self.b.i64(numbers.len() as i64);
        for (k, number) in numbers.into_iter().enumerate() {
            self.b.store(number, place, 8 * k as i32, Access::ALIGNED);
        }
        let callee = self.cx.runtime("ravel_fault_numbers", &[ptr, ptr, ptr, long], None);
        self.b.fault(callee, &[position, text, place, count]);
    }

    /// An operand of a message as an `i64`, floats by their bits as doubles; anything but a scalar shows as 0.
    fn number(&mut self, v: Value) -> Val {
        let elem = self.elem(v);
        if !self.func.ty(v).is_scalar() || self.is_object(v) {
            return self.b.i64(0);
        }
        let val = self.val(v);
        if elem.is_float() {
            let value = scalars::convert(&mut self.b, elem, Elem::F64, val);
            return self.b.convert(ConvOp::Bits, value, Prim::I64);
        }
        self.b.convert(scalars::widening(elem), val, Prim::I64)
    }

    /// A scalar converted to 64 bits as variadic calls pass it: its tag and its bits.
    pub fn promoted(&mut self, v: Value) -> (u8, Val) {
        let elem = self.elem(v);
        let val = self.val(v);
        if self.is_object(v) {
            return (Elem::Handle.tag(), self.b.convert(ConvOp::Bits, val, Prim::I64));
        }
        let promoted = match elem {
            Elem::F32 => Elem::F64,
            Elem::Bool | Elem::Char | Elem::I8 | Elem::I16 | Elem::U8 | Elem::U16 => Elem::I32,
            other => other,
        };
        let value = scalars::convert(&mut self.b, elem, promoted, val);
        let bits = match promoted {
            Elem::F64 => self.b.convert(ConvOp::Bits, value, Prim::I64),
            other => self.b.convert(scalars::widening(other), value, Prim::I64),
        };
        (promoted.tag(), bits)
    }
}

/// A fault as a text that begins with its code, and in which marks stand for numbers, as the runtime words it.
fn in_words(fault: &Fault) -> (String, Vec<Value>) {
    match fault {
        Fault::Index { index, extent, axis } => {
            let slot = slots::indexed(*axis as usize).map_or(String::new(), |slot| format!(":{slot}"));
            let text = format!("[E0330] index {{}} is out of range for axis {axis} of extent {{{slot}}}");
            (text, vec![*index, *extent])
        }
        Fault::Shape { left, right, axis, what } => {
            (format!("[E0312] {what}: axis {axis} has extent {{}}, expected {{}}"), vec![*right, *left])
        }
        Fault::Division => ("[E0333] division by zero".to_string(), Vec::new()),
        Fault::Message { text, operands } => (text.to_string(), operands.clone()),
        Fault::Several { first, .. } => in_words(first),
    }
}
