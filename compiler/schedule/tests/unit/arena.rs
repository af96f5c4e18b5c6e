//! The memory plan: what it takes in, what it leaves alone, and which wrong plans the certifier finds.

use ravel_nest::builder::FuncBuilder;
use ravel_nest::ir::{Access, ExternId, Func, Module, Op, Param, Region, Ty, Value};

use crate::facts::layout;
use crate::memory::arena::{self, Arena, Buffer, Plan};
use crate::memory::arena_flow::{Content, Flow};
use crate::memory::certify::certify;

/// A function under construction, with the runtime functions it may call.
struct Draft {
    module: Module,
    b: FuncBuilder,
    params: Vec<Value>,
    alloc: ExternId,
}

fn words(count: usize) -> Vec<Param> {
    [Param { ty: Ty::PTR, signed: false }].repeat(count)
}

impl Draft {
    fn new(results: &[Ty]) -> Draft {
        let mut module = Module::new();
        let types = [Ty::I8, Ty::I32, Ty::PTR, Ty::PTR].map(|ty| Param { ty, signed: false });
        let alloc = module.extern_func("ravel_alloc", &types, Some(Ty::PTR));
        let (b, params) = FuncBuilder::new("f", &[Ty::I64, Ty::PTR], results);
        Draft { module, b, params, alloc }
    }

    /// An array of `n` doubles.
    fn array(&mut self, n: i64) -> Value {
        let shape = self.module.constant_bytes(n.to_le_bytes().to_vec(), 8);
        let shape = self.b.data_addr(shape);
        self.array_of(shape)
    }

    fn array_of(&mut self, shape: Value) -> Value {
        let (tag, rank) = (self.b.iconst(Ty::I8, 11), self.b.i32(1));
        let position = self.b.null();
        self.b.call_extern(self.alloc, &[tag, rank, shape, position], Some(Ty::PTR)).expect("ravel_alloc has a result")
    }

    fn data(&mut self, object: Value) -> Value {
        self.b.load(Ty::PTR, object, layout::OFFSET_DATA, Access::ALIGNED)
    }

    fn write(&mut self, object: Value) {
        let data = self.data(object);
        let word = self.b.i64(7);
        self.b.store(word, data, 0, Access::ALIGNED);
    }

    fn read(&mut self, object: Value) -> Value {
        let data = self.data(object);
        self.b.load(Ty::I64, data, 0, Access::ALIGNED)
    }

    fn call(&mut self, name: &str, args: &[Value]) {
        let callee = self.module.extern_func(name, &words(args.len()), None);
        self.b.call_extern(callee, args, None);
    }

    fn begin_for(&mut self) -> Value {
        let (zero, one) = (self.b.i64(0), self.b.i64(1));
        self.b.begin_for(zero, self.params[0], one, &[]).0
    }

    fn end_for(&mut self) {
        self.b.end_for(&[]);
    }

    fn finish(mut self, results: &[Value]) -> (Module, Func) {
        self.b.ret(results);
        let Draft { module, b, .. } = self;
        (module, b.finish())
    }
}

fn planned(module: &Module, func: &Func) -> Plan {
    let plan = arena::plan(&Flow::of(module, func));
    certify(module, func, &plan).unwrap_or_else(|rule| panic!("{rule}"));
    plan
}

fn buffer(plan: &Plan, value: Value) -> &Buffer {
    plan.buffers.iter().find(|b| b.value == value).unwrap_or_else(|| panic!("{value} is not planned"))
}

fn calls(module: &Module, region: &Region, name: &str) -> usize {
    let here = |op: &Op| matches!(op, Op::CallExtern(callee, _) if module.externs[*callee].name == name);
    region
        .insts
        .iter()
        .map(|i| usize::from(here(&i.op)) + i.op.regions().iter().map(|r| calls(module, r, name)).sum::<usize>())
        .sum()
}

fn by_hand(value: Value, bytes: i64, header: i64) -> Plan {
    let content = Content::Array { tag: 11, elem_bytes: 8, extents: vec![(bytes - header) / 8] };
    let buffer = Buffer { value, content, arena: 0, offset: 0, header, bytes };
    Plan { arenas: vec![Arena { region: 0, bytes }], buffers: vec![buffer] }
}

fn rejected(module: &Module, func: &Func, plan: &Plan, part: &str) {
    let rule = certify(module, func, plan).expect_err("the plan is wrong");
    assert!(rule.contains(part), "{rule}");
}

