//! Overload resolution: which instance of a set a call means, decided now or, where shapes are not known, at run time.

use super::weak::{Weak, least_axes, overlap, weaken};
use crate::check::coded;
use crate::spec::Spec;
use crate::value::{LeafShape, Sc, ShapeKind, Val};
use ravel_core::ir::{ElemTy, Fun, FunBody, FunId, SetId, TypePat};
use ravel_diagnostics::{Code, Diagnostic};
use ravel_source::Span;
use ravel_types::{Basic, BinOp, Prim};
use ravel_wir::{Fault, Op};

/// How an argument fits a parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fit {
    Yes,
    /// Depends on shapes known only at run time.
    Maybe,
    No,
}

#[derive(Clone)]
struct Candidate {
    fun: FunId,
    families: Vec<Option<Basic>>,
    certain: bool,
    /// Has no argument fewer axes than its pattern names?
    possible: bool,
    weak: Vec<Weak>,
    generic: bool,
}

impl Candidate {
    fn more_specific_than(&self, other: &Candidate) -> bool {
        let below = self.weak.iter().zip(&other.weak).all(|(a, b)| a.within(b));
        below && (self.weak != other.weak || (!self.generic && other.generic))
    }

    /// The left-to-right rule for instances that are not ordered: the leftmost position that differs decides.
    fn wins_leftmost(&self, other: &Candidate) -> bool {
        self.weak.iter().zip(&other.weak).find(|(a, b)| a != b).is_some_and(|(a, b)| a.within(b))
    }
}

