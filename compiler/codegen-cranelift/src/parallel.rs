//! Parallel loops: the body becomes a function of its own, called by the runtime once per chunk.
//!
//! Values of the surrounding function that the body uses are written to a struct on the stack; the body reads them when it
//! starts. Constants and addresses are not passed but made again.

use cranelift_codegen::ir::{self, InstBuilder, MemFlagsData, types};
use ravel_nest::ir::{Op, Region, Shared, Value};

use crate::plan::{Body, Runtime, region_key};
use crate::translate::Translator;
use crate::types::Pieces;

/// Every captured value starts at a multiple of this, which suits every piece.
const CAPTURE_ALIGN: u32 = 16;

impl Translator<'_, '_> {
    /// Calls the runtime with the outlined body and what it captures.
    pub fn parfor(
        &mut self,
        n: Value,
        chunk: Value,
        late: Option<Value>,
        shared: Option<&Shared>,
        body: &Region,
    ) -> Pieces {
        let plan = self.plan;
        let body = &plan.bodies[plan.body_of[&region_key(body)]];
        let (offsets, size) = self.capture_offsets(&body.captured);
        let context = self.stack_memory(size);
        for (&value, &offset) in body.captured.iter().zip(&offsets) {
            let (ty, pieces) = (self.ty(value), self.pieces(value));
            self.store_at(ty, &pieces, context, offset, MemFlagsData::trusted());
        }
        let entry = self.func_address(body.id);
        let (n, chunk) = (self.scalar(n), self.scalar(chunk));
        let late = match late {
            Some(late) => self.scalar(late),
            None => self.b.ins().iconst(types::I64, 0),
        };
        let shared = match shared {
            Some(shared) => self.declaration(shared),
            None => self.b.ins().iconst(types::I64, 0),
        };
        self.call_runtime(Runtime::Parallel, &[entry, context, n, chunk, late, shared]);
        Pieces::new()
    }

    /// Address of what the runtime is told of a loop that processes may share: `ravel_runtime::abi::Shared`, words in a row.
    fn declaration(&mut self, shared: &Shared) -> ir::Value {
        let mut words: Vec<ir::Value> = shared.values().map(|&value| self.scalar(value)).collect();
        words.splice(2..2, shared.counts().map(|constant| self.b.ins().iconst(types::I64, constant)));
        let memory = self.stack_memory(8 * words.len() as u32);
        for (offset, word) in (0..).step_by(8).zip(words) {
            self.b.ins().store(MemFlagsData::trusted(), word, memory, offset);
        }
        memory
    }

    /// Address of so many bytes of the function's stack.
    fn stack_memory(&mut self, size: u32) -> ir::Value {
        let data = ir::StackSlotData::new(ir::StackSlotKind::ExplicitSlot, size, CAPTURE_ALIGN.trailing_zeros() as u8);
        let slot = self.b.create_sized_stack_slot(data);
        self.b.ins().stack_addr(types::I64, slot, 0)
    }

    /// Translates an outlined body with the signature `(ctx, lo, hi, slot)`.
    pub fn outlined(mut self, body: &Body<'_>) {
        let entry = self.b.create_block();
        self.b.append_block_params_for_function_params(entry);
        self.b.switch_to_block(entry);
        let given: Pieces = self.b.block_params(entry).into();
        for &value in &body.remade {
            let pieces = match self.constants[value] {
                Some(Op::Const { ty, bits }) => self.constant(*ty, *bits),
                Some(address) => self.address(address),
                None => unreachable!("only constants are made again"),
            };
            self.bind(value, &pieces);
        }
        let (offsets, _) = self.capture_offsets(&body.captured);
        let flags = MemFlagsData::trusted().with_readonly();
        for (&value, &offset) in body.captured.iter().zip(&offsets) {
            let ty = self.ty(value);
            let pieces = self.load_at(ty, given[0], offset, flags);
            self.bind(value, &pieces);
        }
        self.bind_all(&body.region.params, &given[1..]);
        if self.region(body.region) {
            self.b.ins().return_(&[]);
        }
        self.finish();
    }

    /// Byte offset of each captured value and the size of all, at least one byte.
    fn capture_offsets(&self, captured: &[Value]) -> (Vec<i32>, u32) {
        let mut end = 0;
        let mut offsets = Vec::with_capacity(captured.len());
        for &value in captured {
            offsets.push(end as i32);
            end += self.ty(value).bytes().next_multiple_of(CAPTURE_ALIGN);
        }
        (offsets, end.max(CAPTURE_ALIGN))
    }
}
