//! The texts of a library: its header, its C functions, its manifest, and the list of symbols that it shows.

use super::interface::{Form, Function, Interface};
use crate::foreign::HEADER;
use ravel_interp::tag;
use ravel_types::Basic;
use std::fmt::Write;

/// A text as JSON has it, and for what names consist of C.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The C type of a scalar.
fn c_type(basic: Basic) -> &'static str {
    match basic {
        Basic::Bool => "bool",
        Basic::Char => "unsigned char",
        Basic::Byte => "int8_t",
        Basic::Short => "int16_t",
        Basic::Int => "int32_t",
        Basic::Long | Basic::Longlong => "int64_t",
        Basic::Ubyte => "uint8_t",
        Basic::Ushort => "uint16_t",
        Basic::Uint => "uint32_t",
        Basic::Ulong | Basic::Ulonglong => "uint64_t",
        Basic::Float => "float",
        Basic::Double => "double",
    }
}

/// `float[.,3]`, as SaC has it.
fn sac_type(form: &Form) -> String {
    match form {
        Form::Scalar(basic) => basic.to_string(),
        Form::Array(basic) => format!("{basic}[*]"),
        Form::Text => "string".to_string(),
        Form::Elements(basic, extents) => {
            let extents: Vec<String> = extents.iter().map(|e| e.map_or(".".to_string(), |n| n.to_string())).collect();
            format!("{basic}[{}]", extents.join(","))
        }
    }
}

fn result_name(function: &Function, n: usize) -> String {
    if function.results.len() == 1 { "result".to_string() } else { format!("result{}", n + 1) }
}

/// The head of a C function, without `;`.
fn head(function: &Function) -> String {
    let mut parts = Vec::new();
    for param in &function.params {
        let name = &param.c_name;
        parts.push(match &param.form {
            Form::Scalar(basic) => format!("{} {name}", c_type(*basic)),
            Form::Elements(basic, extents) => {
                format!("const {} *{name}, const int64_t {name}_shape[{}]", c_type(*basic), extents.len())
            }
            Form::Array(_) => format!("ravel_array *{name}"),
            Form::Text => format!("const char *{name}"),
        });
    }
    for (n, result) in function.results.iter().enumerate() {
        let name = result_name(function, n);
        parts.push(match result {
            Form::Scalar(basic) => format!("{} *{name}", c_type(*basic)),
            _ => format!("ravel_array **{name}"),
        });
    }
    let parts = if parts.is_empty() { "void".to_string() } else { parts.join(", ") };
    format!("ravel_status {}({parts})", function.c_name)
}

/// The function in SaC, for people.
pub(super) fn in_sac(function: &Function) -> String {
    let params: Vec<String> =
        function.params.iter().map(|param| format!("{} {}", sac_type(&param.form), param.name)).collect();
    let results: Vec<String> = function.results.iter().map(sac_type).collect();
    let results = if results.is_empty() { "void".to_string() } else { results.join(", ") };
    format!("{results} {}({})", function.name, params.join(", "))
}

/// The header that callers include; it needs no other file of Ravel.
pub(super) fn header(library: &str, interface: &Interface) -> String {
    let guard = format!("{}_H", library.to_uppercase());
    let mut out = String::from(HEADER);
    // Writing to a string cannot fail.
    let _ = write!(
        out,
        "
/* The library {library}, made by `ravel build --lib`.
 *
 * Elements are in row-major order and are only read, until the function returns. Result arrays belong to the caller, who gives them back
 * with `ravel_array_release`. If a function does not give RAVEL_OK, its result arrays are NULL and `ravel_last_error` says why. Functions
 * may be called on any thread; one runs at a time, on all processors or as many as RAVEL_THREADS says. The first call initialises.
 */
#ifndef {guard}
#define {guard}

#include <stdbool.h>

#ifdef __cplusplus
extern \"C\" {{
#endif
"
    );
    for function in &interface.functions {
        let _ = write!(out, "\n/* {} */\n{};\n", in_sac(function), head(function));
    }
    out.push_str("\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n");
    out
}

/// What the C text knows of the runtime beside its header.
const RUNTIME: &str = "
struct ravel_library { void (*init)(const uint64_t *, uint64_t *); uint32_t ready, has_objects; };
struct ravel_argument { const char *name; const void *data; const int64_t *shape, *fixed; uint32_t way, elem; int32_t rank; };
struct ravel_outcome { void *place; uint32_t elem, is_array; };
extern int32_t ravel_library_call(const struct ravel_library *, void (*)(const uint64_t *, uint64_t *), const char *,
                                  const struct ravel_argument *, int64_t, const struct ravel_outcome *, int64_t);
";

/// The C functions. `prefix` is that of the symbols of compiled code, `entry` the name of what initialises.
pub(super) fn functions(
    library: &str,
    interface: &Interface,
    (prefix, entry): (&str, &str),
    has_objects: bool,
) -> String {
    let mut out = header(library, interface);
    out.push_str(RUNTIME);
    let _ = write!(
        out,
        "extern void ravel_init(const uint64_t *, uint64_t *) __asm__(\"{prefix}{entry}\");
static struct ravel_library ravel_this = {{ ravel_init, 0, {} }};
",
        u8::from(has_objects)
    );
    for function in &interface.functions {
        let _ = body(&mut out, function, prefix);
    }
    out
}

