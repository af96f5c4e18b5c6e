//! Tensor comprehensions: bounds made explicit, partitions turned into with-loop parts, dots on the left into a
//! rearrangement of the plain comprehension's axes.

use crate::diagnostics as report;
use crate::facts::OpenBound;
use crate::infer::{self, Axis, Source};
use crate::ir::{Bound, Expr, ExprKind, LocalId, Part, Stmt, Target, With, WithOp};
use crate::make;
use crate::scope::Body;
use crate::select::{Pattern, Slot, cell_of, from_end, middle_of};
use ravel_source::Span;
use ravel_syntax::ast::{self, IndexItem, Relation, TensorIndexKind, TensorPartition, Text};
use ravel_types::{BinOp, Ranks};

/// What is placed by one item of an index list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Item {
    Index,
    Cell,
    Cells,
}

/// The index list, nothing for an index vector. Dots at its end are left out, where they change nothing: unless a `...`
/// before the last name leaves them their axes.
fn layout(partition: &TensorPartition) -> Option<Vec<Item>> {
    let TensorIndexKind::List(items) = &partition.index.kind else { return None };
    let item = |item: &IndexItem| match item {
        IndexItem::Name(_) => Item::Index,
        IndexItem::Dot(_) => Item::Cell,
        IndexItem::Dots(_) => Item::Cells,
    };
    let mut layout: Vec<Item> = items.iter().map(item).collect();
    let names = layout.iter().rposition(|item| *item == Item::Index).map_or(0, |last| last + 1);
    if !layout[..names].contains(&Item::Cells) {
        layout.truncate(names);
    }
    Some(layout)
}

fn has_dots(layout: &[Item]) -> bool {
    layout.iter().any(|item| *item != Item::Index)
}

/// The upper bound of a partition: as core takes it, and as the shape of the result.
struct Upper {
    bound: Bound,
    inclusive: bool,
    /// The exclusive bound as a vector; nothing for `.`.
    shape: Option<Expr>,
}

impl Body<'_, '_> {
    pub(crate) fn comprehension(&mut self, comprehension: &ast::Comprehension) -> Expr {
        self.comprehension_of(comprehension, 1)
    }

    /// A comprehension whose expression gives `results` values.
    pub(crate) fn comprehension_of(&mut self, comprehension: &ast::Comprehension, results: usize) -> Expr {
        let span = comprehension.span;
        let Some(layout) = self.common_layout(comprehension) else { return make::error(span) };
        let (prelude, plain) = self.plain(comprehension, results);
        let value = make::expr(ExprKind::With(Box::new(plain)), span);
        if !has_dots(&layout) {
            return make::after(prelude, value);
        }
        self.place_cells(&layout, prelude, value, results, span)
    }

    /// The layout that all partitions share; index vectors go with lists that have no dots to speak of.
    fn common_layout(&mut self, comprehension: &ast::Comprehension) -> Option<Vec<Item>> {
        let mut first: Option<(Span, Vec<Item>)> = None;
        let mut vector = None;
        for partition in &comprehension.partitions {
            let span = partition.index.span;
            let Some(layout) = layout(partition) else {
                vector = Some(span);
                continue;
            };
            if layout.iter().filter(|item| **item == Item::Cells).count() > 1 {
                // The parser has reported it.
                return None;
            }
            match &first {
                None => first = Some((span, layout)),
                Some((before, other)) => {
                    let names = |layout: &[Item]| layout.iter().filter(|item| **item == Item::Index).count();
                    if names(other) != names(&layout) {
                        self.core.reports.push(report::index_lengths(span, *before));
                        return None;
                    }
                    if *other != layout {
                        self.core.reports.push(report::dots_differ(span));
                        return None;
                    }
                }
            }
        }
        match (first, vector) {
            (Some((_, layout)), Some(at)) if has_dots(&layout) => {
                self.core.reports.push(report::dots_differ(at));
                None
            }
            (Some((_, layout)), _) => Some(layout),
            (None, _) => Some(Vec::new()),
        }
    }

