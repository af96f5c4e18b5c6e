//! Which with-loops make an array longer ([`crate::memory::append`]).

use ravel_types::Elem;
use ravel_wir::{Frame, Generator, Inst, Op, Part, Value, With, WithOp};

use crate::facts::{Facts, Refusal};
use crate::plan::strategy::WithPlan;

/// An array that gets longer.
pub(crate) struct Append {
    pub array: Value,
    /// The partition that copies it.
    pub copy: usize,
    /// The extents of the result.
    pub frame: Vec<Value>,
}

impl Facts<'_> {
    /// The array that a partition copies from end to end, if only its first extent differs from that of the frame.
    fn copied_whole(&self, part: &Part, frame: &[Value]) -> Option<Value> {
        let Generator::Known { lower, upper, step: None, .. } = &part.generator else { return None };
        let body = &self.func.regions[part.body];
        let ([cell], [load]) = (&body.yields[..], &body.insts[..]) else { return None };
        let Op::Sel { array, index } = &self.func.insts[*load].op else { return None };
        let extents = self.func.ty(*array).shape.extents()?;
        let is_extent = |axis: usize, v: Value| {
            let known = extents[axis].as_const();
            match self.live.def(v).map(|inst| &self.func.insts[inst].op) {
                Some(Op::Extent { array: of, axis: along }) => of == array && *along as usize == axis,
                _ => known.is_some() && known == self.const_i32(v).and_then(|n| i32::try_from(n).ok()),
            }
        };
        let whole = extents.len() == frame.len()
            && self.func.insts[*load].results[..] == [*cell]
            && *index == body.params
            && lower.iter().all(|v| self.const_i32(*v) == Some(0))
            && upper.iter().enumerate().all(|(axis, v)| is_extent(axis, *v))
            && upper.iter().zip(frame).skip(1).all(|(u, f)| self.same_scalar(*u, *f));
        whole.then_some(*array)
    }

    /// The partition that copies an array, and the array, which may become the result.
    pub fn plan_append(&self, inst: Inst, with: &With) -> Result<WithPlan, Refusal> {
        let ([WithOp::Genarray { frame: Frame::Known(frame), cell: Some(cell), .. }], &[result]) =
            (&with.ops[..], &self.func.insts[inst].results[..])
        else {
            return Err(Refusal::OtherKind);
        };
        let grows = !with.ordered
            && with.parts.len() > 1
            && cell.is_empty()
            && self.options.device.is_none()
            && self.func.ty(result).shape.constants().is_none()
            && self.covers(with, frame);
        let copied = |(n, part): (usize, &Part)| Some((n, self.copied_whole(part, frame)?));
        let copies: Vec<(usize, Value)> = match grows {
            true => with.parts.iter().enumerate().filter_map(copied).collect(),
            false => Vec::new(),
        };
        let elem = self.elem(result);
        let mut refusal = Refusal::OtherKind;
        for (copy, array) in copies.into_iter().filter(|(_, array)| self.elem(*array) == elem) {
            let reads = |(n, part): (usize, &Part)| n != copy && self.live.free(part.body).contains(&array);
            refusal = if elem == Elem::Handle || self.dests.contains_key(&result) {
                Refusal::PartOfAnother
            } else if with.parts.iter().enumerate().any(reads) {
                Refusal::OthersRead
            } else if self.is_view(array) || !self.dies_in(with, array) {
                Refusal::UsedAgain
            } else {
                return Ok(WithPlan::Append(Append { array, copy, frame: frame.clone() }));
            };
        }
        Err(refusal)
    }
}
