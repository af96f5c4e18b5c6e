//! Cache tiles: which folds profit from packed operands, and how their tiles are sized.
//!
//! A partition of scalar cells around one fold is a *contraction* if, for two of its axes, everything that the fold loads
//! varies over at most one of them:
//!
//! ```text
//!    c[b, i, j] = epilogue(fold over k of body(f(b, i, k), g(b, k, j)), b, i, j)
//! ```
//!
//! `f` and `g` stand for any pure expressions; they are the largest parts of the body that do not vary over both axes. Each value of `f` is
//! used once for every `j`, each value of `g` once for every `i`: so they are computed once per block of the
//! fold's index set and packed in the order in which the innermost loop reads them ([`crate::tile::pack`]). What remains of the body runs
//! in the micro-kernel ([`crate::tile::kernel`]), inside of loops over blocks that fit the caches ([`crate::tile::nest`]). The
//! loop nest is that of Goto and van de Geijn, "Anatomy of high-performance matrix multiplication" (2008).
//!
//! Cells are added in the order of the program: between blocks of the fold's index set the accumulators rest in the result. So
//! tiles change no result, and neither does the number of threads.

pub mod collapse;
pub mod kernel;
pub mod nest;
pub mod pack;
pub mod skip;

use ravel_types::Elem;
use ravel_wir::{Generator, Inst, Part, Value, With};

use crate::Result;
use crate::facts::grid::{Grid, Jam};
use crate::facts::sink::{Chunk, Sink};
use crate::facts::support::Refusal;
use crate::lower::Lower;
use crate::lower::emit::Around;
use crate::plan::collapse::Contraction;
use crate::plan::tile::{
    Along, BATCHES, CACHED_BYTES, LEAST_CELLS, LEAST_FOLD, LEAST_REUSE, LEAST_SEARCHED, MOST_SPREAD, REGISTERS_OF_CELL,
    REGISTERS_OF_COPY, REGISTERS_OF_ROW, Side, Split, TASK_BYTES, TASK_ROWS, TilePlan, fold_block,
};

impl Lower<'_, '_> {
    /// Lowers a partition with cache tiles if it is a contraction for which they pay; false if nothing was emitted.
    pub fn try_tiles(
        &mut self,
        inst: Inst,
        with: &With,
        part: &Part,
        sinks: &[Sink],
        chunk: Option<Chunk>,
    ) -> Result<bool> {
        if self.facts.site.without_tiles || with.ordered {
            return Ok(false);
        }
        let Ok(plan) = self.plan_tiles(with, part, sinks, chunk.is_some()) else { return Ok(false) };
        let shared = chunk.is_none() && self.may_run_on_threads(with, part);
        let threads = if shared { ", shared by threads" } else { "" };
        self.cx.remark(self.func.insts[inst].span, format!("{}{threads}", plan.describe()));
        let condition = self.tiles_condition(part, &plan);
        if let Some(condition) = condition {
            self.b.begin_if(condition);
        }
        self.open(part.body);
        self.tile_nest(with, part, sinks, &plan, chunk)?;
        self.close();
        if condition.is_some() {
            self.b.begin_else(&[]);
            self.open(part.body);
            self.facts.site.without_tiles = true;
            self.cx.silent += 1;
            match chunk {
                None => {
                    self.part(inst, with, part, (sinks, Around::NOTHING), Vec::new())?;
                }
                Some(_) => {
                    if !self.try_kernel(inst, with, part, sinks, chunk)? {
                        self.axis(inst, with, part, sinks, 0, Vec::new(), chunk)?;
                    }
                }
            }
            self.facts.site.without_tiles = false;
            self.cx.silent -= 1;
            self.close();
            self.b.end_if(&[]);
        }
        Ok(true)
    }

