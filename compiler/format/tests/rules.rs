//! Each rule on text: what is written, and what becomes of it. The result of each is formatted already.

use ravel_format::{Reason, format, same};

/// Formats `before`, once and again.
fn becomes(before: &str, after: &str) {
    let once = format(before).expect("these are tokens");
    assert_eq!(once.notes, [], "of\n{before}");
    assert!(once.text == after, "{}", ravel_format::unified("expected and found", after, &once.text));
    let twice = format(&once.text).expect("these are tokens");
    assert!(twice.text == after, "again: {}", ravel_format::unified("expected and found", after, &twice.text));
}

/// The same for statements of a function.
fn statements(before: &str, after: &str) {
    let indented: String =
        after.lines().map(|line| if line.is_empty() { "\n".into() } else { format!("    {line}\n") }).collect();
    becomes(&format!("void f()\n{{\n{before}\n}}\n"), &format!("void f()\n{{\n{indented}}}\n"));
}

fn stays(text: &str) {
    becomes(text, text);
}

#[test]
fn blanks() {
    statements("x=a+b*-c;", "x = a + b * -c;");
    statements("x = f( a ,b )[ i ] . y ;", "x = f(a, b)[i] . y;".replace(" . ", ".").as_str());
    statements("x = ! a&&~b ;i ++;--j ;", "x = !a && ~b;\ni++;\n--j;");
    statements("x = (double)a+( int[ * ] )b*(Real) -1 ;", "x = (double) a + (int[*]) b * (Real) -1;");
    statements("x = (a) - b; y = (a)-b; z = (int) -b;", "x = (a) - b;\ny = (a) - b;\nz = (int) -b;");
    statements("x = Math :: sqrt(y);", "x = Math::sqrt(y);");
    statements("x = a M::+b M::* -c;", "x = a M::+ b M::* -c;");
    statements(
        "x = Vec{a ,b}; y = Conv{.stride=2}; z = Vec{};",
        "x = Vec{ a, b };\ny = Conv{ .stride = 2 };\nz = Vec{};",
    );
    statements("x+=1;y<<=2;", "x += 1;\ny <<= 2;");
    statements("x = a? b:c;", "x = a ? b : c;");
    statements("return( x );", "return (x);");
    statements("return;", "return;");
    statements("x = \"a\"   \"b\";", "x = \"a\" \"b\";");
}

#[test]
fn operators_that_users_define_stay_together() {
    statements("x = a <+> b;", "x = a <+> b;");
    statements("x = a<+>b;", "x = a <+> b;");
    statements("x = a < + > b;", "x = a < + > b;");
    statements("x = fold( <+>,a);", "x = fold(<+>, a);");
    statements("x = - -a; y = - ! b;", "x = - -a;\ny = - !b;");
    becomes("use M:{+++,<*> };", "use M: { +++, <*> };\n");
    notes("int f()\n{\n    a =/ b;\n    c=1;\n}\n", &[(3, Reason::NoShape)], "    a =/ b;\n    c = 1;\n");
    becomes("int <*>( int a,int b){return a;}", "int <*>(int a, int b) { return a; }\n");
}

#[test]
fn brackets_have_blanks_or_none() {
    statements("x = a[ i,j ];", "x = a[i, j];");
    statements("x = a[i,j];", "x = a[i,j];");
    statements("x = a[i+1,j];", "x = a[i+1,j];");
    statements("x = a[i + 1,j];", "x = a[i + 1, j];");
    becomes("int[ d : s ] f(double[ n>0 : s ] a);", "int[d:s] f(double[n>0:s] a);\n");
    becomes("int[ . ,. ] f(int [*]a, int&b);", "int[., .] f(int[*] a, int &b);\n");
}

