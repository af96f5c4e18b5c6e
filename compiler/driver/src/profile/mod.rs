//! `ravel run --profile`: what a run spent its time on, by line of the source.
//!
//! The runtime counts by site and knows no source; here sites get names, and the profile one of four forms: a table for people (`table`), events
//! for a time line, stacks for flame graphs, and the source with a margin (`files`).

mod files;
mod peaks;
mod table;

use crate::pipeline::Compilation;
use ravel_runtime::outputs;
use ravel_runtime::profile::{Profile, watch};
use ravel_schedule::Numbers;
use std::io::Write;
use std::path::{Path, PathBuf};

pub use peaks::Peaks;

/// A site with its place in the source.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub file: String,
    pub line: usize,
    pub function: String,
    pub is_loop: bool,
    pub numbers: Numbers,
    pub guessed: bool,
}

impl Place {
    /// `conv.sac:21`.
    pub fn at(&self) -> String {
        format!("{}:{}", self.file, self.line)
    }
}

/// The form of a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Table,
    /// Chrome trace events.
    Json,
    /// One stack a line, with its time.
    Folded,
    /// The source with a margin.
    Html,
}

impl Form {
    /// The form that a file name asks for; nothing if it asks for none.
    pub fn of(path: &Path) -> Option<Form> {
        match path.extension()?.to_str()? {
            "json" => Some(Form::Json),
            "folded" => Some(Form::Folded),
            "html" => Some(Form::Html),
            "txt" => Some(Form::Table),
            _ => None,
        }
    }
}

impl Compilation {
    fn places(&self) -> Vec<Place> {
        let Ok(sites) = self.sites.lock() else { return Vec::new() };
        let place = |site: &ravel_schedule::Site| {
            let described = self.map.describe(site.span);
            let mut parts = described.rsplitn(3, ':');
            let line = parts.nth(1).and_then(|line| line.parse().ok()).unwrap_or(0);
            let file = parts.next().unwrap_or(&described).to_string();
            let function = self.functions.head(site.span).map_or(site.function.clone(), |(_, name)| name.to_string());
            Place { file, line, function, is_loop: site.is_loop, numbers: site.numbers, guessed: site.guessed }
        };
        sites.iter().map(place).collect()
    }

    /// Records the program that runs next. What is found goes to standard error as a table, or to `file`.
    pub fn watch_profile(&self, file: Option<PathBuf>) {
        let places = self.places();
        let form = file.as_deref().and_then(Form::of).unwrap_or(Form::Table);
        let names: Vec<String> = self.map.files().map(|(_, file)| file.name.clone()).collect();
        let texts: Vec<_> = self.map.files().map(|(_, file)| file.text.clone()).collect();
        let sources: Vec<(String, _)> = names.into_iter().zip(texts).collect();
        let at_end = move |profile: Profile| {
            let text = match form {
                Form::Table => table::render(&profile, &places, &Peaks::of_machine(profile.threads)),
                Form::Json => files::json(&profile, &places),
                Form::Folded => files::folded(&profile, &places),
                Form::Html => files::html(&profile, &places, &sources),
            };
            let mut error = std::io::stderr();
            let said = match &file {
                None => error.write_all(text.as_bytes()),
                Some(path) => match outputs::write(path, text.as_bytes()) {
                    Ok(()) => Ok(()),
                    Err(why) => writeln!(error, "ravel: cannot write {}: {why}", path.display()),
                },
            };
            // Where nobody listens there is nobody to tell.
            let _ = said;
        };
        watch(form == Form::Json, Box::new(at_end));
    }
}