    /// The with-loop over index axes only, and the statements that compute its bounds.
    fn plain(&mut self, comprehension: &ast::Comprehension, results: usize) -> (Vec<Stmt>, With) {
        let span = comprehension.span;
        let mut prelude = Vec::new();
        let mut parts = Vec::new();
        let mut shape = make::error(span);
        let last = comprehension.partitions.len().saturating_sub(1);
        for (i, partition) in comprehension.partitions.iter().enumerate() {
            let names = infer::index_names(&partition.index);
            let lower = partition.lower.as_ref().map(|(bound, relation)| {
                let bound = self.bound(bound, "lower", &mut prelude);
                (bound, *relation == Relation::LessEqual)
            });
            let upper = self.upper(partition, &names, lower.as_ref().map(|(bound, _)| bound), i == last, &mut prelude);
            let step = partition.step.as_ref().map(|step| self.expr(step));
            let width = partition.width.as_ref().map(|width| self.expr(width));
            let (lower, lower_inclusive) = lower.unwrap_or((Bound::Dot, true));
            if let (true, Some(known)) = (i == last, upper.shape) {
                shape = known;
            }
            let outside = self.flow.clone();
            self.enter_part(&[]);
            let (mut index, mut scalars) = (None, None);
            match &partition.index.kind {
                TensorIndexKind::Vector(name) => index = Some(self.bind(&name.name, name.span)),
                TensorIndexKind::List(items) => {
                    let slots: Vec<LocalId> = items
                        .iter()
                        .filter_map(|item| match item {
                            IndexItem::Name(name) => Some(self.bind(&name.name, name.span)),
                            IndexItem::Dot(_) | IndexItem::Dots(_) => None,
                        })
                        .collect();
                    scalars = Some(slots);
                }
            }
            let mut body = Vec::new();
            let values = self.cell_values(&partition.body, results, &mut body);
            let mut block = self.leave_part();
            block.append(&mut body);
            self.flow = outside;
            parts.push(Part {
                lower,
                lower_inclusive,
                upper: upper.bound,
                upper_inclusive: upper.inclusive,
                step,
                width,
                index,
                scalars,
                body: block,
                values,
                span: partition.span,
            });
        }
        let operation =
            || WithOp::Genarray { shape: shape.clone(), default: Some(make::expr(ExprKind::ZeroCell, span)) };
        let ops = (0..results).map(|_| operation()).collect();
        (prelude, With { parts, ops, comprehension: true, span })
    }

    /// The values of one cell; statements that they need go to `body`.
    pub(crate) fn cell_values(&mut self, value: &ast::Expr, results: usize, body: &mut Vec<Stmt>) -> Vec<Expr> {
        if results == 1 {
            return vec![self.expr(value)];
        }
        let Some(counted) = self.several(value, results) else {
            self.core.reports.push(report::one_value_of_cells(results, value.span));
            return vec![make::error(value.span); results];
        };
        let slots: Vec<LocalId> = (0..results).map(|_| self.temp("cell", value.span)).collect();
        let targets = slots.iter().map(|slot| Target::Local(*slot)).chain(counted.refs).collect();
        flat_assign(targets, counted.value, value.span, body);
        slots.into_iter().map(|slot| make::local(slot, value.span)).collect()
    }

    fn bound(&mut self, bound: &ast::Bound, name: &str, prelude: &mut Vec<Stmt>) -> Bound {
        match bound {
            ast::Bound::Dot(_) => Bound::Dot,
            ast::Bound::Expr(expr) => {
                let value = self.expr(expr);
                Bound::Expr(self.reusable(value, name, prelude))
            }
        }
    }