#[test]
fn definitions() {
    becomes("int f(int a){return a;}", "int f(int a) { return a; }\n");
    becomes("int f(int a){\nreturn a;}", "int f(int a)\n{\n    return a;\n}\n");
    becomes("int f(int a)\n{ return a; }", "int f(int a)\n{ return a; }\n");
    becomes("inline\nint f(int a){\nreturn a;\n}", "inline\nint f(int a)\n{\n    return a;\n}\n");
    becomes("inline int,int\nf(int a);", "inline int, int\nf(int a);\n");
    becomes("int f(int a)|a>0,a<9{return a;}", "int f(int a) | a > 0, a < 9 { return a; }\n");
    becomes("int f(int a)\n|a>0\n{\nreturn a;\n}", "int f(int a)\n    | a > 0\n{\n    return a;\n}\n");
    becomes("struct Vec{double x,y;};", "struct Vec { double x, y; };\n");
    becomes("struct Vec{\ndouble x;\ndouble y;};", "struct Vec {\n    double x;\n    double y;\n};\n");
    becomes(
        "module m ;use A:all ;import B:all except{+,f};export{a,b};",
        "module m;\nuse A: all;\nimport B: all except { +, f };\nexport { a, b };\n",
    );
    becomes("typedef double[2]complex;objdef T x=f( );", "typedef double[2] complex;\nobjdef T x = f();\n");
    becomes(
        "external int f( int a,...) ;\n    #pragma linkname \"g\"\n",
        "external int f(int a, ...);\n    #pragma linkname \"g\"\n",
    );
    becomes("\n\n\nint a();\n\n\n\nint b();\nint c();\n\n", "int a();\n\nint b();\nint c();\n");
}

#[test]
fn statements_have_lines_of_their_own() {
    statements("a=1;b=2;", "a = 1;\nb = 2;");
    statements("\n\na=1;\n\n\nb=2;\n\n", "a = 1;\n\nb = 2;");
    statements("if(a){b=1;}else{b=2;}", "if (a) { b = 1; } else { b = 2; }");
    statements("if(a){\nb=1;}\nelse{b=2;\n}", "if (a) {\n    b = 1;\n} else {\n    b = 2;\n}");
    statements("if(a)\n{\nb=1;}\nelse  if(c){\nb=2;}", "if (a) {\n    b = 1;\n} else if (c) {\n    b = 2;\n}");
    statements("if (a) { b = 1; }\nelse { b = 2; }", "if (a) { b = 1; }\nelse { b = 2; }");
    statements("if(a) b=1;\nif (a)\nb=2;\nelse\nb=3;", "if (a) b = 1;\nif (a)\n    b = 2;\nelse\n    b = 3;");
    statements("for(i=0;i<n;i++){\nx=i;}", "for (i = 0; i < n; i++) {\n    x = i;\n}");
    statements("for(i=0,j=1;;){}", "for (i = 0, j = 1;;) { }");
    statements("while(a)b=f(a);", "while (a) b = f(a);");
    statements("do{\na=1;\n}while(a<1);", "do {\n    a = 1;\n} while (a < 1);");
    statements("int[.]a,b;\na,b=f(a);", "int[.] a, b;\na, b = f(a);");
}

#[test]
fn line_ends_of_the_author_stay_where_they_say_something() {
    statements("f(a,\nb,c);", "f(a,\n  b, c);");
    statements("f(\n  a,\n b\n);", "f(\n    a,\n    b\n);");
    statements("x = a +\nb;", "x = a\n    + b;");
    statements("x = a\n&& b;", "x = a\n    && b;");
    statements("x =\n  a;", "x = a;");
    statements("x = a ? b\n: c;", "x = a ? b\n      : c;");
    statements("x = a ? b\n: cc ? d\n: e;", "x = a ? b\n  : cc ? d\n       : e;");
    statements("printf(\"a\"\n\"b\", x);", "printf(\"a\"\n       \"b\", x);");
    becomes("export {\na,b,\nc };", "export {\n    a, b,\n    c\n};\n");
}

