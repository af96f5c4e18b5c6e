//! The commands of the prompt, which begin with a colon.

use super::{Flow, Source, print};
use ravel_driver::emit::Stage;
use ravel_driver::pictures::Terminal;
use ravel_driver::repl::{Account, Reply, Session, show};
use ravel_runtime::pool;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A command, as help and completion show it.
pub struct Command {
    /// With its colon.
    pub name: &'static str,
    /// What stands behind it.
    takes: &'static str,
    /// What an error calls that; empty if nothing needs to stand there.
    needs: &'static str,
    about: &'static str,
    obey: fn(&mut Session, &mut Source, &str) -> Flow,
}

const fn row(
    name: &'static str,
    takes: &'static str,
    needs: &'static str,
    about: &'static str,
    obey: fn(&mut Session, &mut Source, &str) -> Flow,
) -> Command {
    Command { name, takes, needs, about, obey }
}

/// All of them, in the order of the help.
pub const COMMANDS: &[Command] = &[
    row(":type", "EXPRESSION", "an expression", "show the type without evaluating", show_type),
    row(":doc", "NAME", "the name of a function", "what the library says of a function", show_doc),
    row(":source", "NAME", "the name of a function", "how it is defined, here or in the library", show_source),
    row(":time", "INPUT", "an input", "run an input, several times if it is short, and say how long that took", time),
    row(":explain", "INPUT", "an input", "run an input, and say what became of its with-loops", explain),
    row(
        ":show",
        "EXPRESSION",
        "an expression",
        "show a matrix as a picture; `> FILE.png` behind it writes a file",
        picture,
    ),
    row(
        ":plot",
        "EXPRESSION",
        "an expression",
        "plot a vector or rows of a matrix; `> FILE.svg` or `> FILE.png` writes a file",
        plot,
    ),
    row(":emit", "STAGE INPUT", "a stage and an input", "show an input as wir, wir-opt, schedule, nest or asm", emit),
    row(":vars", "", "", "list the variables; `it` is the value that was shown last", list_variables),
    row(":undo", "", "", "take back the last input", undo),
    row(":use", "MODULE", "the name of a module", "short for `use MODULE: all;`", use_module),
    row(":load", "FILE", "the name of a file", "take in the text of a file", load),
    row(":reload", "", "", "take in once more all files that were loaded", reload),
    row(":save", "FILE", "the name of a file", "write definitions and inputs as a program", save),
    row(":cd", "FOLDER", "a folder", "work in another folder", change_folder),
    row(":set", "NAME VALUE", "", "threads, backend, width or digits from now on; alone it shows them", set),
    row(":stats", "", "", "what the session holds in memory", show_stats),
    row(":reset", "", "", "forget variables and definitions", reset),
    row(":help", "", "", "this text", show_help),
    row(":quit", "", "", "leave (so does the end of input, Ctrl-D)", quit),
];

const INPUTS: &str = "\
EXPRESSION          show its type, shape and value
STATEMENT           run it; its variables stay
DEFINITION          a function, type, `use` or #define for later inputs
";
const KEYS: &str = "\
An input goes on over several lines until its brackets are closed; Ctrl-C drops it. Ctrl-C also ends a computation.
";

