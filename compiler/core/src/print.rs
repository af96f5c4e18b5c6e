//! Core as readable text, for `--emit core` and for tests.
//!
//! Slots print as their names; a second slot of the same name gets a number. Sets print as `name` in calls, and their
//! members are listed once at the end.

use crate::ir::*;
use crate::literals::elem_name;
use ravel_types::{Basic, HashMap, Prim, Scalar};
use std::fmt::Write;

/// The whole program.
pub fn print(program: &Program) -> String {
    let mut out = String::new();
    for ty in &program.user_types {
        let _ = match &ty.kind {
            UserTypeKind::Typedef { base, shape } => {
                let base = elem_name(program, None, *base);
                writeln!(out, "type {}::{} = {base}{};", ty.module, ty.name, numbers(shape))
            }
            UserTypeKind::External => writeln!(out, "external type {}::{};", ty.module, ty.name),
            UserTypeKind::Class { rep } => {
                let rep = Printer::new(program, None).ty(rep);
                writeln!(out, "class {}::{} = {rep};", ty.module, ty.name)
            }
        };
    }
    for record in &program.structs {
        let field = |field: &Field| {
            let elem = match field.ty.elem {
                ElemTy::Family(id) => record.families[id.index()].name.clone(),
                other => elem_name(program, None, other),
            };
            format!("{elem}{} {};", Printer::new(program, None).dims(&field.ty.dims), field.name)
        };
        let fields: Vec<String> = record.fields.iter().map(field).collect();
        let _ = writeln!(out, "struct {}::{} {{ {} }}", record.module, record.name, fields.join(" "));
    }
    for global in &program.globals {
        let mut printer = Printer::new(program, None);
        let ty = printer.ty(&global.ty);
        let _ = match &global.init {
            Some(init) => writeln!(out, "object {ty} {}::{} = {};", global.module, global.name, printer.expr(init)),
            None => writeln!(out, "external object {ty} {}::{};", global.module, global.name),
        };
    }
    for i in 0..program.funs.len() {
        out.push('\n');
        out.push_str(&print_fun(program, FunId(i as u32)));
    }
    if !program.sets.is_empty() {
        out.push('\n');
    }
    for (i, set) in program.sets.iter().enumerate() {
        let member = |id: &FunId| format!("{}#{}", program.funs[id.index()].module, id.0);
        let members: Vec<String> = set.members.iter().map(member).collect();
        let _ = writeln!(out, "set {}@{i} = {}", set.name, members.join(" "));
    }
    out
}

/// One function.
pub(crate) fn print_fun(program: &Program, id: FunId) -> String {
    let fun = &program.funs[id.index()];
    Printer::new(program, Some(fun)).fun(id)
}

fn numbers(shape: &[i32]) -> String {
    if shape.is_empty() {
        return String::new();
    }
    let numbers: Vec<String> = shape.iter().map(i32::to_string).collect();
    format!("[{}]", numbers.join(","))
}

struct Printer<'p> {
    program: &'p Program,
    fun: Option<&'p Fun>,
    names: Vec<String>,
    indent: usize,
}

