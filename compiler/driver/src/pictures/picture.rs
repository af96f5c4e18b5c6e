//! An array as points: gray ones from two axes, colours from three.

use super::numbers::{each, exceptions, short};
use super::{blocks, protocols, scale};
use crate::pictures::terminal::{Medium, Terminal};
use crate::repl::show;
use crate::repl::value::Value;
use ravel_runtime::array::Array;
use ravel_types::Elem;

/// The colour of what is not a number.
pub(super) const NAN_COLOR: [u8; 3] = [255, 0, 255];
/// What is shown if all elements are equal.
const MIDDLE: u8 = 128;

/// Points in rows from the top.
#[derive(Clone, Debug)]
pub struct Picture {
    pub(super) height: usize,
    pub(super) width: usize,
    /// 1 for gray, 3 for red, green and blue.
    pub(super) channels: usize,
    /// Row by row, the channels of a point together.
    pub(super) bytes: Vec<u8>,
    /// For every point whether it is not a number; empty if all are.
    pub(super) nan: Vec<bool>,
    /// What black and white stand for.
    scale: String,
}

/// The numbers that black and white stand for.
#[derive(Clone, Copy)]
struct Span {
    low: f64,
    high: f64,
}

impl Span {
    fn byte(self, x: f64) -> u8 {
        if x.is_nan() {
            return 0;
        }
        if self.low == self.high && x == self.low {
            return MIDDLE;
        }
        // Halves, since the difference of large numbers overflows.
        let part = (x / 2.0 - self.low / 2.0) / (self.high / 2.0 - self.low / 2.0);
        match x {
            _ if x >= self.high => 255,
            _ if x <= self.low => 0,
            _ => (part * 255.0).round() as u8,
        }
    }
}

impl Picture {
    /// A picture of a value.
    ///
    /// # Errors
    /// A sentence for the user: the value has no picture.
    pub fn from_value(value: &Value) -> Result<Picture, String> {
        let name = show::type_name(value);
        match value {
            Value::Array(basic, array) => from_array(basic.elem(), array, false, &name),
            Value::Typedef { ty, inner: 1, rep } if ty.name == "Color8" => match &**rep {
                Value::Array(basic, array) => from_array(basic.elem(), array, true, &name),
                _ => Err(no_picture(&name)),
            },
            Value::Typedef { inner: 0, rep, .. } => {
                Picture::from_value(rep).map_err(|why| why.replace(&show::type_name(rep), &name))
            }
            Value::Scalar(..)
            | Value::Object(..)
            | Value::Typedef { .. }
            | Value::Class { .. }
            | Value::Record { .. } => Err(no_picture(&name)),
        }
    }

    /// Extents, and what black and white stand for.
    pub fn caption(&self) -> String {
        format!("{} x {}, {}", self.height, self.width, self.scale)
    }

    /// The bytes of a PNG file with a point per element.
    ///
    /// # Errors
    /// It has more points than such a file can have.
    pub fn png(&self) -> Result<Vec<u8>, String> {
        let side = |extent: usize| i64::try_from(extent).unwrap_or(i64::MAX);
        let (height, width) = (side(self.height), side(self.width));
        if self.channels == 1 && self.nan.is_empty() {
            return ravel_runtime::natives::png_image(height, width, 1, &self.bytes);
        }
        let points: Vec<u8> = (0..self.height * self.width).flat_map(|at| self.color(at)).collect();
        ravel_runtime::natives::png_image(height, width, 3, &points)
    }

    /// What a terminal shows, caption included; every line is ended.
    ///
    /// # Errors
    /// Those of [`Picture::png`].
    pub fn terminal(&self, terminal: &Terminal) -> Result<String, String> {
        let mut caption = self.caption();
        let nan = self.nan.iter().filter(|&&is_nan| is_nan).count();
        let shown = match terminal.medium {
            Medium::Blocks | Medium::Ascii => blocks::text(self, terminal),
            Medium::Kitty | Medium::ITerm | Medium::Sixel => {
                let (height, width) = terminal.points();
                let sized = scale::fitted(self, height, width);
                let sized = scale::enlarged(sized, height / 2, width);
                match terminal.medium {
                    Medium::Kitty => protocols::kitty(&sized.png()?),
                    Medium::ITerm => protocols::iterm(&sized.png()?, sized.height, sized.width),
                    _ => protocols::sixel(&sized),
                }
            }
        };
        if nan > 0 {
            caption.push_str(if terminal.has_color() { " in magenta" } else { " as `?`" });
        }
        Ok(format!("{shown}{caption}\n"))
    }

    /// The same picture of another size.
    pub(super) fn resized(&self, height: usize, width: usize, bytes: Vec<u8>, nan: Vec<bool>) -> Picture {
        Picture { height, width, channels: self.channels, bytes, nan, scale: self.scale.clone() }
    }

    /// Whether a point is not a number.
    pub(super) fn is_nan(&self, at: usize) -> bool {
        self.nan.get(at).copied().unwrap_or(false)
    }

