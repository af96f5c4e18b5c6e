//! What a file declares to the outside, read off its tokens before it can be parsed.
//!
//! Parsing needs to know which identifiers are types; those come from this file and from the modules that it
//! mentions. So a loader prescans a file, loads the modules that [`Interface::modules`] lists, collects their visible
//! type names and only then parses. The scan never reports: what it cannot read, the parser will.

use crate::ast::{Ident, Load, LoadKind, Offer, OfferKind, SymbolSet};
use crate::classify::{TypeNames, keyword};
use crate::tokens::{Kind, TextId, Token, Tokens};
use ravel_source::Span;
use ravel_types::HashSet;

/// The declarations of a file that decide how it and its users are tokenised.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Interface {
    /// The name in the `module` or `class` header; a program has none.
    pub module: Option<Ident>,
    /// Whether the header is `class`; its name is then a type too.
    pub is_class: bool,
    /// Names of typedefs and the class that this file defines.
    pub types: Vec<Ident>,
    /// Names of families: types too, but only in this file.
    pub families: Vec<Ident>,
    pub structs: Vec<Ident>,
    /// Operator symbols beyond the built-in ones that this file defines.
    pub operators: Vec<Ident>,
    /// `use` and `import` declarations, in order.
    pub loads: Vec<Load>,
    /// `export` and `provide` declarations, in order.
    pub offers: Vec<Offer>,
    /// Modules of qualified names, at their first mention each.
    pub mentions: Vec<Ident>,
}

impl Interface {
    /// Every module that the file needs, each once, `use` and `import` first.
    pub fn modules(&self) -> Vec<&Ident> {
        let mut seen = HashSet::default();
        let all = self.loads.iter().map(|load| &load.module).chain(&self.mentions);
        all.filter(|module| seen.insert(module.name.clone())).collect()
    }

    /// Adds what the file itself defines, and the operators that its symbol sets name.
    pub(crate) fn add_own_names(&self, names: &mut TypeNames) {
        for ty in self.types.iter().chain(&self.families) {
            names.add_type(None, &ty.name);
        }
        for name in &self.structs {
            names.add_struct(None, &name.name);
        }
        for operator in &self.operators {
            names.add_operator(&operator.name);
        }
        let sets = self.loads.iter().map(|load| &load.symbols).chain(self.offers.iter().map(|offer| &offer.symbols));
        for set in sets {
            let (SymbolSet::Some(list) | SymbolSet::AllExcept(list)) = set else { continue };
            for symbol in list.iter().filter(|symbol| is_new_operator(&symbol.name)) {
                names.add_operator(&symbol.name);
            }
        }
    }
}

/// Whether this is an operator symbol that the lexer does not know by itself.
fn is_new_operator(name: &str) -> bool {
    const BUILT_IN: [&str; 22] = [
        "+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "<<", ">>", "&", "|", "^", "++", "--", "!", "~",
        "++^", "",
    ];
    !name.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_') && !BUILT_IN.contains(&name)
}

/// Reads the interface of a preprocessed file.
pub fn prescan(tokens: &Tokens) -> Interface {
    let mut scan = Scan { tokens, at: 0, found: Interface::default(), mentioned: HashSet::default() };
    scan.mentions();
    scan.definitions();
    scan.found
}

