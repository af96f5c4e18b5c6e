//! Which with-loops share launches, and which are launched alone.

use crate::common::for_device;

/// The nest of a function with the given instructions and yields, and all remarks.
fn scheduled(body: &str, results: &str, yields: &str) -> (String, Vec<String>) {
    let text = format!(
        "entry @f0\nfunc @f0 \"main\" (%a: f32[6,5], %b: f32[6,5], %v: f32[7], %x: f32[s0,16], %w: f32[16], %t: f32) -> ({results}) {{
           {body}
           yield {yields}
         }}"
    );
    scheduled_text(&text)
}

fn scheduled_text(text: &str) -> (String, Vec<String>) {
    for_device(text, 1.0)
}

/// An element-wise with-loop over `6 x 5` indices: `to = from * t`.
fn scaled(to: &str, from: &str) -> String {
    format!(
        "%{to}: f32[6,5] = with {{ part [0, 0] <= [%{to}i, %{to}j] < [6, 5] {{
           %{to}x: f32 = sel {from}, [%{to}i, %{to}j] %{to}y: f32 = mul %{to}x, %t yield %{to}y
         }} }} genarray [6, 5] cell [] "
    )
}

/// A with-loop over 16 indices that computes an expression of `%p`, the element of `%w`.
fn of_w(to: &str, expression: &str) -> String {
    format!(
        "%{to}: f32[16] = with {{ part [0] <= [%{to}i] < [16] {{ %{to}p: f32 = sel %w, [%{to}i] {expression} }} }} genarray [16] cell [] "
    )
}

/// A fold over the rows of `%x` whose body makes an array.
fn rows(to: &str, neutral: &str) -> String {
    format!(
        "%n: i32 = extent %x, 0
         %{to}: f32[16] = with {{ part [0] <= [%{to}i] < [%n] {{
           %{to}h: f32[16] = with {{ part [0] <= [%{to}j] < [16] {{
             %{to}k: i32 = sub 15, %{to}j %{to}e: f32 = sel %x, [%{to}i, %{to}k] %{to}f: f32 = mul %{to}e, %{to}e yield %{to}f
           }} }} genarray [16] cell []
           %{to}g: f32[16] = with {{ part [0] <= [%{to}l] < [16] {{
             %{to}m: i32 = sub 15, %{to}l %{to}o: f32 = sel %{to}h, [%{to}m] %{to}q: f32 = sub %{to}o, %t yield %{to}q
           }} }} genarray [16] cell []
           yield %{to}g
         }} }} fold add neutral {neutral} "
    )
}

fn shared(remarks: &[String]) -> usize {
    remarks.iter().filter(|r| r.contains("with-loops in one launch")).count()
}

/// Calls of a function of the runtime.
fn calls(text: &str, name: &str) -> usize {
    let declared = text.lines().find(|line| line.contains(&format!("\"{name}\"")));
    let number = declared.and_then(|line| line.split(' ').nth(1)).map(|number| format!("call_extern {number}("));
    number.map_or(0, |call| text.matches(&call).count())
}

#[test]
fn neighbours_share_a_launch() {
    let (text, remarks) = scheduled(&(scaled("c", "%a") + &scaled("d", "%b")), "f32[6,5], f32[6,5]", "%c, %d");
    assert_eq!(shared(&remarks), 2, "{remarks:?}");
    // Together, and each alone where that does not pay.
    assert_eq!(text.matches("launch (").count(), 3, "{text}");
}

#[test]
fn an_array_that_only_the_run_reads_is_not_stored() {
    let body = scaled("c", "%a") + &scaled("d", "%c");
    let writes = |yields: &str, results: &str| calls(&scheduled(&body, results, yields).0, "ravel_device_write");
    // Alone they are stored in any case.
    assert_eq!(writes("%d", "f32[6,5]"), 2 + 1);
    assert_eq!(writes("%c, %d", "f32[6,5], f32[6,5]"), 2 + 2);
}

