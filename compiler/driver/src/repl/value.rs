//! Values that outlive the input that computed them.

use ravel_codegen::Word;
use ravel_core::ir::{Program, StructId, UserTypeId, UserTypeKind};
use ravel_runtime::array::Array;
use ravel_specialize::value::{Kind, LeafShape, ScKind, ShapeKind};
use ravel_types::{Affine, Basic, Elem, Scalar};

/// A user-defined type as the next program finds it again; ids are only good for one program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeName {
    pub module: String,
    pub name: String,
}

/// A value with what is known of its type.
#[derive(Clone, Debug)]
pub enum Value {
    Scalar(Basic, Scalar),
    /// Never of rank 0.
    Array(Basic, Array),
    /// A string, a file, ...
    Object(TypeName, Array),
    /// By its representation, whose last `inner` axes belong to each element.
    Typedef {
        ty: TypeName,
        inner: usize,
        rep: Box<Value>,
    },
    /// By its representation.
    Class {
        ty: TypeName,
        rep: Box<Value>,
    },
    Record {
        ty: TypeName,
        fields: Vec<Field>,
    },
}

/// A field of all elements of an array of records: `inner` axes belong to each.
#[derive(Clone, Debug)]
pub struct Field {
    pub name: String,
    pub inner: usize,
    pub value: Value,
}

impl Value {
    /// The shape in elements of the value's type.
    pub fn shape(&self) -> Vec<i64> {
        let outer = |value: &Value, inner: usize| {
            let mut shape = value.shape();
            shape.truncate(shape.len().saturating_sub(inner));
            shape
        };
        match self {
            Value::Scalar(..) | Value::Object(..) | Value::Class { .. } => Vec::new(),
            Value::Array(_, array) => array.view().shape().to_vec(),
            Value::Typedef { inner, rep, .. } => outer(rep, *inner),
            Value::Record { fields, .. } => fields.first().map_or(Vec::new(), |f| outer(&f.value, f.inner)),
        }
    }

    /// Whether the type is, or is built from, `ty`.
    pub fn mentions(&self, ty: &TypeName) -> bool {
        match self {
            Value::Scalar(..) | Value::Array(..) => false,
            Value::Object(own, _) => own == ty,
            Value::Typedef { ty: own, rep, .. } | Value::Class { ty: own, rep } => own == ty || rep.mentions(ty),
            Value::Record { ty: own, fields } => own == ty || fields.iter().any(|f| f.value.mentions(ty)),
        }
    }

    /// The type of a parameter that takes it, in a file of module `root`.
    pub fn parameter_type(&self, root: &str) -> String {
        let qualified = |ty: &TypeName| match ty.module == root {
            true => ty.name.clone(),
            false => format!("{}::{}", ty.module, ty.name),
        };
        match self {
            Value::Scalar(basic, _) | Value::Array(basic, _) => format!("{basic}[*]"),
            Value::Object(ty, _) | Value::Class { ty, .. } => qualified(ty),
            Value::Typedef { ty, .. } => format!("{}[*]", qualified(ty)),
            Value::Record { ty, .. } => format!("struct {}[*]", qualified(ty)),
        }
    }

    /// Its kind as an argument of a function of `program`: shapes are known, values are not. Nothing if the program does not have
    /// its type.
    pub fn kind(&self, program: &Program) -> Option<Kind> {
        let user = |ty: &TypeName| {
            let found = program.user_types.iter().position(|u| u.name == ty.name && u.module == ty.module);
            found.map(|index| UserTypeId(index as u32))
        };
        Some(match self {
            Value::Scalar(basic, _) => Kind::Sc(*basic, ScKind::Any),
            Value::Array(basic, array) => {
                let extent = |n: &i64| i32::try_from(*n).ok().map(Affine::constant);
                Kind::Arr(*basic, ShapeKind::Known(array.view().shape().iter().map(extent).collect()))
            }
            Value::Object(ty, _) => Kind::Handle(user(ty)?),
            Value::Typedef { ty, rep, .. } | Value::Class { ty, rep } => {
                Kind::Wrapped(user(ty)?, Box::new(rep.kind(program)?))
            }
            Value::Record { ty, fields } => {
                let found = program.structs.iter().position(|s| s.name == ty.name && s.module == ty.module)?;
                let fields = fields.iter().map(|f| f.value.kind(program)).collect::<Option<_>>()?;
                Kind::Struct(StructId(found as u32), fields)
            }
        })
    }

    /// Bytes of its arrays.
    pub fn bytes(&self) -> usize {
        match self {
            Value::Scalar(..) => 0,
            Value::Array(_, array) | Value::Object(_, array) => array.view().count() * array.view().elem().size(),
            Value::Typedef { rep, .. } | Value::Class { rep, .. } => rep.bytes(),
            Value::Record { fields, .. } => fields.iter().map(|field| field.value.bytes()).sum(),
        }
    }

