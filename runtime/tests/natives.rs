//! Natives through the table, as the interpreter calls them.

use ravel_runtime::abi::ElemTag;
use ravel_runtime::array::Array;
use ravel_runtime::fault::{Ending, Fault};
use ravel_runtime::natives::{Value, table};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Natives belong to one thread at a time: what starts a command, or ends the program, flushes the files of all.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}

fn try_call(name: &str, values: &[Value], tags: &[ElemTag]) -> Result<Vec<Value>, Fault> {
    let native = table::find(name).unwrap_or_else(|| panic!("{name} is not in the table"));
    (native.call)(values, tags)
}

fn call(name: &str, values: &[Value]) -> Vec<Value> {
    try_call(name, values, &[]).unwrap_or_else(|fault| panic!("{name}: {fault}"))
}

fn one(name: &str, values: &[Value]) -> Value {
    let mut results = call(name, values);
    assert_eq!(results.len(), 1, "{name}");
    results.remove(0)
}

fn text(words: &str) -> Value {
    Value::string(words.as_bytes()).expect("small")
}

fn text_of(value: &Value) -> String {
    match value {
        Value::Object(object) => String::from_utf8_lossy(object.view().text().expect("a string")).into_owned(),
        other => panic!("{other:?} is not a string"),
    }
}

fn temporary(name: &str) -> String {
    std::env::temp_dir().join(format!("ravel-natives-{}-{name}", std::process::id())).display().to_string()
}

#[test]
fn a_file_is_written_scanned_and_closed() {
    let _alone = alone();
    let name = temporary("file");
    let opened = call("ravel_io_fopen", &[text(&name), text("w+")]);
    let [Value::I32(0), file] = &opened[..] else { panic!("{opened:?}") };
    let file = || file.clone();
    call("ravel_fprintf", &[file(), text("%d %s %.2f\nsecond line\n"), Value::I32(-5), text("word"), Value::F32(0.5)]);
    call("ravel_io_rewind", &[file()]);
    let scanned = try_call(
        "ravel_fscanf",
        &[file(), text("%d %s %lf")],
        &[ElemTag::I32, ElemTag::Handle, ElemTag::F64, ElemTag::I32],
    )
    .expect("the format fits");
    let [Value::I32(3), Value::I32(-5), word, Value::F64(0.5), Value::I32(0)] = &scanned[..] else {
        panic!("{scanned:?}")
    };
    assert_eq!(text_of(word), "word");
    assert!(matches!(one("ravel_io_fgetc", &[file()]), Value::Char(b'\n')));
    let line = call("ravel_io_fgets", &[Value::I32(7), file()]);
    assert_eq!(text_of(&line[1]), "second");
    assert_eq!(text_of(&one("ravel_io_fgetl", &[file()])), " line");
    assert!(matches!(one("ravel_io_feof", &[file()]), Value::Bool(false)));
    assert!(matches!(one("ravel_io_fgetc", &[file()]), Value::Char(255)));
    assert!(matches!(one("ravel_io_feof", &[file()]), Value::Bool(true)));
    call("ravel_io_fseek", &[file(), Value::I32(3), Value::I32(0)]);
    assert!(matches!(one("ravel_io_ftell", &[file()]), Value::I32(3)));
    assert_eq!(text_of(&one("ravel_io_fscans", &[file(), Value::I32(2)])), "wo");
    call("ravel_io_fclose", &[file()]);
    call("ravel_io_fclose", &[file()]);
    assert!(try_call("ravel_io_fputc", &[Value::Char(b'x'), file()], &[]).is_err());
    assert!(matches!(one("ravel_io_fremove", &[text(&name)]), Value::I32(0)));
    assert!(matches!(one("ravel_io_fremove", &[text(&name)]), Value::I32(errno) if errno != 0));
}

#[test]
fn a_missing_file_gives_an_error_and_a_closed_stream() {
    let _alone = alone();
    let opened = call("ravel_io_fopen", &[text("/nonexistent/x"), text("r")]);
    let [Value::I32(errno), file] = &opened[..] else { panic!("{opened:?}") };
    assert_eq!(text_of(&one("ravel_syserr_strerror", &[Value::I32(*errno)])), "No such file or directory");
    assert!(matches!(one("ravel_io_fgetc", std::slice::from_ref(file)), Value::Char(255)));
}

#[test]
fn arguments_of_the_wrong_kind_are_faults() {
    let _alone = alone();
    let array = Value::Object(Array::from_slice(&[1], &[1i32]).expect("small"));
    assert!(try_call("ravel_io_fgetc", std::slice::from_ref(&array), &[]).is_err());
    assert!(try_call("ravel_io_fgetc", &[text("not a stream")], &[]).is_err());
    assert!(try_call("ravel_rtimer_start", std::slice::from_ref(&array), &[]).is_err());
    assert!(try_call("ravel_string_strlen", &[array], &[]).is_err());
    assert!(try_call("ravel_sscanf", &[text("1 2"), text("%d %d")], &[ElemTag::I32]).is_err());
}

