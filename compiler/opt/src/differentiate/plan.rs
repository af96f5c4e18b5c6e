//! How a term reaches the elements of an array: its indices, inverted, by case.

use crate::differentiate::adjoint::{Index, Level, LevelKind, Term};
use crate::differentiate::cases::{Cases, MOST_CASES};
use crate::differentiate::forms::Forms;
use crate::differentiate::invert::{Given, Inverse, Quotient, Var, invert};
use crate::differentiate::reverse::Reverse;
use crate::facts::{Atom, Lin};
use ravel_types::{Elem, HashMap, Ty};
use ravel_wir::{Generator, Region, Value};

/// How the indices of a term are found from those of the array.
pub struct Plan<'t> {
    pub of: Value,
    pub term: &'t Term,
    pub inverse: Inverse,
    pub target: Vec<Value>,
    /// Extents of the array.
    pub extents: Vec<Value>,
    /// Branches whose conditions are part of the bounds.
    pub absorbed: Vec<Level>,
    /// The term's guard, unless that is part of the bounds.
    pub guard: Option<Value>,
}

/// Whether one row is reached at most, along some axis.
pub fn is_thin(plan: &Plan) -> bool {
    plan.inverse.target.iter().any(|bounds| {
        let is_row = |low: &Quotient, high: &Quotient| low.by == 1 && high.by == 1 && low.of == high.of;
        bounds.lower.iter().any(|low| bounds.upper.iter().any(|high| is_row(low, high)))
    })
}

/// Whether no place is reached in two ways, for bounds along some axis.
pub fn are_disjoint(plans: &[Plan]) -> bool {
    let is_below = |a: &Plan, b: &Plan| {
        a.inverse.target.iter().zip(&b.inverse.target).any(|(a, b)| {
            let apart = |high: &Quotient, low: &Quotient| {
                high.by == 1 && low.by == 1 && high.of.sub(&low.of).and_then(|d| d.as_const()).is_some_and(|d| d < 0)
            };
            a.upper.iter().any(|high| b.lower.iter().any(|low| apart(high, low)))
        })
    };
    (0..plans.len()).all(|k| plans[..k].iter().all(|a| is_below(a, &plans[k]) || is_below(&plans[k], a)))
}

