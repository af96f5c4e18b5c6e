//! The C text of adapters: the interface of natives outside (`docs/runtime-abi.md`), the C function inside.

use super::signature::{CParam, CResult, Extent, Form, Signature};
use ravel_interp::tag;
use ravel_runtime::abi::ElemTag;
use ravel_types::Basic;
use std::fmt::Write;

const HEAD: &str = r#"typedef struct {
    long long rc;
    void *data;
    long long count;
    unsigned rank;
    unsigned char elem, kind;
    unsigned short pad;
    long long shape[];
} ravel_object;
#ifdef RAVEL_LINKED
extern ravel_object *ravel_alloc(unsigned char elem, unsigned rank, const long long *shape, const char *);
extern ravel_object *ravel_copy(ravel_object *, const char *);
extern ravel_object *ravel_string_new(const char *, long long);
extern ravel_object *ravel_foreign_box(void *, void (*)(void *));
extern void *ravel_foreign_value(ravel_object *);
extern void ravel_foreign_null(const char *);
extern void ravel_foreign_shape(const char *, ravel_object *, int, int);
extern unsigned char ravel_foreign_here(void);
extern void ravel_foreign_pass(const char *, const unsigned char *, unsigned long long *, long long);
extern void *ravel_foreign_lend(ravel_object *);
extern void ravel_foreign_back(void *);
extern ravel_object *ravel_foreign_given(void *);
#else
struct ravel_interface {
    ravel_object *(*alloc)(unsigned char, unsigned, const long long *, const char *);
    ravel_object *(*copy)(ravel_object *, const char *);
    ravel_object *(*string)(const char *, long long);
    ravel_object *(*box)(void *, void (*)(void *));
    void *(*value)(ravel_object *);
    void (*null)(const char *);
    void (*shape)(const char *, ravel_object *, int, int);
    unsigned char (*here)(void);
    void (*pass)(const char *, const unsigned char *, unsigned long long *, long long);
    void *(*lend)(ravel_object *);
    void (*back)(void *);
    ravel_object *(*given)(void *);
    ravel_object *(*array_new)(unsigned, int, const long long *);
    ravel_object *(*array_borrow)(const void *, unsigned, int, const long long *, void (*)(void *), void *);
    void *(*array_data)(ravel_object *);
    const long long *(*array_shape)(const ravel_object *);
    int (*array_rank)(const ravel_object *);
    unsigned (*array_type)(const ravel_object *);
    long long (*array_size)(const ravel_object *);
    int (*array_shared)(const ravel_object *);
    void (*array_retain)(ravel_object *);
    void (*array_release)(ravel_object *);
    long long (*array_collect)(void);
    const char *(*last_error)(void);
};
const struct ravel_interface *ravel_foreign_interface;
#define ravel_alloc ravel_foreign_interface->alloc
#define ravel_copy ravel_foreign_interface->copy
#define ravel_string_new ravel_foreign_interface->string
#define ravel_foreign_box ravel_foreign_interface->box
#define ravel_foreign_value ravel_foreign_interface->value
#define ravel_foreign_null ravel_foreign_interface->null
#define ravel_foreign_shape ravel_foreign_interface->shape
#define ravel_foreign_here ravel_foreign_interface->here
#define ravel_foreign_pass ravel_foreign_interface->pass
#define ravel_foreign_lend ravel_foreign_interface->lend
#define ravel_foreign_back ravel_foreign_interface->back
#define ravel_foreign_given ravel_foreign_interface->given
#define FORWARD(result, name, params, args) \
    __attribute__((visibility("hidden"))) result ravel_##name params { return ravel_foreign_interface->name args; }
FORWARD(ravel_object *, array_new, (unsigned t, int r, const long long *s), (t, r, s))
FORWARD(ravel_object *, array_borrow, (const void *d, unsigned t, int r, const long long *s, void (*f)(void *), void *o), (d, t, r, s, f, o))
FORWARD(void *, array_data, (ravel_object *a), (a))
FORWARD(const long long *, array_shape, (const ravel_object *a), (a))
FORWARD(int, array_rank, (const ravel_object *a), (a))
FORWARD(unsigned, array_type, (const ravel_object *a), (a))
FORWARD(long long, array_size, (const ravel_object *a), (a))
FORWARD(int, array_shared, (const ravel_object *a), (a))
FORWARD(void, array_retain, (ravel_object *a), (a))
FORWARD(void, array_release, (ravel_object *a), (a))
FORWARD(long long, array_collect, (void), ())
FORWARD(const char *, last_error, (void), ())
#endif
"#;

