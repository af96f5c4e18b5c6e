//! Types: basic and user-defined element types, records, families, and shape patterns with their slots.

use crate::Core;
use crate::diagnostics as report;
use crate::functions::Head;
use crate::interface::DefId;
use crate::ir::{self, DimPat, ElemTy, Field, RankPat, StructId, TypePat, UserType, UserTypeId, UserTypeKind};
use crate::lookup::Kind;
use crate::modules::ModId;
use ravel_source::Span;
use ravel_syntax::ast::{self, AxisCount, BasicType, Definition, DimKind, QName, Text, TypeBase};
use ravel_types::Basic;

/// The element type of a keyword.
pub fn basic(ty: BasicType) -> Basic {
    match ty {
        BasicType::Bool => Basic::Bool,
        BasicType::Char => Basic::Char,
        BasicType::Byte => Basic::Byte,
        BasicType::Short => Basic::Short,
        BasicType::Int => Basic::Int,
        BasicType::Long => Basic::Long,
        BasicType::LongLong => Basic::Longlong,
        BasicType::UByte => Basic::Ubyte,
        BasicType::UShort => Basic::Ushort,
        BasicType::UInt => Basic::Uint,
        BasicType::ULong => Basic::Ulong,
        BasicType::ULongLong => Basic::Ulonglong,
        BasicType::Float => Basic::Float,
        BasicType::Double => Basic::Double,
    }
}

/// Types inside types; nobody writes a tenth of it.
const MAX_TYPE_DEPTH: usize = 200;

/// Module and name of the type of string literals. It is one type, whichever file of that name defines it.
pub(crate) const STRING: (&str, &str) = ("String", "string");

/// What is known of a type definition.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Known<T> {
    InProgress,
    Failed,
    Done(T),
}

