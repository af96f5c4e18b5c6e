//! Random programs, and programs with changed text, through `ravel fmt`: whatever they are, nothing changes but their layout.

use ravel_fuzz::{mutate::Corpus, sac};
use ravel_tests::{layout, repository};

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
