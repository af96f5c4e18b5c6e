//! Values of unknown rank, and index vectors.

use super::ghost::Ghost;
use super::{Dim, FnGen, Var};
use ravel_types::{Affine, Elem, Shape, Ty};
use ravel_wir::{Frame, Generator, Op, Part, Value, With, WithOp};

impl FnGen<'_> {
    /// An array that for a while nobody knows the rank of.
    pub(super) fn dynamic(&mut self, elem: Elem, dims: &[Dim], depth: usize) -> Var {
        let array = self.array(elem, dims, depth);
        let unknown = Ty::new(elem, Shape::Unknown);
        let ty = self.ty(elem, dims);
        let mut wide = self.emit(Op::Widen(array.value), unknown.clone());
        if self.chance(1, 2) {
            wide = self.emit(Op::Opaque(wide), unknown.clone());
        }
        let mut ghost = array.ghost.clone();
        match self.below(5) {
            0 => {}
            1 => {
                let lead = 1 + self.below(dims.len());
                if let Some(index) = self.index_vector(&dims[..lead]) {
                    let cell = self.array(elem, &dims[lead..], 1);
                    ghost = ghost.join(&cell.ghost);
                    wide = self.emit(Op::UpdateDyn { array: wide, index, value: cell.value }, unknown.clone());
                }
            }
            2 => {
                let extents = self.extents(dims);
                let shape = self.vector_of(extents);
                let flat = self.emit(Op::ReshapeDyn { array: wide, shape }, ty);
                return self.var(flat, elem, dims, ghost.unrelated());
            }
            3 => {
                let (mapped, of_cells) = self.dynamic_map(elem, wide, &ghost, self.most(dims));
                wide = mapped;
                ghost = of_cells;
            }
            _ => {
                let n = self.range(1, 3);
                let mut larger = vec![self.const_dim(n)];
                larger.extend(dims);
                if self.affordable(&larger) {
                    let outer = self.array(elem, &larger, depth);
                    let outer_wide = self.emit(Op::Widen(outer.value), unknown.clone());
                    if let Some(index) = self.index_vector(&larger[..1]) {
                        wide = self.emit(Op::SelDyn { array: outer_wide, index }, unknown);
                        ghost = outer.ghost;
                    }
                }
            }
        }
        let value = self.emit(Op::Narrow(wide), ty);
        self.var(value, elem, dims, ghost.unrelated())
    }

    fn vector_of(&mut self, values: Vec<Value>) -> Value {
        let n = values.len() as i32;
        self.emit(Op::Array(values), Ty::new(Elem::I32, Shape::of(&[n])))
    }

    fn index_vector(&mut self, dims: &[Dim]) -> Option<Value> {
        let index = self.indices(dims)?;
        Some(self.vector_of(index))
    }

    /// A with-loop over the shape of a value of unknown rank.
    fn dynamic_map(&mut self, elem: Elem, array: Value, ghost: &Ghost, runs: i64) -> (Value, Ghost) {
        let int = Ty::scalar(Elem::I32);
        let form = Affine::sym(self.func.fresh_sym());
        let vector = Ty::new(Elem::I32, Shape::Known(vec![form]));
        let shape = self.emit(Op::ShapeVec(array), vector.clone());
        let rank = self.emit(Op::Rank(array), int.clone());
        let zero = self.int(0);
        let body = self.func.new_region();
        self.func.add_param(body, int);
        self.func.regions[body].yields = vec![zero];
        let generator = Generator::Known { lower: vec![zero], upper: vec![rank], step: None, width: None };
        let op = WithOp::Genarray { frame: Frame::Known(vec![rank]), cell: Some(Vec::new()), default: None };
        let lower = self.emit(
            Op::With(With { parts: vec![Part { generator, body }], ops: vec![op], ordered: false }),
            vector.clone(),
        );
        let body = self.func.new_region();
        let cells = self.in_region(body, runs, |this| {
            let index = this.func.add_param(body, vector);
            let x = this.emit(Op::SelDyn { array, index }, Ty::scalar(elem));
            let x = this.var(x, elem, &[], ghost.unrelated());
            this.vars.push(x);
            let y = this.scalar(elem, 2);
            this.func.regions[body].yields = vec![y.value];
            y.ghost.unrelated()
        });
        let generator = Generator::Dyn { lower, upper: shape, step: None, width: None };
        let op = WithOp::Genarray { frame: Frame::Dyn(shape), cell: Some(Vec::new()), default: None };
        let with = With { parts: vec![Part { generator, body }], ops: vec![op], ordered: false };
        (self.emit(Op::With(with), Ty::new(elem, Shape::Unknown)), cells)
    }
}
