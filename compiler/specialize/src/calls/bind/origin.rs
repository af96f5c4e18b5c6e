//! What messages say of a name in a head that has two values: what it measures where it is defined, and at the other place.

use super::Heads;
use crate::check::{Agree, Wording, coded};
use crate::spec::{Frame, Spec};
use crate::value::Val;
use ravel_core::ir::{DimPat, Fun, LocalId, RankPat, TypePat};
use ravel_diagnostics::Code;
use ravel_source::Span;
use ravel_types::{Basic, BinOp};

/// A feature of a pattern, and the axis at which it begins if that is known.
#[derive(Clone, Copy)]
pub struct Place {
    pub item: usize,
    pub feature: usize,
    pub axis: Option<i32>,
    /// The item is a result, no parameter.
    pub of_result: bool,
}

/// One of two places of a name.
struct Side {
    /// The type that holds it.
    span: Span,
    /// `in a`, `on the left`.
    inside: String,
    axis: Option<i32>,
    /// `a, axis 1`, `shape of a`; nothing for a parameter, which is no measure.
    measure: Option<String>,
}

impl Side {
    /// `axis 1 of `a``.
    fn role(&self) -> Option<String> {
        let measure = self.measure.as_ref()?;
        let quoted = |who: &str| if who.contains(' ') { who.to_string() } else { format!("`{who}`") };
        Some(match (measure.split_once(", "), measure.rsplit_once(" of ")) {
            (Some((who, axis)), _) => format!("{axis} of {}", quoted(who)),
            (None, Some((what, who))) => format!("the {what} of {}", quoted(who)),
            (None, None) => measure.clone(),
        })
    }

    /// The measure behind a value.
    fn behind(&self) -> String {
        self.measure.as_ref().map_or(String::new(), |measure| format!(" ({measure})"))
    }
}

/// A name at the place that defines it, and at another one.
pub struct Compared {
    name: String,
    /// The user never wrote the name: it stands in a head of the library.
    in_library: bool,
    /// As messages name the function.
    function: String,
    there: Side,
    here: Side,
}

impl Compared {
    /// What a report on the extents is titled, and whether that says all; nothing if it is about a part of shapes that a function of the library compares.
    fn title(&self, what: &str, (a, b): (&str, &str), is_group: bool, call: Option<&str>) -> Option<String> {
        let whole = |side: &Side| side.measure.as_ref().is_some_and(|measure| measure.starts_with("shape of "));
        let (name, function, there, here) = (&self.name, &self.function, &self.there, &self.here);
        match (is_group, self.in_library) {
            (true, _) if whole(there) && whole(here) => {
                let expression = call.map_or(function.clone(), |text| format!("`{text}`"));
                Some(format!("{expression} needs equal shapes, not [{a}] and [{b}]"))
            }
            (false, false) => Some(format!("`{name}` of {function} is {a} {} and {b} {}", there.inside, here.inside)),
            (true, false) => {
                Some(format!("`{name}` of {function} is [{a}] {} and [{b}] {}", there.inside, here.inside))
            }
            (false, true) => {
                let (left, right) = (there.role()?, here.role()?);
                Some(format!("{what} differ in shape: {left} is {a}, {right} is {b}"))
            }
            (true, true) => None,
        }
    }

    /// Where the user's own head has the name twice.
    fn heads(&self) -> Vec<(Span, String)> {
        let (Some(there), Some(here)) = (self.there.role(), self.here.role()) else { return Vec::new() };
        if self.in_library || self.there.span == self.here.span {
            return Vec::new();
        }
        vec![(self.there.span, format!("`{}` is {there}", self.name)), (self.here.span, format!("and {here}"))]
    }

    /// Two extents at the same place of a named group of axes, `{}` standing for each.
    fn extents(&self, k: u32) -> String {
        let (name, there, here) = (&self.name, &self.there, &self.here);
        let at = |side: &Side| side.axis.map(|axis| axis + k as i32);
        match (at(there), at(here)) {
            (Some(i), Some(j)) if i == j => {
                format!("axis {i} has extent {{}} {} and {{}} {}", there.inside, here.inside)
            }
            (Some(i), Some(j)) => {
                format!("axis {i} has extent {{}} {}, axis {j} has {{}} {}", there.inside, here.inside)
            }
            _ => format!("`{name}[{k}]` is {{}}{} and {{}}{}", there.behind(), here.behind()),
        }
    }