/// Where a type stands, which decides what the names in it mean.
pub(crate) enum Place<'h> {
    /// A parameter or result: names are slots of the function.
    Head(&'h mut Head),
    /// A result type: names that only results have are not visible in the body.
    Result(&'h mut Head),
    /// A body: names mean nothing; families are those of the function.
    Local(&'h [ir::Family]),
    /// A field: names mean nothing; families become those of the record.
    Record(&'h mut Vec<ir::Family>),
    /// Outside of functions.
    Global,
}

/// The place of a family among those of a function or record, which a head or a field extends.
fn family_in(family: ir::Family, place: &mut Place<'_>) -> Option<usize> {
    let known: &mut Vec<ir::Family> = match place {
        Place::Head(head) | Place::Result(head) => &mut head.fun.families,
        Place::Record(families) => families,
        Place::Local(families) => return families.iter().position(|known| *known == family),
        Place::Global => return None,
    };
    Some(known.iter().position(|known| *known == family).unwrap_or_else(|| {
        known.push(family);
        known.len() - 1
    }))
}

/// Most axes of a type. What is known of a shape is held by axis, so that nothing may grow with a number in a program.
const MAX_AXES: i64 = 255;

/// How many axes a pattern has at least.
fn axes(dims: &[DimPat]) -> i64 {
    dims.iter()
        .map(|dim| match dim {
            DimPat::Num(_) | DimPat::Any | DimPat::Name(_) | DimPat::Plus => 1,
            DimPat::Rank { rank: RankPat::Num(n), .. } | DimPat::Rank { min: n, .. } => i64::from(*n).max(0),
            DimPat::Star => 0,
        })
        .sum()
}

/// The length of an axis as core counts; lengths that no array can have match nothing.
fn length(n: i64) -> i32 {
    i32::try_from(n).unwrap_or(-1)
}

impl Core<'_> {
    /// A type, or nothing if an error was reported.
    pub(crate) fn type_pat(&mut self, module: ModId, ty: &ast::Type, place: &mut Place<'_>) -> Option<TypePat> {
        let elem = self.elem(module, &ty.base, ty.span, place)?;
        let mut dims = Vec::new();
        let mut warned = false;
        for dim in ty.dims.iter().flatten() {
            let lowered = match place {
                Place::Head(head) => head_dim(head, dim, false),
                Place::Result(head) => head_dim(head, dim, true),
                Place::Local(_) | Place::Record(_) | Place::Global => {
                    if names_something(&dim.kind) && !warned {
                        self.reports.push(report::names_in_local_type(dim.span));
                        warned = true;
                    }
                    nameless_dim(&dim.kind)
                }
            };
            dims.push(lowered);
        }
        if let ElemTy::Struct(record) = elem
            && !dims.is_empty()
            && self.program.structs[record.index()].open
        {
            self.reports.push(report::array_of_open_records(ty.span));
            return None;
        }
        if axes(&dims) > MAX_AXES {
            self.reports.push(report::too_many_axes(axes(&dims), MAX_AXES, ty.span));
            return None;
        }
        Some(TypePat { elem, dims, span: ty.span })
    }

    fn elem(&mut self, module: ModId, base: &TypeBase, span: Span, place: &mut Place<'_>) -> Option<ElemTy> {
        match base {
            TypeBase::Basic(ty) => Some(ElemTy::Basic(basic(*ty))),
            TypeBase::Struct(name) => {
                let id = self.struct_type(module, name)?;
                self.mention(id, span, place)
            }
            TypeBase::Named(name) => {
                if name.module.is_none()
                    && let Some(members) = self.module(module).families.get(&name.name)
                {
                    let members = members.clone();
                    self.note_family(module, name);
                    return self.family(&name.name, members, span, place);
                }
                match self.meaning(module, name, Kind::Type) {
                    Ok(def) => {
                        self.note_defs(module, name.span, &name.name, &[def]);
                        self.user_type(def).map(ElemTy::User)
                    }
                    // The parser takes records as types also without the word `struct`.
                    Err(missing) => match self.meaning(module, name, Kind::Struct) {
                        Ok(def) => {
                            self.note_defs(module, name.span, &name.name, &[def]);
                            let id = self.record(def)?;
                            self.mention(id, span, place)
                        }
                        Err(_) => {
                            self.report_missing(module, name, Kind::Type, missing);
                            None
                        }
                    },
                }
            }
        }
    }

    /// A record type; where it stands, its families are mentioned too.
    fn mention(&mut self, id: StructId, span: Span, place: &mut Place<'_>) -> Option<ElemTy> {
        let families = self.program.structs[id.index()].families.clone();
        match place {
            Place::Local(_) => {}
            Place::Global if !families.is_empty() => {
                self.reports.push(report::family(span, "a record with fields of a family has no one type here"));
                return None;
            }
            _ => families.into_iter().for_each(|family| {
                family_in(family, place);
            }),
        }
        Some(ElemTy::Struct(id))
    }

    fn family(&mut self, name: &Text, members: Vec<Basic>, span: Span, place: &mut Place<'_>) -> Option<ElemTy> {
        let found = family_in(ir::Family { name: name.to_string(), members }, place);
        if found.is_none() {
            self.reports.push(report::family(span, "the head of this function does not mention it"));
        }
        found.map(|i| ElemTy::Family(ir::FamilyId(i as u32)))
    }

    /// The record that a name means.
    pub(crate) fn struct_type(&mut self, module: ModId, name: &QName) -> Option<StructId> {
        match self.meaning(module, name, Kind::Struct) {
            Ok(def) => {
                self.note_defs(module, name.span, &name.name, &[def]);
                self.record(def)
            }
            Err(missing) => {
                self.report_missing(module, name, Kind::Struct, missing);
                None
            }
        }
    }

    /// Reports the errors in a type definition, used or not.
    pub(crate) fn check_type(&mut self, def: DefId) {
        let (file, index) = self.item(def);
        match file.definitions.get(index) {
            Some(Definition::Struct(_)) => {
                self.record(def);
            }
            _ => {
                self.user_type(def);
            }
        }
    }

    /// The typedef, external type or class of a definition.
    pub(crate) fn user_type(&mut self, def: DefId) -> Option<UserTypeId> {
        if let Some(known) = self.user_types.get(&def) {
            return self.known(def, *known);
        }
        self.user_types.insert(def, Known::InProgress);
        let made = self.deeper(def, |core| core.make_user_type(def));
        self.user_types.insert(def, made.map_or(Known::Failed, Known::Done));
        made
    }

    fn make_user_type(&mut self, def: DefId) -> Option<UserTypeId> {
        let module = self.def(def).module;
        let (file, index) = self.item(def);
        let (name, kind) = match (file.definitions.get(index), &file.header) {
            (Some(Definition::Typedef(typedef)), _) => {
                if typedef.nested {
                    self.reports.push(report::nested_type(typedef.span));
                }
                (&typedef.name, self.typedef(module, typedef)?)
            }
            (Some(Definition::ExternalTypedef(external)), _) => (&external.name, UserTypeKind::External),
            (_, ast::Header::Class(class)) => {
                let kind = match &class.representation {
                    None => UserTypeKind::External,
                    Some(ty) => UserTypeKind::Class { rep: self.type_pat(module, ty, &mut Place::Global)? },
                };
                (&class.name, kind)
            }
            _ => return None,
        };
        let is_string = (&*self.module(module).name, &*name.name) == STRING;
        if is_string && matches!(kind, UserTypeKind::External) {
            let known = self.program.string_type;
            return Some(known.unwrap_or_else(|| self.own_string_type()));
        }
        let pragmas: &[ast::Pragma] = match (file.definitions.get(index), &file.header) {
            (Some(Definition::ExternalTypedef(external)), _) => &external.pragmas,
            (None, ast::Header::Class(class)) => &class.pragmas,
            _ => &[],
        };
        let library = self.module(module).library;
        let user = UserType {
            free: crate::foreign::free_function(pragmas).filter(|_| !library),
            link: crate::foreign::links(pragmas),
            name: name.name.to_string(),
            module: self.module(module).name.to_string(),
            kind,
            unique: self.def(def).place == crate::modules::DefPlace::Class,
            span: name.span,
        };
        let id = UserTypeId(self.program.user_types.len() as u32);
        self.program.user_types.push(user);
        Some(id)
    }

    /// Bounds the depth of types inside types, which is the depth of the compiler's own stack.
    fn deeper<T>(&mut self, def: DefId, make: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        if self.type_depth >= MAX_TYPE_DEPTH {
            let diagnostic = report::deep_type(self.def_span(def));
            self.reports.push(diagnostic);
            return None;
        }
        self.type_depth += 1;
        let made = make(self);
        self.type_depth -= 1;
        made
    }

    /// The result of an earlier look at a definition; one that is still going on means that the type contains itself.
    fn known<T>(&mut self, def: DefId, known: Known<T>) -> Option<T> {
        match known {
            Known::Done(id) => Some(id),
            Known::Failed => None,
            Known::InProgress => {
                let at = self.def_span(def);
                let name = self.map.snippet(at).to_string();
                self.reports.push(report::recursive_type(&name, at));
                None
            }
        }
    }

    fn typedef(&mut self, module: ModId, typedef: &ast::Typedef) -> Option<UserTypeKind> {
        let (base, shape) = self.fixed_type(module, &typedef.base, "the base of a typedef")?;
        Some(UserTypeKind::Typedef { base, shape })
    }

    /// A type whose shape must be numbers.
    pub(crate) fn fixed_type(&mut self, module: ModId, ty: &ast::Type, what: &str) -> Option<(ElemTy, Vec<i32>)> {
        let pat = self.type_pat(module, ty, &mut Place::Global)?;
        match numbers(&pat.dims) {
            Some(shape) => Some((pat.elem, shape)),
            None => {
                self.reports.push(report::unknown_shape(what, ty.span));
                None
            }
        }
    }

    /// The record of a definition.
    pub(crate) fn record(&mut self, def: DefId) -> Option<StructId> {
        if let Some(known) = self.structs.get(&def) {
            return self.known(def, *known);
        }
        self.structs.insert(def, Known::InProgress);
        let made = self.deeper(def, |core| core.make_record(def));
        self.structs.insert(def, made.map_or(Known::Failed, Known::Done));
        made
    }

    fn make_record(&mut self, def: DefId) -> Option<StructId> {
        let module = self.def(def).module;
        let (file, index) = self.item(def);
        let Some(Definition::Struct(record)) = file.definitions.get(index) else { return None };
        if record.fields.is_empty() {
            self.reports.push(report::empty_struct(&record.name.name, record.name.span));
            return None;
        }
        let (mut fields, mut families, mut open): (Vec<Field>, _, _) = (Vec::new(), Vec::new(), false);
        for field in &record.fields {
            if fields.iter().any(|other| other.name == *field.name.name) {
                self.reports.push(report::field_twice(&field.name.name, field.name.span));
            }
            let ty = self.type_pat(module, &field.ty, &mut Place::Record(&mut families))?;
            let shape = numbers(&ty.dims);
            let inner = matches!(ty.elem, ElemTy::Struct(inner) if self.program.structs[inner.index()].open);
            open |= inner || shape.is_none();
            fields.push(Field { name: field.name.name.to_string(), ty, shape });
        }
        let id = StructId(self.program.structs.len() as u32);
        self.program.structs.push(ir::Struct {
            name: record.name.name.to_string(),
            module: self.module(module).name.to_string(),
            fields,
            families,
            open,
            span: record.name.span,
        });
        Some(id)
    }
}

/// The shape, if every axis is a number.
pub(crate) fn numbers(dims: &[DimPat]) -> Option<Vec<i32>> {
    dims.iter()
        .map(|dim| match dim {
            DimPat::Num(n) => Some(*n),
            _ => None,
        })
        .collect()
}

fn names_something(kind: &DimKind) -> bool {
    match kind {
        DimKind::Name(name) => &*name.name != "_",
        DimKind::Axes { .. } => true,
        DimKind::Num(_) | DimKind::Dot | DimKind::Plus | DimKind::Star => false,
    }
}

fn nameless_dim(kind: &DimKind) -> DimPat {
    match kind {
        DimKind::Num(n) => DimPat::Num(length(*n)),
        DimKind::Dot | DimKind::Name(_) => DimPat::Any,
        DimKind::Plus => DimPat::Plus,
        DimKind::Star => DimPat::Star,
        DimKind::Axes { count, .. } => {
            let (rank, min) = match count {
                AxisCount::Num(n) => (RankPat::Num(rank(*n)), rank(*n)),
                AxisCount::Name { more_than, .. } => (RankPat::Anon, least(*more_than)),
            };
            DimPat::Rank { rank, min, shape: None }
        }
    }
}

/// A number of axes; too many stay too many.
fn rank(n: i64) -> i32 {
    i32::try_from(n).unwrap_or(if n < 0 { 0 } else { i32::MAX })
}

fn least(more_than: Option<i64>) -> i32 {
    more_than.map_or(0, |k| rank(k.saturating_add(1)))
}

fn head_dim(head: &mut Head, dim: &ast::Dim, result: bool) -> DimPat {
    match &dim.kind {
        DimKind::Name(name) => head.pattern_name(name, result).map_or(DimPat::Any, DimPat::Name),
        DimKind::Axes { count, shape } => {
            let (rank, min) = match count {
                AxisCount::Num(n) => (RankPat::Num(rank(*n)), rank(*n)),
                AxisCount::Name { name, more_than } => {
                    let rank = head.pattern_name(name, result).map_or(RankPat::Anon, RankPat::Name);
                    (rank, least(*more_than))
                }
            };
            DimPat::Rank { rank, min, shape: head.pattern_name(shape, result) }
        }
        plain => nameless_dim(plain),
    }
}
