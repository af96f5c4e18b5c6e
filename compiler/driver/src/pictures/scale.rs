//! Sizes of pictures.

use super::picture::Picture;

/// The picture, made smaller until it is not higher and not wider than this; sides keep their ratio as far as points allow.
pub(super) fn fitted(picture: &Picture, height: usize, width: usize) -> Picture {
    let factor = |extent: usize, most: usize| extent as f64 / most.max(1) as f64;
    let factor = factor(picture.height, height).max(factor(picture.width, width)).max(1.0);
    let side = |extent: usize| ((extent as f64 / factor).round() as usize).max(1);
    averaged(picture, side(picture.height), side(picture.width))
}

/// Sums of what falls into the points of a row.
struct Sums {
    channels: usize,
    values: Vec<f64>,
    /// For every point the area of numbers, and of what is none.
    areas: Vec<(f64, f64)>,
}

impl Sums {
    fn new(width: usize, channels: usize) -> Sums {
        Sums { channels, values: vec![0.0; width * channels], areas: vec![(0.0, 0.0); width] }
    }

    fn add(&mut self, to: usize, picture: &Picture, from: usize, area: f64) {
        if picture.is_nan(from) {
            self.areas[to].1 += area;
            return;
        }
        self.areas[to].0 += area;
        for channel in 0..self.channels {
            self.values[to * self.channels + channel] +=
                area * f64::from(picture.bytes[from * self.channels + channel]);
        }
    }

    fn add_row(&mut self, row: &Sums, weight: f64) {
        self.values.iter_mut().zip(&row.values).for_each(|(sum, value)| *sum += weight * value);
        for (sum, area) in self.areas.iter_mut().zip(&row.areas) {
            *sum = (sum.0 + weight * area.0, sum.1 + weight * area.1);
        }
    }
}

/// Where points of an axis go if `from` of them become `to`, which are not more: the first, its share, and that of the next one.
fn shares(from: usize, to: usize) -> impl Fn(usize) -> (usize, f64, f64) {
    let ratio = to as f64 / from as f64;
    move |at| {
        let (start, end) = (at as f64 * ratio, (at + 1) as f64 * ratio);
        let first = (start as usize).min(to - 1);
        let border = (first + 1) as f64;
        // What sticks out by rounding is nothing.
        if end <= border + 1e-9 || first + 1 == to {
            (first, end - start, 0.0)
        } else {
            (first, (border - start).max(0.0), end - border)
        }
    }
}

/// Every point becomes the mean of the area that it covers; it is not a number where at least half of its area is not. Sides do not grow.
pub(super) fn averaged(picture: &Picture, height: usize, width: usize) -> Picture {
    let (height, width) = (height.min(picture.height), width.min(picture.width));
    if (height, width) == (picture.height, picture.width) {
        return picture.clone();
    }
    let channels = picture.channels;
    let (across, down) = (shares(picture.width, width), shares(picture.height, height));
    let mut rows: Vec<Sums> = (0..height).map(|_| Sums::new(width, channels)).collect();
    for y in 0..picture.height {
        let mut row = Sums::new(width, channels);
        for x in 0..picture.width {
            let (first, share, rest) = across(x);
            let from = y * picture.width + x;
            row.add(first, picture, from, share);
            if rest > 0.0 {
                row.add(first + 1, picture, from, rest);
            }
        }
        let (first, share, rest) = down(y);
        rows[first].add_row(&row, share);
        if rest > 0.0 {
            rows[first + 1].add_row(&row, rest);
        }
    }
    let mut bytes = Vec::with_capacity(height * width * channels);
    let mut nan = Vec::new();
    for row in &rows {
        for (at, &(area, without)) in row.areas.iter().enumerate() {
            if !picture.nan.is_empty() {
                nan.push(without >= area);
            }
            let values = &row.values[at * channels..(at + 1) * channels];
            bytes.extend(values.iter().map(|value| if area > 0.0 { (value / area).round() as u8 } else { 0 }));
        }
    }
    picture.resized(height, width, bytes, nan)
}