    /// Red, green and blue of a point.
    pub(super) fn color(&self, at: usize) -> [u8; 3] {
        if self.is_nan(at) {
            return NAN_COLOR;
        }
        match self.channels {
            1 => [self.bytes[at]; 3],
            _ => [self.bytes[3 * at], self.bytes[3 * at + 1], self.bytes[3 * at + 2]],
        }
    }

    /// How bright a point is.
    pub(super) fn gray(&self, at: usize) -> u8 {
        let [r, g, b] = self.color(at).map(u32::from);
        // As the eye weighs them.
        u8::try_from((299 * r + 587 * g + 114 * b + 500) / 1000).unwrap_or(u8::MAX)
    }
}

fn no_picture(name: &str) -> String {
    format!("a picture has two axes, or three with 3 channels in the last one; this is {name}")
}

/// Points of an array; with `colors` its last axis has three channels from 0 to 255.
fn from_array(elem: Elem, array: &Array, colors: bool, name: &str) -> Result<Picture, String> {
    let shape: Vec<usize> = array.view().shape().iter().map(|&n| usize::try_from(n).unwrap_or(0)).collect();
    let (height, width, channels) = match *shape.as_slice() {
        [height, width] if !colors => (height, width, 1),
        [height, width, 3] => (height, width, 3),
        [_] if !colors => return Err(format!("{}; `:plot` draws vectors", no_picture(name))),
        [_, ..] if shape.len() > 2 => return Err(format!("{}; choose a part, as `a[0]`", no_picture(name))),
        _ => return Err(no_picture(name)),
    };
    if height == 0 || width == 0 {
        return Err(format!("there is nothing to show in {name}: an axis is empty"));
    }
    match elem {
        Elem::Char | Elem::Handle => {
            return Err(format!("a picture consists of reals, integers or bool; this is {name}"));
        }
        Elem::F32 | Elem::F64 | Elem::U8 => {}
        _ if channels == 3 && !colors => {
            return Err(format!("channels are reals, ubyte or Color8; this is {name}; `toub` makes ubyte of it"));
        }
        _ => {}
    }
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    let (mut infinite, mut nan) = (0, 0);
    each(elem, array, |x| match x {
        _ if x.is_nan() => nan += 1,
        _ if x.is_infinite() => infinite += 1,
        _ => (low, high) = (low.min(x), high.max(x)),
    });
    let found = if low > high { Span { low: 0.0, high: 0.0 } } else { Span { low, high } };
    let real = matches!(elem, Elem::F32 | Elem::F64);
    let span = match elem {
        Elem::Bool => Span { low: 0.0, high: 1.0 },
        _ if channels == 3 && real && low >= 0.0 && high <= 1.0 => Span { low: 0.0, high: 1.0 },
        // Bytes, or what was made of them.
        _ if channels == 3 && (!real || low >= 0.0 && high <= 255.0) => Span { low: 0.0, high: 255.0 },
        _ => found,
    };
    let mut bytes = Vec::new();
    let mut missing = Vec::new();
    let room = bytes.try_reserve_exact(height * width * channels);
    room.map_err(|_| format!("there is no memory for a picture of {name}"))?;
    if nan > 0 {
        missing = vec![false; height * width];
    }
    let mut at = 0;
    each(elem, array, |x| {
        if let Some(missing) = missing.get_mut(at / channels).filter(|_| x.is_nan()) {
            *missing = true;
        }
        bytes.push(span.byte(x));
        at += 1;
    });
    let points_without = missing.iter().filter(|&&is_nan| is_nan).count();
    let mut scale = match (elem, channels) {
        (Elem::Bool, _) => "black false, white true".to_string(),
        (_, 3) => format!("channels {} to {}", short(span.low), short(span.high)),
        _ if low > high => "no finite number".to_string(),
        _ if low == high => format!("all {}", short(low)),
        _ => format!("black {}, white {}", short(low), short(high)),
    };
    scale.push_str(&exceptions(0, infinite));
    scale.push_str(&exceptions(points_without, 0));
    Ok(Picture { height, width, channels, bytes, nan: missing, scale })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repl::value::TypeName;
    use ravel_runtime::array::Element;
    use ravel_types::{Basic, Scalar};

    fn value<T: Element>(basic: Basic, shape: &[i64], elements: &[T]) -> Value {
        Value::Array(basic, Array::from_slice(shape, elements).expect("small"))
    }

    fn picture<T: Element>(basic: Basic, shape: &[i64], elements: &[T]) -> Picture {
        Picture::from_value(&value(basic, shape, elements)).expect("a picture")
    }

    fn refusal(value: &Value) -> String {
        Picture::from_value(value).map(|_| ()).expect_err("no picture")
    }

    /// Size, kind and bytes of a PNG file.
    fn decoded(picture: &Picture) -> (u32, u32, png::ColorType, Vec<u8>) {
        let bytes = picture.png().expect("valid");
        let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().expect("valid");
        let mut points = vec![0; reader.output_buffer_size().expect("small")];
        let frame = reader.next_frame(&mut points).expect("valid");
        points.truncate(frame.buffer_size());
        (frame.height, frame.width, frame.color_type, points)
    }

    #[test]
    fn a_file_has_a_point_per_element() {
        let gray = picture(Basic::Float, &[2, 3], &[0f32, 0.5, 1.0, 0.25, 0.0, 1.0]);
        assert_eq!(gray.caption(), "2 x 3, black 0, white 1");
        assert_eq!(decoded(&gray), (2, 3, png::ColorType::Grayscale, vec![0, 128, 255, 64, 0, 255]));
        let colors = picture(Basic::Ubyte, &[1, 2, 3], &[1u8, 2, 3, 250, 251, 252]);
        assert_eq!(colors.caption(), "1 x 2, channels 0 to 255");
        assert_eq!(decoded(&colors), (1, 2, png::ColorType::Rgb, vec![1, 2, 3, 250, 251, 252]));
        let colors = picture(Basic::Double, &[1, 1, 3], &[0.0, 0.5, 0.2]);
        assert_eq!((colors.caption(), colors.bytes), ("1 x 1, channels 0 to 1".into(), vec![0, 128, 51]));
    }

    #[test]
    fn numbers_outside_of_the_range_have_a_place() {
        let picture = picture(Basic::Double, &[1, 5], &[f64::NAN, 10.0, f64::INFINITY, 20.0, f64::NEG_INFINITY]);
        assert_eq!(picture.caption(), "1 x 5, black 10, white 20, 2 infinite, 1 NaN");
        let (_, _, kind, points) = decoded(&picture);
        assert_eq!(kind, png::ColorType::Rgb);
        assert_eq!(points, [[255, 0, 255], [0; 3], [255; 3], [255; 3], [0; 3]].concat());
    }

    #[test]
    fn equal_and_extreme_numbers_are_shown() {
        let caption = |elements: &[f64]| {
            let picture = picture(Basic::Double, &[1, elements.len() as i64], elements);
            (picture.caption(), picture.bytes)
        };
        assert_eq!(caption(&[3.5, 3.5]), ("1 x 2, all 3.5".to_string(), vec![128, 128]));
        assert_eq!(caption(&[0.0]), ("1 x 1, all 0".to_string(), vec![128]));
        assert_eq!(caption(&[f64::NAN]).0, "1 x 1, no finite number, 1 NaN");
        assert_eq!(caption(&[f64::INFINITY]).0, "1 x 1, no finite number, 1 infinite");
        assert_eq!(caption(&[f64::MIN, 0.0, f64::MAX]).1, [0, 128, 255]);
        let long = picture(Basic::Long, &[1, 2], &[i64::MIN, i64::MAX]);
        assert_eq!(long.bytes, [0, 255]);
    }

    #[test]
    fn user_types_are_looked_through() {
        let ty = |name: &str| TypeName { module: "m".into(), name: name.into() };
        let rep = Box::new(value(Basic::Int, &[1, 1, 3], &[255, 0, 9]));
        let color = Value::Typedef { ty: ty("Color8"), inner: 1, rep: rep.clone() };
        assert_eq!(Picture::from_value(&color).map(|p| p.bytes), Ok(vec![255, 0, 9]));
        assert!(refusal(&Value::Typedef { ty: ty("complex"), inner: 1, rep }).ends_with("this is complex[1,1]"));
        let rep = Box::new(value(Basic::Double, &[1, 2], &[0.0, 1.0]));
        assert!(Picture::from_value(&Value::Typedef { ty: ty("metre"), inner: 0, rep }).is_ok());
        let rep = Box::new(value(Basic::Double, &[2], &[0.0, 1.0]));
        assert!(refusal(&Value::Typedef { ty: ty("metre"), inner: 0, rep }).contains("this is metre[2];"));
    }

    #[test]
    fn what_has_no_picture_says_why() {
        assert!(refusal(&Value::Scalar(Basic::Int, Scalar::I32(1))).ends_with("this is int"));
        assert!(refusal(&value(Basic::Int, &[2], &[1, 2])).ends_with("this is int[2]; `:plot` draws vectors"));
        assert!(refusal(&value(Basic::Int, &[1, 1, 2], &[1, 2])).ends_with("choose a part, as `a[0]`"));
        assert!(refusal(&value(Basic::Int, &[1, 1, 3], &[1, 2, 3])).contains("`toub`"));
        assert!(refusal(&value::<f64>(Basic::Double, &[0, 28], &[])).contains("double[0,28]: an axis is empty"));
        let text = Array::from_slice_as(ravel_runtime::abi::ElemTag::Char, &[1, 2], b"ab").expect("small");
        assert!(refusal(&Value::Array(Basic::Char, text)).ends_with("this is char[1,2]"));
    }
}
