//! The standard streams of ranks that `ravel run --ranks` has started.
//!
//! Launchers pass on what their processes print, and add words of their own. So `ravel` hands its own streams to the processes, through a socket whose
//! path is in a variable: what a program prints reaches the user unchanged, what the launcher says does not. The connection stays open as long as
//! the process lives. Before it ends, it says goodbye: whoever goes without that has been ended from outside.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use super::place;

/// The variable with the path of the socket.
const VARIABLE: &str = "RAVEL_RANKS_STREAMS";
/// The variable with the name that a program is to have.
pub const NAME: &str = "RAVEL_RANKS_NAME";
/// What a process says before it ends by itself.
const GOODBYE: u8 = b'.';
/// How long processes may live on after the launcher has ended.
const PATIENCE: Duration = Duration::from_secs(2);
const STEP: Duration = Duration::from_millis(10);
/// Standard input, output and error.
const STREAMS: usize = 3;

/// The name that the program is to have.
static PROGRAM: OnceLock<OsString> = OnceLock::new();
/// The connection of this process.
static CONNECTION: OnceLock<UnixStream> = OnceLock::new();

/// Takes the streams that `ravel run` offers, if it does. Only rank 0 gets its input.
pub(super) fn adopt() {
    let Some(path) = std::env::var_os(VARIABLE) else { return };
    // SAFETY: the program has not begun, and no other thread looks at the environment.
    unsafe { std::env::remove_var(VARIABLE) };
    if let Some(name) = std::env::var_os(NAME) {
        let _ = PROGRAM.set(name);
        // SAFETY: as above.
        unsafe { std::env::remove_var(NAME) };
    }
    // The launcher's streams will do.
    let Ok(connection) = ask(Path::new(&path)) else { return };
    let _ = CONNECTION.set(connection);
}

/// The name that `ravel run` gives the program, whatever the file is called.
pub(crate) fn program() -> Option<Vec<u8>> {
    PROGRAM.get().map(|name| name.as_bytes().to_vec())
}

fn ask(path: &Path) -> io::Result<UnixStream> {
    let rank = place().map_or(0, |place| place.rank);
    let mut connection = UnixStream::connect(path)?;
    let mut hello = [0; 12];
    hello[..8].copy_from_slice(&(rank as u64).to_le_bytes());
    hello[8..].copy_from_slice(&std::process::id().to_le_bytes());
    connection.write_all(&hello)?;
    let streams = receive(&connection)?;
    for (own, stream) in (0..).zip(streams) {
        // SAFETY: the descriptors have just come, and are this function's.
        unsafe {
            if own != libc::STDIN_FILENO || rank == 0 {
                libc::dup2(stream, own);
            }
            libc::close(stream);
        }
    }
    Ok(connection)
}

/// Says that this process ends by itself.
pub(super) fn say_goodbye() {
    if let Some(mut connection) = CONNECTION.get() {
        let _ = connection.write_all(&[GOODBYE]);
    }
}

/// Room for a message with [`STREAMS`] descriptors.
#[repr(C, align(8))]
struct Control([u8; 64]);

const DESCRIPTORS: u32 = (STREAMS * size_of::<RawFd>()) as u32;

/// A message of one byte with descriptors beside it.
fn message(part: &mut libc::iovec, control: &mut Control) -> libc::msghdr {
    // SAFETY: all zeros is a message with nothing in it.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = part;
    message.msg_iovlen = 1;
    message.msg_control = control.0.as_mut_ptr().cast();
    // SAFETY: only computes a size.
    message.msg_controllen = unsafe { libc::CMSG_SPACE(DESCRIPTORS) } as _;
    message
}

