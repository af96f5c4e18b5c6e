//! Arguments for a function, drawn from its type patterns: what one name stands for is the same in all parameters.

use super::elements::{self, Mood, Random};
use crate::repl::value::{TypeName, Value, array};
use ravel_core::ir::{DimPat, ElemTy, Fun, LocalId, Program, RankPat, UserTypeId, UserTypeKind};
use ravel_specialize::value::{Kind, ScKind, ShapeKind};
use ravel_types::{Affine, Basic, Scalar};

/// Ranks are drawn up to this one.
pub const MOST_AXES: usize = 4;

/// Extents that are drawn: empty, single, and such as are no multiple of a vector's lanes.
const EXTENTS: [i64; 7] = [0, 1, 2, 3, 7, 8, 17];

/// Most elements of a drawn array: the interpreter has to get through them as well.
const MOST_ELEMENTS: i64 = 600;

/// A number of axes that is to be chosen.
#[derive(Clone, Debug)]
struct Rank {
    name: Option<LocalId>,
    least: usize,
}

/// Axes that belong together, and whose extents are to be chosen.
#[derive(Clone, Debug)]
struct Axes {
    name: Option<LocalId>,
    count: Count,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Count {
    Fixed(usize),
    /// As many as the rank at this position says.
    Rank(usize),
    /// One axis, whose extent is the rank at this position.
    ExtentIsRank(usize),
}

#[derive(Clone, Copy, Debug)]
enum Dim {
    Fixed(i64),
    Axes(usize),
}

#[derive(Clone, Debug)]
enum Element {
    Basic(Basic),
    /// One of several types; the position of the choice.
    Family(usize),
    /// A type with a representation of its own.
    User {
        id: UserTypeId,
        name: TypeName,
        base: Basic,
        inner: Vec<i64>,
    },
}

/// What decides the value of a parameter that a pattern names.
#[derive(Clone, Copy, Debug)]
enum Bound {
    No,
    Rank(usize),
    Extents(usize),
}

#[derive(Clone, Debug)]
struct Param {
    name: String,
    element: Element,
    dims: Vec<Dim>,
    bound: Bound,
}

/// What the patterns of a function leave open.
#[derive(Clone, Debug)]
pub struct Patterns {
    params: Vec<Param>,
    ranks: Vec<Rank>,
    axes: Vec<Axes>,
    families: Vec<Vec<Basic>>,
    /// The names that patterns bind, for reports.
    names: Vec<(LocalId, String)>,
}

/// What decides for which types a function has to be compiled.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Types {
    pub ranks: Vec<usize>,
    pub members: Vec<usize>,
}

/// One choice of everything.
#[derive(Clone, Debug)]
pub struct Case {
    pub types: Types,
    /// For each group of axes.
    pub extents: Vec<Vec<i64>>,
    /// For each parameter, in row-major order.
    pub elements: Vec<Vec<Scalar>>,
}

impl Patterns {
    /// Reads the parameters of a function.
    ///
    /// # Errors
    /// Why there are no arguments to draw.
    pub fn of(program: &Program, fun: &Fun) -> Result<Patterns, String> {
        let mut patterns = Patterns {
            params: Vec::new(),
            ranks: Vec::new(),
            axes: Vec::new(),
            families: fun.families.iter().map(|family| family.members.clone()).collect(),
            names: Vec::new(),
        };
        // A rank may be named after an extent of the same name was met.
        for param in &fun.params {
            for dim in &param.ty.dims {
                if let DimPat::Rank { rank: RankPat::Name(name), min, .. } = dim {
                    patterns.rank(Some(*name), *min);
                }
            }
        }
        for param in &fun.params {
            let name = fun.locals[param.local.index()].name.clone();
            if param.by_ref {
                return Err(format!("nothing can be drawn for `{name}`, which is passed by reference"));
            }
            let element = element_of(program, &param.ty.elem)
                .ok_or_else(|| format!("nothing can be drawn for `{name}`: its type has no elements that are known"))?;
            let dims = param.ty.dims.iter().map(|dim| patterns.dim(dim)).collect();
            patterns.params.push(Param { name, element, dims, bound: Bound::No });
        }
        for (at, param) in fun.params.iter().enumerate() {
            patterns.params[at].bound = patterns.bound(param.local);
        }
        let named = patterns.ranks.iter().map(|rank| rank.name).chain(patterns.axes.iter().map(|axes| axes.name));
        let mut locals: Vec<LocalId> = named.flatten().collect();
        locals.sort();
        locals.dedup();
        patterns.names = locals.iter().map(|local| (*local, fun.locals[local.index()].name.clone())).collect();
        Ok(patterns)
    }

