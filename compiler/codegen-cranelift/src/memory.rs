//! Loads, stores, stack memory, addresses and reference counts.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, AtomicRmwOp, InstBuilder, MemFlagsData, types};
use ravel_nest::ir::{Access, Op, Prim, Sharing, Ty, Value};
use ravel_nest::object::OFFSET_RC;

use crate::neighbours::Neighbour;
use crate::plan::Runtime;
use crate::translate::Translator;
use crate::types::{Pieces, live_lanes, piece_count, piece_type, register_lanes};

fn flags(access: Access) -> MemFlagsData {
    let mut flags = MemFlagsData::new().with_notrap();
    if access.aligned {
        flags = flags.with_aligned();
    }
    if access.readonly {
        flags = flags.with_readonly();
    }
    if access.movable {
        flags = flags.with_can_move();
    }
    flags
}

impl Translator<'_, '_> {
    /// Loads a scalar or the pieces of a vector.
    pub fn load(&mut self, ty: Ty, ptr: Value, offset: i32, access: Access) -> Pieces {
        let ptr = self.scalar(ptr);
        self.load_at(ty, ptr, offset, flags(access))
    }

    /// Loads a register of neighbours at the first of them; it stands for each of them.
    pub fn load_neighbour(&mut self, value: Value, neighbour: Neighbour, ty: Ty, ptr: Value, access: Access) -> Pieces {
        if value != neighbour.leader {
            return self.pieces(neighbour.leader);
        }
        let register = ty.with_lanes(register_lanes(ty.prim) as u8);
        self.load(register, ptr, neighbour.offset, Access { aligned: false, ..access })
    }

    /// Loads from a Cranelift address.
    pub fn load_at(&mut self, ty: Ty, ptr: ir::Value, offset: i32, flags: MemFlagsData) -> Pieces {
        let piece = piece_type(ty);
        if !ty.is_vector() || ty.bytes() >= 16 {
            return (0..piece_count(ty))
                .map(|n| self.b.ins().load(piece, flags, ptr, offset + 16 * n as i32))
                .collect();
        }
        // A short vector: the low part of a register.
        let (scalar, register) = match ty.bytes() {
            8 => (types::F64, types::F64X2),
            4 => (types::F32, types::F32X4),
            _ => (types::I16, types::I32X4),
        };
        let mut low = self.b.ins().load(scalar, flags, ptr, offset);
        if scalar == types::I16 {
            low = self.b.ins().uextend(types::I32, low);
        }
        let wide = self.b.ins().scalar_to_vector(register, low);
        Pieces::from_slice(&[self.bitcast(piece, wide)])
    }

    /// Loads lanes from anywhere, one by one.
    pub fn gather_from(
        &mut self,
        ty: Ty,
        (ptr, offset): (Value, i32),
        (index, scale): (Value, u8),
        mask: Option<Value>,
    ) -> Pieces {
        let (from, base, indices) = (self.ty(index), self.scalar(ptr), self.pieces(index));
        // Lanes that are left out load a zero.
        let mask = mask.map(|mask| {
            let zeros = self.stack_slot(16, 16)[0];
            let zero = self.b.ins().iconst(types::I64, 0);
            self.b.ins().store(flags(Access::ALIGNED), zero, zeros, 0);
            (self.ty(mask), self.pieces(mask), zeros)
        });
        let mut lanes = Vec::new();
        for lane in 0..ty.lanes {
            let mut at = self.lane(from, &indices, lane);
            if from.prim != Prim::I64 {
                at = self.b.ins().sextend(types::I64, at);
            }
            let bytes = self.b.ins().ishl_imm_u(at, i64::from(scale.trailing_zeros()));
            let mut place = self.b.ins().iadd(base, bytes);
            let mut offset = offset;
            if let Some((masks, pieces, zeros)) = &mask {
                let there = self.b.ins().iadd_imm_s(place, i64::from(offset));
                let taken = self.lane(*masks, pieces, lane);
                place = self.b.ins().select(taken, there, *zeros);
                offset = 0;
            }
            lanes.push(self.b.ins().load(piece_type(ty.lane()), flags(Access::ALIGNED), place, offset));
        }
        self.build(ty, &lanes)
    }

    /// Stores a scalar or the pieces of a vector.
    pub fn store(&mut self, value: Value, ptr: Value, offset: i32, access: Access) -> Pieces {
        let (ty, pieces, ptr) = (self.ty(value), self.pieces(value), self.scalar(ptr));
        // Nobody else writes a location that is promised not to change, so that the promise says nothing about stores.
        let flags = flags(Access { readonly: false, movable: false, ..access });
        self.store_at(ty, &pieces, ptr, offset, flags);
        Pieces::new()
    }

