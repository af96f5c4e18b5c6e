//! The command line.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Arg, Args, Parser, Subcommand};
use ravel_diagnostics::Format;
use ravel_driver::Backend;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

pub use crate::args_test::Test;

/// Ravel compiles SaC (Single Assignment C), the rank-polymorphic array language with C syntax.
#[derive(Parser)]
#[command(name = "ravel", bin_name = "ravel", version, about, max_term_width = 100)]
#[command(after_help = "\
Examples:
  ravel run hello.sac                      compile in memory and run
  ravel run -D SIZE=512 life.sac 100       define a macro; pass 100 to the program
  ravel build -o life life.sac             make an executable (`./life -mt 4 100` runs it on 4 threads)
  ravel check conv.sac                     report errors, run nothing
  ravel repl                               try things at a prompt
  ravel -e 'sum(iota(101))'                evaluate, show, leave

`ravel help COMMAND` explains each command.")]
#[command(args_conflicts_with_subcommands = true, arg_required_else_help = true)]
pub struct Cli {
    /// Evaluate TEXT as the prompt would, show what it gives, and leave; several are evaluated in order
    #[arg(short = 'e', long = "eval", value_name = "TEXT")]
    pub eval: Vec<String>,
    #[command(subcommand)]
    pub command: Option<Command>,
}

#[derive(Subcommand)]
pub enum Command {
    /// Report everything that is wrong with programs or modules
    #[command(after_help = "\
A folder stands for all .sac files in it and below it; `-` for standard input.
Reports for people and lines go to standard error, those for programs (json, sarif, github) to standard output.
--fix keeps a fix only if what it mends is gone then, and writes nothing else. Exit status: 0 if there are no errors (warnings are allowed), 1 otherwise.")]
    Check(Check),
    /// Say what an error code means, with a program that has it and how to mend that
    #[command(after_help = "\
Without CODE all codes are listed. The pages are those of docs/errors. Exit status: 0, or 2 if there is no such code.")]
    Explain(Explain),
    /// Make the folder of a new package: ravel.toml, src, tests
    #[command(
        after_help = "docs/tools/project.md describes packages. Exit status: 0, or 1 if the folder is not empty or cannot be made."
    )]
    New(New),
    /// Get the packages that the package of the current folder needs, and note their commits in ravel.lock
    Fetch(Fetch),
    /// Copy the git dependencies into the package, so that it can be built without a network
    Vendor(Vendor),
    /// Compile a program in memory and run it
    #[command(after_help = "\
Arguments after FILE belong to the program; its argv(0) is FILE. Without FILE, or where it is a folder, the root of the package is run.
The exit status is that of the program's main (low 8 bits); a run-time fault ends it with 1 and names the
source line. Compile errors end with 1 as well, and nothing runs.
RAVEL_STACK=N gives the program N MiB of stack for deep recursion; without it, it has 1024.
--ranks takes the `mpirun` or `mpiexec` that is installed, or what RAVEL_MPIRUN names.")]
    Run(Run),
    /// Compile a program to an executable, or a file to a library for C or Python
    #[command(after_help = "\
--lib and --python offer functions of known ranks, and what the file asks for by `specialize`: docs/tools/c.md, docs/tools/python.md.
The executable needs no Ravel. It takes `-mt N` anywhere among its arguments (or RAVEL_THREADS=N) for the number of
threads, and prints allocation figures at its end if RAVEL_STATS=1, and with RAVEL_STATS=ranks a trace of its ranks. One with kernels takes `-device DEVICE` (or
RAVEL_DEVICE=DEVICE): the number of an OpenCL device or a part of its name. Built with `--backend opencl` it needs a device, with
`--backend auto` it uses one if there is one. RAVEL_STACK=N gives it N MiB of stack, 1024 without it. Linking uses `cc`, or what CC names.")]
    Build(Build),
    /// List the backends: what can run a program
    #[command(after_help = "\
Each line has the name, where with-loops run, and a description; or what brings a backend that this `ravel` was built without.")]
    Backends,
    /// List the OpenCL devices of this machine
    #[command(after_help = "\