#[test]
fn with_loops_and_comprehensions() {
    statements(
        "x = with{([0]<=iv<[n]):a[iv];}:genarray([n],0);",
        "x = with { ([0] <= iv < [n]) : a[iv]; } : genarray([n], 0);",
    );
    statements(
        "x = with {\n([0]<=iv=[i]<[n] step[2]width[1]){t=a[iv];}:t;\n(.<=iv<=.):0;}\n:genarray([n]);",
        "x = with {\n    ([0] <= iv=[i] < [n] step [2] width [1]) { t = a[iv]; } : t;\n    (. <= iv <= .) : 0;\n} : genarray([n]);",
    );
    statements(
        "x,y=with{([0]<=iv<[n]):(a,b);}:(fold(+,0),genarray([n]));",
        "x, y = with { ([0] <= iv < [n]) : (a, b); } : (fold(+, 0), genarray([n]));",
    );
    statements("x={iv->a[iv]|iv<[n]};", "x = { iv -> a[iv] | iv < [n] };");
    statements("x={[i,.]->-a[i]};", "x = { [i,.] -> -a[i] };");
    statements(
        "x = { [i] -> a[i]\n| [i]<[n] ; [i]->0|[i]<[m]};",
        "x = { [i] -> a[i]\n      | [i] < [n]; [i] -> 0 | [i] < [m] };",
    );
    statements(
        "x = { [i] -> a[i]   | [i]<[n];\n[i] -> 10 * b[i] | [i] < [m] };",
        "x = { [i] -> a[i]      | [i] < [n];\n      [i] -> 10 * b[i] | [i] < [m] };",
    );
    statements(
        "return with {\n(a<=iv<b):with{\n(c<=jv<d):e;\n}:fold(+,0);\n}:fold(+,0);",
        "return with {\n    (a <= iv < b) : with {\n        (c <= jv < d) : e;\n    } : fold(+, 0);\n} : fold(+, 0);",
    );
}

#[test]
fn rows_are_aligned() {
    statements("x = [[1, 2],\n[10, 3]];", "x = [[ 1, 2],\n     [10, 3]];");
    statements("x = [[1,2],\n[3,4]];", "x = [[1,2],\n     [3,4]];");
    statements("x = [1, -2,\n300, 4,\n5];", "x = [  1, -2,\n     300,  4,\n       5];");
    statements("x = [f(1), 2,\n3, 4];", "x = [f(1), 2,\n     3, 4];");
}

#[test]
fn long_lines_are_broken_at_the_outermost_place() {
    let (a, b, c) = ("a".repeat(40), "b".repeat(40), "c".repeat(40));
    statements(&format!("x = {a} + {b} * {c};"), &format!("x = {a}\n    + {b} * {c};"));
    statements(&format!("x = f({a}, g({b}, {c}));"), &format!("x = f({a},\n      g({b}, {c}));"));
    statements(
        &format!("x = {{ iv -> {a}[iv] + {b}[iv] | iv < {c} }};"),
        &format!("x = {{ iv -> {a}[iv] + {b}[iv]\n      | iv < {c} }};"),
    );
    statements(&format!("x = {a} ? {b} : {c};"), &format!("x = {a} ? {b}\n{}: {c};", " ".repeat(45)));
    statements(
        &format!("x = with {{ ({a} <= iv < {b}) : {c}; }} : fold(+, 0);"),
        &format!("x = with {{\n    ({a} <= iv < {b}) :\n        {c};\n}} : fold(+, 0);"),
    );
    becomes(
        &format!("int f(int {a}, int {b}) {{ return {c}; }}"),
        &format!("int f(int {a}, int {b})\n{{\n    return {c};\n}}\n"),
    );
    becomes(
        &format!("int f(int {a}) | {b}, {c} {{ return 1; }}"),
        &format!("int f(int {a})\n    | {b}, {c} {{ return 1; }}\n"),
    );
    // The author's lines in a list that does not fit say nothing.
    becomes(
        &format!("export {{\n    {a}, {b}, {c}, d,\n    e, f\n}};"),
        &format!("export {{\n    {a}, {b},\n    {c}, d, e, f\n}};\n"),
    );
}

