//! What a function takes and gives, as pages draw it and the search compares it.

use ravel_syntax::ast::{Bound, Comprehension, Expr, ExprKind, Function, Relation, StmtKind, TensorIndexKind, Type};
use ravel_syntax::{print_expr, print_type};
use std::fmt;

/// One function, without its body.
#[derive(Clone, Debug)]
pub struct Signature {
    /// Names and types, in order.
    pub params: Vec<(String, Pattern)>,
    pub results: Vec<Pattern>,
    /// The types as they are written, for the search of the pages: `int[d]; Any[d:s] -> Any[d:s]`.
    pub types: String,
    /// What the shape of the only result is, where the head names it and the body says it.
    shape: Option<String>,
}

/// An element type and what is known of the shape.
#[derive(Clone, Debug, PartialEq)]
pub struct Pattern {
    pub base: String,
    pub axes: Vec<Axis>,
}

/// What stands between the commas of a shape pattern.
#[derive(Clone, Debug, PartialEq)]
pub enum Axis {
    /// One axis of this extent.
    Extent(i64),
    /// One axis; its extent has a name unless this is empty.
    One(String),
    /// Several axes, whose number and whose extents may have a name.
    Many { count: String, least: usize, exactly: Option<usize>, name: String },
}

/// Patterns are compared in all ways to divide their axes.
const MOST_AXES: usize = 8;

impl Pattern {
    /// Reads `float[n, d:s]`; `None` if it is no type.
    pub fn parse(text: &str) -> Option<Pattern> {
        let text = text.trim();
        let (base, axes) = match text.split_once('[') {
            Some((base, rest)) => (base.trim(), rest.trim().strip_suffix(']')?),
            None => (text, ""),
        };
        let is_name = |c: char| c.is_alphanumeric() || "_:".contains(c);
        let plain = base.strip_prefix("struct ").unwrap_or(base);
        if plain.is_empty() || !plain.chars().all(is_name) || plain.starts_with(|c: char| c.is_ascii_digit()) {
            return None;
        }
        let axes = if axes.trim().is_empty() { Vec::new() } else { axes.split(',').collect() };
        if axes.len() > MOST_AXES {
            return None;
        }
        let axes: Option<Vec<Axis>> = axes.into_iter().map(|axis| Axis::parse(axis.trim())).collect();
        Some(Pattern { base: base.to_string(), axes: axes? })
    }
}

impl Axis {
    fn parse(text: &str) -> Option<Axis> {
        let name = |text: &str| -> Option<String> {
            let text = text.trim();
            let is_name = text.chars().all(|c| c.is_alphanumeric() || c == '_') && !text.is_empty();
            (is_name && !text.starts_with(|c: char| c.is_ascii_digit()))
                .then(|| if text == "_" { String::new() } else { text.to_string() })
        };
        let many = |count: String, least, exactly, name| Some(Axis::Many { count, least, exactly, name });
        match text {
            "." => return Some(Axis::One(String::new())),
            "*" => return many(String::new(), 0, None, String::new()),
            "+" => return many(String::new(), 1, None, String::new()),
            _ => {}
        }
        if let Ok(extent) = text.parse() {
            return Some(Axis::Extent(extent));
        }
        let Some((count, shape)) = text.split_once(':') else { return Some(Axis::One(name(text)?)) };
        let shape = name(shape)?;
        let few = |text: &str| text.trim().parse::<usize>().ok().filter(|n| *n <= MOST_AXES);
        if count.trim().starts_with(|c: char| c.is_ascii_digit()) {
            let exactly = few(count)?;
            return many(String::new(), exactly, Some(exactly), shape);
        }
        match count.split_once('>') {
            Some((count, more_than)) => many(name(count)?, few(more_than)? + 1, None, shape),
            None => many(name(count)?, 0, None, shape),
        }
    }
}

/// Several axes are drawn by the name of their extents alone.
impl fmt::Display for Axis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Axis::Extent(extent) => write!(f, "{extent}"),
            Axis::One(name) => f.write_str(if name.is_empty() { "." } else { name }),
            Axis::Many { name, least, exactly, .. } => match (name.as_str(), exactly) {
                ("", Some(exactly)) => f.write_str(&vec!["."; *exactly].join(",")),
                ("", None) => f.write_str(if *least > 0 { "+" } else { "*" }),
                (name, _) => f.write_str(name),
            },
        }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.base)?;
        if !self.axes.is_empty() {
            let axes: Vec<String> = self.axes.iter().map(Axis::to_string).collect();
            write!(f, "[{}]", axes.join(", "))?;
        }
        Ok(())
    }
}

