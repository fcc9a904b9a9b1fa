// SPDX-License-Identifier: MIT OR Apache-2.0
//! Puts all mutants of a package into one program, which takes the one whose number is in the environment: they are built
//! once, and not each by itself. `tests/mutants/run` does.
//!
//! ```console
//! mutants FOLDER SKIPPED > LIST
//! ```
//!
//! Changes the files below `FOLDER`, a copy of a package's `src`, in place. `SKIPPED` names a file of numbers, those of
//! mutants that the compiler does not take. Writes one line for each mutant to the standard output: its number, where it
//! is, and what it changes. The number of one in a `const fn` begins with `+`: where such a function runs while compiling,
//! it takes the mutant that the environment of the compiler names.
//!
//! The mutations are those of cargo-mutants, but for fields that it deletes.

mod mutate;
mod operators;
mod values;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs, io};

use mutate::Mutate;

/// Stands above a crate that asks: whether it is being compiled is known by what is not stable yet.
const ABOVE: &str =
    "#![feature(core_intrinsics, const_eval_select)]\n#![allow(internal_features)]\n";

/// The library of a mutated crate; without `std`, as packages for microcontrollers have none. A crate that forbids
/// `unsafe` has it all the same, as the lints of the copy are capped. Where the environment names a file, no mutant is
/// taken, and the numbers of those that a test would have met are added to it.
const ASKS: &str = r#"
#[doc(hidden)]
#[allow(unsafe_code, missing_docs)]
pub mod mutant_of_this_run {
    use core::ffi::{CStr, c_char, c_int, c_void};
    use core::ptr::null_mut;
    use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering::Relaxed};

    const UNKNOWN: u32 = u32::MAX;
    const NONE_IS_TAKEN: u32 = u32::MAX - 1;
    static NUMBER: AtomicU32 = AtomicU32::new(UNKNOWN);
    static FILE: AtomicPtr<c_char> = AtomicPtr::new(null_mut());
    static MET: [AtomicU32; 256] = [const { AtomicU32::new(0) }; 256];

    unsafe extern "C" {
        fn getenv(name: *const c_char) -> *mut c_char;
        fn fopen(path: *const c_char, mode: *const c_char) -> *mut c_void;
        fn fwrite(from: *const u8, size: usize, count: usize, file: *mut c_void) -> usize;
        fn fclose(file: *mut c_void) -> c_int;
    }

    #[inline]
    pub const fn is(number: u32) -> bool {
        core::intrinsics::const_eval_select((number,), while_compiling, is_chosen)
    }

    const fn while_compiling(number: u32) -> bool {
        match option_env!("MUTANT_WHILE_COMPILING") {
            Some(text) => number_of(text.as_bytes()) == number,
            None => false,
        }
    }

    const fn number_of(digits: &[u8]) -> u32 {
        let (mut number, mut at) = (0, 0);
        while at < digits.len() {
            number = number * 10 + (digits[at] - b'0') as u32;
            at += 1;
        }
        number
    }

    #[inline]
    fn is_chosen(number: u32) -> bool {
        let chosen = NUMBER.load(Relaxed);
        if chosen >= NONE_IS_TAKEN { is_after_all(number) } else { chosen == number }
    }

    #[cold]
    fn is_after_all(number: u32) -> bool {
        if NUMBER.load(Relaxed) == UNKNOWN {
            FILE.store(unsafe { getenv(c"MUTANTS_MET".as_ptr()) }, Relaxed);
            let is_named = !FILE.load(Relaxed).is_null();
            NUMBER.store(if is_named { NONE_IS_TAKEN } else { chosen() }, Relaxed);
        }
        let is_taken = NUMBER.load(Relaxed) == number;
        let bit = 1 << (number % 32);
        if NUMBER.load(Relaxed) == NONE_IS_TAKEN && MET[number as usize / 32].fetch_or(bit, Relaxed) & bit == 0 {
            unsafe {
                let file = fopen(FILE.load(Relaxed), c"a".as_ptr());
                assert!(!file.is_null());
                fwrite(number.to_le_bytes().as_ptr(), 4, 1, file);
                fclose(file);
            }
        }
        is_taken
    }

    fn chosen() -> u32 {
        let value = unsafe { getenv(c"MUTANT".as_ptr()) };
        if value.is_null() { 0 } else { number_of(unsafe { CStr::from_ptr(value) }.to_bytes()) }
    }
}
"#;

fn files(folder: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            files(&path, found)?;
        } else if path.extension().is_some_and(|it| it == "rs") {
            found.push(path);
        }
    }
    found.sort();
    Ok(())
}

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [folder, skipped] = &arguments[..] else {
        eprintln!("mutants FOLDER SKIPPED > LIST");
        return ExitCode::FAILURE;
    };
    match run(folder.as_ref(), skipped.as_ref()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(folder: &Path, skipped: &Path) -> Result<(), String> {
    let words = |path: &Path, error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let skipped_text = fs::read_to_string(skipped).map_err(|error| words(skipped, &error))?;
    let numbers = skipped_text.split_whitespace().map(str::parse);
    let numbers: Result<HashSet<u32>, _> = numbers.collect();
    let mut mutate = Mutate::new(numbers.map_err(|error| words(skipped, &error))?);
    let mut found = Vec::new();
    files(folder, &mut found).map_err(|error| words(folder, &error))?;
    for path in found {
        let text = fs::read_to_string(&path).map_err(|error| words(&path, &error))?;
        let mut file = syn::parse_file(&text).map_err(|error| words(&path, &error))?;
        let name = path.strip_prefix(folder).unwrap_or(&path);
        // Tests for those who implement a trait of the package.
        if name.starts_with("contract") {
            continue;
        }
        mutate.file(&name.display().to_string(), &mut file);
        let mut changed = prettyplease::unparse(&file);
        if name == Path::new("lib.rs") {
            changed = format!("{ABOVE}{changed}{ASKS}");
        }
        fs::write(&path, changed).map_err(|error| words(&path, &error))?;
    }
    add_to_others(&folder.with_file_name("tests")).map_err(|error| words(folder, &error))?;
    for line in mutate.list {
        println!("{line}");
    }
    Ok(())
}

/// Test programs that are made of files of the package, instead of using it, ask for themselves.
fn add_to_others(tests: &Path) -> io::Result<()> {
    let mut found = Vec::new();
    if tests.is_dir() {
        files(tests, &mut found)?;
    }
    for path in found {
        let text = fs::read_to_string(&path)?;
        if text.contains(r#"#[path = "../../src/"#) {
            fs::write(&path, format!("{ABOVE}{text}{ASKS}"))?;
        }
    }
    Ok(())
}
