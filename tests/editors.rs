//! What editors know of SaC: the grammar of tree-sitter and its queries, and the extension for VS Code.
//!
//! The compiler is the judge: the words that editors color are those of its lexer, all SaC of the repository is read
//! without an error, and the trees have their expressions where the compiler's have theirs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use ravel_source::SourceMap;
use ravel_syntax::{NoIncludes, PreprocessOptions, Spans, TypeNames, keywords, lex_and_preprocess, parse_file};
use ravel_tests::{Failed, files_below, repository};
use serde_json::Value;
use tree_sitter::{Node, Parser, Query, Tree};

/// Folders with SaC that is meant to be right.
const FOLDERS: [&str; 4] = ["stdlib", "examples", "tests", "docs"];

/// What is meant to be wrong, a text that is no SaC in the branch of an `#else` that is never taken, and a pragma that goes on over
/// lines, which the grammar ends with its line.
const NOT_SAC: [&str; 4] = [
    "tests/diagnostics",
    "tests/fixes",
    "tests/golden/preprocessor/conditionals.sac",
    "tests/golden/lexical/pragma-on-further-lines.sac",
];

/// Defines the operator `@@`, of which the grammar cannot know.
const OWN_OPERATOR: &str = "tests/golden/lexical/at-sign-is-an-operator.sac";

/// What benchmarks leave behind.
const NOT_OURS: &str = "tests/bench/out";

/// Nodes of tree-sitter's trees that the compiler's trees have, too.
const SHARED: [&str; 21] = [
    "array_type",
    "assignment",
    "binary_expression",
    "call_expression",
    "cast_expression",
    "comprehension",
    "comprehension_part",
    "conditional_expression",
    "do_statement",
    "field_expression",
    "for_statement",
    "if_statement",
    "parameter",
    "return_statement",
    "selection",
    "struct_literal",
    "unary_expression",
    "variable_declaration",
    "while_statement",
    "with_loop",
    "with_part",
];

fn grammar() -> PathBuf {
    repository().join("editors/tree-sitter-sac")
}

fn vscode() -> PathBuf {
    repository().join("editors/vscode")
}

fn json(path: &Path) -> Result<Value, Failed> {
    let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()).into())
}

fn parser() -> Parser {
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_sac::LANGUAGE.into()).expect("the runtime reads the parser's version");
    parser
}

fn read(parser: &mut Parser, text: &str) -> Tree {
    parser.parse(text, None).expect("there is neither a time limit nor a flag to cancel")
}

/// The nodes of a tree, each before its children.
fn nodes<'a>(tree: &'a Tree) -> impl Iterator<Item = Node<'a>> {
    let mut open = vec![tree.root_node()];
    std::iter::from_fn(move || {
        let node = open.pop()?;
        open.extend((0..node.child_count()).rev().filter_map(|at| node.child(at)));
        Some(node)
    })
}

/// The first place where something is wrong, as editors count.
fn first_error(tree: &Tree) -> Option<String> {
    let wrong = nodes(tree).find(|node| node.is_error() || node.is_missing())?;
    let place = wrong.start_position();
    Some(format!("{}:{}: {}", place.row + 1, place.column + 1, wrong.to_sexp()))
}

/// All SaC that is meant to be right: where it lies in the repository, and its text.
fn programs() -> Vec<(String, String)> {
    let root = repository();
    let files = FOLDERS.iter().flat_map(|folder| files_below(&root.join(folder), "sac"));
    let is_meant = |name: &str| !NOT_SAC.iter().chain([&NOT_OURS]).any(|other| name.starts_with(other));
    files.map(|file| named(&root, &file)).filter(|(name, _)| is_meant(name)).collect()
}

/// Where a file lies in a folder, and its text.
fn named(folder: &Path, file: &Path) -> (String, String) {
    let name = file.strip_prefix(folder).unwrap_or(file).to_string_lossy().replace('\\', "/");
    let bytes = fs::read(file).unwrap_or_else(|error| panic!("{name}: {error}"));
    (name, String::from_utf8_lossy(&bytes).into_owned())
}

