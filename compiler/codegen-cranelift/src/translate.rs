//! Translates one nest function, or one outlined `parfor` body, into Cranelift IR.
//!
//! This file holds the state of a translation and dispatches on operations; the operations themselves are in the files
//! named for their kind.

use cranelift_codegen::ir::{self, InstBuilder, MemFlagsData, types};
use cranelift_entity::SecondaryMap;
use cranelift_frontend::FunctionBuilder;
use ravel_nest::ir::{Exit, Func, FuncId, Inst, Op, Region, Ty, Value};
use ravel_types::HashMap;

use crate::crossing::Crossing;
use crate::neighbours::Neighbours;
use crate::plan::{Constants, Plan};
use crate::types::{Pieces, piece_count, piece_type};

/// Where the pieces of a value are in [`Translator::pool`].
#[derive(Clone, Copy, Default)]
struct Span {
    start: u32,
    len: u32,
}

/// The state of one translation.
pub(crate) struct Translator<'a, 'b> {
    /// The module and the linker-level names of everything in it.
    pub plan: &'a Plan<'a>,
    /// The function being translated.
    pub func: &'a Func,
    /// Constants and addresses of the function, by value.
    pub constants: &'a Constants<'a>,
    /// Scalars that are lanes of a register.
    pub neighbours: &'a Neighbours,
    /// The Cranelift function under construction.
    pub b: FunctionBuilder<'b>,
    /// Results of loops that live across calls.
    pub crossing: &'a Crossing,
    /// Functions referenced so far, by linker-level id.
    pub func_refs: HashMap<u32, ir::FuncRef>,
    /// Data referenced so far, by linker-level id.
    pub data_refs: HashMap<u32, ir::GlobalValue>,
    spans: SecondaryMap<Value, Span>,
    pool: Vec<ir::Value>,
}

impl<'a, 'b> Translator<'a, 'b> {
    /// Starts a translation into an empty Cranelift function.
    pub fn new(plan: &'a Plan<'a>, func: FuncId, b: FunctionBuilder<'b>) -> Self {
        Translator {
            plan,
            func: &plan.module.funcs[func],
            constants: &plan.constants[func],
            neighbours: &plan.neighbours[func],
            crossing: &plan.crossing[func],
            b,
            func_refs: HashMap::default(),
            data_refs: HashMap::default(),
            spans: SecondaryMap::new(),
            pool: Vec::new(),
        }
    }

    /// Translates a whole function.
    pub fn function(mut self) {
        let entry = self.b.create_block();
        self.b.append_block_params_for_function_params(entry);
        self.b.switch_to_block(entry);
        let given: Pieces = self.b.block_params(entry).into();
        self.bind_all(&self.func.body.params, &given);
        self.region(&self.func.body);
        self.finish();
    }

    /// Ends the translation.
    pub fn finish(mut self) {
        self.b.seal_all_blocks();
        self.b.finalize(self.plan.target.keep.frontend_config());
    }

    /// Type of a value.
    pub fn ty(&self, value: Value) -> Ty {
        self.func.values[value]
    }

    /// The pieces of a value.
    pub fn pieces(&self, value: Value) -> Pieces {
        let span = self.spans[value];
        let start = span.start as usize;
        self.pool[start..start + span.len as usize].into()
    }

    /// The only piece of a scalar.
    pub fn scalar(&self, value: Value) -> ir::Value {
        self.pool[self.spans[value].start as usize]
    }

    /// The pieces of several values, one after the other.
    pub fn all_pieces(&self, values: &[Value]) -> Vec<ir::Value> {
        values.iter().flat_map(|&value| self.pieces(value)).collect()
    }

    /// Gives a value its pieces.
    pub fn bind(&mut self, value: Value, pieces: &[ir::Value]) {
        self.spans[value] = Span { start: self.pool.len() as u32, len: pieces.len() as u32 };
        self.pool.extend_from_slice(pieces);
    }

    /// Gives several values their pieces, one after the other.
    pub fn bind_all(&mut self, values: &[Value], pieces: &[ir::Value]) {
        let mut rest = pieces;
        for &value in values {
            let (own, tail) = rest.split_at(piece_count(self.ty(value)));
            self.bind(value, own);
            rest = tail;
        }
    }

    /// Appends block parameters for the pieces of a value of type `ty`.
    pub fn append_params(&mut self, block: ir::Block, ty: Ty) {
        for _ in 0..piece_count(ty) {
            self.b.append_block_param(block, piece_type(ty));
        }
    }

    /// Reinterprets the bits of a piece.
    pub fn bitcast(&mut self, to: ir::Type, x: ir::Value) -> ir::Value {
        if self.b.func.dfg.value_type(x) == to {
            return x;
        }
        let flags = MemFlagsData::new().with_endianness(ir::Endianness::Little);
        self.b.ins().bitcast(to, flags, x)
    }

