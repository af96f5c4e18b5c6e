//! A run on several ranks, simulated: who has which rows, and whether anybody reads rows that it has not.
//!
//! There is one run, and values are stored once. But an array that a with-loop has made is *in rows*: each rank has those that it owns, and others only after it
//! was said that it needs them. While a rank computes a cell, every read of an array is compared with what that rank has. What ranks need comes from
//! [`ravel_wir::rows`], as a certifier uses it, so a run here is a test of that.
//!
//! - A with-loop is shared if it is not ordered and no other one is at work. The owner of row `i` of the result computes the cells of row `i`; indices of
//!   a fold are cut into as many stretches as there are ranks.
//! - Before each partition, ranks get the rows that their own want of arrays that are read by rows alone, and all rows of the others. Of rows that follow a
//!   multiple of the index they get all from the first to the last.
//! - All ranks do everything else. To read there what is in rows gathers it, but for a selection, whose cell the owner sends to all.
//! - The function of a fold combines what all ranks have computed: it may read only what is valid everywhere.

use crate::array::{Arr, Val};
use crate::eval::{Frame, Machine, Run};
use crate::rows::{Rows, own_rows, owner};
use ravel_source::Span;
use ravel_types::HashMap;
use ravel_wir::rows::{Reads, RowFinder, RowReads};
use ravel_wir::{Frame as FrameShape, FuncId, Inst, Op, Value, With, WithOp};
use std::fmt;
use std::ops::Range;
use std::rc::Rc;

/// How many ranks, and what became of them.
#[derive(Debug)]
pub struct Simulation {
    count: usize,
    /// What is declared of what was found out: the same, but in tests.
    declare: fn(RowReads) -> RowReads,
    /// What they would have sent to each other.
    pub moved: Moved,
}

/// What ranks would have sent to each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    /// Rows that a rank got since it needs them to compute its own.
    pub needed: i64,
    /// Rows that a rank got since an array was gathered.
    pub gathered: i64,
    /// Cells that were sent from their owner to all.
    pub broadcast: i64,
}

impl Simulation {
    /// So many ranks, one at least.
    pub fn new(count: u16) -> Simulation {
        Simulation::declaring(count, |reads| reads)
    }

    /// Ranks of which it is declared, rightly or wrongly, which rows they need.
    pub fn declaring(count: u16, declare: fn(RowReads) -> RowReads) -> Simulation {
        Simulation { count: usize::from(count).max(1), declare, moved: Moved::default() }
    }
}

impl fmt::Display for Simulation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Moved { needed, gathered, broadcast } = self.moved;
        write!(
            f,
            "ranks: {} simulated; rows needed from others {needed}, rows gathered {gathered}, cells broadcast {broadcast}",
            self.count
        )
    }
}

/// Who is at work.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AtWork {
    /// All ranks do the same.
    All,
    /// One computes a cell.
    One(usize),
    /// What was computed by several is combined.
    Combining,
}

/// The ranks of a run.
pub struct Ranks<'m> {
    simulation: &'m mut Simulation,
    at_work: AtWork,
    /// What each with-loop reads.
    reads: HashMap<(FuncId, Inst), Rc<LoopReads>>,
}

/// What a with-loop reads.
#[derive(Default)]
struct LoopReads {
    parts: Vec<Reads>,
    /// What the functions of its folds read.
    combining: Vec<Value>,
}

/// How a with-loop is shared.
#[derive(Clone, Copy)]
pub struct Sharing {
    /// Number of rows of its arrays; nothing if it makes none.
    rows: Option<i64>,
}

/// Rows that ranks own, counted from the first one.
#[derive(Clone, Copy)]
pub struct Stretch {
    first: i64,
    rows: i64,
}