#[test]
fn a_loop_allocates_nothing() {
    let mut d = Draft::new(&[]);
    d.begin_for();
    let a = d.array(1000);
    d.write(a);
    d.b.rc_dec(a);
    d.end_for();
    let (mut module, mut func) = d.finish(&[]);
    let plan = planned(&module, &func);
    assert_eq!((plan.arenas[0].region, plan.arenas[0].bytes, plan.buffers[0].header), (0, 8000, 0));
    arena::place(&mut module, &mut func).expect("the plan is right");
    assert_eq!(calls(&module, &func.body, "ravel_alloc"), 0);
    assert_eq!(calls(&module, &func.body, "ravel_arena_enter"), 1);
    assert_eq!(calls(&module, &func.body, "ravel_arena_leave"), 1);
    module.add(func);
    ravel_nest::verify::verify(&module).unwrap_or_else(|e| panic!("{}", e[0]));
}

#[test]
fn small_arenas_are_stack_slots() {
    let mut d = Draft::new(&[]);
    let a = d.array(10);
    d.write(a);
    let (mut module, mut func) = d.finish(&[]);
    arena::place(&mut module, &mut func).expect("the plan is right");
    assert_eq!(calls(&module, &func.body, "ravel_arena_enter"), 0);
    assert!(func.body.insts.iter().any(|i| matches!(i.op, Op::StackSlot { .. })));
}

#[test]
fn arrays_that_are_not_alive_together_share() {
    let mut d = Draft::new(&[]);
    let a = d.array(100);
    d.write(a);
    let b = d.array(100);
    d.write(b);
    d.write(a);
    let c = d.array(50);
    d.write(c);
    d.write(b);
    let (module, func) = d.finish(&[]);
    let plan = planned(&module, &func);
    let (a, b, c) = (buffer(&plan, a), buffer(&plan, b), buffer(&plan, c));
    assert_ne!(a.offset, b.offset);
    assert_eq!(a.offset, c.offset);
    let mut wrong = plan.clone();
    wrong.buffers.iter_mut().for_each(|b| b.offset = 0);
    rejected(&module, &func, &wrong, "still needs");
}

#[test]
fn what_a_loop_needs_again_is_kept() {
    let mut d = Draft::new(&[]);
    let a = d.array(100);
    d.write(a);
    d.begin_for();
    d.read(a);
    let b = d.array(100);
    d.write(b);
    d.end_for();
    let (module, func) = d.finish(&[]);
    let plan = planned(&module, &func);
    assert_ne!(buffer(&plan, a).offset, buffer(&plan, b).offset);
    let mut wrong = plan.clone();
    wrong.buffers.iter_mut().for_each(|b| b.offset = 0);
    rejected(&module, &func, &wrong, "still needs");
}

#[test]
fn escaping_arrays_are_objects() {
    type Use = fn(&mut Draft, Value);
    let uses: [Use; 4] = [
        |d, a| d.call("ravel_print_array", &[a]),
        |d, a| {
            let place = d.params[1];
            d.b.store(a, place, 0, Access::ALIGNED);
        },
        |d, a| {
            let cond = d.b.bool(true);
            let other = d.params[1];
            let chosen = d.b.select(cond, a, other);
            d.b.rc_dec(chosen);
        },
        |d, a| {
            d.b.rc_inc(a);
            d.b.rc_unique(a);
        },
    ];
    for (k, used) in uses.into_iter().enumerate() {
        let mut d = Draft::new(&[]);
        let a = d.array(64);
        used(&mut d, a);
        let (module, func) = d.finish(&[]);
        assert!(planned(&module, &func).buffers.is_empty(), "use {k}");
        assert!(certify(&module, &func, &by_hand(a, 512 + 64, 64)).is_err(), "use {k}");
    }
    let mut d = Draft::new(&[Ty::PTR]);
    let a = d.array(64);
    let (module, func) = d.finish(&[a]);
    assert!(planned(&module, &func).buffers.is_empty());
    rejected(&module, &func, &by_hand(a, 512 + 64, 64), "escapes");
}

#[test]
fn arrays_handed_to_the_next_iteration_are_objects() {
    let mut d = Draft::new(&[]);
    let first = d.array(64);
    let first = d.data(first);
    let carried = d.b.begin_loop(&[first]);
    let a = d.array(64);
    d.write(a);
    d.b.load(Ty::I64, carried[0], 0, Access::ALIGNED);
    let again = d.b.bool(false);
    let next = d.data(a);
    d.b.end_loop(again, &[next]);
    let (module, func) = d.finish(&[]);
    assert!(planned(&module, &func).buffers.is_empty());
    rejected(&module, &func, &by_hand(a, 512, 0), "still needs");
}

