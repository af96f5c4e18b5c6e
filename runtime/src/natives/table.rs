//! The one table of all natives: by name, in the order of the documentation.

use std::collections::HashMap;
use std::sync::OnceLock;

use super::{
    Native, Ty, Variadic, bench, binary, chars, clock, colors, columns, command_line, csv, fibre, gradients, hide, idx,
    image, list, math, npy, plot, print, random, streams, string_array, strings, system, trace, variadic,
};

/// Titles for the documentation, and the natives of every area.
static AREAS: &[(&str, &[&[Native]])] = &[
    ("Formatted text", &[variadic::LIST, columns::COLUMNS]),
    ("Streams", &[streams::FILES, streams::INTEGERS, print::SCALARS, print::ARRAYS]),
    ("FibreIO", &[fibre::OTHERS, fibre::SCALARS]),
    (
        "Strings and characters",
        &[strings::STRINGS, strings::TEXTS, chars::CASES, chars::CLASSES, string_array::STRINGS],
    ),
    ("Mathematics", &[math::UNARY, math::BINARY, math::CLASSES, math::PARTS]),
    ("Command line, clocks, benchmarks", &[command_line::ARGUMENTS, clock::CLOCKS, bench::BENCH]),
    ("System", &[system::SYSTEM, binary::BINARY]),
    ("Random numbers, lists, data files, hiding", &[random::RANDOM, list::LISTS, idx::IDX, hide::HIDE]),
    ("Looking inside", &[trace::TRACE, gradients::GRADIENTS]),
    ("Arrays, tables and pictures in files", &[npy::NPY, csv::CSV, image::IMAGE, colors::COLORS, plot::PLOT]),
];

/// All natives.
pub fn all() -> impl Iterator<Item = &'static Native> {
    AREAS.iter().flat_map(|(_, lists)| lists.iter().flat_map(|list| list.iter()))
}

/// The native with this symbol.
pub fn find(name: &str) -> Option<&'static Native> {
    static BY_NAME: OnceLock<HashMap<&'static str, &'static Native>> = OnceLock::new();
    BY_NAME.get_or_init(|| all().map(|native| (native.name, native)).collect()).get(name).copied()
}

/// The signature as a SaC declaration: `(int err, handle file) ravel_io_fopen(string name, string mode)`.
pub fn signature(native: &Native) -> String {
    let named = |values: &[(&str, Ty)]| values.iter().map(|(name, ty)| format!("{ty} {name}")).collect::<Vec<_>>();
    let mut params = named(native.params);
    let mut results = named(native.results);
    match native.variadic {
        Variadic::No => {}
        Variadic::Arguments => params.push("...".to_string()),
        Variadic::Results => results.push("...".to_string()),
    }
    let results = match (&results[..], native.results) {
        ([], _) => "void".to_string(),
        ([_], [(_, ty)]) => ty.to_string(),
        (several, _) => format!("({})", several.join(", ")),
    };
    format!("{results} {}({})", native.name, params.join(", "))
}

/// The page that lists all natives.
pub fn documentation() -> String {
    let mut page = INTRODUCTION.to_string();
    for (title, lists) in AREAS {
        page.push_str(&format!("\n## {title}\n| native | class | meaning |\n|---|---|---|\n"));
        for native in lists.iter().flat_map(|list| list.iter()) {
            let class = native.class.name();
            page.push_str(&format!("| `{}` | {class} | {} |\n", signature(native), native.doc.trim()));
        }
    }
    page
}

/// What a reader of the list has to know.
const INTRODUCTION: &str = "\
# Natives: functions of the runtime that SaC code may declare

This page is made from the runtime's sources: `RAVEL_BLESS=1 cargo test -p ravel-runtime documentation` writes it.

Declare one with `external T f(args);` and `#pragma linkname \"NAME\"`. Arguments come in the order below; no `linksign` is
needed. `handle` is any opaque object (a stream, a timer, a list ...); streams of the classes `File` and `TermFile` are one
type. `A[*]` is an array of any element type and any rank: the native reads both from the array, so declare it once per element
type with the same linkname. A reference parameter `&f` is the handle itself. `long` also serves `longlong`, and `ulong` `ulonglong`.

A native is `pure`, or has an effect, which is ordered with all others. The class also says which ranks run it, when a program has several:

