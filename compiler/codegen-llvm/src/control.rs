//! Conditionals and sequential loops.

use inkwell::IntPredicate;
use inkwell::basic_block::BasicBlock;
use inkwell::values::{BasicValue, BasicValueEnum, PhiValue};
use ravel_nest::ir::{BinOp, Inst, Op, Region, Value};

use crate::translate::{Problem, Translator, Values};

/// Is a quotient of floats all that the region computes?
fn only_divides(region: &Region) -> bool {
    matches!(&region.insts[..], [Inst { op: Op::Binary(BinOp::FDiv, ..), .. }])
}

impl<'m, 'c> Translator<'m, 'c> {
    /// Empty phis for values of the types of `values`, at the end of the current block.
    fn phis(&self, values: &[Value]) -> Result<Vec<PhiValue<'c>>, Problem> {
        values.iter().map(|&value| Ok(self.b.build_phi(self.llvm_type(self.ty(value)), "")?)).collect()
    }

    /// Runs one of two regions.
    pub fn if_else(
        &mut self,
        cond: Value,
        then_region: &'m Region,
        else_region: &'m Region,
        results: &[Value],
    ) -> Result<Values<'c>, Problem> {
        let cond = self.bits(self.value(cond))?.into_int_value();
        let (on_true, on_false) = (self.new_block(), self.new_block());
        let branch = self.b.build_conditional_branch(cond, on_true, on_false)?;
        if only_divides(then_region) {
            // LLVM would divide in any case and choose afterwards; the condition is there to avoid that, and rarely holds.
            let count = |n: u64| self.m.context.i32_type().const_int(n, false).into();
            let name = self.m.context.metadata_string("branch_weights").into();
            let kind = self.m.context.get_kind_id("prof");
            // Only refused for values that are no nodes.
            let _ = branch.set_metadata(self.m.context.metadata_node(&[name, count(1), count(2000)]), kind);
        }
        let mut arms: Vec<(Vec<BasicValueEnum<'c>>, BasicBlock<'c>)> = Vec::with_capacity(2);
        for (block, region) in [(on_true, then_region), (on_false, else_region)] {
            self.b.position_at_end(block);
            if self.region(region)? {
                arms.push((self.all(region.exit.operands()), self.block()?));
            }
        }
        let merge = self.new_block();
        for (_, end) in &arms {
            self.b.position_at_end(*end);
            self.b.build_unconditional_branch(merge)?;
        }
        self.b.position_at_end(merge);
        match arms.as_slice() {
            // What follows never runs.
            [] => Ok(results.iter().map(|&result| self.rubbish(result)).collect()),
            [(values, _)] => Ok(values.iter().copied().collect()),
            _ => {
                let phis = self.phis(results)?;
                for (values, end) in &arms {
                    add_incoming(&phis, values, *end);
                }
                Ok(phis.iter().map(value_of).collect())
            }
        }
    }

    /// Any value of the type of `value`.
    fn rubbish(&self, value: Value) -> BasicValueEnum<'c> {
        self.llvm_type(self.ty(value)).const_zero()
    }

    /// A counted loop, tested at its end: `lo < hi` is tested once before it.
    pub fn for_loop(
        &mut self,
        [lo, hi, step]: [Value; 3],
        inits: &[Value],
        body: &'m Region,
    ) -> Result<Values<'c>, Problem> {
        let [lo, hi, step] = [lo, hi, step].map(|bound| self.value(bound).into_int_value());
        let given = self.all(inits);
        let before = self.block()?;
        let (head, exit) = (self.new_block(), self.new_block());
        let any = self.b.build_int_compare(IntPredicate::SLT, lo, hi, "")?;
        self.b.build_conditional_branch(any, head, exit)?;

        self.b.position_at_end(exit);
        let results = self.phis(inits)?;
        add_incoming(&results, &given, before);

        self.b.position_at_end(head);
        let index = self.b.build_phi(self.m.context.i64_type(), "")?;
        index.add_incoming(&[(&lo, before)]);
        let carried = self.phis(inits)?;
        add_incoming(&carried, &given, before);
        let params: Vec<BasicValueEnum<'c>> = [index].iter().chain(&carried).map(value_of).collect();
        self.bind_all(&body.params, &params);
        if self.region(body)? {
            let yields = self.all(body.exit.operands());
            // Nest promises that `hi + step` does not overflow.
            let next = self.b.build_int_nsw_add(index.as_basic_value().into_int_value(), step, "")?;
            let again = self.b.build_int_compare(IntPredicate::SLT, next, hi, "")?;
            let end = self.block()?;
            self.b.build_conditional_branch(again, head, exit)?;
            index.add_incoming(&[(&next, end)]);
            add_incoming(&carried, &yields, end);
            add_incoming(&results, &yields, end);
        }
        self.b.position_at_end(exit);
        Ok(results.iter().map(value_of).collect())
    }

    /// A loop repeated while the first value its body yields is not zero.
    pub fn do_while(&mut self, inits: &[Value], body: &'m Region) -> Result<Values<'c>, Problem> {
        let given = self.all(inits);
        let before = self.block()?;
        let head = self.new_block();
        self.b.build_unconditional_branch(head)?;
        self.b.position_at_end(head);
        let carried = self.phis(inits)?;
        add_incoming(&carried, &given, before);
        let params: Vec<BasicValueEnum<'c>> = carried.iter().map(value_of).collect();
        self.bind_all(&body.params, &params);
        if !self.region(body)? {
            let after = self.new_block();
            self.b.position_at_end(after);
            return Ok(inits.iter().map(|&init| self.rubbish(init)).collect());
        }
        let yields = self.all(body.exit.operands());
        let again = self.bits(yields[0])?.into_int_value();
        let end = self.block()?;
        let exit = self.new_block();
        self.b.build_conditional_branch(again, head, exit)?;
        add_incoming(&carried, &yields[1..], end);
        self.b.position_at_end(exit);
        Ok(yields[1..].iter().copied().collect())
    }
}

fn value_of<'c>(phi: &PhiValue<'c>) -> BasicValueEnum<'c> {
    phi.as_basic_value()
}

fn add_incoming<'c>(phis: &[PhiValue<'c>], values: &[BasicValueEnum<'c>], from: BasicBlock<'c>) {
    for (phi, value) in phis.iter().zip(values) {
        phi.add_incoming(&[(value as &dyn BasicValue<'c>, from)]);
    }
}
