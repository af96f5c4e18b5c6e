//! Other processes of Ravel on behalf of the editor: each has a limit on its time, its memory and what it may write, and ends with the server.

use crossbeam_channel::{Receiver, Sender, unbounded};
use lsp_server::RequestId;
use ravel_driver::limited::{Limits, Order, Outcome, run};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// Processes at one time.
const MOST_RUNNING: usize = 4;

/// What came of a request.
pub struct Done<J> {
    pub id: RequestId,
    pub job: J,
    pub outcome: Outcome,
}

struct Running {
    id: RequestId,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

/// All that runs; `J` says what for.
pub struct Runs<J> {
    done: Sender<Done<J>>,
    pub finished: Receiver<Done<J>>,
    running: Vec<Running>,
}

impl<J: Send + 'static> Runs<J> {
    pub fn new() -> Runs<J> {
        let (done, finished) = unbounded();
        Runs { done, finished, running: Vec::new() }
    }

    /// Starts a process.
    ///
    /// # Errors
    /// There are too many, or no thread is left.
    pub fn start(&mut self, id: RequestId, job: J, order: Order, limits: Limits) -> Result<(), String> {
        self.running.retain(|one| !one.thread.is_finished());
        if self.running.len() >= MOST_RUNNING {
            return Err("wait until what runs already has ended".to_string());
        }
        let (stop, done) = (Arc::new(AtomicBool::new(false)), self.done.clone());
        let (told, of) = (stop.clone(), id.clone());
        let work = move || {
            let outcome = run(order, limits, &told);
            // Nobody waits for it where the server ends.
            let _ = done.send(Done { id: of, job, outcome });
        };
        let thread = std::thread::Builder::new().name("ravel-run".to_string()).spawn(work);
        let thread = thread.map_err(|error| format!("cannot start a thread: {error}"))?;
        self.running.push(Running { id, stop, thread });
        Ok(())
    }

    /// Ends what a request has started, if it still runs.
    pub fn cancel(&self, id: &RequestId) {
        self.running.iter().filter(|one| one.id == *id).for_each(|one| one.stop.store(true, Ordering::SeqCst));
    }
}

impl<J> Drop for Runs<J> {
    fn drop(&mut self) {
        self.running.iter().for_each(|one| one.stop.store(true, Ordering::SeqCst));
        for one in self.running.drain(..) {
            // A thread that has panicked has nothing more to end.
            let _ = one.thread.join();
        }
    }
}
