//! Core: the small functional language between the AST and specialisation.
//!
//! Names are resolved, modules are gone, sugar is gone; functions are still rank-polymorphic and overloaded. A function body
//! is a list of assignments to *local slots* (not SSA: a slot may be assigned many times, with values of different
//! shapes and even element types), conditionals and loops. The specialiser executes it on abstract values.
//!
//! What has been desugared, and into what:
//! - `for`, `while`, `do`: [`Stmt::While`]; `x op= e`, `x++`: a call of the operator;
//! - `a[i] = e`, `a[i][j] = e`, `s.f[i] = e`: calls of the visible `modarray` and [`ExprKind::WithField`];
//! - `a[i]`: a call of the visible `sel`; selections with dots: comprehensions over `_shape_A_`, `_cat_VxV_`,
//!   `_take_SxV_` and `_drop_SxV_`; dots on the left of a comprehension: the same, around the plain comprehension;
//! - tensor comprehensions: [`ExprKind::With`], bounds inferred (language reference 5.7), every part with an upper bound;
//! - `&&`, `||`: [`ExprKind::Cond`];
//! - reference parameters: extra results, appended after the declared ones in parameter order (not for externals, whose
//!   handles are mutable objects: there the variable simply keeps its value); a call nested in an expression is hoisted
//!   into an [`ExprKind::Block`];
//! - global objects: [`ExprKind::Global`] and [`Target::Global`]; the specialiser orders their uses;
//! - string literals: [`ExprKind::Str`];
//! - `from_C`, `to_C` of a class: [`ExprKind::Unwrap`], [`ExprKind::Wrap`].

use ravel_source::Span;
use ravel_types::{Basic, Elem, Prim, Scalar, eval_convert};
use std::sync::Arc;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl $name {
            pub fn index(self) -> usize { self.0 as usize }
        }
    )* };
}

ids! {
    /// A function definition, one overload instance: index into [`Program::funs`].
    FunId,
    /// An overload set as seen from one module: index into [`Program::sets`].
    SetId,
    /// A slot of one function: index into [`Fun::locals`].
    LocalId,
    /// A global object: index into [`Program::globals`].
    GlobalId,
    /// A typedef, external type or class: index into [`Program::user_types`].
    UserTypeId,
    /// A record type: index into [`Program::structs`].
    StructId,
    /// An element-type family variable of one function: index into [`Fun::families`].
    FamilyId,
}

/// A whole program: every function, type and object reachable from the root file.
#[derive(Clone, Debug, Default)]
pub struct Program {
    pub funs: Vec<Fun>,
    pub sets: Vec<Set>,
    pub user_types: Vec<UserType>,
    pub structs: Vec<Struct>,
    /// In initialisation order: an object's initialiser uses only earlier objects.
    pub globals: Vec<Global>,
    /// `int main()`, absent in a module that is only checked.
    pub main: Option<FunId>,
    /// The built-in type of string literals, if any module that mentions strings was loaded.
    pub string_type: Option<UserTypeId>,
    /// Functions of the root file that are of no family, of a program those whose parameters have known ranks: `check` elaborates
    /// them although nothing calls them.
    pub roots: Vec<FunId>,
    /// Of a library: what C code is to call.
    pub exports: Vec<Export>,
    /// Where derivatives are taken that are compared with differences, if they are.
    pub checked_gradients: Vec<Span>,
}

/// A function that C code is to call: a call of all that its name means, with declared parameter types.
#[derive(Clone, Debug)]
pub struct Export {
    pub fun: FunId,
    /// The file asks for it by `specialize`.
    pub requested: bool,
}

/// An element type as the source names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ElemTy {
    Basic(Basic),
    User(UserTypeId),
    Struct(StructId),
    /// A type variable of the enclosing function, bound at the call.
    Family(FamilyId),
}

/// A type as written: an element type and a shape pattern.
#[derive(Clone, Debug, PartialEq)]
pub struct TypePat {
    pub elem: ElemTy,
    /// Empty for a scalar.
    pub dims: Vec<DimPat>,
    pub span: Span,
}

/// One feature of a shape pattern (language reference 2.3).
#[derive(Clone, Debug, PartialEq)]
pub enum DimPat {
    /// One axis of this length.
    Num(i32),
    /// One axis of any length.
    Any,
    /// One axis; the slot is its length.
    Name(LocalId),
    /// Any number of axes.
    Star,
    /// At least one axis.
    Plus,
    /// `rank` axes, whose lengths are the slot `shape` (an `int[rank]`).
    Rank { rank: RankPat, min: i32, shape: Option<LocalId> },
}

/// The number of axes that a [`DimPat::Rank`] takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RankPat {
    Num(i32),
    Name(LocalId),
    /// `_`: matched, not bound.
    Anon,
}

