//! Everything compiled code may call: names, for JIT symbol tables with addresses, and for the documentation with types.

use crate::capi::lent;
use crate::natives::{foreign, table};
use crate::ranks::rows;
use crate::{arena, buffer, device, dynamic, fault, odometer, pool, profile, spare, stack, stats};

/// A type that the compiler finds out, in the place of a parameter.
#[cfg(test)]
macro_rules! inferred {
    ($param:ident) => {
        _
    };
}

macro_rules! symbols {
    ($($module:ident::$function:ident($($param:ident),*),)*) => {
        /// The address of an entry point of the runtime other than natives.
        fn entry_point(name: &str) -> Option<*const u8> {
            match name {
                $(stringify!($function) => Some($module::$function as *const u8),)*
                _ => None,
            }
        }

        /// Name, names of parameters, and the types of the result and of the parameters.
        #[cfg(test)]
        fn signatures() -> Vec<(&'static str, Vec<&'static str>, Vec<&'static str>)> {
            use tests::Types as _;
            vec![$((
                stringify!($function),
                vec![$(stringify!($param)),*],
                ($module::$function as unsafe extern "C" fn($(inferred!($param)),*) -> _).types(),
            ),)*]
        }
    };
}

symbols! {
    buffer::ravel_alloc(elem, rank, shape, pos),
    buffer::ravel_free(object),
    buffer::ravel_rc_inc(object),
    buffer::ravel_rc_dec(object),
    buffer::ravel_unique(object),
    buffer::ravel_copy(object, pos),
    buffer::ravel_pause(),
    buffer::ravel_resize(object, rows),
    buffer::ravel_string_new(bytes, length),
    buffer::ravel_scratch_alloc(bytes, pos),
    buffer::ravel_scratch_free(block, bytes),
    arena::ravel_arena_enter(bytes),
    arena::ravel_arena_leave(bytes),
    spare::ravel_spare_alloc(elem, rank, shape, slots, n, pos),
    spare::ravel_spare_keep(object, slots, n),
    spare::ravel_spare_drop(slots, n),
    device::ravel_device_start(needs),
    device::ravel_device_ready(),
    device::ravel_device_pays(work, least, objects, count),
    device::ravel_device_element(object, offset, size),
    device::ravel_device_read(object),
    device::ravel_device_write(object),
    device::ravel_device_update(object),
    device::ravel_device_to_host(object),
    device::ravel_device_host_writes(object),
    device::ravel_device_launch(source, description, rank, grid, arguments),
    device::ravel_device_faulted(),
    device::ravel_device_variant(key, count, usual),
    device::ravel_device_variant_done(),
    rows::ravel_rows_gather(object, site),
    rows::ravel_rows_like(to, from),
    rows::ravel_rows_near(object, like, first, end, factor, low, high, site),
    pool::ravel_parallel(work, ctx, n, chunk, late, shared),
    pool::ravel_threads(),
    pool::ravel_has_idle_threads(),
    stats::ravel_stats(out),
    profile::ravel_profile_enter(site),
    profile::ravel_profile_leave(cells, operations, bytes),
    profile::ravel_profile_counts(counts, n),
    fault::ravel_set_position(pos),
    stack::ravel_recursive_functions(names),
    fault::ravel_fault_index(pos, index, axis, extent),
    fault::ravel_fault_shape(pos, what, rank_a, shape_a, rank_b, shape_b),
    fault::ravel_fault_extent(pos, what, axis, expected, found),
    fault::ravel_fault_rank(pos, what, expected, found),
    fault::ravel_fault_conformity(pos, pattern, rank, shape),
    fault::ravel_fault_reshape(pos, found, expected),
    fault::ravel_fault_division(pos),
    fault::ravel_fault_message(pos, text),
    fault::ravel_fault_memory(pos, bytes),
    foreign::ravel_foreign_box(value, free),
    foreign::ravel_foreign_value(object),
    foreign::ravel_foreign_null(name),
    foreign::ravel_foreign_shape(name, object, elem, rank),
    foreign::ravel_foreign_here(),
    lent::ravel_foreign_lend(object),
    lent::ravel_foreign_back(pointer),
    lent::ravel_foreign_given(pointer),
    foreign::ravel_foreign_pass(name, tags, words, n),
    dynamic::ravel_copy_bytes(to, from, bytes),
    dynamic::ravel_copy_handles(to, from, bytes),
    dynamic::ravel_fault_numbers(pos, text, numbers, n),
    dynamic::ravel_reshaped(object, rank, shape),
    dynamic::ravel_shape_vec(object),
    dynamic::ravel_dyn_slot(pos, array, index),
    dynamic::ravel_dyn_cell(pos, array, index),
    dynamic::ravel_dyn_update(pos, array, index, cell),
    dynamic::ravel_dyn_reshape(pos, array, shape),
    dynamic::ravel_narrow(pos, object, rank, extents),
    dynamic::ravel_check_count(pos, object, count),
    dynamic::ravel_array_of_cells(pos, elem, cells, n),
    dynamic::ravel_alloc_frame(pos, elem, frame, cell, cell_rank),
    dynamic::ravel_fill_cells(pos, array, axes, default),
    dynamic::ravel_cell_offset(pos, array, axes, index),
    dynamic::ravel_put_cell(pos, array, axes, offset, cell),
    odometer::ravel_odometer_start(pos, lower, upper, step, width),
    odometer::ravel_odometer_axes(odometer),
    odometer::ravel_odometer_position(odometer),
    odometer::ravel_odometer_index(odometer),
    odometer::ravel_odometer_next(odometer),
}

