//! `ravel explain`: the page of an error code, or the list of all.

use crate::args::Explain;
use crate::print;
use ravel_diagnostics::Code;

include!(concat!(env!("OUT_DIR"), "/pages.rs"));

pub fn run(explain: &Explain) -> i32 {
    let Some(text) = &explain.code else {
        let lines: Vec<String> = Code::ALL.iter().map(|code| format!("{code}  {}\n", code.title())).collect();
        return i32::from(!print(&lines.concat()));
    };
    let Some(code) = Code::from_text(text) else {
        let names: Vec<&str> = Code::ALL.iter().map(|code| code.text()).collect();
        let close = ravel_diagnostics::did_you_mean(&text.to_uppercase(), names);
        let hint = close.map_or(String::new(), |close| format!("; did you mean {close}?"));
        say!("ravel: there is no code `{text}`{hint}\n`ravel explain` lists them.");
        return 2;
    };
    let page = PAGES.iter().find(|(name, _)| *name == code.text());
    i32::from(match page {
        Some((_, page)) => !print(page),
        None => !print(&format!("{code}: {}\n", code.title())),
    })
}
