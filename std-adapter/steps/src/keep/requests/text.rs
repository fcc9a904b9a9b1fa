//! Bytes within JSON: as text where they are text, otherwise as base64 (RFC 4648, 4).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

/// Text, if the bytes are UTF-8 and take no more space that way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Text {
    Plain(String),
    Encoded { base64: String },
}

impl Text {
    pub(super) fn of(bytes: &[u8]) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text) if in_json(text) <= bytes.len().div_ceil(3) * 4 + 13 => {
                Self::Plain(text.to_owned())
            }
            _ => Self::Encoded {
                base64: STANDARD.encode(bytes),
            },
        }
    }

    /// `None` if it is not base64.
    pub(super) fn into_bytes(self) -> Option<Vec<u8>> {
        match self {
            Self::Plain(text) => Some(text.into_bytes()),
            Self::Encoded { base64 } => STANDARD.decode(base64).ok(),
        }
    }
}

/// Its length between the quotes.
fn in_json(text: &str) -> usize {
    let escaped = |byte| match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 8 | 12 => 2,
        0..32 => 6,
        _ => 1,
    };
    text.bytes().map(escaped).sum()
}