/// Also what lies in the folder that `RAVEL_SAC_CORPUS` names, SaC that others wrote.
#[test]
fn every_program_is_read_without_an_error() {
    let mut parser = parser();
    let mut programs = programs();
    assert!(programs.len() > 1000, "the programs are not there");
    if let Some(folder) = std::env::var_os("RAVEL_SAC_CORPUS") {
        programs.extend(files_below(Path::new(&folder), "sac").iter().map(|file| named(Path::new(&folder), file)));
    }
    let wrong: Vec<String> = programs
        .iter()
        .filter_map(|(name, text)| first_error(&read(&mut parser, text)).map(|error| format!("{name}:{error}")))
        .collect();
    assert!(wrong.is_empty(), "{} files are not read:\n{}", wrong.len(), wrong.join("\n"));
}

/// Where the compiler's tree has its nodes, if it can read the text without its modules and macros.
fn spans_of_the_compiler(name: &str, text: &str) -> Option<BTreeSet<(usize, usize)>> {
    let has_macros = text.lines().any(|line| {
        let directive = line.trim_start().strip_prefix('#').map(str::trim_start);
        directive.is_some_and(|rest| !rest.starts_with("pragma"))
    });
    if has_macros {
        return None;
    }
    let mut sources = SourceMap::default();
    let file = sources.add(name, text);
    let options = PreprocessOptions::default();
    let (tokens, lexical) = lex_and_preprocess(file, &mut sources, &options, &mut NoIncludes);
    let (mut tree, syntactic) = parse_file(&tokens, &TypeNames::default());
    if !lexical.is_empty() || !syntactic.is_empty() {
        return None;
    }
    let mut spans = BTreeSet::new();
    tree.each_span(&mut |span| {
        spans.insert((span.start as usize, span.end as usize));
    });
    Some(spans)
}

/// The node with the parentheses around it, which the compiler counts to what stands in them.
fn in_parentheses(mut node: Node) -> Node {
    while let Some(parent) = node.parent().filter(|parent| parent.kind() == "parenthesized_expression") {
        if parent.named_children(&mut parent.walk()).filter(|child| !child.is_extra()).count() > 1 {
            break;
        }
        node = parent;
    }
    node
}

/// Whether the node is an inner part of what is assigned to, `a[i]` of `a[i].x = 1`: the compiler has one place for all
/// of it.
fn is_inside_target(node: Node) -> bool {
    let is_access = |node: &Node| ["selection", "field_expression"].contains(&node.kind());
    let mut outer = node;
    while let Some(parent) = outer.parent().filter(is_access) {
        outer = parent;
    }
    let statement = outer.parent().filter(|parent| ["assignment", "update_statement"].contains(&parent.kind()));
    let value = statement.and_then(|statement| statement.child_by_field_name("value"));
    outer != node && statement.is_some() && value != Some(outer)
}

#[test]
fn expressions_are_where_the_compiler_has_them() {
    let mut parser = parser();
    let mut compared = BTreeMap::<&str, usize>::new();
    let mut files = 0;
    let mut wrong = Vec::new();
    for (name, text) in programs() {
        let Some(spans) = spans_of_the_compiler(&name, &text).filter(|_| name != OWN_OPERATOR) else { continue };
        files += 1;
        let tree = read(&mut parser, &text);
        for node in nodes(&tree).filter(Node::is_named) {
            let Some(kind) = SHARED.iter().find(|kind| **kind == node.kind()) else { continue };
            *compared.entry(kind).or_default() += 1;
            let is_shared = |node: Node| spans.contains(&(node.start_byte(), node.end_byte()));
            if !is_shared(node) && !is_shared(in_parentheses(node)) && !is_inside_target(node) {
                let place = node.start_position();
                let text = &text[node.byte_range()];
                wrong.push(format!("{name}:{}:{}: {kind} `{text}`", place.row + 1, place.column + 1));
            }
        }
    }
    assert!(wrong.is_empty(), "{} are elsewhere:\n{}", wrong.len(), wrong.join("\n"));
    println!("{files} files, {} nodes", compared.values().sum::<usize>());
    assert!(files > 500, "only {files} files could be compared");
    let missing: Vec<_> = SHARED.iter().filter(|kind| !compared.contains_key(**kind)).collect();
    assert!(missing.is_empty(), "no {missing:?} was compared");
}

