//! Arrays whose rows lie with the ranks that have computed them.
//!
//! Every rank has memory for the whole array, but only its own rows are valid there; what nobody touches costs no memory. The header of such an array bears
//! a mark, beside the one for elements that are not on the host, so that whoever reads elements otherwise asks for them as it does where a device has them:
//! the array is gathered then, and is an ordinary one. Which rows each rank has stands in a table.
//!
//! The rows of a rank depend on their number alone, so that loops over arrays of one size fit together whatever their chunks are.

use std::collections::HashMap;
use std::ffi::c_char;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use super::intervals::{Interval, RowSet, most_missing, own_rows, transfers};
use super::mpi::{Message, Pending};
use super::settings::Share;
use super::stats::{self, Exchange, Kind, Watch};
use super::{World, here};
use crate::abi::{ArrayHeader, ElemTag, Output, Read};
use crate::buffer::shape_of;
use crate::device::NOT_ON_HOST;
use crate::fault::{self, Fault};

/// Mark: the rows of this array lie with their ranks.
pub(crate) const ROWS: u16 = 8;

/// Results of fewer bytes are gathered: everybody reads them anyway, and sooner or later somebody does it in another way.
const LEAST_BYTES: i64 = 1 << 20;
/// A rank has at least so many rows, or neighbours would exchange much of what they have.
const LEAST_ROWS: i64 = 8;
/// Of rows in more intervals than these, a rank knows no longer that it has them, but for those it owns.
const MOST_INTERVALS: usize = 64;

/// An array in rows.
#[derive(Clone)]
struct Rows {
    /// How many, and the bytes of one.
    n: i64,
    bytes: i64,
    /// What each rank has.
    valid: Vec<RowSet>,
    /// Elements that were asked for one by one.
    asked: u32,
    /// The loop that made it, if one did.
    maker: Option<Maker>,
}

/// A loop: the address of its function.
pub(super) type Maker = usize;

/// What has become of arrays that a loop left in rows.
#[derive(Clone, Copy, Default)]
struct Fate {
    made: u32,
    gathered: u32,
}

fn fates() -> MutexGuard<'static, HashMap<Maker, Fate>> {
    static FATES: LazyLock<Mutex<HashMap<Maker, Fate>>> = LazyLock::new(Mutex::default);
    FATES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The part of the arrays of a loop that was gathered after all, so far. All ranks have seen the same.
pub(super) fn part_gathered(maker: Maker) -> f64 {
    let Fate { made, gathered } = fates().get(&maker).copied().unwrap_or_default();
    if made == 0 { 0.0 } else { f64::from(gathered.min(made)) / f64::from(made) }
}

fn table() -> MutexGuard<'static, HashMap<usize, Rows>> {
    static TABLE: LazyLock<Mutex<HashMap<usize, Rows>>> = LazyLock::new(Mutex::default);
    TABLE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Is an array in rows?
///
/// # Safety
/// `object` is a live object.
pub(crate) unsafe fn is_in_rows(object: *const ArrayHeader) -> bool {
    // SAFETY: live by contract.
    unsafe { (*object).pad & ROWS != 0 }
}

/// # Safety
/// `object` is a live object that the thread that runs the program alone looks at.
unsafe fn mark(object: *mut ArrayHeader, yes: bool) {
    // SAFETY: live by contract.
    let marks = unsafe { &mut (*object).pad };
    *marks = if yes { *marks | ROWS | NOT_ON_HOST } else { *marks & !(ROWS | NOT_ON_HOST) };
}

/// How many rows an array has, and the bytes of one.
///
/// # Safety
/// `object` is a live array.
unsafe fn rows_of(object: *const ArrayHeader) -> (i64, i64) {
    // SAFETY: live by contract.
    let (header, shape) = unsafe { (&*object, shape_of(object)) };
    let size = ElemTag::from_u8(header.elem).unwrap_or(ElemTag::U8).size() as i64;
    let n = shape.first().copied().unwrap_or(1);
    (n, if n > 0 { header.count / n * size } else { 0 })
}

/// Loops whose results stay: their index 0 is this row of so many.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Place {
    pub first: i64,
    pub rows: i64,
}

