//! Changes to the text of a program.

use crate::rng::Rng;

/// What stands where a number stood, or anywhere.
const NUMBERS: [&str; 24] = [
    "0",
    "1",
    "2",
    "(-1)",
    "7",
    "2147483647",
    "(-2147483647)",
    "2147483648",
    "100000000",
    "65536",
    "9223372036854775807l",
    "99999999999999999999999999999",
    "0x7fffffff",
    "255ub",
    "1e308",
    "1e999",
    "0.0",
    "-0.0",
    "1f",
    "5l",
    "4294967295ui",
    "[]",
    "[1,2]",
    "1000",
];

const OPERATORS: [&str; 26] = [
    "+", "-", "*", "/", "%", "<", "<=", ">", ">=", "==", "!=", "&&", "||", "!", "++", "&", "|", "^", "<<", ">>", "=",
    "+=", ":", ",", ".", "->",
];

const WORDS: [&str; 40] = [
    "int",
    "double",
    "bool",
    "char",
    "int[*]",
    "int[+]",
    "int[.]",
    "int[.,.]",
    "int[n:shp]",
    "double[d:shp]",
    "shape",
    "dim",
    "sel",
    "modarray",
    "genarray",
    "fold",
    "foldfix",
    "propagate",
    "with",
    "step",
    "width",
    "for",
    "while",
    "if",
    "else",
    "return",
    "true",
    "false",
    "reshape",
    "iota",
    "take",
    "drop",
    "sum",
    "inline",
    "noinline",
    "_sel_VxA_",
    "_reshape_VxA_",
    "_modarray_AxVxS_",
    "struct",
    "'x'",
];

const PIECES: [&str; 12] = ["(", ")", "[", "]", "{", "}", ";", "\"", "/*", "#", "\0", "\u{e9}"];

/// The text with one change; some take pieces of another program.
pub fn changed(text: &[u8], other: &[u8], rng: &mut Rng) -> Vec<u8> {
    if rng.chance(1, 12) {
        return spliced(text, other, rng);
    }
    if rng.chance(1, 20) {
        return bytes_changed(text, rng);
    }
    let mut tokens: Vec<Vec<u8>> = tokens(text).into_iter().map(<[u8]>::to_vec).collect();
    let solid: Vec<usize> = (0..tokens.len()).filter(|&t| is_solid(&tokens[t])).collect();
    if solid.is_empty() {
        return bytes_changed(text, rng);
    }
    let of_kind = |is: fn(&[u8]) -> bool| solid.iter().copied().filter(|&t| is(&tokens[t])).collect::<Vec<usize>>();
    let at = rng.pick(&solid);
    match rng.below(12) {
        0 => drop(tokens.remove(at)),
        1 => tokens.insert(at, tokens[at].clone()),
        2 => {
            let with = rng.pick(&solid);
            tokens.swap(at, with);
        }
        3..=5 => {
            let numbers = of_kind(is_number);
            let at = if numbers.is_empty() { at } else { rng.pick(&numbers) };
            tokens[at] = rng.pick(&NUMBERS).as_bytes().to_vec();
        }
        6 => {
            let operators = of_kind(is_operator);
            let at = if operators.is_empty() { at } else { rng.pick(&operators) };
            tokens[at] = rng.pick(&OPERATORS).as_bytes().to_vec();
        }
        7 | 8 => {
            // Another name of the program: often it still has a meaning.
            let words = of_kind(is_word);
            if !words.is_empty() {
                let (to, from) = (rng.pick(&words), rng.pick(&words));
                tokens[to] = tokens[from].clone();
            }
        }
        9 => {
            let words = of_kind(is_word);
            let at = if words.is_empty() { at } else { rng.pick(&words) };
            tokens[at] = rng.pick(&WORDS).as_bytes().to_vec();
        }
        10 => tokens.insert(at, rng.pick(&PIECES).as_bytes().to_vec()),
        _ => {
            // A run of tokens again, or gone.
            let end = (at + 1 + rng.below(20)).min(tokens.len());
            let run: Vec<Vec<u8>> = tokens[at..end].to_vec();
            if rng.chance(1, 2) {
                tokens.drain(at..end);
            } else {
                let to = rng.below(tokens.len());
                tokens.splice(to..to, run);
            }
        }
    }
    tokens.concat()
}