/// One piece of a corpus: its title, its text, and the tree that it has.
fn pieces(text: &str) -> Vec<(&str, &str, &str)> {
    let rule = |line: &str, sign: char| line.len() > 2 && line.chars().all(|c| c == sign);
    let mut places = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        places.push((at, line.trim_end()));
        at += line.len();
    }
    let heads: Vec<usize> = (0..places.len().saturating_sub(2))
        .filter(|at| rule(places[*at].1, '=') && rule(places[at + 2].1, '='))
        .collect();
    let ends = heads.iter().skip(1).map(|head| places[*head].0).chain([text.len()]);
    let piece = |(head, end): (&usize, usize)| {
        let body = places.get(head + 3)?.0;
        let line = places.iter().find(|(at, line)| (body..end).contains(at) && rule(line, '-'))?;
        Some((places[head + 1].1, &text[body..line.0], text[line.0 + line.1.len()..end].trim()))
    };
    heads.iter().zip(ends).filter_map(piece).collect()
}

/// A tree in one line, without the names of fields.
fn in_one_line(tree: &str) -> String {
    let words = tree.split_whitespace().filter(|word| !word.ends_with(':'));
    words.collect::<Vec<_>>().join(" ").replace("( ", "(").replace(" )", ")")
}

#[test]
fn the_corpus_has_the_trees_it_shows() -> Result<(), Failed> {
    let mut parser = parser();
    let mut count = 0;
    for file in files_below(&grammar().join("test/corpus"), "txt") {
        let text = fs::read_to_string(&file)?;
        for (title, code, tree) in pieces(&text) {
            count += 1;
            let found = in_one_line(&read(&mut parser, code).root_node().to_sexp());
            assert_eq!(found, in_one_line(tree), "{title} in {}", file.display());
        }
    }
    assert!(count > 20, "only {count} pieces were found");
    Ok(())
}

#[test]
fn queries_fit_the_grammar() -> Result<(), Failed> {
    let language = tree_sitter_sac::LANGUAGE.into();
    let folders = [grammar().join("queries"), repository().join("editors/helix")];
    let files: Vec<PathBuf> = folders.iter().flat_map(|folder| files_below(folder, "scm")).collect();
    assert!(files.len() >= 10, "the queries are not there");
    for file in files {
        let query = Query::new(&language, &fs::read_to_string(&file)?);
        let query = query.map_err(|error| format!("{}: {error}", file.display()))?;
        assert!(query.pattern_count() > 0, "{} is empty", file.display());
    }
    Ok(())
}

fn is_word(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic()) && text.chars().all(|c| c.is_ascii_alphanumeric())
}

/// All strings under a key, anywhere in the value.
fn strings_of<'a>(value: &'a Value, key: &str, found: &mut Vec<&'a str>) {
    match value {
        Value::Object(members) => {
            found.extend(members.get(key).and_then(Value::as_str));
            members.values().for_each(|member| strings_of(member, key, found));
        }
        Value::Array(elements) => elements.iter().for_each(|element| strings_of(element, key, found)),
        _ => {}
    }
}

#[test]
fn words_of_the_grammar_are_those_of_the_lexer() -> Result<(), Failed> {
    let grammar = json(&grammar().join("src/grammar.json"))?;
    let mut found = BTreeSet::new();
    let mut open = vec![&grammar["rules"]];
    while let Some(value) = open.pop() {
        if value["type"] == "STRING" {
            found.extend(value["value"].as_str().filter(|text| is_word(text)));
        }
        open.extend(value.as_object().into_iter().flat_map(|members| members.values()));
        open.extend(value.as_array().into_iter().flatten());
    }
    let words: BTreeSet<_> = keywords().collect();
    assert_eq!(found, words, "left: editors/tree-sitter-sac/grammar.js, right: the lexer");
    Ok(())
}

