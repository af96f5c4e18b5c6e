//! Conditionals and sequential loops.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, BlockArg, InstBuilder, MemFlagsData, types};
use ravel_nest::ir::{Exit, Region, Value};

use crate::translate::Translator;
use crate::types::{Pieces, piece_count};

fn block_args(values: &[ir::Value]) -> Vec<BlockArg> {
    values.iter().map(|&value| BlockArg::Value(value)).collect()
}

impl Translator<'_, '_> {
    /// Runs one of two regions.
    pub fn if_else(&mut self, cond: Value, then_region: &Region, else_region: &Region, results: &[Value]) -> Pieces {
        let cond = self.scalar(cond);
        let merge = self.b.create_block();
        for &result in results {
            let ty = self.ty(result);
            self.append_params(merge, ty);
        }
        // A region that only yields needs no block of its own.
        let arm = |t: &mut Self, region: &Region| match &region.exit {
            Exit::Yield(values) if region.insts.is_empty() => (merge, block_args(&t.all_pieces(values))),
            _ => (t.b.create_block(), Vec::new()),
        };
        let (on_true, true_args) = arm(self, then_region);
        let (on_false, false_args) = arm(self, else_region);
        self.b.ins().brif(cond, on_true, &true_args, on_false, &false_args);
        for (block, region) in [(on_true, then_region), (on_false, else_region)] {
            if block != merge {
                self.b.switch_to_block(block);
                self.arm(region, merge);
            }
        }
        self.b.switch_to_block(merge);
        self.b.block_params(merge).into()
    }

    fn arm(&mut self, region: &Region, merge: ir::Block) {
        if self.region(region) {
            let yields = self.all_pieces(region.exit.operands());
            self.b.ins().jump(merge, &block_args(&yields));
        }
    }

    /// A counted loop, tested at its end: `lo < hi` is tested once before it.
    pub fn for_loop(
        &mut self,
        [lo, hi, step]: [Value; 3],
        inits: &[Value],
        body: &Region,
        results: &[Value],
    ) -> Pieces {
        let runs = match (self.known_bits(lo), self.known_bits(hi)) {
            (Some(lo), Some(hi)) => Some((lo as i64) < hi as i64),
            _ => None,
        };
        let (lo, hi, step) = (self.scalar(lo), self.scalar(hi), self.scalar(step));
        let inits_pieces = self.all_pieces(inits);
        if runs == Some(false) {
            return inits_pieces.into();
        }
        let (head, exit) = (self.b.create_block(), self.b.create_block());
        self.b.append_block_param(head, types::I64);
        for &init in inits {
            let ty = self.ty(init);
            self.append_params(head, ty);
            self.append_params(exit, ty);
        }
        let entry_args = block_args(&[&[lo][..], &inits_pieces].concat());
        if runs == Some(true) {
            self.b.ins().jump(head, &entry_args);
        } else {
            let any = self.b.ins().icmp(IntCC::SignedLessThan, lo, hi);
            self.b.ins().brif(any, head, &entry_args, exit, &block_args(&inits_pieces));
        }
        self.b.switch_to_block(head);
        let params: Pieces = self.b.block_params(head).into();
        self.bind_all(&body.params, &params);
        let index = params[0];
        if self.region(body) {
            let yields = self.all_pieces(body.exit.operands());
            let next = self.b.ins().iadd(index, step);
            let again = self.b.ins().icmp(IntCC::SignedLessThan, next, hi);
            let back_args = block_args(&[&[next][..], &yields].concat());
            self.b.ins().brif(again, head, &back_args, exit, &block_args(&yields));
        }
        self.b.switch_to_block(exit);
        self.behind_loop(exit, results)
    }

    /// A loop repeated while the first value its body yields is not zero.
    pub fn do_while(&mut self, inits: &[Value], body: &Region, results: &[Value]) -> Pieces {
        let (head, exit) = (self.b.create_block(), self.b.create_block());
        for &init in inits {
            let ty = self.ty(init);
            self.append_params(head, ty);
            self.append_params(exit, ty);
        }
        let inits = self.all_pieces(inits);
        self.b.ins().jump(head, &block_args(&inits));
        self.b.switch_to_block(head);
        let params: Pieces = self.b.block_params(head).into();
        self.bind_all(&body.params, &params);
        if self.region(body) {
            let yields = self.all_pieces(body.exit.operands());
            let args = block_args(&yields[1..]);
            self.b.ins().brif(yields[0], head, &args, exit, &args);
        }
        self.b.switch_to_block(exit);
        self.behind_loop(exit, results)
    }

    /// The results of a loop, in the block behind it. Those that live across a call are made again there: they are read from memory as values of
    /// another type, which nothing takes for what was written.
    fn behind_loop(&mut self, exit: ir::Block, results: &[Value]) -> Pieces {
        let mut pieces: Pieces = self.b.block_params(exit).into();
        let mut next = 0;
        for &result in results {
            let count = piece_count(self.ty(result));
            if self.crossing[result] {
                for piece in &mut pieces[next..next + count] {
                    *piece = self.made_again(*piece);
                }
            }
            next += count;
        }
        pieces
    }

    fn made_again(&mut self, piece: ir::Value) -> ir::Value {
        let ty = self.b.func.dfg.value_type(piece);
        let other = match ty {
            types::F32 => types::I32,
            types::F64 => types::I64,
            types::I8X16 => types::I16X8,
            ty if ty.is_vector() => types::I8X16,
            _ => return piece,
        };
        let bytes = ty.bytes();
        let slot = self.b.create_sized_stack_slot(ir::StackSlotData::new(
            ir::StackSlotKind::ExplicitSlot,
            bytes,
            bytes.trailing_zeros() as u8,
        ));
        let address = self.b.ins().stack_addr(types::I64, slot, 0);
        let flags = MemFlagsData::trusted();
        self.b.ins().store(flags, piece, address, 0);
        let read = self.b.ins().load(other, flags, address, 0);
        self.bitcast(ty, read)
    }
}
