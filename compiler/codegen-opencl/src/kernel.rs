//! Cutting kernels out of functions.

use cranelift_entity::{PrimaryMap, SecondaryMap};
use ravel_codegen::EmitError;
use ravel_nest::captures::captures;
use ravel_nest::ir::{Access, DataId, ExternId, FuncId, Inst, Module, Op, Param, Prim, Region, Ty, Value};
use ravel_types::HashMap;
use smallvec::{SmallVec, smallvec};

use crate::print::{Kernel, kernel_text};
use crate::ranges::{self, Range};
use crate::{BUFFER_CALLS, Program, launches};

/// The call that gives the buffer of an array that is read.
const READ: &str = BUFFER_CALLS[0];

/// Bounds are looked for through this many operations.
const DEPTH: u32 = 16;

/// Offset of the first extent in an array object.
const FIRST_EXTENT: i32 = 32;

/// Bytes of an argument as the kernel declares it.
fn variable_bytes(prim: Prim, range: Range) -> u32 {
    if prim == Prim::I64 && ranges::is_int(range) { Prim::I32.bytes() } else { prim.bytes() }
}

/// Where a value comes from.
type Defs = SecondaryMap<Value, Option<Op>>;

pub(crate) fn split(module: &mut Module) -> Result<Program, EmitError> {
    let with_launches: Vec<FuncId> = module.funcs.iter().filter(|(_, f)| launches(&f.body)).map(|(id, _)| id).collect();
    if with_launches.is_empty() {
        return Ok(Program::default());
    }
    // The text is complete only when all kernels are: its place in the module is filled in at the end.
    let source = module.constant_bytes(Vec::new(), 1);
    let params: Vec<Param> = [Ty::PTR, Ty::PTR, Ty::I64, Ty::PTR, Ty::PTR].map(Param::from).to_vec();
    let callee = module.extern_func("ravel_device_launch", &params, None);
    let mut kernels = Vec::new();
    for id in with_launches {
        let mut func = module.funcs[id].clone();
        let mut cutter = Cutter {
            module,
            defs: Defs::new(),
            values: std::mem::take(&mut func.values),
            name: func.name.clone(),
            source,
            callee,
            kernels: &mut kernels,
        };
        cutter.note(&func.body);
        cutter.region(&mut func.body)?;
        func.values = cutter.values;
        module.funcs[id] = func;
    }
    let program = Program {
        source: crate::print::program_text(&kernels),
        kernels: kernels.iter().map(|k| k.name.clone()).collect(),
        doubles: kernels.iter().any(|k| k.doubles),
    };
    module.data[source].bytes = program.source.bytes().chain([0]).collect();
    Ok(program)
}

/// A kernel's text and what the program around it must have.
pub(crate) struct Cut {
    pub name: String,
    pub text: String,
    /// Static data it reads.
    pub data: std::collections::BTreeMap<u32, Vec<u8>>,
    pub doubles: bool,
}

struct Cutter<'a> {
    module: &'a mut Module,
    defs: Defs,
    values: PrimaryMap<Value, Ty>,
    name: String,
    source: DataId,
    callee: ExternId,
    kernels: &'a mut Vec<Cut>,
}

