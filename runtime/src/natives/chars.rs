//! Character classes of C's default locale, for whole strings.

use super::{Str, Text, natives, number};

fn is_print(byte: u8) -> bool {
    matches!(byte, b' '..=b'~')
}

macro_rules! classes {
    ($($of_string:ident $test:expr;)*) => {
        natives! { CLASSES;
            $(
                /// Whether all characters are of the class.
                pure fn $of_string(s: Text<'_>) -> (holds: bool) {
                    Ok(s.0.iter().copied().all($test))
                }
            )*
        }
    };
}
classes! {
    ravel_string_isalpha |byte: u8| byte.is_ascii_alphabetic();
    ravel_string_isupper |byte: u8| byte.is_ascii_uppercase();
    ravel_string_islower |byte: u8| byte.is_ascii_lowercase();
    ravel_string_isdigit |byte: u8| byte.is_ascii_digit();
    ravel_string_isxdigit |byte: u8| byte.is_ascii_hexdigit();
    ravel_string_isspace number::is_space;
    ravel_string_ispunct |byte: u8| byte.is_ascii_punctuation();
    ravel_string_isalnum |byte: u8| byte.is_ascii_alphanumeric();
    ravel_string_isprint is_print;
    ravel_string_isgraph |byte: u8| byte.is_ascii_graphic();
    ravel_string_iscntrl |byte: u8| byte.is_ascii_control();
}

natives! { CASES;
    /// The string in lower case.
    pure fn ravel_string_tolower(s: Text<'_>) -> (lower: Str) {
        Str::new(&s.0.to_ascii_lowercase())
    }

    /// The string in upper case.
    pure fn ravel_string_toupper(s: Text<'_>) -> (upper: Str) {
        Str::new(&s.0.to_ascii_uppercase())
    }
}
