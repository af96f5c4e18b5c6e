//! The memory plan of a finished function: arrays of constant size that stay in their region become buffers of an arena.
//!
//! A function, and each body of a parallel loop, has one arena: a stack slot if it is small, otherwise memory that the runtime keeps per
//! thread (`ravel_arena_enter`). It is opened once, outside of all loops, in the innermost conditional that all its buffers are in; so a
//! loop body allocates nothing, and recursion has one arena per activation. Buffers whose ranges of use do not overlap share
//! space. An array in an arena is not counted; it has a header only if something looks at one.
//!
//! [`crate::memory::certify`] checks the plan before [`crate::memory::arena_rewrite`] carries it out.

use ravel_nest::ir::{Func, Module, Value};

use crate::facts::layout;
use crate::memory::arena_flow::{Content, Flow, Kind, Site};
use crate::memory::arena_rewrite::Pointers;

/// Arrays up to this many bytes always go to an arena, larger ones if they are allocated repeatedly: a program that holds
/// a few large arrays should give each back as soon as it can.
const ALWAYS: i64 = 256 << 10;
/// Arrays larger than this are objects of their own.
const LARGEST: i64 = 8 << 20;

/// Where an array lives.
#[derive(Clone, Debug)]
pub(crate) struct Buffer {
    /// The object or the slot, as the function has it before the rewrite.
    pub value: Value,
    pub content: Content,
    /// Number of its arena.
    pub arena: usize,
    /// Bytes from the start of the arena, a multiple of 64.
    pub offset: i64,
    /// Bytes of the header in front of the elements: zero if there is none.
    pub header: i64,
    /// Bytes with the header.
    pub bytes: i64,
}

/// Memory for the buffers of a function or of the body of a parallel loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Arena {
    /// The region at whose start it is opened; regions are numbered in the order of the text.
    pub region: usize,
    pub bytes: i64,
}

/// The buffers of one function.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plan {
    pub arenas: Vec<Arena>,
    pub buffers: Vec<Buffer>,
}

/// Plans the memory of a function.
pub(crate) fn plan(flow: &Flow<'_>) -> Plan {
    let mut plan = Plan::default();
    let mut homes: Vec<(usize, Vec<&Site>)> = Vec::new();
    for site in flow.sites.iter().filter(|site| fits(flow, site)) {
        let home = chunk_of(flow, site.region);
        match homes.iter_mut().find(|(region, _)| *region == home) {
            Some((_, sites)) => sites.push(site),
            None => homes.push((home, vec![site])),
        }
    }
    for (home, sites) in homes {
        let arena = plan.arenas.len();
        let region = innermost(flow, home, &sites);
        let whole = (flow.places[home].first, flow.places[home].last);
        let bytes = arrange(&mut plan.buffers, arena, &sites, whole);
        plan.arenas.push(Arena { region, bytes });
    }
    plan
}

/// Is the site one for an arena?
fn fits(flow: &Flow<'_>, site: &Site) -> bool {
    if site.content == Content::Slot {
        return true;
    }
    let repeated = std::iter::successors(Some(site.region), |at| flow.places[*at].parent)
        .any(|at| matches!(flow.places[at].kind, Kind::Loop | Kind::Parallel));
    !site.escapes && site.bytes <= if repeated { LARGEST } else { ALWAYS }
}

/// The body of the function or of the parallel loop that a region is in: all of one activation, or of one chunk.
fn chunk_of(flow: &Flow<'_>, region: usize) -> usize {
    let mut at = region;
    while !matches!(flow.places[at].kind, Kind::Body | Kind::Parallel) {
        at = flow.places[at].parent.unwrap_or(0);
    }
    at
}

/// The innermost region below `home`, outside of loops, that all sites are in.
fn innermost(flow: &Flow<'_>, home: usize, sites: &[&Site]) -> usize {
    let mut common: Option<Vec<usize>> = None;
    for site in sites {
        let mut path: Vec<usize> = std::iter::successors(Some(site.region), |at| flow.places[*at].parent)
            .take_while(|at| *at != home)
            .collect();
        path.reverse();
        if site.escapes {
            // The address of a slot that went somewhere may be used anywhere.
            path.clear();
        }
        let straight = path.iter().take_while(|at| flow.places[**at].kind == Kind::Arm).count();
        path.truncate(straight);
        common = Some(match common {
            None => path,
            Some(old) => old.into_iter().zip(path).take_while(|(a, b)| a == b).map(|(a, _)| a).collect(),
        });
    }
    common.and_then(|path| path.last().copied()).unwrap_or(home)
}

/// Gives every site of an arena its place, largest first; returns the bytes of the arena.
fn arrange(buffers: &mut Vec<Buffer>, arena: usize, sites: &[&Site], whole: (usize, usize)) -> i64 {
    let mut order: Vec<(&Site, Buffer)> = sites
        .iter()
        .map(|site| {
            let header = match &site.content {
                Content::Array { extents, .. } if site.header => layout::data_offset(extents.len()),
                _ => 0,
            };
            let bytes = header + rounded(site.bytes);
            (*site, Buffer { value: site.value, content: site.content.clone(), arena, offset: 0, header, bytes })
        })
        .collect();
    order.sort_by_key(|(site, buffer)| (-buffer.bytes, site.start));
    let range = |site: &Site| if site.escapes { whole } else { (site.start, site.end) };
    let mut placed: Vec<((usize, usize), Buffer)> = Vec::new();
    let mut total = 0;
    for (site, mut buffer) in order {
        let (start, end) = range(site);
        let mut taken: Vec<(i64, i64)> = placed
            .iter()
            .filter(|((from, to), _)| *from <= end && start <= *to)
            .map(|(_, other)| (other.offset, other.offset + other.bytes))
            .collect();
        taken.sort_unstable();
        for (from, to) in taken {
            if buffer.offset + buffer.bytes <= from {
                break;
            }
            buffer.offset = buffer.offset.max(to);
        }
        total = total.max(buffer.offset + buffer.bytes);
        placed.push(((start, end), buffer));
    }
    buffers.extend(placed.into_iter().map(|(_, buffer)| buffer));
    total
}

fn rounded(bytes: i64) -> i64 {
    (bytes + layout::DATA_ALIGN as i64 - 1) / layout::DATA_ALIGN as i64 * layout::DATA_ALIGN as i64
}

/// Plans the memory of a function and carries the plan out.
///
/// # Errors
/// What the certifier found wrong with the plan; the function is as it was, only slower.
pub(crate) fn place(module: &mut Module, func: &mut Func) -> Result<(), String> {
    let flow = Flow::of(module, func);
    let plan = plan(&flow);
    if !plan.buffers.is_empty() {
        let pointers = Pointers::of(&flow, func, &plan);
        crate::memory::certify::certify(module, func, &plan)?;
        crate::memory::arena_rewrite::rewrite(module, func, &plan, pointers);
    }
    Ok(())
}
