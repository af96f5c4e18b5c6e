//! Pictures in the sequences of terminals that show points: kitty's and iTerm2's around PNG, and sixel.

use super::picture::{NAN_COLOR, Picture};
use ravel_runtime::natives::base64;
use std::fmt::Write;

/// Most letters in one of kitty's sequences.
const CHUNK: usize = 4096;
/// Steps of gray, and of a channel: a terminal has 256 colours in a sixel picture at least.
const GRAYS: usize = 100;
const STEPS: usize = 6;
/// Points of a sixel.
const BAND: usize = 6;

/// Kitty's graphics protocol. The terminal is asked not to answer: an answer would be read as an input.
pub(super) fn kitty(png: &[u8]) -> String {
    let letters = base64(png);
    let mut out = String::new();
    let count = letters.len().div_ceil(CHUNK);
    for (k, chunk) in letters.as_bytes().chunks(CHUNK).enumerate() {
        let head = if k == 0 { "a=T,f=100,q=2," } else { "" };
        let more = u8::from(k + 1 < count);
        let _ = write!(out, "\x1b_G{head}m={more};{}\x1b\\", String::from_utf8_lossy(chunk));
    }
    out.push('\n');
    out
}

/// iTerm2's inline images.
pub(super) fn iterm(png: &[u8], height: usize, width: usize) -> String {
    let size = png.len();
    format!("\x1b]1337;File=inline=1;size={size};width={width}px;height={height}px:{}\x07\n", base64(png))
}

/// Sixel: bands of six rows, in each of them the points of one colour after the other.
pub(super) fn sixel(picture: &Picture) -> String {
    let (height, width) = (picture.height, picture.width);
    // In percent, as the format wants them.
    let palette: Vec<[usize; 3]> = match picture.channels {
        1 => (0..=GRAYS).map(|gray| [gray; 3]).collect(),
        _ => (0..STEPS.pow(3))
            .map(|k| [k / STEPS / STEPS, k / STEPS % STEPS, k % STEPS].map(|step| step * 100 / (STEPS - 1)))
            .collect(),
    };
    let nan = palette.len();
    let points = indices(picture, nan);
    let mut out = format!("\x1bP0;1q\"1;1;{width};{height}");
    let nan_color = NAN_COLOR.map(|x| usize::from(x) * 100 / 255);
    for (k, [r, g, b]) in palette.into_iter().chain([nan_color]).enumerate() {
        if points.contains(&k) {
            let _ = write!(out, "#{k};2;{r};{g};{b}");
        }
    }
    for band in points.chunks(BAND * width) {
        let mut used = vec![false; nan + 1];
        band.iter().for_each(|&k| used[k] = true);
        for color in (0..=nan).filter(|&k| used[k]) {
            let _ = write!(out, "#{color}");
            // The letter of a column has a bit for each of its rows.
            let letter = |x: usize| {
                let rows = band.chunks(width).enumerate();
                let bits = rows.fold(0u8, |bits, (row, points)| bits | u8::from(points[x] == color) << row);
                char::from(b'?' + bits)
            };
            let mut letters = (0..width).map(letter).peekable();
            while let Some(letter) = letters.next() {
                let mut count = 1;
                while letters.next_if_eq(&letter).is_some() {
                    count += 1;
                }
                match count {
                    1..=3 => out.extend(std::iter::repeat_n(letter, count)),
                    _ => drop(write!(out, "!{count}{letter}")),
                }
            }
            out.push('$');
        }
        out.push('-');
    }
    out.push_str("\x1b\\\n");
    out
}

