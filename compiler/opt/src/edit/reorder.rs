//! Places of instructions in their region, and moves within it.

use ravel_types::HashSet;
use ravel_wir::{Func, Inst, Region};

/// Where an instruction stands in its region.
///
/// # Panics
/// If it is elsewhere: a pass that loses sight of what it edits would drop code silently.
pub fn place_of(func: &Func, region: Region, inst: Inst) -> usize {
    let place = func.regions[region].insts.iter().position(|i| *i == inst);
    place.unwrap_or_else(|| panic!("{inst:?} ({:?}) is not in {region:?}", func.insts[inst].op))
}

/// Takes an instruction out of its region.
pub fn drop_inst(func: &mut Func, region: Region, inst: Inst) {
    let at = place_of(func, region, inst);
    func.regions[region].insts.remove(at);
}

/// The order in which the instruction at `q` stands right behind that at `p`, and the `moved` ones between them in front of both.
pub fn raise_to(insts: &[Inst], (p, q): (usize, usize), moved: &HashSet<usize>) -> Vec<Inst> {
    let before = (p + 1..q).filter(|at| moved.contains(at));
    let behind = (p + 1..insts.len()).filter(|at| !moved.contains(at) && *at != q);
    (0..p).chain(before).chain([p, q]).chain(behind).map(|at| insts[at]).collect()
}

/// The order in which the instruction at `p` stands right in front of that at `q`.
pub fn lower_to(insts: &[Inst], (p, q): (usize, usize)) -> Vec<Inst> {
    (0..p).chain(p + 1..q).chain([p, q]).chain(q + 1..insts.len()).map(|at| insts[at]).collect()
}
