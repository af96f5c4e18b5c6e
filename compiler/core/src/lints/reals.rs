//! Integer divisions whose result becomes real, and reals that are compared for equality.

use super::constants::{Value, value};
use super::kinds::{Kind, Kinds};
use super::{Look, each_expr};
use ravel_diagnostics::{Code, Diagnostic};
use ravel_syntax::ast::*;

pub(super) fn look(function: &Function, look: &mut Look<'_>) {
    let divisions = look.is_on(Code::IntegerDivisionToReal);
    let comparisons = look.is_on(Code::FloatEquality);
    if !(divisions || comparisons) {
        return;
    }
    let kinds = Kinds::of(function);
    let mut found = Vec::new();
    each_expr(function, &mut |expr| match &expr.kind {
        ExprKind::Call(call) if divisions => found.extend(division(call, &kinds, look)),
        ExprKind::Binary { op, left, right } if comparisons && ["==", "!="].contains(&&*op.name) => {
            let is_real = [left, right].iter().any(|side| kinds.kind(side) == Some(Kind::Real));
            found.extend((is_real && look.has_expr(expr)).then(|| {
                Diagnostic::warning(Code::FloatEquality, "real numbers are compared for equality")
                    .at(op.span, "true only if they agree to the last bit")
                    .with_help("compare the distance: `fabs(a - b) < 1e-9`")
            }));
        }
        _ => {}
    });
    found.into_iter().for_each(|report| look.push(report));
}

/// `tod(1 / n)`: a number, divided by another integer. A quotient of variables such as `tod(n / 2)` is mostly meant. Where programs only
/// run, both are numbers.
fn division(call: &Call, kinds: &Kinds<'_>, look: &Look<'_>) -> Option<Diagnostic> {
    let name = &*call.callee.name;
    let ([arg], "tod" | "tof") = (&call.args[..], name) else { return None };
    let ExprKind::Binary { op, left, right } = &arg.kind else { return None };
    let is_int = |side: &Expr| kinds.kind(side) == Some(Kind::Int);
    if &*op.name != "/" || !is_int(left) || !is_int(right) || !look.has_expr(arg) || !look.has_qname(&call.callee) {
        return None;
    }
    let label = match (value(left)?, value(right)) {
        (Value::Int(_), Some(Value::Int(0))) => return None,
        (Value::Int(a), Some(Value::Int(b))) if a % b == 0 => return None,
        (Value::Int(a), Some(Value::Int(b))) => format!("this is {}, an `int`", a / b),
        _ if look.levels.only_certain(Code::IntegerDivisionToReal) => return None,
        _ => "the quotient is an `int`, without its fraction".to_string(),
    };
    let text = |side: &Expr| look.map.snippet(side.span);
    let real = format!("({name}({}) / {name}({}))", text(left), text(right));
    Some(
        Diagnostic::warning(Code::IntegerDivisionToReal, format!("`{name}` comes too late for this division"))
            .at(arg.span, label)
            .with_edit(format!("`{real}` divides real numbers"), call.span, real),
    )
}
