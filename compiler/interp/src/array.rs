//! Values of the interpreter: scalars, arrays in row-major order, handles of runtime objects.

use crate::dual::Num;
use crate::rows::Rows;
use ravel_runtime::array::Array;
use ravel_types::{Elem, Scalar};
use std::sync::Arc;

/// A value. Its WIR type decides the form: rank 0 is `Scalar` or `Handle`; any other, an unknown rank included, is `Array`.
/// So is, in a `derive`, a scalar that has infinitesimals.
#[derive(Clone, Debug)]
pub enum Val {
    Scalar(Scalar),
    /// A runtime object; nothing before the first assignment of a global object.
    Handle(Option<Array>),
    Array(Arc<Arr>),
}

/// An array.
#[derive(Clone, Debug)]
pub struct Arr {
    pub elem: Elem,
    pub shape: Vec<i64>,
    pub data: Data,
    /// Who has which rows, if ranks are simulated and have some each; with nothing here, all have all.
    pub(crate) rows: Option<Box<Rows>>,
    /// In a `derive`: the elements that have infinitesimals, as numbers with these. The real numbers in them are the elements.
    pub(crate) duals: Option<Vec<Option<Num>>>,
}

/// Elements in row-major order.
#[derive(Clone, Debug)]
pub enum Data {
    /// Native byte order, `elem.bytes()` each.
    Bytes(Vec<u8>),
    Handles(Vec<Option<Array>>),
}

impl Val {
    pub fn elem(&self) -> Elem {
        match self {
            Val::Scalar(s) => s.elem(),
            Val::Handle(_) => Elem::Handle,
            Val::Array(a) => a.elem,
        }
    }

    /// Extents; none for rank 0.
    pub fn shape(&self) -> &[i64] {
        match self {
            Val::Array(a) => &a.shape,
            _ => &[],
        }
    }

    /// Number of elements.
    pub fn count(&self) -> usize {
        match self {
            Val::Array(a) => a.count(),
            _ => 1,
        }
    }

    pub fn as_i32(&self) -> Option<i32> {
        match self {
            Val::Scalar(Scalar::I32(v)) => Some(*v),
            _ => None,
        }
    }

    /// The elements as scalars, nothing if they are handles.
    pub fn scalars(&self) -> Option<Vec<Scalar>> {
        match self {
            Val::Scalar(s) => Some(vec![*s]),
            Val::Handle(_) => None,
            Val::Array(a) => (0..a.count()).map(|i| a.scalar(i)).collect(),
        }
    }
}

impl Arr {
    /// An array of these elements, as many as the shape says.
    pub fn new(elem: Elem, shape: Vec<i64>, data: Data) -> Arr {
        Arr { elem, shape, data, rows: None, duals: None }
    }

    /// An array of `count` zeros: zero bytes, null handles, blanks for `char`.
    pub fn zeros(elem: Elem, shape: Vec<i64>, count: usize) -> Arr {
        let data = match elem {
            Elem::Handle => Data::Handles(vec![None; count]),
            Elem::Char => Data::Bytes(vec![b' '; count]),
            _ => Data::Bytes(vec![0; count * elem.bytes()]),
        };
        Arr::new(elem, shape, data)
    }

    /// An array of the given scalars, as many as the shape says.
    pub fn from_scalars(elem: Elem, shape: Vec<i64>, values: &[Scalar]) -> Arr {
        let mut arr = Arr::zeros(elem, shape, values.len());
        for (i, v) in values.iter().enumerate() {
            arr.put_scalar(i, *v);
        }
        arr
    }

    pub fn count(&self) -> usize {
        match &self.data {
            Data::Bytes(bytes) => bytes.len() / self.elem.bytes(),
            Data::Handles(handles) => handles.len(),
        }
    }

    /// Element `i`; nothing for handles.
    pub fn scalar(&self, i: usize) -> Option<Scalar> {
        let Data::Bytes(bytes) = &self.data else { return None };
        let bits = match self.elem.bytes() {
            1 => u64::from(bytes[i]),
            4 => u64::from(u32::from_ne_bytes(*bytes[i * 4..].first_chunk()?)),
            8 => u64::from_ne_bytes(*bytes[i * 8..].first_chunk()?),
            size => u64::from(u16::from_ne_bytes(*bytes[i * size..].first_chunk()?)),
        };
        Scalar::from_bits(self.elem, bits)
    }

