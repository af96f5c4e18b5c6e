//! `ravel check`: reports about programs, modules and folders, in several forms, and fixes.

use crate::args::Check;
use crate::project::{self, access, enter};
use crate::rewrite::rewrite;
use crate::watch::{note, note_files};
use crate::{
    STANDARD_INPUT, can_explain, compilation, emit, explain, print, print_stats, program_file, use_color, warnings,
};
use ravel_diagnostics::{Diagnostic, Format, Levels, render_all};
use ravel_driver::fix::{Fixed, Mended, fix};
use ravel_driver::project::{Projects, vendor::MARK};
use ravel_driver::{Compilation, Failure};
use ravel_format::unified;
use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};

pub fn run(check: &Check) -> i32 {
    let format = check.format.unwrap_or_default();
    let here = [PathBuf::from(".")];
    let for_programs = !matches!(format, Format::Human | Format::Short);
    if check.watch {
        return crate::watch::run(if check.files.is_empty() { &here } else { &check.files });
    }
    let named = match roots(check) {
        Ok(files) => files,
        Err(status) => return status,
    };
    let files = match sources(&named) {
        Ok(files) => files,
        Err(why) => {
            say!("ravel: {why}");
            return 1;
        }
    };
    if check.source.explain.is_some() && files.len() > 1 {
        say!("ravel: --explain is about one file");
        return 2;
    }
    let mut template = compilation(&check.source, false);
    match warnings::levels(Levels::of_check(), &check.warnings) {
        Ok(levels) => template.options.lints = levels,
        Err(status) => return status,
    }
    template.options.candidates = check.candidates;
    let reads_input = files.iter().any(|file| file == Path::new(STANDARD_INPUT));
    if reads_input && let Err(status) = program_file(&mut template, Path::new("-")) {
        return status;
    }
    if let Some(stage) = &check.emit {
        let [file] = &files[..] else {
            say!("ravel: --emit shows one file");
            return 2;
        };
        if let Err(status) = enter(&mut template.options, file, check.source.sources.network) {
            return status;
        }
        return emit(template, &check.source, file, stage);
    }
    let mut failed = false;
    let mut done = Vec::new();
    let mut projects = Projects::default();
    for file in &files {
        let mut options = template.options.clone();
        let place = if file == Path::new(STANDARD_INPUT) { Path::new(".") } else { file };
        match projects.of(place, access(check.source.sources.network)) {
            Ok(Some(project)) => {
                project.apply(&mut options, (place == file).then_some(file));
                note_files(project.files.iter().map(PathBuf::as_path));
            }
            Ok(None) => {}
            Err(broken) => {
                done.push(broken.compilation(options));
                continue;
            }
        }
        if !can_explain(&check.source, &template, file) {
            return 1;
        }
        let looked = if check.fix {
            fix(&options, file, check.unsafe_too).map(|fixed| {
                failed |= if check.diff { !show_diff(&fixed) } else { !write(&fixed) };
                fixed.compilation
            })
        } else {
            let mut one = Compilation::new(options);
            one.explanation.clone_from(&template.explanation);
            match one.check(file) {
                Ok(()) => {
                    failed |= !explain(&check.source, &one, file);
                    Ok(one)
                }
                Err(Failure::Source) => Ok(one),
                Err(other) => Err(other),
            }
        };
        match looked {
            Ok(one) => done.push(one),
            Err(failure) => {
                say!("ravel: {failure}");
                failed = true;
            }
        }
    }
    done.iter().for_each(note);
    let errors = show(&done, format);
    if let (Some(n @ 1..), false) = (errors, for_programs) {
        say!("ravel: {n} error{}", if n == 1 { "" } else { "s" });
    }
    if check.source.stats {
        done.iter().for_each(print_stats);
    }
    i32::from(failed || errors != Some(0))
}

/// Shows what was said, once where several programs have a module in common, and counts the errors; nothing if it cannot be shown.
fn show(done: &[Compilation], format: Format) -> Option<usize> {
    let mut known = BTreeSet::new();
    let mut shown: Vec<(Vec<Diagnostic>, &Compilation)> = Vec::new();
    for one in done {
        let key = |report: &Diagnostic| (report.code, one.map.describe(report.span()), report.title.clone());
        let new = one.diagnostics.iter().filter(|report| known.insert(key(report))).cloned();
        shown.push((new.collect(), one));
    }
    let errors = shown.iter().flat_map(|(list, _)| list).filter(|report| report.is_error()).count();
    let groups: Vec<_> = shown.iter().map(|(list, one)| (&list[..], &one.map)).collect();
    let text = render_all(&groups, format, use_color());
    match format {
        Format::Human | Format::Short => {
            let _ = std::io::stderr().write_all(text.as_bytes());
            Some(errors)
        }
        Format::Json | Format::Sarif | Format::Github => print(&text).then_some(errors),
    }
}

/// What is to be checked: the roots of the package where nothing is named.
fn roots(check: &Check) -> Result<Vec<PathBuf>, i32> {
    if check.files.is_empty() {
        return project::roots(Path::new("."), check.source.sources.network).map(|(_, roots)| roots);
    }
    Ok(check.files.clone())
}

/// The files that are meant: of folders all that end in .sac, by name.
fn sources(given: &[PathBuf]) -> Result<Vec<PathBuf>, String> {
    let mut files = Vec::new();
    for path in given {
        if path == Path::new("-") {
            files.push(PathBuf::from(STANDARD_INPUT));
        } else if path.is_dir() {
            let before = files.len();
            below(path, &mut files).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
            if files.len() == before {
                return Err(format!("there is no .sac file in {}", path.display()));
            }
        } else {
            files.push(path.clone());
        }
    }
    Ok(files)
}

fn below(folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    let mut entries = std::fs::read_dir(folder)?.collect::<Result<Vec<_>, _>>()?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        let is_hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
        // A link to a folder may lead back to where it lies.
        if entry.file_type()?.is_dir() && !is_hidden && !path.join(MARK).is_file() {
            below(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "sac") && path.is_file() {
            files.push(path);
        }
    }
    Ok(())
}

/// Prints what fixes would change; false if that failed.
fn show_diff(fixed: &Fixed) -> bool {
    fixed.files.iter().all(|file| print(&unified(&file.path.display().to_string(), &file.before, &file.after)))
}

/// Writes what fixes made; false if that failed.
fn write(fixed: &Fixed) -> bool {
    let mut all = true;
    for mended in &fixed.files {
        match write_one(mended) {
            Ok(()) => {}
            Err(why) => {
                say!("ravel: {} is not fixed: {why}", mended.path.display());
                all = false;
            }
        }
    }
    if all && fixed.count > 0 {
        let names: Vec<String> = fixed.files.iter().map(|file| file.path.display().to_string()).collect();
        say!("ravel: applied {} fix{} in {}", fixed.count, if fixed.count == 1 { "" } else { "es" }, names.join(", "));
    }
    all
}

fn write_one(mended: &Mended) -> Result<(), String> {
    if mended.path == Path::new(STANDARD_INPUT) {
        return if print(&mended.after) { Ok(()) } else { Err("standard output is full".to_string()) };
    }
    rewrite(&mended.path, &mended.before, &mended.after)
}
