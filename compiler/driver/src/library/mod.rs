//! Libraries for C and for Python: `ravel build --lib`, `ravel build --python`.
//!
//! A library is compiled code with one host entry for each function that it offers, C text that gives these functions their C types, the
//! C functions of the program, and the runtime. Symbols of the runtime stay inside of the shared library, so that a process may load several.

mod interface;
mod text;
mod wheel;

use crate::link::{self, LinkError};
use crate::outputs::OutputError;
use crate::pipeline::{Compilation, ENTRY, Failure};
use interface::{Interface, is_identifier};
use ravel_codegen::Purpose;
use ravel_diagnostics::{Code, Diagnostic};
use ravel_runtime::outputs::{self, Folder};
use ravel_source::Span;
use ravel_specialize::Entry;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The standard library of Rust brings LLVM's form of its code along, which other tools than the compiler's own cannot read.
const WITHOUT_BITCODE: &str = "SECTIONS { /DISCARD/ : { *(.llvmbc) *(.llvmcmd) } } INSERT AFTER .text;\n";

/// The files of a library.
struct Files {
    /// What functions begin with.
    name: String,
    shared: PathBuf,
    archive: PathBuf,
    header: PathBuf,
    manifest: PathBuf,
}

impl Files {
    /// Of `DIR/libNAME` or `DIR/NAME`, with or without `.so` or `.a`.
    fn of(output: &Path) -> Result<Files, LinkError> {
        let plain = match output.extension() {
            Some(extension) if extension == "so" || extension == "a" => output.with_extension(""),
            _ => output.to_path_buf(),
        };
        let file = plain.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let name = file.strip_prefix("lib").filter(|rest| !rest.is_empty()).unwrap_or(&file).to_string();
        if !is_identifier(&name) {
            let why = format!("C functions would begin with `{name}`, which is no name in C");
            return Err(LinkError::Output(OutputError { path: output.to_path_buf(), why, no_file: false }));
        }
        let beside = |file: String| output.with_file_name(file);
        Ok(Files {
            shared: beside(format!("lib{name}.so")),
            archive: beside(format!("lib{name}.a")),
            header: beside(format!("{name}.h")),
            manifest: beside(format!("{name}.json")),
            name,
        })
    }

    fn all(&self) -> [&Path; 4] {
        [&self.shared, &self.archive, &self.header, &self.manifest]
    }
}

impl Compilation {
    /// Compiles a file into a library for C: a shared library, an archive, a header and a description.
    ///
    /// # Errors
    /// Those of the stages; the inner result is that of linking.
    pub fn build_library(&mut self, path: &Path, output: &Path) -> Result<Result<(), LinkError>, Failure> {
        let files = match Files::of(output) {
            Ok(files) => files,
            Err(why) => return Ok(Err(why)),
        };
        let compiled = match self.library(path, &files.name, &files.all())? {
            Ok(compiled) => compiled,
            Err(why) => return Ok(Err(why)),
        };
        self.linked(|foreign| make(&files, &compiled, foreign))
    }

    /// Compiles what C may call. `outputs` are the files that are to be written.
    fn library(&mut self, path: &Path, name: &str, outputs: &[&Path]) -> Result<Result<Compiled, LinkError>, Failure> {
        // Better before a long compilation than after it.
        if let Err(refused) = self.check_files(path, outputs) {
            return Ok(Err(refused.into()));
        }
        (self.options.library, self.options.lent) = (true, true);
        let program = self.core_with_holes(path)?;
        let specialized = self.specialize(&program, Entry::Exports);
        self.suggest_edition(path, &[Entry::Exports]);
        self.suggest_modules(path, &[Entry::Exports]);
        self.finish_reports();
        let specialized = specialized?;
        let interface = Interface::of(name, &program, &specialized.exports);
        self.judge_interface(&interface);
        if self.has_errors() {
            return Err(Failure::Source);
        }
        let has_objects = program.globals.iter().any(|global| global.init.is_some());
        let module = self.optimize(specialized.module)?;
        self.runs_elsewhere = true;
        let nest = self.nest(&module, true)?;
        let prefix = format!("ravel_in_{name}_");
        let objects = self.objects(&nest, Purpose::Library { prefix: &prefix })?;
        // By now it is known what else was read.
        if let Err(refused) = self.check_files(path, outputs) {
            return Ok(Err(refused.into()));
        }
        Ok(Ok(Compiled { name: name.to_string(), interface, prefix, has_objects, objects }))
    }

