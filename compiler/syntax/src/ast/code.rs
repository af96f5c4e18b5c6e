//! Statements and expressions.

use super::{Ident, Pragma, QName, Text, Type};
use ravel_source::Span;
use std::sync::Arc;

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