    fn upper(
        &mut self,
        partition: &TensorPartition,
        names: &[Text],
        lower: Option<&Bound>,
        last: bool,
        prelude: &mut Vec<Stmt>,
    ) -> Upper {
        let span = partition.index.span;
        if let Some((relation, bound)) = &partition.upper {
            let inclusive = *relation == Relation::LessEqual;
            if let (true, ast::Bound::Dot(at)) = (last, bound) {
                self.core.reports.push(report::dot_bound(*at));
            }
            let bound = self.bound(bound, "upper", prelude);
            let shape = match (&bound, inclusive) {
                (Bound::Dot, _) => None,
                (Bound::Expr(upper), false) => Some(upper.clone()),
                (Bound::Expr(upper), true) => {
                    let ends = make::binary(BinOp::Add, Ranks::VxS, upper.clone(), make::int(1, span), span);
                    Some(self.reusable(ends, "extents", prelude))
                }
            };
            return Upper { bound, inclusive, shape };
        }
        match self.inferred(partition, names, last, prelude) {
            Some(mut shape) => {
                if let (TensorIndexKind::Vector(_), Some(Bound::Expr(lower))) = (&partition.index.kind, lower) {
                    let length = make::element(make::int(0, span), make::shape(lower.clone(), span), span);
                    shape = make::take(length, shape, span);
                }
                let shape = self.reusable(shape, "extents", prelude);
                Upper { bound: Bound::Expr(shape.clone()), inclusive: false, shape: Some(shape) }
            }
            None => Upper { bound: Bound::Dot, inclusive: true, shape: None },
        }
    }

    /// The inferred exclusive bound; reports if the last partition has none.
    fn inferred(
        &mut self,
        partition: &TensorPartition,
        names: &[Text],
        last: bool,
        prelude: &mut Vec<Stmt>,
    ) -> Option<Expr> {
        let span = partition.index.span;
        let vector = matches!(partition.index.kind, TensorIndexKind::Vector(_));
        let mut sources = Vec::new();
        for name in names {
            let found = infer::bounds(&partition.body, name, names, vector);
            if found.is_empty() {
                if last {
                    let at = index_span(partition, name);
                    self.core.reports.push(report::no_bound(name, at, !vector));
                }
                return None;
            }
            sources.push(found);
        }
        self.note_bound(partition, &sources, vector);
        let mut shapes: Vec<(&ast::Expr, Expr)> = Vec::new();
        let mut bounds = Vec::new();
        for found in &sources {
            let mut bound: Option<Expr> = None;
            for source in found {
                let extent = self.extent(source, &mut shapes, prelude, span);
                bound = Some(match bound {
                    None => extent,
                    Some(other) if vector => self.shorter_min(other, extent, prelude, span),
                    Some(other) => make::binary(BinOp::Min, Ranks::SxS, other, extent, span),
                });
            }
            bounds.extend(bound);
        }
        match vector {
            true => bounds.pop(),
            false => Some(make::vector(bounds, span)),
        }
    }

    /// Notes what stands for a bound that is not written, for those who read the program.
    fn note_bound(&mut self, partition: &TensorPartition, sources: &[Vec<Source<'_>>], vector: bool) {
        let has_more = partition.lower.is_some() || partition.step.is_some() || partition.width.is_some();
        if has_more || !self.core.notes(self.module) {
            return;
        }
        let of_source = |source: &Source<'_>| {
            let array = self.core.map.snippet(source.array.span);
            match source.axis {
                Axis::All => format!("shape({array})"),
                Axis::FromFirst(axis) => format!("shape({array})[{axis}]"),
                Axis::FromEnd(n) => format!("take([-{n}], shape({array}))[0]"),
            }
        };
        let axes = sources.iter().map(|found| {
            let mut texts = found.iter().map(of_source);
            let first = texts.next().unwrap_or_default();
            texts.fold(first, |all, text| format!("min({all}, {text})"))
        });
        let axes: Vec<String> = axes.collect();
        let text = if vector { axes.join(", ") } else { format!("[{}]", axes.join(", ")) };
        if let Some(facts) = &mut self.core.facts {
            facts.bounds.push(OpenBound { partition: partition.span, index: partition.index.span, text });
        }
    }