    /// How many extents there are at both places.
    fn lengths(&self) -> String {
        format!("`{}` has length {{}}{} and {{}}{}", self.name, self.there.behind(), self.here.behind())
    }
}

impl Spec<'_> {
    /// A name that was bound before, and where it stands again.
    pub fn compared(&self, frame: &Frame, name: LocalId, place: Place) -> Compared {
        let fun = self.fun(frame.fun);
        let known = frame.places.iter().find(|(bound, _)| *bound == name);
        // A parameter of that name is no measure.
        let none = Side { span: Span::NONE, inside: "as given".to_string(), axis: None, measure: None };
        let there = known.map_or(none, |(_, there)| side(fun, name, *there));
        let here = side(fun, name, place);
        let in_library = self.in_library(frame);
        Compared {
            name: fun.locals[name.index()].name.clone(),
            in_library,
            function: format!("`{}`", fun.name),
            there,
            here,
        }
    }

    /// Is this a function of the library, whose patterns say nothing to who calls it?
    pub fn in_library(&self, frame: &Frame) -> bool {
        (self.options.is_library)(self.fun(frame.fun).span.file)
    }

    /// Extents of a name at two places: one if it names an axis, several if it names a group. False if they certainly differ.
    pub fn require_measured(&mut self, pairs: &[Agree], what: &str, is_group: bool, compared: &Compared) -> bool {
        let Compared { name, there, here, in_library, .. } = compared;
        let label = |a: &str, b: &str| match is_group {
            true if *in_library => format!("[{a}]{} and [{b}]{}", there.behind(), here.behind()),
            true => format!("`{name}` is [{a}]{} and [{b}]{}", there.behind(), here.behind()),
            false => format!("`{name}` is {a}{} and {b}{}", there.behind(), here.behind()),
        };
        let fault = |axis, left, right| {
            let text = match is_group {
                true => compared.extents(axis),
                false => format!("`{name}` is {{}}{} and {{}}{}", there.behind(), here.behind()),
            };
            coded(Code::ShapesDiffer, format!("{what}: {text}"), vec![left, right])
        };
        let call = self.user_call().and_then(|(site, _)| self.quotable(site.span)).map(str::to_string);
        let title = |a: &str, b: &str| {
            let general = || format!("{what} differ in shape: [{a}] and [{b}]");
            compared.title(what, (a, b), is_group, call.as_deref()).unwrap_or_else(general)
        };
        let is_told = compared.title(what, ("", ""), is_group, None).is_some();
        let wording = Wording { title: &title, heads: compared.heads(), is_told, label: &label, fault: &fault };
        self.require_agreement_in(pairs, &wording)
    }

    /// Numbers of axes of a named group at two places. False if they certainly differ.
    pub fn require_measured_ranks(&mut self, (left, right): (usize, usize), what: &str, compared: &Compared) -> bool {
        if left == right {
            return true;
        }
        let text = compared.lengths();
        if self.speculative == 0 {
            let label = text.replacen("{}", &left.to_string(), 1).replacen("{}", &right.to_string(), 1);
            let site = self.user_site();
            let report = self.of_fault(Code::ShapesDiffer, format!("{what} differ in rank: {left} and {right}"));
            self.report_from_here(report.at(site, label), site);
        }
        let fault =
            format!("{what}: {text}").replacen("{}", &left.to_string(), 1).replacen("{}", &right.to_string(), 1);
        self.emit_check(&crate::value::Sc::bool(false), coded(Code::ShapesDiffer, fault, Vec::new()));
        self.speculative > 0
    }

    /// Extents of a named group at two places, of which only the run knows how many they are.
    pub fn require_measured_shapes(&mut self, (left, right): (&Val, &Val), what: &str, compared: &Compared) -> bool {
        let (n, m) = (self.vector_length(left), self.vector_length(right));
        let same = self.em.bin(BinOp::Eq, Basic::Int, &n, &m);
        let text = format!("{what}: {}", compared.lengths());
        let operands = vec![self.em.value(&n), self.em.value(&m)];
        self.emit_check(&same, coded(Code::ShapesDiffer, text, operands));
        let equal = self.vectors_equal(left, right);
        let (name, there, here) = (&compared.name, compared.there.behind(), compared.here.behind());
        self.emit_explained_check(&equal, |spec| {
            let (mut numbers, mut shown) = (Vec::new(), Vec::new());
            for vector in [left, right] {
                shown.push(spec.show_value(vector, &mut numbers).unwrap_or_default());
            }
            let text = format!("{what}: `{name}` is {}{there} and {}{here}", shown[0], shown[1]);
            coded(Code::ShapesDiffer, text, numbers)
        });
        true
    }
}

