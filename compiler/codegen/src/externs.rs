//! Signatures of natives in machine types.
//!
//! A module names the functions it calls outside itself with the types it believes they have. A belief that differs from the
//! runtime's table - a wrong `external` declaration, a bug in lowering - would corrupt memory at run time, so it is refused here.

use std::fmt;

use ravel_nest::ir::{Module, Param, Prim, Signature, Ty};
use ravel_runtime::abi::ElemTag;
use ravel_runtime::natives::{self, Native, Variadic, table};

/// A native that a module calls with another signature than it has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// The native's symbol.
    pub name: String,
    /// The signature in the runtime's table.
    pub expected: Signature,
    /// The signature in the module.
    pub found: Signature,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let declaration = table::find(&self.name).map(table::signature).unwrap_or_default();
        write!(f, "`{}` is called as {}, but the runtime has `{declaration}`", self.name, self.found)
    }
}

impl std::error::Error for Mismatch {}

/// The machine signature of a native.
///
/// Scalars go by value, everything else as a pointer. One result is returned, several go through trailing out-pointers. Open
/// arguments add a pointer and a count, open results two pointers and a count.
pub fn native_signature(native: &Native) -> Signature {
    let mut params: Vec<Param> = native.params.iter().map(|&(_, ty)| param(ty)).collect();
    let result = match native.results {
        [] => None,
        [(_, ty)] => Some(machine_type(*ty)),
        several => {
            params.extend(several.iter().map(|_| Param::from(Ty::PTR)));
            None
        }
    };
    let open: &[Ty] = match native.variadic {
        Variadic::No => &[],
        Variadic::Arguments => &[Ty::PTR, Ty::I64],
        Variadic::Results => &[Ty::PTR, Ty::PTR, Ty::I64],
    };
    params.extend(open.iter().copied().map(Param::from));
    Signature { params, result }
}

/// Every native that the module calls in a way the runtime does not offer, in the order of the module's externs.
pub fn check_externs(module: &Module) -> Vec<Mismatch> {
    module
        .externs
        .values()
        .filter_map(|callee| {
            let expected = native_signature(table::find(&callee.name)?);
            let fits = expected.result == callee.sig.result && same_params(&expected.params, &callee.sig.params);
            (!fits).then(|| Mismatch { name: callee.name.clone(), expected, found: callee.sig.clone() })
        })
        .collect()
}

/// Equal types, and equal extension where the caller extends.
fn same_params(expected: &[Param], found: &[Param]) -> bool {
    let extended = |param: &Param| matches!(param.ty.prim, Prim::I8 | Prim::I16);
    expected.len() == found.len()
        && expected.iter().zip(found).all(|(e, f)| e.ty == f.ty && (!extended(e) || e.signed == f.signed))
}

fn param(ty: natives::Ty) -> Param {
    let signed = matches!(ty, natives::Ty::Scalar(ElemTag::I8 | ElemTag::I16 | ElemTag::I32 | ElemTag::I64));
    Param { ty: machine_type(ty), signed }
}

fn machine_type(ty: natives::Ty) -> Ty {
    match ty {
        natives::Ty::Scalar(tag) => match tag {
            ElemTag::Bool | ElemTag::Char | ElemTag::I8 | ElemTag::U8 => Ty::I8,
            ElemTag::I16 | ElemTag::U16 => Ty::I16,
            ElemTag::I32 | ElemTag::U32 => Ty::I32,
            ElemTag::I64 | ElemTag::U64 => Ty::I64,
            ElemTag::F32 => Ty::F32,
            ElemTag::F64 => Ty::F64,
            ElemTag::Handle => Ty::PTR,
        },
        natives::Ty::String | natives::Ty::Array(_) | natives::Ty::AnyArray => Ty::PTR,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signature_of(name: &str) -> Signature {
        native_signature(table::find(name).expect("the native exists"))
    }

    #[test]
    fn results_and_open_ends_become_pointers() {
        let open = signature_of("ravel_io_fopen");
        assert_eq!(open.params.iter().map(|p| p.ty).collect::<Vec<_>>(), [Ty::PTR; 4]);
        assert_eq!(open.result, None);
        let printf = signature_of("ravel_printf");
        assert_eq!(printf.params.iter().map(|p| p.ty).collect::<Vec<_>>(), [Ty::PTR, Ty::PTR, Ty::I64]);
        assert_eq!(signature_of("ravel_io_fgetc").result, Some(Ty::I8));
    }

    #[test]
    fn wrong_beliefs_are_reported() {
        let mut module = Module::default();
        module.extern_func("ravel_math_sin_double", &[Ty::F64.into()], Some(Ty::F64));
        module.extern_func("some_c_function", &[Ty::F64.into()], Some(Ty::F64));
        assert_eq!(check_externs(&module), []);
        module.extern_func("ravel_math_cos_double", &[Ty::F32.into()], Some(Ty::F64));
        let found = check_externs(&module);
        assert_eq!(found.len(), 1);
        assert!(found[0].to_string().contains("double ravel_math_cos_double(double x)"), "{}", found[0]);
    }

    #[test]
    fn every_native_has_an_address() {
        for native in table::all() {
            assert_eq!(crate::runtime_symbol(native.name), Some(native.address.0.cast()), "{}", native.name);
        }
    }
}
