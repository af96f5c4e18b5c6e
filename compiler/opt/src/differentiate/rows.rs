//! Rows of arrays that loops change.
//!
//! Of such an array a reverse loop needs what its iterations have read. With-loops that read one row, or one element, would ask for the array as a whole,
//! once for each iteration. They get what they read as a value of its own, which is kept instead. Folding puts it back where it is not.
//!
//! ```text
//!    loop (%a = ..) { %c = with { part .. [%j] { %x = sel %a, [%k, %j]  .. } } ..  yield .. }
//! => loop (%a = ..) { %r = sel %a, [%k]  %c = with { part .. [%j] { %x = sel %r, [%j]  .. } } ..  yield .. }
//! ```
//!
//! Elements that only sums go through to the result are not needed in reverse: they are left alone.

use crate::differentiate::state::State;
use crate::edit::{Defs, Renames, drop_inst, insert_before};
use crate::facts::{Places, and_constant};
use ravel_types::{BinOp, HashMap, HashSet, Scalar, Ty, UnOp};
use ravel_wir::traverse::walk;
use ravel_wir::{Frame, Generator, Inst, Op, Part, Region, Value, With, WithOp};

/// What a with-loop reads of an array.
struct Row {
    array: Value,
    /// By axis, the one index there; none where all are read.
    fixed: Vec<Option<Value>>,
    /// Whether these indices are in range for certain.
    is_proven: bool,
    reads: Vec<(Region, Inst)>,
}

/// A with-loop, where it stands, and arrays that loops around it change.
struct Site {
    home: Region,
    inst: Inst,
    arrays: Vec<Value>,
}

