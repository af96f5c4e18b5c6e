//! Programs tell the runtime which of their functions call themselves, so that an exhausted stack can be laid at somebody's door.

use ravel_nest::ir::{FuncId, Inst, Module, Op, Param, Region, Ty};
use std::collections::BTreeMap;

/// Makes the function `entry` name the functions that call themselves, be it through others, and where their heads are.
pub fn name_recursion(module: &mut Module, entry: &str, place_of: impl Fn(&str) -> Option<String>) {
    let named = |name: String| match place_of(&name) {
        Some(place) => format!("`{name}` ({place})"),
        None => format!("`{name}`"),
    };
    let names: Vec<String> = recursive(module).into_iter().map(named).collect();
    if names.is_empty() || module.find(entry).is_none() {
        return;
    }
    let callee = module.extern_func("ravel_recursive_functions", &[Param::from(Ty::PTR)], None);
    let text = module.c_string(&names.join(", "));
    for func in module.funcs.values_mut().filter(|func| func.name == entry) {
        let address = func.values.push(Ty::PTR);
        let take = Inst { results: std::iter::once(address).collect(), op: Op::DataAddr(text) };
        let call = Inst { results: std::iter::empty().collect(), op: Op::CallExtern(callee, vec![address]) };
        func.body.insts.splice(0..0, [take, call]);
    }
}

/// The names of all functions on a cycle of calls, as the source has them, each once.
fn recursive(module: &Module) -> Vec<String> {
    let mut calls: BTreeMap<FuncId, Vec<FuncId>> = BTreeMap::new();
    for (id, func) in module.funcs.iter() {
        let mut found = Vec::new();
        called(&func.body, &mut found);
        calls.insert(id, found);
    }
    let mut names = Vec::new();
    for (id, func) in module.funcs.iter() {
        let mut seen = vec![false; module.funcs.len()];
        let mut open = calls[&id].clone();
        let mut returns = false;
        while let Some(next) = open.pop() {
            returns |= next == id;
            if !std::mem::replace(&mut seen[next.as_u32() as usize], true) {
                open.extend(&calls[&next]);
            }
        }
        let name = source_name(&func.name).to_string();
        if returns && !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// The name in the source: symbols of compiled functions have a prefix and a number around it.
fn source_name(symbol: &str) -> &str {
    let name = symbol.strip_prefix("sac_").unwrap_or(symbol);
    match name.rsplit_once('_') {
        Some((name, number)) if !name.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => name,
    }
}

fn called(region: &Region, found: &mut Vec<FuncId>) {
    for inst in &region.insts {
        match &inst.op {
            Op::Call(callee, _) => found.push(*callee),
            Op::FuncAddr(callee) => found.push(*callee),
            _ => {}
        }
        inst.op.regions().into_iter().for_each(|nested| called(nested, found));
    }
}