/// Outputs of a loop whose rows stay with ranks, and where; and the others.
pub(super) struct Kept {
    pub place: Place,
    pub outputs: Vec<Output>,
    pub others: Vec<Output>,
}

/// What of the results of a loop of `n` indices stays with so many ranks in rows: those that lie as the first one does that can.
///
/// # Safety
/// The objects of the outputs are null or live arrays, in whose memory the outputs lie.
pub(super) unsafe fn kept(n: i64, outputs: &[Output], ranks: usize, share: Share) -> Option<Kept> {
    // SAFETY: by contract.
    let place_of = |output: &Output| unsafe { place_of(n, output, ranks, share) };
    let place = outputs.iter().find_map(place_of)?;
    let (outputs, others) = outputs.iter().partition(|output| place_of(output) == Some(place));
    Some(Kept { place, outputs, others })
}

impl Kept {
    /// The bytes of all rows of what stays, also of those that the loop leaves as they are.
    pub fn bytes(&self) -> i64 {
        self.place.rows * self.outputs.iter().map(|output| output.stride).sum::<i64>()
    }
}

/// Where an output has its rows, if it is all of some rows of a large array.
///
/// # Safety
/// As for [`kept`].
unsafe fn place_of(n: i64, output: &Output, ranks: usize, share: Share) -> Option<Place> {
    let is_rows = output.per == 1 && output.first == 0 && output.end == n && output.pieces == 1;
    if output.object.is_null() || !is_rows || output.bytes != output.stride || output.stride <= 0 {
        return None;
    }
    // SAFETY: live by contract.
    let ((rows, bytes), data) = unsafe { (rows_of(output.object), (*output.object).data) };
    let skipped = (output.base as i64).wrapping_sub(data as i64);
    let is_large = match share {
        Share::Always => rows >= ranks as i64,
        Share::Auto | Share::Never => rows * bytes >= LEAST_BYTES && rows >= LEAST_ROWS * ranks as i64,
    };
    let is_place = bytes == output.stride && skipped % bytes == 0 && is_large;
    is_place.then_some(Place { first: skipped / bytes, rows })
}

/// The bytes of rows beside its own that a rank would need for a loop, in a program of one rank.
///
/// # Safety
/// The objects are live arrays.
pub(super) unsafe fn beside(reads: &[Read]) -> i64 {
    // SAFETY: live by contract.
    let sizes = reads.iter().map(|read| (read, unsafe { rows_of(read.object) }));
    let large = sizes.filter(|(_, (rows, bytes))| rows * bytes >= LEAST_BYTES);
    large.map(|(read, (_, bytes))| (read.high - read.low + 1 - read.factor.abs()).max(0) * bytes).sum()
}

impl World {
    /// The indices of a loop that each rank computes where results stay.
    pub(super) fn indices(&self, n: i64, place: Place) -> Vec<Interval> {
        let of = |rank| own_rows(place.rows, rank, self.count).shifted(-place.first).and(Interval::new(0, n));
        (0..self.count).map(of).collect()
    }

    /// Notes that ranks have their own rows of the results of a loop, and no others.
    ///
    /// # Safety
    /// As for [`kept`].
    pub(super) unsafe fn keep(&self, outputs: &[Output], maker: Maker) {
        // SAFETY: by contract.
        outputs.iter().for_each(|output| unsafe { self.spread(output.object, Some(maker)) });
        fates().entry(maker).or_default().made += outputs.len() as u32;
    }

    /// From now on ranks have their own rows of an array, and no others.
    ///
    /// # Safety
    /// `object` is a live array.
    unsafe fn spread(&self, object: *mut ArrayHeader, maker: Option<Maker>) {
        // SAFETY: live by contract.
        let (n, bytes) = unsafe { rows_of(object) };
        let valid = (0..self.count).map(|rank| RowSet::of(own_rows(n, rank, self.count))).collect();
        table().insert(object as usize, Rows { n, bytes, valid, asked: 0, maker });
        // SAFETY: live by contract.
        unsafe { mark(object, true) };
    }
}

/// `a / by`, rounded down; `by` is positive.
fn quotient_down(a: i64, by: i64) -> i64 {
    a.div_euclid(by)
}

