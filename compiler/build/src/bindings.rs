//! The Rust module, from the description of a library.

use serde_json::Value as Json;
use std::collections::HashMap;
use std::fmt::Write;

/// What every module has.
const SUPPORT: &str = include_str!("support.rs");

/// Element types: in SaC, in Rust, and their numbers in `ravel.h`.
const TYPES: [(&str, &str, u32); 14] = [
    ("bool", "bool", 0),
    ("char", "u8", 1),
    ("byte", "i8", 2),
    ("short", "i16", 3),
    ("int", "i32", 4),
    ("long", "i64", 5),
    ("longlong", "i64", 5),
    ("ubyte", "u8", 6),
    ("ushort", "u16", 7),
    ("uint", "u32", 8),
    ("ulong", "u64", 9),
    ("ulonglong", "u64", 9),
    ("float", "f32", 10),
    ("double", "f64", 11),
];

/// Words that no name of Rust is, also not behind `r#`.
const NEVER: [&str; 9] = ["self", "Self", "super", "crate", "_", "Ok", "Err", "Some", "None"];

const KEYWORDS: &str = " as async await break const continue dyn else enum extern false fn for gen if impl in let loop match mod move mut pub \
    ref return static struct trait true type unsafe use where while abstract become box do final macro override priv try typeof unsized \
    virtual yield ";

/// A name as Rust has it.
fn escaped(name: &str) -> String {
    match () {
        () if NEVER.contains(&name) => format!("{name}_"),
        () if KEYWORDS.contains(&format!(" {name} ")) => format!("r#{name}"),
        // What the text of a function has for itself begins so.
        () if name.starts_with("ravel_") => format!("in_{name}"),
        () => name.to_string(),
    }
}

/// What a value is outside of SaC.
enum Form {
    Scalar(&'static str),
    /// Element type, rank, and the shape for people.
    Elements(&'static str, usize),
    Any(&'static str, u32),
    Text,
}

struct Value {
    name: String,
    form: Form,
    /// `float[.,3]`
    in_sac: String,
}

struct Function {
    name: String,
    symbol: String,
    parameters: Vec<Value>,
    results: Vec<Value>,
}

/// A library as its description tells it.
pub struct Described {
    library: String,
    functions: Vec<Function>,
    /// What is linked as well.
    pub link: Vec<String>,
}

fn text<'a>(json: &'a Json, name: &str) -> Result<&'a str, String> {
    json[name].as_str().ok_or_else(|| format!("`{name}` is missing"))
}

fn list<'a>(json: &'a Json, name: &str) -> Result<&'a Vec<Json>, String> {
    json[name].as_array().ok_or_else(|| format!("`{name}` is missing"))
}

fn value(json: &Json) -> Result<Value, String> {
    let ty = text(json, "type")?;
    let name = escaped(json["name"].as_str().unwrap_or_default());
    if ty == "string" {
        return Ok(Value { name, form: Form::Text, in_sac: ty.to_string() });
    }
    let (_, rust, number) =
        TYPES.iter().find(|(sac, ..)| *sac == ty).ok_or_else(|| format!("the type {ty} is unknown"))?;
    Ok(match json["shape"].as_array() {
        None => Value { name, form: Form::Any(rust, *number), in_sac: format!("{ty}[*]") },
        Some(shape) if shape.is_empty() => Value { name, form: Form::Scalar(rust), in_sac: ty.to_string() },
        Some(shape) => {
            let extents: Vec<String> =
                shape.iter().map(|n| n.as_i64().map_or(".".to_string(), |n| n.to_string())).collect();
            Value { name, form: Form::Elements(rust, shape.len()), in_sac: format!("{ty}[{}]", extents.join(",")) }
        }
    })
}

impl Described {
    /// Reads a description.
    ///
    /// # Errors
    /// It is none, or of another version of Ravel.
    pub fn read(description: &str) -> Result<Described, String> {
        let json: Json = serde_json::from_str(description).map_err(|why| why.to_string())?;
        let library = text(&json, "library")?.to_string();
        let values = |json: &Json, name: &str| list(json, name)?.iter().map(value).collect::<Result<Vec<_>, _>>();
        let function = |json: &Json| {
            let (name, symbol) = (text(json, "name")?.to_string(), text(json, "symbol")?.to_string());
            Ok(Function { name, symbol, parameters: values(json, "parameters")?, results: values(json, "results")? })
        };
        let functions = list(&json, "functions")?.iter().map(function).collect::<Result<Vec<_>, String>>()?;
        let flag = |flag: &Json| flag.as_str().map(str::to_string).ok_or("`link` holds something else than flags");
        let link = list(&json, "link")?.iter().map(flag).collect::<Result<_, _>>()?;
        Ok(Described { library, functions, link })
    }

