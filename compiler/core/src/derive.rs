//! Derivatives: the forms of module `AutoDiff`, which take an expression and names of variables.
//!
//! They are calls in the grammar. A name is a form where it resolves to that module of the library.

use crate::Core;
use crate::calls::Counted;
use crate::diagnostics as report;
use crate::interface::DefId;
use crate::ir::{self, Derive, ElemTy, Expr, ExprKind, Form, Target, TypePat, UserTypeKind, Wrt};
use crate::lookup::Kind;
use crate::make;
use crate::modules::ModId;
use crate::overloads::Wanted;
use crate::reach;
use crate::scope::Body;
use ravel_syntax::ast::{self, QName};
use ravel_syntax::print_expr;
use ravel_types::{Basic, Prim};

mod check;
pub(crate) mod rules;
mod words;

/// The module whose names are forms.
const MODULE: &str = "AutoDiff";

/// What a name of the module stands for.
#[derive(Clone, Copy, PartialEq)]
enum Special {
    Derive(Form, bool),
    StopGradient,
}

impl Special {
    fn of(name: &str) -> Option<Special> {
        Some(match name {
            "grad" => Special::Derive(Form::Grad, false),
            "value_grad" => Special::Derive(Form::Grad, true),
            "vjp" => Special::Derive(Form::Vjp, false),
            "value_vjp" => Special::Derive(Form::Vjp, true),
            "jvp" => Special::Derive(Form::Jvp, false),
            "value_jvp" => Special::Derive(Form::Jvp, true),
            "check_grad" => Special::Derive(Form::Check, false),
            "stop_gradient" => Special::StopGradient,
            _ => return None,
        })
    }
}

/// How many results an expression should have.
#[derive(Clone, Copy)]
enum Asked {
    All(usize),
    /// So many that are real; others beside them are free.
    Reals(usize),
    /// So many together with the real ones once more.
    Twice(usize),
}

/// How the module's meanings of a name relate to others.
enum Meaning {
    Form(Special, Vec<DefId>),
    /// A function of another module has the name as well.
    Mixed(String),
}

impl Core<'_> {
    /// What a name means, if it may be one of the forms.
    fn special(&self, module: ModId, name: &QName) -> Option<Meaning> {
        let special = Special::of(&name.name)?;
        let found = self.meanings(module, name, Kind::Function).ok()?;
        let is_ours = |def: &DefId| {
            let owner = self.module(self.def(*def).module);
            owner.library && &*owner.name == MODULE
        };
        let background = &self.module(module).background;
        // What the file itself loads goes before what is in its background.
        let front: Vec<DefId> = found.iter().copied().filter(|def| !background.contains(def)).collect();
        let found = if front.is_empty() { found } else { front };
        let (ours, others): (Vec<DefId>, Vec<DefId>) = found.into_iter().partition(is_ours);
        match (ours.is_empty(), others.first()) {
            (true, _) => None,
            (false, None) => Some(Meaning::Form(special, ours)),
            (false, Some(other)) => Some(Meaning::Mixed(self.module(self.def(*other).module).name.to_string())),
        }
    }

    /// Whether a name is one of the forms, which are no functions.
    pub(crate) fn is_form(&self, module: ModId, name: &QName) -> bool {
        matches!(self.special(module, name), Some(Meaning::Form(..)))
    }

    /// How many results a call has to be asked for; the numbers of all and of real results of those that take the arguments, if none fits.
    fn results_asked(&mut self, module: ModId, call: &ast::Call, asked: Asked) -> Result<usize, Vec<(usize, usize)>> {
        let defs = self.meanings(module, &call.callee, Kind::Function).unwrap_or_default();
        let mut counted: Vec<(usize, usize)> = Vec::new();
        for def in defs {
            let Some(results) = self.results_for(def, call.args.len()) else { continue };
            let Some(fun) = self.function(def) else { continue };
            let fun = &self.program.funs[fun.index()];
            let real = fun.results.iter().filter(|ty| self.is_real(&fun.families, ty)).count();
            if !counted.contains(&(results, real)) {
                counted.push((results, real));
            }
        }
        let find = |fits: &dyn Fn(usize, usize) -> bool| counted.iter().find(|(all, real)| fits(*all, *real));
        let (exact, among) = match asked {
            Asked::All(n) => (find(&|all, _| all == n), None),
            Asked::Reals(n) => (find(&|all, _| all == n), find(&|_, real| real == n)),
            Asked::Twice(n) => (find(&|all, real| all == real && 2 * all == n), find(&|all, real| all + real == n)),
        };
        match exact.or(among) {
            Some((all, _)) => Ok(*all),
            // The call itself is wrong, which is told of it.
            None if counted.is_empty() => Ok(asked.without_others()),
            None => Err(counted),
        }
    }

    /// Whether values of a type have real parts.
    fn is_real(&self, families: &[ir::Family], ty: &TypePat) -> bool {
        let real = |basic: &Basic| matches!(basic, Basic::Float | Basic::Double);
        match ty.elem {
            ElemTy::Basic(basic) => real(&basic),
            ElemTy::Family(family) => families[family.index()].members.iter().any(real),
            ElemTy::User(user) => match &self.program.user_types[user.index()].kind {
                UserTypeKind::Typedef { base, .. } => {
                    self.is_real(families, &TypePat { elem: *base, dims: Vec::new(), span: ty.span })
                }
                UserTypeKind::Class { rep } => self.is_real(&[], rep),
                UserTypeKind::External => false,
            },
            ElemTy::Struct(record) => {
                let record = &self.program.structs[record.index()];
                record.fields.iter().any(|field| self.is_real(&record.families, &field.ty))
            }
        }
    }
}

