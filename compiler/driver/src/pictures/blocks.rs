//! Pictures of characters.
//!
//! A character is about twice as high as wide, so that its halves are square points.

use super::picture::Picture;
use super::scale::{averaged, fitted};
use super::terminal::{Colors, Medium, Terminal};
use std::fmt::Write;

/// From black to white.
const SHADES: &[u8] = b" .:-=+*#%@";
const RESET: &str = "\x1b[0m";

/// The picture as lines that are ended.
pub(super) fn text(picture: &Picture, terminal: &Terminal) -> String {
    let (rows, columns) = (terminal.picture_rows(), terminal.columns);
    match (terminal.medium, terminal.colors) {
        (Medium::Ascii, _) => shades(picture, rows, columns),
        (_, Colors::None) => plain_blocks(&fitted(picture, 2 * rows, columns)),
        (_, colors) => colored_blocks(&fitted(picture, 2 * rows, columns), colors == Colors::All),
    }
}

/// Appends a line without blanks at its end, which nobody sees.
fn end_line(out: &mut String, line: &str) {
    out.push_str(line.trim_end_matches(' '));
    out.push('\n');
}

/// Characters of more or less ink. A small picture has two for each point, in others a character stands for two points.
fn shades(picture: &Picture, rows: usize, columns: usize) -> String {
    let is_small = picture.height <= rows && 2 * picture.width <= columns;
    let picture = if is_small {
        picture.clone()
    } else {
        let fitted = fitted(picture, 2 * rows, columns);
        averaged(&fitted, fitted.height.div_ceil(2), fitted.width)
    };
    let shade = |at: usize| match picture.is_nan(at) {
        true => '?',
        false => char::from(SHADES[usize::from(picture.gray(at)) * (SHADES.len() - 1) / 255]),
    };
    let mut out = String::new();
    for y in 0..picture.height {
        let points = (0..picture.width).map(|x| shade(y * picture.width + x));
        let line: String = points.flat_map(|shade| std::iter::repeat_n(shade, 1 + usize::from(is_small))).collect();
        end_line(&mut out, &line);
    }
    out
}

/// Half blocks of ink, which stands for white. Gray is some of both: what a point differs from its gray goes to its neighbours (Floyd
/// and Steinberg).
fn plain_blocks(picture: &Picture) -> String {
    let (height, width) = (picture.height, picture.width);
    let mut grays: Vec<f64> = (0..height * width).map(|at| f64::from(picture.gray(at))).collect();
    let mut has_ink = vec![false; height * width];
    for y in 0..height {
        for x in 0..width {
            let at = y * width + x;
            if picture.is_nan(at) {
                continue;
            }
            has_ink[at] = grays[at] >= 127.5;
            let rest = grays[at] - if has_ink[at] { 255.0 } else { 0.0 };
            let mut give = |to: usize, sixteenths: f64| grays[to] += rest * sixteenths / 16.0;
            if x + 1 < width {
                give(at + 1, 7.0);
            }
            if y + 1 < height {
                if x > 0 {
                    give(at + width - 1, 3.0);
                }
                give(at + width, 5.0);
                if x + 1 < width {
                    give(at + width + 1, 1.0);
                }
            }
        }
    }
    let mut out = String::new();
    for y in (0..height).step_by(2) {
        let line: String = (0..width)
            .map(|x| {
                let (top, bottom) = (y * width + x, (y + 1) * width + x);
                let has_bottom = y + 1 < height;
                if picture.is_nan(top) || has_bottom && picture.is_nan(bottom) {
                    return '?';
                }
                match (has_ink[top], has_bottom && has_ink[bottom]) {
                    (false, false) => ' ',
                    (true, false) => '\u{2580}',
                    (false, true) => '\u{2584}',
                    (true, true) => '\u{2588}',
                }
            })
            .collect();
        end_line(&mut out, &line);
    }
    out
}

/// Half blocks whose upper half has the character's colour, the lower one that of its background.
fn colored_blocks(picture: &Picture, all_colors: bool) -> String {
    let (height, width) = (picture.height, picture.width);
    let mut out = String::new();
    for y in (0..height).step_by(2) {
        let mut last = (None, None);
        for x in 0..width {
            let top = picture.color(y * width + x);
            let bottom = (y + 1 < height).then(|| picture.color((y + 1) * width + x));
            if last.0 != Some(top) {
                out.push_str(&select(38, top, all_colors));
            }
            if let Some(color) = bottom
                && last.1 != bottom
            {
                out.push_str(&select(48, color, all_colors));
            }
            last = (Some(top), bottom);
            out.push('\u{2580}');
        }
        let _ = writeln!(out, "{RESET}");
    }
    out
}

