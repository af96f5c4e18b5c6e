//! C functions of the program: adapters between the calls that Ravel compiles and the functions that pragmas name.
//!
//! Adapters are C text, compiled by the C compiler that links executables anyway. A program that runs in this process loads them, with
//! the program's own object files, as a shared library; an executable links both.

mod adapter;
mod signature;

use ravel_core::ir::{FunBody, LinkKind, Linked, Program};
use ravel_diagnostics::{Code, Diagnostic};
use ravel_runtime::outputs::Folder;
use ravel_source::{SourceMap, Span};
use ravel_wir::{Module, Op};
use signature::Signature;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// `ravel.h`, for C code that takes or makes whole arrays.
pub const HEADER: &str = include_str!("../../../../runtime/include/ravel.h");

/// The C functions that a program calls.
#[derive(Clone, Debug, Default)]
pub struct Foreign {
    signatures: Vec<Signature>,
    /// Object files and libraries, each with its pragma.
    link: Vec<(LinkInput, Span)>,
    /// Why some cannot be called; a program that is only checked does not care.
    problems: Vec<Diagnostic>,
}

#[derive(Clone, Debug, PartialEq)]
enum LinkInput {
    File(PathBuf),
    Flag(String),
}

impl Foreign {
    /// The C functions that the module calls.
    pub fn of(program: &Program, module: &Module, map: &SourceMap) -> Foreign {
        let mut used: BTreeSet<&str> = BTreeSet::new();
        for func in module.funcs.values() {
            used.extend(func.insts.values().filter_map(|inst| match &inst.op {
                Op::Native { symbol, .. } if symbol.starts_with(ravel_core::ADAPTER) => Some(&**symbol),
                _ => None,
            }));
        }
        let mut foreign = Foreign::default();
        if used.is_empty() {
            return foreign;
        }
        for fun in &program.funs {
            let FunBody::External(external) = &fun.body else { continue };
            let Some(function) = &external.foreign else { continue };
            if !used.contains(&*external.symbol) {
                continue;
            }
            match signature::signature(program, fun, external, function) {
                Ok((signature, link)) => {
                    foreign.signatures.push(signature);
                    for linked in &link {
                        foreign.add(linked, map);
                    }
                }
                Err(report) => foreign.problems.push(*report),
            }
        }
        foreign
    }

    pub fn is_empty(&self) -> bool {
        self.signatures.is_empty() && self.problems.is_empty()
    }

    fn add(&mut self, linked: &Linked, map: &SourceMap) {
        let folder = map.get(linked.span.file).and_then(|file| Path::new(&file.name).parent()).unwrap_or(Path::new(""));
        let input = match linked.kind {
            LinkKind::Library => library(&linked.what, folder),
            LinkKind::Object => match object(&linked.what, folder) {
                Some(path) => LinkInput::File(path),
                None => {
                    let path = folder.join(&linked.what);
                    let report = not_found(&path, linked.span);
                    if !self.problems.contains(&report) {
                        self.problems.push(report);
                    }
                    return;
                }
            },
        };
        if !self.link.iter().any(|(other, _)| *other == input) {
            self.link.push((input, linked.span));
        }
    }

    /// Loads the functions into this process.
    ///
    /// # Errors
    /// Reports at the declarations or pragmas that are to blame.
    pub fn load(&self) -> Result<(), Vec<Diagnostic>> {
        if self.is_empty() {
            return Ok(());
        }
        let folder = self.folder()?;
        let source = folder.path().join("adapters.c");
        let library = folder.path().join("adapters.so");
        self.write(&source)?;
        let mut arguments: Vec<OsString> = ["-shared", "-fPIC", "-O2", "-w"].map(OsString::from).to_vec();
        arguments.extend([include(&folder), source.into(), "-o".into(), library.clone().into()]);
        arguments.extend(self.inputs());
        arguments.extend(["-Wl,-z,defs", "-lm"].map(OsString::from));
        self.compile(&folder, &arguments)?;
        let names: Vec<String> = self.signatures.iter().map(|signature| signature.symbol.clone()).collect();
        ravel_runtime::natives::foreign::load(&library, &names)
            .map_err(|why| vec![self.report("the C functions of this program cannot be loaded", &why)])
    }

    /// What an executable links: an object with the adapters, which is removed with the guard, and the inputs of the pragmas.
    ///
    /// # Errors
    /// As [`Foreign::load`].
    pub fn link_inputs(&self) -> Result<(Option<Folder>, Vec<OsString>), Vec<Diagnostic>> {
        if self.is_empty() {
            return Ok((None, Vec::new()));
        }
        let folder = self.folder()?;
        let (source, object) = (folder.path().join("adapters.c"), folder.path().join("adapters.o"));
        self.write(&source)?;
        let mut arguments: Vec<OsString> = ["-c", "-fPIC", "-O1", "-w", "-DRAVEL_LINKED"].map(OsString::from).to_vec();
        arguments.extend([source.into(), "-o".into(), object.clone().into()]);
        self.compile(&folder, &arguments)?;
        let mut inputs = vec![include(&folder), "-O2".into(), object.into()];
        inputs.extend(self.inputs());
        Ok((Some(folder), inputs))
    }

