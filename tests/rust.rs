//! SaC in Rust programs by `ravel-build`: libraries are compiled, and programs that call them by the module run.

use ravel_build::{Build, Error};
use ravel_tests::{ravel, repository};
use std::fs;
use std::path::Path;
use std::process::Command;

fn make(source: &Path, out: &Path) -> ravel_build::Made {
    let made = Build::new(source).command(ravel()).out_dir(out).make();
    made.unwrap_or_else(|error| panic!("{error}"))
}

/// What a program prints that has the libraries as modules.
fn run(out: &Path, libraries: &[&str], edition: &str, body: &str) -> String {
    let module = |name: &&str| format!("mod {name} {{ include!({:?}); }}\n", out.join(format!("{name}.rs")));
    let text = format!("#![deny(warnings)]\n{}{body}", libraries.iter().map(module).collect::<String>());
    let (source, program) = (out.join("main.rs"), out.join("program"));
    fs::write(&source, text).expect("it can be written");
    let mut rustc = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    rustc
        .args(["--edition", edition, "-L"])
        .arg(format!("native={}", out.display()))
        .arg("-o")
        .arg(&program)
        .arg(&source);
    for name in libraries {
        rustc.arg("-l").arg(format!("static={name}"));
    }
    rustc.args(["-l", "pthread", "-l", "m", "-l", "dl"]);
    let compiled = rustc.output().expect("rustc starts");
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let ran = Command::new(&program).env("RAVEL_THREADS", "2").output().expect("the program starts");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8_lossy(&ran.stdout).into_owned()
}

#[test]
fn a_library_is_called_by_its_module() {
    let out = tempfile::tempdir().expect("a folder");
    let made = make(&repository().join("examples/c/filters.sac"), out.path());
    assert!(made.library.is_file() && made.module.is_file());
    assert!(made.link.contains(&"-lm".to_string()), "{:?}", made.link);
    let printed = run(
        out.path(),
        &["filters"],
        "2024",
        r#"
use filters::View;

fn main() -> Result<(), filters::Error> {
    let image: Vec<f32> = (0..20).map(|n| n as f32).collect();
    let smooth = filters::conv_2(View::new([4, 5], &image)?, View::new([2, 2], &[0.25; 4])?)?;
    println!("{:?}: {:?}", smooth.shape(), &smooth.as_slice()[..2]);
    let row = filters::conv_1(View::new([3], &[1.0, 2.0, 3.0])?, View::new([1], &[2.0])?)?;
    println!("{row:?}");
    let (mean, rest) = filters::centered(View::new([3], &[1.0, 2.0, 6.0])?)?;
    let again = filters::centered(rest.view().expect("rank 1"))?;
    println!("{mean} {:?} {}", rest.as_slice(), again.0);
    let fault = filters::element(View::new([3], &[5, 6, 7])?, 9).expect_err("there are three");
    println!("{} {fault}", fault.is_fault);
    println!("{}", View::new([2, 2], &[0u8; 3]).expect_err("three are not four"));
    let kept = std::thread::spawn(move || rest.as_slice().len()).join();
    println!("{kept:?}");
    Ok(())
}
"#,
    );
    let expected = ["[3, 4]: [3.0, 4.0]", "Array { shape: [3], elements: [2.0, 4.0, 6.0] }", "3 [-2.0, -1.0, 3.0] 0"];
    let lines: Vec<&str> = printed.lines().collect();
    assert_eq!(lines[..3], expected);
    assert!(
        lines[3].starts_with("true ") && lines[3].contains("index 9 is out of range for axis 0 of extent 3"),
        "{printed}"
    );
    assert_eq!(lines[4], " 22 │     return v[i];");
    assert!(lines[5].contains("`v` is int[3]   (in element)"), "{printed}");
    assert_eq!(lines[6..], ["an array of shape [2, 2] does not have 3 elements", "Ok(3)"]);
}

