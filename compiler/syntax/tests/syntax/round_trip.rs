//! Every SaC file of the repository parses without a report and survives printing.
//!
//! `RAVEL_CORPUS` may name more folders, separated by colons.

use crate::common::{Library, parse_named, parse_with, repository, sac_files};
use proptest::prelude::*;
use ravel_syntax::{NoIncludes, equal_modulo_spans, print_file};

#[test]
#[expect(clippy::disallowed_methods, reason = "a test with a setting")]
fn every_file_of_the_repository_survives_printing() {
    let mut files = Vec::new();
    for folder in ["stdlib", "examples", "tests/golden"] {
        sac_files(&repository().join(folder), &mut files);
    }
    for folder in std::env::var("RAVEL_CORPUS").unwrap_or_default().split(':').filter(|f| !f.is_empty()) {
        sac_files(folder.as_ref(), &mut files);
    }
    let library = Library::scan(&files);
    let mut failures = Vec::new();
    for path in &files {
        let parsed = parse_with(&library, path);
        if !parsed.reports.is_empty() {
            failures.push(parsed.rendered());
            continue;
        }
        let text = print_file(&parsed.file);
        let again = parse_named(&library, "printed", &text, &mut NoIncludes);
        if !again.reports.is_empty() {
            failures.push(format!("{}: printed text does not parse\n{}", path.display(), again.rendered()));
        } else if !equal_modulo_spans(&parsed.file, &again.file) {
            failures.push(format!("{}: printed text parses to another tree\n{text}", path.display()));
        } else if print_file(&again.file) != text {
            failures.push(format!("{}: printing twice gives another text", path.display()));
        }
    }
    assert!(failures.is_empty(), "{} of {} files\n{}", failures.len(), files.len(), failures.join("\n"));
}

/// Expressions as text, with more parentheses than needed.
fn expressions() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("a".to_string()),
        Just("1".to_string()),
        Just("2.5f".to_string()),
        Just("\"s\"".to_string()),
        Just("M::x".to_string()),
        Just("[:int[3]]".to_string()),
        Just("S{}".to_string()),
    ];
    leaf.prop_recursive(6, 60, 4, |inner| {
        let infix = prop::sample::select(vec![
            "||", "&&", "|", "^", "&", "==", "<", "++", "<<", "+", "-", "*", "%", "++^", "M::+", "M::++",
        ]);
        let prefix = prop::sample::select(vec!["-", "!", "~", "++x * ", "--x * ", "+", "(int[.])", "(T)", "M::-"]);
        prop_oneof![
            (inner.clone(), infix.clone(), inner.clone()).prop_map(|(a, op, b)| format!("({a}) {op} ({b})")),
            (inner.clone(), infix, inner.clone()).prop_map(|(a, op, b)| format!("({a} {op} {b})")),
            (prefix.clone(), inner.clone()).prop_map(|(op, a)| format!("{op} {a}")),
            (prefix, inner.clone()).prop_map(|(op, a)| format!("({op} ({a}))")),
            (inner.clone(), inner.clone(), inner.clone()).prop_map(|(a, b, c)| format!("({a}) ? {b} : {c}")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a})[{b}, .]")),
            inner.clone().prop_map(|a| format!("({a}).x")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("f({a}, -({a}, {b}))")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("[{a}, {b}]")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("{{ i -> ({a}) | i < ({b}) }}")),
            (inner.clone(), inner.clone())
                .prop_map(|(a, b)| format!("{{ [i,.] -> ({a}) | ({b}) <= [i] <= {b} step ({a}) }}")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| {
                format!("with {{ (({a}) <= iv=[i] < {b} width {a}) {{ x += {a}; }} : ({b}); }} : fold(+, {a})")
            }),
            inner.prop_map(|a| format!("S{{ .x = {a} }}")),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn printed_expressions_parse_back(expr in expressions()) {
        let library = Library::scan(&[]);
        let text = format!("struct S {{ int x; }};\ntypedef int T;\nint f() {{ y = {expr}; return y; }}");
        let parsed = parse_named(&library, "random", &text, &mut NoIncludes);
        prop_assert!(parsed.reports.is_empty(), "{}", parsed.rendered());
        let printed = print_file(&parsed.file);
        let again = parse_named(&library, "printed", &printed, &mut NoIncludes);
        prop_assert!(again.reports.is_empty(), "{text}\n{}", again.rendered());
        prop_assert!(equal_modulo_spans(&parsed.file, &again.file), "{text}\n{printed}");
    }
}
