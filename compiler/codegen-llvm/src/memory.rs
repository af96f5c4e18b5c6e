//! Loads, stores, addresses and reference counts.

use inkwell::basic_block::BasicBlock;
use inkwell::context::Context;
use inkwell::llvm_sys::core::LLVMBuildGEP2;
use inkwell::types::{AsTypeRef, VectorType};
use inkwell::values::{AsValueRef, BasicValue, InstructionValue, IntValue, PointerValue, VectorValue};
use inkwell::{AtomicOrdering, AtomicRMWBinOp, IntPredicate};
use ravel_nest::ir::{Access, Prim, Sharing, Ty, Value};
use ravel_nest::object::OFFSET_RC;

use crate::translate::{Built, Problem, Translator, Values};
use crate::types::scalar_type;

/// A constant address plus constant bytes.
#[expect(unsafe_code, reason = "inkwell cannot know that the types of the operands fit")]
pub(crate) fn constant_offset<'c>(
    context: &'c Context,
    base: PointerValue<'c>,
    bytes: IntValue<'c>,
) -> PointerValue<'c> {
    // SAFETY: one integer index into bytes is well typed.
    unsafe { base.const_gep(context.i8_type(), &[bytes]) }
}

impl<'c> Translator<'_, 'c> {
    /// Address plus bytes.
    #[expect(unsafe_code, reason = "inkwell cannot know that the types of the operands fit")]
    pub fn offset(&self, base: PointerValue<'c>, bytes: IntValue<'c>) -> Result<PointerValue<'c>, Problem> {
        // SAFETY: one integer index into bytes is well typed.
        Ok(unsafe { self.b.build_gep(self.m.context.i8_type(), base, &[bytes], "") }?)
    }

    /// Address plus constant bytes.
    pub fn displaced(&self, base: PointerValue<'c>, offset: i64) -> Result<PointerValue<'c>, Problem> {
        if offset == 0 { Ok(base) } else { self.offset(base, self.word(offset)) }
    }

    /// Loads a scalar or a vector.
    pub fn load(&self, ty: Ty, ptr: Value, offset: i32, access: Access) -> Built<'c> {
        self.load_at(ty, self.pointer(ptr), i64::from(offset), access)
    }

    /// Loads from an LLVM address.
    pub fn load_at(&self, ty: Ty, ptr: PointerValue<'c>, offset: i64, access: Access) -> Built<'c> {
        let address = self.displaced(ptr, offset)?;
        let value = self.b.build_load(self.llvm_type(ty), address, "")?;
        if let Some(load) = value.as_instruction_value() {
            set_alignment(load, ty, access);
            if access.readonly {
                let kind = self.m.context.get_kind_id("invariant.load");
                // Only refused for values that are no nodes.
                let _ = load.set_metadata(self.m.context.metadata_node(&[]), kind);
            }
        }
        Ok(value)
    }

    /// Loads lanes from anywhere. Where the processor is slow at that, LLVM takes them one by one.
    #[expect(unsafe_code, reason = "inkwell has no address computations on vectors")]
    pub fn gather(
        &self,
        ty: Ty,
        (ptr, offset): (Value, i32),
        (index, scale): (Value, u8),
        mask: Option<Value>,
    ) -> Built<'c> {
        let base = self.displaced(self.pointer(ptr), i64::from(offset))?;
        let unit = scalar_type(
            self.m.context,
            match scale {
                1 => Prim::I8,
                2 => Prim::I16,
                4 => Prim::I32,
                _ => Prim::I64,
            },
        );
        let mut index = self.value(index).as_value_ref();
        // SAFETY: one integer index per lane into integers of `scale` bytes is well typed, and gives a vector of addresses.
        let places = unsafe {
            let places = LLVMBuildGEP2(
                self.b.as_mut_ptr(),
                unit.as_type_ref(),
                base.as_value_ref(),
                &raw mut index,
                1,
                c"".as_ptr(),
            );
            VectorValue::new(places)
        };
        let (result, aligned) =
            (self.llvm_type(ty), self.m.context.i32_type().const_int(u64::from(ty.lane().bytes()), false));
        let truth = self.m.context.bool_type().const_int(1, false);
        let (taken, none) = match mask {
            Some(mask) => (self.bits(self.value(mask))?, result.into_vector_type().const_zero()),
            None => (
                VectorType::const_vector(&vec![truth; usize::from(ty.lanes)]).into(),
                result.into_vector_type().get_poison(),
            ),
        };
        self.intrinsic(
            "llvm.masked.gather",
            &[result, places.get_type().into()],
            &[places.into(), aligned.into(), taken, none.into()],
        )
    }

    /// Stores a scalar or a vector.
    pub fn store(&self, value: Value, ptr: Value, offset: i32, access: Access) -> Result<Values<'c>, Problem> {
        let (ty, value) = (self.ty(value), self.value(value));
        self.store_at(ty, value, self.pointer(ptr), i64::from(offset), access)?;
        Ok(Values::new())
    }

    /// Stores to an LLVM address.
    pub fn store_at(
        &self,
        ty: Ty,
        value: inkwell::values::BasicValueEnum<'c>,
        ptr: PointerValue<'c>,
        offset: i64,
        access: Access,
    ) -> Result<(), Problem> {
        let address = self.displaced(ptr, offset)?;
        let store = self.b.build_store(address, value)?;
        set_alignment(store, ty, access);
        if access.streaming {
            let kind = self.m.context.get_kind_id("nontemporal");
            let one = self.m.context.i32_type().const_int(1, false);
            // Only refused for values that are no nodes.
            let _ = store.set_metadata(self.m.context.metadata_node(&[one.into()]), kind);
        }
        Ok(())
    }

    /// One more reference, unless null.
    pub fn rc_inc(&self, object: Value, sharing: Sharing) -> Result<Values<'c>, Problem> {
        let object = self.pointer(object);
        let done = self.unless_null(object)?;
        self.count(object, 1, sharing)?;
        self.b.build_unconditional_branch(done)?;
        self.b.position_at_end(done);
        Ok(Values::new())
    }

    /// One reference less, unless null; frees at zero.
    pub fn rc_dec(&self, object: Value, sharing: Sharing) -> Result<Values<'c>, Problem> {
        let object = self.pointer(object);
        let done = self.unless_null(object)?;
        let dead = self.new_block();
        let left = self.count(object, -1, sharing)?;
        let is_dead = self.b.build_int_compare(IntPredicate::EQ, left, self.word(0), "")?;
        self.b.build_conditional_branch(is_dead, dead, done)?;
        self.b.position_at_end(dead);
        self.b.build_call(self.m.free(), &[object.into()], "")?;
        self.b.build_unconditional_branch(done)?;
        self.b.position_at_end(done);
        Ok(Values::new())
    }

    /// Whether the count is one. The load is atomic because other threads may be changing the count, from one greater number to another.
    pub fn rc_unique(&self, object: Value) -> Built<'c> {
        let count = self.load_at(Ty::I64, self.pointer(object), i64::from(OFFSET_RC), Access::ALIGNED)?;
        if let Some(load) = count.as_instruction_value() {
            // Only refused for what is neither load nor store.
            let _ = load.set_atomic_ordering(AtomicOrdering::Acquire);
        }
        let one = self.b.build_int_compare(IntPredicate::EQ, count.into_int_value(), self.word(1), "")?;
        Ok(self.b.build_int_z_extend(one, self.m.context.i8_type(), "")?.into())
    }

    /// Continues in a block that is not entered for null; returns the block after it.
    fn unless_null(&self, object: PointerValue<'c>) -> Result<BasicBlock<'c>, Problem> {
        let (counted, done) = (self.new_block(), self.new_block());
        let is_null = self.b.build_is_null(object, "")?;
        self.b.build_conditional_branch(is_null, done, counted)?;
        self.b.position_at_end(counted);
        Ok(done)
    }

    /// Adds to the count of an object and returns the new count.
    fn count(&self, object: PointerValue<'c>, change: i64, sharing: Sharing) -> Result<IntValue<'c>, Problem> {
        let change = self.word(change);
        match sharing {
            Sharing::Plain => {
                let old = self.load_at(Ty::I64, object, i64::from(OFFSET_RC), Access::ALIGNED)?.into_int_value();
                let new = self.b.build_int_add(old, change, "")?;
                self.store_at(Ty::I64, new.into(), object, i64::from(OFFSET_RC), Access::ALIGNED)?;
                Ok(new)
            }
            Sharing::Atomic => {
                let address = self.displaced(object, i64::from(OFFSET_RC))?;
                let old =
                    self.b.build_atomicrmw(AtomicRMWBinOp::Add, address, change, AtomicOrdering::AcquireRelease)?;
                Ok(self.b.build_int_add(old, change, "")?)
            }
        }
    }
}

fn set_alignment(access_inst: InstructionValue<'_>, ty: Ty, access: Access) {
    let align = if access.aligned { ty.bytes() } else { 1 };
    // Sizes of nest types are powers of two, which LLVM accepts.
    let _ = access_inst.set_alignment(align);
}