/// Names that stand where only a struct or a type can, for a file that needs a module which was not found: it may have defined them.
/// `P { 1, 2 }` shows a struct, `P x` and `P[.] x` show a type.
pub fn add_doubtful_names(tokens: &Tokens, names: &mut TypeNames) {
    let scan = Scan { tokens, at: 0, found: Interface::default(), mentioned: HashSet::default() };
    let name = |at: usize| scan.word(at).filter(|word| keyword(word) == Kind::Id);
    for at in 0..tokens.list.len() {
        let Some(word) = name(at) else { continue };
        let before = at.checked_sub(1).and_then(|before| scan.kind(before));
        let is_value = matches!(
            before,
            Some(Kind::Assign | Kind::LParen | Kind::Comma | Kind::LBracket | Kind::Colon | Kind::Arrow)
        ) || at.checked_sub(1).and_then(|before| scan.word(before)) == Some("return");
        if is_value && scan.kind(at + 1) == Some(Kind::LBrace) {
            names.add_struct(None, word);
            continue;
        }
        let starts =
            matches!(before, None | Some(Kind::LParen | Kind::Comma | Kind::LBrace | Kind::RBrace | Kind::Semi));
        let mut next = at + 1;
        if scan.kind(next) == Some(Kind::LBracket) {
            while !matches!(scan.kind(next), None | Some(Kind::RBracket | Kind::Semi)) {
                next += 1;
            }
            next += 1;
        }
        let is_same_line = scan.token(next).is_some_and(|token| !token.first_on_line);
        if starts && is_same_line && name(next).is_some() {
            names.add_type(None, word);
        }
    }
}

struct Scan<'a> {
    tokens: &'a Tokens,
    at: usize,
    found: Interface,
    mentioned: HashSet<TextId>,
}

