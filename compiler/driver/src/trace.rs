//! What the interpreter does, as indented lines on standard error.
//!
//! ```text
//! main()
//!   normed(double[3])                        a.sac:13:11
//!     with [0] <= iv < [3] -> double         a.sac:7:13
//!     with [0] <= iv < [3] -> double[3]      a.sac:8:12
//!       alloc double[3], 24 bytes            a.sac:8:12
//!   = double[3]
//! ```
//!
//! A trace stays readable: of what one place does again and again within one call or with-loop only the first few are shown, with all that
//! they do, and there is a limit for all lines. Everything is counted, and the end of the trace says what was left out.

use crate::pipeline::Compilation;
use ravel_interp::{Bounds, Event, Observer, Val};
use ravel_source::{SourceMap, Span};
use ravel_specialize::Exported;
use ravel_specialize::value::{Kind, ScKind};
use ravel_types::{Basic, Elem, Scalar};
use ravel_wir::FuncId;
use std::collections::BTreeMap;
use std::collections::HashMap;
use std::io::Write;

/// What is traced.
#[derive(Clone, Copy, Debug, Default)]
pub struct Trace {
    pub calls: bool,
    pub allocations: bool,
    pub with_loops: bool,
}

/// What functions take and give: constants are not passed when the program runs.
pub type Signatures = ravel_types::HashMap<FuncId, Exported>;

/// Lines of a trace.
const MOST_LINES: u64 = 5000;

/// How often one place is shown within one call or with-loop.
const MOST_REPEATS: u64 = 5;

/// Levels that are indented; deeper ones have their number.
const MOST_INDENTS: usize = 30;

/// Functions that the end of a trace names.
const MOST_NAMES: usize = 10;

/// Where places stand in a line.
const COLUMN: usize = 60;

/// What can repeat itself.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Sort {
    Call,
    With,
    Allocation,
}

/// A call or with-loop at work.
struct Level {
    /// The function, of a call.
    func: Option<FuncId>,
    is_shown: bool,
    /// Of each place inside, how often it came; the name of what is called there.
    seen: HashMap<(Sort, Span), (u64, String)>,
}

#[derive(Default)]
struct Counts {
    calls: BTreeMap<String, u64>,
    with_loops: u64,
    allocations: u64,
    bytes: u128,
    lines: u64,
    is_cut: bool,
}

/// Prints a trace.
pub struct Tracer<'a> {
    trace: Trace,
    map: &'a SourceMap,
    signatures: &'a Signatures,
    levels: Vec<Level>,
    /// A line that waits for its end: `f(1)` or `with`, and its place.
    open: Option<(String, Span)>,
    counts: Counts,
}

impl Compilation {
    pub(crate) fn tracer(&self) -> Option<Tracer<'_>> {
        let trace = self.options.trace;
        let is_wanted = trace.calls || trace.allocations || trace.with_loops;
        let root = Level { func: None, is_shown: true, seen: HashMap::new() };
        is_wanted.then(|| Tracer {
            trace,
            map: &self.map,
            signatures: &self.signatures,
            levels: vec![root],
            open: None,
            counts: Counts::default(),
        })
    }
}

impl Observer for Tracer<'_> {
    fn event(&mut self, event: Event<'_>, span: Span) {
        match event {
            Event::Call { func, name, arguments } => {
                match self.counts.calls.get_mut(name) {
                    Some(count) => *count += 1,
                    None => drop(self.counts.calls.insert(name.to_string(), 1)),
                }
                if self.trace.calls {
                    let params = self.signatures.get(&func).map(|signature| &signature.params[..]);
                    let text = || format!("{name}({})", list(params, arguments));
                    self.begin(Sort::Call, span, (name, Some(func)), text);
                }
            }
            Event::Return { results } => {
                if self.trace.calls {
                    self.end(" = ", results);
                }
            }
            Event::With => {
                self.counts.with_loops += 1;
                if self.trace.with_loops {
                    self.begin(Sort::With, span, ("", None), || "with".to_string());
                }
            }
            Event::Partition(bounds) => {
                if let (true, Some((text, _))) = (self.trace.with_loops, &mut self.open) {
                    text.push_str(if text.len() > "with".len() { ", " } else { " " });
                    text.push_str(&shown_bounds(&bounds));
                } else if self.trace.with_loops && self.levels.last().is_some_and(|level| level.is_shown) {
                    self.line(&format!("then {}", shown_bounds(&bounds)), span);
                }
            }
            Event::WithEnd { results } => {
                if self.trace.with_loops {
                    self.end(" -> ", results);
                }
            }
            Event::Allocation { elem, shape, bytes } => {
                self.counts.allocations += 1;
                self.counts.bytes += bytes as u128;
                if self.trace.allocations && self.is_shown(Sort::Allocation, span, "") {
                    self.settle();
                    self.line(&format!("alloc {}, {bytes} bytes", of_shape(elem, shape)), span);
                }
            }
        }
    }
}

