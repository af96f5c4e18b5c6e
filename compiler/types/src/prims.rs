//! The table of primitive functions: every `_name_` that a SaC source may call without an import.
//!
//! Suffix letters give the ranks: S scalar, V vector, A any array. The arithmetic families exist in SxS, SxV, VxS and VxV;
//! the rest as listed. Beyond the primitives of SaC there are Ravel's own, which only the standard library uses.

use crate::{BinOp, Elem, UnOp};

/// Rank pattern of a binary or unary family member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ranks {
    S,
    V,
    SxS,
    SxV,
    VxS,
    VxV,
}

/// A primitive function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Prim {
    /// `_add_SxS_` and the like.
    Bin(BinOp, Ranks),
    /// `_neg_S_`, `_not_V_`, `_sqrt_S_` and the like.
    Un(UnOp, Ranks),
    /// `_toi_S_` and the like: numeric conversion of a scalar. The SaC result type is [`crate::Basic`] with this element.
    Convert(crate::Basic),
    /// `_dim_A_(a)`: rank.
    Dim,
    /// `_shape_A_(a)`: shape vector.
    Shape,
    /// `_size_A_(a)`: the number of elements.
    Size,
    /// `_sel_VxA_(iv, a)`: one element; the length of `iv` is the rank.
    Sel,
    /// `_selcell_VxA_(iv, a)` (Ravel): the sub-array at `iv`, whose length is at most the rank.
    SelCell,
    /// `_idx_sel_(n, a)`: the element at a place in row-major order.
    SelFlat,
    /// `_modarray_AxVxS_(a, iv, s)`: one element replaced.
    Modarray,
    /// `_idx_modarray_AxSxS_(a, n, s)`: the element at a place in row-major order replaced.
    ModFlat,
    /// `_modcell_AxVxA_(a, iv, c)` (Ravel): the sub-array at `iv` replaced by `c`.
    ModCell,
    /// `_reshape_VxA_(s, a)`.
    Reshape,
    /// `_cat_VxV_`.
    Cat,
    /// `_take_SxV_(n, v)`: first `n`, or last `-n`, elements; more than there are is a fault.
    Take,
    /// `_drop_SxV_(n, v)`.
    Drop,
    /// `_all_V_`.
    All,
    /// `_mask_SxSxS_(p, a, b)` .. `_mask_VxVxV_`: element choice, scalars replicate; which arguments are vectors.
    /// `_mesh_VxVxV_` is its name in older programs.
    Mask([bool; 3]),
    /// `_hideValue_SxA_(n, a)`: identity that blocks static knowledge of the value.
    HideValue,
    /// `_hideShape_SxA_(n, a)`: identity that leaves only the rank known.
    HideShape,
    /// `_hideDim_SxA_(n, a)`: identity that leaves nothing known.
    HideDim,
    /// `_zero_A_(a)` (Ravel): scalar zero of the argument's element type (blank for char, all-zero record).
    Zero,
    /// `_one_A_(a)` (Ravel): scalar one of the argument's element type (`true` for bool).
    One,
    /// `_maxval_A_(a)` (Ravel): the largest value of the argument's element type, as a scalar.
    MaxVal,
    /// `_minval_A_(a)` (Ravel): the smallest finite value of the argument's element type, as a scalar.
    MinVal,
    /// `_greatest_A_(a)` (Ravel): what no value of the argument's element type exceeds, infinity for reals: the neutral element of `min`.
    Greatest,
    /// `_least_A_(a)` (Ravel): what no value of the argument's element type is below, minus infinity for reals: the neutral element of `max`.
    Least,
    /// `_stop_gradient_(a)` (Ravel): identity of any value whose derivative is zero.
    StopGradient,
}

/// Names of the binary families that are spelled unlike their [`BinOp`].
const BINARY_SPELLINGS: &[(&str, BinOp)] = &[("bitand", BinOp::And), ("bitor", BinOp::Or), ("bitxor", BinOp::Xor)];

/// Conversion primitives by name.
const CONVERSIONS: &[(&str, crate::Basic)] = &[
    ("toi", crate::Basic::Int),
    ("tol", crate::Basic::Long),
    ("toll", crate::Basic::Longlong),
    ("tos", crate::Basic::Short),
    ("tob", crate::Basic::Byte),
    ("toui", crate::Basic::Uint),
    ("toul", crate::Basic::Ulong),
    ("toull", crate::Basic::Ulonglong),
    ("tous", crate::Basic::Ushort),
    ("toub", crate::Basic::Ubyte),
    ("tof", crate::Basic::Float),
    ("tod", crate::Basic::Double),
    ("toc", crate::Basic::Char),
    ("tobool", crate::Basic::Bool),
];

