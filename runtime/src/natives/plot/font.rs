//! The font of labels: a subset of DejaVu Sans, in the runtime so that pictures are the same everywhere.

use std::sync::OnceLock;

use tiny_skia::{Path, PathBuilder};
use ttf_parser::{Face, GlyphId, OutlineBuilder};

static FONT: &[u8] = include_bytes!("labels.ttf");

/// Shown for characters that the font does not have.
const UNKNOWN: char = '?';

fn face() -> Option<&'static Face<'static>> {
    static FACE: OnceLock<Option<Face<'static>>> = OnceLock::new();
    FACE.get_or_init(|| Face::parse(FONT, 0).ok()).as_ref()
}

/// The shapes of a text, with their places from its start, in the font's units.
fn glyphs(face: &Face<'_>, text: &str) -> (Vec<(GlyphId, f64)>, f64) {
    let mut at = 0.0;
    let mut glyphs = Vec::new();
    for c in text.chars() {
        let Some(glyph) = face.glyph_index(c).or_else(|| face.glyph_index(UNKNOWN)) else { continue };
        glyphs.push((glyph, at));
        at += f64::from(face.glyph_hor_advance(glyph).unwrap_or(0));
    }
    (glyphs, at)
}

/// Width of a text of this size.
pub(super) fn width(text: &str, size: f64) -> f64 {
    face().map_or(0.0, |face| glyphs(face, text).1 * size / f64::from(face.units_per_em()))
}

struct Outline<'a> {
    path: &'a mut PathBuilder,
    scale: f32,
    x: f32,
}

impl Outline<'_> {
    fn at(&self, x: f32, y: f32) -> (f32, f32) {
        (self.x + x * self.scale, -y * self.scale)
    }
}

impl OutlineBuilder for Outline<'_> {
    fn move_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.path.move_to(x, y);
    }
    fn line_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.path.line_to(x, y);
    }
    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let ((x1, y1), (x, y)) = (self.at(x1, y1), self.at(x, y));
        self.path.quad_to(x1, y1, x, y);
    }
    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let ((x1, y1), (x2, y2), (x, y)) = (self.at(x1, y1), self.at(x2, y2), self.at(x, y));
        self.path.cubic_to(x1, y1, x2, y2, x, y);
    }
    fn close(&mut self) {
        self.path.close();
    }
}

/// The outline of a text of this size that starts at the origin, y downwards.
pub(super) fn outline(text: &str, size: f64) -> Option<Path> {
    let face = face()?;
    let scale = size / f64::from(face.units_per_em());
    let mut path = PathBuilder::new();
    for (glyph, at) in glyphs(face, text).0 {
        face.outline_glyph(glyph, &mut Outline { path: &mut path, scale: scale as f32, x: (at * scale) as f32 });
    }
    path.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_common_characters_are_there() {
        let face = face().expect("the font is whole");
        for c in (' '..='~').chain("äéßµ°²αβγπσωΩ−×≤≥≈∞∂∇√".chars()) {
            assert!(face.glyph_index(c).is_some(), "{c}");
        }
        assert!(width("mm", 10.0) > width("ii", 10.0) && outline("m", 10.0).is_some());
        assert!(width("\u{4e2d}", 10.0) > 0.0);
    }
}
