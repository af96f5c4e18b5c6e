//! Entities and operations of the with-loop IR. The semantics are in the crate header.

use cranelift_entity::{PrimaryMap, entity_impl};
use ravel_source::Span;
use ravel_types::{BinOp, Elem, Scalar, Shape, Ty, UnOp};
use std::sync::Arc;

/// An SSA value, `%v0`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Value(u32);
entity_impl!(Value, "%v");

/// An instruction.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Inst(u32);
entity_impl!(Inst, "inst");

/// A list of instructions with parameters and yielded values.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Region(u32);
entity_impl!(Region, "region");

/// A function of a module, `@f0`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FuncId(u32);
entity_impl!(FuncId, "@f");

/// A global object of a module, `@g0`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GlobalId(u32);
entity_impl!(GlobalId, "@g");

/// All functions of a program.
#[derive(Clone, Debug, Default)]
pub struct Module {
    pub funcs: PrimaryMap<FuncId, Func>,
    pub globals: PrimaryMap<GlobalId, Global>,
    /// The function that runs first: no parameters, one `i32` result (or a REPL entry with any signature).
    pub entry: Option<FuncId>,
    /// Further functions that the host calls, by name.
    pub exports: Vec<(String, FuncId)>,
}

/// A slot that lives as long as the program; zero (null) before its first `globalset`.
#[derive(Clone, Debug)]
pub struct Global {
    pub name: String,
    pub ty: Ty,
}

/// One specialised function.
#[derive(Clone, Debug)]
pub struct Func {
    /// Name for people; unique names are made from the id.
    pub name: String,
    /// Head of the SaC function.
    pub span: Span,
    pub noinline: bool,
    /// Calls become its body, however large that is.
    pub inline: bool,
    /// How its calls are derived, if not by its body in their place.
    pub rules: Rules,
    /// Some call of it may do I/O, touch a global or fault with `Fault::User`; such calls are ordered and never removed.
    pub effects: bool,
    /// The parameters are the parameters of this region, the results what it yields.
    pub body: Region,
    pub values: PrimaryMap<Value, ValueInfo>,
    pub insts: PrimaryMap<Inst, InstData>,
    pub regions: PrimaryMap<Region, RegionData>,
    /// Symbols `s0 .. s(n-1)` are in use.
    pub n_syms: u32,
}

/// Functions that give the derivatives of calls of another one, in place of those of its body; and what reverse mode keeps of these.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// Of arguments, results and a cotangent for each real result: a cotangent for each argument of the rule.
    pub derivative: Option<Rule>,
    /// Of arguments, results and a tangent for each argument of the rule: a tangent for each real result.
    pub tangent: Option<Rule>,
    /// Reverse mode keeps the arguments of a call alone, and runs the body again.
    pub recompute: bool,
    /// Reverse mode keeps so many states of a loop of the body at most.
    pub checkpoint: Option<u32>,
}

/// One of the [`Rules`] of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    pub func: FuncId,
    /// The real arguments that it derives by: numbers of parameters, in increasing order.
    pub by: Vec<u32>,
}

impl Rules {
    pub fn is_empty(&self) -> bool {
        *self == Rules::default()
    }