    fn rank(&mut self, name: Option<LocalId>, least: i32) -> usize {
        let least = usize::try_from(least).unwrap_or(0);
        let known = name.and_then(|name| self.ranks.iter().position(|rank| rank.name == Some(name)));
        let at = known.unwrap_or_else(|| {
            self.ranks.push(Rank { name, least });
            self.ranks.len() - 1
        });
        self.ranks[at].least = self.ranks[at].least.max(least);
        at
    }

    fn group(&mut self, name: Option<LocalId>, count: Count) -> Dim {
        let known = name.and_then(|name| self.axes.iter().position(|axes| axes.name == Some(name)));
        Dim::Axes(known.unwrap_or_else(|| {
            self.axes.push(Axes { name, count });
            self.axes.len() - 1
        }))
    }

    fn dim(&mut self, dim: &DimPat) -> Dim {
        match dim {
            DimPat::Num(extent) => Dim::Fixed(i64::from(*extent)),
            DimPat::Any => self.group(None, Count::Fixed(1)),
            DimPat::Name(name) => {
                let rank = self.ranks.iter().position(|rank| rank.name == Some(*name));
                self.group(Some(*name), rank.map_or(Count::Fixed(1), Count::ExtentIsRank))
            }
            DimPat::Star | DimPat::Plus => {
                let rank = self.rank(None, i32::from(*dim == DimPat::Plus));
                self.group(None, Count::Rank(rank))
            }
            DimPat::Rank { rank, min, shape } => {
                let count = match rank {
                    RankPat::Num(n) => Count::Fixed(usize::try_from(*n).unwrap_or(0)),
                    RankPat::Name(name) => Count::Rank(self.rank(Some(*name), *min)),
                    RankPat::Anon => Count::Rank(self.rank(None, *min)),
                };
                self.group(*shape, count)
            }
        }
    }

    fn bound(&self, local: LocalId) -> Bound {
        let rank = self.ranks.iter().position(|rank| rank.name == Some(local));
        let axes = self.axes.iter().position(|axes| axes.name == Some(local));
        rank.map(Bound::Rank).or(axes.map(Bound::Extents)).unwrap_or(Bound::No)
    }

    /// Whether there is nothing to draw.
    pub fn is_empty(&self) -> bool {
        self.params.is_empty()
    }

    /// Draws everything.
    pub fn draw(&self, random: &mut Random) -> Case {
        let mut ranks: Vec<usize> = self.ranks.iter().map(|rank| random.below(MOST_AXES + 1).max(rank.least)).collect();
        // Several ranks in one type make many axes of few elements.
        let is_large = |ranks: &[usize]| self.params.iter().any(|param| self.axes_of(param, ranks) > MOST_AXES + 2);
        while is_large(&ranks) {
            let Some(at) = (0..ranks.len()).filter(|at| ranks[*at] > self.ranks[*at].least).max_by_key(|at| ranks[*at])
            else {
                break;
            };
            ranks[at] -= 1;
        }
        let members = self.families.iter().map(|members| random.below(members.len())).collect();
        let types = Types { ranks, members };
        let mut extents: Vec<Vec<i64>> = Vec::new();
        for axes in &self.axes {
            let drawn = (0..self.count(axes, &types.ranks)).map(|_| random.choose(&EXTENTS)).collect();
            extents.push(drawn);
        }
        self.lower(&types, &mut extents);
        let mut case = Case { types, extents, elements: Vec::new() };
        self.settle(&mut case);
        for param in &self.params {
            let count = self.shape(param, &case).iter().product::<i64>();
            let (basic, mood) = (self.basic(param, &case.types), elements::mood(random));
            let elements = (0..count).map(|_| self.element(param, basic, mood, random)).collect();
            case.elements.push(elements);
        }
        self.settle(&mut case);
        case
    }