/// The picture with points of a whole number of points each, as large as this allows.
pub(super) fn enlarged(picture: Picture, height: usize, width: usize) -> Picture {
    let times = (height / picture.height).min(width / picture.width);
    if times <= 1 {
        return picture;
    }
    let origin =
        |at: usize| at / (picture.width * times) / times * picture.width + at % (picture.width * times) / times;
    let count = picture.height * picture.width * times * times;
    let channels = picture.channels;
    let bytes = (0..count).flat_map(|at| picture.bytes[origin(at) * channels..].iter().take(channels).copied());
    let nan = if picture.nan.is_empty() { 0..0 } else { 0..count };
    let (bytes, nan) = (bytes.collect(), nan.map(|at| picture.nan[origin(at)]).collect());
    picture.resized(picture.height * times, picture.width * times, bytes, nan)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repl::value::Value;
    use ravel_runtime::array::Array;
    use ravel_types::Basic;

    /// Gray points that are their own values: 0 and 255 are among them.
    fn gray(height: usize, width: usize, bytes: &[u8]) -> Picture {
        let array = Array::from_slice(&[height as i64, width as i64], bytes).expect("small");
        Picture::from_value(&Value::Array(Basic::Ubyte, array)).expect("a picture")
    }

    #[test]
    fn points_become_the_mean_of_their_area() {
        let picture = gray(2, 4, &[0, 100, 255, 255, 200, 100, 0, 0]);
        assert_eq!(averaged(&picture, 1, 2).bytes, [100, 128]);
        assert_eq!(averaged(&picture, 2, 2).bytes, [50, 255, 150, 0]);
        // Three points in two: the one in the middle belongs to both.
        let picture = gray(1, 3, &[0, 255, 30]);
        assert_eq!(averaged(&picture, 1, 2).bytes, [85, 105]);
        // Nothing grows, and nothing is lost where it need not shrink.
        assert_eq!(averaged(&picture, 7, 7).bytes, picture.bytes);
    }

    #[test]
    fn the_mean_of_all_stays() {
        let bytes: Vec<u8> = (0..97 * 61).map(|k| if k == 0 { 255 } else { (k * 31 % 255) as u8 }).collect();
        let mean = |bytes: &[u8]| bytes.iter().map(|&b| f64::from(b)).sum::<f64>() / bytes.len() as f64;
        for (height, width) in [(97, 1), (1, 61), (13, 17), (96, 60), (1, 1)] {
            let small = averaged(&gray(97, 61, &bytes), height, width);
            assert_eq!(small.bytes.len(), height * width);
            assert!((mean(&small.bytes) - mean(&bytes)).abs() < 0.5, "{height} x {width}");
        }
    }

    #[test]
    fn sides_keep_their_ratio() {
        let picture = gray(40, 100, &[0; 4000]);
        let size = |height, width| {
            let fitted = fitted(&picture, height, width);
            (fitted.height, fitted.width)
        };
        assert_eq!(size(1000, 50), (20, 50));
        assert_eq!(size(10, 1000), (10, 25));
        assert_eq!(size(1000, 1000), (40, 100));
        assert_eq!((size(1, 1), size(0, 0)), ((1, 1), (1, 1)));
    }

    #[test]
    fn what_is_no_number_stays_where_it_fills_half() {
        let bytes = vec![0, 9, 255, 0, 0, 5];
        let picture = gray(1, 6, &bytes).resized(1, 6, bytes, vec![true, false, false, true, true, false]);
        let small = averaged(&picture, 1, 3);
        assert_eq!((small.nan.as_slice(), small.bytes[1]), (&[true, true, true][..], 255));
        let small = averaged(&picture, 1, 2);
        assert_eq!((small.nan, small.bytes), (vec![false, true], vec![132, 5]));
    }

    #[test]
    fn points_are_repeated() {
        let large = enlarged(gray(1, 2, &[0, 255]), 3, 5);
        assert_eq!((large.height, large.width, large.bytes), (2, 4, vec![0, 0, 255, 255, 0, 0, 255, 255]));
        assert_eq!(enlarged(gray(1, 2, &[0, 255]), 0, 0).bytes, [0, 255]);
    }
}