`--device` takes the number or a part of the name. Exit status: 0, or 1 if OpenCL is not installed or has no device.")]
    Devices,
    /// Find out how the kernels of a program run fastest on an OpenCL device
    #[command(after_help = "\
The program runs again and again, with other sizes of groups each time, until all that its kernels can have were measured; its output is
thrown away. The winners are kept in the cache folder (RAVEL_CACHE, or ravel below XDG_CACHE_HOME or ~/.cache) for the
device and its driver, and later runs take them, on grids of like sizes.")]
    Tune(Tune),
    /// Run optimiser passes over a module of WIR, the with-loop IR, and print what they make of it
    #[command(after_help = "\
FILE is WIR text (as `--emit wir` prints it) or a SaC program, whose WIR before optimisation is taken.
Without --passes the whole optimiser runs. Exit status: 0, or 1 if the file is wrong, or 2 if a pass is unknown.")]
    Opt(Opt),
    /// Write reference pages from the comments in modules
    #[command(after_help = "\
Without MODULE all modules of the built-in library are taken. Pages are Markdown: DIR/<module>.md, and DIR/index.md with the list of
modules and an index of names in other libraries. Exit status: 0, or 1 if a file is wrong or cannot be written.")]
    Doc(Doc),
    /// Talk to an editor by the Language Server Protocol, over standard input and output
    #[command(after_help = "\
Reports while you type, their fixes, and the formatter. docs/editors says how editors start it. Exit status: 0 if the editor says goodbye, else 1.")]
    Lsp(Lsp),
    /// Write the completions of a shell to standard output
    #[command(after_help = "\
For bash: ravel completions bash > ~/.local/share/bash-completion/completions/ravel
For zsh:  ravel completions zsh > ~/.zfunc/_ravel, with ~/.zfunc in fpath
For fish: ravel completions fish > ~/.config/fish/completions/ravel.fish")]
    Completions(Completions),
    /// Write manual pages, one for each command
    Man(Man),
    /// Say what Ravel finds on this machine: backends, C compiler, devices, caches, threads, terminal
    #[command(after_help = "Exit status: 0, or 1 if something that `ravel run` or `ravel build` needs is missing.")]
    Doctor,
    /// Lay out SaC files: indentation, blanks, line ends
    #[command(after_help = "\
Folders are searched for .sac files. `-`, or no PATH where standard input is no terminal, formats
standard input to standard output.
Tokens and comments stay the same, which is checked before anything is written; a file appears
complete or stays as it was. What has no layout that is known stays as it is, with a note, and so
does what stands between the lines `// fmt: off` and `// fmt: on`.
Exit status: 0, or 1 if a file cannot be formatted or, with --check, would change.")]
    Fmt(Fmt),
    /// Run the tests of a project: functions, by their names
    #[command(after_help = crate::args_test::TEST_HELP)]
    Test(Test),
    /// Time the functions `bench_...` of a project
    #[command(after_help = crate::args_bench::BENCH_HELP)]
    Bench(crate::args_bench::Bench),
    /// Try things at a prompt
    #[command(after_help = "\
Expressions show their type, shape and value; statements bind variables; functions, types and `use` stay for later inputs.
Structures, StdIO, Math and MathArray are in use from the start. An error or a fault does not end the session.
Without a terminal, inputs are read from standard input and no prompt is written. The exit status is 0.")]
    Repl(Repl),
    /// Serve notebooks: requests and answers as lines of JSON
    Session(Serve),
}

/// What every command needs to read a program.
#[derive(Args)]
pub struct Source {
    #[command(flatten)]
    pub sources: Sources,
    /// Do not check type patterns and conditions of functions
    #[arg(long)]
    pub no_check: bool,
    /// Print compile time per stage, functions specialised, with-loops, and run-time allocations
    #[arg(long)]
    pub stats: bool,
    /// Print what became of every with-loop and why, to standard error or to FILE
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    pub explain: Option<Option<PathBuf>>,
}

