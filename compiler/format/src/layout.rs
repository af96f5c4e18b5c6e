//! The rules for expressions.
//!
//! A line end of the author's stays in front of an operator, behind a comma or semicolon, and in front of `|` and `:`. Where a line is still too long
//! the outermost of these places becomes one. What follows is aligned with what it belongs to.

use crate::lossless::Kind;
use crate::page::Mark;
use crate::rules::{Doc, Gap, INDENT, Laid, RIGHTMOST, RIGHTMOST_PARAMETERS, Rules, WIDTH};
use crate::shape::{Brackets, Chain, Choice, Comprehension, List, Shape, T, With};
use pretty::{DocAllocator, Render, RenderAnnotated};

/// Cells of a column that differ more in width are not aligned: the blanks would hide more than they show.
const MOST_PADDING: usize = 60;
/// Operands of no more characters are not left alone on a line: breaking behind them gains nothing.
const SHORTEST_LEFT: usize = 3;
/// Wider cells leave no room for what is aligned behind them.
const WIDEST_ALIGNED: usize = 80;

impl<'a> Rules<'a> {
    pub(crate) fn expression(&mut self, shape: &'a Shape) -> Laid<'a> {
        match shape {
            Shape::Token(token) => self.token(*token),
            Shape::Glued(parts) => self.sequence(parts, Gap::Nothing),
            Shape::Spaced(parts) => self.sequence(parts, Gap::Blank),
            Shape::Tight(inner) => {
                let before = std::mem::replace(&mut self.tight, true);
                let laid = self.expression(inner);
                self.tight = before;
                laid
            }
            Shape::Chain(chain) => self.chain(chain),
            Shape::Choice(choice) => self.choice(choice),
            Shape::List(list) => self.list(list),
            Shape::With(with) => self.with_loop(with),
            Shape::Comprehension(comprehension) => self.comprehension(comprehension),
            other => self.statement(other),
        }
    }

    pub(crate) fn sequence(&mut self, parts: &'a [Shape], gap: Gap) -> Laid<'a> {
        let mut laid = self.nil();
        let mut rows = false;
        for (number, part) in parts.iter().enumerate() {
            if number > 0 {
                // Strings that follow one another may stand below one another.
                let is_string = |token: T| self.lexed.tokens[token].kind == Kind::Quoted;
                let ends = gap == Gap::Blank && is_string(self.at) && is_string(self.at - 1) && self.begins_line();
                rows |= ends;
                laid = laid.then(self.gap(match () {
                    () if ends => Gap::LineEnd,
                    () if self.tight => Gap::Nothing,
                    () => gap,
                }));
            }
            laid = laid.then(self.expression(part));
        }
        if rows { self.align(laid) } else { laid }
    }

    /// A separator and what follows it: on the next line if the author put it there, or if it does not fit on this one.
    fn next_line_if_needed(&mut self, gap: Laid<'a>, next: Laid<'a>) -> Laid<'a> {
        if gap.breaks {
            gap.then(next)
        } else if next.breaks {
            // It takes more than a line anyway: its beginning decides.
            gap.group().then(next)
        } else {
            gap.then(next).group()
        }
    }

    fn chain(&mut self, chain: &'a Chain) -> Laid<'a> {
        let mut laid = self.expression(&chain.first);
        let mut stays =
            matches!(&chain.first, Shape::Token(token) if self.lexed.text_of(*token).len() <= SHORTEST_LEFT);
        for (operator, operand) in &chain.rest {
            let first_of_operand = operator[operator.len() - 1] + 1;
            let breaks = self.begins_line() || self.lexed.breaks_before(first_of_operand);
            let gap = match () {
                () if self.tight => Gap::Nothing,
                () if breaks => Gap::LineEnd,
                () if stays => Gap::Blank,
                () => Gap::Line,
            };
            stays = false;
            let gap = self.gap(gap);
            let mut next = self.nil();
            for (number, token) in operator.iter().enumerate() {
                next = next.then(if number == 0 { self.token(*token) } else { self.next(Gap::Nothing, *token) });
            }
            next = next.then(self.gap(if self.tight { Gap::Nothing } else { Gap::Blank }));
            next = next.then(self.expression(operand));
            laid = laid.then(self.next_line_if_needed(gap, next));
        }
        self.align(laid)
    }

    /// The values of all conditions stand below one another, the last two too.
    fn choice(&mut self, choice: &'a Choice) -> Laid<'a> {
        let breaks = choice.arms.iter().any(|arm| {
            [arm.question, arm.question + 1, arm.colon, arm.colon + 1]
                .iter()
                .any(|token| self.lexed.breaks_before(*token))
        });
        let gap = if breaks { Gap::LineEnd } else { Gap::Line };
        let mut laid = self.nil();
        let (first, last) = (self.at, choice.arms.len() - 1);
        for (number, arm) in choice.arms.iter().enumerate() {
            laid = laid.then(self.expression(&arm.condition));
            let breaks_question = self.begins_line() || self.lexed.breaks_before(arm.question + 1);
            let before = self.gap(if breaks_question { Gap::LineEnd } else { Gap::Blank });
            let question = self.token(arm.question).then(self.gap(Gap::Blank));
            let value = self.expression(&arm.value);
            let value = question.then(self.align(value));
            let below = number == last && !self.ends_like_others(first, choice);
            let colon = self.gap(gap);
            let colon = colon.then(self.token(arm.colon)).then(self.gap(Gap::Blank));
            if below {
                let otherwise = self.expression(&choice.otherwise);
                let both = value.then(colon).then(self.align(otherwise));
                let both = self.align(both);
                let both = before.then(both);
                laid = laid.then(if breaks_question { both.nest() } else { both });
            } else {
                laid = laid.then(before.then(value));
                laid = laid.then(Laid { doc: colon.doc.nest(-2), breaks: colon.breaks });
                if number == last {
                    let otherwise = self.expression(&choice.otherwise);
                    laid = laid.then(self.align(otherwise));
                }
            }
        }
        self.align(laid).group()
    }

    /// Whether the author put the last `:` in front of the column where the first condition begins, as all others stand.
    fn ends_like_others(&self, first: T, choice: &Choice) -> bool {
        choice.arms.last().is_some_and(|arm| {
            let column = |token: T| self.lexed.code_column(self.lexed.tokens[token].start);
            self.lexed.tokens[arm.colon].lines > 0 && column(arm.colon) + 2 == column(first)
        })
    }

    /// Elements with what separates them, as many on a line as fit. Line ends of the author's stay, if his lines fit.
    pub(crate) fn separated(&mut self, elements: &'a [(Shape, Option<T>)]) -> Laid<'a> {
        self.filled(elements)
    }

    fn filled(&mut self, elements: &'a [(Shape, Option<T>)]) -> Laid<'a> {
        let mut laid = self.nil();
        let start = self.at;
        let behind = elements.iter().rev().find_map(|(_, separator)| *separator).map_or(start, |last| last + 1);
        let keeps = !self.lexed.is_too_wide(start, behind, WIDTH);
        for (number, (element, separator)) in elements.iter().enumerate() {
            let gap = (number > 0).then(|| {
                let gap = match () {
                    () if matches!(element, Shape::Glued(parts) if parts.is_empty()) => Gap::Nothing,
                    () if keeps && self.begins_line() => Gap::LineEnd,
                    () if self.tight => Gap::LineOrNothing,
                    () => Gap::Line,
                };
                self.gap(gap)
            });
            let next = self.with_separator(element, *separator);
            laid = match gap {
                Some(gap) => laid.then(self.next_line_if_needed(gap, next)),
                None => laid.then(next),
            };
        }
        laid
    }

    fn with_separator(&mut self, element: &'a Shape, separator: Option<T>) -> Laid<'a> {
        let mut laid = self.expression(element);
        if let Some(separator) = separator {
            laid = laid.then(self.next(Gap::Nothing, separator));
        }
        laid
    }

    fn list(&mut self, list: &'a List) -> Laid<'a> {
        let are_parameters = std::mem::take(&mut self.are_parameters);
        let open = self.token(list.open);
        if list.elements.is_empty() {
            return open.then(self.next(Gap::Nothing, list.close));
        }
        let narrow = self.tight || list.brackets == Brackets::Square && self.is_narrow(list);
        let before = std::mem::replace(&mut self.tight, narrow);
        let laid = self.list_inner(list, open, are_parameters);
        self.tight = before;
        laid
    }

    fn list_inner(&mut self, list: &'a List, open: Laid<'a>, are_parameters: bool) -> Laid<'a> {
        let on_own_lines = self.begins_line();
        if list.brackets == Brackets::Curly && !on_own_lines {
            let before = self.gap(Gap::Blank);
            let inner = self.filled(&list.elements).then(self.gap(Gap::Blank));
            return open.then(before).then(self.align(inner)).then(self.token(list.close));
        }
        if matches!(list.brackets, Brackets::Curly | Brackets::Names) {
            let before = self.gap(if on_own_lines { Gap::LineEnd } else { Gap::Line });
            let inner = self.filled(&list.elements);
            let (comments, end) = self.gap_in_two(if on_own_lines { Gap::LineEnd } else { Gap::Line });
            let laid = open.then(before.then(inner).then(comments).nest()).then(end);
            return laid.then(self.token(list.close)).group();
        }
        if on_own_lines {
            let before = self.gap(Gap::LineEnd);
            let inner = self.rows(list);
            let close = if self.begins_line() { Gap::LineEnd } else { Gap::Nothing };
            let (comments, end) = self.gap_in_two(close);
            return open.then(before.then(inner).then(comments).nest()).then(end).then(self.token(list.close));
        }
        let before = self.gap(Gap::Nothing);
        let inner = before.then(self.rows(list)).then(self.gap(Gap::Nothing));
        // A sole with-loop is indented like one that is assigned.
        let sole = list.elements.len() == 1 && matches!(list.elements[0].0, Shape::With(_));
        let rightmost = if are_parameters { RIGHTMOST_PARAMETERS } else { RIGHTMOST };
        let indent = if list.elements.len() > 1 { INDENT } else { 0 };
        let inner = if sole { inner } else { self.align_up_to(inner, rightmost, indent) };
        open.then(inner).then(self.token(list.close))
    }

    /// Whether the author left out all blanks between these brackets, as in `a[i+1,j]`.
    fn is_narrow(&self, list: &List) -> bool {
        (list.open + 1..=list.close).all(|token| {
            let token = &self.lexed.tokens[token];
            let simple = match token.kind {
                Kind::Open | Kind::Close => !matches!(self.lexed.text.as_bytes()[token.start], b'{' | b'}'),
                Kind::Question | Kind::Assign | Kind::Arrow | Kind::Semi | Kind::Directive | Kind::Raw => false,
                _ => true,
            };
            simple && (!token.spaced || token.lines > 0) && token.comments.0 == token.comments.1
        })
    }

    /// The elements of a list. If the author wrote rows of an array below one another, their columns are aligned.
    fn rows(&mut self, list: &'a List) -> Laid<'a> {
        let begins: Vec<bool> = list
            .elements
            .iter()
            .enumerate()
            .map(|(number, _)| {
                number > 0 && list.elements[number - 1].1.is_some_and(|comma| self.lexed.breaks_before(comma + 1))
            })
            .collect();
        let is_array = list.brackets == Brackets::Square && begins.contains(&true);
        if !is_array
            || (self.at..list.close)
                .any(|token| self.lexed.tokens[token + 1].comments.0 < self.lexed.tokens[token + 1].comments.1)
        {
            return self.filled(&list.elements);
        }
        match self.table(list, &begins) {
            Some(table) => table,
            None => self.filled(&list.elements),
        }
    }

    /// Rows of as many cells each, where a row is an array or a line of numbers.
    fn table(&mut self, list: &'a List, begins: &[bool]) -> Option<Laid<'a>> {
        let rows: Vec<&'a [(Shape, Option<T>)]> = if begins[1..].iter().all(|begins| *begins) {
            let inner = |element: &'a (Shape, Option<T>)| match &element.0 {
                Shape::List(row) if row.brackets == Brackets::Square => Some(&row.elements[..]),
                _ => None,
            };
            list.elements.iter().map(inner).collect::<Option<_>>()?
        } else {
            let mut starts: Vec<usize> = (0..begins.len()).filter(|at| *at == 0 || begins[*at]).collect();
            starts.push(begins.len());
            starts.windows(2).map(|pair| &list.elements[pair[0]..pair[1]]).collect()
        };
        let columns = rows[0].len();
        let even = rows
            .iter()
            .enumerate()
            .all(|(at, row)| row.len() == columns || at + 1 == rows.len() && row.len() < columns);
        if columns < 2 || !even {
            return None;
        }
        let mut widths = vec![(usize::MAX, 0); columns];
        for row in &rows {
            for (column, (cell, _)) in row.iter().enumerate() {
                let width = self.number_width(cell)?;
                widths[column] = (widths[column].0.min(width), widths[column].1.max(width));
            }
        }
        let total: usize = widths.iter().map(|(_, most)| most + 2).sum();
        if total > WIDTH - 20 || widths.iter().any(|(least, most)| most - least > MOST_PADDING) {
            return None;
        }
        let nested = matches!(rows[0].as_ptr_range().start, start if !std::ptr::eq(start, list.elements.as_ptr()));
        // Where blanks pad, others stand behind the commas as well.
        let inner_narrow = |row: &List| self.is_narrow(row);
        let narrow = widths.iter().all(|(least, most)| least == most)
            && (self.tight
                || list.elements.iter().all(|(element, _)| matches!(element, Shape::List(row) if inner_narrow(row))));
        let mut laid = self.nil();
        for (number, row) in rows.iter().enumerate() {
            if number > 0 {
                laid = laid.then(self.gap(Gap::LineEnd));
            }
            let outer = nested.then(|| &list.elements[number]);
            if let Some((Shape::List(inner), _)) = outer {
                laid = laid.then(self.token(inner.open)).then(self.gap(Gap::Nothing));
            }
            for (column, (cell, separator)) in row.iter().enumerate() {
                if column > 0 {
                    laid = laid.then(self.gap(if narrow { Gap::Nothing } else { Gap::Blank }));
                }
                let padding = widths[column].1 - self.number_width(cell)?;
                laid.doc = laid.doc.append(self.padding(padding));
                laid = laid.then(self.with_separator(cell, *separator));
            }
            if let Some((Shape::List(inner), separator)) = outer {
                laid = laid.then(self.next(Gap::Nothing, inner.close));
                if let Some(separator) = separator {
                    laid = laid.then(self.next(Gap::Nothing, *separator));
                }
            }
        }
        Some(laid)
    }

    fn padding(&self, blanks: usize) -> Doc<'a> {
        if blanks == 0 { self.arena.nil() } else { self.arena.text(" ".repeat(blanks)) }
    }

    /// How wide a number or a name is, with its sign.
    fn number_width(&self, cell: &Shape) -> Option<usize> {
        match cell {
            Shape::Token(token) => {
                let kind = self.lexed.tokens[*token].kind;
                matches!(kind, Kind::Number | Kind::Word | Kind::Quoted)
                    .then(|| self.lexed.text_of(*token).chars().count())
            }
            Shape::Glued(parts) => parts
                .iter()
                .map(|part| match part {
                    Shape::Token(token)
                        if matches!(self.lexed.tokens[*token].kind, Kind::Number | Kind::Operator | Kind::Word) =>
                    {
                        Some(self.lexed.text_of(*token).chars().count())
                    }
                    _ => None,
                })
                .sum(),
            _ => None,
        }
    }

    fn with_loop(&mut self, with: &'a With) -> Laid<'a> {
        let many_lines = self.lexed.breaks_within(with.body.open, with.body.close);
        let laid = self.token(with.with).then(self.gap(Gap::Blank));
        let laid = laid.then(self.block(&with.body));
        // The operators stay on a line of their own below partitions on a single one.
        let own_line =
            self.begins_line() && !many_lines && flat_width(&laid).is_some_and(|width| width <= WIDEST_ALIGNED);
        let gap = self.gap(if own_line { Gap::LineEnd } else { Gap::Blank });
        let operators =
            gap.then(self.token(with.colon)).then(self.gap(Gap::Blank)).then(self.expression(&with.operators));
        // If all of it does not fit on a line, the partitions get lines of their own.
        if own_line { self.align(laid.group().then(operators)) } else { laid.then(operators).group() }
    }

    fn comprehension(&mut self, comprehension: &'a Comprehension) -> Laid<'a> {
        let open = self.token(comprehension.open).then(self.gap(Gap::Blank));
        let mut parts = Vec::new();
        for (number, partition) in comprehension.partitions.iter().enumerate() {
            let separator = (number > 0).then(|| self.line_or_end(self.begins_line()));
            let mut cell = self.expression(&partition.index);
            cell = cell.then(self.next(Gap::Blank, partition.arrow)).then(self.gap(Gap::Blank));
            let value = self.expression(&partition.cell);
            cell = cell.then(self.align(value));
            let mut rest = self.nil();
            let mut bar_gap = None;
            if let Some((bar, bounds)) = &partition.bounds {
                bar_gap = Some(self.line_or_end(self.begins_line() || self.lexed.breaks_before(bar + 1)));
                let bar = self.token(*bar).then(self.gap(Gap::Blank));
                let bounds = self.expression(bounds);
                rest = bar.then(self.align(bounds));
            }
            if let Some(semicolon) = partition.semicolon {
                rest = rest.then(self.next(Gap::Nothing, semicolon));
            }
            parts.push((separator, cell, bar_gap, rest));
        }
        let paddings = if self.aligns_bars(comprehension) { bar_paddings(&parts) } else { None };
        let mut inner = self.nil();
        for (number, (separator, mut cell, bar_gap, rest)) in parts.into_iter().enumerate() {
            if let Some(paddings) = &paddings {
                cell.doc = cell.doc.append(self.padding(paddings[number]));
            }
            let laid = match bar_gap {
                Some(gap) => cell.then(self.next_line_if_needed(gap, rest)),
                None => cell.then(rest),
            };
            inner = match separator {
                Some(gap) => inner.then(self.next_line_if_needed(gap, self.align(laid))),
                None => self.align(laid),
            };
        }
        let inner = inner.then(self.gap(Gap::Blank));
        let inner = self.align(inner);
        open.then(inner).then(self.token(comprehension.close))
    }

    /// Whether the author put more than one blank in front of some bar.
    fn aligns_bars(&self, comprehension: &Comprehension) -> bool {
        comprehension.partitions.iter().any(|partition| {
            let bar = partition.bounds.as_ref().map(|(bar, _)| &self.lexed.tokens[*bar]);
            bar.is_some_and(|bar| bar.lines == 0 && self.lexed.text[..bar.start].ends_with("  "))
        })
    }

    fn line_or_end(&mut self, ends: bool) -> Laid<'a> {
        self.gap(if ends { Gap::LineEnd } else { Gap::Line })
    }
}

/// What separates a partition from the one before, its cell, what separates that from its bounds, and these.
type PartitionParts<'a> = (Option<Laid<'a>>, Laid<'a>, Option<Laid<'a>>, Laid<'a>);

/// Blanks before the bars of partitions that stand below one another on a line each; nothing if they do not.
fn bar_paddings(parts: &[PartitionParts<'_>]) -> Option<Vec<usize>> {
    let mut widths = Vec::new();
    for (number, (separator, cell, bar_gap, _)) in parts.iter().enumerate() {
        let own_line = number == 0 || separator.as_ref().is_some_and(|separator| separator.breaks);
        if !own_line || bar_gap.as_ref()?.breaks {
            return None;
        }
        widths.push(flat_width(cell)?);
    }
    let (most, least) = (*widths.iter().max()?, *widths.iter().min()?);
    let fits = most - least <= MOST_PADDING && most <= WIDEST_ALIGNED && parts.len() > 1;
    fits.then(|| widths.iter().map(|width| most - width).collect())
}

/// The width of a document on one line; nothing if it takes more, or has comments.
fn flat_width(laid: &Laid<'_>) -> Option<usize> {
    let mut ruler = Ruler::default();
    let whole = laid.doc.clone().into_doc();
    whole.render_raw(usize::MAX / 2, &mut ruler).ok()?;
    (!laid.breaks && !ruler.uneven).then_some(ruler.width)
}

/// Counts characters.
#[derive(Default)]
struct Ruler {
    width: usize,
    uneven: bool,
}

impl Render for Ruler {
    type Error = std::fmt::Error;

    fn write_str(&mut self, text: &str) -> Result<usize, Self::Error> {
        self.uneven |= text.contains('\n');
        self.width += text.chars().count();
        Ok(text.len())
    }

    fn fail_doc(&self) -> Self::Error {
        std::fmt::Error
    }
}

impl RenderAnnotated<'_, Mark> for Ruler {
    fn push_annotation(&mut self, _: &Mark) -> Result<(), Self::Error> {
        self.uneven = true;
        Ok(())
    }

    fn pop_annotation(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }
}
