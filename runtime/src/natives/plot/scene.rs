//! What a plot consists of, and how it is laid out: panels in a grid, axes around layers of data.

use super::font;
use super::shapes::{Anchor, Color, Drawing, INK, PALE, Point, Rect, Shape, WHITE};
use super::ticks::{Range, ticks};
use crate::natives::colors;

/// Colors of series that the color-blind tell apart (Okabe and Ito), without yellow, which is too pale for lines.
const SERIES: [[u8; 3]; 7] =
    [[0, 114, 178], [213, 94, 0], [0, 158, 115], [204, 121, 167], [86, 180, 233], [230, 159, 0], [0, 0, 0]];

/// Sizes of texts.
const SMALL: f64 = 10.5;
const MEDIUM: f64 = 12.0;
const LARGE: f64 = 15.0;
/// Distances.
const GAP: f64 = 6.0;
const TICK: f64 = 4.0;
const MARGIN: f64 = 14.0;
/// Lines of text are this much higher than their size.
const LEADING: f64 = 1.25;
/// Width of a color scale, and of the whole of scale, ticks and gap beside a panel except for the texts.
const SCALE_WIDTH: f64 = 12.0;
/// Units of an axis between ticks.
const TICKS_X: f64 = 75.0;
const TICKS_Y: f64 = 45.0;
/// Levels of a contour plot, about.
const LEVELS: f64 = 10.0;
/// Part of the distance between bars that they take.
const BAR_WIDTH: f64 = 0.8;
/// Dots become smaller if there are more.
const MANY_DOTS: usize = 400;

/// What is drawn in a panel.
pub(super) enum Data {
    Line {
        x: Vec<f64>,
        y: Vec<f64>,
    },
    Scatter {
        x: Vec<f64>,
        y: Vec<f64>,
    },
    Bars {
        x: Vec<f64>,
        y: Vec<f64>,
    },
    Band {
        x: Vec<f64>,
        low: Vec<f64>,
        high: Vec<f64>,
    },
    /// Cells in rows; the first row is the top one unless `upward`.
    Heat {
        cells: Field,
        map: i32,
        upward: bool,
    },
    Contour {
        cells: Field,
    },
    Text {
        x: f64,
        y: f64,
        text: String,
    },
}

/// Numbers at the crossings of coordinates: `z[i * x.len() + j]` at `x[j]`, `y[i]`.
pub(super) struct Field {
    pub x: Vec<f64>,
    pub y: Vec<f64>,
    pub z: Vec<f64>,
}

impl Field {
    fn range(&self) -> Option<Range> {
        Range::of(self.z.iter().copied()).map(Range::opened)
    }

    /// Coordinates at the borders of cells: half-way to the neighbors.
    fn borders(at: &[f64]) -> Option<Range> {
        let range = Range::of(at.iter().copied())?;
        let half = if at.len() > 1 { range.span() / (at.len() - 1) as f64 / 2.0 } else { 0.5 };
        Some(Range { low: range.low - half, high: range.high + half }.opened())
    }
}

pub(super) struct Layer {
    pub data: Data,
    pub label: String,
}

/// A panel: where it stands in a grid, what its axes are called, what it shows.
pub(super) struct Panel {
    /// Rows, columns, place.
    pub grid: (usize, usize, usize),
    pub title: String,
    pub x_label: String,
    pub y_label: String,
    pub layers: Vec<Layer>,
}

impl Panel {
    pub fn new(grid: (usize, usize, usize)) -> Panel {
        Panel { grid, title: String::new(), x_label: String::new(), y_label: String::new(), layers: Vec::new() }
    }

    pub fn is_unused(&self) -> bool {
        self.layers.is_empty() && self.title.is_empty() && self.x_label.is_empty() && self.y_label.is_empty()
    }
}

/// A whole plot.
pub(super) struct Scene {
    pub title: String,
    pub width: f64,
    pub height: f64,
    pub panels: Vec<Panel>,
}

fn text(at: Point, text: &str, size: f64, anchor: Anchor) -> Shape {
    Shape::Text { at, text: text.to_string(), size, anchor, upright: false, color: INK, clip: None }
}

fn line(from: Point, to: Point, color: Color, width: f64) -> Shape {
    Shape::Lines { parts: vec![vec![from, to]], color, width, clip: None }
}

