//! Whether an expression is of integers or of reals, as far as the text of its function tells.

use super::names::each_stmt;
use ravel_syntax::ast::*;
use ravel_types::HashMap;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Int,
    Real,
}

/// Functions whose results are of a kind, whatever they are given.
const RESULTS: [(&str, Kind); 13] = [
    ("tod", Kind::Real),
    ("tof", Kind::Real),
    ("toi", Kind::Int),
    ("tol", Kind::Int),
    ("tosh", Kind::Int),
    ("tob", Kind::Int),
    ("toll", Kind::Int),
    ("toui", Kind::Int),
    ("toul", Kind::Int),
    ("dim", Kind::Int),
    ("shape", Kind::Int),
    ("iota", Kind::Int),
    ("sqrt", Kind::Real),
];

/// What is known of the variables of a function.
pub(super) struct Kinds<'f>(HashMap<&'f str, Option<Kind>>);

impl<'f> Kinds<'f> {
    /// Kinds of parameters, of declared variables, and of those whose assignments all agree.
    pub fn of(function: &'f Function) -> Kinds<'f> {
        let mut kinds = Kinds(HashMap::default());
        for param in &function.params {
            kinds.0.insert(&param.name.name, of_type(&param.ty));
        }
        let Some(body) = &function.body else { return kinds };
        let mut fixed: Vec<&str> = function.params.iter().map(|param| &*param.name.name).collect();
        for decl in &body.decls {
            for name in &decl.names {
                kinds.0.insert(&name.name, of_type(&decl.ty));
                fixed.push(&name.name);
            }
        }
        each_stmt(&body.stmts, &mut |stmt| {
            let StmtKind::Assign { targets, op, value } = &stmt.kind else { return };
            for target in targets.iter().filter(|target| target.accesses.is_empty() && op.is_none()) {
                let name = &*target.name.name;
                if fixed.contains(&name) {
                    continue;
                }
                let kind = if targets.len() == 1 { kinds.kind(value) } else { None };
                let known = kinds.0.entry(name).or_insert(kind);
                if *known != kind {
                    *known = None;
                }
            }
        });
        kinds
    }

    pub fn kind(&self, expr: &Expr) -> Option<Kind> {
        match &expr.kind {
            ExprKind::Number(number) => Some(match number.value {
                NumberValue::Float(_) | NumberValue::Double(_) => Kind::Real,
                _ => Kind::Int,
            }),
            ExprKind::Name(name) if name.module.is_none() => self.0.get(&*name.name).copied().flatten(),
            ExprKind::Unary { op, operand } if &*op.name == "-" => self.kind(operand),
            // The operands of arithmetic are of one type.
            ExprKind::Binary { op, left, right } if ["+", "-", "*", "/", "%"].contains(&&*op.name) => {
                self.kind(left).or_else(|| self.kind(right))
            }
            ExprKind::Call(call) => RESULTS.iter().find(|(name, _)| *name == &*call.callee.name).map(|(_, kind)| *kind),
            ExprKind::Cond { then, otherwise, .. } => self.kind(then).or_else(|| self.kind(otherwise)),
            ExprKind::Select { array, .. } => self.kind(array),
            ExprKind::Array(elements) => elements.first().and_then(|element| self.kind(element)),
            _ => None,
        }
    }
}

fn of_type(ty: &Type) -> Option<Kind> {
    match &ty.base {
        TypeBase::Basic(BasicType::Bool | BasicType::Char) | TypeBase::Named(_) | TypeBase::Struct(_) => None,
        TypeBase::Basic(BasicType::Float | BasicType::Double) => Some(Kind::Real),
        TypeBase::Basic(_) => Some(Kind::Int),
    }
}
