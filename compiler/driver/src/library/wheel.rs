//! Wheels: `ravel build --python`. A wheel holds the shared library that `--lib` would make, functions for Python over it by ctypes, and stubs
//! with their types for editors. It needs NumPy, and neither Ravel nor a compiler.

use super::interface::{Form, Function, Interface};
use super::{link_shared, put, text};
use crate::link::LinkError;
use crate::outputs::OutputError;
use crate::pipeline::{Compilation, Failure};
use ravel_runtime::outputs::Refusal;
use sha3::{Digest, Sha3_256};
use std::fmt::Write as _;
use std::io::{Cursor, Write as _};
use std::path::{Path, PathBuf};
use zip::write::{SimpleFileOptions, ZipWriter};

/// What all such packages have in common, a file of its own: names of functions may be those of Python's own.
const BINDINGS: &str = include_str!("bindings.py");

/// Names that cannot be written in Python.
const KEYWORDS: &str = " False None True and as assert async await break class continue def del elif else except finally for from global if \
    import in is lambda nonlocal not or pass raise return try while with yield ";

/// What a package is versioned by if nothing is said.
const VERSION: &str = "0.1.0";

fn is_keyword(name: &str) -> bool {
    KEYWORDS.contains(&format!(" {name} "))
}

/// The file of a wheel, and what its name says.
struct Wheel {
    name: String,
    version: String,
    tag: String,
    file: PathBuf,
}

impl Wheel {
    /// Of `DIR/NAME`, `DIR/NAME-VERSION` or the whole name of a wheel: pip asks for file names that say all.
    fn of(output: &Path) -> Result<Wheel, LinkError> {
        let refuse =
            |why: String| Err(LinkError::Output(OutputError { path: output.to_path_buf(), why, no_file: false }));
        let tag = format!("py3-none-linux_{}", std::env::consts::ARCH);
        let file = output.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let plain = file.strip_suffix(".whl").unwrap_or(&file);
        let plain = plain.strip_suffix(&format!("-{tag}")).unwrap_or(plain);
        let (name, version) = plain.split_once('-').unwrap_or((plain, VERSION));
        let starts = name.starts_with(|c: char| c.is_ascii_alphabetic());
        if !starts || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') || is_keyword(name) {
            return refuse(format!("Python would import `{name}`, which is no name of a module"));
        }
        let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        if !version.split('.').all(is_digits) {
            return refuse(format!("`{version}` is no version such as {VERSION}"));
        }
        let file = output.with_file_name(format!("{name}-{version}-{tag}.whl"));
        Ok(Wheel { name: name.to_string(), version: version.to_string(), tag, file })
    }
}

impl Compilation {
    /// Compiles a file into a wheel for Python; its path.
    ///
    /// # Errors
    /// Those of the stages; the inner result is that of linking.
    pub fn build_wheel(&mut self, path: &Path, output: &Path) -> Result<Result<PathBuf, LinkError>, Failure> {
        let wheel = match Wheel::of(output) {
            Ok(wheel) => wheel,
            Err(why) => return Ok(Err(why)),
        };
        let compiled = match self.library(path, &wheel.name, &[&wheel.file])? {
            Ok(compiled) => compiled,
            Err(why) => return Ok(Err(why)),
        };
        self.linked(|foreign| {
            let linked = link_shared(&compiled, foreign)?;
            let library = std::fs::read(&linked.shared).map_err(Refusal::from)?;
            let packed = pack(&wheel, &compiled.interface, &library);
            let packed = packed.map_err(|error| Refusal::from(std::io::Error::other(error)))?;
            put(&linked.write("wheel", &packed)?, &wheel.file)?;
            Ok(wheel.file.clone())
        })
    }
}