    pub fn iter(&self) -> impl Iterator<Item = &Rule> {
        self.derivative.iter().chain(&self.tangent)
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Rule> {
        self.derivative.iter_mut().chain(&mut self.tangent)
    }

    /// The rule that a derivative of a mode asks for.
    pub fn of(&self, mode: Mode) -> Option<&Rule> {
        match mode {
            Mode::Forward => self.tangent.as_ref(),
            Mode::Reverse => self.derivative.as_ref(),
        }
    }
}

#[derive(Clone, Debug)]
pub struct ValueInfo {
    pub ty: Ty,
}

#[derive(Clone, Debug)]
pub struct InstData {
    pub op: Op,
    pub results: Vec<Value>,
    pub span: Span,
}

#[derive(Clone, Debug, Default)]
pub struct RegionData {
    pub params: Vec<Value>,
    pub insts: Vec<Inst>,
    pub yields: Vec<Value>,
}

/// A large constant: row-major elements; the shape is in the result's type.
#[derive(Clone, Debug, PartialEq)]
pub struct ConstData {
    pub elem: Elem,
    pub values: Vec<Scalar>,
}

/// What an instruction computes. Operands named `array` have rank >= 1 or unknown rank; indices and extents are `i32` scalars.
#[derive(Clone, Debug)]
pub enum Op {
    Const(Scalar),
    /// A string constant (a `handle`).
    Str(Arc<str>),
    /// An array constant; the result's shape is constant.
    ConstArray(Arc<ConstData>),
    Un(UnOp, Value),
    Bin(BinOp, Value, Value),
    /// To the element type of the result.
    Convert(Value),
    /// Scalar condition; both values are already computed and of one type, of any rank.
    Select {
        cond: Value,
        then: Value,
        els: Value,
    },

    /// Extent of one axis of an array of known rank.
    Extent {
        array: Value,
        axis: u32,
    },
    /// Rank of any value.
    Rank(Value),
    /// Shape vector of any value, `i32[r]` or `i32[s]`.
    ShapeVec(Value),
    /// Element or sub-array at `index` (no longer than the rank). Indices are in range: a `Check` stands before.
    Sel {
        array: Value,
        index: Vec<Value>,
    },
    /// The same with an index *vector* `i32[n]`, for arrays of unknown rank or vectors of unknown length. Faults if the vector is
    /// longer than the rank or out of range, or the result does not fit the result type.
    SelDyn {
        array: Value,
        index: Value,
    },
    /// Array from its elements or cells in row-major order of the leading axes. All cells have one shape; the result type's
    /// shape is constant on the leading axes, whose product is the number of cells.
    Array(Vec<Value>),
    /// Same elements, other shape; counts match: a `Check` stands before.
    Reshape {
        array: Value,
        shape: Vec<Value>,
    },
    /// Faults if the counts differ. The result type may be of known or unknown rank.
    ReshapeDyn {
        array: Value,
        shape: Value,
    },
    /// `array` with the element or cell at `index` replaced. In range, and of the right shape.
    Update {
        array: Value,
        index: Vec<Value>,
        value: Value,
    },
    /// Faults as [`Op::SelDyn`] does, and if the cell does not fit.
    UpdateDyn {
        array: Value,
        index: Value,
        value: Value,
    },
    /// The same value seen with the result's less specific type; a scalar becomes an array object of unknown rank.
    Widen(Value),
    /// The same value with the result's more specific type; faults if rank or a constant extent differ.
    Narrow(Value),
    /// Identity that no pass sees through.
    Opaque(Value),
    /// Identity whose derivative is zero. Only before `differentiate`.
    Detach(Value),

    If {
        cond: Value,
        then: Region,
        els: Region,
    },
    /// Runs the body with `init` as parameters; it yields a bool and the next parameters. While the bool is true it runs again
    /// with these; the results are the last ones.
    Loop {
        init: Vec<Value>,
        body: Region,
    },
    With(With),
    /// The region's results at `args`, and then derivatives of the real ones with respect to its parameters. Only before `differentiate`.
    Derive {
        mode: Mode,
        /// Reals, one per parameter of the region; every other value that it reads is constant.
        args: Vec<Value>,
        /// Forward: a tangent per argument. Reverse: a cotangent per real result, in their order.
        seeds: Vec<Value>,
        body: Region,
    },
    Call {
        func: FuncId,
        args: Vec<Value>,
    },
    /// A function of the runtime or of linked C code. The first `fixed` arguments are the declared ones.
    Native {
        symbol: Arc<str>,
        args: Vec<Value>,
        fixed: usize,
        effect: bool,
    },
    GlobalGet(GlobalId),
    GlobalSet(GlobalId, Value),
    /// Faults unless `cond`. Never removed unless proven, never moved past an effect.
    Check {
        cond: Value,
        fault: Fault,
    },
}

/// Which derivatives [`Op::Derive`] gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Tangents of the real results, in their order.
    Forward,
    /// Cotangents of the arguments.
    Reverse,
}

