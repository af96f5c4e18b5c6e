//! What a fault of the run can say of its place, noted while the place is elaborated: what the arrays there are, which function of the library
//! found it, and where the function around it is called.
//!
//! Nothing of it is code. A place is elaborated once per instance; what its instances have in common is kept. An extent that only the run knows
//! is told by the fault, if a number in its message is that extent: the mark of the number says which slot of the label it fills.

use crate::spec::{Argument, Site, Spec};
use crate::value::{Kind, Sc, ShapeKind};
use ravel_core::ir::FunId;
use ravel_source::Span;
use ravel_types::{Affine, HashMap};
use ravel_wir::{Fault, Value, slots};

/// Arrays that one label names.
const MOST_NAMED: usize = 4;

/// What is known of the places of faults.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// Places in the user's files.
    pub noted: HashMap<Span, Noted>,
    /// Calls of the user's functions in the user's files, in the order in which they were elaborated.
    pub callers: HashMap<FunId, Vec<Span>>,
    /// Functions of the library are elaborated for one call, whose place their code has; other calls that run the same code.
    pub shared: HashMap<Span, Vec<Span>>,
}

/// What is known of one place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Noted {
    /// The arrays that it is about, if they are variables; what its instances have in common.
    pub arrays: Vec<Named>,
    /// The function of the library that the user's code calls there, and its module.
    pub called: Option<FunId>,
}

/// An array that a fault can name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Named {
    /// The variable.
    pub name: String,
    pub elem: &'static str,
    /// Its extents as far as they are known; nothing if the rank is not.
    pub extents: Option<Vec<Extent>>,
}

/// An extent in a label.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Extent {
    Known(i32),
    /// The run may tell it, in this slot.
    Slot(u32),
    Unknown,
}

impl Named {
    /// What both have in common.
    fn join(&mut self, other: &Named) {
        let same = self.extents.as_ref().zip(other.extents.as_ref()).filter(|(a, b)| a.len() == b.len());
        let join = |(a, b): (&Extent, &Extent)| match (a, b) {
            (Extent::Slot(slot), _) | (_, Extent::Slot(slot)) => Extent::Slot(*slot),
            _ if a == b => *a,
            _ => Extent::Unknown,
        };
        self.extents = same.map(|(a, b)| a.iter().zip(b).map(join).collect());
    }
}

impl Noted {
    fn join(&mut self, other: Noted) {
        let is_alike = |(a, b): (&Named, &Named)| a.name == b.name && a.elem == b.elem;
        if self.arrays.len() == other.arrays.len() && self.arrays.iter().zip(&other.arrays).all(is_alike) {
            self.arrays.iter_mut().zip(&other.arrays).for_each(|(own, other)| own.join(other));
        } else {
            self.arrays.clear();
        }
        self.called = self.called.filter(|fun| other.called == Some(*fun));
    }
}

