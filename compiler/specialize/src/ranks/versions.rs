//! Versions of calls for the ranks that arrays usually have, where only the run knows the rank.
//!
//! ```text
//! double[*] steepness(double[*] a) { ... }      q = steepness(a);      with `a` of unknown rank
//! => q = dim(a) == 1 ? steepness(double[.]) : dim(a) == 2 ? steepness(double[.,.]) : ... : steepness(double[*])
//! ```
//!
//! What works on arrays of unknown rank has index vectors and shape vectors in memory, and its with-loops are not folded. Only calls from outside are
//! made in versions: within one, of a rank or of any rank, there are no others, so that code grows by a constant factor. Functions that are written for
//! inlining are elaborated where they are called, unless they name some axes of such an array (`double[n,c,d:s]`).
//! Functions that neither loop nor call what loops stay as they are, as do those without results, and a rank for which the
//! body has an error has no version.

use crate::calls::weak::{Weak, least_axes, weaken};
use crate::spec::Spec;
use crate::value::{Sc, Val};
use crate::walk;
use ravel_core::ir::{Block, DimPat, Expr, ExprKind, Fun, FunBody, FunId, Stmt};
use ravel_source::Span;
use ravel_types::{Basic, BinOp};

/// The ranks that have a version.
const RANKS: [usize; 4] = [1, 2, 3, 4];
/// How far calls are followed to see whether a function loops.
const MAX_DEPTH: usize = 3;
/// Functions looked at to see that.
const MAX_LOOKED_AT: usize = 60;

impl Spec<'_> {
    /// Calls an instance, in versions for usual ranks if arguments have ranks that only the run knows and the function is worth it.
    pub fn call_by_rank(&mut self, id: FunId, families: Vec<Option<Basic>>, args: Vec<Val>, span: Span) -> Vec<Val> {
        let unknown: Vec<usize> = (0..args.len()).filter(|i| self.hides_rank(&args[*i])).collect();
        let fun = self.fun(id);
        let is_active = self.is_active(id);
        if self.in_version && !unknown.is_empty() {
            self.note_version();
        }
        if self.in_version || unknown.is_empty() || is_active || fun.results.is_empty() || !self.loops(fun) {
            return self.call_instance(id, families, args, span);
        }
        self.in_version = true;
        let call = Call { id, families, args, unknown, span };
        let least = call.unknown.iter().map(|i| least_axes(&fun.params[*i].ty.dims)).max().unwrap_or(0);
        let ranks: Vec<usize> =
            RANKS.into_iter().filter(|rank| *rank >= least && self.is_sound(&call, *rank)).collect();
        let results = self.by_rank(&call, &ranks);
        self.in_version = false;
        results
    }

    /// Whether a function that is written for inlining is better called in versions: it names some axes of an array whose rank only the run knows,
    /// as functions do that treat axes unlike (`double[n,c,d:s]`). What treats all elements alike is fast for any rank.
    pub fn wants_rank(&mut self, fun: &Fun, args: &[Val]) -> bool {
        let names_some = |dims: &[DimPat]| {
            let names = dims.iter().any(|dim| matches!(dim, DimPat::Num(_) | DimPat::Any | DimPat::Name(_)));
            names && matches!(weaken(dims), Weak::NonScalar)
        };
        if self.in_version {
            if args.iter().any(|arg| matches!(arg, Val::Arr(..))) {
                self.note_version();
            }
            return false;
        }
        !fun.results.is_empty()
            && fun.params.iter().zip(args).any(|(param, arg)| self.hides_rank(arg) && names_some(&param.ty.dims))
            && self.loops(fun)
    }

    fn hides_rank(&mut self, v: &Val) -> bool {
        matches!(v, Val::Arr(..)) && self.outer_rank(v).is_none()
    }

    fn by_rank(&mut self, call: &Call, ranks: &[usize]) -> Vec<Val> {
        let Some((&rank, rest)) = ranks.split_first() else {
            return self.call_instance(call.id, call.families.clone(), call.args.clone(), call.span);
        };
        let mut test = Sc::bool(true);
        for i in &call.unknown {
            let have = self.rank_of(&call.args[*i]);
            let same = self.em.bin(BinOp::Eq, Basic::Int, &have, &Sc::int(rank as i32));
            test = self.em.and(&test, &same);
        }
        self.branch(&test, |spec| spec.of_rank(call, rank), |spec| spec.by_rank(call, rest))
    }

    fn of_rank(&mut self, call: &Call, rank: usize) -> Vec<Val> {
        let mut args = call.args.clone();
        for i in &call.unknown {
            args[*i] = self.narrow_outer(&args[*i], &vec![None; rank]);
        }
        // What is wrong for this rank alone is no error of the program.
        self.speculative += 1;
        let results = self.call_instance(call.id, call.families.clone(), args, call.span);
        self.speculative -= 1;
        results
    }

    /// Whether a version can be made without a complaint.
    fn is_sound(&mut self, call: &Call, rank: usize) -> bool {
        let reported = (self.diagnostics.len(), self.reported.clone());
        let instances = self.instances.len();
        let opened = self.em.open();
        self.conditional += 1;
        let results = self.of_rank(call, rank);
        self.conditional -= 1;
        self.em.close(opened);
        if self.diagnostics.len() == reported.0 && !results.iter().any(|v| matches!(v, Val::Bottom)) {
            return true;
        }
        self.diagnostics.truncate(reported.0);
        self.reported = reported.1;
        // Instances made here may hold errors that have to be found again.
        self.index.retain(|_, i| *i < instances);
        false
    }

    /// Whether a function has loops or with-loops, or calls one that has.
    fn loops(&self, fun: &Fun) -> bool {
        let mut search = Search { spec: self, looked_at: 0, found: false };
        search.fun(fun, MAX_DEPTH);
        search.found
    }
}

struct Call {
    id: FunId,
    families: Vec<Option<Basic>>,
    args: Vec<Val>,
    /// The arguments whose rank only the run knows.
    unknown: Vec<usize>,
    span: Span,
}

struct Search<'a, 'p> {
    spec: &'a Spec<'p>,
    looked_at: usize,
    found: bool,
}

impl Search<'_, '_> {
    fn fun(&mut self, fun: &Fun, depth: usize) {
        self.looked_at += 1;
        if let FunBody::Sac { block, returns } = &fun.body
            && self.looked_at <= MAX_LOOKED_AT
        {
            self.block(block, depth);
            returns.iter().for_each(|e| self.expr(e, depth));
        }
    }

    fn block(&mut self, block: &Block, depth: usize) {
        for stmt in block {
            match stmt {
                Stmt::Assign { value, .. } => self.expr(value, depth),
                Stmt::If { cond, then, els, .. } => {
                    self.expr(cond, depth);
                    self.block(then, depth);
                    self.block(els, depth);
                }
                Stmt::While { .. } => self.found = true,
            }
        }
    }

    fn expr(&mut self, e: &Expr, depth: usize) {
        if self.found {
            return;
        }
        match &e.kind {
            ExprKind::With(_) => self.found = true,
            ExprKind::Block { block, .. } => self.block(block, depth),
            ExprKind::Call { set, .. } if depth > 0 => {
                let program = self.spec.program;
                for id in &program.sets[set.index()].members {
                    if !self.found {
                        self.fun(&program.funs[id.index()], depth - 1);
                    }
                }
            }
            _ => {}
        }
        walk::children(e, &mut |child| self.expr(child, depth));
    }
}