    /// A case with these extents for names, all others 1; elements are of everyday size.
    pub fn with_extents(&self, names: &[(String, i64)], random: &mut Random) -> Case {
        let wanted = |local: Option<LocalId>| {
            let name = local.and_then(|local| self.names.iter().find(|(known, _)| *known == local))?;
            names.iter().find(|(known, _)| *known == name.1).map(|(_, extent)| *extent)
        };
        let rank = |rank: &Rank| wanted(rank.name).and_then(|n| usize::try_from(n).ok()).unwrap_or(1).max(rank.least);
        let types =
            Types { ranks: self.ranks.iter().map(rank).collect(), members: self.families.iter().map(|_| 0).collect() };
        let extents = |axes: &Axes| vec![wanted(axes.name).unwrap_or(1); self.count(axes, &types.ranks)];
        let extents = self.axes.iter().map(extents).collect();
        let mut case = Case { types, extents, elements: Vec::new() };
        self.settle(&mut case);
        for param in &self.params {
            let count = self.shape(param, &case).iter().product::<i64>();
            let basic = self.basic(param, &case.types);
            // A parameter of a name that is given has that value.
            let given = names.iter().find(|(name, _)| *name == param.name && param.dims.is_empty());
            let fixed = given.and_then(|(_, value)| Scalar::from_i64(basic.elem(), *value));
            let elements = (0..count).map(|_| fixed.unwrap_or_else(|| spread(basic, random)));
            case.elements.push(elements.collect());
        }
        self.settle(&mut case);
        case
    }

    /// What has no value yet: names of patterns, and parameters with axes that have no name.
    pub fn without_value(&self, given: &[(String, i64)]) -> Vec<String> {
        let is_given = |name: &str| given.iter().any(|(known, _)| known == name);
        let mut missing: Vec<String> =
            self.names.iter().filter(|(_, name)| !is_given(name)).map(|(_, name)| format!("`{name}`")).collect();
        let is_open = |dim: &Dim| match dim {
            Dim::Fixed(_) => false,
            Dim::Axes(at) => self.axes[*at].name.is_none() && self.axes[*at].count != Count::Fixed(0),
        };
        let open = self.params.iter().filter(|param| param.dims.iter().any(is_open));
        missing.extend(open.map(|param| format!("the shape of `{}`", param.name)));
        missing
    }

    fn element(&self, param: &Param, basic: Basic, mood: Mood, random: &mut Random) -> Scalar {
        match &param.element {
            // A color is three numbers of 0 to 255.
            Element::User { name, .. } if name.name == "Color8" => {
                Scalar::I32(random.choose(&[0, 1, 127, 128, 254, 255]))
            }
            _ => elements::draw(basic, mood, random),
        }
    }

    fn count(&self, axes: &Axes, ranks: &[usize]) -> usize {
        match axes.count {
            Count::Fixed(n) => n,
            Count::Rank(at) => ranks[at],
            Count::ExtentIsRank(_) => 1,
        }
    }

    fn axes_of(&self, param: &Param, ranks: &[usize]) -> usize {
        let of = |dim: &Dim| match dim {
            Dim::Fixed(_) => 1,
            Dim::Axes(at) => self.count(&self.axes[*at], ranks),
        };
        param.dims.iter().map(of).sum()
    }

    /// Lowers the largest extents until every array is small enough.
    fn lower(&self, types: &Types, extents: &mut [Vec<i64>]) {
        loop {
            let case = Case { types: types.clone(), extents: extents.to_vec(), elements: Vec::new() };
            let large = self.params.iter().find(|param| {
                self.shape(param, &case)
                    .iter()
                    .try_fold(1_i64, |all, n| all.checked_mul(*n))
                    .is_none_or(|n| n > MOST_ELEMENTS)
            });
            let Some(param) = large else { return };
            let mine = param.dims.iter().filter_map(|dim| if let Dim::Axes(at) = dim { Some(*at) } else { None });
            let places = mine.flat_map(|at| (0..extents[at].len()).map(move |axis| (at, axis)));
            let Some((at, axis)) = places.max_by_key(|(at, axis)| extents[*at][*axis]) else { return };
            if extents[at][axis] < 2 {
                return;
            }
            extents[at][axis] /= 2;
        }
    }

