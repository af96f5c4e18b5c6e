//! The syntax tree: what the programmer wrote, with a span on every node and all sugar still in place.
//!
//! Parentheses, comments and macro calls are gone; everything else can be printed back ([`crate::print_file`]).
//! Nesting is bounded ([`crate::depth`]), so recursive walks over a tree that the parser delivered are safe.
//! Where the parser recovered from an error it left [`ExprKind::Error`] or [`StmtKind::Error`] behind; a tree
//! that contains one came with at least one error diagnostic.

mod code;
mod types;

pub use code::*;
pub use types::*;

use ravel_source::Span;
use std::sync::Arc;

/// Shared text of a name, a literal or an operator symbol.
pub type Text = Arc<str>;

/// An unqualified identifier, or an operator symbol in the place of one.
#[derive(Clone, Debug, PartialEq)]
pub struct Ident {
    pub name: Text,
    pub span: Span,
}

/// A name that may carry its module, `name` or `Mod::name`; the name may be an operator symbol or a primitive.
#[derive(Clone, Debug, PartialEq)]
pub struct QName {
    pub module: Option<Text>,
    pub name: Text,
    pub span: Span,
}

/// One source file after preprocessing.
#[derive(Clone, Debug, PartialEq)]
pub struct File {
    pub header: Header,
    pub definitions: Vec<Definition>,
    pub span: Span,
}

/// What a file is; a file without a header is a program.
#[derive(Clone, Debug, PartialEq)]
pub enum Header {
    Program,
    Module(ModuleHeader),
    Class(ClassHeader),
}

/// `module name;` with the text of `deprecated "..."` if there is one.
#[derive(Clone, Debug, PartialEq)]
pub struct ModuleHeader {
    pub name: Ident,
    pub deprecated: Option<Text>,
    pub span: Span,
}

/// `class name; classtype T;`. The representation is `None` for `external classtype;`.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassHeader {
    pub name: Ident,
    pub deprecated: Option<Text>,
    pub representation: Option<Type>,
    pub pragmas: Vec<Pragma>,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Definition {
    /// `use M: ...;` and `import M: ...;`
    Load(Load),
    /// `export ...;` and `provide ...;`
    Offer(Offer),
    Typedef(Typedef),
    ExternalTypedef(ExternalTypedef),
    Object(ObjectDef),
    Struct(StructDef),
    Function(Function),
    /// Ravel's `#pragma family N byte short ...`
    Family(Family),
    /// A file-level pragma such as `#pragma safe`.
    Pragma(Pragma),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadKind {
    Use,
    Import,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Load {
    pub kind: LoadKind,
    pub module: Ident,
    pub symbols: SymbolSet,
    pub span: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OfferKind {
    Export,
    Provide,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Offer {
    pub kind: OfferKind,
    pub symbols: SymbolSet,
    pub span: Span,
}

/// The symbols that an interface declaration selects: functions, operators, types, classes and objects.
#[derive(Clone, Debug, PartialEq)]
pub enum SymbolSet {
    All,
    AllExcept(Vec<Ident>),
    Some(Vec<Ident>),
}

/// `typedef T name;`; `nested` for `nested typedef`.
#[derive(Clone, Debug, PartialEq)]
pub struct Typedef {
    pub name: Ident,
    pub base: Type,
    pub nested: bool,
    pub span: Span,
}

/// `external typedef name;`: an opaque handle.
#[derive(Clone, Debug, PartialEq)]
pub struct ExternalTypedef {
    pub name: Ident,
    pub pragmas: Vec<Pragma>,
    pub span: Span,
}

/// `objdef C name = e;`; the initialiser is missing for `external objdef C name;`.
#[derive(Clone, Debug, PartialEq)]
pub struct ObjectDef {
    pub ty: Type,
    pub name: Ident,
    pub init: Option<Expr>,
    pub pragmas: Vec<Pragma>,
    pub span: Span,
}

/// `struct Name { ... };` with one entry per field, in constructor order.
#[derive(Clone, Debug, PartialEq)]
pub struct StructDef {
    pub name: Ident,
    pub fields: Vec<FieldDef>,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub struct FieldDef {
    pub ty: Type,
    pub name: Ident,
}

/// `#pragma family N byte short ...`: `N` stands for each member in turn, in the heads and bodies of this file's
/// functions; a function that mentions it is one instance per member.
#[derive(Clone, Debug, PartialEq)]
pub struct Family {
    pub name: Ident,
    pub members: Vec<FamilyMember>,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub struct FamilyMember {
    pub base: TypeBase,
    pub span: Span,
}

/// A function definition or declaration (`external`, `specialize`; these have no body).
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    pub attributes: Attributes,
    /// Empty for `void`.
    pub results: Vec<Type>,
    /// The result types end in `...` (external functions only).
    pub variadic_results: bool,
    /// An identifier or an operator symbol.
    pub name: Ident,
    pub params: Vec<Param>,
    /// The parameters end in `...` (external functions only).
    pub variadic_params: bool,
    /// The conditions after the parameter list.
    pub conditions: Vec<Expr>,
    pub body: Option<Body>,
    pub pragmas: Vec<Pragma>,
    /// From the first attribute to the `)` of the parameters.
    pub head_span: Span,
    pub span: Span,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attributes {
    pub external: bool,
    pub inline: bool,
    pub noinline: bool,
    pub specialize: bool,
}

/// `T name` or `T &name`.
#[derive(Clone, Debug, PartialEq)]
pub struct Param {
    pub ty: Type,
    pub by_ref: bool,
    pub name: Ident,
    pub span: Span,
}

/// A function body; falls off its end if there is no `return`.
#[derive(Clone, Debug, PartialEq)]
pub struct Body {
    pub decls: Vec<VarDecl>,
    pub stmts: Vec<Stmt>,
    pub ret: Option<Return>,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub struct VarDecl {
    pub ty: Type,
    pub names: Vec<Ident>,
    pub span: Span,
}

/// `return;` has no values, `return (a, b);` two.
#[derive(Clone, Debug, PartialEq)]
pub struct Return {
    pub values: Vec<Expr>,
    pub span: Span,
}

/// `#pragma name arguments`
#[derive(Clone, Debug, PartialEq)]
pub struct Pragma {
    pub name: Ident,
    pub args: PragmaArgs,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub enum PragmaArgs {
    None,
    /// `linkname "sym"`, `linkobj "a.o"`, `header "<math.h>"`, ...
    Strings(Vec<Text>),
    /// `linksign [0, 1]`, `refcounting [1]`, ...
    Numbers(Vec<i64>),
    /// `effect stdout, TheWorld`
    Names(Vec<QName>),
    /// The argument of `wlcomp`, and everything of a pragma that Ravel does not know, blanks normalised.
    Other(Text),
}
