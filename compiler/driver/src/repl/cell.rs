//! Cells of a notebook: inputs whose values are displayed in several forms.

use super::source::{INPUT, blank};
use super::value::Value;
use super::{Reply, Session, html, show};
use crate::pictures::Picture;
use ravel_syntax::ReplInput;

/// A value in the forms that a notebook chooses from.
#[derive(Debug)]
pub struct Display {
    pub text: String,
    pub html: Option<String>,
    pub png: Option<Vec<u8>>,
}

/// Rank 2 and at least so large on both axes: a picture tells more than numbers.
const PICTURE_FROM: i64 = 16;

impl Session {
    /// Enters a whole text, and gives its parts' values to `display` instead of showing them. What did not become a value is in the reply, the first
    /// that failed or the last one.
    pub fn enter_cell(&mut self, text: &str, display: &mut dyn FnMut(Display)) -> Reply {
        if self.wants_more(text)
            && let Some((head, tail)) = self.split(text)
        {
            let first = self.enter_cell(&head, display);
            let Reply::Done { remarks: before, .. } = first else { return first };
            return match self.enter_cell(&tail, display) {
                Reply::Done { shown, remarks } => Reply::Done { shown, remarks: before + &remarks },
                other => other,
            };
        }
        self.taken = Some(Vec::new());
        let mut reply = self.enter(text, true);
        loop {
            let values = self.taken.replace(Vec::new()).unwrap_or_default();
            values.iter().for_each(|value| display(self.displayed(value)));
            if !matches!(reply, Reply::Done { .. }) {
                break;
            }
            match self.go_on() {
                Some(next) => reply = next,
                None => break,
            }
        }
        self.taken = None;
        reply
    }

    /// Two texts that are complete, where one line ends and another begins: behind a loop's `}` nothing else separates an expression. What
    /// stands in the second keeps its place.
    fn split(&mut self, text: &str) -> Option<(String, String)> {
        let ends: Vec<usize> = text.trim_end().match_indices('\n').map(|(at, _)| at).collect();
        ends.into_iter().rev().find_map(|at| {
            let (head, tail) = text.split_at(at);
            let is_split = head.trim_end().ends_with('}') && !tail.trim().is_empty();
            let tail = format!("{}{tail}", blank(head));
            (is_split && self.is_right(head) && self.is_right(&tail)).then(|| (head.to_string(), tail))
        })
    }

    fn is_right(&mut self, text: &str) -> bool {
        let scanned = self.scan(INPUT, text);
        let is_wrong = matches!(self.parse(&scanned, text).0, ReplInput::Invalid | ReplInput::Incomplete);
        !is_wrong || self.halves(&scanned, INPUT, text).is_some_and(|(_, _, is_complete)| is_complete)
    }

    /// The forms of a value.
    pub fn displayed(&self, value: &Value) -> Display {
        let shape = value.shape();
        let is_picture = shape.len() >= 2 && shape[..2].iter().all(|extent| *extent >= PICTURE_FROM);
        let picture = is_picture.then(|| Picture::from_value(value).ok()).flatten();
        Display {
            text: show::value(value, self.style()),
            html: html::table(value),
            png: picture.and_then(|picture| picture.png().ok()),
        }
    }

    /// Whether a text is complete; nothing if it cannot become a right one.
    pub fn is_whole(&mut self, text: &str) -> Option<bool> {
        let scanned = self.scan(INPUT, text);
        match self.parse(&scanned, text).0 {
            ReplInput::Invalid if scanned.has_errors() => None,
            _ => Some(!self.wants_more(text) || self.split(text).is_some()),
        }
    }
}