impl<'p> Printer<'p> {
    fn new(program: &'p Program, fun: Option<&'p Fun>) -> Printer<'p> {
        let mut seen: HashMap<&str, usize> = HashMap::default();
        let mut names = Vec::new();
        for local in fun.iter().flat_map(|fun| &fun.locals) {
            let count = seen.entry(&local.name).or_default();
            names.push(if *count == 0 { local.name.clone() } else { format!("{}'{count}", local.name) });
            *count += 1;
        }
        Printer { program, fun, names, indent: 1 }
    }

    fn line_start(&self) -> String {
        "    ".repeat(self.indent)
    }

    fn slot(&self, id: LocalId) -> String {
        self.names.get(id.index()).cloned().unwrap_or_else(|| format!("slot{}", id.0))
    }

    fn ty(&self, ty: &TypePat) -> String {
        format!("{}{}", elem_name(self.program, self.fun, ty.elem), self.dims(&ty.dims))
    }

    fn dims(&self, dims: &[DimPat]) -> String {
        let dims: Vec<String> = dims.iter().map(|dim| self.dim(dim)).collect();
        if dims.is_empty() { String::new() } else { format!("[{}]", dims.join(",")) }
    }

    fn dim(&self, dim: &DimPat) -> String {
        match dim {
            DimPat::Num(n) => n.to_string(),
            DimPat::Any => ".".into(),
            DimPat::Name(slot) => self.slot(*slot),
            DimPat::Star => "*".into(),
            DimPat::Plus => "+".into(),
            DimPat::Rank { rank, min, shape } => {
                let shape = shape.map_or("_".into(), |slot| self.slot(slot));
                match rank {
                    RankPat::Num(n) => format!("{n}:{shape}"),
                    RankPat::Name(slot) if *min > 0 => format!("{}>{}:{shape}", self.slot(*slot), min - 1),
                    RankPat::Name(slot) => format!("{}:{shape}", self.slot(*slot)),
                    RankPat::Anon if *min > 0 => format!("_>{}:{shape}", min - 1),
                    RankPat::Anon => format!("_:{shape}"),
                }
            }
        }
    }

    fn fun(&mut self, id: FunId) -> String {
        let Some(fun) = self.fun else { return String::new() };
        let mut out = String::new();
        for family in &fun.families {
            let members: Vec<&str> = family.members.iter().map(|member| member.name()).collect();
            let _ = writeln!(out, "family {} = {}", family.name, members.join(" "));
        }
        for (word, given) in [("inline ", fun.inline), ("noinline ", fun.noinline)] {
            out.push_str(if given { word } else { "" });
        }
        if matches!(fun.body, FunBody::External(_)) {
            out.push_str("external ");
        }
        let mut results: Vec<String> = fun.results.iter().map(|ty| self.ty(ty)).collect();
        if fun.variadic_results {
            results.push("...".into());
        }
        let results = if results.is_empty() { "void".into() } else { results.join(", ") };
        let mut params: Vec<String> = Vec::new();
        for param in &fun.params {
            let reference = if param.by_ref { "&" } else { "" };
            params.push(format!("{} {reference}{}", self.ty(&param.ty), self.slot(param.local)));
        }
        if fun.variadic_params {
            params.push("...".into());
        }
        let _ = write!(out, "{results} {}::{}#{}({})", fun.module, fun.name, id.0, params.join(", "));
        for cond in &fun.conds {
            let when = if cond.after { "after" } else { "if" };
            let _ = write!(out, "\n    {when} {}", self.expr(&cond.expr));
        }
        match &fun.body {
            FunBody::External(external) => {
                let effect = if external.effect { " effect" } else { "" };
                let _ = writeln!(out, " = \"{}\"{effect};", external.symbol);
            }
            FunBody::Sac { block, returns } => {
                out.push_str("\n{\n");
                self.block(block, &mut out);
                if !returns.is_empty() {
                    let returns: Vec<String> = returns.iter().map(|value| self.expr(value)).collect();
                    let _ = writeln!(out, "    return {};", returns.join(", "));
                }
                out.push_str("}\n");
            }
        }
        out
    }

    fn block(&mut self, block: &[Stmt], out: &mut String) {
        for stmt in block {
            let start = self.line_start();
            match stmt {
                Stmt::Assign { targets, value, .. } => {
                    let targets: Vec<String> = targets.iter().map(|target| self.target(*target)).collect();
                    let equals = if targets.is_empty() { "" } else { " = " };
                    let value = self.expr(value);
                    let _ = writeln!(out, "{start}{}{equals}{value};", targets.join(", "));
                }
                Stmt::If { cond, then, els, .. } => {
                    let _ = writeln!(out, "{start}if {} {{", self.expr(cond));
                    self.nested(then, out);
                    if !els.is_empty() {
                        let _ = writeln!(out, "{start}}} else {{");
                        self.nested(els, out);
                    }
                    let _ = writeln!(out, "{start}}}");
                }
                Stmt::While { cond, body, do_first, .. } => {
                    let cond = self.expr(cond);
                    let (head, tail) = match do_first {
                        true => ("do {".to_string(), format!("}} while {cond};")),
                        false => (format!("while {cond} {{"), "}".to_string()),
                    };
                    let _ = writeln!(out, "{start}{head}");
                    self.nested(body, out);
                    let _ = writeln!(out, "{start}{tail}");
                }
            }
        }
    }

    fn nested(&mut self, block: &[Stmt], out: &mut String) {
        self.indent += 1;
        self.block(block, out);
        self.indent -= 1;
    }

    fn target(&self, target: Target) -> String {
        match target {
            Target::Local(slot) => self.slot(slot),
            Target::Global(id) => format!("object {}", self.program.globals[id.index()].name),
            Target::Discard => "_".into(),
        }
    }

    fn list(&mut self, values: &[Expr]) -> String {
        let values: Vec<String> = values.iter().map(|value| self.expr(value)).collect();
        values.join(", ")
    }

    fn expr(&mut self, expr: &Expr) -> String {
        match &expr.kind {
            ExprKind::Const { ty, value } => constant(*ty, *value),
            ExprKind::Str(text) => format!("{text:?}"),
            ExprKind::Local(slot) => self.slot(*slot),
            ExprKind::Global(id) => format!("object {}", self.program.globals[id.index()].name),
            ExprKind::Array(elements) => format!("[{}]", self.list(elements)),
            ExprKind::ConstArray { ty, shape, values } => {
                let shown: Vec<String> = values.iter().take(8).map(|value| constant(*ty, *value)).collect();
                let more = if values.len() > 8 { ", ..." } else { "" };
                format!("constants {ty}{} {{{}{more}}}", numbers(shape), shown.join(", "))
            }
            ExprKind::FamilyLit { ty, shape, values } => {
                let shown: Vec<String> = values.iter().take(8).map(|value| value.double.to_string()).collect();
                let more = if values.len() > 8 { ", ..." } else { "" };
                format!("({}) constants{} {{{}{more}}}", self.ty(ty), numbers(shape), shown.join(", "))
            }
            ExprKind::Empty { elem, cell } => {
                format!("[:{}{}]", elem_name(self.program, self.fun, *elem), numbers(cell))
            }
            ExprKind::Call { set, args } => {
                format!("{}@{}({})", self.program.sets[set.index()].name, set.0, self.list(args))
            }
            ExprKind::Prim { prim, args } => format!("{}({})", prim_name(*prim), self.list(args)),
            ExprKind::Cond { cond, then, els } => {
                format!("({} ? {} : {})", self.expr(cond), self.expr(then), self.expr(els))
            }
            ExprKind::With(with) => self.with_loop(with),
            ExprKind::Cast { ty, value } => format!("({}) {}", self.ty(ty), self.expr(value)),
            ExprKind::Wrap { class, value } => {
                format!("to_{}({})", self.program.user_types[class.index()].name, self.expr(value))
            }
            ExprKind::Unwrap { class, value } => {
                format!("from_{}({})", self.program.user_types[class.index()].name, self.expr(value))
            }
            ExprKind::StructLit { ty, fields } => {
                let record = &self.program.structs[ty.index()];
                let mut shown = Vec::new();
                for (field, value) in record.fields.iter().zip(fields) {
                    if let Some(value) = value {
                        shown.push(format!(".{} = {}", field.name, self.expr(value)));
                    }
                }
                format!("{} {{{}}}", record.name, shown.join(", "))
            }
            ExprKind::Field { value, field } => format!("{}.{field}", self.expr(value)),
            ExprKind::WithField { value, field, new } => {
                format!("{{{} with .{field} = {}}}", self.expr(value), self.expr(new))
            }
            ExprKind::Derive(derive) => {
                let wrt: Vec<String> = derive.wrt.iter().map(|wrt| self.wrt(wrt)).collect();
                let name = derive.form.name(derive.with_value);
                let (body, seeds) = (self.expr(&derive.body), self.list(&derive.seeds));
                let by = format!("by [{}]", wrt.join(", "));
                match derive.seeds.is_empty() {
                    true => format!("{name} {}({body}) {by}", derive.results),
                    false => format!("{name} {}({body}) {by} seeds ({seeds})", derive.results),
                }
            }
            ExprKind::EachPart(each) => {
                let gives = match each.gives {
                    Gives::Value => "value",
                    Gives::Sum => "sum",
                    Gives::Greatest => "greatest",
                };
                let name = format!("{}@{}", self.program.sets[each.set.index()].name, each.set.0);
                let (values, beside, args) = (self.list(&each.values), self.list(&each.beside), self.list(&each.args));
                let beside = if beside.is_empty() { beside } else { format!(" beside {beside}") };
                format!("{gives} of {name}(each part of {values}{beside} from {}, {args})", each.first)
            }
            ExprKind::Block { block, value } => {
                let mut out = "do {\n".to_string();
                self.nested(block, &mut out);
                let value = self.expr(value);
                let _ = write!(out, "{}}} give {value}", self.line_start());
                out
            }
            ExprKind::ZeroCell => "zero cell".into(),
            ExprKind::Error => "<error>".into(),
        }
    }

    fn wrt(&self, wrt: &Wrt) -> String {
        wrt.path.iter().fold(self.slot(wrt.slot), |name, field| format!("{name}.{field}"))
    }

    fn with_loop(&mut self, with: &With) -> String {
        let mut out = format!("{} {{\n", if with.comprehension { "comprehension" } else { "with" });
        self.indent += 1;
        for part in &with.parts {
            let start = self.line_start();
            let _ = write!(out, "{start}{}", self.generator(part));
            if !part.body.is_empty() {
                out.push_str(" {\n");
                self.nested(&part.body, &mut out);
                let _ = write!(out, "{start}}}");
            }
            let _ = writeln!(out, " : {};", self.list(&part.values));
        }
        self.indent -= 1;
        let ops: Vec<String> = with.ops.iter().map(|op| self.operation(op)).collect();
        let ops = if ops.is_empty() { "void".into() } else { ops.join(", ") };
        let _ = write!(out, "{}}} : {ops}", self.line_start());
        out
    }

    fn generator(&mut self, part: &Part) -> String {
        let scalars = part.scalars.as_ref().map(|slots| {
            let names: Vec<String> = slots.iter().map(|slot| self.slot(*slot)).collect();
            format!("[{}]", names.join(", "))
        });
        let index = match (part.index, scalars) {
            (Some(slot), Some(scalars)) => format!("{} = {scalars}", self.slot(slot)),
            (Some(slot), None) => self.slot(slot),
            (None, scalars) => scalars.unwrap_or_default(),
        };
        let relation = |inclusive| if inclusive { "<=" } else { "<" };
        let (lower, upper) = (self.bound(&part.lower), self.bound(&part.upper));
        let (from, upto) = (relation(part.lower_inclusive), relation(part.upper_inclusive));
        let mut text = format!("({lower} {from} {index} {upto} {upper}");
        for (word, value) in [("step", &part.step), ("width", &part.width)] {
            if let Some(value) = value {
                let _ = write!(text, " {word} {}", self.expr(value));
            }
        }
        text + ")"
    }

    fn bound(&mut self, bound: &Bound) -> String {
        match bound {
            Bound::Dot => ".".into(),
            Bound::Expr(expr) => self.expr(expr),
        }
    }

    fn operation(&mut self, op: &WithOp) -> String {
        match op {
            WithOp::Genarray { shape, default } => {
                let default = default.as_ref().map_or(String::new(), |value| format!(", {}", self.expr(value)));
                format!("genarray({}{default})", self.expr(shape))
            }
            WithOp::Modarray { array } => format!("modarray({})", self.expr(array)),
            WithOp::Propagate { object, .. } => format!("propagate({})", self.expr(object)),
            WithOp::Fold { fun, neutral, stop } => {
                let name = &self.program.sets[fun.set.index()].name;
                let args = if fun.args.is_empty() { String::new() } else { format!("({})", self.list(&fun.args)) };
                let neutral = self.expr(neutral);
                match stop {
                    Some(stop) => format!("foldfix({name}@{}{args}, {neutral}, {})", fun.set.0, self.expr(stop)),
                    None => format!("fold({name}@{}{args}, {neutral})", fun.set.0),
                }
            }
        }
    }
}

fn constant(ty: Basic, value: Scalar) -> String {
    match value {
        Scalar::Bool(v) => v.to_string(),
        Scalar::Char(v) => format!("{:?}", v as char),
        Scalar::F32(v) => format!("{v:?}f"),
        Scalar::F64(v) => format!("{v:?}"),
        other => {
            let digits = other.as_i64().map_or(String::new(), |v| v.to_string());
            let digits = if let Scalar::U64(v) = other { v.to_string() } else { digits };
            digits + ty.suffix().unwrap_or_default()
        }
    }
}

/// A spelling of the primitive that its table knows.
fn prim_name(prim: Prim) -> String {
    let spelled = ravel_types::prim_names().into_iter().find(|name| ravel_types::prim_by_name(name) == Some(prim));
    spelled.unwrap_or_else(|| format!("{prim:?}"))
}
