//! Which code of the table of errors a fault of a running program has: what the compiler says where it foresees it.

use ravel_diagnostics::Code;

/// Parts of messages, as the runtime and the specialiser write them, and their codes. The first that fits counts.
const MESSAGES: &[(&str, Code)] = &[
    ("condition `", Code::ConditionFails),
    (" does not admit a value of shape ", Code::PatternMismatch),
    (" is out of range for axis ", Code::IndexOutOfRange),
    ("division by zero", Code::DivisionByZero),
    ("reshape: ", Code::ReshapeCount),
    (" where a scalar belongs", Code::DeclaredShape),
    (" where one of shape ", Code::DeclaredShape),
    ("the shapes ", Code::ShapesDiffer),
    (" has extent ", Code::ShapesDiffer),
    (": rank ", Code::ShapesDiffer),
    ("negative", Code::NegativeExtent),
];

/// The code of a fault with this message, if the compiler has one for it.
pub fn code_of(message: &str) -> Option<Code> {
    MESSAGES.iter().find(|(part, _)| message.contains(part)).map(|(_, code)| *code)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ravel_runtime::fault;

    #[test]
    fn messages_of_the_runtime_have_their_codes() {
        let cases = [
            (fault::index_message(4, 0, 3), Code::IndexOutOfRange),
            (fault::shape_message("+", &[2], &[3]), Code::ShapesDiffer),
            (fault::reshape_message(3, 4), Code::ReshapeCount),
            (fault::narrow_message(&[-1], &[2, 2]), Code::DeclaredShape),
            (fault::narrow_message(&[], &[2]), Code::DeclaredShape),
            (fault::conformity_message("int[n,n] a", &[2, 3]), Code::PatternMismatch),
            (fault::DIVISION_MESSAGE.to_string(), Code::DivisionByZero),
        ];
        for (message, code) in cases {
            assert_eq!(code_of(&message), Some(code), "{message}");
        }
        assert_eq!(code_of("out of memory"), None);
    }
}
