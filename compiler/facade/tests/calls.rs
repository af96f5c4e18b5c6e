//! Calls with arrays of every element type and of several ranks, and what is answered where a call is wrong.

use ravel::{Array, Element, ElementType, Error, Module, Severity, View};

fn module(text: &str) -> Module {
    Module::new(text).unwrap_or_else(|error| panic!("{error}"))
}

/// An array goes in as elements, and comes back as it was, from a copy and as itself.
fn comes_back<T: Element + PartialEq + std::fmt::Debug>(sac: &str, elements: &[T]) {
    let text = format!(
        "use Array: all;
         {sac}[*] same({sac}[*] a) {{ return a; }}
         {sac}[.] backwards({sac}[.] a) {{ n = shape(a)[0]; return {{ [i] -> a[n - 1 - i] | [i] < [n] }}; }}
         {sac} first({sac}[.] a) {{ return a[0]; }}
         {sac} scalar({sac} a) {{ return a; }}"
    );
    let m = module(&text);
    let lent: Vec<T> = elements.iter().chain(elements).copied().collect();
    for shape in [vec![lent.len()], vec![2, elements.len()], vec![1, 2, 1, elements.len(), 1]] {
        let view = View::new(&shape, &lent).expect("the shape fits");
        let y = m.call("same", &[view]).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((y.shape(), y.element_type(), y.rank()), (shape.as_slice(), T::TYPE, shape.len()));
        assert_eq!(y.as_slice::<T>(), Some(lent.as_slice()));
        assert_ne!(y.as_slice::<T>().map(<[T]>::as_ptr), Some(lent.as_ptr()), "results do not refer to what was lent");
        let again = m.call("same", &[y.view()]).expect("as before");
        assert_eq!(again, y);
    }
    let y = m.call("backwards", &[elements.into()]).expect("a call");
    let backwards: Vec<T> = elements.iter().rev().copied().collect();
    assert_eq!(y.as_slice::<T>(), Some(backwards.as_slice()));
    assert_eq!(m.call("first", &[elements.into()]).expect("a call").scalar::<T>(), Some(elements[0]));
    for scalar in elements {
        let y = m.call("scalar", &[(*scalar).into()]).expect("a call");
        assert_eq!((y.scalar::<T>(), y.shape()), (Some(*scalar), &[][..]));
        // A scalar is an array of rank 0.
        assert_eq!(m.call("scalar", &[y.view()]).expect("a call"), y);
        let view = View::new(&[], std::slice::from_ref(scalar)).expect("one element");
        assert_eq!(m.call("scalar", &[view]).expect("a call"), y);
    }
    let none = View::new::<T>(&[3, 0, 2], &[]).expect("an axis has no indices");
    let y = m.call("same", &[none]).expect("a call");
    assert_eq!((y.shape(), y.as_slice::<T>()), (&[3, 0, 2][..], Some(&[][..])));
}

#[test]
fn signed_numbers_come_back() {
    comes_back("byte", &[1i8, -128, 127]);
    comes_back("short", &[1i16, i16::MIN, i16::MAX]);
    comes_back("int", &[1i32, i32::MIN, i32::MAX]);
    comes_back("long", &[1i64, i64::MIN, i64::MAX]);
}

#[test]
fn numbers_without_sign_come_back() {
    comes_back("ubyte", &[1u8, 200, 255]);
    comes_back("ushort", &[1u16, 40_000, u16::MAX]);
    comes_back("uint", &[1u32, 3_000_000_000, u32::MAX]);
    comes_back("ulong", &[1u64, 1 << 63, u64::MAX]);
}

#[test]
fn reals_and_truth_values_come_back() {
    comes_back("float", &[1.5f32, -0.0, f32::INFINITY]);
    comes_back("double", &[1.5f64, f64::MIN_POSITIVE, -1e300]);
    comes_back("bool", &[true, false, true]);
}

#[test]
fn texts_go_in_and_out() {
    let m =
        module("use String: all; string twice(string s) { return s + s; } int length(string s) { return strlen(s); }");
    let y = m.call("twice", &["grün".into()]).expect("a call");
    assert_eq!((y.as_str(), y.rank(), y.element_type()), (Some("grüngrün"), 0, ElementType::Char));
    assert_eq!(m.call("length", &[y.view()]).expect("a call").scalar::<i32>(), Some(10));
    assert_eq!(m.call("twice", &["".into()]).expect("a call").as_str(), Some(""));
    let m = module("char second(char[.] c) { return _sel_VxA_([1], c); }");
    let y = m.call("second", &[View::chars(&[3], b"abc").expect("three")]).expect("a call");
    assert_eq!((y.element_type(), y.scalar::<u8>()), (ElementType::Char, Some(b'b')));
}

