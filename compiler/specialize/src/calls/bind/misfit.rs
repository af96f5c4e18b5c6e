//! Values of a rank or an extent that their pattern does not admit.

use super::Heads;
use super::origin::{are_parameters, called, measured};
use crate::check::coded;
use crate::spec::{Frame, Spec};
use crate::value::Sc;
use ravel_core::ir::{DimPat, RankPat};
use ravel_diagnostics::Code;

/// What a value has, and what its pattern asks for.
pub enum Misfit {
    Rank { rank: Sc, expected: Sc },
    FewerAxes { rank: Sc, least: Sc },
    Extent { extent: Sc, axis: Sc, expected: i32 },
}

impl Misfit {
    /// As a clause without subject, `{}` standing for each of the numbers.
    fn clause(&self) -> (&'static str, Vec<Sc>) {
        match self {
            Misfit::Rank { rank, expected } => ("has rank {}, expected {}", vec![rank.clone(), expected.clone()]),
            Misfit::FewerAxes { rank, least } => {
                ("has rank {}, expected at least {}", vec![rank.clone(), least.clone()])
            }
            Misfit::Extent { extent, axis, expected } => {
                ("has extent {} on axis {}, expected {}", vec![extent.clone(), axis.clone(), Sc::int(*expected)])
            }
        }
    }
}

impl Spec<'_> {
    /// Reports, or checks at run time, that a value fits its pattern. False if it certainly does not.
    pub fn require(&mut self, frame: &Frame, heads: &Heads<'_>, item: usize, holds: Sc, misfit: Misfit) -> bool {
        if !self.options.check_patterns || holds.as_bool() == Some(true) {
            return true;
        }
        let (items, what) = (heads.items, heads.what);
        let fun = self.fun(frame.fun);
        let pattern = self.show_type(fun, items[item].0);
        let (clause, numbers) = misfit.clause();
        let source = match misfit {
            Misfit::Rank { .. } => self.source_of_rank(frame, heads, item),
            _ => None,
        };
        let asks = match source {
            Some(source) => format!(" ({source})"),
            None if self.in_library(frame) => String::new(),
            None => format!(" by {pattern}"),
        };
        let wrong = holds.as_bool() == Some(false) && self.speculative == 0;
        if wrong {
            let known = numbers.iter().map(|n| n.as_int().map_or(".".to_string(), |n| n.to_string()));
            let said = known.fold(clause.to_string(), |text, number| text.replacen("{}", &number, 1));
            let site = self.user_site();
            match items {
                [(_, value)] => {
                    let label = format!("this is {}: it {said}", self.show_value_type(value));
                    let title = format!("{what}: the value does not fit the type {pattern}");
                    let report = self.of_fault(Code::PatternMismatch, title).at(site, label);
                    self.report_from_here(report, site);
                }
                _ => {
                    let types: Vec<String> = items.iter().map(|(_, v)| self.show_value_type(v)).collect();
                    let title = match &types[..] {
                        [one, other] => format!("{what} differ in shape: {one} and {other}"),
                        _ => format!("{what} do not fit together: {}", types.join(", ")),
                    };
                    let who = called(fun, item, !are_parameters(fun, heads));
                    let who = match are_parameters(fun, heads) && !who.contains(' ') {
                        true => format!("argument {} ({who})", item + 1),
                        false => who,
                    };
                    let report = self.of_fault(Code::ShapesDiffer, title).at(site, format!("{who} {said}{asks}"));
                    self.report_from_here(report, site);
                }
            }
        }
        let who = called(fun, item, !are_parameters(fun, heads));
        let who = if items.len() == 1 && !are_parameters(fun, heads) { "it" } else { &who };
        let text = format!("{what}: {who} {clause}{asks}");
        let operands = self.em.values(&numbers);
        let code = if items.len() == 1 { Code::PatternMismatch } else { Code::ShapesDiffer };
        self.emit_check(&holds, coded(code, text, operands));
        !wrong
    }

    /// Where the rank of a pattern that is one named group comes from, if that is another item.
    fn source_of_rank(&self, frame: &Frame, heads: &Heads<'_>, item: usize) -> Option<String> {
        let [DimPat::Rank { rank: RankPat::Name(name), .. }] = heads.items[item].0.dims[..] else { return None };
        let (_, place) = frame.places.iter().find(|(bound, _)| *bound == name)?;
        measured(self.fun(frame.fun), name, *place)
    }
}