    /// The extent that one selection gives; arrays are evaluated once for all of them.
    fn extent<'e>(
        &mut self,
        source: &Source<'e>,
        shapes: &mut Vec<(&'e ast::Expr, Expr)>,
        prelude: &mut Vec<Stmt>,
        span: Span,
    ) -> Expr {
        let known = shapes.iter().find(|(array, _)| infer::same_variable(array, source.array));
        let shape = match known {
            Some((_, shape)) => shape.clone(),
            None => {
                let mut array = self.expr(source.array);
                if !make::is_simple(&array) && !matches!(source.array.kind, ast::ExprKind::Field { .. }) {
                    // It mentions no index, so its value serves the selection as well.
                    let slot = self.temp("array", source.array.span);
                    prelude.push(make::assign(slot, array));
                    self.ahead.insert(crate::exprs::address(source.array), slot);
                    array = make::local(slot, source.array.span);
                }
                let shape = self.reusable(make::shape(array, source.array.span), "shape", prelude);
                shapes.push((source.array, shape.clone()));
                shape
            }
        };
        match source.axis {
            Axis::All => shape,
            Axis::FromFirst(p) => make::element(make::int(p, span), shape, span),
            Axis::FromEnd(n) => from_end(shape, n, 0, span),
        }
    }

    /// The element-wise minimum of two vectors over the length of the shorter one.
    fn shorter_min(&mut self, left: Expr, right: Expr, prelude: &mut Vec<Stmt>, span: Span) -> Expr {
        let left = self.reusable(left, "extents", prelude);
        let right = self.reusable(right, "extents", prelude);
        let length = |vector: &Expr| make::element(make::int(0, span), make::shape(vector.clone(), span), span);
        let common = make::binary(BinOp::Min, Ranks::SxS, length(&left), length(&right), span);
        let common = self.reusable(common, "length", prelude);
        let left = make::take(common.clone(), left, span);
        let right = make::take(common, right, span);
        make::binary(BinOp::Min, Ranks::VxV, left, right, span)
    }

    /// Moves cell axes to the places of the dots.
    fn place_cells(
        &mut self,
        layout: &[Item],
        mut prelude: Vec<Stmt>,
        plain: Expr,
        results: usize,
        span: Span,
    ) -> Expr {
        let arrays: Vec<LocalId> = (0..results).map(|_| self.temp("plain", span)).collect();
        let targets = arrays.iter().map(|slot| Target::Local(*slot)).collect();
        flat_assign(targets, plain, span, &mut prelude);
        let mut shapes = Vec::new();
        for array in &arrays {
            shapes.push(self.reusable(make::shape(make::local(*array, span), span), "shape", &mut prelude));
        }
        let indices = layout.iter().filter(|item| **item == Item::Index).count();
        let split = layout.iter().position(|item| *item == Item::Cells);
        let (before, behind) = match split {
            None => (layout, None),
            Some(at) => (&layout[..at], Some(&layout[at + 1..])),
        };
        let cells = |items: &[Item]| items.iter().filter(|item| **item == Item::Cell).count();
        let cells_behind = behind.map_or(0, cells);
        // Axes of the plain result: the indices, the cell axes of dots before `...`, those of `...`, those of dots behind.
        let front = indices + cells(before);
        let mut frame = self.frame_of(before, 0, 0, indices, &shapes, None, span);
        if let Some(behind) = behind {
            let mut middle = middle_of(shapes[0].clone(), front, cells_behind, span);
            for other in &shapes[1..] {
                let other = middle_of(other.clone(), front, cells_behind, span);
                middle = self.shorter_min(middle, other, &mut prelude, span);
            }
            let named = before.iter().filter(|item| **item == Item::Index).count();
            let back = self.frame_of(behind, named, 0, indices, &shapes, Some(cells_behind), span);
            frame = make::cat(make::cat(frame, middle, span), back, span);
        }
        let pattern = Pattern {
            before: before.iter().map(|_| Slot::Kept).collect(),
            behind: behind.map(|behind| behind.iter().map(|_| Slot::Kept).collect()),
        };
        let (before, behind) = (before.to_vec(), behind.map(<[Item]>::to_vec));
        let value = self.over_frame_several(frame, &pattern, span, |_, whole| {
            let index = plain_index(&before, behind.as_deref(), &whole, span);
            arrays.iter().map(|array| cell_of(index.clone(), make::local(*array, span), span)).collect()
        });
        make::after(prelude, value)
    }

