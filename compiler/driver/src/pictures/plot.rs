//! Vectors as lines over their indices.

use super::braille::{self, Look};
use super::numbers::each;
use super::terminal::{Colors, Medium, Terminal};
use crate::repl::show;
use crate::repl::value::Value;
use ravel_runtime::array::Array;
use ravel_runtime::natives::{Line, Lines};
use ravel_types::Elem;

/// More lines are not told apart.
const MOST_LINES: usize = 6;
/// Sides of a picture, in units of a screen, and of a plot in characters.
const SIZE: (f64, f64) = (640.0, 400.0);
const MOST_COLUMNS: usize = 100;
const MOST_ROWS: usize = 18;
/// Longer titles do not fit.
const LONGEST_TITLE: usize = 70;
/// Beyond these, numbers are drawn as these: their differences are numbers still.
const GREATEST: f64 = 1e300;

/// Lines in one plot.
#[derive(Clone, Debug)]
pub struct Plot {
    title: String,
    pub(super) lines: Vec<Series>,
    /// The range of all finite numbers, opened if they are equal.
    pub(super) low: f64,
    pub(super) high: f64,
}

/// A line: numbers over the indices 0, 1, 2 and so on.
#[derive(Clone, Debug)]
pub(super) struct Series {
    /// Empty if it is the only one.
    pub label: String,
    pub numbers: Vec<f64>,
}

impl Series {
    /// The line through not much more than `places` points on each of which it goes as low and as high as the whole line does there.
    pub fn points(&self, places: usize) -> (Vec<f64>, Vec<f64>) {
        let count = self.numbers.len();
        if count <= 4 * places {
            return ((0..count).map(|k| k as f64).collect(), self.numbers.clone());
        }
        let (mut x, mut y) = (Vec::new(), Vec::new());
        let size = count.div_ceil(places.max(1));
        for (k, part) in self.numbers.chunks(size).enumerate() {
            let finite = || part.iter().enumerate().filter(|(_, y)| y.is_finite());
            let low = finite().min_by(|a, b| a.1.total_cmp(b.1));
            let high = finite().max_by(|a, b| a.1.total_cmp(b.1));
            let mut ends: Vec<(usize, f64)> = low.into_iter().chain(high).map(|(at, &y)| (at, y)).collect();
            ends.sort_by_key(|end| end.0);
            ends.dedup_by_key(|end| end.0);
            if ends.is_empty() {
                ends.push((0, f64::NAN));
            }
            x.extend(ends.iter().map(|end| (k * size + end.0) as f64));
            y.extend(ends.iter().map(|end| end.1));
        }
        (x, y)
    }
}

impl Plot {
    /// A plot of a value: a vector is a line, a matrix has a line in each row.
    ///
    /// # Errors
    /// A sentence for the user: the value has no plot.
    pub fn from_value(value: &Value) -> Result<Plot, String> {
        let name = show::type_name(value);
        match value {
            Value::Array(basic, array) => from_array(basic.elem(), array, &name),
            Value::Typedef { inner: 0, rep, .. } => {
                Plot::from_value(rep).map_err(|why| why.replace(&show::type_name(rep), &name))
            }
            Value::Typedef { ty, .. } if ty.name == "complex" => {
                Err(format!("complex numbers are no line: take `real` or `imag` of them; this is {name}"))
            }
            Value::Scalar(..)
            | Value::Object(..)
            | Value::Typedef { .. }
            | Value::Class { .. }
            | Value::Record { .. } => Err(no_plot(&name)),
        }
    }

    /// With words above it, in files.
    #[must_use]
    pub fn titled(self, title: &str) -> Plot {
        let fits = title.chars().count() <= LONGEST_TITLE;
        Plot { title: if fits { title.to_string() } else { String::new() }, ..self }
    }

    fn drawing(&self) -> Lines {
        let (width, height) = SIZE;
        let line = |series: &Series| {
            let (x, y) = series.points(width as usize);
            Line { label: series.label.clone(), x, y }
        };
        Lines { title: self.title.clone(), width, height, lines: self.lines.iter().map(line).collect() }
    }

    /// The text of an SVG file.
    ///
    /// # Errors
    /// What an encoder says.
    pub fn svg(&self) -> Result<String, String> {
        self.drawing().svg()
    }

    /// The bytes of a PNG file.
    ///
    /// # Errors
    /// What an encoder says.
    pub fn png(&self) -> Result<Vec<u8>, String> {
        self.drawing().png()
    }

    /// Characters of dots, `width` by `height` of them. Without colours several lines consist of marks instead, so that they are told apart.
    pub fn braille(&self, width: usize, height: usize, color: bool) -> String {
        braille::draw(self, width, height, if color { Look::Colors } else { Look::Plain })
    }

    /// What a terminal shows.
    pub fn terminal(&self, terminal: &Terminal) -> String {
        let look = match (terminal.medium, terminal.colors) {
            (Medium::Ascii, _) => Look::Ascii,
            (_, Colors::None) => Look::Plain,
            _ => Look::Colors,
        };
        braille::draw(self, terminal.columns.min(MOST_COLUMNS), terminal.picture_rows().min(MOST_ROWS), look)
    }
}