#[test]
fn scalars_between_move_ahead() {
    let body = scaled("c", "%a") + "%u: f32 = mul %t, %t " + &scaled("d", "%b");
    assert_eq!(shared(&scheduled(&body, "f32[6,5], f32[6,5], f32", "%c, %d, %u").1), 2);
}

#[test]
fn other_reads_must_wait() {
    let turned = "%d: f32[6,5] = with { part [0, 0] <= [%i, %j] < [6, 5] {
        %k: i32 = sub 5, %i %p: f32 = sel %c, [%k, %j] yield %p } } genarray [6, 5] cell [] ";
    assert_eq!(shared(&scheduled(&(scaled("c", "%a") + turned), "f32[6,5]", "%d").1), 0);
    // From an array that was there before they need not.
    let turned = turned.replace("%c,", "%b,");
    assert_eq!(shared(&scheduled(&(scaled("c", "%a") + &turned), "f32[6,5], f32[6,5]", "%c, %d").1), 2);
}

#[test]
fn folds_and_loops_are_launched_alone() {
    let sums = "%d: f32[6] = with { part [0] <= [%i] < [6] {
        %s: f32 = with { part [0] <= [%j] < [5] { %p: f32 = sel %a, [%i, %j] yield %p } } fold add neutral 0.0:f32 yield %s } } genarray [6] cell [] ";
    assert_eq!(shared(&scheduled(&(scaled("c", "%a") + sums), "f32[6,5], f32[6]", "%c, %d").1), 0);
}

#[test]
fn large_arrays_are_launched_alone() {
    let big = |to: &str| {
        format!(
            "%{to}: f32[1024,1024] = with {{ part [0, 0] <= [%{to}i, %{to}j] < [1024, 1024] {{ yield %t }} }} genarray [1024, 1024] cell [] "
        )
    };
    assert_eq!(shared(&scheduled(&(big("c") + &big("d")), "f32[1024,1024], f32[1024,1024]", "%c, %d").1), 0);
}

#[test]
fn extents_of_the_run_are_launched_alone() {
    let open = |to: &str| {
        format!("%{to}: f32[s0] = with {{ part [0] <= [%{to}i] < [%n] {{ yield %t }} }} genarray [%n] cell [] ")
    };
    let body = "%n: i32 = extent %x, 0 ".to_string() + &open("c") + &open("d");
    assert_eq!(shared(&scheduled(&body, "f32[s0], f32[s0]", "%c, %d").1), 0);
}

#[test]
fn a_fold_over_groups_takes_its_neutral_element_and_its_consumer_along() {
    let neutral = of_w("z", "%zq: f32 = mul %zp, 0.0:f32 yield %zq");
    let update = of_w("u", "%us: f32 = sel %g, [%ui] %uq: f32 = sub %up, %us yield %uq");
    let (text, remarks) = scheduled(&format!("{neutral}{}{update}", rows("g", "%z")), "f32[16]", "%u");
    assert!(
        remarks.iter().any(|r| r.contains("the launch that adds up the groups computes 2 others too")),
        "{remarks:?}"
    );
    // Groups and all the rest; where that does not pay: the neutral element, groups, their sum, the consumer.
    assert_eq!(text.matches("launch (").count(), 2 + 4, "{text}");
}

#[test]
fn what_groups_read_is_computed_before() {
    // The neutral element is also read by the bodies: it cannot wait.
    let neutral = of_w("z", "%zq: f32 = mul %zp, 0.0:f32 yield %zq");
    let fold = rows("g", "%z")
        .replace("sub %go, %t", "sub %go, %gy")
        .replace("%go: f32 = sel %gh, [%gm]", "%go: f32 = sel %gh, [%gm] %gy: f32 = sel %z, [%gm]");
    let (text, remarks) = scheduled(&format!("{neutral}{fold}"), "f32[16]", "%g");
    assert!(!remarks.iter().any(|r| r.contains("others too")), "{remarks:?}");
    assert_eq!(text.matches("launch (").count(), 3, "{text}");
}

