//! The syntax tree: what the programmer wrote, with a span on every node and all sugar still in place.
//!
//! Parentheses, comments and macro calls are gone; everything else can be printed back ([`crate::print_file`]).
//! Nesting is bounded ([`crate::depth`]), so recursive walks over a tree that the parser delivered are safe.
//! Where the parser recovered from an error it left [`ExprKind::Error`] or [`StmtKind::Error`] behind; a tree
//! that contains one came with at least one error diagnostic.

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

// ---------------------------------------------------------------------------------------------- files

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

// ---------------------------------------------------------------------------------------------- types

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BasicType {
    Bool,
    Char,
    Byte,
    Short,
    Int,
    Long,
    LongLong,
    UByte,
    UShort,
    UInt,
    ULong,
    ULongLong,
    Float,
    Double,
}

impl BasicType {
    /// Every basic type, in the order of the language reference.
    pub const ALL: [BasicType; 14] = [
        BasicType::Bool,
        BasicType::Char,
        BasicType::Byte,
        BasicType::Short,
        BasicType::Int,
        BasicType::Long,
        BasicType::LongLong,
        BasicType::UByte,
        BasicType::UShort,
        BasicType::UInt,
        BasicType::ULong,
        BasicType::ULongLong,
        BasicType::Float,
        BasicType::Double,
    ];

    /// The keyword that names the type.
    pub fn keyword(self) -> &'static str {
        match self {
            BasicType::Bool => "bool",
            BasicType::Char => "char",
            BasicType::Byte => "byte",
            BasicType::Short => "short",
            BasicType::Int => "int",
            BasicType::Long => "long",
            BasicType::LongLong => "longlong",
            BasicType::UByte => "ubyte",
            BasicType::UShort => "ushort",
            BasicType::UInt => "uint",
            BasicType::ULong => "ulong",
            BasicType::ULongLong => "ulonglong",
            BasicType::Float => "float",
            BasicType::Double => "double",
        }
    }

    pub fn from_keyword(text: &str) -> Option<BasicType> {
        BasicType::ALL.into_iter().find(|ty| ty.keyword() == text)
    }
}

