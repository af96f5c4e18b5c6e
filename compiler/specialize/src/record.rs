//! Records: literals, fields, and the members of families that their fields are of.
//!
//! A record is its fields' values. Fields may have open shapes; such records are scalars only. A field of a family has the element
//! type that its value has, one for each family of the record.

use crate::spec::{Frame, Spec};
use crate::value::{Kind, ShapeKind, Val};
use ravel_core::elsewhere;
use ravel_core::ir::{DimPat, ElemTy, Expr, Family, Field, Program, RankPat, StructId, TypePat};
use ravel_diagnostics::{Code, Diagnostic, did_you_mean};
use ravel_types::{Affine, Basic};

impl Spec<'_> {
    pub fn field_index(&mut self, v: &Val, field: &str) -> Option<(usize, Val)> {
        match v {
            Val::Bottom => None,
            Val::Struct(s, _) => {
                let def = &self.program.structs[s.index()];
                match def.fields.iter().position(|f| f.name == *field) {
                    Some(i) => Some((i, v.clone())),
                    None => {
                        let names: Vec<&str> = def.fields.iter().map(|f| f.name.as_str()).collect();
                        let site = self.user_site();
                        let mut diagnostic =
                            Diagnostic::error(Code::NoSuchField, format!("struct {} has no field `{field}`", def.name))
                                .at(site, "unknown field");
                        let is_there = self.options.map.snippet(site).ends_with(field);
                        diagnostic = match did_you_mean(field, names.iter().copied()) {
                            Some(near) if is_there => {
                                let name = ravel_source::Span { start: site.end - field.len() as u32, ..site };
                                diagnostic.with_name_meant(name, field, near)
                            }
                            Some(near) => diagnostic.with_help(format!("did you mean `{near}`?")),
                            None => diagnostic.with_note(format!("its fields are {}", names.join(", "))),
                        };
                        self.report(diagnostic);
                        None
                    }
                }
            }
            other => {
                let shown = self.show_value_type(other);
                let site = self.user_site();
                let title = format!("{shown} has no fields: `.` selects one of a record");
                let report = Diagnostic::error(Code::NoFields, title).at(site, "only structs have fields");
                let report = match elsewhere(field) {
                    Some(entry) => {
                        let whole =
                            self.quotable(site).and_then(|text| text.strip_suffix(field)?.trim_end().strip_suffix('.'));
                        match whole.and_then(|array| entry.filled(&[array.trim_end().to_string()])) {
                            Some(text) => report.with_safe_edit(format!("`{text}`"), site, text),
                            None => report.with_help(entry.way),
                        }
                    }
                    None => report,
                };
                self.report_from_here(report, site);
                None
            }
        }
    }

    /// A new value of a field: of the old one's element type, and of the shape that the field's type asks for.
    pub fn fit_field(&mut self, frame: &Frame, record: StructId, i: usize, old: &Val, new: Val) -> Option<Val> {
        let field = self.program.structs[record.index()].fields[i].clone();
        let name = &field.name;
        if matches!(new, Val::Bottom) {
            return None;
        }
        if let (Some(wanted), Some(found)) = (self.elem_of(old), self.elem_of(&new))
            && wanted != found
        {
            let (a, b) = (self.show_value_type(old), self.show_value_type(&new));
            let title = format!("field `{name}` is {a}, found {b}");
            self.wrong_elem(&new, (found, wanted), title, format!("this is {b}"));
            return None;
        }
        if field.shape.is_some() {
            self.require_same_shape(old, &new, &format!("field `{name}` and its new value"));
            return Some(new);
        }
        let ty = TypePat { elem: self.elem_of(&new)?, ..field.ty };
        match self.assert_shape(frame, &ty, new, &format!("field `{name}`")) {
            Val::Bottom => None,
            fitting => Some(fitting),
        }
    }

    /// `P{...}`: fields that are not given are zero; open axes of these have no elements, an open rank is 1.
    pub fn struct_literal(&mut self, frame: &mut Frame, id: StructId, fields: &[Option<Expr>], e: &Expr) -> Val {
        let def = self.program.structs[id.index()].clone();
        let mut given = Vec::with_capacity(def.fields.len());
        for field in fields {
            let v = field.as_ref().map(|field| self.expr(frame, field));
            if matches!(v, Some(Val::Bottom)) {
                return Val::Bottom;
            }
            given.push(v);
        }
        given.resize(def.fields.len(), None);
        // The first value of a family says which member it is; without one, the function's own family of that name does.
        let mut members: Vec<Option<Basic>> = vec![None; def.families.len()];
        for (field, v) in def.fields.iter().zip(&given) {
            if let Some(v) = v {
                self.note_members(&def.families, field.ty.elem, v, &mut members);
            }
        }
        for (member, family) in members.iter_mut().zip(&def.families) {
            *member = member.or_else(|| self.member_here(frame, family));
        }
        let mut values = Vec::with_capacity(def.fields.len());
        for (i, (field, v)) in def.fields.iter().zip(given).enumerate() {
            let kind = self.kind_of_field(&def.families, &members, &field.ty, &ShapeKind::Known(Vec::new()));
            if kind.has_bottom() && v.is_none() {
                self.at(e.span);
                let title = format!("nothing tells the element type of field `{}`", field.name);
                self.error(Code::FieldWithoutType, title, "give the field a value");
                return Val::Bottom;
            }
            let Some(v) = v else {
                let least = with_shape(&kind, &least_shape(&field.ty.dims));
                values.push(self.zero_of_kind(&least));
                continue;
            };
            self.at(fields[i].as_ref().map_or(e.span, |given| given.span));
            let of_record = matches!(field.ty.elem, ElemTy::Struct(_)) && kind.has_bottom();
            let zero = if of_record { v.clone() } else { self.zero_of_kind(&kind) };
            match self.fit_field(frame, id, i, &zero, v) {
                Some(v) => values.push(v),
                None => return Val::Bottom,
            }
        }
        self.at(e.span);
        Val::Struct(id, values)
    }

    /// The member that a function's family of this name stands for.
    fn member_here(&self, frame: &Frame, family: &Family) -> Option<Basic> {
        let at = self.fun(frame.fun).families.iter().position(|known| known == family)?;
        frame.families.get(at).copied().flatten()
    }

    /// Members of the families of a record, in the order of its own list, as the function around binds them.
    fn members_here(&self, frame: &Frame, record: StructId) -> Vec<Option<Basic>> {
        let families = &self.program.structs[record.index()].families;
        families.iter().map(|family| self.member_here(frame, family)).collect()
    }

    /// Notes which members of `families` a value of type `elem` shows; false if one is another than is noted, or none at all.
    pub fn note_members(&self, families: &[Family], elem: ElemTy, v: &Val, members: &mut [Option<Basic>]) -> bool {
        match (elem, v) {
            (ElemTy::Family(f), Val::Sc(b, _) | Val::Tup(b, _) | Val::Arr(b, _)) => {
                let fits =
                    families[f.index()].members.contains(b) && members[f.index()].is_none_or(|known| known == *b);
                if fits {
                    members[f.index()] = Some(*b);
                }
                fits
            }
            (ElemTy::Family(_), _) => false,
            (ElemTy::Struct(s), Val::Struct(t, fields)) if s == *t => {
                let def = &self.program.structs[s.index()];
                if def.families.is_empty() {
                    return true;
                }
                let places: Vec<Option<usize>> =
                    def.families.iter().map(|family| families.iter().position(|known| known == family)).collect();
                let mut own: Vec<Option<Basic>> = places.iter().map(|at| at.and_then(|at| members[at])).collect();
                let fits = def
                    .fields
                    .iter()
                    .zip(fields)
                    .all(|(field, v)| self.note_members(&def.families, field.ty.elem, v, &mut own));
                for (at, member) in places.into_iter().zip(own) {
                    if let Some(at) = at {
                        members[at] = member;
                    }
                }
                fits
            }
            _ => true,
        }
    }

    /// Whether a record has the members that the function's families stand for.
    pub fn members_fit(&self, frame: &Frame, elem: ElemTy, v: &Val) -> bool {
        let families = self.fun(frame.fun).families.clone();
        let mut members = frame.families.clone();
        members.resize(families.len(), None);
        self.note_members(&families, elem, v, &mut members)
    }

    /// The kinds of a record's fields in arrays of this outer shape.
    pub fn kinds_of_fields(&self, frame: &Frame, record: StructId, outer: &ShapeKind) -> Vec<Kind> {
        let def = &self.program.structs[record.index()];
        let members = self.members_here(frame, record);
        def.fields.iter().map(|field| self.kind_of_field(&def.families, &members, &field.ty, outer)).collect()
    }

    /// The kind of a field, given the members of the families around it; `Bottom` where one is not known.
    fn kind_of_field(&self, families: &[Family], members: &[Option<Basic>], ty: &TypePat, outer: &ShapeKind) -> Kind {
        let shape = outer.then(&shape_of(&ty.dims));
        match ty.elem {
            ElemTy::Family(f) => match members.get(f.index()).copied().flatten() {
                Some(b) if shape.rank() == Some(0) => Kind::Sc(b, crate::value::ScKind::Any),
                Some(b) => Kind::Arr(b, shape),
                None => Kind::Bottom,
            },
            ElemTy::Struct(inner) => {
                let def = &self.program.structs[inner.index()];
                let own: Vec<Option<Basic>> = def
                    .families
                    .iter()
                    .map(|family| members[families.iter().position(|known| known == family)?])
                    .collect();
                let fields = def.fields.iter().map(|field| self.kind_of_field(&def.families, &own, &field.ty, &shape));
                Kind::Struct(inner, fields.collect())
            }
            other => {
                let frame = Frame::new(ravel_core::ir::FunId(0), Vec::new(), 0);
                self.kind_of_elem(&frame, other, &shape)
            }
        }
    }

    /// Whether values of a kind have one shape for all elements of an array.
    pub fn is_open(&self, kind: &Kind) -> bool {
        match kind {
            Kind::Struct(s, _) => self.program.structs[s.index()].open,
            Kind::Wrapped(_, k) => self.is_open(k),
            _ => false,
        }
    }

    /// Reports records of open shape as elements of an array.
    pub fn open_elements(&mut self) {
        let title = "records with fields of open shape cannot be elements of an array";
        self.error(Code::NotAnElement, title, "the elements would have different shapes");
    }
}