/// The words that a regular expression has letter by letter.
fn words_of(expression: &str) -> impl Iterator<Item = String> {
    let mut plain = String::new();
    let mut letters = expression.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => plain.extend(letters.next().map(|_| ' ')),
            '[' => {
                let mut escaped = false;
                // `\]` does not end the class.
                let _ = letters.by_ref().find(|c| {
                    let ends = *c == ']' && !escaped;
                    escaped = *c == '\\' && !escaped;
                    ends
                });
                plain.push(' ');
            }
            other => plain.push(other),
        }
    }
    let words: Vec<String> =
        plain.split(|c: char| !c.is_ascii_alphanumeric()).filter(|w| is_word(w)).map(String::from).collect();
    words.into_iter()
}

#[test]
fn words_of_the_extension_are_those_of_the_lexer() -> Result<(), Failed> {
    let grammar = json(&vscode().join("syntaxes/sac.tmLanguage.json"))?;
    let mut expressions = Vec::new();
    for group in ["symbols", "symbol-set", "words"] {
        let group = &grammar["repository"][group];
        ["match", "begin"].iter().for_each(|key| strings_of(group, key, &mut expressions));
    }
    let found: BTreeSet<_> = expressions.into_iter().flat_map(words_of).collect();
    let words: BTreeSet<_> = keywords().map(String::from).collect();
    assert_eq!(found, words, "left: editors/vscode/syntaxes/sac.tmLanguage.json, right: the lexer");
    Ok(())
}

#[test]
fn files_of_the_extension_are_there() -> Result<(), Failed> {
    let folder = vscode();
    let package = json(&folder.join("package.json"))?;
    let mut named = vec![package["main"].as_str().ok_or("no main")?];
    strings_of(&package["contributes"], "path", &mut named);
    strings_of(&package["contributes"], "configuration", &mut named);
    assert!(named.len() >= 4, "{named:?}");
    for file in named {
        let path = folder.join(file);
        assert!(path.is_file(), "{file} is not there");
        if path.extension().is_some_and(|extension| extension == "json") {
            json(&path)?;
        }
    }
    let contributes = &package["contributes"];
    let language = &contributes["languages"][0];
    assert_eq!(language["extensions"], serde_json::json!([".sac"]));
    for part in ["grammars", "snippets"] {
        assert_eq!(contributes[part][0]["language"], language["id"], "{part}");
    }
    let grammar = json(&folder.join("syntaxes/sac.tmLanguage.json"))?;
    assert_eq!(contributes["grammars"][0]["scopeName"], grammar["scopeName"]);
    // What a pattern includes has to be in the repository.
    let mut included = Vec::new();
    strings_of(&grammar, "include", &mut included);
    for name in included {
        let rule = name.strip_prefix('#').ok_or("an include of another grammar")?;
        assert!(grammar["repository"].get(rule).is_some(), "{name} is included and not there");
    }
    Ok(())
}

/// What a snippet leaves when nothing is typed: `${1:text}` is its text, `$1` the text of the first such.
fn expanded(body: &str, texts: &mut BTreeMap<String, String>) -> String {
    let mut out = String::new();
    let mut rest = body;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let braced = rest.strip_prefix('{');
        let from = braced.unwrap_or(rest);
        let end = from.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(from.len());
        let (name, behind) = from.split_at(end);
        rest = behind;
        if braced.is_none() {
            out.push_str(texts.get(name).map_or("", String::as_str));
            continue;
        }
        let mut depth = 1;
        let close = behind.char_indices().find(|(_, c)| {
            depth += i32::from(*c == '{') - i32::from(*c == '}');
            depth == 0
        });
        let close = close.map_or(behind.len(), |(at, _)| at);
        let inner = expanded(behind[..close].strip_prefix(':').unwrap_or(""), texts);
        // A variable of the editor stands for a name.
        let inner = if inner.is_empty() && name.starts_with("TM_") { "name".to_string() } else { inner };
        out.push_str(&inner);
        texts.insert(name.to_string(), inner);
        rest = behind.get(close + 1..).unwrap_or("");
    }
    out + rest
}