#[test]
fn unknown_and_huge_shapes_are_left_alone() {
    let mut d = Draft::new(&[]);
    let shape = d.params[1];
    let a = d.array_of(shape);
    d.write(a);
    let huge = d.array(100_000_000);
    d.write(huge);
    let negative = d.array(-3);
    d.write(negative);
    let (module, func) = d.finish(&[]);
    assert!(planned(&module, &func).buffers.is_empty());
    rejected(&module, &func, &by_hand(a, 512, 0), "constant size");
    rejected(&module, &func, &by_hand(huge, 512, 0), "no room");
}

#[test]
fn chunks_have_arenas_of_their_own() {
    let mut d = Draft::new(&[]);
    let shared = d.array(100);
    d.write(shared);
    let one = d.b.i64(1);
    let n = d.params[0];
    d.b.begin_parfor(n, one);
    d.read(shared);
    let a = d.array(100);
    d.write(a);
    d.b.end_parfor();
    let (mut module, mut func) = d.finish(&[]);
    let plan = planned(&module, &func);
    assert_eq!(plan.arenas.len(), 2);
    assert_ne!(buffer(&plan, shared).arena, buffer(&plan, a).arena);
    let mut wrong = plan.clone();
    let outer = buffer(&plan, shared).arena;
    wrong.arenas[outer].bytes = 2000;
    for b in wrong.buffers.iter_mut().filter(|b| b.value == a) {
        (b.arena, b.offset) = (outer, 1024);
    }
    rejected(&module, &func, &wrong, "chunks");
    arena::place(&mut module, &mut func).expect("the plan is right");
    assert_eq!(calls(&module, &func.body, "ravel_alloc"), 0);
}

#[test]
fn arenas_open_where_they_are_needed() {
    let mut d = Draft::new(&[]);
    let cond = d.b.bool(true);
    d.b.begin_if(cond);
    d.begin_for();
    let a = d.array(1000);
    d.write(a);
    d.end_for();
    d.b.end_if(&[]);
    let (module, func) = d.finish(&[]);
    let plan = planned(&module, &func);
    assert_eq!(plan.arenas[0].region, 1);
    let mut wrong = plan.clone();
    wrong.arenas[0].region = 3;
    rejected(&module, &func, &wrong, "outside of its arena");
}

#[test]
fn headers_exist_where_they_are_read() {
    let mut d = Draft::new(&[]);
    let a = d.array(64);
    d.write(a);
    d.b.load(Ty::I64, a, layout::OFFSET_COUNT, Access::ALIGNED);
    let b = d.array(64);
    d.write(b);
    d.call("ravel_check_count", &[b]);
    let (mut module, mut func) = d.finish(&[]);
    let plan = planned(&module, &func);
    assert_eq!((buffer(&plan, a).header, buffer(&plan, b).header), (0, 64));
    rejected(&module, &func, &by_hand(b, 512, 0), "no header");
    let mut wrong = plan.clone();
    wrong.buffers.iter_mut().for_each(|b| b.bytes -= 64);
    rejected(&module, &func, &wrong, "no room");
    arena::place(&mut module, &mut func).expect("the plan is right");
    module.add(func);
    ravel_nest::verify::verify(&module).unwrap_or_else(|e| panic!("{}", e[0]));
}

#[test]
fn scratch_memory_keeps_its_content_in_a_loop() {
    let mut d = Draft::new(&[]);
    d.begin_for();
    let a = d.array(256);
    d.write(a);
    let scratch = d.b.stack_slot(2048, 64);
    d.b.load(Ty::I64, scratch, 0, Access::ALIGNED);
    d.end_for();
    let later = d.array(256);
    d.write(later);
    let (module, func) = d.finish(&[]);
    let plan = planned(&module, &func);
    assert_ne!(buffer(&plan, a).offset, buffer(&plan, scratch).offset);
    assert_eq!(plan.arenas[0].bytes, 4096);
    let mut wrong = plan.clone();
    wrong.buffers.iter_mut().for_each(|b| b.offset = 0);
    rejected(&module, &func, &wrong, "overwritten");
}

#[test]
fn scratch_memory_whose_address_is_kept_shares_with_nobody() {
    let mut d = Draft::new(&[]);
    let scratch = d.b.stack_slot(2048, 64);
    let place = d.params[1];
    d.b.store(scratch, place, 0, Access::ALIGNED);
    let a = d.array(256);
    d.write(a);
    let (module, func) = d.finish(&[]);
    let plan = planned(&module, &func);
    assert_ne!(buffer(&plan, a).offset, buffer(&plan, scratch).offset);
    let mut wrong = plan.clone();
    wrong.buffers.iter_mut().for_each(|b| b.offset = 0);
    rejected(&module, &func, &wrong, "overwritten");
}
