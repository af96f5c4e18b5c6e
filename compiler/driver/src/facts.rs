//! What is known of a program that is being read: what its names mean, what its expressions are, and how its definitions are declared.
//!
//! [`Facts`] stand on their own: an editor asks them while the next check runs.

use crate::doc::described;
use crate::explain::Explanation;
use crate::files::is_library;
use crate::pipeline::{Compilation, Options};
use ravel_core::facts::{Def, OpenBound, Use, Visible};
use ravel_core::ir::{FunId, LocalId, Program, StructId};
use ravel_source::{FileId, SourceMap, Span};
use ravel_specialize::show_kind;
use ravel_specialize::value::{Kind, ScKind};
use ravel_syntax::ast::Text;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

/// What the stages note while a program goes through them.
#[derive(Default)]
pub struct Gathered {
    pub names: ravel_core::Facts,
    pub values: ravel_specialize::Facts,
    /// What was lowered, once it has been checked.
    pub program: Option<Program>,
}

/// What a place is in one instance of the function around it.
#[derive(Clone, Debug, PartialEq)]
pub struct Value {
    /// By position in [`Facts::instances`].
    pub instance: u32,
    pub kind: Kind,
}

/// All that was found.
#[derive(Default)]
pub struct Facts {
    pub map: SourceMap,
    pub defs: Vec<Def>,
    /// In the order of files and places.
    pub uses: Vec<Use>,
    pub visible: Vec<Visible>,
    /// What modules offer: module, name, definition.
    pub members: Vec<(ravel_syntax::ast::Text, ravel_syntax::ast::Text, u32)>,
    pub program: Program,
    pub instances: Vec<ravel_specialize::facts::Instance>,
    pub bounds: Vec<OpenBound>,
    /// By the place of a name, or of a call as a whole.
    values: HashMap<Span, Vec<Value>>,
    /// Upper bounds, by partition.
    uppers: HashMap<Span, Vec<Value>>,
    /// Which definitions a call took.
    choices: HashMap<Span, Vec<u32>>,
    functions: HashMap<FunId, u32>,
    /// Fields by record.
    fields: HashMap<StructId, Vec<u32>>,
    /// Places that mention a field of a record that nobody knows: the code around them is never reached.
    pub open_fields: Vec<(Span, Text)>,
}

impl Facts {
    /// Checks a file, and keeps what there is to know of it beside what is reported. To explain it, it is compiled.
    pub fn analyse(options: Options, path: &Path, explains: bool) -> (Compilation, Facts) {
        let mut compilation = Compilation::new(options);
        compilation.explanation = explains.then(Explanation::default);
        compilation.facts = Some(Gathered::default());
        // What is wrong stands in the reports.
        let _ = compilation.check(path);
        let facts = compilation.facts.take().map_or_else(Facts::default, |gathered| settle(gathered, &compilation.map));
        (compilation, facts)
    }

    /// What names of a program mean, without a look at its values.
    pub fn of_names(options: Options, path: &Path) -> (Compilation, Facts) {
        let mut compilation = Compilation::new(options);
        compilation.facts = Some(Gathered::default());
        let _ = compilation.core_with_holes(path);
        let facts = compilation.facts.take().map_or_else(Facts::default, |gathered| settle(gathered, &compilation.map));
        (compilation, facts)
    }

    /// The file of a name as reports show it.
    pub fn file(&self, name: &str) -> Option<FileId> {
        self.map.files().find(|(_, file)| file.name == name).map(|(id, _)| id)
    }

    /// The name at a byte of a file, or right before it.
    pub fn use_at(&self, file: FileId, byte: u32) -> Option<&Use> {
        let at = self.uses.partition_point(|found| (found.span.file, found.span.start) <= (file, byte));
        let found = self.uses[..at].last()?;
        (found.span.file == file && byte <= found.span.end).then_some(found)
    }

    /// Names of a file.
    pub fn uses_in(&self, file: FileId) -> &[Use] {
        let from = self.uses.partition_point(|found| found.span.file < file);
        let upto = self.uses.partition_point(|found| found.span.file <= file);
        &self.uses[from..upto]
    }

    /// What a name means: of a call, the functions that it took, if that is known.
    pub fn meaning<'f>(&'f self, found: &'f Use) -> &'f [u32] {
        let taken = found.call.and_then(|call| self.choices.get(&call));
        taken.map_or(&found.defs, |taken| taken)
    }

    /// What a name or call is, by instance. Where a function is called it matters little how it looks for itself.
    pub fn values(&self, at: Span) -> &[Value] {
        self.values.get(&at).map_or(&[], |values| values)
    }

    /// The same for what stands for a missing bound.
    pub fn uppers(&self, partition: Span) -> &[Value] {
        self.uppers.get(&partition).map_or(&[], |values| values)
    }

    /// What a place is whatever the instance.
    pub fn joined(&self, values: &[Value]) -> Option<Kind> {
        let (first, rest) = values.split_first()?;
        rest.iter().try_fold(first.kind.clone(), |all, value| all.join(&value.kind))
    }

