//! Values as text: `int[2,3]:` and nested brackets.

use super::value::{Field, Value, element};
use crate::pictures::numbers::statistics;
use ravel_runtime::abi::ObjectKind;
use ravel_runtime::array::Array;
use ravel_types::{Elem, Scalar};

/// Arrays with more elements, or with more lines, are shown by the edges of their long axes, with a line of figures.
const MOST_ELEMENTS: usize = 1000;
const MOST_LINES: usize = 24;

/// How values are laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Longest line of elements.
    pub width: usize,
    /// Significant digits of real numbers; all that tell them apart if not said.
    pub digits: Option<usize>,
}

impl Default for Style {
    fn default() -> Style {
        Style { width: 100, digits: None }
    }
}

/// The type and, behind a colon, the value. What is too large to be shown whole has figures about all of it, too.
pub fn value(value: &Value, style: Style) -> String {
    let Rendered { text, is_whole } = rendered(value, true, style);
    let name = type_name(value);
    if !is_whole && let Some(figures) = figures(value) {
        return format!("{name}: {figures}\n{text}");
    }
    let gap = if text.contains('\n') { '\n' } else { ' ' };
    format!("{name}:{gap}{text}")
}

/// The value alone, on one line.
pub fn line(value: &Value) -> String {
    rendered(value, false, Style::default()).text
}

/// Range and mean of a value's numbers.
fn figures(value: &Value) -> Option<String> {
    match value {
        Value::Array(basic, array) => statistics(basic.elem(), array),
        Value::Typedef { inner: 0, rep, .. } => figures(rep),
        _ => None,
    }
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

/// A text of a value.
struct Rendered {
    text: String,
    /// Nothing is left out.
    is_whole: bool,
}

/// The value without its type; on one line unless `tall`.
fn rendered(value: &Value, tall: bool, style: Style) -> Rendered {
    let whole = |text: String| Rendered { text, is_whole: true };
    match value {
        Value::Scalar(_, scalar) => whole(scalar_text(*scalar, style)),
        Value::Array(basic, array) => array_text(basic.elem(), array, tall, style),
        Value::Object(_, object) => whole(match (object.view().kind(), object.view().text()) {
            (ObjectKind::String, Some(text)) => quoted(text),
            (ObjectKind::File, _) => "<stream>".to_string(),
            _ => "<object>".to_string(),
        }),
        Value::Typedef { rep, .. } | Value::Class { rep, .. } => rendered(rep, tall, style),
        Value::Record { fields, .. } if fields.is_empty() => whole("{ }".to_string()),
        Value::Record { fields, .. } => {
            let mut is_whole = true;
            let mut field = |f: &Field| {
                let shown = rendered(&f.value, false, style);
                is_whole &= shown.is_whole;
                format!("{}: {}", f.name, shown.text)
            };
            let fields: Vec<String> = fields.iter().map(&mut field).collect();
            let line = format!("{{ {} }}", fields.join(", "));
            let text = match tall && line.chars().count() > style.width {
                true => format!("{{ {} }}", fields.join(",\n  ")),
                false => line,
            };
            Rendered { text, is_whole }
        }
    }
}

fn scalar_text(scalar: Scalar, style: Style) -> String {
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
        Scalar::F32(v) => match style.digits {
            // The shortest text of what is left of the number.
            Some(digits) => format!("{:?}", rounded(f64::from(v), digits) as f32),
            None => format!("{v:?}"),
        },
        Scalar::F64(v) => match style.digits {
            Some(digits) => format!("{:?}", rounded(v, digits)),
            None => format!("{v:?}"),
        },
    }
}

/// A number with so many significant digits.
fn rounded(number: f64, digits: usize) -> f64 {
    format!("{number:.*e}", digits.saturating_sub(1)).parse().unwrap_or(number)
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

/// How much is shown of the axes of an array, most first.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    Whole,
    /// Both ends of every axis.
    Edges,
    /// The outermost matrices.
    Matrices,
    FirstMatrix,
    /// The ends of the first row, in one line.
    FirstRow,
}

const PARTS: [Part; 5] = [Part::Whole, Part::Edges, Part::Matrices, Part::FirstMatrix, Part::FirstRow];

impl Part {
    /// How many positions are shown at both ends of an axis; `from_last` counts axes from the last one.
    fn ends(self, from_last: usize) -> (usize, usize) {
        match self {
            Part::Whole => (usize::MAX, 0),
            Part::FirstRow if from_last == 0 => (2, 2),
            Part::FirstRow => (1, 0),
            Part::Matrices if from_last > 1 => (1, 1),
            Part::FirstMatrix if from_last > 1 => (1, 0),
            Part::Edges | Part::Matrices | Part::FirstMatrix => (3, 3),
        }
    }
}

