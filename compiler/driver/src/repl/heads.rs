//! What other languages are told of functions before they call them: their heads as JSON.

use super::complete::Known;
use super::source::{Key, ROOT};
use super::{Chunk, Session, USED};
use crate::doc::described;
use ravel_core::facts::{DefKind, Visible};
use ravel_core::ir::{DimPat, ElemTy, Fun, Program, RankPat, TypePat};
use ravel_types::Basic;
use serde_json::{Value, json};
use std::collections::HashSet;

impl Session {
    /// The names of the functions that were defined, and of those that modules offer which were taken in as such; sorted.
    pub fn functions(&mut self) -> Vec<String> {
        let keys = self.chunks.iter().flat_map(Chunk::keys);
        let mut names: Vec<String> = keys
            .filter_map(|key| match key {
                Key::Function { name, .. } => Some(name.clone()),
                _ => None,
            })
            .collect();
        if !self.modules.is_empty() {
            self.refresh();
            if let Some(known) = &self.known {
                let facts = &known.names;
                let own = facts.members.iter().filter(|(module, ..)| self.modules.contains_key(&**module));
                let functions = own.filter(|(.., def)| facts.defs[*def as usize].kind == DefKind::Function);
                names.extend(functions.map(|(_, name, _)| name.to_string()));
            }
        }
        names.sort();
        names.dedup();
        names
    }

    /// The heads of all own functions, or of those that a name means: one JSON object a line.
    pub fn heads(&mut self, name: Option<&str>) -> String {
        match name.map(|name| name.split_once("::").map_or((None, name), |(module, name)| (Some(module), name))) {
            None => {
                let names: HashSet<String> = self.functions().into_iter().collect();
                self.heads_where(|visible| names.contains(&*visible.name))
            }
            Some((None, name)) => self.heads_where(|visible| &*visible.name == name),
            Some((Some(module), name)) => {
                let uses: Vec<&str> = USED.iter().copied().filter(|used| *used != module).chain([module]).collect();
                self.known_with(&uses).map_or(String::new(), |known| {
                    let members = known.names.members.iter();
                    let meant: HashSet<u32> = members
                        .filter(|(offering, member, _)| &**offering == module && &**member == name)
                        .map(|(.., def)| *def)
                        .collect();
                    known.lines(known.names.visible.iter().filter(|visible| meant.contains(&visible.def)))
                })
            }
        }
    }

    /// Own functions of a name go before those that the session sees by that name, too.
    fn heads_where(&mut self, is_meant: impl Fn(&Visible) -> bool) -> String {
        self.refresh();
        let Some(known) = &self.known else { return String::new() };
        let is_own = |visible: &&Visible| {
            let module = &*known.names.defs[visible.def as usize].module;
            module == ROOT || self.modules.contains_key(module)
        };
        let meant: Vec<&Visible> = known.names.visible.iter().filter(|visible| is_meant(visible)).collect();
        let own: HashSet<&str> = meant.iter().filter(|visible| is_own(visible)).map(|visible| &*visible.name).collect();
        known.lines(meant.iter().copied().filter(|visible| is_own(visible) || !own.contains(&*visible.name)))
    }

    /// What a function calls its parameters, if one of its definitions takes so many.
    pub(super) fn parameter_names(&mut self, function: &str, count: usize) -> Option<Vec<String>> {
        if function.contains("::") {
            return None;
        }
        self.refresh();
        let known = self.known.as_ref()?;
        let named = known.names.visible.iter().filter(|visible| &*visible.name == function);
        let is_own = |visible: &&Visible| &*known.names.defs[visible.def as usize].module == ROOT;
        let fits = |visible: &&Visible| visible.head.as_ref().is_some_and(|head| head.params.len() == count);
        let fitting: Vec<&Visible> = named.filter(fits).collect();
        let head = fitting.iter().find(|visible| is_own(visible)).or(fitting.first())?.head.as_ref()?;
        let names: Vec<String> = parameters(head).map(str::to_string).collect();
        let is_usable = |name: &String| !name.starts_with('_') && name != super::source::VALUE;
        names.iter().all(is_usable).then_some(names)
    }
}

fn parameters(head: &Fun) -> impl Iterator<Item = &str> {
    head.params.iter().map(|param| head.locals[param.local.index()].name.as_str())
}

impl Known {
    fn lines<'v>(&self, visible: impl Iterator<Item = &'v Visible>) -> String {
        visible.filter_map(|visible| Some(self.line(visible, visible.head.as_ref()?))).collect()
    }

    fn line(&self, visible: &Visible, head: &Fun) -> String {
        let def = &self.names.defs[visible.def as usize];
        let params = head.params.iter().zip(parameters(head)).map(|(param, name)| {
            let mut shown = described_type(&self.program, head, &param.ty);
            shown["name"] = name.into();
            shown
        });
        let comment = self.map.get(def.whole.file).map(|file| described(&file.text, def.whole.start as usize));
        let head = json!({
            "name": &*visible.name,
            "module": if &*def.module == ROOT { Value::Null } else { (*def.module).into() },
            "head": def.signature,
            "params": params.collect::<Vec<_>>(),
            "more": head.variadic_params,
            "comment": comment.unwrap_or_default(),
        });
        format!("{head}\n")
    }
}

/// The element types that a parameter takes, none of them if these are of no other language, and its least and greatest rank.
fn described_type(program: &Program, head: &Fun, ty: &TypePat) -> Value {
    let elem: Vec<String> = match ty.elem {
        ElemTy::Basic(basic) => vec![basic.to_string()],
        ElemTy::Family(id) => head
            .families
            .get(id.index())
            .map_or(Vec::new(), |family| family.members.iter().map(Basic::to_string).collect()),
        ElemTy::User(id) if program.string_type == Some(id) => vec!["string".to_string()],
        ElemTy::User(_) | ElemTy::Struct(_) => Vec::new(),
    };
    let (mut least, mut most) = (0i64, Some(0i64));
    for dim in &ty.dims {
        let (from, to) = match dim {
            DimPat::Num(_) | DimPat::Any | DimPat::Name(_) => (1, Some(1)),
            DimPat::Star => (0, None),
            DimPat::Plus => (1, None),
            DimPat::Rank { rank: RankPat::Num(rank), .. } => (i64::from(*rank), Some(i64::from(*rank))),
            DimPat::Rank { min, .. } => (i64::from(*min), None),
        };
        least += from;
        most = most.zip(to).map(|(most, to)| most + to);
    }
    json!({ "elem": elem, "least": least, "most": most })
}