fn body(out: &mut String, function: &Function, prefix: &str) -> std::fmt::Result {
    let compiled = format!("ravel_{}", function.export);
    writeln!(out, "\nextern void {compiled}(const uint64_t *, uint64_t *) __asm__(\"{prefix}{}\");", function.export)?;
    writeln!(out, "{}\n{{", head(function))?;
    for param in &function.params {
        if let Form::Elements(_, extents) = &param.form {
            let extents: Vec<String> = extents.iter().map(|e| e.unwrap_or(-1).to_string()).collect();
            let name = &param.c_name;
            writeln!(out, "    static const int64_t ravel_fixed_{name}[] = {{ {} }};", extents.join(", "))?;
        }
    }
    writeln!(out, "    const struct ravel_argument ravel_arguments[] = {{")?;
    for param in &function.params {
        let c = &param.c_name;
        let name = quoted(&param.name);
        match &param.form {
            Form::Scalar(basic) => {
                writeln!(out, "        {{ {name}, &{c}, 0, 0, 3, {}, 0 }},", tag(basic.elem()) as u8)?
            }
            Form::Elements(basic, extents) => writeln!(
                out,
                "        {{ {name}, {c}, {c}_shape, ravel_fixed_{c}, 0, {}, {} }},",
                tag(basic.elem()) as u8,
                extents.len()
            )?,
            Form::Array(basic) => writeln!(out, "        {{ {name}, {c}, 0, 0, 1, {}, 0 }},", tag(basic.elem()) as u8)?,
            Form::Text => writeln!(out, "        {{ {name}, {c}, 0, 0, 2, 1, 0 }},")?,
        }
    }
    writeln!(out, "        {{ 0, 0, 0, 0, 0, 0, 0 }}\n    }};\n    const struct ravel_outcome ravel_outcomes[] = {{")?;
    for (n, result) in function.results.iter().enumerate() {
        let name = result_name(function, n);
        match result {
            Form::Scalar(basic) => writeln!(out, "        {{ {name}, {}, 0 }},", tag(basic.elem()) as u8)?,
            _ => writeln!(out, "        {{ {name}, 0, 1 }},")?,
        }
    }
    writeln!(out, "        {{ 0, 0, 0 }}\n    }};")?;
    writeln!(
        out,
        "    return (ravel_status)ravel_library_call(&ravel_this, {compiled}, \"{}\", ravel_arguments, {}, ravel_outcomes, {});\n}}",
        function.c_name,
        function.params.len(),
        function.results.len()
    )
}

/// The functions of `ravel.h`.
pub(super) const ARRAYS: [&str; 12] = [
    "ravel_array_new",
    "ravel_array_borrow",
    "ravel_array_data",
    "ravel_array_shape",
    "ravel_array_rank",
    "ravel_array_type",
    "ravel_array_size",
    "ravel_array_shared",
    "ravel_array_retain",
    "ravel_array_release",
    "ravel_array_collect",
    "ravel_last_error",
];

/// What a library shows.
pub(super) fn shown(interface: &Interface) -> impl Iterator<Item = &str> {
    interface.functions.iter().map(|function| function.c_name.as_str()).chain(ARRAYS)
}

/// The same for the linker.
pub(super) fn symbols(interface: &Interface) -> String {
    let names: String = shown(interface).map(|name| format!(" {name};")).collect();
    format!("{{ global:{names} local: *; }};\n")
}

/// The description for programs. `link` is what users of the archive link as well.
pub(super) fn manifest(library: &str, interface: &Interface, link: &[String]) -> String {
    let value = |form: &Form, name: Option<&str>| {
        let (basic, rank, shape) = match form {
            Form::Scalar(basic) => (basic.to_string(), "0".to_string(), "[]".to_string()),
            Form::Text => ("string".to_string(), "0".to_string(), "[]".to_string()),
            Form::Array(basic) => (basic.to_string(), "null".to_string(), "null".to_string()),
            Form::Elements(basic, extents) => {
                let shape: Vec<String> =
                    extents.iter().map(|e| e.map_or("null".to_string(), |n| n.to_string())).collect();
                (basic.to_string(), extents.len().to_string(), format!("[{}]", shape.join(", ")))
            }
        };
        let name = name.map_or(String::new(), |name| format!("\"name\": {}, ", quoted(name)));
        format!("{{{name}\"type\": {}, \"rank\": {rank}, \"shape\": {shape}}}", quoted(&basic))
    };
    let functions: Vec<String> = interface
        .functions
        .iter()
        .map(|function| {
            let params: Vec<String> = function.params.iter().map(|p| value(&p.form, Some(&p.name))).collect();
            let results: Vec<String> = function.results.iter().map(|form| value(form, None)).collect();
            format!(
                "    {{\"name\": {}, \"symbol\": {},\n     \"parameters\": [{}],\n     \"results\": [{}]}}",
                quoted(&function.name),
                quoted(&function.c_name),
                params.join(", "),
                results.join(", ")
            )
        })
        .collect();
    let skipped: Vec<String> = interface
        .skipped
        .iter()
        .map(|skipped| format!("    {{\"name\": {}, \"why\": {}}}", quoted(&skipped.name), quoted(&skipped.why)))
        .collect();
    let list = |items: &[String]| match items {
        [] => "[]".to_string(),
        items => format!("[\n{}\n  ]", items.join(",\n")),
    };
    let link: Vec<String> = link.iter().map(|flag| quoted(flag)).collect();
    format!(
        "{{\n  \"library\": {},\n  \"ravel\": {},\n  \"header\": {},\n  \"shared\": {},\n  \"static\": {},\n  \"link\": [{}],\n  \"functions\": {},\n  \"skipped\": {}\n}}\n",
        quoted(library),
        quoted(env!("CARGO_PKG_VERSION")),
        quoted(&format!("{library}.h")),
        quoted(&format!("lib{library}.so")),
        quoted(&format!("lib{library}.a")),
        link.join(", "),
        list(&functions),
        list(&skipped)
    )
}