/// The adapters as one C file.
pub(super) fn text(signatures: &[Signature]) -> String {
    let mut out = String::from(HEAD);
    for (n, signature) in signatures.iter().enumerate() {
        // Writing to a string cannot fail.
        let _ = adapter(&mut out, n, signature);
    }
    out
}

/// The C type of elements, as sac2c names them.
fn c_type(basic: Basic) -> &'static str {
    match basic {
        Basic::Bool => "_Bool",
        Basic::Char => "unsigned char",
        Basic::Byte => "signed char",
        Basic::Short => "short",
        Basic::Int => "int",
        Basic::Long => "long",
        Basic::Longlong => "long long",
        Basic::Ubyte => "unsigned char",
        Basic::Ushort => "unsigned short",
        Basic::Uint => "unsigned",
        Basic::Ulong => "unsigned long",
        Basic::Ulonglong => "unsigned long long",
        Basic::Float => "float",
        Basic::Double => "double",
    }
}

/// The type of a value on the side of C.
fn inner(form: &Form) -> String {
    match form {
        Form::Scalar(basic) => c_type(*basic).to_string(),
        Form::Array(basic) => format!("{} *", c_type(*basic)),
        Form::Whole(_) => "void *".to_string(),
        Form::Text => "char *".to_string(),
        Form::Handle { .. } => "void *".to_string(),
    }
}

/// The type of a value on the side of Ravel.
fn outer(form: &Form) -> &'static str {
    match form {
        Form::Scalar(Basic::Bool) => "unsigned char",
        Form::Scalar(basic) => c_type(*basic),
        _ => "ravel_object *",
    }
}

/// What C gets for a parameter that it only reads.
fn passed(form: &Form, p: usize) -> String {
    match form {
        Form::Scalar(_) => format!("p{p}"),
        Form::Array(_) => format!("p{p}->data"),
        Form::Whole(_) => format!("l{p}"),
        Form::Text => format!("t{p}"),
        Form::Handle { .. } => format!("ravel_foreign_value(p{p})"),
    }
}

