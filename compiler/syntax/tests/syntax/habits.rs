//! Mistakes of people who come from other languages: their fixes, and where none may be offered.

use crate::common::{Library, Parsed, parse_named};
use ravel_diagnostics::Diagnostic;
use ravel_syntax::NoIncludes;

fn parse(text: &str) -> Parsed {
    parse_named(&Library::scan(&[]), "test.sac", text, &mut NoIncludes)
}

fn first(text: &str) -> Diagnostic {
    parse(text).reports.into_iter().next().expect("the text is wrong")
}

/// The text after the first fix of the first report.
fn mended(text: &str) -> Option<String> {
    let fix = first(text).fixes.into_iter().next()?;
    let mut out = text.to_string();
    let mut edits = fix.edits;
    edits.sort_by_key(|(span, _)| std::cmp::Reverse(*span));
    for (span, new) in edits {
        out.replace_range(span.start as usize..span.end as usize, &new);
    }
    Some(out)
}

fn in_body(statement: &str) -> String {
    format!("int f(int[.] a, int x)\n{{\n    {statement}\n    return x;\n}}\n")
}

#[test]
fn fixes_of_statements() {
    for (wrong, right) in [
        ("y = not x == 1 and x > 0;", "y = !(x == 1) && x > 0;"),
        ("y = not f(x) or x;", "y = !f(x) || x;"),
        ("int y = 1, z = 2;", "y = 1; z = 2;"),
        ("int[3] y = {1, 2, 3};", "y = [1, 2, 3];"),
        ("double y[2];", "y = genarray([2], 0d);"),
        ("y = a[1:3];", "y = drop([1], take([3], a));"),
        ("y = a[:-1];", "y = drop([-1], a);"),
        ("y = a[0, :];", "y = a[0,.];"),
        ("y = a.reshape(2, 3);", "y = reshape([2, 3], a);"),
        ("y = np.zeros((2, 3));", "y = genarray([2, 3], 0d);"),
        ("a.append(x);", "a = a ++ [x];"),
        ("y = a[x++];", "y = a[x]; x++;"),
        ("y = 2 / x**2;", "y = 2 / (x * x);"),
        ("y = 1 if x > 0 else 2;", "y = x > 0 ? 1 : 2;"),
        ("y = [i * 2 for i in range(x)];", "y = { [i] -> i * 2 | [i] < [x] };"),
        ("if x > 0 { x = 1; }", "if (x > 0) { x = 1; }"),
        ("pass;", ""),
    ] {
        assert_eq!(mended(&in_body(wrong)), Some(in_body(right)), "{wrong}");
    }
}

#[test]
fn nothing_is_offered_where_a_comment_or_more_would_be_lost() {
    for wrong in [
        "int y = 1, /* why */ z = 2;",
        "y = a[0: /* all but the last */ 2];",
        "y = a[x++] + x;",
        "a, x = x, a;",
        "y = a[-3:x];",
        "y = a[f(x):f(y):f(x)];",
        "break;",
        "y = lambda z: z;",
    ] {
        assert_eq!(mended(&in_body(wrong)), None, "{wrong}");
    }
    assert_eq!(mended("use Array all;\n").as_deref(), Some("use Array: all;\n"));
    let in_macro = "#define DECL int y = 1\nint f()\n{\n    DECL;\n    return y;\n}\n";
    assert_eq!(mended(in_macro), None);
}

#[test]
fn the_semicolon_is_missing_where_the_line_ends() {
    let report = first(&in_body("y = x + 1"));
    assert_eq!(report.title, "expected `;` behind this");
    assert_eq!(mended(&in_body("y = x + 1")), Some(in_body("y = x + 1;")));
    // A comment at the end of the line holds the rest of a division, if what it begins with is an operand.
    let load = "use Special: { floor_divide };\n";
    assert_eq!(mended(&in_body("y = x // 2;")), Some(format!("{load}{}", in_body("y = floor_divide(x, 2);"))));
    assert_eq!(mended(&in_body("y = 7 // 2;")), Some(in_body("y = 7 / 2;")));
    for comment in ["y = x // 0 .. x-1;", "y = x // done;", "y = x // 1) the first;", "y = x // two words;"] {
        assert_eq!(mended(&in_body(comment)), Some(in_body(&comment.replacen("x //", "x; //", 1))), "{comment}");
    }
}

#[test]
fn long_and_strange_texts_take_no_longer() {
    let many = |text: &str| in_body(&text.repeat(50_000));
    for text in ["y = not ", "x and ", "a[0:", "int y = 1, ", "a.f(", "1 if ", "x, ", "# ", "elif (", "for i in "] {
        assert!(!parse(&many(text)).reports.is_empty(), "{text}");
    }
}
