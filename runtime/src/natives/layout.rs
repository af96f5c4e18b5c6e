//! The layouts of arrays as text: `print`'s frames of rows and planes, and `show`'s bare rows.

/// Writes an array as `print` does: rows in brackets, axes alternating between running across and running down.
///
/// `element(offset, out)` writes one element, its separating blank included. The shape has at least one axis and no zero extent.
pub fn framed(shape: &[i64], out: &mut Vec<u8>, mut element: impl FnMut(usize, &mut Vec<u8>)) {
    let rank = shape.len();
    let (open, close): (u8, u8) = if rank % 2 == 1 { (b'<', b'>') } else { (b'|', b'|') };
    let row = usize::try_from(shape.last().copied().unwrap_or(0)).unwrap_or(0);
    let mut index = vec![0i64; rank];
    // Rows are visited in the order of the layout, which is not row-major: offsets come from the index.
    loop {
        let offset = index[..rank - 1].iter().chain([&0]).zip(shape).fold(0, |offset, (i, n)| offset * n + i);
        let start = usize::try_from(offset).unwrap_or(0);
        out.push(open);
        for position in start..start + row {
            element(position, out);
        }
        out.extend_from_slice(&[close, b' ']);
        // Axes of the row's own parity run across; when the innermost of them is exhausted the others run down.
        let mut axis = if rank % 2 == 1 { rank as i64 - 2 } else { rank as i64 - 1 };
        let mut separator = b' ';
        let at_end = |axis: i64, index: &[i64]| {
            let axis = axis as usize;
            axis == rank - 1 || index[axis] == shape[axis] - 1
        };
        while axis > 0 && at_end(axis, &index) {
            index[axis as usize] = 0;
            axis -= 2;
            if axis < 0 {
                separator = b'\n';
                axis = 2 * ((rank as i64 - 2) / 2);
            }
            out.push(separator);
        }
        if axis < 0 || at_end(axis, &index) {
            break;
        }
        index[axis as usize] += 1;
    }
    out.push(b'\n');
}

/// Writes an array as bare rows, one per line, with a blank line between planes.
pub fn bare(shape: &[i64], out: &mut Vec<u8>, mut element: impl FnMut(usize, &mut Vec<u8>)) {
    let extents: Vec<usize> = shape.iter().map(|&extent| usize::try_from(extent).unwrap_or(0)).collect();
    let row = extents.last().copied().unwrap_or(1);
    let plane = if extents.len() >= 2 { row * extents[extents.len() - 2] } else { row };
    let count: usize = extents.iter().product();
    for offset in 0..count {
        if offset > 0 && offset % plane == 0 {
            out.push(b'\n');
        }
        element(offset, out);
        if (offset + 1) % row == 0 {
            out.push(b'\n');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn framed_text(shape: &[i64]) -> String {
        let mut out = Vec::new();
        framed(shape, &mut out, |offset, out| out.extend_from_slice(format!("{offset} ").as_bytes()));
        String::from_utf8(out).expect("ASCII")
    }

    #[test]
    fn vectors_are_one_line() {
        assert_eq!(framed_text(&[3]), "<0 1 2 > \n");
    }

    #[test]
    fn matrices_end_with_a_blank_line() {
        assert_eq!(framed_text(&[2, 2]), "|0 1 | \n|2 3 | \n\n");
    }

    #[test]
    fn planes_of_rank_3_share_lines() {
        assert_eq!(framed_text(&[2, 2, 2]), "<0 1 > <2 3 > \n<4 5 > <6 7 > \n\n");
    }

    #[test]
    fn rank_4_alternates() {
        assert_eq!(
            framed_text(&[2, 2, 2, 2]),
            "|0 1 |  |4 5 |  \n|2 3 |  |6 7 |  \n\n|8 9 |  |12 13 |  \n|10 11 |  |14 15 |  \n\n\n"
        );
    }

    #[test]
    fn bare_planes_are_separated() {
        let mut out = Vec::new();
        bare(&[2, 1, 2], &mut out, |offset, out| out.extend_from_slice(format!("{offset} ").as_bytes()));
        assert_eq!(String::from_utf8(out).expect("ASCII"), "0 1 \n\n2 3 \n");
    }
}
