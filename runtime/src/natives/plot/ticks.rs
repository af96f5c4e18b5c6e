//! Ranges of axes, and round numbers in them.

/// Numbers beyond are drawn as these.
const GREATEST: f64 = 1e300;

/// An interval of an axis; `high` is above `low`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Range {
    pub low: f64,
    pub high: f64,
}

impl Range {
    /// The range of some numbers; what is not finite does not count. Without a number 0 to 1.
    pub fn of(numbers: impl Iterator<Item = f64>) -> Option<Range> {
        let mut range: Option<Range> = None;
        for x in numbers.filter(|x| x.is_finite()) {
            let x = x.clamp(-GREATEST, GREATEST);
            range = Some(match range {
                None => Range { low: x, high: x },
                Some(Range { low, high }) => Range { low: low.min(x), high: high.max(x) },
            });
        }
        range
    }

    pub fn with(self, other: Range) -> Range {
        Range { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    pub fn span(self) -> f64 {
        self.high - self.low
    }

    /// Makes room where there is none: a range of one number.
    pub fn opened(self) -> Range {
        let size = self.low.abs().max(self.high.abs());
        if self.span() > size * 1e-12 {
            return self;
        }
        let room = if size == 0.0 { 1.0 } else { size * 0.05 };
        Range { low: self.low - room, high: self.high + room }
    }

    /// With a part of the span on both sides.
    pub fn padded(self, part: f64) -> Range {
        let room = self.span() * part;
        Range { low: self.low - room, high: self.high + room }
    }

    /// Where a number is, from 0 to 1.
    pub fn place(self, x: f64) -> f64 {
        (x.clamp(-GREATEST, GREATEST) - self.low) / self.span()
    }
}

/// Marks at round numbers, about as many as wanted, with their texts; `least` is the least distance of marks.
pub(super) fn ticks(range: Range, wanted: f64, least: f64) -> Vec<(f64, String)> {
    let rough = (range.span() / wanted.max(1.0)).max(least);
    let power = 10f64.powf(rough.log10().floor());
    if !power.is_finite() || power <= 0.0 {
        return Vec::new();
    }
    let off = |step: &f64| (step / rough).ln().abs();
    let steps = [1.0, 2.0, 5.0, 10.0].map(|m| m * power);
    let step = steps.into_iter().min_by(|a, b| off(a).total_cmp(&off(b))).unwrap_or(power);
    let (first, last) = ((range.low / step - 1e-9).ceil(), (range.high / step + 1e-9).floor());
    if last - first > 100.0 || last < first {
        return Vec::new();
    }
    let values: Vec<f64> = (0..=(last - first) as usize).map(|k| (first + k as f64) * step).collect();
    let greatest = values.iter().fold(0f64, |most, x| most.max(x.abs()));
    let texts = |x: f64| label(if x.abs() < step * 1e-6 { 0.0 } else { x }, step, greatest);
    values.iter().map(|&x| (x, texts(x))).collect()
}

/// A number as people write it, with as many digits as the distance between marks asks for.
fn label(x: f64, step: f64, greatest: f64) -> String {
    let text = if x == 0.0 {
        "0".to_string()
    } else if !(1e-3..1e6).contains(&greatest) {
        let exponent = x.abs().log10().floor();
        let digits = (exponent - step.log10().floor()).clamp(0.0, 12.0) as usize;
        let text = format!("{x:.digits$e}");
        match text.split_once('e') {
            Some((mantissa, exponent)) => format!("{}e{exponent}", trimmed(mantissa)),
            None => text,
        }
    } else {
        let digits = (-step.log10() - 1e-9).ceil().clamp(0.0, 12.0) as usize;
        format!("{x:.digits$}")
    };
    text.replace('-', "\u{2212}")
}

fn trimmed(mantissa: &str) -> &str {
    if mantissa.contains('.') { mantissa.trim_end_matches('0').trim_end_matches('.') } else { mantissa }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(low: f64, high: f64) -> Vec<String> {
        ticks(Range { low, high }, 5.0, 0.0).into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn marks_are_round() {
        assert_eq!(texts(0.0, 1.0), ["0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(texts(-7.0, 9.0), ["\u{2212}5", "0", "5"]);
        assert_eq!(texts(0.0, 5e7), ["0", "1e7", "2e7", "3e7", "4e7", "5e7"]);
        assert_eq!(texts(1.0, 1.004), ["1.000", "1.001", "1.002", "1.003", "1.004"]);
        assert!(texts(f64::MIN_POSITIVE, f64::MIN_POSITIVE).len() <= 1);
    }

    #[test]
    fn ranges_leave_out_what_is_not_finite() {
        let range = Range::of([f64::NAN, 2.0, f64::INFINITY, -1.0].into_iter());
        assert_eq!(range, Some(Range { low: -1.0, high: 2.0 }));
        assert_eq!(Range::of([f64::NAN].into_iter()), None);
        assert!(Range { low: 3.0, high: 3.0 }.opened().span() > 0.0);
    }
}
