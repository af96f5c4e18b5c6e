//! What callers lend to a call.

use crate::element::{Element, ElementType, extents};
use crate::{Array, Error};
use ravel_driver::repl::host::Given;
use ravel_runtime::array::Array as Object;
use ravel_runtime::loan::Loan;

/// An argument: elements and a shape, a scalar, a text, or an [`Array`].
///
/// ```
/// use ravel::View;
///
/// let pixels = [0u8, 50, 100, 150, 200, 250];
/// let image = View::new(&[2, 3], &pixels)?;         // lent, not copied
/// let row: View = [1.0, 2.0].as_slice().into();     // rank 1
/// let rows: View = [[1, 2], [3, 4]][..].into();     // rank 2
/// let number: View = 3i64.into();
/// let text: View = "sans-serif".into();
/// # Ok::<(), ravel::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct View<'a>(Kind<'a>);

#[derive(Clone, Debug)]
enum Kind<'a> {
    Elements {
        elem: ElementType,
        shape: Vec<i64>,
        bytes: &'a [u8],
    },
    Scalar(ElementType, u64),
    Text(&'a str),
    Array(&'a Array),
    /// A slice that is too long for an axis.
    Impossible(String),
}

/// Elements as bytes.
fn bytes<T: Element>(elements: &[T]) -> &[u8] {
    // SAFETY: elements are numbers without padding.
    unsafe { std::slice::from_raw_parts(elements.as_ptr().cast::<u8>(), size_of_val(elements)) }
}

impl<'a> View<'a> {
    /// Elements in row-major order. The empty shape is that of a scalar.
    ///
    /// # Errors
    /// [`Error::Argument`]: the shape has another number of elements, more than 255 axes, or an extent that is no `int`.
    pub fn new<T: Element>(shape: &[usize], elements: &'a [T]) -> Result<View<'a>, Error> {
        let shape = extents(shape, elements.len()).map_err(Error::Argument)?;
        Ok(match elements {
            [scalar] if shape.is_empty() => scalar_view(*scalar),
            _ => View(Kind::Elements { elem: T::TYPE, shape, bytes: bytes(elements) }),
        })
    }

    /// Elements of type `char`.
    ///
    /// # Errors
    /// As [`View::new`].
    pub fn chars(shape: &[usize], elements: &'a [u8]) -> Result<View<'a>, Error> {
        let mut view = View::new(shape, elements)?;
        if let Kind::Elements { elem, .. } | Kind::Scalar(elem, _) = &mut view.0 {
            *elem = ElementType::Char;
        }
        Ok(view)
    }

    pub(crate) fn of_array(array: &'a Array) -> View<'a> {
        View(Kind::Array(array))
    }

    /// What a session is given. Its owner waits for the session's answer before `'a` ends.
    pub(crate) fn given(&self) -> Result<Given, Error> {
        let made = match &self.0 {
            Kind::Scalar(elem, bits) => Ok(Given::Scalar(elem.tag(), *bits)),
            Kind::Array(array) => Ok(array.given()),
            Kind::Text(text) => Object::string(text.as_bytes()).map(Given::Text),
            Kind::Elements { elem, shape, bytes } => {
                // SAFETY: the bytes are elements of such an array, which nobody changes during `'a`. Loans end when the threads of the call have
                // stopped, before there is an answer.
                unsafe { Loan::new(bytes.as_ptr(), elem.tag(), shape) }.map(Given::Lent)
            }
            Kind::Impossible(why) => return Err(Error::Argument(why.clone())),
        };
        made.map_err(|fault| Error::Argument(fault.message))
    }
}

fn scalar_view<'a, T: Element>(scalar: T) -> View<'a> {
    View(Kind::Scalar(T::TYPE, scalar.bits()))
}

/// A scalar.
impl<T: Element> From<T> for View<'_> {
    fn from(scalar: T) -> Self {
        scalar_view(scalar)
    }
}

/// An array of rank 1.
impl<'a, T: Element> From<&'a [T]> for View<'a> {
    fn from(elements: &'a [T]) -> Self {
        View::new(&[elements.len()], elements).unwrap_or_else(|why| View(Kind::Impossible(why.to_string())))
    }
}

/// An array of rank 1.
impl<'a, T: Element> From<&'a Vec<T>> for View<'a> {
    fn from(elements: &'a Vec<T>) -> Self {
        elements.as_slice().into()
    }
}

/// An array of rank 1.
impl<'a, T: Element, const N: usize> From<&'a [T; N]> for View<'a> {
    fn from(elements: &'a [T; N]) -> Self {
        elements.as_slice().into()
    }
}

/// An array of rank 2.
impl<'a, T: Element, const N: usize> From<&'a [[T; N]]> for View<'a> {
    fn from(rows: &'a [[T; N]]) -> Self {
        let shape = [rows.len(), N];
        View::new(&shape, rows.as_flattened()).unwrap_or_else(|why| View(Kind::Impossible(why.to_string())))
    }
}

/// A string.
impl<'a> From<&'a str> for View<'a> {
    fn from(text: &'a str) -> Self {
        View(Kind::Text(text))
    }
}

impl<'a> From<&'a Array> for View<'a> {
    fn from(array: &'a Array) -> Self {
        array.view()
    }
}
