//! Assignments to parts of an array, as NumPy has them, in statements that do the same here.
//!
//! ```text
//! a[0:2] = 9d;       a = with { ([0] <= iv < [2]) : 9d; } : modarray(a);
//! a[1:3] += 1d;      a = with { ([1] <= iv < [3]) : a[iv] + 1d; } : modarray(a);
//! a[1:3] = v;        a = take([1], a) ++ v ++ drop([3], a);
//! a[., k] = v;       a = with { ([0, k] <= [i, j] < [shape(a)[0], k + 1]) : v[i]; } : modarray(a);
//! ```

/// What an assignment takes of one axis.
#[derive(Clone, Debug, PartialEq)]
pub enum Axis {
    Place(String),
    /// From a place up to another one that is left out, in steps; the ends where nothing is said. Negative places count from the end.
    Range {
        from: Option<String>,
        upto: Option<String>,
        step: Option<String>,
    },
}

impl Axis {
    pub const WHOLE: Axis = Axis::Range { from: None, upto: None, step: None };
}

/// Names for the components of an index.
const NAMES: [&str; 8] = ["i", "j", "k", "l", "m", "n", "p", "q"];

/// The statement, without its `;`, that puts `value` into a part of an array, and whether it surely does: only numbers show that they are scalars,
/// and only what stands in brackets that it is an array. `sign` is the operator of a compound assignment.
pub fn assigned_part(array: &str, axes: &[Axis], sign: &str, value: &str) -> (String, bool) {
    let is_scalar = is_number(value);
    let is_whole = |axis: &Axis| *axis == Axis::WHOLE;
    // Axes behind a short index are whole anyway.
    let leading = axes.iter().take_while(|axis| matches!(axis, Axis::Place(_))).count();
    if leading > 0 && axes[leading..].iter().all(is_whole) && (sign.is_empty() && !is_scalar || !sign.is_empty()) {
        let places: Vec<String> = axes[..leading].iter().map(|axis| lower(array, 0, axis)).collect();
        let operator = if sign.is_empty() { "=".to_string() } else { format!("{sign}=") };
        return (format!("{array}[{}] {operator} {value}", places.join(", ")), sign.is_empty() || is_scalar);
    }
    if let ([Axis::Range { from, upto, step: None }], "", false) = (axes, sign, is_scalar) {
        let before = from.as_ref().filter(|from| *from != "0").map(|from| match from.starts_with('-') {
            true => format!("drop([{from}], {array}) ++ "),
            false => format!("take([{from}], {array}) ++ "),
        });
        let behind = upto.as_ref().map(|upto| match upto.starts_with('-') {
            true => format!(" ++ take([{upto}], {array})"),
            false => format!(" ++ drop([{upto}], {array})"),
        });
        let text = format!("{array} = {}{value}{}", before.unwrap_or_default(), behind.unwrap_or_default());
        return (text, value.starts_with('['));
    }
    let lowers: Vec<String> = axes.iter().enumerate().map(|(k, axis)| lower(array, k, axis)).collect();
    let uppers: Vec<String> = axes.iter().enumerate().map(|(k, axis)| upper(array, k, axis)).collect();
    let steps: Vec<&str> = axes
        .iter()
        .map(|axis| match axis {
            Axis::Range { step: Some(step), .. } => step,
            _ => "1",
        })
        .collect();
    let step = match steps.iter().all(|step| *step == "1") {
        true => String::new(),
        false => format!(" step [{}]", steps.join(", ")),
    };
    let operand = if sign.is_empty() || is_atom(value) { value.to_string() } else { format!("({value})") };
    let all = format!("{} {} {array} {value}", lowers.join(" "), uppers.join(" "));
    let is_free = |name: &str| !all.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == name);
    let (index, of_array, cell) = if is_scalar {
        let index = ["iv", "jv", "kv"].into_iter().find(|name| is_free(name)).unwrap_or("index");
        (index.to_string(), index.to_string(), operand)
    } else {
        let names: Vec<&str> = NAMES.into_iter().filter(|name| is_free(name)).take(axes.len()).collect();
        let ranges = axes.iter().zip(&names).zip(&lowers).zip(&steps);
        let own: Vec<String> = ranges
            .filter(|(((axis, _), _), _)| matches!(axis, Axis::Range { .. }))
            .map(|(((_, name), low), step)| match (low.as_str(), *step) {
                ("0", "1") => name.to_string(),
                ("0", step) => format!("{name} / {step}"),
                (low, "1") if is_atom(low) => format!("{name} - {low}"),
                (low, "1") => format!("{name} - ({low})"),
                (low, step) => format!("({name} - ({low})) / {step}"),
            })
            .collect();
        let value = if is_operand(value) { value.to_string() } else { format!("({value})") };
        let index = format!("[{}]", names.join(", "));
        (index.clone(), names.join(", "), format!("{value}[{}]", own.join(", ")))
    };
    let cell = if sign.is_empty() { cell } else { format!("{array}[{of_array}] {sign} {cell}") };
    let (lowers, uppers) = (lowers.join(", "), uppers.join(", "));
    (
        format!("{array} = with {{ ([{lowers}] <= {index} < [{uppers}]{step}) : {cell}; }} : modarray({array})"),
        is_scalar || value.starts_with('['),
    )
}