    fn check_files(&self, root: &Path, files: &[&Path]) -> Result<(), OutputError> {
        files.iter().try_for_each(|file| self.check_output(root, file))
    }

    /// Reports what the file asks for and C cannot have, and a library of nothing.
    fn judge_interface(&mut self, interface: &Interface) {
        for skipped in interface.skipped.iter().filter(|skipped| skipped.requested) {
            let title = format!("`{}` cannot be called from C", skipped.name);
            let report = Diagnostic::error(Code::ForeignSignature, title).at(skipped.span, skipped.why.clone());
            self.diagnostics.push(report);
        }
        if interface.functions.is_empty() && !self.has_errors() {
            let span = self.map.files().next().map_or(Span::NONE, |(id, _)| Span::new(id, 0, 0));
            let report = Diagnostic::error(Code::ForeignSignature, "this file has no function that C could call")
                .at(span, "nothing to put into a library")
                .with_help("a module offers functions by `export` or `provide`; those of open rank are asked for: specialize float[.] f(float[.] a);");
            self.diagnostics.push(report);
        }
    }
}

/// A library that is to be linked.
struct Compiled {
    /// What functions begin with.
    name: String,
    interface: Interface,
    /// That of the symbols of compiled code.
    prefix: String,
    has_objects: bool,
    objects: Vec<Vec<u8>>,
}

/// A shared library that is not yet in its place.
struct Linked {
    /// Everything for it lies there.
    folder: Folder,
    shared: PathBuf,
    /// What it was linked from, beside the objects of the user and the runtime.
    own: Vec<OsString>,
    runtime: PathBuf,
}

impl Linked {
    fn place(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, content: &[u8]) -> Result<PathBuf, LinkError> {
        let path = self.place(name);
        std::fs::write(&path, content).map_err(outputs::Refusal::from)?;
        Ok(path)
    }
}

fn words(list: &[&str]) -> Vec<OsString> {
    list.iter().map(OsString::from).collect()
}

/// Makes the shared library, in a folder of its own.
fn link_shared(compiled: &Compiled, foreign: &[OsString]) -> Result<Linked, LinkError> {
    let Compiled { name, interface, prefix, has_objects, objects } = compiled;
    let runtime = link::find_runtime()?;
    let folder = Folder::temporary().map_err(outputs::Refusal::from)?;
    let shared = folder.path().join("shared.so");
    let mut linked = Linked { folder, shared, own: Vec::new(), runtime };
    for (n, object) in objects.iter().enumerate() {
        let object = linked.write(&format!("{n}.o"), object)?;
        linked.own.push(object.into());
    }
    let functions = text::functions(name, interface, (prefix, ENTRY), *has_objects);
    let (source, compiled) = (linked.write("functions.c", functions.as_bytes())?, linked.place("functions.o"));
    let mut arguments = words(&["-c", "-fPIC", "-O1"]);
    arguments.extend([source.into(), "-o".into(), compiled.clone().into()]);
    link::cc(linked.folder.path(), &arguments)?;
    linked.own.push(compiled.into());

    let symbols = linked.write("symbols", text::symbols(interface).as_bytes())?;
    let mut version = OsString::from("-Wl,--version-script=");
    version.push(symbols);
    let mut arguments = words(&["-shared", "-fPIC"]);
    arguments.extend(linked.own.iter().chain(foreign).cloned());
    arguments.extend([linked.runtime.clone().into(), version]);
    arguments.extend(words(&["-lpthread", "-lm", "-ldl", link::WITHOUT_UNUSED, "-Wl,-Bsymbolic", "-Wl,-z,defs", "-o"]));
    arguments.push(linked.shared.clone().into());
    link::cc(linked.folder.path(), &arguments)?;
    Ok(linked)
}

