//! The natives with open signatures: the `printf` and `scanf` families and `RuntimeError::error`.

use std::ptr::NonNull;

use super::format::{self, FormatArg};
use super::scan::{self, Outcome, Scanned};
use super::{Address, Arg, Class, FileRef, Native, Ret, Str, Text, Ty, Value, Variadic, check_arity, class, streams};
use crate::abi::{ArrayHeader, ElemTag, VarArg};
use crate::array::{Array, ArrayRef};
use crate::fault::{self, Ending, Fault};
use crate::stop;
use crate::stream::{self, Standard, Stream};

const HANDLE: Ty = Ty::Scalar(ElemTag::Handle);
const INT: Ty = Ty::Scalar(ElemTag::I32);

/// The arguments after the fixed ones, as compiled code passes them.
///
/// # Safety
/// `args` points to `n` arguments whose objects are valid for `'a`.
unsafe fn arguments<'a>(args: *const VarArg, n: i64) -> Result<Vec<FormatArg<'a>>, Fault> {
    let count = usize::try_from(n).unwrap_or(0);
    if count == 0 {
        return Ok(Vec::new());
    }
    // SAFETY: by contract.
    unsafe { std::slice::from_raw_parts(args, count) }
        .iter()
        .map(|argument| {
            let tag = u8::try_from(argument.tag).ok().and_then(ElemTag::from_u8).unwrap_or(ElemTag::U64);
            if let Some(scalar) = FormatArg::from_bits(tag, argument.bits) {
                return Ok(scalar);
            }
            let object = NonNull::new(argument.bits as usize as *mut ArrayHeader)
                .ok_or_else(|| Fault::new("a variadic argument does not exist"))?;
            // SAFETY: by contract the object is valid for `'a`.
            Ok(FormatArg::Object(unsafe { ArrayRef::from_raw(object) }))
        })
        .collect()
}

fn value_arguments(values: &[Value]) -> Vec<FormatArg<'_>> {
    let integer = |value: i128, bits| FormatArg::Integer { value, bits };
    values
        .iter()
        .map(|value| match value {
            Value::Bool(value) => integer(i128::from(*value), 32),
            Value::Char(value) | Value::U8(value) => integer(i128::from(*value), 32),
            Value::I8(value) => integer(i128::from(*value), 32),
            Value::I16(value) => integer(i128::from(*value), 32),
            Value::I32(value) => integer(i128::from(*value), 32),
            Value::I64(value) => integer(i128::from(*value), 64),
            Value::U16(value) => integer(i128::from(*value), 32),
            Value::U32(value) => integer(i128::from(*value), 32),
            Value::U64(value) => integer(i128::from(*value), 64),
            Value::F32(value) => FormatArg::Real(f64::from(*value)),
            Value::F64(value) => FormatArg::Real(*value),
            Value::Object(object) => FormatArg::Object(object.view()),
        })
        .collect()
}

fn printf(text: Text<'_>, args: &[FormatArg<'_>]) -> Result<(), Fault> {
    let out = format::format(text.0, args)?;
    streams::checked(stream::standard(Standard::Out).put(&out))
}

fn fprintf(file: FileRef<'_>, text: Text<'_>, args: &[FormatArg<'_>]) -> Result<(), Fault> {
    let out = format::format(text.0, args)?;
    streams::checked(file.with(|stream| stream.put(&out)))
}

fn sprintf(text: Text<'_>, args: &[FormatArg<'_>]) -> Result<Str, Fault> {
    Str::new(&format::format(text.0, args)?)
}

fn error(status: i32, text: Text<'_>, args: &[FormatArg<'_>]) -> Fault {
    match format::format(text.0, args) {
        Ok(out) => Fault { ending: Ending::User { status }, ..Fault::new(String::from_utf8_lossy(&out)) },
        Err(fault) => fault,
    }
}

/// C formatting to stdout.
///
/// # Safety
/// As every native; `args` points to `n` arguments.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_printf(format: *mut ArrayHeader, args: *const VarArg, n: i64) {
    stop::check();
    // SAFETY: compiled code passes valid objects and arguments.
    let run = || unsafe { Text::from_abi(format).and_then(|text| printf(text, &arguments(args, n)?)) };
    class::write(run).unwrap_or_else(|fault| fault::raise(fault))
}