/// Where texts come from, and what they say.
#[derive(Args)]
pub struct Sources {
    /// Define a preprocessor macro (NAME means NAME=1)
    #[arg(short = 'D', value_name = "NAME[=VALUE]", value_parser = definition)]
    pub define: Vec<String>,
    /// Undefine a preprocessor macro
    #[arg(short = 'U', value_name = "NAME", value_parser = macro_name)]
    pub undefine: Vec<String>,
    /// Search this folder for modules, before RAVEL_PATH and the built-in library
    #[arg(short = 'I', value_name = "DIR")]
    pub include: Vec<PathBuf>,
    #[command(flatten)]
    pub network: Network,
    /// The edition of the library: 2024 brings what SacBase's Stdlib had until then (also the line `//! stdlib 2024` in a program)
    #[arg(long, value_name = "YEAR", value_parser = ravel_driver::Edition::from_name)]
    pub stdlib: Option<ravel_driver::Edition>,
}

/// How packages are got.
#[derive(Args, Clone, Copy)]
pub struct Network {
    /// Do not ask the network for packages; what the cache lacks is an error
    #[arg(long)]
    pub offline: bool,
    /// Take packages only as ravel.lock has them
    #[arg(long)]
    pub locked: bool,
}

#[derive(Args)]
pub struct New {
    /// A library: a module instead of a program
    #[arg(long)]
    pub lib: bool,
    /// The folder, whose last part is the name of the package
    #[arg(value_name = "NAME")]
    pub path: PathBuf,
}

#[derive(Args)]
pub struct Fetch {
    #[command(flatten)]
    pub network: Network,
    /// Look up tags and branches anew
    #[arg(long, conflicts_with_all = ["locked", "offline"])]
    pub update: bool,
}

#[derive(Args)]
pub struct Vendor {
    #[command(flatten)]
    pub network: Network,
    /// The folder in the package that the copies go to
    #[arg(value_name = "DIR", default_value = "vendor")]
    pub folder: PathBuf,
}

/// What generates code.
#[derive(Args)]
pub struct Code {
    /// What runs the program; cranelift by default
    #[arg(long, value_parser = BackendNames)]
    pub backend: Option<Backend>,
    /// Compile for speed, with LLVM if this `ravel` was built with it
    #[arg(short = 'O', conflicts_with = "backend")]
    pub optimize: bool,
    /// The OpenCL device: its number or a part of its name, as `ravel devices` shows them (also RAVEL_DEVICE)
    #[arg(long, value_name = "DEVICE")]
    pub device: Option<String>,
    /// Least work for which a with-loop is started on a device, in cycles of a processor core
    #[arg(long, value_name = "CYCLES", hide = true)]
    pub launch_work: Option<u32>,
    /// For tests: give the processor away within every count of references that is not atomic
    #[arg(long, hide = true)]
    pub widen_counts: bool,
}

/// Which warnings there are.
#[derive(Args)]
pub struct Warnings {
    /// Show these warnings: names, codes, or a group: all, default, perf (what costs time)
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub warn: Vec<String>,
    /// Do not show these warnings (also the line `//! allow NAME` at the head of a file)
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub allow: Vec<String>,
    /// Make errors of these warnings
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub deny: Vec<String>,
}

#[derive(Args)]
pub struct Check {
    #[command(flatten)]
    pub source: Source,
    #[command(flatten)]
    pub warnings: Warnings,
    /// Print an intermediate form instead: ast, core, wir, wir-opt, schedule, nest, clif or asm
    #[arg(long, value_name = "STAGE", conflicts_with_all = ["fix", "format"])]
    pub emit: Option<String>,
    /// How reports are written: human, short (one line each), json (an object a line), sarif or github
    #[arg(long, value_name = "FORMAT", value_parser = FormatNames)]
    pub format: Option<Format>,
    /// Apply the fixes that reports offer, as far as they are safe
    #[arg(long)]
    pub fix: bool,
    /// With --fix: also those that may change what the program means
    #[arg(long = "unsafe", requires = "fix")]
    pub unsafe_too: bool,
    /// With --fix: show what would change, and write nothing
    #[arg(long, requires = "fix")]
    pub diff: bool,
    /// Name all definitions that were tried for a call that fits none
    #[arg(long)]
    pub candidates: bool,
    /// Check again whenever a file changes, until Ctrl-C
    #[arg(long, conflicts_with_all = ["fix", "emit"])]
    pub watch: bool,
    /// Programs, modules and folders; without any the roots of the package
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,
}