/// `a / by`, rounded up; `by` is positive.
fn quotient_up(a: i64, by: i64) -> i64 {
    a.div_euclid(by).saturating_add(i64::from(a.rem_euclid(by) != 0))
}

impl Read {
    /// The rows that these indices read, as far as there are such.
    fn rows(&self, indices: Interval) -> Interval {
        if indices.is_empty() {
            return Interval::default();
        }
        let ends = [indices.low, indices.high - 1].map(|index| self.factor.saturating_mul(index));
        let low = ends[0].min(ends[1]).saturating_add(self.low);
        let high = ends[0].max(ends[1]).saturating_add(self.high).saturating_add(1);
        Interval::new(low, high)
    }

    /// The indices that read only these of `n` rows.
    fn indices(&self, rows: Interval, n: i64) -> Interval {
        // Beyond the ends there is nothing to be read. Index `i` reads rows of at least `least` and at most `most` if these bound `factor * i`.
        let least = if rows.low == 0 { i64::MIN } else { rows.low.saturating_sub(self.low) };
        let most = if rows.high == n { i64::MAX } else { (rows.high - 1).saturating_sub(self.high) };
        let by = self.factor.abs();
        match self.factor {
            0 if least <= 0 && most >= 0 => Interval::new(i64::MIN, i64::MAX),
            0 => Interval::default(),
            1.. => Interval::new(quotient_up(least, by), quotient_down(most, by).saturating_add(1)),
            _ => {
                let negative = |n: i64| n.saturating_neg();
                Interval::new(quotient_up(negative(most), by), quotient_down(negative(least), by).saturating_add(1))
            }
        }
    }
}

/// What a loop reads of an array in rows, for each rank: where its indices lead. `None` stands for a rank that reads anything.
fn wanted(rows: &Rows, reads: &[&Read], indices: &[Option<Interval>]) -> Vec<RowSet> {
    let all = Interval::new(0, rows.n);
    let of = |indices: &Option<Interval>| match *indices {
        None => RowSet::of(all),
        Some(indices) => {
            let mut wanted = RowSet::default();
            reads.iter().for_each(|read| wanted.add(read.rows(indices).and(all)));
            wanted
        }
    };
    indices.iter().map(of).collect()
}

/// The indices of `own` that read what a rank has, all in one stretch: the longest one.
fn inner(rows: &Rows, reads: &[&Read], valid: &RowSet, own: Interval) -> Interval {
    let of = |valid: &Interval| reads.iter().fold(own, |inner, read| inner.and(read.indices(*valid, rows.n)));
    valid.intervals().iter().map(of).max_by_key(|inner| inner.len()).unwrap_or_default()
}

/// What a loop reads, by arrays: one may bear several names in it, and be read at several distances.
fn by_array(reads: &[Read]) -> Vec<(*mut ArrayHeader, Vec<&Read>)> {
    let mut arrays: Vec<(*mut ArrayHeader, Vec<&Read>)> = Vec::new();
    for read in reads {
        match arrays.iter_mut().find(|(object, _)| *object == read.object) {
            Some((_, reads)) => reads.push(read),
            None => arrays.push((read.object, vec![read])),
        }
    }
    arrays
}

/// Rows on their way to the ranks that need them.
pub(super) struct Fetch {
    pub pending: Pending,
    /// The indices of this rank that need none of them.
    pub inner: Interval,
}

/// The bytes that loops would move.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Moved {
    /// To the rank that gets most, if ranks share the loop.
    pub needed: i64,
    /// To every rank, if each of them computes the whole.
    pub gathered: i64,
}

/// What it takes that every rank has what its indices read.
///
/// # Safety
/// The objects are live arrays.
pub(super) unsafe fn moved(reads: &[Read], indices: &[Option<Interval>]) -> Moved {
    let mut moved = Moved::default();
    for (object, reads) in &by_array(reads) {
        // SAFETY: live by contract.
        if unsafe { is_in_rows(*object) }
            && let Some(rows) = table().get(&(*object as usize))
        {
            moved.needed += most_missing(&rows.valid, &wanted(rows, reads, indices)) * rows.bytes;
            moved.gathered += rows.n * rows.bytes;
        }
    }
    moved
}