/// C formatting to a stream.
///
/// # Safety
/// As [`ravel_printf`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_fprintf(file: *mut ArrayHeader, format: *mut ArrayHeader, args: *const VarArg, n: i64) {
    stop::check();
    // SAFETY: compiled code passes valid objects and arguments.
    let run = || unsafe {
        FileRef::from_abi(file).and_then(|file| fprintf(file, Text::from_abi(format)?, &arguments(args, n)?))
    };
    class::write(run).unwrap_or_else(|fault| fault::raise(fault))
}

/// C formatting to a new string.
///
/// # Safety
/// As [`ravel_printf`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_sprintf(format: *mut ArrayHeader, args: *const VarArg, n: i64) -> *mut ArrayHeader {
    stop::check();
    // SAFETY: compiled code passes valid objects and arguments.
    let result = unsafe { Text::from_abi(format).and_then(|text| sprintf(text, &arguments(args, n)?)) };
    result.map_or_else(|fault| fault::raise(fault), Ret::into_abi)
}

/// Ends the program with a message and a status.
///
/// # Safety
/// As [`ravel_printf`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_error(status: i32, format: *mut ArrayHeader, args: *const VarArg, n: i64) {
    // SAFETY: compiled code passes valid objects and arguments.
    let result = unsafe { Text::from_abi(format).and_then(|text| Ok(error(status, text, &arguments(args, n)?))) };
    fault::raise(result.unwrap_or_else(|fault| fault))
}

/// One value for a scanned result of type `tag`; zero or "" if the scan did not get that far.
fn result_value(scanned: Option<&Scanned>, tag: ElemTag) -> Result<Value, Fault> {
    if tag == ElemTag::Handle {
        return match scanned {
            None => Value::string(b""),
            Some(Scanned::Text(text)) => Value::string(text),
            Some(Scanned::Char(byte)) => Value::string(&[*byte]),
            Some(_) => Err(format::misfit("a conversion gives a number, but its variable is a string".to_string())),
        };
    }
    let bits = scanned.map_or(Ok(0), |value| value.to_bits(tag))?;
    let signed = bits.cast_signed();
    Ok(match tag {
        ElemTag::Bool => Value::Bool(bits != 0),
        ElemTag::Char => Value::Char(bits as u8),
        ElemTag::I8 => Value::I8(signed as i8),
        ElemTag::I16 => Value::I16(signed as i16),
        ElemTag::I32 => Value::I32(signed as i32),
        ElemTag::I64 => Value::I64(signed),
        ElemTag::U8 => Value::U8(bits as u8),
        ElemTag::U16 => Value::U16(bits as u16),
        ElemTag::U32 => Value::U32(bits as u32),
        ElemTag::U64 => Value::U64(bits),
        ElemTag::F32 => Value::F32(f32::from_bits(bits as u32)),
        ElemTag::F64 | ElemTag::Handle => Value::F64(f64::from_bits(bits)),
    })
}

/// The results of a scan in order, the count first.
fn results(outcome: &Outcome, tags: &[ElemTag]) -> Result<Vec<Value>, Fault> {
    if outcome.values.len() > tags.len() {
        let (found, wanted) = (outcome.values.len(), tags.len());
        return Err(format::misfit(format!(
            "the format converts at least {found} values, but only {wanted} variables are given"
        )));
    }
    let values = tags.iter().enumerate().map(|(position, &tag)| result_value(outcome.values.get(position), tag));
    std::iter::once(Ok(Value::I32(outcome.count))).chain(values).collect()
}

/// The tags of the results that compiled code wants of a scan.
///
/// # Safety
/// `tags` points to `n` entries.
unsafe fn wanted(tags: *const u64, n: i64) -> Vec<ElemTag> {
    (0..usize::try_from(n).unwrap_or(0))
        // SAFETY: by contract.
        .map(|position| unsafe { tags.add(position).read() })
        .map(|tag| u8::try_from(tag).ok().and_then(ElemTag::from_u8).unwrap_or(ElemTag::U64))
        .collect()
}

