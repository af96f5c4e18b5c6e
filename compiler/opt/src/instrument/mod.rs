//! What is added to a program for those who look inside it, before anything is optimised.

mod check_nan;

pub use check_nan::check_nan;