/// The members that a record's families stand for, ` of float`; nothing if it has none.
pub fn shown_members(program: &Program, record: StructId, fields: &[Kind]) -> String {
    let def = &program.structs[record.index()];
    let mut names: Vec<&str> = Vec::new();
    for family in 0..def.families.len() {
        let of_family = |field: &Field| matches!(field.ty.elem, ElemTy::Family(f) if f.index() == family);
        let found = def.fields.iter().zip(fields).find(|(field, _)| of_family(field));
        names.extend(found.and_then(|(_, kind)| kind.basic()).map(|basic| basic.name()));
    }
    if names.is_empty() { String::new() } else { format!(" of {}", names.join(" and ")) }
}

/// What is known of the shapes that a declared type has.
pub fn shape_of(dims: &[DimPat]) -> ShapeKind {
    let mut extents = Vec::new();
    for dim in dims {
        match dim {
            DimPat::Num(n) => extents.push(Some(Affine::constant(*n))),
            DimPat::Any | DimPat::Name(_) => extents.push(None),
            DimPat::Rank { rank: RankPat::Num(n), .. } => extents.extend(vec![None; (*n).max(0) as usize]),
            DimPat::Star | DimPat::Plus | DimPat::Rank { .. } => return ShapeKind::Unknown,
        }
    }
    ShapeKind::Known(extents)
}

/// The kind of arrays of basic elements with another shape; other kinds as they are.
fn with_shape(kind: &Kind, shape: &[i32]) -> Kind {
    match kind {
        Kind::Arr(b, _) => Kind::Arr(*b, ShapeKind::Known(shape.iter().map(|n| Some(Affine::constant(*n))).collect())),
        other => other.clone(),
    }
}

/// The shape of a field that is not given: the fewest axes, at least one where their number is open, none of them longer than it must.
fn least_shape(dims: &[DimPat]) -> Vec<i32> {
    let axes = dims.iter().map(|dim| match dim {
        DimPat::Num(n) => vec![*n],
        DimPat::Any | DimPat::Name(_) => vec![0],
        DimPat::Rank { rank: RankPat::Num(n), .. } => vec![0; (*n).max(0) as usize],
        DimPat::Rank { min, .. } => vec![0; (*min).max(1) as usize],
        DimPat::Star | DimPat::Plus => vec![0],
    });
    axes.flatten().collect()
}
