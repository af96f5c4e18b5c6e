//! From identifiers to what the grammar needs to know about them.
//!
//! After preprocessing, this pass turns identifiers into keywords, type names and struct names, joins qualified
//! names, adjacent strings and user-defined operators into one token each, and folds every pragma into one token.
//! Tokens that are errors of their own are reported here and stay in the list, where no grammar rule accepts them.

use crate::ast::{Expr, Pragma, Text};
use crate::bulk;
use crate::errors::{SyntaxError, quoted};
use crate::literal;
use crate::pragma;
use crate::tokens::{Kind, TextId, Texts, Token, Tokens};
use ravel_diagnostics::Diagnostic;
use ravel_source::Span;
use ravel_types::{HashMap, HashSet};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The names that are types in one file although they are identifiers by their looks.
///
/// What the file itself defines need not be added: [`crate::parse_file`] finds it.
#[derive(Clone, Debug, Default)]
pub struct TypeNames {
    types: Names,
    structs: Names,
    operators: BTreeSet<String>,
}

#[derive(Clone, Debug, Default)]
struct Names {
    bare: HashSet<Text>,
    qualified: HashMap<Text, HashSet<Text>>,
}

impl Names {
    fn add(&mut self, module: Option<&str>, name: &str) {
        match module {
            None => self.bare.insert(name.into()),
            Some(module) => self.qualified.entry(module.into()).or_default().insert(name.into()),
        };
    }

    fn has(&self, module: Option<&str>, name: &str) -> bool {
        match module {
            None => self.bare.contains(name),
            Some(module) => self.qualified.get(module).is_some_and(|names| names.contains(name)),
        }
    }
}

impl TypeNames {
    /// A typedef, class or family; visible as `name` without a module, as `module::name` with one.
    pub fn add_type(&mut self, module: Option<&str>, name: &str) {
        self.types.add(module, name);
    }

    /// A struct, visible as for [`TypeNames::add_type`].
    pub fn add_struct(&mut self, module: Option<&str>, name: &str) {
        self.structs.add(module, name);
    }

    /// A user-defined operator symbol such as `+++`; it extends the lexer by longest match.
    pub fn add_operator(&mut self, symbol: &str) {
        self.operators.insert(symbol.to_string());
    }
}

/// The tokens that the grammar sees, with what they carry.
pub(crate) struct Classified {
    pub(crate) list: Vec<Token>,
    pub(crate) texts: Texts,
    /// By token index.
    pub(crate) strings: HashMap<usize, Arc<[u8]>>,
    pub(crate) pragmas: HashMap<usize, Pragma>,
    /// The trees of array literals; the parse that meets one takes it.
    pub(crate) arrays: RefCell<HashMap<usize, Expr>>,
    pub(crate) end: ravel_source::Span,
    pub(crate) comments: Vec<(ravel_source::Span, TextId)>,
    /// See [`Tokens::uses`].
    pub(crate) uses: BTreeMap<ravel_source::Span, TextId>,
}

/// Words with a token kind of their own. Words that the language reserves without a use in the grammar (`local`,
/// `target`, ...) and the words of pragmas are free identifiers.
const KEYWORDS: [(&str, Kind); 49] = [
    ("bool", Kind::BaseType),
    ("char", Kind::BaseType),
    ("byte", Kind::BaseType),
    ("short", Kind::BaseType),
    ("int", Kind::BaseType),
    ("long", Kind::BaseType),
    ("longlong", Kind::BaseType),
    ("ubyte", Kind::BaseType),
    ("ushort", Kind::BaseType),
    ("uint", Kind::BaseType),
    ("ulong", Kind::BaseType),
    ("ulonglong", Kind::BaseType),
    ("float", Kind::BaseType),
    ("double", Kind::BaseType),
    ("true", Kind::True),
    ("false", Kind::False),
    ("all", Kind::All),
    ("class", Kind::Class),
    ("classtype", Kind::ClassType),
    ("deprecated", Kind::Deprecated),
    ("do", Kind::Do),
    ("else", Kind::Else),
    ("except", Kind::Except),
    ("export", Kind::Export),
    ("external", Kind::External),
    ("fold", Kind::Fold),
    ("foldfix", Kind::FoldFix),
    ("for", Kind::For),
    ("genarray", Kind::Genarray),
    ("if", Kind::If),
    ("import", Kind::Import),
    ("inline", Kind::Inline),
    ("modarray", Kind::Modarray),
    ("module", Kind::Module),
    ("nested", Kind::Nested),
    ("noinline", Kind::NoInline),
    ("objdef", Kind::ObjDef),
    ("propagate", Kind::Propagate),
    ("provide", Kind::Provide),
    ("return", Kind::Return),
    ("specialize", Kind::Specialize),
    ("step", Kind::Step),
    ("struct", Kind::Struct),
    ("typedef", Kind::Typedef),
    ("use", Kind::Use),
    ("void", Kind::Void),
    ("while", Kind::While),
    ("width", Kind::Width),
    ("with", Kind::With),
];