/// An element type and, unless scalar, a shape pattern.
#[derive(Clone, Debug, PartialEq)]
pub struct Type {
    pub base: TypeBase,
    /// `None` for `int`, `Some([])` for `int[]`; both are scalars.
    pub dims: Option<Vec<Dim>>,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub enum TypeBase {
    Basic(BasicType),
    /// A typedef, a class or a family variable.
    Named(QName),
    /// `struct Name`
    Struct(QName),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Dim {
    pub kind: DimKind,
    pub span: Span,
}

/// One feature of a type pattern. Any name may be `_`, which matches without binding.
#[derive(Clone, Debug, PartialEq)]
pub enum DimKind {
    /// One axis of exactly this length.
    Num(i64),
    /// `.`
    Dot,
    /// `+`
    Plus,
    /// `*`
    Star,
    /// `n`: one axis whose length is `n`.
    Name(Ident),
    /// `2:s`, `d:s` or `d>0:s`: several axes whose lengths are the vector `shape`.
    Axes { count: AxisCount, shape: Ident },
}

#[derive(Clone, Debug, PartialEq)]
pub enum AxisCount {
    Num(i64),
    /// `d` or `d>k`: the number of axes, more than `more_than` if that is given.
    Name {
        name: Ident,
        more_than: Option<i64>,
    },
}

// ---------------------------------------------------------------------------------------------- statements

/// Statements in order; a block opens no scope.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    pub stmts: Vec<Stmt>,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Stmt {
    pub kind: StmtKind,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub enum StmtKind {
    /// `targets = value;`, or `target op= value;` with exactly one target, where `op` is named without its `=`.
    Assign {
        targets: Vec<LValue>,
        op: Option<QName>,
        value: Expr,
    },
    /// `target++` and `++target`; `op` is `++` or `--`.
    IncDec {
        target: LValue,
        op: QName,
    },
    /// A call for its effect.
    Call(Call),
    /// A with-loop for its effect, usually `: void`.
    With(Box<With>),
    If {
        cond: Expr,
        then: Block,
        otherwise: Option<Block>,
    },
    While {
        cond: Expr,
        body: Block,
    },
    DoWhile {
        body: Block,
        cond: Expr,
    },
    /// `init` and `step` hold only the simple statements: assignment, increment, call, with-loop.
    For {
        init: Vec<Stmt>,
        cond: Expr,
        step: Vec<Stmt>,
        body: Block,
    },
    /// Text that could not be parsed.
    Error,
}

/// A variable with any number of indices and fields behind it, outermost array first: `a[i].f[j]`.
#[derive(Clone, Debug, PartialEq)]
pub struct LValue {
    pub name: QName,
    pub accesses: Vec<Access>,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Access {
    Index { selectors: Vec<Selector>, span: Span },
    Field(Ident),
}

// ---------------------------------------------------------------------------------------------- expressions

#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    pub kind: ExprKind,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    Number(Number),
    Bool(bool),
    /// The source text with its quotes, and the code.
    Char {
        text: Text,
        value: u8,
    },
    /// The bytes after escapes and joining of adjacent literals, without a final NUL.
    String(Arc<[u8]>),
    /// A variable or a global object.
    Name(QName),
    /// `f(args)`, also `+(a, b)` and primitives such as `_sel_VxA_(iv, a)`.
    Call(Call),
    Binary {
        op: QName,
        left: Box<Expr>,
        right: Box<Expr>,
    },
    Unary {
        op: QName,
        operand: Box<Expr>,
    },
    And {
        left: Box<Expr>,
        right: Box<Expr>,
    },
    Or {
        left: Box<Expr>,
        right: Box<Expr>,
    },
    Cond {
        cond: Box<Expr>,
        then: Box<Expr>,
        otherwise: Box<Expr>,
    },
    /// `array[selectors]`. `a[[., j]]` arrives as `a[., j]`; `a[[i, j]]` keeps its vector as the only selector.
    Select {
        array: Box<Expr>,
        selectors: Vec<Selector>,
    },
    Field {
        record: Box<Expr>,
        field: Ident,
    },
    /// `[a, b]`; `[]` is `int[0]`.
    Array(Vec<Expr>),
    /// `[:T]` or `[T]`
    EmptyTyped(Box<Type>),
    Cast {
        ty: Box<Type>,
        value: Box<Expr>,
    },
    Struct(Box<StructLit>),
    With(Box<With>),
    Comprehension(Box<Comprehension>),
    /// What the grammar accepts only to reject it with a good message; no tree that a caller gets contains one.
    Cover(Cover),
    /// Text that could not be parsed.
    Error,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Cover {
    /// `(a, b)`
    Tuple(Vec<Expr>),
    /// An array literal with dots among its elements.
    Dotted(Vec<Selector>),
    /// The lower bound of a comprehension's constraint that does not mention the index.
    Foreign,
}

/// A numeric literal: its text with suffix as written, and its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Number {
    pub text: Text,
    pub value: NumberValue,
}

/// The value of a numeric literal. It always fits its type; others are reported. Hexadecimal and octal literals state
/// bit patterns, so `0xffffffff` is -1; the decimal magnitude of the smallest value of a type, allowed only under a
/// minus, wraps to that value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NumberValue {
    Byte(i8),
    Short(i16),
    Int(i32),
    Long(i64),
    LongLong(i64),
    UByte(u8),
    UShort(u16),
    UInt(u32),
    ULong(u64),
    ULongLong(u64),
    Float(f32),
    Double(f64),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    pub callee: QName,
    pub args: Vec<Expr>,
    pub span: Span,
}

/// One entry of a selection: an expression, `.` (one whole axis) or `...` (any number of whole axes).
#[derive(Clone, Debug, PartialEq)]
pub enum Selector {
    Expr(Expr),
    Dot(Span),
    Dots(Span),
}

/// `P{a, b}` or `P{.x = a}`
#[derive(Clone, Debug, PartialEq)]
pub struct StructLit {
    pub name: QName,
    pub fields: StructFields,
}

#[derive(Clone, Debug, PartialEq)]
pub enum StructFields {
    /// In field order; empty means all zero.
    Positional(Vec<Expr>),
    /// Fields that are not mentioned are zero.
    Named(Vec<(Ident, Expr)>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct With {
    /// `#pragma wlcomp ...` at the head of the loop.
    pub pragma: Option<Pragma>,
    pub parts: Vec<WithPart>,
    /// Empty for `void`.
    pub operations: Vec<WithOperation>,
    pub span: Span,
}

/// `(lower <= index < upper step s width w) { body } : values;`
#[derive(Clone, Debug, PartialEq)]
pub struct WithPart {
    pub lower: Bound,
    pub lower_relation: Relation,
    pub index: WithIndex,
    pub upper_relation: Relation,
    pub upper: Bound,
    pub step: Option<Expr>,
    pub width: Option<Expr>,
    pub pragma: Option<Pragma>,
    pub body: Block,
    /// One per operation; empty for `: void` and for no value at all.
    pub values: Vec<Expr>,
    pub span: Span,
}

/// `iv`, `[i, j]` or `iv=[i, j]`; at least one of the two is present.
#[derive(Clone, Debug, PartialEq)]
pub struct WithIndex {
    pub vector: Option<Ident>,
    pub scalars: Option<Vec<Ident>>,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Bound {
    Dot(Span),
    Expr(Expr),
}

/// `<` or `<=` of a generator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    Less,
    LessEqual,
}

#[derive(Clone, Debug, PartialEq)]
pub struct WithOperation {
    pub kind: WithOperationKind,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub enum WithOperationKind {
    Genarray { shape: Expr, default: Option<Expr> },
    Modarray { array: Expr },
    Propagate { object: Expr },
    Fold { function: FoldFunction, neutral: Expr },
    FoldFix { function: FoldFunction, neutral: Expr, stop: Expr },
}

/// The combining function of a fold with any leading arguments that are fixed.
#[derive(Clone, Debug, PartialEq)]
pub struct FoldFunction {
    pub name: QName,
    pub args: Vec<Expr>,
}

/// `{ index -> body | constraint; ... }`
#[derive(Clone, Debug, PartialEq)]
pub struct Comprehension {
    /// At least one.
    pub partitions: Vec<TensorPartition>,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub struct TensorPartition {
    pub index: TensorIndex,
    pub body: Expr,
    pub lower: Option<(Bound, Relation)>,
    pub upper: Option<(Relation, Bound)>,
    pub step: Option<Expr>,
    pub width: Option<Expr>,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub struct TensorIndex {
    pub kind: TensorIndexKind,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub enum TensorIndexKind {
    /// `iv`: an index vector.
    Vector(Ident),
    /// `[i, ., j, ...]`: names and cell axes; at most one `Dots`.
    List(Vec<IndexItem>),
}

#[derive(Clone, Debug, PartialEq)]
pub enum IndexItem {
    Name(Ident),
    Dot(Span),
    Dots(Span),
}
