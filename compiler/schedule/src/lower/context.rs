//! The nest module under construction and what all functions share: externs, strings, constants, globals.

use std::collections::BTreeSet;
use std::fmt::Display;

use cranelift_entity::{EntityRef, SecondaryMap};
use ravel_nest::ir::{self as nest, DataId, ExternId, Param, Reloc, Ty};
use ravel_source::Span;
use ravel_types::{Elem, HashMap, HashSet};
use ravel_wir as wir;

use crate::facts::layout;
use crate::facts::prim_of;
use crate::lower::profile::outer_functions;
use crate::memory::lending::Lending;
use crate::{Capabilities, Options, Remark, Site, Tiles};

/// From where a function is called. What threads call counts references atomically, and borrows what it only reads ([`Lending`]).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Callers {
    /// Sequential code.
    Sequential,
    /// Bodies of parallel loops, and functions that these reach.
    Threads,
}

/// What was decided for a with-loop or one of its partitions, as lines of text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Decision {
    pub func: wir::FuncId,
    pub inst: wir::Inst,
    pub part: Option<usize>,
    pub text: String,
}

/// Shared state of one run.
pub(crate) struct ModuleCx<'a> {
    pub wir: &'a wir::Module,
    pub target: &'a Capabilities,
    pub options: &'a Options<'a>,
    /// What tuning says about tiles.
    pub tiles: &'a dyn Fn(&str) -> Tiles,
    pub nest: nest::Module,
    /// The nest functions of each WIR function, by callers, as far as somebody calls them.
    pub funcs: HashMap<(wir::FuncId, Callers), nest::FuncId>,
    /// Those that have no body yet. Functions that sequential code calls come first.
    pub wanted: BTreeSet<(Callers, wir::FuncId)>,
    pub lending: Lending,
    pub globals: SecondaryMap<wir::GlobalId, Option<nest::GlobalId>>,
    pub remarks: Vec<Remark>,
    /// What was decided, in order, if somebody wants to know.
    pub decisions: Option<Vec<Decision>>,
    /// The function in hand.
    pub func: wir::FuncId,
    /// The with-loop in hand.
    pub with: Option<wir::Inst>,
    /// The partition in hand, if there are several.
    pub part: Option<usize>,
    /// Not zero in scalar loops that only run where the checks before a kernel fail: nothing is said about those.
    pub silent: u32,
    /// Functions whose sites a profile has.
    pub outer: HashSet<wir::FuncId>,
    site_counts: Option<DataId>,
    texts: HashMap<String, DataId>,
    strings: HashMap<String, DataId>,
    constants: HashMap<(Elem, Vec<i64>, Vec<u8>), DataId>,
    vectors: HashMap<Vec<u8>, DataId>,
}

/// The machine type of values of a WIR type.
pub(crate) fn machine_type(ty: &ravel_types::Ty) -> Ty {
    if ty.is_scalar() { Ty::scalar(prim_of(ty.elem)) } else { Ty::PTR }
}

