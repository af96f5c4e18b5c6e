//! Which code of the table of errors a fault of a running program has.

use ravel_diagnostics::Code;
use ravel_runtime::fault::Fault;

/// The code under which the compiler reports the same, if it can foresee it.
pub fn code_of(fault: &Fault) -> Option<Code> {
    Code::from_text(&fault.code?.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ravel_runtime::fault;

    #[test]
    fn codes_of_the_runtime_are_in_the_table() {
        for code in fault::Code::ALL {
            assert_eq!(code_of(&Fault::coded(code, "x")).map(Code::text), Some(code.to_string().as_str()));
        }
        assert_eq!(code_of(&fault::index(4, 0, 3)), Some(Code::IndexOutOfRange));
        assert_eq!(code_of(&fault::in_words("[E0324] condition", &[])), Some(Code::ConditionFails));
        assert_eq!(code_of(&Fault::new("out of memory")), None);
    }
}
