//! `:show` and `:plot`: values as pictures, at the prompt or in files.

use super::input::single_call;
use super::source::INPUT;
use super::value::Value;
use super::{Refusal, Reply, Session, reply};
use crate::outputs::Inputs;
use crate::pictures::{Picture, Plot, Terminal};
use ravel_syntax::ReplInput;
use std::path::{Path, PathBuf};

/// Kinds of pictures that somebody could ask for.
const KINDS: &[&str] = &["png", "svg", "jpg", "jpeg", "gif", "bmp", "ppm", "pgm", "webp", "tif", "tiff", "pdf", "eps"];

/// What a command draws, and where it goes.
#[derive(Debug, PartialEq, Eq)]
struct Request<'a> {
    expression: &'a str,
    file: Option<PathBuf>,
}

impl Request<'_> {
    /// Takes `EXPR > FILE` apart. What stands behind the last `>` is a file if its name ends as those of pictures do.
    fn of(text: &str) -> Request<'_> {
        let whole = Request { expression: text, file: None };
        let Some((expression, file)) = text.rsplit_once('>') else {
            return whole;
        };
        let file = file.trim();
        let unquoted = file.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(file);
        match kind(Path::new(unquoted)) {
            Some(kind) if KINDS.contains(&kind.as_str()) => {
                Request { expression: expression.trim(), file: Some(PathBuf::from(unquoted)) }
            }
            _ => whole,
        }
    }
}

/// What the name says of the content.
fn kind(file: &Path) -> Option<String> {
    Some(file.extension()?.to_str()?.to_ascii_lowercase())
}

impl Session {
    /// The value of an expression, which becomes the last value but is not shown.
    ///
    /// # Errors
    /// What a prompt answers instead.
    pub fn value_of(&mut self, text: &str) -> Result<Value, Reply> {
        let scanned = self.scan(INPUT, text);
        let (input, reports) = self.parse(&scanned, text);
        let is_call = single_call(&input);
        if scanned.has_errors() || !is_call && !matches!(input, ReplInput::Expression(_)) {
            return Err(reply(Err(match self.refusal(&scanned, &reports) {
                Refusal::Wrong(text) if text.is_empty() => Refusal::Wrong("this is not an expression\n".to_string()),
                other => other,
            })));
        }
        self.taken = Some(Vec::new());
        let outcome = self.evaluate(INPUT, text, &scanned.tokens, is_call);
        self.journal.refuse();
        let mut values = self.taken.take().unwrap_or_default();
        match (outcome, values.pop()) {
            (Err(refusal), _) => Err(reply(Err(refusal))),
            (Ok(_), Some(value)) if values.is_empty() => Ok(value),
            (Ok(_), None) => Err(Reply::Failed("this has no value\n".to_string())),
            (Ok(_), Some(_)) => Err(Reply::Failed("this has several values: choose one\n".to_string())),
        }
    }

    /// Shows an array as a picture, or writes it: `EXPR` or `EXPR > FILE.png`.
    pub fn show(&mut self, text: &str, terminal: &Terminal) -> Reply {
        self.draw(text, &["png"], |value, _, kind| {
            let picture = Picture::from_value(value)?;
            match kind {
                Some(_) => Ok((picture.png()?, picture.caption())),
                None => Ok((picture.terminal(terminal)?.into_bytes(), String::new())),
            }
        })
    }

    /// Plots vectors as lines, or writes the plot: `EXPR`, `EXPR > FILE.svg` or `EXPR > FILE.png`.
    pub fn plot(&mut self, text: &str, terminal: &Terminal) -> Reply {
        self.draw(text, &["svg", "png"], |value, expression, kind| {
            let plot = Plot::from_value(value)?.titled(expression);
            let drawn = match kind {
                Some("svg") => plot.svg()?.into_bytes(),
                Some(_) => plot.png()?,
                None => plot.terminal(terminal).into_bytes(),
            };
            Ok((drawn, "written".to_string()))
        })
    }

    /// Evaluates what is asked for and draws it by a function of the value, its expression and the kind of the file, if there is one. That
    /// gives what is shown or written, and what is said of a file.
    fn draw(
        &mut self,
        text: &str,
        kinds: &[&str],
        draw: impl FnOnce(&Value, &str, Option<&str>) -> Result<(Vec<u8>, String), String>,
    ) -> Reply {
        let request = Request::of(text);
        let kind = request.file.as_deref().and_then(kind);
        // A file that cannot be written is refused before anything is computed for it.
        if let (Some(file), Some(kind)) = (&request.file, &kind) {
            if !kinds.contains(&kind.as_str()) {
                let kinds: Vec<String> = kinds.iter().map(|kind| format!(".{kind}")).collect();
                let shown = file.display();
                return Reply::Failed(format!(
                    "cannot write {shown}: its name should end with {}\n",
                    kinds.join(" or ")
                ));
            }
            if let Err(why) = self.files().check(file) {
                return Reply::Failed(format!("{why}\n"));
            }
        }
        let value = match self.value_of(request.expression) {
            Ok(value) => value,
            Err(reply) => return reply,
        };
        let (drawn, about) = match draw(&value, request.expression, kind.as_deref()) {
            Ok(drawn) => drawn,
            Err(why) => return Reply::Failed(format!("{why}\n")),
        };
        let shown = match &request.file {
            None => String::from_utf8_lossy(&drawn).trim_end_matches('\n').to_string(),
            Some(file) => match self.files().write(file, &drawn) {
                Ok(()) => format!("{}: {about}", file.display()),
                Err(why) => return Reply::Failed(format!("{why}\n")),
            },
        };
        Reply::Done { shown, remarks: String::new() }
    }

    /// Files that the session has read.
    fn files(&self) -> Inputs {
        let mut inputs = Inputs::of_process();
        for chunk in self.chunks.iter() {
            inputs.add(Path::new(&chunk.name), "it was loaded into this session");
        }
        inputs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_told_from_comparisons() {
        let of = |text: &'static str| {
            let request = Request::of(text);
            (request.expression, request.file.map(|file| file.display().to_string()))
        };
        assert_eq!(of("a > b"), ("a > b", None));
        assert_eq!(of("a > 0.5"), ("a > 0.5", None));
        assert_eq!(of("a > 0.5 > half.png"), ("a > 0.5", Some("half.png".to_string())));
        assert_eq!(of("a>b.PNG"), ("a", Some("b.PNG".to_string())));
        assert_eq!(of("a > \"with blanks.svg\""), ("a", Some("with blanks.svg".to_string())));
        assert_eq!(of("a > x.jpeg"), ("a", Some("x.jpeg".to_string())));
        assert_eq!(of("a > record.field"), ("a > record.field", None));
        assert_eq!(of("a >= b"), ("a >= b", None));
        assert_eq!(of("> a.png"), ("", Some("a.png".to_string())));
    }
}
