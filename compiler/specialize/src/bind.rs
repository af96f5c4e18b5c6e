//! Type patterns: matching the shape of a value against named axes, binding names and checking the rest.

use crate::check::Agree;
use crate::spec::{Frame, Spec};
use crate::value::{Sc, Val};
use ravel_core::ir::{DimPat, LocalId, RankPat, TypePat};
use ravel_types::{Basic, BinOp};
use ravel_wir::Fault;
use std::sync::Arc;

/// One feature of a pattern with the number of axes it takes.
struct Piece<'a> {
    dim: &'a DimPat,
    /// Known or computed number of axes; a single axis is 1.
    count: Option<Sc>,
}

/// A pattern that cannot be resolved before others have bound its names.
pub struct Pending;

impl Spec<'_> {
    /// Binds the patterns of several values in dependency order (language reference 2.3, rule 3). `what` names a value in messages.
    pub fn bind_patterns(&mut self, frame: &mut Frame, items: &[(&TypePat, &Val)], what: &str) {
        let mut pending: Vec<usize> = (0..items.len()).collect();
        while !pending.is_empty() {
            let before = pending.len();
            let mut left = Vec::new();
            for i in pending {
                let (ty, v) = items[i];
                if self.bind_pattern(frame, ty, v, what).is_err() {
                    left.push(i);
                }
            }
            if left.len() == before {
                let fun = self.fun(frame.fun);
                let text = self.show_type(fun, items[left[0]].0);
                self.error(
                    "E0320",
                    format!("ambiguous ranks in the type pattern {text}"),
                    "several ranks are not determined",
                );
                return;
            }
            pending = left;
        }
    }

    fn bind_pattern(
        &mut self,
        frame: &mut Frame,
        ty: &TypePat,
        v: &Val,
        what: &str,
    ) -> Result<(), Pending> {
        if matches!(v, Val::Bottom) || ty.dims.is_empty() {
            return Ok(());
        }
        let mut pieces = Vec::with_capacity(ty.dims.len());
        let mut open = None;
        for (i, dim) in ty.dims.iter().enumerate() {
            let count = match dim {
                DimPat::Num(_) | DimPat::Any | DimPat::Name(_) => Some(Sc::int(1)),
                DimPat::Rank {
                    rank: RankPat::Num(n),
                    ..
                } => Some(Sc::int(*n)),
                DimPat::Rank {
                    rank: RankPat::Name(l),
                    ..
                } => match &frame.env[l.index()] {
                    Some(Val::Sc(Basic::Int, s)) => Some(s.clone()),
                    _ => None,
                },
                DimPat::Rank { .. } | DimPat::Star | DimPat::Plus => None,
            };
            if count.is_none() {
                if open.is_some() {
                    return Err(Pending);
                }
                open = Some(i);
            }
            pieces.push(Piece { dim, count });
        }
        let rank = self.rank_of(v);
        let mut total = Sc::int(0);
        for count in pieces.iter().filter_map(|p| p.count.clone()) {
            total = self.em.add(&total, &count);
        }
        match open {
            Some(i) => {
                let count = self.em.sub(&rank, &total);
                let min = match pieces[i].dim {
                    DimPat::Rank { min, .. } => *min,
                    DimPat::Plus => 1,
                    _ => 0,
                };
                let enough = self
                    .em
                    .bin(BinOp::Ge, Basic::Int, &count, &Sc::int(min.max(0)));
                self.require(frame, ty, enough, what, "has too few axes");
                pieces[i].count = Some(count);
            }
            None => {
                let same = self.em.bin(BinOp::Eq, Basic::Int, &rank, &total);
                self.require(frame, ty, same, what, "has another rank");
                if same_const(&rank, &total) == Some(false) {
                    return Ok(());
                }
            }
        }
        let shape = self.shape_vector(v);
        let mut at = Sc::int(0);
        for piece in pieces {
            let count = piece.count.expect("every count is known or was computed");
            match piece.dim {
                DimPat::Num(n) => {
                    let extent = self.vector_element(&shape, &at);
                    let same = self.em.bin(BinOp::Eq, Basic::Int, &extent, &Sc::int(*n));
                    self.require(frame, ty, same, what, "has another extent");
                }
                DimPat::Name(l) => {
                    let extent = self.vector_element(&shape, &at);
                    self.bind_name(frame, *l, Val::Sc(Basic::Int, extent), what);
                }
                DimPat::Rank {
                    rank, shape: name, ..
                } => {
                    if let RankPat::Name(l) = rank {
                        self.bind_name(frame, *l, Val::Sc(Basic::Int, count.clone()), what);
                    }
                    if let Some(l) = name {
                        let part = self.slice(&shape, &at, &count);
                        self.bind_name(frame, *l, part, what);
                    }
                }
                DimPat::Any | DimPat::Star | DimPat::Plus => {}
            }
            at = self.em.add(&at, &count);
        }
        Ok(())
    }

    /// The first place that determines a name defines it, every other is an equality check.
    fn bind_name(&mut self, frame: &mut Frame, name: LocalId, value: Val, what: &str) {
        let Some(bound) = frame.env[name.index()].clone() else {
            frame.env[name.index()] = Some(value);
            return;
        };
        let fun = self.fun(frame.fun);
        let spelled = fun.locals[name.index()].name.clone();
        match (&bound, &value) {
            (Val::Sc(Basic::Int, a), Val::Sc(Basic::Int, b)) => {
                let agree = Agree {
                    left: a.clone(),
                    right: b.clone(),
                    axis: 0,
                };
                self.require_agreement(&[agree], what, &spelled);
            }
            _ => match (self.elements(&bound), self.elements(&value)) {
                (Some(a), Some(b)) if a.len() == b.len() => {
                    let agreements: Vec<Agree> = a
                        .into_iter()
                        .zip(b)
                        .enumerate()
                        .map(|(axis, (left, right))| Agree {
                            left,
                            right,
                            axis: axis as u32,
                        })
                        .collect();
                    self.require_agreement(&agreements, what, &spelled);
                }
                (Some(a), Some(b)) => {
                    let (left, right) = (Sc::int(a.len() as i32), Sc::int(b.len() as i32));
                    self.require_agreement(
                        &[Agree {
                            left,
                            right,
                            axis: 0,
                        }],
                        what,
                        &format!("rank of {spelled}"),
                    );
                }
                _ => {
                    let equal = self.vectors_equal(&bound, &value);
                    let text: Arc<str> = format!("{what} differ in shape (`{spelled}`)").into();
                    self.emit_check(
                        &equal,
                        Fault::Message {
                            text,
                            operands: Vec::new(),
                        },
                    );
                }
            },
        }
    }

    fn require(&mut self, frame: &Frame, ty: &TypePat, holds: Sc, what: &str, how: &str) {
        if !self.options.check_patterns {
            return;
        }
        let fun = self.fun(frame.fun);
        let text = format!(
            "{what}: the value does not fit the type {} ({how})",
            self.show_type(fun, ty)
        );
        if holds.as_bool() == Some(false) {
            if self.speculative == 0 {
                self.error("E0321", text.clone(), "does not fit");
            }
        } else if holds.as_bool() == Some(true) {
            return;
        }
        self.emit_check(
            &holds,
            Fault::Message {
                text: text.into(),
                operands: Vec::new(),
            },
        );
    }
}

fn same_const(a: &Sc, b: &Sc) -> Option<bool> {
    Some(a.as_int()? == b.as_int()?)
}