#[test]
fn several_results_and_none() {
    let m = module(
        "use Array: all; use StdIO: all;
         double, double[n] centered(double[n] v) { m = sum(v) / tod(n); return (m, v - m); }
         void nothing() { return; }",
    );
    let v = [1.0, 2.0, 6.0];
    let results = m.call_all("centered", &[(&v).into()]).expect("a call");
    assert_eq!(results.len(), 2);
    assert_eq!(results[0].scalar::<f64>(), Some(3.0));
    assert_eq!(results[1].as_slice::<f64>(), Some(&[-2.0, -1.0, 3.0][..]));
    let error = m.call("centered", &[(&v).into()]).expect_err("there are two");
    assert!(error.to_string().contains("has 2 results"), "{error}");
}

#[test]
fn what_is_wrong_has_code_message_and_labels() {
    let text = "use Array: all;\nint f(int a)\n{\n    return a + undefined;\n}\n";
    let error = Module::new(text).err().expect("`undefined` is not defined");
    let [report, ..] = error.diagnostics() else { panic!("no report: {error}") };
    assert_eq!((report.severity, error.code()), (Severity::Error, Some(report.code.as_str())));
    assert!(report.message.contains("undefined"), "{report:?}");
    let label = report.labels.first().expect("the place");
    assert!(label.is_primary);
    assert_eq!(label.start.map(|start| (start.line, start.column)), Some((4, 16)));
    let shown = error.to_string();
    assert!(shown.contains(&report.code) && shown.contains("return a + undefined;"), "{shown}");

    let m = module("use Array: all; double[.] half(double[.] a) { return a / 2.0; }");
    let error = m.call("half", &[(&[1, 2, 3]).into()]).expect_err("int where double belongs");
    assert!(matches!(error, Error::Source { .. }), "{error}");
    let error = m.call("other", &[]).expect_err("there is no such function");
    assert!(error.to_string().contains("other"), "{error}");
    assert!(matches!(m.call("half(", &[]), Err(Error::Argument(_))));
    // The module is as it was.
    assert_eq!(m.call("half", &[(&[1.0, 3.0]).into()]).expect("a call").as_slice::<f64>(), Some(&[0.5, 1.5][..]));
}

#[test]
fn shapes_are_checked() {
    let wrong = |made: Result<View, Error>| match made {
        Err(Error::Argument(why)) => why,
        other => panic!("{other:?}"),
    };
    assert!(wrong(View::new(&[2, 3], &[1.0; 5])).contains("needs 6 elements, not 5"));
    assert!(wrong(View::new(&[usize::MAX, 2, 0], &[0u8; 0])).contains("too large"));
    assert!(wrong(View::new(&[1 << 30, 1 << 30, 1 << 30], &[1u8])).contains("more than the machine"));
    assert!(wrong(View::new(&[1; 256], &[1u8])).contains("at most 255 axes"));
    assert!(Array::new(&[2], &[1u8]).is_err());
}

#[test]
fn after_a_fault_the_module_goes_on() {
    let m = module(
        "use Array: all;
         int at(int[.] a, int i) { return a[i]; }
         int[.] added(int[.] a, int[.] b) { return { [i] -> a[i] + b[i] | [i] < shape(a) }; }",
    );
    let large: Vec<i32> = (0..300_000).collect();
    for index in 0..50 {
        let error = m.call("at", &[(&large).into(), (300_000 + index).into()]).expect_err("out of range");
        let fault = error.fault().expect("it ran");
        assert_eq!((fault.code.as_deref(), fault.status), (Some("E0330"), 1));
        assert_eq!((fault.file.as_deref(), fault.line), (Some("<module>"), Some(2)), "{fault:?}");
        assert!(error.to_string().contains("return a[i];"), "{error}");
        assert!(m.call("added", &[(&large).into(), (&large[1..]).into()]).is_err());
        assert_eq!(m.call("at", &[(&large).into(), index.into()]).expect("a call").scalar::<i32>(), Some(index));
    }
}