#[test]
fn comments_stay_where_they_are() {
    becomes("// a\n\n/* b */\nint f( );// c\n// d", "// a\n\n/* b */\nint f(); // c\n// d\n");
    statements("a=1;// x\n  // y\n\n // z\nb=2;\n// end", "a = 1; // x\n// y\n\n// z\nb = 2;\n// end");
    statements("f(a,// x\nb);", "f(a, // x\n  b);");
    statements("f( /* x */a, b /* y */);", "f( /* x */a, b /* y */);");
    statements("x = a // x\n+ b;", "x = a // x\n    + b;");
    statements(
        "if (a) // why\n{\nb = 1;\n} // c\n// d\nelse {\nb=2;\n}",
        "if (a) // why\n{\n    b = 1;\n} // c\n// d\nelse {\n    b = 2;\n}",
    );
    statements("a=1;     // x\nbbb=2;   // y\nc=3; // z", "a = 1;   // x\nbbb = 2; // y\nc = 3; // z");
    statements("    /*\n     * a\n      * b\n     */\nx=1;", "/*\n * a\n * b\n */\nx = 1;");
    statements(
        "      /* a\n           b\n      c */\nx=1;",
        "/* a\n        b\n   c */\nx = 1;".replace("\n   c", "\nc").replace("        b", "     b").as_str(),
    );
    becomes(
        "int f(int a, // first\n      int b) // second\n{ // body\n  return a; }",
        "int f(int a, // first\n      int b) // second\n{ // body\n    return a;\n}\n",
    );
    becomes("#define X 1 // x \\\n   y\nint f();", "#define X 1 // x \\\n   y\nint f();\n");
    statements("a=1; /* x */ b=2;", "a = 1;\n/* x */ b = 2;");
    becomes("#define F(x) x \\\n\nint f( );", "#define F(x) x \\\n\nint f();\n");
    stays("// a \\\n  goes on\nint f();\n");
}

#[test]
fn macros_stay_as_they_are() {
    stays("#define F(x)   \\\n  int f##x( int a)   \\\n  { return( a); }\n\nF(1)\nF(2)\n");
    becomes("#define F(x) x\nF( int )\nint g( );", "#define F(x) x\nF(int)\nint g();\n");
    statements("LOOP(i, n) {\nx=i;\n}\nCALL(x)\ny=1;", "LOOP(i, n) {\n    x = i;\n}\nCALL(x)\ny = 1;");
    becomes(
        "void f()\n{\n#if X\n  a=1;\n  #else\nb=1;\n#endif\n}",
        "void f()\n{\n#if X\n    a = 1;\n  #else\n    b = 1;\n#endif\n}\n",
    );
    becomes("#if 0\n don't ( format '\n#endif\nint f( );", "#if 0\n don't ( format '\n#endif\nint f();\n");
}

#[test]
fn blanks_in_arguments_of_macros_that_make_strings_stay() {
    stays("#define SHOW(x)  show( #x , x )\n#define GLUE(x) f##x()\n");
    becomes(
        "#define SHOW(x) show(#x, x)\n#define GLUE(x) f##x(x)\nint f()\n{\n  SHOW( a+b );\n  y=SHOW(a+b)+GLUE( c );\n}\n",
        "#define SHOW(x) show(#x, x)\n#define GLUE(x) f##x(x)\nint f()\n{\n    SHOW( a+b );\n    y = SHOW(a+b) + GLUE(c);\n}\n",
    );
}

#[test]
fn regions_without_formatting_stay_as_they_are() {
    becomes(
        "int f( );\n  // fmt: off\nint  g( );\n\n\n  int h( );\n// fmt: on\nint i( );",
        "int f();\n  // fmt: off\nint  g( );\n\n\n  int h( );\n// fmt: on\nint i();\n",
    );
    becomes(
        "void f()\n{\na=1;\n// fmt: off\n  m = [1,  0,\n       0,  1];\n  // fmt: on\nb=1;\n}",
        "void f()\n{\n    a = 1;\n// fmt: off\n  m = [1,  0,\n       0,  1];\n  // fmt: on\n    b = 1;\n}\n",
    );
    becomes("int f( );\n// fmt: off\nint  g( );\n", "int f();\n// fmt: off\nint  g( );\n");
}

