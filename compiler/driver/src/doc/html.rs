//! The pages as HTML: one for each module, one for its source, an index, and the search. All can be read without a script.

use super::comment::{Comment, example, is_keys};
use super::links::{Links, Part};
use super::page::{natives, of_offer, rules};
use super::search::{drawn, json};
use super::{Entry, Module};
use std::collections::BTreeMap;
use std::fmt::Write;

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("search.js");

/// All files of the pages, by their paths.
pub fn site(modules: &[Module]) -> Vec<(String, String)> {
    let index = json(modules);
    let mut files = vec![
        ("style.css".to_string(), STYLE.to_string()),
        ("search.js".to_string(), SCRIPT.to_string()),
        // Pages that are opened as files may load scripts, but no data.
        ("search-index.js".to_string(), format!("const INDEX = {};\n", index.trim_end())),
        ("search.json".to_string(), index),
        ("search.html".to_string(), search_page()),
        ("index.html".to_string(), index_page(modules)),
    ];
    for module in modules {
        files.push((format!("{}.html", module.name), module_page(module, modules)));
        files.push((format!("source/{}.html", module.name), source_page(module)));
    }
    files
}

/// A page with its head; `up` leads to the folder of the index.
fn whole(title: &str, up: &str, body: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{0}</title>\n<link rel=\"stylesheet\" href=\"{up}style.css\">\n\
         </head>\n<body>\n<header><a href=\"{up}index.html\">All modules</a>\n<form action=\"{up}search.html\"><input name=\"q\" type=\"search\" \
         aria-label=\"Search\" placeholder=\"sort, or float[n,n] -&gt; float\"></form></header>\n<main>\n{body}</main>\n</body>\n</html>\n",
        escaped(title)
    )
}

fn module_page(module: &Module, modules: &[Module]) -> String {
    let mut links = Links { modules, module, entry: None };
    let mut out = format!("<h1>{}</h1>\n", escaped(&module.name));
    prose(&mut out, &module.about, &links);
    let _ = writeln!(out, "<p><a class=\"source\" href=\"source/{0}.html\">source</a></p>", module.name);
    if !module.offers.is_empty() {
        let offers = module.offers.iter().map(|(name, symbols)| {
            let some = of_offer(module, symbols);
            let some: Vec<String> = some.iter().map(|symbol| format!("<code>{}</code>", escaped(symbol))).collect();
            let what = if some.is_empty() { "all".to_string() } else { some.join(", ") };
            let is_there = modules.iter().any(|other| other.name == *name);
            let page = if is_there { format!("<a href=\"{name}.html\">{name}</a>") } else { escaped(name) };
            format!("{what} of {page}")
        });
        let offers: Vec<String> = offers.collect();
        let _ = writeln!(out, "<p>Offers {}.</p>", offers.join("; "));
    }
    if !module.families.is_empty() {
        out.push_str("<p>Element types, the same throughout a head:</p>\n<ul>\n");
        for (name, members) in &module.families {
            let _ = writeln!(out, "<li><code>{}</code>: {}</li>", escaped(name), escaped(&members.join(", ")));
        }
        out.push_str("</ul>\n");
    }
    // A name once, whatever number of comments it has.
    let mut names: Vec<(&str, Vec<&Entry>)> = Vec::new();
    for entry in &module.entries {
        for name in &entry.names {
            match names.iter_mut().find(|(known, _)| known == name) {
                Some((_, entries)) => entries.push(entry),
                None => names.push((name, vec![entry])),
            }
        }
    }
    if !names.is_empty() {
        out.push_str("<table>\n");
        for (name, entries) in names {
            for (k, entry) in entries.iter().enumerate() {
                let shown =
                    if k == 0 { escaped(name) } else { format!("<span class=\"again\">{}</span>", escaped(name)) };
                let about = inline(&entry.comment.first_sentence(), &Links { entry: Some(entry), ..links });
                let _ = writeln!(
                    out,
                    "<tr><td><a href=\"#{}\"><code>{shown}</code></a></td><td>{about}</td></tr>",
                    entry.anchor
                );
            }
        }
        out.push_str("</table>\n");
    }
    for entry in &module.entries {
        links.entry = Some(entry);
        let native = if natives(entry) { " <span class=\"native\">native</span>" } else { "" };
        let names: Vec<String> = entry.names.iter().map(|name| format!("<code>{}</code>", escaped(name))).collect();
        let line = entry.heads.first().map_or(1, |head| head.line);
        let _ = write!(
            out,
            "<section id=\"{0}\">\n<h2><a href=\"#{0}\">{1}</a>{native} <a class=\"source\" href=\"source/{2}.html#{line}\">source</a></h2>\n",
            entry.anchor,
            names.join(", "),
            module.name
        );
        out.push_str("<pre class=\"heads\">");
        for head in &entry.heads {
            let _ = writeln!(out, "<a href=\"source/{}.html#{}\">{}</a>", module.name, head.line, escaped(&head.text));
        }
        out.push_str("</pre>\n");
        let drawings: Vec<String> = entry.heads.iter().map(drawn).filter(|text| !text.is_empty()).collect();
        if !drawings.is_empty() {
            out.push_str("<ul class=\"drawn\">\n");
            for drawing in drawings {
                let _ = writeln!(out, "<li>{}</li>", escaped(&drawing));
            }
            out.push_str("</ul>\n");
        }
        prose(&mut out, &entry.comment, &links);
        if let Some(rules) = rules(entry) {
            let _ = writeln!(out, "<p>Gradient: by {}</p>", inline(&rules, &links));
        }
        out.push_str("</section>\n");
    }
    whole(&module.name, "", &out)
}