/// The address of a native or of another entry point of the runtime.
pub fn lookup(name: &str) -> Option<*const u8> {
    if let Some(native) = table::find(name) {
        return Some(native.address.0.cast());
    }
    foreign::address(name).or_else(|| entry_point(name))
}

#[cfg(test)]
mod tests {
    use std::any::type_name;
    use std::collections::{BTreeMap, BTreeSet};

    /// The names of the types of a function: of its result, then of its parameters.
    pub(super) trait Types {
        fn types(self) -> Vec<&'static str>;
    }

    macro_rules! types_of_functions {
        ($($($param:ident)*;)*) => {
            $(impl<Result, $($param),*> Types for unsafe extern "C" fn($($param),*) -> Result {
                fn types(self) -> Vec<&'static str> {
                    vec![type_name::<Result>(), $(type_name::<$param>()),*]
                }
            })*
        };
    }

    types_of_functions! { ; A; A B; A B C; A B C D; A B C D E; A B C D E F; A B C D E F G; A B C D E F G H; }

    /// A type as the documentation spells it: all pointers are `ptr`.
    fn spelled(ty: &str) -> &str {
        match ty {
            "()" => "void",
            "!" => "noreturn",
            pointer if pointer.contains('*') || pointer.contains("fn(") => "ptr",
            number => number,
        }
    }

    #[test]
    fn natives_and_entry_points_are_found() {
        for name in ["ravel_printf", "ravel_alloc", "ravel_odometer_next"] {
            assert!(super::lookup(name).is_some(), "{name}");
        }
        assert!(super::lookup("ravel_nothing").is_none());
    }

    /// `docs/runtime-abi.md` says all entry points, as they are. A description is a row of a table that begins with the signature.
    #[test]
    fn documentation() {
        let mut exported: Vec<_> = super::signatures();
        let start = crate::start::ravel_main_start as unsafe extern "C" fn(_, _, _) -> _;
        exported.push(("ravel_main_start", vec!["argc", "argv", "entry"], start.types()));
        let exported: BTreeSet<String> = (exported.into_iter())
            .map(|(name, params, types)| {
                let params = params.iter().zip(&types[1..]).map(|(name, ty)| format!("{} {name}", spelled(ty)));
                format!("{} {name}({})", spelled(types[0]), params.collect::<Vec<_>>().join(", "))
            })
            .collect();
        let page = include_str!("../../docs/runtime-abi.md");
        let rows = page.lines().filter_map(|line| line.strip_prefix("| `"));
        let cells = rows.filter_map(|row| row.split_once("` |")).map(|(cell, _)| cell);
        let described: BTreeSet<String> = cells.filter(|cell| cell.contains(" ravel_")).map(String::from).collect();
        let only_in = |these: &BTreeSet<String>, those: &BTreeSet<String>| {
            these.difference(those).cloned().collect::<Vec<_>>().join("\n")
        };
        let (missing, wrong) = (only_in(&exported, &described), only_in(&described, &exported));
        assert!(described == exported, "not described:\n{missing}\nnot there:\n{wrong}");
    }

    /// Compiled code can call every function that the runtime's sources export, unless only executables do.
    #[test]
    fn every_exported_function_has_an_address() {
        let mut open = vec![std::path::PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/src"))];
        let mut found = BTreeMap::new();
        while let Some(folder) = open.pop() {
            for entry in std::fs::read_dir(folder).expect("the sources are there") {
                let path = entry.expect("a readable folder").path();
                if path.is_dir() {
                    open.push(path);
                    continue;
                }
                if path.extension().is_none_or(|extension| extension != "rs") {
                    continue;
                }
                let text = std::fs::read_to_string(&path).expect("a readable source");
                for rest in text.split("\n#[unsafe(no_mangle)]\n").skip(1) {
                    let name = rest.split_once("extern \"C\" fn ").and_then(|(_, rest)| rest.split_once('('));
                    found.insert(name.expect("functions alone are exported").0.to_string(), path.clone());
                }
            }
        }
        assert!(found.len() > 60, "{}", found.len());
        // What C code of programs and libraries calls is not for compiled code.
        let is_for_c = |path: &std::path::Path| path.ends_with("capi.rs") || path.ends_with("library.rs");
        found.retain(|name, path| name != "ravel_main_start" && !is_for_c(path));
        for (name, path) in found {
            assert!(super::lookup(&name).is_some(), "{name} of {}", path.display());
        }
    }
}
