//! Plots: lines, dots, bars, bands, colored cells, contours and texts in panels with axes, saved as SVG or PNG.

mod font;
mod lines;
mod raster;
mod scene;
mod shapes;
mod svg;
mod ticks;

use std::cell::RefCell;

use scene::{Data, Field, Layer, Panel, Scene};

pub use lines::{Line, Lines, marks};
pub use svg::base64;

use super::data_files::{quoted, write};
use super::{ArrayArg, Handle, Object, Text, colors, natives};
use crate::abi::ObjectKind;
use crate::array::{Array, ArrayRef};
use crate::fault::{Fault, shape_text};

/// Sides of a picture, in units of the drawing.
const SIDES: std::ops::RangeInclusive<i32> = 100..=10_000;
/// Panels of a plot in one direction.
const MOST_PANELS: i32 = 100;

/// A plot, and which panel is drawn in.
struct Plot {
    scene: Scene,
    current: usize,
}

struct PlotCell(RefCell<Plot>);

fn with_plot<R>(object: Object<'_>, work: impl FnOnce(&mut Plot) -> R) -> Result<R, Fault> {
    match object.0.opaque::<PlotCell>() {
        // SAFETY: the value lives as long as the object; its cell is used by one native at a time.
        Some(plot) => Ok(work(&mut unsafe { plot.as_ref() }.0.borrow_mut())),
        None => Err(Fault::new("a native expects a plot")),
    }
}

fn with_panel(object: Object<'_>, work: impl FnOnce(&mut Panel)) -> Result<(), Fault> {
    with_plot(object, |plot| {
        if let Some(panel) = plot.scene.panels.get_mut(plot.current) {
            work(panel);
        }
    })
}

fn words(text: Text<'_>) -> String {
    String::from_utf8_lossy(text.0).into_owned()
}

fn add(object: Object<'_>, label: Text<'_>, data: Data) -> Result<(), Fault> {
    with_panel(object, |panel| panel.layers.push(Layer { data, label: words(label) }))
}

/// Vectors of one length.
fn same_length(parts: &[&[f64]]) -> Result<(), Fault> {
    if parts.windows(2).all(|pair| pair[0].len() == pair[1].len()) {
        return Ok(());
    }
    let lengths: Vec<String> = parts.iter().map(|part| part.len().to_string()).collect();
    Err(Fault::new(format!("the coordinates of a plot have different numbers: {}", lengths.join(", "))))
}

/// A matrix over coordinates; without coordinates over the indices.
fn field(x: &[f64], y: &[f64], z: ArrayRef<'_>) -> Result<Field, Fault> {
    let (&[rows, columns], Some(elements)) = (z.shape(), z.as_slice::<f64>()) else {
        return Err(Fault::new("a matrix of doubles is plotted here"));
    };
    let indices = |n: i64| (0..n).map(|k| k as f64).collect::<Vec<_>>();
    let (x, y) =
        if x.is_empty() && y.is_empty() { (indices(columns), indices(rows)) } else { (x.to_vec(), y.to_vec()) };
    if x.len() as i64 != columns || y.len() as i64 != rows {
        let shape = shape_text(z.shape());
        return Err(Fault::new(format!("{} by {} coordinates do not fit a matrix of shape {shape}", y.len(), x.len())));
    }
    Ok(Field { x, y, z: elements.to_vec() })
}

fn save(name: &[u8], scene: &Scene) -> Result<(), Fault> {
    let extension = name.rsplit(|&byte| byte == b'.').next().unwrap_or_default().to_ascii_lowercase();
    let drawing = scene.draw();
    let image = match &extension[..] {
        b"svg" => svg::image(&drawing).map(String::into_bytes),
        b"png" => raster::image(&drawing),
        _ => Err("its name should end with .svg or .png".to_string()),
    };
    write(name, &image.map_err(|why| Fault::new(format!("cannot write {}: {why}", quoted(name))))?)
}

