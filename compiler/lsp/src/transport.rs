//! Messages over standard input and output, of a length that memory has room for.

use lsp_server::{Connection, Message};
use std::io::{self, BufRead, Read};
use std::thread::{self, JoinHandle};

/// Longer messages are refused; no editor sends a file of this size.
const LONGEST_MESSAGE: usize = 1 << 30;

/// The longest line of a header.
const LONGEST_LINE: u64 = 1 << 16;

/// The threads that read and write.
pub struct Threads {
    reader: JoinHandle<io::Result<()>>,
    writer: JoinHandle<io::Result<()>>,
}

impl Threads {
    /// Waits for the end of both.
    pub fn join(self) -> io::Result<()> {
        let ended = |thread: JoinHandle<io::Result<()>>| match thread.join() {
            Ok(outcome) => outcome,
            Err(_) => Err(io::Error::other("a thread has ended")),
        };
        ended(self.reader).and(ended(self.writer))
    }
}

/// A connection to the client at the other end of standard input and output.
#[expect(clippy::disallowed_methods, reason = "the protocol is spoken over standard input and output")]
pub fn connect() -> io::Result<(Connection, Threads)> {
    let (to_client, outgoing) = crossbeam_channel::bounded::<Message>(0);
    let (incoming, from_client) = crossbeam_channel::bounded::<Message>(0);
    let writer = thread::Builder::new().name("lsp-writer".to_string()).spawn(move || {
        let mut output = io::stdout().lock();
        outgoing.into_iter().try_for_each(|message| message.write(&mut output))
    })?;
    let reader = thread::Builder::new().name("lsp-reader".to_string()).spawn(move || {
        let mut input = io::stdin().lock();
        while let Some(message) = read(&mut input)? {
            let is_exit = matches!(&message, Message::Notification(note) if note.method == "exit");
            incoming.send(message).map_err(io::Error::other)?;
            if is_exit {
                break;
            }
        }
        Ok(())
    })?;
    Ok((Connection { sender: to_client, receiver: from_client }, Threads { reader, writer }))
}

/// The next message; its length is looked at before room is made for it.
fn read(input: &mut impl BufRead) -> io::Result<Option<Message>> {
    let invalid = |why: String| io::Error::new(io::ErrorKind::InvalidData, why);
    let mut header = String::new();
    loop {
        let from = header.len();
        if input.by_ref().take(LONGEST_LINE).read_line(&mut header)? == 0 {
            return Ok(None);
        }
        let line = header[from..].trim_end();
        if line.is_empty() || header.len() as u64 >= LONGEST_LINE {
            break;
        }
        let length = line.split_once(':').filter(|(name, _)| name.eq_ignore_ascii_case("Content-Length"));
        if let Some((_, length)) = length {
            let is_short = length.trim().parse().is_ok_and(|length: usize| length <= LONGEST_MESSAGE);
            if !is_short {
                return Err(invalid(format!("a message of {} bytes is refused", length.trim())));
            }
        }
    }
    Message::read(&mut header.as_bytes().chain(input))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_looked_at_first() {
        let body = r#"{"jsonrpc":"2.0","method":"exit"}"#;
        let text = format!("Content-Length: {}\r\n\r\n{body}", body.len());
        assert!(matches!(read(&mut text.as_bytes()), Ok(Some(Message::Notification(_)))));
        for length in ["99999999999999", "99999999999999999999999", "-1", "x"] {
            let text = format!("Content-Length: {length}\r\n\r\n{{}}");
            assert!(read(&mut text.as_bytes()).is_err(), "{length}");
        }
        assert!(matches!(read(&mut "".as_bytes()), Ok(None)));
    }
}
