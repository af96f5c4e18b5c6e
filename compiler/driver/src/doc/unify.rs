//! Whether a function fits a shape that somebody looks for, `float[n,n] -> float`.
//!
//! What stands in the query is given: its names are extents that nobody knows. Patterns of a function bind their names to them. What a
//! function asks for beyond the query, or does not say about its result, costs; what contradicts it is no match. `search.js` does the same.

use super::signature::{Axis, Pattern, Signature};
use std::collections::BTreeMap;

/// A shape that is looked for.
#[derive(Clone, Debug)]
pub struct Query {
    params: Vec<Pattern>,
    results: Vec<Pattern>,
    given: Vec<Vec<Atom>>,
    /// Names of the arguments' extents, and what they stand for.
    names: BTreeMap<String, Vec<Atom>>,
}

/// An extent of an argument, or several.
#[derive(Clone, Debug, PartialEq)]
enum Atom {
    Extent(i64),
    /// Some extent, always the same for the same name.
    Given(String),
    /// Several, at least so many.
    Several(String, usize),
    /// Of a result: nothing is known.
    Any,
    AnySeveral,
}

type Bindings = BTreeMap<String, Vec<Atom>>;
/// What it costs, and what the names are then.
type Fit = Option<(u32, Bindings)>;

/// An element type of a family where one type is asked for.
const FAMILY: u32 = 1;
/// Any number of axes where the number is known.
const ANY_RANK: u32 = 1;
/// Nothing is known of an extent of the result.
const UNKNOWN: u32 = 2;
/// Nothing is known of the rank of the result.
const UNKNOWN_RANK: u32 = 3;
/// Arguments in another order.
const ORDER: u32 = 3;
/// The function asks for more than the query says: two equal extents, or one of a certain length.
const NARROWER: u32 = 4;
/// It asks for a rank where the query has none.
const RANK: u32 = 5;
/// It wants one more argument.
const MORE: u32 = 6;
/// Orders of more arguments than these are not tried.
const MOST_PARAMS: usize = 6;

impl Query {
    /// Reads `float[n,n], float[n] -> float[n]`; `None` if it is no such thing.
    pub fn parse(text: &str) -> Option<Query> {
        let (params, results) = text.split_once("->").or_else(|| text.split_once('→'))?;
        let (params, results) = (patterns(params)?, patterns(results)?);
        if params.is_empty() && results.is_empty() {
            return None;
        }
        let mut names = BTreeMap::new();
        let mut fresh = 0;
        let given = params.iter().map(|pattern| given(pattern, &mut names, &mut fresh)).collect();
        Some(Query { params, results, given, names })
    }

    /// What a function costs that fits, 0 if it is what was asked for; `members` are the element types of its families.
    pub fn cost(&self, signature: &Signature, members: &dyn Fn(&str) -> Option<Vec<String>>) -> Option<u32> {
        let (asked, has) = (self.params.len(), signature.params.len());
        if has < asked || has > asked + 1 || has > MOST_PARAMS || signature.results.len() != self.results.len() {
            return None;
        }
        let mut best = None;
        let mut order = Vec::new();
        self.arguments(signature, members, &mut order, 0, &(BTreeMap::new(), BTreeMap::new()), &mut best);
        best
    }

    /// Gives each argument of the query to a parameter, in all orders.
    fn arguments(
        &self,
        signature: &Signature,
        members: &dyn Fn(&str) -> Option<Vec<String>>,
        order: &mut Vec<usize>,
        cost: u32,
        (bases, names): &(BTreeMap<String, String>, Bindings),
        best: &mut Option<u32>,
    ) {
        if best.is_some_and(|best| best <= cost) {
            return;
        }
        let k = order.len();
        if k == self.params.len() {
            let more = if signature.params.len() > k { MORE } else { 0 };
            let moved = if order.windows(2).all(|two| two[0] < two[1]) { 0 } else { ORDER };
            let Some(results) = self.results(signature, members, bases, names) else { return };
            let all = cost + more + moved + results;
            if best.is_none_or(|best| all < best) {
                *best = Some(all);
            }
            return;
        }
        for at in 0..signature.params.len() {
            if order.contains(&at) {
                continue;
            }
            let wanted = &signature.params[at].1;
            let mut bases = bases.clone();
            let Some(base) = fits_base(&self.params[k].base, &wanted.base, members, &mut bases) else { continue };
            let Some((axes, names)) = fits(&wanted.axes, &self.given[k], names) else { continue };
            order.push(at);
            self.arguments(signature, members, order, cost + base + axes, &(bases, names), best);
            order.pop();
        }
    }