/// Lines of one program, then lines of the other, or some of the other in between.
fn spliced(text: &[u8], other: &[u8], rng: &mut Rng) -> Vec<u8> {
    let (mine, theirs) = (lines(text), lines(other));
    let cut = rng.below(mine.len() + 1);
    let from = rng.below(theirs.len() + 1);
    let to = if rng.chance(1, 2) { theirs.len() } else { (from + rng.below(8)).min(theirs.len()) };
    let rest = if to == theirs.len() { mine.len() } else { cut };
    [mine[..cut].concat(), theirs[from..to].concat(), mine[rest..].concat()].concat()
}

fn bytes_changed(text: &[u8], rng: &mut Rng) -> Vec<u8> {
    let mut text = text.to_vec();
    for _ in 0..1 + rng.below(4) {
        let at = rng.below(text.len());
        match rng.below(3) {
            0 if at < text.len() => text[at] = rng.bits() as u8,
            1 if at < text.len() => drop(text.remove(at)),
            _ => text.insert(at, rng.bits() as u8),
        }
    }
    text
}

/// The lines, each with its end.
pub fn lines(text: &[u8]) -> Vec<&[u8]> {
    text.split_inclusive(|&byte| byte == b'\n').collect()
}

/// Words, numbers, texts, operators, and what is between them.
pub fn tokens(text: &[u8]) -> Vec<&[u8]> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(&first) = rest.first() {
        let while_true = |is: fn(&u8) -> bool| rest.iter().position(|byte| !is(byte)).unwrap_or(rest.len());
        let length = match first {
            b'0'..=b'9' => while_true(|b| b.is_ascii_alphanumeric() || *b == b'.'),
            b'_' | b'a'..=b'z' | b'A'..=b'Z' => while_true(|b| b.is_ascii_alphanumeric() || *b == b'_'),
            b'"' => rest[1..].iter().position(|&b| b == b'"').map_or(rest.len(), |end| end + 2),
            b'/' if rest.starts_with(b"//") => while_true(|b| *b != b'\n'),
            _ if first.is_ascii_whitespace() => while_true(u8::is_ascii_whitespace),
            _ if is_operator(&rest[..1]) => {
                let two = rest.get(..2).and_then(|two| std::str::from_utf8(two).ok());
                if two.is_some_and(|two| OPERATORS.contains(&two)) { 2 } else { 1 }
            }
            _ => 1,
        };
        let (token, behind) = rest.split_at(length);
        found.push(token);
        rest = behind;
    }
    found
}

fn is_solid(token: &[u8]) -> bool {
    !token[0].is_ascii_whitespace() && !token.starts_with(b"//")
}

fn is_number(token: &[u8]) -> bool {
    token[0].is_ascii_digit()
}

fn is_word(token: &[u8]) -> bool {
    token[0].is_ascii_alphabetic() || token[0] == b'_'
}

fn is_operator(token: &[u8]) -> bool {
    b"+-*/%<>=!&|^:,.".contains(&token[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_all_of_the_text() {
        let text = b"int main() { /* a */ return sum(a<=3) + 0x1f; } // end\n\"open";
        assert_eq!(tokens(text).concat(), text);
        assert!(tokens(text).contains(&b"<=".as_slice()));
    }

    #[test]
    fn a_seed_gives_one_change() {
        let text = b"int f(int a) { return a + 1; }\n";
        for seed in 0..500 {
            let of = || changed(text, b"x = 1;\ny = 2;\n", &mut Rng::new(seed));
            assert_eq!(of(), of());
        }
        assert!(changed(b"", b"", &mut Rng::new(1)).len() <= 8);
    }
}