fn no_plot(name: &str) -> String {
    format!("a plot shows a vector, or the rows of a matrix, of reals, integers or bool; this is {name}")
}

fn from_array(elem: Elem, array: &Array, name: &str) -> Result<Plot, String> {
    let shape: Vec<usize> = array.view().shape().iter().map(|&n| usize::try_from(n).unwrap_or(0)).collect();
    let (rows, length) = match *shape.as_slice() {
        [length] => (1, length),
        [rows, length] => (rows, length),
        _ => return Err(format!("{}; choose a part, as `a[0]`", no_plot(name))),
    };
    if matches!(elem, Elem::Char | Elem::Handle) {
        return Err(no_plot(name));
    }
    if rows == 0 || length == 0 {
        return Err(format!("there is nothing to plot in {name}: an axis is empty"));
    }
    if rows > MOST_LINES {
        let other = match length <= MOST_LINES {
            true => "`transpose` makes lines of its columns",
            false => "`:show` draws a matrix as a picture",
        };
        return Err(format!("{rows} lines are not told apart, {MOST_LINES} are; {other}; this is {name}"));
    }
    let mut numbers = Vec::new();
    numbers.try_reserve_exact(rows * length).map_err(|_| format!("there is no memory for a plot of {name}"))?;
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    each(elem, array, |x| {
        let x = if x.is_finite() { x.clamp(-GREATEST, GREATEST) } else { f64::NAN };
        (low, high) = (low.min(x), high.max(x));
        numbers.push(x);
    });
    if low > high {
        return Err(format!("no number in {name} is finite"));
    }
    let size = low.abs().max(high.abs());
    if high - low <= size * 1e-12 {
        let room = if size == 0.0 { 1.0 } else { size * 0.05 };
        (low, high) = (low - room, high + room);
    }
    let label = |row: usize| if rows == 1 { String::new() } else { format!("row {row}") };
    let series = |(row, numbers): (usize, &[f64])| Series { label: label(row), numbers: numbers.to_vec() };
    let lines = numbers.chunks(length).enumerate().map(series).collect();
    Ok(Plot { title: String::new(), lines, low, high })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repl::value::TypeName;
    use ravel_types::{Basic, Scalar};

    fn doubles(shape: &[i64], elements: &[f64]) -> Value {
        Value::Array(Basic::Double, Array::from_slice(shape, elements).expect("small"))
    }

    fn refusal(value: &Value) -> String {
        Plot::from_value(value).map(|_| ()).expect_err("no plot")
    }

    #[test]
    fn rows_are_lines() {
        let plot = Plot::from_value(&doubles(&[2, 3], &[1.0, 2.0, f64::NAN, 4.0, 5.0, f64::INFINITY])).expect("a plot");
        assert_eq!((plot.low, plot.high, plot.lines.len()), (1.0, 5.0, 2));
        assert_eq!(plot.lines[1].label, "row 1");
        let svg = plot.titled("a < b").svg().expect("valid");
        assert!(svg.starts_with("<svg") && svg.contains("a &lt; b") && svg.contains(">row 1<"));
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
        let vector = Plot::from_value(&doubles(&[2], &[3.0, 3.0])).expect("a plot");
        assert!(vector.low < 3.0 && vector.high > 3.0 && vector.lines[0].label.is_empty());
    }

    #[test]
    fn what_has_no_plot_says_why() {
        assert!(refusal(&doubles(&[1, 1, 1], &[0.0])).contains("this is double[1,1,1]; choose a part"));
        assert!(refusal(&doubles(&[0], &[])).contains("double[0]: an axis is empty"));
        assert!(refusal(&doubles(&[1], &[f64::NAN])).contains("no number in double[1] is finite"));
        assert!(refusal(&doubles(&[7, 1], &[0.0; 7])).contains("`transpose`"));
        assert!(refusal(&doubles(&[7, 7], &[0.0; 49])).contains("`:show`"));
        assert!(refusal(&Value::Scalar(Basic::Int, Scalar::I32(1))).ends_with("this is int"));
        let ty = TypeName { module: "ComplexBasics".into(), name: "complex".into() };
        let complex = Value::Typedef { ty, inner: 1, rep: Box::new(doubles(&[1, 2], &[0.0, 1.0])) };
        assert!(refusal(&complex).ends_with("this is complex[1]"));
    }

    #[test]
    fn long_lines_keep_their_peaks() {
        let mut numbers: Vec<f64> = (0..100_000).map(|k| f64::from(k % 7)).collect();
        numbers[55_555] = 100.0;
        numbers[77_777] = f64::NAN;
        let series = Series { label: String::new(), numbers };
        let (x, y) = series.points(100);
        assert!(x.len() <= 200 && x.is_sorted());
        assert!(x.iter().zip(&y).any(|(&x, &y)| (x, y) == (55_555.0, 100.0)));
        assert_eq!(series.points(25_000).0.len(), 100_000);
        let empty = Series { numbers: vec![f64::NAN; 1000], ..series };
        assert!(empty.points(10).1.iter().all(|y| y.is_nan()));
    }
}