impl World {
    /// Begins to send each rank what its indices read.
    ///
    /// # Safety
    /// The objects are live arrays that nobody changes until the rows have come.
    pub(super) unsafe fn fetch(&self, reads: &[Read], indices: &[Option<Interval>]) -> Result<Option<Fetch>, Fault> {
        let mut messages = [Vec::new(), Vec::new()];
        let own = indices[self.rank];
        let mut without_others = own.unwrap_or_default();
        for (object, reads) in &by_array(reads) {
            // SAFETY: live by contract.
            let (in_rows, data) = unsafe { (is_in_rows(*object), (**object).data) };
            let mut table = table();
            let Some(rows) = table.get_mut(&(*object as usize)).filter(|_| in_rows) else { continue };
            let wanted = wanted(rows, reads, indices);
            let both = transfers(rows.n, &rows.valid, &wanted, self.rank);
            for (messages, transfers) in messages.iter_mut().zip(both) {
                messages.extend(transfers.into_iter().map(|transfer| Message {
                    rank: transfer.rank,
                    memory: data.wrapping_offset((transfer.rows.low * rows.bytes) as isize),
                    length: (transfer.rows.len() * rows.bytes) as usize,
                }));
            }
            without_others = inner(rows, reads, &rows.valid[self.rank], without_others);
            for (rank, (valid, wanted)) in rows.valid.iter_mut().zip(&wanted).enumerate() {
                if valid.intervals().len() > MOST_INTERVALS {
                    *valid = RowSet::of(own_rows(rows.n, rank, self.count));
                }
                valid.add_all(wanted);
            }
        }
        let mut inner = without_others;
        let [sent, received] = messages;
        if sent.is_empty() && received.is_empty() {
            return Ok(None);
        }
        if received.is_empty() {
            inner = own.unwrap_or_default();
        }
        // SAFETY: by contract.
        let pending = unsafe { self.mpi.begin(&sent, &received) }.map_err(Fault::new)?;
        Ok(Some(Fetch { pending, inner }))
    }
}

impl World {
    /// Lets rows that are under way move on.
    pub(super) fn poke(&self, pending: &mut Pending) {
        self.mpi.poke(pending);
    }

    /// Waits for rows that are under way.
    pub(super) fn finish(&self, pending: Pending) -> Result<(), Fault> {
        self.mpi.finish(pending).map_err(Fault::new)
    }
}

/// Makes all rows of an array valid on all ranks, on which it is an ordinary one from now on: what is at this place of the program wants them.
///
/// # Safety
/// `object` is a live array.
pub(crate) unsafe fn gather(object: *mut ArrayHeader, place: stats::Place) {
    // SAFETY: live by contract.
    if !unsafe { is_in_rows(object) } {
        return;
    }
    let world = ranks_here();
    let mut watch = Watch::start();
    if let Some(Rows { n, bytes, maker, .. }) = table().remove(&(object as usize)) {
        if let Some(maker) = maker {
            fates().entry(maker).or_default().gathered += 1;
        }
        let lengths: Vec<i64> = (0..world.count).map(|rank| own_rows(n, rank, world.count).len() * bytes).collect();
        // SAFETY: live by contract; owners have their rows, and nobody else uses them meanwhile.
        let gathered = unsafe { world.gather_in_place((*object).data, &lengths) };
        gathered.unwrap_or_else(|fault| fault::raise(fault));
        stats::note(&Exchange { place, bytes: n * bytes, seconds_moving: watch.lap(), ..Exchange::of(Kind::Gather) });
    }
    // SAFETY: live by contract.
    unsafe { mark(object, false) };
}

/// The ranks, on the thread that may talk to them: code of a program asks for rows nowhere else.
fn ranks_here() -> &'static World {
    here().unwrap_or_else(|| fault::raise(Fault::here("a thread asks for rows that other ranks have")))
}

