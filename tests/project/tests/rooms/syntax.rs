// SPDX-License-Identifier: MIT OR Apache-2.0
//! A file of Rust as items, imports and the paths that its code mentions. Tests and documentation are left out.

use crate::tokens::Token;

pub(crate) type Names = Vec<String>;

/// The items directly in a module.
#[derive(Debug, Default)]
pub(crate) struct Content {
    pub(crate) items: Vec<Item>,
    pub(crate) imports: Vec<Import>,
    /// Paths in code, each with its first name as it is written.
    pub(crate) mentions: Vec<Names>,
    /// Modules in files of their own.
    pub(crate) files: Vec<Submodule>,
    pub(crate) inline: Vec<(Submodule, Content)>,
}

#[derive(Debug, Clone)]
pub(crate) struct Item {
    pub(crate) name: String,
    /// The keyword: `struct`, `fn`.
    pub(crate) kind: String,
    pub(crate) is_public: bool,
}

#[derive(Debug)]
pub(crate) struct Submodule {
    pub(crate) name: String,
    pub(crate) is_public: bool,
}

/// One leaf of a `use`.
#[derive(Debug)]
pub(crate) struct Import {
    pub(crate) path: Names,
    /// The name under which it is known here; `*` for all of them.
    pub(crate) name: String,
    /// `pub use`.
    pub(crate) is_public: bool,
    /// `pub(crate) use`, `pub use`.
    pub(crate) is_passed_on: bool,
}

const KINDS: [&str; 8] = [
    "struct", "enum", "union", "trait", "type", "fn", "const", "static",
];

pub(crate) fn content(tokens: &[Token]) -> Content {
    let mut reader = Reader { tokens, at: 0 };
    reader.module()
}

struct Reader<'a> {
    tokens: &'a [Token],
    at: usize,
}

impl Reader<'_> {
    fn peek(&self, ahead: usize) -> Option<&Token> {
        self.tokens.get(self.at + ahead)
    }

    fn is(&self, ahead: usize, word: &str) -> bool {
        self.peek(ahead).is_some_and(|token| token.is(word))
    }

    fn is_mark(&self, ahead: usize, mark: char) -> bool {
        self.peek(ahead) == Some(&Token::Mark(mark))
    }

    fn word(&self, ahead: usize) -> String {
        let word = self.peek(ahead).and_then(Token::word);
        word.unwrap_or_default().to_owned()
    }

    /// Up to the end, or the brace that closes it.
    fn module(&mut self) -> Content {
        let mut content = Content::default();
        let (mut is_left_out, mut is_exported) = (false, false);
        while self.at < self.tokens.len() && !self.is_mark(0, '}') {
            if self.is_mark(0, '#') {
                let attribute = self.attribute();
                is_left_out |= is_of_tests(attribute);
                is_exported |= attribute.iter().any(|token| token.is("macro_export"));
                continue;
            }
            if is_left_out {
                self.item();
            } else {
                self.any(&mut content, is_exported);
            }
            (is_left_out, is_exported) = (false, false);
        }
        self.at += 1;
        content
    }

    fn attribute(&mut self) -> &[Token] {
        let start = self.at;
        self.at += if self.is_mark(1, '!') { 2 } else { 1 };
        self.group();
        &self.tokens[start..self.at]
    }

    /// Behind what closes the bracket that stands here.
    fn group(&mut self) {
        let mut depth = 0;
        while let Some(token) = self.peek(0) {
            match token {
                Token::Mark('(' | '[' | '{') => depth += 1,
                Token::Mark(')' | ']' | '}') => depth -= 1,
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                break;
            }
        }
    }

    /// Behind an item: its semicolon, or its last brace.
    fn item(&mut self) -> &[Token] {
        let start = self.at;
        while let Some(token) = self.peek(0) {
            match token {
                Token::Mark(';') => {
                    self.at += 1;
                    break;
                }
                Token::Mark('{') => {
                    self.group();
                    break;
                }
                Token::Mark('(' | '[') => self.group(),
                Token::Mark('}') => break,
                _ => self.at += 1,
            }
        }
        &self.tokens[start..self.at]
    }

    fn any(&mut self, content: &mut Content, is_exported: bool) {
        let (mut is_public, mut is_passed_on) = (false, false);
        if self.is(0, "pub") {
            self.at += 1;
            is_passed_on = true;
            is_public = !self.is_mark(0, '(');
            if !is_public {
                self.group();
            }
        }
        if self.is(0, "use") {
            self.at += 1;
            let mut leaves = self.tree(&[]);
            self.at += 1;
            for leaf in &mut leaves {
                (leaf.is_public, leaf.is_passed_on) = (is_public, is_passed_on);
            }
            content.imports.extend(leaves);
            return;
        }
        if self.is(0, "mod") {
            let name = self.word(1);
            let submodule = Submodule { name, is_public };
            let is_file = self.is_mark(2, ';');
            self.at += 3;
            if is_file {
                content.files.push(submodule);
            } else {
                let inner = self.module();
                content.inline.push((submodule, inner));
            }
            return;
        }
        if self.is(0, "macro_rules") {
            let (name, kind) = (self.word(2), self.word(0));
            content.items.push(Item {
                name,
                kind,
                is_public: is_exported,
            });
            self.at += 3;
        }
        while ["const", "async", "unsafe", "extern"]
            .iter()
            .any(|it| self.is(0, it))
            && ["fn", "unsafe", "extern", "async", "impl", "trait"]
                .iter()
                .any(|it| self.is(1, it))
        {
            self.at += 1;
        }
        if let Some(kind) = KINDS.iter().find(|kind| self.is(0, kind)) {
            content.items.push(Item {
                name: self.word(1),
                kind: (*kind).to_owned(),
                is_public,
            });
            self.at += 2;
        }
        let start = self.at;
        let is_macro = self.is_mark(1, '!');
        let code = self.item();
        collect(code, content);
        if let ([_, _, _, inner @ ..], true) = (code, is_macro) {
            content.items.extend(self::content(inner).items);
        }
        self.at = self.at.max(start + 1);
    }

    /// The leaves of a tree of names, up to the semicolon, comma or brace that ends it.
    fn tree(&mut self, prefix: &[String]) -> Vec<Import> {
        let mut path = prefix.to_vec();
        let mut leaves = Vec::new();
        let mut name = None;
        while let Some(token) = self.peek(0) {
            match token {
                Token::Mark('{') => {
                    self.at += 1;
                    while !self.is_mark(0, '}') && self.at < self.tokens.len() {
                        leaves.extend(self.tree(&path));
                        if self.is_mark(0, ',') {
                            self.at += 1;
                        }
                    }
                    self.at += 1;
                    return leaves;
                }
                Token::Mark(';' | ',' | '}') => break,
                Token::Word(word) if word == "as" => {
                    name = Some(self.word(1));
                    self.at += 1;
                }
                Token::Word(word) => path.push(word.clone()),
                Token::Mark('*') => name = Some("*".into()),
                _ => {}
            }
            self.at += 1;
        }
        if path.last().is_some_and(|last| last == "self") {
            path.pop();
        }
        let name = name.or_else(|| path.last().cloned());
        leaves.extend(name.map(|name| Import {
            path,
            name,
            is_public: false,
            is_passed_on: false,
        }));
        leaves
    }
}

