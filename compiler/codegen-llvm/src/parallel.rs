//! Parallel loops: the body becomes a function of its own, called by the runtime once per chunk.
//!
//! Values of the surrounding function that the body uses are written to a struct on the stack; the body reads them when it
//! starts. Constants and addresses are the same values in both functions and are not passed.

use inkwell::module::Linkage;
use inkwell::values::{BasicValueEnum, FunctionValue, PointerValue};
use ravel_nest::captures::captures;
use ravel_nest::ir::{Access, Param, Region, Shared, Signature, Ty, Value};

use crate::translate::{Problem, Translator, Values};
use crate::types::c_type;

/// The struct starts at a multiple of this, and so do the values in it that are at least as large.
const CAPTURE_ALIGN: u32 = 64;

/// A body that is still to be translated.
pub(crate) struct Body<'m, 'c> {
    /// What it does.
    pub region: &'m Region,
    /// Where it goes; declared.
    pub function: FunctionValue<'c>,
    /// Outer values that are passed in memory.
    captured: Vec<Value>,
    /// Outer values that are constants.
    constants: Vec<(Value, BasicValueEnum<'c>)>,
}

impl<'m, 'c> Translator<'m, 'c> {
    /// Calls the runtime with the outlined body and what it captures.
    pub fn parfor(
        &mut self,
        n: Value,
        chunk: Value,
        late: Option<Value>,
        shared: Option<&Shared>,
        region: &'m Region,
    ) -> Result<Values<'c>, Problem> {
        let (constants, captured): (Vec<Value>, Vec<Value>) =
            captures(region).into_iter().partition(|&value| is_constant(self.value(value)));
        let (offsets, size) = self.capture_offsets(&captured);
        let context = self.frame_memory(size, CAPTURE_ALIGN)?;
        for (&value, &offset) in captured.iter().zip(&offsets) {
            self.store_at(self.ty(value), self.value(value), context, offset, Access::ALIGNED)?;
        }
        let params = [Ty::PTR, Ty::I64, Ty::I64, Ty::I64].map(Param::from).to_vec();
        let ty = c_type(self.m.context, &Signature { params, result: None });
        let name = format!("{}.body", self.function.get_name().to_string_lossy());
        let function = self.m.function(&name, ty, Linkage::Internal);
        let entry = function.as_global_value().as_pointer_value();
        let (n, chunk) = (self.value(n), self.value(chunk));
        let late = late.map_or_else(|| self.m.context.i64_type().const_zero().into(), |late| self.value(late));
        let shared = match shared {
            Some(shared) => self.declaration(shared)?,
            None => self.m.context.ptr_type(inkwell::AddressSpace::default()).const_null(),
        };
        let args = [entry.into(), context.into(), n.into(), chunk.into(), late.into(), shared.into()];
        self.b.build_call(self.m.parallel(), &args, "")?;
        let constants = constants.into_iter().map(|value| (value, self.value(value))).collect();
        self.bodies.push(Body { region, function, captured, constants });
        Ok(Values::new())
    }

    /// Address of what the runtime is told of a loop that processes may share: `ravel_runtime::abi::Shared`, words in a row.
    fn declaration(&mut self, shared: &Shared) -> Result<PointerValue<'c>, Problem> {
        let mut words: Vec<(Ty, BasicValueEnum<'c>)> =
            shared.values().map(|&value| (self.ty(value), self.value(value))).collect();
        let constant = |word: i64| (Ty::I64, self.m.context.i64_type().const_int(word as u64, false).into());
        words.splice(2..2, shared.counts().map(constant));
        let memory = self.frame_memory(8 * words.len() as u32, CAPTURE_ALIGN)?;
        for (offset, (ty, word)) in (0..).step_by(8).zip(words) {
            self.store_at(ty, word, memory, offset, Access::ALIGNED)?;
        }
        Ok(memory)
    }

    /// Translates an outlined body with the signature `(ctx, lo, hi, slot)`; hands back the bodies inside it.
    pub fn outlined(mut self, body: &Body<'m, 'c>) -> Result<Vec<Body<'m, 'c>>, Problem> {
        let given = self.function.get_params();
        for &(value, constant) in &body.constants {
            self.bind(value, constant);
        }
        let (offsets, _) = self.capture_offsets(&body.captured);
        for (&value, &offset) in body.captured.iter().zip(&offsets) {
            let loaded = self.load_at(self.ty(value), given[0].into_pointer_value(), offset, Access::INVARIANT)?;
            self.bind(value, loaded);
        }
        self.bind_all(&body.region.params, &given[1..]);
        if self.region(body.region)? {
            self.b.build_return(None)?;
        }
        self.finish()
    }

    /// Byte offset of each captured value and the size of all, at least one byte.
    fn capture_offsets(&self, captured: &[Value]) -> (Vec<i64>, u32) {
        let mut end = 0u32;
        let mut offsets = Vec::with_capacity(captured.len());
        for &value in captured {
            let size = self.ty(value).bytes();
            let start = end.next_multiple_of(size);
            offsets.push(i64::from(start));
            end = start + size;
        }
        (offsets, end.max(1))
    }
}

fn is_constant(value: BasicValueEnum<'_>) -> bool {
    match value {
        BasicValueEnum::IntValue(value) => value.is_const(),
        BasicValueEnum::FloatValue(value) => value.is_const(),
        BasicValueEnum::PointerValue(value) => value.is_const(),
        BasicValueEnum::VectorValue(value) => value.is_const(),
        _ => false,
    }
}
