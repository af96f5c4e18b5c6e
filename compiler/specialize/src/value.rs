//! Abstract values: how much is known of a value, and where in the emitted function it can be found.
//!
//! A [`Val`] belongs to one function under construction. A [`Kind`] is what remains of it without the places: the part that
//! instance keys, joins and function results are made of.

use ravel_core::ir::{StructId, UserTypeId};
use ravel_types::{Affine, Basic, Elem, Scalar};
use ravel_wir::Value;

/// A scalar of the function under construction.
#[derive(Clone, Debug, PartialEq)]
pub enum Sc {
    Const(Scalar),
    /// An `int` given by a form over symbols in scope; computed where it is needed.
    Form(Affine),
    Val(Value),
}

impl Sc {
    pub fn int(v: i32) -> Sc {
        Sc::Const(Scalar::I32(v))
    }

    pub fn bool(v: bool) -> Sc {
        Sc::Const(Scalar::Bool(v))
    }

    pub fn as_int(&self) -> Option<i32> {
        match self {
            Sc::Const(Scalar::I32(v)) => Some(*v),
            Sc::Form(a) => a.as_const(),
            _ => None,
        }
    }

    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Sc::Const(Scalar::Bool(v)) => Some(*v),
            _ => None,
        }
    }
}

/// A value during specialisation.
#[derive(Clone, Debug)]
pub enum Val {
    /// Nothing arrives here: the result of a call whose instance is still being computed, or after an error (already reported).
    Bottom,
    Sc(Basic, Sc),
    /// A short vector held as scalars.
    Tup(Basic, Vec<Sc>),
    /// Rank >= 1 or unknown; the shape is the WIR value's type.
    Arr(Basic, Value),
    /// An external type: always scalar.
    Handle(UserTypeId, Value),
    /// A typedef, by its representation of shape outer ++ inner, or a class, by its representation.
    Wrapped(UserTypeId, Box<Val>),
    /// Records of one outer shape, as one value per field of shape outer ++ field shape.
    Struct(StructId, Vec<Val>),
}

/// What is known of a scalar.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ScKind {
    Const(Scalar),
    Form(Affine),
    Any,
}

/// What is known of a shape; an unknown extent is `None`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ShapeKind {
    Known(Vec<Option<Affine>>),
    Unknown,
}

/// An abstract value without places.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    Bottom,
    Sc(Basic, ScKind),
    Tup(Basic, Vec<ScKind>),
    Arr(Basic, ShapeKind),
    Handle(UserTypeId),
    Wrapped(UserTypeId, Box<Kind>),
    Struct(StructId, Vec<Kind>),
}

/// Longest vector that is held as scalars.
pub const MAX_TUPLE: usize = 16;

impl ScKind {
    fn join(&self, other: &ScKind) -> ScKind {
        let form = |k: &ScKind| match k {
            ScKind::Const(Scalar::I32(v)) => Some(Affine::constant(*v)),
            ScKind::Form(a) => Some(a.clone()),
            _ => None,
        };
        if self == other || (form(self).is_some() && form(self) == form(other)) { self.clone() } else { ScKind::Any }
    }

    fn map(&self, f: &mut impl FnMut(&Affine) -> Option<Affine>) -> ScKind {
        match self {
            ScKind::Form(a) => f(a).map_or(ScKind::Any, ScKind::Form),
            other => other.clone(),
        }
    }

    /// The form of an `int` scalar.
    pub fn form(&self) -> Option<Affine> {
        match self {
            ScKind::Const(Scalar::I32(v)) => Some(Affine::constant(*v)),
            ScKind::Form(a) => Some(a.clone()),
            _ => None,
        }
    }
}

impl ShapeKind {
    pub fn rank(&self) -> Option<usize> {
        match self {
            ShapeKind::Known(extents) => Some(extents.len()),
            ShapeKind::Unknown => None,
        }
    }

    fn join(&self, other: &ShapeKind) -> ShapeKind {
        match (self, other) {
            (ShapeKind::Known(a), ShapeKind::Known(b)) if a.len() == b.len() => {
                ShapeKind::Known(a.iter().zip(b).map(|(x, y)| if x == y { x.clone() } else { None }).collect())
            }
            _ => ShapeKind::Unknown,
        }
    }

