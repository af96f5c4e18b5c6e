//! What samples of times say: the median, how sure it is, and whether another one differs.

use crate::testing::Random;

/// How often samples are drawn anew for an interval.
const RESAMPLES: usize = 2000;

/// Changes below this part are not told from others: where a process has its code and its data in memory makes runs of the same benchmark differ by up
/// to 4 %, which the samples of one run do not show.
pub const LEAST_CHANGE: f64 = 0.05;

/// The middle of samples and the interval that holds the true one with 95 % probability.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    pub median: f64,
    pub low: f64,
    pub high: f64,
}

/// How a time relates to an earlier one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Change {
    /// Nothing that could not be chance.
    None,
    /// By this part of the earlier time.
    Slower(f64),
    Faster(f64),
}

impl Estimate {
    /// By the bootstrap: medians of samples that are drawn from the samples. Nothing without samples.
    pub fn of(samples: &[f64]) -> Option<Estimate> {
        let median = median(&mut samples.to_vec())?;
        // The same samples have the same interval.
        let mut random = Random::new(samples.len() as u64);
        let mut medians: Vec<f64> = (0..RESAMPLES)
            .filter_map(|_| {
                let mut drawn: Vec<f64> = samples.iter().map(|_| random.choose(samples)).collect();
                self::median(&mut drawn)
            })
            .collect();
        medians.sort_by(f64::total_cmp);
        let at = |part: f64| medians[((medians.len() - 1) as f64 * part).round() as usize];
        Some(Estimate { median, low: at(0.025), high: at(0.975) })
    }

    /// The change from an earlier estimate: it counts if the intervals are disjoint, and if it is more than [`LEAST_CHANGE`].
    pub fn since(&self, earlier: &Estimate) -> Change {
        let part = self.median / earlier.median - 1.0;
        let is_disjoint = self.low > earlier.high || self.high < earlier.low;
        match is_disjoint && part.abs() > LEAST_CHANGE {
            false => Change::None,
            true if part > 0.0 => Change::Slower(part),
            true => Change::Faster(-part),
        }
    }
}

fn median(samples: &mut [f64]) -> Option<f64> {
    samples.sort_by(f64::total_cmp);
    let middle = samples.len() / 2;
    let upper = *samples.get(middle)?;
    Some(if samples.len() % 2 == 1 { upper } else { (samples[middle - 1] + upper) / 2.0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_lies_in_its_interval() {
        assert_eq!(Estimate::of(&[]), None);
        assert_eq!(Estimate::of(&[2.0]), Some(Estimate { median: 2.0, low: 2.0, high: 2.0 }));
        let all: Vec<f64> = (1..=31).map(f64::from).collect();
        let estimate = Estimate::of(&all).expect("there are samples");
        assert_eq!(estimate.median, 16.0);
        assert!(estimate.low > 8.0 && estimate.low < 16.0 && estimate.high > 16.0 && estimate.high < 24.0);
    }

    /// Twelve runs of one benchmark, a product of matrices of 64 rows on one core, in nanoseconds.
    const RECORDED: &str = include_str!("recorded.txt");

    #[test]
    fn a_tenth_is_told_from_noise() {
        let runs: Vec<Vec<f64>> = RECORDED
            .lines()
            .map(|line| line.split(' ').map(|sample| sample.parse().expect("a number")).collect())
            .collect();
        assert!(runs.len() == 12 && runs.iter().all(|run| run.len() == 30));
        let estimate = |run: &[f64], factor: f64| {
            let samples: Vec<f64> = run.iter().map(|sample| sample * factor).collect();
            Estimate::of(&samples).expect("there are samples")
        };
        for earlier in &runs {
            let before = estimate(earlier, 1.0);
            for later in &runs {
                assert_eq!(estimate(later, 1.0).since(&before), Change::None);
                let slower = estimate(later, 1.1).since(&before);
                assert!(matches!(slower, Change::Slower(part) if (0.08..0.12).contains(&part)), "{slower:?}");
                let faster = estimate(later, 0.9).since(&before);
                assert!(matches!(faster, Change::Faster(part) if (0.08..0.12).contains(&part)), "{faster:?}");
            }
        }
    }

    #[test]
    fn small_changes_and_wide_intervals_do_not_count() {
        let at = |median: f64, spread: f64| Estimate { median, low: median - spread, high: median + spread };
        assert_eq!(at(1.02, 0.001).since(&at(1.0, 0.001)), Change::None);
        assert_eq!(at(1.2, 0.15).since(&at(1.0, 0.1)), Change::None);
        assert!(matches!(at(1.1, 0.01).since(&at(1.0, 0.01)), Change::Slower(part) if (part - 0.1).abs() < 1e-9));
        assert!(matches!(at(0.9, 0.01).since(&at(1.0, 0.01)), Change::Faster(part) if (part - 0.1).abs() < 1e-9));
    }
}