impl<'a> Scan<'a> {
    fn token(&self, at: usize) -> Option<&'a Token> {
        self.tokens.list.get(at)
    }

    fn kind(&self, at: usize) -> Option<Kind> {
        self.token(at).map(|token| token.kind)
    }

    fn word(&self, at: usize) -> Option<&'a str> {
        self.token(at).filter(|token| token.kind == Kind::Id).map(|token| &**self.tokens.texts.get(token.text))
    }

    fn ident(&self, at: usize) -> Option<Ident> {
        let token = self.token(at).filter(|token| token.kind == Kind::Id)?;
        Some(Ident { name: self.tokens.texts.get(token.text).clone(), span: token.span })
    }

    fn mentions(&mut self) {
        for at in 1..self.tokens.list.len() {
            if self.tokens.list[at].kind == Kind::ColonColon
                && let Some(module) = self.ident(at - 1)
                && self.mentioned.insert(self.tokens.list[at - 1].text)
            {
                self.found.mentions.push(module);
            }
        }
    }

    /// Visits the tokens outside of all brackets.
    fn definitions(&mut self) {
        let mut depth = 0usize;
        // Whether the current definition has shown its parameter list; operators behind it are in conditions.
        let mut head_done = false;
        while let Some(token) = self.token(self.at) {
            match token.kind {
                Kind::LParen | Kind::LBracket | Kind::LBrace => {
                    head_done |= token.kind != Kind::LBracket;
                    depth += 1;
                }
                Kind::RParen | Kind::RBracket | Kind::RBrace => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 && token.kind == Kind::RBrace {
                        head_done = false;
                    }
                }
                Kind::Semi if depth == 0 => head_done = false,
                Kind::Id if (depth == 0 || token.first_on_line) && self.definition(depth) => {
                    head_done = false;
                    continue;
                }
                Kind::Hash => self.family(),
                kind if depth == 0 && !head_done && kind.is_operator_piece() => {
                    self.operator_definition();
                    continue;
                }
                _ => {}
            }
            self.at += 1;
        }
    }

    /// Reads a definition that starts with the word at the cursor; whether the cursor has moved behind it.
    fn definition(&mut self, depth: usize) -> bool {
        let at = self.at;
        match self.word(at) {
            Some("use") if depth == 0 => self.load(LoadKind::Use),
            Some("import") if depth == 0 => self.load(LoadKind::Import),
            Some("export") if depth == 0 => self.offer(OfferKind::Export),
            Some("provide") if depth == 0 => self.offer(OfferKind::Provide),
            Some("module") if depth == 0 && self.found.module.is_none() => {
                self.found.module = self.ident(at + 1);
                false
            }
            Some("class") if depth == 0 && self.found.module.is_none() => {
                self.found.module = self.ident(at + 1);
                self.found.is_class = true;
                self.found.types.extend(self.ident(at + 1));
                false
            }
            Some("typedef" | "nested") => {
                // The name is the last word before the `;`.
                let end = (at..self.tokens.list.len()).find(|i| self.kind(*i) == Some(Kind::Semi));
                if let Some(end) = end
                    && let Some(name) = self.ident(end - 1)
                {
                    self.found.types.push(name);
                    self.at = end;
                    return true;
                }
                false
            }
            Some("struct") if self.kind(at + 2) == Some(Kind::LBrace) => {
                self.found.structs.extend(self.ident(at + 1));
                false
            }
            _ => false,
        }
    }

    fn load(&mut self, kind: LoadKind) -> bool {
        let start = self.at;
        let Some(module) = self.ident(start + 1).filter(|_| self.kind(start + 2) == Some(Kind::Colon)) else {
            return false;
        };
        match self.symbols(start + 3) {
            Some((symbols, end)) => {
                self.found.loads.push(Load { kind, module, symbols, span: self.span(start, end) });
                self.at = end;
                true
            }
            None => false,
        }
    }

    fn offer(&mut self, kind: OfferKind) -> bool {
        let start = self.at;
        match self.symbols(start + 1) {
            Some((symbols, end)) => {
                self.found.offers.push(Offer { kind, symbols, span: self.span(start, end) });
                self.at = end;
                true
            }
            None => false,
        }
    }

    fn span(&self, from: usize, upto: usize) -> Span {
        self.tokens.list[from].span.to(self.tokens.list[upto - 1].span)
    }

    /// `all`, `all except {...}` or `{...}`, and the index behind it.
    fn symbols(&self, at: usize) -> Option<(SymbolSet, usize)> {
        if self.word(at) != Some("all") {
            let (list, end) = self.symbol_list(at)?;
            return Some((SymbolSet::Some(list), end));
        }
        if self.word(at + 1) != Some("except") {
            return Some((SymbolSet::All, at + 1));
        }
        let (list, end) = self.symbol_list(at + 2)?;
        Some((SymbolSet::AllExcept(list), end))
    }

    fn symbol_list(&self, mut at: usize) -> Option<(Vec<Ident>, usize)> {
        if self.kind(at)? != Kind::LBrace {
            return None;
        }
        at += 1;
        let mut list = Vec::new();
        loop {
            match self.kind(at)? {
                Kind::RBrace => return Some((list, at + 1)),
                Kind::Comma => at += 1,
                Kind::Id => {
                    list.extend(self.ident(at));
                    at += 1;
                }
                kind if kind.is_operator_piece() => {
                    let (symbol, end) = self.operator(at);
                    list.push(symbol);
                    at = end;
                }
                _ => return None,
            }
        }
    }

    /// The run of adjacent operator tokens at an index as one symbol, and the index behind it.
    fn operator(&self, at: usize) -> (Ident, usize) {
        let mut name = String::new();
        let mut end = at;
        while let Some(token) = self.token(end) {
            if !token.kind.is_operator_piece() || end > at && (token.space_before || token.first_on_line) {
                break;
            }
            name.push_str(self.tokens.texts.get(token.text));
            end += 1;
        }
        (Ident { name: name.into(), span: self.span(at, end.max(at + 1)) }, end)
    }

    /// An operator symbol in front of a parameter list at the top level is being defined.
    fn operator_definition(&mut self) {
        let (symbol, end) = self.operator(self.at);
        if self.kind(end) == Some(Kind::LParen) && is_new_operator(&symbol.name) {
            self.found.operators.push(symbol);
        }
        self.at = end;
    }

    /// `#pragma family N ...` declares the type name N.
    fn family(&mut self) {
        if self.word(self.at + 1) == Some("pragma")
            && self.word(self.at + 2) == Some("family")
            && let Some(name) = self.ident(self.at + 3)
        {
            self.found.families.push(name);
        }
    }
}