/// Makes one element valid: its owner has it. Often enough, and the whole array is gathered.
///
/// # Safety
/// `object` is a live array in rows that has `size` bytes at `offset`.
pub(crate) unsafe fn element(object: *mut ArrayHeader, offset: i64, size: i64) {
    let world = ranks_here();
    let owner = {
        let mut table = table();
        let Some(rows) = table.get_mut(&(object as usize)) else { return };
        rows.asked += 1;
        let costs = world.settings.costs;
        let whole = (rows.n * rows.bytes) as f64 / costs.bandwidth;
        let row = offset / rows.bytes.max(1);
        let is_owner = |rank: &usize| row < own_rows(rows.n, *rank, world.count).high;
        let owner = (0..world.count).find(is_owner).unwrap_or(0);
        (f64::from(rows.asked) * costs.latency < whole).then_some(owner)
    };
    let Some(owner) = owner else {
        // SAFETY: passed on.
        return unsafe { gather(object, stats::Place::NONE) };
    };
    let (offset, size) = (offset as usize, size as usize);
    // SAFETY: the element lies within the array.
    let element = unsafe { std::slice::from_raw_parts_mut((*object).data.add(offset), size) };
    world.broadcast_from(element, owner).unwrap_or_else(|fault| fault::raise(fault));
}

/// Copies the rows that this rank has to a new array, which is in rows as well; `false` if the array is an ordinary one.
///
/// # Safety
/// Live arrays of one shape; nobody else refers to `to`.
pub(crate) unsafe fn copied(from: *mut ArrayHeader, to: *mut ArrayHeader) -> bool {
    // SAFETY: live by contract.
    if !unsafe { is_in_rows(from) } {
        return false;
    }
    let mut table = table();
    let Some(rows) = table.get(&(from as usize)).cloned() else { return false };
    for Interval { low, high } in rows.valid[ranks_here().rank].intervals() {
        let (start, length) = ((low * rows.bytes) as usize, ((high - low) * rows.bytes) as usize);
        // SAFETY: the rows lie within both arrays, which are apart.
        unsafe { std::ptr::copy_nonoverlapping((*from).data.add(start), (*to).data.add(start), length) };
    }
    // SAFETY: by contract.
    unsafe { mark(to, true) };
    table.insert(to as usize, Rows { asked: 0, ..rows });
    true
}

/// An array that is being released is in rows no longer.
pub(crate) fn forget(object: *const ArrayHeader) {
    table().remove(&(object as usize));
}

/// Every rank is about to compute rows `first..end` of `like`, row `i` of which reads rows `factor * i + low` to `factor * i + high` of an array. If `like` is in
/// rows, ranks get what their own ones need, or else the whole.
///
/// # Safety
/// Live arrays; `site` is null or a position that stays.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_rows_near(
    object: *mut ArrayHeader,
    like: *mut ArrayHeader,
    first: i64,
    end: i64,
    factor: i64,
    low: i64,
    high: i64,
    site: *const c_char,
) {
    // SAFETY: live by contract.
    unsafe {
        if !is_in_rows(object) {
            return;
        }
        if !is_in_rows(like) {
            return gather(object, stats::Place::at(site));
        }
        let mut watch = Watch::start();
        let world = ranks_here();
        let n = rows_of(like).0;
        let own = |rank| Some(own_rows(n, rank, world.count).and(Interval::new(first, end)));
        let indices: Vec<Option<Interval>> = (0..world.count).map(own).collect();
        let reads = [Read { object, factor, low, high }];
        let bytes = moved(&reads, &indices).needed;
        let fetch = world.fetch(&reads, &indices);
        let fetched = fetch.and_then(|fetch| fetch.map_or(Ok(()), |fetch| world.finish(fetch.pending)));
        fetched.unwrap_or_else(|fault| fault::raise(fault));
        if bytes > 0 {
            let place = stats::Place::at(site);
            stats::note(&Exchange { place, bytes, seconds_moving: watch.lap(), ..Exchange::of(Kind::Interval) });
        }
    }
}

/// Compiled code is about to read an array as a whole, or to hand it on.
///
/// # Safety
/// `object` is a live array; `site` is null or a position that stays.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_rows_gather(object: *mut ArrayHeader, site: *const c_char) {
    // SAFETY: passed on.
    unsafe { gather(object, stats::Place::at(site)) };
}

