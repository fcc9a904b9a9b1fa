// SPDX-License-Identifier: MIT OR Apache-2.0
//! The functions of `atomic_breaker_map.h` as C calls them, beside Rust on the same files.
#![cfg(target_os = "linux")]
#![expect(clippy::borrow_as_ptr, reason = "it reads as in C")]

mod errors;
mod rules;
mod shared;

use std::ffi::{CStr, CString, c_char, c_void};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicU32, Ordering};

use atomic_breaker_c::types::{CRules, CSettings};
use atomic_breaker_mapped::word::AtomicU64;
use atomic_breaker_mapped::{Config, MappedSlab, State, open};
use atomic_breaker_mapped_c::by_rules::wide;
use atomic_breaker_mapped_c::error::CError;
use atomic_breaker_mapped_c::map::{
    COptions, Map, ab_map_breaker, ab_map_close, ab_map_each, ab_map_is_removed, ab_map_open,
    ab_map_origin, ab_map_rules, ab_now_ms,
};
use atomic_breaker_mapped_c::read::ab_settings_read;

/// `AB_DEFAULTS`.
pub(crate) const DEFAULTS: CSettings = CSettings {
    failures: 5,
    window_ms: 0,
    lasting_ms: 0,
    open_ms: 5_000,
    growth_percent: 0,
    growth_step_ms: 0,
    max_open_ms: 0,
    jitter_percent: 0,
    seed: 0,
    max_retry_after_ms: 300_000,
    probes: 1,
    close_after: 0,
    probe_lease_ms: 30_000,
    cancel_limit_ms: 250,
    slow_call_ms: 0,
    return_first_percent: 0,
    return_over_ms: 0,
};
pub(crate) const KEYED: COptions = COptions {
    keys: 4,
    key_bytes: 0,
    replace_unused: false,
};

pub(crate) struct Dir(PathBuf);

impl Dir {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("mapped-c-{}-{number}", std::process::id());
        let path = Path::new("/dev/shm").join(name);
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

pub(crate) fn c(text: impl AsRef<Path>) -> CString {
    CString::new(text.as_ref().to_str().unwrap()).unwrap()
}

/// A file that is open, as a program in C has it.
pub(crate) struct Opened(pub(crate) *mut Map);

impl Opened {
    pub(crate) fn new(
        path: &Path,
        settings: CSettings,
        options: COptions,
    ) -> Result<Self, (u32, String)> {
        let mut error = blank();
        // SAFETY: all lead to what they say.
        let map = unsafe { ab_map_open(c(path).as_ptr(), &settings, &options, &mut error) };
        assert_eq!(map.is_null(), error.status != 0);
        if map.is_null() {
            return Err((error.status, said(&error)));
        }
        assert_eq!(said(&error), "");
        Ok(Self(map))
    }

    pub(crate) fn breaker(&self, name: Option<&str>) -> Result<&AtomicU64, (u32, String)> {
        let name = name.map(c);
        let name = name.as_ref().map_or(null(), |name| name.as_ptr());
        let mut error = blank();
        // SAFETY: the map is open.
        let found = unsafe { ab_map_breaker(self.0, name, &mut error).as_ref() };
        found.ok_or_else(|| (error.status, said(&error)))
    }

    /// A call that fails or not; false if it was rejected.
    pub(crate) fn call(&self, breaker: &AtomicU64, succeeds: bool) -> bool {
        // SAFETY: the map is open.
        unsafe {
            let rules = ab_map_rules(self.0);
            let mut permit = wide::acquire(breaker, rules, ab_now_ms());
            wide::report(breaker, rules, &mut permit.token, succeeds, ab_now_ms());
            permit.admitted
        }
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        // SAFETY: it is open, and not used any more.
        unsafe { ab_map_close(self.0) };
    }
}

pub(crate) const fn blank() -> CError {
    CError {
        status: 99,
        text: [b'?'; 500],
    }
}

pub(crate) fn said(error: &CError) -> String {
    let text = CStr::from_bytes_until_nul(&error.text).unwrap();
    text.to_str().unwrap().into()
}
