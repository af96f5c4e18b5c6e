//! What changes between two texts, as `diff -u` shows it.

use std::fmt::Write;
use std::ops::Range;

/// Lines around a change.
const CONTEXT: usize = 3;
/// Texts that differ in more lines are shown as removed and added as a whole: the search takes the square of this in memory.
const MOST_CHANGES: usize = 2000;

/// A line of both texts, of the old one, or of the new one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Change {
    Same,
    Removed,
    Added,
}

/// The changes in the unified form, with `name` for both texts; empty if there are none.
pub fn unified(name: &str, old: &str, new: &str) -> String {
    if old == new {
        return String::new();
    }
    let (old, new): (Vec<&str>, Vec<&str>) = (old.split_inclusive('\n').collect(), new.split_inclusive('\n').collect());
    let changes = changes(&old, &new);
    let mut out = format!("--- {name}\n+++ {name}\n");
    let (mut a, mut b, mut at) = (0, 0, 0);
    while at < changes.len() {
        if changes[at] == Change::Same {
            (a, b, at) = (a + 1, b + 1, at + 1);
            continue;
        }
        // Changes that are near one another make one hunk.
        let mut end = at;
        let mut same = 0;
        for (behind, change) in changes.iter().enumerate().skip(at) {
            same = if *change == Change::Same { same + 1 } else { 0 };
            if same == 0 {
                end = behind + 1;
            } else if same > 2 * CONTEXT {
                break;
            }
        }
        let before = at.min(CONTEXT).min(a).min(b);
        let after = (changes.len() - end).min(CONTEXT);
        let hunk = &changes[at - before..end + after];
        let (mut a_line, mut b_line) = (a - before, b - before);
        let count = |not: Change| hunk.iter().filter(|change| **change != not).count();
        let range = |start: usize, count: usize| format!("{},{count}", start + usize::from(count > 0));
        let (removed, added) = (range(a_line, count(Change::Added)), range(b_line, count(Change::Removed)));
        let _ = writeln!(out, "@@ -{removed} +{added} @@");
        for change in hunk {
            let (sign, line) = match change {
                Change::Added => ('+', new[b_line]),
                Change::Same => (' ', old[a_line]),
                Change::Removed => ('-', old[a_line]),
            };
            a_line += usize::from(*change != Change::Added);
            b_line += usize::from(*change != Change::Removed);
            let _ = write!(out, "{sign}{line}");
            if !line.ends_with('\n') {
                out.push_str("\n\\ No newline at end of file\n");
            }
        }
        (a, b, at) = (a_line, b_line, end + after);
    }
    out
}

/// The changes as edits: which lines of the old text each replaces, and by what.
pub fn edits(old: &str, new: &str) -> Vec<(Range<usize>, String)> {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.split_inclusive('\n').collect(), new.split_inclusive('\n').collect());
    let mut found: Vec<(Range<usize>, String)> = Vec::new();
    let (mut a, mut b) = (0, 0);
    let mut is_open = false;
    for change in changes(&old, &new) {
        if change == Change::Same {
            (a, b, is_open) = (a + 1, b + 1, false);
            continue;
        }
        if !std::mem::replace(&mut is_open, true) {
            found.push((a..a, String::new()));
        }
        let Some((lines, text)) = found.last_mut() else { continue };
        match change {
            Change::Removed => {
                a += 1;
                lines.end = a;
            }
            _ => {
                text.push_str(new[b]);
                b += 1;
            }
        }
    }
    found
}

/// The shortest way from one list of lines to the other, after Myers: the farthest points that each number of changes reaches, diagonal by diagonal.
fn changes(old: &[&str], new: &[&str]) -> Vec<Change> {
    let front = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (a, b) = (&old[front..], &new[front..]);
    let back = a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count();
    let (a, b) = (&a[..a.len() - back], &b[..b.len() - back]);
    let mut middle = shortest(a, b).unwrap_or_else(|| {
        let mut whole = vec![Change::Added; b.len()];
        whole.resize(a.len() + b.len(), Change::Removed);
        whole
    });
    let mut all = vec![Change::Same; front];
    middle.reverse();
    all.append(&mut middle);
    all.resize(all.len() + back, Change::Same);
    all
}