    fn map(&self, f: &mut impl FnMut(&Affine) -> Option<Affine>) -> ShapeKind {
        match self {
            ShapeKind::Known(extents) => {
                ShapeKind::Known(extents.iter().map(|e| e.as_ref().and_then(&mut *f)).collect())
            }
            ShapeKind::Unknown => ShapeKind::Unknown,
        }
    }
}

impl ShapeKind {
    /// The shape with these axes outside and those inside.
    pub fn then(&self, inner: &ShapeKind) -> ShapeKind {
        match (self, inner) {
            (ShapeKind::Known(outer), ShapeKind::Known(inner)) => {
                ShapeKind::Known(outer.iter().chain(inner).cloned().collect())
            }
            _ => ShapeKind::Unknown,
        }
    }
}

impl Kind {
    /// The least kind above both, or nothing if the element types differ.
    pub fn join(&self, other: &Kind) -> Option<Kind> {
        Some(match (self, other) {
            (Kind::Bottom, k) | (k, Kind::Bottom) => k.clone(),
            (Kind::Sc(a, x), Kind::Sc(b, y)) if a == b => Kind::Sc(*a, x.join(y)),
            (Kind::Tup(a, x), Kind::Tup(b, y)) if a == b && x.len() == y.len() => {
                Kind::Tup(*a, x.iter().zip(y).map(|(x, y)| x.join(y)).collect())
            }
            (Kind::Handle(a), Kind::Handle(b)) if a == b => self.clone(),
            (Kind::Wrapped(a, x), Kind::Wrapped(b, y)) if a == b => Kind::Wrapped(*a, Box::new(x.join(y)?)),
            (Kind::Struct(a, x), Kind::Struct(b, y)) if a == b => {
                Kind::Struct(*a, x.iter().zip(y).map(|(x, y)| x.join(y)).collect::<Option<_>>()?)
            }
            _ => {
                let (a, b) = (self.basic()?, other.basic()?);
                if a != b {
                    return None;
                }
                Kind::Arr(a, self.shape_kind()?.join(&other.shape_kind()?))
            }
        })
    }

    pub fn basic(&self) -> Option<Basic> {
        match self {
            Kind::Sc(b, _) | Kind::Tup(b, _) | Kind::Arr(b, _) => Some(*b),
            _ => None,
        }
    }

    /// Shape of a value of built-in element type.
    pub fn shape_kind(&self) -> Option<ShapeKind> {
        match self {
            Kind::Sc(..) => Some(ShapeKind::Known(Vec::new())),
            Kind::Tup(_, s) => Some(ShapeKind::Known(vec![Some(Affine::constant(s.len() as i32))])),
            Kind::Arr(_, shape) => Some(shape.clone()),
            _ => None,
        }
    }

    /// Rewrites every form; where `f` gives nothing the knowledge is lost.
    pub fn map_forms(&self, f: &mut impl FnMut(&Affine) -> Option<Affine>) -> Kind {
        match self {
            Kind::Bottom | Kind::Handle(_) => self.clone(),
            Kind::Sc(b, k) => Kind::Sc(*b, k.map(f)),
            Kind::Tup(b, ks) => Kind::Tup(*b, ks.iter().map(|k| k.map(f)).collect()),
            Kind::Arr(b, shape) => Kind::Arr(*b, shape.map(f)),
            Kind::Wrapped(u, k) => Kind::Wrapped(*u, Box::new(k.map_forms(f))),
            Kind::Struct(s, ks) => Kind::Struct(*s, ks.iter().map(|k| k.map_forms(f)).collect()),
        }
    }

    /// Calls `f` on every form, in a fixed order.
    pub fn for_each_form(&self, f: &mut impl FnMut(&Affine)) {
        let _ = self.map_forms(&mut |a| {
            f(a);
            None
        });
    }

