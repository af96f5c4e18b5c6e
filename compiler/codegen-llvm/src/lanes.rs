//! Lanes: splitting and building vectors, shuffles and reductions.

use inkwell::types::VectorType;
use inkwell::values::{BasicValueEnum, IntValue, VectorValue};
use ravel_nest::ir::{ReduceOp, Value};

use crate::translate::{Built, Problem, Translator};

impl<'c> Translator<'_, 'c> {
    fn lane_number(&self, lane: u8) -> IntValue<'c> {
        self.m.context.i32_type().const_int(u64::from(lane), false)
    }

    fn picks(&self, lanes: &[u8]) -> VectorValue<'c> {
        let lanes: Vec<IntValue<'c>> = lanes.iter().map(|&lane| self.lane_number(lane)).collect();
        VectorType::const_vector(&lanes)
    }

    /// A scalar in all lanes.
    pub fn splat(&self, scalar: BasicValueEnum<'c>, lanes: u8) -> Built<'c> {
        let rubbish = self.vector_like(scalar, lanes).get_poison();
        let first = self.b.build_insert_element(rubbish, scalar, self.lane_number(0), "")?;
        Ok(self.b.build_shuffle_vector(first, rubbish, self.picks(&vec![0; usize::from(lanes)]), "")?.into())
    }

    /// One lane of a vector.
    pub fn lane(&self, vector: BasicValueEnum<'c>, lane: u8) -> Built<'c> {
        Ok(self.b.build_extract_element(vector.into_vector_value(), self.lane_number(lane), "")?)
    }

    /// One lane replaced.
    pub fn insert(&self, vector: Value, lane: u8, scalar: Value) -> Built<'c> {
        let vector = self.value(vector).into_vector_value();
        Ok(self.b.build_insert_element(vector, self.value(scalar), self.lane_number(lane), "")?.into())
    }

    /// Lanes picked from two vectors.
    pub fn shuffle(&self, x: BasicValueEnum<'c>, y: BasicValueEnum<'c>, lanes: &[u8]) -> Built<'c> {
        let (x, y) = (x.into_vector_value(), y.into_vector_value());
        Ok(self.b.build_shuffle_vector(x, y, self.picks(lanes), "")?.into())
    }

    /// Halves combined until one lane is left.
    pub fn reduce(&self, op: ReduceOp, a: Value) -> Built<'c> {
        let (mut ty, mut x) = (self.ty(a), self.value(a));
        while ty.lanes > 1 {
            let half = ty.lanes / 2;
            let (lower, upper) = if half == 1 {
                (self.lane(x, 0)?, self.lane(x, 1)?)
            } else {
                let part = |from: u8| self.shuffle(x, x, &(from..from + half).collect::<Vec<u8>>());
                (part(0)?, part(half)?)
            };
            ty = ty.with_lanes(half);
            x = self.binary(op.combine(), ty, lower, upper)?;
        }
        Ok(x)
    }

    /// 1 if some lane is not zero.
    pub fn any(&self, mask: Value) -> Built<'c> {
        let bits = self.bits(self.value(mask))?;
        let some = self.intrinsic("llvm.vector.reduce.or", &[bits.get_type()], &[bits])?.into_int_value();
        Ok(self.b.build_int_z_extend(some, self.m.context.i8_type(), "")?.into())
    }

    /// Applies `f` lane by lane (once for scalars).
    pub fn lanewise(
        &self,
        args: &[Value],
        f: impl Fn(&[BasicValueEnum<'c>]) -> Result<BasicValueEnum<'c>, Problem>,
    ) -> Built<'c> {
        let (ty, args) = (self.ty(args[0]), self.all(args));
        if !ty.is_vector() {
            return f(&args);
        }
        let mut result = self.llvm_type(ty).into_vector_type().get_poison();
        for lane in 0..ty.lanes {
            let lanes = args.iter().map(|&arg| self.lane(arg, lane)).collect::<Result<Vec<_>, _>>()?;
            result = self.b.build_insert_element(result, f(&lanes)?, self.lane_number(lane), "")?;
        }
        Ok(result.into())
    }
}