    /// Stores to a Cranelift address.
    pub fn store_at(&mut self, ty: Ty, pieces: &[ir::Value], ptr: ir::Value, offset: i32, flags: MemFlagsData) {
        if !ty.is_vector() || ty.bytes() >= 16 {
            for (n, &piece) in pieces.iter().enumerate() {
                self.b.ins().store(flags, piece, ptr, offset + 16 * n as i32);
            }
            return;
        }
        debug_assert_eq!(live_lanes(ty), usize::from(ty.lanes), "a short vector is one piece");
        let register = match ty.bytes() {
            8 => types::F64X2,
            4 => types::F32X4,
            _ => types::I16X8,
        };
        let wide = self.bitcast(register, pieces[0]);
        let low = self.b.ins().extractlane(wide, 0);
        self.b.ins().store(flags, low, ptr, offset);
    }

    /// Memory of the function's own frame. Frames are aligned to 16 bytes; more is made by rounding up.
    pub fn stack_slot(&mut self, size: u32, align: u32) -> Pieces {
        const FRAME_ALIGN: u32 = 16;
        let slack = align.saturating_sub(FRAME_ALIGN);
        let shift = align.min(FRAME_ALIGN).trailing_zeros() as u8;
        let data = ir::StackSlotData::new(ir::StackSlotKind::ExplicitSlot, size.saturating_add(slack), shift);
        let slot = self.b.create_sized_stack_slot(data);
        let mut address = self.b.ins().stack_addr(types::I64, slot, 0);
        if slack > 0 {
            let slack = self.word(i64::from(slack));
            let mask = self.word(-i64::from(align));
            address = self.b.ins().iadd(address, slack);
            address = self.b.ins().band(address, mask);
        }
        Pieces::from_slice(&[address])
    }

    /// The address of an entity of the module.
    pub fn address(&mut self, op: &Op) -> Pieces {
        let address = match op {
            Op::DataAddr(id) => self.data_address(self.plan.data[*id]),
            Op::GlobalAddr(id) => self.data_address(self.plan.globals[*id]),
            Op::FuncAddr(id) => self.func_address(self.plan.funcs[*id]),
            Op::ExternAddr(id) => self.func_address(self.plan.externs[*id]),
            _ => unreachable!("called for addresses only"),
        };
        Pieces::from_slice(&[address])
    }

    /// One more reference, unless null.
    pub fn rc_inc(&mut self, object: Value, sharing: Sharing) -> Pieces {
        let object = self.scalar(object);
        let (counted, done) = (self.b.create_block(), self.b.create_block());
        self.b.ins().brif(object, counted, &[], done, &[]);
        self.b.switch_to_block(counted);
        self.count(object, 1, sharing);
        self.b.ins().jump(done, &[]);
        self.b.switch_to_block(done);
        Pieces::new()
    }

    /// One reference less, unless null; frees at zero.
    pub fn rc_dec(&mut self, object: Value, sharing: Sharing) -> Pieces {
        let object = self.scalar(object);
        let (counted, dead, done) = (self.b.create_block(), self.b.create_block(), self.b.create_block());
        self.b.ins().brif(object, counted, &[], done, &[]);
        self.b.switch_to_block(counted);
        let left = self.count(object, -1, sharing);
        let zero = self.word(0);
        let is_dead = self.b.ins().icmp(IntCC::Equal, left, zero);
        self.b.ins().brif(is_dead, dead, &[], done, &[]);
        self.b.switch_to_block(dead);
        self.call_runtime(Runtime::Free, &[object]);
        self.b.ins().jump(done, &[]);
        self.b.switch_to_block(done);
        Pieces::new()
    }

    /// Whether the count is one. A plain load does: a count that other threads change is not one before and after.
    pub fn rc_unique(&mut self, object: Value) -> Pieces {
        let object = self.scalar(object);
        let count = self.b.ins().load(types::I64, MemFlagsData::trusted(), object, OFFSET_RC);
        Pieces::from_slice(&[self.b.ins().icmp_imm_s(IntCC::Equal, count, 1)])
    }

    /// Adds to the count of an object and returns the new count.
    fn count(&mut self, object: ir::Value, change: i64, sharing: Sharing) -> ir::Value {
        let flags = MemFlagsData::trusted();
        let change = self.word(change);
        match sharing {
            Sharing::Plain => {
                let old = self.b.ins().load(types::I64, flags, object, OFFSET_RC);
                let new = self.b.ins().iadd(old, change);
                self.b.ins().store(flags, new, object, OFFSET_RC);
                new
            }
            Sharing::Atomic => {
                let offset = self.word(i64::from(OFFSET_RC));
                let address = self.b.ins().iadd(object, offset);
                let old = self.b.ins().atomic_rmw(types::I64, flags, AtomicRmwOp::Add, address, change);
                self.b.ins().iadd(old, change)
            }
        }
    }
}