    fn folder(&self) -> Result<Folder, Vec<Diagnostic>> {
        if !self.problems.is_empty() {
            return Err(self.problems.clone());
        }
        Folder::temporary().map_err(|why| vec![self.report("the C functions cannot be compiled", &why.to_string())])
    }

    fn inputs(&self) -> Vec<OsString> {
        let mut arguments = Vec::new();
        for (input, _) in &self.link {
            match input {
                LinkInput::Flag(flag) => arguments.push(flag.into()),
                LinkInput::File(path) => {
                    // A shared library is found where it is now, wherever the program is started.
                    let path = path.canonicalize().unwrap_or_else(|_| path.clone());
                    let shared = path.file_name().is_some_and(|name| name.to_string_lossy().contains(".so"));
                    if let Some(folder) = path.parent().filter(|_| shared) {
                        let mut search = OsString::from("-Wl,-rpath,");
                        search.push(folder);
                        arguments.push(search);
                    }
                    arguments.push(path.into());
                }
            }
        }
        arguments
    }

    /// The adapters, and the header that C text of the program may include.
    fn write(&self, source: &Path) -> Result<(), Vec<Diagnostic>> {
        let header = std::fs::write(source.with_file_name("ravel.h"), HEADER);
        header.and_then(|()| std::fs::write(source, adapter::text(&self.signatures))).map_err(|why| {
            vec![self.report("the C functions cannot be compiled", &format!("{}: {why}", source.display()))]
        })
    }

    fn compile(&self, folder: &Folder, arguments: &[OsString]) -> Result<(), Vec<Diagnostic>> {
        let command = std::env::var_os("CC").filter(|c| !c.is_empty()).unwrap_or_else(|| "cc".into());
        match Command::new(&command).args(arguments).env("TMPDIR", folder.path()).output() {
            Ok(result) if result.status.success() => Ok(()),
            Ok(result) => {
                ravel_runtime::signals::command_failed(result.status);
                Err(vec![self.blame(&String::from_utf8_lossy(&result.stderr))])
            }
            Err(why) => {
                let why = format!("cannot start the C compiler `{}`: {why}", command.display());
                Err(vec![self.report("C functions need a C compiler", &why).with_help("set CC to another one")])
            }
        }
    }

    /// A report with the linker's words at the declaration of the function, or the pragma of the file, that they speak of.
    pub fn blame(&self, words: &str) -> Diagnostic {
        let missing = self.signatures.iter().find(|signature| {
            let quoted =
                |open, close| words.contains(&format!("undefined reference to {open}{}{close}", signature.name));
            quoted('`', '\'')
                || quoted('\'', '\'')
                || words.contains(&format!("undefined symbol: {}\n", signature.name))
        });
        if let Some(signature) = missing {
            return Diagnostic::error(Code::LinkFailed, format!("no C function `{}` is linked", signature.name))
                .at(signature.span, "declared here")
                .with_help("name the file that has it, #pragma linkobj \"file.o\", or its library, #pragma linkwith \"-lname\"");
        }
        let named = self.link.iter().find(|(input, _)| match input {
            LinkInput::File(path) => path.file_name().is_some_and(|name| words.contains(&*name.to_string_lossy())),
            LinkInput::Flag(flag) => words.contains(flag.as_str()),
        });
        let span = named.map_or_else(|| self.place(), |(_, span)| *span);
        let report = Diagnostic::error(Code::LinkFailed, "the C code of this program cannot be linked")
            .at(span, "asked for here");
        let report = report.with_note(words.trim().to_string());
        match words.contains("-fPIC") {
            true => report.with_help("programs that run at once need objects that were compiled with cc -fPIC"),
            false => report,
        }
    }

    fn place(&self) -> Span {
        self.signatures.first().map_or(Span::NONE, |signature| signature.span)
    }

    fn report(&self, title: &str, why: &str) -> Diagnostic {
        Diagnostic::error(Code::LinkFailed, title).at(self.place(), "declared here").with_note(why.to_string())
    }
}

/// Where C text finds `ravel.h`.
fn include(folder: &Folder) -> OsString {
    let mut flag = OsString::from("-I");
    flag.push(folder.path());
    flag
}

fn not_found(path: &Path, span: Span) -> Diagnostic {
    let shown = path.display();
    let report =
        Diagnostic::error(Code::LinkFailed, format!("the C object {shown} does not exist")).at(span, "needed here");
    match path.extension().is_some_and(|extension| extension == "o") {
        true => report.with_help(format!("compile it: cc -c -fPIC {} -o {shown}", path.with_extension("c").display())),
        false => report.with_help("paths are relative to the folder of this file"),
    }
}

/// The object file of a pragma: beside the file that names it, or where the compiler was started. C text beside a missing object stands for it.
fn object(name: &str, folder: &Path) -> Option<PathBuf> {
    let places = [folder.join(name), PathBuf::from(name)];
    let text = places.iter().map(|path| path.with_extension("c"));
    places.iter().cloned().chain(text).find(|path| path.is_file())
}

/// A library as the linker wants it: a flag as it is, a file by its path, else a name.
fn library(name: &str, folder: &Path) -> LinkInput {
    let beside = folder.join(name);
    match name {
        flag if flag.starts_with('-') => LinkInput::Flag(flag.to_string()),
        _ if beside.is_file() => LinkInput::File(beside),
        name => LinkInput::Flag(format!("-l{name}")),
    }
}
