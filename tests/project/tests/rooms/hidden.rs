// SPDX-License-Identifier: MIT OR Apache-2.0
//! Items that are hidden from users, and that another package uses: no version says whether they change, so that package
//! requires exactly one version of theirs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::list::only_listed;
use crate::packages::{Package, Packages, sources};
use crate::tokens::{Token, tokens};

/// Hidden names that other items have, too. No package uses the hidden ones of these of a package that it does not require
/// exactly: so says the compiler where `#[doc(hidden)]` is replaced by `#[deprecated]`.
const COMMON: [&str; 14] = [
    "Course", "begin", "ended", "event", "failed", "guarded", "limit", "limited", "new", "parts",
    "pause", "waits", "wants", "words",
];

/// The code of a file, without its tests.
fn code(text: &str) -> Vec<Token> {
    tokens(text.split("#[cfg(test)]").next().unwrap())
}

fn is_mark(token: Option<&Token>, mark: char) -> bool {
    token == Some(&Token::Mark(mark))
}

/// The end of the group that begins with the first such mark.
fn end_of(code: &[Token], from: usize, open: char, close: char) -> usize {
    let mut depth = 0;
    for (at, token) in code.iter().enumerate().skip(from) {
        if *token == Token::Mark(open) {
            depth += 1;
        } else if *token == Token::Mark(close) {
            depth -= 1;
            if depth == 0 {
                return at + 1;
            }
        }
    }
    code.len()
}

/// The names of functions, constants and types in it.
fn defined(code: &[Token]) -> impl Iterator<Item = &str> {
    let kinds = [
        "fn", "const", "struct", "enum", "trait", "type", "static", "mod",
    ];
    code.windows(2).filter_map(move |pair| {
        let is_kind = kinds.iter().any(|kind| pair[0].is(kind));
        let name = pair[1].word().filter(|name| !kinds.contains(name));
        name.filter(|_| is_kind)
    })
}

/// Hidden names: of an item, of what a hidden implementation has, of what is hidden where it is passed on.
fn hidden(code: &[Token]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let attribute = tokens("#[doc(hidden)]");
    for start in 0..code.len() {
        if !code[start..].starts_with(&attribute) {
            continue;
        }
        let mut at = start;
        while is_mark(code.get(at), '#') {
            at = end_of(code, at, '[', ']');
        }
        let item = &code[at..];
        let is_function = |token: &&Token| token.is("fn");
        let ends = |token: &Token| [';', '{', '='].iter().any(|it| *token == Token::Mark(*it));
        let head = item.iter().position(ends).unwrap_or(item.len());
        if item[..head].iter().any(|token| token.is("use")) {
            let end = item.iter().position(|it| *it == Token::Mark(';')).unwrap();
            let names = item[..=end]
                .windows(2)
                .filter(|pair| [',', '}', ';'].iter().any(|it| is_mark(pair.get(1), *it)));
            found.extend(names.filter_map(|pair| pair[0].word()).map(str::to_owned));
        } else if item[0].is("impl") {
            let inside = &item[head..end_of(item, 0, '{', '}')];
            found.extend(defined(inside).map(str::to_owned));
        } else if item[..head].iter().find(is_function).is_some() {
            let at = item.iter().position(|token| token.is("fn")).unwrap();
            found.extend(item[at + 1].word().map(str::to_owned));
        } else {
            found.extend(defined(&item[..head]).next().map(str::to_owned));
        }
    }
    found
}

/// The names that code uses: of paths, of methods, of implementations, and of types anywhere.
fn used(code: &[Token]) -> BTreeSet<&str> {
    let mut found = BTreeSet::new();
    for (at, token) in code.iter().enumerate() {
        let Some(name) = token.word() else { continue };
        let before = at.checked_sub(1).map(|at| &code[at]);
        let is_path = before == Some(&Token::Path) || is_mark(before, '.');
        let is_imported = is_mark(before, '{') || is_mark(before, ',');
        let is_own = before.is_some_and(|it| it.is("fn") || it.is("const"));
        if is_path || is_imported || is_own || name.starts_with(char::is_uppercase) {
            found.insert(name);
        }
    }
    found
}

/// Returns whether a manifest requires exactly one version of a package.
fn is_exact(manifest: &str, package: &str) -> bool {
    let start = format!("{package} = ");
    let mut lines = manifest.lines().filter(|line| line.starts_with(&start));
    lines.any(|line| line.contains("version = \"="))
}

fn of_package(package: &Package) -> Vec<Vec<Token>> {
    let files = sources(&package.folder.join("src"));
    let text = |path: &Path| code(&fs::read_to_string(path).unwrap());
    files.iter().map(|path| text(path)).collect()
}

#[test]
fn a_package_requires_exactly_the_version_whose_hidden_items_it_uses() {
    let packages = Packages::published();
    let code: Vec<_> = packages.packages.iter().map(of_package).collect();
    let hidden: BTreeMap<usize, BTreeSet<String>> = code
        .iter()
        .enumerate()
        .map(|(place, files)| (place, files.iter().flat_map(|file| hidden(file)).collect()))
        .collect();
    let (mut found, mut faults) = (BTreeSet::new(), Vec::new());
    for (place, package) in packages.packages.iter().enumerate() {
        let used: BTreeSet<_> = code[place].iter().flat_map(|file| used(file)).collect();
        let own: BTreeSet<_> = hidden[&place].iter().map(String::as_str).collect();
        let manifest = fs::read_to_string(package.folder.join("Cargo.toml")).unwrap();
        for below in packages.below(place) {
            let library = &packages.packages[below].library;
            let names = hidden[&below].iter().map(String::as_str);
            for name in names.filter(|it| used.contains(it) && !own.contains(it)) {
                if COMMON.contains(&name) {
                    continue;
                }
                let line = format!("{}: {name} of {library}", package.name);
                if !is_exact(&manifest, &library.replace('_', "-")) {
                    faults.push(line.clone());
                }
                found.insert(line);
            }
        }
    }
    only_listed("hidden.txt", found.iter().map(String::as_str));
    assert!(
        faults.is_empty(),
        "not of exactly one version:\n{}",
        faults.join("\n")
    );
}

#[test]
fn control_hidden_items_and_their_users_are_found() {
    let text = "#[doc(hidden)] #[inline] pub const fn a() -> u8 { b() }
        trait T { #[doc(hidden)] const C: bool = false; #[doc(hidden)] fn d(); fn e(); }
        #[doc(hidden)] impl X { pub fn f(&self) {} fn g() {} } impl X { fn h() {} }
        #[doc(hidden)] pub use inner::{I, j}; #[doc(hidden)] pub struct K<L>(L);";
    let found = hidden(&tokens(text));
    let names: Vec<_> = found.iter().map(String::as_str).collect();
    assert_eq!(names, ["C", "I", "K", "a", "d", "f", "g", "j"]);
    let code = tokens("use x::{I, j}; fn a(b: K) { b.f(); let g = c; T::C }");
    let used = used(&code);
    let found: Vec<_> = names.into_iter().filter(|it| used.contains(it)).collect();
    assert_eq!(found, ["C", "I", "K", "a", "f", "j"]);
    let manifest = "a = { path = \"a\", version = \"=0.1.0\" }\nb = { workspace = true }";
    assert!(is_exact(manifest, "a") && !is_exact(manifest, "b"));
}
