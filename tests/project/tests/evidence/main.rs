// SPDX-License-Identifier: MIT OR Apache-2.0
//! The evidence for an assessor is true: licences, the core's use of its library, and the places where each behaviour
//! is written and tested.

mod library;
mod licence;
mod trace;

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    let mut above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    above.nth(2).unwrap().into()
}

/// Files below a folder that are part of the project, and whose names end like this.
fn files(folder: &Path, end: &str, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let (path, kind) = (entry.path(), entry.file_type().unwrap());
        let name = entry.file_name().into_string().unwrap();
        let is_built = ["target", ".git", "out"].contains(&name.as_str());
        if kind.is_dir() && !is_built {
            files(&path, end, found);
        } else if kind.is_file() && name.ends_with(end) {
            found.push(path);
        }
    }
}

fn shown(path: &Path) -> String {
    path.strip_prefix(root()).unwrap().display().to_string()
}