    /// The text of the module.
    pub fn module(&self) -> String {
        let mut count: HashMap<&str, usize> = HashMap::new();
        for function in &self.functions {
            *count.entry(&function.name).or_default() += 1;
        }
        // Nobody calls everything, and SaC has its own way to write names. An included text cannot say so of itself.
        let mut out = format!(
            "// The functions of {}; made by `ravel-build`.\n\n#[allow(unused_imports)]\npub use ravel_module::*;\n\n\
             #[allow(dead_code, non_snake_case)]\nmod ravel_module {{\n{SUPPORT}",
            self.library
        );
        for function in &self.functions {
            let prefix = format!("{}_", self.library);
            let name = match count.get(function.name.as_str()) {
                Some(1) => &function.name,
                _ => function.symbol.strip_prefix(&prefix).unwrap_or(&function.symbol),
            };
            // Writing to a string cannot fail.
            let _ = function.write(&mut out, &escaped(name));
        }
        out.push_str("}\n");
        out
    }
}

impl Function {
    fn write(&self, out: &mut String, name: &str) -> std::fmt::Result {
        let sac = |values: &[Value]| values.iter().map(|value| value.in_sac.as_str()).collect::<Vec<_>>().join(", ");
        let (mut heads, mut declared, mut before, mut passed) = (Vec::new(), Vec::new(), String::new(), Vec::new());
        for (n, Value { name, form, .. }) in self.parameters.iter().enumerate() {
            match form {
                Form::Scalar(ty) => {
                    heads.push(format!("{name}: {ty}"));
                    declared.push(format!("_: {ty}"));
                    passed.push(name.clone());
                }
                Form::Elements(ty, rank) => {
                    heads.push(format!("{name}: View<'_, {ty}, {rank}>"));
                    declared.push(format!("_: *const {ty}, _: *const i64"));
                    passed.push(format!("{name}.elements.as_ptr(), {name}.shape.as_ptr()"));
                }
                Form::Any(ty, number) => {
                    heads.push(format!("{name}: &AnyView<'_, {ty}>"));
                    declared.push("_: *mut ::std::ffi::c_void".to_string());
                    writeln!(before, "    let ravel_lent{n} = {name}.lent({number})?;")?;
                    passed.push(format!("ravel_lent{n}.object.as_ptr()"));
                }
                Form::Text => {
                    heads.push(format!("{name}: &str"));
                    declared.push("_: *const ::std::ffi::c_char".to_string());
                    let why = "a text holds a zero byte, which ends texts of C";
                    writeln!(
                        before,
                        "    let ravel_text{n} = ::std::ffi::CString::new({name}).map_err(|_| Error::argument({why:?}))?;"
                    )?;
                    passed.push(format!("ravel_text{n}.as_ptr()"));
                }
            }
        }
        let (mut types, mut given) = (Vec::new(), Vec::new());
        // Results are taken over before one of them is looked at: none is lost.
        let mut taken = String::new();
        for (n, Value { form, .. }) in self.results.iter().enumerate() {
            let result = format!("ravel_result{n}");
            passed.push(format!("&raw mut {result}"));
            if let Form::Scalar(ty) = form {
                let zero = if *ty == "bool" { "false".to_string() } else { format!("0 as {ty}") };
                writeln!(before, "    let mut {result} = {zero};")?;
                declared.push(format!("_: *mut {ty}"));
                types.push((*ty).to_string());
                given.push(result);
                continue;
            }
            writeln!(before, "    let mut {result} = ::std::ptr::null_mut();")?;
            declared.push("_: *mut *mut ::std::ffi::c_void".to_string());
            match form {
                Form::Text => {
                    writeln!(taken, "    let {result} = Array::<u8>::taken({result});")?;
                    types.push("String".to_string());
                    given.push(format!("String::from_utf8_lossy({result}?.as_slice()).into_owned()"));
                }
                Form::Elements(ty, _) | Form::Any(ty, _) | Form::Scalar(ty) => {
                    writeln!(taken, "    let {result} = Array::<{ty}>::taken({result});")?;
                    types.push(format!("Array<{ty}>"));
                    given.push(format!("{result}?"));
                }
            }
        }
        let tuple = |items: &[String]| match items {
            [one] => one.clone(),
            items => format!("({})", items.join(", ")),
        };
        let in_sac: Vec<String> =
            self.parameters.iter().map(|value| format!("{} {}", value.in_sac, value.name)).collect();
        let results = if self.results.is_empty() { "void".to_string() } else { sac(&self.results) };
        write!(
            out,
            "
/// `{results} {}({})`
///
/// # Errors
/// A run-time error, or an extent that the function does not admit.
pub fn {name}({}) -> Result<{}, Error> {{
    unsafe extern \"C\" {{
        #[link_name = \"{}\"]
        fn ravel_call({}) -> i32;
    }}
{before}    // SAFETY: these are the function's parameters; elements stay as they are while they are borrowed.
    Error::check(unsafe {{ ravel_call({}) }})?;
{taken}    Ok({})
}}
",
            self.name,
            in_sac.join(", "),
            heads.join(", "),
            tuple(&types),
            self.symbol,
            declared.join(", "),
            passed.join(", "),
            tuple(&given)
        )
    }
}
