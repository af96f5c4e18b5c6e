//! Random programs, and programs with changed text, through `ravel fmt`: whatever they are, nothing changes but their layout.

use ravel_fuzz::{mutate::Corpus, rng::Rng, sac};
use ravel_tests::{files_below, layout, repository};

const PROGRAMS: u64 = 400;
/// Most of these are wrong, and many are no tokens: it takes more of them.
const CHANGED: u64 = 3_000;

#[test]
fn random_programs_keep_tokens_and_trees() {
    let names = layout::type_names(&[]);
    for seed in 0..PROGRAMS {
        let text = sac::program(seed);
        match layout::check(&text, &names) {
            Ok(done) => assert!(done.parsed && done.left.is_empty(), "seed {seed}: {:?}\n{text}", done.left),
            Err(why) => panic!("seed {seed}: {why}\n{text}"),
        }
    }
}

#[test]
fn programs_with_changed_text_keep_tokens() {
    let names = layout::type_names(&[]);
    let corpus = Corpus::read(&repository().join("tests/golden"));
    let mut wrong = Vec::new();
    for seed in 0..CHANGED {
        let case = corpus.case(seed);
        let text = String::from_utf8_lossy(&case.text);
        if let Err(why) = layout::check(&text, &names) {
            wrong.push(format!("seed {seed}, {}: {why}", case.origin));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} texts:\n{}",
        wrong.len(),
        wrong.iter().take(20).map(String::as_str).collect::<Vec<_>>().join("\n")
    );
}

/// Moves line ends and blanks: more of them, fewer, and others. Lines with comments, strings or directives stay, for there they may mean something.
fn spread(text: &str, rng: &mut Rng) -> String {
    let fixed = |line: &str| {
        line.contains(['"', '\'', '#', '\\']) || line.contains("/*") || line.contains("*/") || line.contains("//")
    };
    let often = [2, 8, 40][rng.below(3)];
    let mut out = String::new();
    let (mut in_comment, mut was_fixed) = (false, true);
    for line in text.lines() {
        let is_fixed = in_comment || fixed(line);
        in_comment = line.rfind("/*").map_or(in_comment && !line.contains("*/"), |open| !line[open..].contains("*/"));
        // A line that stays keeps its ends.
        let joins = !is_fixed && !was_fixed && rng.below(often) == 0;
        out.push(if joins { ' ' } else { '\n' });
        was_fixed = is_fixed;
        if is_fixed {
            out.push_str(line);
            continue;
        }
        for c in line.chars() {
            match c {
                ' ' if rng.below(often) == 0 => out.push_str(["\n", "  ", "\n\n\t"][rng.below(3)]),
                '(' | '[' | ',' | ';' if rng.below(often) == 0 => {
                    out.push(c);
                    out.push_str(["\n", " "][rng.below(2)]);
                }
                c => out.push(c),
            }
        }
    }
    out.push('\n');
    out
}

#[test]
fn line_ends_may_stand_anywhere() {
    let mut texts: Vec<String> = Vec::new();
    for folder in ["stdlib", "examples", "tests/golden"] {
        texts.extend(files_below(&repository().join(folder), "sac").iter().map(|file| layout::read(file)));
    }
    let names = layout::type_names(&texts);
    let mut wrong = Vec::new();
    for (seed, text) in texts.iter().enumerate() {
        let text = spread(text, &mut Rng::new(seed as u64));
        if let Err(why) = layout::check(&text, &names) {
            wrong.push(format!("text {seed}: {why}"));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} texts:\n{}",
        wrong.len(),
        wrong.iter().take(20).map(String::as_str).collect::<Vec<_>>().join("\n")
    );
}