/// An array being laid out. Rows of characters count as elements.
struct Layout<'a> {
    array: &'a Array,
    elem: Elem,
    shape: &'a [i64],
    part: Part,
    tall: bool,
    /// Elements are padded to this width.
    column: usize,
    style: Style,
}

fn array_text(elem: Elem, array: &Array, tall: bool, style: Style) -> Rendered {
    let shape = array.view().shape();
    let rows_are_text = elem == Elem::Char;
    let shape = &shape[..shape.len() - usize::from(rows_are_text && !shape.is_empty())];
    let mut text = String::new();
    for part in PARTS {
        let last = part == Part::FirstRow;
        let mut layout = Layout { array, elem, shape, part, tall: tall && !last, column: 0, style };
        if !last && layout.count() > MOST_ELEMENTS {
            continue;
        }
        if layout.tall && shape.len() > 1 && !rows_are_text {
            layout.column = layout.widest(0, 0);
        }
        text.clear();
        layout.put(0, 0, &mut text);
        if text.lines().nth(MOST_LINES).is_none() {
            return Rendered { text, is_whole: part == Part::Whole };
        }
    }
    Rendered { text, is_whole: false }
}

impl Layout<'_> {
    /// The positions of an axis that are shown; nothing stands for the gap.
    fn positions(&self, axis: usize) -> Vec<Option<usize>> {
        let extent = self.extent(axis);
        let (head, tail) = self.part.ends(self.shape.len() - 1 - axis);
        if extent > head.saturating_add(tail) {
            let tail = (extent - tail..extent).map(Some);
            (0..head).map(Some).chain([None]).chain(tail).collect()
        } else {
            (0..extent).map(Some).collect()
        }
    }

    /// How many elements are shown.
    fn count(&self) -> usize {
        let shown = |axis: usize| {
            let (head, tail) = self.part.ends(self.shape.len() - 1 - axis);
            self.extent(axis).min(head.saturating_add(tail))
        };
        (0..self.shape.len()).map(shown).fold(1, usize::saturating_mul)
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
        element(self.elem, self.array, at).map_or_else(|| "?".to_string(), |scalar| scalar_text(scalar, self.style))
    }

    fn widest(&self, axis: usize, at: usize) -> usize {
        if axis == self.shape.len() {
            return self.element(at).chars().count();
        }
        let extent = self.extent(axis);
        let shown = self.positions(axis).into_iter().flatten();
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
        for (n, position) in self.positions(axis).into_iter().enumerate() {
            let mut item = String::new();
            match position {
                Some(i) => self.put(axis + 1, at * extent + i, &mut item),
                None => item.push_str("..."),
            }
            if n > 0 {
                out.push(',');
                let next = item.chars().count() + 2;
                if self.tall && (!is_row || line + next > self.style.width) {
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
    use super::value as styled;
    use super::*;
    use crate::repl::value::TypeName;
    use ravel_types::Basic;

    fn value(value: &Value) -> String {
        styled(value, Style::default())
    }

    #[test]
    fn a_style_sets_width_and_digits() {
        let style = Style { width: 20, digits: Some(3) };
        assert_eq!(styled(&ints(&[9]), style), "int[9]:\n[0, 1, 2, 3, 4, 5, 6,\n 7, 8]");
        let shown = |v: f64| styled(&Value::Scalar(Basic::Double, Scalar::F64(v)), style);
        assert_eq!(shown(std::f64::consts::PI), "double: 3.14");
        assert_eq!(shown(-123_456.0), "double: -123000.0");
        assert_eq!(shown(f64::NAN), "double: NaN");
        assert_eq!(shown(f64::INFINITY), "double: inf");
    }

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
        assert_eq!(value(&ints(&[2000])), "int[2000]: 0 to 1999, mean 999.5\n[0, 1, 2, ..., 1997, 1998, 1999]");
        let wide = value(&ints(&[100]));
        assert!(
            wide.lines().count() > 2 && wide.lines().all(|line| line.len() <= Style::default().width + 1),
            "{wide}"
        );
    }

    #[test]
    fn what_is_too_large_fits_a_screen() {
        for shape in [&[30, 10][..], &[999], &[5, 8, 9], &[12, 12, 12], &[4, 5, 6, 7], &[9, 9, 9, 9, 9], &[2; 14]] {
            let text = value(&ints(shape));
            let count: i64 = shape.iter().product();
            assert!(text.starts_with(&format!("{}: 0 to {}, mean ", type_name(&ints(shape)), count - 1)), "{text}");
            assert!((2..=1 + MOST_LINES).contains(&text.lines().count()), "{text}");
            assert!(text.contains("..."));
        }
        assert_eq!(
            value(&ints(&[2; 14])).lines().nth(1),
            Some(&*format!("{}[0, 1]{}", "[".repeat(13), ", ...]".repeat(13)))
        );
        assert!(value(&ints(&[24, 10])).starts_with("int[24,10]:\n[["));
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
