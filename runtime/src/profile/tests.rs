//! The tree of sites, as calls of compiled code let it grow.

use super::*;

fn state() -> State {
    State {
        nodes: vec![Growing::default()],
        stack: Vec::new(),
        started: ticks(),
        started_at: Instant::now(),
        short_ticks: 1000,
        with_events: true,
        events: Vec::new(),
        lost_events: 0,
    }
}

#[test]
fn time_inside_is_not_the_time_of_what_is_around() {
    let mut state = state();
    state.enter(4);
    state.enter(7);
    std::thread::sleep(std::time::Duration::from_millis(5));
    state.leave(10, 20, 30);
    state.leave(1, 0, 0);
    let profile = state.profile(&[]);
    let sites: Vec<(usize, usize)> = profile.nodes.iter().map(|n| (n.site, n.parent)).collect();
    assert_eq!(sites, [(0, 0), (4, 0), (7, 1)]);
    let [root, outer, inner] = &profile.nodes[..] else { panic!("three nodes") };
    assert_eq!((inner.cells, inner.operations, inner.bytes), (10.0, 20.0, 30.0));
    assert!(inner.total >= 0.004 && outer.total >= inner.total && outer.own < inner.own, "{profile:?}");
    assert!(root.own >= 0.0 && root.total >= outer.total);
    assert_eq!(profile.events.len(), 2);
}

#[test]
fn a_kernel_belongs_to_the_site_that_started_it() {
    let mut state = state();
    state.enter(4);
    let queued = ticks();
    state.leave(1, 0, 0);
    let launch = Launch { node: 1, queued, start: 1_000, end: 2_001_000 };
    let profile = state.profile(&[launch, Launch { node: 77, ..launch }]);
    assert_eq!((profile.nodes[1].launches, profile.nodes[1].device), (1, 0.002));
    let event = profile.events.iter().find(|event| event.thread == DEVICE).expect("the launch is an event");
    assert!(event.node == 1 && (event.end - event.start - 0.002).abs() < 1e-4, "{event:?}");
}

#[test]
fn what_is_open_at_the_end_ends_then() {
    let mut state = state();
    state.enter(1);
    state.enter(2);
    std::thread::sleep(std::time::Duration::from_millis(2));
    let profile = state.profile(&[]);
    assert!(profile.nodes[2].total > 0.001 && profile.nodes[1].total >= profile.nodes[2].total, "{profile:?}");
}

#[test]
fn short_calls_are_mostly_counted() {
    let mut state = state();
    state.short_ticks = u64::MAX / 1000;
    for _ in 0..10_000 {
        state.enter(1);
        state.leave(2, 3, 4);
    }
    let node = &state.profile(&[]).nodes[1];
    assert_eq!((node.calls, node.cells), (10_000, 20_000.0));
    assert!(node.timed < 400, "{node:?}");
}

#[test]
fn recursion_is_one_node() {
    let mut state = state();
    for _ in 0..100 {
        state.enter(1);
        state.enter(2);
    }
    for _ in 0..200 {
        state.leave(1, 1, 1);
    }
    let profile = state.profile(&[]);
    assert_eq!(profile.nodes.len(), 3, "{:?}", profile.nodes);
    assert_eq!(profile.nodes[1].calls, 100);
    assert!(profile.nodes[1].total <= profile.seconds);
}
