//! The macro that defines natives: see the header of the parent module.

/// Defines natives; see the module header. Results are named: `-> ()`, `-> (x: i32)`, `-> (x: i32, y: Str)`. In front stands the [`Class`].
///
/// [`Class`]: crate::natives::Class
macro_rules! natives {
    ($list:ident; $(
        $(#[doc = $doc:literal])+
        $class:ident fn $name:ident($($arg:ident: $ty:ty),* $(,)?) -> ($($res:ident: $ret:ty),*) $body:block
    )*) => {
        $($crate::natives::native_symbol! { $class $name ($($arg: $ty),*) ($($res: $ret),*) [$(#[doc = $doc])+] $body })*

        /// The natives of this file.
        pub(super) static $list: &[$crate::natives::Native] = &[$($crate::natives::Native {
            name: stringify!($name),
            doc: concat!($($doc),+),
            params: &[$((stringify!($arg), <$ty as $crate::natives::ArgType>::TY)),*],
            results: &[$((stringify!($res), <$ret as $crate::natives::Ret>::TY)),*],
            variadic: $crate::natives::Variadic::No,
            class: $crate::natives::class!($class),
            address: $crate::natives::Address($name::symbol as *const std::ffi::c_void),
            call: $name::call,
        }),*];
    };
}

/// The module of one native: its body, its C symbol and its dynamic wrapper.
macro_rules! native_symbol {
    (@items $class:ident $name:ident ($($arg:ident: $ty:ty),*) [$result:ty] [$(#[$doc:meta])+] $body:block
     extern ($($out:ident: $outty:ty),*) -> $abi:ty, $fault:ident => $deliver:expr; value $value:pat => $list:expr) => {
        #[allow(non_snake_case, clippy::module_inception)]
        pub(super) mod $name {
            #[allow(unused_imports)]
            use super::*;

            fn body($($arg: $ty),*) -> Result<$result, $crate::fault::Fault> $body

            $(#[$doc])+
            ///
            /// # Safety
            /// Objects are valid and borrowed for the call; out-pointers are writable.
            #[unsafe(export_name = stringify!($name))]
            #[allow(clippy::too_many_arguments)]
            pub unsafe extern "C" fn symbol(
                $($arg: <$ty as $crate::natives::ArgType>::Abi,)* $($out: $outty,)*
            ) -> $abi {
                $crate::stop::check();
                let run = || {
                    // SAFETY: compiled code passes valid objects that live through the call.
                    $(let $arg = unsafe { <$ty as $crate::natives::Arg<'_>>::from_abi($arg) }?;)*
                    body($($arg),*)
                };
                match $crate::natives::class!($class $name run) {
                    Ok($fault) => $deliver,
                    Err(fault) => $crate::fault::raise(fault),
                }
            }

            pub fn call(
                values: &[$crate::natives::Value],
                _tags: &[$crate::abi::ElemTag],
            ) -> Result<Vec<$crate::natives::Value>, $crate::fault::Fault> {
                let names: &[&str] = &[$(stringify!($arg)),*];
                $crate::natives::check_arity(stringify!($name), names.len(), values.len())?;
                let mut _rest = values.iter();
                $(let $arg = match _rest.next() {
                    Some(value) => <$ty as $crate::natives::Arg<'_>>::from_value(value)?,
                    None => return $crate::natives::check_arity(stringify!($name), names.len(), 0).map(|()| Vec::new()),
                };)*
                body($($arg),*).map(|$value| $list)
            }
        }
    };
    ($class:ident $name:ident $args:tt () $docs:tt $body:block) => {
        $crate::natives::native_symbol! { @items $class $name $args [()] $docs $body
            extern () -> (), unit => unit; value () => Vec::new() }
    };
    ($class:ident $name:ident $args:tt ($res:ident: $ret:ty) $docs:tt $body:block) => {
        $crate::natives::native_symbol! { @items $class $name $args [$ret] $docs $body
            extern () -> <$ret as $crate::natives::Ret>::Abi, result => $crate::natives::Ret::into_abi(result);
            value result => vec![$crate::natives::Ret::into_value(result)] }
    };
    ($class:ident $name:ident $args:tt ($($res:ident: $ret:ty),+) $docs:tt $body:block) => {
        $crate::natives::native_symbol! { @items $class $name $args [($($ret),+)] $docs $body
            extern ($($res: *mut <$ret as $crate::natives::Ret>::Abi),+) -> (), results => {
                // SAFETY: compiled code passes writable out-pointers.
                unsafe { $crate::natives::Results::write(results, ($($res),+)) }
            };
            value ($($res),+) => vec![$($crate::natives::Ret::into_value($res)),+] }
    };
}

pub(crate) use {native_symbol, natives};
