//! `ravel doc` as a user drives it: pages whose links lead somewhere, a search that says the same on the pages as on the command line, and
//! folders in which nothing is lost.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};

use ravel_tests::{Arguments, Failed, Finished, Trial, files_below, finish, ravel};

fn doc(folder: &Path, arguments: &[&str]) -> Result<Finished, Failed> {
    let run = finish(Command::new(ravel()).arg("doc").args(arguments).current_dir(folder), b"")?;
    if run.crashed() { Err(run.describe().into()) } else { Ok(run) }
}

fn expect(holds: bool, run: &Finished) -> Result<(), Failed> {
    if holds { Ok(()) } else { Err(run.describe().into()) }
}

const MODULE: &str = "/* Windows over arrays. See `conv`. */\nmodule Windows;\nuse Array: all;\nexport all;\n\n\
    /*\n * @fn float[d:r] conv(float[d:s] a, float[d:t] w)\n *\n * @brief Sums under a window; `smooth` has one of its own.\n *\n * @param w the <weights>\n */\n\
    float[d:r] conv(float[d:s] a, float[d:t] w)\n{\n    return { iv -> sum({ ov -> w[ov] * a[iv + ov] }) | iv < s - t + 1 };\n}\n\n\
    // The mean of neighbors.\n//\n//     ravel> 1 + 1\n//     int: 2\nfloat[n] smooth(float[n] a) { return a; }\n\n\
    // The time.\nexternal double now();\n\n// Either way.\ndouble[*] way(double[*] a) { return a; }\nint way(int a) { return a; }\n";

/// What stands between `attribute="` and the next quote.
fn attributes<'a>(page: &'a str, attribute: &'a str) -> impl Iterator<Item = &'a str> {
    page.split(attribute).skip(1).filter_map(|rest| rest.strip_prefix("=\"")?.split('"').next())
}

/// Every link of every page leads to a file, and to a place in it.
fn links(site: &Path) -> Result<usize, Failed> {
    let mut places = std::collections::BTreeMap::new();
    for file in files_below(site, "html") {
        let text = fs::read_to_string(&file)?;
        let ids: BTreeSet<String> = attributes(&text, " id").map(String::from).collect();
        places.insert(file.canonicalize()?, (text, ids));
    }
    let mut count = 0;
    for (file, (text, _)) in &places {
        for link in attributes(text, " href").chain(attributes(text, " src")) {
            let (path, place) = link.split_once('#').unwrap_or((link, ""));
            let target = if path.is_empty() { file.clone() } else { file.parent().unwrap_or(site).join(path) };
            let target = target.canonicalize().map_err(|_| format!("{}: {link}", file.display()))?;
            if !place.is_empty() && places.get(&target).is_none_or(|(_, ids)| !ids.contains(place)) {
                return Err(format!("{}: {link} has no such place", file.display()).into());
            }
            count += 1;
        }
    }
    Ok(count)
}

fn pages_of_a_module() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    fs::write(folder.path().join("Windows.sac"), MODULE)?;
    let run = doc(folder.path(), &["--format", "html", "--out", "site", "Windows.sac"])?;
    expect(run.status == 0 && run.stderr.is_empty(), &run)?;
    let site = folder.path().join("site");
    links(&site)?;
    let page = fs::read_to_string(site.join("Windows.html"))?;
    for text in [
        "conv: a: float[s], w: float[t] → float[s - t + 1]",
        "<p>Sums under a window; <a href=\"Windows.html#smooth\"><code>smooth</code></a> has one of its own.",
        "<li><code>w</code>: the &lt;weights&gt;</li>",
        "<pre>ravel&gt; 1 + 1\nint: 2\n</pre>",
        "<a href=\"#now\"><code>now</code></a> <span class=\"native\">native</span>",
        "href=\"source/Windows.html#13\"",
    ] {
        if !page.contains(text) {
            return Err(format!("the page lacks {text}\n{page}").into());
        }
    }
    let source = fs::read_to_string(site.join("source/Windows.html"))?;
    let run = doc(folder.path(), &["Windows.sac"])?;
    let markdown = [
        "```text\nravel> 1 + 1\nint: 2\n```\n",
        "### now (native)\n",
        "[`smooth`](#smooth) has one",
        "- `w`: the \\<weights>",
    ];
    expect(source.contains("<span id=\"13\">") && markdown.iter().all(|text| run.stdout.contains(text)), &run)?;
    let run = doc(folder.path(), &["--search", "float[8], float[3] -> float[6]", "Windows.sac"])?;
    expect(run.status == 0 && run.stdout.starts_with("conv: "), &run)
}

fn library() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let run = doc(folder.path(), &["--format", "html", "--out", "site"])?;
    expect(run.status == 0, &run)?;
    let count = links(&folder.path().join("site"))?;
    if count < 10_000 { Err(format!("only {count} links").into()) } else { Ok(()) }
}

const QUERIES: [(&str, &str); 12] = [
    ("float[n,n] -> float", "det"),
    ("double[*] -> bool", "has_nan"),
    ("double[n,n], double[n] -> double[n]", "solve"),
    ("float[m,k], float[k,n] -> float[m,n]", "matmul"),
    ("int -> int[.]", "iota"),
    ("float[m,n] -> float[n,m]", "matrix_transpose"),
    ("T[2,3] -> T[*]", ""),
    ("int[d], int[d:s] -> int[d:s]", ""),
    ("string -> int", ""),
    ("argsort", "argsort"),
    ("numpy.add", "+"),
    ("moving average", ""),
];