#[test]
fn all_types_and_ranks_go_in_and_out() {
    let folder = tempfile::tempdir().expect("a folder");
    let types = [
        ("bool", "bool", "true, false"),
        ("byte", "i8", "-128, 127"),
        ("short", "i16", "i16::MIN, 7"),
        ("int", "i32", "i32::MIN, 7"),
        ("long", "i64", "i64::MIN, 7"),
        ("ubyte", "u8", "0, 255"),
        ("ushort", "u16", "0, u16::MAX"),
        ("uint", "u32", "0, u32::MAX"),
        ("ulong", "u64", "0, u64::MAX"),
        ("float", "f32", "-0.5, f32::MAX"),
        ("double", "f64", "-0.5, f64::MIN_POSITIVE"),
    ];
    let mut sac = String::from("module types;\nuse Array: all;\nuse String: all;\nexport all;\n");
    let mut main = String::from("use types::{AnyView, View};\nfn main() -> Result<(), types::Error> {\n");
    for (ty, rust, two) in types {
        sac.push_str(&format!(
            "{ty}[.] back_{ty}({ty}[.] a) {{ n = shape(a)[0]; return {{ [i] -> a[n - 1 - i] | [i] < [n] }}; }}
             {ty}[*] same_{ty}({ty}[*] a) {{ return a; }}
             specialize {ty}[*] same_{ty}({ty}[*] a);
             {ty} scalar_{ty}({ty} a) {{ return a; }}\n"
        ));
        main.push_str(&format!(
            "    let two: [{rust}; 2] = [{two}];
    assert_eq!(types::back_{ty}(View::new([2], &two)?)?.as_slice(), [two[1], two[0]]);
    let five = types::same_{ty}(&AnyView::new(&[1, 2, 1, 1, 1], &two)?)?;
    assert_eq!((five.shape(), five.as_slice()), (vec![1, 2, 1, 1, 1], &two[..]));
    assert_eq!(types::same_{ty}(&five.any_view())?.shape(), five.shape());
    let none = types::same_{ty}(&AnyView::new(&[2, 0], &[])?)?;
    assert_eq!((none.shape(), none.as_slice().len()), (vec![2, 0], 0));
    assert_eq!(types::scalar_{ty}(two[0])?, two[0]);
    assert_eq!(types::scalar_{ty}(two[1])?, two[1]);\n"
        ));
    }
    sac.push_str("string twice(string type) { return type + type; }\nint match(int self, int ravel_x) { return self - ravel_x; }\n");
    sac.push_str("int[3] three(int[3] a) { return a; }\n");
    main.push_str(
        r#"    assert_eq!(types::twice("ab")?, "abab");
    assert!(types::twice("a\0b").is_err_and(|error| !error.is_fault));
    assert_eq!(types::r#match(5, 3)?, 2);
    let wrong = types::three(View::new([2], &[1, 2])?).expect_err("three belong there");
    println!("{} {wrong}", wrong.is_fault);
    Ok(())
}
"#,
    );
    let source = folder.path().join("types.sac");
    fs::write(&source, sac).expect("it can be written");
    make(&source, folder.path());
    // Also in programs of an earlier edition.
    let printed = run(folder.path(), &["types"], "2021", &main);
    assert!(printed.starts_with("false ") && printed.contains("axis 0 has 2 indices, not 3"), "{printed}");
}

#[test]
fn two_libraries_serve_one_program() {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, factor) in [("twice", 2), ("thrice", 3)] {
        let source = folder.path().join(format!("{name}.sac"));
        fs::write(&source, format!("use Array: all; int[.] times(int[.] a) {{ return {factor} * a; }}"))
            .expect("it can be written");
        make(&source, folder.path());
    }
    let body = r#"
fn main() {
    let two = twice::times(twice::View::new([2], &[1, 2]).expect("two")).expect("a call");
    let six = thrice::times(thrice::View::new([2], two.as_slice()).expect("two")).expect("a call");
    println!("{:?}", six.as_slice());
}
"#;
    assert_eq!(run(folder.path(), &["twice", "thrice"], "2024", body), "[6, 12]\n");
}

#[test]
fn what_is_wrong_is_said() {
    let folder = tempfile::tempdir().expect("a folder");
    let source = folder.path().join("wrong.sac");
    fs::write(&source, "int f(int a) { return b; }").expect("it can be written");
    let build = Build::new(&source).command(ravel()).out_dir(folder.path());
    let error = build.make().expect_err("there is no b");
    assert!(matches!(&error, Error::Refused(words) if words.contains("wrong.sac:1:")), "{error}");
    assert!(!folder.path().join("wrong.rs").exists());
    let error = build.command("/nowhere/ravel").make().expect_err("there is no such command");
    assert!(matches!(error, Error::NoCommand { .. }) && error.to_string().contains("RAVEL"), "{error}");
    let error = Build::new(folder.path().join("missing.sac")).command(ravel()).out_dir(folder.path()).make();
    assert!(matches!(error, Err(Error::Refused(_))));
}