impl Reverse<'_> {
    /// The one way in which a term reaches its places.
    pub fn plan<'t>(&mut self, at: Region, of: Value, term: &'t Term) -> Option<Plan<'t>> {
        let mut plans = self.plans(at, of, term)?;
        (plans.len() == 1).then(|| plans.remove(0))
    }

    /// The ways in which a term reaches its places, by case.
    pub fn plans<'t>(&mut self, at: Region, of: Value, term: &'t Term) -> Option<Vec<Plan<'t>>> {
        let (mut plans, mut next) = (Vec::new(), Some(Cases::default()));
        let mut count = 0;
        while let Some(mut cases) = next {
            plans.push(self.plan_of_case(at, of, term, &mut cases)?);
            count += 1;
            if count > MOST_CASES {
                return None;
            }
            next = cases.next();
        }
        Some(plans)
    }

    fn plan_of_case<'t>(&mut self, at: Region, of: Value, term: &'t Term, cases: &mut Cases) -> Option<Plan<'t>> {
        let Index::Known(index) = &term.index else { return None };
        if self.state.ty(of).rank().is_none() && !index.is_empty() {
            return None;
        }
        let mut vars = Vec::new();
        let mut given = Given::default();
        let mut absorbed = Vec::new();
        let mut steps = Vec::new();
        let mut forms = Forms {
            reverse: self,
            at,
            levels: term.levels.clone(),
            vars: Vec::new(),
            bounds: HashMap::default(),
            known: HashMap::default(),
            cases: std::mem::take(cases),
            in_arms: Vec::new(),
        };
        for level in &term.levels {
            let generator = match forms.reverse.levels[*level].kind.clone() {
                LevelKind::Part(generator) => generator,
                LevelKind::Branch(cond, taken) => {
                    if forms.absorb(cond, taken, &mut given) {
                        absorbed.push(*level);
                    }
                    continue;
                }
            };
            let Generator::Known { lower, upper, step, width } = generator else { return None };
            let params = forms.reverse.state.func.regions[forms.reverse.levels[*level].region].params.clone();
            for (axis, &param) in params.iter().enumerate() {
                let (low, high) = (forms.of(lower[axis])?, forms.of(upper[axis])?);
                if step.is_none() && high == low.plus(1) {
                    // A single index is no variable.
                    forms.vars.push(param);
                    forms.known.insert(param, low.clone());
                    steps.push((param, low));
                    continue;
                }
                let by = match &step {
                    Some(step) => i64::from(forms.reverse.state.defs.int(forms.reverse.state.func, step[axis])?),
                    None => 1,
                };
                let wide = match &width {
                    Some(width) => i64::from(forms.reverse.state.defs.int(forms.reverse.state.func, width[axis])?),
                    None => 1,
                };
                if by == 1 || wide >= by {
                    forms.bounds.insert(param, (low.clone(), high.clone()));
                    vars.push(Var { value: param, lower: Some(low), upper: Some(high) });
                    forms.vars.push(param);
                    continue;
                }
                // The index is the lower bound, whole steps, and what is within the width.
                let number = forms.reverse.name();
                let mut x = low.add_scaled(&Lin::atom(Atom::Value(number)), by)?;
                vars.push(Var { value: number, lower: Some(Lin::constant(0)), upper: None });
                if wide > 1 {
                    let within = forms.reverse.name();
                    x = x.add(&Lin::atom(Atom::Value(within)))?;
                    vars.push(Var { value: within, lower: Some(Lin::constant(0)), upper: Some(Lin::constant(wide)) });
                }
                given.constraints.push(x.sub(&high)?.plus(1));
                forms.vars.push(param);
                forms.known.insert(param, x.clone());
                steps.push((param, x));
            }
        }
        let guard = match term.guard {
            Some(guard) if !forms.absorb(guard, true, &mut given) => Some(guard),
            _ => None,
        };
        let rows = index.iter().map(|i| forms.of(*i)).collect::<Option<Vec<Lin>>>()?;
        *cases = forms.cases;
        if cases.is_broken {
            return None;
        }
        given.constraints.append(&mut cases.given.constraints);
        given.equations.append(&mut cases.given.equations);
        let target: Vec<Value> = index.iter().map(|_| self.name()).collect();
        self.places.extend(target.iter().copied());
        // An equation brings one variable at most.
        let names: Vec<Value> = rows.iter().chain(&given.equations).map(|_| self.name()).collect();
        let mut unused = names.into_iter();
        let mut inverse = invert(&vars, given, &rows, &target, &mut || unused.next())?;
        // Parameters that steps define come last.
        for (param, x) in steps {
            inverse.defined.push((param, Quotient { of: x, by: 1 }));
        }
        inverse.bound_by_conditions(&target);
        let extents = self.state.extents(at, of, 0);
        Some(Plan { of, term, inverse, target, extents, absorbed, guard })
    }

    /// Whether every element of the array is reached.
    pub fn covers_all(&self, plan: &Plan) -> bool {
        plan.inverse.target.iter().zip(&plan.extents).all(|(bounds, extent)| {
            bounds.lower.iter().all(|bound| self.is_first(bound))
                && bounds.upper.iter().all(|bound| self.is_last(bound, *extent))
        })
    }

    /// Whether a lower bound leaves nothing out.
    pub fn is_first(&self, bound: &Quotient) -> bool {
        bound.of.as_const().is_some_and(|c| c <= 0)
    }

    /// Whether an upper bound leaves nothing of an axis out.
    pub fn is_last(&self, bound: &Quotient, extent: Value) -> bool {
        let last = self.leaf(extent).plus(-1);
        let beyond = last.scale(bound.by).and_then(|last| bound.of.sub(&last)).and_then(|d| d.as_const());
        beyond.is_some_and(|d| d >= 0)
    }

    /// A value that only forms mention, or that becomes a parameter.
    pub fn name(&mut self) -> Value {
        let v = self.state.func.new_value(Ty::scalar(Elem::I32));
        self.state.home[v] = None.into();
        v
    }
}