/// The command line finds what it should, and the script of the pages the same.
fn search() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    for (query, wanted) in QUERIES {
        let run = doc(folder.path(), &["--search", query])?;
        let found = run.stdout.lines().filter(|line| !line.starts_with(' ')).take(5);
        let is_there = wanted.is_empty() || found.into_iter().any(|line| line.starts_with(&format!("{wanted}: ")));
        expect(is_there, &run)?;
    }
    for wrong in ["float[ -> float", "-> ->", "3 -> 4", "a[1,2,3,4,5,6,7,8,9] -> b", "int[999999999999:s] -> int"] {
        let run = doc(folder.path(), &[&format!("--search={wrong}")])?;
        expect(run.status == 2 && run.stderr.contains("is no shape to look for"), &run)?;
    }
    let run = doc(folder.path(), &["--search", "nothing_of_this_name"])?;
    expect(run.status == 1 && run.stderr.contains("nothing fits"), &run)?;
    let run = doc(folder.path(), &["--search", ""])?;
    expect(run.status == 1, &run)
}

fn script_and_command_agree() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let run = doc(folder.path(), &["--format", "html", "--out", "site"])?;
    expect(run.status == 0, &run)?;
    for (query, _) in QUERIES {
        let program = "const { search } = require('./search.js'); const index = JSON.parse(require('fs').readFileSync('search.json', 'utf8')); \
            for (const hit of search(index, process.argv[1]).slice(0, 15)) console.log(hit.item.name + ' ' + hit.item.module);";
        let script =
            finish(Command::new("node").args(["-e", program, query]).current_dir(folder.path().join("site")), b"")?;
        let run = doc(folder.path(), &["--search", query])?;
        let mut found = String::new();
        for line in run.stdout.lines().filter(|line| !line.starts_with([' ', '.'])) {
            let name = line.split([':', ' ', '(']).next().unwrap_or_default();
            let module = line.rsplit('(').next().unwrap_or_default().trim_end_matches(')').replace(", native", "");
            found.push_str(&format!("{name} {module}\n"));
        }
        // Types have no drawing by which they could be told.
        let names = |text: &str| {
            text.lines().map(|line| line.rsplit(' ').next().unwrap_or_default().to_string()).collect::<Vec<_>>()
        };
        if names(&found) != names(&script.stdout) || query.contains("->") && found != script.stdout {
            return Err(format!("{query}: the command finds\n{found}the script {}", script.describe()).into());
        }
    }
    Ok(())
}

/// Only folders that are empty or its own are written to, and there only its own files.
fn folders() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let at = |name: &str| folder.path().join(name);
    fs::write(at("Windows.sac"), MODULE)?;
    fs::write(at("Other.sac"), "// Another one.\nmodule Other;\nexport all;\nint one() { return 1; }\n")?;
    let make = |modules: &[&str]| doc(folder.path(), &[&["--out", "pages"], modules].concat());
    fs::create_dir(at("pages"))?;
    fs::write(at("pages/notes.md"), "mine")?;
    let run = make(&["Windows.sac"])?;
    expect(run.status == 1 && run.stderr.contains("stays as it is") && !at("pages/Windows.md").exists(), &run)?;
    fs::remove_file(at("pages/notes.md"))?;
    let run = make(&["Windows.sac", "Other.sac"])?;
    expect(run.status == 0 && at("pages/Other.md").exists(), &run)?;
    // What somebody adds later stays; what is no longer made goes.
    fs::write(at("pages/notes.md"), "mine")?;
    let run = make(&["Windows.sac"])?;
    expect(run.status == 0 && !at("pages/Other.md").exists(), &run)?;
    fs::write(at("pages/Other.md"), "mine")?;
    let run = make(&["Windows.sac", "Other.sac"])?;
    expect(run.status == 1 && run.stderr.contains("Other.md was not made by"), &run)?;
    expect(fs::read_to_string(at("pages/Other.md"))? == "mine" && at("pages/notes.md").exists(), &run)?;
    // A list that leads out of the folder is not followed.
    let list = fs::read_to_string(at("pages/.ravel-doc"))?;
    fs::write(at("pages/.ravel-doc"), format!("{list}../Other.sac\n"))?;
    let run = make(&["Windows.sac"])?;
    expect(run.status == 0 && at("Other.sac").exists(), &run)?;
    // A wrong module leaves everything.
    fs::write(at("Wrong.sac"), "module Wrong;\nint f( { }\n")?;
    let run = make(&["Wrong.sac"])?;
    expect(run.status == 1 && at("pages/Windows.md").exists() && !at("pages/Wrong.md").exists(), &run)?;
    fs::write(at("file"), "mine")?;
    let run = doc(folder.path(), &["--out", "file", "Windows.sac"])?;
    expect(run.status == 1 && fs::read_to_string(at("file"))? == "mine", &run)?;
    let run = doc(folder.path(), &["--format", "html", "Windows.sac"])?;
    expect(run.status == 2, &run)?;
    let left = fs::read_dir(at("pages"))?
        .flatten()
        .any(|entry| entry.file_name().to_string_lossy().starts_with(".ravel-doc-"));
    expect(!left, &run)
}

fn main() -> ExitCode {
    let mut trials = vec![
        Trial::test("pages of a module", pages_of_a_module),
        Trial::test("pages of the library", library),
        Trial::test("search", search),
        Trial::test("folders", folders),
    ];
    // The script can only be run where something runs scripts.
    if Command::new("node").arg("--version").output().is_ok_and(|answer| answer.status.success()) {
        trials.push(Trial::test("script and command agree", script_and_command_agree));
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
