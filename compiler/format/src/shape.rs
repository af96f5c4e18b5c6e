//! What text looks like: definitions, statements and expressions as far as their layout differs.
//!
//! Shapes hold indices of tokens. Reading a shape from left to right meets every token once, in its order.

/// Index of a token.
pub(crate) type T = usize;

pub(crate) enum Shape {
    Token(T),
    /// Without blanks in between.
    Glued(Vec<Shape>),
    /// With one blank in between.
    Spaced(Vec<Shape>),
    /// Operands of operators that bind equally.
    Chain(Box<Chain>),
    /// `a ? b : c ? d : e`
    Choice(Box<Choice>),
    List(Box<List>),
    With(Box<With>),
    Comprehension(Box<Comprehension>),
    /// Without any blanks, as in the extents of types.
    Tight(Box<Shape>),
    Block(Box<Block>),
    Statement(Box<Statement>),
    Function(Box<Function>),
    /// One token that stays with its indentation: a directive, or a region that is not to be formatted.
    Line(T),
    /// Tokens that nobody knows the shape of, from the first to behind the last: their lines stay.
    Unknown(T, T),
}

pub(crate) struct Chain {
    pub(crate) first: Shape,
    /// Operators may consist of several tokens.
    pub(crate) rest: Vec<(Vec<T>, Shape)>,
}

pub(crate) struct Choice {
    pub(crate) arms: Vec<Arm>,
    pub(crate) otherwise: Shape,
}

/// `condition ? value :`
pub(crate) struct Arm {
    pub(crate) condition: Shape,
    pub(crate) question: T,
    pub(crate) value: Shape,
    pub(crate) colon: T,
}

/// Shapes, each with what separates it from the next.
pub(crate) type Elements = Vec<(Shape, Option<T>)>;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Brackets {
    Round,
    Square,
    /// Of the literal of a struct.
    Curly,
    /// Braces around names.
    Names,
}

/// Elements in brackets.
pub(crate) struct List {
    pub(crate) brackets: Brackets,
    pub(crate) open: T,
    pub(crate) elements: Elements,
    pub(crate) close: T,
}

pub(crate) struct With {
    pub(crate) with: T,
    /// Partitions, and directives between them.
    pub(crate) body: Block,
    pub(crate) colon: T,
    pub(crate) operators: Shape,
}

pub(crate) struct Comprehension {
    pub(crate) open: T,
    pub(crate) partitions: Vec<Partition>,
    pub(crate) close: T,
}

/// `index -> cell | bounds;`
pub(crate) struct Partition {
    pub(crate) index: Shape,
    pub(crate) arrow: T,
    pub(crate) cell: Shape,
    pub(crate) bounds: Option<(T, Shape)>,
    pub(crate) semicolon: Option<T>,
}

pub(crate) struct Block {
    pub(crate) open: T,
    pub(crate) statements: Vec<Shape>,
    pub(crate) close: T,
}

pub(crate) enum Statement {
    /// What ends in a semicolon, or where a line ends if it is a macro's.
    Simple(Shape, Option<T>),
    /// `a, b = value`
    Assign { targets: Elements, assign: Option<(T, Shape)> },
    /// `return`, with its value if it has one.
    Return(T, Option<Shape>),
    /// `if`, `while`, `for`, or a macro in their place.
    Controlled { head: Shape, body: Shape, otherwise: Option<(T, Shape)> },
    /// `do body while (condition);`
    Do { word: T, body: Shape, end: Shape },
    /// `(generator) { statements } : value;` of a with-loop.
    Partition { generator: Shape, pragmas: Vec<T>, block: Option<Block>, value: Option<(T, Shape)>, semicolon: T },
    /// `use M: all except { .. };` and the like.
    Clause(Vec<Shape>, T),
    /// `struct Name { fields };`
    Struct { head: Shape, block: Block, semicolon: T },
}

pub(crate) struct Function {
    /// Words, types and commas up to the name.
    pub(crate) head: Vec<Shape>,
    pub(crate) parameters: Shape,
    pub(crate) conditions: Option<(T, Elements)>,
    pub(crate) body: Body,
}

pub(crate) enum Body {
    Block(Block),
    Semicolon(T),
}
