//! Parts of a module that are compiled at the same time.
//!
//! LLVM works on one function after the other, and nearly all of the time of a compilation is its. A module of some size is cut into as many
//! parts as there are cores, which become objects of their own. A function becomes the same code whatever part it is in, for no pass looks at
//! other functions; only where it stands in memory differs.

use std::cmp::Reverse;
use std::thread;

use cranelift_entity::SecondaryMap;
use ravel_nest::ir::{FuncId, Module, Region};
use ravel_types::HashSet;

use crate::EmitError;

/// Instructions of nest that are worth a part: LLVM takes some tens of milliseconds for them, and one for the declarations of a part.
const LEAST_CODE: usize = 2500;
/// LLVM recurses along chains of operations.
const STACK: usize = 64 << 20;

/// Which functions are compiled together.
pub(crate) struct Parts {
    number_of: SecondaryMap<FuncId, usize>,
    count: usize,
}

impl Parts {
    /// All in one.
    pub fn one() -> Parts {
        Parts { number_of: SecondaryMap::new(), count: 1 }
    }

    /// Parts for all cores, if they are worth it.
    pub fn for_this_machine(module: &Module) -> Parts {
        Parts::of(module, thread::available_parallelism().map_or(1, usize::from), LEAST_CODE)
    }

    /// Parts of about the same size, at most so many, and each of at least so many instructions but for what functions that are large leave.
    fn of(module: &Module, most: usize, least_code: usize) -> Parts {
        let sizes: Vec<(FuncId, usize)> = module.funcs.iter().map(|(id, func)| (id, size_of(&func.body))).collect();
        let count = (sizes.iter().map(|(_, size)| size).sum::<usize>() / least_code).min(most);
        // Parts know each other's functions by name.
        let names: HashSet<&str> = module.funcs.values().map(|func| func.name.as_str()).collect();
        if count < 2 || names.len() < sizes.len() {
            return Parts::one();
        }
        let mut parts = Parts { number_of: SecondaryMap::new(), count };
        let mut filled = vec![0usize; count];
        let mut by_size = sizes;
        by_size.sort_by_key(|(id, size)| (Reverse(*size), *id));
        for (id, size) in by_size {
            let least = (0..count).min_by_key(|part| filled[*part]).unwrap_or(0);
            filled[least] += size;
            parts.number_of[id] = least;
        }
        parts
    }

    /// Does something with all parts at the same time; gives the results in their order.
    ///
    /// # Errors
    /// The error of the first part that has one.
    pub fn each<T: Send>(&self, work: impl Fn(Part<'_>) -> Result<T, EmitError> + Sync) -> Result<Vec<T>, EmitError> {
        let part = |number| Part { parts: self, number };
        thread::scope(|scope| {
            let work = &work;
            let mut others = Vec::new();
            for number in 1..self.count {
                let begin = thread::Builder::new().stack_size(STACK);
                others.push((number, begin.spawn_scoped(scope, move || work(part(number))).ok()));
            }
            let mut results = vec![work(part(0))?];
            for (number, thread) in others {
                results.push(match thread {
                    Some(thread) => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?,
                    // There are no more threads.
                    None => work(part(number))?,
                });
            }
            Ok(results)
        })
    }
}

/// One of the parts of a module.
#[derive(Clone, Copy)]
pub(crate) struct Part<'a> {
    parts: &'a Parts,
    number: usize,
}

impl Part<'_> {
    /// Is a function defined here?
    pub fn defines(self, func: FuncId) -> bool {
        self.parts.number_of[func] == self.number
    }

    /// Are data and global variables defined here, and `main`?
    pub fn has_data(self) -> bool {
        self.number == 0
    }

    /// Is it the whole module?
    pub fn is_whole(self) -> bool {
        self.parts.count == 1
    }
}

/// Instructions of a region and those inside it.
fn size_of(region: &Region) -> usize {
    let inside = region.insts.iter().flat_map(|inst| inst.op.regions()).map(size_of);
    region.insts.len() + inside.sum::<usize>()
}

