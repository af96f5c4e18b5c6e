//! Lines that are drawn without a program, for the prompt and for notebooks.

use super::scene::{Data, Layer, Panel, Scene};
use super::ticks::{Range, ticks};
use super::{raster, svg};

/// A line through the points `(x[k], y[k])`; what is not finite leaves gaps.
pub struct Line {
    /// For the legend; none if it is empty.
    pub label: String,
    pub x: Vec<f64>,
    pub y: Vec<f64>,
}

/// One panel of lines, of this size in units of a screen.
pub struct Lines {
    pub title: String,
    pub width: f64,
    pub height: f64,
    pub lines: Vec<Line>,
}

impl Lines {
    fn scene(self) -> Scene {
        let layer = |line: Line| Layer { data: Data::Line { x: line.x, y: line.y }, label: line.label };
        let layers = self.lines.into_iter().map(layer).collect();
        let panels = vec![Panel { layers, ..Panel::new((1, 1, 0)) }];
        Scene { title: self.title, width: self.width, height: self.height, panels }
    }

    /// The text of an SVG file.
    ///
    /// # Errors
    /// What an encoder says.
    pub fn svg(self) -> Result<String, String> {
        svg::image(&self.scene().draw())
    }

    /// The bytes of a PNG file, with two points per unit.
    ///
    /// # Errors
    /// What an encoder says; also if there is no memory for the points.
    pub fn png(self) -> Result<Vec<u8>, String> {
        raster::image(&self.scene().draw())
    }
}

/// Round numbers from `low` to `high`, about as many as wanted and at least `least` apart, with their texts.
pub fn marks(low: f64, high: f64, wanted: f64, least: f64) -> Vec<(f64, String)> {
    ticks(Range { low, high }, wanted, least)
}
