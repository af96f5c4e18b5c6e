//! Trees back to text: `parse(print(tree))` equals `tree` but for spans.
//!
//! One statement per line, four blanks per level, braces around every block, parentheses only where the grammar
//! needs them. A tree with error nodes prints `<error>` in their place, which does not parse.

mod expr;

use crate::ast::*;
use crate::literal::quote_string;

/// The text of a whole file.
pub fn print_file(file: &File) -> String {
    let mut printer = Printer::default();
    printer.header(&file.header);
    let mut previous = None;
    for definition in &file.definitions {
        let kind = std::mem::discriminant(definition);
        let spacious = matches!(definition, Definition::Function(_) | Definition::Struct(_));
        if previous.is_some_and(|previous| previous != kind || spacious) {
            printer.out.push('\n');
        }
        printer.definition(definition);
        previous = Some(kind);
    }
    printer.out
}

/// The text of one expression, without a line break at its end.
pub fn print_expr(expr: &Expr) -> String {
    let mut printer = Printer::default();
    printer.expr(expr);
    printer.out
}

/// The text of one type, as in `double[n,3]`.
/// A function's results, name, parameters and conditions, on one line.
pub fn print_head(function: &Function) -> String {
    let mut printer = Printer::default();
    printer.head(function);
    printer.out
}

pub fn print_type(ty: &Type) -> String {
    let mut printer = Printer::default();
    printer.ty(ty);
    printer.out
}

#[derive(Default)]
struct Printer {
    out: String,
    indent: usize,
}

impl Printer {
    fn put(&mut self, text: &str) {
        self.out.push_str(text);
    }

    /// Starts a new line at the current level.
    fn line(&mut self) {
        self.out.push('\n');
        for _ in 0..self.indent {
            self.out.push_str("    ");
        }
    }

    fn list<T>(&mut self, items: &[T], mut each: impl FnMut(&mut Printer, &T)) {
        for (at, item) in items.iter().enumerate() {
            if at > 0 {
                self.put(", ");
            }
            each(self, item);
        }
    }

    fn ident(&mut self, name: &Ident) {
        self.put(&name.name);
    }

    fn idents(&mut self, names: &[Ident]) {
        self.list(names, Printer::ident);
    }

    fn qname(&mut self, name: &QName) {
        if let Some(module) = &name.module {
            self.put(module);
            self.put("::");
        }
        self.put(&name.name);
    }

    fn string(&mut self, text: &str) {
        self.put(&quote_string(text.as_bytes()));
    }

    fn header(&mut self, header: &Header) {
        let (word, name, deprecated) = match header {
            Header::Program => return,
            Header::Module(header) => ("module ", &header.name, &header.deprecated),
            Header::Class(header) => ("class ", &header.name, &header.deprecated),
        };
        self.put(word);
        self.ident(name);
        if let Some(text) = deprecated {
            self.put(" deprecated ");
            self.string(text);
        }
        self.put(";\n");
        if let Header::Class(header) = header {
            match &header.representation {
                Some(ty) => {
                    self.put("classtype ");
                    self.ty(ty);
                }
                None => self.put("external classtype"),
            }
            self.put(";");
            self.pragmas(&header.pragmas);
            self.put("\n");
        }
        self.put("\n");
    }

    fn definition(&mut self, definition: &Definition) {
        match definition {
            Definition::Load(load) => {
                self.put(if load.kind == LoadKind::Use { "use " } else { "import " });
                self.ident(&load.module);
                self.put(": ");
                self.symbols(&load.symbols);
                self.put(";");
            }
            Definition::Offer(offer) => {
                self.put(if offer.kind == OfferKind::Export { "export " } else { "provide " });
                self.symbols(&offer.symbols);
                self.put(";");
            }
            Definition::Typedef(typedef) => {
                self.put(if typedef.nested { "nested typedef " } else { "typedef " });
                self.ty(&typedef.base);
                self.put(" ");
                self.ident(&typedef.name);
                self.put(";");
            }
            Definition::ExternalTypedef(typedef) => {
                self.put("external typedef ");
                self.ident(&typedef.name);
                self.put(";");
                self.pragmas(&typedef.pragmas);
            }
            Definition::Object(object) => self.object(object),
            Definition::Struct(definition) => {
                self.put("struct ");
                self.ident(&definition.name);
                self.put(" {");
                self.indent += 1;
                for field in &definition.fields {
                    self.line();
                    self.ty(&field.ty);
                    self.put(" ");
                    self.ident(&field.name);
                    self.put(";");
                }
                self.indent -= 1;
                self.put("\n};");
            }
            Definition::Function(function) => self.function(function),
            Definition::Family(family) => {
                self.put("#pragma family ");
                self.ident(&family.name);
                for member in &family.members {
                    self.put(" ");
                    self.type_base(&member.base);
                }
            }
            Definition::Pragma(pragma) => self.pragma(pragma),
        }
        self.put("\n");
    }