    /// Forgets known scalar values (not shapes), and with `floats_only` only those of non-integer type.
    pub fn forget_values(&self, floats_only: bool) -> Kind {
        let drop = |b: &Basic| !floats_only || !matches!(b, Basic::Int | Basic::Bool);
        match self {
            Kind::Sc(b, ScKind::Const(_)) if drop(b) => Kind::Sc(*b, ScKind::Any),
            Kind::Sc(b, ScKind::Form(_)) if !floats_only => Kind::Sc(*b, ScKind::Any),
            Kind::Tup(b, ks) if drop(b) => Kind::Tup(
                *b,
                ks.iter()
                    .map(|k| match k {
                        ScKind::Form(_) if floats_only => k.clone(),
                        _ => ScKind::Any,
                    })
                    .collect(),
            ),
            Kind::Wrapped(u, k) => Kind::Wrapped(*u, Box::new(k.forget_values(floats_only))),
            Kind::Struct(s, ks) => Kind::Struct(*s, ks.iter().map(|k| k.forget_values(floats_only)).collect()),
            other => other.clone(),
        }
    }

    /// Keeps only the element type; scalars and the axes of user types stay what they are.
    pub fn widest(&self) -> Kind {
        match self {
            Kind::Sc(b, _) => Kind::Sc(*b, ScKind::Any),
            Kind::Tup(b, _) | Kind::Arr(b, _) => Kind::Arr(*b, ShapeKind::Unknown),
            Kind::Wrapped(u, k) => Kind::Wrapped(*u, Box::new(k.widest())),
            Kind::Struct(s, ks) => Kind::Struct(*s, ks.iter().map(Kind::widest).collect()),
            other => other.clone(),
        }
    }

    pub fn has_bottom(&self) -> bool {
        match self {
            Kind::Bottom => true,
            Kind::Wrapped(_, k) => k.has_bottom(),
            Kind::Struct(_, ks) => ks.iter().any(Kind::has_bottom),
            _ => false,
        }
    }

    /// Element types of the WIR values that carry it, in flattening order: constants need none.
    pub fn leaves(&self, out: &mut Vec<(Elem, LeafShape)>) {
        match self {
            Kind::Bottom => {}
            Kind::Sc(_, ScKind::Const(_)) => {}
            Kind::Sc(b, _) => out.push((b.elem(), LeafShape::Scalar)),
            Kind::Tup(b, ks) => ks
                .iter()
                .filter(|k| !matches!(k, ScKind::Const(_)))
                .for_each(|_| out.push((b.elem(), LeafShape::Scalar))),
            Kind::Arr(b, shape) => out.push((b.elem(), LeafShape::Array(shape.clone()))),
            Kind::Handle(_) => out.push((Elem::Handle, LeafShape::Scalar)),
            Kind::Wrapped(_, k) => k.leaves(out),
            Kind::Struct(_, ks) => ks.iter().for_each(|k| k.leaves(out)),
        }
    }
}

/// Shape of one WIR value that carries part of an abstract value.
#[derive(Clone, Debug, PartialEq)]
pub enum LeafShape {
    Scalar,
    Array(ShapeKind),
}

#[cfg(test)]
mod tests {
    use super::*;
    use ravel_types::Sym;

    #[test]
    fn join_keeps_what_both_sides_know() {
        let vec = |n: i32| Kind::Arr(Basic::Int, ShapeKind::Known(vec![Some(Affine::constant(n))]));
        assert_eq!(vec(3).join(&vec(3)), Some(vec(3)));
        assert_eq!(vec(3).join(&vec(4)), Some(Kind::Arr(Basic::Int, ShapeKind::Known(vec![None]))));
        let scalar = Kind::Sc(Basic::Int, ScKind::Any);
        assert_eq!(scalar.join(&vec(3)), Some(Kind::Arr(Basic::Int, ShapeKind::Unknown)));
        assert_eq!(scalar.join(&Kind::Sc(Basic::Float, ScKind::Any)), None);
        assert_eq!(Kind::Bottom.join(&vec(3)), Some(vec(3)));
    }

    #[test]
    fn join_is_commutative_on_forms() {
        let form = |n| Kind::Sc(Basic::Int, ScKind::Form(Affine::sym(Sym(n))));
        let seven = Kind::Sc(Basic::Int, ScKind::Const(Scalar::I32(7)));
        for (a, b) in [(form(0), form(0)), (form(0), form(1)), (form(0), seven.clone()), (seven.clone(), seven)] {
            assert_eq!(a.join(&b), b.join(&a));
        }
    }
}
