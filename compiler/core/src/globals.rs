//! Global objects: found as functions mention them, put in the order in which they must be initialised at the end.

use crate::Core;
use crate::diagnostics as report;
use crate::interface::DefId;
use crate::ir::{Expr, ExprKind, Fun, FunBody, FunId, Global, GlobalId, Program, Set, SetId, Stmt, Target};
use crate::make;
use crate::modules::ModId;
use crate::reach;
use crate::scope::Body;
use crate::types::Place;
use ravel_syntax::ast::{self, Definition};

impl Core<'_> {
    /// The global object of a definition; nothing after an error in its type.
    pub(crate) fn global(&mut self, def: DefId) -> Option<GlobalId> {
        if let Some(known) = self.globals.get(&def) {
            return *known;
        }
        let module = self.def(def).module;
        let (file, index) = self.item(def);
        let Some(Definition::Object(object)) = file.definitions.get(index) else { return None };
        let id = self.type_pat(module, &object.ty, &mut Place::Global).map(|ty| {
            let module = self.module(module).name.to_string();
            let name = object.name.name.to_string();
            self.program.globals.push(Global { name, module, ty, init: None, span: object.name.span });
            GlobalId(self.program.globals.len() as u32 - 1)
        });
        self.globals.insert(def, id);
        if let Some(id) = id {
            self.waiting_objects.push((id, def));
        }
        id
    }

    /// Lowers the initialiser of an object.
    pub(crate) fn object_body(&mut self, id: GlobalId, def: DefId) {
        let module = self.def(def).module;
        let (file, index) = self.item(def);
        let Some(Definition::Object(object)) = file.definitions.get(index) else { return };
        let init = object.init.as_ref().map(|init| self.initializer(id, module, init));
        self.program.globals[id.index()].init = init;
    }

    /// The initialiser; one that needs slots becomes a function.
    fn initializer(&mut self, id: GlobalId, module: ModId, init: &ast::Expr) -> Expr {
        let mut lowering = Body::new(self, module, Vec::new(), Vec::new(), &[]);
        let value = lowering.expr(init);
        let locals = std::mem::take(&mut lowering.locals);
        if locals.is_empty() {
            return value;
        }
        let span = init.span;
        let global = &self.program.globals[id.index()];
        let fun = Fun {
            name: format!("init_{}", global.name),
            module: global.module.clone(),
            inline: false,
            noinline: false,
            associative: false,
            fieldwise: None,
            derived: crate::ir::Derived::default(),
            families: Vec::new(),
            params: Vec::new(),
            results: vec![global.ty.clone()],
            variadic_params: false,
            variadic_results: false,
            conds: Vec::new(),
            locals,
            body: FunBody::Sac { block: Vec::new(), returns: vec![value] },
            span,
        };
        let members = vec![FunId(self.program.funs.len() as u32)];
        self.program.sets.push(Set { name: fun.name.clone(), members, first: 1 });
        let set = SetId(self.program.sets.len() as u32 - 1);
        self.program.funs.push(fun);
        self.head_slots.push(0);
        self.foreign.push(false);
        make::expr(ExprKind::Call { set, args: Vec::new() }, span)
    }

    /// Puts the objects in the order of their initialisation.
    pub(crate) fn order_globals(&mut self) {
        let count = self.program.globals.len();
        let mut needs: Vec<Vec<GlobalId>> = Vec::new();
        for global in &self.program.globals {
            needs.push(global.init.as_ref().map_or(Vec::new(), |init| reach::objects(&self.program, init)));
        }
        let order = self.topological(&needs);
        if order.iter().enumerate().all(|(new, old)| new == *old) {
            return;
        }
        let mut place = vec![GlobalId(0); count];
        for (new, old) in order.iter().enumerate() {
            place[*old] = GlobalId(new as u32);
        }
        let mut globals: Vec<Option<Global>> =
            std::mem::take(&mut self.program.globals).into_iter().map(Some).collect();
        self.program.globals = order.into_iter().filter_map(|old| globals[old].take()).collect();
        renumber(&mut self.program, &place);
    }

    /// Objects after all that they need; cycles are reported.
    fn topological(&mut self, needs: &[Vec<GlobalId>]) -> Vec<usize> {
        #[derive(Clone, Copy, PartialEq)]
        enum State {
            New,
            Open,
            Done,
        }
        let mut state = vec![State::New; needs.len()];
        let mut order = Vec::new();
        for start in 0..needs.len() {
            // Objects on the way, each with how many of its needs have been looked at.
            let mut way = vec![(start, 0)];
            while let Some((at, looked)) = way.pop() {
                if looked == 0 {
                    match state[at] {
                        State::Done => continue,
                        State::Open => {
                            let global = &self.program.globals[at];
                            let diagnostic = report::object_cycle(&global.name, global.span);
                            self.reports.push(diagnostic);
                            continue;
                        }
                        State::New => state[at] = State::Open,
                    }
                }
                match needs[at].get(looked) {
                    Some(need) => way.extend([(at, looked + 1), (need.index(), 0)]),
                    None => {
                        state[at] = State::Done;
                        order.push(at);
                    }
                }
            }
        }
        order
    }
}

/// Gives every object the number that `place` has for its old one.
fn renumber(program: &mut Program, place: &[GlobalId]) {
    let mut target = |target: &mut Target| {
        if let Target::Global(id) = target {
            *id = place[id.index()];
        }
    };
    let mut expr = |expr: &mut Expr| {
        if let ExprKind::Global(id) = &mut expr.kind {
            *id = place[id.index()];
        }
    };
    for global in &mut program.globals {
        global.init.iter_mut().for_each(|init| reach::rewrite(init, &mut expr, &mut target));
    }
    for fun in &mut program.funs {
        fun.conds.iter_mut().for_each(|cond| reach::rewrite(&mut cond.expr, &mut expr, &mut target));
        if let FunBody::Sac { block, returns } = &mut fun.body {
            block.iter_mut().for_each(|stmt: &mut Stmt| reach::rewrite_stmt(stmt, &mut expr, &mut target));
            returns.iter_mut().for_each(|value| reach::rewrite(value, &mut expr, &mut target));
        }
    }
}