    /// Translates the instructions of a region. Returns whether its end is reached, with the values it yields or returns then bound.
    ///
    /// A `return` or `fault` exit is translated here; a `yield` is left to the owner.
    pub fn region(&mut self, region: &Region) -> bool {
        for inst in &region.insts {
            self.inst(inst);
        }
        match &region.exit {
            Exit::Yield(_) => true,
            Exit::Return(values) => {
                let results = self.all_pieces(values);
                self.b.ins().return_(&results);
                false
            }
            Exit::Fault { callee, args } => {
                self.fault(*callee, args);
                false
            }
            Exit::Open => unreachable!("the verifier refuses open regions"),
        }
    }

    fn inst(&mut self, inst: &Inst) {
        let pieces = match &inst.op {
            Op::Const { ty, bits } => self.constant(*ty, *bits),
            Op::Unary(op, a) => self.unary(*op, *a),
            Op::Binary(op, a, b) => self.binary(*op, *a, *b),
            Op::Fma(a, b, c) => self.fma(*a, *b, *c),
            Op::IntCmp(cmp, a, b) => self.int_cmp(*cmp, *a, *b),
            Op::FloatCmp(cmp, a, b) => self.float_cmp(*cmp, *a, *b),
            Op::Select { cond, on_true, on_false } => self.select(*cond, *on_true, *on_false),
            Op::Convert(op, a, to) => self.convert(*op, *a, *to),
            Op::Splat(a, lanes) => self.splat(*a, *lanes),
            Op::Extract(a, lane) => self.extract(*a, *lane),
            Op::Insert { vector, lane, scalar } => self.insert(*vector, *lane, *scalar),
            Op::Shuffle(a, b, lanes) => self.shuffle(*a, *b, lanes),
            Op::Reduce(op, a) => self.reduce(*op, *a),
            Op::Any(a) => self.any(*a),
            Op::Math(op, args) => self.math(*op, args),
            Op::Load { ty, ptr, offset, access } => match self.neighbours[inst.results[0]] {
                Some(neighbour) => self.load_neighbour(inst.results[0], neighbour, *ty, *ptr, *access),
                None => self.load(*ty, *ptr, *offset, *access),
            },
            Op::Gather { ty, ptr, offset, index, scale, mask } => {
                self.gather_from(*ty, (*ptr, *offset), (*index, *scale), *mask)
            }
            Op::Store { value, ptr, offset, access } => self.store(*value, *ptr, *offset, *access),
            Op::PtrAdd(ptr, bytes) => {
                let (ptr, bytes) = (self.scalar(*ptr), self.scalar(*bytes));
                Pieces::from_slice(&[self.b.ins().iadd(ptr, bytes)])
            }
            Op::StackSlot { size, align } => self.stack_slot(*size, *align),
            Op::DataAddr(_) | Op::GlobalAddr(_) | Op::FuncAddr(_) | Op::ExternAddr(_) => self.address(&inst.op),
            Op::Call(callee, args) => self.call(*callee, args),
            Op::CallExtern(callee, args) => self.call_extern(*callee, args),
            Op::CallIndirect { sig, callee, args } => self.call_indirect(*sig, *callee, args),
            Op::RcInc(object, sharing) => self.rc_inc(*object, *sharing),
            Op::RcDec(object, sharing) => self.rc_dec(*object, *sharing),
            Op::RcUnique(object) => self.rc_unique(*object),
            Op::If { cond, then_region, else_region } => self.if_else(*cond, then_region, else_region, &inst.results),
            Op::For { lo, hi, step, inits, body } => self.for_loop([*lo, *hi, *step], inits, body, &inst.results),
            Op::Loop { inits, body } => self.do_while(inits, body, &inst.results),
            Op::ParFor { n, chunk, late, shared, body } => self.parfor(*n, *chunk, *late, shared.as_deref(), body),
            Op::Launch { .. } | Op::LocalSlot { .. } | Op::Barrier => {
                unreachable!("kernels are cut out of the module before a processor's backend sees it")
            }
        };
        self.bind_all(&inst.results, &pieces);
    }

    /// A constant of type `ty`.
    pub fn constant(&mut self, ty: Ty, bits: u64) -> Pieces {
        use ravel_nest::ir::Prim;
        if ty.is_vector() {
            let lane = &bits.to_le_bytes()[..ty.prim.bytes() as usize];
            let bytes: Vec<u8> = lane.iter().copied().cycle().take(16).collect();
            let handle = self.b.func.dfg.constants.insert(bytes.into());
            let piece = self.b.ins().vconst(piece_type(ty), handle);
            return Pieces::from_elem(piece, piece_count(ty));
        }
        let piece = match ty.prim {
            Prim::F32 => self.b.ins().f32const(ir::immediates::Ieee32::with_bits(bits as u32)),
            Prim::F64 => self.b.ins().f64const(ir::immediates::Ieee64::with_bits(bits)),
            _ => self.b.ins().iconst(piece_type(ty), bits as i64),
        };
        Pieces::from_slice(&[piece])
    }

    /// The bits of a value that is an `Op::Const`.
    pub fn known_bits(&self, value: Value) -> Option<u64> {
        match self.constants[value] {
            Some(Op::Const { bits, .. }) => Some(*bits),
            _ => None,
        }
    }

    /// A pointer-sized integer constant.
    pub fn word(&mut self, value: i64) -> ir::Value {
        self.b.ins().iconst(types::I64, value)
    }
}