    /// Extents of the axes that `items` place: the `index`-th index axis onwards, the `cell`-th cell axis onwards. Cell axes
    /// count from the first one, or inside the last `from_end` axes.
    #[expect(clippy::too_many_arguments, reason = "one step of place_cells, used twice")]
    fn frame_of(
        &mut self,
        items: &[Item],
        mut index: usize,
        mut cell: usize,
        indices: usize,
        shapes: &[Expr],
        from_last: Option<usize>,
        span: Span,
    ) -> Expr {
        let mut extents = Vec::new();
        for item in items {
            match item {
                Item::Index => {
                    extents.push(make::element(make::int(index, span), shapes[0].clone(), span));
                    index += 1;
                }
                Item::Cell | Item::Cells => {
                    let extent = |shape: &Expr| match from_last {
                        None => make::element(make::int(indices + cell, span), shape.clone(), span),
                        Some(count) => from_end(shape.clone(), count, cell, span),
                    };
                    let least = shapes.iter().map(extent);
                    let least = least.reduce(|a, b| make::binary(BinOp::Min, Ranks::SxS, a, b, span));
                    extents.extend(least);
                    cell += 1;
                }
            }
        }
        make::vector(extents, span)
    }
}

/// The index into the plain result, whose index axes come first, given the index into the rearranged one.
fn plain_index(before: &[Item], behind: Option<&[Item]>, whole: &Expr, span: Span) -> Expr {
    // Without `...` the index is a literal vector of its components.
    let pick = |items: &[Item], wanted: Item, part: &dyn Fn(usize) -> Expr| -> Vec<Expr> {
        items.iter().enumerate().filter(|(_, item)| **item == wanted).map(|(p, _)| part(p)).collect()
    };
    let front = |p: usize| match &whole.kind {
        ExprKind::Array(elements) => elements[p].clone(),
        _ => make::element(make::int(p, span), whole.clone(), span),
    };
    let mut indices = pick(before, Item::Index, &front);
    let cells_before = pick(before, Item::Cell, &front);
    let Some(behind) = behind else {
        indices.extend(cells_before);
        return make::vector(indices, span);
    };
    let back = |q: usize| from_end(whole.clone(), behind.len(), q, span);
    indices.extend(pick(behind, Item::Index, &back));
    indices.extend(cells_before);
    let cells_behind = make::vector(pick(behind, Item::Cell, &back), span);
    let middle = middle_of(whole.clone(), before.len(), behind.len(), span);
    make::cat(make::cat(make::vector(indices, span), middle, span), cells_behind, span)
}

/// The place of an index name.
fn index_span(partition: &TensorPartition, name: &Text) -> Span {
    match &partition.index.kind {
        TensorIndexKind::Vector(_) => partition.index.span,
        TensorIndexKind::List(items) => items
            .iter()
            .find_map(|item| match item {
                IndexItem::Name(ident) if ident.name == *name => Some(ident.span),
                _ => None,
            })
            .unwrap_or(partition.index.span),
    }
}

/// Assigns several values at once, without a block around the value.
pub(crate) fn flat_assign(targets: Vec<Target>, value: Expr, span: Span, out: &mut Vec<Stmt>) {
    match value.kind {
        ExprKind::Block { block, value } => {
            out.extend(block);
            flat_assign(targets, *value, span, out);
        }
        _ => out.push(Stmt::Assign { targets, value, span }),
    }
}