/// Delivers a scan to compiled code: returns the count, which is the first of the results, writes the rest.
///
/// # Safety
/// `out` has room for all results but the first.
unsafe fn deliver(results: Result<Vec<Value>, Fault>, out: *mut u64) -> i32 {
    let mut values = results.unwrap_or_else(|fault| fault::raise(fault)).into_iter();
    let converted = values.next().map_or(0, Value::into_bits);
    for (position, value) in values.enumerate() {
        // SAFETY: by contract.
        unsafe { out.add(position).write(value.into_bits()) };
    }
    converted as i32
}

fn scanf(text: Text<'_>) -> Result<Outcome, Fault> {
    scan::scan(&mut stream::standard(Standard::In), text.0)
}

fn fscanf(file: FileRef<'_>, text: Text<'_>) -> Result<Outcome, Fault> {
    file.with(|stream| scan::scan(stream, text.0))
}

fn sscanf(source: Text<'_>, text: Text<'_>) -> Result<Outcome, Fault> {
    scan::scan(&mut Stream::from_bytes(source.0), text.0)
}

/// Scans stdin; returns the number of conversions.
///
/// # Safety
/// As every native; `tags` and `out` point to `n` entries.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_scanf(format: *mut ArrayHeader, tags: *const u64, out: *mut u64, n: i64) -> i32 {
    // SAFETY: compiled code passes valid objects and result descriptions.
    unsafe {
        let run = || results(&scanf(Text::from_abi(format)?)?, &wanted(tags, n));
        deliver(class::root("ravel_scanf", run), out)
    }
}

/// Scans a stream; returns the number of conversions.
///
/// # Safety
/// As [`ravel_scanf`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_fscanf(
    file: *mut ArrayHeader,
    format: *mut ArrayHeader,
    tags: *const u64,
    out: *mut u64,
    n: i64,
) -> i32 {
    // SAFETY: compiled code passes valid objects and result descriptions.
    unsafe {
        let run = || results(&fscanf(FileRef::from_abi(file)?, Text::from_abi(format)?)?, &wanted(tags, n));
        deliver(class::root("ravel_fscanf", run), out)
    }
}

/// Scans a string; returns the number of conversions.
///
/// # Safety
/// As [`ravel_scanf`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_sscanf(
    source: *mut ArrayHeader,
    format: *mut ArrayHeader,
    tags: *const u64,
    out: *mut u64,
    n: i64,
) -> i32 {
    // SAFETY: compiled code passes valid objects and result descriptions.
    unsafe {
        let run = || results(&sscanf(Text::from_abi(source)?, Text::from_abi(format)?)?, &wanted(tags, n));
        deliver(run(), out)
    }
}

/// Fixed arguments of a dynamic call, and the rest.
fn split<'v>(name: &str, values: &'v [Value], fixed: usize) -> Result<(&'v [Value], &'v [Value]), Fault> {
    values
        .split_at_checked(fixed)
        .map_or_else(|| check_arity(name, fixed, values.len()).map(|()| (values, &[][..])), Ok)
}

fn call_printf(values: &[Value], _tags: &[ElemTag]) -> Result<Vec<Value>, Fault> {
    let (fixed, rest) = split("ravel_printf", values, 1)?;
    printf(Text::from_value(&fixed[0])?, &value_arguments(rest)).map(|()| Vec::new())
}

fn call_fprintf(values: &[Value], _tags: &[ElemTag]) -> Result<Vec<Value>, Fault> {
    let (fixed, rest) = split("ravel_fprintf", values, 2)?;
    fprintf(FileRef::from_value(&fixed[0])?, Text::from_value(&fixed[1])?, &value_arguments(rest)).map(|()| Vec::new())
}

fn call_sprintf(values: &[Value], _tags: &[ElemTag]) -> Result<Vec<Value>, Fault> {
    let (fixed, rest) = split("ravel_sprintf", values, 1)?;
    sprintf(Text::from_value(&fixed[0])?, &value_arguments(rest)).map(|text| vec![text.into_value()])
}