    fn object(&mut self, object: &ObjectDef) {
        self.put(if object.init.is_none() { "external objdef " } else { "objdef " });
        self.ty(&object.ty);
        self.put(" ");
        self.ident(&object.name);
        if let Some(init) = &object.init {
            self.put(" = ");
            self.expr(init);
        }
        self.put(";");
        self.pragmas(&object.pragmas);
    }

    fn symbols(&mut self, symbols: &SymbolSet) {
        match symbols {
            SymbolSet::All => self.put("all"),
            SymbolSet::AllExcept(list) => {
                self.put("all except { ");
                self.idents(list);
                self.put(" }");
            }
            SymbolSet::Some(list) => {
                self.put("{ ");
                self.idents(list);
                self.put(" }");
            }
        }
    }

    fn function(&mut self, function: &Function) {
        let Attributes { external, inline, noinline, specialize } = function.attributes;
        for (present, word) in
            [(external, "external "), (inline, "inline "), (noinline, "noinline "), (specialize, "specialize ")]
        {
            if present {
                self.put(word);
            }
        }
        self.head(function);
        match &function.body {
            Some(body) => {
                self.put("\n{");
                self.body(body);
                self.put("\n}");
            }
            None => self.put(";"),
        }
        self.pragmas(&function.pragmas);
    }

    fn head(&mut self, function: &Function) {
        if function.results.is_empty() && !function.variadic_results {
            self.put("void");
        }
        self.list(&function.results, Printer::ty);
        self.variadic(function.variadic_results, function.results.is_empty());
        self.put(" ");
        self.ident(&function.name);
        self.put("(");
        self.list(&function.params, |printer, param| {
            printer.ty(&param.ty);
            printer.put(if param.by_ref { " &" } else { " " });
            printer.ident(&param.name);
        });
        self.variadic(function.variadic_params, function.params.is_empty());
        self.put(")");
        if !function.conditions.is_empty() {
            self.conditions(&function.conditions);
        }
    }

    fn variadic(&mut self, present: bool, first: bool) {
        if present {
            self.put(if first { "..." } else { ", ..." });
        }
    }

    /// A name at the end of the last condition would make a record literal of the body if it is a struct's.
    fn conditions(&mut self, conditions: &[Expr]) {
        self.put(" | ");
        self.list(conditions, |printer, condition| {
            let text = print_expr(condition);
            let bare_end = text.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
            printer.put(&if bare_end { format!("({text})") } else { text });
        });
    }

    fn body(&mut self, body: &Body) {
        self.indent += 1;
        for decl in &body.decls {
            self.line();
            self.ty(&decl.ty);
            self.put(" ");
            self.idents(&decl.names);
            self.put(";");
        }
        self.statements(&body.stmts);
        if let Some(ret) = &body.ret {
            self.line();
            match ret.values.as_slice() {
                [] => self.put("return;"),
                [value] => {
                    self.put("return ");
                    self.expr(value);
                    self.put(";");
                }
                values => {
                    self.put("return (");
                    self.exprs(values);
                    self.put(");");
                }
            }
        }
        self.indent -= 1;
    }

    /// Each pragma on a line of its own, as its end is the line's.
    fn pragmas(&mut self, pragmas: &[Pragma]) {
        for pragma in pragmas {
            self.put("\n");
            self.pragma(pragma);
        }
    }

