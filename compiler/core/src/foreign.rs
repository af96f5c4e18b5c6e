//! What the pragmas of external declarations say about C code.

use crate::ir::{External, Foreign, FunId, LinkKind, Linked};
use ravel_syntax::ast::{self, Pragma, PragmaArgs};
use std::sync::Arc;

/// Symbols of the runtime begin with this.
const RUNTIME: &str = "ravel_";

/// Symbols of adapters to C functions begin with this.
pub const ADAPTER: &str = "ravel_foreign_";

/// The C function behind an external declaration; `library` for declarations of the library, which name natives.
pub(crate) fn external(function: &ast::Function, id: FunId, library: bool) -> External {
    let mut external = External {
        symbol: Arc::from(&*function.name.name),
        effect: function.params.iter().any(|param| param.by_ref)
            || function.results.is_empty() && !function.variadic_results,
        foreign: None,
    };
    let mut foreign = Foreign::default();
    for pragma in &function.pragmas {
        match (&*pragma.name.name, &pragma.args) {
            ("linkname", PragmaArgs::Strings(names)) => {
                if let Some(name) = names.first() {
                    external.symbol = name.clone();
                }
            }
            ("linksign", PragmaArgs::Numbers(numbers)) => foreign.linksign = Some((numbers.clone(), pragma.span)),
            ("refcounting" | "refcountdots" | "sacarg", _) => foreign.descriptors = Some(pragma.span),
            ("effect", _) => external.effect = true,
            _ => {}
        }
    }
    if !library && !external.symbol.starts_with(RUNTIME) {
        foreign.name = external.symbol.to_string();
        foreign.link = links(&function.pragmas);
        let name: String = foreign.name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        external.symbol = format!("{ADAPTER}{}_{name}", id.0).into();
        external.foreign = Some(foreign);
    }
    external
}

/// The C function that releases values of a type.
pub(crate) fn free_function(pragmas: &[Pragma]) -> Option<String> {
    pragmas.iter().find_map(|pragma| match (&*pragma.name.name, &pragma.args) {
        ("freefun", PragmaArgs::Strings(names)) => names.first().map(ToString::to_string),
        _ => None,
    })
}

/// What pragmas ask to link.
pub(crate) fn links(pragmas: &[Pragma]) -> Vec<Linked> {
    let mut found = Vec::new();
    for pragma in pragmas {
        let kind = match &*pragma.name.name {
            "linkobj" => LinkKind::Object,
            "linkwith" => LinkKind::Library,
            _ => continue,
        };
        let PragmaArgs::Strings(names) = &pragma.args else { continue };
        found.extend(names.iter().map(|name| Linked { kind, what: name.to_string(), span: pragma.span }));
    }
    found
}
