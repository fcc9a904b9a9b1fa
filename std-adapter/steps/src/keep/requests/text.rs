//! Bytes within JSON: as text where they are text, otherwise as base64 (RFC 4648, 4).

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
                base64: encode(bytes),
            },
        }
    }

    /// `None` if it is not base64.
    pub(super) fn into_bytes(self) -> Option<Vec<u8>> {
        match self {
            Self::Plain(text) => Some(text.into_bytes()),
            Self::Encoded { base64 } => decode(base64.as_bytes()),
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

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let mut bits = 0;
        for at in 0..3 {
            bits = bits << 8 | u32::from(three.get(at).copied().unwrap_or(0));
        }
        for at in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * at) & 63) as usize];
            text.push(if at <= three.len() { letter } else { b'=' }.into());
        }
    }
    text
}

fn decode(text: &[u8]) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(4) {
        return None;
    }
    let padding = text.iter().rev().take_while(|&&byte| byte == b'=').count();
    if padding > 2 {
        return None;
    }
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let letters = &text[..text.len() - padding];
    for four in letters.chunks(4) {
        let mut bits: u32 = 0;
        for letter in four {
            let value = LETTERS.iter().position(|each| each == letter)?;
            bits = bits << 6 | value as u32;
        }
        bits <<= 6 * (4 - four.len());
        let three = bits.to_be_bytes();
        bytes.extend_from_slice(&three[1..four.len()]);
    }
    Some(bytes)
}
