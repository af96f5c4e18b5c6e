//! Values as tables for notebooks: the edges of long axes, the shape in the caption.

use super::show;
use super::value::{Value, element};
use ravel_types::Scalar;

/// So many positions are shown at each end of a long axis.
const EDGE: i64 = 5;

/// The positions of an axis that are shown; nothing stands for the gap.
fn positions(extent: i64) -> Vec<Option<i64>> {
    match extent > 2 * EDGE + 1 {
        true => (0..EDGE).map(Some).chain([None]).chain((extent - EDGE..extent).map(Some)).collect(),
        false => (0..extent).map(Some).collect(),
    }
}

/// Text of a page.
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// An array of rank 1 or 2; other values are better as text.
pub fn table(value: &Value) -> Option<String> {
    let Value::Array(basic, array) = value else { return None };
    let shape = array.view().shape();
    let (rows, columns) = match shape {
        [n] => (1, *n),
        [m, n] => (*m, *n),
        _ => return None,
    };
    if rows == 0 || columns == 0 {
        return None;
    }
    let cell = |row: Option<i64>, column: Option<i64>| match (row, column) {
        (Some(i), Some(j)) => {
            let at = usize::try_from(i * columns + j).unwrap_or(usize::MAX);
            element(basic.elem(), array, at).map_or_else(String::new, text)
        }
        (_, None) => "…".to_string(),
        (None, Some(_)) => "⋮".to_string(),
    };
    let shown = positions(columns);
    let head: String =
        shown.iter().map(|j| format!("<th>{}</th>", j.map_or("…".to_string(), |j| j.to_string()))).collect();
    let mut body = String::new();
    for i in positions(rows) {
        let label = i.map_or("⋮".to_string(), |i| i.to_string());
        let cells: String = shown.iter().map(|j| format!("<td>{}</td>", escaped(&cell(i, *j)))).collect();
        body.push_str(&format!("<tr><th>{label}</th>{cells}</tr>\n"));
    }
    let caption = escaped(&show::type_name(value));
    Some(format!(
        "<table><caption>{caption}</caption>\n<thead><tr><th></th>{head}</tr></thead>\n<tbody>\n{body}</tbody></table>"
    ))
}

fn text(scalar: Scalar) -> String {
    match scalar {
        Scalar::F32(v) => format!("{v:?}"),
        Scalar::F64(v) => format!("{v:?}"),
        Scalar::Bool(v) => v.to_string(),
        Scalar::Char(v) => format!("{:?}", char::from(v)),
        Scalar::U64(v) => v.to_string(),
        other => other.as_i64().map_or_else(String::new, |v| v.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ravel_runtime::array::Array;
    use ravel_types::Basic;

    #[test]
    fn long_axes_show_their_edges() {
        let elements: Vec<i32> = (0..400).collect();
        let array = |shape: &[i64], n: usize| {
            Value::Array(Basic::Int, Array::from_slice(shape, &elements[..n]).expect("small"))
        };
        let large = table(&array(&[20, 20], 400)).expect("a table");
        assert!(large.contains("<caption>int[20,20]</caption>") && large.contains("<td>399</td>"));
        assert_eq!(large.matches("<tr>").count(), 12);
        let small = table(&array(&[3], 3)).expect("a table");
        assert!(small.contains("<tr><th>0</th><td>0</td><td>1</td><td>2</td></tr>"), "{small}");
        assert!(table(&array(&[2, 2, 2], 8)).is_none());
        assert_eq!(escaped("a<b>&\""), "a&lt;b&gt;&amp;&quot;");
    }
}
