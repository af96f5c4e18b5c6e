//! Fields of records. Which record `a.x` selects from is known only with the values, so such places wait for them.

use super::{Def, DefKind, Use, one_line};
use crate::Core;
use crate::interface::DefId;
use crate::ir::StructId;
use crate::modules::ModId;
use crate::types::Known;
use ravel_source::Span;
use ravel_syntax::ast::{self, Definition, Text};

/// A place that mentions a field.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldUse {
    /// Of the name.
    pub span: Span,
    /// The selection, or the target of an assignment, that it is part of.
    pub whole: Span,
    pub name: Text,
    /// The record, where it is written.
    pub record: Option<StructId>,
    pub is_write: bool,
}

impl Core<'_> {
    /// A field that is selected or replaced, of a record that values tell.
    pub(crate) fn note_field(&mut self, module: ModId, field: &ast::Ident, whole: Span, is_write: bool) {
        self.note_field_of(module, field, whole, None, is_write);
    }

    /// A field that a literal names.
    pub(crate) fn note_named_field(&mut self, module: ModId, field: &ast::Ident, record: StructId) {
        self.note_field_of(module, field, field.span, Some(record), true);
    }

    fn note_field_of(
        &mut self,
        module: ModId,
        field: &ast::Ident,
        whole: Span,
        record: Option<StructId>,
        is_write: bool,
    ) {
        if !self.notes(module) {
            return;
        }
        let Some(span) = self.written(field.span, &field.name) else { return };
        if let Some(facts) = &mut self.facts {
            facts.field_uses.push(FieldUse { span, whole, name: field.name.clone(), record, is_write });
        }
    }

    /// The fields of all records of the program.
    pub(super) fn note_records(&mut self) {
        let mut made: Vec<(StructId, DefId)> = Vec::new();
        for (def, known) in &self.structs {
            if let Known::Done(id) = known {
                made.push((*id, *def));
            }
        }
        made.sort_unstable();
        for (id, def) in made {
            let owner = self.def(def).module;
            let (library, module) = (self.module(owner).library, self.module(owner).name.clone());
            let (file, index) = self.item(def);
            let Some(Definition::Struct(record)) = file.definitions.get(index) else { continue };
            let mut fields = Vec::with_capacity(record.fields.len());
            for field in &record.fields {
                let ty = one_line(self.map.snippet(field.ty.span));
                let name = &field.name.name;
                let described = Def {
                    kind: DefKind::Field,
                    name: name.clone(),
                    module: module.clone(),
                    library,
                    span: field.name.span,
                    whole: field.ty.span.to(field.name.span),
                    signature: format!("{ty} {name}; // of struct {}", record.name.name),
                };
                let written = self.written(field.name.span, name).filter(|_| !library);
                let Some(facts) = &mut self.facts else { return };
                let at = facts.defs.len() as u32;
                facts.defs.push(described);
                fields.push(at);
                facts.uses.extend(written.map(|span| Use { span, defs: vec![at], call: None, is_write: false }));
            }
            if let Some(facts) = &mut self.facts {
                facts.fields.insert(id, fields);
            }
        }
    }
}