fn adapter(out: &mut String, n: usize, signature: &Signature) -> std::fmt::Result {
    let Signature { symbol, name, params, results, .. } = signature;
    let last = params.iter().map(|p| p.position).chain(results.iter().map(|r| r.position)).max().unwrap_or(0);
    let returned = results.iter().find(|result| result.position == 0);
    // The C function.
    let mut types = Vec::new();
    for position in 1..=last {
        let param = params.iter().find(|param| param.position == position);
        let result = results.iter().find(|result| result.position == position);
        types.push(match (param, result) {
            // An array is changed in place, anything else through a pointer.
            (Some(param), Some(_)) if matches!(param.form, Form::Array(_) | Form::Whole(_)) => inner(&param.form),
            (Some(param), Some(_)) => format!("{}*", inner(&param.form)),
            (Some(param), None) => inner(&param.form),
            (None, Some(result)) => format!("{}*", inner(&result.form)),
            (None, None) => "void *".to_string(),
        });
    }
    let types = if types.is_empty() { "void".to_string() } else { types.join(", ") };
    let c_result = returned.map_or("void".to_string(), |result| inner(&result.form));
    writeln!(out, "extern {c_result} c{n}({types}) __asm__(\"{name}\");")?;
    for (r, result) in results.iter().enumerate() {
        if let Form::Handle { free: Some(free) } = &result.form {
            writeln!(out, "extern void f{n}_{r}(void *) __asm__(\"{free}\");")?;
        }
    }
    // The adapter.
    let mut heads: Vec<String> =
        params.iter().enumerate().map(|(p, param)| format!("{} p{p}", outer(&param.form))).collect();
    let one = results.len() == 1;
    if !one {
        heads.extend(results.iter().enumerate().map(|(r, result)| format!("{} *o{r}", outer(&result.form))));
    }
    let heads = if heads.is_empty() { "void".to_string() } else { heads.join(", ") };
    let given = if one { outer(&results[0].form) } else { "void" };
    writeln!(out, "{given} {symbol}({heads}) {{")?;
    if signature.by_root {
        elsewhere(out, signature)?;
    }
    for (p, param) in params.iter().enumerate().filter(|(_, param)| param.form == Form::Text) {
        let _ = param;
        writeln!(out, "    char *t{p} = __builtin_alloca(p{p}->count + 1);")?;
        writeln!(out, "    __builtin_memcpy(t{p}, p{p}->data, p{p}->count); t{p}[p{p}->count] = 0;")?;
    }
    for (r, result) in results.iter().enumerate() {
        let ty = inner(&result.form);
        match (result.shared, &result.form) {
            (Some(p), Form::Array(_) | Form::Whole(_)) => {
                writeln!(out, "    ravel_object *r{r} = ravel_copy(p{p}, 0);")?
            }
            (Some(p), form) => writeln!(out, "    {ty} r{r} = {};", passed(form, p))?,
            (None, _) => writeln!(out, "    {ty} r{r} = 0;")?,
        }
    }
    // An array of open rank is lent as its elements, which stand for it; one that C changes is the result's.
    let lent = |p: usize| matches!(params[p].form, Form::Whole(_));
    for p in (0..params.len()).filter(|p| lent(*p)) {
        let whose =
            results.iter().position(|result| result.shared == Some(p)).map_or(format!("p{p}"), |r| format!("r{r}"));
        writeln!(out, "    void *l{p} = ravel_foreign_lend({whose});")?;
    }
    let mut arguments = Vec::new();
    for position in 1..=last {
        let result = results.iter().position(|result| result.position == position);
        let param = params.iter().position(|param| param.position == position);
        arguments.push(match (result, param) {
            (Some(r), Some(p)) if matches!(params[p].form, Form::Array(_)) => format!("r{r}->data"),
            (Some(_), Some(p)) if lent(p) => format!("l{p}"),
            (Some(r), _) => format!("&r{r}"),
            (None, Some(p)) => passed(&params[p].form, p),
            (None, None) => "0".to_string(),
        });
    }
    let store = results.iter().position(|result| result.position == 0).map_or(String::new(), |r| format!("r{r} = "));
    writeln!(out, "    {store}c{n}({});", arguments.join(", "))?;
    for (r, result) in results.iter().enumerate() {
        if matches!(result.form, Form::Whole(_)) && result.shared.is_none() {
            writeln!(out, "    if (!r{r}) ravel_foreign_null(\"{name}\");")?;
            // What the function was lent is not its own to give; an array without elements stands for itself.
            for p in (0..params.len()).filter(|p| lent(*p)) {
                writeln!(out, "    if (r{r} == p{p}) r{r} = ravel_copy(p{p}, 0); else")?;
            }
            writeln!(out, "    r{r} = ravel_foreign_given(r{r});")?;
        }
        convert(out, (n, r), result, name)?;
    }
    for p in (0..params.len()).filter(|p| lent(*p)) {
        writeln!(out, "    ravel_foreign_back(l{p});")?;
    }
    if signature.by_root && !results.is_empty() {
        writeln!(out, "    unsigned long long w[{}] = {{0}};", results.len())?;
        for r in 0..results.len() {
            writeln!(out, "    __builtin_memcpy(&w[{r}], &v{r}, sizeof v{r});")?;
        }
        pass(out, signature, "    ")?;
    }
    give(out, results, "    ")?;
    writeln!(out, "}}")?;
    words(out, symbol, params, results)
}

/// Gives the results `v`.
fn give(out: &mut String, results: &[CResult], indent: &str) -> std::fmt::Result {
    for r in 0..results.len() {
        match results.len() {
            1 => writeln!(out, "{indent}return v{r};")?,
            _ => writeln!(out, "{indent}*o{r} = v{r};")?,
        }
    }
    Ok(())
}

/// What other ranks do where rank 0 calls the C function.
fn elsewhere(out: &mut String, signature: &Signature) -> std::fmt::Result {
    let results = &signature.results;
    writeln!(out, "    if (!ravel_foreign_here()) {{")?;
    if !results.is_empty() {
        writeln!(out, "        unsigned long long w[{}] = {{0}};", results.len())?;
        pass(out, signature, "        ")?;
        for (r, result) in results.iter().enumerate() {
            let ty = outer(&result.form);
            writeln!(out, "        {ty} v{r}; __builtin_memcpy(&v{r}, &w[{r}], sizeof v{r});")?;
        }
        give(out, results, "        ")?;
    }
    if results.len() != 1 {
        writeln!(out, "        return;")?;
    }
    writeln!(out, "    }}")
}

