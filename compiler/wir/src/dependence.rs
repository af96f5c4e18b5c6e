//! Does one iteration read what another one writes?
//!
//! Loops ask it to become with-loops, and with-loops to change their arrays where they are. Both write one box of cells, an iteration or an index
//! each, and read elements at some indices: so both ask here, each with its own arithmetic ([`Forms`]).

/// The arithmetic of indices.
pub trait Forms {
    type Form;

    /// Bounds of `a - b` for two indices of one array, or one of them behind its last: equal bounds where the difference is known.
    fn difference(&self, a: &Self::Form, b: &Self::Form) -> Option<(i64, i64)>;
}

/// What iterations write along an axis.
pub struct Written<F> {
    /// The index of the iteration in hand.
    pub own: F,
    /// No iteration writes below it.
    pub lower: Option<F>,
    /// No iteration writes at it, or behind it.
    pub upper: Option<F>,
    /// All iterations write at one index.
    pub is_single: bool,
}

/// How what an iteration reads lies to what iterations write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distance {
    /// If any iteration writes there, it is this one.
    Own,
    /// No iteration writes there.
    Never,
    /// It lies in the iteration's own row along this axis: only iterations of that row may write it.
    Along(usize),
    Unknown,
}

/// Where an index, as far as it is known, lies to what is written.
///
/// Along an axis at whose only index all iterations write, any index will do: there it is the iteration's own, or none writes it.
pub fn distance<F: Forms>(forms: &F, index: &[Option<F::Form>], axes: &[Written<F::Form>]) -> Distance {
    if index.len() != axes.len() {
        return Distance::Unknown;
    }
    let is_own = |k: usize| {
        let own = |form: &F::Form| forms.difference(form, &axes[k].own) == Some((0, 0));
        index[k].as_ref().is_some_and(own)
    };
    let mut others = (0..axes.len()).filter(|k| !axes[*k].is_single && !is_own(*k));
    let (first, second) = (others.next(), others.next());
    let Some(first) = first else { return Distance::Own };
    if is_outside(forms, index, axes) {
        return Distance::Never;
    }
    let in_row = second.is_none() && (0..axes.len()).all(|k| k == first || is_own(k));
    if in_row { Distance::Along(first) } else { Distance::Unknown }
}

/// Does an index provably lie where no iteration writes?
pub fn is_outside<F: Forms>(forms: &F, index: &[Option<F::Form>], axes: &[Written<F::Form>]) -> bool {
    index.iter().zip(axes).any(|(form, axis)| {
        let Some(form) = form else { return false };
        let apart = |bound: &Option<F::Form>| bound.as_ref().and_then(|bound| forms.difference(form, bound));
        apart(&axis.lower).is_some_and(|d| d.1 < 0) || apart(&axis.upper).is_some_and(|d| d.0 >= 0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers, and names with a number, which differ from others by anything.
    struct Named;

    type Form = (char, i64);

    impl Forms for Named {
        type Form = Form;

        fn difference(&self, a: &Form, b: &Form) -> Option<(i64, i64)> {
            (a.0 == b.0).then_some((a.1 - b.1, a.1 - b.1))
        }
    }

    /// Row 3, columns from `l` to `u`, of which the iteration has `j`.
    fn row() -> [Written<Form>; 2] {
        let column = Written { own: ('j', 0), lower: Some(('l', 0)), upper: Some(('u', 0)), is_single: false };
        [Written { own: ('n', 3), lower: Some(('n', 3)), upper: Some(('n', 4)), is_single: true }, column]
    }

    #[test]
    fn indices_are_own_outside_or_in_the_row() {
        let at = |index: [Form; 2]| distance(&Named, &index.map(Some), &row());
        assert_eq!(at([('n', 3), ('j', 0)]), Distance::Own);
        // Another row is the iteration's own element, were it that row.
        assert_eq!(at([('k', 0), ('j', 0)]), Distance::Own);
        assert_eq!(at([('n', 2), ('q', 0)]), Distance::Never);
        assert_eq!(at([('n', 3), ('l', -1)]), Distance::Never);
        assert_eq!(at([('n', 3), ('u', 0)]), Distance::Never);
        assert_eq!(at([('n', 3), ('j', 1)]), Distance::Along(1));
        assert_eq!(at([('k', 0), ('j', 1)]), Distance::Unknown);
        assert_eq!(distance(&Named, &[Some(('n', 3)), None], &row()), Distance::Along(1));
        assert_eq!(distance(&Named, &[Some(('n', 3))], &row()), Distance::Unknown);
    }
}
