//! With-loops: generators, partitions, folds, and what of them is elaborated index by index.

pub mod assemble;
pub mod by_index;
pub mod fold;
pub mod generator;
pub mod in_order;
pub mod pieces;
pub mod select;
pub mod withloop;