impl Spec<'_> {
    /// Notes a call for the functions that it leads to.
    pub fn note_caller(&mut self, fun: FunId, call: Span) {
        let own = |span: Span| !span.is_none() && !(self.options.is_library)(span.file);
        let head = self.fun(fun).span;
        // The entry calls at the head.
        if !own(call) || !own(head) || call == head {
            return;
        }
        let calls = self.places.callers.entry(fun).or_default();
        if calls.last() != Some(&call) && !calls.contains(&call) {
            calls.push(call);
        }
    }

    /// Notes that the present call runs what a function of the library is for the call at `first`.
    pub fn note_shared(&mut self, fun: FunId, first: Span) {
        let own = |span: Span| !span.is_none() && !(self.options.is_library)(span.file);
        let site = self.user_site();
        if site == first || !own(site) || !own(first) || own(self.fun(fun).span) {
            return;
        }
        let others = self.places.shared.entry(first).or_default();
        if others.last() != Some(&site) && !others.contains(&site) {
            others.push(site);
        }
        let outermost = self.stack.iter().find(|call| call.span == site).map_or(fun, |call| call.fun);
        let called = Some(outermost).filter(|fun| (self.options.is_library)(self.fun(*fun).span.file));
        self.places.noted.entry(site).or_insert(Noted { arrays: Vec::new(), called });
    }

    /// Notes what a fault at the present place can say beside its message. Marks in the message get the slots that their numbers fill.
    pub fn note_place(&mut self, fault: &mut Fault) {
        let site = self.em.span;
        if site.is_none() || (self.options.is_library)(site.file) {
            return;
        }
        let noted = self.place(site, fault);
        match self.places.noted.get_mut(&site) {
            Some(known) if *known == noted => {}
            Some(known) => known.join(noted),
            None => _ = self.places.noted.insert(site, noted),
        }
    }

    fn place(&self, site: Span, fault: &mut Fault) -> Noted {
        let is_there = |call: &Site| call.span == site && self.fun(call.fun).span != site;
        if let Some(depth) = self.stack.iter().rposition(is_there) {
            let call = &self.stack[depth];
            let fun = self.fun(call.fun);
            let is_library = (self.options.is_library)(fun.span.file);
            // Nobody has written the names of what brackets and operators stand for.
            let is_named = !["sel", "modarray"].contains(&fun.name.as_str())
                && fun.name.starts_with(|c: char| c.is_alphabetic() || c == '_');
            return Noted {
                arrays: self.passed(depth, call, fault),
                called: (is_library && is_named).then_some(call.fun),
            };
        }
        let arrays = match &self.built {
            // What is wrong with arguments is said at the head.
            Some(built) if self.fun(built.fun()).span == site => {
                let fun = self.fun(built.fun());
                let names = fun.params.iter().map(|param| &fun.locals[param.local.index()].name);
                self.named(names.cloned().zip(built.args()).collect(), None, Some(fault))
            }
            _ => Vec::new(),
        };
        Noted { arrays, called: None }
    }

    /// The arrays among the arguments of a call that the user has names for.
    fn passed(&self, depth: usize, call: &Site, fault: &mut Fault) -> Vec<Named> {
        let Some(args) = &call.args else { return Vec::new() };
        let indexed = match self.fun(call.fun).name.as_str() {
            "sel" => Some(1),
            "modarray" => Some(0),
            _ => None,
        };
        // The function under construction knows of its parameters what holds for all who call it.
        let own = self.built.as_ref().filter(|built| depth == self.outside && built.fun() == call.fun);
        let is_meant = |k: usize| indexed.is_none_or(|indexed| k == indexed);
        let mut meant = Vec::new();
        for (k, arg) in args.iter().enumerate().filter(|(k, arg)| is_meant(*k) && self.is_variable(arg)) {
            let name = self.options.map.snippet(arg.span).to_string();
            meant.push((name, own.and_then(|built| built.args().get(k)).unwrap_or(&arg.kind)));
        }
        // Outside of the function under construction there are other symbols.
        let fault = if depth < self.outside { None } else { Some(fault) };
        self.named(meant, indexed, fault)
    }

    /// The arrays among values that have names. The message of the fault gets the slots that its numbers fill.
    fn named(&self, values: Vec<(String, &Kind)>, indexed: Option<usize>, fault: Option<&mut Fault>) -> Vec<Named> {
        let numbers = fault.as_deref().map_or(Vec::new(), |fault| self.numbers(fault));
        let mut filled = vec![Vec::new(); numbers.len()];
        let mut arrays = Vec::new();
        for (name, kind) in values {
            let number = arrays.len();
            if number == MOST_NAMED {
                break;
            }
            let slot = |axis| match indexed {
                Some(_) => slots::indexed(axis),
                None => slots::measured(number, axis),
            };
            let (elem, extents) = match kind {
                Kind::Tup(basic, parts) => {
                    let extent = i32::try_from(parts.len()).map_or(Extent::Unknown, Extent::Known);
                    (basic, Some(vec![extent]))
                }
                Kind::Arr(basic, ShapeKind::Unknown) => (basic, None),
                Kind::Arr(basic, ShapeKind::Known(forms)) if !forms.is_empty() => {
                    let extent = |(axis, form): (usize, &Option<Affine>)| {
                        if let Some(extent) = form.as_ref().and_then(Affine::as_const) {
                            return Extent::Known(extent);
                        }
                        let Some(slot) = slot(axis) else { return Extent::Unknown };
                        for (number, filled) in numbers.iter().zip(&mut filled) {
                            if form.is_some() && number == form {
                                filled.push(slot);
                            }
                        }
                        Extent::Slot(slot)
                    };
                    (basic, Some(forms.iter().enumerate().map(extent).collect()))
                }
                _ => continue,
            };
            arrays.push(Named { name, elem: elem.name(), extents });
        }
        if let Some(fault) = fault {
            mark(fault, &filled);
        }
        arrays
    }

    /// Is an argument the name of a variable?
    fn is_variable(&self, arg: &Argument) -> bool {
        let name = self.options.map.snippet(arg.span);
        name.starts_with(|c: char| c.is_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_alphanumeric() || c == '_')
    }

    /// What the numbers in a message are, one for each of its marks; nothing if it has other marks than those of whole numbers.
    fn numbers(&self, fault: &Fault) -> Vec<Option<Affine>> {
        match fault {
            Fault::Message { text, operands } if plain_marks(text) == Some(operands.len()) => {
                operands.iter().map(|v: &Value| self.em.known_form(&Sc::Val(*v))).collect()
            }
            _ => Vec::new(),
        }
    }
}