impl<'m> Ranks<'m> {
    pub fn new(simulation: &'m mut Simulation) -> Ranks<'m> {
        Ranks { simulation, at_work: AtWork::All, reads: HashMap::default() }
    }

    /// Reads rows of an array, or all of them, by whoever is at work.
    fn read(&mut self, array: &Arr, row: Option<i64>) -> Result<(), String> {
        let (Some(rows), Some(count)) = (&array.rows, array.shape.first()) else { return Ok(()) };
        if row.is_some_and(|row| !(0..*count).contains(&row)) {
            // The selection says so itself.
            return Ok(());
        }
        let wanted = row.map_or(0..*count, |row| row..row + 1);
        let poisoned = |rank: usize| {
            let (row, valid) = rows.missing(rank, wanted.clone())?;
            Some(format!("rank {rank} reads row {row} of an array of which it has rows {valid}"))
        };
        let problem = match self.at_work {
            AtWork::All if row.is_some() => {
                let is_everywhere = (0..self.simulation.count).all(|rank| rows.missing(rank, wanted.clone()).is_none());
                self.simulation.moved.broadcast += i64::from(!is_everywhere);
                None
            }
            AtWork::All => {
                self.simulation.moved.gathered += rows.make_valid_everywhere(&wanted);
                None
            }
            AtWork::One(rank) => poisoned(rank),
            AtWork::Combining => (0..self.simulation.count).find_map(poisoned),
        };
        problem.map_or(Ok(()), Err)
    }

    /// Gives each rank the rows of an array that it needs for its rows of a partition.
    fn need(&mut self, array: &Arr, reads: RowReads, own: Stretch, part: &Range<i64>) {
        let (Some(rows), Some(count)) = (&array.rows, array.shape.first()) else { return };
        for rank in 0..self.simulation.count {
            let mine = own.of(rank, self.simulation.count);
            let (first, end) = (mine.start.max(part.start), mine.end.min(part.end));
            if first < end {
                let (a, b) = (reads.factor * first, reads.factor * (end - 1));
                let wanted = (a.min(b) + reads.low).max(0)..(a.max(b) + reads.high + 1).min(*count);
                self.simulation.moved.needed += rows.make_valid(rank, wanted);
            }
        }
    }
}

impl Stretch {
    fn of(self, rank: usize, ranks: usize) -> Range<i64> {
        let own = own_rows(self.rows, rank, ranks);
        self.first + own.start..self.first + own.end
    }
}

impl<'m> Machine<'m> {
    /// Reads all of a value, if there are ranks.
    pub fn ranks_read(&mut self, frame: &Frame<'m>, val: &Val, span: Span) -> Run<()> {
        match (&mut self.ranks, val) {
            (Some(ranks), Val::Array(array)) => ranks.read(array, None).map_err(|why| frame.internal(span, why)),
            _ => Ok(()),
        }
    }

    /// Reads what an instruction reads, but for with-loops.
    pub fn ranks_look(&mut self, frame: &Frame<'m>, inst: Inst) -> Run<()> {
        let Some(ranks) = &mut self.ranks else { return Ok(()) };
        let data = &frame.func.insts[inst];
        let span = data.span;
        let mut read = |array, row: Option<i64>| match frame.get(array, span)? {
            Val::Array(array) => ranks.read(&array, row).map_err(|why| frame.internal(span, why)),
            _ => Ok(()),
        };
        match &data.op {
            Op::Sel { array, index } => {
                let row = index.first().map(|first| frame.int(*first, span)).transpose()?;
                read(*array, row)
            }
            Op::SelDyn { array, index } => {
                read(*index, None)?;
                let row = frame.vector(*index, span)?.first().copied();
                read(*array, row)
            }
            // They look at shapes, or pass arrays on as they are.
            Op::Extent { .. } | Op::Rank(_) | Op::ShapeVec(_) => Ok(()),
            Op::Select { .. } | Op::Widen(_) | Op::Narrow(_) | Op::Opaque(_) => Ok(()),
            Op::If { .. } | Op::Loop { .. } | Op::Call { .. } | Op::GlobalSet(..) => Ok(()),
            Op::With(_) => Ok(()),
            op => {
                let mut arrays = Vec::new();
                op.for_each_operand(|v| arrays.push(v));
                arrays.retain(|v| !frame.func.ty(*v).is_scalar());
                arrays.into_iter().try_for_each(|array| read(array, None))
            }
        }
    }

    /// Decides whether ranks share a with-loop whose results will have so many rows, and reads its operands.
    pub fn ranks_begin(
        &mut self,
        frame: &Frame<'m>,
        with: &With,
        rows: &[Option<i64>],
        span: Span,
    ) -> Run<Option<Sharing>> {
        let Some(ranks) = &self.ranks else { return Ok(None) };
        let is_equal = rows.iter().all(|count| count.is_some() && *count == rows[0]);
        let is_shared = ranks.at_work == AtWork::All && !with.ordered && is_equal;
        let sharing = is_shared.then(|| Sharing { rows: rows.first().copied().flatten() });
        let mut whole = Vec::new();
        for op in &with.ops {
            match op {
                WithOp::Genarray { frame, default, .. } => {
                    whole.extend(default);
                    whole.extend(if let FrameShape::Dyn(shape) = frame { Some(shape) } else { None });
                }
                WithOp::Fold { neutral, stop, .. } => whole.extend([*neutral].into_iter().chain(*stop)),
                WithOp::Modarray { array } => match sharing.and_then(|sharing| sharing.rows) {
                    // Each rank copies its own.
                    Some(rows) => {
                        let own = RowReads { array: *array, factor: 1, base: None, low: 0, high: 0 };
                        self.ranks_need(frame, own, Stretch { first: 0, rows }, 0..rows, span)?;
                    }
                    None => whole.push(*array),
                },
            }
        }
        with.parts.iter().for_each(|part| part.generator.for_each(&mut |v| whole.push(v)));
        self.ranks_read_all(frame, &whole, span)?;
        Ok(sharing)
    }