fn send(connection: &UnixStream, streams: [RawFd; STREAMS]) -> io::Result<()> {
    let (mut byte, mut control) = (0u8, Control([0; 64]));
    let mut part = libc::iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 };
    let message = message(&mut part, &mut control);
    // SAFETY: the message has room for one header with the descriptors, and all that it names lives during the call.
    let sent = unsafe {
        let header = libc::CMSG_FIRSTHDR(&message);
        (*header).cmsg_level = libc::SOL_SOCKET;
        (*header).cmsg_type = libc::SCM_RIGHTS;
        (*header).cmsg_len = libc::CMSG_LEN(DESCRIPTORS) as _;
        libc::CMSG_DATA(header).cast::<[RawFd; STREAMS]>().write_unaligned(streams);
        libc::sendmsg(connection.as_raw_fd(), &message, libc::MSG_NOSIGNAL)
    };
    if sent == 1 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn receive(connection: &UnixStream) -> io::Result<[RawFd; STREAMS]> {
    let (mut byte, mut control) = (0u8, Control([0; 64]));
    let mut part = libc::iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 };
    let mut message = message(&mut part, &mut control);
    // SAFETY: as in `send`; the header is looked at before what it holds.
    unsafe {
        if libc::recvmsg(connection.as_raw_fd(), &raw mut message, libc::MSG_CMSG_CLOEXEC) != 1 {
            return Err(io::Error::last_os_error());
        }
        let header = libc::CMSG_FIRSTHDR(&message);
        if header.is_null()
            || (*header).cmsg_type != libc::SCM_RIGHTS
            || (*header).cmsg_len < libc::CMSG_LEN(DESCRIPTORS) as _
        {
            return Err(io::ErrorKind::InvalidData.into());
        }
        Ok(libc::CMSG_DATA(header).cast::<[RawFd; STREAMS]>().read_unaligned())
    }
}

/// What became of the processes that have taken streams.
#[derive(Default, Debug)]
struct Seen {
    /// How many have come.
    joined: usize,
    /// Those that live.
    living: Vec<(usize, u32)>,
    /// Somebody has ended by itself.
    has_goodbye: bool,
    /// The first that has ended without a word, before anybody had said goodbye.
    lost: Option<usize>,
}

/// Offers the streams of this process to those that a launcher starts.
pub struct Lender {
    seen: Arc<Mutex<Seen>>,
}

fn lock(seen: &Mutex<Seen>) -> MutexGuard<'_, Seen> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Lender {
    /// Waits for so many processes at a socket, which is made in this folder; the variable that they find it by, and its value. When all have come,
    /// the folder goes: they run, and whatever ends this process leaves nothing behind.
    ///
    /// # Errors
    /// No socket can be made there.
    pub fn offer(folder: &Path, count: usize) -> io::Result<(Lender, &'static str, std::path::PathBuf)> {
        let path = folder.join("streams");
        let listener = UnixListener::bind(&path)?;
        let seen = Arc::new(Mutex::new(Seen::default()));
        let shared = seen.clone();
        let input = input()?;
        let folder = folder.to_path_buf();
        std::thread::Builder::new().spawn(move || {
            for connection in listener.incoming().flatten() {
                let (shared, folder) = (shared.clone(), folder.clone());
                let served = move |joined| {
                    if joined == count {
                        drop(std::fs::remove_dir_all(&folder));
                    }
                };
                // A process that nobody answers takes the launcher's streams.
                let _ = std::thread::Builder::new().spawn(move || serve(connection, input, &shared, served));
            }
        })?;
        Ok((Lender { seen }, VARIABLE, path))
    }

    /// How many processes have come.
    pub fn joined(&self) -> usize {
        lock(&self.seen).joined
    }

    /// The rank that was the first to end, if something from outside has ended it.
    pub fn lost(&self) -> Option<usize> {
        lock(&self.seen).lost
    }

    /// Ends those that live on after the launcher has ended, which is the launcher's work.
    pub fn end_all(&self) {
        let begin = Instant::now();
        while begin.elapsed() < PATIENCE {
            if lock(&self.seen).living.is_empty() {
                return;
            }
            std::thread::sleep(STEP);
        }
        for (_, process) in &lock(&self.seen).living {
            // SAFETY: the process lives, because its end of the connection is open.
            unsafe { libc::kill(*process as libc::pid_t, libc::SIGKILL) };
        }
    }
}