    fn put_scalar(&mut self, i: usize, value: Scalar) {
        let size = self.elem.bytes();
        if let Some(duals) = &mut self.duals {
            duals[i] = None;
        }
        if let Data::Bytes(bytes) = &mut self.data {
            bytes[i * size..(i + 1) * size].copy_from_slice(&value.bits().to_le_bytes()[..size]);
        }
    }

    /// `count` elements from position `at`, as an array of the given shape.
    pub fn slice(&self, at: usize, count: usize, shape: Vec<i64>) -> Arr {
        let data = match &self.data {
            Data::Bytes(bytes) => {
                let size = self.elem.bytes();
                Data::Bytes(bytes[at * size..(at + count) * size].to_vec())
            }
            Data::Handles(handles) => Data::Handles(handles[at..at + count].to_vec()),
        };
        let duals = self.duals.as_ref().map(|duals| &duals[at..at + count]);
        let duals = duals.filter(|duals| duals.iter().any(Option::is_some)).map(<[_]>::to_vec);
        Arr { duals, ..Arr::new(self.elem, shape, data) }
    }

    /// Element `i` as a value of rank 0.
    pub fn element(&self, i: usize) -> Val {
        if self.duals.as_ref().is_some_and(|duals| duals[i].is_some()) {
            return Val::Array(Arc::new(self.slice(i, 1, Vec::new())));
        }
        match &self.data {
            Data::Handles(handles) => Val::Handle(handles[i].clone()),
            Data::Bytes(_) => match self.scalar(i) {
                Some(s) => Val::Scalar(s),
                None => Val::Handle(None),
            },
        }
    }

    /// Writes the elements of `value` from position `at` on; they are of the same type.
    pub fn put(&mut self, at: usize, value: &Val) {
        match (value, &mut self.data) {
            (Val::Scalar(s), _) => self.put_scalar(at, *s),
            (Val::Handle(h), Data::Handles(handles)) => handles[at] = h.clone(),
            (Val::Array(a), data) => {
                match (&a.data, data) {
                    (Data::Bytes(from), Data::Bytes(to)) => {
                        let at = at * self.elem.bytes();
                        to[at..at + from.len()].copy_from_slice(from);
                    }
                    (Data::Handles(from), Data::Handles(to)) => to[at..at + from.len()].clone_from_slice(from),
                    _ => {}
                }
                self.put_duals(at, a);
            }
            _ => {}
        }
    }

    fn put_duals(&mut self, at: usize, from: &Arr) {
        let count = self.count();
        match (&mut self.duals, &from.duals) {
            (None, None) => {}
            (Some(to), None) => to[at..at + from.count()].fill(None),
            (to, Some(from)) => to.get_or_insert_with(|| vec![None; count])[at..at + from.len()].clone_from_slice(from),
        }
    }
}

impl PartialEq for Val {
    /// Equality of shapes and bits; handles are equal if they are one object.
    fn eq(&self, other: &Val) -> bool {
        match (self, other) {
            (Val::Scalar(a), Val::Scalar(b)) => a == b,
            (Val::Handle(a), Val::Handle(b)) => same_object(a, b),
            (Val::Array(a), Val::Array(b)) => {
                a.elem == b.elem
                    && a.shape == b.shape
                    && match (&a.data, &b.data) {
                        (Data::Bytes(x), Data::Bytes(y)) => x == y,
                        (Data::Handles(x), Data::Handles(y)) => {
                            x.len() == y.len() && x.iter().zip(y).all(|(x, y)| same_object(x, y))
                        }
                        _ => false,
                    }
            }
            _ => false,
        }
    }
}

fn same_object(a: &Option<Array>, b: &Option<Array>) -> bool {
    a.as_ref().map(|a| a.view().as_ptr()) == b.as_ref().map(|b| b.view().as_ptr())
}