/// Makes the files of a library for C.
fn make(files: &Files, compiled: &Compiled, foreign: &[OsString]) -> Result<(), LinkError> {
    let interface = &compiled.interface;
    let linked = link_shared(compiled, foreign)?;
    let (place, write) = (|name: &str| linked.place(name), |name: &str, content: &[u8]| linked.write(name, content));
    let folder = &linked.folder;

    // One object with all that the functions need; libraries stay with whoever links the archive.
    let of_user = |input: &&OsString| {
        let text = input.to_string_lossy();
        text.starts_with("-l") || text.starts_with("-Wl,") || text.contains(".so")
    };
    let link_too: Vec<String> =
        foreign.iter().filter(of_user).map(|input| input.to_string_lossy().into_owned()).collect();
    let (member, archive) = (place(&format!("{}.o", files.name)), place("archive.a"));
    let mut arguments = words(&["-r", "-nostdlib", link::WITHOUT_UNUSED]);
    arguments.extend(text::shown(interface).map(|name| format!("-Wl,-u,{name}").into()));
    arguments.extend(linked.own.iter().chain(foreign.iter().filter(|input| !of_user(input))).cloned());
    let mut script = OsString::from("-Wl,-T,");
    script.push(write("discard", WITHOUT_BITCODE.as_bytes())?);
    arguments.extend([linked.runtime.clone().into(), script, "-o".into(), member.clone().into()]);
    link::cc(folder.path(), &arguments)?;
    // A program may link several such archives: each keeps its runtime to itself, and any one has the functions of `ravel.h`.
    let kept: String = text::shown(interface).map(|name| format!("{name}\n")).collect();
    let mut keep = OsString::from("--keep-global-symbols=");
    keep.push(write("kept", kept.as_bytes())?);
    // Without its group: a linker keeps one group of a name, such as Rust's own for unwinding, and cannot give up what is local to another.
    let mut arguments = vec![keep, "--remove-section=.group".into()];
    arguments.extend(text::ARRAYS.iter().map(|name| format!("--weaken-symbol={name}").into()));
    arguments.push(member.clone().into());
    link::tool(named("OBJCOPY", "objcopy"), folder.path(), &arguments)?;
    link::tool(named("AR", "ar"), folder.path(), &["rcs".into(), archive.clone().into(), member.into()])?;

    let header = write("header", text::header(&files.name, interface).as_bytes())?;
    let mut needs: Vec<String> = link_too;
    needs.extend(["-lpthread", "-lm", "-ldl"].map(String::from));
    let manifest = write("manifest", text::manifest(&files.name, interface, &needs).as_bytes())?;
    for (made, output) in [&linked.shared, &archive, &header, &manifest].into_iter().zip(files.all()) {
        put(made, output)?;
    }
    Ok(())
}

/// The command that a variable names.
fn named(variable: &str, usual: &str) -> OsString {
    std::env::var_os(variable).filter(|command| !command.is_empty()).unwrap_or_else(|| usual.into())
}

/// Puts a file where it belongs: complete, or not at all.
fn put(made: &Path, output: &Path) -> Result<(), LinkError> {
    outputs::make(output, |beside| -> Result<PathBuf, LinkError> {
        let copied = beside.join("made");
        std::fs::copy(made, &copied).map_err(outputs::Refusal::from)?;
        Ok(copied)
    })
    .map_err(|error| match error {
        LinkError::Refused(why) => LinkError::Output(OutputError::new(output, &why)),
        other => other,
    })
}
