//! Selections, and the rearrangement of axes that dots ask for.
//!
//! `A[s0, ., s2]` is a call of `sel` on the whole index. With dots, the result is a comprehension over the axes
//! that the dots keep; `...` stands for as many axes as the array has beyond the other selectors, so everything behind it
//! counts from the last axis.

use crate::diagnostics as report;
use crate::ir::{Bound, Expr, ExprKind, LocalId, Part, With, WithOp};
use crate::make;
use crate::overloads::{Syntax, syntax_name};
use crate::scope::Body;
use ravel_source::Span;
use ravel_syntax::ast::{self, Selector};
use ravel_types::Prim;

/// One position of an index that is put together from kept axes and fixed values.
pub(crate) enum Slot {
    /// An axis of the result.
    Kept,
    /// A scalar.
    Fixed(Expr),
}

/// An index around an optional `...`.
pub(crate) struct Pattern {
    pub before: Vec<Slot>,
    /// Nothing without `...`, else what stands behind it.
    pub behind: Option<Vec<Slot>>,
}

fn kept(slots: &[Slot]) -> usize {
    slots.iter().filter(|slot| matches!(slot, Slot::Kept)).count()
}

impl Body<'_, '_> {
    /// `array[selectors]`
    pub(crate) fn select(&mut self, array: &ast::Expr, selectors: &[Selector], span: Span) -> Expr {
        // A second `...` has been reported by the parser.
        if selectors.iter().filter(|selector| matches!(selector, Selector::Dots(_))).count() > 1 {
            return make::error(span);
        }
        let mut selectors = selectors;
        // Trailing axes are kept anyway.
        while let Some((Selector::Dots(_), rest)) = selectors.split_last() {
            selectors = rest;
            if rest.is_empty() {
                return self.expr(array);
            }
        }
        if selectors.iter().any(|selector| !matches!(selector, Selector::Expr(_))) {
            return self.select_with_dots(array, selectors, span);
        }
        let index = self.index(selectors, span);
        let array = self.expr(array);
        self.sel(index, array, span)
    }

    /// The index of a selection without dots: the only selector as it is, else the vector of them.
    pub(crate) fn index(&mut self, selectors: &[Selector], span: Span) -> Expr {
        let mut values = Vec::new();
        for selector in selectors {
            match selector {
                Selector::Expr(expr) => values.push(self.expr(expr)),
                Selector::Dot(at) | Selector::Dots(at) => {
                    self.core.reports.push(report::dot_in_assignment(*at));
                    values.push(make::error(*at));
                }
            }
        }
        match values.len() {
            1 => values.remove(0),
            _ => make::vector(values, span),
        }
    }

    /// A call of the visible `sel`.
    pub(crate) fn sel(&mut self, index: Expr, array: Expr, span: Span) -> Expr {
        self.apply(&syntax_name("sel", span), vec![index, array], Syntax::Selection, span)
    }

    fn select_with_dots(&mut self, array: &ast::Expr, selectors: &[Selector], span: Span) -> Expr {
        let mut prelude = Vec::new();
        let mut pattern = Pattern { before: Vec::new(), behind: None };
        for selector in selectors {
            let slot = match selector {
                Selector::Dot(_) => Slot::Kept,
                Selector::Expr(expr) => {
                    let value = self.expr(expr);
                    Slot::Fixed(self.reusable(value, "at", &mut prelude))
                }
                Selector::Dots(_) => {
                    pattern.behind.get_or_insert_default();
                    continue;
                }
            };
            pattern.behind.as_mut().unwrap_or(&mut pattern.before).push(slot);
        }
        let array = self.expr(array);
        let array = self.reusable(array, "array", &mut prelude);
        let shape = self.reusable(make::shape(array.clone(), span), "shape", &mut prelude);
        let frame = kept_shape(&pattern, &shape, span);
        let value = self.over_frame(frame, &pattern, span, |body, index| body.sel(index, array, span));
        make::after(prelude, value)
    }

    /// A comprehension over `frame`, whose axes are the kept ones of `pattern` in order; `cell` gets the whole index.
    pub(crate) fn over_frame(
        &mut self,
        frame: Expr,
        pattern: &Pattern,
        span: Span,
        cell: impl FnOnce(&mut Self, Expr) -> Expr,
    ) -> Expr {
        self.over_frame_several(frame, pattern, span, |body, index| vec![cell(body, index)])
    }