    fn results(
        &self,
        signature: &Signature,
        members: &dyn Fn(&str) -> Option<Vec<String>>,
        bases: &BTreeMap<String, String>,
        names: &Bindings,
    ) -> Option<u32> {
        let mut cost = 0;
        let (mut bases, mut fresh) = (bases.clone(), BTreeMap::new());
        for (wanted, found) in self.results.iter().zip(&signature.results) {
            cost += fits_base(&wanted.base, &found.base, members, &mut bases)?;
            cost += self.compare(&wanted.axes, &with_names(&found.axes, names), &mut fresh)?;
        }
        Some(cost)
    }

    /// Whether what a function gives is what the query wants.
    fn compare(&self, wanted: &[Axis], found: &[Atom], fresh: &mut Bindings) -> Option<u32> {
        let is_several = |atom: &Atom| matches!(atom, Atom::Several(..) | Atom::AnySeveral);
        let Some((first, rest)) = wanted.split_first() else {
            return match found {
                [] => Some(0),
                _ => found.iter().all(is_several).then_some(UNKNOWN_RANK),
            };
        };
        if let Axis::Many { least, exactly, name, .. } = first {
            if let Some(given) = self.names.get(name) {
                let same = (0..=found.len()).find(|n| found[..*n] == given[..]);
                let unknown = found.iter().any(|atom| matches!(atom, Atom::Any | Atom::AnySeveral));
                return match same {
                    Some(n) => self.compare(rest, &found[n..], fresh),
                    None => unknown.then_some(UNKNOWN_RANK),
                };
            }
            let tries = (0..=found.len()).filter(|n| {
                let some = &found[..*n];
                let open = some.iter().any(is_several);
                exactly.map_or(open || *n >= *least, |exactly| !open && *n == exactly)
            });
            return tries.filter_map(|n| self.compare(rest, &found[n..], &mut fresh.clone())).min();
        }
        let (atom, behind) = found.split_first()?;
        if is_several(atom) {
            return Some(UNKNOWN_RANK);
        }
        let cost = match (first, atom) {
            (Axis::Extent(a), Atom::Extent(b)) => (a == b).then_some(0),
            (Axis::One(name), _) if name.is_empty() => Some(0),
            (_, Atom::Any) => Some(UNKNOWN),
            (Axis::One(name), _) => {
                let known = self.names.get(name).or_else(|| fresh.get(name)).cloned();
                match known {
                    Some(known) => (known == [atom.clone()]).then_some(0),
                    None => {
                        fresh.insert(name.clone(), vec![atom.clone()]);
                        Some(0)
                    }
                }
            }
            _ => None,
        };
        Some(cost? + self.compare(rest, behind, fresh)?)
    }
}

/// Types with commas between them; `void` and nothing are none.
fn patterns(text: &str) -> Option<Vec<Pattern>> {
    let (mut parts, mut depth) = (vec![String::new()], 0);
    for c in text.trim().trim_start_matches('(').trim_end_matches(')').chars() {
        match c {
            '[' => depth += 1,
            ']' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(String::new());
                continue;
            }
            _ => {}
        }
        parts.last_mut()?.push(c);
    }
    if let [only] = &parts[..]
        && ["", "void"].contains(&only.trim())
    {
        return Some(Vec::new());
    }
    parts.iter().map(|part| Pattern::parse(part)).collect()
}

/// The extents of an argument.
fn given(pattern: &Pattern, names: &mut BTreeMap<String, Vec<Atom>>, fresh: &mut usize) -> Vec<Atom> {
    let mut atoms = Vec::new();
    for axis in &pattern.axes {
        *fresh += 1;
        match axis {
            Axis::Extent(extent) => atoms.push(Atom::Extent(*extent)),
            Axis::One(name) if name.is_empty() => atoms.push(Atom::Given(format!("?{fresh}"))),
            Axis::One(name) => {
                let atom = Atom::Given(name.clone());
                names.insert(name.clone(), vec![atom.clone()]);
                atoms.push(atom);
            }
            Axis::Many { least, exactly, name, .. } => {
                let label = if name.is_empty() { format!("?{fresh}") } else { name.clone() };
                let several = match exactly {
                    Some(exactly) => (0..*exactly).map(|k| Atom::Given(format!("{label}.{k}"))).collect(),
                    None => vec![Atom::Several(label, *least)],
                };
                if !name.is_empty() {
                    names.insert(name.clone(), several.clone());
                }
                atoms.extend(several);
            }
        }
    }
    atoms
}

/// Element types: the same, or one of a family. A name of the query that is no basic type stands for a family.
fn fits_base(
    asked: &str,
    wanted: &str,
    members: &dyn Fn(&str) -> Option<Vec<String>>,
    bases: &mut BTreeMap<String, String>,
) -> Option<u32> {
    let Some(members) = members(wanted) else { return (asked == wanted).then_some(0) };
    let is_variable = ravel_syntax::ast::BasicType::from_keyword(asked).is_none() && !asked.starts_with("struct ");
    if let Some(known) = bases.get(wanted) {
        return (known == asked).then_some(0);
    }
    let fits = is_variable || members.iter().any(|member| member == asked);
    fits.then(|| bases.insert(wanted.to_string(), asked.to_string()))?;
    Some(if is_variable { 0 } else { FAMILY })
}