const PLAIN: &[(&str, Prim)] = &[
    ("_dim_A_", Prim::Dim),
    ("_shape_A_", Prim::Shape),
    ("_size_A_", Prim::Size),
    ("_sel_VxA_", Prim::Sel),
    ("_idx_sel_", Prim::SelFlat),
    ("_selcell_VxA_", Prim::SelCell),
    ("_modarray_AxVxS_", Prim::Modarray),
    ("_idx_modarray_AxSxS_", Prim::ModFlat),
    ("_modcell_AxVxA_", Prim::ModCell),
    ("_reshape_VxA_", Prim::Reshape),
    ("_cat_VxV_", Prim::Cat),
    ("_take_SxV_", Prim::Take),
    ("_drop_SxV_", Prim::Drop),
    ("_all_V_", Prim::All),
    ("_mask_SxSxS_", Prim::Mask([false, false, false])),
    ("_mask_SxSxV_", Prim::Mask([false, false, true])),
    ("_mask_SxVxS_", Prim::Mask([false, true, false])),
    ("_mask_SxVxV_", Prim::Mask([false, true, true])),
    ("_mask_VxSxS_", Prim::Mask([true, false, false])),
    ("_mask_VxVxS_", Prim::Mask([true, true, false])),
    ("_mask_VxSxV_", Prim::Mask([true, false, true])),
    ("_mask_VxVxV_", Prim::Mask([true, true, true])),
    ("_mesh_VxVxV_", Prim::Mask([true, true, true])),
    ("_hideValue_SxA_", Prim::HideValue),
    ("_hideShape_SxA_", Prim::HideShape),
    ("_hideDim_SxA_", Prim::HideDim),
    ("_zero_A_", Prim::Zero),
    ("_one_A_", Prim::One),
    ("_maxval_A_", Prim::MaxVal),
    ("_minval_A_", Prim::MinVal),
    ("_greatest_A_", Prim::Greatest),
    ("_least_A_", Prim::Least),
    ("_stop_gradient_", Prim::StopGradient),
];

/// The primitive of a name such as `_add_SxV_`.
pub fn prim_by_name(name: &str) -> Option<Prim> {
    if let Some((_, prim)) = PLAIN.iter().find(|(n, _)| *n == name) {
        return Some(*prim);
    }
    let inner = name.strip_prefix('_')?.strip_suffix('_')?;
    let (stem, ranks) = inner.rsplit_once('_')?;
    let ranks = match ranks {
        "S" => Ranks::S,
        "V" => Ranks::V,
        "SxS" => Ranks::SxS,
        "SxV" => Ranks::SxV,
        "VxS" => Ranks::VxS,
        "VxV" => Ranks::VxV,
        _ => return None,
    };
    match ranks {
        Ranks::S | Ranks::V => {
            if let Some((_, to)) = CONVERSIONS.iter().find(|(n, _)| *n == stem) {
                return (ranks == Ranks::S).then_some(Prim::Convert(*to));
            }
            UnOp::from_name(stem).map(|op| Prim::Un(op, ranks))
        }
        _ => {
            let spelled = BINARY_SPELLINGS.iter().find(|(n, _)| *n == stem).map(|(_, op)| *op);
            spelled.or_else(|| BinOp::from_name(stem)).map(|op| Prim::Bin(op, ranks))
        }
    }
}

/// Every primitive name, for 'did you mean' and the reference page.
pub fn prim_names() -> Vec<String> {
    let mut names: Vec<String> = PLAIN.iter().map(|(n, _)| n.to_string()).collect();
    names.extend(CONVERSIONS.iter().map(|(n, _)| format!("_{n}_S_")));
    for op in UnOp::ALL {
        names.extend(["S", "V"].map(|r| format!("_{op}_{r}_")));
    }
    for op in BinOp::ALL {
        names.extend(["SxS", "SxV", "VxS", "VxV"].map(|r| format!("_{op}_{r}_")));
    }
    names
}

impl Prim {
    /// Number of arguments.
    pub fn arity(self) -> usize {
        match self {
            Prim::Un(..) | Prim::Convert(_) | Prim::Dim | Prim::Shape | Prim::Size | Prim::All | Prim::StopGradient => {
                1
            }
            Prim::Zero | Prim::One | Prim::MaxVal | Prim::MinVal | Prim::Greatest | Prim::Least => 1,
            Prim::Modarray | Prim::ModFlat | Prim::ModCell | Prim::Mask(_) => 3,
            Prim::Bin(..)
            | Prim::Sel
            | Prim::SelFlat
            | Prim::SelCell
            | Prim::Reshape
            | Prim::Cat
            | Prim::Take
            | Prim::Drop => 2,
            Prim::HideValue | Prim::HideShape | Prim::HideDim => 2,
        }
    }

    /// What the arguments must be where that depends on the letters of the name: true for a vector, false for a scalar.
    pub fn vectors(self) -> &'static [bool] {
        const S: bool = false;
        const V: bool = true;
        match self {
            Prim::Bin(_, Ranks::SxV) | Prim::Take | Prim::Drop => &[S, V],
            Prim::Bin(_, Ranks::VxS) => &[V, S],
            Prim::Bin(_, Ranks::VxV) | Prim::Cat => &[V, V],
            Prim::Un(_, Ranks::V) | Prim::All => &[V],
            Prim::Mask([false, false, false]) => &[S, S, S],
            Prim::Mask([false, false, true]) => &[S, S, V],
            Prim::Mask([false, true, false]) => &[S, V, S],
            Prim::Mask([false, true, true]) => &[S, V, V],
            Prim::Mask([true, false, false]) => &[V, S, S],
            Prim::Mask([true, false, true]) => &[V, S, V],
            Prim::Mask([true, true, false]) => &[V, V, S],
            Prim::Mask([true, true, true]) => &[V, V, V],
            _ => &[],
        }
    }

    /// The element type that a conversion produces.
    pub fn converts_to(self) -> Option<Elem> {
        match self {
            Prim::Convert(basic) => Some(basic.elem()),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_listed_name_resolves() {
        for name in prim_names() {
            assert!(prim_by_name(&name).is_some(), "{name}");
        }
        assert_eq!(prim_by_name("_bitand_SxS_"), Some(Prim::Bin(BinOp::And, Ranks::SxS)));
        assert_eq!(prim_by_name("_aplmod_VxV_"), Some(Prim::Bin(BinOp::AplMod, Ranks::VxV)));
        assert_eq!(prim_by_name("_frob_SxS_"), None);
        assert_eq!(prim_by_name("_"), None);
    }
}