/// The palette's colour of each point. What a channel differs from its step goes to the point on the right and the one below.
fn indices(picture: &Picture, nan: usize) -> Vec<usize> {
    let count = picture.height * picture.width;
    if picture.channels == 1 {
        let gray = |at: usize| (usize::from(picture.gray(at)) * GRAYS + 127) / 255;
        return (0..count).map(|at| if picture.is_nan(at) { nan } else { gray(at) }).collect();
    }
    let mut below = vec![[0f64; 3]; picture.width];
    let mut points = Vec::with_capacity(count);
    for y in 0..picture.height {
        let mut right = [0f64; 3];
        for (x, below) in below.iter_mut().enumerate() {
            let at = y * picture.width + x;
            if picture.is_nan(at) {
                points.push(nan);
                (right, *below) = ([0.0; 3], [0.0; 3]);
                continue;
            }
            let mut index = 0;
            for (channel, byte) in picture.color(at).into_iter().enumerate() {
                let wanted = f64::from(byte) + right[channel] + below[channel];
                let distance = 255.0 / (STEPS - 1) as f64;
                let step = (wanted / distance).round().clamp(0.0, (STEPS - 1) as f64);
                let rest = (wanted - step * distance) / 2.0;
                (right[channel], below[channel]) = (rest, rest);
                index = index * STEPS + step as usize;
            }
            points.push(index);
        }
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repl::value::Value;
    use ravel_runtime::array::{Array, Element};
    use ravel_types::Basic;
    use std::collections::HashMap;

    fn picture<T: Element>(basic: Basic, shape: &[i64], elements: &[T]) -> Picture {
        Picture::from_value(&Value::Array(basic, Array::from_slice(shape, elements).expect("small"))).expect("fine")
    }

    /// The points of a sixel picture, in percent.
    fn decoded(text: &str) -> HashMap<(usize, usize), [u8; 3]> {
        let body = text.strip_prefix("\x1bP0;1q").and_then(|rest| rest.strip_suffix("\x1b\\\n")).expect("a picture");
        let (mut palette, mut points) = (HashMap::new(), HashMap::new());
        let (mut x, mut y, mut color, mut count) = (0, 0, 0, 1);
        let mut rest = body;
        while let Some(c) = rest.chars().next() {
            rest = &rest[1..];
            let end = rest.find(|c: char| !c.is_ascii_digit() && c != ';').unwrap_or(rest.len());
            let numbers: Vec<usize> = rest[..end].split(';').filter_map(|text| text.parse().ok()).collect();
            match (c, numbers.as_slice()) {
                ('"', _) => rest = &rest[end..],
                ('#', &[k]) => (rest, color) = (&rest[end..], k),
                ('#', &[k, 2, r, g, b]) => {
                    palette.insert(k, [r, g, b].map(|x| u8::try_from(x).expect("percent")));
                    rest = &rest[end..];
                }
                ('!', &[n]) => (rest, count) = (&rest[end..], n),
                ('$', _) => x = 0,
                ('-', _) => (x, y) = (0, y + 6),
                ('?'..='~', _) => {
                    for _ in 0..std::mem::replace(&mut count, 1) {
                        for row in (0..6).filter(|row| (c as u8 - b'?') >> row & 1 == 1) {
                            assert_eq!(points.insert((x, y + row), palette[&color]), None, "a point twice");
                        }
                        x += 1;
                    }
                }
                other => panic!("{other:?}"),
            }
        }
        points
    }

    #[test]
    fn sixels_hold_every_point() {
        let numbers: Vec<f64> = (0..8 * 11).map(|k| f64::from(k % 13)).collect();
        let gray = picture(Basic::Double, &[8, 11], &numbers);
        let points = decoded(&sixel(&gray));
        assert_eq!(points.len(), 88);
        for (&(x, y), &color) in &points {
            let percent = (f64::from(gray.gray(y * 11 + x)) / 2.55).round() as u8;
            assert_eq!(color, [percent; 3], "{x} {y}");
        }
        let colors = picture(Basic::Ubyte, &[1, 3, 3], &[255u8, 0, 0, 0, 255, 51, 0, 0, 0]);
        let points = decoded(&sixel(&colors));
        assert_eq!([(0, 0), (1, 0), (2, 0)].map(|at| points[&at]), [[100, 0, 0], [0, 100, 20], [0, 0, 0]]);
        let nan = picture(Basic::Double, &[1, 2], &[f64::NAN, 1.0]);
        assert_eq!(decoded(&sixel(&nan))[&(0, 0)], [100, 0, 100]);
        // Long runs are short.
        assert!(sixel(&picture(Basic::Double, &[6, 500], &[1.0; 3000])).len() < 60);
    }

    #[test]
    fn long_pictures_go_to_kitty_in_parts() {
        let text = kitty(&[7; 10_000]);
        let parts: Vec<&str> = text.trim_end().split_terminator("\x1b\\").collect();
        assert_eq!(parts.len(), 4);
        assert!(parts[0].starts_with("\x1b_Ga=T,f=100,q=2,m=1;") && parts[1].starts_with("\x1b_Gm=1;"));
        assert!(parts[3].starts_with("\x1b_Gm=0;"));
        let letters: String = parts.iter().filter_map(|part| part.split_once(';').map(|(_, text)| text)).collect();
        assert_eq!(letters, base64(&[7; 10_000]));
        assert_eq!(iterm(b"foo", 2, 3), "\x1b]1337;File=inline=1;size=3;width=3px;height=2px:Zm9v\x07\n");
    }
}
