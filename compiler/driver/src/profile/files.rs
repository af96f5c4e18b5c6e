//! A profile as a file for other programs: Chrome trace events, folded stacks, HTML.

use super::{Place, table};
use ravel_runtime::profile::{DEVICE, NO_NODE, Profile, ROOT};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

/// A text as a JSON string.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c < ' ' => _ = write!(out, "\\u{:04x}", u32::from(c)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

fn name(places: &[Place], site: usize) -> String {
    places.get(site).map_or("?".to_string(), |place| format!("{} {}", place.function, place.at()))
}

/// The number that the time line gives to the device.
const DEVICE_ROW: u32 = 1_000_000;

/// Events for a time line, as Chrome and Perfetto read them; times in microseconds.
pub(super) fn json(profile: &Profile, places: &[Place]) -> String {
    let mut events = vec![format!(
        "{{\"name\":\"program\",\"ph\":\"X\",\"pid\":1,\"tid\":0,\"ts\":0,\"dur\":{:.3}}}",
        1e6 * profile.seconds
    )];
    if let Some(device) = &profile.device {
        events.push(format!(
            "{{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":1,\"tid\":{DEVICE_ROW},\"args\":{{\"name\":{}}}}}",
            quoted(&device.name)
        ));
    }
    for event in &profile.events {
        let (start, took) = (1e6 * event.start, 1e6 * (event.end - event.start).max(0.0));
        let node = profile.nodes.get(event.node as usize).filter(|_| event.node != NO_NODE);
        let (name, thread) = match node {
            Some(_) if event.thread == DEVICE && event.node as usize == ROOT => ("kernel".to_string(), DEVICE_ROW),
            Some(node) if event.thread == DEVICE => (name(places, node.site), DEVICE_ROW),
            Some(node) => (name(places, node.site), 0),
            None => ("chunks".to_string(), event.thread + 1),
        };
        events.push(format!(
            "{{\"name\":{},\"ph\":\"X\",\"pid\":1,\"tid\":{thread},\"ts\":{start:.3},\"dur\":{took:.3}}}",
            quoted(&name)
        ));
    }
    let lost = profile.lost_events;
    format!(
        "{{\"displayTimeUnit\":\"ms\",\"otherData\":{{\"lostEvents\":{lost}}},\"traceEvents\":[\n{}\n]}}\n",
        events.join(",\n")
    )
}

/// A line for each stack: frames from the outermost on, then microseconds.
pub(super) fn folded(profile: &Profile, places: &[Place]) -> String {
    let mut stacks: BTreeMap<String, f64> = BTreeMap::new();
    for (number, node) in profile.nodes.iter().enumerate() {
        let mut frames = Vec::new();
        let mut at = number;
        while at != ROOT {
            frames.push(name(places, profile.nodes[at].site).replace(';', ","));
            at = profile.nodes[at].parent;
        }
        frames.push("program".to_string());
        frames.reverse();
        *stacks.entry(frames.join(";")).or_default() += 1e6 * node.own;
    }
    let lines = stacks.iter().filter(|(_, time)| **time >= 0.5);
    lines.map(|(stack, time)| format!("{stack} {time:.0}\n")).collect()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// The files in which time was spent, each line with its share.
pub(super) fn html(profile: &Profile, places: &[Place], sources: &[(String, Arc<str>)]) -> String {
    let mut times: BTreeMap<(&str, usize), (f64, u64)> = BTreeMap::new();
    for (site, row) in table::rows(profile, places) {
        let entry = times.entry((places[site].file.as_str(), places[site].line)).or_default();
        entry.0 += row.own;
        entry.1 += row.calls;
    }
    let all = profile.seconds.max(1e-12);
    let mut out = String::from(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Profile</title><style>\n\
         body{font-family:sans-serif}pre{margin:0;line-height:1.35}.m{display:inline-block;width:16em;color:#555;white-space:pre}\n\
         </style></head><body>\n",
    );
    let _ = writeln!(out, "<p>{:.4} s, {} threads</p>", profile.seconds, profile.threads);
    for (file, text) in sources.iter().filter(|(file, _)| times.keys().any(|(other, _)| other == file)) {
        let _ = writeln!(out, "<h2>{}</h2><pre>", escaped(file));
        for (k, line) in text.lines().enumerate() {
            let (margin, heat) = match times.get(&(file.as_str(), k + 1)) {
                Some((own, calls)) => (format!("{:5.1} % {calls:>9} x", 100.0 * own / all), own / all),
                None => (String::new(), 0.0),
            };
            let _ = writeln!(
                out,
                "<span style=\"background:rgba(255,80,0,{:.2})\"><span class=\"m\">{margin:<20}{:>5}  </span>{}</span>",
                0.8 * heat,
                k + 1,
                escaped(line)
            );
        }
        out.push_str("</pre>\n");
    }
    out.push_str("</body></html>\n");
    out
}
