// SPDX-License-Identifier: MIT OR Apache-2.0
//! The address of a request.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::net::Ipv6Addr;
use std::sync::LazyLock;

use atomic_breaker_http::Origin;
use http::Uri;
use regex::Regex;

use crate::text;

fn hash(origin: &Origin) -> u64 {
    let mut hasher = DefaultHasher::new();
    origin.hash(&mut hasher);
    hasher.finish()
}

fn is(origin: &Origin, other: &Origin) -> bool {
    origin == other && hash(origin) == hash(other) && origin.port() == other.port()
}

/// An origin that is shown names the same server, and no user's password; a text that names none is
/// refused.
pub(crate) fn origin(bytes: &[u8]) {
    let Some(Ok(uri)) = text(bytes).map(str::parse::<Uri>) else {
        return;
    };
    let expected = read(&uri);
    let Ok(origin) = Origin::from_uri(&uri) else {
        return assert_eq!(expected, None, "{uri}");
    };
    let shown = origin.to_string();
    assert_eq!(Some(&shown), expected.as_ref(), "{uri}");
    assert!(shown.len() <= 400 && !shown.contains('@'), "{shown}");
    let again = shown.parse::<Uri>().expect("an address");
    let again = Origin::from_uri(&again).expect("a server");
    assert!(is(&again, &origin), "{shown}");
    let copy = origin.clone();
    assert!(is(&copy, &origin), "{shown}");
    assert_eq!(copy.to_string(), shown);
    assert_eq!(format!("{copy:?}"), format!("Origin({shown})"));
}

static AUTHORITY: LazyLock<Regex> = LazyLock::new(|| {
    let name = r"[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*\.?";
    let address = r"\[([0-9a-f:.]+)(?:%[a-z0-9_-]{0,32})?\]";
    let pattern = format!(r"^(?:.*@)?(?:({name})|{address})(?::(\d{{0,5}}))?$");
    Regex::new(&pattern).expect("a pattern")
});
static SOCKET: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?:.*@)?((?:[0-9a-f]{2}){1,108})(?::(\d{0,5}))?$").expect("a pattern")
});

/// Another reading, as it is shown: by patterns, in small letters.
fn read(uri: &Uri) -> Option<String> {
    let scheme = uri.scheme_str().map(str::to_lowercase);
    let text = uri.authority()?.as_str().to_lowercase();
    let name = |host: &str| host.trim_end_matches('.').len() <= 253;
    let (host, port) = match (AUTHORITY.captures(&text), SOCKET.captures(&text)) {
        (Some(found), _) if found.get(1).is_none_or(|it| name(it.as_str())) => {
            if let Some(address) = found.get(2) {
                address.as_str().parse::<Ipv6Addr>().ok()?;
            }
            // With its zone.
            let end = text.rfind(']').map_or(0, |end| end + 1);
            let begin = text[..end].rfind('[').filter(|_| found.get(2).is_some());
            let host = begin.map_or_else(|| found[1].to_owned(), |begin| text[begin..end].into());
            (host, found.get(3))
        }
        (_, Some(found)) if uri.scheme_str() == Some("unix") => (found[1].to_owned(), found.get(2)),
        _ => return None,
    };
    let port = port.map_or("", |port| port.as_str());
    let port = match port {
        "" => None,
        digits => Some(digits.parse::<u16>().ok()?),
    };
    let usual = match scheme.as_deref() {
        Some("http" | "ws") => Some(80),
        Some("https" | "wss") => Some(443),
        _ => None,
    };
    let scheme = scheme.map_or(String::new(), |scheme| format!("{scheme}://"));
    let port = port.filter(|port| Some(*port) != usual);
    let port = port.map_or(String::new(), |port| format!(":{port}"));
    Some(format!("{scheme}{host}{port}"))
}