#[test]
fn strings_are_cut_joined_and_converted() {
    let _alone = alone();
    assert_eq!(text_of(&one("ravel_string_strcat", &[text("ab"), text("cd")])), "abcd");
    assert_eq!(text_of(&one("ravel_string_strext", &[text("abcdef"), Value::I32(2), Value::I32(3)])), "cde");
    assert_eq!(text_of(&one("ravel_string_strins", &[text("ad"), Value::I32(1), text("bc")])), "abcd");
    assert!(matches!(one("ravel_string_toi", &[text(" 12x")]), Value::I32(12)));
    assert!(matches!(one("ravel_string_tod", &[text("1.5")]), Value::F64(1.5)));
    assert_eq!(text_of(&one("ravel_string_tos_double", &[Value::F64(0.1)])), "0.1");
    assert_eq!(text_of(&one("ravel_string_tos_bool", &[Value::Bool(true)])), "true");
    let parts = call("ravel_string_strtok", &[text("  one two"), text(" ")]);
    assert_eq!((text_of(&parts[0]), text_of(&parts[1])), ("one".to_string(), "two".to_string()));
    let chars = Array::from_slice_as(ElemTag::Char, &[3], b"hi\0").expect("small");
    assert_eq!(text_of(&one("ravel_string_to_string", &[Value::Object(chars)])), "hi");
}

#[test]
fn the_user_error_carries_message_and_status() {
    let _alone = alone();
    let fault =
        try_call("ravel_error", &[Value::I32(3), text("bad %d"), Value::I32(7)], &[]).expect_err("it always faults");
    assert_eq!(fault, Fault { ending: Ending::User { status: 3 }, ..Fault::new("bad 7") });
    let fault = try_call("ravel_exit", &[Value::I32(4)], &[]).expect_err("it always ends the program");
    assert_eq!(fault.ending, Ending::Exit { status: 4 });
}

#[test]
fn pipes_run_commands() {
    let _alone = alone();
    let opened = call("ravel_process_popen", &[text("echo hello"), text("r")]);
    assert_eq!(text_of(&one("ravel_io_fgetl", &opened[1..])), "hello");
    call("ravel_process_pclose", &opened[1..]);
    assert!(matches!(one("ravel_process_system", &[text("exit 3")]), Value::I32(3)));
}

#[test]
fn raw_doubles_round_trip() {
    let _alone = alone();
    let name = temporary("doubles");
    let shape = Value::Object(Array::from_slice(&[2], &[1i32, 2]).expect("small"));
    let data = Value::Object(Array::from_slice(&[1, 2], &[1.5f64, -2.0]).expect("small"));
    let opened = call("ravel_binf_open", &[text(&name), Value::I32(1 | 64 | 512)]);
    call("ravel_binf_write_double", &[opened[1].clone(), Value::I32(2), shape.clone(), data]);
    call("ravel_binf_close", &opened[1..]);
    let opened = call("ravel_binf_open", &[text(&name), Value::I32(0)]);
    let read = one("ravel_binf_read_double", &[opened[1].clone(), Value::I32(2), shape.clone()]);
    let Value::Object(array) = read else { panic!("not an array") };
    assert_eq!(array.view().shape(), [1, 2]);
    assert_eq!(array.view().as_slice::<f64>(), Some(&[1.5, -2.0][..]));
    assert!(try_call("ravel_binf_read_double", &[opened[1].clone(), Value::I32(2), shape], &[]).is_err());
    std::fs::remove_file(name).expect("it exists");
}

#[test]
fn time_is_read_and_formatted() {
    let _alone = alone();
    let clock = call("ravel_clock_monotonic", &[]);
    assert!(matches!(clock[..], [Value::I64(s), Value::I64(ns)] if s >= 0 && (0..1_000_000_000).contains(&ns)));
    let Value::I64(t) = one("ravel_time_make", &[0, 30, 12, 15, 5, 99].map(Value::I32)) else { panic!("not a time") };
    assert!(matches!(one("ravel_time_field", &[Value::I64(t), Value::I32(1)]), Value::I32(30)));
    assert_eq!(text_of(&one("ravel_time_format", &[text("%Y-%m-%d"), Value::I64(t)])), "1999-06-15");
    assert_eq!(text_of(&one("ravel_time_format", &[text(""), Value::I64(t)])), "");
}
