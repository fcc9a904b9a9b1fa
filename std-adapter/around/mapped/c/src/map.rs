// SPDX-License-Identifier: MIT OR Apache-2.0
//! A file that is open, and its breakers.
//!
//! # Safety
//!
//! Each pointer is NULL or leads to what the header says, for the time of the call; a map is one that [`ab_map_open`] returned
//! and that was not closed.

use std::ffi::{CStr, c_char, c_void};
use std::hash::{BuildHasher, RandomState};
use std::mem::MaybeUninit;
use std::path::{Path, PathBuf};
use std::ptr;

use atomic_breaker_c::by_rules::wide;
use atomic_breaker_c::types::{CRules, CSettings};
use atomic_breaker_mapped::word::AtomicU64;
use atomic_breaker_mapped::{
    BootClock, Clock, MappedBreaker, MappedBuilder, MappedSlab, MemoryOrigin,
};

use crate::error::{CError, MapFault, tell};
use crate::read::path as path_of;

const USUAL_KEY_BYTES: u32 = 98;

/// `ab_map`.
#[derive(Debug)]
pub struct Map {
    /// Messages begin with it.
    path: Option<PathBuf>,
    rules: CRules<u64>,
    breakers: MapContent,
}

#[derive(Debug)]
enum MapContent {
    One(MappedBreaker),
    Keyed(MappedSlab),
}

/// `ab_map_options`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
#[expect(missing_docs, reason = "the header has them")]
pub struct COptions {
    pub keys: u32,
    pub key_bytes: u32,
    pub replace_unused: bool,
}

impl COptions {
    fn apply<K>(self, builder: MappedBuilder<BootClock, K>) -> MappedBuilder<BootClock, K> {
        if self.replace_unused {
            builder.replace_unused()
        } else {
            builder
        }
    }
}

/// The function that `ab_map_each` calls.
pub type Each = Option<unsafe extern "C" fn(*mut c_void, *const c_char, usize, *const AtomicU64)>;

impl Map {
    fn open(
        path: Option<&Path>,
        settings: &CSettings,
        options: COptions,
    ) -> Result<Self, MapFault> {
        let mut settings = *settings;
        if settings.seed == 0 {
            // Where several files are, their breakers should not all probe at the same moment.
            settings.seed = RandomState::new().hash_one(path) as u32 | 1;
        }
        let misfit = |text: &CStr| MapFault::settings_of(path, &explained(&settings, text));
        let rules = checked(&settings).map_err(misfit)?;
        let config = settings.config().map_err(|text| misfit(text.get(true)))?;
        let breakers = match options.keys {
            0 if options.key_bytes > 0 => {
                return Err(MapFault::settings_of(path, "key_bytes: only with keys"));
            }
            0 => {
                let builder = MappedBuilder::new(config);
                let builder = options.apply(builder);
                MapContent::One(match path {
                    Some(path) => builder.open(path)?,
                    None => builder.for_forks()?,
                })
            }
            keys => {
                let bytes = match options.key_bytes {
                    0 => USUAL_KEY_BYTES,
                    bytes => bytes,
                };
                let builder = MappedSlab::builder(config)
                    .capacity(keys)
                    .max_key_bytes(bytes);
                let builder = options.apply(builder);
                MapContent::Keyed(match path {
                    Some(path) => builder.open(path)?,
                    None => builder.for_forks()?,
                })
            }
        };
        let path = path.map(Path::to_path_buf);
        Ok(Self {
            path,
            rules,
            breakers,
        })
    }

    fn breaker(&self, name: Option<&CStr>) -> Result<&AtomicU64, MapFault> {
        let path = self.path.as_deref();
        let misfit = |text| Err(MapFault::settings_of(path, text));
        match (&self.breakers, name) {
            (MapContent::One(breaker), None) => Ok(breaker.word().as_ref()),
            // Other languages list names as text.
            (MapContent::Keyed(_), Some(name)) if name.to_str().is_err() => {
                misfit("the name is not UTF-8: use another one")
            }
            (MapContent::Keyed(slab), Some(name)) => slab
                .breaker(name.to_bytes())
                .map(|breaker| *breaker.word())
                .map_err(|error| MapFault::no_slot(path, error)),
            (MapContent::One(_), Some(_)) => {
                misfit("it holds a single breaker: NULL as name, or open it with keys")
            }
            (MapContent::Keyed(_), None) => misfit("it holds breakers with names: give one"),
        }
    }

    fn is_removed(&self) -> bool {
        match &self.breakers {
            MapContent::One(breaker) => breaker.word().is_removed(),
            MapContent::Keyed(slab) => slab.is_removed(),
        }
    }

    const fn origin(&self) -> u32 {
        let origin = match &self.breakers {
            MapContent::One(breaker) => breaker.word().origin(),
            MapContent::Keyed(slab) => slab.origin(),
        };
        match origin {
            MemoryOrigin::Created => 1,
            MemoryOrigin::AfterRestart => 3,
            MemoryOrigin::AfterOtherRules => 4,
            _ => 2,
        }
    }
}

