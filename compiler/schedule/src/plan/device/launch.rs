//! What a launch costs, as far as it is known before the run, and what it can count on.

use ravel_wir::{Fault, Generator, Op, Part, Region, Value, With};

use crate::facts::{Facts, Guard, Refusal};

/// Estimated cycles below which no launch pays, wherever the arrays are.
const LEAST_WORK: f64 = 500.0;
/// The work of with-loops that may be launched.
#[derive(Clone)]
pub(crate) struct Launch {
    /// Estimated cycles of the partitions whose extents are known.
    pub known: f64,
    /// The other ones, by number, and estimated cycles of an index.
    pub unknown: Vec<(usize, f64)>,
    /// Cycles that make a launch worth while.
    pub least: f64,
}

impl Launch {
    /// The estimate in words.
    pub fn describe(&self) -> String {
        match &self.unknown[..] {
            [] => format!("about {} cycles of work in all", rounded(self.known)),
            unknown => {
                let most = unknown.iter().fold(0.0, |most, (_, work)| work.max(most));
                format!("about {} cycles of work per index", rounded(most))
            }
        }
    }
}

/// An estimate in two digits.
fn rounded(work: f64) -> String {
    let mut unit = 1.0;
    while work / unit >= 100.0 {
        unit *= 10.0;
    }
    format!("{}", (work / unit).round() * unit)
}

impl Facts<'_> {
    /// The launch of with-loops all or none of which are to run on the device.
    pub fn plan_launch(&self, withs: &[&With]) -> Result<Launch, Refusal> {
        let least = self.options.device.ok_or(Refusal::OtherKind)?.launch_work;
        let mut launch = Launch { known: 0.0, unknown: Vec::new(), least };
        // What a loop carries, or the device has just made, may be there and nowhere else: fetching it would take longer than a launch.
        let mut there = false;
        for (n, part) in withs.iter().flat_map(|with| &with.parts).enumerate() {
            let work = self.work(part.body).max(1.0);
            match self.const_count(part) {
                Some(cells) => launch.known += cells as f64 * work,
                None => launch.unknown.push((n, work)),
            }
            let references = &self.references;
            there |= self
                .captured_arrays(part.body)
                .iter()
                .any(|v| references.carried.contains(v) || references.on_device.contains(v));
        }
        match launch.unknown.is_empty() && launch.known < least.min(LEAST_WORK) && !there {
            true => Err(Refusal::LittleForLaunch(launch.describe())),
            false => Ok(launch),
        }
    }

    /// May the indices of a partition be a grid?
    pub fn check_grid(&self, part: &Part) -> Result<(), Refusal> {
        match &part.generator {
            Generator::Known { lower, .. } if lower.is_empty() => Err(Refusal::SingleCell),
            Generator::Known { width: None, .. } => Ok(()),
            _ => Err(Refusal::WidthsOrRank),
        }
    }

    /// Comparisons that imply all checks in the bodies of a with-loop; nothing if some check cannot be made before a launch.
    pub fn device_guards(&self, with: &With) -> Option<Vec<Guard>> {
        let mut guards = Vec::new();
        with.parts.iter().all(|part| self.guards_in(part.body, true, &mut guards)).then_some(guards)
    }

    /// Checks under a condition or in a loop are not made for all indices, so that only proven ones will do there.
    fn guards_in(&self, region: Region, always: bool, guards: &mut Vec<Guard>) -> bool {
        self.func.regions[region].insts.iter().all(|inst| match &self.func.insts[*inst].op {
            Op::Check { fault, .. } if self.options.unchecked && !matches!(fault, Fault::Division) => true,
            Op::Check { cond, .. } => self.proven(*cond, 8) || always && self.guards_of(*cond, guards, 8),
            Op::With(inner) => inner.parts.iter().all(|part| self.guards_in(part.body, always, guards)),
            op => op.regions().into_iter().all(|nested| self.guards_in(nested, false, guards)),
        })
    }

    /// The arrays that a body reads and that exist outside of it.
    pub fn captured_arrays(&self, body: Region) -> Vec<Value> {
        let array = |v: &Value| {
            let ty = self.func.ty(*v);
            !ty.is_scalar() && ty.rank().is_some() && self.has_val(*v)
        };
        self.live.free(body).iter().copied().filter(array).collect()
    }
}