impl Scene {
    pub fn draw(&self) -> Drawing {
        let mut shapes = Vec::new();
        let mut top = MARGIN / 2.0;
        if !self.title.is_empty() {
            top = MARGIN + LARGE * LEADING;
            shapes.push(text((self.width / 2.0, MARGIN + LARGE * 0.8), &self.title, LARGE, Anchor::Middle));
        }
        for panel in &self.panels {
            if panel.is_unused() && self.panels.len() > 1 {
                continue;
            }
            let (rows, columns, place) = panel.grid;
            let (width, height) = (self.width / columns as f64, (self.height - top) / rows as f64);
            let (row, column) = (place / columns, place % columns);
            let cell = Rect { x: column as f64 * width, y: top + row as f64 * height, width, height };
            Layout::new(panel, cell).draw(&mut shapes);
        }
        Drawing { width: self.width, height: self.height, shapes }
    }
}

/// A panel with its place.
struct Layout<'a> {
    panel: &'a Panel,
    cell: Rect,
    /// Where the data are drawn.
    inside: Rect,
    x: Range,
    y: Range,
    /// The y axis points downwards, as rows of a matrix do.
    downward: bool,
    x_ticks: Vec<(f64, String)>,
    y_ticks: Vec<(f64, String)>,
    /// Range and table of the colors beside the panel.
    scale: Option<(Range, i32)>,
    scale_ticks: Vec<(f64, String)>,
    /// Bars of one series are this wide, in data units, and there are so many series.
    bar_width: f64,
    bar_series: usize,
}

fn widest(ticks: &[(f64, String)]) -> f64 {
    ticks.iter().map(|(_, text)| font::width(text, SMALL)).fold(0.0, f64::max)
}

/// Both ranges, or the one that is there.
fn joined(a: Option<Range>, b: Option<Range>) -> Option<Range> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.with(b)),
        (a, b) => a.or(b),
    }
}