impl Tracer<'_> {
    /// Notes that something happens at a place; whether that is shown.
    fn is_shown(&mut self, sort: Sort, span: Span, name: &str) -> bool {
        let Some(level) = self.levels.last_mut() else { return false };
        if !level.is_shown {
            return false;
        }
        let (count, _) = level.seen.entry((sort, span)).or_insert_with(|| (0, name.to_string()));
        *count += 1;
        if *count > MOST_REPEATS {
            return false;
        }
        self.counts.is_cut |= self.counts.lines >= MOST_LINES;
        !self.counts.is_cut
    }

    fn begin(&mut self, sort: Sort, span: Span, (name, func): (&str, Option<FuncId>), text: impl FnOnce() -> String) {
        let is_shown = self.is_shown(sort, span, name);
        if is_shown {
            self.settle();
            self.open = Some((text(), span));
        }
        self.levels.push(Level { func, is_shown, seen: HashMap::new() });
    }

    /// Ends the call or with-loop at work, on its line if nothing stands between.
    fn end(&mut self, sign: &str, results: &[Val]) {
        let Some(level) = self.levels.pop() else { return };
        if !level.is_shown {
            return;
        }
        let kinds = level.func.and_then(|func| self.signatures.get(&func)).map(|signature| &signature.results[..]);
        let shown = list(kinds, results);
        if let Some((text, span)) = self.open.take() {
            // The level is closed already.
            let results = if shown.is_empty() { String::new() } else { format!("{sign}{shown}") };
            self.line(&format!("{text}{results}"), span);
            return;
        }
        self.rest(level);
        if !shown.is_empty() {
            self.line(&format!("{}{shown}", sign.trim_start()), Span::NONE);
        }
    }

    /// What happened too often in a call or with-loop that has ended.
    fn rest(&mut self, level: Level) {
        let mut more: Vec<_> = level.seen.into_iter().filter(|(_, (count, _))| *count > MOST_REPEATS).collect();
        more.sort_by_key(|((sort, span), _)| (*sort, *span));
        for ((sort, span), (count, name)) in more {
            let count = count - MOST_REPEATS;
            let plural = if count == 1 { "" } else { "s" };
            let what = match sort {
                Sort::Call => format!("call{plural} of {name}"),
                Sort::With => format!("with-loop{plural}"),
                Sort::Allocation => format!("allocation{plural}"),
            };
            self.print(self.levels.len(), &format!("... and {count} more {what}"), span);
        }
    }

    /// Prints the line that waits, since something stands below it.
    fn settle(&mut self) {
        if let Some((text, span)) = self.open.take() {
            let depth = self.levels.len().saturating_sub(2);
            self.print(depth, &text, span);
        }
    }

    /// A line inside the call or with-loop at work.
    fn line(&mut self, text: &str, span: Span) {
        self.print(self.levels.len().saturating_sub(1), text, span);
    }

    fn print(&mut self, depth: usize, text: &str, span: Span) {
        if self.counts.lines >= MOST_LINES {
            self.counts.is_cut = true;
            return;
        }
        self.counts.lines += 1;
        let mut line = "  ".repeat(depth.min(MOST_INDENTS));
        if depth > MOST_INDENTS {
            line.push_str(&format!("[{depth}] "));
        }
        line.push_str(text);
        if !span.is_none() {
            let width = line.chars().count();
            line.push_str(&" ".repeat(COLUMN.saturating_sub(width).max(2)));
            line.push_str(&self.map.describe(span));
        }
        line.push('\n');
        // What the program printed before stands before it, where both go to one terminal.
        ravel_runtime::stream::flush_stdout();
        // Where nobody listens, the program runs on.
        let _ = std::io::stderr().write_all(line.as_bytes());
    }

    /// What happened in all.
    fn summary(&self) -> String {
        let Counts { calls, with_loops, allocations, bytes, .. } = &self.counts;
        let all: u64 = calls.values().sum();
        let mut text = format!(
            "trace: {}, {}, {} of {bytes} bytes in all\n",
            number(all, "call"),
            number(*with_loops, "with-loop"),
            number(*allocations, "allocation")
        );
        if self.counts.is_cut {
            text.push_str(&format!("trace: cut after {MOST_LINES} lines; what came behind was only counted\n"));
        }
        if self.trace.calls && self.counts.is_cut {
            let mut names: Vec<_> = calls.iter().collect();
            names.sort_by_key(|(name, count)| (std::cmp::Reverse(**count), *name));
            for (name, count) in names.iter().take(MOST_NAMES) {
                text.push_str(&format!("{count:>12} of {name}\n"));
            }
        }
        text
    }
}

