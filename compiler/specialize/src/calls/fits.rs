//! Whether a value of some kind fits a parameter, for those who have not written the call yet.
//!
//! This is what `bind` does, without code: names get the extents that kinds know, and what is not known fits possibly.

use crate::types::outer_shape_of_kind;
use crate::value::Kind;
use ravel_core::ir::{DimPat, ElemTy, Fun, LocalId, Program, RankPat};
use ravel_types::{Basic, HashMap};

/// How well an argument fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fit {
    Exact,
    /// That depends on what is not known.
    Possible,
    No,
}

/// What a name of a pattern stands for.
#[derive(Clone, Debug, PartialEq)]
pub enum Bound {
    /// An extent or a number of axes.
    Number(i64),
    /// Extents; nothing for those that are not known.
    Vector(Vec<Option<i64>>),
}

/// What the arguments so far say of a function's names.
#[derive(Clone, Debug, Default)]
pub struct Bindings {
    pub families: HashMap<usize, Basic>,
    pub names: HashMap<LocalId, Bound>,
}

/// Whether a value fits a parameter, with what the parameters before it have bound; it binds what it says itself, if it fits.
pub fn fits(program: &Program, fun: &Fun, parameter: usize, kind: &Kind, bindings: &mut Bindings) -> Fit {
    let Some(param) = fun.params.get(parameter) else {
        return if fun.variadic_params { Fit::Possible } else { Fit::No };
    };
    let mut trial = bindings.clone();
    let fit = elem(fun, param.ty.elem, kind, &mut trial).max(dims(program, &param.ty.dims, kind, &mut trial));
    if fit != Fit::No {
        *bindings = trial;
    }
    fit
}

fn elem(fun: &Fun, want: ElemTy, kind: &Kind, bindings: &mut Bindings) -> Fit {
    let have = match kind {
        Kind::Bottom => return Fit::Possible,
        Kind::Sc(basic, _) | Kind::Tup(basic, _) | Kind::Arr(basic, _) => ElemTy::Basic(*basic),
        Kind::Handle(user) | Kind::Wrapped(user, _) => ElemTy::User(*user),
        Kind::Struct(record, _) => ElemTy::Struct(*record),
    };
    let same = match (want, have) {
        (ElemTy::Family(family), ElemTy::Basic(basic)) => match bindings.families.get(&family.index()) {
            Some(bound) => *bound == basic,
            None => {
                bindings.families.insert(family.index(), basic);
                fun.families.get(family.index()).is_some_and(|family| family.members.contains(&basic))
            }
        },
        _ => want == have,
    };
    if same { Fit::Exact } else { Fit::No }
}

fn dims(program: &Program, dims: &[DimPat], kind: &Kind, bindings: &mut Bindings) -> Fit {
    if matches!(kind, Kind::Bottom) {
        return Fit::Possible;
    }
    let Some(shape) = outer_shape_of_kind(program, kind) else { return Fit::Possible };
    let shape: Vec<Option<i64>> = shape.iter().map(|extent| extent.map(i64::from)).collect();
    // How many axes each feature takes, and the one feature that takes what the others leave.
    let mut counts = Vec::with_capacity(dims.len());
    let mut open = None;
    for (at, dim) in dims.iter().enumerate() {
        let count = match dim {
            DimPat::Num(_) | DimPat::Any | DimPat::Name(_) => Some(1),
            DimPat::Rank { rank: RankPat::Num(n), .. } => usize::try_from(*n).ok(),
            DimPat::Rank { rank: RankPat::Name(name), .. } => match bindings.names.get(name) {
                Some(Bound::Number(n)) => usize::try_from(*n).ok(),
                _ => None,
            },
            DimPat::Rank { .. } | DimPat::Star | DimPat::Plus => None,
        };
        if count.is_none() && open.replace(at).is_some() {
            // Another argument has to say more.
            return Fit::Possible;
        }
        counts.push(count);
    }
    let total: usize = counts.iter().flatten().sum();
    match open {
        None if total != shape.len() => return Fit::No,
        None => {}
        Some(at) => {
            let least = match &dims[at] {
                DimPat::Plus => 1,
                DimPat::Rank { min, .. } => usize::try_from(*min).unwrap_or(0),
                _ => 0,
            };
            match shape.len().checked_sub(total) {
                Some(count) if count >= least => counts[at] = Some(count),
                _ => return Fit::No,
            }
        }
    }
    let mut fit = Fit::Exact;
    let mut axis = 0;
    for (dim, count) in dims.iter().zip(counts) {
        let count = count.unwrap_or(0);
        let part = shape.get(axis..axis + count).unwrap_or(&[]);
        axis += count;
        match dim {
            DimPat::Num(n) => fit = fit.max(agrees(part[0], Some(i64::from(*n)))),
            DimPat::Name(name) => fit = fit.max(bind_extent(*name, part[0], bindings)),
            DimPat::Rank { rank, shape, .. } => {
                if let RankPat::Name(name) = rank {
                    fit = fit.max(bind_extent(*name, i64::try_from(count).ok(), bindings));
                }
                if let Some(name) = shape {
                    fit = fit.max(bind_vector(*name, part, bindings));
                }
            }
            DimPat::Any | DimPat::Star | DimPat::Plus => {}
        }
    }
    fit
}

fn agrees(a: Option<i64>, b: Option<i64>) -> Fit {
    match (a, b) {
        (Some(a), Some(b)) if a == b => Fit::Exact,
        (Some(_), Some(_)) => Fit::No,
        _ => Fit::Possible,
    }
}

