//! Declared types as kinds, outer shapes of values, and how both read in messages.

use crate::record::{shape_of, shown_members};
use crate::spec::{Frame, Spec};
use crate::value::{Kind, Sc, ScKind, ShapeKind, Val};
use ravel_core::ir::{DimPat, ElemTy, Program, RankPat, TypePat, UserTypeKind};
use ravel_types::{Affine, Basic};

impl Spec<'_> {
    /// The element type with family variables replaced; an unbound variable stands for itself.
    pub fn resolve_elem(&self, families: &[Option<Basic>], elem: ElemTy) -> ElemTy {
        match elem {
            ElemTy::Family(f) => families.get(f.index()).copied().flatten().map_or(elem, ElemTy::Basic),
            other => other,
        }
    }

    /// The element type of a value.
    pub fn elem_of(&self, v: &Val) -> Option<ElemTy> {
        Some(match v {
            Val::Bottom => return None,
            Val::Sc(b, _) | Val::Tup(b, _) | Val::Arr(b, _) => ElemTy::Basic(*b),
            Val::Handle(u, _) | Val::Wrapped(u, _) => ElemTy::User(*u),
            Val::Struct(s, _) => ElemTy::Struct(*s),
        })
    }

    /// The kind that a declared type promises.
    pub fn kind_of_type(&self, frame: &Frame, ty: &TypePat) -> Kind {
        let shape = shape_of(&ty.dims);
        self.kind_of_elem(frame, self.resolve_elem(&frame.families, ty.elem), &shape)
    }

    /// The kind of arrays of an element type with this outer shape.
    pub fn kind_of_elem(&self, frame: &Frame, elem: ElemTy, outer: &ShapeKind) -> Kind {
        match elem {
            ElemTy::Basic(b) if outer.rank() == Some(0) => Kind::Sc(b, ScKind::Any),
            ElemTy::Basic(b) => Kind::Arr(b, outer.clone()),
            ElemTy::User(u) => match &self.program.user_types[u.index()].kind {
                UserTypeKind::External => Kind::Handle(u),
                UserTypeKind::Typedef { base, shape } => {
                    let hidden = shape.iter().map(|n| Some(Affine::constant(*n))).collect();
                    let whole = outer.then(&ShapeKind::Known(hidden));
                    Kind::Wrapped(u, Box::new(self.kind_of_elem(frame, *base, &whole)))
                }
                UserTypeKind::Class { rep } => Kind::Wrapped(u, Box::new(self.kind_of_type(frame, rep))),
            },
            ElemTy::Struct(s) => Kind::Struct(s, self.kinds_of_fields(frame, s, outer)),
            ElemTy::Family(_) => Kind::Bottom,
        }
    }

    /// Keeps only ranks: extents and values become unknown, tuples become vectors. The axes that user types and fields hide keep
    /// their extents; `hidden` counts those of the types around.
    pub fn forget_extents(&self, kind: &Kind, hidden: usize) -> Kind {
        match kind {
            Kind::Sc(b, _) => Kind::Sc(*b, ScKind::Any),
            Kind::Tup(..) if hidden > 0 => kind.forget_values(false),
            Kind::Tup(b, _) => Kind::Arr(*b, ShapeKind::Known(vec![None])),
            Kind::Arr(b, ShapeKind::Known(e)) => {
                let outer = e.len().saturating_sub(hidden);
                let extents = vec![None; outer].into_iter().chain(e[outer..].iter().cloned());
                Kind::Arr(*b, ShapeKind::Known(extents.collect()))
            }
            Kind::Wrapped(u, k) => {
                let own = match &self.program.user_types[u.index()].kind {
                    UserTypeKind::Typedef { shape, .. } => shape.len(),
                    _ => 0,
                };
                Kind::Wrapped(*u, Box::new(self.forget_extents(k, hidden + own)))
            }
            Kind::Struct(s, ks) => {
                let defs = &self.program.structs[s.index()].fields;
                let fields = ks.iter().zip(defs);
                let fields = fields.map(|(k, f)| match &f.shape {
                    Some(own) => self.forget_extents(k, hidden + own.len()),
                    None => self.forget_extents(k, hidden),
                });
                Kind::Struct(*s, fields.collect())
            }
            other => other.clone(),
        }
    }

    /// Number of axes of the representation below the outer shape of a user type.
    fn inner_rank(&self, v: &Val) -> usize {
        match v {
            Val::Wrapped(u, _) => match &self.program.user_types[u.index()].kind {
                UserTypeKind::Typedef { shape, .. } => shape.len(),
                _ => 0,
            },
            _ => 0,
        }
    }

    /// The shape of a value as the program sees it (user types hide their inner axes); nothing if the rank is unknown.
    pub fn outer_shape(&mut self, v: &Val) -> Option<Vec<Sc>> {
        match v {
            Val::Bottom | Val::Sc(..) | Val::Handle(..) => Some(Vec::new()),
            Val::Tup(_, s) => Some(vec![Sc::int(s.len() as i32)]),
            Val::Arr(_, v) => {
                let extents = self.em.extents(*v)?;
                Some(extents.iter().map(|e| self.em.scalar_of(e)).collect())
            }
            Val::Wrapped(u, inner) => {
                if !matches!(self.program.user_types[u.index()].kind, UserTypeKind::Typedef { .. }) {
                    return Some(Vec::new());
                }
                let mut shape = self.outer_shape(inner)?;
                shape.truncate(shape.len().saturating_sub(self.inner_rank(v)));
                Some(shape)
            }
            Val::Struct(s, fields) => {
                let def = &self.program.structs[s.index()];
                if def.open {
                    return Some(Vec::new());
                }
                let field_rank = def.fields.first().and_then(|f| f.shape.as_ref()).map_or(0, Vec::len);
                let first = fields.first()?;
                let mut shape = self.outer_shape(first)?;
                shape.truncate(shape.len().saturating_sub(field_rank));
                Some(shape)
            }
        }
    }

    /// Rank of the outer shape, if known.
    pub fn outer_rank(&mut self, v: &Val) -> Option<usize> {
        self.outer_shape(v).map(|s| s.len())
    }

    pub fn elem_name(&self, elem: ElemTy, families: &[ravel_core::ir::Family]) -> String {
        match elem {
            ElemTy::Basic(b) => b.name().to_string(),
            ElemTy::User(u) => self.program.user_types[u.index()].name.clone(),
            ElemTy::Struct(s) => format!("struct {}", self.program.structs[s.index()].name),
            ElemTy::Family(f) => families.get(f.index()).map_or("?".to_string(), |f| f.name.clone()),
        }
    }

    /// The type of a value as a programmer would write it.
    pub fn show_value_type(&mut self, v: &Val) -> String {
        let Some(elem) = self.elem_of(v) else {
            return "?".to_string();
        };
        let mut name = self.elem_name(elem, &[]);
        if let Kind::Struct(s, fields) = self.em.kind_of(v) {
            name.push_str(&shown_members(self.program, s, &fields));
        }
        match self.outer_shape(v) {
            None => format!("{name}[*]"),
            Some(shape) if shape.is_empty() => name,
            Some(shape) => {
                let extents: Vec<String> =
                    shape.iter().map(|s| s.as_int().map_or(".".to_string(), |n| n.to_string())).collect();
                format!("{name}[{}]", extents.join(","))
            }
        }
    }

    /// A declared type as written.
    pub fn show_type(&self, fun: &ravel_core::ir::Fun, ty: &TypePat) -> String {
        let name = self.elem_name(ty.elem, &fun.families);
        if ty.dims.is_empty() {
            return name;
        }
        let local = |l: &ravel_core::ir::LocalId| fun.locals[l.index()].name.clone();
        let dims: Vec<String> = ty
            .dims
            .iter()
            .map(|d| match d {
                DimPat::Num(n) => n.to_string(),
                DimPat::Any => ".".to_string(),
                DimPat::Name(l) => local(l),
                DimPat::Star => "*".to_string(),
                DimPat::Plus => "+".to_string(),
                DimPat::Rank { rank, min, shape } => {
                    let rank = match rank {
                        RankPat::Num(n) => n.to_string(),
                        RankPat::Name(l) => local(l),
                        RankPat::Anon => "_".to_string(),
                    };
                    let min = if *min > 0 { format!(">{}", min - 1) } else { String::new() };
                    format!("{rank}{min}:{}", shape.as_ref().map_or("_".to_string(), local))
                }
            })
            .collect();
        format!("{name}[{}]", dims.join(","))
    }

    /// The head of a function, for candidate lists.
    pub fn show_head(&self, fun: &ravel_core::ir::Fun) -> String {
        let params: Vec<String> = fun.params.iter().map(|p| self.show_type(fun, &p.ty)).collect();
        let dots = if fun.variadic_params { ", ..." } else { "" };
        format!("{}({}{dots})", fun.name, params.join(", "))
    }
}

