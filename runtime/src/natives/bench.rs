//! Benchmarking: named intervals and their report.

use std::cell::Cell;
use std::time::Duration;

use super::clock::now;
use super::format::{self, FormatArg};
use super::{Handle, Object, Str, Text, natives, streams};
use crate::abi::ObjectKind;
use crate::array::Array;
use crate::fault::Fault;
use crate::stream::{self, Standard};

/// Names of the units, and how many of each make a second.
const UNITS: [(&str, f64); 4] = [("s", 1.0), ("ms", 1e3), ("us", 1e6), ("ns", 1e9)];

/// A named interval between two points in time.
struct Interval {
    name: Vec<u8>,
    number: i32,
    unit: usize,
    start: Cell<Duration>,
    end: Cell<Duration>,
}

impl Interval {
    fn value(&self) -> f64 {
        self.end.get().saturating_sub(self.start.get()).as_secs_f64() * UNITS[self.unit].1
    }
}

fn interval<'a>(object: Object<'a>) -> Result<&'a Interval, Fault> {
    match object.0.opaque::<Interval>() {
        // SAFETY: the value lives as long as the object, and its cells are used by one native at a time.
        Some(interval) => Ok(unsafe { interval.as_ref() }),
        None => Err(Fault::new("a native expects an interval")),
    }
}

/// The report: the values as a Fibre vector, then descriptions of them.
fn report(intervals: &[&Interval]) -> Result<Vec<u8>, Fault> {
    let bound = format!("[ 0,{}:\n", intervals.len().saturating_sub(1));
    let mut out = b"### begin intervals\n".to_vec();
    out.extend_from_slice(bound.as_bytes());
    for interval in intervals {
        out.extend_from_slice(&format::format(b"    %f\n", &[FormatArg::Real(interval.value())])?);
    }
    out.extend_from_slice(b"]\n### begin intervals\n### begin descriptions\n");
    out.extend_from_slice(bound.as_bytes());
    for interval in intervals {
        let name = String::from_utf8_lossy(&interval.name);
        out.extend_from_slice(format!(" \"{} {name} {}\"\n", interval.number, UNITS[interval.unit].0).as_bytes());
    }
    out.extend_from_slice(b"]\n### end descriptions\n");
    Ok(out)
}

fn print(objects: &[Object<'_>]) -> Result<(), Fault> {
    let intervals = objects.iter().map(|object| interval(*object)).collect::<Result<Vec<_>, _>>()?;
    let text = report(&intervals)?;
    streams::checked(stream::standard(Standard::Out).put(&text))
}

natives! { BENCH;
    /// An interval with a name and a number; `unit` 0 s, 1 ms, 2 us, 3 ns.
    same fn ravel_bench_interval(name: Text<'_>, number: i32, unit: i32) -> (i: Handle) {
        let unit = usize::try_from(unit).ok().filter(|&unit| unit < UNITS.len());
        let unit = unit.ok_or_else(|| Fault::new("the unit of an interval is 0 (s), 1 (ms), 2 (us) or 3 (ns)"))?;
        let interval = Interval {
            name: name.0.to_vec(),
            number,
            unit,
            start: Cell::new(Duration::ZERO),
            end: Cell::new(Duration::ZERO),
        };
        Array::opaque(ObjectKind::Other, interval).map(Handle)
    }

    /// Starts an interval.
    write fn ravel_bench_start(i: Object<'_>) -> () {
        interval(i)?.start.set(now());
        Ok(())
    }

    /// Ends an interval.
    write fn ravel_bench_end(i: Object<'_>) -> () {
        let end = now();
        interval(i)?.end.set(end);
        Ok(())
    }

    /// The time between start and end in the interval's unit.
    root fn ravel_bench_value(i: Object<'_>) -> (time: f64) {
        Ok(interval(i)?.value())
    }

    /// The name of the interval's unit.
    same fn ravel_bench_unit(i: Object<'_>) -> (unit: Str) {
        Str::new(UNITS[interval(i)?.unit].0.as_bytes())
    }

    /// Prints a report of one interval.
    write fn ravel_bench_print1(a: Object<'_>) -> () {
        print(&[a])
    }

    /// Prints a report of 2 intervals.
    write fn ravel_bench_print2(a: Object<'_>, b: Object<'_>) -> () {
        print(&[a, b])
    }

    /// Prints a report of 3 intervals.
    write fn ravel_bench_print3(a: Object<'_>, b: Object<'_>, c: Object<'_>) -> () {
        print(&[a, b, c])
    }

    /// Prints a report of 4 intervals.
    write fn ravel_bench_print4(a: Object<'_>, b: Object<'_>, c: Object<'_>, d: Object<'_>) -> () {
        print(&[a, b, c, d])
    }

    /// Prints a report of 5 intervals.
    write fn ravel_bench_print5(a: Object<'_>, b: Object<'_>, c: Object<'_>, d: Object<'_>, e: Object<'_>) -> () {
        print(&[a, b, c, d, e])
    }

    /// Prints a report of 6 intervals.
    write fn ravel_bench_print6(
        a: Object<'_>, b: Object<'_>, c: Object<'_>, d: Object<'_>, e: Object<'_>, f: Object<'_>
    ) -> () {
        print(&[a, b, c, d, e, f])
    }

    /// Prints a report of 7 intervals.
    write fn ravel_bench_print7(
        a: Object<'_>, b: Object<'_>, c: Object<'_>, d: Object<'_>, e: Object<'_>, f: Object<'_>, g: Object<'_>
    ) -> () {
        print(&[a, b, c, d, e, f, g])
    }
}
