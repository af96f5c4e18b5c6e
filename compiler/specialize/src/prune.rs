//! Removes the functions that no call reaches: instances of iterations of a fixed point that were thrown away.

use ravel_types::HashMap;
use ravel_wir::{FuncId, Module, Op, traverse};

/// What functions are called now, by what they were called before.
pub type Renamed = HashMap<FuncId, FuncId>;

/// Keeps what the entry calls, in the order of construction. Does nothing to a module without entry.
pub fn prune(mut module: Module) -> (Module, Renamed) {
    let Some(entry) = module.entry else {
        return (module, Renamed::default());
    };
    let mut reached = vec![false; module.funcs.len()];
    let mut work = vec![entry];
    work.extend(module.exports.iter().map(|(_, export)| *export));
    while let Some(id) = work.pop() {
        if std::mem::replace(&mut reached[id.as_u32() as usize], true) {
            continue;
        }
        let func = &module.funcs[id];
        work.extend(func.rules.iter().map(|rule| rule.func));
        traverse::walk(func, func.body, &mut |_, inst| {
            if let Op::Call { func, .. } = func.insts[inst].op {
                work.push(func);
            }
        });
    }
    let mut renamed = Renamed::default();
    let funcs = std::mem::take(&mut module.funcs);
    for (id, func) in funcs {
        if reached[id.as_u32() as usize] {
            renamed.insert(id, module.funcs.push(func));
        }
    }
    for func in module.funcs.values_mut() {
        for rule in func.rules.iter_mut() {
            rule.func = renamed.get(&rule.func).copied().unwrap_or(entry);
        }
        for inst in func.insts.values_mut() {
            if let Op::Call { func, .. } = &mut inst.op {
                // Instructions outside of every region may call what is gone.
                *func = renamed.get(func).copied().unwrap_or(entry);
            }
        }
    }
    module.entry = renamed.get(&entry).copied();
    for (_, export) in &mut module.exports {
        *export = renamed.get(export).copied().unwrap_or(entry);
    }
    (module, renamed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_without_callers_go_and_calls_follow_the_rest() {
        let text = "\
entry @f2

func @f0 \"dead\" () -> () {
  call @f1 ()
  yield
}

func @f1 \"used\" () -> () {
  yield
}

func @f2 \"entry\" () -> (i32) {
  call @f1 ()
  yield 0
}
";
        let module = ravel_wir::parse::parse_module(text, ravel_source::FileId(0)).expect("the text is well-formed");
        let (module, renamed) = prune(module);
        assert_eq!(renamed.len(), 2);
        let printed = ravel_wir::print::print_module(&module);
        assert_eq!(module.funcs.len(), 2);
        assert!(printed.contains("entry @f1") && printed.contains("call @f0"), "{printed}");
        assert!(!printed.contains("dead"), "{printed}");
    }
}
