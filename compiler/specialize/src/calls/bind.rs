//! Type patterns: matching the shape of a value against named axes, binding names and checking the rest.

mod misfit;
pub mod origin;

use crate::check::{Agree, coded};
use crate::spec::{Frame, Spec};
use crate::value::{Sc, Val};
use misfit::Misfit;
use origin::{Place, are_parameters};
use ravel_core::ir::{DimPat, ElemTy, LocalId, RankPat, TypePat};
use ravel_diagnostics::{Code, Diagnostic};
use ravel_types::{Basic, BinOp};

/// One feature of a pattern with the number of axes it takes.
struct Piece<'a> {
    dim: &'a DimPat,
    /// Known or computed number of axes; a single axis is 1.
    count: Option<Sc>,
}

/// A pattern that cannot be resolved before others have bound its names.
pub struct Pending;

/// Values with the patterns that they have to fit, all of them arguments or all of them results.
pub struct Heads<'a> {
    pub items: &'a [(&'a TypePat, &'a Val)],
    /// What the values are called in messages.
    pub what: &'a str,
}

impl Spec<'_> {
    /// Binds the patterns of several values in dependency order (language reference 2.3, rule 3). `what` names the values in
    /// messages. False if they were found not to fit: that was reported, or is checked where it is not certain to be reached.
    pub fn bind_patterns(&mut self, frame: &mut Frame, items: &[(&TypePat, &Val)], what: &str) -> bool {
        let head = self.em.mark();
        let fits = self.bind_each(frame, &Heads { items, what });
        self.em.join_checks(head);
        fits
    }

    fn bind_each(&mut self, frame: &mut Frame, heads: &Heads<'_>) -> bool {
        let mut fits = true;
        let mut pending: Vec<usize> = (0..heads.items.len()).collect();
        while !pending.is_empty() {
            let before = pending.len();
            let mut left = Vec::new();
            for i in pending {
                match self.bind_pattern(frame, heads, i) {
                    Ok(fit) => fits &= fit,
                    Err(Pending) => left.push(i),
                }
            }
            if left.len() == before {
                let fun = self.fun(frame.fun);
                let text = self.show_type(fun, heads.items[left[0]].0);
                self.error(
                    Code::AmbiguousRanks,
                    format!("ambiguous ranks in the type pattern {text}"),
                    "several ranks are not determined",
                );
                return false;
            }
            pending = left;
        }
        fits
    }

    fn bind_pattern(&mut self, frame: &mut Frame, heads: &Heads<'_>, item: usize) -> Result<bool, Pending> {
        let (ty, v) = heads.items[item];
        if matches!(v, Val::Bottom) || ty.dims.is_empty() {
            return Ok(true);
        }
        let mut fits = true;
        let mut pieces = Vec::with_capacity(ty.dims.len());
        let mut open = None;
        for (i, dim) in ty.dims.iter().enumerate() {
            let count = match dim {
                DimPat::Num(_) | DimPat::Any | DimPat::Name(_) => Some(Sc::int(1)),
                DimPat::Rank { rank: RankPat::Num(n), .. } => Some(Sc::int(*n)),
                DimPat::Rank { rank: RankPat::Name(l), .. } => match &frame.env[l.index()] {
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
        for piece in &pieces {
            // A number of axes that an argument gives.
            if let (DimPat::Rank { rank: RankPat::Name(l), min, .. }, Some(count)) = (piece.dim, &piece.count)
                && !self.require_axes(frame, ty, (*l, (*min).max(0)), count, heads.what)
            {
                return Ok(false);
            }
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
                let enough = self.em.bin(BinOp::Ge, Basic::Int, &count, &Sc::int(min.max(0)));
                let never = enough.as_bool() == Some(false);
                let least = self.em.add(&total, &Sc::int(min.max(0)));
                fits &= self.require(frame, heads, item, enough, Misfit::FewerAxes { rank: rank.clone(), least });
                if never {
                    return Ok(false);
                }
                pieces[i].count = Some(count);
            }
            None => {
                let same = self.em.bin(BinOp::Eq, Basic::Int, &rank, &total);
                let misfit = Misfit::Rank { rank: rank.clone(), expected: total.clone() };
                fits &= self.require(frame, heads, item, same, misfit);
                if same_const(&rank, &total) == Some(false) {
                    return Ok(false);
                }
            }
        }
        let shape = self.shape_vector(v);
        let of_result = !are_parameters(self.fun(frame.fun), heads);
        let mut at = Sc::int(0);
        for (feature, piece) in pieces.into_iter().enumerate() {
            let count = piece.count.expect("every count is known or was computed");
            let place = Place { item, feature, axis: at.as_int(), of_result };
            match piece.dim {
                DimPat::Num(n) => {
                    let extent = self.vector_element(&shape, &at);
                    let same = self.em.bin(BinOp::Eq, Basic::Int, &extent, &Sc::int(*n));
                    fits &= self.require(
                        frame,
                        heads,
                        item,
                        same,
                        Misfit::Extent { extent, axis: at.clone(), expected: *n },
                    );
                }
                DimPat::Name(l) => {
                    let extent = self.vector_element(&shape, &at);
                    fits &= self.bind_name(frame, heads, *l, Val::Sc(Basic::Int, extent), place);
                }
                DimPat::Rank { rank, shape: name, .. } => {
                    if let RankPat::Name(l) = rank {
                        fits &= self.bind_name(frame, heads, *l, Val::Sc(Basic::Int, count.clone()), place);
                    }
                    if let Some(l) = name {
                        let part = self.slice(&shape, &at, &count);
                        fits &= self.bind_name(frame, heads, *l, part, place);
                    }
                }
                DimPat::Any | DimPat::Star | DimPat::Plus => {}
            }
            at = self.em.add(&at, &count);
        }
        Ok(fits)
    }

    /// Reports, or checks at run time, that a name is a number of axes, and not too small. False if it certainly is.
    fn require_axes(
        &mut self,
        frame: &Frame,
        ty: &TypePat,
        (name, least): (LocalId, i32),
        count: &Sc,
        what: &str,
    ) -> bool {
        let enough = self.em.bin(BinOp::Ge, Basic::Int, count, &Sc::int(least));
        if !self.options.check_patterns || enough.as_bool() == Some(true) {
            return true;
        }
        let fun = self.fun(frame.fun);
        let (name, pattern) = (fun.locals[name.index()].name.clone(), self.show_type(fun, ty));
        let wrong = enough.as_bool() == Some(false) && self.speculative == 0;
        if wrong {
            let site = self.call_site();
            let number = count.as_int().map_or(String::new(), |n| format!(", but is {n}"));
            let title = format!("{what}: `{name}` is a number of axes in {pattern}{number}");
            self.report(Diagnostic::error(Code::ShapesDiffer, title).at(site, format!("expected at least {least}")));
        }
        let text = format!("{what}: `{name}` is a number of axes in {pattern}, but is {{}}");
        let operands = vec![self.em.value(count)];
        self.emit_check(&enough, coded(Code::ShapesDiffer, text, operands));
        !wrong
    }

    /// The first place that determines a name defines it, every other is an equality check.
    fn bind_name(&mut self, frame: &mut Frame, heads: &Heads<'_>, name: LocalId, value: Val, place: Place) -> bool {
        let Some(mut bound) = frame.env[name.index()].clone() else {
            frame.env[name.index()] = Some(value);
            frame.places.push((name, place));
            return true;
        };
        let is_extent = matches!(value, Val::Sc(..));
        // A parameter of that name.
        if self.elem_of(&bound) == Some(ElemTy::Basic(Basic::Int)) && self.outer_rank(&bound).is_none() {
            bound = self.narrow_outer(&bound, if is_extent { &[] } else { &[None] });
        }
        let fits = match &bound {
            Val::Bottom => return true,
            Val::Sc(Basic::Int, _) => is_extent,
            Val::Tup(Basic::Int, _) => !is_extent,
            // The empty literal has a type of its own choosing.
            Val::Tup(_, scalars) => !is_extent && scalars.is_empty(),
            Val::Arr(Basic::Int, _) => !is_extent && self.outer_rank(&bound) == Some(1),
            _ => false,
        };
        if !fits {
            return self.wrong_name(frame, name, &bound, is_extent, heads.items[place.item].0);
        }
        let compared = self.compared(frame, name, place);
        match (&bound, &value) {
            (Val::Sc(Basic::Int, a), Val::Sc(Basic::Int, b)) => {
                let agree = Agree { left: a.clone(), right: b.clone(), axis: 0 };
                self.require_measured(&[agree], heads.what, false, &compared)
            }
            _ => match (self.elements(&bound), self.elements(&value)) {
                (Some(a), Some(b)) if a.len() == b.len() => {
                    let agreements: Vec<Agree> = a
                        .into_iter()
                        .zip(b)
                        .enumerate()
                        .map(|(axis, (left, right))| Agree { left, right, axis: axis as u32 })
                        .collect();
                    self.require_measured(&agreements, heads.what, true, &compared)
                }
                (Some(a), Some(b)) => self.require_measured_ranks((a.len(), b.len()), heads.what, &compared),
                _ => self.require_measured_shapes((&bound, &value), heads.what, &compared),
            },
        }
    }

    /// Reports a name of a pattern that is a parameter of another type.
    fn wrong_name(&mut self, frame: &Frame, name: LocalId, bound: &Val, is_extent: bool, ty: &TypePat) -> bool {
        let fun = self.fun(frame.fun);
        let found = match fun.params.iter().find(|param| param.local == name) {
            Some(param) => self.show_type(fun, &param.ty),
            None => self.show_value_type(bound),
        };
        let name = &fun.locals[name.index()].name;
        let wanted = if is_extent { "an extent, an `int`" } else { "a vector of extents, an `int[.]`" };
        let title = format!("`{name}` in this type is {wanted}, but the parameter `{name}` is {found}");
        let diagnostic = Diagnostic::error(Code::PatternNameType, title).at(ty.span, format!("`{name}` is {found}"));
        self.report(diagnostic.with_help("give the axes here a name of their own"));
        false
    }
}

fn same_const(a: &Sc, b: &Sc) -> Option<bool> {
    Some(a.as_int()? == b.as_int()?)
}