/// Obeys a command.
pub fn command(session: &mut Session, source: &mut Source, text: &str) -> Flow {
    let (name, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let rest = rest.trim();
    let name = match name {
        ":q" => ":quit",
        ":h" | ":?" => ":help",
        other => other,
    };
    match COMMANDS.iter().find(|command| command.name == name) {
        Some(command) if rest.is_empty() && !command.needs.is_empty() => say!("`{name}` needs {}", command.needs),
        Some(command) => return (command.obey)(session, source, rest),
        None => say!("there is no command `{name}`; `:help` lists them"),
    }
    Ok(())
}

fn quit(_: &mut Session, _: &mut Source, _: &str) -> Flow {
    Err(0)
}

fn show_help(_: &mut Session, _: &mut Source, _: &str) -> Flow {
    let line = |command: &Command| format!("{:<19} {}\n", format!("{} {}", command.name, command.takes), command.about);
    let commands: String = COMMANDS.iter().map(line).collect();
    print(&format!("{INPUTS}{commands}{KEYS}"))
}

fn reset(session: &mut Session, _: &mut Source, _: &str) -> Flow {
    session.reset();
    Ok(())
}

fn list_variables(session: &mut Session, _: &mut Source, _: &str) -> Flow {
    let lines: Vec<String> =
        session.variables().map(|(name, value)| format!("{name}: {}\n", show::type_name(value))).collect();
    print(&lines.concat())
}

fn show_type(session: &mut Session, source: &mut Source, expression: &str) -> Flow {
    source.answer(session.type_of(expression))
}

fn show_doc(_: &mut Session, _: &mut Source, function: &str) -> Flow {
    match ravel_driver::doc::about(function) {
        Some(text) => print(&text),
        None => {
            say!("the library has no `{function}`");
            Ok(())
        }
    }
}

fn show_source(session: &mut Session, _: &mut Source, name: &str) -> Flow {
    match session.source(name) {
        Some(text) => print(&text),
        None => {
            say!("neither the session nor the library defines `{name}`");
            Ok(())
        }
    }
}

fn time(session: &mut Session, source: &mut Source, input: &str) -> Flow {
    let Some(account) = account(session, source, input, false)? else { return Ok(()) };
    let runs = account.runs.iter().map(|runs| spread(runs));
    print(&format!("compiled in {}; ran in {}\n", duration(account.compiled), runs.collect::<Vec<_>>().join(" and ")))
}

fn explain(session: &mut Session, source: &mut Source, input: &str) -> Flow {
    match account(session, source, input, true)? {
        Some(account) => print(&account.explained),
        None => Ok(()),
    }
}

/// Runs an input and says what it cost; nothing if it failed, which it has said.
fn account(session: &mut Session, source: &mut Source, input: &str, explains: bool) -> Result<Option<Account>, i32> {
    session.begin_account(explains);
    let reply = session.enter(input, true);
    let answered = source.answer_all(session, reply);
    let account = session.end_account();
    answered?;
    Ok((!account.runs.is_empty()).then_some(account))
}

/// The median of several times, with their number and the ends.
fn spread(runs: &[Duration]) -> String {
    let mut sorted = runs.to_vec();
    sorted.sort_unstable();
    match sorted.as_slice() {
        [] => "no time".to_string(),
        [one] => duration(*one),
        [first, .., last] => {
            let median = sorted[sorted.len() / 2];
            format!("{} ({} runs, {} to {})", duration(median), sorted.len(), duration(*first), duration(*last))
        }
    }
}

/// With three digits or so.
fn duration(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    match seconds {
        1.0.. => format!("{seconds:.2} s"),
        1e-3.. => format!("{:.2} ms", seconds * 1e3),
        _ => format!("{:.1} us", seconds * 1e6),
    }
}

fn emit(session: &mut Session, source: &mut Source, request: &str) -> Flow {
    let (name, input) = request.split_once(char::is_whitespace).unwrap_or((request, ""));
    match Stage::from_name(name) {
        None => {
            let names: Vec<&str> = Stage::all().map(|(name, _)| name).collect();
            say!("there is no stage `{name}`; these are there: {}", names.join(", "));
            Ok(())
        }
        Some(_) if input.trim().is_empty() => {
            say!("`:emit {name}` needs an input");
            Ok(())
        }
        Some(stage) => source.answer(session.emit(stage, input.trim())),
    }
}

fn picture(session: &mut Session, source: &mut Source, request: &str) -> Flow {
    draw(source, |terminal| session.show(request, terminal))
}

fn plot(session: &mut Session, source: &mut Source, request: &str) -> Flow {
    draw(source, |terminal| session.plot(request, terminal))
}

fn draw(source: &mut Source, draw: impl FnOnce(&Terminal) -> Reply) -> Flow {
    match Terminal::detect(ravel_runtime::standard::screen(), |variable| std::env::var(variable).ok()) {
        Ok(terminal) => source.answer(draw(&terminal)),
        Err(why) => {
            say!("{why}");
            Ok(())
        }
    }
}

fn undo(session: &mut Session, _: &mut Source, _: &str) -> Flow {
    match session.undo() {
        Some(text) => {
            let first = text.lines().next().unwrap_or_default();
            let more = if text.lines().nth(1).is_some() { " ..." } else { "" };
            print(&format!("undone: {first}{more}\n"))
        }
        None => {
            say!("there is nothing that can be undone");
            Ok(())
        }
    }
}

fn use_module(session: &mut Session, source: &mut Source, module: &str) -> Flow {
    let name = module.trim_end_matches(';');
    let text = if name.contains(':') { format!("use {name};") } else { format!("use {name}: all;") };
    let reply = session.enter(&text, true);
    source.answer_all(session, reply)
}

fn load(session: &mut Session, source: &mut Source, file: &str) -> Flow {
    let reply = session.load(&PathBuf::from(file));
    source.answer_all(session, reply)
}

fn reload(session: &mut Session, source: &mut Source, _: &str) -> Flow {
    let replies = session.reload();
    if replies.is_empty() {
        say!("no file was loaded");
    }
    replies.into_iter().try_for_each(|reply| source.answer(reply))
}

/// The head of what [`save`] writes, by which it knows its own files.
const SAVED: &str = "/* Saved from a session of the prompt. */";

fn save(session: &mut Session, _: &mut Source, file: &str) -> Flow {
    let Some(text) = session.program() else {
        say!("nothing has been entered yet");
        return Ok(());
    };
    let path = Path::new(file);
    let is_own = || std::fs::read_to_string(path).is_ok_and(|old| old.starts_with(SAVED) || old.is_empty());
    if path.exists() && !is_own() {
        say!("{file} exists, and was not saved from a prompt: it stays as it is");
        return Ok(());
    }
    let text = ravel_format::format(&text).map_or(text, |formatted| formatted.text);
    match ravel_runtime::outputs::write(path, text.as_bytes()) {
        Ok(()) => print(&format!("{file}: {} lines\n", text.lines().count()))?,
        Err(why) => say!("cannot write {file}: {why}"),
    }
    Ok(())
}

fn change_folder(_: &mut Session, _: &mut Source, folder: &str) -> Flow {
    match std::env::set_current_dir(folder).and_then(|()| std::env::current_dir()) {
        Ok(place) => print(&format!("{}\n", place.display())),
        Err(why) => {
            say!("cannot work in {folder}: {why}");
            Ok(())
        }
    }
}

fn set(session: &mut Session, _: &mut Source, request: &str) -> Flow {
    let (name, value) = request.split_once(char::is_whitespace).unwrap_or((request, ""));
    match (name, value.trim()) {
        ("", _) => {
            let digits = session.digits().map_or("all".to_string(), |digits| digits.to_string());
            let (threads, backend, width) = (pool::threads(), session.backend(), session.width());
            print(&format!("threads {threads}\nbackend {backend}\nwidth {width}\ndigits {digits}\n"))?;
        }
        ("threads", value) => match value.parse::<usize>() {
            Ok(threads) if (1..=pool::MAX_THREADS).contains(&threads) => pool::set_threads(threads),
            _ => say!("`:set threads` needs a number from 1 to {}", pool::MAX_THREADS),
        },
        ("backend", name) => {
            if let Err(why) = session.set_backend(name) {
                say!("{why}");
            }
        }
        ("width", "screen") => session.set_width(None),
        ("width", value) => match value.parse::<usize>() {
            Ok(width) if (20..=10_000).contains(&width) => session.set_width(Some(width)),
            _ => say!("`:set width` needs a number from 20 to 10000, or `screen`"),
        },
        ("digits", "all") => session.set_digits(None),
        ("digits", value) => match value.parse::<usize>() {
            Ok(digits) if (1..=17).contains(&digits) => session.set_digits(Some(digits)),
            _ => say!("`:set digits` needs a number from 1 to 17, or `all`"),
        },
        (other, _) => say!("there is no setting `{other}`; these are there: threads, backend, width, digits"),
    }
    Ok(())
}

fn show_stats(session: &mut Session, _: &mut Source, _: &str) -> Flow {
    print(&session.figures())
}