    pub fn show(&self, kind: &Kind) -> String {
        show_kind(&self.program, kind)
    }

    pub fn instance(&self, value: &Value) -> &str {
        self.instances.get(value.instance as usize).map_or("", |instance| &instance.shown)
    }

    /// The documentation comment of a definition.
    pub fn doc(&self, def: &Def) -> String {
        let Some(file) = self.map.get(def.whole.file) else { return String::new() };
        described(&file.text, def.whole.start as usize)
    }

    /// Whether a file is one of the user.
    pub fn is_own(&self, file: FileId) -> bool {
        self.map.get(file).is_some_and(|file| !is_library(&file.name))
    }

    /// The definition of a field, by record and position.
    pub fn field(&self, record: StructId, at: usize) -> Option<u32> {
        self.fields.get(&record)?.get(at).copied()
    }

    /// The definition of a function of the program.
    pub fn def_of(&self, fun: FunId) -> Option<&Def> {
        self.functions.get(&fun).and_then(|def| self.defs.get(*def as usize))
    }
}

/// A value that is known, as a program would write it.
pub fn constant(kind: &Kind) -> Option<String> {
    let scalar = |kind: &ScKind| match kind {
        ScKind::Const(value) => Some(value.to_string()),
        ScKind::Form(form) => form.as_const().map(|value| value.to_string()),
        ScKind::Any => None,
    };
    match kind {
        Kind::Sc(_, value) => scalar(value),
        Kind::Tup(_, values) => {
            let values: Option<Vec<String>> = values.iter().map(scalar).collect();
            values.map(|values| format!("[{}]", values.join(", ")))
        }
        _ => None,
    }
}

fn settle(gathered: Gathered, map: &SourceMap) -> Facts {
    let Gathered { mut names, values, program } = gathered;
    let program = program.unwrap_or_default();
    let open_fields = settle_fields(&mut names, &values.records);
    let mut found: BTreeMap<(Span, u32), Kind> = values.exprs.into_iter().collect();
    // What a statement assigns stands at the name of its target; what a head brings, at that name itself.
    let mut at_heads: HashMap<(Span, LocalId), Vec<(u32, Kind)>> = HashMap::new();
    for ((at, slot, instance), kind) in values.slots {
        at_heads.entry((at, slot)).or_default().push((instance, kind));
    }
    for (name, stmt, slot) in &names.stores {
        for (instance, kind) in at_heads.remove(&(*stmt, *slot)).unwrap_or_default() {
            found.insert((*name, instance), kind);
        }
    }
    for ((at, _), kinds) in at_heads {
        for (instance, kind) in kinds {
            found.insert((at, instance), kind);
        }
    }
    let is_called = |instance: u32| values.instances.get(instance as usize).is_some_and(|known| known.is_called);
    let by_place = |found: BTreeMap<(Span, u32), Kind>| {
        let mut all: HashMap<Span, Vec<Value>> = HashMap::new();
        for ((span, instance), kind) in found {
            all.entry(span).or_default().push(Value { instance, kind });
        }
        for values in all.values_mut() {
            if values.iter().any(|value| is_called(value.instance)) {
                values.retain(|value| is_called(value.instance));
            }
        }
        all
    };
    let choices = values.calls.into_iter().map(|(call, taken)| {
        let mut defs: Vec<u32> = taken.iter().filter_map(|(fun, _)| names.functions.get(fun).copied()).collect();
        defs.sort_unstable();
        defs.dedup();
        (call, defs)
    });
    Facts {
        choices: choices.filter(|(_, defs)| !defs.is_empty()).collect(),
        values: by_place(found),
        uppers: by_place(values.bounds.into_iter().collect()),
        map: map.clone(),
        defs: names.defs,
        uses: names.uses,
        visible: names.visible,
        members: names.members,
        functions: names.functions.into_iter().collect(),
        fields: names.fields.into_iter().collect(),
        open_fields,
        bounds: names.bounds,
        instances: values.instances,
        program,
    }
}

/// Turns places that mention fields into uses; those of unknown records are given back.
fn settle_fields(
    names: &mut ravel_core::Facts,
    records: &ravel_types::HashMap<(Span, String), Vec<StructId>>,
) -> Vec<(Span, Text)> {
    let mut open = Vec::new();
    for field in std::mem::take(&mut names.field_uses) {
        let found = records.get(&(field.whole, field.name.to_string())).into_iter().flatten();
        let defs = found.chain(&field.record).filter_map(|record| {
            let fields = names.fields.get(record)?;
            fields.iter().copied().find(|def| names.defs.get(*def as usize).is_some_and(|def| def.name == field.name))
        });
        let mut defs: Vec<u32> = defs.collect();
        defs.sort_unstable();
        defs.dedup();
        if defs.is_empty() {
            open.push((field.span, field.name));
            continue;
        }
        let call = (!field.is_write).then_some(field.whole);
        names.uses.push(Use { span: field.span, defs, call, is_write: field.is_write });
    }
    ravel_core::facts::in_order(&mut names.uses);
    open
}