/// `cfg(test)`, `cfg(doctest)`, `cfg(all(test, ..))`.
fn is_of_tests(attribute: &[Token]) -> bool {
    let has = |word: &str| attribute.iter().any(|token| token.is(word));
    has("cfg") && (has("test") || has("doctest")) && !has("not") && !has("any")
}

/// The paths and imports within code.
fn collect(code: &[Token], content: &mut Content) {
    let mut at = 0;
    while at < code.len() {
        let before = |back: usize| at.checked_sub(back).map(|place| &code[place]);
        let is_member =
            before(1) == Some(&Token::Mark('.')) && before(2) != Some(&Token::Mark('.'));
        if code[at].is("use") && before(1) != Some(&Token::Mark('+')) {
            let mut reader = Reader {
                tokens: code,
                at: at + 1,
            };
            content.imports.extend(reader.tree(&[]));
            at = reader.at;
            continue;
        }
        let Some(first) = code[at].word() else {
            at += 1;
            continue;
        };
        let mut path = vec![first.to_owned()];
        let is_rest = before(1) == Some(&Token::Path);
        at += 1;
        while code.get(at) == Some(&Token::Path) {
            let Some(next) = code.get(at + 1).and_then(Token::word) else {
                break;
            };
            path.push(next.to_owned());
            at += 2;
        }
        let is_called = matches!(code.get(at), Some(Token::Mark('(' | '!')));
        let is_name = first.starts_with(char::is_uppercase) || is_called || path.len() > 1;
        if is_name && !is_member && !is_rest {
            content.mentions.push(path);
        }
    }
}

#[test]
fn items_imports_and_mentions_are_read() {
    let code = "
        pub(crate) use a::{B, c::{self, D as E}};
        #[cfg(test)] mod tests { use super::*; }
        mod f; pub mod g { pub struct H; }
        impl I for B { fn j(&self) -> K { self.L(); m::n::<O>(); use p::*; } }
        pub const unsafe fn q() {}
        #[macro_export] macro_rules! r { () => {} }
        s! { pub enum T {} }";
    let content = content(&crate::tokens::tokens(code));
    let imports = content.imports.iter();
    let imports: Vec<_> = imports.map(|it| (it.path.join("::"), &*it.name)).collect();
    let expected = [("a::B", "B"), ("a::c", "c"), ("a::c::D", "E"), ("p", "*")];
    assert_eq!(
        imports,
        expected.map(|(path, name)| (path.to_owned(), name))
    );
    let mentions: Vec<_> = content.mentions.iter().map(|it| it.join("::")).collect();
    assert_eq!(mentions, ["I", "B", "j", "K", "m::n", "O", "s", "T"]);
    let items: Vec<_> = content
        .items
        .iter()
        .map(|it| (&*it.name, &*it.kind))
        .collect();
    assert_eq!(items, [("q", "fn"), ("r", "macro_rules"), ("T", "enum")]);
    assert_eq!(content.files[0].name, "f");
    assert_eq!(content.inline[0].1.items[0].name, "H");
}