/// A user-defined element type.
#[derive(Clone, Debug)]
pub struct UserType {
    pub name: String,
    pub module: String,
    pub kind: UserTypeKind,
    /// Of a class: its values have an identity.
    pub unique: bool,
    /// The C function that releases values of an external type of the program, and what its pragmas link.
    pub free: Option<String>,
    pub link: Vec<Linked>,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub enum UserTypeKind {
    /// Values are arrays of `base` with this fixed inner shape.
    Typedef { base: ElemTy, shape: Vec<i32> },
    /// An opaque handle of the runtime (also an external class).
    External,
    /// A class represented by values of this type.
    Class { rep: TypePat },
}

/// A record type.
#[derive(Clone, Debug)]
pub struct Struct {
    pub name: String,
    pub module: String,
    pub fields: Vec<Field>,
    /// The families that fields mention, also those of records in fields; a value has one member for each.
    pub families: Vec<Family>,
    /// Whether a field, or one of a record in a field, has no fixed shape: such records are scalars only.
    pub open: bool,
    pub span: Span,
}

/// A field. A family in its type is one of [`Struct::families`].
#[derive(Clone, Debug)]
pub struct Field {
    pub name: String,
    pub ty: TypePat,
    /// The shape, if the type fixes it.
    pub shape: Option<Vec<i32>>,
}

/// A global object.
#[derive(Clone, Debug)]
pub struct Global {
    pub name: String,
    pub module: String,
    pub ty: TypePat,
    /// Evaluated before `main`; nothing for an external object, whose uses carry no value (they only order effects).
    pub init: Option<Expr>,
    pub span: Span,
}

/// All functions that an unqualified name can mean at some place, before dispatch on argument and result counts and types.
#[derive(Clone, Debug)]
pub struct Set {
    pub name: String,
    pub members: Vec<FunId>,
    /// So many of the members go before the others, which are not asked if one of these certainly takes the arguments.
    pub first: usize,
}

/// One function definition.
#[derive(Clone, Debug)]
pub struct Fun {
    pub name: String,
    pub module: String,
    pub inline: bool,
    pub noinline: bool,
    /// `#pragma associative`: folds by it may regroup.
    pub associative: bool,
    /// `#pragma fieldwise`: records are taken field by field.
    pub fieldwise: Option<Fieldwise>,
    /// What pragmas say of its derivatives.
    pub derived: Derived,
    pub families: Vec<Family>,
    pub params: Vec<Param>,
    /// Declared results, without those of reference parameters.
    pub results: Vec<TypePat>,
    /// `...` at the end of the parameters (externals only).
    pub variadic_params: bool,
    /// `...` at the end of the results (externals only).
    pub variadic_results: bool,
    pub conds: Vec<Cond>,
    pub locals: Vec<Local>,
    pub body: FunBody,
    /// The head, for diagnostics.
    pub span: Span,
}

/// How a function is derived, as pragmas say it.
#[derive(Clone, Debug, Default)]
pub struct Derived {
    /// `#pragma derivative g`: of arguments, results and a cotangent for each real result, a gradient for each parameter of the rule.
    pub derivative: Option<Rule>,
    /// `#pragma tangent g`: of arguments, results and a tangent for each parameter of the rule, a tangent for each real result.
    pub tangent: Option<Rule>,
    /// `#pragma recompute`: nothing that it computes on the way is kept.
    pub recompute: bool,
    /// `#pragma checkpoint n`: no more states of its loops are kept.
    pub checkpoint: Option<i32>,
}

/// A function that gives derivatives of another one.
#[derive(Clone, Debug)]
pub struct Rule {
    pub set: SetId,
    /// Positions of the parameters of the other function by which it derives.
    pub by: Vec<usize>,
    /// The pragma.
    pub span: Span,
}

/// How a function takes records field by field.
#[derive(Clone, Debug)]
pub struct Fieldwise {
    /// The parameter that gets the field's name behind what the call gives.
    pub name: Option<usize>,
}

/// A type variable that stands for one of its members.
#[derive(Clone, Debug, PartialEq)]
pub struct Family {
    pub name: String,
    pub members: Vec<Basic>,
}

#[derive(Clone, Debug)]
pub struct Param {
    pub local: LocalId,
    pub ty: TypePat,
    pub by_ref: bool,
}

/// A condition after the parameter list.
#[derive(Clone, Debug)]
pub struct Cond {
    pub expr: Expr,
    /// It mentions a result-only name and is checked after the body.
    pub after: bool,
}

/// A slot: parameter, pattern name, variable or temporary.
#[derive(Clone, Debug)]
pub struct Local {
    pub name: String,
    /// A declared type is an assertion on every assignment.
    pub declared: Option<TypePat>,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub enum FunBody {
    /// The values of `returns` after `block`; one multi-result call may stand for all of them.
    Sac {
        block: Block,
        returns: Vec<Expr>,
    },
    External(External),
}

/// A foreign function.
#[derive(Clone, Debug)]
pub struct External {
    /// `linkname`, or the SaC name.
    pub symbol: Arc<str>,
    /// Has an `effect` pragma, a reference parameter or no result: calls are ordered.
    pub effect: bool,
    /// A C function of the program itself, not one of the runtime.
    pub foreign: Option<Foreign>,
}

/// How a C function of the program is called and where it is.
#[derive(Clone, Debug, Default)]
pub struct Foreign {
    /// The C name.
    pub name: String,
    /// Positions in the C parameter list of each result, then each parameter, and the place of the pragma; 0 is the C result.
    pub linksign: Option<(Vec<i64>, Span)>,
    pub link: Vec<Linked>,
    /// A pragma that asks for descriptors of sac2c's own runtime.
    pub descriptors: Option<Span>,
}

/// What a pragma asks to link.
#[derive(Clone, Debug, PartialEq)]
pub struct Linked {
    pub kind: LinkKind,
    pub what: String,
    pub span: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkKind {
    /// `linkobj`: an object file.
    Object,
    /// `linkwith`: a library.
    Library,
}

pub type Block = Vec<Stmt>;

/// The place of one result of an assignment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Target {
    Local(LocalId),
    Global(GlobalId),
    /// `_`: evaluated and dropped.
    Discard,
}

#[derive(Clone, Debug)]
pub enum Stmt {
    /// With a number of targets other than one, `value` is a multi-result call or with-loop.
    Assign {
        targets: Vec<Target>,
        value: Expr,
        span: Span,
    },
    If {
        cond: Expr,
        then: Block,
        els: Block,
        span: Span,
    },
    /// `do_first`: the body runs once before the condition is looked at.
    While {
        cond: Expr,
        body: Block,
        do_first: bool,
        span: Span,
    },
}

#[derive(Clone, Debug)]
pub struct Expr {
    pub kind: ExprKind,
    pub span: Span,
}

/// A literal without a suffix whose type is chosen later, rounded once to either real type.
#[derive(Clone, Copy, Debug)]
pub struct Decimal {
    pub double: f64,
    pub float: f32,
}

impl Decimal {
    /// The value in a type, if it is a number there: fractions have none in integer types.
    pub fn value_in(self, ty: Basic) -> Option<Scalar> {
        match ty {
            Basic::Float => Some(Scalar::F32(self.float)),
            Basic::Double => Some(Scalar::F64(self.double)),
            Basic::Bool | Basic::Char => None,
            _ => {
                let there = eval_convert(Scalar::F64(self.double), ty.elem())?;
                (eval_convert(there, Elem::F64)? == Scalar::F64(self.double)).then_some(there)
            }
        }
    }
}

#[derive(Clone, Debug)]
pub enum ExprKind {
    Const {
        ty: Basic,
        value: Scalar,
    },
    /// A string literal, without the final NUL.
    Str(Arc<str>),
    Local(LocalId),
    /// The current value of a global object.
    Global(GlobalId),
    /// `[a, b, ...]`; not empty.
    Array(Vec<Expr>),
    /// A large literal of constants, in row-major order: same meaning as nested [`ExprKind::Array`].
    ConstArray {
        ty: Basic,
        shape: Vec<i32>,
        values: Arc<Vec<Scalar>>,
    },
    /// `[]`, `[:double]`, `[:int[3]]`: the empty array of this type with the given shape after the leading 0.
    Empty {
        elem: ElemTy,
        cell: Vec<i32>,
    },
    Call {
        set: SetId,
        args: Vec<Expr>,
    },
    Prim {
        prim: Prim,
        args: Vec<Expr>,
    },
    Cond {
        cond: Box<Expr>,
        then: Box<Expr>,
        els: Box<Expr>,
    },
    With(Box<With>),
    /// `(Real) 0.5`, `(Real[2]) [0.5, 1]`: a literal under a cast to a family takes the type of the family's member.
    FamilyLit {
        ty: TypePat,
        shape: Vec<i32>,
        values: Arc<Vec<Decimal>>,
    },
    /// `(type) e`: changes between a user type and its base, or asserts a shape.
    Cast {
        ty: TypePat,
        value: Box<Expr>,
    },
    /// Class from representation.
    Wrap {
        class: UserTypeId,
        value: Box<Expr>,
    },
    /// Representation from class.
    Unwrap {
        class: UserTypeId,
        value: Box<Expr>,
    },
    /// Fields in declaration order; absent ones are zero.
    StructLit {
        ty: StructId,
        fields: Vec<Option<Expr>>,
    },
    /// Maps over arrays of records.
    Field {
        value: Box<Expr>,
        field: Arc<str>,
    },
    /// `value with { .field = new }`.
    WithField {
        value: Box<Expr>,
        field: Arc<str>,
        new: Box<Expr>,
    },
    /// Several values, as a call that gives several.
    Derive(Box<Derive>),
    EachPart(Box<EachPart>),
    /// Runs the statements, which may assign slots of the function, then gives the value.
    Block {
        block: Block,
        value: Box<Expr>,
    },
    /// The default cell of a comprehension: zero with the cell's type and shape. Only as [`WithOp::Genarray`] default.
    ZeroCell,
    /// A place where an error was already reported; specialisation gives up on it silently.
    Error,
}

/// Derivatives of an expression by variables that it mentions; everything else in it is constant.
///
/// Gives the results of the expression if `with_value`, and then the gradients in the order of the variables, or the tangents in that of the
/// real results.
#[derive(Clone, Debug)]
pub struct Derive {
    pub form: Form,
    pub with_value: bool,
    pub body: Expr,
    /// How many results of the body are asked for.
    pub results: usize,
    pub wrt: Vec<Wrt>,
    /// Of `vjp` a cotangent for each real result, of `jvp` a tangent for each variable.
    pub seeds: Vec<Expr>,
}

/// A function applied to each real part of some values: `set(part, number of the part, args...)`.
#[derive(Clone, Debug)]
pub struct EachPart {
    pub gives: Gives,
    pub set: SetId,
    /// One, if a value is to be given.
    pub values: Vec<Expr>,
    /// Values with as many real parts, which stand behind those of `values` in the calls; or none.
    pub beside: Vec<Expr>,
    /// The number of the first part.
    pub first: i32,
    pub args: Vec<Expr>,
}

/// What becomes of the results for all parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gives {
    /// The value with them in the place of the parts.
    Value,
    /// Their sum, a double.
    Sum,
    /// The greatest, a double.
    Greatest,
}

/// What is asked of a derivative.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Gradients of a scalar.
    Grad,
    /// Gradients of the sum of all real results, weighted by cotangents.
    Vjp,
    /// Tangents of all real results in the direction of tangents.
    Jvp,
    /// The greatest relative error of gradients against differences.
    Check,
}