impl Asked {
    /// The number if all results are real.
    fn without_others(self) -> usize {
        match self {
            Asked::All(n) | Asked::Reals(n) => n,
            Asked::Twice(n) => (n / 2).max(1),
        }
    }
}

/// The parts of a form as they are written.
struct Parts<'t> {
    form: Form,
    with_value: bool,
    body: &'t ast::Expr,
    wrt: Vec<&'t ast::Expr>,
    seeds: Vec<&'t ast::Expr>,
}

impl<'t> Parts<'t> {
    /// The variables stand in a list, or one after the other where their number shows.
    fn new(form: Form, with_value: bool, call: &'t ast::Call, wanted: usize) -> Option<Parts<'t>> {
        let (body, rest) = call.args.split_first()?;
        let (wrt, seeds): (Vec<&ast::Expr>, Vec<&ast::Expr>) = match rest {
            [] => return None,
            [ast::Expr { kind: ast::ExprKind::Array(listed), .. }, ..] if listed.is_empty() => return None,
            [ast::Expr { kind: ast::ExprKind::Array(listed), .. }, seeds @ ..] => {
                (listed.iter().collect(), seeds.iter().collect())
            }
            _ => {
                let variables = match form {
                    Form::Grad | Form::Check => rest.len(),
                    Form::Jvp => rest.len().div_ceil(2),
                    Form::Vjp if with_value => 1,
                    Form::Vjp => wanted.clamp(1, rest.len()),
                };
                let (wrt, seeds) = rest.split_at(variables);
                (wrt.iter().collect(), seeds.iter().collect())
            }
        };
        Some(Parts { form, with_value, body, wrt, seeds })
    }

    fn name(&self) -> &'static str {
        self.form.name(self.with_value)
    }

    /// How many results the expression should have so that the form gives `wanted`; nothing if it never does.
    fn asked(&self, wanted: usize) -> Option<Asked> {
        let variables = self.wrt.len();
        match (self.form, self.with_value) {
            (Form::Grad, false) => (wanted == variables).then_some(Asked::Reals(1)),
            (Form::Check, _) => (wanted == 1).then_some(Asked::All(1)),
            (Form::Vjp, false) => (wanted == variables).then_some(Asked::Reals(self.seeds.len())),
            (Form::Grad | Form::Vjp, true) => {
                wanted.checked_sub(variables).filter(|results| *results > 0).map(Asked::All)
            }
            (Form::Jvp, false) => (wanted > 0).then_some(Asked::Reals(wanted)),
            (Form::Jvp, true) => (wanted > 1).then_some(Asked::Twice(wanted)),
        }
    }
}