#[derive(Args)]
pub struct Lsp {
    /// Define a preprocessor macro (NAME means NAME=1)
    #[arg(short = 'D', value_name = "NAME[=VALUE]", value_parser = definition)]
    pub define: Vec<String>,
    /// Search this folder for modules, before RAVEL_PATH and the built-in library
    #[arg(short = 'I', value_name = "DIR")]
    pub include: Vec<PathBuf>,
    /// What some editors add; there is no other way
    #[arg(long, hide = true)]
    pub stdio: bool,
}

#[derive(Args)]
pub struct Completions {
    /// Whose
    #[arg(value_name = "SHELL")]
    pub shell: clap_complete::Shell,
}

#[derive(Args)]
pub struct Man {
    /// The folder that they are written to, as ravel.1 and ravel-run.1
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
}

#[derive(Args)]
pub struct Explain {
    /// A code as reports show it, such as E0312
    pub code: Option<String>,
}

#[derive(Args)]
pub struct Run {
    #[command(flatten)]
    pub source: Source,
    #[command(flatten)]
    pub warnings: Warnings,
    #[command(flatten)]
    pub code: Code,
    /// Number of threads (also RAVEL_THREADS); all cores by default
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Run as N processes on this machine that share the work over MPI; `--threads` counts those of each. With `--backend interp` there is one process, which
    /// simulates N ranks and looks whether each has the rows that it reads
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024), conflicts_with = "emit", allow_negative_numbers = true)]
    pub ranks: Option<u16>,
    /// Drop index and shape checks
    #[arg(long)]
    pub unchecked: bool,
    /// Print where the time went, by line, to standard error or to FILE: .json (a time line for Perfetto), .folded (flame graphs), .html or .txt
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, conflicts_with = "emit")]
    pub profile: Option<Option<PathBuf>>,
    /// Write /tmp/perf-PID.map, so that `perf report` names SaC functions
    #[arg(long, conflicts_with = "emit")]
    pub perf_map: bool,
    /// Fault where the first NaN is made
    #[arg(long, conflicts_with = "unchecked")]
    pub check_nan: bool,
    /// Compare every derivative with differences the first times that it is taken, and say where it is wrong; exit status 1 if one is
    #[arg(long, conflicts_with = "emit")]
    pub check_grad: bool,
    /// Run in the interpreter, and print what it does to standard error: calls, allocs, withs (with-loops)
    #[arg(long, value_name = "WHAT", value_delimiter = ',', conflicts_with_all = ["emit", "profile"])]
    pub trace: Vec<crate::trace::Of>,
    /// Print an intermediate form instead of running: ast, core, wir, wir-opt, schedule, nest, clif or asm
    #[arg(long, value_name = "STAGE")]
    pub emit: Option<String>,
    /// Run again whenever a file of the program changes, until Ctrl-C
    #[arg(long, conflicts_with = "emit")]
    pub watch: bool,
    /// The program, a SaC file with `int main()` or `-` for standard input, and its own arguments: nothing after FILE is read as an option of ravel
    #[arg(value_names = ["FILE", "ARGS"], num_args = 0.., trailing_var_arg = true)]
    pub program: Vec<OsString>,
}

impl Run {
    pub fn file(&self) -> &Path {
        self.program.first().map_or(Path::new(""), Path::new)
    }
}

#[derive(Args)]
pub struct Build {
    #[command(flatten)]
    pub source: Source,
    #[command(flatten)]
    pub warnings: Warnings,
    /// The executable; by default FILE without its extension, or the name of the package, in the current folder; of a library libFILE
    #[arg(short = 'o', value_name = "OUT")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub code: Code,
    /// Drop index and shape checks
    #[arg(long)]
    pub unchecked: bool,
    /// Have ranks keep the rows of large arrays that they compute, where a launcher starts several: `mpirun -n 4 OUT`
    #[arg(long, conflicts_with_all = ["lib", "python"])]
    pub ranks: bool,
    /// Make a library for C of a module or a program: OUT.so and OUT.a, and a header and a JSON description beside them
    #[arg(long, conflicts_with_all = ["emit", "no_cc"])]
    pub lib: bool,
    /// Make a wheel for Python of a module or a program, and print its path: OUT-0.1.0-py3-none-PLATFORM.whl, or with the version of OUT-VERSION
    #[arg(long, conflicts_with_all = ["emit", "no_cc", "lib"])]
    pub python: bool,
    /// Print an intermediate form instead of building: ast, core, wir, wir-opt, schedule, nest, clif or asm
    #[arg(long, value_name = "STAGE")]
    pub emit: Option<String>,
    /// Make a copy of `ravel` with the program attached, as where there is no C compiler
    #[arg(long)]
    pub no_cc: bool,
    /// The program: a SaC file with `int main()`; without one the root of the package
    pub file: Option<PathBuf>,
}