impl Spec<'_> {
    /// Calls a member of an overload set. `wanted` is the number of results that the context takes; a call statement takes
    /// none and drops what there is.
    pub fn call_set(&mut self, set: SetId, args: Vec<Val>, wanted: usize, span: Span) -> Vec<Val> {
        if args.iter().any(|a| matches!(a, Val::Bottom)) {
            return vec![Val::Bottom; wanted];
        }
        let saved = self.here;
        self.at(span);
        let id = set;
        let set = &self.program.sets[id.index()];
        let name = set.name.clone();
        let fits_count = |f: &Fun| {
            if f.variadic_params { f.params.len() <= args.len() } else { f.params.len() == args.len() }
        };
        let members: Vec<FunId> = set.members.iter().copied().filter(|id| fits_count(self.fun(*id))).collect();
        let mut counted: Vec<FunId> =
            members.iter().copied().filter(|id| self.result_count(self.fun(*id)) == Some(wanted)).collect();
        if counted.is_empty() {
            counted = members
                .iter()
                .copied()
                .filter(|id| self.result_count(self.fun(*id)).is_none() || wanted == 0)
                .collect();
        }
        let mut rejected = Vec::new();
        let mut candidates = Vec::new();
        for id in counted {
            match self.candidate(id, &args, None) {
                Some(candidate) => candidates.push(candidate),
                None => rejected.push(id),
            }
        }
        if candidates.iter().any(|candidate| candidate.possible) {
            candidates.retain(|candidate| candidate.possible);
        }
        let first = &set.members[..set.first];
        if candidates.iter().any(|candidate| candidate.certain && first.contains(&candidate.fun)) {
            candidates.retain(|candidate| first.contains(&candidate.fun));
        }
        let results = if candidates.is_empty()
            && let Some(args) = with_index_vector(&name, &args)
            && self.some_instance(&members, &args)
        {
            // Who defines selection for an index vector has defined it for a scalar index.
            self.at(saved);
            return self.call_set(id, args, wanted, span);
        } else if candidates.is_empty() && wanted == 1 && is_record_builtin(&name, &args) {
            vec![self.record_builtin(&name, args)]
        } else if candidates.is_empty()
            && let Some(fields) = self.fieldwise(&members, &args, wanted)
        {
            self.call_fields(id, &fields, args, wanted, span)
        } else if candidates.is_empty() {
            let miscounted: Vec<FunId> = set.members.iter().copied().filter(|id| !rejected.contains(id)).collect();
            let reasons = rejected.into_iter().map(|id| {
                let mut reasons = Vec::new();
                self.candidate(id, &args, Some(&mut reasons));
                (id, reasons.join("; "))
            });
            let mut rejected: Vec<(FunId, String)> = reasons.collect();
            for id in &miscounted {
                let fun = self.fun(*id);
                let reason = if fits_count(fun) {
                    format!("gives {} results, {wanted} wanted", self.result_count(fun).unwrap_or(0))
                } else {
                    format!("takes {} arguments, {} given", fun.params.len(), args.len())
                };
                rejected.push((*id, reason));
            }
            self.no_instance(&name, &args, &rejected);
            vec![Val::Bottom; wanted]
        } else {
            self.choose(&name, candidates, args, wanted, span)
        };
        self.at(saved);
        results
    }

    /// Whether a function takes these arguments.
    pub fn takes(&mut self, id: FunId, args: &[Val]) -> bool {
        self.fun(id).params.len() == args.len() && self.candidate(id, args, None).is_some()
    }

    fn some_instance(&mut self, members: &[FunId], args: &[Val]) -> bool {
        members.iter().any(|id| self.candidate(*id, args, None).is_some())
    }

    /// Structure functions on arrays of records, which the language provides without a definition.
    fn record_builtin(&mut self, name: &str, mut args: Vec<Val>) -> Val {
        let position = if name == "modarray" { 1 } else { 0 };
        // A scalar index selects on axis 0.
        if matches!(name, "sel" | "modarray")
            && let Val::Sc(Basic::Int, i) = &args[position]
        {
            args[position] = Val::Tup(Basic::Int, vec![i.clone()]);
        }
        let prim = match name {
            "sel" => Prim::SelCell,
            "modarray" => Prim::ModCell,
            "shape" => Prim::Shape,
            "dim" => Prim::Dim,
            "reshape" => Prim::Reshape,
            _ => Prim::Zero,
        };
        self.prim(prim, args)
    }

    /// Number of results of a call, including those of reference parameters; nothing if it varies.
    pub fn result_count(&self, fun: &Fun) -> Option<usize> {
        if fun.variadic_results {
            return None;
        }
        let refs = match fun.body {
            FunBody::Sac { .. } => fun.params.iter().filter(|p| p.by_ref).count(),
            FunBody::External(_) => 0,
        };
        Some(fun.results.len() + refs)
    }

    /// A function as a candidate for these arguments, if it may take them. `reasons` gets why not: a list that nobody wants is not made, since
    /// every call of an operator passes by many functions.
    fn candidate(&mut self, id: FunId, args: &[Val], mut reasons: Option<&mut Vec<String>>) -> Option<Candidate> {
        let fun = self.fun(id);
        let mut families = vec![None; fun.families.len()];
        let (mut certain, mut possible, mut fits) = (true, true, true);
        let mut weak = Vec::with_capacity(fun.params.len());
        for (i, (param, arg)) in fun.params.iter().zip(args).enumerate() {
            let of_param = weaken(&param.ty.dims);
            let mut reason = reasons.is_some().then(String::new);
            match self.fit(fun, (&param.ty, &of_param), &mut families, arg, &mut reason) {
                Fit::Yes => {}
                Fit::Maybe => certain = false,
                Fit::No => {
                    fits = false;
                    if let (Some(reasons), Some(reason)) = (&mut reasons, reason) {
                        reasons.push(format!("argument {}: {reason}", i + 1));
                    }
                }
            }
            weak.push(of_param);
            possible &= self.outer_rank(arg).is_none_or(|rank| rank >= least_axes(&param.ty.dims));
        }
        fits.then_some(Candidate { fun: id, families, certain, possible, weak, generic: !fun.families.is_empty() })
    }

    /// Whether an argument fits a parameter's type, which is given with its dispatch type; `reason` is filled if it is there.
    fn fit(
        &mut self,
        fun: &Fun,
        (ty, weak): (&TypePat, &Weak),
        families: &mut [Option<Basic>],
        arg: &Val,
        reason: &mut Option<String>,
    ) -> Fit {
        let Some(elem) = self.elem_of(arg) else {
            return Fit::Yes;
        };
        let matches = match (ty.elem, elem) {
            (ElemTy::Family(f), ElemTy::Basic(b)) => match families[f.index()] {
                Some(bound) => bound == b,
                None => {
                    let member = fun.families[f.index()].members.contains(&b);
                    if member {
                        families[f.index()] = Some(b);
                    }
                    member
                }
            },
            (ElemTy::Struct(want), ElemTy::Struct(have)) if want == have => {
                self.note_members(&fun.families, ty.elem, arg, families)
            }
            (want, have) => want == have,
        };
        if !matches {
            if let Some(reason) = reason {
                let want = match ty.elem {
                    ElemTy::Family(f) if families[f.index()].is_some() => {
                        families[f.index()].map_or(String::new(), |b| b.name().to_string())
                    }
                    ElemTy::Family(f) if fun.families[f.index()].members.len() <= 3 => {
                        let members: Vec<&str> = fun.families[f.index()].members.iter().map(|b| b.name()).collect();
                        members.join(" or ")
                    }
                    other => self.elem_name(other, &fun.families),
                };
                *reason = format!("expects {want}, found {}", self.show_value_type(arg));
            }
            return Fit::No;
        }
        let Some(shape) = self.outer_shape(arg) else {
            return if *weak == Weak::Any { Fit::Yes } else { Fit::Maybe };
        };
        match weak {
            Weak::Any => Fit::Yes,
            Weak::NonScalar if shape.is_empty() => {
                if let Some(reason) = reason {
                    *reason = "expects an array, found a scalar".to_string();
                }
                Fit::No
            }
            Weak::NonScalar => Fit::Yes,
            Weak::Ranked(axes) if axes.len() != shape.len() => {
                if let Some(reason) = reason {
                    *reason = format!("expects rank {}, found {}", axes.len(), self.show_value_type(arg));
                }
                Fit::No
            }
            Weak::Ranked(axes) => {
                let mut fit = Fit::Yes;
                for (want, have) in axes.iter().zip(&shape) {
                    match (want, have.as_int()) {
                        (None, _) => {}
                        (Some(w), Some(h)) if *w == h => {}
                        (Some(_), Some(_)) => {
                            if let Some(reason) = reason {
                                *reason =
                                    format!("expects {}, found {}", self.show_type(fun, ty), self.show_value_type(arg));
                            }
                            return Fit::No;
                        }
                        (Some(_), None) => fit = Fit::Maybe,
                    }
                }
                fit
            }
        }
    }

    /// Picks the most specific candidate; emits tests where only the run time can tell.
    fn choose(
        &mut self,
        name: &str,
        mut candidates: Vec<Candidate>,
        args: Vec<Val>,
        wanted: usize,
        span: Span,
    ) -> Vec<Val> {
        let best = match (0..candidates.len())
            .find(|i| candidates.iter().enumerate().all(|(j, c)| *i == j || !c.more_specific_than(&candidates[*i])))
        {
            Some(first) => {
                // Among the minimal ones the leftmost position decides.
                let minimal: Vec<usize> = (0..candidates.len())
                    .filter(|i| {
                        candidates.iter().enumerate().all(|(j, c)| *i == j || !c.more_specific_than(&candidates[*i]))
                    })
                    .collect();
                let best = minimal
                    .iter()
                    .copied()
                    .find(|i| minimal.iter().all(|j| i == j || !candidates[*j].wins_leftmost(&candidates[*i])))
                    .unwrap_or(first);
                if let Some(rival) = minimal.iter().find(|j| {
                    **j != best
                        && candidates[**j].certain
                        && candidates[best].certain
                        && overlap(&candidates[best].weak, &candidates[**j].weak)
                }) {
                    let decided = candidates[best].wins_leftmost(&candidates[*rival]);
                    self.ambiguous(name, candidates[best].fun, candidates[*rival].fun, decided);
                }
                best
            }
            None => 0,
        };
        let chosen = candidates.swap_remove(best);
        self.note_choice(span, chosen.fun);
        if chosen.certain {
            return self.apply(chosen.fun, chosen.families, args, span);
        }
        // What is no more general than the chosen one cannot be meant once its test has failed, unless shapes are disjoint.
        let test = self.test(&chosen.weak, &args);
        if candidates.is_empty() {
            let fault = self.no_instance_at_run_time(name, &args);
            self.emit_check(&test, fault);
            let args = self.narrow_args(&chosen.weak, args);
            return self.apply(chosen.fun, chosen.families, args, span);
        }
        let other_args = args.clone();
        self.speculative += 1;
        let results = self.branch(
            &test,
            |spec| {
                let args = spec.narrow_args(&chosen.weak, args);
                let values = spec.apply(chosen.fun, chosen.families, args, span);
                pad(values, wanted)
            },
            |spec| {
                let values = spec.choose(name, candidates, other_args, wanted, span);
                pad(values, wanted)
            },
        );
        self.speculative -= 1;
        results
    }

    /// What a call says for whose arguments no instance turns out to be there: their types, and the ranks that are not in these.
    fn no_instance_at_run_time(&mut self, name: &str, args: &[Val]) -> Fault {
        let (mut types, mut operands) = (Vec::new(), Vec::new());
        for arg in args {
            let shown = self.show_value_type(arg);
            if self.outer_rank(arg).is_some() {
                types.push(shown);
            } else {
                let rank = self.rank_of(arg);
                operands.push(self.em.value(&rank));
                types.push(format!("{shown} of rank {{}}"));
            }
        }
        let text = format!("no instance of `{name}` takes arguments of these shapes ({})", types.join(", "));
        coded(Code::NoInstance, text, operands)
    }

    /// Reports two instances of which none is more specific: the leftmost argument for which they differ decides, if it can.
    fn ambiguous(&mut self, name: &str, a: FunId, b: FunId, decided: bool) {
        let (a, b) = (self.fun(a), self.fun(b));
        let site = self.user_site();
        let title = format!("the call of `{name}` is ambiguous");
        let label = "two instances fit and neither is more specific";
        let (heads, modules) = ([self.show_head(a), self.show_head(b)], [&a.module, &b.module]);
        let diagnostic = match decided {
            true => Diagnostic::warning(Code::AmbiguousInstance, title)
                .at(site, label)
                .with_note(format!("{} of {} is called: the leftmost argument speaks for it", heads[0], modules[0])),
            false => Diagnostic::error(Code::AmbiguousInstance, title)
                .at(site, label)
                .with_note(format!("{} of {} fits", heads[0], modules[0])),
        };
        let diagnostic = diagnostic.with_note(format!("{} of {} fits as well", heads[1], modules[1]));
        self.report(diagnostic.with_help("define an instance for the overlap"));
    }

    /// Whether the run-time shapes belong to the dispatch types.
    fn test(&mut self, weak: &[Weak], args: &[Val]) -> Sc {
        let mut all = Sc::bool(true);
        for (weak, arg) in weak.iter().zip(args) {
            let one = self.test_one(weak, arg);
            all = self.em.and(&all, &one);
        }
        all
    }

    fn test_one(&mut self, weak: &Weak, arg: &Val) -> Sc {
        match weak {
            Weak::Any => Sc::bool(true),
            Weak::NonScalar => {
                let rank = self.rank_of(arg);
                self.em.bin(BinOp::Ge, Basic::Int, &rank, &Sc::int(1))
            }
            Weak::Ranked(axes) => {
                let rank = self.rank_of(arg);
                let same = self.em.bin(BinOp::Eq, Basic::Int, &rank, &Sc::int(axes.len() as i32));
                if axes.iter().all(Option::is_none) {
                    return same;
                }
                let fits = self.branch(
                    &same,
                    |spec| {
                        let shape = spec.shape_vector(arg);
                        let mut all = Sc::bool(true);
                        for (i, want) in axes.iter().enumerate() {
                            if let Some(want) = want {
                                let have = spec.vector_element(&shape, &Sc::int(i as i32));
                                let equal = spec.em.bin(BinOp::Eq, Basic::Int, &have, &Sc::int(*want));
                                all = spec.em.and(&all, &equal);
                            }
                        }
                        vec![Val::Sc(Basic::Bool, all)]
                    },
                    |_| vec![Val::Sc(Basic::Bool, Sc::bool(false))],
                );
                match fits.into_iter().next() {
                    Some(Val::Sc(_, s)) => s,
                    _ => Sc::bool(false),
                }
            }
        }
    }

    fn narrow_args(&mut self, weak: &[Weak], mut args: Vec<Val>) -> Vec<Val> {
        for (arg, weak) in args.iter_mut().zip(weak) {
            if let Weak::Ranked(axes) = weak {
                *arg = self.narrow_outer(arg, axes);
            }
        }
        args
    }

    /// The value with its outer shape known to have this rank and these extents; checked at run time where not known.
    pub fn narrow_outer(&mut self, v: &Val, axes: &[Option<i32>]) -> Val {
        match v {
            Val::Arr(b, value) => {
                let have = self.em.extents(*value);
                if let Some(have) = &have
                    && (have.len() != axes.len()
                        || have.iter().zip(axes).all(|(h, a)| a.is_none() || h.as_const() == *a))
                {
                    return v.clone();
                }
                if axes.is_empty() {
                    let ty = ravel_types::Ty::scalar(b.elem());
                    return Val::Sc(*b, Sc::Val(self.em.inst1(Op::Narrow(*value), ty)));
                }
                let extents = axes
                    .iter()
                    .enumerate()
                    .map(|(i, a)| a.map(ravel_types::Affine::constant).or_else(|| have.as_ref().map(|h| h[i].clone())))
                    .collect();
                let leaf = (b.elem(), LeafShape::Array(ShapeKind::Known(extents)));
                Val::Arr(*b, self.em.inst_leaves(Op::Narrow(*value), &[leaf])[0])
            }
            Val::Wrapped(u, inner) => {
                let shape = match &self.program.user_types[u.index()].kind {
                    ravel_core::ir::UserTypeKind::Typedef { shape, .. } => shape.clone(),
                    _ => return v.clone(),
                };
                let mut axes = axes.to_vec();
                axes.extend(shape.into_iter().map(Some));
                Val::Wrapped(*u, Box::new(self.narrow_outer(inner, &axes)))
            }
            Val::Struct(s, fields) => {
                let shapes: Vec<Option<Vec<i32>>> =
                    self.program.structs[s.index()].fields.iter().map(|f| f.shape.clone()).collect();
                let fields = fields
                    .iter()
                    .zip(shapes)
                    .map(|(f, shape)| {
                        let Some(shape) = shape else { return f.clone() };
                        let mut axes = axes.to_vec();
                        axes.extend(shape.into_iter().map(Some));
                        self.narrow_outer(f, &axes)
                    })
                    .collect();
                Val::Struct(*s, fields)
            }
            other => other.clone(),
        }
    }
}

/// The arguments of a selection or update with a scalar index, that index as a vector.
fn with_index_vector(name: &str, args: &[Val]) -> Option<Vec<Val>> {
    let position = match (name, args.len()) {
        ("sel", 2) => 0,
        ("modarray", 3) => 1,
        _ => return None,
    };
    let Val::Sc(Basic::Int, index) = &args[position] else { return None };
    let mut args = args.to_vec();
    args[position] = Val::Tup(Basic::Int, vec![index.clone()]);
    Some(args)
}

/// Whether a call that no instance fits is one of the structure functions of records.
fn is_record_builtin(name: &str, args: &[Val]) -> bool {
    matches!(
        (name, args),
        ("sel" | "reshape", [_, Val::Struct(..)])
            | ("shape" | "dim" | "zero", [Val::Struct(..)])
            | ("modarray", [Val::Struct(..), _, Val::Struct(..)])
    )
}

/// A call statement drops surplus results; merged branches need equal counts.
fn pad(mut values: Vec<Val>, wanted: usize) -> Vec<Val> {
    values.truncate(wanted);
    values
}
