//! Modules: texts whose functions are called.

use crate::{Array, Error, View};
use ravel_driver::repl::host::{Answer, Given, Host, Request};
use std::path::Path;
use std::sync::{Arc, Weak};

/// A SaC text whose functions can be called. Modules that it uses are searched in the library, in the folders of `RAVEL_PATH`, and, for
/// [`Module::from_file`], beside the file.
///
/// A function gets an instance, machine code of its own, for each combination of element types and shapes; from the ninth on, shapes of
/// a rank share one. Code stays until the process ends.
pub struct Module(Arc<Host>);

/// Ends the calls of a module from another thread.
#[derive(Clone)]
pub struct Interrupter(Weak<Host>);

impl Interrupter {
    /// Ends the call that runs now, with [`Error::Interrupted`]; false if none does. The module and its objects stay as they are.
    pub fn interrupt(&self) -> bool {
        self.0.upgrade().is_some_and(|host| host.interrupt())
    }
}

impl Module {
    /// Takes in definitions.
    ///
    /// # Errors
    /// [`Error::Source`]: what is wrong with the text.
    pub fn new(text: &str) -> Result<Module, Error> {
        let module = Module::start()?;
        module.define("<module>", text)?;
        Ok(module)
    }

    /// Takes in the definitions of a file.
    ///
    /// # Errors
    /// As [`Module::new`], also for a file that cannot be read.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Module, Error> {
        let module = Module::start()?;
        module.ask(Request::Load(path.as_ref().to_path_buf()))?;
        Ok(module)
    }

    fn start() -> Result<Module, Error> {
        Host::start_inside().map(|host| Module(Arc::new(host))).map_err(Error::Internal)
    }

    fn ask(&self, request: Request) -> Result<Answer, Error> {
        // The answer is waited for in any case: arguments are lent until then.
        self.0.ask(request)?.finish().map_err(Error::from)
    }

    /// Adds definitions. `name` is what messages call the text; they take the place of what was defined under this name before.
    ///
    /// # Errors
    /// [`Error::Source`]; then nothing of the text is defined, and all is as it was.
    pub fn define(&self, name: &str, text: &str) -> Result<(), Error> {
        self.ask(Request::Define { name: name.to_string(), text: text.to_string() }).map(drop)
    }

    /// Calls a function that has one result. Functions of other modules go by their full names, `Array::sum`.
    ///
    /// # Errors
    /// Any [`Error`].
    pub fn call(&self, function: &str, arguments: &[View<'_>]) -> Result<Array, Error> {
        let results = self.call_all(function, arguments)?;
        let n = results.len();
        let [result] = <[Array; 1]>::try_from(results).map_err(|_| {
            Error::Argument(format!(
                "`{function}` has {n} results, and `call` is for functions with one: `call_all` gives all"
            ))
        })?;
        Ok(result)
    }

    /// Calls a function with any number of results.
    ///
    /// ```
    /// let m = ravel::Module::new("int, int divided(int a, int b) { return (a / b, a % b); }")?;
    /// let results = m.call_all("divided", &[17.into(), 5.into()])?;
    /// let numbers: Vec<Option<i32>> = results.iter().map(|result| result.scalar()).collect();
    /// assert_eq!(numbers, [Some(3), Some(2)]);
    /// # Ok::<(), ravel::Error>(())
    /// ```
    ///
    /// # Errors
    /// Any [`Error`].
    pub fn call_all(&self, function: &str, arguments: &[View<'_>]) -> Result<Vec<Array>, Error> {
        let arguments = given(arguments)?;
        // As in `ask`.
        match self.0.call(function, arguments)?.finish()? {
            Answer::Values(values) => {
                let results: Option<Vec<Array>> = values.into_iter().map(Array::result).collect();
                results.ok_or_else(|| Error::Argument(format!("a result of `{function}` has no form outside of SaC")))
            }
            Answer::Done | Answer::Text(_) => Ok(Vec::new()),
        }
    }

    /// What becomes of the with-loops of a call: which are merged, vectorised, and run on several threads.
    ///
    /// # Errors
    /// As [`Module::call`], but nothing runs.
    pub fn explain(&self, function: &str, arguments: &[View<'_>]) -> Result<String, Error> {
        let arguments = given(arguments)?;
        self.ask(Request::Explain { function: function.to_string(), arguments }).map(text_of)
    }

    /// The names of the functions that were defined, sorted.
    ///
    /// # Errors
    /// [`Error::Internal`].
    pub fn functions(&self) -> Result<Vec<String>, Error> {
        self.ask(Request::Functions).map(|answer| text_of(answer).lines().map(str::to_string).collect())
    }

    /// The compiled instances of a function, such as `conv(float[28,28], float[5,5]) -> float[24,24]`.
    pub fn instances(&self, function: &str) -> Vec<String> {
        self.0.signatures(function)
    }

    /// What ends calls from another thread.
    ///
    /// ```
    /// let m = ravel::Module::new("int endless(int n) { while (n > 0) { n = n % 7 + 1; } return n; }")?;
    /// let interrupter = m.interrupter();
    /// let watcher = std::thread::spawn(move || {
    ///     while !interrupter.interrupt() {
    ///         std::thread::sleep(std::time::Duration::from_millis(10));
    ///     }
    /// });
    /// let outcome = m.call("endless", &[1.into()]);
    /// assert!(matches!(outcome, Err(ravel::Error::Interrupted)));
    /// # watcher.join().expect("it does not panic");
    /// # Ok::<(), ravel::Error>(())
    /// ```
    pub fn interrupter(&self) -> Interrupter {
        Interrupter(Arc::downgrade(&self.0))
    }
}

fn given(arguments: &[View<'_>]) -> Result<Vec<Given>, Error> {
    arguments.iter().map(View::given).collect()
}

fn text_of(answer: Answer) -> String {
    match answer {
        Answer::Text(text) => text,
        Answer::Done | Answer::Values(_) => String::new(),
    }
}

/// How many threads a with-loop uses, in all modules; otherwise `RAVEL_THREADS` says it, or the machine has as many.
pub fn set_threads(threads: usize) {
    ravel_runtime::pool::set_threads(threads.max(1));
}