#[cfg(test)]
mod tests {
    use ravel_nest::builder::FuncBuilder;
    use ravel_nest::ir::{Access, Data, Module, Reloc, Ty, Visibility};

    use super::Parts;
    use crate::Jit;

    /// Functions of so many additions each.
    fn sums(lengths: &[usize]) -> Module {
        let mut module = Module::new();
        for (k, length) in lengths.iter().enumerate() {
            let (mut b, params) = FuncBuilder::new(format!("f{k}"), &[Ty::I64], &[Ty::I64]);
            let sum = (0..*length).fold(params[0], |sum, _| b.add(sum, params[0]));
            b.ret(&[sum]);
            module.add(b.finish());
        }
        module
    }

    #[test]
    fn parts_have_about_the_same_size() {
        let module = sums(&[10, 90, 40, 60]);
        let parts = Parts::of(&module, 2, 50);
        let numbers: Vec<usize> = module.funcs.keys().map(|id| parts.number_of[id]).collect();
        assert_eq!((parts.count, numbers), (2, vec![0, 0, 1, 1]));
    }

    #[test]
    fn small_modules_and_one_core_have_one_part() {
        assert_eq!(Parts::of(&sums(&[40, 50]), 8, 50).count, 1);
        assert_eq!(Parts::of(&sums(&[100, 100]), 1, 50).count, 1);
        assert_eq!(Parts::of(&sums(&[100, 100]), 8, 50).count, 4);
    }

    #[test]
    fn functions_of_the_same_name_stay_together() {
        let mut module = sums(&[100, 100]);
        module.funcs.values_mut().for_each(|func| func.name = "f".to_string());
        assert_eq!(Parts::of(&module, 8, 50).count, 1);
    }

    #[test]
    fn parts_see_each_other() {
        // count() adds the second letter of a text, found through another datum, to a global variable, in a chunk of its own.
        let mut module = Module::new();
        let text = module.c_string("abc");
        let relocs = vec![Reloc { at: 0, target: text, addend: 1 }];
        let place = module.data.push(Data { bytes: vec![0; 8], align: 8, writable: false, relocs });
        let total = module.global("total", Ty::I64);
        let (mut b, _) = FuncBuilder::new("letter", &[], &[Ty::I64]);
        let place = b.data_addr(place);
        let text = b.load(Ty::PTR, place, 0, Access::ALIGNED);
        let letter = b.load(Ty::I8, text, 0, Access::ANY);
        let letter = b.convert(ravel_nest::ir::ConvOp::ZExt, letter, ravel_nest::ir::Prim::I64);
        b.ret(&[letter]);
        let letter = module.add(b.finish());
        let (mut b, params) = FuncBuilder::new("add", &[Ty::I64], &[Ty::I64]);
        let (one, variable) = (b.i64(1), b.global_addr(total));
        b.begin_parfor(one, one);
        let before = b.load(Ty::I64, variable, 0, Access::ALIGNED);
        let after = b.add(before, params[0]);
        b.store(after, variable, 0, Access::ALIGNED);
        b.end_parfor();
        let after = b.load(Ty::I64, variable, 0, Access::ALIGNED);
        b.ret(&[after]);
        let add = module.add(b.finish());
        let (mut b, _) = FuncBuilder::new("count", &[], &[Ty::I64]);
        b.set_visibility(Visibility::Entry);
        let value = b.call(letter, &[], &[Ty::I64]);
        let sum = b.call(add, &value, &[Ty::I64]);
        b.ret(&sum);
        module.add(b.finish());

        let mut jit = Jit::with_runtime().expect("the host is supported");
        for n in 1..4 {
            let parts = Parts::of(&module, 3, 1);
            assert_eq!(parts.count, 3);
            jit.add_parts(&module, &parts).expect("the module is valid");
            // The variable is one for all modules of a session.
            assert_eq!(jit.call("count", &[]), Ok(vec![n * u64::from(b'b')]));
        }
    }
}