/// Whether the items are the parameters of the function.
pub fn are_parameters(fun: &Fun, heads: &Heads<'_>) -> bool {
    let first = heads.items.first().map(|(ty, _)| *ty);
    first.is_some_and(|ty| fun.params.first().is_some_and(|param| std::ptr::eq(&param.ty, ty)))
}

/// Operands of functions that are written as operators have sides, no names.
fn is_operator(fun: &Fun) -> bool {
    fun.params.len() == 2 && !fun.name.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// What a parameter or result is called: `a`, `the left side`, `the result`.
pub fn called(fun: &Fun, item: usize, of_result: bool) -> String {
    match (of_result, item) {
        (false, 0) if is_operator(fun) => "the left side".to_string(),
        (false, 1) if is_operator(fun) => "the right side".to_string(),
        (false, _) => fun.params.get(item).map_or(String::new(), |param| fun.locals[param.local.index()].name.clone()),
        (true, _) if fun.results.len() == 1 => "the result".to_string(),
        (true, _) => format!("result {}", item + 1),
    }
}

fn side(fun: &Fun, name: LocalId, place: Place) -> Side {
    let inside = match (is_operator(fun) && !place.of_result, place.item) {
        (true, 0) => "on the left".to_string(),
        (true, _) => "on the right".to_string(),
        _ if place.of_result => format!("in {}", called(fun, place.item, true)),
        _ => format!("in `{}`", called(fun, place.item, false)),
    };
    let ty = match place.of_result {
        true => fun.results.get(place.item),
        false => fun.params.get(place.item).map(|param| &param.ty),
    };
    Side { span: ty.map_or(Span::NONE, |ty| ty.span), inside, axis: place.axis, measure: measured(fun, name, place) }
}

/// What a name measures at its place: `x, axis 1`, `rank of x`.
pub fn measured(fun: &Fun, name: LocalId, place: Place) -> Option<String> {
    let ty = match place.of_result {
        true => fun.results.get(place.item)?,
        false => &fun.params.get(place.item)?.ty,
    };
    measure(&called(fun, place.item, place.of_result), ty, place.feature, name, place.axis)
}

/// What a name measures at a feature of a pattern, if it stands there. The axis is known where ranks are.
fn measure(who: &str, ty: &TypePat, feature: usize, slot: LocalId, axis: Option<i32>) -> Option<String> {
    let whole = ty.dims.len() == 1;
    let count = |dims: &[DimPat]| dims.iter().map(fixed).sum::<Option<i32>>();
    match &ty.dims[feature] {
        DimPat::Name(named) if *named == slot => {
            let axis = axis.or_else(|| count(&ty.dims[..feature]));
            Some(match axis.or_else(|| count(&ty.dims[feature + 1..]).map(|behind| -1 - behind)) {
                Some(axis) => format!("{who}, axis {axis}"),
                None => format!("an axis of {who}"),
            })
        }
        DimPat::Rank { shape: Some(named), .. } if *named == slot => {
            Some(if whole { format!("shape of {who}") } else { format!("axes of {who}") })
        }
        DimPat::Rank { rank: RankPat::Name(named), .. } if *named == slot => {
            Some(if whole { format!("rank of {who}") } else { format!("number of axes of {who}") })
        }
        _ => None,
    }
}

/// The number of axes of a feature, if it is always the same.
fn fixed(dim: &DimPat) -> Option<i32> {
    match dim {
        DimPat::Num(_) | DimPat::Any | DimPat::Name(_) => Some(1),
        DimPat::Rank { rank: RankPat::Num(n), .. } => Some(*n),
        _ => None,
    }
}