/// The shape of a kind as the program sees it, with the extents that are known; nothing if the rank is unknown.
pub fn outer_shape_of_kind(program: &Program, kind: &Kind) -> Option<Vec<Option<i32>>> {
    let without = |kind: &Kind, inner: usize| {
        let mut shape = outer_shape_of_kind(program, kind)?;
        shape.truncate(shape.len().saturating_sub(inner));
        Some(shape)
    };
    match kind {
        Kind::Bottom | Kind::Sc(..) | Kind::Handle(_) => Some(Vec::new()),
        Kind::Tup(_, elements) => Some(vec![i32::try_from(elements.len()).ok()]),
        Kind::Arr(_, ShapeKind::Unknown) => None,
        Kind::Arr(_, ShapeKind::Known(extents)) => {
            Some(extents.iter().map(|extent| extent.as_ref().and_then(Affine::as_const)).collect())
        }
        Kind::Wrapped(user, inside) => match &program.user_types[user.index()].kind {
            UserTypeKind::Typedef { shape, .. } => without(inside, shape.len()),
            _ => Some(Vec::new()),
        },
        Kind::Struct(record, fields) => {
            let def = &program.structs[record.index()];
            if def.open {
                return Some(Vec::new());
            }
            let inner = def.fields.first().and_then(|field| field.shape.as_ref()).map_or(0, Vec::len);
            without(fields.first()?, inner)
        }
    }
}
