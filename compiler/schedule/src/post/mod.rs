//! Passes over loop nests: outer loops that are unrolled, divisions by constants, bodies that become functions.

pub mod jam;
pub mod jam_cost;
pub mod jam_plan;
pub mod outline;
pub mod quotients;