/// A new array takes elements of another one at the same places: ranks have those rows of it that they own, if they have the other one in rows.
///
/// # Safety
/// Live arrays of one shape; nobody else refers to `to`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_rows_like(to: *mut ArrayHeader, from: *mut ArrayHeader) {
    // SAFETY: live by contract.
    unsafe {
        if is_in_rows(from) && !is_in_rows(to) {
            ranks_here().spread(to, None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(array: usize, (factor, low, high): (i64, i64, i64)) -> Read {
        Read { object: std::ptr::without_provenance_mut(array), factor, low, high }
    }

    fn rows(n: i64, valid: &[(i64, i64)]) -> Rows {
        let valid = valid.iter().map(|(low, high)| RowSet::of(Interval::new(*low, *high))).collect();
        Rows { n, bytes: 8, valid, asked: 0, maker: None }
    }

    #[test]
    fn an_array_under_two_names_is_one() {
        let reads = [read(64, (1, -1, 1)), read(128, (1, 0, 0)), read(64, (1, 0, 3))];
        let arrays: Vec<_> =
            by_array(&reads).into_iter().map(|(object, reads)| (object as usize, reads.len())).collect();
        assert_eq!(arrays, [(64, 2), (128, 1)]);
    }

    #[test]
    fn ranks_want_what_their_indices_read_within_the_array() {
        let rows = rows(10, &[(0, 5), (5, 10)]);
        // Index 0 is row 1.
        let near = read(64, (1, 0, 2));
        let indices = [Some(Interval::new(0, 4)), Some(Interval::new(4, 8)), Some(Interval::default()), None];
        let of = |reads: &[&Read]| -> Vec<Vec<(i64, i64)>> {
            let wanted = wanted(&rows, reads, &indices);
            wanted.iter().map(|set| set.intervals().iter().map(|rows| (rows.low, rows.high)).collect()).collect()
        };
        assert_eq!(of(&[&near]), [vec![(0, 6)], vec![(4, 10)], vec![], vec![(0, 10)]]);
        // The row at the border.
        assert_eq!(most_missing(&rows.valid, &wanted(&rows, &[&near], &indices[..2])), 1);
        let first = read(64, (0, 0, 0));
        assert_eq!(of(&[&near, &first]), [vec![(0, 6)], vec![(0, 1), (4, 10)], vec![], vec![(0, 10)]]);
        assert_eq!(of(&[&read(64, (-1, 9, 9))]), [vec![(6, 10)], vec![(2, 6)], vec![], vec![(0, 10)]]);
        assert_eq!(of(&[&read(64, (2, -1, 0))]), [vec![(0, 7)], vec![(7, 10)], vec![], vec![(0, 10)]]);
    }

    #[test]
    fn inner_indices_read_what_is_there() {
        for n in [1, 7, 20] {
            for valid in [(0, 0), (0, 7), (3, 9), (12, 20), (0, 20)] {
                let valid = Interval::new(valid.0, valid.1).and(Interval::new(0, n));
                for factor in -3..4 {
                    for (low, high) in [(0, 0), (-1, 1), (5, 8), (19, 19)] {
                        let read = read(64, (factor, low, high));
                        let found = inner(&rows(n, &[]), &[&read], &RowSet::of(valid), Interval::new(0, 30));
                        let is_there = |index: &i64| {
                            let rows = read.rows(Interval::new(*index, index + 1)).and(Interval::new(0, n));
                            rows.is_empty() || rows.low >= valid.low && rows.high <= valid.high
                        };
                        if !valid.is_empty() {
                            assert!(
                                (found.low..found.high).all(|index| is_there(&index)),
                                "{read:?} {valid:?} {found:?}"
                            );
                            // What is beyond the ends counts as there only beside what is.
                            let rest = (0..30).filter(|index| !(found.low..found.high).contains(index));
                            let inside = |index: &i64| {
                                let rows = read.rows(Interval::new(*index, index + 1));
                                rows.low >= valid.low && rows.high <= valid.high
                            };
                            assert!(rest.into_iter().all(|index| !inside(&index)), "{read:?} {valid:?} {found:?}");
                        }
                    }
                }
            }
        }
    }
}
