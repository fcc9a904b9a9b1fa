// SPDX-License-Identifier: MIT OR Apache-2.0
//! Each source file begins with its licence, which `.ci/spdx` adds.

use std::fs;

use crate::{files, root, shown};

const LICENCE: &str = "SPDX-License-Identifier: MIT OR Apache-2.0";

/// Returns whether a source has the licence as its first line, below the line that names an
/// interpreter.
fn has_licence(text: &str, comment: &str) -> bool {
    let mut lines = text.lines();
    let mut first = lines.next();
    if first.is_some_and(|line| line.starts_with("#!/")) {
        first = lines.next();
    }
    first.is_some_and(|line| line == format!("{comment} {LICENCE}"))
}

#[test]
fn each_source_file_begins_with_its_licence() {
    let mut count = 0;
    let mut faults = Vec::new();
    for (end, comment) in [(".rs", "//"), (".c", "//"), (".h", "//"), (".py", "#")] {
        let mut sources = Vec::new();
        files(&root(), end, &mut sources);
        for source in sources {
            count += 1;
            if !has_licence(&fs::read_to_string(&source).unwrap(), comment) {
                faults.push(shown(&source));
            }
        }
    }
    let mut scripts = Vec::new();
    files(&root(), "", &mut scripts);
    // Scripts have no ending.
    scripts.retain(|path| path.extension().is_none());
    for script in scripts {
        let Ok(text) = fs::read_to_string(&script) else {
            continue;
        };
        if text.starts_with("#!/") && !has_licence(&text, "#") {
            faults.push(shown(&script));
        }
    }
    assert!(count > 1_000, "{count} sources");
    assert!(
        faults.is_empty(),
        "`.ci/spdx --fix` adds the licence to these:\n{}",
        faults.join("\n")
    );
}

#[test]
fn control_a_source_without_its_licence_is_found() {
    assert!(has_licence(
        &format!("#!/usr/bin/env bash\n# {LICENCE}\n"),
        "#"
    ));
    assert!(has_licence(&format!("// {LICENCE}\n//! A page.\n"), "//"));
    assert!(!has_licence(&format!("//! A page.\n// {LICENCE}\n"), "//"));
    assert!(!has_licence("#!/usr/bin/env bash\nset -eu\n", "#"));
}
