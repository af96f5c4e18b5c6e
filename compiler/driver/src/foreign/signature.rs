//! How a C function is called: the form of each value and its position, from the declaration and its `linksign`.

use ravel_core::ir::{DimPat, ElemTy, External, Fun, Linked, LocalId, Program, RankPat, TypePat, UserTypeKind};
use ravel_diagnostics::{Code, Diagnostic};
use ravel_source::Span;
use ravel_types::Basic;

/// What a value is for C.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Form {
    Scalar(Basic),
    /// The elements in row-major order.
    Array(Basic),
    /// An array of open rank: C gets its elements, which are a `ravel_array *` as well. As a result it is a `ravel_array *`.
    Whole(Basic),
    /// A NUL-terminated text.
    Text,
    /// A pointer that C code made, and the function that releases it.
    Handle {
        free: Option<String>,
    },
}

/// One extent of an array that C returns.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Extent {
    Number(i32),
    /// Axis of an argument.
    Axis {
        param: usize,
        axis: usize,
    },
    /// An `int` argument.
    Value {
        param: usize,
    },
}

#[derive(Clone, Debug)]
pub(super) struct CParam {
    pub form: Form,
    pub position: usize,
}

#[derive(Clone, Debug)]
pub(super) struct CResult {
    pub form: Form,
    /// 0 is what the C function returns.
    pub position: usize,
    /// The parameter at the same position, which C changes in place.
    pub shared: Option<usize>,
    pub extents: Vec<Extent>,
    /// Of a whole array: the rank and the extents that it must have.
    pub rank: Option<usize>,
    pub fixed: Vec<(usize, i32)>,
}

#[derive(Clone, Debug)]
pub(super) struct Signature {
    /// Symbol of the adapter.
    pub symbol: String,
    /// The C name.
    pub name: String,
    pub params: Vec<CParam>,
    pub results: Vec<CResult>,
    /// Of several ranks, rank 0 alone calls it: it has an effect, or objects that C made, which that rank alone has.
    pub by_root: bool,
    pub span: Span,
}

type Refusal = Box<Diagnostic>;

fn refuse(title: String, span: Span, label: &str) -> Refusal {
    Box::new(Diagnostic::error(Code::ForeignSignature, title).at(span, label))
}

/// The signature of an external function, and what its pragmas and those of its types link.
pub(super) fn signature(
    program: &Program,
    fun: &Fun,
    external: &External,
    foreign: &ravel_core::ir::Foreign,
) -> Result<(Signature, Vec<Linked>), Refusal> {
    if let Some(span) = foreign.descriptors {
        let title = format!("the C function `{}` asks for descriptors", foreign.name);
        let report = refuse(title, span, "descriptors belong to the runtime of sac2c");
        return Err(Box::new(
            report.with_help("pass arrays by pointer: leave the pragma out, and let the C function take T *"),
        ));
    }
    if fun.variadic_params || fun.variadic_results {
        let title = format!("the C function `{}` takes or gives `...`", foreign.name);
        return Err(refuse(title, fun.span, "only functions of the library can"));
    }
    let mut link = foreign.link.clone();
    let mut form = |ty: &TypePat| match form_of(program, ty.elem, ty.dims.is_empty(), &mut link) {
        Some(Form::Array(basic)) if rank_of(&ty.dims).is_none() => Ok(Form::Whole(basic)),
        Some(form) => Ok(form),
        None => Err(refuse("C has no values of this type".to_string(), ty.span, "records and families stay in SaC")),
    };
    let positions = positions(fun, foreign)?;
    let (of_results, of_params) = positions.split_at(fun.results.len());
    let mut params = Vec::new();
    for (param, position) in fun.params.iter().zip(of_params) {
        params.push(CParam { form: form(&param.ty)?, position: *position });
    }
    let mut results = Vec::new();
    for (ty, position) in fun.results.iter().zip(of_results) {
        let form = form(ty)?;
        let shared = params.iter().position(|param| param.position == *position);
        if let Some(param) = shared.filter(|param| params[*param].form != form) {
            let name = &fun.locals[fun.params[param].local.index()].name;
            let title = format!("a result of `{}` and its parameter `{name}` share a position", foreign.name);
            return Err(refuse(title, ty.span, "and differ in their types"));
        }
        let mut result =
            CResult { form, position: *position, shared, extents: Vec::new(), rank: None, fixed: Vec::new() };
        if let (Form::Array(basic), None) = (&result.form, shared) {
            match extents(program, fun, ty) {
                Some(extents) => result.extents = extents,
                None => result.form = Form::Whole(*basic),
            }
        }
        if matches!(result.form, Form::Whole(_)) {
            (result.rank, result.fixed) = wanted(program, ty);
        }
        results.push(result);
    }
    let symbol = external.symbol.to_string();
    let mut forms = params.iter().map(|param| &param.form).chain(results.iter().map(|result| &result.form));
    let by_root = external.effect || forms.any(|form| matches!(form, Form::Handle { .. }));
    Ok((Signature { symbol, name: foreign.name.clone(), params, results, by_root, span: fun.span }, link))
}

