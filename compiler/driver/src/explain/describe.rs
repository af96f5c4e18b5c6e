//! With-loops, types and function instances of WIR in the words of the source language.

use ravel_types::{BinOp, Elem, Scalar, Shape, Ty};
use ravel_wir::{Combine, Frame, Func, Generator, Inst, Op, Part, Value, With, WithOp};
use std::collections::HashMap;

/// Partitions whose index sets are written out; of more only the number is told.
const MOST_SETS: usize = 3;

/// `conv(float[28,28], float[5,5])`.
pub fn instance(func: &Func) -> String {
    let params: Vec<String> = func.params().iter().map(|v| show_type(func.ty(*v))).collect();
    format!("{}({})", func.name, params.join(", "))
}

/// An element type under its SaC name.
fn elem_name(elem: Elem) -> &'static str {
    match elem {
        Elem::Bool => "bool",
        Elem::Char => "char",
        Elem::I8 => "byte",
        Elem::I16 => "short",
        Elem::I32 => "int",
        Elem::I64 => "long",
        Elem::U8 => "ubyte",
        Elem::U16 => "ushort",
        Elem::U32 => "uint",
        Elem::U64 => "ulong",
        Elem::F32 => "float",
        Elem::F64 => "double",
        Elem::Handle => "object",
    }
}

/// A type as a programmer would write it: `float[28,.]`.
pub fn show_type(ty: &Ty) -> String {
    let name = elem_name(ty.elem);
    match &ty.shape {
        Shape::Unknown => format!("{name}[*]"),
        Shape::Known(extents) if extents.is_empty() => name.to_string(),
        Shape::Known(extents) => {
            let extents: Vec<String> =
                extents.iter().map(|e| e.as_const().map_or(".".to_string(), |n| n.to_string())).collect();
            format!("{name}[{}]", extents.join(","))
        }
    }
}

/// What a with-loop computes over which indices: `double[64,64] over [1,1] <= iv < [63,63]`.
pub fn with_loop(func: &Func, inst: Inst, with: &With) -> String {
    let results = &func.insts[inst].results;
    let mut operators: Vec<(String, Vec<String>)> = Vec::new();
    for (op, result) in with.ops.iter().zip(results) {
        let (kind, ty) = (operator(op), show_type(func.ty(*result)));
        match operators.iter_mut().find(|(other, _)| *other == kind) {
            Some((_, types)) => types.push(ty),
            None => operators.push((kind, vec![ty])),
        }
    }
    let operators: Vec<String> =
        operators.into_iter().map(|(kind, types)| format!("{kind} {}", counted(types))).collect();
    let operators = if operators.is_empty() { "checks only".to_string() } else { operators.join(" and ") };
    let constants = constants(func);
    let covers = matches!((&with.parts[..], &with.ops[..]), ([part], [WithOp::Genarray { frame: Frame::Known(frame), .. }, ..])
        if covers(part, frame, &constants));
    let sets: Vec<String> = with.parts.iter().map(|part| index_set(part, &constants)).collect();
    let order = if with.ordered { ", in order" } else { "" };
    match sets.len() {
        0 => format!("{operators}, no indices{order}"),
        1 if covers => format!("{operators}{order}"),
        n if n <= MOST_SETS => format!("{operators} over {}{order}", sets.join(" and ")),
        n => format!("{operators} over {n} partitions{order}"),
    }
}

/// Types, runs of equal ones by their number.
fn counted(types: Vec<String>) -> String {
    let mut runs: Vec<(String, usize)> = Vec::new();
    for ty in types {
        match runs.last_mut() {
            Some((last, n)) if *last == ty => *n += 1,
            _ => runs.push((ty, 1)),
        }
    }
    let text = |(ty, n): (String, usize)| match n {
        1..=3 => vec![ty; n].join(", "),
        _ => format!("{n} x {ty}"),
    };
    runs.into_iter().map(text).collect::<Vec<_>>().join(", ")
}

fn operator(op: &WithOp) -> String {
    match op {
        WithOp::Genarray { .. } => "array".to_string(),
        WithOp::Modarray { .. } => "changed array".to_string(),
        WithOp::Fold { combine: Combine::Op(op), .. } => format!("fold({}) to", operation(*op)),
        WithOp::Fold { .. } => "fold by a function to".to_string(),
    }
}

/// An operation as programs write it.
fn operation(op: BinOp) -> String {
    match op {
        BinOp::Add => "+".to_string(),
        BinOp::Mul => "*".to_string(),
        BinOp::And => "&".to_string(),
        BinOp::Or => "|".to_string(),
        BinOp::Xor => "^".to_string(),
        other => other.to_string(),
    }
}

fn constants(func: &Func) -> HashMap<Value, i32> {
    let constant = |inst: &ravel_wir::InstData| match (&inst.op, &inst.results[..]) {
        (Op::Const(Scalar::I32(n)), [v]) => Some((*v, *n)),
        _ => None,
    };
    func.insts.values().filter_map(constant).collect()
}

fn covers(part: &Part, frame: &[Value], constants: &HashMap<Value, i32>) -> bool {
    let same = |a: &Value, b: &Value| a == b || constants.get(a).is_some_and(|n| constants.get(b) == Some(n));
    match &part.generator {
        Generator::Known { lower, upper, step: None, .. } => {
            lower.iter().all(|v| constants.get(v) == Some(&0)) && upper.iter().zip(frame).all(|(a, b)| same(a, b))
        }
        _ => false,
    }
}

/// An index set; what is not constant is a dot.
fn index_set(part: &Part, constants: &HashMap<Value, i32>) -> String {
    let vector = |values: &[Value]| {
        let values: Vec<String> =
            values.iter().map(|v| constants.get(v).map_or(".".to_string(), i32::to_string)).collect();
        format!("[{}]", values.join(","))
    };
    match &part.generator {
        Generator::Known { lower, upper, step, width } => {
            let step = step.as_ref().map_or(String::new(), |s| format!(" step {}", vector(s)));
            let width = width.as_ref().map_or(String::new(), |w| format!(" width {}", vector(w)));
            format!("{} <= iv < {}{step}{width}", vector(lower), vector(upper))
        }
        Generator::Dyn { .. } => "indices of unknown rank".to_string(),
    }
}
