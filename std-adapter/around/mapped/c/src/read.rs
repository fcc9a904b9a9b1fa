// SPDX-License-Identifier: MIT OR Apache-2.0
//! Settings from a file of rules.

use std::ffi::{CStr, OsStr, c_char};
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use atomic_breaker_c::generate;
use atomic_breaker_c::types::CSettings;

use crate::error::{CError, MapFault, tell};

/// A file that is longer was not written by hand.
const LONGEST: u64 = 1 << 20;

/// `ab_settings_read`.
///
/// # Safety
/// Each pointer is NULL, or leads to what the header says, for the time of the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ab_settings_read(
    settings: *mut CSettings,
    file: *const c_char,
    name: *const c_char,
    error: *mut CError,
) -> bool {
    // SAFETY: the caller's.
    let read = unsafe { (path(file), text(name)) };
    let read = match read {
        (Some(file), Ok(Some(name))) if !settings.is_null() => read_table(file, name),
        (_, Err(reason)) => Err(reason),
        _ => Err(MapFault::settings("settings, file and name: not NULL")),
    };
    // SAFETY: the caller's.
    match unsafe { tell(read, error) } {
        Some(made) => {
            // SAFETY: the caller's, and not NULL.
            unsafe { settings.write(made) };
            true
        }
        None => false,
    }
}

fn read_table(file: &Path, name: &str) -> Result<CSettings, MapFault> {
    let named = |error: &dyn std::fmt::Display| format!("{}: {error}", file.display());
    let system = |error: io::Error| MapFault::system(named(&error));
    let misfit = |text: &dyn std::fmt::Display| MapFault::settings(named(text));
    // A pipe would keep this waiting, a device might never end.
    if !fs::metadata(file).map_err(system)?.is_file() {
        return Err(misfit(&"is not a regular file: use another one"));
    }
    let mut bytes = Vec::new();
    let opened = File::open(file).map_err(system)?;
    opened
        .take(LONGEST + 1)
        .read_to_end(&mut bytes)
        .map_err(system)?;
    if bytes.len() as u64 > LONGEST {
        return Err(misfit(&"is longer than 1 MiB: use another one"));
    }
    let text = String::from_utf8(bytes).map_err(|_| misfit(&"is not UTF-8: save it as that"))?;
    generate::settings(&text, name).map_err(|error| MapFault::settings(named(&error)))
}

/// # Safety
/// NULL, or a string that ends with a zero and outlives the result.
pub(crate) unsafe fn path<'a>(path: *const c_char) -> Option<&'a Path> {
    // SAFETY: the caller's.
    let bytes = (!path.is_null()).then(|| unsafe { CStr::from_ptr(path) }.to_bytes())?;
    Some(Path::new(OsStr::from_bytes(bytes)))
}

/// # Safety
/// NULL, or a string that ends with a zero and outlives the result.
unsafe fn text<'a>(text: *const c_char) -> Result<Option<&'a str>, MapFault> {
    if text.is_null() {
        return Ok(None);
    }
    // SAFETY: the caller's.
    let text = unsafe { CStr::from_ptr(text) }.to_str();
    text.map(Some)
        .map_err(|_| MapFault::settings("name: not UTF-8"))
}