/// The sequence that chooses a colour: `what` is 38 for characters, 48 for their background.
pub(super) fn select(what: u8, color: [u8; 3], all_colors: bool) -> String {
    let [r, g, b] = color;
    if all_colors { format!("\x1b[{what};2;{r};{g};{b}m") } else { format!("\x1b[{what};5;{}m", nearest(color)) }
}

/// The nearest of xterm's colours: a cube of 6 steps per channel, and 24 grays.
fn nearest(color: [u8; 3]) -> u8 {
    const STEPS: [u8; 6] = [0, 95, 135, 175, 215, 255];
    let step = |x: u8| (0..6u8).min_by_key(|&k| STEPS[usize::from(k)].abs_diff(x)).unwrap_or(0);
    let [r, g, b] = color.map(step);
    let in_cube = [r, g, b].map(|k| STEPS[usize::from(k)]);
    let mean = color.iter().map(|&x| u32::from(x)).sum::<u32>() / 3;
    let gray = (mean.saturating_sub(3) / 10).min(23) as u8;
    let off = |other: [u8; 3]| -> u32 { color.iter().zip(other).map(|(a, b)| u32::from(a.abs_diff(b)).pow(2)).sum() };
    if off([8 + 10 * gray; 3]) < off(in_cube) { 232 + gray } else { 16 + 36 * r + 6 * g + b }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repl::value::Value;
    use ravel_runtime::array::Array;
    use ravel_types::Basic;

    fn picture(height: i64, width: i64, elements: &[f64]) -> Picture {
        let array = Array::from_slice(&[height, width], elements).expect("small");
        Picture::from_value(&Value::Array(Basic::Double, array)).expect("a picture")
    }

    #[test]
    fn halves_of_characters_are_points() {
        assert_eq!(plain_blocks(&picture(3, 3, &[1.0, 0.0, 1.0, 0.0, 1.0, 1.0, 1.0, 0.0, 0.0])), "▀▄█\n▀\n");
        assert_eq!(plain_blocks(&picture(2, 3, &[1.0, f64::NAN, 0.0, 1.0, 0.0, 0.0])), "█?\n");
        // An even gray is ink in every second point.
        let ink = plain_blocks(&picture(4, 4, &[3.0; 16])).replace(['\n', ' '], "");
        let points: usize = ink.chars().map(|c| if c == '\u{2588}' { 2 } else { 1 }).sum();
        assert!((7..=9).contains(&points), "{ink}");
    }

    #[test]
    fn shades_grow() {
        assert_eq!(shades(&picture(1, 3, &[0.0, 0.5, 1.0]), 5, 6), "  ==@@\n");
        assert_eq!(shades(&picture(2, 3, &[0.0, 0.5, 1.0, 0.0, f64::NAN, f64::NAN]), 1, 5), " ??\n");
        assert_eq!(shades(&picture(4, 4, &[0.0; 16]), 1, 4), "==\n");
    }

    #[test]
    fn colors_change_where_points_do() {
        let text = colored_blocks(&picture(2, 2, &[1.0, 1.0, 0.0, 0.0]), true);
        assert_eq!(text, "\x1b[38;2;255;255;255m\x1b[48;2;0;0;0m▀▀\x1b[0m\n");
        let text = colored_blocks(&picture(1, 2, &[0.0, f64::NAN]), false);
        assert_eq!(text, "\x1b[38;5;244m▀\x1b[38;5;201m▀\x1b[0m\n");
    }

    #[test]
    fn colors_of_xterm_are_near() {
        assert_eq!(nearest([0, 0, 0]), 16);
        assert_eq!(nearest([255, 255, 255]), 231);
        assert_eq!(nearest([128, 128, 128]), 244);
        assert_eq!(nearest([255, 0, 0]), 196);
        assert_eq!(nearest([90, 140, 210]), 16 + 36 + 12 + 4);
    }
}