    /// Gives everything that follows from ranks and extents its value.
    pub fn settle(&self, case: &mut Case) {
        for (axes, extents) in self.axes.iter().zip(&mut case.extents) {
            if let Count::ExtentIsRank(at) = axes.count {
                *extents = vec![case.types.ranks[at] as i64];
            }
        }
        for (at, param) in self.params.iter().enumerate() {
            let values: Vec<i64> = match param.bound {
                Bound::No => continue,
                Bound::Rank(rank) => vec![case.types.ranks[rank] as i64],
                Bound::Extents(axes) => case.extents[axes].clone(),
            };
            if let Some(elements) = case.elements.get_mut(at) {
                let elem = self.basic(param, &case.types).elem();
                *elements = values.iter().filter_map(|value| Scalar::from_i64(elem, *value)).collect();
            }
        }
    }

    fn basic(&self, param: &Param, types: &Types) -> Basic {
        match &param.element {
            Element::Basic(basic) => *basic,
            Element::Family(at) => {
                self.families.get(*at).zip(types.members.get(*at)).map_or(Basic::Int, |(all, at)| all[*at])
            }
            Element::User { base, .. } => *base,
        }
    }

    /// The shape of a parameter's representation.
    fn shape(&self, param: &Param, case: &Case) -> Vec<i64> {
        let mut shape = Vec::new();
        for dim in &param.dims {
            match dim {
                Dim::Fixed(extent) => shape.push(*extent),
                Dim::Axes(at) => shape.extend(&case.extents[*at]),
            }
        }
        if let Element::User { inner, .. } = &param.element {
            shape.extend(inner);
        }
        shape
    }

    /// The same case with other ranks or extents; elements stay where they have a place, others are 0. What is cut off is the end of each
    /// axis, or its beginning.
    pub fn reshaped(&self, case: &Case, ranks: Vec<usize>, mut extents: Vec<Vec<i64>>, keeps_end: bool) -> Case {
        for (axes, extents) in self.axes.iter().zip(&mut extents) {
            extents.resize(self.count(axes, &ranks), 1);
        }
        let types = Types { ranks, members: case.types.members.clone() };
        let mut new = Case { types, extents, elements: case.elements.clone() };
        self.settle(&mut new);
        for (at, param) in self.params.iter().enumerate() {
            let (old, now) = (self.shape(param, case), self.shape(param, &new));
            let zero = Scalar::zero(self.basic(param, &new.types).elem()).unwrap_or(Scalar::I32(0));
            let of = &case.elements[at];
            let count = now.iter().product::<i64>();
            let skipped = if keeps_end { of.len().saturating_sub(count as usize) } else { 0 };
            let element = |flat: i64| match old.len() == now.len() {
                true => place(flat, &now, &old, keeps_end).and_then(|at| of.get(at)).copied().unwrap_or(zero),
                false => of.get(flat as usize + skipped).copied().unwrap_or(zero),
            };
            new.elements[at] = (0..count).map(element).collect();
        }
        self.settle(&mut new);
        new
    }

    /// The extents without one axis of all that have this rank.
    pub fn without_axis(&self, case: &Case, rank: usize, axis: usize) -> Vec<Vec<i64>> {
        let mut extents = case.extents.clone();
        for (axes, extents) in self.axes.iter().zip(&mut extents) {
            if axes.count == Count::Rank(rank) && axis < extents.len() {
                extents.remove(axis);
            }
        }
        extents
    }

    /// Whether a rank may be this low.
    pub fn least_rank(&self, at: usize) -> usize {
        self.ranks[at].least
    }

    /// Whether the extents of these axes are chosen, and not given by a rank.
    pub fn is_free(&self, axes: usize) -> bool {
        !matches!(self.axes[axes].count, Count::ExtentIsRank(_))
    }

    /// The kinds for which the function is compiled: ranks are known, extents are not.
    pub fn kinds(&self, case: &Case) -> Vec<Kind> {
        let kind = |param: &Param| {
            let rank = self.axes_of(param, &case.types.ranks);
            let basic = self.basic(param, &case.types);
            let open = vec![None; rank];
            match &param.element {
                Element::User { id, inner, .. } => {
                    let fixed = inner.iter().map(|n| i32::try_from(*n).ok().map(Affine::constant));
                    let shape: Vec<_> = open.into_iter().chain(fixed).collect();
                    let rep = match shape.is_empty() {
                        true => Kind::Sc(basic, ScKind::Any),
                        false => Kind::Arr(basic, ShapeKind::Known(shape)),
                    };
                    Kind::Wrapped(*id, Box::new(rep))
                }
                _ if rank == 0 => Kind::Sc(basic, ScKind::Any),
                _ => Kind::Arr(basic, ShapeKind::Known(open)),
            }
        };
        self.params.iter().map(kind).collect()
    }