#[test]
fn snippets_are_sac() -> Result<(), Failed> {
    let snippets = json(&vscode().join("snippets/sac.json"))?;
    let mut parser = parser();
    let mut prefixes = BTreeSet::new();
    let snippets = snippets.as_object().ok_or("no snippets")?;
    assert!(snippets.len() > 10);
    for (name, snippet) in snippets {
        assert!(prefixes.insert(snippet["prefix"].to_string()), "{name} has the prefix of another");
        let lines = match &snippet["body"] {
            Value::Array(lines) => lines.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("\n"),
            line => line.as_str().ok_or("a body is text")?.to_string(),
        };
        let text = expanded(&lines, &mut BTreeMap::new());
        // Definitions, statements or an expression.
        let readings = [text.clone() + "\n", format!("int f() {{ {text} }}"), format!("int f() {{ x = {text}; }}")];
        let reads = |reading: &String| !read(&mut parser, reading).root_node().has_error();
        assert!(readings.iter().any(reads), "{name} is no SaC:\n{text}");
    }
    Ok(())
}

/// Where tree-sitter's command line is installed, `src` is what it makes of `grammar.js`.
#[test]
fn the_parser_is_made_of_the_grammar() -> Result<(), Failed> {
    if !Command::new("tree-sitter").arg("--version").output().is_ok_and(|answer| answer.status.success()) {
        println!(
            "tree-sitter is not installed (cargo install tree-sitter-cli): whether src fits grammar.js is not tested"
        );
        return Ok(());
    }
    let folder = tempfile::tempdir()?;
    for file in ["grammar.js", "tree-sitter.json"] {
        fs::copy(grammar().join(file), folder.path().join(file))?;
    }
    let answer = Command::new("tree-sitter").args(["generate", "--abi", "14"]).current_dir(folder.path()).output()?;
    assert!(answer.status.success(), "{}", String::from_utf8_lossy(&answer.stderr));
    for file in ["src/grammar.json", "src/node-types.json"] {
        let made = json(&folder.path().join(file))?;
        assert!(
            made == json(&grammar().join(file))?,
            "{file} is older than grammar.js: run `tree-sitter generate --abi 14`"
        );
    }
    Ok(())
}

/// Runs a program in a folder; what it wrote, if it failed.
fn failure(folder: &Path, words: &[&str]) -> Result<Option<String>, Failed> {
    let answer = Command::new(words[0]).args(&words[1..]).current_dir(folder).output()?;
    let wrote = || format!("{}{}", String::from_utf8_lossy(&answer.stdout), String::from_utf8_lossy(&answer.stderr));
    Ok((!answer.status.success()).then(wrote))
}

fn is_installed(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|answer| answer.status.success())
}

/// Where Node is installed: what the extension does with its settings and commands. Where npm gets its packages as well: the
/// colors of its grammar, and the file that people install.
#[test]
fn the_extension_works_and_is_packed() -> Result<(), Failed> {
    if !is_installed("node") {
        println!("node is not installed: the extension for VS Code is not tested");
        return Ok(());
    }
    let folder = tempfile::tempdir()?;
    let tracked = ["package.json", "extension.js", "language-configuration.json", "README.md", ".vscodeignore"];
    for file in tracked {
        fs::copy(vscode().join(file), folder.path().join(file))?;
    }
    for part in ["syntaxes", "snippets", "test"] {
        fs::create_dir(folder.path().join(part))?;
        for entry in fs::read_dir(vscode().join(part))? {
            let entry = entry?;
            fs::copy(entry.path(), folder.path().join(part).join(entry.file_name()))?;
        }
    }
    let wrong = failure(folder.path(), &["node", "--test", "test/extension.test.js"])?;
    assert!(wrong.is_none(), "{}", wrong.unwrap_or_default());
    let install = ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--fetch-retries=0"];
    if !is_installed("npm") || failure(folder.path(), &install)?.is_some() {
        println!("npm does not get its packages: the colors and the package of the extension are not tested");
        return Ok(());
    }
    let wrong = failure(folder.path(), &["npm", "test"])?;
    assert!(wrong.is_none(), "{}", wrong.unwrap_or_default());
    let wrong = failure(folder.path(), &["npm", "run", "package"])?;
    assert!(wrong.is_none(), "{}", wrong.unwrap_or_default());
    let version = json(&folder.path().join("package.json"))?["version"].as_str().unwrap_or_default().to_string();
    let packed = folder.path().join(format!("ravel-sac-{version}.vsix"));
    assert!(packed.is_file(), "{} is not there", packed.display());
    Ok(())
}