fn call_error(values: &[Value], _tags: &[ElemTag]) -> Result<Vec<Value>, Fault> {
    let (fixed, rest) = split("ravel_error", values, 2)?;
    Err(error(i32::from_value(&fixed[0])?, Text::from_value(&fixed[1])?, &value_arguments(rest)))
}

fn call_scanf(values: &[Value], tags: &[ElemTag]) -> Result<Vec<Value>, Fault> {
    let (fixed, _) = split("ravel_scanf", values, 1)?;
    results(&scanf(Text::from_value(&fixed[0])?)?, tags)
}

fn call_fscanf(values: &[Value], tags: &[ElemTag]) -> Result<Vec<Value>, Fault> {
    let (fixed, _) = split("ravel_fscanf", values, 2)?;
    results(&fscanf(FileRef::from_value(&fixed[0])?, Text::from_value(&fixed[1])?)?, tags)
}

fn call_sscanf(values: &[Value], tags: &[ElemTag]) -> Result<Vec<Value>, Fault> {
    let (fixed, _) = split("ravel_sscanf", values, 2)?;
    results(&sscanf(Text::from_value(&fixed[0])?, Text::from_value(&fixed[1])?)?, tags)
}

/// The natives of this file.
pub(super) static LIST: &[Native] = &[
    Native {
        name: "ravel_printf",
        doc: "C formatting to stdout",
        params: &[("format", Ty::String)],
        results: &[],
        variadic: Variadic::Arguments,
        class: Class::Write,
        address: Address(ravel_printf as *const _),
        call: call_printf,
    },
    Native {
        name: "ravel_fprintf",
        doc: "C formatting to a stream",
        params: &[("file", HANDLE), ("format", Ty::String)],
        results: &[],
        variadic: Variadic::Arguments,
        class: Class::Write,
        address: Address(ravel_fprintf as *const _),
        call: call_fprintf,
    },
    Native {
        name: "ravel_sprintf",
        doc: "C formatting to a new string",
        params: &[("format", Ty::String)],
        results: &[("text", Ty::String)],
        variadic: Variadic::Arguments,
        class: Class::Pure,
        address: Address(ravel_sprintf as *const _),
        call: call_sprintf,
    },
    Native {
        name: "ravel_error",
        doc: "`RuntimeError::error`: ends the program with a message and a status",
        params: &[("status", INT), ("format", Ty::String)],
        results: &[],
        variadic: Variadic::Arguments,
        class: Class::Same,
        address: Address(ravel_error as *const _),
        call: call_error,
    },
    Native {
        name: "ravel_scanf",
        doc: "scans stdin; the number of conversions, then the values",
        params: &[("format", Ty::String)],
        results: &[("count", INT)],
        variadic: Variadic::Results,
        class: Class::Root,
        address: Address(ravel_scanf as *const _),
        call: call_scanf,
    },
    Native {
        name: "ravel_fscanf",
        doc: "scans a stream; the number of conversions, then the values",
        params: &[("file", HANDLE), ("format", Ty::String)],
        results: &[("count", INT)],
        variadic: Variadic::Results,
        class: Class::Root,
        address: Address(ravel_fscanf as *const _),
        call: call_fscanf,
    },
    Native {
        name: "ravel_sscanf",
        doc: "scans a string; the number of conversions, then the values",
        params: &[("source", Ty::String), ("format", Ty::String)],
        results: &[("count", INT)],
        variadic: Variadic::Results,
        class: Class::Pure,
        address: Address(ravel_sscanf as *const _),
        call: call_sscanf,
    },
];

/// The first text that `format` converts from `source`; "" if there is none.
pub(super) fn first_text(source: &[u8], format: &[u8]) -> Result<Array, Fault> {
    let outcome = scan::scan(&mut Stream::from_bytes(source), format)?;
    let text = outcome.values.iter().find_map(|value| match value {
        Scanned::Text(text) => Some(text.as_slice()),
        _ => None,
    });
    Array::string(text.unwrap_or_default())
}
