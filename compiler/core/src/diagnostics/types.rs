//! Words of errors about types and records.

use crate::diagnostics::count;
use ravel_diagnostics::{Code, Diagnostic, did_you_mean};
use ravel_source::Span;

pub fn unknown_shape(what: &str, at: Span) -> Diagnostic {
    Diagnostic::error(Code::TypeNotPossible, format!("{what} must have a known shape"))
        .at(at, "only numbers can stand here")
}

pub fn array_of_open_records(at: Span) -> Diagnostic {
    Diagnostic::error(Code::TypeNotPossible, "records with fields of open shape cannot be elements of an array")
        .at(at, "its elements would have different shapes")
        .with_note("a field whose shape is all numbers, such as `double[3]`, can be an element's")
}

pub fn recursive_type(name: &str, at: Span) -> Diagnostic {
    Diagnostic::error(Code::RecursiveType, format!("type `{name}` contains itself")).at(at, "needs itself")
}

pub fn deep_type(at: Span) -> Diagnostic {
    Diagnostic::error(Code::RecursiveType, "types are nested too deeply").at(at, "too deep")
}

pub fn names_in_local_type(at: Span) -> Diagnostic {
    Diagnostic::warning(Code::LocalPatternName, "names in this type bind nothing and check nothing")
        .at(at, "read as `.`")
        .with_note("shape patterns have their meaning only in the head of a function")
}

pub fn too_many_axes(found: i64, most: i64, at: Span) -> Diagnostic {
    Diagnostic::error(Code::TooManyAxes, format!("a type of {found} axes"))
        .at(at, format!("types have at most {most} axes"))
        .with_help("`[*]` is an array with any number of axes")
}

pub fn nested_type(at: Span) -> Diagnostic {
    Diagnostic::error(Code::TypeNotPossible, "nested types are not supported").at(at, "not possible here")
}

pub fn directive(at: Span, why: impl Into<String>) -> Diagnostic {
    Diagnostic::error(Code::PragmaMisfit, "this pragma does not fit its function").at(at, why)
}

pub fn family(at: Span, why: impl Into<String>) -> Diagnostic {
    Diagnostic::error(Code::BadFamily, "this type family cannot be used").at(at, why)
}

pub fn unknown_field(name: &str, record: &str, at: Span, fields: &[&str]) -> Diagnostic {
    let report =
        Diagnostic::error(Code::UnknownField, format!("struct {record} has no field `{name}`")).at(at, "no such field");
    match did_you_mean(name, fields.iter().copied()) {
        Some(close) => report.with_name_meant(at, name, close),
        None => report.with_note(format!("its fields are {}", fields.join(", "))),
    }
}

pub fn field_twice(name: &str, at: Span) -> Diagnostic {
    Diagnostic::error(Code::FieldCount, format!("field `{name}` is given twice")).at(at, "given before")
}

pub fn field_count(record: &str, fields: usize, given: usize, at: Span) -> Diagnostic {
    Diagnostic::error(Code::FieldCount, format!("struct {record} has {}", count(fields, "field")))
        .at(at, format!("{} given", count(given, "value")))
        .with_help("give all fields in order, none, or name them as in `{ .x = e }`")
}

pub fn object_cycle(name: &str, at: Span) -> Diagnostic {
    Diagnostic::error(Code::ObjectCycle, format!("object `{name}` needs itself to be initialized"))
        .at(at, "its initializer comes back to it")
}

pub fn not_text(at: Span) -> Diagnostic {
    Diagnostic::error(Code::NotUtf8, "this string is not valid UTF-8")
        .at(at, "bytes that are no text")
        .with_help("write the bytes as an array of characters")
}
