//! What a library offers: its C functions with their names, parameters and results, and what it cannot offer and why.

use ravel_core::ir::{FunId, Program, UserTypeKind};
use ravel_source::Span;
use ravel_specialize::Exported;
use ravel_specialize::value::{Kind, ShapeKind};
use ravel_types::{Affine, Basic};
use std::collections::HashMap;

/// What a value is for callers in C.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Form {
    Scalar(Basic),
    /// Elements and a shape; a known extent is fixed.
    Elements(Basic, Vec<Option<i32>>),
    /// A `ravel_array *` of any rank.
    Array(Basic),
    Text,
}

#[derive(Clone, Debug)]
pub(super) struct Parameter {
    /// In SaC, and in C.
    pub name: String,
    pub c_name: String,
    pub form: Form,
}

/// A function for C code.
#[derive(Clone, Debug)]
pub(super) struct Function {
    /// In SaC, and in C.
    pub name: String,
    pub c_name: String,
    /// The module's name of the compiled function.
    pub export: String,
    pub params: Vec<Parameter>,
    pub results: Vec<Form>,
}

/// A function that cannot be offered.
#[derive(Clone, Debug)]
pub(super) struct Skipped {
    pub name: String,
    pub why: String,
    pub span: Span,
    /// The file asks for it.
    pub requested: bool,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Interface {
    pub functions: Vec<Function>,
    pub skipped: Vec<Skipped>,
}

/// Words of C and C++ that no parameter is called by, and names that the C text has for itself.
const TAKEN: &str = " alignas alignof and asm auto bool break case catch char class const constexpr continue default delete do double \
    else enum explicit export extern false float for friend goto if inline int long mutable namespace new not operator or \
    private protected public register restrict return short signed sizeof static struct switch template this throw true try \
    typedef typeid typename union unsigned using virtual void volatile while xor main result ";

/// Is this a name in C?
pub(super) fn is_identifier(name: &str) -> bool {
    let starts = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    starts && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

impl Interface {
    /// What the exports of a program are for C. `exported` belongs to `program.exports`.
    pub fn of(library: &str, program: &Program, exported: &[Option<Exported>]) -> Interface {
        let mut interface = Interface::default();
        let mut spans: Vec<(Span, bool)> = Vec::new();
        for (n, (export, kinds)) in program.exports.iter().zip(exported).enumerate() {
            let fun = &program.funs[export.fun.index()];
            let made = match kinds {
                None => Err("it gives nothing back".to_string()),
                Some(kinds) => function(program, export.fun, kinds, format!("export{n}")),
            };
            match made {
                Ok(function) => {
                    // What a definition offers already may be asked for, too.
                    let same = |other: &Function| other.name == function.name && forms(other) == forms(&function);
                    if !interface.functions.iter().any(same) {
                        interface.functions.push(function);
                        spans.push((fun.span, export.requested));
                    }
                }
                Err(why) => interface.skipped.push(Skipped {
                    name: fun.name.clone(),
                    why,
                    span: fun.span,
                    requested: export.requested,
                }),
            }
        }
        interface.name(library);
        interface.keep_apart(&spans);
        interface
    }

    /// C names: the library, the function, and the ranks of its arrays. Where overloads differ in element types alone, these follow.
    fn name(&mut self, library: &str) {
        for function in &mut self.functions {
            function.c_name = format!("{library}_{}{}", function.name, ranks(function));
        }
        let mut count: HashMap<String, usize> = HashMap::new();
        for function in &self.functions {
            *count.entry(function.c_name.clone()).or_default() += 1;
        }
        for function in &mut self.functions {
            if count[&function.c_name] > 1 {
                function.c_name = format!("{library}_{}_{}{}", function.name, elements(function), ranks(function));
            }
        }
    }

    /// Of functions that still have one name, which differ in fixed extents, the most general one stays: it calls the others.
    fn keep_apart(&mut self, spans: &[(Span, bool)]) {
        let open = |function: &Function| {
            let axes = function.params.iter().filter_map(|param| match &param.form {
                Form::Elements(_, extents) => Some(extents.iter().filter(|extent| extent.is_none()).count()),
                _ => None,
            });
            axes.sum::<usize>()
        };
        let functions = std::mem::take(&mut self.functions);
        for (n, function) in functions.iter().enumerate() {
            let rivals = functions.iter().enumerate().filter(|(_, other)| other.c_name == function.c_name);
            let best = rivals.max_by_key(|(at, other)| (open(other), usize::MAX - at));
            if best.is_some_and(|(at, _)| at == n) {
                self.functions.push(function.clone());
            } else {
                let why = format!("another function is `{}` in C", function.c_name);
                let (span, requested) = spans[n];
                self.skipped.push(Skipped { name: function.name.clone(), why, span, requested });
            }
        }
    }
}

fn forms(function: &Function) -> Vec<&Form> {
    function.params.iter().map(|param| &param.form).collect()
}

/// `_2`, or `_2_1` where they differ; nothing without arrays.
fn ranks(function: &Function) -> String {
    let ranks: Vec<String> = function
        .params
        .iter()
        .filter_map(|param| match &param.form {
            Form::Elements(_, extents) => Some(extents.len().to_string()),
            Form::Array(_) => Some("any".to_string()),
            Form::Scalar(_) | Form::Text => None,
        })
        .collect();
    let same = ranks.iter().all(|rank| *rank == ranks[0]);
    let shown = if same { ranks.get(..1).unwrap_or_default() } else { &ranks };
    shown.iter().map(|rank| format!("_{rank}")).collect()
}

fn elements(function: &Function) -> String {
    let names: Vec<String> = function
        .params
        .iter()
        .map(|param| match &param.form {
            Form::Scalar(basic) | Form::Elements(basic, _) | Form::Array(basic) => basic.to_string(),
            Form::Text => "string".to_string(),
        })
        .collect();
    let same = names.iter().all(|name| *name == names[0]);
    if same { names.first().cloned().unwrap_or_default() } else { names.join("_") }
}

fn function(program: &Program, id: FunId, kinds: &Exported, export: String) -> Result<Function, String> {
    let fun = &program.funs[id.index()];
    if !is_identifier(&fun.name) {
        return Err("operators have no name in C".to_string());
    }
    let mut params: Vec<Parameter> = Vec::new();
    for (n, (param, kind)) in fun.params.iter().zip(&kinds.params).enumerate() {
        let name = fun.locals[param.local.index()].name.clone();
        let form = form(program, kind).ok_or_else(|| format!("C has no values of the type of `{name}`"))?;
        // Names are apart also with `_shape` behind them.
        let mut c_name = if name == "_" { format!("arg{}", n + 1) } else { name.clone() };
        let clashes = |c_name: &str| {
            TAKEN.contains(&format!(" {c_name} "))
                || ["result", "ravel_"].iter().any(|taken| c_name.starts_with(taken))
                || params.iter().any(|other| {
                    c_name == other.c_name
                        || c_name == format!("{}_shape", other.c_name)
                        || other.c_name == format!("{c_name}_shape")
                })
        };
        while clashes(&c_name) {
            c_name = if c_name.starts_with("ravel_") || c_name.starts_with("result") {
                format!("in_{c_name}")
            } else {
                c_name + "_"
            };
        }
        params.push(Parameter { name, c_name, form });
    }
    let mut results = Vec::new();
    for kind in &kinds.results {
        let form = form(program, kind).ok_or("C has no values of the type of a result")?;
        results.push(form);
    }
    Ok(Function { name: fun.name.clone(), c_name: String::new(), export, params, results })
}

fn form(program: &Program, kind: &Kind) -> Option<Form> {
    match kind {
        Kind::Sc(basic, _) => Some(Form::Scalar(*basic)),
        Kind::Arr(basic, ShapeKind::Unknown) => Some(Form::Array(*basic)),
        Kind::Arr(basic, ShapeKind::Known(extents)) => {
            let extents = extents.iter().map(|extent| extent.as_ref().and_then(Affine::as_const)).collect();
            Some(Form::Elements(*basic, extents))
        }
        Kind::Handle(id) => (program.string_type == Some(*id)).then_some(Form::Text),
        Kind::Wrapped(id, inner) => match &program.user_types[id.index()].kind {
            UserTypeKind::Typedef { .. } => form(program, inner),
            UserTypeKind::Class { .. } | UserTypeKind::External => None,
        },
        Kind::Bottom | Kind::Tup(..) | Kind::Struct(..) => None,
    }
}
