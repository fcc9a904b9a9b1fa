// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why something failed, as C sees it.

use std::fmt::Display;

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

/// Why something failed: a code, and a text for people.
#[derive(Clone, Debug)]
pub struct MapFault(Status, String);

impl MapFault {
    pub(crate) fn settings(text: impl Into<String>) -> Self {
        Self(Status::Settings, text.into())
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

impl From<NoSlot> for MapFault {
    fn from(error: NoSlot) -> Self {
        let status = match error {
            NoSlot::Full { .. } => Status::Full,
            _ => Status::Settings,
        };
        Self(status, error.to_string())
    }
}

impl CError {
    fn new(status: Status, text: &str) -> Self {
        let mut error = Self {
            status: status as u32,
            text: [0; LONGEST],
        };
        // The last byte stays zero, and so does what follows a zero in a path.
        let mut end = text.len();
        if end >= LONGEST {
            end = (0..LONGEST - CUT.len())
                .rev()
                .find(|at| text.is_char_boundary(*at))
                .unwrap_or(0);
            error.text[end..end + CUT.len()].copy_from_slice(CUT.as_bytes());
        }
        error.text[..end].copy_from_slice(&text.as_bytes()[..end]);
        error
    }
}

/// The value, or its default, with the reason told.
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
