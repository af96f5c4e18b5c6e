//! Edits since a text was looked at: what was known of it is carried to where it stands now.

use std::ops::Range;

/// Bytes that others have replaced.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Edit {
    pub start: usize,
    pub end: usize,
    /// How many bytes stand there now.
    pub new: usize,
}

/// Where bytes of the old text stand now; nothing if something of them was replaced.
pub fn forward(edits: &[Edit], span: Range<usize>) -> Option<Range<usize>> {
    edits.iter().try_fold(span, |at, edit| {
        if at.end <= edit.start {
            Some(at)
        } else if at.start >= edit.end {
            let move_by = |byte: usize| byte - edit.end + edit.start + edit.new;
            Some(move_by(at.start)..move_by(at.end))
        } else {
            None
        }
    })
}

/// The same for the bounds of something that may have changed inside.
pub fn around(edits: &[Edit], span: Range<usize>) -> Range<usize> {
    edits.iter().fold(span, |at, edit| {
        let moved = |byte: usize, inside: usize| match byte {
            _ if byte <= edit.start => byte,
            _ if byte >= edit.end => byte - edit.end + edit.start + edit.new,
            _ => inside,
        };
        moved(at.start, edit.start)..moved(at.end, edit.start + edit.new)
    })
}

/// Where a byte stood; of one that is new, where it was put.
pub fn back(edits: &[Edit], byte: usize) -> usize {
    edits.iter().rev().fold(byte, |at, edit| {
        if at <= edit.start {
            at
        } else if at >= edit.start + edit.new {
            at - edit.new - edit.start + edit.end
        } else {
            edit.start
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_move_with_what_stands_before_them() {
        let edits = [Edit { start: 4, end: 6, new: 5 }, Edit { start: 0, end: 0, new: 2 }];
        assert_eq!(forward(&edits, 0..3), Some(2..5));
        assert_eq!(forward(&edits, 6..8), Some(11..13));
        assert_eq!(forward(&edits, 5..8), None);
        assert_eq!(around(&edits, 3..8), 5..13);
        assert_eq!(back(&edits, 11), 6);
        assert_eq!(back(&edits, 7), 4);
        for byte in (0..4).chain(6..20) {
            assert_eq!(back(&edits, forward(&edits, byte..byte + 1).map_or(0, |at| at.start)), byte);
        }
    }
}
