//! What a call whose condition certainly fails could be written as: a number that stands in it, brought within the values that the condition
//! compares it with. Each text is tried on the head of the function before it is shown.
//!
//! ```text
//! take([4], a)      condition `all(abs(v) <= outer)`: v is [4], outer is [3]
//! take([3], a)      fits
//! ```

use super::Known;
use crate::spec::{Frame, Spec};
use crate::value::{Sc, Val};
use ravel_core::ir::Fun;
use ravel_diagnostics::Diagnostic;
use ravel_source::Span;
use ravel_types::Basic;

/// Texts that are tried for one call.
const MOST_TRIALS: usize = 16;

impl Spec<'_> {
    /// Adds a call that fits, if a literal of this one can be changed so. `known` are the values in the condition, `condition` is its text.
    pub(super) fn with_remedy(
        &mut self,
        diagnostic: Diagnostic,
        frame: &Frame,
        fun: &Fun,
        (condition, known): (&str, &[Known]),
    ) -> Diagnostic {
        // Of divisors and of what must differ there is no nearest one.
        if !condition.contains(['<', '>', '=']) || condition.contains('%') || condition.contains("!=") {
            return diagnostic;
        }
        match self.remedy(frame, fun, known) {
            Some((place, new, whole)) => diagnostic.with_edit(format!("`{whole}` meets the condition"), place, new),
            None => diagnostic,
        }
    }

    /// Where to put which text, and the call with it.
    fn remedy(&mut self, frame: &Frame, fun: &Fun, known: &[Known]) -> Option<(Span, String, String)> {
        let (call, noted) = self.user_call().map(|(site, noted)| (site.span, noted.clone()))?;
        let whole = self.quotable(call)?.to_string();
        let mut trials = 0;
        for (k, param) in fun.params.iter().enumerate() {
            let place = noted.get(k)?.span;
            let inside = call.file == place.file && call.start <= place.start && place.end <= call.end;
            let Some(value) = frame.env[param.local.index()].clone().filter(|_| inside) else { continue };
            let Some((numbers, is_scalar)) = integers(&value) else { continue };
            let text: String = self.options.map.snippet(place).split_whitespace().collect();
            if text != written(&numbers, is_scalar) {
                continue;
            }
            for bound in known.iter().filter(|bound| bound.param != Some(k)) {
                for tried in near(&numbers, &bound.numbers) {
                    trials += 1;
                    if trials > MOST_TRIALS {
                        return None;
                    }
                    if self.meets(frame, fun, k, &with_numbers(&value, &tried)) {
                        let new = written(&tried, is_scalar);
                        let (from, upto) = ((place.start - call.start) as usize, (place.end - call.start) as usize);
                        let text = format!("{}{new}{}", whole.get(..from)?, whole.get(upto..)?);
                        return Some((place, new, text));
                    }
                }
            }
        }
        None
    }

    /// Whether the head of the function takes its arguments with another value of one of them. What the trial emits belongs to a call that was
    /// refused.
    fn meets(&mut self, frame: &Frame, fun: &Fun, changed: usize, value: &Val) -> bool {
        let mut args: Vec<Val> = Vec::new();
        for param in &fun.params {
            let Some(arg) = frame.env[param.local.index()].clone() else { return false };
            args.push(arg);
        }
        args[changed] = value.clone();
        self.would_fit(frame, &args, true)
    }
}

/// The numbers of a scalar or vector of which all are known, and whether it is a scalar.
pub(super) fn integers(value: &Val) -> Option<(Vec<i64>, bool)> {
    let (parts, is_scalar) = match value {
        Val::Sc(Basic::Int, part) => (std::slice::from_ref(part), true),
        Val::Tup(Basic::Int, parts) => (&parts[..], false),
        _ => return None,
    };
    let numbers: Option<Vec<i64>> = parts.iter().map(|part| part.as_int().map(i64::from)).collect();
    Some((numbers?, is_scalar))
}

fn with_numbers(value: &Val, numbers: &[i64]) -> Val {
    let parts: Vec<Sc> = numbers.iter().map(|n| Sc::int(*n as i32)).collect();
    match (value, parts.first()) {
        (Val::Sc(basic, _), Some(part)) => Val::Sc(*basic, part.clone()),
        _ => Val::Tup(Basic::Int, parts),
    }
}

fn written(numbers: &[i64], is_scalar: bool) -> String {
    let numbers: Vec<String> = numbers.iter().map(i64::to_string).collect();
    if is_scalar { numbers.concat() } else { format!("[{}]", numbers.join(",")) }
}

/// Numbers near to those that do not fit, the nearest first: at most as far from 0 as the bound, below it, at least the bound.
fn near(numbers: &[i64], bound: &[i64]) -> Vec<Vec<i64>> {
    let limit = |k: usize| match bound {
        [one] => Some(*one),
        several => several.get(k).copied(),
    };
    let by = |f: &dyn Fn(i64, i64) -> i64| {
        let each = numbers.iter().enumerate().map(|(k, n)| {
            let new = f(*n, limit(k)?);
            i32::try_from(new).ok().map(i64::from)
        });
        each.collect::<Option<Vec<i64>>>()
    };
    let tried = [
        by(&|n, b| n.signum() * n.abs().min(b.abs())),
        by(&|n, b| n.min(b)),
        by(&|n, b| n.min(b - 1)),
        by(&|n, b| n.max(b)),
        by(&|n, b| n.max(b + 1)),
    ];
    let mut all: Vec<Vec<i64>> = Vec::new();
    for new in tried.into_iter().flatten() {
        if new != numbers && !all.contains(&new) {
            all.push(new);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::near;

    #[test]
    fn the_nearest_numbers_come_first() {
        assert_eq!(near(&[4], &[3]), [vec![3], vec![2]]);
        assert_eq!(near(&[-4, 2], &[3, 5])[0], [-3, 2]);
        assert_eq!(near(&[1], &[3]), [vec![3], vec![4]]);
        assert_eq!(near(&[1, 2], &[]), Vec::<Vec<i64>>::new());
        assert_eq!(near(&[1], &[i64::from(i32::MAX)]), [vec![i64::from(i32::MAX)]]);
    }
}