impl Body<'_, '_> {
    /// A call of one of the forms, if the name is one.
    pub(crate) fn derivative(&mut self, call: &ast::Call, wanted: Wanted) -> Option<Counted> {
        let count = match wanted {
            Wanted::Count(n) => n,
            Wanted::Effect => 0,
        };
        let failed = || Some(Counted::plain(make::error(call.span), count));
        let (special, defs) = match self.core.special(self.module, &call.callee)? {
            Meaning::Form(special, defs) => (special, defs),
            Meaning::Mixed(other) => {
                let here = self.core.module(self.module).name.clone();
                self.core.reports.push(words::own_function(&call.callee, &other, &here));
                return failed();
            }
        };
        self.core.note_form(self.module, &call.callee, call.span, &defs);
        if wanted == Wanted::Effect {
            let diagnostic = report::ignored_result(&call.callee.name, 1, call.span, &[]);
            self.core.reports.push(diagnostic);
            return failed();
        }
        match special {
            Special::StopGradient => Some(Counted::plain(self.stop_gradient(call), 1)),
            Special::Derive(form, with_value) => match Parts::new(form, with_value, call, count) {
                Some(parts) => {
                    let library = self.core.def(defs[0]).module;
                    let value = self.derive(call, &parts, count, library);
                    Some(Counted::plain(value, count))
                }
                None => {
                    self.core.reports.push(words::no_variables(form.name(with_value), call));
                    failed()
                }
            },
        }
    }

    fn stop_gradient(&mut self, call: &ast::Call) -> Expr {
        match call.args.as_slice() {
            [value] => {
                let value = self.expr(value);
                make::prim(Prim::StopGradient, vec![value], call.span)
            }
            args => {
                let diagnostic = report::primitive_arity("stop_gradient", 1, args.len(), call.span);
                self.core.reports.push(diagnostic);
                make::error(call.span)
            }
        }
    }

    fn derive(&mut self, call: &ast::Call, parts: &Parts<'_>, wanted: usize, library: ModId) -> Expr {
        let before = self.core.reports.len();
        let wrt: Vec<Wrt> = parts.wrt.iter().filter_map(|name| self.variable(name, parts, call)).collect();
        for (k, one) in wrt.iter().enumerate() {
            if let Some(first) = wrt[..k].iter().find(|first| overlap(first, one)) {
                self.core.reports.push(words::twice(self.core.map.snippet(one.span), one.span, first.span));
            }
        }
        let needed = match parts.form {
            Form::Jvp => parts.wrt.len(),
            Form::Vjp => parts.seeds.len().max(1),
            Form::Grad | Form::Check => 0,
        };
        if parts.seeds.len() != needed && self.core.reports.len() == before {
            self.core.reports.push(words::seed_count(parts, call.span));
        }
        let asked = parts.asked(wanted);
        if asked.is_none() && self.core.reports.len() == before {
            self.core.reports.push(words::result_count(parts.name(), parts.wrt.len(), wanted, call.span));
        }
        let Some(asked) = asked.filter(|_| self.core.reports.len() == before) else { return make::error(call.span) };
        let results = match self.results_of(parts.body, asked) {
            Ok(results) => results,
            Err(counted) => {
                let callee = match &parts.body.kind {
                    ast::ExprKind::Call(body) => print_callee(body),
                    _ => String::new(),
                };
                self.core.reports.push(words::no_such_results(parts, asked, &callee, &counted));
                return make::error(call.span);
            }
        };
        self.in_derivatives += 1;
        let body = match results {
            1 => self.expr(parts.body),
            _ => match self.several(parts.body, results) {
                Some(counted) if counted.refs.is_empty() => counted.value,
                Some(_) => {
                    self.core.reports.push(words::changes_variables(parts.name(), parts.body.span));
                    make::error(parts.body.span)
                }
                None => {
                    self.core.reports.push(words::one_value(parts.name(), results, parts.body.span));
                    make::error(parts.body.span)
                }
            },
        };
        self.in_derivatives -= 1;
        let seeds = parts.seeds.iter().map(|seed| self.expr(seed)).collect();
        if self.core.reports.len() == before {
            self.check_mentions(call, parts, &body, &wrt);
        }
        if self.core.reports.len() > before {
            return make::error(call.span);
        }
        let derive = Derive { form: parts.form, with_value: parts.with_value, body, results, wrt, seeds };
        if parts.form == Form::Check {
            return self.checked_gradients(derive, library, call.span);
        }
        let is_outermost = self.in_derivatives == 0;
        let checks = match self.core.options.check_gradients && is_outermost {
            true => self.check_of(&derive, wanted, library, call.span),
            false => Vec::new(),
        };
        make::after(checks, make::expr(ExprKind::Derive(Box::new(derive)), call.span))
    }