#[test]
fn files_keep_their_line_ends_and_marks() {
    becomes("int f( );\r\n/* a\r\n */\r\nint g( );\r\n", "int f();\r\n/* a\r\n */\r\nint g();\r\n");
    becomes("\u{feff}int f( );", "\u{feff}int f();\n");
    becomes("", "");
    becomes("\n \n", "");
    becomes("// only a comment", "// only a comment\n");
    becomes("\tint f( );\n\t/* a\n\t   b */", "int f();\n/* a\n   b */\n");
}

/// What stays, and why.
fn notes(text: &str, expected: &[(usize, Reason)], kept: &str) {
    let formatted = format(text).expect("these are tokens");
    let found: Vec<(usize, Reason)> = formatted.notes.iter().map(|note| (note.line, note.reason)).collect();
    assert_eq!(found, expected, "of\n{}", formatted.text);
    assert!(formatted.text.contains(kept), "{}", formatted.text);
    assert!(same(text, &formatted.text));
    assert_eq!(format(&formatted.text).map(|again| again.text).as_deref(), Ok(&*formatted.text));
}

#[test]
fn what_has_no_known_layout_stays() {
    let branches = "int f( int a)\n{\n#if X\n  if (a) {\n#else\n  if (!a) {\n#endif\n  a=1; }\n}\nint g( );\n";
    notes(branches, &[(1, Reason::BranchesDiffer)], "  if (a) {\n#else\n  if (!a) {\n#endif\n  a=1; }\n}\nint g();\n");
    let heads = "#if X\nint f( int a)\n#else\nint f( double a)\n#endif\n{ return 1; }\nint g( );\n";
    notes(heads, &[(2, Reason::NoShape)], "int g();\n");
    notes("int f()\n{\n  a = b c = ;\n  d=1;\n}\n", &[(3, Reason::NoShape)], "\n    a = b c = ;\n    d = 1;\n");
    notes("int f( ) {\n  if (a {\n}\n", &[(1, Reason::NoEnd)], "int f( ) {\n  if (a {\n}\n");
    notes("int f( )\n{\n// fmt: off\n}\nint g( ) {\n// fmt: on\n}\n", &[(3, Reason::RegionCutsBrackets)], "int f( )");
    notes("x = ( 1 +\n#if X\n 2\n#endif\n );\n", &[(1, Reason::NoShape)], "x = ( 1 +\n#if X\n 2\n#endif\n );\n");
}

#[test]
fn deep_nesting_needs_no_deep_stack() {
    for (open, close) in [
        ("(", ")"),
        ("[", "]"),
        ("{ iv -> ", "}"),
        ("f(", ")"),
        ("-", ""),
        ("with { (a < b < c) : ", "; } : fold(+, 0)"),
    ] {
        for depth in [20, 150, 20_000] {
            let text = format!("void f()\n{{\n    x = {}a{};\n}}\n", open.repeat(depth), close.repeat(depth));
            let formatted = format(&text).expect("these are tokens");
            assert!(same(&text, &formatted.text), "{open} {depth}");
            assert!(formatted.notes.is_empty() || depth > 20, "{open} {depth}");
        }
    }
    let blocks = format!("void f() {}{}", "{".repeat(20_000), "}".repeat(20_000));
    assert!(format(&blocks).is_ok_and(|formatted| same(&blocks, &formatted.text)));
}

/// What took the square of its length would run for minutes.
#[test]
fn large_texts_are_formatted_soon() {
    let elements = "1234, ".repeat(50_000);
    let many = [
        format!("int[.] f()\n{{\n    return [{elements}1];\n}}\n"),
        "int f(int a) { return a; } ".repeat(20_000),
        format!("int f()\n{{\n{}}}\n", "x = ( ;\n".repeat(20_000).replace("( ;", "y = ;")),
        format!("int f()\n{{\n    x = {}1;\n}}\n", "a + b * c /* d */ - ".repeat(20_000)),
        "// comment\n".repeat(50_000),
        format!("{}{}", "#if X\n".repeat(20_000), "#endif\n".repeat(20_000)),
    ];
    for text in many {
        let formatted = format(&text).expect("these are tokens");
        assert!(same(&text, &formatted.text));
    }
}
