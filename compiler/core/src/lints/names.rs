//! The names that a file uses, whatever they turn out to mean.

use crate::visit::{children, statement_exprs};
use ravel_syntax::ast::*;
use ravel_types::HashSet;

/// Calls `f` on all expressions directly inside: those of bodies of with-loops and comprehensions, too.
pub(super) fn inner<'e>(expr: &'e Expr, f: &mut dyn FnMut(&'e Expr)) {
    children(expr, f);
    match &expr.kind {
        ExprKind::With(with) => bodies(with, f),
        ExprKind::Comprehension(comprehension) => {
            comprehension.partitions.iter().for_each(|partition| f(&partition.body));
        }
        _ => {}
    }
}

fn bodies<'e>(with: &'e With, f: &mut dyn FnMut(&'e Expr)) {
    for part in &with.parts {
        statements(&part.body.stmts, f);
        part.values.iter().for_each(&mut *f);
    }
}

/// Calls `f` on the outermost expressions of statements, those of with-loops that stand as statements included.
pub(super) fn statements<'e>(stmts: &'e [Stmt], f: &mut dyn FnMut(&'e Expr)) {
    statement_exprs(stmts, f);
    each_stmt(stmts, &mut |stmt| {
        if let StmtKind::With(with) = &stmt.kind {
            bodies(with, f);
        }
    });
}

/// Calls `f` on statements and those inside of conditionals and loops, but not inside of with-loops.
pub(super) fn each_stmt<'e>(stmts: &'e [Stmt], f: &mut dyn FnMut(&'e Stmt)) {
    for stmt in stmts {
        f(stmt);
        match &stmt.kind {
            StmtKind::If { then, otherwise, .. } => {
                each_stmt(&then.stmts, f);
                otherwise.iter().for_each(|block| each_stmt(&block.stmts, f));
            }
            StmtKind::While { body, .. } | StmtKind::DoWhile { body, .. } => each_stmt(&body.stmts, f),
            StmtKind::For { init, step, body, .. } => {
                each_stmt(init, f);
                each_stmt(step, f);
                each_stmt(&body.stmts, f);
            }
            StmtKind::Assign { .. }
            | StmtKind::IncDec { .. }
            | StmtKind::Call(_)
            | StmtKind::With(_)
            | StmtKind::Error => {}
        }
    }
}

/// Names that a piece of a file mentions.
#[derive(Default)]
pub(super) struct Used<'f> {
    pub names: HashSet<&'f str>,
}

impl<'f> Used<'f> {
    pub fn of_file(file: &'f File) -> Used<'f> {
        let mut used = Used::default();
        if let Header::Class(class) = &file.header {
            class.representation.iter().for_each(|ty| used.ty(ty));
            class.pragmas.iter().for_each(|pragma| used.pragma(pragma));
        }
        file.definitions.iter().for_each(|definition| used.definition(definition));
        used
    }

    pub fn definition(&mut self, definition: &'f Definition) {
        match definition {
            Definition::Typedef(def) => self.ty(&def.base),
            Definition::ExternalTypedef(def) => def.pragmas.iter().for_each(|pragma| self.pragma(pragma)),
            Definition::Object(def) => {
                self.ty(&def.ty);
                def.init.iter().for_each(|init| self.expr(init));
                def.pragmas.iter().for_each(|pragma| self.pragma(pragma));
            }
            Definition::Struct(def) => def.fields.iter().for_each(|field| self.ty(&field.ty)),
            Definition::Function(function) => self.function(function),
            Definition::Pragma(pragma) => self.pragma(pragma),
            Definition::Family(family) => family.members.iter().for_each(|member| self.base(&member.base)),
            Definition::Load(_) | Definition::Offer(_) => {}
        }
    }

    pub fn function(&mut self, function: &'f Function) {
        if function.attributes.specialize {
            self.names.insert(&function.name.name);
        }
        function.results.iter().for_each(|ty| self.ty(ty));
        function.params.iter().for_each(|param| self.ty(&param.ty));
        function.conditions.iter().for_each(|condition| self.expr(condition));
        function.pragmas.iter().for_each(|pragma| self.pragma(pragma));
        let Some(body) = &function.body else { return };
        body.decls.iter().for_each(|decl| self.ty(&decl.ty));
        self.stmts(&body.stmts);
        body.ret.iter().flat_map(|ret| &ret.values).for_each(|value| self.expr(value));
    }

    fn stmts(&mut self, stmts: &'f [Stmt]) {
        statement_exprs(stmts, &mut |expr| self.expr(expr));
        each_stmt(stmts, &mut |stmt| match &stmt.kind {
            StmtKind::Assign { targets, op, .. } => {
                targets.iter().for_each(|target| self.target(target));
                op.iter().for_each(|op| self.name(op));
            }
            StmtKind::IncDec { target, op } => {
                self.target(target);
                self.name(op);
            }
            StmtKind::Call(call) => self.name(&call.callee),
            StmtKind::With(with) => self.with(with),
            _ => {}
        });
    }

    fn target(&mut self, target: &'f LValue) {
        self.name(&target.name);
        if target.accesses.iter().any(|access| matches!(access, Access::Index { .. })) {
            self.names.extend(["modarray", "sel"]);
        }
    }

    fn expr(&mut self, expr: &'f Expr) {
        match &expr.kind {
            ExprKind::Name(name) => self.name(name),
            ExprKind::Call(call) => self.name(&call.callee),
            ExprKind::Binary { op, .. } | ExprKind::Unary { op, .. } => self.name(op),
            ExprKind::Select { .. } => {
                self.names.insert("sel");
            }
            ExprKind::EmptyTyped(ty) | ExprKind::Cast { ty, .. } => self.ty(ty),
            ExprKind::Struct(literal) => self.name(&literal.name),
            ExprKind::With(with) => self.with(with),
            _ => {}
        }
        // Statements of with-loops bring names of their own, which `with` looks at.
        children(expr, &mut |child| self.expr(child));
        if let ExprKind::Comprehension(comprehension) = &expr.kind {
            comprehension.partitions.iter().for_each(|partition| self.expr(&partition.body));
        }
    }

    fn with(&mut self, with: &'f With) {
        for operation in &with.operations {
            if let WithOperationKind::Fold { function, .. } | WithOperationKind::FoldFix { function, .. } =
                &operation.kind
            {
                self.name(&function.name);
            }
        }
        for part in &with.parts {
            self.stmts(&part.body.stmts);
            part.values.iter().for_each(|value| self.expr(value));
        }
    }

    fn ty(&mut self, ty: &'f Type) {
        self.base(&ty.base);
    }

    fn base(&mut self, base: &'f TypeBase) {
        if let TypeBase::Named(name) | TypeBase::Struct(name) = base {
            self.name(name);
        }
    }

    fn pragma(&mut self, pragma: &'f Pragma) {
        if let PragmaArgs::Names(names) = &pragma.args {
            names.iter().for_each(|name| self.name(name));
        }
    }

    fn name(&mut self, name: &'f QName) {
        self.names.insert(&name.name);
    }
}