    /// How many results to ask an expression for.
    fn results_of(&mut self, body: &ast::Expr, asked: Asked) -> Result<usize, Vec<(usize, usize)>> {
        match &body.kind {
            ast::ExprKind::Call(call) if self.core.is_form(self.module, &call.callee) => Ok(asked.without_others()),
            ast::ExprKind::Call(call) => self.core.results_asked(self.module, call, asked),
            ast::ExprKind::With(with) => Ok(with.operations.len()),
            ast::ExprKind::Comprehension(_) => Ok(asked.without_others()),
            _ => Ok(match asked {
                Asked::All(n) => n,
                Asked::Reals(_) | Asked::Twice(_) => 1,
            }),
        }
    }

    /// What an expression is derived by.
    fn variable(&mut self, name: &ast::Expr, parts: &Parts<'_>, call: &ast::Call) -> Option<Wrt> {
        let (base, path) = path(name);
        let ast::ExprKind::Name(base_name) = &base.kind else {
            self.core.reports.push(words::no_variable(parts, call, name, words::Other::of(base)));
            return None;
        };
        let before = self.core.reports.len();
        match self.read(base_name) {
            ExprKind::Local(slot) => {
                for field in &path {
                    self.core.note_field(self.module, field, name.span, false);
                }
                let path = path.iter().map(|field| field.name.clone()).collect();
                Some(Wrt { slot, path, span: name.span })
            }
            ExprKind::Global(_) => {
                self.core.reports.push(words::no_variable(parts, call, name, words::Other::Global));
                None
            }
            _ => {
                debug_assert!(self.core.reports.len() >= before);
                None
            }
        }
    }

    /// Notes from what variables were computed, for the report of one that an expression does not mention.
    pub(crate) fn note_computed(&mut self, targets: &[Target], value: &Expr) {
        if let [Target::Local(slot)] = targets
            && self.core.module(self.module).mentions.contains_key(MODULE)
        {
            self.computed.insert(*slot, (value.span, reach::reads(value)));
        }
    }

    /// Reports variables that the expression does not mention.
    fn check_mentions(&mut self, call: &ast::Call, parts: &Parts<'_>, body: &Expr, wrt: &[Wrt]) {
        let mentioned = reach::reads(body);
        for one in wrt.iter().filter(|one| !mentioned.contains(&one.slot)) {
            // A variable that the expression mentions and that was computed from this one is what its author meant.
            let from = mentioned.iter().find_map(|slot| {
                let (value, reads) = self.computed.get(slot)?;
                reads.contains(&one.slot).then(|| (self.locals[slot.index()].name.clone(), *value))
            });
            let name = self.core.map.snippet(one.span).to_string();
            let from = from.map(|(variable, value)| (variable, self.core.map.snippet(value).to_string()));
            self.core.reports.push(words::not_mentioned(&name, one.span, call, print_expr(parts.body), from));
        }
    }
}

/// The name of the function as it is written.
fn print_callee(call: &ast::Call) -> String {
    match &call.callee.module {
        Some(module) => format!("{module}::{}", call.callee.name),
        None => call.callee.name.to_string(),
    }
}

/// Whether one of the two is the other or a part of it.
fn overlap(a: &Wrt, b: &Wrt) -> bool {
    a.slot == b.slot && a.path.iter().zip(&b.path).all(|(x, y)| x == y)
}

/// The fields that are selected from an expression, and that expression.
fn path(expr: &ast::Expr) -> (&ast::Expr, Vec<&ast::Ident>) {
    match &expr.kind {
        ast::ExprKind::Field { record, field } => {
            let (base, mut fields) = path(record);
            fields.push(field);
            (base, fields)
        }
        _ => (expr, Vec::new()),
    }
}
