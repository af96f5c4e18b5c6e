//! Character classes of C's default locale, for characters and for whole strings.

use super::{Char, Str, Text, natives, number};

fn is_print(byte: u8) -> bool {
    matches!(byte, b' '..=b'~')
}

macro_rules! classes {
    ($($of_char:ident $of_string:ident $test:expr;)*) => {
        natives! { CLASSES;
            $(
                /// Character class.
                pure fn $of_char(c: Char) -> (holds: bool) {
                    Ok($test(c.0))
                }

                /// Whether all characters are of the class.
                pure fn $of_string(s: Text<'_>) -> (holds: bool) {
                    Ok(s.0.iter().copied().all($test))
                }
            )*
        }
    };
}
classes! {
    ravel_char_isalpha ravel_string_isalpha |byte: u8| byte.is_ascii_alphabetic();
    ravel_char_isupper ravel_string_isupper |byte: u8| byte.is_ascii_uppercase();
    ravel_char_islower ravel_string_islower |byte: u8| byte.is_ascii_lowercase();
    ravel_char_isdigit ravel_string_isdigit |byte: u8| byte.is_ascii_digit();
    ravel_char_isxdigit ravel_string_isxdigit |byte: u8| byte.is_ascii_hexdigit();
    ravel_char_isspace ravel_string_isspace number::is_space;
    ravel_char_ispunct ravel_string_ispunct |byte: u8| byte.is_ascii_punctuation();
    ravel_char_isalnum ravel_string_isalnum |byte: u8| byte.is_ascii_alphanumeric();
    ravel_char_isprint ravel_string_isprint is_print;
    ravel_char_isgraph ravel_string_isgraph |byte: u8| byte.is_ascii_graphic();
    ravel_char_iscntrl ravel_string_iscntrl |byte: u8| byte.is_ascii_control();
}

natives! { CASES;
    /// The lower-case letter.
    pure fn ravel_char_tolower(c: Char) -> (lower: Char) {
        Ok(Char(c.0.to_ascii_lowercase()))
    }

    /// The upper-case letter.
    pure fn ravel_char_toupper(c: Char) -> (upper: Char) {
        Ok(Char(c.0.to_ascii_uppercase()))
    }

    /// The string in lower case.
    pure fn ravel_string_tolower(s: Text<'_>) -> (lower: Str) {
        Str::new(&s.0.to_ascii_lowercase())
    }

    /// The string in upper case.
    pure fn ravel_string_toupper(s: Text<'_>) -> (upper: Str) {
        Str::new(&s.0.to_ascii_uppercase())
    }
}
