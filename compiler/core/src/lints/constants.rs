//! Values of expressions that consist of literals alone.

use ravel_syntax::ast::*;
use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub(super) enum Value {
    Int(i64),
    Real(f64),
    Bool(bool),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Int(value) => write!(f, "{value}"),
            Value::Real(value) => write!(f, "{value:?}"),
            Value::Bool(value) => write!(f, "{value}"),
        }
    }
}

/// The value of an expression, if it has no names and no calls and cannot wrap or fail.
pub(super) fn value(expr: &Expr) -> Option<Value> {
    value_with(expr, &|_| None)
}

/// The same where some variables have a value. What decides `&&` and `||` need not have both sides.
pub(super) fn value_with(expr: &Expr, known: &dyn Fn(&str) -> Option<Value>) -> Option<Value> {
    let of = |expr| value_with(expr, known);
    match &expr.kind {
        ExprKind::Number(number) => Some(number_value(number.value)),
        ExprKind::Bool(value) => Some(Value::Bool(*value)),
        ExprKind::Name(name) if name.module.is_none() => known(&name.name),
        ExprKind::Unary { op, operand } => match (&*op.name, of(operand)?) {
            ("-", Value::Int(value)) => Some(Value::Int(-value)),
            ("-", Value::Real(value)) => Some(Value::Real(-value)),
            ("!", Value::Bool(value)) => Some(Value::Bool(!value)),
            _ => None,
        },
        ExprKind::And { left, right } => decided(of(left), of(right), false),
        ExprKind::Or { left, right } => decided(of(left), of(right), true),
        ExprKind::Binary { op, left, right } => binary(&op.name, of(left)?, of(right)?),
        _ => None,
    }
}

/// The value of `&&` or `||`, which one side decides if it is `short`.
fn decided(left: Option<Value>, right: Option<Value>, short: bool) -> Option<Value> {
    let short = Value::Bool(short);
    match (left, right) {
        (Some(side), _) | (_, Some(side)) if side == short => Some(short),
        (Some(Value::Bool(_)), Some(right @ Value::Bool(_))) => Some(right),
        _ => None,
    }
}

fn number_value(number: NumberValue) -> Value {
    match number {
        NumberValue::Byte(value) => Value::Int(value.into()),
        NumberValue::Short(value) => Value::Int(value.into()),
        NumberValue::Int(value) => Value::Int(value.into()),
        NumberValue::Long(value) | NumberValue::LongLong(value) => Value::Int(value),
        NumberValue::UByte(value) => Value::Int(value.into()),
        NumberValue::UShort(value) => Value::Int(value.into()),
        NumberValue::UInt(value) => Value::Int(value.into()),
        // The largest are no i64; a real is near enough to compare with what programs write.
        NumberValue::ULong(value) | NumberValue::ULongLong(value) => {
            i64::try_from(value).map_or(Value::Real(value as f64), Value::Int)
        }
        NumberValue::Float(value) => Value::Real(value.into()),
        NumberValue::Double(value) => Value::Real(value),
    }
}

fn binary(op: &str, left: Value, right: Value) -> Option<Value> {
    let order = left.partial_cmp(&right);
    match (op, left, right) {
        ("==", ..) => order.map(|order| Value::Bool(order.is_eq())),
        ("!=", ..) => order.map(|order| Value::Bool(order.is_ne())),
        (_, Value::Int(a), Value::Int(b)) => int_binary(op, a, b, order?),
        (_, Value::Real(_), Value::Real(_)) => compare(op, order?),
        _ => None,
    }
}

fn int_binary(op: &str, a: i64, b: i64, order: std::cmp::Ordering) -> Option<Value> {
    let result = match op {
        "+" => a.checked_add(b)?,
        "-" => a.checked_sub(b)?,
        "*" => a.checked_mul(b)?,
        "/" if b != 0 => a.checked_div(b)?,
        "%" if b != 0 && a >= 0 && b > 0 => a % b,
        _ => return compare(op, order),
    };
    // What wraps in some type has no value that this knows.
    i32::try_from(result).ok().map(|result| Value::Int(result.into()))
}

fn compare(op: &str, order: std::cmp::Ordering) -> Option<Value> {
    Some(Value::Bool(match op {
        "<" => order.is_lt(),
        "<=" => order.is_le(),
        ">" => order.is_gt(),
        ">=" => order.is_ge(),
        _ => return None,
    }))
}
