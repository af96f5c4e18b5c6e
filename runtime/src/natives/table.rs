//! The one table of all natives: by name, in the order of the documentation.

use std::collections::HashMap;
use std::sync::OnceLock;

use super::{
    Native, bench, chars, clock, command_line, fibre, hide, idx, math, print, random, streams, strings, system, variadic,
};

/// The natives of every area.
static AREAS: &[&[Native]] = &[
    variadic::LIST,
    streams::FILES,
    streams::INTEGERS,
    print::SCALARS,
    print::ARRAYS,
    fibre::SCALARS,
    fibre::OTHERS,
    strings::STRINGS,
    strings::TEXTS,
    chars::CLASSES,
    chars::CASES,
    math::UNARY,
    math::BINARY,
    math::CLASSES,
    math::PARTS,
    command_line::ARGUMENTS,
    clock::CLOCKS,
    bench::BENCH,
    random::RANDOM,
    system::SYSTEM,
    idx::IDX,
    hide::HIDE,
];

/// All natives.
pub fn all() -> impl Iterator<Item = &'static Native> {
    AREAS.iter().flat_map(|area| area.iter())
}

/// The native with this symbol.
pub fn find(name: &str) -> Option<&'static Native> {
    static BY_NAME: OnceLock<HashMap<&'static str, &'static Native>> = OnceLock::new();
    BY_NAME.get_or_init(|| all().map(|native| (native.name, native)).collect()).get(name).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::natives::{Value, Variadic};

    #[test]
    fn names_are_unique() {
        let mut names: Vec<_> = all().map(|native| native.name).collect();
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn natives_are_called_with_values() {
        let call = |name: &str, values: &[Value]| (find(name).expect("in the table").call)(values, &[]);
        let text = Value::string(b"  42 rest").expect("small");
        let results = call("ravel_string_strtoi", &[text.clone(), Value::I32(10)]).expect("valid");
        assert!(matches!(&results[..], [Value::I32(42), Value::Object(rest)] if rest.view().text() == Some(b" rest")));
        assert!(call("ravel_string_strlen", &[Value::I32(1)]).is_err());
        assert!(call("ravel_string_strlen", &[]).is_err());
        let root = call("ravel_math_sqrt_double", &[Value::F64(9.0)]).expect("valid");
        assert!(matches!(root[..], [Value::F64(3.0)]));
        let format = Value::string(b"%d-%s").expect("small");
        let printed = call("ravel_sprintf", &[format, Value::I32(7), text]).expect("valid");
        assert!(matches!(&printed[..], [Value::Object(s)] if s.view().text() == Some(b"7-  42 rest")));
    }

    #[test]
    fn only_the_format_families_are_variadic() {
        let count = all().filter(|native| native.variadic != Variadic::No).count();
        assert_eq!(count, 7);
    }
}
