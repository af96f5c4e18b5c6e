//! What people write who come from Python, NumPy or C: titles in their words, and the way here, as an edit where the text tells it.
//!
//! Each habit is a function that looks at the place where a parse failed. [`table`] has the words that later stages ask for as well.

mod blocks;
mod declarations;
mod lines;
mod parts;
mod table;
mod values;
mod view;
mod words;

pub(crate) use lines::floor_division;
pub use parts::{Axis, assigned_part};
pub(crate) use table::header_module;
pub use table::{Elsewhere, elsewhere, elsewhere_value};
pub(crate) use values::one_by_one;
pub(crate) use view::View;

use ravel_diagnostics::{Code, Diagnostic};

type Habit = fn(&View<'_>) -> Option<Diagnostic>;

/// The first that knows the place speaks: words before forms, forms before what may be missing.
const HABITS: [Habit; 39] = [
    lines::floor_division,
    lines::hash_comment,
    words::load,
    words::from_import,
    words::function_word,
    words::variable_word,
    words::lambda,
    words::else_if,
    words::leave_loop,
    words::switch,
    words::logical,
    words::containment,
    blocks::for_in,
    blocks::typed_loop_variable,
    blocks::bare_condition,
    blocks::colon_body,
    blocks::conditional_value,
    blocks::list_comprehension,
    blocks::early_return,
    blocks::falling_bounds,
    declarations::global,
    declarations::unsigned,
    declarations::value,
    declarations::array,
    declarations::array_parameter,
    declarations::pointer,
    values::assigned_cell,
    values::arrow,
    values::method,
    values::slice,
    values::rows,
    values::assignment_inside,
    values::increment,
    values::several_values,
    values::returned_list,
    values::signs,
    words::constant,
    values::pointers,
    values::power,
];

/// The report of a failure that a habit explains.
pub(crate) fn report(view: &View<'_>) -> Option<Diagnostic> {
    HABITS.iter().find_map(|habit| habit(view)).or_else(|| lines::missing_semicolon(view))
}

fn error(title: impl Into<String>) -> Diagnostic {
    Diagnostic::error(Code::UnexpectedToken, title)
}