impl<'a> ModuleCx<'a> {
    pub fn new(
        wir: &'a wir::Module,
        target: &'a Capabilities,
        options: &'a Options<'a>,
        tiles: &'a dyn Fn(&str) -> Tiles,
    ) -> ModuleCx<'a> {
        ModuleCx {
            wir,
            target,
            options,
            tiles,
            nest: nest::Module::new(),
            funcs: HashMap::default(),
            wanted: BTreeSet::new(),
            lending: Lending::of(wir),
            globals: SecondaryMap::new(),
            remarks: Vec::new(),
            decisions: None,
            func: wir::FuncId::from_u32(0),
            with: None,
            part: None,
            silent: 0,
            outer: options.profile.map(|_| outer_functions(wir)).unwrap_or_default(),
            site_counts: None,
            texts: HashMap::default(),
            strings: HashMap::default(),
            constants: HashMap::default(),
            vectors: HashMap::default(),
        }
    }

    /// The function that callers of this kind call; it is lowered later if it is new.
    pub fn version(&mut self, id: wir::FuncId, callers: Callers) -> nest::FuncId {
        let callers = if self.lending.counts(id) { callers } else { Callers::Sequential };
        if let Some(&version) = self.funcs.get(&(id, callers)) {
            return version;
        }
        let func = &self.wir.funcs[id];
        let params: Vec<Ty> = func.params().iter().map(|v| machine_type(func.ty(*v))).collect();
        let results: Vec<Ty> = func.results().iter().map(|v| machine_type(func.ty(*v))).collect();
        let [sequential, threads] = symbols_of(id, func);
        let name = if callers == Callers::Threads { threads } else { sequential };
        let version = self.nest.declare(name, &params, &results);
        self.funcs.insert((id, callers), version);
        self.wanted.insert((callers, id));
        version
    }

    /// A runtime function.
    pub fn runtime(&mut self, name: &str, params: &[Ty], result: Option<Ty>) -> ExternId {
        let params: Vec<Param> = params.iter().map(|&ty| Param { ty, signed: false }).collect();
        self.nest.extern_func(name, &params, result)
    }

    /// A NUL-terminated text; equal texts are one.
    pub fn text(&mut self, text: &str) -> DataId {
        if let Some(&id) = self.texts.get(text) {
            return id;
        }
        let id = self.nest.c_string(text);
        self.texts.insert(text.to_string(), id);
        id
    }

    /// A static object, shared by equal constants.
    pub fn constant(&mut self, elem: Elem, shape: &[i64], elements: Vec<u8>) -> DataId {
        let key = (elem, shape.to_vec(), elements);
        if let Some(&id) = self.constants.get(&key) {
            return id;
        }
        let count = shape.iter().product();
        let id = self.object(elem, layout::KIND_ARRAY, shape, count, &key.2);
        self.constants.insert(key, id);
        id
    }

    /// A static string object.
    pub fn string(&mut self, text: &str) -> DataId {
        if let Some(&id) = self.strings.get(text) {
            return id;
        }
        let length = text.len() as i64;
        let id = self.object(Elem::Char, layout::KIND_STRING, &[length], length, text.as_bytes());
        self.strings.insert(text.to_string(), id);
        id
    }

    /// A constant with lanes of its own.
    pub fn vector_constant(&mut self, bytes: Vec<u8>) -> DataId {
        if let Some(&id) = self.vectors.get(&bytes) {
            return id;
        }
        let id = self.nest.constant_bytes(bytes.clone(), 64);
        self.vectors.insert(bytes, id);
        id
    }

    /// The `i32` vector 0, 1, 2, ...
    pub fn iota(&mut self, lanes: u8) -> DataId {
        self.vector_constant((0..i32::from(lanes)).flat_map(i32::to_le_bytes).collect())
    }

    fn object(&mut self, elem: Elem, kind: u8, shape: &[i64], count: i64, elements: &[u8]) -> DataId {
        let (bytes, start) = layout::static_object(elem, kind, shape, count, elements);
        let id = self.nest.data.push(nest::Data {
            bytes,
            align: layout::DATA_ALIGN as u32,
            writable: true,
            relocs: Vec::new(),
        });
        let reloc = Reloc { at: layout::OFFSET_DATA as u32, target: id, addend: start as i64 };
        self.nest.data[id].relocs.push(reloc);
        id
    }

    /// The number of a site of the profile.
    pub fn add_site(&mut self, site: Site) -> i64 {
        let Some(mut sites) = self.options.profile.and_then(|sites| sites.lock().ok()) else { return 0 };
        sites.push(site);
        sites.len() as i64 - 1
    }

    /// Where calls of sites are counted.
    pub fn site_counts(&mut self) -> DataId {
        *self.site_counts.get_or_insert_with(|| {
            self.nest.data.push(nest::Data { bytes: Vec::new(), align: 64, writable: true, relocs: Vec::new() })
        })
    }

    /// Gives the table of counts its size; the table and how many there are.
    pub fn finish_counts(&mut self) -> Option<(DataId, i64)> {
        let (table, sites) = (self.site_counts?, self.options.profile?.lock().ok()?.len());
        self.nest.data[table].bytes = vec![0; 8 * sites];
        Some((table, sites as i64))
    }

    /// Notes a decision on a with-loop, or on its partition in hand.
    pub fn decided(&mut self, inst: wir::Inst, what: impl Display) {
        self.decided_before(self.mark(), inst, what);
    }

    /// The same, in front of what was decided since a mark.
    pub fn decided_before(&mut self, mark: usize, inst: wir::Inst, what: impl Display) {
        let Some(decisions) = self.decisions.as_mut().filter(|_| self.silent == 0) else { return };
        let decision = Decision { func: self.func, inst, part: self.part, text: what.to_string() };
        if !decisions.contains(&decision) {
            decisions.insert(mark, decision);
        }
    }

    /// How many decisions there are so far.
    pub fn mark(&self) -> usize {
        self.decisions.as_ref().map_or(0, Vec::len)
    }

    pub fn remark(&mut self, span: Span, text: impl Into<String>) {
        let text = match self.part {
            Some(n) => format!("partition {}: {}", n + 1, text.into()),
            None => text.into(),
        };
        let remark = Remark { span, with: self.with.map(|inst| (self.func, inst)), text };
        // What runs under several conditions is lowered several times.
        if self.silent == 0 && !self.remarks.contains(&remark) {
            self.remarks.push(remark);
        }
    }
}

/// The names in nest of the versions of a function: for sequential callers and for threads.
pub fn symbols_of(id: wir::FuncId, func: &wir::Func) -> [String; 2] {
    let clean: String = func.name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    let name = format!("sac_{clean}_{}", id.index());
    [name.clone(), format!("{name}_threads")]
}