fn from_front(array: &str, k: usize, place: &str) -> String {
    match place.strip_prefix('-') {
        Some(behind) => format!("shape({array})[{k}] - {behind}"),
        None => place.to_string(),
    }
}

fn lower(array: &str, k: usize, axis: &Axis) -> String {
    match axis {
        Axis::Place(place) => from_front(array, k, place),
        Axis::Range { from, .. } => from.as_ref().map_or("0".to_string(), |from| from_front(array, k, from)),
    }
}

fn upper(array: &str, k: usize, axis: &Axis) -> String {
    match axis {
        Axis::Place(place) => {
            let place = from_front(array, k, place);
            place.parse::<i32>().map_or_else(|_| format!("{place} + 1"), |n| n.saturating_add(1).to_string())
        }
        Axis::Range { upto, .. } => {
            upto.as_ref().map_or_else(|| format!("shape({array})[{k}]"), |upto| from_front(array, k, upto))
        }
    }
}

/// Whether a text is a number, with a sign or a suffix.
fn is_number(text: &str) -> bool {
    let digits = text.trim_start_matches('-').trim_start();
    let is_hex = digits.starts_with("0x");
    matches!(text, "true" | "false")
        || digits.starts_with(|c: char| c.is_ascii_digit() || c == '.')
            && (is_hex || digits.trim_end_matches(['d', 'f']).parse::<f64>().is_ok())
}

fn is_atom(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || "_.".contains(c))
}

/// Whether an index may stand behind the text: a name, a call of one, an array.
fn is_operand(text: &str) -> bool {
    is_atom(text) || text.starts_with('[') && text.find(']') == Some(text.len() - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(from: &str, upto: &str) -> Axis {
        let some = |text: &str| Some(text.to_string()).filter(|text| !text.is_empty());
        Axis::Range { from: some(from), upto: some(upto), step: None }
    }

    #[test]
    fn statements_for_parts() {
        let of = |axes: &[Axis], sign: &str, value: &str| assigned_part("a", axes, sign, value);
        let place = |text: &str| Axis::Place(text.to_string());
        let expected = "a = with { ([0] <= iv < [2]) : 9d; } : modarray(a)";
        assert_eq!(of(&[range("", "2")], "", "9d"), (expected.to_string(), true));
        assert_eq!(of(&[range("1", "-1")], "", "[7]").0, "a = take([1], a) ++ [7] ++ take([-1], a)");
        assert_eq!(of(&[place("i"), Axis::WHOLE], "", "v"), ("a[i] = v".to_string(), true));
        assert_eq!(
            of(&[Axis::WHOLE, place("k")], "", "v").0,
            "a = with { ([0, k] <= [i, j] < [shape(a)[0], k + 1]) : v[i]; } : modarray(a)"
        );
        assert_eq!(
            of(&[range("1", ""), place("-1")], "+", "iv * 2").0,
            "a = with { ([1, shape(a)[1] - 1] <= [i, j] < [shape(a)[0], shape(a)[1] - 1 + 1]) : a[i, j] + (iv * 2)[i - 1]; } : modarray(a)"
        );
        assert!(is_number("-.5f") && is_number("1e-3") && !is_number("d") && !is_number("n"));
    }
}