    /// Whether both are the same array or object; not whether they are equal.
    pub fn is_same(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::Scalar(basic, a), Value::Scalar(other, b)) => basic == other && a.bits() == b.bits(),
            (Value::Array(_, a), Value::Array(_, b)) | (Value::Object(_, a), Value::Object(_, b)) => {
                a.view().as_ptr() == b.view().as_ptr()
            }
            (Value::Typedef { ty, rep, .. }, Value::Typedef { ty: other, rep: other_rep, .. })
            | (Value::Class { ty, rep }, Value::Class { ty: other, rep: other_rep }) => {
                ty == other && rep.is_same(other_rep)
            }
            (Value::Record { ty, fields }, Value::Record { ty: other, fields: others }) => {
                ty == other && fields.iter().zip(others).all(|(a, b)| a.value.is_same(&b.value))
            }
            _ => false,
        }
    }

    /// Appends what compiled code takes for it, in the order of the leaves of its kind.
    pub fn words(&self, out: &mut Vec<Word>) {
        match self {
            Value::Scalar(_, scalar) => out.push(Word::Bits(scalar.bits())),
            Value::Array(_, array) | Value::Object(_, array) => out.push(Word::Object(array.clone())),
            Value::Typedef { rep, .. } | Value::Class { rep, .. } => rep.words(out),
            Value::Record { fields, .. } => fields.iter().for_each(|f| f.value.words(out)),
        }
    }
}

/// Which of the words that compiled code returns for values of these kinds are objects.
pub fn objects(kinds: &[Kind]) -> Vec<bool> {
    let mut leaves = Vec::new();
    kinds.iter().for_each(|kind| kind.leaves(&mut leaves));
    leaves.iter().map(|(elem, shape)| *elem == Elem::Handle || matches!(shape, LeafShape::Array(_))).collect()
}

/// Puts a result together from words; nothing if no value arrives (after an error, or where a function never returns).
pub fn read(kind: &Kind, program: &Program, words: &mut dyn Iterator<Item = Word>) -> Option<Value> {
    Some(match kind {
        Kind::Bottom => return None,
        Kind::Sc(basic, known) => Value::Scalar(*basic, scalar(*basic, known, words)?),
        Kind::Tup(basic, elements) => {
            let elements = elements.iter().map(|known| scalar(*basic, known, words)).collect::<Option<Vec<_>>>()?;
            Value::Array(*basic, array(basic.elem(), &[elements.len() as i64], &elements)?)
        }
        Kind::Arr(basic, _) => match words.next()? {
            Word::Object(array) => match first_of_rank_0(*basic, &array) {
                Some(scalar) => Value::Scalar(*basic, scalar),
                None => Value::Array(*basic, array),
            },
            Word::Bits(_) => return None,
        },
        Kind::Handle(id) => match words.next()? {
            Word::Object(object) => Value::Object(user_name(program, *id), object),
            Word::Bits(_) => return None,
        },
        Kind::Wrapped(id, rep) => {
            let rep = Box::new(read(rep, program, words)?);
            let ty = user_name(program, *id);
            match &program.user_types[id.index()].kind {
                UserTypeKind::Typedef { shape, .. } => Value::Typedef { ty, inner: shape.len(), rep },
                UserTypeKind::Class { .. } | UserTypeKind::External => Value::Class { ty, rep },
            }
        }
        Kind::Struct(id, kinds) => {
            let record = &program.structs[id.index()];
            let mut fields = Vec::new();
            for (field, kind) in record.fields.iter().zip(kinds) {
                let value = read(kind, program, words)?;
                // Records with fields of open shape are scalars: all axes belong to the one element.
                let inner = field.shape.as_ref().map_or(value.shape().len(), Vec::len);
                fields.push(Field { name: field.name.clone(), inner, value });
            }
            Value::Record { ty: struct_name(program, *id), fields }
        }
    })
}

fn scalar(basic: Basic, known: &ScKind, words: &mut dyn Iterator<Item = Word>) -> Option<Scalar> {
    match known {
        ScKind::Const(scalar) => Some(*scalar),
        ScKind::Form(_) | ScKind::Any => match words.next()? {
            Word::Bits(bits) => Scalar::from_bits(basic.elem(), bits),
            Word::Object(_) => None,
        },
    }
}

/// The value of an array that turned out to have no axes.
fn first_of_rank_0(basic: Basic, array: &Array) -> Option<Scalar> {
    if array.view().rank() == 0 { element(basic.elem(), array, 0) } else { None }
}

