//! Words of errors about with-loops, comprehensions and selections.

use crate::diagnostics::count;
use ravel_diagnostics::{Code, Diagnostic, Fix};
use ravel_source::Span;
use ravel_syntax::{Axis, assigned_part, ast, print_expr};

pub fn no_bound(name: &str, at: Span, list: bool) -> Diagnostic {
    let forms = if list { format!("`A[{name}]` or `A[..., {name}]`") } else { format!("`A[{name}]`") };
    Diagnostic::error(Code::NoUpperBound, format!("no upper bound for `{name}`"))
        .at(at, "the last partition must have one")
        .with_note(format!("a bound is found only from a selection {forms} where `{name}` stands alone"))
        .with_help(format!("add a bound, as in `| {} < shape`", if list { "[i, j]" } else { name }))
}

pub fn dot_bound(at: Span) -> Diagnostic {
    Diagnostic::error(Code::PartitionMismatch, "`.` cannot be the upper bound of the last partition")
        .at(at, "this bound decides the shape of the result")
}

pub fn index_lengths(at: Span, first: Span) -> Diagnostic {
    Diagnostic::error(Code::PartitionMismatch, "partitions of one comprehension must have indices of one length")
        .at(at, "this index is longer or shorter")
        .with_label(first, "another length here")
}

pub fn dots_differ(at: Span) -> Diagnostic {
    Diagnostic::error(Code::PartitionMismatch, "partitions of one comprehension must place their cells alike")
        .at(at, "other dots than in the partitions before")
}

/// A with-loop of several operations, or of none, where one value is taken.
pub fn several_operations(operations: usize, at: Span) -> Diagnostic {
    let report = Diagnostic::error(
        Code::ValueCount,
        format!("this with-loop gives {}, and one is taken here", count(operations, "value")),
    )
    .at(at, "each operation behind `:` gives a value");
    match operations {
        0 => report,
        n => {
            let names: Vec<String> = (1..=n).map(|k| format!("r{k}")).collect();
            report.with_help(format!("name a target for each: `{} = with {{ ... }}`", names.join(", ")))
        }
    }
}

/// Several targets of a comprehension whose cells have one value.
pub fn one_value_of_cells(targets: usize, at: Span) -> Diagnostic {
    Diagnostic::error(Code::ValueCount, format!("{targets} values are taken, and each cell has one"))
        .at(at, "the value of a cell")
        .with_note("several arrays come from a call with as many results, or from as many comprehensions")
}

pub fn value_count(values: usize, operations: usize, at: Span) -> Diagnostic {
    Diagnostic::error(Code::ValueCount, format!("{} for {}", count(values, "value"), count(operations, "operation")))
        .at(at, "one value for each operation is needed")
}

pub fn dot_in_assignment(at: Span) -> Diagnostic {
    Diagnostic::error(Code::DotInTarget, "dots cannot stand on the left of `=`")
        .at(at, "this dot")
        .with_note("a short index such as `a[i]` replaces a whole row")
}

/// Adds to the report of dots in a target the statement that does what was meant.
pub fn with_assigned_axes(
    report: &mut Diagnostic,
    target: &ast::LValue,
    (op, value): (Option<&ast::QName>, &ast::Expr),
    (statement, end): (Span, &str),
) {
    let ([ast::Access::Index { selectors, .. }], Code::DotInTarget) = (target.accesses.as_slice(), report.code) else {
        return;
    };
    let axes: Option<Vec<Axis>> = selectors
        .iter()
        .map(|selector| match selector {
            ast::Selector::Expr(expr) => Some(Axis::Place(print_expr(expr))),
            ast::Selector::Dot(_) => Some(Axis::WHOLE),
            ast::Selector::Dots(_) => None,
        })
        .collect();
    let Some(axes) = axes else { return };
    let sign = op.map_or("", |op| &*op.name);
    let (text, safe) = assigned_part(&target.name.name, &axes, sign, &print_expr(value));
    let text = format!("{text}{end}");
    let title = format!("`{text}`");
    if !safe {
        report.notes.push("a scalar on the right stands there without an index".to_string());
    }
    report.help = Some(title.clone());
    report.fixes.push(Fix { title, safe, edits: vec![(statement, text)] });
}

pub fn fold_primitive(name: &str, at: Span) -> Diagnostic {
    Diagnostic::error(Code::BadPrimitive, format!("primitive `{name}` cannot be folded with"))
        .at(at, "no function to call")
        .with_help("use an operator such as `+`, or write a function around it")
}

/// A form of module `AutoDiff` as the function of a fold.
pub fn fold_form(name: &str, at: Span) -> Diagnostic {
    Diagnostic::error(Code::WrongCounts, format!("`{name}` is no function to fold with"))
        .at(at, "a form that takes an expression")
        .with_help("write a function around it")
}