fn source_page(module: &Module) -> String {
    let mut out = format!("<h1><a href=\"../{0}.html\">{0}</a></h1>\n<pre class=\"code\">", escaped(&module.name));
    for (k, line) in module.source.lines().enumerate() {
        let _ = writeln!(out, "<span id=\"{0}\"><a href=\"#{0}\">{0:>5}</a> {1}</span>", k + 1, escaped(line));
    }
    out.push_str("</pre>\n");
    whole(&format!("{}: source", module.name), "../", &out)
}

fn index_page(modules: &[Module]) -> String {
    let is_library = modules.iter().any(|module| !module.folder.is_empty());
    let title = if is_library { "The library" } else { "Modules" };
    let mut out = format!("<h1>{title}</h1>\n");
    let mut folders: BTreeMap<&str, Vec<&Module>> = BTreeMap::new();
    modules.iter().for_each(|module| folders.entry(&module.folder).or_default().push(module));
    for (folder, some) in folders {
        if !folder.is_empty() {
            let _ = writeln!(out, "<h2>{}</h2>", escaped(folder));
        }
        out.push_str("<table>\n");
        for module in some {
            let about = inline(&module.about.first_sentence(), &Links { modules, module, entry: None });
            let _ =
                writeln!(out, "<tr><td><a href=\"{0}.html\">{0}</a></td><td>{about}</td></tr>", escaped(&module.name));
        }
        out.push_str("</table>\n");
    }
    whole(title, "", &out)
}

fn search_page() -> String {
    whole(
        "Search",
        "",
        "<h1>Search</h1>\n<p>By name, also of another library (<code>argsort</code>), or by shape: <code>float[n,n] -&gt; float</code>, \
         <code>double[*] -&gt; bool</code>.</p>\n<noscript><p>The search needs a script; <a href=\"index.html\">all modules</a> are \
         there without.</p></noscript>\n<ol id=\"found\"></ol>\n<script src=\"search-index.js\"></script>\n<script src=\"search.js\"></script>\n",
    )
}

/// What the lines of a comment are.
#[derive(Clone, Copy, PartialEq)]
enum Block {
    None,
    Paragraph,
    List,
    Code,
}

/// A comment as paragraphs, lists and code.
fn prose(out: &mut String, comment: &Comment, links: &Links) {
    let mut open = Block::None;
    let close = |out: &mut String, open: Block| {
        out.push_str(match open {
            Block::None => "",
            Block::Paragraph => "</p>\n",
            Block::List => "</ul>\n",
            Block::Code => "</pre>\n",
        });
    };
    let mut turn = |out: &mut String, next: Block| {
        if open != next {
            close(out, open);
            out.push_str(match next {
                Block::None => "",
                Block::Paragraph => "<p>",
                Block::List => "<ul>\n",
                Block::Code => "<pre>",
            });
            open = next;
        }
    };
    for line in comment.lines().filter(|line| !is_keys(line)) {
        if let Some(code) = line.strip_prefix("    ") {
            turn(out, Block::Code);
            let _ = writeln!(out, "{}", escaped(code));
        } else if let Some(example) = example(line) {
            turn(out, Block::List);
            let (call, value) = (escaped(example.call), escaped(example.value));
            let _ = writeln!(out, "<li><code>{call}</code> is <code>{value}</code></li>");
        } else if let Some(item) = line.strip_prefix("- ") {
            turn(out, Block::List);
            let _ = writeln!(out, "<li>{}</li>", inline(item, links));
        } else if line.is_empty() {
            turn(out, Block::None);
        } else {
            turn(out, Block::Paragraph);
            let _ = writeln!(out, "{}", inline(line, links));
        }
    }
    let keys = comment.keys();
    if !keys.is_empty() {
        turn(out, Block::List);
        for (key, text) in keys {
            let _ = writeln!(out, "<li><em>{}:</em> {}</li>", escaped(key), escaped(text));
        }
    }
    turn(out, Block::None);
}

/// A line with code and links.
fn inline(line: &str, links: &Links) -> String {
    let parts = links.parts(line).into_iter().map(|part| match part {
        Part::Text(text) => escaped(text),
        Part::Code(code, None) => format!("<code>{}</code>", escaped(code)),
        Part::Code(code, Some((module, anchor))) => {
            let place = if anchor.is_empty() { String::new() } else { format!("#{anchor}") };
            format!("<a href=\"{module}.html{place}\"><code>{}</code></a>", escaped(code))
        }
    });
    parts.collect()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