fn form_of(program: &Program, elem: ElemTy, scalar: bool, link: &mut Vec<Linked>) -> Option<Form> {
    match elem {
        ElemTy::Basic(basic) if scalar => Some(Form::Scalar(basic)),
        ElemTy::Basic(basic) => Some(Form::Array(basic)),
        ElemTy::User(id) => {
            let ty = &program.user_types[id.index()];
            link.extend(ty.link.iter().cloned());
            match &ty.kind {
                UserTypeKind::External if program.string_type == Some(id) => scalar.then_some(Form::Text),
                UserTypeKind::External => scalar.then(|| Form::Handle { free: ty.free.clone() }),
                UserTypeKind::Typedef { base, shape } => form_of(program, *base, scalar && shape.is_empty(), link),
                UserTypeKind::Class { .. } => None,
            }
        }
        ElemTy::Struct(_) | ElemTy::Family(_) => None,
    }
}

/// Positions of all results, then all parameters: those of `linksign`, else one after the other, the first result being what C returns.
fn positions(fun: &Fun, foreign: &ravel_core::ir::Foreign) -> Result<Vec<usize>, Refusal> {
    let count = fun.results.len() + fun.params.len();
    let first = usize::from(fun.results.is_empty());
    let Some((numbers, span)) = &foreign.linksign else { return Ok((first..first + count).collect()) };
    let wrong =
        |why: String| Err(refuse(format!("linksign of `{}` does not fit its declaration", foreign.name), *span, &why));
    if numbers.len() != count {
        let (results, params) = (fun.results.len(), fun.params.len());
        return wrong(format!("{} numbers for {results} results and {params} parameters", numbers.len()));
    }
    let positions: Vec<usize> = numbers.iter().map(|n| usize::try_from(*n).unwrap_or(usize::MAX)).collect();
    let (results, params) = positions.split_at(fun.results.len());
    let last = positions.iter().copied().max().unwrap_or(0);
    for position in 0..=last.min(count) {
        let takes = |list: &[usize]| list.iter().filter(|p| **p == position).count();
        if takes(results) > 1 || takes(params) > 1 {
            return wrong(format!("position {position} is there twice"));
        }
        if position == 0 && takes(params) > 0 {
            return wrong("position 0 is what C returns, not a parameter".to_string());
        }
        if position > 0 && takes(results) + takes(params) == 0 {
            return wrong(format!("nothing has position {position}"));
        }
    }
    if last > count {
        return wrong(format!("{last} is beyond the last parameter"));
    }
    Ok(positions)
}

/// The number of axes that a pattern takes; nothing if that is open.
fn rank_of(dims: &[DimPat]) -> Option<usize> {
    dims.iter()
        .map(|dim| match dim {
            DimPat::Num(_) | DimPat::Any | DimPat::Name(_) => Some(1),
            DimPat::Rank { rank: RankPat::Num(n), .. } => usize::try_from(*n).ok(),
            DimPat::Rank { .. } | DimPat::Star | DimPat::Plus => None,
        })
        .sum()
}

/// The axes that the type of the elements brings.
fn inner_extents(program: &Program, mut elem: ElemTy) -> Vec<i32> {
    let mut found = Vec::new();
    while let ElemTy::User(id) = elem {
        let UserTypeKind::Typedef { base, shape } = &program.user_types[id.index()].kind else { break };
        found.extend(shape);
        elem = *base;
    }
    found
}

/// The extents of an array that C makes, if they follow from the declaration.
fn extents(program: &Program, fun: &Fun, ty: &TypePat) -> Option<Vec<Extent>> {
    let outer = ty.dims.iter().map(|dim| match dim {
        DimPat::Num(n) => Some(Extent::Number(*n)),
        DimPat::Name(local) => named(fun, *local),
        _ => None,
    });
    outer.chain(inner_extents(program, ty.elem).into_iter().map(|n| Some(Extent::Number(n)))).collect()
}

/// What is known of the shape of a whole array: its rank, and the extents of some axes.
fn wanted(program: &Program, ty: &TypePat) -> (Option<usize>, Vec<(usize, i32)>) {
    let inner = inner_extents(program, ty.elem);
    let Some(outer) = rank_of(&ty.dims) else { return (None, Vec::new()) };
    let number = |(axis, dim): (usize, &DimPat)| match dim {
        DimPat::Num(n) => Some((axis, *n)),
        _ => None,
    };
    // Behind a pattern of several axes the numbers of axes and patterns differ.
    let of_outer = ty.dims.iter().enumerate().filter_map(number).filter(|_| ty.dims.len() == outer);
    let fixed = of_outer.chain(inner.iter().enumerate().map(|(axis, n)| (outer + axis, *n))).collect();
    (Some(outer + inner.len()), fixed)
}

/// Where a name of a type pattern gets its value from.
fn named(fun: &Fun, local: LocalId) -> Option<Extent> {
    let int = |ty: &TypePat| ty.elem == ElemTy::Basic(Basic::Int) && ty.dims.is_empty();
    if let Some(param) = fun.params.iter().position(|param| param.local == local && int(&param.ty)) {
        return Some(Extent::Value { param });
    }
    fun.params.iter().enumerate().find_map(|(param, declared)| {
        let single = |dim: &&DimPat| matches!(dim, DimPat::Num(_) | DimPat::Any | DimPat::Name(_));
        let leading = declared.ty.dims.iter().take_while(single);
        let axis = leading.into_iter().position(|dim| *dim == DimPat::Name(local))?;
        Some(Extent::Axis { param, axis })
    })
}