impl<'a> Layout<'a> {
    fn new(panel: &'a Panel, cell: Rect) -> Layout<'a> {
        let all =
            |at: fn(&Data) -> Option<Range>| panel.layers.iter().fold(None, |range, l| joined(range, at(&l.data)));
        let bar_width = bar_width(panel);
        let bar_series = panel.layers.iter().filter(|layer| matches!(layer.data, Data::Bars { .. })).count();
        let (mut x, mut y) = (all(points_x), all(points_y));
        if bar_series > 0 {
            x = x.map(|x| Range { low: x.low - bar_width / 2.0, high: x.high + bar_width / 2.0 });
        }
        x = x.map(|x| x.opened().padded(0.04));
        let floor = bar_series > 0 && y.is_some_and(|y| y.low >= 0.0);
        y = y.map(|y| y.opened().padded(0.06));
        if floor {
            y = y.map(|y| Range { low: 0.0, ..y });
        }
        // Fields reach to the borders.
        let (field_x, field_y) = (all(field_x), all(field_y));
        let unit = Range { low: 0.0, high: 1.0 };
        let only_fields = |field: Option<Range>, points: Option<Range>| match (field, points) {
            (Some(field), Some(points)) if points.low < field.low || points.high > field.high => field.with(points),
            (Some(field), _) => field,
            (None, points) => points.unwrap_or(unit),
        };
        let (x, y) = (only_fields(field_x, x), only_fields(field_y, y));
        let downward = panel.layers.iter().any(|layer| matches!(layer.data, Data::Heat { upward: false, .. }));
        let scale = panel.layers.iter().find_map(|layer| match &layer.data {
            Data::Heat { cells, map, .. } => cells.range().map(|range| (range, *map)),
            Data::Contour { cells } => cells.range().map(|range| (range, 0)),
            _ => None,
        });
        let mut layout = Layout {
            panel,
            cell,
            inside: cell,
            x,
            y,
            downward,
            x_ticks: Vec::new(),
            y_ticks: Vec::new(),
            scale,
            scale_ticks: Vec::new(),
            bar_width,
            bar_series,
        };
        layout.place();
        layout
    }

    /// Finds the room that texts leave, and the ticks for it.
    fn place(&mut self) {
        let cell = self.cell;
        let title = if self.panel.title.is_empty() { 0.0 } else { MEDIUM * LEADING + GAP };
        let x_label = if self.panel.x_label.is_empty() { 0.0 } else { MEDIUM * LEADING };
        let y_label = if self.panel.y_label.is_empty() { 0.0 } else { MEDIUM * LEADING + 2.0 };
        let top = cell.y + MARGIN / 2.0 + title;
        let bottom = cell.bottom() - MARGIN / 2.0 - x_label - SMALL * LEADING - TICK - 3.0;
        let height = (bottom - top).max(10.0);
        // Rows and columns have whole numbers.
        let least = if self.downward { 1.0 } else { 0.0 };
        self.y_ticks = ticks(self.y, height / TICKS_Y, least);
        if let Some((range, _)) = self.scale {
            self.scale_ticks = ticks(range, height / TICKS_Y, 0.0);
        }
        let left = cell.x + MARGIN / 2.0 + y_label + widest(&self.y_ticks) + TICK + 4.0;
        let scale = match self.scale {
            Some(_) => MARGIN + SCALE_WIDTH + TICK + 3.0 + widest(&self.scale_ticks),
            None => 0.0,
        };
        let right = cell.right() - MARGIN - scale;
        let width = (right - left).max(10.0);
        let mut wanted = width / TICKS_X;
        self.x_ticks = ticks(self.x, wanted, least);
        // Long numbers need more room.
        while self.x_ticks.len() > 2 && (widest(&self.x_ticks) + 8.0) * self.x_ticks.len() as f64 > width {
            wanted *= 0.7;
            self.x_ticks = ticks(self.x, wanted, least);
        }
        self.inside = Rect { x: left, y: top, width, height };
    }

    fn x_at(&self, x: f64) -> f64 {
        self.inside.x + self.x.place(x) * self.inside.width
    }

    fn y_at(&self, y: f64) -> f64 {
        let place = self.y.place(y);
        self.inside.y + if self.downward { place } else { 1.0 - place } * self.inside.height
    }

    fn at(&self, x: f64, y: f64) -> Option<Point> {
        (x.is_finite() && y.is_finite()).then(|| (self.x_at(x), self.y_at(y)))
    }

    fn draw(&self, shapes: &mut Vec<Shape>) {
        let inside = self.inside;
        let has_field = self.scale.is_some();
        if !has_field {
            for (x, _) in &self.x_ticks {
                shapes.push(line((self.x_at(*x), inside.y), (self.x_at(*x), inside.bottom()), PALE, 0.8));
            }
            for (y, _) in &self.y_ticks {
                shapes.push(line((inside.x, self.y_at(*y)), (inside.right(), self.y_at(*y)), PALE, 0.8));
            }
        }
        let mut legend = Vec::new();
        let (mut series, mut bars) = (0, 0);
        for layer in &self.panel.layers {
            let color = Color::new(SERIES[series % SERIES.len()]);
            if matches!(layer.data, Data::Line { .. } | Data::Scatter { .. } | Data::Bars { .. } | Data::Band { .. }) {
                series += 1;
                if !layer.label.is_empty() {
                    legend.push((layer, color));
                }
            }
            self.draw_layer(&layer.data, color, bars, shapes);
            bars += usize::from(matches!(layer.data, Data::Bars { .. }));
        }
        self.draw_frame(has_field, shapes);
        self.draw_scale(shapes);
        self.draw_legend(&legend, shapes);
    }

    fn draw_frame(&self, closed: bool, shapes: &mut Vec<Shape>) {
        let inside = self.inside;
        for (x, label) in &self.x_ticks {
            let x = self.x_at(*x);
            shapes.push(line((x, inside.bottom()), (x, inside.bottom() + TICK), INK, 0.8));
            shapes.push(text((x, inside.bottom() + TICK + 2.0 + SMALL), label, SMALL, Anchor::Middle));
        }
        for (y, label) in &self.y_ticks {
            let y = self.y_at(*y);
            shapes.push(line((inside.x - TICK, y), (inside.x, y), INK, 0.8));
            shapes.push(text((inside.x - TICK - 3.0, y + SMALL * 0.36), label, SMALL, Anchor::End));
        }
        let (top_left, bottom_right) = ((inside.x, inside.y), (inside.right(), inside.bottom()));
        let mut frame = vec![top_left, (inside.x, inside.bottom()), bottom_right];
        if closed {
            frame.extend([(inside.right(), inside.y), top_left]);
        }
        shapes.push(Shape::Lines { parts: vec![frame], color: INK, width: 0.8, clip: None });
        let middle = (inside.x + inside.width / 2.0, inside.y + inside.height / 2.0);
        let panel = self.panel;
        if !panel.title.is_empty() {
            shapes.push(text((middle.0, inside.y - GAP), &panel.title, MEDIUM, Anchor::Middle));
        }
        if !panel.x_label.is_empty() {
            shapes.push(text(
                (middle.0, self.cell.bottom() - MARGIN / 2.0 - 1.5),
                &panel.x_label,
                MEDIUM,
                Anchor::Middle,
            ));
        }
        if !panel.y_label.is_empty() {
            shapes.push(Shape::Text {
                at: (self.cell.x + MARGIN / 2.0 + MEDIUM, middle.1),
                text: panel.y_label.clone(),
                size: MEDIUM,
                anchor: Anchor::Middle,
                upright: true,
                color: INK,
                clip: None,
            });
        }
    }

    /// The colors beside the panel.
    fn draw_scale(&self, shapes: &mut Vec<Shape>) {
        let Some((range, map)) = self.scale else { return };
        let inside = self.inside;
        let place = Rect { x: inside.right() + MARGIN, width: SCALE_WIDTH, ..inside };
        let colors = (0..colors::STEPS).rev().filter_map(|step| colors::color(map, step)).collect::<Vec<_>>();
        shapes.push(Shape::Cells { place, columns: 1, rows: colors.len(), colors, clip: None });
        let mut frame = place.corners();
        frame.push((place.x, place.y));
        shapes.push(Shape::Lines { parts: vec![frame], color: INK, width: 0.8, clip: None });
        for (z, label) in &self.scale_ticks {
            let y = place.bottom() - range.place(*z) * place.height;
            shapes.push(line((place.right(), y), (place.right() + TICK, y), INK, 0.8));
            shapes.push(text((place.right() + TICK + 3.0, y + SMALL * 0.36), label, SMALL, Anchor::Start));
        }
    }

    fn draw_layer(&self, data: &Data, color: Color, bar: usize, shapes: &mut Vec<Shape>) {
        let clip = Some(self.inside);
        match data {
            Data::Line { x, y } => {
                let mut parts = vec![Vec::new()];
                for (&x, &y) in x.iter().zip(y) {
                    match (self.at(x, y), parts.last_mut()) {
                        (Some(point), Some(part)) => part.push(point),
                        _ => parts.push(Vec::new()),
                    }
                }
                // A point between gaps would not be seen as a line.
                let alone = parts.iter().filter(|part| part.len() == 1);
                let centers: Vec<Point> = alone.flatten().copied().collect();
                parts.retain(|part| part.len() > 1);
                shapes.push(Shape::Lines { parts, color, width: 1.8, clip });
                if !centers.is_empty() {
                    shapes.push(Shape::Dots { centers, radius: 1.8, color, clip });
                }
            }
            Data::Scatter { x, y } => {
                let centers: Vec<Point> = x.iter().zip(y).filter_map(|(&x, &y)| self.at(x, y)).collect();
                let radius = if centers.len() > MANY_DOTS { 1.8 } else { 3.0 };
                shapes.push(Shape::Dots { centers, radius, color: color.with_opacity(0.75), clip });
            }
            Data::Bars { x, y } => {
                let width = self.bar_width * BAR_WIDTH / self.bar_series.max(1) as f64;
                let shift = (bar as f64 - self.bar_series as f64 / 2.0) * width;
                let bar = |x: f64, y: f64| -> Option<Vec<Point>> {
                    let ((left, base), (right, top)) = (self.at(x + shift, 0.0)?, self.at(x + shift + width, y)?);
                    Some(vec![(left, base), (left, top), (right, top), (right, base)])
                };
                let parts = x.iter().zip(y).filter_map(|(&x, &y)| bar(x, y)).collect();
                shapes.push(Shape::Areas { parts, color, clip });
            }
            Data::Band { x, low, high } => {
                let mut parts = Vec::new();
                let mut at = 0;
                let finite = |k: usize| x[k].is_finite() && low[k].is_finite() && high[k].is_finite();
                while at < x.len() {
                    let end = (at..x.len()).find(|&k| !finite(k)).unwrap_or(x.len());
                    let there = (at..end).filter_map(|k| self.at(x[k], low[k]));
                    let back = (at..end).rev().filter_map(|k| self.at(x[k], high[k]));
                    let part: Vec<Point> = there.chain(back).collect();
                    if part.len() > 2 {
                        parts.push(part);
                    }
                    at = end + 1;
                }
                shapes.push(Shape::Areas { parts, color: color.with_opacity(0.25), clip });
            }
            Data::Heat { cells, map, .. } => self.draw_heat(cells, *map, shapes),
            Data::Contour { cells } => self.draw_contour(cells, shapes),
            Data::Text { x, y, text: words } => {
                if let Some((x, y)) = self.at(*x, *y) {
                    // Halo, so that the words can be read on colors.
                    let size = SMALL + 0.5;
                    let (width, at) = (font::width(words, size), (x + 5.0, y - 5.0));
                    let back = Rect { x: at.0 - 2.0, y: at.1 - size, width: width + 4.0, height: size * 1.35 };
                    if self.scale.is_some() {
                        let color = WHITE.with_opacity(0.7);
                        shapes.push(Shape::Areas { parts: vec![back.corners()], color, clip });
                    }
                    let anchor = if at.0 + width > self.inside.right() { Anchor::End } else { Anchor::Start };
                    let at = if anchor == Anchor::End { (x - 5.0, at.1) } else { at };
                    shapes.push(Shape::Text {
                        at,
                        text: words.clone(),
                        size,
                        anchor,
                        upright: false,
                        color: INK,
                        clip,
                    });
                }
            }
        }
    }

    fn draw_heat(&self, cells: &Field, map: i32, shapes: &mut Vec<Shape>) {
        let (columns, rows) = (cells.x.len(), cells.y.len());
        let (Some(range), Some(x), Some(y)) = (cells.range(), Field::borders(&cells.x), Field::borders(&cells.y))
        else {
            return;
        };
        let color = |z: f64| {
            let step = if z.is_nan() { None } else { Some((range.place(z) * colors::STEPS as f64).max(0.0) as usize) };
            step.and_then(|step| colors::color(map, step)).unwrap_or(colors::MISSING)
        };
        // From left to right and from the top of the picture downwards.
        let ascending = |at: &[f64]| at.first() <= at.last();
        let flipped = ascending(&cells.y) != self.downward;
        let mirrored = !ascending(&cells.x);
        let colors = (0..rows)
            .flat_map(|i| (0..columns).map(move |j| (i, j)))
            .map(|(i, j)| {
                let i = if flipped { rows - 1 - i } else { i };
                let j = if mirrored { columns - 1 - j } else { j };
                color(cells.z[i * columns + j])
            })
            .collect();
        let (left, right) = (self.x_at(x.low), self.x_at(x.high));
        let (a, b) = (self.y_at(y.low), self.y_at(y.high));
        let place = Rect { x: left, y: a.min(b), width: right - left, height: (a - b).abs() };
        shapes.push(Shape::Cells { place, columns, rows, colors, clip: Some(self.inside) });
    }

    fn draw_contour(&self, cells: &Field, shapes: &mut Vec<Shape>) {
        let Some(range) = cells.range() else { return };
        let over_heat = self.panel.layers.iter().any(|layer| matches!(layer.data, Data::Heat { .. }));
        for (level, _) in ticks(range, LEVELS, 0.0) {
            let parts = contour(cells, level)
                .into_iter()
                .filter_map(|[a, b]| Some(vec![self.at(a.0, a.1)?, self.at(b.0, b.1)?]))
                .collect::<Vec<_>>();
            if parts.is_empty() {
                continue;
            }
            let step = (range.place(level) * colors::STEPS as f64).max(0.0) as usize;
            let color = if over_heat { INK } else { Color::new(colors::color(0, step).unwrap_or(INK.rgb)) };
            let width = if over_heat { 0.8 } else { 1.6 };
            shapes.push(Shape::Lines { parts, color, width, clip: Some(self.inside) });
        }
    }

    /// Points of the data, to see where a legend covers least.
    fn marks(&self) -> Vec<Point> {
        let mut marks = Vec::new();
        for layer in &self.panel.layers {
            match &layer.data {
                Data::Line { x, y } => {
                    let points: Vec<Point> = x.iter().zip(y).filter_map(|(&x, &y)| self.at(x, y)).collect();
                    // Long pieces of a line cover more than their ends.
                    for pair in points.windows(2) {
                        let ((x0, y0), (x1, y1)) = (pair[0], pair[1]);
                        let steps = ((x1 - x0).hypot(y1 - y0) / 8.0).clamp(1.0, 200.0) as usize;
                        marks.extend((0..steps).map(|k| {
                            let t = k as f64 / steps as f64;
                            (x0 + (x1 - x0) * t, y0 + (y1 - y0) * t)
                        }));
                    }
                    marks.extend(points.last());
                }
                Data::Scatter { x, y } | Data::Bars { x, y } => {
                    marks.extend(x.iter().zip(y).filter_map(|(&x, &y)| self.at(x, y)));
                }
                Data::Band { x, low, high } => {
                    for k in 0..x.len() {
                        marks.extend(self.at(x[k], low[k]).into_iter().chain(self.at(x[k], high[k])));
                    }
                }
                Data::Text { x, y, text } => {
                    if let Some((x, y)) = self.at(*x, *y) {
                        let width = font::width(text, SMALL);
                        let across = (0..20).map(|k| x + 5.0 + width * f64::from(k) / 20.0);
                        marks.extend(across.flat_map(|x| [(x, y - 4.0), (x, y - 5.0 - SMALL)]));
                    }
                }
                Data::Heat { .. } | Data::Contour { .. } => {}
            }
        }
        marks
    }

    fn draw_legend(&self, entries: &[(&Layer, Color)], shapes: &mut Vec<Shape>) {
        const SAMPLE: f64 = 22.0;
        if entries.is_empty() {
            return;
        }
        let row = SMALL * 1.5;
        let words = entries.iter().map(|(layer, _)| font::width(&layer.label, SMALL)).fold(0.0, f64::max);
        let (width, height) = (words + SAMPLE + 3.0 * GAP, row * entries.len() as f64 + GAP);
        let inside = self.inside;
        let (left, right) = (inside.x + 2.0 * GAP, inside.right() - GAP - width);
        let (top, bottom) = (inside.y + GAP, inside.bottom() - 2.0 * GAP - height);
        let middle_x = inside.x + (inside.width - width) / 2.0;
        let marks = self.marks();
        let places = [(right, top), (left, top), (right, bottom), (left, bottom), (middle_x, top), (middle_x, bottom)];
        let covered = |&(x, y): &Point| {
            let around = Rect { x: x - 4.0, y: y - 4.0, width: width + 8.0, height: height + 8.0 };
            marks.iter().filter(|&&mark| around.contains(mark)).count()
        };
        let Some(&(x, y)) = places.iter().min_by_key(|place| covered(place)) else { return };
        let back = Rect { x, y, width, height };
        shapes.push(Shape::Areas { parts: vec![back.corners()], color: WHITE.with_opacity(0.85), clip: None });
        let mut frame = back.corners();
        frame.push((x, y));
        let gray = Color::new([204, 204, 204]);
        shapes.push(Shape::Lines { parts: vec![frame], color: gray, width: 0.8, clip: None });
        for (k, (layer, color)) in entries.iter().enumerate() {
            let (left, middle) = (x + GAP, y + GAP / 2.0 + (k as f64 + 0.5) * row);
            let block = Rect { x: left, y: middle - 4.0, width: SAMPLE, height: 8.0 }.corners();
            shapes.push(match layer.data {
                Data::Scatter { .. } => Shape::Dots {
                    centers: vec![(left + SAMPLE / 2.0, middle)],
                    radius: 3.0,
                    color: color.with_opacity(0.75),
                    clip: None,
                },
                Data::Bars { .. } => Shape::Areas { parts: vec![block], color: *color, clip: None },
                Data::Band { .. } => Shape::Areas { parts: vec![block], color: color.with_opacity(0.25), clip: None },
                _ => line((left, middle), (left + SAMPLE, middle), *color, 1.8),
            });
            let at = (left + SAMPLE + GAP, middle + SMALL * 0.36);
            shapes.push(text(at, &layer.label, SMALL, Anchor::Start));
        }
    }
}

/// Distance of neighboring bars.
fn bar_width(panel: &Panel) -> f64 {
    let mut all: Vec<f64> = Vec::new();
    for layer in &panel.layers {
        if let Data::Bars { x, .. } = &layer.data {
            all.extend(x.iter().filter(|x| x.is_finite()));
        }
    }
    all.sort_by(f64::total_cmp);
    let distances = all.windows(2).map(|pair| pair[1] - pair[0]).filter(|&d| d > 0.0);
    let least = distances.fold(f64::INFINITY, f64::min);
    if least.is_finite() { least } else { 1.0 }
}

fn points_x(data: &Data) -> Option<Range> {
    match data {
        Data::Line { x, .. } | Data::Scatter { x, .. } | Data::Bars { x, .. } | Data::Band { x, .. } => {
            Range::of(x.iter().copied())
        }
        Data::Text { x, .. } => Range::of([*x].into_iter()),
        Data::Heat { .. } | Data::Contour { .. } => None,
    }
}

fn points_y(data: &Data) -> Option<Range> {
    match data {
        Data::Line { y, .. } | Data::Scatter { y, .. } => Range::of(y.iter().copied()),
        Data::Bars { y, .. } => Range::of(y.iter().copied().chain([0.0])),
        Data::Band { low, high, .. } => Range::of(low.iter().chain(high).copied()),
        Data::Text { y, .. } => Range::of([*y].into_iter()),
        Data::Heat { .. } | Data::Contour { .. } => None,
    }
}

fn field_x(data: &Data) -> Option<Range> {
    match data {
        Data::Heat { cells, .. } => Field::borders(&cells.x),
        Data::Contour { cells } => Range::of(cells.x.iter().copied()).map(Range::opened),
        _ => None,
    }
}

fn field_y(data: &Data) -> Option<Range> {
    match data {
        Data::Heat { cells, .. } => Field::borders(&cells.y),
        Data::Contour { cells } => Range::of(cells.y.iter().copied()).map(Range::opened),
        _ => None,
    }
}

/// The line where a field has a value, in pieces: each square between four crossings is cut where its sides are.
fn contour(cells: &Field, level: f64) -> Vec<[Point; 2]> {
    let columns = cells.x.len();
    let mut pieces = Vec::new();
    for i in 1..cells.y.len() {
        for j in 1..columns {
            // Around the square, so that neighbors share a side.
            let corners = [(i - 1, j - 1), (i - 1, j), (i, j), (i, j - 1)];
            let z = corners.map(|(i, j)| cells.z[i * columns + j] - level);
            if !z.iter().all(|z| z.is_finite()) {
                continue;
            }
            let mut cuts = Vec::new();
            for k in 0..4 {
                let next = (k + 1) % 4;
                if (z[k] >= 0.0) != (z[next] >= 0.0) {
                    let t = z[k] / (z[k] - z[next]);
                    let ((i0, j0), (i1, j1)) = (corners[k], corners[next]);
                    let between = |a: f64, b: f64| a + (b - a) * t;
                    cuts.push((between(cells.x[j0], cells.x[j1]), between(cells.y[i0], cells.y[i1])));
                }
            }
            match cuts[..] {
                [a, b] => pieces.push([a, b]),
                // A saddle: the mean tells which corners belong together.
                [a, b, c, d] => {
                    let together = (z.iter().sum::<f64>() >= 0.0) == (z[0] >= 0.0);
                    pieces.extend(if together { [[a, b], [c, d]] } else { [[d, a], [b, c]] });
                }
                _ => {}
            }
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contours_go_through_the_level() {
        let at: Vec<f64> = (0..5).map(f64::from).collect();
        let z = (0..25).map(|k| f64::from(k % 5) + 0.25).collect();
        let pieces = contour(&Field { x: at.clone(), y: at, z }, 2.0);
        assert_eq!(pieces.len(), 4);
        assert!(pieces.iter().flatten().all(|&(x, _)| (x - 1.75).abs() < 1e-12));
    }
}
