//! Lines in characters, with axes.
//!
//! A character of Unicode's braille has 2 by 4 dots. Where several lines cannot be told apart by colours, and where there are no
//! such characters, each line has a mark of its own instead.

use super::plot::Plot;
use ravel_runtime::natives::marks;
use std::fmt::Write;

/// Colours of lines, in the numbers of terminals: they fit to dark and to light ones.
const COLORS: [u8; 6] = [36, 33, 32, 35, 34, 31];
const MARKS: [char; 6] = ['*', 'o', '+', 'x', '#', '@'];
const LEAST_COLUMNS: usize = 16;
const LEAST_ROWS: usize = 2;
/// Characters of an axis between marks.
const ROWS_PER_MARK: f64 = 3.0;
const COLUMNS_PER_MARK: f64 = 12.0;

/// By what lines are told apart.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Look {
    Colors,
    Plain,
    Ascii,
}

/// Dots in characters.
struct Canvas {
    columns: usize,
    rows: usize,
    /// Dots of a character, across and down.
    dots: (usize, usize),
    /// The dots that are set, and the line that was the last to set one.
    cells: Vec<(u8, usize)>,
}

impl Canvas {
    fn width(&self) -> usize {
        self.columns * self.dots.0
    }

    fn height(&self) -> usize {
        self.rows * self.dots.1
    }

