//! Addresses of everything compiled code may call, for JIT symbol tables.

use crate::natives::{foreign, table};
use crate::{arena, buffer, device, dynamic, fault, odometer, pool, spare, stack, stats};

macro_rules! symbols {
    ($name:expr; $($module:ident :: $function:ident,)*) => {
        match $name {
            $(stringify!($function) => Some($module::$function as *const u8),)*
            _ => None,
        }
    };
}

/// The address of a native or of another entry point of the runtime.
pub fn lookup(name: &str) -> Option<*const u8> {
    if let Some(native) = table::find(name) {
        return Some(native.address.0.cast());
    }
    if let Some(adapter) = foreign::address(name) {
        return Some(adapter);
    }
    symbols! { name;
        buffer::ravel_alloc,
        buffer::ravel_free,
        buffer::ravel_rc_inc,
        buffer::ravel_rc_dec,
        buffer::ravel_unique,
        buffer::ravel_copy,
        buffer::ravel_pause,
        buffer::ravel_resize,
        buffer::ravel_string_new,
        buffer::ravel_scratch_alloc,
        buffer::ravel_scratch_free,
        arena::ravel_arena_enter,
        arena::ravel_arena_leave,
        spare::ravel_spare_alloc,
        spare::ravel_spare_keep,
        spare::ravel_spare_drop,
        device::ravel_device_start,
        device::ravel_device_ready,
        device::ravel_device_pays,
        device::ravel_device_element,
        device::ravel_device_read,
        device::ravel_device_write,
        device::ravel_device_update,
        device::ravel_device_to_host,
        device::ravel_device_host_writes,
        device::ravel_device_launch,
        device::ravel_device_faulted,
        device::ravel_device_variant,
        device::ravel_device_variant_done,
        pool::ravel_parallel,
        pool::ravel_threads,
        pool::ravel_has_idle_threads,
        stats::ravel_stats,
        fault::ravel_set_position,
        stack::ravel_recursive_functions,
        fault::ravel_fault_index,
        fault::ravel_fault_shape,
        fault::ravel_fault_extent,
        fault::ravel_fault_rank,
        fault::ravel_fault_conformity,
        fault::ravel_fault_reshape,
        fault::ravel_fault_division,
        fault::ravel_fault_message,
        fault::ravel_fault_memory,
        foreign::ravel_foreign_box,
        foreign::ravel_foreign_value,
        foreign::ravel_foreign_null,
        dynamic::ravel_copy_bytes,
        dynamic::ravel_copy_handles,
        dynamic::ravel_fault_numbers,
        dynamic::ravel_reshaped,
        dynamic::ravel_shape_vec,
        dynamic::ravel_dyn_slot,
        dynamic::ravel_dyn_cell,
        dynamic::ravel_dyn_update,
        dynamic::ravel_dyn_reshape,
        dynamic::ravel_narrow,
        dynamic::ravel_check_count,
        dynamic::ravel_array_of_cells,
        dynamic::ravel_alloc_frame,
        dynamic::ravel_fill_cells,
        dynamic::ravel_cell_offset,
        dynamic::ravel_put_cell,
        odometer::ravel_odometer_start,
        odometer::ravel_odometer_axes,
        odometer::ravel_odometer_position,
        odometer::ravel_odometer_index,
        odometer::ravel_odometer_next,
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn natives_and_entry_points_are_found() {
        for name in ["ravel_printf", "ravel_alloc", "ravel_odometer_next"] {
            assert!(super::lookup(name).is_some(), "{name}");
        }
        assert!(super::lookup("ravel_nothing").is_none());
    }
}
