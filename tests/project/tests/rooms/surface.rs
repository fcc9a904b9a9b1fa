// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ways to make a guarded call, and traits that lead to a breaker: few, so that what is added to calls is added once.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use crate::list::only_listed;
use crate::packages::{Packages, root, sources};
use crate::tokens::{Token, tokens};

#[derive(Debug, Default)]
struct Surface {
    functions: Vec<String>,
    /// Each with the words in it.
    traits: Vec<(String, Vec<String>)>,
}

/// The end of the group that begins with the next brace, or the semicolon before it.
fn end(code: &[Token], from: usize) -> usize {
    let mut depth = 0;
    for (at, token) in code.iter().enumerate().skip(from) {
        match token {
            Token::Mark('{') => depth += 1,
            Token::Mark('}') => depth -= 1,
            Token::Mark(';') if depth == 0 => return at,
            _ => continue,
        }
        if depth == 0 {
            return at;
        }
    }
    code.len()
}

/// Public functions, those of public traits among them, and public traits.
fn surface(code: &[Token]) -> Surface {
    let mut found = Surface::default();
    let mut at = 0;
    while at < code.len() {
        if !code[at].is("pub") {
            at += 1;
            continue;
        }
        at += 1;
        while ["const", "async", "unsafe"]
            .iter()
            .any(|it| code.get(at).is_some_and(|token| token.is(it)))
        {
            at += 1;
        }
        let [first, Token::Word(name), ..] = &code[at..] else {
            continue;
        };
        if first.is("fn") {
            found.functions.push(name.clone());
        }
        if first.is("trait") {
            let whole = &code[at..end(code, at)];
            let words = whole.iter().filter_map(Token::word).map(str::to_owned);
            let methods = whole.windows(2).filter(|pair| pair[0].is("fn"));
            found
                .functions
                .extend(methods.filter_map(|pair| pair[1].word()).map(str::to_owned));
            found.traits.push((name.clone(), words.collect()));
        }
    }
    found
}

/// The packages with ways to make a call; those above them build on these.
const SURFACES: [&str; 5] = [
    "core",
    "std-adapter",
    "std-adapter/server",
    "std-adapter/around/mapped",
    "embassy-adapter",
];
/// There are no more public functions that make a guarded call than this. Six of them are those of `first_of`, whose
/// rejection is that of several keys, four those of `Device`, which owns its driver, two those of `blocking`, for threads.
const MOST_CALLS: usize = 36;
/// There are no more traits that lead to a breaker than this.
const MOST_TRAITS: usize = 5;

/// `call`, `call_async_with`, `retry`, but neither `calls` nor `retry_after`.
fn is_call(function: &str) -> bool {
    let mut words = function.split('_');
    let first = words.next().unwrap_or_default();
    let ways = [
        "async", "fn", "mut", "owned", "prober", "reported", "timeout", "when", "ready", "with",
        "within",
    ];
    ["acquire", "attempt", "call", "retry", "run"].contains(&first)
        && words.all(|word| ways.contains(&word))
}

/// A trait of any breaker, registry or guard, or whose methods bring one, or a permit. Not one that is given a permit.
fn leads_to_a_breaker(name: &str, words: &[String]) -> bool {
    let targets = ["Breaker", "Permit", "Registry", "Resource", "Snapshot"];
    let leads = |word: &String| word != name && targets.iter().any(|it| word.ends_with(it));
    let is_given_one = ["AnyPermit", "ClientResponse", "ReadOn", "Report"].contains(&name);
    !is_given_one && (name.starts_with("Any") || words.iter().any(leads))
}

fn surfaces() -> Vec<(String, String, Surface)> {
    let mut found = Vec::new();
    for package in &Packages::published().packages {
        for file in sources(&package.folder.join("src")) {
            let text = fs::read_to_string(&file).unwrap();
            let code = tokens(text.split("#[cfg(test)]").next().unwrap());
            let file = file.strip_prefix(root()).unwrap().display().to_string();
            found.push((package.name.clone(), file, surface(&code)));
        }
    }
    found
}

#[test]
fn public_functions_that_make_a_guarded_call_are_listed() {
    let mut found = BTreeSet::new();
    for (package, file, surface) in surfaces() {
        if SURFACES.contains(&&*package) {
            let calls = surface.functions.into_iter().filter(|name| is_call(name));
            found.extend(calls.map(|name| format!("{file}: {name}")));
        }
    }
    println!("{} public functions make a guarded call", found.len());
    only_listed("calls.txt", found.iter().map(String::as_str));
    assert!(found.len() <= MOST_CALLS);
}

#[test]
fn public_traits_that_lead_to_a_breaker_are_listed() {
    let packages = Packages::published();
    let given = packages.packages.iter().map(|package| {
        let names = packages.reachable(package.root);
        (&*package.name, names)
    });
    let given: BTreeMap<_, _> = given.collect();
    let mut found = BTreeSet::new();
    for (package, file, surface) in surfaces() {
        let public = surface.traits.into_iter();
        let public = public.filter(|(name, _)| given[&*package].contains(name));
        let leading = public.filter(|(name, words)| leads_to_a_breaker(name, words));
        found.extend(leading.map(|(name, _)| format!("{file}: {name}")));
    }
    println!("{} public traits lead to a breaker", found.len());
    only_listed("traits.txt", found.iter().map(String::as_str));
    assert!(found.len() <= MOST_TRAITS);
}

#[test]
fn control_calls_and_traits_are_found() {
    let code = "impl A { pub async fn call_with() {} fn call() {} pub fn retry_after() {} }
        pub trait B { fn retry(&self) { let c = || {}; } fn permit(&self) -> Permit; }
        pub trait D { fn e(&self, call: Outcome); }";
    let found = surface(&tokens(code));
    let calls: Vec<_> = found
        .functions
        .iter()
        .filter(|name| is_call(name))
        .collect();
    assert_eq!(calls, ["call_with", "retry"]);
    let leading = found
        .traits
        .iter()
        .filter(|(name, words)| leads_to_a_breaker(name, words));
    assert_eq!(leading.map(|(name, _)| &**name).collect::<Vec<_>>(), ["B"]);
}
