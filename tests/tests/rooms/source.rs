//! Finds which modules of a package use which others.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// A module at the top of a package.
#[derive(Debug, Default)]
pub(crate) struct Module {
    pub(crate) is_folder: bool,
    /// Other modules, each with a file that uses it.
    pub(crate) uses: BTreeMap<String, String>,
}

/// The modules at the top of a package. Uses in tests and documentation do not count.
pub(crate) fn modules_of(source: &Path) -> BTreeMap<String, Module> {
    let root = without_comments(&fs::read_to_string(source.join("lib.rs")).unwrap());
    let mut modules = BTreeMap::<String, Module>::new();
    let mut files = Vec::new();
    for entry in fs::read_dir(source).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        if name == "lib" || !is_module(&root, &name) {
            continue;
        }
        let module = Module {
            is_folder: path.is_dir(),
            ..Module::default()
        };
        modules.insert(name.clone(), module);
        collect(&path, vec![name], &mut files);
    }
    let exported = exports(&root, &modules.keys().cloned().collect());
    for (module, text, file) in files {
        for path in paths(&text) {
            let Some(first) = resolved(&module, &path) else {
                continue;
            };
            let target = exported.get(&first).cloned().unwrap_or(first);
            if target != module[0] && modules.contains_key(&target) {
                let uses = &mut modules.get_mut(&module[0]).unwrap().uses;
                uses.entry(target).or_insert_with(|| file.clone());
            }
        }
    }
    modules
}

fn is_module(root: &str, name: &str) -> bool {
    root.lines().any(|line| {
        let line = line
            .trim_start_matches("pub(crate) ")
            .trim_start_matches("pub ");
        line == format!("mod {name};")
    })
}

/// The files of a module, each with the path of its module.
fn collect(path: &Path, module: Vec<String>, files: &mut Vec<(Vec<String>, String, String)>) {
    if path.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            let inner = entry.unwrap().path();
            let name = inner.file_stem().unwrap().to_str().unwrap().to_owned();
            let mut module = module.clone();
            if name != "mod" {
                module.push(name);
            }
            collect(&inner, module, files);
        }
    } else if path.extension().is_some_and(|extension| extension == "rs") {
        let text = without_comments(&fs::read_to_string(path).unwrap());
        // Tests stand at the end of a file.
        let code = text.split("#[cfg(test)]").next().unwrap().to_owned();
        files.push((module, code, path.display().to_string()));
    }
}

fn without_comments(text: &str) -> String {
    let code = text.lines().map(|line| match line.find("//") {
        Some(at) if line[..at].trim().is_empty() => "",
        _ => line,
    });
    code.collect::<Vec<_>>().join("\n")
}

/// The items that the root passes on, with the module from which they come.
fn exports(root: &str, modules: &BTreeSet<String>) -> BTreeMap<String, String> {
    let mut exported = BTreeMap::new();
    for path in paths(root) {
        let module = path[0].clone();
        if modules.contains(&module) && path.len() > 1 {
            exported.insert(path[path.len() - 1].clone(), module);
        }
    }
    exported
}

/// Each path in a text, also those within braces, in full.
fn paths(text: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    let mut prefixes: Vec<Vec<String>> = Vec::new();
    let mut current = Vec::<String>::new();
    let mut word = String::new();
    let mut chars = text.chars().peekable();
    let mut is_path = false;
    while let Some(char) = chars.next() {
        match char {
            _ if char.is_alphanumeric() || char == '_' => word.push(char),
            ':' if chars.peek() == Some(&':') => {
                chars.next();
                current.push(std::mem::take(&mut word));
                is_path = true;
            }
            '{' if is_path && word.is_empty() => {
                let mut prefix = prefixes.last().cloned().unwrap_or_default();
                prefix.append(&mut current);
                prefixes.push(prefix);
                is_path = false;
            }
            _ if char.is_whitespace() && word.is_empty() => {}
            _ => {
                if is_path || (!prefixes.is_empty() && !word.is_empty()) {
                    let mut path = prefixes.last().cloned().unwrap_or_default();
                    path.append(&mut current);
                    path.push(std::mem::take(&mut word));
                    found.push(path);
                }
                current.clear();
                word.clear();
                is_path = false;
                if char == '}' {
                    prefixes.pop();
                }
                if char == ';' {
                    prefixes.clear();
                }
            }
        }
    }
    found
}

/// The first name below the root to which a path leads, from within a module.
fn resolved(module: &[String], path: &[String]) -> Option<String> {
    let mut at = module.len();
    let mut names = path.iter().peekable();
    match names.peek()?.as_str() {
        "crate" => {
            names.next();
            at = 0;
        }
        "super" => {}
        _ => return None,
    }
    while names.peek().is_some_and(|name| *name == "super") {
        names.next();
        at = at.checked_sub(1)?;
    }
    (at == 0).then(|| names.next().cloned()).flatten()
}
