//! Tiles of several sizes for one with-loop: all of them while a program is tuned, the fastest one afterwards.
//!
//! ```text
//!    n = ravel_device_variant(key, 5, usual)
//!    if n == 0 { 8 x 8 cells per work-item } else if n == 1 { 8 x 4 } ... else { a work-item per cell }
//!    ravel_device_variant_done()
//! ```
//!
//! The key says what the choice depends on, in words: types, what is staged, extents. It is the same in every program with such a with-loop.

use ravel_nest::ir::{IntCmp, Ty};
use ravel_wir::{Op, Part, With};

use crate::device::tile::DeviceTile;
use crate::facts::{Facts, Refusal, Sink};
use crate::lower::Lower;
use crate::{Result, Tiles};

impl Facts<'_> {
    fn tile_key(&self, part: &Part, plan: &DeviceTile) -> String {
        let func = self.func;
        let extent = |n: &Option<i64>| n.map_or("any".to_string(), |n| n.to_string());
        let extents: Vec<String> = plan.extents.iter().map(extent).collect();
        let count = |part: &Part| self.const_count(part);
        let trips = match &func.insts[plan.fold].op {
            Op::With(fold) => extent(&fold.parts.first().and_then(count)),
            _ => String::new(),
        };
        let types: Vec<String> = func.insts[plan.fold].results.iter().map(|v| func.ty(*v).elem.to_string()).collect();
        let staged: Vec<String> = plan
            .parts
            .staged
            .iter()
            .map(|staged| {
                let side = staged.side.map_or("fold".to_string(), |side| format!("side{side}"));
                format!("{}-{side}{}", func.ty(staged.value).elem, if staged.along_fold { "-rows" } else { "" })
            })
            .collect();
        let cells = extent(&self.const_count(part));
        format!(
            "{} folds over {trips} for {} of {cells} cells, staged {}",
            types.join("+"),
            extents.join("x"),
            staged.join("+")
        )
    }
}

impl Lower<'_, '_> {
    /// What tuning has to say about the tiles of a partition whose usual ones are at hand.
    pub fn tuned_tiles(&mut self, part: &Part, usual: &[DeviceTile]) -> (Tiles, String) {
        // A fold that work-items share is added in another order: results would depend on tuning.
        let Some(plan) = usual.first().filter(|plan| !plan.lone()) else { return (Tiles::Usual, String::new()) };
        let key = self.tile_key(part, plan);
        ((self.cx.tiles)(&key), key)
    }

    /// Every size of tiles that fits, the largest first.
    pub fn every_tile(
        &mut self,
        part: &Part,
        sinks: &[Sink],
        forced: bool,
    ) -> std::result::Result<Vec<DeviceTile>, Refusal> {
        self.plan_device_tiles(part, sinks, forced, true)
    }

    /// Says that tiles were slower when the program was tuned.
    pub fn explain_no_tiles(&mut self) {
        let span = self.cx.with.map_or(ravel_source::Span::NONE, |inst| self.func.insts[inst].span);
        self.cx.remark(span, "no tiles: a work-item per cell was faster when this was tuned");
    }

    /// A launch in tiles of the size that the runtime asks for, or with a work-item per cell.
    pub fn launch_variants(
        &mut self,
        with: &With,
        part: &Part,
        sinks: &[Sink],
        (key, usual): (&str, &DeviceTile),
        plans: &[DeviceTile],
    ) -> Result<()> {
        let copies = |plan: &DeviceTile| plan.sides.iter().map(|side| side.copies).collect::<Vec<_>>();
        let usual = plans.iter().position(|plan| copies(plan) == copies(usual)).unwrap_or(0);
        let key = self.cx.text(key);
        let key = self.b.data_addr(key);
        let (count, usual) = (self.b.i64(plans.len() as i64 + 1), self.b.i64(usual as i64));
        let chosen = self
            .helper("ravel_device_variant", &[key, count, usual], Some(Ty::I64))
            .expect("called with a result type");
        for (n, plan) in plans.iter().enumerate() {
            let n = self.b.i64(n as i64);
            let wanted = self.b.icmp(IntCmp::Eq, chosen, n);
            let wanted = match self.device_tiles_condition(part, plan) {
                Some(holds) => self.b.binary(ravel_nest::ir::BinOp::And, wanted, holds),
                None => wanted,
            };
            let cache = self.emit.cache.clone();
            self.b.begin_if(wanted);
            self.tile_launch(with, part, sinks, plan)?;
            self.emit.cache = cache;
            self.b.begin_else(&[]);
        }
        let cache = self.emit.cache.clone();
        self.launch_cells(with, part, sinks, false)?;
        self.emit.cache = cache;
        for _ in plans {
            self.b.end_if(&[]);
        }
        self.helper("ravel_device_variant_done", &[], None);
        Ok(())
    }
}
