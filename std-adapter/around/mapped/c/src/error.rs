// SPDX-License-Identifier: MIT OR Apache-2.0
//! The errors as C sees them.

use std::borrow::Cow;
use std::fmt::Display;
use std::path::Path;

use atomic_breaker_mapped::{MappedError, MappedErrorKind, NoSlot};

const LONGEST: usize = 500;
const CUT: &str = "...";

/// `ab_map_error`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CError {
    /// `ab_map_status`.
    pub status: u32,
    /// Ends with a zero.
    pub text: [u8; LONGEST],
}

/// Declares the codes of `ab_map_status`.
macro_rules! statuses {
    ($($(#[$meta:meta])* $name:ident = $code:literal,)+) => {
        /// A code of `ab_map_status`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u32)]
        #[expect(missing_docs, reason = "the header has them")]
        pub enum Status {
            $($(#[$meta])* $name = $code,)+
        }
    };
}

statuses! {
    Ok = 0,
    Settings = 1,
    Disagreement = 2,
    Busy = 3,
    NotTrusted = 4,
    Foreign = 5,
    System = 6,
    Full = 7,
}

/// The reason why something failed: a code, and a text for people.
#[derive(Clone, Debug)]
pub struct MapFault(Status, String);

impl MapFault {
    pub(crate) fn settings(text: impl Into<String>) -> Self {
        Self(Status::Settings, text.into())
    }

    /// A setting or an argument does not fit; names the file at that path.
    pub(crate) fn settings_of(path: Option<&Path>, text: &str) -> Self {
        Self(Status::Settings, named(path) + text)
    }

    /// Names the fields of `ab_map_options`, as C has no builder.
    pub(crate) fn no_slot(path: Option<&Path>, error: NoSlot) -> Self {
        let (status, text) = match error {
            NoSlot::Full { capacity } => (
                Status::Full,
                format!(
                    "all {capacity} places are taken, and each name keeps its own: set a greater `keys` in all processes \
                     that use it, stop them, and remove it"
                ),
            ),
            NoSlot::KeyTooLong { bytes, max } => (
                Status::Settings,
                format!(
                    "the name has {bytes} bytes, but at most {max} fit: use a shorter one; or set a greater `key_bytes` in \
                     all processes that use it, stop them, and remove it"
                ),
            ),
            _ => (Status::Settings, error.to_string()),
        };
        Self(status, named(path) + &text)
    }

    pub(crate) fn system(text: impl Display) -> Self {
        Self(Status::System, text.to_string())
    }
}

impl From<MappedError> for MapFault {
    fn from(error: MappedError) -> Self {
        let status = match error.kind() {
            MappedErrorKind::Settings => Status::Settings,
            MappedErrorKind::Disagreement => Status::Disagreement,
            MappedErrorKind::Busy => Status::Busy,
            MappedErrorKind::NotTrusted => Status::NotTrusted,
            MappedErrorKind::Foreign => Status::Foreign,
            _ => Status::System,
        };
        Self(status, error.to_string())
    }
}

/// The beginning of a message.
fn named(path: Option<&Path>) -> String {
    path.map(|path| format!("{}: ", path.display()))
        .unwrap_or_default()
}

impl CError {
    fn new(status: Status, text: &str) -> Self {
        let mut error = Self {
            status: status as u32,
            text: [0; LONGEST],
        };
        // The last byte stays zero, and so does what follows a zero in a path.
        let text = cut(text);
        error.text[..text.len()].copy_from_slice(text.as_bytes());
        error
    }
}

/// A text that is too long loses its middle, where a long path is: what to do stands at the end.
fn cut(text: &str) -> Cow<'_, str> {
    if text.len() < LONGEST {
        return text.into();
    }
    let kept = LONGEST - 1 - CUT.len();
    let boundary = |at: &usize| text.is_char_boundary(*at);
    let head = (0..=kept / 3).rev().find(boundary).unwrap_or(0);
    let tail = (text.len() - (kept - head)..text.len()).find(boundary);
    let tail = tail.map_or("", |at| &text[at..]);
    format!("{}{CUT}{tail}", &text[..head]).into()
}

/// The value, or its default, with the reason reported.
///
/// # Safety
/// `told` is NULL, or leads to where an `ab_map_error` may be written.
pub(crate) unsafe fn tell<T>(result: Result<T, MapFault>, told: *mut CError) -> Option<T> {
    let error = match &result {
        Ok(_) => CError::new(Status::Ok, ""),
        Err(MapFault(status, text)) => CError::new(*status, text),
    };
    if !told.is_null() {
        // SAFETY: the caller's.
        unsafe { told.write(error) };
    }
    result.ok()
}