/// The content of a wheel.
fn pack(wheel: &Wheel, interface: &Interface, library: &[u8]) -> Result<Vec<u8>, zip::result::ZipError> {
    let Wheel { name, version, tag, .. } = wheel;
    let info = format!("{name}-{version}.dist-info");
    let metadata = format!(
        "Metadata-Version: 2.1\nName: {name}\nVersion: {version}\nSummary: SaC functions, compiled by Ravel\nRequires-Python: >=3.9\nRequires-Dist: numpy\n"
    );
    let about = format!("Wheel-Version: 1.0\nGenerator: ravel\nRoot-Is-Purelib: false\nTag: {tag}\n");
    let files: [(String, &[u8]); 7] = [
        (format!("{name}/__init__.py"), &module(name, interface).into_bytes()),
        (format!("{name}/_bindings.py"), BINDINGS.as_bytes()),
        (format!("{name}/__init__.pyi"), &stubs(interface).into_bytes()),
        (format!("{name}/py.typed"), b""),
        (format!("{name}/lib{name}.so"), library),
        (format!("{info}/METADATA"), metadata.as_bytes()),
        (format!("{info}/WHEEL"), about.as_bytes()),
    ];
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    // One input gives one file, whenever it is built.
    let options = SimpleFileOptions::default().last_modified_time(zip::DateTime::default());
    let mut record = String::new();
    for (place, content) in files {
        let mode = if place.ends_with(".so") { 0o755 } else { 0o644 };
        archive.start_file(&place, options.unix_permissions(mode))?;
        archive.write_all(content)?;
        // Writing to a string cannot fail.
        let _ = writeln!(record, "{place},sha3_256={},{}", base64(&Sha3_256::digest(content)), content.len());
    }
    let _ = writeln!(record, "{info}/RECORD,,");
    archive.start_file(format!("{info}/RECORD"), options.unix_permissions(0o644))?;
    archive.write_all(record.as_bytes())?;
    Ok(archive.finish()?.into_inner())
}

/// Base 64 for file names, without the signs that fill up.
fn base64(bytes: &[u8]) -> String {
    const SIGNS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let bits = group.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - group.len()));
        text.extend((0..=group.len()).map(|n| char::from(SIGNS[(bits >> (18 - 6 * n)) as usize & 63])));
    }
    text
}

/// A text of Python that stands for this one: what JSON has is the same there.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// How the table names a value: its type and its extents, `...` for any number of them.
fn described(form: &Form) -> String {
    match form {
        Form::Scalar(basic) => format!("({}, ())", quoted(&basic.to_string())),
        Form::Text => "(\"string\", None)".to_string(),
        Form::Array(basic) => format!("({}, None)", quoted(&basic.to_string())),
        Form::Elements(basic, extents) => {
            let extents: String =
                extents.iter().map(|e| e.map_or("None, ".to_string(), |n| format!("{n}, "))).collect();
            format!("({}, ({extents}))", quoted(&basic.to_string()))
        }
    }
}

/// The functions by name, in the order in which they were defined.
fn by_name(interface: &Interface) -> Vec<(&str, Vec<&Function>)> {
    let mut names: Vec<(&str, Vec<&Function>)> = Vec::new();
    for function in &interface.functions {
        match names.iter_mut().find(|(name, _)| *name == function.name) {
            Some((_, functions)) => functions.push(function),
            None => names.push((&function.name, vec![function])),
        }
    }
    names
}

/// `__init__.py`.
fn module(name: &str, interface: &Interface) -> String {
    let mut out = format!(
        "\"\"\"The SaC functions of `{name}`, compiled by Ravel.\"\"\"\n\nfrom . import _bindings\n\n_functions = {{\"Fault\": _bindings.Fault}}\n"
    );
    let list = |forms: Vec<String>| format!("[{}]", forms.join(", "));
    for (name, functions) in by_name(interface) {
        let _ = writeln!(out, "_functions[{0}] = _bindings.Function(__name__, {0}, [", quoted(name));
        for function in functions {
            let _ = writeln!(
                out,
                "    ({}, {}, {}, {}, {}),",
                quoted(&function.c_name),
                quoted(&text::in_sac(function)),
                list(names(function).iter().map(|name| quoted(name)).collect()),
                list(function.params.iter().map(|param| described(&param.form)).collect()),
                list(function.results.iter().map(described).collect()),
            );
        }
        out.push_str("])\n");
    }
    out.push_str("globals().update(_functions)\n");
    out
}

