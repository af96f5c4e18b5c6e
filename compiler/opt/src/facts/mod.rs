//! What passes ask about a function: where values stand and are used, what integers can be, what code costs.
//!
//! Nothing here changes a function.

pub mod cost;
pub mod effects;
pub mod index_sets;
pub mod keys;
pub mod linear;
pub mod places;
pub mod ranges;
pub mod read_counts;
pub mod speculation;
pub mod stats;
pub mod sums;

pub use cost::{Cost, cost_of_inst, cost_of_region, cost_of_yield, is_transcendental, work_in_common};
pub use effects::{divides_by_constant, is_speculatable, region_has_effect, region_has_effect_but_checks};
pub use index_sets::{Bounds, MAX_PARTS, bounds, covers};
pub use keys::{Key, form_key, key_of};
pub use linear::{Atom, Lin};
pub use places::{
    Places, Use, and_constant, covers_frame, rewrite_withs, same_int, total_trips, trips, visit_partitions,
};
pub use ranges::Ranges;
pub use read_counts::{is_in_loop, reads_only_what_stays, reads_per_element};
pub use speculation::Safety;
pub use sums::{MAX_DEPTH, Sum, emit_sum, sum_of};
