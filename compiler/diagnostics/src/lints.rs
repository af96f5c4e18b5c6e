//! Lints: warnings that have a name and a level. Which are shown is for the user to say.

use crate::suggest::did_you_mean;
use crate::{Code, Diagnostic, Severity};
use std::collections::BTreeMap;

/// What becomes of a warning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// It is not shown.
    Allow,
    Warn,
    /// It is an error.
    Deny,
}

/// What a lint is about, and so who sees it unasked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// The result is not what anybody meant: shown even where a program is only run.
    Certain,
    /// Shown by `check`.
    Likely,
    /// A matter of taste: shown on request.
    Asked,
    /// What costs time: shown on request, as the optimiser has to run for it.
    Perf,
}

/// A warning that can be turned on and off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lint {
    pub code: Code,
    kind: Kind,
    /// A shorter name than that of the code.
    name: Option<&'static str>,
}

const fn lint(code: Code, kind: Kind) -> Lint {
    Lint { code, kind, name: None }
}

const fn named(code: Code, kind: Kind, name: &'static str) -> Lint {
    Lint { code, kind, name: Some(name) }
}

const LINTS: [Lint; 32] = [
    lint(Code::UnusedVariable, Kind::Likely),
    lint(Code::UnusedImport, Kind::Likely),
    lint(Code::DeadAssignment, Kind::Likely),
    lint(Code::UnreachedOverload, Kind::Likely),
    lint(Code::ConstantCondition, Kind::Likely),
    lint(Code::GuardNeverHolds, Kind::Likely),
    lint(Code::ShadowedIndex, Kind::Likely),
    lint(Code::IntegerDivisionToReal, Kind::Certain),
    lint(Code::UnknownPragma, Kind::Likely),
    lint(Code::UnknownWarning, Kind::Likely),
    lint(Code::UnusedFunction, Kind::Asked),
    lint(Code::UnusedParameter, Kind::Asked),
    lint(Code::FloatEquality, Kind::Asked),
    lint(Code::LoopInOrder, Kind::Perf),
    lint(Code::FoldInOrder, Kind::Perf),
    lint(Code::CheckInInnerLoop, Kind::Perf),
    lint(Code::RankUnknown, Kind::Perf),
    // Warnings that stages make by the way.
    named(Code::ErrorLine, Kind::Certain, "warning-line"),
    named(Code::DeprecatedModule, Kind::Certain, "deprecated"),
    lint(Code::HiddenDefinition, Kind::Certain),
    lint(Code::LocalPatternName, Kind::Certain),
    lint(Code::NothingToSpecialize, Kind::Certain),
    named(Code::HiddenModule, Kind::Certain, "hides-library"),
    lint(Code::EditionsDiffer, Kind::Certain),
    lint(Code::AmbiguousInstance, Kind::Certain),
    lint(Code::FormatMismatch, Kind::Certain),
    lint(Code::HeldConstant, Kind::Certain),
    lint(Code::AlwaysZero, Kind::Certain),
    // In branches, which may not run; elsewhere these are errors.
    lint(Code::ShapesDiffer, Kind::Certain),
    lint(Code::PatternMismatch, Kind::Certain),
    lint(Code::DeclaredShape, Kind::Certain),
    named(Code::IntWraps, Kind::Certain, "constant-overflow"),
];

/// All lints, those that are looked for first.
pub fn lints() -> &'static [Lint] {
    &LINTS
}

/// The lints of a name, a code or a group.
///
/// # Errors
/// That there are none, with a name that is close.
pub fn lints_named(name: &str) -> Result<Vec<Lint>, String> {
    select(name).map(|(lints, _)| lints)
}

impl Lint {
    pub fn of(code: Code) -> Option<Lint> {
        LINTS.iter().copied().find(|lint| lint.code == code)
    }

    /// The name on the command line and in files: `unused-variable`.
    pub fn name(self) -> String {
        if let Some(name) = self.name {
            return name.to_string();
        }
        let mut out = String::new();
        for c in self.code.name().chars() {
            if c.is_uppercase() && !out.is_empty() {
                out.push('-');
            }
            out.extend(c.to_lowercase());
        }
        out
    }

    /// Whether `check` shows it unasked.
    pub fn is_on(self) -> bool {
        matches!(self.kind, Kind::Certain | Kind::Likely)
    }

    /// Whether it comes from the remarks of the optimiser and the scheduler.
    pub fn is_perf(self) -> bool {
        self.kind == Kind::Perf
    }
}

/// Names of sets of lints: every one, those that `check` shows unasked, what costs time.
const GROUPS: [&str; 3] = ["all", "default", "perf"];

/// The lints of a name, a group or a code; how closely they are meant.
fn select(name: &str) -> Result<(Vec<Lint>, Nearness), String> {
    let of = |wanted: &dyn Fn(Lint) -> bool| LINTS.iter().copied().filter(|lint| wanted(*lint)).collect::<Vec<_>>();
    match name {
        "all" => return Ok((of(&|_| true), Nearness::All)),
        "default" => return Ok((of(&|lint| lint.is_on()), Nearness::Group)),
        "perf" => return Ok((of(&|lint| lint.is_perf()), Nearness::Group)),
        _ => {}
    }
    let found = of(&|lint| lint.name() == name || lint.code.text().eq_ignore_ascii_case(name));
    if !found.is_empty() {
        return Ok((found, Nearness::Single));
    }
    let names: Vec<String> = LINTS.iter().map(|lint| lint.name()).collect();
    let close = did_you_mean(name, names.iter().map(String::as_str).chain(GROUPS));
    let hint = close.map_or(String::new(), |close| format!("; did you mean `{close}`?"));
    Err(format!("there is no warning `{name}`{hint}"))
}