    /// Gives ranks what they need for a partition of a loop that they share; the rows of each.
    pub fn ranks_enter(
        &mut self,
        frame: &Frame<'m>,
        inst: Inst,
        part: usize,
        sharing: Sharing,
        (lower, upper): (&[i64], &[i64]),
    ) -> Run<Option<Stretch>> {
        let (Some(ranks), [lower, ..], [upper, ..]) = (&mut self.ranks, lower, upper) else { return Ok(None) };
        let span = frame.func.insts[inst].span;
        let declare = ranks.simulation.declare;
        let reads = ranks.reads.entry((frame.id, inst)).or_insert_with(|| Rc::new(LoopReads::of(frame, inst))).clone();
        self.ranks_read_all(frame, &reads.combining, span)?;
        let own = match sharing.rows {
            Some(rows) => Stretch { first: 0, rows },
            None => Stretch { first: *lower, rows: upper - lower },
        };
        let Some(Reads { rows, whole }) = reads.parts.get(part) else { return Ok(None) };
        self.ranks_read_all(frame, whole, span)?;
        for reads in rows {
            self.ranks_need(frame, declare(*reads), own, *lower..*upper, span)?;
        }
        Ok(Some(own))
    }

    /// From now on the owner of this row is at work.
    pub fn ranks_work(&mut self, frame: &Frame<'m>, own: Stretch, row: i64, span: Span) -> Run<()> {
        let Some(ranks) = &mut self.ranks else { return Ok(()) };
        let Some(rank) = owner(row - own.first, own.rows, ranks.simulation.count) else {
            return Err(frame.internal(span, format!("row {row} has no owner among {} rows", own.rows)));
        };
        ranks.at_work = AtWork::One(rank);
        Ok(())
    }

    /// From now on what ranks have computed is combined.
    pub fn ranks_combine(&mut self) {
        self.ranks.iter_mut().for_each(|ranks| ranks.at_work = AtWork::Combining);
    }

    /// From now on all ranks do the same.
    pub fn ranks_meet(&mut self) {
        self.ranks.iter_mut().for_each(|ranks| ranks.at_work = AtWork::All);
    }

    /// Who has which rows of what a loop has made that ranks share.
    pub fn ranks_own(&self, sharing: Option<Sharing>) -> Option<Box<Rows>> {
        let (ranks, rows) = (self.ranks.as_ref()?, sharing?.rows?);
        Some(Box::new(Rows::owned(rows, ranks.simulation.count)))
    }

    fn ranks_read_all(&mut self, frame: &Frame<'m>, values: &[Value], span: Span) -> Run<()> {
        values.iter().try_for_each(|v| self.ranks_read(frame, &frame.get(*v, span)?, span))
    }

    /// Gives each rank the rows of an array that it needs for its rows of a partition.
    fn ranks_need(
        &mut self,
        frame: &Frame<'m>,
        mut reads: RowReads,
        own: Stretch,
        part: Range<i64>,
        span: Span,
    ) -> Run<()> {
        if let Some(base) = reads.base {
            let base = frame.int(base, span)?;
            (reads.low, reads.high) = (reads.low + base, reads.high + base);
        }
        if let (Some(ranks), Val::Array(array)) = (&mut self.ranks, frame.get(reads.array, span)?) {
            ranks.need(&array, reads, own, &part);
        }
        Ok(())
    }
}

impl LoopReads {
    fn of(frame: &Frame<'_>, inst: Inst) -> LoopReads {
        let finder = RowFinder::new(frame.func);
        let Op::With(with) = &frame.func.insts[inst].op else { return LoopReads::default() };
        let combining = with.ops.iter().filter_map(WithOp::region).flat_map(|region| finder.of_region(region));
        LoopReads {
            parts: with.parts.iter().map(|part| finder.of_part(with, part)).collect(),
            combining: combining.collect(),
        }
    }
}
