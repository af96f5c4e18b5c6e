/// Elements in row-major order, and a shape of known rank.
#[derive(Clone, Copy, Debug)]
pub struct View<'a, T, const RANK: usize> {
    elements: &'a [T],
    shape: [i64; RANK],
}

/// Elements in row-major order, and a shape of any rank.
#[derive(Clone, Debug)]
pub struct AnyView<'a, T> {
    elements: &'a [T],
    shape: Vec<i64>,
}

/// Why a call gives nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// Is it a run-time error of the SaC code? Otherwise the call was wrong.
    pub is_fault: bool,
    /// What happened, and for a run-time error where.
    pub message: String,
}

/// An array that SaC has made. Nobody changes it.
pub struct Array<T> {
    object: ::std::ptr::NonNull<::std::ffi::c_void>,
    elements: ::std::marker::PhantomData<T>,
}

// SAFETY: nobody changes an array, and its count is atomic.
unsafe impl<T: Send + Sync> Send for Array<T> {}
// SAFETY: as above.
unsafe impl<T: Send + Sync> Sync for Array<T> {}

unsafe extern "C" {
    fn ravel_array_borrow(
        data: *const ::std::ffi::c_void,
        element: u32,
        rank: i32,
        shape: *const i64,
        release: Option<unsafe extern "C" fn(*mut ::std::ffi::c_void)>,
        owner: *mut ::std::ffi::c_void,
    ) -> *mut ::std::ffi::c_void;
    fn ravel_array_data(object: *mut ::std::ffi::c_void) -> *mut ::std::ffi::c_void;
    fn ravel_array_shape(object: *const ::std::ffi::c_void) -> *const i64;
    fn ravel_array_rank(object: *const ::std::ffi::c_void) -> i32;
    fn ravel_array_size(object: *const ::std::ffi::c_void) -> i64;
    fn ravel_array_release(object: *mut ::std::ffi::c_void);
    fn ravel_last_error() -> *const ::std::ffi::c_char;
}

impl Error {
    fn argument(message: impl Into<String>) -> Error {
        Error { is_fault: false, message: message.into() }
    }

    /// Of a status of the library; there is none for 0.
    fn check(status: i32) -> Result<(), Error> {
        match status {
            0 => Ok(()),
            _ => Err(Error { is_fault: status == 1, message: Error::last() }),
        }
    }

    fn last() -> String {
        // SAFETY: null, or a text that stays until the next failure of this thread.
        let words = unsafe { ravel_last_error().as_ref().map(|words| ::std::ffi::CStr::from_ptr(words)) };
        words.map_or("unknown".to_string(), |words| words.to_string_lossy().into_owned())
    }

    /// The extents as SaC has them, if there are as many elements.
    fn extents(shape: &[usize], elements: usize) -> Result<Vec<i64>, Error> {
        let extents: Option<Vec<i64>> = shape.iter().map(|n| i32::try_from(*n).ok().map(i64::from)).collect();
        let count = match shape.contains(&0) {
            true => Some(0),
            false => shape.iter().try_fold(1usize, |count, n| count.checked_mul(*n)),
        };
        match extents {
            None => Err(Error::argument(format!("{shape:?} has an extent that is no `int`"))),
            Some(_) if count != Some(elements) => {
                Err(Error::argument(format!("an array of shape {shape:?} does not have {elements} elements")))
            }
            Some(extents) => Ok(extents),
        }
    }
}

impl ::std::fmt::Display for Error {
    fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl ::std::error::Error for Error {}

impl<'a, T, const RANK: usize> View<'a, T, RANK> {
    /// Elements of this shape.
    ///
    /// # Errors
    /// There are not as many, or an extent is no `int` of SaC.
    pub fn new(shape: [usize; RANK], elements: &'a [T]) -> Result<Self, Error> {
        let extents = Error::extents(&shape, elements.len())?;
        let shape = <[i64; RANK]>::try_from(extents).map_err(|_| Error::argument("the rank is another one"))?;
        Ok(View { elements, shape })
    }
}

impl<'a, T> AnyView<'a, T> {
    /// Elements of this shape.
    ///
    /// # Errors
    /// As [`View::new`].
    pub fn new(shape: &[usize], elements: &'a [T]) -> Result<Self, Error> {
        Error::extents(shape, elements.len()).map(|shape| AnyView { elements, shape })
    }

    /// An object for the time of a call.
    fn lent(&self, element: u32) -> Result<Array<T>, Error> {
        let rank = i32::try_from(self.shape.len()).map_err(|_| Error::argument("there are too many axes"))?;
        let data = self.elements.as_ptr().cast();
        // SAFETY: the shape fits the elements, which outlive the object.
        Array::taken(unsafe {
            ravel_array_borrow(data, element, rank, self.shape.as_ptr(), None, ::std::ptr::null_mut())
        })
    }
}

impl<'a, T, const RANK: usize> From<View<'a, T, RANK>> for AnyView<'a, T> {
    fn from(view: View<'a, T, RANK>) -> Self {
        AnyView { elements: view.elements, shape: view.shape.to_vec() }
    }
}

impl<T> Array<T> {
    /// Takes over a result of the library, whose elements are of this type.
    fn taken(object: *mut ::std::ffi::c_void) -> Result<Self, Error> {
        match ::std::ptr::NonNull::new(object) {
            Some(object) => Ok(Array { object, elements: ::std::marker::PhantomData }),
            None => Err(Error::argument(Error::last())),
        }
    }

    /// Extents, the outermost axis first.
    pub fn shape(&self) -> Vec<usize> {
        let object = self.object.as_ptr();
        // SAFETY: the object is alive, and has as many extents as its rank says.
        let shape = unsafe {
            let rank = usize::try_from(ravel_array_rank(object)).unwrap_or(0);
            if rank == 0 { &[] } else { ::std::slice::from_raw_parts(ravel_array_shape(object), rank) }
        };
        shape.iter().map(|extent| usize::try_from(*extent).unwrap_or(0)).collect()
    }

    /// The elements in row-major order.
    pub fn as_slice(&self) -> &[T] {
        let object = self.object.as_ptr();
        // SAFETY: the object is alive, and nobody changes its elements.
        unsafe {
            match usize::try_from(ravel_array_size(object)) {
                Ok(count) if count > 0 => ::std::slice::from_raw_parts(ravel_array_data(object).cast(), count),
                _ => &[],
            }
        }
    }

    /// The array as an argument, if it has this rank.
    pub fn view<const RANK: usize>(&self) -> Option<View<'_, T, RANK>> {
        View::new(<[usize; RANK]>::try_from(self.shape()).ok()?, self.as_slice()).ok()
    }

    /// The array as an argument for functions of any rank.
    pub fn any_view(&self) -> AnyView<'_, T> {
        let extent = |n: usize| i64::try_from(n).unwrap_or(0);
        AnyView { elements: self.as_slice(), shape: self.shape().into_iter().map(extent).collect() }
    }
}

impl<T> Drop for Array<T> {
    fn drop(&mut self) {
        // SAFETY: the reference is this value's own.
        unsafe { ravel_array_release(self.object.as_ptr()) }
    }
}

impl<T: ::std::fmt::Debug> ::std::fmt::Debug for Array<T> {
    fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
        f.debug_struct("Array").field("shape", &self.shape()).field("elements", &self.as_slice()).finish()
    }
}