#[test]
fn a_constant_neutral_element_needs_no_memory_on_the_device() {
    let zeros = format!("%z: f32[16] = constarray [{}] ", ["0.0"; 16].join(", "));
    let reads = |text: &str| calls(text, "ravel_device_read");
    let (with, _) = scheduled(&(zeros + &rows("g", "%z")), "f32[16]", "%g");
    let mixed = format!("%z: f32[16] = constarray [1.0, {}] ", ["0.0"; 15].join(", "));
    let (without, _) = scheduled(&(mixed + &rows("g", "%z")), "f32[16]", "%g");
    assert_eq!(reads(&with) + 1, reads(&without), "{with}");
}

/// A plate of `m x n` elements whose borders are copied; the extents of `%x` if none are given.
fn plate(extents: Option<(i32, i32)>, border: &str) -> (String, Vec<String>) {
    let (m, n) = extents.map_or(("%m".to_string(), "%n".to_string()), |(m, n)| (m.to_string(), n.to_string()));
    let below = |v: &str, name: &str| format!("%{name}: i32 = sub {v}, 1 ");
    let copy = |k: u32, low: &str, high: &str| {
        format!(
            "part {low} <= [%i{k}, %j{k}] < {high} {{ %c{k}: f32 = sel %y, [%i{k}, %j{k}] {} yield %d{k} }} ",
            border.replace('#', &k.to_string())
        )
    };
    let text = format!(
        "entry @f0\nfunc @f0 \"main\" (%y: f32[{}]) -> (f32[{}]) {{
           %m: i32 = extent %y, 0 %n: i32 = extent %y, 1 {}{}
           %u: f32[{}] = with {{
             part [1, 1] <= [%i, %j] < [%m1, %n1] {{ %k: i32 = add %j, 1 %p: f32 = sel %y, [%i, %k] yield %p }}
             {}{}{}{}
           }} genarray [{m}, {n}] cell []
           yield %u
         }}",
        extents.map_or("s0,s1".to_string(), |(m, n)| format!("{m},{n}")),
        extents.map_or("s0,s1".to_string(), |(m, n)| format!("{m},{n}")),
        below(&m, "m1"),
        below(&n, "n1"),
        extents.map_or("s0,s1".to_string(), |(m, n)| format!("{m},{n}")),
        copy(1, "[0, 0]", &format!("[1, {n}]")),
        copy(2, "[%m1, 0]", &format!("[{m}, {n}]")),
        copy(3, "[1, 0]", "[%m1, 1]"),
        copy(4, "[1, %n1]", &format!("[%m1, {n}]")),
    );
    scheduled_text(&text)
}

#[test]
fn borders_share_a_launch() {
    for extents in [None, Some((60, 70))] {
        let (text, _) = plate(extents, "%d#: f32 = add %c#, 1.0:f32");
        assert_eq!(text.matches("launch (").count(), 2, "{text}");
    }
}

#[test]
fn borders_that_loop_have_launches_of_their_own() {
    let sum =
        "%d#: f32 = with { part [0] <= [%s#] < [9] { %t#: f32 = sel %y, [%s#, %j#] yield %t# } } fold add neutral %c#";
    let (text, _) = plate(Some((60, 70)), sum);
    assert!(text.matches("launch (").count() >= 5, "{text}");
}

#[test]
fn borders_of_clipped_extents_are_thin_too() {
    // As the specialiser writes them for extents that only the run knows.
    let text = "entry @f0
        func @f0 \"main\" (%y: f32[s0]) -> (f32[s0]) {
          %n: i32 = extent %y, 0 %a: i32 = min %n, 1 %l: i32 = sub %n, 2 %b: i32 = max %l, %a %c: i32 = add %n, 1 %d: i32 = min %n, %c
          %u: f32[s0] = with {
            part [%a] <= [%i] < [%b] { %p: f32 = sel %y, [%i] yield %p }
            part [0] <= [%j] < [%a] { yield 1.0:f32 }
            part [%b] <= [%k] < [%d] { yield 2.0:f32 }
          } genarray [%n] cell []
          yield %u
        }";
    let (text, _) = scheduled_text(text);
    assert_eq!(text.matches("launch (").count(), 2, "{text}");
}