    /// Sets a dot; `y` counts from the top.
    fn set(&mut self, x: usize, y: usize, line: usize) {
        // Bits by row and column: the fourth row came later to Unicode.
        const BITS: [[u8; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];
        let at = y / self.dots.1 * self.columns + x / self.dots.0;
        if let Some((dots, last)) = self.cells.get_mut(at) {
            *dots |= BITS[y % self.dots.1][x % self.dots.0];
            *last = line;
        }
    }

    /// Sets the dots between two, both included.
    fn join(&mut self, from: (usize, usize), to: (usize, usize), line: usize) {
        let steps = from.0.abs_diff(to.0).max(from.1.abs_diff(to.1)).max(1);
        let between = |a: usize, b: usize, k: usize| {
            let (a, b, part) = (a as f64, b as f64, k as f64 / steps as f64);
            (a + (b - a) * part).round() as usize
        };
        for k in 0..=steps {
            self.set(between(from.0, to.0, k), between(from.1, to.1, k), line);
        }
    }

    /// The line of characters in a row.
    fn row(&self, row: usize, look: Look) -> String {
        let cells = &self.cells[row * self.columns..(row + 1) * self.columns];
        let used = cells.iter().rposition(|(dots, _)| *dots != 0).map_or(0, |last| last + 1);
        let (mut out, mut color) = (String::new(), None);
        for &(dots, line) in &cells[..used] {
            if dots == 0 {
                out.push(' ');
                continue;
            }
            if look == Look::Colors && color != Some(line) {
                let _ = write!(out, "\x1b[{}m", COLORS[line % COLORS.len()]);
                color = Some(line);
            }
            out.push(match self.dots {
                (1, 1) => MARKS[line % MARKS.len()],
                _ => char::from_u32(0x2800 + u32::from(dots)).unwrap_or(' '),
            });
        }
        if color.is_some() {
            out.push_str("\x1b[0m");
        }
        out
    }
}

/// Where a number is among `count` dots.
fn place(x: f64, low: f64, high: f64, count: usize) -> usize {
    let part = ((x - low) / (high - low)).clamp(0.0, 1.0);
    (part * (count.max(1) - 1) as f64).round() as usize
}

/// A plot of about this many characters; every line is ended.
pub(super) fn draw(plot: &Plot, width: usize, height: usize, look: Look) -> String {
    let several = plot.lines.len() > 1;
    let by_marks = look == Look::Ascii || several && look == Look::Plain;
    let dots = if by_marks { (1, 1) } else { (2, 4) };
    let rows = height.saturating_sub(2 + usize::from(several)).max(LEAST_ROWS);
    let count = plot.lines.iter().map(|line| line.numbers.len()).max().unwrap_or(1);
    // One number alone stands in the middle.
    let (first, last) = if count == 1 { (-0.5, 0.5) } else { (0.0, (count - 1) as f64) };
    let texts = |marks: Vec<(f64, String)>| -> Vec<(f64, String)> {
        marks.into_iter().map(|(at, text)| (at, text.replace('\u{2212}', "-"))).collect()
    };
    let y_marks = texts(marks(plot.low, plot.high, rows as f64 / ROWS_PER_MARK, 0.0));
    let label = y_marks.iter().map(|(_, text)| text.len()).max().unwrap_or(0);
    let columns = width.saturating_sub(label + 2).max(LEAST_COLUMNS);
    let mut canvas = Canvas { columns, rows, dots, cells: vec![(0, 0); columns * rows] };
    for (number, line) in plot.lines.iter().enumerate() {
        let mut before = None;
        let (x, y) = line.points(canvas.width());
        for (x, y) in x.into_iter().zip(y) {
            if !y.is_finite() {
                before = None;
                continue;
            }
            let at = (
                place(x, first, last, canvas.width()),
                canvas.height() - 1 - place(y, plot.low, plot.high, canvas.height()),
            );
            canvas.join(before.unwrap_or(at), at, number);
            before = Some(at);
        }
    }
    let [vertical, corner, horizontal, mark_y, mark_x] =
        if look == Look::Ascii { ['|', '+', '-', '+', '+'] } else { ['│', '└', '─', '┤', '┬'] };
    let mut labels = vec![None; rows];
    for (y, text) in &y_marks {
        let dot = canvas.height() - 1 - place(*y, plot.low, plot.high, canvas.height());
        labels[dot / dots.1] = Some(text);
    }
    let mut out = String::new();
    if several {
        let names = plot.lines.iter().enumerate().map(|(number, line)| match look {
            Look::Colors => format!("\x1b[{}m──\x1b[0m {}", COLORS[number % COLORS.len()], line.label),
            Look::Plain | Look::Ascii => format!("{} {}", MARKS[number % MARKS.len()], line.label),
        });
        let _ = writeln!(out, "{:label$}  {}", "", names.collect::<Vec<_>>().join("   "));
    }
    for (row, text) in labels.into_iter().enumerate() {
        let (text, axis) = text.map_or(("", vertical), |text| (text.as_str(), mark_y));
        let _ = writeln!(out, "{text:>label$} {axis}{}", canvas.row(row, look));
    }
    // Indices are whole numbers.
    let x_marks = texts(marks(first, last, columns as f64 / COLUMNS_PER_MARK, 1.0));
    let mut axis = vec![horizontal; columns];
    let mut below = String::new();
    for (x, text) in &x_marks {
        let column = place(*x, first, last, canvas.width()) / dots.0;
        axis[column] = mark_x;
        // Below its mark, as far as there is room.
        let start =
            (label + 2 + column).saturating_sub(text.len() / 2).min((label + 2 + columns).saturating_sub(text.len()));
        if below.is_empty() || start > below.len() {
            let gap = start - below.len();
            let _ = write!(below, "{:gap$}{text}", "");
        }
    }
    let _ = writeln!(out, "{:label$} {corner}{}", "", axis.into_iter().collect::<String>());
    let _ = writeln!(out, "{below}");
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repl::value::Value;
    use ravel_runtime::array::Array;
    use ravel_types::Basic;

    fn plot(shape: &[i64], elements: &[f64]) -> Plot {
        let array = Array::from_slice(shape, elements).expect("small");
        Plot::from_value(&Value::Array(Basic::Double, array)).expect("a plot")
    }

    #[test]
    fn a_line_has_axes() {
        let numbers: Vec<f64> = (0..9).map(f64::from).collect();
        let text = draw(&plot(&[9], &numbers), 18, 5, Look::Plain);
        let expected = "
  │           ⣀⡠⠔⠒⠉
  │     ⢀⣀⠤⠒⠉⠉
0 ┤⣀⡠⠤⠒⠉⠁
  └┬────────┬──────
   0        5
";
        assert_eq!(format!("\n{text}"), expected);
    }

    #[test]
    fn several_lines_have_colors_or_marks() {
        let lines = plot(&[2, 3], &[0.0, 1.0, 2.0, 2.0, f64::NAN, 0.0]);
        let expected = "
   * row 0   o row 1
2 +o           ****
  |     *******
0 +*****          o
  ++--------------+
   0              2
";
        assert_eq!(format!("\n{}", draw(&lines, 18, 6, Look::Ascii)), expected);
        let colored = draw(&lines, 18, 6, Look::Colors);
        assert!(colored.contains("\x1b[36m──\x1b[0m row 0   \x1b[33m"), "{colored}");
        assert!(colored.lines().all(|line| !line.contains("\x1b[3") || line.contains("\x1b[0m")));
    }

    #[test]
    fn a_single_number_stands_in_the_middle() {
        let text = draw(&plot(&[1], &[5.0]), 20, 5, Look::Ascii);
        let expected = "
    |
5.0 +        *
    |
    +--------+-------
             0
";
        assert_eq!(format!("\n{text}"), expected);
    }

    #[test]
    fn narrow_and_strange_plots_are_drawn() {
        let strange = [f64::MAX, f64::MIN, f64::NAN, f64::INFINITY, f64::MIN_POSITIVE, 0.0];
        for look in [Look::Colors, Look::Plain, Look::Ascii] {
            for (width, height) in [(0, 0), (1, 1), (7, 3), (200, 50)] {
                assert!(draw(&plot(&[6], &strange), width, height, look).lines().count() >= 4);
                assert!(draw(&plot(&[3, 2], &strange), width, height, look).lines().count() >= 5);
            }
        }
    }
}