/// One element of an array.
pub fn element(elem: Elem, array: &Array, at: usize) -> Option<Scalar> {
    let view = array.view();
    Some(match elem {
        Elem::Bool => Scalar::Bool(*view.as_slice::<u8>()?.get(at)? != 0),
        Elem::Char => Scalar::Char(*view.as_slice::<u8>()?.get(at)?),
        Elem::I8 => Scalar::I8(*view.as_slice::<i8>()?.get(at)?),
        Elem::I16 => Scalar::I16(*view.as_slice::<i16>()?.get(at)?),
        Elem::I32 => Scalar::I32(*view.as_slice::<i32>()?.get(at)?),
        Elem::I64 => Scalar::I64(*view.as_slice::<i64>()?.get(at)?),
        Elem::U8 => Scalar::U8(*view.as_slice::<u8>()?.get(at)?),
        Elem::U16 => Scalar::U16(*view.as_slice::<u16>()?.get(at)?),
        Elem::U32 => Scalar::U32(*view.as_slice::<u32>()?.get(at)?),
        Elem::U64 => Scalar::U64(*view.as_slice::<u64>()?.get(at)?),
        Elem::F32 => Scalar::F32(*view.as_slice::<f32>()?.get(at)?),
        Elem::F64 => Scalar::F64(*view.as_slice::<f64>()?.get(at)?),
        Elem::Handle => return None,
    })
}

/// An array object of scalars of one type, in row-major order.
pub fn array(elem: Elem, shape: &[i64], elements: &[Scalar]) -> Option<Array> {
    use ravel_runtime::abi::ElemTag;
    let bits: Vec<u64> = elements.iter().map(|e| e.bits()).collect();
    let bytes = || bits.iter().map(|b| *b as u8).collect::<Vec<u8>>();
    macro_rules! array {
        ($ty:ty) => {
            Array::from_slice(shape, &bits.iter().map(|b| *b as $ty).collect::<Vec<$ty>>())
        };
    }
    let made = match elem {
        Elem::Bool => Array::from_slice_as(ElemTag::Bool, shape, &bytes()),
        Elem::Char => Array::from_slice_as(ElemTag::Char, shape, &bytes()),
        Elem::U8 => Array::from_slice_as(ElemTag::U8, shape, &bytes()),
        Elem::I8 => array!(i8),
        Elem::I16 => array!(i16),
        Elem::I32 => array!(i32),
        Elem::I64 => array!(i64),
        Elem::U16 => array!(u16),
        Elem::U32 => array!(u32),
        Elem::U64 => array!(u64),
        Elem::F32 => Array::from_slice(shape, &bits.iter().map(|b| f32::from_bits(*b as u32)).collect::<Vec<_>>()),
        Elem::F64 => Array::from_slice(shape, &bits.iter().map(|b| f64::from_bits(*b)).collect::<Vec<_>>()),
        Elem::Handle => return None,
    };
    made.ok()
}

fn user_name(program: &Program, id: UserTypeId) -> TypeName {
    let user = &program.user_types[id.index()];
    TypeName { module: user.module.clone(), name: user.name.clone() }
}

fn struct_name(program: &Program, id: StructId) -> TypeName {
    let record = &program.structs[id.index()];
    TypeName { module: record.module.clone(), name: record.name.clone() }
}

/// What a kind says of a type, as in `int[3,.]`.
pub fn kind_text(kind: &Kind, program: &Program) -> String {
    let (name, shape) = named_shape(kind, program);
    match shape {
        None => format!("{name}[*]"),
        Some(extents) if extents.is_empty() => name,
        Some(extents) => {
            let extents: Vec<String> = extents.iter().map(|e| e.map_or(".".to_string(), |n| n.to_string())).collect();
            format!("{name}[{}]", extents.join(","))
        }
    }
}

/// Element type and outer shape; no shape if the rank is unknown.
fn named_shape(kind: &Kind, program: &Program) -> (String, Option<Vec<Option<i32>>>) {
    let constants = |shape: ShapeKind| match shape {
        ShapeKind::Known(extents) => {
            Some(extents.iter().map(|e| e.as_ref().and_then(Affine::as_const)).collect::<Vec<_>>())
        }
        ShapeKind::Unknown => None,
    };
    let outer = |shape: Option<Vec<Option<i32>>>, inner: usize| {
        shape.map(|mut extents| {
            extents.truncate(extents.len().saturating_sub(inner));
            extents
        })
    };
    match kind {
        Kind::Bottom => ("no value".to_string(), Some(Vec::new())),
        Kind::Sc(basic, _) => (basic.to_string(), Some(Vec::new())),
        Kind::Tup(basic, elements) => (basic.to_string(), Some(vec![Some(elements.len() as i32)])),
        Kind::Arr(basic, shape) => (basic.to_string(), constants(shape.clone())),
        Kind::Handle(id) => (user_name(program, *id).name, Some(Vec::new())),
        Kind::Wrapped(id, rep) => {
            let shape = match &program.user_types[id.index()].kind {
                UserTypeKind::Typedef { shape, .. } => outer(named_shape(rep, program).1, shape.len()),
                UserTypeKind::Class { .. } | UserTypeKind::External => Some(Vec::new()),
            };
            (user_name(program, *id).name, shape)
        }
        Kind::Struct(id, kinds) => {
            let record = &program.structs[id.index()];
            let first = record.fields.first().zip(kinds.first()).filter(|_| !record.open);
            let shape = first.map_or(Some(Vec::new()), |(f, k)| {
                outer(named_shape(k, program).1, f.shape.as_ref().map_or(0, Vec::len))
            });
            (format!("struct {}", record.name), shape)
        }
    }
}
