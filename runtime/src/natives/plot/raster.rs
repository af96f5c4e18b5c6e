//! Drawings as points.

use tiny_skia::{
    Color as Ink, FillRule, FilterQuality, IntSize, Mask, Paint, Path, PathBuilder, Pixmap, PixmapPaint, PixmapRef,
    Stroke, Transform,
};

use super::font;
use super::shapes::{Anchor, Color, Drawing, Point, Rect, Shape};
use crate::natives::image::png_image;

/// Points of the picture for one unit of the drawing.
const SCALE: f32 = 2.0;

fn paint(color: Color) -> Paint<'static> {
    let [r, g, b] = color.rgb;
    let mut paint = Paint::default();
    paint.set_color_rgba8(r, g, b, (color.opacity * 255.0).round() as u8);
    paint.anti_alias = true;
    paint
}

fn path(parts: &[Vec<Point>], closed: bool) -> Option<Path> {
    let mut path = PathBuilder::new();
    for part in parts {
        for (k, &(x, y)) in part.iter().enumerate() {
            if k == 0 { path.move_to(x as f32, y as f32) } else { path.line_to(x as f32, y as f32) }
        }
        if closed {
            path.close();
        }
    }
    path.finish()
}

fn rect_path(rect: Rect) -> Option<Path> {
    path(&[rect.corners()], true)
}

struct Canvas {
    pixmap: Pixmap,
    /// The mask of the latest clip rectangle.
    mask: Option<(Rect, Mask)>,
}

impl Canvas {
    fn clip_to(&mut self, clip: Option<Rect>) {
        let Some(clip) = clip else {
            self.mask = None;
            return;
        };
        if self.mask.as_ref().is_some_and(|(rect, _)| *rect == clip) {
            return;
        }
        let mut mask = Mask::new(self.pixmap.width(), self.pixmap.height());
        if let (Some(mask), Some(path)) = (&mut mask, rect_path(clip)) {
            mask.fill_path(&path, FillRule::Winding, true, transform());
        }
        self.mask = mask.map(|mask| (clip, mask));
    }

    fn fill(&mut self, path: Option<Path>, color: Color, transform: Transform) {
        let mask = self.mask.as_ref().map(|(_, mask)| mask);
        if let Some(path) = path {
            self.pixmap.fill_path(&path, &paint(color), FillRule::Winding, transform, mask);
        }
    }

    fn stroke(&mut self, path: Option<Path>, color: Color, width: f64) {
        let mask = self.mask.as_ref().map(|(_, mask)| mask);
        let stroke = Stroke { width: width as f32, line_join: tiny_skia::LineJoin::Round, ..Stroke::default() };
        if let Some(path) = path {
            self.pixmap.stroke_path(&path, &paint(color), &stroke, transform(), mask);
        }
    }

    fn draw(&mut self, shape: &Shape) {
        match shape {
            Shape::Lines { parts, color, width, clip } => {
                self.clip_to(*clip);
                self.stroke(path(parts, false), *color, *width);
            }
            Shape::Areas { parts, color, clip } => {
                self.clip_to(*clip);
                self.fill(path(parts, true), *color, transform());
            }
            Shape::Dots { centers, radius, color, clip } => {
                self.clip_to(*clip);
                for &(x, y) in centers {
                    self.fill(PathBuilder::from_circle(x as f32, y as f32, *radius as f32), *color, transform());
                }
            }
            Shape::Text { at: (x, y), text, size, anchor, upright, color, clip } => {
                self.clip_to(*clip);
                let back = font::width(text, *size)
                    * match anchor {
                        Anchor::Start => 0.0,
                        Anchor::Middle => 0.5,
                        Anchor::End => 1.0,
                    };
                let turn = if *upright { -90.0 } else { 0.0 };
                let place =
                    transform().pre_translate(*x as f32, *y as f32).pre_rotate(turn).pre_translate(-back as f32, 0.0);
                self.fill(font::outline(text, *size), *color, place);
            }
            Shape::Cells { place, columns, rows, colors, clip } => {
                self.clip_to(*clip);
                let mask = self.mask.as_ref().map(|(_, mask)| mask);
                let bytes: Vec<u8> = colors.iter().flat_map(|&[r, g, b]| [r, g, b, 255]).collect();
                let (Ok(width), Ok(height)) = (u32::try_from(*columns), u32::try_from(*rows)) else { return };
                let Some(cells) = PixmapRef::from_bytes(&bytes, width, height) else { return };
                let paint = PixmapPaint { quality: FilterQuality::Nearest, ..PixmapPaint::default() };
                let grown = transform()
                    .pre_translate(place.x as f32, place.y as f32)
                    .pre_scale((place.width / f64::from(width)) as f32, (place.height / f64::from(height)) as f32);
                self.pixmap.draw_pixmap(0, 0, cells, &paint, grown, mask);
            }
        }
    }
}

fn transform() -> Transform {
    Transform::from_scale(SCALE, SCALE)
}

/// The bytes of a PNG file.
pub(super) fn image(drawing: &Drawing) -> Result<Vec<u8>, String> {
    let side = |extent: f64| (extent * f64::from(SCALE)).round() as u32;
    let size = IntSize::from_wh(side(drawing.width), side(drawing.height)).ok_or("the picture has no point")?;
    let mut pixmap = Pixmap::new(size.width(), size.height()).ok_or("the picture is too large")?;
    pixmap.fill(Ink::WHITE);
    let mut canvas = Canvas { pixmap, mask: None };
    drawing.shapes.iter().for_each(|shape| canvas.draw(shape));
    // Everything is drawn on white: nothing is transparent.
    let rgb: Vec<u8> = canvas.pixmap.pixels().iter().flat_map(|p| [p.red(), p.green(), p.blue()]).collect();
    png_image(size.height().into(), size.width().into(), 3, &rgb)
}