natives! { PLOT;
    /// An empty plot with a title, of this size in units of a screen.
    same fn ravel_plot_figure(title: Text<'_>, width: i32, height: i32) -> (p: Handle) {
        if !SIDES.contains(&width) || !SIDES.contains(&height) {
            let (least, most) = SIDES.into_inner();
            return Err(Fault::new(format!("a plot of {width} by {height}: its sides are from {least} to {most}")));
        }
        let panels = vec![Panel::new((1, 1, 0))];
        let scene = Scene { title: words(title), width: width.into(), height: height.into(), panels };
        Array::opaque(ObjectKind::Other, PlotCell(RefCell::new(Plot { scene, current: 0 }))).map(Handle)
    }

    /// Chooses panel `k`, counted along rows from 0, of a grid.
    write fn ravel_plot_subplot(p: Object<'_>, rows: i32, columns: i32, k: i32) -> () {
        let one = 1..=MOST_PANELS;
        if !one.contains(&rows) || !one.contains(&columns) {
            let found = format!("a grid of {rows} by {columns} panels");
            return Err(Fault::new(format!("{found}: its rows and columns are 1 to {MOST_PANELS} each")));
        }
        if k < 0 || k >= rows * columns {
            let last = rows * columns - 1;
            return Err(Fault::new(format!("no panel {k} in a grid of {rows} by {columns}: they are 0 to {last}")));
        }
        let size = |n: i32| usize::try_from(n).unwrap_or(0);
        let grid = (size(rows), size(columns), size(k));
        with_plot(p, |plot| {
            let panels = &mut plot.scene.panels;
            plot.current = panels.iter().position(|panel| panel.grid == grid).unwrap_or_else(|| {
                panels.push(Panel::new(grid));
                panels.len() - 1
            });
        })
    }

    /// Names the axes of the panel.
    write fn ravel_plot_axes(p: Object<'_>, x: Text<'_>, y: Text<'_>) -> () {
        with_panel(p, |panel| (panel.x_label, panel.y_label) = (words(x), words(y)))
    }

    /// Names the panel.
    write fn ravel_plot_title(p: Object<'_>, title: Text<'_>) -> () {
        with_panel(p, |panel| panel.title = words(title))
    }

    /// A line through points.
    write fn ravel_plot_line(p: Object<'_>, x: ArrayArg<'_, f64>, y: ArrayArg<'_, f64>, label: Text<'_>) -> () {
        same_length(&[x.0, y.0])?;
        add(p, label, Data::Line { x: x.0.to_vec(), y: y.0.to_vec() })
    }

    /// Dots.
    write fn ravel_plot_scatter(p: Object<'_>, x: ArrayArg<'_, f64>, y: ArrayArg<'_, f64>, label: Text<'_>) -> () {
        same_length(&[x.0, y.0])?;
        add(p, label, Data::Scatter { x: x.0.to_vec(), y: y.0.to_vec() })
    }

    /// Bars from zero.
    write fn ravel_plot_bars(p: Object<'_>, x: ArrayArg<'_, f64>, y: ArrayArg<'_, f64>, label: Text<'_>) -> () {
        same_length(&[x.0, y.0])?;
        add(p, label, Data::Bars { x: x.0.to_vec(), y: y.0.to_vec() })
    }

    /// The area between two lines.
    write fn ravel_plot_band(
        p: Object<'_>, x: ArrayArg<'_, f64>, low: ArrayArg<'_, f64>, high: ArrayArg<'_, f64>, label: Text<'_>
    ) -> () {
        same_length(&[x.0, low.0, high.0])?;
        add(p, label, Data::Band { x: x.0.to_vec(), low: low.0.to_vec(), high: high.0.to_vec() })
    }

    /// A matrix as colors, its first row on top; with coordinates upwards along y.
    write fn ravel_plot_heat(
        p: Object<'_>, x: ArrayArg<'_, f64>, y: ArrayArg<'_, f64>, z: ArrayRef<'_>, map: i32
    ) -> () {
        if colors::color(map, 0).is_none() {
            return Err(Fault::new(format!("there is no table of colors {map}")));
        }
        let upward = !(x.0.is_empty() && y.0.is_empty());
        add(p, Text(b""), Data::Heat { cells: field(x.0, y.0, z)?, map, upward })
    }

    /// Lines of equal height of a matrix over coordinates.
    write fn ravel_plot_contour(p: Object<'_>, x: ArrayArg<'_, f64>, y: ArrayArg<'_, f64>, z: ArrayRef<'_>) -> () {
        add(p, Text(b""), Data::Contour { cells: field(x.0, y.0, z)? })
    }

    /// Words at a point.
    write fn ravel_plot_text(p: Object<'_>, x: f64, y: f64, text: Text<'_>) -> () {
        add(p, Text(b""), Data::Text { x, y, text: words(text) })
    }

    /// Writes the plot; the name ends with `.svg` or `.png`.
    write fn ravel_plot_save(p: Object<'_>, name: Text<'_>) -> () {
        with_plot(p, |plot| save(name.0, &plot.scene))?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A plot with everything.
    fn everything() -> Scene {
        let x: Vec<f64> = (0..100).map(|k| f64::from(k) * 0.1).collect();
        let each = |f: fn(f64) -> f64| x.iter().map(|&x| f(x)).collect::<Vec<_>>();
        let layer = |label: &str, data| Layer { data, label: label.to_string() };
        let panel = |k, title: &str, layers| Panel {
            title: title.to_string(),
            x_label: "time in s".to_string(),
            y_label: "height in m".to_string(),
            layers,
            ..Panel::new((2, 3, k))
        };
        let bump = |x: f64, y: f64| (-(x - 1.0).powi(2) - y * y).exp() - (-(x + 1.0).powi(2) - y * y).exp();
        let at: Vec<f64> = (0..40).map(|k| f64::from(k) * 0.15 - 3.0).collect();
        let z: Vec<f64> = at.iter().flat_map(|&y| at.iter().map(move |&x| bump(x, y))).collect();
        let cells = || Field { x: at.clone(), y: at.clone(), z: z.clone() };
        let small = Field { x: vec![0.0, 1.0, 2.0], y: vec![0.0, 1.0], z: vec![1.0, 2.0, f64::NAN, 4.0, 5.0, 6.0] };
        let panels = vec![
            Panel::new((1, 1, 0)),
            panel(
                0,
                "lines and a band",
                vec![
                    layer(
                        "spread",
                        Data::Band { x: x.clone(), low: each(|x| x.sin() - 0.3), high: each(|x| x.sin() + 0.3) },
                    ),
                    layer("sine", Data::Line { x: x.clone(), y: each(f64::sin) }),
                    layer("half cosine", Data::Line { x: x.clone(), y: each(|x| x.cos() / 2.0) }),
                ],
            ),
            panel(
                1,
                "dots",
                vec![
                    layer("sample", Data::Scatter { x: x.clone(), y: each(|x| x * 1e6 + (x * 1234.5).sin() * 1e6) }),
                    layer("", Data::Text { x: 2.0, y: 9e6, text: "\u{3b1} < \u{3b2} & \u{3b3}".to_string() }),
                ],
            ),
            panel(
                2,
                "bars",
                vec![
                    layer("2023", Data::Bars { x: vec![1.0, 2.0, 3.0], y: vec![3.0, 5.0, 2.0] }),
                    layer("2024", Data::Bars { x: vec![1.0, 2.0, 3.0], y: vec![4.0, 4.5, 3.5] }),
                ],
            ),
            panel(3, "cells", vec![layer("", Data::Heat { cells: small, map: 0, upward: false })]),
            panel(4, "contours", vec![layer("", Data::Contour { cells: cells() })]),
            panel(
                5,
                "both",
                vec![
                    layer("", Data::Heat { cells: cells(), map: 2, upward: true }),
                    layer("", Data::Contour { cells: cells() }),
                    layer("", Data::Text { x: 1.0, y: 0.0, text: "summit".to_string() }),
                ],
            ),
        ];
        Scene { title: "Everything that is drawn".to_string(), width: 1000.0, height: 600.0, panels }
    }

    #[test]
    fn drawings_are_the_same_each_time() {
        let (first, second) = (everything().draw(), everything().draw());
        assert_eq!(first.shapes, second.shapes);
        let text = svg::image(&first).expect("valid");
        assert!(text.starts_with("<svg") && text.contains("\u{3b1} &lt; \u{3b2} &amp; \u{3b3}"));
        assert!(!text.contains("NaN") && !text.contains("inf"), "all coordinates are numbers");
        let png = raster::image(&first).expect("valid");
        // To look at: RAVEL_PLOTS names a folder.
        if let Some(folder) = std::env::var_os("RAVEL_PLOTS").map(std::path::PathBuf::from) {
            std::fs::write(folder.join("everything.svg"), &text).expect("writable");
            std::fs::write(folder.join("everything.png"), &png).expect("writable");
        }
    }

    #[test]
    fn strange_numbers_are_drawn_or_left_out() {
        let strange = vec![f64::NAN, f64::INFINITY, f64::MAX, f64::MIN, f64::MIN_POSITIVE, 0.0];
        for data in [
            Data::Line { x: strange.clone(), y: strange.clone() },
            Data::Scatter { x: strange.clone(), y: strange.clone() },
            Data::Bars { x: strange.clone(), y: strange.clone() },
            Data::Band { x: strange.clone(), low: strange.clone(), high: strange.clone() },
            Data::Line { x: vec![], y: vec![] },
            Data::Line { x: vec![3.0], y: vec![f64::NAN] },
            Data::Heat { cells: Field { x: strange.clone(), y: vec![1.0], z: strange.clone() }, map: 0, upward: true },
            Data::Contour { cells: Field { x: vec![], y: vec![], z: vec![] } },
            Data::Heat { cells: Field { x: vec![], y: vec![], z: vec![] }, map: 0, upward: false },
            Data::Text { x: f64::NAN, y: 0.0, text: "nowhere".to_string() },
        ] {
            let panel = Panel { layers: vec![Layer { data, label: "x".to_string() }], ..Panel::new((1, 1, 0)) };
            let drawing = Scene { title: String::new(), width: 300.0, height: 200.0, panels: vec![panel] }.draw();
            let text = svg::image(&drawing).expect("valid");
            assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
            assert!(raster::image(&drawing).is_ok());
        }
    }
}