fn bind_extent(name: LocalId, extent: Option<i64>, bindings: &mut Bindings) -> Fit {
    match (bindings.names.get(&name), extent) {
        (Some(Bound::Number(known)), _) => agrees(Some(*known), extent),
        (Some(Bound::Vector(_)), _) => Fit::No,
        (None, Some(extent)) => {
            bindings.names.insert(name, Bound::Number(extent));
            Fit::Exact
        }
        // Whatever it is: it is the first to say so.
        (None, None) => Fit::Exact,
    }
}

fn bind_vector(name: LocalId, part: &[Option<i64>], bindings: &mut Bindings) -> Fit {
    match bindings.names.get(&name) {
        Some(Bound::Vector(known)) if known.len() == part.len() => {
            known.iter().zip(part).map(|(a, b)| agrees(*a, *b)).max().unwrap_or(Fit::Exact)
        }
        Some(_) => Fit::No,
        None => {
            bindings.names.insert(name, Bound::Vector(part.to_vec()));
            Fit::Exact
        }
    }
}

/// The value of a parameter that is a scalar may be a name of a pattern.
pub fn bind_value(fun: &Fun, parameter: usize, kind: &Kind, bindings: &mut Bindings) {
    let constant = match kind {
        Kind::Sc(Basic::Int, value) => value.form().and_then(|form| form.as_const()),
        _ => None,
    };
    if let (Some(param), Some(value)) = (fun.params.get(parameter), constant) {
        bindings.names.entry(param.local).or_insert(Bound::Number(i64::from(value)));
    }
}

/// `k = 4, shp = [2, 3]`, as far as names are known.
pub fn shown(fun: &Fun, bindings: &Bindings) -> String {
    let text = |extent: &Option<i64>| extent.map_or(".".to_string(), |n| n.to_string());
    let of = |(at, local): (usize, &ravel_core::ir::Local)| {
        let name = LocalId(u32::try_from(at).ok()?);
        let is_parameter = fun.params.iter().any(|param| param.local == name);
        match bindings.names.get(&name)? {
            _ if is_parameter => None,
            Bound::Number(n) => Some(format!("{} = {n}", local.name)),
            Bound::Vector(extents) => {
                let extents: Vec<String> = extents.iter().map(text).collect();
                Some(format!("{} = [{}]", local.name, extents.join(", ")))
            }
        }
    };
    let families = fun.families.iter().enumerate().filter_map(|(at, family)| {
        bindings.families.get(&at).map(|basic| format!("{} = {}", family.name, basic.name()))
    });
    let names = fun.locals.iter().enumerate().filter_map(of);
    families.chain(names).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::ShapeKind;
    use ravel_core::ir::{FunBody, Local, Param, TypePat};
    use ravel_source::Span;
    use ravel_types::Affine;

    /// `double[m,n] matmul(double[m,k] a, double[k,n] b)`, with names in the slots 2, 3 and 4.
    fn matmul() -> Fun {
        let name = |slot| DimPat::Name(LocalId(slot));
        let ty = |dims| TypePat { elem: ElemTy::Basic(Basic::Double), dims, span: Span::NONE };
        let locals = ["a", "b", "m", "k", "n"];
        let local = |name: &str| Local { name: name.to_string(), declared: None, span: Span::NONE };
        let param = |slot, dims| Param { local: LocalId(slot), ty: ty(dims), by_ref: false };
        Fun {
            name: "matmul".to_string(),
            module: String::new(),
            inline: false,
            noinline: false,
            associative: false,
            fieldwise: None,
            derived: Default::default(),
            families: Vec::new(),
            params: vec![param(0, vec![name(2), name(3)]), param(1, vec![name(3), name(4)])],
            results: Vec::new(),
            variadic_params: false,
            variadic_results: false,
            conds: Vec::new(),
            locals: locals.map(local).to_vec(),
            body: FunBody::Sac { block: Vec::new(), returns: Vec::new() },
            span: Span::NONE,
        }
    }

    fn array(basic: Basic, extents: &[Option<i32>]) -> Kind {
        Kind::Arr(basic, ShapeKind::Known(extents.iter().map(|n| n.map(Affine::constant)).collect()))
    }

    #[test]
    fn arguments_before_decide() {
        let (program, fun) = (Program::default(), matmul());
        let mut bindings = Bindings::default();
        let of = |basic, extents: &[Option<i32>], at, bindings: &mut Bindings| {
            fits(&program, &fun, at, &array(basic, extents), bindings)
        };
        assert_eq!(of(Basic::Double, &[Some(3)], 0, &mut bindings), Fit::No);
        assert_eq!(of(Basic::Int, &[Some(3), Some(4)], 0, &mut bindings), Fit::No);
        assert_eq!(of(Basic::Double, &[Some(3), Some(4)], 0, &mut bindings), Fit::Exact);
        assert_eq!(shown(&fun, &bindings), "m = 3, k = 4");
        assert_eq!(of(Basic::Double, &[Some(5), Some(4)], 1, &mut bindings), Fit::No);
        assert_eq!(of(Basic::Double, &[None, Some(4)], 1, &mut bindings.clone()), Fit::Possible);
        assert_eq!(of(Basic::Double, &[Some(4), Some(2)], 1, &mut bindings), Fit::Exact);
        assert_eq!(of(Basic::Double, &[Some(4), Some(2)], 2, &mut bindings), Fit::No);
        let unknown = Kind::Arr(Basic::Double, ShapeKind::Unknown);
        assert_eq!(fits(&program, &fun, 0, &unknown, &mut Bindings::default()), Fit::Possible);
    }
}