/// `a: float[s], w: float[t] → float[s - t + 1]`
impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let params: Vec<String> = self.params.iter().map(|(name, ty)| format!("{name}: {ty}")).collect();
        f.write_str(&params.join(", "))?;
        if self.results.is_empty() {
            return Ok(());
        }
        f.write_str(if params.is_empty() { "→ " } else { " → " })?;
        match (&self.shape, &self.results[..]) {
            (Some(shape), [result]) => write!(f, "{}[{shape}]", result.base),
            (_, results) => f.write_str(&results.iter().map(Pattern::to_string).collect::<Vec<_>>().join(", ")),
        }
    }
}

impl Signature {
    /// That of a function; `None` if it takes or gives any number of values.
    pub fn of(function: &Function) -> Option<Signature> {
        if function.variadic_params || function.variadic_results {
            return None;
        }
        let pattern = |ty: &Type| Pattern::parse(&print_type(ty));
        let params = function.params.iter().map(|param| Some((param.name.name.to_string(), pattern(&param.ty)?)));
        let params: Option<Vec<_>> = params.collect();
        let results: Option<Vec<Pattern>> = function.results.iter().map(pattern).collect();
        let written = |types: Vec<&Type>| types.into_iter().map(print_type).collect::<Vec<_>>().join("; ");
        let types = format!(
            "{} -> {}",
            written(function.params.iter().map(|param| &param.ty).collect()),
            written(function.results.iter().collect())
        );
        Some(Signature { params: params?, results: results?, types, shape: shape_of(function) })
    }
}

/// What the body says of a result `[d:r]` whose `r` no parameter has: `return { iv -> .. | iv < s - t + 1 };`, where `s` and `t` are
/// shapes of `d` axes. Elements are scalars then, as the index has all `d` axes.
fn shape_of(function: &Function) -> Option<String> {
    let [result] = &function.results[..] else { return None };
    let [Axis::Many { count, name: r, .. }] = &Pattern::parse(&print_type(result))?.axes[..] else { return None };
    let patterns: Vec<Pattern> =
        function.params.iter().filter_map(|param| Pattern::parse(&print_type(&param.ty))).collect();
    let mut shapes = Vec::new();
    for axis in patterns.iter().flat_map(|pattern| &pattern.axes) {
        if let Axis::Many { count: other, name, .. } = axis
            && (other == count)
        {
            shapes.push(name.clone());
        }
    }
    if count.is_empty() || r.is_empty() || shapes.contains(r) {
        return None;
    }
    // Vectors of `d` elements are as good as shapes.
    for (param, pattern) in function.params.iter().zip(&patterns) {
        if pattern.base == "int" && pattern.axes == [Axis::One(count.clone())] {
            shapes.push(param.name.name.to_string());
        }
    }
    let comprehension = returned(function)?;
    let partition = comprehension.partitions.last()?;
    let (TensorIndexKind::Vector(_), Some((Relation::Less, Bound::Expr(bound)))) =
        (&partition.index.kind, &partition.upper)
    else {
        return None;
    };
    (is_of(bound, &shapes)).then(|| print_expr(bound))
}

/// The comprehension that a function gives, also by way of a variable.
fn returned(function: &Function) -> Option<&Comprehension> {
    let body = function.body.as_ref()?;
    let [value] = &body.ret.as_ref()?.values[..] else { return None };
    let made = match &value.kind {
        ExprKind::Name(name) => {
            let StmtKind::Assign { targets, op: None, value } = &body.stmts.last()?.kind else { return None };
            let [target] = &targets[..] else { return None };
            (target.accesses.is_empty() && target.name.name == name.name).then_some(value)?
        }
        _ => value,
    };
    match &made.kind {
        ExprKind::Comprehension(comprehension) => Some(comprehension),
        _ => None,
    }
}

/// Whether an expression is arithmetic on these shapes and numbers, at least one shape among them.
fn is_of(expr: &Expr, shapes: &[String]) -> bool {
    fn walk(expr: &Expr, shapes: &[String], seen: &mut bool) -> bool {
        match &expr.kind {
            ExprKind::Number(_) => true,
            ExprKind::Name(name) => {
                let known = shapes.iter().any(|shape| **shape == *name.name);
                *seen |= known;
                known
            }
            ExprKind::Binary { op, left, right } => {
                "+-*/".contains(&*op.name) && walk(left, shapes, seen) && walk(right, shapes, seen)
            }
            ExprKind::Call(call) => {
                ["min", "max"].contains(&&*call.callee.name) && call.args.iter().all(|arg| walk(arg, shapes, seen))
            }
            _ => false,
        }
    }
    let mut seen = false;
    walk(expr, shapes, &mut seen) && seen
}