impl Mode {
    /// The spelling in IR text.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Forward => "forward",
            Mode::Reverse => "reverse",
        }
    }
}

/// What a failed check reports; operands are shown in the message.
#[derive(Clone, Debug)]
pub enum Fault {
    /// `index` outside `0 .. extent` on `axis`.
    Index { index: Value, extent: Value, axis: u32 },
    /// Two extents that must agree; `what` says of what (`arguments of +`, `the cells of a with-loop`).
    Shape { left: Value, right: Value, axis: u32, what: Arc<str> },
    /// Integer division or remainder by zero.
    Division,
    /// Anything else, in words; `operands` are numbers for the marks in the text, as the runtime's `numbers_message` has them.
    /// The text may begin with the code that `ravel explain` takes, `[E0324] condition ...`. The variants above have theirs always.
    Message { text: Arc<str>, operands: Vec<Value> },
    /// `first` is what the failed check reports; of the others those are reported as well that do not hold either. None holds several itself.
    Several { first: Box<Fault>, others: Vec<Violation> },
}

/// What else a failed check reports, unless it `holds`.
#[derive(Clone, Debug)]
pub struct Violation {
    pub holds: Value,
    pub fault: Fault,
}

impl Fault {
    /// What the check itself reports.
    pub fn own(&self) -> &Fault {
        match self {
            Fault::Several { first, .. } => first,
            other => other,
        }
    }
}

/// A with-loop: partitions and operators.
#[derive(Clone, Debug)]
pub struct With {
    /// Pairwise disjoint (for the genarray and modarray operators; a fold sees every index of every partition).
    pub parts: Vec<Part>,
    pub ops: Vec<WithOp>,
    /// Some body has an effect, or reads elements that the cells behind it replace: indices run in row-major order, partition after partition, on one
    /// thread.
    pub ordered: bool,
}

#[derive(Clone, Debug)]
pub struct Part {
    pub generator: Generator,
    /// Parameters: the index scalars (`i32`), or one index vector for [`Generator::Dyn`]. Yields one value per operator.
    pub body: Region,
}

/// Index set `lower <= iv < upper`, of these where `(iv - lower) mod step < width` on every axis.
#[derive(Clone, Debug)]
pub enum Generator {
    /// One `i32` scalar per axis. Steps are at least 1, widths within `1 ..= step`.
    Known { lower: Vec<Value>, upper: Vec<Value>, step: Option<Vec<Value>>, width: Option<Vec<Value>> },
    /// `i32[k]` vectors of one length, where k is unknown at compile time.
    Dyn { lower: Value, upper: Value, step: Option<Value>, width: Option<Value> },
}

#[derive(Clone, Debug)]
pub enum WithOp {
    /// Result shape is frame ++ cell; index sets lie within the frame.
    Genarray {
        frame: Frame,
        /// Extents of the cell where known before the loop runs (`Some([])` for scalar cells). With `None` the first computed cell
        /// decides, or else the default.
        cell: Option<Vec<Value>>,
        /// Value of uncovered positions; with `None` they are the zero of the element type.
        default: Option<Value>,
    },
    /// Index sets lie within the leading axes.
    Modarray { array: Value },
    Fold {
        neutral: Value,
        combine: Combine,
        /// The fold may end once the accumulator equals this.
        stop: Option<Value>,
    },
}

/// Leading axes of a genarray result.
#[derive(Clone, Debug)]
pub enum Frame {
    Known(Vec<Value>),
    /// `i32[k]`, k unknown.
    Dyn(Value),
}

/// The function of a fold.
#[derive(Clone, Debug)]
pub enum Combine {
    /// A scalar operation, element-wise if the accumulator is an array (accumulator and cells then have one shape).
    Op(BinOp),
    /// Parameters accumulator and cell; yields the next accumulator.
    Region(Region),
}