| class | run by |
| --- | --- |
| `pure` | every rank |
| `same` | every rank: the effect is on a state that all have, or depends on the arguments alone |
| `root` | rank 0, and the others get the results |
| `write` | rank 0: there are no results, and nobody waits |
";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::natives::{Class, Value};

    #[test]
    fn the_documentation_is_current() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/NATIVES.md");
        let current = documentation();
        if std::env::var_os("RAVEL_BLESS").is_some() {
            std::fs::write(path, &current).expect("the page is writable");
        }
        let written = std::fs::read_to_string(path).expect("the page exists");
        assert!(written == current, "NATIVES.md is out of date: run with RAVEL_BLESS=1");
    }

    #[test]
    fn names_are_unique() {
        let mut names: Vec<_> = all().map(|native| native.name).collect();
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn natives_are_called_with_values() {
        let call = |name: &str, values: &[Value]| (find(name).expect("in the table").call)(values, &[]);
        let text = Value::string(b"  42 rest").expect("small");
        let results = call("ravel_string_strtoi", &[text.clone(), Value::I32(10)]).expect("valid");
        assert!(matches!(&results[..], [Value::I32(42), Value::Object(rest)] if rest.view().text() == Some(b" rest")));
        assert!(call("ravel_string_strlen", &[Value::I32(1)]).is_err());
        assert!(call("ravel_string_strlen", &[]).is_err());
        let root = call("ravel_math_sqrt_double", &[Value::F64(9.0)]).expect("valid");
        assert!(matches!(root[..], [Value::F64(3.0)]));
        let format = Value::string(b"%d-%s").expect("small");
        let printed = call("ravel_sprintf", &[format, Value::I32(7), text]).expect("valid");
        assert!(matches!(&printed[..], [Value::Object(s)] if s.view().text() == Some(b"7-  42 rest")));
    }

    #[test]
    fn classes_fit_signatures() {
        for native in all() {
            let name = native.name;
            let gives = !native.results.is_empty() || native.variadic == Variadic::Results;
            match native.class {
                // What gives nothing does nothing that nobody sees.
                Class::Pure => assert!(gives && !native.has_effect(), "{name} is pure but gives nothing"),
                Class::Root => {
                    assert!(gives, "{name} gives nothing that rank 0 could pass on: it is `write` or `same`")
                }
                Class::Write => assert!(!gives, "{name} gives something that other ranks would not have"),
                Class::Same => {}
            }
        }
    }

    #[test]
    fn who_looks_at_streams_is_rank_0() {
        let of_streams = |native: &&Native| native.params.iter().any(|(name, _)| *name == "file");
        let streams: Vec<_> = all().filter(of_streams).collect();
        assert!(streams.len() > 80, "{}", streams.len());
        for native in streams {
            assert!(matches!(native.class, Class::Root | Class::Write), "{}", native.name);
        }
    }

    #[test]
    fn only_the_format_families_are_variadic() {
        let count = all().filter(|native| native.variadic != Variadic::No).count();
        assert_eq!(count, 7);
    }

    /// The declarations of natives in a SaC text: the symbol, and whether the compiler orders calls with other effects. That is so if a
    /// pragma or a reference parameter says it, or if there is no result.
    fn declarations(text: &str) -> Vec<(&str, bool)> {
        let declared = text.split("\nexternal ").skip(1).filter_map(|rest| {
            let (head, rest) = rest.split_once(';')?;
            let pragmas: Vec<&str> =
                rest.lines().skip(1).map_while(|line| line.trim().strip_prefix("#pragma ")).collect();
            let symbol = pragmas.iter().find_map(|pragma| pragma.strip_prefix("linkname \"")?.strip_suffix('"'))?;
            let is_ordered = pragmas.iter().any(|pragma| pragma.starts_with("effect"));
            Some((symbol, is_ordered || head.contains('&') || head.starts_with("void ")))
        });
        declared.collect()
    }

    /// What the compiler takes to be pure it may move, leave out or run on any thread: no rank would know when the others meet there.
    #[test]
    fn the_library_declares_what_has_an_effect() {
        let mut open = vec![std::path::PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../stdlib"))];
        let mut count = 0;
        while let Some(folder) = open.pop() {
            for entry in std::fs::read_dir(folder).expect("the library is there") {
                let path = entry.expect("a readable folder").path();
                if path.is_dir() {
                    open.push(path);
                    continue;
                }
                let text = std::fs::read_to_string(&path).expect("a readable file");
                // Traces are written in any order.
                let declared =
                    declarations(&text).into_iter().filter(|(symbol, _)| !symbol.starts_with("ravel_trace_"));
                for (symbol, is_ordered) in declared {
                    let native = find(symbol).unwrap_or_else(|| panic!("{}: {symbol} is no native", path.display()));
                    assert_eq!(native.has_effect(), is_ordered, "{}: {symbol}", path.display());
                    count += 1;
                }
            }
        }
        assert!(count > 300, "{count}");
    }
}