/// The descriptor of the input for rank 0. A terminal is for processes in its foreground, where launchers do not put theirs: what it says is passed on.
fn input() -> io::Result<RawFd> {
    // SAFETY: only asks.
    if unsafe { libc::isatty(libc::STDIN_FILENO) } == 0 {
        return Ok(libc::STDIN_FILENO);
    }
    let (reader, mut writer) = io::pipe()?;
    std::thread::Builder::new().spawn(move || io::copy(&mut io::stdin(), &mut writer))?;
    // It is open as long as this process lives.
    Ok(std::os::fd::IntoRawFd::into_raw_fd(reader))
}

/// Gives a process the streams and waits for its end; `served` is told how many have them.
fn serve(mut connection: UnixStream, input: RawFd, seen: &Mutex<Seen>, served: impl FnOnce(usize)) {
    let mut hello = [0; 12];
    if connection.read_exact(&mut hello).is_err() {
        return;
    }
    let (rank, process) = hello.split_at(8);
    let rank = rank.iter().rev().fold(0, |sum, byte| sum << 8 | usize::from(*byte));
    let process = process.iter().rev().fold(0, |sum, byte| sum << 8 | u32::from(*byte));
    let mut byte = [0];
    let sent = send(&connection, [input, libc::STDOUT_FILENO, libc::STDERR_FILENO]);
    let joined = {
        let mut seen = lock(seen);
        seen.joined += 1;
        seen.living.push((rank, process));
        seen.joined
    };
    served(joined);
    let said = sent.is_ok() && connection.read(&mut byte).is_ok_and(|count| count == 1);
    {
        let mut seen = lock(seen);
        if said {
            seen.has_goodbye = true;
        } else if !seen.has_goodbye && seen.lost.is_none() {
            seen.lost = Some(rank);
        }
    }
    // Until the process is gone.
    let _ = connection.read(&mut byte);
    lock(seen).living.retain(|(_, other)| *other != process);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Seek;
    use std::os::fd::FromRawFd;

    #[test]
    fn descriptors_travel() {
        let (here, there) = UnixStream::pair().expect("sockets exist");
        let path = std::env::temp_dir().join(format!("ravel-streams-{}", std::process::id()));
        let mut file = std::fs::File::create_new(&path).expect("the temporary folder is writable");
        file.write_all(b"text").expect("writable");
        send(&here, [file.as_raw_fd(); STREAMS]).expect("the other end is open");
        let received = receive(&there).expect("it was sent");
        for stream in received {
            // SAFETY: the descriptor has just come.
            let mut copy = unsafe { std::fs::File::from_raw_fd(stream) };
            assert_eq!(copy.stream_position().ok(), Some(4));
        }
        let _ = std::fs::remove_file(path);
    }

    #[test]
    fn who_goes_without_a_word_is_known() {
        let seen = Mutex::new(Seen::default());
        let visit = |rank: u8, word: &[u8]| {
            let (here, mut there) = UnixStream::pair().expect("sockets exist");
            there.write_all(&[rank, 0, 0, 0, 0, 0, 0, 0, 1, 2, 0, 0]).expect("open");
            there.write_all(word).expect("open");
            there.shutdown(std::net::Shutdown::Write).expect("open");
            serve(here, libc::STDIN_FILENO, &seen, |_| ());
        };
        let found = || {
            let seen = lock(&seen);
            (seen.joined, seen.living.len(), seen.has_goodbye, seen.lost)
        };
        visit(3, b"");
        assert_eq!(found(), (1, 0, false, Some(3)));
        visit(2, b".");
        assert_eq!(found(), (2, 0, true, Some(3)));
    }
}
