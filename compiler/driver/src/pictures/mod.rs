//! Arrays as people look at them: pictures, line plots, and a line of figures about what is too large to print.
//!
//! Nothing is printed or written here, and the environment is asked through a function, so that the prompt and notebooks share all of it.

mod blocks;
mod braille;
pub mod numbers;
mod picture;
mod plot;
mod protocols;
mod scale;
pub mod terminal;

pub use picture::Picture;
pub use plot::Plot;
pub use terminal::Terminal;
