// SPDX-License-Identifier: MIT OR Apache-2.0
//! Makes `breakers.h` and `breakers.rs` of `breakers.toml`, with every rule checked.

use std::path::Path;
use std::process::ExitCode;
use std::{env, fs, io};

use atomic_breaker_c::generate::generate;

const USAGE: &str = "usage: atomic-breaker-c BREAKERS.toml FOLDER\n\n\
    Checks the rules of the breakers in the file, and writes breakers.h and breakers.rs into the folder.";

fn main() -> ExitCode {
    let arguments: Vec<_> = env::args_os().skip(1).collect();
    let [file, folder] = &arguments[..] else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    match run(Path::new(file), Path::new(folder)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(file: &Path, folder: &Path) -> Result<(), String> {
    let about = |path: &Path, error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let text = fs::read_to_string(file).map_err(|error| about(file, &error))?;
    let made = generate(&text).map_err(|error| about(file, &error))?;
    fs::create_dir_all(folder).map_err(|error| about(folder, &error))?;
    for (name, text) in [("breakers.h", made.header), ("breakers.rs", made.rust)] {
        let path = folder.join(name);
        write(&path, &text).map_err(|error| about(&path, &error))?;
    }
    Ok(())
}

/// Leaves a file alone that is as it should be, so that nothing is built again.
fn write(path: &Path, text: &str) -> io::Result<()> {
    if fs::read_to_string(path).is_ok_and(|now| now == text) {
        return Ok(());
    }
    fs::write(path, text)
}
