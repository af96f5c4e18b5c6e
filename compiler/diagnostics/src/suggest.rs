//! What somebody probably meant to write.

/// Longer names are no slips of the hand, and comparing them takes quadratic time.
const LONGEST_SUGGESTED: usize = 100;

/// The candidate closest to `name` by edit distance, if it is close enough to be a plausible slip.
///
/// Ties go to a candidate of the same letters, then to the earlier one, so pass them in a stable order.
pub fn did_you_mean<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let length = name.chars().count();
    if length > LONGEST_SUGGESTED {
        return None;
    }
    let limit = (length / 3).max(1);
    let mut best: Option<((usize, bool), &'a str)> = None;
    for candidate in candidates {
        if candidate == name || candidate.chars().count().abs_diff(length) > limit {
            continue;
        }
        let distance = edit_distance(name, candidate);
        // A replaced one-letter name says nothing about what was meant.
        if distance <= limit
            && distance < length
            && best.is_none_or(|(d, _)| (distance, !has_same_letters(name, candidate)) < d)
        {
            best = Some(((distance, !has_same_letters(name, candidate)), candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// Shorter names that differ in one letter may well be two that are meant.
const SHORTEST_SLIP: usize = 4;

/// Whether one name is so near to the other that nothing else can have been meant: a single slip in a name that is not short.
pub fn is_slip(name: &str, meant: &str) -> bool {
    let shortest = name.chars().count().min(meant.chars().count());
    // Numbers at the end tell names apart.
    let digits = |text: &str| text.chars().filter(char::is_ascii_digit).collect::<String>();
    (SHORTEST_SLIP..=LONGEST_SUGGESTED).contains(&shortest)
        && digits(name) == digits(meant)
        && (name.eq_ignore_ascii_case(meant) || edit_distance(name, meant) == 1)
}

/// Whether two names have the same letters in another order, which fingers that hurry make of one.
fn has_same_letters(a: &str, b: &str) -> bool {
    let sorted = |text: &str| {
        let mut letters: Vec<char> = text.chars().collect();
        letters.sort_unstable();
        letters
    };
    a.len() == b.len() && sorted(a) == sorted(b)
}

/// Edits (insert, delete, replace, swap of neighbours) that turn one text into the other.
fn edit_distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().collect();
    let b: Vec<char> = b.chars().collect();
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let replace = above[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = replace.min(above[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        before = std::mem::replace(&mut above, row);
    }
    above[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggestions_are_plausible_or_absent() {
        assert_eq!(did_you_mean("genaray", ["modarray", "genarray"]), Some("genarray"));
        assert_eq!(did_you_mean("shpae", ["shape", "sharp"]), Some("shape"));
        assert_eq!(did_you_mean("a", ["b", "c"]), None);
        assert_eq!(did_you_mean("convolve", ["print"]), None);
        assert!(is_slip("vlaue", "value") && is_slip("Aray", "Array") && is_slip("Iota", "iota"));
        assert!(!is_slip("row", "rows") && !is_slip("rows1", "rows2") && !is_slip("colour", "colon"));
        let endless = "x".repeat(1_000_000);
        assert_eq!(did_you_mean(&endless, [&endless[1..]]), None);
    }
}
