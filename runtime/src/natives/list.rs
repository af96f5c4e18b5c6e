//! Integer lists of the deprecated module List.

use std::sync::Arc;

use super::{Handle, Object, natives};
use crate::abi::ObjectKind;
use crate::array::Array;
use crate::fault::Fault;

/// A list; tails are shared.
#[derive(Clone, Default)]
struct List(Option<Arc<Node>>);

struct Node {
    head: i32,
    tail: List,
}

impl Drop for List {
    /// Drops long lists without recursion.
    fn drop(&mut self) {
        let mut rest = self.0.take();
        while let Some(mut node) = rest.and_then(Arc::into_inner) {
            rest = node.tail.0.take();
        }
    }
}

impl List {
    fn cons(self, head: i32) -> List {
        List(Some(Arc::new(Node { head, tail: self })))
    }

    fn node(&self) -> Result<&Node, Fault> {
        self.0.as_deref().ok_or_else(|| Fault::new("the list is empty"))
    }

    fn drop_first(&self, n: i32) -> List {
        let mut rest = self;
        for _ in 0..n {
            let Some(node) = rest.0.as_deref() else { break };
            rest = &node.tail;
        }
        rest.clone()
    }

    fn to_vec(&self) -> Vec<i32> {
        let mut elements = Vec::new();
        let mut rest = self;
        while let Some(node) = rest.0.as_deref() {
            elements.push(node.head);
            rest = &node.tail;
        }
        elements
    }
}

fn list<'a>(object: Object<'a>) -> Result<&'a List, Fault> {
    match object.0.opaque::<List>() {
        // SAFETY: the value lives as long as the object and is never changed.
        Some(list) => Ok(unsafe { list.as_ref() }),
        None => Err(Fault::new("a native expects a list")),
    }
}

fn new(list: List) -> Result<Handle, Fault> {
    Array::opaque(ObjectKind::Other, list).map(Handle)
}

natives! { LISTS;
    /// The empty list.
    pure fn ravel_list_nil() -> (l: Handle) {
        new(List::default())
    }

    /// A list with one more element in front.
    pure fn ravel_list_cons(x: i32, l: Object<'_>) -> (m: Handle) {
        new(list(l)?.clone().cons(x))
    }

    /// The first element.
    pure fn ravel_list_hd(l: Object<'_>) -> (x: i32) {
        Ok(list(l)?.node()?.head)
    }

    /// All but the first element.
    pure fn ravel_list_tl(l: Object<'_>) -> (m: Handle) {
        new(list(l)?.node()?.tail.clone())
    }

    /// Whether the list has no element.
    pure fn ravel_list_empty(l: Object<'_>) -> (empty: bool) {
        Ok(list(l)?.0.is_none())
    }

    /// Two lists in a row.
    pure fn ravel_list_append(a: Object<'_>, b: Object<'_>) -> (m: Handle) {
        let front = list(a)?.to_vec();
        new(front.into_iter().rev().fold(list(b)?.clone(), List::cons))
    }

    /// Element `n`, counted from 0.
    pure fn ravel_list_nth(n: i32, l: Object<'_>) -> (x: i32) {
        Ok(list(l)?.drop_first(n).node()?.head)
    }

    /// Number of elements.
    pure fn ravel_list_length(l: Object<'_>) -> (n: i32) {
        Ok(i32::try_from(list(l)?.to_vec().len()).unwrap_or(i32::MAX))
    }

    /// All but the first `n` elements.
    pure fn ravel_list_drop(n: i32, l: Object<'_>) -> (m: Handle) {
        new(list(l)?.drop_first(n))
    }

    /// The first `n` elements.
    pure fn ravel_list_take(n: i32, l: Object<'_>) -> (m: Handle) {
        let mut elements = list(l)?.to_vec();
        elements.truncate(usize::try_from(n).unwrap_or(0));
        new(elements.into_iter().rev().fold(List::default(), List::cons))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tails_are_shared_and_long_lists_can_be_dropped() {
        let long = (0..1_000_000).fold(List::default(), List::cons);
        let tail = long.drop_first(999_998);
        assert_eq!(tail.to_vec(), [1, 0]);
        drop(long);
        assert_eq!(tail.node().expect("two elements").head, 1);
        assert!(List::default().node().is_err());
    }
}
