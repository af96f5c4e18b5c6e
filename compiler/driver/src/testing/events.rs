//! What a child tells its parent: lines of JSON in a file, each written as a whole.
//!
//! A file and not a pipe, since tests own the standard streams, and a child that dies must not take with it what it has said.

use super::Kind;
use serde_json::{Value, json};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

/// The file of events, and the one that takes what tests write, in a folder of the parent.
pub const EVENTS: &str = "events";
pub const OUTPUT: &str = "output";

/// Something that happened in the child.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// The file has this test.
    Test { at: usize, name: String, kind: Kind, line: usize },
    /// It begins; so many bytes had been written before.
    Begin { at: usize, output: u64 },
    /// It goes on with the arguments that this seed gives.
    Case { seed: u64 },
    /// It gets on: its time begins anew.
    Alive,
    /// What a benchmark found out.
    Measured { result: Value },
    /// It has ended.
    End { at: usize, passed: bool, seconds: f64, message: String, output: u64 },
    /// The file cannot be run.
    Broken { message: String },
    /// All tests have ended.
    Done,
}

const KINDS: [Kind; 4] = [Kind::Unit, Kind::Property, Kind::Fails, Kind::Bench];

impl Event {
    fn line(&self) -> String {
        let value = match self {
            Event::Test { at, name, kind, line } => {
                json!({ "is": "test", "at": at, "name": name, "kind": kind.name(), "line": line })
            }
            Event::Begin { at, output } => json!({ "is": "begin", "at": at, "output": output }),
            Event::Case { seed } => json!({ "is": "case", "seed": seed }),
            Event::Alive => json!({ "is": "alive" }),
            Event::Measured { result } => json!({ "is": "measured", "result": result }),
            Event::End { at, passed, seconds, message, output } => json!({
                "is": "end", "at": at, "passed": passed, "seconds": seconds, "message": message, "output": output
            }),
            Event::Broken { message } => json!({ "is": "broken", "message": message }),
            Event::Done => json!({ "is": "done" }),
        };
        format!("{value}\n")
    }

    fn parse(line: &str) -> Option<Event> {
        let value: Value = serde_json::from_str(line).ok()?;
        let number = |key: &str| value[key].as_u64();
        let at = || number("at").and_then(|at| usize::try_from(at).ok());
        let text = |key: &str| value[key].as_str().map(str::to_string);
        Some(match value["is"].as_str()? {
            "test" => Event::Test {
                at: at()?,
                name: text("name")?,
                kind: KINDS.into_iter().find(|kind| value["kind"] == kind.name())?,
                line: usize::try_from(number("line")?).ok()?,
            },
            "begin" => Event::Begin { at: at()?, output: number("output")? },
            "alive" => Event::Alive,
            "measured" => Event::Measured { result: value["result"].clone() },
            "case" => Event::Case { seed: number("seed")? },
            "end" => Event::End {
                at: at()?,
                passed: value["passed"].as_bool()?,
                seconds: value["seconds"].as_f64()?,
                message: text("message")?,
                output: number("output")?,
            },
            "broken" => Event::Broken { message: text("message")? },
            "done" => Event::Done,
            _ => return None,
        })
    }
}

/// The child's end.
pub struct Writer(File);

impl Writer {
    /// # Errors
    /// The folder is gone.
    pub fn open(folder: &Path) -> io::Result<Writer> {
        OpenOptions::new().append(true).create(true).open(folder.join(EVENTS)).map(Writer)
    }

    /// # Errors
    /// The file cannot be written.
    pub fn tell(&mut self, event: &Event) -> io::Result<()> {
        self.0.write_all(event.line().as_bytes())
    }
}

/// How much functions have written so far.
pub fn written(folder: &Path) -> u64 {
    std::fs::metadata(folder.join(OUTPUT)).map_or(0, |file| file.len())
}

/// The parent's end.
#[derive(Default)]
pub struct Reader {
    read: u64,
    /// The beginning of a line whose end is not there yet.
    rest: Vec<u8>,
}

impl Reader {
    /// What happened since the last call.
    pub fn news(&mut self, folder: &Path) -> Vec<Event> {
        let mut new = Vec::new();
        let read = File::open(folder.join(EVENTS)).and_then(|mut file| {
            file.seek(SeekFrom::Start(self.read))?;
            file.read_to_end(&mut new)
        });
        self.read += read.unwrap_or(0) as u64;
        self.rest.append(&mut new);
        let Some(end) = self.rest.iter().rposition(|byte| *byte == b'\n') else { return Vec::new() };
        let whole: Vec<u8> = self.rest.drain(..=end).collect();
        String::from_utf8_lossy(&whole).lines().filter_map(Event::parse).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_arrive_as_they_were_told() {
        let folder = tempfile::tempdir().expect("a folder");
        let events = [
            Event::Test { at: 0, name: "test_a".to_string(), kind: Kind::Unit, line: 3 },
            Event::Begin { at: 0, output: 5 },
            Event::Case { seed: u64::MAX },
            Event::Alive,
            Event::Measured { result: json!({ "samples": [0.5] }) },
            Event::End { at: 0, passed: false, seconds: 0.5, message: "a\n\"b\"\u{1}".to_string(), output: 7 },
            Event::Broken { message: String::new() },
            Event::Done,
        ];
        let mut reader = Reader::default();
        assert_eq!(reader.news(folder.path()), []);
        let mut writer = Writer::open(folder.path()).expect("opened");
        for event in &events {
            writer.tell(event).expect("written");
            assert_eq!(reader.news(folder.path()), std::slice::from_ref(event));
        }
        writer.0.write_all(b"{\"is\":\"do").expect("written");
        assert_eq!(reader.news(folder.path()), []);
        writer.0.write_all(b"ne\"}\nnonsense\n").expect("written");
        assert_eq!(reader.news(folder.path()), [Event::Done]);
    }
}