impl Form {
    /// The name in module `AutoDiff`.
    pub fn name(self, with_value: bool) -> &'static str {
        match (self, with_value) {
            (Form::Grad, false) => "grad",
            (Form::Grad, true) => "value_grad",
            (Form::Vjp, false) => "vjp",
            (Form::Vjp, true) => "value_vjp",
            (Form::Jvp, false) => "jvp",
            (Form::Jvp, true) => "value_jvp",
            (Form::Check, _) => "check_grad",
        }
    }
}

/// What a derivative is taken by: a variable, or a field of a record in one.
#[derive(Clone, Debug, PartialEq)]
pub struct Wrt {
    pub slot: LocalId,
    /// Names of fields, the outermost first.
    pub path: Vec<Arc<str>>,
    pub span: Span,
}

/// A with-loop. Effects in the parts make it sequential, in row-major order.
#[derive(Clone, Debug)]
pub struct With {
    pub parts: Vec<Part>,
    /// Empty for `: void`.
    pub ops: Vec<WithOp>,
    /// Written as a tensor comprehension: its parts may overlap (the first that matches wins), and over an empty index set
    /// the cell shape is found by abstract evaluation only.
    pub comprehension: bool,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub struct Part {
    pub lower: Bound,
    /// `<=` between lower bound and index.
    pub lower_inclusive: bool,
    pub upper: Bound,
    pub upper_inclusive: bool,
    pub step: Option<Expr>,
    pub width: Option<Expr>,
    /// The index vector.
    pub index: Option<LocalId>,
    /// Its components.
    pub scalars: Option<Vec<LocalId>>,
    pub body: Block,
    /// One per operation, or one multi-result call for all of them; empty for `void`.
    pub values: Vec<Expr>,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub enum Bound {
    /// `.`: the zero vector, or as upper bound the last legal index of the first operation's frame.
    Dot,
    Expr(Expr),
}

#[derive(Clone, Debug)]
pub enum WithOp {
    Genarray {
        shape: Expr,
        default: Option<Expr>,
    },
    Modarray {
        array: Expr,
    },
    /// `stop` is given for `foldfix`.
    Fold {
        fun: FoldFun,
        neutral: Expr,
        stop: Option<Expr>,
    },
    /// Hands a state on from index to index, in row-major order, part after part: `slot` has the state when a part is evaluated, and
    /// the part's value is the next one. No slot if the object has no name, so that parts cannot ask for it.
    Propagate {
        object: Expr,
        slot: Option<LocalId>,
    },
}

/// The function of a fold: combines by `set(args..., accumulator, value)`.
#[derive(Clone, Debug)]
pub struct FoldFun {
    pub set: SetId,
    pub args: Vec<Expr>,
    pub span: Span,
}
