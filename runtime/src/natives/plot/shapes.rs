//! What a finished drawing consists of; SVG and raster pictures are made from the same list.

/// Red, green, blue, and opacity.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Color {
    pub rgb: [u8; 3],
    pub opacity: f64,
}

impl Color {
    pub const fn new(rgb: [u8; 3]) -> Color {
        Color { rgb, opacity: 1.0 }
    }

    pub const fn with_opacity(self, opacity: f64) -> Color {
        Color { rgb: self.rgb, opacity }
    }
}

pub(super) const INK: Color = Color::new([38, 38, 38]);
pub(super) const PALE: Color = Color::new([229, 229, 229]);
pub(super) const WHITE: Color = Color::new([255, 255, 255]);

pub(super) type Point = (f64, f64);

#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Rect {
    pub x: f64,
    pub y: f64,
    pub width: f64,
    pub height: f64,
}

impl Rect {
    pub fn right(self) -> f64 {
        self.x + self.width
    }

    pub fn bottom(self) -> f64 {
        self.y + self.height
    }

    pub fn contains(self, (x, y): Point) -> bool {
        (self.x..=self.right()).contains(&x) && (self.y..=self.bottom()).contains(&y)
    }

    pub fn corners(self) -> Vec<Point> {
        vec![(self.x, self.y), (self.right(), self.y), (self.right(), self.bottom()), (self.x, self.bottom())]
    }
}

/// Which point of a text is given.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

#[derive(Clone, PartialEq, Debug)]
pub(super) enum Shape {
    /// Lines through points.
    Lines { parts: Vec<Vec<Point>>, color: Color, width: f64, clip: Option<Rect> },
    /// Areas inside of points.
    Areas { parts: Vec<Vec<Point>>, color: Color, clip: Option<Rect> },
    /// Disks.
    Dots { centers: Vec<Point>, radius: f64, color: Color, clip: Option<Rect> },
    /// A text on its base line; upright ones run upwards.
    Text { at: Point, text: String, size: f64, anchor: Anchor, upright: bool, color: Color, clip: Option<Rect> },
    /// Colored cells, row by row from the top.
    Cells { place: Rect, columns: usize, rows: usize, colors: Vec<[u8; 3]>, clip: Option<Rect> },
}

/// A drawing of this size.
pub(super) struct Drawing {
    pub width: f64,
    pub height: f64,
    pub shapes: Vec<Shape>,
}