/// Passes the words `w` of the results on, from rank 0 to the others.
fn pass(out: &mut String, signature: &Signature, indent: &str) -> std::fmt::Result {
    let tag_of = |result: &CResult| match &result.form {
        Form::Scalar(basic) => tag(basic.elem()),
        _ => ElemTag::Handle,
    };
    let tags: Vec<String> = signature.results.iter().map(|result| (tag_of(result) as u8).to_string()).collect();
    let (name, tags, n) = (&signature.name, tags.join(", "), signature.results.len());
    writeln!(out, "{indent}static const unsigned char tags[] = {{{tags}}};")?;
    writeln!(out, "{indent}ravel_foreign_pass(\"{name}\", tags, w, {n});")
}

/// Makes `v` of the result `r`.
fn convert(out: &mut String, (n, r): (usize, usize), result: &CResult, name: &str) -> std::fmt::Result {
    match &result.form {
        Form::Scalar(basic) => writeln!(out, "    {} v{r} = r{r};", outer(&Form::Scalar(*basic))),
        Form::Array(_) | Form::Whole(_) if result.shared.is_some() => writeln!(out, "    ravel_object *v{r} = r{r};"),
        Form::Whole(basic) => {
            writeln!(out, "    ravel_object *v{r} = r{r};")?;
            let rank = result.rank.map_or(String::new(), |rank| format!(" || v{r}->rank != {rank}"));
            let fixed: String =
                result.fixed.iter().map(|(axis, n)| format!(" || v{r}->shape[{axis}] != {n}")).collect();
            let (tag, axes) = (tag(basic.elem()) as u8, result.rank.map_or(-1, |rank| rank as i64));
            writeln!(
                out,
                "    if (!v{r} || v{r}->kind != 0 || v{r}->elem != {tag}{rank}{fixed}) ravel_foreign_shape(\"{name}\", v{r}, {tag}, {axes});"
            )
        }
        Form::Array(basic) => {
            let extent = |extent: &Extent| match extent {
                Extent::Number(n) => n.to_string(),
                Extent::Axis { param, axis } => format!("p{param}->shape[{axis}]"),
                Extent::Value { param } => format!("p{param}"),
            };
            let extents: Vec<String> = result.extents.iter().map(extent).collect();
            let (rank, tag) = (extents.len(), tag(basic.elem()) as u8);
            writeln!(out, "    long long s{r}[] = {{{}}};", extents.join(", "))?;
            writeln!(out, "    ravel_object *v{r} = ravel_alloc({tag}, {rank}, s{r}, 0);")?;
            writeln!(out, "    if (v{r}->count > 0 && !r{r}) ravel_foreign_null(\"{name}\");")?;
            writeln!(out, "    if (v{r}->count > 0) __builtin_memcpy(v{r}->data, r{r}, v{r}->count * sizeof *r{r});")?;
            writeln!(out, "    __builtin_free(r{r});")
        }
        Form::Text => {
            writeln!(out, "    if (!r{r}) ravel_foreign_null(\"{name}\");")?;
            writeln!(out, "    ravel_object *v{r} = ravel_string_new(r{r}, __builtin_strlen(r{r}));")
        }
        Form::Handle { free } => {
            let free = free.as_ref().map_or("0".to_string(), |_| format!("f{n}_{r}"));
            writeln!(out, "    ravel_object *v{r} = ravel_foreign_box(r{r}, {free});")
        }
    }
}

/// The same with arguments and results in words.
fn words(out: &mut String, symbol: &str, params: &[CParam], results: &[CResult]) -> std::fmt::Result {
    writeln!(out, "void {symbol}_words(const unsigned long long *a, unsigned long long *r) {{")?;
    let mut arguments = Vec::new();
    for (p, param) in params.iter().enumerate() {
        writeln!(out, "    {} p{p}; __builtin_memcpy(&p{p}, &a[{p}], sizeof p{p});", outer(&param.form))?;
        arguments.push(format!("p{p}"));
    }
    let one = results.len() == 1;
    if !one {
        arguments.extend((0..results.len()).map(|r| format!("(void *)&r[{r}]")));
    }
    let call = format!("{symbol}({})", arguments.join(", "));
    match results {
        [result] => {
            writeln!(out, "    {} v = {call};", outer(&result.form))?;
            writeln!(out, "    r[0] = 0; __builtin_memcpy(&r[0], &v, sizeof v);")?;
        }
        _ => writeln!(out, "    {call};")?,
    }
    writeln!(out, "}}")
}