/// Binds a name, or compares it with what it is already.
fn bind(names: &mut Bindings, name: &str, value: &[Atom]) -> Option<u32> {
    if name.is_empty() {
        return Some(0);
    }
    let Some(known) = names.get(name) else {
        names.insert(name.to_string(), value.to_vec());
        return Some(0);
    };
    let open = |atoms: &[Atom]| atoms.iter().any(|atom| matches!(atom, Atom::Several(..)));
    let differ = |(a, b): (&Atom, &Atom)| matches!((a, b), (Atom::Extent(a), Atom::Extent(b)) if a != b);
    if known == value {
        Some(0)
    } else if known.iter().zip(value).any(differ) || known.len() != value.len() && !open(known) && !open(value) {
        None
    } else {
        Some(NARROWER)
    }
}

/// Whether a parameter takes an argument of these extents.
fn fits(wanted: &[Axis], given: &[Atom], names: &Bindings) -> Fit {
    let Some((first, rest)) = wanted.split_first() else {
        let open = given.iter().all(|atom| matches!(atom, Atom::Several(_, 0)));
        return open.then(|| (if given.is_empty() { 0 } else { RANK }, names.clone()));
    };
    if let Axis::Many { count, least, exactly, name } = first {
        let tries = (0..=given.len()).filter_map(|n| several(count, *least, *exactly, name, &given[..n], names, n));
        let all = tries.filter_map(|(n, cost, names)| {
            let (more, names) = fits(rest, &given[n..], &names)?;
            Some((cost + more, names))
        });
        return all.min_by_key(|(cost, _)| *cost);
    }
    let (atom, behind) = given.split_first()?;
    if matches!(atom, Atom::Several(..)) {
        return Some((RANK, names.clone()));
    }
    let mut names = names.clone();
    let cost = match (first, atom) {
        (Axis::Extent(a), Atom::Extent(b)) => (a == b).then_some(0)?,
        (Axis::Extent(_), _) => NARROWER,
        (Axis::One(name), atom) => bind(&mut names, name, std::slice::from_ref(atom))?,
        (Axis::Many { .. }, _) => return None,
    };
    let (more, names) = fits(rest, behind, &names)?;
    Some((cost + more, names))
}

/// Several axes of a parameter that take these extents.
fn several(
    count: &str,
    least: usize,
    exactly: Option<usize>,
    name: &str,
    some: &[Atom],
    names: &Bindings,
    n: usize,
) -> Option<(usize, u32, Bindings)> {
    let mut open = Vec::new();
    let mut known = 0;
    let mut sure = 0;
    for atom in some {
        match atom {
            Atom::Several(_, least) => {
                sure += least;
                open.push(atom.clone());
            }
            _ => known += 1,
        }
    }
    sure += known;
    let mut cost = match exactly {
        Some(exactly) if open.is_empty() => (known == exactly).then_some(0)?,
        Some(_) => RANK,
        None if sure >= least => u32::from(open.is_empty()) * ANY_RANK,
        None if open.is_empty() => return None,
        None => NARROWER,
    };
    let mut names = names.clone();
    let number = i64::try_from(known).ok()?;
    let length = std::iter::once(Atom::Extent(number)).chain(open).collect::<Vec<_>>();
    cost += bind(&mut names, count, &length)?;
    cost += bind(&mut names, name, some)?;
    Some((n, cost, names))
}

/// The extents of a result, as far as the arguments say them.
fn with_names(axes: &[Axis], names: &Bindings) -> Vec<Atom> {
    let mut atoms = Vec::new();
    for axis in axes {
        match axis {
            Axis::Extent(extent) => atoms.push(Atom::Extent(*extent)),
            Axis::One(name) => atoms.extend(names.get(name).cloned().unwrap_or_else(|| vec![Atom::Any])),
            Axis::Many { count, exactly, name, .. } => match (names.get(name), names.get(count), exactly) {
                (Some(known), ..) => atoms.extend(known.clone()),
                (None, _, Some(n)) => atoms.extend(vec![Atom::Any; *n]),
                (None, Some(length), None) => match &length[..] {
                    [Atom::Extent(n)] => atoms.extend(vec![Atom::Any; usize::try_from(*n).unwrap_or(0)]),
                    _ => atoms.push(Atom::AnySeveral),
                },
                (None, None, None) => atoms.push(Atom::AnySeveral),
            },
        }
    }
    atoms
}