#[derive(Args)]
pub struct Tune {
    /// Define a preprocessor macro (NAME means NAME=1)
    #[arg(short = 'D', value_name = "NAME[=VALUE]", value_parser = definition)]
    pub define: Vec<String>,
    /// Search this folder for modules, before RAVEL_PATH and the built-in library
    #[arg(short = 'I', value_name = "DIR")]
    pub include: Vec<PathBuf>,
    /// The edition of the library: 2024 brings what SacBase's Stdlib had until then (also the line `//! stdlib 2024` in a program)
    #[arg(long, value_name = "YEAR", value_parser = ravel_driver::Edition::from_name)]
    pub stdlib: Option<ravel_driver::Edition>,
    /// The OpenCL device: its number or a part of its name, as `ravel devices` shows them (also RAVEL_DEVICE)
    #[arg(long, value_name = "DEVICE")]
    pub device: Option<String>,
    /// Least work for which a with-loop is started on a device, in cycles of a processor core
    #[arg(long, value_name = "CYCLES", hide = true)]
    pub launch_work: Option<u32>,
    /// Most runs of the program
    #[arg(long, value_name = "N", default_value_t = 30)]
    pub runs: u32,
    /// A SaC program, the folder of a package, or an executable that `ravel build --backend opencl` made
    pub program: PathBuf,
    /// The program's arguments
    #[arg(last = true)]
    pub arguments: Vec<OsString>,
}

#[derive(Args)]
pub struct Opt {
    #[command(flatten)]
    pub source: Source,
    /// Run these passes in this order, once each: names separated by commas
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub passes: Option<Vec<String>>,
    /// List the passes
    #[arg(long)]
    pub list: bool,
    /// Print the time of each pass on standard error
    #[arg(long)]
    pub time: bool,
    /// WIR text (FILE.wir), or a SaC program
    #[arg(required_unless_present = "list")]
    pub file: Option<PathBuf>,
}

#[derive(Args)]
pub struct Serve {
    /// Lines of JSON over standard input and output, the only form there is
    #[arg(long, required = true)]
    pub json: bool,
}

#[derive(Args)]
pub struct Repl {
    /// Define a preprocessor macro (NAME means NAME=1)
    #[arg(short = 'D', value_name = "NAME[=VALUE]", value_parser = definition)]
    pub define: Vec<String>,
    /// Undefine a preprocessor macro
    #[arg(short = 'U', value_name = "NAME", value_parser = macro_name)]
    pub undefine: Vec<String>,
    /// Search this folder for modules, before RAVEL_PATH and the built-in library
    #[arg(short = 'I', value_name = "DIR")]
    pub include: Vec<PathBuf>,
    /// The edition of the library: 2024 brings what SacBase's Stdlib had until then (also the line `//! stdlib 2024` in a program)
    #[arg(long, value_name = "YEAR", value_parser = ravel_driver::Edition::from_name)]
    pub stdlib: Option<ravel_driver::Edition>,
    /// Number of threads (also RAVEL_THREADS); all cores by default
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Drop index and shape checks
    #[arg(long)]
    pub unchecked: bool,
    /// Do not check type patterns and conditions of functions
    #[arg(long)]
    pub no_check: bool,
}

/// The names of backends, from the registry.
#[derive(Clone)]
pub struct BackendNames;

impl TypedValueParser for BackendNames {
    type Value = Backend;

