//! Properties of abstract values: joins, forms and facts, and the arithmetic of index sets.

use crate::Options;
use crate::spec::Spec;
use crate::value::{Kind, LeafShape, Sc, ScKind, ShapeKind};
use crate::withloops::generator::IndexBox;
use ravel_core::ir::Program;
use ravel_source::SourceMap;
use ravel_types::{Affine, Basic, BinOp, Elem, Scalar, Sym};

fn with_spec(run: impl FnOnce(&mut Spec<'_>)) {
    let (program, map) = (Program::default(), SourceMap::default());
    let options = Options::new(&map, &|_| false);
    run(&mut Spec::new(&program, &options));
}

/// An `int` that only the run knows.
fn unknown(spec: &mut Spec<'_>) -> Sc {
    let region = spec.em.region;
    Sc::Val(spec.em.params_for(region, &[(Elem::I32, LeafShape::Scalar)])[0])
}

fn ints(values: &[i32]) -> Vec<Sc> {
    values.iter().map(|v| Sc::int(*v)).collect()
}

fn dense(lower: [i32; 2], upper: [i32; 2]) -> IndexBox {
    IndexBox { lower: ints(&lower), upper: ints(&upper), step: None, width: None }
}

#[test]
fn a_join_lies_above_both_sides() {
    let shapes = [
        ShapeKind::Unknown,
        ShapeKind::Known(vec![None]),
        ShapeKind::Known(vec![Some(Affine::constant(2))]),
        ShapeKind::Known(vec![Some(Affine::sym(Sym(0)))]),
        ShapeKind::Known(vec![None, Some(Affine::constant(2))]),
    ];
    let mut kinds: Vec<Kind> = shapes.into_iter().map(|s| Kind::Arr(Basic::Int, s)).collect();
    let scalars = [ScKind::Any, ScKind::Const(Scalar::I32(2)), ScKind::Form(Affine::sym(Sym(1)))];
    kinds.extend(scalars.iter().map(|k| Kind::Sc(Basic::Int, k.clone())));
    kinds.extend(scalars.iter().map(|k| Kind::Tup(Basic::Int, vec![k.clone(), ScKind::Any])));
    kinds.push(Kind::Bottom);
    for a in &kinds {
        assert_eq!(a.join(a).as_ref(), Some(a));
        for b in &kinds {
            let joined = a.join(b).expect("all are int");
            assert_eq!(Some(&joined), b.join(a).as_ref());
            assert_eq!(Some(&joined), joined.join(a).as_ref(), "{a:?} and {b:?}");
            for c in &kinds {
                let left = joined.join(c);
                let right = b.join(c).and_then(|bc| a.join(&bc));
                assert_eq!(left, right, "{a:?}, {b:?}, {c:?}");
            }
        }
    }
}

#[test]
fn sums_of_unknown_values_stay_comparable() {
    with_spec(|spec| {
        let (n, m) = (unknown(spec), unknown(spec));
        let three = Sc::int(3);
        let more = spec.em.add(&n, &three);
        assert_eq!(spec.em.sub(&more, &three), n);
        let difference = spec.em.sub(&n, &m);
        let back = spec.em.add(&difference, &m);
        assert_eq!(spec.em.bin(BinOp::Eq, Basic::Int, &back, &n), Sc::bool(true));
        assert_eq!(spec.em.bin(BinOp::Ne, Basic::Int, &more, &n), Sc::bool(true));
        assert_eq!(spec.em.bin(BinOp::Le, Basic::Int, &n, &n), Sc::bool(true));
        // `n < n + 3` fails where the sum wraps.
        assert_eq!(spec.em.bin(BinOp::Lt, Basic::Int, &n, &more).as_bool(), None);
    });
}

#[test]
fn a_form_is_computed_once_where_it_can_be_seen() {
    with_spec(|spec| {
        let n = unknown(spec);
        let form = spec.em.form(&n).add(&Affine::constant(7));
        let opened = spec.em.open();
        let inside = spec.em.value(&Sc::Form(form.clone()));
        assert_eq!(spec.em.value(&Sc::Form(form.clone())), inside);
        spec.em.close(opened);
        let outside = spec.em.value(&Sc::Form(form.clone()));
        assert_ne!(outside, inside);
        let mark = spec.em.mark();
        let other = form.add(&Affine::constant(1));
        let dropped = spec.em.value(&Sc::Form(other.clone()));
        spec.em.truncate(mark);
        assert_ne!(spec.em.value(&Sc::Form(other)), dropped);
    });
}

#[test]
fn what_a_check_tells_ends_with_its_region() {
    with_spec(|spec| {
        let n = unknown(spec);
        let extent = Affine::sym(Sym(0));
        let opened = spec.em.open();
        spec.em.set_checked(&n, (0, 9), Some(&extent));
        assert_eq!(spec.em.range(&n), (0, 9));
        assert_eq!(spec.em.index_in_range(&n, &extent), Some(true));
        spec.em.close(opened);
        assert_eq!(spec.em.range(&n).0, i32::MIN as i64);
        assert_eq!(spec.em.index_in_range(&n, &extent), None);
        let mark = spec.em.mark();
        spec.em.set_checked(&n, (0, 9), None);
        spec.em.truncate(mark);
        assert_eq!(spec.em.range(&n).0, i32::MIN as i64);
    });
}

#[test]
fn subtraction_of_boxes_is_exact_and_disjoint() {
    with_spec(|spec| {
        let bounds = [(0, 4), (1, 3), (2, 2), (3, 1), (0, 2), (2, 6), (-1, 5)];
        let a = dense([0, 0], [4, 4]);
        let all = a.indices(64).expect("bounds are constants");
        for (l0, u0) in bounds {
            for (l1, u1) in bounds {
                let b = dense([l0, l1], [u0, u1]);
                let pieces = spec.subtract(vec![a.clone()], &b).expect("dense boxes can be split");
                let mut got: Vec<Vec<i32>> = Vec::new();
                for piece in &pieces {
                    got.extend(piece.indices(64).expect("bounds are constants"));
                }
                got.sort();
                let outside = |i: &&Vec<i32>| !(l0 <= i[0] && i[0] < u0 && l1 <= i[1] && i[1] < u1);
                let want: Vec<Vec<i32>> = all.iter().filter(outside).cloned().collect();
                assert_eq!(got, want, "without [{l0},{l1}] .. [{u0},{u1}]");
            }
        }
    });
}

#[test]
fn strided_sets_are_disjoint_only_if_no_index_is_shared() {
    with_spec(|spec| {
        let set = |lower: i32, step: i32, width: i32| IndexBox {
            lower: ints(&[lower]),
            upper: ints(&[12]),
            step: Some(ints(&[step])),
            width: Some(ints(&[width])),
        };
        let mut sets = Vec::new();
        for lower in 0..4 {
            for step in 1..4 {
                sets.extend((1..=step).map(|width| set(lower, step, width)));
            }
        }
        for a in &sets {
            for b in &sets {
                if spec.disjoint(a, b) {
                    let (x, y) = (a.indices(64), b.indices(64));
                    let (x, y) = (x.expect("constants"), y.expect("constants"));
                    assert!(!x.iter().any(|i| y.contains(i)), "{a:?} and {b:?}");
                }
            }
        }
        assert!(spec.disjoint(&set(0, 2, 1), &set(1, 2, 1)));
        assert!(!spec.disjoint(&set(0, 2, 1), &set(2, 2, 1)));
    });
}