impl State<'_> {
    /// Lets with-loops in the loops of a region read rows of what these change.
    pub fn take_rows(&mut self, region: Region) {
        let mut sites = Vec::new();
        self.sites(region, &mut Vec::new(), &mut sites);
        if sites.is_empty() {
            return;
        }
        let (defs, places) = (Defs::new(self.func), Places::new(self.func));
        let mut found = Vec::new();
        for site in sites {
            let rows = self.rows_of(&defs, &places, &site);
            found.extend(rows.into_iter().map(|row| (site.home, site.inst, row)));
        }
        if found.is_empty() {
            return;
        }
        let mut renames = Renames::default();
        for (home, inst, row) in &found {
            self.take_row(*home, *inst, row, &mut renames);
        }
        renames.apply(self.func);
        self.defs = Defs::new(self.func);
        self.spread(region);
    }

    fn sites(&self, region: Region, changing: &mut Vec<Value>, found: &mut Vec<Site>) {
        for &inst in &self.func.regions[region].insts {
            match &self.func.insts[inst].op {
                Op::Loop { body, .. } => {
                    let before = changing.len();
                    let is_array = |v: &&Value| self.is_varied(**v) && self.func.ty(**v).rank().is_some_and(|n| n > 0);
                    changing.extend(self.func.regions[*body].params.iter().filter(is_array));
                    self.sites(*body, changing, found);
                    changing.truncate(before);
                }
                Op::With(with) => {
                    if !changing.is_empty() {
                        found.push(Site { home: region, inst, arrays: changing.clone() });
                    }
                    with.parts.iter().for_each(|part| self.sites(part.body, &mut Vec::new(), found));
                }
                op => op.regions().into_iter().for_each(|nested| self.sites(nested, changing, found)),
            }
        }
    }

    fn rows_of(&self, defs: &Defs, places: &Places, site: &Site) -> Vec<Row> {
        let func = &*self.func;
        let Op::With(with) = &func.insts[site.inst].op else { return Vec::new() };
        // What the with-loop makes, in order, and by parameter of an axis with a single index, that index.
        let (mut insts, mut inside) = (Vec::new(), HashSet::default());
        let mut single: HashMap<Value, Value> = HashMap::default();
        for part in &with.parts {
            let params = &func.regions[part.body].params;
            inside.extend(params.iter().copied());
            if let Generator::Known { lower, upper, .. } = &part.generator {
                let ones = params.iter().enumerate().filter(|(k, _)| is_next(self, lower[*k], upper[*k]));
                single.extend(ones.map(|(k, param)| (*param, lower[k])));
            }
            walk(func, part.body, &mut |home, inst| {
                insts.push((home, inst));
                inside.extend(func.insts[inst].results.iter().copied());
                for nested in func.insts[inst].op.regions() {
                    inside.extend(func.regions[nested].params.iter().copied());
                }
            });
        }
        // What more than sums goes on with.
        let mut needed: HashSet<Value> = HashSet::default();
        for (_, inst) in insts.iter().rev() {
            let op = &func.insts[*inst].op;
            let is_sum = matches!(op, Op::Bin(BinOp::Add | BinOp::Sub, ..) | Op::Un(UnOp::Neg, _));
            if !is_sum || func.insts[*inst].results.iter().any(|v| needed.contains(v)) {
                op.for_each_operand(|v| {
                    needed.insert(v);
                });
            }
            for nested in op.regions() {
                needed.extend(func.regions[nested].yields.iter().copied());
            }
        }
        let mut ranges = places.ranges_at(func, defs, site.inst);
        let mut rows: Vec<Row> = Vec::new();
        for (home, inst) in insts {
            let Op::Sel { array, index } = &func.insts[inst].op else { continue };
            let ty = func.ty(*array);
            let is_wanted = site.arrays.contains(array) && ty.rank() == Some(index.len());
            let is_settled = self.settled_by(inst).is_some();
            if !is_wanted || is_settled || !needed.contains(&func.insts[inst].results[0]) {
                continue;
            }
            let fixed_at = |v: &Value| match single.get(v) {
                Some(at) => Some(*at),
                None => (!inside.contains(v) || defs.int(func, *v).is_some()).then_some(*v),
            };
            let fixed: Vec<Option<Value>> = index.iter().map(fixed_at).collect();
            if fixed.iter().all(Option::is_none) {
                continue;
            }
            match rows.iter_mut().find(|row| row.array == *array && row.fixed == fixed) {
                Some(row) => row.reads.push((home, inst)),
                None => {
                    let extents = ty.shape.extents().unwrap_or_default();
                    let is_proven = fixed.iter().zip(extents).all(|(at, extent)| {
                        let Some(at) = at else { return true };
                        let (i, n) = (ranges.form(func, defs, *at), ranges.extent(extent));
                        ranges.lower(&i) >= 0 && ranges.compare(BinOp::Lt, &i, &n) == Some(true)
                    });
                    rows.push(Row { array: *array, fixed, is_proven, reads: vec![(home, inst)] });
                }
            }
        }
        rows
    }

    /// Makes a row in front of a with-loop that reads it.
    fn take_row(&mut self, home: Region, inst: Inst, row: &Row, renames: &mut Renames) {
        self.span = self.func.insts[inst].span;
        let front = self.branch();
        let extents = self.extents(front, row.array, 0);
        let mut fixed = Vec::new();
        for at in &row.fixed {
            fixed.push(match at.map(|v| (v, self.defs.int(self.func, v))) {
                Some((_, Some(k))) => Some(self.int(front, k)),
                Some((v, None)) => Some(v),
                None => None,
            });
        }
        let value = match row.is_proven {
            true => self.row(front, row.array, &fixed, &extents),
            false => {
                let zero = self.int(front, 0);
                let mut cond = None;
                for (at, extent) in fixed.iter().zip(&extents) {
                    let Some(at) = at else { continue };
                    let (above, below) =
                        (self.bin(front, BinOp::Ge, *at, zero), self.bin(front, BinOp::Lt, *at, *extent));
                    let both = self.both(front, Some(above), below);
                    cond = Some(self.both(front, cond, both));
                }
                let (then, els) = (self.branch(), self.branch());
                let taken = self.row(then, row.array, &fixed, &extents);
                self.func.regions[then].yields = vec![taken];
                let ty = self.ty(taken);
                let frame: Vec<Value> =
                    fixed.iter().zip(&extents).filter(|(at, _)| at.is_none()).map(|e| *e.1).collect();
                let zeros = match frame.is_empty() {
                    true => self.constant(els, Scalar::zero(ty.elem).unwrap_or(Scalar::Bool(false))),
                    false => self.zeros(els, frame, ty.clone()),
                };
                self.func.regions[els].yields = vec![zeros];
                match cond {
                    Some(cond) => self.emit(front, Op::If { cond, then, els }, ty),
                    None => taken,
                }
            }
        };
        let insts = std::mem::take(&mut self.func.regions[front].insts);
        insert_before(self.func, home, inst, insts);
        for (region, read) in &row.reads {
            let Op::Sel { index, .. } = &self.func.insts[*read].op else { continue };
            let index: Vec<Value> =
                index.iter().zip(&row.fixed).filter(|(_, at)| at.is_none()).map(|(i, _)| *i).collect();
            match index.is_empty() {
                true => {
                    renames.set(self.func.insts[*read].results[0], value);
                    drop_inst(self.func, *region, *read);
                }
                false => self.func.insts[*read].op = Op::Sel { array: value, index },
            }
        }
    }

    /// An array's elements at the fixed indices.
    fn row(&mut self, at: Region, array: Value, fixed: &[Option<Value>], extents: &[Value]) -> Value {
        let ty = self.ty(array);
        let lead: Vec<Value> = fixed.iter().map_while(|at| *at).collect();
        if fixed[lead.len()..].iter().all(Option::is_none) {
            let ty = ravel_wir::cell_type(&ty, lead.len());
            return self.emit(at, Op::Sel { array, index: lead }, ty);
        }
        let zero = self.int(at, 0);
        self.box_of(at, array, fixed, (&vec![zero; fixed.len()], extents), extents)
    }

    /// An array's elements at the fixed indices, between bounds along other axes and zeros elsewhere.
    pub fn box_of(
        &mut self,
        at: Region,
        array: Value,
        fixed: &[Option<Value>],
        (lower, upper): (&[Value], &[Value]),
        extents: &[Value],
    ) -> Value {
        let ty = self.ty(array);
        let body = self.branch();
        let (mut index, mut axes) = (Vec::new(), Vec::new());
        for (k, fixed) in fixed.iter().enumerate() {
            index.push(match fixed {
                Some(v) => *v,
                None => {
                    axes.push(k);
                    self.func.add_param(body, Ty::scalar(ravel_types::Elem::I32))
                }
            });
        }
        self.settle(body);
        let element = self.emit(body, Op::Sel { array, index }, Ty::scalar(ty.elem));
        self.func.regions[body].yields = vec![element];
        let of = |values: &[Value]| axes.iter().map(|k| values[*k]).collect::<Vec<Value>>();
        let generator = Generator::Known { lower: of(lower), upper: of(upper), step: None, width: None };
        let op = WithOp::Genarray { frame: Frame::Known(of(extents)), cell: Some(Vec::new()), default: None };
        let with = With { parts: vec![Part { generator, body }], ops: vec![op], ordered: false };
        let shape = axes.iter().filter_map(|k| ty.shape.extents()?.get(*k).cloned()).collect();
        self.emit(at, Op::With(with), Ty::new(ty.elem, ravel_types::Shape::Known(shape)))
    }
}

/// Whether an index is one more than another one.
pub fn is_next(state: &State, low: Value, high: Value) -> bool {
    let ((x, c), (y, d)) = (and_constant(state.func, &state.defs, low), and_constant(state.func, &state.defs, high));
    x == y && d.wrapping_sub(c) == 1
}
