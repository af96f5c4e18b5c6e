//! A module: its functions, in the versions that are called, and the entry.

use ravel_nest::builder::FuncBuilder;
use ravel_nest::ir::{self as nest, Prim, Ty, Visibility};
use ravel_types::HashMap;
use ravel_wir as wir;

use crate::lower::Lower;
use crate::lower::context::{Callers, ModuleCx, machine_type};
use crate::lower::listing::list;
use crate::{Capabilities, Options, Remark, Result, Tiles};

/// The nest of a module, and what was decided.
pub(crate) fn schedule(
    module: &wir::Module,
    target: &Capabilities,
    options: &Options<'_>,
    tiles: &dyn Fn(&str) -> Tiles,
) -> Result<(nest::Module, Vec<Remark>)> {
    let mut cx = ModuleCx::new(module, target, options, tiles);
    lower_all(&mut cx)?;
    Ok((cx.nest, cx.remarks))
}

/// The decisions as text.
pub(crate) fn listing(module: &wir::Module, target: &Capabilities, options: &Options<'_>) -> Result<String> {
    let mut cx = ModuleCx::new(module, target, options, &|_| Tiles::Usual);
    cx.decisions = Some(Vec::new());
    lower_all(&mut cx)?;
    Ok(list(&cx))
}

/// Lowers every function that is called, in the versions that are, then adds the entry wrapper.
fn lower_all(cx: &mut ModuleCx<'_>) -> Result<()> {
    let module = cx.wir;
    let mut same_name: HashMap<&str, usize> = HashMap::default();
    for (id, global) in &module.globals {
        // A record has one slot per field, all of one name: the number among them keeps them apart, in later modules too.
        let number = same_name.entry(&global.name).or_insert(0);
        let name = format!("ravel_global_{}_{number}", global.name);
        *number += 1;
        cx.globals[id] = Some(cx.nest.global(&name, machine_type(&global.ty)));
    }
    // Functions that nobody calls are left out, except in a module without an entry, which offers all it has.
    match module.entry {
        Some(entry) => {
            let exports = module.exports.iter().map(|(_, export)| *export);
            [entry].into_iter().chain(exports).for_each(|id| _ = cx.version(id, Callers::Sequential));
        }
        None => module.funcs.keys().for_each(|id| _ = cx.version(id, Callers::Sequential)),
    }
    while let Some((callers, id)) = cx.wanted.pop_first() {
        let target = cx.version(id, callers);
        cx.func = id;
        // Of a function in two versions only the first one is explained.
        let again = callers == Callers::Threads && cx.funcs.contains_key(&(id, Callers::Sequential));
        cx.silent = u32::from(again);
        let lowered = Lower::function(cx, &module.funcs[id], (target, callers))?;
        cx.nest.define(target, lowered);
    }
    if let Some(entry) = module.entry {
        let release = cx.options.release_globals;
        add_entry(cx, cx.options.entry_name.clone(), entry, release);
    }
    for (name, export) in &module.exports {
        add_entry(cx, name.clone(), *export, false);
    }
    Ok(())
}

/// A function that the host calls: a function of the module, then the release of the globals.
fn add_entry(cx: &mut ModuleCx<'_>, name: String, entry: wir::FuncId, release_globals: bool) {
    let callee = cx.version(entry, Callers::Sequential);
    let params: Vec<Ty> = cx.nest.funcs[callee].param_types().collect();
    let results = cx.nest.funcs[callee].results.clone();
    let (mut b, args) = FuncBuilder::new(name, &params, &results);
    b.set_visibility(Visibility::Entry);
    if let Some((table, n)) = cx.finish_counts() {
        let counts = cx.runtime("ravel_profile_counts", &[Ty::PTR, Ty::I64], None);
        let (table, n) = (b.data_addr(table), b.i64(n));
        b.call_extern(counts, &[table, n], None);
    }
    let values = b.call(callee, &args, &results);
    if release_globals {
        for (id, global) in &cx.nest.globals {
            if global.ty.prim == Prim::Ptr {
                let slot = b.global_addr(id);
                let object = b.load(Ty::PTR, slot, 0, nest::Access::ALIGNED);
                let null = b.null();
                b.store(null, slot, 0, nest::Access::ALIGNED);
                b.rc_dec(object);
            }
        }
    }
    b.ret(&values);
    cx.nest.add(b.finish());
}
