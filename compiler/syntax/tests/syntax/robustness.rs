//! No text makes the front end panic, hang or fall silent, and one run reports many mistakes.

use crate::common::{Library, Parsed, parse_named, repository, sac_files, text_of};
use proptest::prelude::*;
use ravel_diagnostics::{Diagnostic, Format, render};
use ravel_syntax::{NoIncludes, TypeNames, lex_and_preprocess, parse_repl_input};

fn parse(text: &str) -> Parsed {
    parse_named(&Library::scan(&[]), "test.sac", text, &mut NoIncludes)
}

/// `line: title` of each report.
fn summary(parsed: &Parsed) -> Vec<String> {
    let line = |report: &Diagnostic| parsed.sources.line_col(report.span()).map_or(0, |at| at.line);
    parsed.reports.iter().map(|report| format!("{}: {}", line(report), report.title)).collect()
}

#[test]
fn five_mistakes_are_five_reports() {
    let parsed = parse(
        "use Array all;
int first(int a)
{
    x = a + ;
    y = x * 2
    z = y;
    return z;
}
int second(int a
{
    return a;
}
int third(int a) { return f(a, [1, 2); }
",
    );
    assert_eq!(
        summary(&parsed),
        [
            "1: `use Array` needs a `:` in front of its names",
            "4: expected an expression, found `;`",
            "5: expected `;` behind this",
            "9: expected `,` or `)`, found `{`",
            "13: expected `,` or `]`, found `)`",
        ]
    );
    assert_eq!(
        render(&parsed.reports[1..2], &parsed.sources, Format::Human, false),
        "\
[E0110] Error: expected an expression, found `;`
   ╭─[ test.sac:4:13 ]
   │
 4 │     x = a + ;
   │             ┬  
   │             ╰── `;` is not possible here
───╯

"
    );
}

#[test]
fn mistakes_in_one_function_do_not_hide_each_other() {
    let parsed = parse(
        "int main()
{
    int k = 5;
    int j;
    for (int i = 0; i < n; i++) { k += i; }
    if (k = 3) { return k; }
    while (true) { a = b c; d = 1; }
    w = with { (. <= iv < [n]) : 1 } : genarray([n], 0);
    e = { [i,j] -> i | [j,i] < [n,n] };
    t = [1, (2, 3)];
    Foo q;
    return 0;
    y = 1;
}
",
    );
    assert_eq!(
        summary(&parsed),
        [
            "3: a declaration gives no value",
            "5: loop variables are not declared",
            "6: `=` does not compare",
            "7: expected `;`, found `c`",
            "8: expected `;` behind this",
            "9: the constraint must bound `[i,j]`",
            "10: a list in parentheses is not a value",
            "11: `Foo` is not a type here",
            "12: `return` is not the last statement of its function",
        ]
    );
}

#[test]
fn braces_that_do_not_match() {
    let missing = "int f(int a)\n{\n    if (a) {\n        a = 1;\n    return a;\n}\nint g() { x = ; return x; }\n";
    assert_eq!(summary(&parse(missing))[0], "2: `{` is never closed");
    assert_eq!(summary(&parse(missing)).last().map(String::as_str), Some("7: expected an expression, found `;`"));
    let extra = "int f(int a)\n{\n    a = 1; }\n    a = 2;\n    return a;\n}\nint g() { x = ; return x; }\n";
    assert_eq!(summary(&parse(extra)), ["6: `}` closes nothing", "7: expected an expression, found `;`"]);
    let semicolon = "int f() { return 1; };\n";
    assert_eq!(parse(semicolon).reports[0].help.as_deref(), Some("remove the `;`: a function ends with its `}`"));
}

#[test]
fn help_knows_common_slips() {
    let help = |text: &str| parse(text).reports.first().and_then(|report| report.help.clone()).unwrap_or_default();
    assert_eq!(help("ues Array: all;"), "did you mean `use`?");
    assert_eq!(help("int f() { retrun 1; }"), "did you mean `return`?");
    assert_eq!(help("int f() { retrun x; }"), "did you mean `return`?");
    assert_eq!(help("string f() { return x; }"), "`use String: { string };`");
    assert_eq!(help("int f() { return a[1:2]; }"), "`drop([1], take([2], a))`");
    assert_eq!(help("x = 1;"), "statements stand inside of functions");
    assert_eq!(help("int f() { for (int i = 0; i < 3; i++) { } }"), "drop `int`");
    assert!(help("int f() { x = 1; int y; return x; }").starts_with("declarations stand at the start"));
    assert!(help("int f() { 1 + 2; }").starts_with("a statement is"));
    assert!(help("int f() { { x = 1; } }").starts_with("a block stands only"));
    assert!(help("int f() { return { [i] -> i | 1 | [i] < [4] }; }").starts_with("behind the first `|` stands"));
    let fold = |what: &str| format!("int f() {{ return with {{ ([0] <= [i] < [4]) : i; }} : fold({what}); }}");
    assert!(help(&fold("+")).starts_with("a fold needs its neutral element"));
    assert!(help(&fold("max")).starts_with("a fold needs its neutral element"));
    assert_eq!(help("int f(int x) { return x ** 2; }"), "`x * x`");
    assert_eq!(help("int f(int x) { y = 2; return x**y; }"), "`pow(x, y)`, with `use Math: { pow };`");
    assert!(parse("int f(int x) { return x * *(2, 3); }").reports.is_empty());
}

#[test]
fn lexical_errors_say_what_is_wrong_once() {
    let text = "int main() { s = \"abc;\n t = 'ab'; u = 0x; v = 12abc; w = 1 $ 2; z = 4000000000; return 0; } /* open";
    assert_eq!(
        summary(&parse(text)),
        [
            "1: string is not closed on its line",
            "2: 'ab' is not one character",
            "2: 0x lacks digits",
            "2: `abc` is not a suffix of a number",
            "2: unknown character `$`",
            "2: 4000000000 does not fit type int",
            "2: comment is not closed",
        ]
    );
}

#[test]
fn deep_nesting_is_reported_not_followed() {
    let functions = |expr: &str| format!("int f() {{ return {expr}; }}\nint g() {{ x = ; return x; }}\n");
    for expr in [
        format!("{}1{}", "(".repeat(10_000), ")".repeat(10_000)),
        "(".repeat(10_000),
        format!("{}1{}", "[".repeat(10_000), "]".repeat(10_000)),
        format!("{}1", "- ".repeat(100_000)),
        format!("1{}", " + 1".repeat(200_000)),
        format!("a{}", "[0]".repeat(100_000)),
        format!("a{}", ".b".repeat(100_000)),
        format!("{}1", "a ? b : ".repeat(100_000)),
        format!("{}1", "(int) ".repeat(100_000)),
        "{ i -> ".repeat(100_000),
    ] {
        let reports = summary(&parse(&functions(&expr)));
        assert!(reports.contains(&"1: nested too deeply".to_string()), "{reports:?}");
    }
    for stmt in ["if (a) ", "if (a) x = 1; else ", "while (a) ", "do ", "for (; a; ) ", "{"] {
        let text = format!("int f() {{ {} x = 1; }}", stmt.repeat(100_000));
        assert!(!parse(&text).reports.is_empty());
    }
    // Symbols of a user's operators are sought in a run of others.
    let run = format!("int +++(int a, int b) {{ return a; }}\nint f() {{ return {}1; }}", "!".repeat(1_000_000));
    assert!(summary(&parse(&run)).contains(&"2: nested too deeply".to_string()));
    assert!(!parse(&"{".repeat(1_000_000)).reports.is_empty());
    assert!(!parse(&"}".repeat(100_000)).reports.is_empty());
    let fine = functions(&format!("{}1{}", "(".repeat(200), ")".repeat(200)));
    assert_eq!(summary(&parse(&fine)), ["2: expected an expression, found `;`"]);
}

#[test]
fn sums_of_a_hundred_thousand_terms_are_read() {
    let read = || {
        for term in [" + 1", " && b", " - f(a[0], -1)", " ++ [1, x]"] {
            let parsed = parse(&format!("int f() {{ return x{}; }}", term.repeat(100_000)));
            assert!(parsed.reports.is_empty(), "{}", parsed.rendered());
        }
    };
    // The compiler's own thread has as much.
    let thread = std::thread::Builder::new().stack_size(1 << 30).spawn(read).expect("a thread starts");
    thread.join().expect("the sums are read");
}

#[test]
fn nesting_below_the_limit_fits_the_stack_of_a_thread() {
    for expr in [
        format!("1{}", " + 1".repeat(900)),
        format!("{}1", "- ".repeat(900)),
        format!("a{}", "[0]".repeat(900)),
        format!("{}1", "a ? b : ".repeat(400)),
        format!("{}1{}", "f(".repeat(250), ")".repeat(250)),
        format!("{}1{}", "{ i -> ".repeat(250), " | i < n }".repeat(250)),
    ] {
        let parsed = parse(&format!("int f() {{ return {expr}; }}"));
        assert!(parsed.reports.is_empty(), "{}", parsed.rendered());
        let again = parse(&ravel_syntax::print_file(&parsed.file));
        assert!(ravel_syntax::equal_modulo_spans(&parsed.file, &again.file));
    }
    let arms = parse(&format!("int f() {{ {} x = 1; return x; }}", "if (a) { x = 2; } else ".repeat(900)));
    assert!(arms.reports.is_empty(), "{}", arms.rendered());
}

#[test]
fn a_file_cut_off_anywhere_is_reported() {
    let mut files = Vec::new();
    sac_files(&repository().join("stdlib"), &mut files);
    files.truncate(5);
    let library = Library::scan(&files);
    for path in files {
        let text = text_of(&path);
        let mut end = text.len().min(3000);
        while end > 0 {
            end -= 1;
            if text.is_char_boundary(end) && end.is_multiple_of(7) {
                parse_named(&library, "cut", &text[..end], &mut NoIncludes).rendered();
            }
        }
    }
}

/// Pieces of which random programs consist: every token kind, often in plausible neighborhoods.
const PIECES: &[&str] = &[
    "int",
    "double[.]",
    "f",
    "x",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ",",
    ";",
    ":",
    "=",
    "+",
    "-",
    "++",
    "->",
    "|",
    "<",
    "<=",
    ".",
    "...",
    "1",
    "2.5f",
    "'a'",
    "\"s\"",
    "if (a)",
    "else",
    "while",
    "do",
    "for (",
    "return",
    "with {",
    "} :",
    "genarray(",
    "fold(",
    "use",
    "import",
    "module",
    "class",
    "struct S",
    "typedef",
    "external",
    "#pragma linkname \"x\"\n",
    "\n#define M(x) x\n",
    "M(",
    "\n#if 1\n",
    "\n#endif\n",
    "\n#include \"a\"\n",
    "M::",
    "::",
    "#",
    "##",
    "/*",
    "*/",
    "//",
    "\\\n",
    "\0",
    "ä",
    "\u{fffd}",
    "\"",
    "'",
    "step",
    "width",
    "all",
    "except",
    "? a :",
    "&",
    "*",
    "objdef",
    "(int)",
    "int f(int x) { return x; }",
    "a[i] = b;",
    "{ [i] -> a[i] | [i] < n }",
    "#pragma family N byte\n",
    "N",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes_do_no_harm(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        parse(&text).rendered();
    }

    #[test]
    fn random_pieces_do_no_harm(choice in proptest::collection::vec(0..PIECES.len(), 0..120)) {
        let text: String = choice.iter().map(|i| format!("{} ", PIECES[*i])).collect();
        let parsed = parse(&text);
        parsed.rendered();
        if parsed.reports.is_empty() {
            let printed = ravel_syntax::print_file(&parsed.file);
            let again = parse(&printed);
            prop_assert!(again.reports.is_empty(), "{text}\n{printed}\n{}", again.rendered());
            prop_assert!(ravel_syntax::equal_modulo_spans(&parsed.file, &again.file), "{text}\n{printed}");
        }
        let mut sources = ravel_source::SourceMap::default();
        let id = sources.add("<input>", text);
        let (tokens, _) = lex_and_preprocess(id, &mut sources, &Default::default(), &mut NoIncludes);
        parse_repl_input(&tokens, &TypeNames::default());
    }
}

#[test]
fn a_binary_file_gets_one_report_and_a_garbled_one_a_handful() {
    let mut state = 1u64;
    let bytes: Vec<u8> = (0..1_000_000)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 56) as u8
        })
        .collect();
    let binary = String::from_utf8_lossy(&bytes).into_owned();
    assert_eq!(summary(&parse(&binary)), ["1: this file is not SaC source text"]);
    let garbled = parse(&format!("{}{binary}", "int f() { return 1; }\n".repeat(500)));
    assert!((1..250).contains(&garbled.reports.len()), "{}", garbled.reports.len());
}

#[test]
fn a_literal_of_ten_megabytes_parses() {
    let mut text = String::from("int main() { x = [");
    while text.len() < 10_000_000 {
        text.push_str("[1,-2],");
    }
    text.push_str("[3,4]]; return x[[0,0]]; }");
    assert!(parse(&text).reports.is_empty());
}