impl Func {
    /// Whether an instruction computes a number from its operands, or asks an array for its extents, and has a result whatever these are.
    pub fn is_total(&self, inst: Inst) -> bool {
        let is_float = |v: Value| self.ty(v).elem.is_float();
        match &self.insts[inst].op {
            Op::Bin(op, a, _) => !op.needs_nonzero() || is_float(*a),
            Op::Un(UnOp::Reciproc, a) => is_float(*a),
            Op::Const(_) | Op::Un(..) | Op::Convert(_) | Op::Select { .. } | Op::Extent { .. } | Op::Rank(_) => true,
            _ => false,
        }
    }

    /// A function without parameters, instructions or results.
    pub fn new(name: impl Into<String>, span: Span) -> Func {
        let mut regions = PrimaryMap::new();
        let body = regions.push(RegionData::default());
        Func {
            name: name.into(),
            span,
            noinline: false,
            inline: false,
            rules: Rules::default(),
            effects: false,
            body,
            values: PrimaryMap::new(),
            insts: PrimaryMap::new(),
            regions,
            n_syms: 0,
        }
    }

    pub fn new_value(&mut self, ty: Ty) -> Value {
        self.values.push(ValueInfo { ty })
    }

    pub fn new_region(&mut self) -> Region {
        self.regions.push(RegionData::default())
    }

    /// Adds a parameter to a region.
    pub fn add_param(&mut self, region: Region, ty: Ty) -> Value {
        let v = self.new_value(ty);
        self.regions[region].params.push(v);
        v
    }

    /// Makes an instruction with fresh results, not yet in any region.
    pub fn make_inst(&mut self, op: Op, results: Vec<Ty>, span: Span) -> Inst {
        let results = results.into_iter().map(|ty| self.new_value(ty)).collect();
        self.insts.push(InstData { op, results, span })
    }

    /// Appends an instruction to a region.
    pub fn push(&mut self, region: Region, op: Op, results: Vec<Ty>, span: Span) -> Inst {
        let inst = self.make_inst(op, results, span);
        self.regions[region].insts.push(inst);
        inst
    }

    /// Appends an instruction with one result.
    pub fn push1(&mut self, region: Region, op: Op, ty: Ty, span: Span) -> Value {
        let inst = self.push(region, op, vec![ty], span);
        self.insts[inst].results[0]
    }

    pub fn ty(&self, v: Value) -> &Ty {
        &self.values[v].ty
    }

    pub fn params(&self) -> &[Value] {
        &self.regions[self.body].params
    }

    pub fn results(&self) -> &[Value] {
        &self.regions[self.body].yields
    }

    pub fn fresh_sym(&mut self) -> ravel_types::Sym {
        self.n_syms += 1;
        ravel_types::Sym(self.n_syms - 1)
    }
}

/// Symbols of the natives behind `Debug::trace` begin with this.
pub const TRACE: &str = "ravel_trace_";

impl Op {
    /// Whether it must stay in place and in order although its results may be unused.
    /// Calls are judged by their callee: see [`crate::traverse::has_effect`].
    pub fn is_anchored(&self) -> bool {
        matches!(self, Op::Check { .. } | Op::GlobalSet(..) | Op::GlobalGet(_) | Op::Native { effect: true, .. })
            || self.may_fault()
            || self.is_trace()
    }

    /// A line about a value, for the user's eyes: made as often as the program says, as a check is, but in any order.
    pub fn is_trace(&self) -> bool {
        matches!(self, Op::Native { symbol, .. } if symbol.starts_with(TRACE))
    }

    /// Dynamic operations that check at run time what the types left open.
    pub fn may_fault(&self) -> bool {
        matches!(self, Op::SelDyn { .. } | Op::ReshapeDyn { .. } | Op::UpdateDyn { .. } | Op::Narrow(_))
    }
}

/// Type of `array[index]` for an index of `n` scalars.
pub fn cell_type(array: &Ty, n: usize) -> Ty {
    match array.shape.extents() {
        Some(extents) if n <= extents.len() => Ty::new(array.elem, Shape::Known(extents[n..].to_vec())),
        _ => Ty::new(array.elem, Shape::Unknown),
    }
}