/// The words that the grammar knows, those included that are names where no rule of theirs fits (`all`, `step`).
pub fn keywords() -> impl Iterator<Item = &'static str> {
    KEYWORDS.iter().map(|(word, _)| *word)
}

/// The kind of a keyword, [`Kind::Id`] for every other word.
pub(crate) fn keyword(word: &str) -> Kind {
    KEYWORDS.iter().find(|(text, _)| *text == word).map_or(Kind::Id, |(_, kind)| *kind)
}

/// Classifies all tokens. Type names that the file defines itself must be in `names` already.
pub(crate) fn classify(tokens: &Tokens, names: &TypeNames, reports: &mut Vec<Diagnostic>) -> Classified {
    let mut pass = Pass {
        input: &tokens.list,
        at: 0,
        names,
        word_kinds: Vec::new(),
        relations: vec![false],
        reports,
        out: Classified {
            list: Vec::with_capacity(tokens.list.len()),
            texts: tokens.texts.clone(),
            strings: HashMap::default(),
            pragmas: HashMap::default(),
            arrays: RefCell::default(),
            end: tokens.end,
            comments: tokens.comments.clone(),
            uses: tokens.uses.clone(),
        },
    };
    while let Some(token) = pass.input.get(pass.at) {
        pass.token(*token);
    }
    pass.out
}

struct Pass<'a> {
    input: &'a [Token],
    at: usize,
    names: &'a TypeNames,
    /// The kind of each bare word that was looked up before, by text.
    word_kinds: Vec<Option<Kind>>,
    /// Per open bracket, whether a `<` or `<=` stands in it since its last comma or semicolon.
    relations: Vec<bool>,
    reports: &'a mut Vec<Diagnostic>,
    out: Classified,
}