    fn parse_ref(&self, cmd: &clap::Command, arg: Option<&Arg>, value: &OsStr) -> Result<Backend, clap::Error> {
        let all: Vec<&str> = Backend::all().map(Backend::name).collect();
        if let Some(found) = Backend::all().find(|backend| backend.name() == value) {
            return Ok(found);
        }
        if let Some(absent) = Backend::absent().find(|absent| absent.name == value) {
            let (name, brought_by) = (absent.name, absent.brought_by);
            let what = format!("this ravel was built without the backend `{name}`; it has {}", all.join(", "));
            let why = format!("{what}\n`{name}` comes with {brought_by}\n");
            return Err(clap::Error::raw(ErrorKind::InvalidValue, why).with_cmd(cmd));
        }
        // In clap's own words.
        let unknown = PossibleValuesParser::new(all).parse_ref(cmd, arg, value);
        Err(unknown.err().unwrap_or_else(|| clap::Error::new(ErrorKind::InvalidValue).with_cmd(cmd)))
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let value = |backend: Backend| PossibleValue::new(backend.name()).help(backend.description());
        Some(Box::new(Backend::all().map(value)))
    }
}

/// The forms of reports.
#[derive(Clone)]
struct FormatNames;

impl TypedValueParser for FormatNames {
    type Value = Format;

    fn parse_ref(&self, cmd: &clap::Command, arg: Option<&Arg>, value: &OsStr) -> Result<Format, clap::Error> {
        let name = PossibleValuesParser::new(Format::ALL.map(|(name, _)| name)).parse_ref(cmd, arg, value)?;
        Ok(Format::from_name(&name).unwrap_or_default())
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(Format::ALL.iter().map(|(name, _)| PossibleValue::new(*name))))
    }
}

/// `NAME`, `NAME=VALUE`, or a macro with parameters `NAME(A,B)=VALUE`.
pub fn definition(text: &str) -> Result<String, String> {
    let head = text.split_once('=').map_or(text, |(head, _)| head);
    let name = match head.split_once('(') {
        Some((name, rest)) if rest.ends_with(')') => name,
        _ => head,
    };
    macro_name(name).map(|_| text.to_string())
}

pub fn macro_name(name: &str) -> Result<String, String> {
    let letter = |c: char| c.is_ascii_alphabetic() || c == '_';
    if name.starts_with(letter) && name.chars().all(|c| letter(c) || c.is_ascii_digit()) {
        Ok(name.to_string())
    } else {
        Err("a macro has a name of letters, digits and _".to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn macros_need_names() {
        for good in ["N", "N=", "N=1", "_n2=a b", "F(x,y)=x+y", "N=a=b"] {
            assert_eq!(definition(good).as_deref(), Ok(good));
        }
        for bad in ["", "=", "3=4", "A B", "a-b=1", "F(x=1"] {
            assert!(definition(bad).is_err(), "{bad}");
        }
    }
}

#[derive(Args)]
pub struct Doc {
    /// Files of modules, or names of modules of the library
    #[arg(value_name = "MODULE")]
    pub modules: Vec<PathBuf>,
    /// Write the pages into this folder, which is made if it is not there and else has to be empty or made by `ravel doc`; without
    /// it a page is printed
    #[arg(short, long, visible_alias = "out", value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Form of the pages; HTML has a search and the sources
    #[arg(long, value_enum, default_value = "markdown")]
    pub format: PageFormat,
    /// Find functions by name, also that of another library, or by shape: `float[n,n] -> float`
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["output", "check", "examples", "format"])]
    pub search: Option<String>,
    /// Only see whether the pages in DIR are up to date; exit with 1 if not
    #[arg(long, requires = "output")]
    pub check: bool,
    /// Print a program that runs the examples in the comments of one module (`call is value.` on a line)
    #[arg(long, conflicts_with_all = ["output", "check"])]
    pub examples: bool,
}

#[derive(Clone, Copy, PartialEq, clap::ValueEnum)]
pub enum PageFormat {
    Markdown,
    Html,
}

#[derive(Args)]
pub struct Fmt {
    /// Write nothing: list the files that would change, and exit with 1 if there are any
    #[arg(long)]
    pub check: bool,
    /// Write nothing: print what would change
    #[arg(long)]
    pub diff: bool,
    /// Files and folders, or `-` for standard input
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,
}
