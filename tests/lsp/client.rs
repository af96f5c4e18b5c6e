//! A client of the language server that says what it is told to.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use ravel_tests::{Failed, ravel};
use serde_json::{Value, json};

/// Nothing that is waited for takes so long.
pub const PATIENCE: Duration = Duration::from_secs(60);

pub struct Client {
    server: Child,
    pub input: Option<ChildStdin>,
    messages: Receiver<Value>,
    next: u64,
    /// What the server says that it can do.
    pub offers: Value,
    /// What it said of its own accord while something was asked.
    pub heard: Vec<Value>,
    /// Where the server puts copies of library files.
    _cache: tempfile::TempDir,
}

impl Client {
    /// Starts the server; `encodings` is what the client offers.
    pub fn start(encodings: Value) -> Result<Client, Failed> {
        Client::start_with(json!({ "capabilities": { "general": { "positionEncodings": encodings } } }))
    }

    /// The same with more to say at the beginning.
    pub fn start_with(parameters: Value) -> Result<Client, Failed> {
        let mut command = Command::new(ravel());
        let cache = tempfile::tempdir()?;
        command.env("XDG_CACHE_HOME", cache.path());
        command.arg("lsp").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut server = command.spawn()?;
        let input = server.stdin.take();
        let mut output = BufReader::new(server.stdout.take().ok_or("no output")?);
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            while let Some(message) = read(&mut output) {
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        let mut client =
            Client { server, input, messages, next: 0, offers: Value::Null, heard: Vec::new(), _cache: cache };
        let mut asked = parameters;
        asked["processId"] = Value::Null;
        let answer = client.ask("initialize", asked)?;
        client.offers = answer["result"]["capabilities"].clone();
        if answer["result"]["serverInfo"]["name"] != "ravel" {
            return Err(answer.to_string().into());
        }
        client.tell("initialized", json!({}))?;
        Ok(client)
    }

    pub fn write(&mut self, message: &Value) -> Result<(), Failed> {
        let text = message.to_string();
        let input = self.input.as_mut().ok_or("closed")?;
        write!(input, "Content-Length: {}\r\n\r\n{text}", text.len())?;
        input.flush()?;
        Ok(())
    }

    pub fn tell(&mut self, method: &str, params: Value) -> Result<(), Failed> {
        self.write(&json!({ "jsonrpc": "2.0", "method": method, "params": params }))
    }

    pub fn ask(&mut self, method: &str, params: Value) -> Result<Value, Failed> {
        self.next += 1;
        let id = self.next;
        self.write(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
        loop {
            let message = self.messages.recv_timeout(PATIENCE)?;
            if message["id"] == id {
                return Ok(message);
            }
            self.heard.push(message);
        }
    }

    pub fn open(&mut self, uri: &str, text: &str) -> Result<(), Failed> {
        let document = json!({ "uri": uri, "languageId": "sac", "version": 1, "text": text });
        self.tell("textDocument/didOpen", json!({ "textDocument": document }))
    }

    /// The next reports about a file.
    pub fn reports(&mut self, uri: &str) -> Result<Vec<Value>, Failed> {
        loop {
            let message = self.messages.recv_timeout(PATIENCE)?;
            if message["method"] == "textDocument/publishDiagnostics" && message["params"]["uri"] == uri {
                return Ok(message["params"]["diagnostics"].as_array().cloned().unwrap_or_default());
            }
        }
    }

    /// Waits until something is known of a file.
    pub fn known(&mut self, uri: &str) -> Result<(), Failed> {
        for _ in 0..1000 {
            let answer = self.ask("textDocument/documentSymbol", json!({ "textDocument": { "uri": uri } }))?;
            if !answer["result"].is_null() {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Err(format!("nothing is known of {uri}").into())
    }

    /// Says goodbye; the exit status.
    pub fn leave(mut self) -> Result<i32, Failed> {
        self.ask("shutdown", Value::Null)?;
        self.tell("exit", Value::Null)?;
        self.wait()
    }

    pub fn wait(&mut self) -> Result<i32, Failed> {
        for _ in 0..1000 {
            if let Some(status) = self.server.try_wait()? {
                return Ok(status.code().unwrap_or(-1));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Err("the server does not end".into())
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// One message of the protocol.
fn read(input: &mut impl BufRead) -> Option<Value> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if input.read_line(&mut line).ok()? == 0 {
            return None;
        }
        match line.trim_end() {
            "" => break,
            head => length = head.strip_prefix("Content-Length: ").map_or(Some(length), |n| n.parse().ok())?,
        }
    }
    let mut bytes = vec![0; length];
    input.read_exact(&mut bytes).ok()?;
    serde_json::from_slice(&bytes).ok()
}