    /// The arguments. Nothing if there is no memory for them.
    pub fn values(&self, case: &Case) -> Option<Vec<Value>> {
        let value = |(param, elements): (&Param, &Vec<Scalar>)| {
            let (basic, shape) = (self.basic(param, &case.types), self.shape(param, case));
            let rep = match shape.is_empty() {
                true => Value::Scalar(basic, *elements.first()?),
                false => Value::Array(basic, array(basic.elem(), &shape, elements)?),
            };
            Some(match &param.element {
                Element::User { name, inner, .. } => {
                    Value::Typedef { ty: name.clone(), inner: inner.len(), rep: Box::new(rep) }
                }
                _ => rep,
            })
        };
        self.params.iter().zip(&case.elements).map(value).collect()
    }

    /// The arguments as assignments of SaC, and what the names of the patterns stand for.
    pub fn describe(&self, case: &Case) -> String {
        let values = self.values(case).unwrap_or_default();
        let mut out = String::new();
        for (param, value) in self.params.iter().zip(&values) {
            out.push_str(&format!("  {} = {};\n", param.name, elements::expression(value)));
        }
        let rank = |local| self.ranks.iter().position(|rank| rank.name == Some(local)).map(|at| &case.types.ranks[at]);
        let axes = |local| self.axes.iter().position(|axes| axes.name == Some(local));
        let facts: Vec<String> = (self.names.iter())
            .filter_map(|(local, name)| match (rank(*local), axes(*local)) {
                (Some(rank), _) => Some(format!("{name} is {rank}")),
                (None, Some(at)) if self.axes[at].count == Count::Fixed(1) => {
                    Some(format!("{name} is {}", case.extents[at].first()?))
                }
                (None, Some(at)) => {
                    let extents: Vec<String> = case.extents[at].iter().map(i64::to_string).collect();
                    Some(format!("{name} is [{}]", extents.join(",")))
                }
                _ => None,
            })
            .collect();
        if !facts.is_empty() {
            out.push_str(&format!("  // {}\n", facts.join(", ")));
        }
        out
    }
}

/// Where the element at a row-major position of one shape lies in another one of as many axes, whose beginnings or ends meet; nothing
/// if that has no such place.
fn place(flat: i64, shape: &[i64], other: &[i64], at_end: bool) -> Option<usize> {
    let (mut rest, mut at, mut size) = (flat, 0, 1);
    for (extent, other) in shape.iter().zip(other).rev() {
        let moved = if at_end { other - extent } else { 0 };
        let index = rest % extent.max(&1) + moved;
        rest /= extent.max(&1);
        if !(0..*other).contains(&index) {
            return None;
        }
        at += index * size;
        size *= other;
    }
    usize::try_from(at).ok()
}

/// A number of everyday: reals from -1 to 1, integers from 0 to 99.
fn spread(basic: Basic, random: &mut Random) -> Scalar {
    match basic {
        Basic::Float => Scalar::F32((random.unit() * 2.0 - 1.0) as f32),
        Basic::Double => Scalar::F64(random.unit() * 2.0 - 1.0),
        Basic::Bool | Basic::Char => elements::draw(basic, Mood::Small, random),
        _ => Scalar::from_i64(basic.elem(), random.below(100) as i64).unwrap_or(Scalar::I32(0)),
    }
}

fn element_of(program: &Program, elem: &ElemTy) -> Option<Element> {
    Some(match elem {
        ElemTy::Basic(basic) => Element::Basic(*basic),
        ElemTy::Family(id) => Element::Family(id.index()),
        ElemTy::Struct(_) => return None,
        ElemTy::User(id) => {
            let user = program.user_types.get(id.index())?;
            let UserTypeKind::Typedef { base, shape } = &user.kind else { return None };
            // A type that stands for another one of its kind has axes of both.
            let (base, within) = match element_of(program, base)? {
                Element::Basic(base) => (base, Vec::new()),
                Element::Family(_) | Element::User { .. } => return None,
            };
            let inner = shape.iter().map(|n| i64::from(*n)).chain(within).collect();
            let name = TypeName { module: user.module.clone(), name: user.name.clone() };
            Element::User { id: *id, name, base, inner }
        }
    })
}
