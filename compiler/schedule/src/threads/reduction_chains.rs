//! Folds that go on from each other, as one parallel loop.
//!
//! ```text
//!    a = fold(+, z) over blocks of four            parfor: the chunks of a, and late those of b
//!    b = fold(+, a) over what is left       =>     the totals of a, from which those of b go on
//! ```
//!
//! Such folds need of each other no more than where their totals begin, so their chunks may run side by side. One fold after the other, all threads
//! wait for the last chunk of the first, and the few chunks that a later one often has leave most of them idle. As late chunks
//! they fill the time until the last of the others ends.
//!
//! Leaves alone: folds with more than scalars between them, or that use results of those before in any other way; partial results whose size only the run
//! knows.

use ravel_nest::ir::{BinOp as NestBin, IntCmp, Shared};
use ravel_wir::{Inst, Op, Region};

use crate::Result;
use crate::facts::Val;
use crate::lower::Lower;
use crate::plan::strategy::{Folds, Plan};
use crate::threads::declare::Left;
use crate::threads::fold_chunks::FoldChunks;

const NOT_A_FOLD: &str = "another with-loop among folds on threads";

impl<'m> Lower<'m, '_> {
    /// Lowers folds that are one parallel loop.
    pub fn reduction_chain(&mut self, region: Region, run: &[(usize, Inst)]) -> Result<()> {
        let mut held = Vec::new();
        for ((position, inst), fold) in run.iter().zip(self.run_folds(region, run)?) {
            self.start_inst(*position, *inst);
            self.total_folds(&fold)?;
            self.end_inst_holding(*inst, &mut held);
        }
        for (v, object) in held {
            self.release(v, object);
        }
        Ok(())
    }

    /// The partial results of folds, by one parallel loop, behind the scalars between these; nothing is emitted for a fold alone.
    pub fn run_folds(&mut self, region: Region, run: &[(usize, Inst)]) -> Result<Vec<FoldChunks<'m>>> {
        let func = self.func;
        let &[(start, _), .., (last, _)] = run else { return Ok(Vec::new()) };
        let outer = (self.cx.with.take(), self.cx.part.take());
        let mut all: Vec<FoldChunks<'m>> = Vec::new();
        for (position, &inst) in func.regions[region].insts.iter().enumerate().take(last + 1).skip(start) {
            let data = &func.insts[inst];
            self.start_inst(position, inst);
            if !run.contains(&(position, inst)) {
                self.inst(inst)?;
                self.end_inst(inst);
                continue;
            }
            self.cx.with = Some(inst);
            let Op::With(with) = &data.op else { return self.unsupported(data.span, NOT_A_FOLD) };
            self.facts.set_ranges(with);
            if !all.is_empty() {
                self.cx.remark(data.span, "in the parallel loop of the fold that it goes on from");
            }
            self.preload(with.parts[0].body);
            let choice = self.choose_folds(&Folds::new(inst, with, true));
            self.cx.decided(inst, &choice);
            let Plan::FoldThreads(plan) = choice.plan else { return self.unsupported(data.span, NOT_A_FOLD) };
            all.push(self.begin_folds(inst, &with.parts[0], plan));
        }
        if let [first, later @ ..] = &all[..] {
            let (mut late, mut most) = (self.b.i64(0), first.count);
            for fold in later {
                late = self.b.add(late, fold.count);
                most = self.b.binary(NestBin::SMax, most, fold.count);
            }
            let (n, one) = (self.b.add(first.count, late), self.b.i64(1));
            // Folds of one chunk each are too little work to wake threads for.
            let all_of_them = self.b.binary(NestBin::SMax, n, one);
            let is_little = self.b.icmp(IntCmp::Sle, most, one);
            let together = self.b.select(is_little, all_of_them, one);
            let shared = self.declaration_of_chain(&all);
            let (low, high, _) = self.begin_parfor(n, together, Some(late), shared);
            let (number, _) = self.b.begin_for(low, high, one, &[]);
            self.chunk_of_run(&all, number)?;
            self.b.end_for(&[]);
            self.end_parfor();
        }
        (self.cx.with, self.cx.part) = outer;
        Ok(all)
    }

    /// The declaration of a loop over the chunks of all these folds.
    fn declaration_of_chain(&mut self, all: &[FoldChunks]) -> Option<Box<Shared>> {
        let (mut first, one) = (self.b.i64(0), self.b.i64(1));
        let mut outputs = Some(Vec::new());
        for fold in all {
            let end = self.b.add(first, fold.count);
            let output = self.partials_left(fold, one, (first, end));
            outputs = outputs.zip(output).map(|(outputs, output)| [outputs, vec![output]].concat());
            first = end;
        }
        // Most of the work is that of the first.
        let fold = all.first()?;
        let span = self.func.insts[fold.inst].span;
        let left = Left::Partials(fold.bytes_of_chunk());
        let mut shared = self.declaration(span, (fold.part, fold.cut.axis()), left, outputs)?;
        shared.work = self.b.mul(shared.work, fold.cut.chunk);
        Some(shared)
    }

    /// The chunk with this number among those of some folds.
    fn chunk_of_run(&mut self, all: &[FoldChunks], number: Val) -> Result<()> {
        let [fold, later @ ..] = all else { return Ok(()) };
        if later.is_empty() {
            return self.chunk_of_fold(fold, number);
        }
        let is_its = self.b.icmp(IntCmp::Slt, number, fold.count);
        let cache = self.emit.cache.clone();
        self.b.begin_if(is_its);
        self.chunk_of_fold(fold, number)?;
        self.b.begin_else(&[]);
        self.emit.cache.clone_from(&cache);
        let number = self.b.sub(number, fold.count);
        self.chunk_of_run(later, number)?;
        self.b.end_if(&[]);
        self.emit.cache = cache;
        Ok(())
    }

    fn chunk_of_fold(&mut self, fold: &FoldChunks, number: Val) -> Result<()> {
        let Op::With(with) = &self.func.insts[fold.inst].op else { return Ok(()) };
        self.cx.with = Some(fold.inst);
        self.facts.set_ranges(with);
        let low = self.b.mul(number, fold.cut.chunk);
        let high = self.b.add(low, fold.cut.chunk);
        let high = self.b.binary(NestBin::SMin, high, fold.cut.n);
        let bounds = self.open_chunk(fold.part, &fold.cut, (low, high))?;
        // Partial results that are arrays have constant shapes.
        let like = vec![self.b.null(); fold.folds.len()];
        self.partials_of(fold, &like, number, |lower, starts| lower.cells_of(with, fold, starts, bounds))?;
        self.close();
        Ok(())
    }

    /// The results of folds whose partial results are there.
    pub fn total_folds(&mut self, fold: &FoldChunks) -> Result<()> {
        let outer = (self.cx.with.replace(fold.inst), self.cx.part.take());
        let neutrals = self.take_neutrals(&fold.folds);
        let totals = self.combine_chunks(fold, neutrals)?;
        self.bind_totals(fold.inst, totals);
        (self.cx.with, self.cx.part) = outer;
        Ok(())
    }
}