/// How closely a setting names a lint: what is said of one goes before what is said of many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Nearness {
    All,
    Group,
    Single,
}

/// Who looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Viewer {
    /// A tool that wants only what the stages say by the way.
    #[default]
    Quiet,
    Run,
    Check,
}

/// The levels of all lints: what is so by default, and what the user said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Levels {
    viewer: Viewer,
    said: BTreeMap<Code, (Nearness, Level)>,
}

impl Levels {
    /// As `check` has them.
    pub fn of_check() -> Levels {
        Levels { viewer: Viewer::Check, said: BTreeMap::new() }
    }

    /// Where a program is compiled to be run: only what is certainly wrong.
    pub fn of_run() -> Levels {
        Levels { viewer: Viewer::Run, said: BTreeMap::new() }
    }

    /// Sets the level of a lint by its name or code, or of a group. What names fewer lints wins; else what is stricter.
    ///
    /// # Errors
    /// That there is none, with a name that is close.
    pub fn set(&mut self, name: &str, level: Level) -> Result<(), String> {
        let (lints, nearness) = select(name)?;
        for lint in lints {
            let said = self.said.entry(lint.code).or_insert((nearness, level));
            *said = (*said).max((nearness, level));
        }
        Ok(())
    }

    /// The level of a code; what is no lint cannot be turned off.
    pub fn level(&self, code: Code) -> Level {
        if let Some((_, level)) = self.said.get(&code) {
            return *level;
        }
        let Some(lint) = Lint::of(code) else { return Level::Warn };
        let shown = match self.viewer {
            Viewer::Quiet => code.is_by_the_way(),
            Viewer::Run => lint.kind == Kind::Certain,
            Viewer::Check => lint.is_on(),
        };
        if shown { Level::Warn } else { Level::Allow }
    }

    pub fn is_on(&self, code: Code) -> bool {
        self.level(code) > Level::Allow
    }

    /// Whether something that has to be looked for is on.
    pub fn look_for_any(&self) -> bool {
        LINTS.iter().any(|lint| !lint.is_perf() && !lint.code.is_by_the_way() && self.is_on(lint.code))
    }

    /// Whether something is on that the optimiser has to run for.
    pub fn look_for_perf(&self) -> bool {
        LINTS.iter().any(|lint| lint.is_perf() && self.is_on(lint.code))
    }

    /// Whether only what is wrong beyond doubt is to be reported.
    pub fn only_certain(&self, code: Code) -> bool {
        self.viewer == Viewer::Run && !self.said.contains_key(&code)
    }

    /// A warning as its level has it; nothing if it is not to be shown. Errors stay as they are.
    pub fn settle(&self, mut report: Diagnostic) -> Option<Diagnostic> {
        if report.severity != Severity::Warning {
            return Some(report);
        }
        match self.level(report.code) {
            Level::Allow => None,
            Level::Warn => Some(report),
            Level::Deny => {
                report.severity = Severity::Error;
                let name = Lint::of(report.code).map_or(String::new(), Lint::name);
                Some(report.with_note(format!("a warning that is denied: `{name}`")))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_codes_and_each_is_one() {
        assert_eq!(Lint::of(Code::IntegerDivisionToReal).map(Lint::name).as_deref(), Some("integer-division-to-real"));
        assert_eq!(Lint::of(Code::HiddenModule).map(Lint::name).as_deref(), Some("hides-library"));
        let mut names: Vec<String> = LINTS.iter().map(|lint| lint.name()).collect();
        names.extend(GROUPS.map(String::from));
        let count = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), count);
        let warnings = Code::ALL.iter().filter(|code| code.text().starts_with('W'));
        assert!(warnings.into_iter().all(|code| Lint::of(*code).is_some()));
    }

    #[test]
    fn what_is_said_of_one_goes_before_what_is_said_of_many() {
        let mut levels = Levels::of_check();
        assert_eq!(levels.level(Code::UnusedVariable), Level::Warn);
        assert_eq!(levels.level(Code::FloatEquality), Level::Allow);
        for (name, level) in [("unused-variable", Level::Allow), ("all", Level::Deny), ("perf", Level::Warn)] {
            assert_eq!(levels.set(name, level), Ok(()));
        }
        assert_eq!(levels.level(Code::UnusedVariable), Level::Allow);
        assert_eq!(levels.level(Code::FloatEquality), Level::Deny);
        assert_eq!(levels.level(Code::LoopInOrder), Level::Warn);
        assert_eq!(levels.set("w0401", Level::Deny), Ok(()));
        assert_eq!(levels.level(Code::UnusedVariable), Level::Deny);
        assert!(levels.set("unused-variables", Level::Warn).is_err_and(|why| why.contains("`unused-variable`")));
        assert_eq!(levels.level(Code::NoInstance), Level::Warn);
    }

    #[test]
    fn where_a_program_runs_little_is_said() {
        let run = Levels::of_run();
        assert!(run.is_on(Code::IntegerDivisionToReal) && run.is_on(Code::IntWraps));
        assert!(!run.is_on(Code::UnusedVariable) && run.look_for_any());
        let quiet = Levels::default();
        assert!(quiet.is_on(Code::IntWraps) && !quiet.look_for_any() && !quiet.look_for_perf());
    }

    #[test]
    fn a_denied_warning_is_an_error() {
        let mut levels = Levels::of_check();
        assert_eq!(levels.set("all", Level::Deny), Ok(()));
        let settled = levels.settle(Diagnostic::warning(Code::UnusedImport, "nothing"));
        assert!(settled.is_some_and(|report| report.is_error()));
    }
}
