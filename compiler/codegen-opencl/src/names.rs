//! Names in kernels: letters for indices and arrays, numbered names for the rest.

use ravel_types::HashSet;

/// Hands out C names, each once per kernel.
#[derive(Default)]
pub(crate) struct Names {
    taken: HashSet<String>,
    temporaries: usize,
}

const INDICES: [&str; 9] = ["i", "j", "k", "l", "m", "n", "p", "q", "r"];
const ARRAYS: [&str; 8] = ["a", "b", "c", "d", "e", "f", "g", "h"];

impl Names {
    fn first_free<'n>(&mut self, wanted: impl Iterator<Item = &'n str>, stem: &str) -> String {
        let plain = wanted.map(str::to_string);
        let numbered = (1..).map(|n| format!("{stem}{n}"));
        let name = plain.chain(numbered).find(|name| !self.taken.contains(name)).expect("numbers never end");
        self.taken.insert(name.clone());
        name
    }

    /// An index of the grid or of a loop.
    pub fn index(&mut self) -> String {
        self.first_free(INDICES.into_iter(), "i")
    }

    /// A buffer.
    pub fn array(&mut self) -> String {
        self.first_free(ARRAYS.into_iter(), "a")
    }

    /// A carried value of a loop.
    pub fn carried(&mut self) -> String {
        self.first_free(["acc"].into_iter(), "acc")
    }

    /// A scalar argument.
    pub fn scalar(&mut self) -> String {
        self.first_free(["s"].into_iter(), "s")
    }

    /// Anything else.
    pub fn temporary(&mut self) -> String {
        self.temporaries += 1;
        format!("t{}", self.temporaries)
    }

    /// Gives an index or carried name back when its loop ends.
    pub fn release(&mut self, name: &str) {
        self.taken.remove(name);
    }
}
