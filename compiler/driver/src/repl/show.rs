//! Values as text: `int[2,3]:` and nested brackets.

use super::value::{Value, element};
use ravel_runtime::abi::ObjectKind;
use ravel_runtime::array::Array;
use ravel_types::{Elem, Scalar};

/// Arrays with more elements are shown by the edges of every long axis.
const MOST_ELEMENTS: usize = 1000;

/// How many positions are shown at each end of a shortened axis.
const EDGE: usize = 3;

/// Longest line of elements.
const WIDTH: usize = 100;

/// The type and, behind a colon, the value.
pub fn value(value: &Value) -> String {
    let body = body(value, true);
    let gap = if body.contains('\n') { '\n' } else { ' ' };
    format!("{}:{gap}{body}", type_name(value))
}

/// The type with the shape, as in `double[2,3]`.
pub fn type_name(value: &Value) -> String {
    let name = match value {
        Value::Scalar(basic, _) | Value::Array(basic, _) => basic.to_string(),
        Value::Object(ty, _) | Value::Typedef { ty, .. } | Value::Class { ty, .. } => ty.name.clone(),
        Value::Record { ty, .. } => format!("struct {}", ty.name),
    };
    let shape: Vec<String> = value.shape().iter().map(i64::to_string).collect();
    if shape.is_empty() { name } else { format!("{name}[{}]", shape.join(",")) }
}

/// The value without its type; on one line unless `tall`.
pub fn body(value: &Value, tall: bool) -> String {
    match value {
        Value::Scalar(_, scalar) => scalar_text(*scalar),
        Value::Array(basic, array) => array_text(basic.elem(), array, tall),
        Value::Object(_, object) => match (object.view().kind(), object.view().text()) {
            (ObjectKind::String, Some(text)) => quoted(text),
            (ObjectKind::File, _) => "<stream>".to_string(),
            _ => "<object>".to_string(),
        },
        Value::Typedef { rep, .. } | Value::Class { rep, .. } => body(rep, tall),
        Value::Record { fields, .. } if fields.is_empty() => "{ }".to_string(),
        Value::Record { fields, .. } => {
            let fields: Vec<String> = fields.iter().map(|f| format!("{}: {}", f.name, body(&f.value, false))).collect();
            let line = format!("{{ {} }}", fields.join(", "));
            match tall && line.chars().count() > WIDTH {
                true => format!("{{ {} }}", fields.join(",\n  ")),
                false => line,
            }
        }
    }
}

fn scalar_text(scalar: Scalar) -> String {
    match scalar {
        Scalar::Bool(v) => v.to_string(),
        Scalar::Char(v) => format!("'{}'", escaped(&[v], '\'')),
        Scalar::I8(v) => v.to_string(),
        Scalar::I16(v) => v.to_string(),
        Scalar::I32(v) => v.to_string(),
        Scalar::I64(v) => v.to_string(),
        Scalar::U8(v) => v.to_string(),
        Scalar::U16(v) => v.to_string(),
        Scalar::U32(v) => v.to_string(),
        Scalar::U64(v) => v.to_string(),
        Scalar::F32(v) => format!("{v:?}"),
        Scalar::F64(v) => format!("{v:?}"),
    }
}

fn quoted(text: &[u8]) -> String {
    format!("\"{}\"", escaped(text, '"'))
}

/// Text inside of quotes, as literals have it.
pub fn escaped(text: &[u8], quote: char) -> String {
    let mut out = String::new();
    for part in text.utf8_chunks() {
        for c in part.valid().chars() {
            match c {
                '\n' => out.push_str("\\n"),
                '\t' => out.push_str("\\t"),
                '\r' => out.push_str("\\r"),
                '\\' => out.push_str("\\\\"),
                c if c == quote => out.extend(['\\', c]),
                c if c.is_control() => out.push_str(&format!("\\{:o}", u32::from(c))),
                c => out.push(c),
            }
        }
        part.invalid().iter().for_each(|byte| out.push_str(&format!("\\{byte:o}")));
    }
    out
}

/// An array being laid out. Rows of characters count as elements.
struct Layout<'a> {
    array: &'a Array,
    elem: Elem,
    shape: &'a [i64],
    shortened: bool,
    tall: bool,
    /// Elements are padded to this width.
    column: usize,
}

fn array_text(elem: Elem, array: &Array, tall: bool) -> String {
    let shape = array.view().shape();
    let rows_are_text = elem == Elem::Char;
    let shape = &shape[..shape.len() - usize::from(rows_are_text && !shape.is_empty())];
    let count: i64 = shape.iter().product();
    let mut layout = Layout { array, elem, shape, shortened: count as usize > MOST_ELEMENTS, tall, column: 0 };
    if tall && shape.len() > 1 && !rows_are_text {
        layout.column = layout.widest(0, 0);
    }
    let mut out = String::new();
    layout.put(0, 0, &mut out);
    out
}