/// From the end to the beginning; nothing if it has too many changes.
fn shortest(a: &[&str], b: &[&str]) -> Option<Vec<Change>> {
    let (n, m) = (a.len() as isize, b.len() as isize);
    let most = (a.len() + b.len()).min(MOST_CHANGES) as isize;
    let index = |diagonal: isize| (diagonal + most + 1) as usize;
    let mut reach = vec![0isize; 2 * most as usize + 3];
    let mut history: Vec<Vec<isize>> = Vec::new();
    for changes in 0..=most {
        history.push(reach[index(-changes - 1)..=index(changes + 1)].to_vec());
        for diagonal in (-changes..=changes).step_by(2) {
            let (down, right) = (reach[index(diagonal + 1)], reach[index(diagonal - 1)]);
            let goes_down = diagonal == -changes || diagonal != changes && right < down;
            let mut x = if goes_down { down } else { right + 1 };
            while x < n && x - diagonal < m && a[x as usize] == b[(x - diagonal) as usize] {
                x += 1;
            }
            reach[index(diagonal)] = x;
            if x >= n && x - diagonal >= m {
                return Some(trace(&history, n, m));
            }
        }
    }
    None
}

/// Goes back from the end through what was reached with fewer and fewer changes.
fn trace(history: &[Vec<isize>], n: isize, m: isize) -> Vec<Change> {
    let (mut x, mut y) = (n, m);
    let mut path = Vec::new();
    for (changes, reach) in history.iter().enumerate().rev() {
        let changes = changes as isize;
        let diagonal = x - y;
        let at = |diagonal: isize| reach[(diagonal + changes + 1) as usize];
        let goes_down = diagonal == -changes || diagonal != changes && at(diagonal - 1) < at(diagonal + 1);
        let before = if goes_down { diagonal + 1 } else { diagonal - 1 };
        let (from_x, from_y) = if changes == 0 { (0, 0) } else { (at(before), at(before) - before) };
        while x > from_x && y > from_y {
            path.push(Change::Same);
            (x, y) = (x - 1, y - 1);
        }
        if changes > 0 {
            path.push(if goes_down { Change::Added } else { Change::Removed });
            (x, y) = (from_x, from_y);
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hunk_shows_what_is_around_it() {
        let old = "a\nb\nc\nd\ne\nf\ng\nh\n";
        assert_eq!(
            unified("x", old, &old.replace("e\n", "E\ne2\n")),
            "--- x\n+++ x\n@@ -2,7 +2,8 @@\n b\n c\n d\n-e\n+E\n+e2\n f\n g\n h\n"
        );
        assert_eq!(unified("x", "a", "a\n"), "--- x\n+++ x\n@@ -1,1 +1,1 @@\n-a\n\\ No newline at end of file\n+a\n");
        assert_eq!(unified("x", "", "a\n"), "--- x\n+++ x\n@@ -0,0 +1,1 @@\n+a\n");
        assert_eq!(unified("x", "a\n", "a\n"), "");
    }

    #[test]
    fn changes_far_apart_have_hunks_of_their_own() {
        let old: String = (0..30).map(|line| format!("{line}\n")).collect();
        let new = old.replace("\n5\n", "\n").replace("\n25\n", "\nx\n");
        assert_eq!(unified("x", &old, &new).matches("@@ -").count(), 2);
    }

    #[test]
    fn any_change_turns_the_old_into_the_new() {
        let texts = ["", "a\n", "a\nb\nc\n", "c\nb\na\n", "a\na\nb\n", "b\nc\nb\na\nb\nd\n", "x\ny\nz\nc\nb\n"];
        for old in texts {
            for new in texts {
                let (a, b): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
                let (mut x, mut y, mut made) = (0, 0, Vec::new());
                for change in changes(&a, &b) {
                    match change {
                        Change::Same => {
                            assert_eq!(a[x], b[y]);
                            made.push(a[x]);
                            (x, y) = (x + 1, y + 1);
                        }
                        Change::Removed => x += 1,
                        Change::Added => {
                            made.push(b[y]);
                            y += 1;
                        }
                    }
                }
                assert_eq!((made, x), (b, a.len()));
            }
        }
    }
}