    fn pragma(&mut self, pragma: &Pragma) {
        self.put("#pragma ");
        self.ident(&pragma.name);
        match &pragma.args {
            PragmaArgs::None => {}
            PragmaArgs::Strings(list) => {
                self.put(" ");
                self.list(list, |printer, text| printer.string(text));
            }
            PragmaArgs::Numbers(list) => {
                self.put(" [");
                self.list(list, |printer, number| printer.put(&number.to_string()));
                self.put("]");
            }
            PragmaArgs::Names(list) => {
                self.put(" ");
                self.list(list, Printer::qname);
            }
            PragmaArgs::Other(text) => {
                self.put(" ");
                self.put(text);
            }
        }
    }

    fn ty(&mut self, ty: &Type) {
        self.type_base(&ty.base);
        let Some(dims) = &ty.dims else { return };
        self.put("[");
        for (at, dim) in dims.iter().enumerate() {
            if at > 0 {
                self.put(",");
            }
            match &dim.kind {
                DimKind::Num(extent) => self.put(&extent.to_string()),
                DimKind::Dot => self.put("."),
                DimKind::Plus => self.put("+"),
                DimKind::Star => self.put("*"),
                DimKind::Name(name) => self.ident(name),
                DimKind::Axes { count, shape } => {
                    match count {
                        AxisCount::Num(count) => self.put(&count.to_string()),
                        AxisCount::Name { name, more_than } => {
                            self.ident(name);
                            if let Some(least) = more_than {
                                self.put(&format!(">{least}"));
                            }
                        }
                    }
                    self.put(":");
                    self.ident(shape);
                }
            }
        }
        self.put("]");
    }

    fn type_base(&mut self, base: &TypeBase) {
        match base {
            TypeBase::Basic(basic) => self.put(basic.keyword()),
            TypeBase::Named(name) => self.qname(name),
            TypeBase::Struct(name) => {
                self.put("struct ");
                self.qname(name);
            }
        }
    }

    fn statements(&mut self, stmts: &[Stmt]) {
        for stmt in stmts {
            self.line();
            self.statement(stmt);
        }
    }

    /// ` { ... }` behind the head of a control structure.
    fn block(&mut self, block: &Block) {
        if block.stmts.is_empty() {
            self.put(" { }");
            return;
        }
        self.put(" {");
        self.indent += 1;
        self.statements(&block.stmts);
        self.indent -= 1;
        self.line();
        self.put("}");
    }

    fn statement(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::If { cond, then, otherwise } => {
                self.put("if (");
                self.expr(cond);
                self.put(")");
                self.block(then);
                if let Some(otherwise) = otherwise {
                    self.put(" else");
                    match otherwise.stmts.as_slice() {
                        [next @ Stmt { kind: StmtKind::If { .. }, .. }] => {
                            self.put(" ");
                            self.statement(next);
                        }
                        _ => self.block(otherwise),
                    }
                }
            }
            StmtKind::While { cond, body } => {
                self.put("while (");
                self.expr(cond);
                self.put(")");
                self.block(body);
            }
            StmtKind::DoWhile { body, cond } => {
                self.put("do");
                self.block(body);
                self.put(" while (");
                self.expr(cond);
                self.put(");");
            }
            StmtKind::For { init, cond, step, body } => {
                self.put("for (");
                self.list(init, Printer::simple);
                self.put("; ");
                self.expr(cond);
                self.put("; ");
                self.list(step, Printer::simple);
                self.put(")");
                self.block(body);
            }
            _ => {
                self.simple(stmt);
                self.put(";");
            }
        }
    }

    /// A statement that may stand in a `for` header, without its `;`.
    fn simple(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::Assign { targets, op, value } => {
                self.list(targets, Printer::target);
                self.put(" ");
                if let Some(op) = op {
                    self.qname(op);
                }
                self.put("= ");
                self.expr(value);
            }
            StmtKind::IncDec { target, op } => {
                self.target(target);
                if op.module.is_some() {
                    self.put(" ");
                }
                self.qname(op);
            }
            StmtKind::Call(call) => self.call(call),
            StmtKind::With(with) => self.with_loop(with),
            StmtKind::Error
            | StmtKind::If { .. }
            | StmtKind::While { .. }
            | StmtKind::DoWhile { .. }
            | StmtKind::For { .. } => self.put("<error>"),
        }
    }

    fn target(&mut self, target: &LValue) {
        self.qname(&target.name);
        for access in &target.accesses {
            match access {
                Access::Index { selectors, .. } => self.selectors(selectors),
                Access::Field(field) => {
                    self.put(".");
                    self.ident(field);
                }
            }
        }
    }
}