/// The rules as the functions of `atomic_breaker.h` take them.
fn checked(settings: &CSettings) -> Result<CRules<u64>, &'static CStr> {
    let mut rules = MaybeUninit::uninit();
    // SAFETY: both lead to what they say.
    let fault = unsafe { wide::rules_init(rules.as_mut_ptr(), settings) };
    if fault.is_null() {
        // SAFETY: the rules were written, as there is no fault.
        return Ok(unsafe { rules.assume_init() });
    }
    // SAFETY: a fault is a constant string.
    Err(unsafe { CStr::from_ptr(fault) })
}

/// The text of `ab_rules_init`, with the value.
fn explained(settings: &CSettings, text: &CStr) -> String {
    if (settings.failures, settings.probes) == (0, 0) {
        return "settings: begin with AB_DEFAULTS, as failures and probes are 0".into();
    }
    let text = text.to_string_lossy();
    macro_rules! value_of {
        ($($field:ident)+) => {
            match text.split(':').next() {
                $(Some(stringify!($field)) => Some(settings.$field),)+
                _ => None,
            }
        };
    }
    let value = value_of!(failures window_ms lasting_ms open_ms growth_percent growth_step_ms max_open_ms jitter_percent
        max_retry_after_ms probes close_after probe_lease_ms cancel_limit_ms slow_call_ms
        return_first_percent return_over_ms);
    match value {
        Some(value) => format!("{text}, and it is {value}"),
        None => text.into(),
    }
}

/// `ab_map_open`.
///
/// # Safety
/// See the [module](self).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ab_map_open(
    path: *const c_char,
    settings: *const CSettings,
    options: *const COptions,
    error: *mut CError,
) -> *mut Map {
    // SAFETY: the caller's.
    let (path, settings, options) = unsafe { (path_of(path), settings.as_ref(), options.as_ref()) };
    let opened = match settings {
        Some(settings) => Map::open(path, settings, options.copied().unwrap_or_default()),
        None => Err(MapFault::settings(
            "settings: not NULL, such as AB_DEFAULTS",
        )),
    };
    // SAFETY: the caller's.
    let opened = unsafe { tell(opened, error) };
    opened.map_or(ptr::null_mut(), |map| Box::into_raw(Box::new(map)))
}

/// `ab_map_breaker`.
///
/// # Safety
/// See the [module](self).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ab_map_breaker(
    map: *const Map,
    name: *const c_char,
    error: *mut CError,
) -> *const AtomicU64 {
    // SAFETY: the caller's.
    let (map, name) = unsafe {
        let name = (!name.is_null()).then(|| CStr::from_ptr(name));
        (map.as_ref(), name)
    };
    let Some(map) = map else {
        // `ab_map_open` has said why, usually in this very place.
        return ptr::null();
    };
    // SAFETY: the caller's.
    unsafe { tell(map.breaker(name), error) }.map_or(ptr::null(), ptr::from_ref)
}

/// `ab_map_rules`.
///
/// # Safety
/// See the [module](self).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ab_map_rules(map: *const Map) -> *const CRules<u64> {
    // SAFETY: the caller's.
    unsafe { map.as_ref() }.map_or(ptr::null(), |map| &raw const map.rules)
}

/// `ab_map_each`.
///
/// # Safety
/// See the [module](self); `each` may be called with `context`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ab_map_each(map: *const Map, each: Each, context: *mut c_void) {
    // SAFETY: the caller's.
    let (Some(map), Some(each)) = (unsafe { map.as_ref() }, each) else {
        return;
    };
    match &map.breakers {
        // SAFETY: the caller's.
        MapContent::One(breaker) => unsafe {
            each(context, ptr::null(), 0, breaker.word().as_ref());
        },
        MapContent::Keyed(slab) => {
            for (key, _) in slab.entries() {
                if let Some(breaker) = slab.get(&key) {
                    // SAFETY: the caller's.
                    unsafe { each(context, key.as_ptr().cast(), key.len(), *breaker.word()) }
                }
            }
        }
    }
}

/// `ab_map_origin`; 0 for NULL.
///
/// # Safety
/// See the [module](self).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ab_map_origin(map: *const Map) -> u32 {
    // SAFETY: the caller's.
    unsafe { map.as_ref() }.map_or(0, Map::origin)
}

/// `ab_map_is_removed`; `false` for NULL.
///
/// # Safety
/// See the [module](self).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ab_map_is_removed(map: *const Map) -> bool {
    // SAFETY: the caller's.
    unsafe { map.as_ref() }.is_some_and(Map::is_removed)
}

/// `ab_map_close`.
///
/// # Safety
/// See the [module](self). Nothing of this map is used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ab_map_close(map: *mut Map) {
    if !map.is_null() {
        // SAFETY: `ab_map_open` made it, and it was not closed.
        drop(unsafe { Box::from_raw(map) });
    }
}

/// `ab_now_ms`.
#[unsafe(no_mangle)]
pub extern "C" fn ab_now_ms() -> u32 {
    BootClock.now_ms()
}
