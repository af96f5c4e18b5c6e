//! Drawings as SVG.

use std::fmt::Write;

use super::shapes::{Anchor, Color, Drawing, Point, Rect, Shape};
use crate::natives::image::png_image;

/// Fonts with the widths that the layout counts with come first.
const FONTS: &str = "DejaVu Sans, Verdana, sans-serif";
const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// A coordinate with as many digits as can be seen.
fn number(x: f64) -> String {
    let text = format!("{x:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_string() } else { text.to_string() }
}

fn paint(attribute: &str, color: Color) -> String {
    let [r, g, b] = color.rgb;
    let mut text = format!("{attribute}=\"#{r:02x}{g:02x}{b:02x}\"");
    if color.opacity < 1.0 {
        let _ = write!(text, " {attribute}-opacity=\"{}\"", number(color.opacity));
    }
    text
}

fn path(parts: &[Vec<Point>], closed: bool) -> String {
    let mut text = String::new();
    for part in parts {
        for (k, &(x, y)) in part.iter().enumerate() {
            let _ = write!(text, "{}{} {}", if k == 0 { "M" } else { "L" }, number(x), number(y));
        }
        if closed {
            text.push('Z');
        }
    }
    text
}

fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            // No characters of XML.
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

/// Bytes as letters and digits, for places that take text only.
pub fn base64(bytes: &[u8]) -> String {
    let mut text = String::new();
    for part in bytes.chunks(3) {
        let bits = part.iter().fold(0u32, |bits, &byte| bits << 8 | u32::from(byte)) << (8 * (3 - part.len()));
        for k in 0..4 {
            let digit = BASE64[(bits >> (18 - 6 * k) & 63) as usize];
            text.push(if k <= part.len() { char::from(digit) } else { '=' });
        }
    }
    text
}

/// The clip attribute of a shape; every clip rectangle is defined once.
fn clip_attribute(clip: Option<Rect>, clips: &mut Vec<Rect>, out: &mut String) -> String {
    let Some(clip) = clip else { return String::new() };
    let place = clips.iter().position(|other| *other == clip).unwrap_or_else(|| {
        clips.push(clip);
        let (x, y, w, h) = (number(clip.x), number(clip.y), number(clip.width), number(clip.height));
        let n = clips.len();
        let _ =
            writeln!(out, "<clipPath id=\"c{n}\"><rect x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\"/></clipPath>");
        n - 1
    });
    format!(" clip-path=\"url(#c{})\"", place + 1)
}

/// The text of an SVG file.
pub(super) fn image(drawing: &Drawing) -> Result<String, String> {
    let (width, height) = (number(drawing.width), number(drawing.height));
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" font-family=\"{FONTS}\">\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n"
    );
    let mut clips = Vec::new();
    for shape in &drawing.shapes {
        match shape {
            Shape::Lines { parts, color, width, clip } => {
                let clip = clip_attribute(*clip, &mut clips, &mut out);
                let (d, stroke, width) = (path(parts, false), paint("stroke", *color), number(*width));
                let _ = writeln!(
                    out,
                    "<path d=\"{d}\" fill=\"none\" {stroke} stroke-width=\"{width}\" stroke-linejoin=\"round\"{clip}/>"
                );
            }
            Shape::Areas { parts, color, clip } => {
                let clip = clip_attribute(*clip, &mut clips, &mut out);
                let _ = writeln!(out, "<path d=\"{}\" {}{clip}/>", path(parts, true), paint("fill", *color));
            }
            Shape::Dots { centers, radius, color, clip } => {
                let clip = clip_attribute(*clip, &mut clips, &mut out);
                let _ = writeln!(out, "<g {}{clip}>", paint("fill", *color));
                for &(x, y) in centers {
                    let (x, y, r) = (number(x), number(y), number(*radius));
                    let _ = writeln!(out, "<circle cx=\"{x}\" cy=\"{y}\" r=\"{r}\"/>");
                }
                out.push_str("</g>\n");
            }
            Shape::Text { at: (x, y), text, size, anchor, upright, color, clip } => {
                let clip = clip_attribute(*clip, &mut clips, &mut out);
                let (x, y, size, fill) = (number(*x), number(*y), number(*size), paint("fill", *color));
                let anchor = match anchor {
                    Anchor::Start => "",
                    Anchor::Middle => " text-anchor=\"middle\"",
                    Anchor::End => " text-anchor=\"end\"",
                };
                let turn = if *upright { format!(" transform=\"rotate(-90 {x} {y})\"") } else { String::new() };
                let text = escaped(text);
                let _ = writeln!(
                    out,
                    "<text x=\"{x}\" y=\"{y}\" font-size=\"{size}\"{anchor} {fill}{turn}{clip}>{text}</text>"
                );
            }
            Shape::Cells { place, columns, rows, colors, clip } => {
                let clip = clip_attribute(*clip, &mut clips, &mut out);
                let extent = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
                let png = base64(&png_image(extent(*rows), extent(*columns), 3, colors.as_flattened())?);
                let (x, y, w, h) = (number(place.x), number(place.y), number(place.width), number(place.height));
                let _ = writeln!(
                    out,
                    "<image x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\" preserveAspectRatio=\"none\" \
                     style=\"image-rendering:pixelated\" href=\"data:image/png;base64,{png}\"{clip}/>"
                );
            }
        }
    }
    out.push_str("</svg>\n");
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_as_base64() {
        let texts: Vec<String> =
            [&b""[..], b"f", b"fo", b"foo", b"\xff\xfe\xfd\xfc"].iter().map(|b| base64(b)).collect();
        assert_eq!(texts, ["", "Zg==", "Zm8=", "Zm9v", "//79/A=="]);
    }

    #[test]
    fn texts_are_escaped() {
        assert_eq!(escaped("a<b & \"c\"\u{0}"), "a&lt;b &amp; \"c\" ");
        assert_eq!((number(1.0), number(-0.001), number(2.346)), ("1".into(), "0".into(), "2.35".into()));
    }
}