impl Pass<'_> {
    fn token(&mut self, token: Token) {
        match token.kind {
            Kind::Id => self.word(token),
            Kind::Num => self.number(token),
            Kind::Str => self.string(token),
            Kind::Char => {
                if let Err(cause) = literal::parse_char(self.out.texts.get(token.text)) {
                    let text = self.out.texts.get(token.text).to_string();
                    if cause == literal::LiteralError::CharLength
                        && let Ok(bytes) = literal::parse_string(&literal::in_double_quotes(&text))
                    {
                        // What is no character was meant as a string; it is one from here on.
                        self.reports.push(SyntaxError::Literal { text, cause }.at(token.span));
                        self.out.strings.insert(self.out.list.len(), bytes.into());
                        self.push(Token { kind: Kind::Str, ..token });
                        return;
                    }
                    self.reports.push(SyntaxError::Literal { text, cause }.at(token.span));
                }
                self.push(token);
            }
            Kind::Hash => self.hash(token),
            Kind::LBracket if self.out.list.last().is_some_and(|last| bulk::may_precede(last.kind)) => {
                match bulk::array_literal(&self.input[self.at..], &self.out.texts) {
                    Some((array, length)) => {
                        let index = self.out.list.len();
                        self.out.list.push(Token { kind: Kind::NumArray, span: array.span, ..token });
                        self.out.arrays.borrow_mut().insert(index, array);
                        self.at += length;
                    }
                    None => self.push(token),
                }
            }
            Kind::LBrace => {
                let count = self.out.list.len();
                let in_type = count >= 2 && self.out.list[count - 2].kind == Kind::Struct;
                if let Some(last) = self.out.list.last_mut()
                    && last.kind == Kind::SName
                    && !in_type
                {
                    last.kind = Kind::SLit;
                }
                self.push(token);
            }
            kind if kind.is_operator_piece() => self.operator(token),
            _ => self.push(token),
        }
    }

    fn push(&mut self, token: Token) {
        match token.kind {
            Kind::LParen | Kind::LBracket | Kind::LBrace => self.relations.push(false),
            Kind::RParen | Kind::RBracket | Kind::RBrace if self.relations.len() > 1 => {
                self.relations.pop();
            }
            Kind::Less | Kind::LessEq => self.set_relation(true),
            Kind::Comma | Kind::Semi => self.set_relation(false),
            _ => {}
        }
        self.out.list.push(token);
        self.at += 1;
    }

    fn set_relation(&mut self, seen: bool) {
        if let Some(top) = self.relations.last_mut() {
            *top = seen;
        }
    }

    /// `step` and `width` are keywords behind a bound of a generator and free names everywhere else.
    fn behind_bound(&self) -> bool {
        let ends_operand = match self.out.list.as_slice() {
            // A `.` that is a bound, not one in front of a field.
            [.., before, Token { kind: Kind::Dot, .. }] => matches!(before.kind, Kind::Less | Kind::LessEq),
            [.., last] => matches!(
                last.kind,
                Kind::Id
                    | Kind::SName
                    | Kind::Num
                    | Kind::OtherNum
                    | Kind::NumArray
                    | Kind::Char
                    | Kind::Str
                    | Kind::True
                    | Kind::False
                    | Kind::RParen
                    | Kind::RBracket
                    | Kind::RBrace
            ),
            [] => false,
        };
        ends_operand && self.relations.len() > 1 && self.relations.last() == Some(&true)
    }

    /// The names of what with-loops make are keywords in front of arguments, where the grammar tells them from functions of these names.
    fn is_called(&self) -> bool {
        self.input.get(self.at + 1).is_some_and(|next| next.kind == Kind::LParen)
    }

    /// `all` and `except` are keywords where a header says which symbols it means.
    fn in_symbol_list(&self) -> bool {
        match self.out.list.as_slice() {
            [.., last] if matches!(last.kind, Kind::All | Kind::Export | Kind::Provide) => true,
            [.., load, _, Token { kind: Kind::Colon, .. }] => matches!(load.kind, Kind::Use | Kind::Import),
            _ => false,
        }
    }

    /// A keyword, a name, or a name with its module.
    fn word(&mut self, token: Token) {
        let qualified = self.input.get(self.at + 1).is_some_and(|next| next.kind == Kind::ColonColon);
        if !qualified {
            let mut kind = self.bare_kind(token.text);
            let is_keyword = match kind {
                Kind::Step | Kind::Width => self.behind_bound(),
                Kind::All | Kind::Except => self.is_called() || self.in_symbol_list(),
                Kind::Genarray | Kind::Modarray | Kind::Fold | Kind::FoldFix | Kind::Propagate => self.is_called(),
                _ => true,
            };
            if !is_keyword {
                kind = Kind::Id;
            }
            self.push(Token { kind, ..token });
            return;
        }
        self.at += 2;
        let module = token.text;
        match self.input.get(self.at).copied() {
            Some(name) if name.kind == Kind::Id => {
                let (texts, names) = (&self.out.texts, self.names);
                let (module_text, name_text) = (Some(&**texts.get(module)), &**texts.get(name.text));
                let kind = if names.structs.has(module_text, name_text) {
                    Kind::SName
                } else if names.types.has(module_text, name_text) {
                    Kind::TypeName
                } else {
                    Kind::Id
                };
                self.push(Token { kind, module, span: token.span.to(name.span), text: name.text, ..token });
            }
            Some(name) if name.kind.is_operator_piece() => {
                let first = self.out.list.len();
                self.operator(name);
                let operator = &mut self.out.list[first];
                operator.module = module;
                operator.span = token.span.to(operator.span);
            }
            other => {
                let module = self.out.texts.get(module).to_string();
                let place = other.map_or(self.out.end, |next| next.span);
                self.reports.push(SyntaxError::QualifiedNothing { module }.at(place));
                self.out.list.push(Token { kind: Kind::Stray, ..token });
            }
        }
    }

    fn bare_kind(&mut self, text: TextId) -> Kind {
        let slot = text.0 as usize;
        if slot >= self.word_kinds.len() {
            self.word_kinds.resize(slot.max(self.out.texts.len()) + 1, None);
        }
        if let Some(kind) = self.word_kinds[slot] {
            return kind;
        }
        let word = &**self.out.texts.get(text);
        let kind = match keyword(word) {
            Kind::Id if self.names.structs.has(None, word) => Kind::SName,
            Kind::Id if self.names.types.has(None, word) => Kind::TypeName,
            kind => kind,
        };
        self.word_kinds[slot] = Some(kind);
        kind
    }

    fn number(&mut self, token: Token) {
        let text = &**self.out.texts.get(token.text);
        let mut kind = Kind::OtherNum;
        match literal::parse_number(text) {
            Ok(_) if text.bytes().all(|b| b.is_ascii_digit()) && (text == "0" || !text.starts_with('0')) => {
                kind = Kind::Num;
            }
            Ok(_) => {}
            Err(cause) => {
                let text = text.to_string();
                self.reports.push(SyntaxError::Literal { text, cause }.at(token.span));
            }
        }
        self.push(Token { kind, ..token });
    }

    /// A string with all that follow it directly.
    fn string(&mut self, token: Token) {
        let mut bytes = Vec::new();
        let mut span = token.span;
        while let Some(next) = self.input.get(self.at).filter(|next| next.kind == Kind::Str) {
            let text = self.out.texts.get(next.text);
            match literal::parse_string(text) {
                Ok(more) => bytes.extend(more),
                Err(cause) => {
                    let text = text.to_string();
                    self.reports.push(SyntaxError::Literal { text, cause }.at(next.span));
                }
            }
            span = span.to(next.span);
            self.at += 1;
        }
        self.out.strings.insert(self.out.list.len(), bytes.into());
        self.out.list.push(Token { span, ..token });
    }

    /// The longest user-defined operator that starts here, else the token itself.
    fn operator(&mut self, token: Token) {
        let mut symbol = String::new();
        let mut best = None;
        if !self.names.operators.is_empty() {
            for (count, piece) in self.input[self.at..].iter().enumerate() {
                if !piece.kind.is_operator_piece() || count > 0 && (piece.space_before || piece.first_on_line) {
                    break;
                }
                symbol.push_str(self.out.texts.get(piece.text));
                // The symbols that begin like this, in order.
                let mut longer = self.names.operators.range(symbol.clone()..).take_while(|s| s.starts_with(&symbol));
                let Some(next) = longer.next() else { break };
                if count > 0 && *next == symbol {
                    best = Some((count, symbol.clone()));
                }
            }
        }
        match best {
            Some((count, symbol)) => {
                let text = self.out.texts.intern(&symbol);
                let span = token.span.to(self.input[self.at + count].span);
                self.out.list.push(Token { kind: Kind::UserOp, text, span, ..token });
                self.at += count + 1;
            }
            None => self.push(token),
        }
    }

    fn hash(&mut self, token: Token) {
        match pragma::parse(&self.input[self.at..], &self.out.texts) {
            Some(parsed) => {
                self.reports.extend(parsed.error);
                self.out.pragmas.insert(self.out.list.len(), parsed.pragma);
                self.out.list.push(Token { kind: Kind::Pragma, span: parsed.span, ..token });
                self.at += parsed.length;
            }
            None => self.push(token),
        }
    }
}

/// Reports a token that is an error in itself; the preprocessor calls this for each that survives.
pub(crate) fn report_bad_token(token: &Token, texts: &Texts) -> Option<Diagnostic> {
    let error = match token.kind {
        Kind::Stray => {
            // A run has the text of its first character only.
            let text = texts.get(token.text);
            let is_all = (token.span.end - token.span.start) as usize == text.len();
            let written = if is_all { text.to_string() } else { String::new() };
            SyntaxError::StrayCharacters { text: quoted(text), written }
        }
        Kind::Str => {
            // The text of a macro stands elsewhere than where it is used.
            let text = texts.get(token.text);
            let at = text.find('\u{fffd}')?;
            let is_in_place = (token.span.end - token.span.start) as usize == text.len();
            let start = token.span.start as usize + at;
            let place = Span::new(token.span.file, start, start + '\u{fffd}'.len_utf8());
            return Some(SyntaxError::BadByte.at(if is_in_place { place } else { token.span }));
        }
        Kind::OpenStr => SyntaxError::OpenString,
        Kind::OpenChar => SyntaxError::OpenChar,
        Kind::OpenComment => SyntaxError::OpenComment,
        _ => return None,
    };
    Some(error.at(token.span))
}