/// What Python calls the parameters of a function: as SaC does, unless that is no name in Python.
fn names(function: &Function) -> Vec<String> {
    let name = |(at, param): (usize, &super::interface::Parameter)| match param.name.as_str() {
        "_" => format!("argument{}", at + 1),
        name if is_keyword(name) => format!("{name}_"),
        name => name.to_string(),
    };
    function.params.iter().enumerate().map(name).collect()
}

/// The type of a value for those who check types.
fn annotation(form: &Form, is_result: bool) -> String {
    use ravel_types::Basic;
    let array = |basic: &Basic| {
        let elem = match basic {
            Basic::Bool => "bool_",
            Basic::Char => "bytes_",
            Basic::Byte => "int8",
            Basic::Short => "int16",
            Basic::Int => "int32",
            Basic::Long | Basic::Longlong => "int64",
            Basic::Ubyte => "uint8",
            Basic::Ushort => "uint16",
            Basic::Uint => "uint32",
            Basic::Ulong | Basic::Ulonglong => "uint64",
            Basic::Float => "float32",
            Basic::Double => "float64",
        };
        format!("NDArray[np.{elem}]")
    };
    match form {
        Form::Text => "str".to_string(),
        Form::Array(basic) | Form::Elements(basic, _) => array(basic),
        Form::Scalar(Basic::Bool) => "bool".to_string(),
        Form::Scalar(Basic::Char) => "bytes".to_string(),
        Form::Scalar(Basic::Float | Basic::Double) => "float".to_string(),
        Form::Scalar(_) if is_result => "int".to_string(),
        Form::Scalar(_) => "int | np.integer".to_string(),
    }
}

/// `__init__.pyi`.
fn stubs(interface: &Interface) -> String {
    let mut out = String::from(
        "from typing import overload\n\nimport numpy as np\nfrom numpy.typing import NDArray\n\nclass Fault(Exception):\n    \"\"\"A run-time error of SaC code.\"\"\"\n",
    );
    for (name, functions) in by_name(interface).into_iter().filter(|(name, _)| !is_keyword(name)) {
        for function in &functions {
            let param = |(name, param): (String, &super::interface::Parameter)| {
                format!("{name}: {}", annotation(&param.form, false))
            };
            let params: Vec<String> = names(function).into_iter().zip(&function.params).map(param).collect();
            let results: Vec<String> = function.results.iter().map(|form| annotation(form, true)).collect();
            let result = match &results[..] {
                [] => "None".to_string(),
                [one] => one.clone(),
                several => format!("tuple[{}]", several.join(", ")),
            };
            let overload = if functions.len() > 1 { "@overload\n" } else { "" };
            let _ = write!(
                out,
                "\n{overload}def {name}({}) -> {result}:\n    \"\"\"{}\"\"\"\n",
                params.join(", "),
                text::in_sac(function)
            );
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_say_name_and_version() {
        let file = |output: &str| Wheel::of(Path::new(output)).ok().map(|wheel| wheel.file);
        let tag = format!("py3-none-linux_{}", std::env::consts::ARCH);
        assert_eq!(file("d/m"), Some(PathBuf::from(format!("d/m-0.1.0-{tag}.whl"))));
        assert_eq!(file("m.whl"), file("m"));
        assert_eq!(file("m-1.20"), Some(PathBuf::from(format!("m-1.20-{tag}.whl"))));
        assert_eq!(file(&format!("m-1.20-{tag}.whl")), file("m-1.20"));
        for wrong in ["3d", "m-", "m-x", "class", "a b", "m-1-py2-none-any.whl", ""] {
            assert_eq!(file(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn digests_are_written_as_wheels_have_them() {
        assert_eq!(base64(b""), "");
        assert_eq!(base64(b"f"), "Zg");
        assert_eq!(base64(b"fo"), "Zm8");
        assert_eq!(base64(b"foobar"), "Zm9vYmFy");
        assert_eq!(base64(&[0xfb, 0xff]), "-_8");
    }
}