impl Drop for Tracer<'_> {
    fn drop(&mut self) {
        self.settle();
        // A run that ends early leaves calls open.
        while let Some(level) = self.levels.pop() {
            if level.is_shown {
                self.rest(level);
            }
        }
        let _ = std::io::stderr().write_all(self.summary().as_bytes());
    }
}

fn number(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// `double[3]`.
fn of_shape(elem: Elem, shape: &[i64]) -> String {
    let extents: Vec<String> = shape.iter().map(i64::to_string).collect();
    format!("{}[{}]", in_sac(elem), extents.join(","))
}

/// An element type as programs write it.
fn in_sac(elem: Elem) -> &'static str {
    Basic::ALL.iter().find(|basic| basic.elem() == elem).map_or("object", |basic| basic.name())
}

/// Values of these kinds: scalars themselves, arrays with their shapes.
fn list(kinds: Option<&[Kind]>, values: &[Val]) -> String {
    let mut values = values.iter();
    let shown: Vec<String> = match kinds {
        Some(kinds) => kinds.iter().map(|kind| of_kind(kind, &mut values)).collect(),
        None => values.map(of_value).collect(),
    };
    shown.join(", ")
}

/// A value that was taken apart, or was known to the compiler.
fn of_kind(kind: &Kind, values: &mut std::slice::Iter<'_, Val>) -> String {
    let mut next = || values.next().map_or("?".to_string(), of_value);
    let mut scalar = |kind: &ScKind| match kind {
        ScKind::Const(constant) => of_scalar(*constant),
        _ => next(),
    };
    match kind {
        Kind::Sc(_, kind) => scalar(kind),
        Kind::Tup(_, kinds) => format!("[{}]", kinds.iter().map(scalar).collect::<Vec<_>>().join(", ")),
        Kind::Arr(..) | Kind::Handle(_) => next(),
        Kind::Wrapped(_, kind) => of_kind(kind, values),
        Kind::Struct(_, kinds) => {
            let members: Vec<String> = kinds.iter().map(|kind| of_kind(kind, values)).collect();
            format!("{{{}}}", members.join(", "))
        }
        Kind::Bottom => "?".to_string(),
    }
}

fn of_value(value: &Val) -> String {
    match value {
        Val::Scalar(scalar) => of_scalar(*scalar),
        Val::Handle(_) => "object".to_string(),
        Val::Array(array) => of_shape(array.elem, &array.shape),
    }
}

fn of_scalar(scalar: Scalar) -> String {
    match scalar {
        Scalar::Char(c) => format!("{:?}", char::from(c)),
        other => other.to_string(),
    }
}

/// `[0,0] <= iv < [3,4] step [2,2]`.
fn shown_bounds(bounds: &Bounds<'_>) -> String {
    let vector = |numbers: &[i64]| numbers.iter().map(i64::to_string).collect::<Vec<_>>().join(",");
    let mut text = format!("[{}] <= iv < [{}]", vector(bounds.lower), vector(bounds.upper));
    if bounds.step.iter().any(|step| *step != 1) {
        text.push_str(&format!(" step [{}]", vector(bounds.step)));
        if bounds.width.iter().any(|width| *width != 1) {
            text.push_str(&format!(" width [{}]", vector(bounds.width)));
        }
    }
    text
}