/// The number of marks in a message, if all of them are those of whole numbers.
fn plain_marks(text: &str) -> Option<usize> {
    let marks = text.matches("{}").count();
    (text.matches('{').count() == marks).then_some(marks)
}

/// Writes slots into the marks of a message whose marks are plain.
fn mark(fault: &mut Fault, filled: &[Vec<u32>]) {
    let Fault::Message { text, .. } = fault else { return };
    if filled.iter().all(Vec::is_empty) {
        return;
    }
    let mut parts = text.split("{}");
    let mut marked = parts.next().unwrap_or_default().to_string();
    for (part, slots) in parts.zip(filled) {
        let slots: Vec<String> = slots.iter().map(u32::to_string).collect();
        let mark = if slots.is_empty() { "{}".to_string() } else { format!("{{:{}}}", slots.join(",")) };
        marked.push_str(&mark);
        marked.push_str(part);
    }
    *text = marked.into();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn array(extents: &[Extent]) -> Named {
        Named { name: "a".to_string(), elem: "double", extents: Some(extents.to_vec()) }
    }

    fn noted(arrays: &[Named]) -> Noted {
        Noted { arrays: arrays.to_vec(), called: None }
    }

    #[test]
    fn what_instances_have_in_common_is_kept() {
        let mut known = noted(&[array(&[Extent::Known(3), Extent::Known(4), Extent::Slot(2)])]);
        known.join(noted(&[array(&[Extent::Known(3), Extent::Known(5), Extent::Known(7)])]));
        assert_eq!(known, noted(&[array(&[Extent::Known(3), Extent::Unknown, Extent::Slot(2)])]));
        known.join(noted(&[array(&[Extent::Known(3)])]));
        assert_eq!(known.arrays[0].extents, None);
        known.join(noted(&[]));
        assert_eq!(known, noted(&[]));
    }

    #[test]
    fn marks_say_what_their_numbers_fill() {
        let message = |text: &str| Fault::Message { text: text.into(), operands: Vec::new() };
        let mut fault = message("axis 0 has {} and {}, {}");
        mark(&mut fault, &[vec![64], vec![], vec![80, 81]]);
        assert!(matches!(fault, Fault::Message { text, .. } if &*text == "axis 0 has {:64} and {}, {:80,81}"));
        assert_eq!((plain_marks("a {} {}"), plain_marks("a {} {[3]}"), plain_marks("`{x}`")), (Some(2), None, None));
    }
}