    /// As [`Body::over_frame`] with several results.
    pub(crate) fn over_frame_several(
        &mut self,
        frame: Expr,
        pattern: &Pattern,
        span: Span,
        cells: impl FnOnce(&mut Self, Expr) -> Vec<Expr>,
    ) -> Expr {
        let mut prelude = Vec::new();
        let frame = self.reusable(frame, "frame", &mut prelude);
        let (mut index, mut scalars) = (None, None);
        let whole = match &pattern.behind {
            None => {
                let slots: Vec<LocalId> = (0..kept(&pattern.before)).map(|_| self.temp("axis", span)).collect();
                let mut next = slots.iter();
                let place = |slot: &Slot| match slot {
                    Slot::Fixed(value) => value.clone(),
                    Slot::Kept => next.next().map_or(make::error(span), |slot| make::local(*slot, span)),
                };
                let whole = make::vector(pattern.before.iter().map(place).collect(), span);
                scalars = Some(slots);
                whole
            }
            Some(behind) => {
                let slot = self.temp("iv", span);
                index = Some(slot);
                whole_index(&pattern.before, behind, &make::local(slot, span), span)
            }
        };
        let values = cells(self, whole);
        let operation =
            || WithOp::Genarray { shape: frame.clone(), default: Some(make::expr(ExprKind::ZeroCell, span)) };
        let with = With {
            ops: values.iter().map(|_| operation()).collect(),
            parts: vec![Part {
                lower: Bound::Dot,
                lower_inclusive: true,
                upper: Bound::Expr(frame.clone()),
                upper_inclusive: false,
                step: None,
                width: None,
                index,
                scalars,
                body: Vec::new(),
                values,
                span,
            }],
            comprehension: true,
            span,
        };
        make::after(prelude, make::expr(ExprKind::With(Box::new(with)), span))
    }
}

/// The extents of the kept axes of an array of this shape.
fn kept_shape(pattern: &Pattern, shape: &Expr, span: Span) -> Expr {
    let mut extents = Vec::new();
    for (p, slot) in pattern.before.iter().enumerate() {
        if matches!(slot, Slot::Kept) {
            extents.push(make::element(make::int(p, span), shape.clone(), span));
        }
    }
    let front = make::vector(extents, span);
    let Some(behind) = &pattern.behind else { return front };
    let middle = middle_of(shape.clone(), pattern.before.len(), behind.len(), span);
    let mut extents = Vec::new();
    for (q, slot) in behind.iter().enumerate() {
        if matches!(slot, Slot::Kept) {
            extents.push(from_end(shape.clone(), behind.len(), q, span));
        }
    }
    make::cat(make::cat(front, middle, span), make::vector(extents, span), span)
}

/// The index into the array, given the index vector over the kept axes.
fn whole_index(before: &[Slot], behind: &[Slot], iv: &Expr, span: Span) -> Expr {
    if kept(before) == before.len() && kept(behind) == behind.len() {
        return iv.clone();
    }
    let mut count = 0;
    let mut front = Vec::new();
    for slot in before {
        front.push(match slot {
            Slot::Fixed(value) => value.clone(),
            Slot::Kept => {
                count += 1;
                make::element(make::int(count - 1, span), iv.clone(), span)
            }
        });
    }
    let kept_behind = kept(behind);
    let middle = middle_of(iv.clone(), count, kept_behind, span);
    let mut at = 0;
    let mut back = Vec::new();
    for slot in behind {
        back.push(match slot {
            Slot::Fixed(value) => value.clone(),
            Slot::Kept => {
                at += 1;
                from_end(iv.clone(), kept_behind, at - 1, span)
            }
        });
    }
    make::cat(make::cat(make::vector(front, span), middle, span), make::vector(back, span), span)
}

/// `vector` without its first `front` and last `back` elements.
pub(crate) fn middle_of(vector: Expr, front: usize, back: usize, span: Span) -> Expr {
    let mut middle = vector;
    if front > 0 {
        middle = make::drop(make::int(front, span), middle, span);
    }
    if back > 0 {
        middle = make::drop(make::minus(back, span), middle, span);
    }
    middle
}

/// Element `at` of the last `count` elements of `vector`.
pub(crate) fn from_end(vector: Expr, count: usize, at: usize, span: Span) -> Expr {
    make::element(make::int(at, span), make::take(make::minus(count, span), vector, span), span)
}

/// `_selcell_VxA_`: a cell of an array whose type may have no `sel` of its own.
pub(crate) fn cell_of(index: Expr, array: Expr, span: Span) -> Expr {
    make::prim(Prim::SelCell, vec![index, array], span)
}