impl Layout<'_> {
    /// The positions of an axis that are shown; nothing stands for the gap.
    fn positions(&self, extent: usize) -> Vec<Option<usize>> {
        if self.shortened && extent > 2 * EDGE {
            let tail = (extent - EDGE..extent).map(Some);
            (0..EDGE).map(Some).chain([None]).chain(tail).collect()
        } else {
            (0..extent).map(Some).collect()
        }
    }

    /// Extent of an axis.
    fn extent(&self, axis: usize) -> usize {
        usize::try_from(self.shape[axis]).unwrap_or(0)
    }

    /// The element at a row-major position.
    fn element(&self, at: usize) -> String {
        let view = self.array.view();
        if self.elem == Elem::Char {
            let length = view.shape().last().map_or(1, |n| usize::try_from(*n).unwrap_or(0));
            let text = view.as_slice::<u8>().and_then(|all| all.get(at * length..(at + 1) * length));
            return quoted(text.unwrap_or_default());
        }
        element(self.elem, self.array, at).map_or_else(|| "?".to_string(), scalar_text)
    }

    fn widest(&self, axis: usize, at: usize) -> usize {
        if axis == self.shape.len() {
            return self.element(at).chars().count();
        }
        let extent = self.extent(axis);
        let shown = self.positions(extent).into_iter().flatten();
        shown.map(|i| self.widest(axis + 1, at * extent + i)).max().unwrap_or(0)
    }

    fn put(&self, axis: usize, at: usize, out: &mut String) {
        if axis == self.shape.len() {
            let text = self.element(at);
            let padding = self.column.saturating_sub(text.chars().count());
            out.extend(std::iter::repeat_n(' ', padding));
            out.push_str(&text);
            return;
        }
        let extent = self.extent(axis);
        let is_row = axis + 1 == self.shape.len();
        let indent = " ".repeat(axis + 1);
        out.push('[');
        let mut line = axis + 1;
        for (n, position) in self.positions(extent).into_iter().enumerate() {
            let mut item = String::new();
            match position {
                Some(i) => self.put(axis + 1, at * extent + i, &mut item),
                None => item.push_str("..."),
            }
            if n > 0 {
                out.push(',');
                let next = item.chars().count() + 2;
                if self.tall && (!is_row || line + next > WIDTH) {
                    // One empty line between matrices, two between what holds matrices.
                    let breaks = if is_row { 1 } else { self.shape.len() - 1 - axis };
                    out.push_str(&"\n".repeat(breaks));
                    out.push_str(&indent);
                    line = axis + 1;
                } else {
                    out.push(' ');
                }
                line += next;
            } else {
                line += item.chars().count();
            }
            out.push_str(&item);
        }
        out.push(']');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repl::value::{Field, TypeName};
    use ravel_types::Basic;

    fn ints(shape: &[i64]) -> Value {
        let count: i64 = shape.iter().product();
        let elements: Vec<i32> = (0..count as i32).collect();
        Value::Array(Basic::Int, Array::from_slice(shape, &elements).expect("small"))
    }

    #[test]
    fn arrays_nest_and_align() {
        assert_eq!(value(&ints(&[3])), "int[3]: [0, 1, 2]");
        assert_eq!(value(&ints(&[2, 6])), "int[2,6]:\n[[ 0,  1,  2,  3,  4,  5],\n [ 6,  7,  8,  9, 10, 11]]");
        assert_eq!(value(&ints(&[2, 1, 2])), "int[2,1,2]:\n[[[0, 1]],\n\n [[2, 3]]]");
        assert_eq!(value(&ints(&[0, 3])), "int[0,3]: []");
        assert_eq!(value(&ints(&[1, 2])), "int[1,2]: [[0, 1]]");
    }

    #[test]
    fn long_arrays_show_their_edges() {
        assert_eq!(value(&ints(&[2000])), "int[2000]: [0, 1, 2, ..., 1997, 1998, 1999]");
        let wide = value(&ints(&[100]));
        assert!(wide.lines().count() > 2 && wide.lines().all(|line| line.len() <= WIDTH + 1), "{wide}");
    }

    #[test]
    fn text_is_quoted() {
        let text = Array::string(b"a\"b\n\xff").expect("small");
        let ty = TypeName { module: "String".into(), name: "string".into() };
        assert_eq!(value(&Value::Object(ty, text)), r#"string: "a\"b\n\377""#);
        let rows = Array::from_slice_as(ravel_runtime::abi::ElemTag::Char, &[2, 2], b"abcd").expect("small");
        assert_eq!(value(&Value::Array(Basic::Char, rows)), "char[2,2]: [\"ab\", \"cd\"]");
        assert_eq!(value(&Value::Scalar(Basic::Char, Scalar::Char(b'\''))), r"char: '\''");
    }

    #[test]
    fn records_show_their_fields() {
        let field = |name: &str, inner, value| Field { name: name.to_string(), inner, value };
        let ty = TypeName { module: "m".into(), name: "P".into() };
        let fields = vec![field("v", 1, ints(&[2, 2])), field("n", 0, ints(&[2]))];
        assert_eq!(value(&Value::Record { ty, fields }), "struct P[2]: { v: [[0, 1], [2, 3]], n: [0, 1] }");
    }
}