#[test]
fn objects_may_keep_what_was_lent() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = "class Store;
         classtype int[.];
         use Array: all;
         objdef Store kept = create();
         export all;
         Store create() { return to_Store([0]); }
         void put(Store &s, int[.] a) { s = to_Store(a); }
         int[.] get(Store &s) { a = from_Store(s); s = to_Store(a); return a; }
         void keep(int[.] a) { put(kept, a); }
         int total() { return sum(get(kept)); }
         int keep_and_fail(int[.] a) { put(kept, a); b = get(kept); return b[shape(b)[0]]; }
    ";
    std::fs::write(folder.path().join("Store.sac"), text).expect("it can be written");
    let file = folder.path().join("main.sac");
    let calls = "use Store: all; int sum_of_all() { return total(); }";
    std::fs::write(&file, calls).expect("it can be written");
    let m = match Module::from_file(&file) {
        Ok(m) => m,
        Err(error) => panic!("{error}"),
    };
    let total = || m.call("sum_of_all", &[]).unwrap_or_else(|error| panic!("{error}")).scalar::<i32>();
    assert_eq!(total(), Some(0));
    for scale in 1..20 {
        let mut lent: Vec<i32> = vec![scale; 1000];
        assert_eq!(m.call_all("Store::keep", &[lent.as_slice().into()]).unwrap_or_else(|error| panic!("{error}")), []);
        lent.fill(-1);
        assert_eq!(total(), Some(1000 * scale), "the object has elements of its own");
        lent.fill(2 * scale);
        assert!(m.call("Store::keep_and_fail", &[lent.as_slice().into()]).is_err_and(|error| error.fault().is_some()));
        lent.fill(-1);
        assert_eq!(total(), Some(2000 * scale), "also after a fault");
    }
}

#[test]
fn files_find_modules_beside_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("it can be written");
    write("Twice.sac", "module Twice; use Array: all; export all; int[*] twice(int[*] a) { return a + a; }");
    write("m.sac", "use Twice: all; int[*] f(int[*] a) { return twice(a); }");
    let m = Module::from_file(folder.path().join("m.sac")).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(m.call("f", &[(&[1, 2]).into()]).expect("a call").as_slice::<i32>(), Some(&[2, 4][..]));
    assert_eq!(m.functions().expect("names"), ["f"]);
    assert_eq!(m.instances("f"), ["f(int[2]) -> int[2]"]);
    let missing = Module::from_file(folder.path().join("missing.sac")).err().expect("there is no such file");
    assert!(missing.to_string().contains("missing.sac"), "{missing}");
}

#[test]
fn definitions_are_replaced_or_left_alone() {
    let m = module("int f() { return 1; }");
    m.define("more", "int g() { return f() + 1; }").expect("a definition");
    assert_eq!(m.call("g", &[]).expect("a call").scalar::<i32>(), Some(2));
    m.define("more", "int g() { return nothing; }").expect_err("there is no such name");
    assert_eq!(m.call("g", &[]).expect("as before").scalar::<i32>(), Some(2));
    m.define("more", "int g() { return f() + 10; }").expect("a definition");
    assert_eq!(m.call("g", &[]).expect("a call").scalar::<i32>(), Some(11));
}

#[test]
fn the_ninth_shape_has_an_instance_for_all_that_follow() {
    let m = module("use Array: all; int total(int[.] a) { return sum(a); }");
    for n in 1..40 {
        let ones = vec![1; n];
        assert_eq!(m.call("total", &[(&ones).into()]).expect("a call").scalar::<i32>(), Some(n as i32));
    }
    assert_eq!(m.instances("total").len(), 9, "{:?}", m.instances("total"));
    assert!(m.explain("total", &[(&[1, 2]).into()]).is_ok());
}

#[test]
fn a_module_serves_many_threads() {
    let m = module("use Array: all; long[.] squares(long[.] a) { return a * a; }");
    std::thread::scope(|scope| {
        for thread in 0..4i64 {
            let m = &m;
            scope.spawn(move || {
                for n in 1..100 {
                    let a: Vec<i64> = (0..n).map(|i| i + thread).collect();
                    let y = m.call("squares", &[(&a).into()]).expect("a call");
                    let squares: Vec<i64> = a.iter().map(|a| a * a).collect();
                    assert_eq!(y.as_slice::<i64>(), Some(squares.as_slice()));
                }
            });
        }
    });
}

#[test]
fn an_interrupt_ends_a_call_on_all_threads_and_nothing_else() {
    let m = module(
        "use Array: all;
         double[.] long_work(double[.] a, int n)
         {
             for (i = 0; i < n; i++) { a = { [j] -> a[j] * 0.5 + 1.0 | [j] < shape(a) }; }
             return a;
         }",
    );
    let interrupter = m.interrupter();
    assert!(!interrupter.interrupt(), "nothing runs");
    for _ in 0..5 {
        let a = vec![1.0; 200_000];
        let watcher = interrupter.clone();
        let watcher = std::thread::spawn(move || {
            while !watcher.interrupt() {
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
        });
        let outcome = m.call("long_work", &[(&a).into(), i32::MAX.into()]);
        drop(a);
        assert!(matches!(outcome, Err(Error::Interrupted)), "{outcome:?}");
        watcher.join().expect("it does not panic");
    }
    let y = m.call("long_work", &[(&[2.0, 4.0]).into(), 1.into()]).expect("a call");
    assert_eq!(y.as_slice::<f64>(), Some(&[2.0, 3.0][..]));
    drop(m);
    assert!(!interrupter.interrupt(), "the module is gone");
}
