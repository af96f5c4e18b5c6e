//! Rows and columns that a with-loop makes to be put into an array are made there.
//!
//! ```text
//!    %r, %s = with { [j] -> c * a[p,j] - d * a[q,j], d * a[p,j] + c * a[q,j] }   %b = update %a, [p], %r   %e = update %b, [q], %s
//! => both rows of %a change where they are
//! ```
//!
//! Rotations of rows, or of columns, which updates with partitions of a single column put back; exchanges, eliminations of one row. The bodies may read the array at their own place in any row: what a row is replaced by there
//! is computed of the old elements, all of which are loaded before the first one is stored. Where two rows are one, the later update wins, as it
//! does without. Parts of rows begin and end where the with-loop does.
//!
//! Nothing between the with-loop and the updates may use the array, or check anything: an index might be out of range. The array must die
//! in the first update, and the updates must follow in the order of the results.

use ravel_wir::{Inst, With};

use crate::Result;
use crate::facts::{Ext, Reused, Sink, Val};
use crate::lower::Lower;
use crate::lower::emit::Around;
use crate::plan::rows_in_place::Rows;

impl Lower<'_, '_> {
    /// A with-loop together with the updates that use its results.
    pub fn rows_in_place(&mut self, inst: Inst, with: &With, rows: &Rows) -> Result<()> {
        self.cx.remark(self.func.insts[inst].span, "in the rows that it replaces");
        let object = self.take_to_update(rows.array);
        let before = self.replace(rows.array, object);
        let data = self.target_of(object);
        let mut sinks = Vec::new();
        for (_, index) in &rows.updates {
            let offset = self.element_offset(rows.array, index);
            let address = self.address(data, &offset);
            let data = self.pointer(address);
            let extents = self.extents(rows.array);
            let strides = self.strides_of(&extents, Ext::Const(1));
            let strides = rows.along.iter().map(|axis| strides[*axis]).collect();
            let reused = Some(Reused { of: rows.array, operand: object, object });
            sinks.push(Sink::Slice {
                elem: self.elem(rows.array),
                data,
                object: None,
                strides,
                cell: Ext::Const(1),
                reused,
            });
        }
        self.partition(inst, with, &with.parts[0], (&sinks, Around::NOTHING), Vec::new())?;
        self.replace(rows.array, before);
        let last = rows.updates.len() - 1;
        for (k, (update, _)) in rows.updates.iter().enumerate() {
            self.facts.made_updates.insert(*update, (k == last).then_some(object));
        }
        Ok(())
    }

    /// The object that an update makes, if it was made already: nothing for one that another update follows.
    pub fn made_update(&mut self, update: Inst) -> Option<Option<Val>> {
        self.facts.made_updates.remove(&update)
    }
}
