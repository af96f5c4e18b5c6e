//! Small arrays that updates at constant places write element by element are put together at once.
//!
//! ```text
//!    %b = update %a, [0], %x   %c = update %b, [1], %y      // %a: f64[2]
//! => %c = array [%x, %y]
//! ```
//!
//! Elements of it are then known wherever they are selected, and a with-loop around it has nothing in memory that keeps it from lanes.
//!
//! After: inside of with-loops no chain of updates replaces all elements of an array of at most [`MAX_ELEMENTS`], or
//! begins with one that is put together.
//! Leaves alone: chains whose arrays between are used as a whole, and those that begin with an array of arrays.

use super::MAX_ELEMENTS;
use crate::edit::{Defs, insts_where};
use crate::facts::{Places, Use};
use ravel_types::Ty;
use ravel_wir::{Func, Inst, Op, Value};

pub fn compose_updates(func: &mut Func) -> bool {
    let updates = insts_where(func, func.body, |op| matches!(op, Op::Update { .. }));
    if updates.is_empty() {
        return false;
    }
    let (defs, places) = (Defs::new(func), Places::new(func));
    let mut found = Vec::new();
    for (_, inst) in updates {
        if places.is_inside_with(func, inst)
            && !continues(func, &defs, &places, inst)
            && let Some(cells) = cells_of(func, &defs, &places, inst)
        {
            found.push((inst, cells));
        }
    }
    let changed = !found.is_empty();
    for (inst, cells) in found {
        func.insts[inst].op = Op::Array(cells);
    }
    changed
}

/// The place that an update writes, counted in row-major order, if it is a constant in a small array.
fn place(func: &Func, defs: &Defs, inst: Inst) -> Option<(Value, usize, Value)> {
    let Op::Update { array, index, value } = &func.insts[inst].op else { return None };
    let ty = func.ty(*array);
    let extents = ty.shape.constants()?;
    let count: i64 = extents.iter().map(|n| i64::from(*n)).product();
    if extents.len() != index.len() || count > MAX_ELEMENTS as i64 || func.ty(*value) != &Ty::scalar(ty.elem) {
        return None;
    }
    let mut at = 0;
    for (i, n) in index.iter().zip(&extents) {
        let i = defs.int(func, *i).filter(|i| (0..*n).contains(i))?;
        at = at * n + i;
    }
    Some((*array, at as usize, *value))
}

/// Whether another update of the chain follows.
fn continues(func: &Func, defs: &Defs, places: &Places, inst: Inst) -> bool {
    let result = func.insts[inst].results[0];
    places.uses(result).iter().any(|u| match u {
        Use::Operand(user) => {
            places.region_of[*user] == places.region_of[inst]
                && place(func, defs, *user).is_some_and(|(array, ..)| array == result)
        }
        Use::Yield(_) => false,
    })
}

/// Elements of an array after the last update of a chain.
fn cells_of(func: &Func, defs: &Defs, places: &Places, last: Inst) -> Option<Vec<Value>> {
    let count = func.ty(func.insts[last].results[0]).shape.count()?;
    let mut cells: Vec<Option<Value>> = vec![None; count];
    let mut at = last;
    loop {
        let (array, k, value) = place(func, defs, at)?;
        cells[k] = cells[k].or(Some(value));
        if cells.iter().all(Option::is_some) {
            return cells.into_iter().collect();
        }
        match defs.op(func, array)? {
            Op::Update { .. } => {}
            Op::Array(base) if base.len() == count && base.iter().all(|cell| func.ty(*cell).is_scalar()) => {
                return Some(cells.into_iter().zip(base).map(|(cell, base)| cell.unwrap_or(*base)).collect());
            }
            _ => return None,
        }
        at = defs.inst(array).filter(|before| places.region_of[*before] == places.region_of[last])?;
        let by_element = places.uses(array).iter().all(|u| match u {
            Use::Operand(user) => match &func.insts[*user].op {
                Op::Sel { index, .. } => index.iter().all(|i| defs.int(func, *i).is_some()),
                Op::Update { .. } => place(func, defs, *user).is_some(),
                _ => false,
            },
            Use::Yield(_) => false,
        });
        if !by_element {
            return None;
        }
    }
}