    /// Decides whether a partition is a contraction with enough reuse, and sizes its tiles.
    pub fn plan_tiles(
        &mut self,
        with: &With,
        part: &Part,
        sinks: &[Sink],
        chunked: bool,
    ) -> std::result::Result<TilePlan, Refusal> {
        self.plan_columns(with, part, sinks, chunked, false)
            .or_else(|refusal| self.plan_columns(with, part, sinks, chunked, true).map_err(|_| refusal))
    }

    /// The same with columns along the last axis, or `collapsed` along several.
    fn plan_columns(
        &mut self,
        with: &With,
        part: &Part,
        sinks: &[Sink],
        chunked: bool,
        collapsed: bool,
    ) -> std::result::Result<TilePlan, Refusal> {
        let func = self.func;
        let refuse = |reason: &str| Err(reason.to_string());
        let Generator::Known { lower, upper, step, .. } = &part.generator else {
            return refuse("the rank is not known");
        };
        let params = &func.regions[part.body].params;
        let Some(last) = params.len().checked_sub(1).filter(|last| *last > 0) else {
            return refuse("there is one axis");
        };
        if step.as_ref().is_some_and(|s| s.iter().any(|v| self.const_i32(*v) != Some(1))) {
            return refuse("the generator has steps");
        }
        if sinks.is_empty()
            || !sinks.iter().all(|s| matches!(s, Sink::Slice { cell: crate::facts::index::Ext::Const(1), .. }))
        {
            return refuse("cells are not scalars");
        }
        let (fold, inner) = self.only_fold(func, part.body)?;
        let mut guards = Vec::new();
        self.supported(part.body, &mut guards)?;
        let result = func.insts[fold].results[0];
        let bytes = self.kernel_width(part.body).max(4);
        let g = &mut Grid::scalar(bytes);
        let elem = self.elem(result);
        if elem == Elem::Bool || !g.packs(elem) {
            return refuse("the accumulator does not fill a lane");
        }
        let Some(home) = sinks.iter().position(|s| matches!(s, Sink::Slice { elem: of, .. } if *of == elem)) else {
            return refuse("no result can hold accumulators");
        };
        let extent = |l: &Value, u: &Value| self.const_i32(*u).zip(self.const_i32(*l)).map(|(u, l)| (u - l).max(0));
        let mut extents: Vec<Option<i64>> = lower.iter().zip(upper).map(|(l, u)| extent(l, u)).collect();
        let flat = self.rows_end_to_end(part, sinks, chunked.then_some(1), None).filter(|_| !collapsed);
        if let Some(flat) = flat {
            extents[last] = extents[flat.rows].and_then(|n| n.checked_mul(flat.length));
        }
        let Generator::Known { lower, upper, .. } = &inner.generator else {
            return refuse("the rank of the fold is not known");
        };
        let trips = lower.iter().zip(upper).try_fold(1i64, |n, (l, u)| n.checked_mul(extent(l, u)?));
        if trips.is_some_and(|n| n < LEAST_FOLD) {
            return refuse("the fold is short");
        }
        let most = self.cx.target.vector_bytes as usize / bytes;
        let fits = |n: Option<i64>, least: i64| n.is_none_or(|n| n >= least);
        if !collapsed && !fits(extents[last], LEAST_REUSE) {
            return refuse("rows are used too rarely");
        }
        let mut best: Option<(i64, usize, Split, Along)> = None;
        let mut refusal = "columns are used too rarely".to_string();
        let outer = usize::from(chunked)..flat.map_or(last, |flat| flat.rows);
        let least_rows = if collapsed { LEAST_SEARCHED } else { LEAST_REUSE };
        for axis in outer.filter(|k| fits(extents[*k], least_rows)) {
            g.set_vec(Some(params[last]), 2, 1);
            g.push_jam(Jam::of(params[axis], 2));
            let fixed: &[Value] = if collapsed { &[params[axis]] } else { &[params[axis], params[last]] };
            let split = self.split_fold(g, inner, fixed, result).and_then(|split| {
                let along = match flat {
                    _ if collapsed => {
                        let (rows, first) = (axis, usize::from(chunked));
                        let contraction =
                            Contraction { part, sinks, fold, inner, split: &split, rows, first, lanes: most };
                        Along::Collapsed(self.collapse(g, &contraction)?)
                    }
                    Some(flat) => Along::Flat(flat),
                    None => Along::Last,
                };
                Ok((split, along))
            });
            g.pop_jam();
            match split {
                Ok((split, along)) => {
                    let extent = extents[axis].unwrap_or(crate::facts::cost::UNKNOWN_EXTENT);
                    if best.as_ref().is_none_or(|(n, ..)| extent > *n) {
                        best = Some((extent, axis, split, along));
                    }
                }
                Err(reason) => refusal = reason,
            }
        }
        let Some((_, axis, split, along)) = best else { return Err(refusal) };
        if let Along::Collapsed(collapsed) = &along {
            extents[last] = collapsed.axes.iter().try_fold(1i64, |n, k| n.checked_mul(extents[*k]?));
            if !fits(extents[last], LEAST_REUSE) {
                return refuse("rows are used too rarely");
            }
        }
        let known = [extents[axis], extents[last], trips].into_iter().try_fold(1i64, |n, e| n.checked_mul(e?));
        if known.is_some_and(|n| n < LEAST_CELLS) {
            return refuse("the operands fit the caches");
        }
        g.set_vec(Some(params[last]), 2, 1);
        let gathers = collapsed || !self.loads_are_unit(g, inner, |dep| dep.vec);
        let least_columns = if gathers { 0 } else { CACHED_BYTES / (split.columns.len() * bytes) as i64 };
        let known = extents[last].and_then(|n| n.checked_mul(trips?));
        if known.is_some_and(|n| n < least_columns) {
            return refuse("the operands fit the caches");
        }
        let is_batch = axis > 0 && !matches!(&along, Along::Collapsed(collapsed) if collapsed.axes[0] == 0);
        if is_batch && !chunked && extents[0].is_some_and(|n| n >= BATCHES) && self.may_run_on_threads(with, part) {
            return refuse("whole products are shared among threads");
        }
        let lanes = std::iter::successors(Some(most), |n| Some(n / 2)).take_while(|n| *n * bytes >= 16);
        let Some(lanes) = lanes.into_iter().find(|n| fits(extents[last], *n as i64)) else {
            return refuse("the target has no vectors");
        };
        let takes_factor =
            split.operations == 1 && self.cx.target.fma_takes_factor && self.only_product(func, fold, inner);
        let spare = match split.operations {
            1 if takes_factor => REGISTERS_OF_COPY,
            0 | 1 => REGISTERS_OF_ROW,
            _ => REGISTERS_OF_CELL,
        };
        // Instructions are what such a tile waits for.
        let spread = if takes_factor && lanes <= MOST_SPREAD { lanes as u8 } else { 1 };
        let (u, j) = self.size_tile((lanes, bytes), extents[axis], extents[last], spare);
        let rows = Side::new(axis, params[axis], j, &split.rows, spread);
        let columns = Side::new(last, params[last], u * lanes, &split.columns, 1);
        let block = fold_block(&rows, &columns, bytes);
        let across = (TASK_BYTES / (block * (columns.stride * bytes) as i64)).max(1);
        let packs_in_tasks = extents[axis].is_some_and(|n| n <= TASK_ROWS * j as i64);
        let needed = match along {
            Along::Collapsed(_) => Vec::new(),
            _ => self.tile_conditions(part.body, result, &[params[axis], params[last]]),
        };
        let lanes = lanes as u8;
        Ok(TilePlan {
            fold,
            rows,
            columns,
            along,
            lanes,
            u,
            bytes,
            takes_factor,
            block,
            across,
            packs_in_tasks,
            home,
            least_columns,
            guards,
            needed,
        })
    }
}