impl Cutter<'_> {
    fn note(&mut self, region: &Region) {
        for inst in &region.insts {
            if let [result] = inst.results[..]
                && inst.op.regions().is_empty()
            {
                self.defs[result] = Some(inst.op.clone());
            }
            for nested in inst.op.regions() {
                self.note(nested);
            }
        }
    }

    fn region(&mut self, region: &mut Region) -> Result<(), EmitError> {
        let mut insts = Vec::new();
        for mut inst in std::mem::take(&mut region.insts) {
            match &mut inst.op {
                Op::Launch { grid, local, body } => {
                    let (grid, local, body) = (std::mem::take(grid), std::mem::take(local), std::mem::take(body));
                    self.launch(&grid, &local, body, &mut insts)?;
                    continue;
                }
                Op::If { then_region, else_region, .. } => {
                    self.region(then_region)?;
                    self.region(else_region)?;
                }
                Op::For { body, .. } | Op::Loop { body, .. } | Op::ParFor { body, .. } => self.region(body)?,
                _ => {}
            }
            insts.push(inst);
        }
        region.insts = insts;
        Ok(())
    }

    fn unsupported<T>(&self, what: impl Into<String>) -> Result<T, EmitError> {
        Err(EmitError::Kernel { func: self.name.clone(), what: what.into() })
    }

    fn is_buffer(&self, v: Value) -> bool {
        matches!(&self.defs[v], Some(Op::CallExtern(callee, _)) if BUFFER_CALLS.contains(&self.module.externs[*callee].name.as_str()))
    }

    /// Writes the kernel and the call that starts it.
    fn launch(
        &mut self,
        grid: &[Value],
        local: &[u32],
        mut body: Region,
        insts: &mut Vec<Inst>,
    ) -> Result<(), EmitError> {
        // Constants and addresses are made inside; what they need comes in their place.
        let mut arguments: Vec<Value> = Vec::new();
        let mut inside: Vec<Inst> = Vec::new();
        for v in captures(&body) {
            self.capture(v, &mut arguments, &mut inside)?;
        }
        body.insts.splice(0..0, inside);
        let name = self.fresh_name();
        let mut ranges: HashMap<Value, Range> = arguments.iter().map(|&v| (v, self.host_range(v, DEPTH))).collect();
        for (&position, &extent) in body.params.iter().zip(grid) {
            ranges.insert(position, (0, (self.host_range(extent, DEPTH).1 - 1).max(0)));
        }
        for (&position, &size) in body.params[grid.len()..].iter().zip(local) {
            ranges.insert(position, (0, i64::from(size) - 1));
        }
        let distinct = self.are_distinct(&arguments);
        let kernel = Kernel {
            name: &name,
            values: &self.values,
            arguments: &arguments,
            rank: grid.len(),
            local,
            body: &body,
            module: self.module,
            ranges: &ranges,
            distinct,
        };
        let (cut, faults) = kernel_text(&kernel).or_else(|what| self.unsupported(what))?;
        // The same with-loop under several conditions is one kernel.
        let nameless = cut.text.replacen(&name, "", 1);
        let known = self.kernels.iter().find(|k| k.text.replacen(&k.name, "", 1) == nameless && k.data == cut.data);
        let (name, cut) = match known {
            Some(known) => (known.name.clone(), None),
            None => (name, Some(cut)),
        };
        // `b` a buffer, a digit the bytes of a scalar, `f` at the end the flag of faults; the work-items of a group along each axis.
        let mut description = format!("{name}:");
        for &v in &arguments {
            match self.values[v].prim {
                Prim::Ptr => description.push('b'),
                prim => description.push_str(&variable_bytes(prim, ranges[&v]).to_string()),
            }
        }
        if faults {
            description.push('f');
        }
        for size in local {
            description.push_str(&format!("/{size}"));
        }
        self.kernels.extend(cut);
        let description = self.module.c_string(&description);
        let source = self.value(insts, Ty::PTR, Op::DataAddr(self.source));
        let description = self.value(insts, Ty::PTR, Op::DataAddr(description));
        let rank = self.value(insts, Ty::I64, Op::Const { ty: Ty::I64, bits: grid.len() as u64 });
        let sizes = self.memory(insts, grid);
        let arguments = self.memory(insts, &arguments);
        insts.push(Inst {
            results: SmallVec::new(),
            op: Op::CallExtern(self.callee, vec![source, description, rank, sizes, arguments]),
        });
        Ok(())
    }

    /// Bounds of a value of the function around a kernel.
    fn host_range(&self, v: Value, depth: u32) -> Range {
        let prim = self.values[v].prim;
        let any = ranges::full(prim);
        let Some(op) = self.defs[v].as_ref().filter(|_| depth > 0 && prim.is_int()) else { return any };
        match op {
            Op::Load { ptr, offset, .. } if prim == Prim::I64 && *offset >= FIRST_EXTENT && self.is_object(*ptr) => {
                ranges::EXTENT
            }
            _ => ranges::of_op(op, prim, &|v| self.values[v].prim, &mut |v| self.host_range(v, depth - 1)),
        }
    }

    /// Is this an array object, and not the address of elements?
    fn is_object(&self, ptr: Value) -> bool {
        match &self.defs[ptr] {
            None => true,
            Some(Op::CallExtern(callee, _)) => self.module.externs[*callee].name.starts_with("ravel_alloc"),
            _ => false,
        }
    }

    /// Is every buffer that a kernel writes one of an array made for it?
    fn are_distinct(&self, arguments: &[Value]) -> bool {
        let mut written = Vec::new();
        for &v in arguments {
            let Some(Op::CallExtern(callee, args)) = &self.defs[v] else { continue };
            if self.module.externs[*callee].name == READ {
                continue;
            }
            let made = args.first().is_some_and(|object| {
                matches!(&self.defs[*object], Some(Op::CallExtern(..))) && self.is_object(*object)
            });
            if !made || written.contains(&args[0]) {
                return false;
            }
            written.push(args[0]);
        }
        true
    }

    fn fresh_name(&self) -> String {
        // `sac_relax_3` launches `relax_3_k7`: C names, unique in the program.
        let stem = self.name.strip_prefix("sac_").unwrap_or(&self.name);
        format!("{stem}_k{}", self.kernels.len())
    }

    fn capture(&mut self, v: Value, arguments: &mut Vec<Value>, inside: &mut Vec<Inst>) -> Result<(), EmitError> {
        let made = |inside: &[Inst]| inside.iter().any(|inst| inst.results.contains(&v));
        if arguments.contains(&v) || made(inside) {
            return Ok(());
        }
        match self.defs[v].clone() {
            Some(op @ (Op::Const { .. } | Op::DataAddr(_))) => inside.push(Inst { results: smallvec![v], op }),
            Some(op @ Op::PtrAdd(base, bytes)) => {
                self.capture(base, arguments, inside)?;
                self.capture(bytes, arguments, inside)?;
                inside.push(Inst { results: smallvec![v], op });
            }
            _ if self.values[v] == Ty::PTR && !self.is_buffer(v) => {
                return self.unsupported("an address that is no device buffer");
            }
            _ => arguments.push(v),
        }
        Ok(())
    }

    fn value(&mut self, insts: &mut Vec<Inst>, ty: Ty, op: Op) -> Value {
        let v = self.values.push(ty);
        insts.push(Inst { results: smallvec![v], op });
        v
    }

    /// Values in memory of the stack, eight bytes each.
    fn memory(&mut self, insts: &mut Vec<Inst>, values: &[Value]) -> Value {
        let slot = self.value(insts, Ty::PTR, Op::StackSlot { size: 8 * values.len().max(1) as u32, align: 8 });
        for (k, &value) in values.iter().enumerate() {
            let op = Op::Store { value, ptr: slot, offset: 8 * k as i32, access: Access::ANY };
            insts.push(Inst { results: SmallVec::new(), op });
        }
        slot
    }
}
