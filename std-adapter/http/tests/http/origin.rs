// SPDX-License-Identifier: MIT OR Apache-2.0
//! The server that a request goes to, as a key.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};

use atomic_breaker_http::{Origin, OriginError};
use http::{Request, Uri};

fn of(uri: &str) -> Origin {
    Origin::from_uri(&uri.parse::<Uri>().unwrap()).unwrap()
}

#[test]
fn a_server_has_one_key_however_it_is_written() {
    let hasher = RandomState::new();
    let same = [
        "https://api.example/",
        "https://API.Example:443/path?query",
        "HTTPS://user:secret@api.example/",
        "https://api.example:443",
    ];
    for one in same {
        for other in same {
            assert_eq!(of(one), of(other), "{one}, {other}");
            assert_eq!(
                hasher.hash_one(of(one)),
                hasher.hash_one(of(other)),
                "{one}, {other}"
            );
        }
        assert_eq!(of(one).to_string(), "https://api.example", "{one}");
    }
}

#[test]
fn a_scheme_has_its_port_written_out_or_not() {
    for (scheme, port) in [("http", 80), ("ws", 80), ("https", 443), ("wss", 443)] {
        let short = of(&format!("{scheme}://a.example/"));
        assert_eq!(short.port(), Some(port), "{scheme}");
        assert_eq!(short, of(&format!("{scheme}://a.example:{port}/")));
        assert_eq!(short.to_string(), format!("{scheme}://a.example"));
    }
    assert_eq!(of("ftp://a.example/").port(), None);
}

#[test]
fn one_part_that_differs_makes_another_key() {
    let one = of("http://a.example:8080");
    for other in [
        "https://a.example:8080",
        "http://b.example:8080",
        "http://a.example:8081",
    ] {
        assert_ne!(one, of(other));
        assert_ne!(of(other), one);
    }
}

#[test]
fn different_servers_have_different_keys() {
    let all = [
        "http://api.example",
        "https://api.example",
        "https://api.example:80",
        "https://api.example:8443",
        "https://api.example.",
        "https://api2.example",
        "http://[::1]",
        "http://[::1]:8080",
        "http://127.0.0.1",
    ];
    let keys: HashSet<_> = all.map(of).into();
    assert_eq!(keys.len(), all.len());
    let shown: HashSet<_> = all.map(|uri| of(uri).to_string()).into();
    assert_eq!(shown, all.map(String::from).into());
}

/// As hyperlocal names it: the path in hexadecimal digits.
#[test]
fn a_socket_in_the_file_system_has_a_key_however_long_its_path() {
    let uri = |path: &str| {
        let digits = path.bytes().map(|byte| format!("{byte:02x}"));
        let host = digits.collect::<Vec<_>>().concat();
        format!("unix://{host}:0/items").parse::<Uri>().unwrap()
    };
    let of = |path: &str| Origin::from_uri(&uri(path));
    let (short, long) = ("/run/a.sock", "/var/run/containers/podman/podman.sock");
    let longest = format!("/{}", "a".repeat(106));
    let sockets = [short, long, &longest].map(|path| of(path).unwrap());
    assert_eq!(HashSet::from(sockets.clone()).len(), 3);
    for socket in &sockets {
        assert_eq!(
            &Origin::from_uri(&socket.to_string().parse().unwrap()).unwrap(),
            socket
        );
        assert_eq!(&socket.clone(), socket);
    }
    assert_eq!(
        of(&format!("/{}", "a".repeat(108))),
        Err(OriginError::BadHost)
    );
    let host = uri(long).host().unwrap().to_owned();
    for bad in [
        format!("http://{host}/"),
        format!("unix://{host}f/"),
        format!("unix://{host}gg/"),
        // The port of no path.
        "unix://://".to_owned(),
    ] {
        assert_eq!(
            Origin::from_uri(&bad.parse().unwrap()),
            Err(OriginError::BadHost),
            "{bad}"
        );
    }
}

#[test]
fn passwords_are_not_shown() {
    let origin = of("https://user:secret@api.example:8443/");
    assert_eq!(origin.to_string(), "https://api.example:8443");
    assert_eq!((origin.host(), origin.port()), ("api.example", Some(8443)));
    assert_eq!(origin.scheme(), Some("https"));
    for shown in [format!("{origin:?}"), format!("{:?}", origin.clone())] {
        assert!(!shown.contains("secret"), "{shown}");
    }
}

#[test]
fn a_clone_is_the_same_and_keeps_nothing_of_a_long_uri() {
    for uri in [
        "https://user:secret@API.example:8443/path",
        "http://[::1]:8080/",
        "http://a.example:80",
        "WSS://a.example/",
        "http://a.example:",
    ] {
        let (origin, hasher) = (of(uri), RandomState::new());
        let clone = origin.clone();
        assert_eq!(clone, origin, "{uri}");
        assert_eq!(hasher.hash_one(&clone), hasher.hash_one(&origin), "{uri}");
        assert_eq!(clone.to_string(), origin.to_string(), "{uri}");
    }
    assert_eq!(of("WSS://a.example/"), of("wss://a.example:443/"));
    assert_eq!(of("WS://a.example/").to_string(), "ws://a.example");
}

#[test]
fn a_request_without_a_host_in_its_uri_goes_by_its_header() {
    let with = |host: &str| {
        let request = Request::get("/path").header("host", host).body(()).unwrap();
        Origin::from_request(&request)
    };
    assert_eq!(with("api.example:8080"), with("API.example:8080"));
    assert!(with("api.example:8080").is_ok());
    assert_ne!(with("api.example"), with("other.example"));
    // The client's URI takes precedence over a header.
    let both = Request::get("https://api.example/").header("host", "other.example");
    let both = Origin::from_request(&both.body(()).unwrap());
    assert_eq!(both, Ok(of("https://api.example")));
}

#[test]
fn what_names_no_host_is_an_error_and_not_a_key_that_all_share() {
    let path = Request::get("/path").body(()).unwrap();
    assert_eq!(Origin::from_request(&path), Err(OriginError::Missing));
    assert_eq!(Origin::from_uri(path.uri()), Err(OriginError::Missing));
    let text = OriginError::Missing.to_string();
    assert!(text.contains("with_origin"), "{text}");
    for hostile in ["", "a b", "a/b", "[", "host:port:port", "<script>"] {
        let request = Request::get("/path").header("host", hostile);
        let origin = Origin::from_request(&request.body(()).unwrap());
        assert_eq!(origin, Err(OriginError::BadHost), "{hostile:?}");
    }
}

#[test]
fn what_cannot_be_a_host_is_not_a_key() {
    let of = |uri: String| Origin::from_uri(&uri.parse::<Uri>().unwrap()).map(drop);
    let label = "l".repeat(63);
    // 32 bytes: the longest zone.
    let zone = format!("25{}", "e".repeat(30));
    // 253 bytes: the longest name there is.
    let longest = format!("{label}.{label}.{label}.{}", &label[..61]);
    for host in [
        &*longest,
        &format!("{longest}."),
        "127.0.0.1",
        "[::1]",
        "[fe80::1%25eth0]",
        &format!("[fe80::1%{zone}]"),
        "my_service",
        "xn--bcher-kva.example",
        "user:secret@a.example",
    ] {
        for port in ["", ":", ":80", ":65535"] {
            assert_eq!(of(format!("http://{host}{port}/")), Ok(()), "{host}{port}");
        }
        for port in [":65536", ":99999999999", ":80a", ":+80"] {
            let uri = format!("http://{host}{port}/");
            if uri.parse::<Uri>().is_ok() {
                assert_eq!(of(uri), Err(OriginError::BadPort), "{host}{port}");
            }
        }
    }
    for host in [
        &*"a".repeat(60_000),
        &"a.".repeat(30_000),
        &format!("{longest}m"),
        &format!("{label}l.example"),
        "a..example",
        ".example",
        "a.example..",
        "a~b.example",
        "a!b",
        "a%20b.example",
        "[v1.future]",
        "[::1%25<script>]",
        "[::1%25a.b]",
        &format!("[fe80::1%{zone}e]"),
        "[::12345]",
        "[::1]a.example:80",
        "[::1]80",
        "user:secret@[::1]a:",
        "a'b",
    ] {
        let uri = format!("http://{host}/");
        if uri.parse::<Uri>().is_ok() {
            assert_eq!(of(uri), Err(OriginError::BadHost), "{host:.40}");
        }
    }
}

#[test]
fn origins_can_be_read_back_from_their_names() {
    use atomic_breaker_server::KeyName;

    for uri in [
        "https://API.example:443/x",
        "http://[::1]:8080",
        "http://a.example",
    ] {
        let origin = of(uri);
        assert_eq!(
            Origin::from_name(&origin.to_string()),
            Some(origin),
            "{uri}"
        );
    }
    assert_eq!(Origin::from_name(""), None);
    assert_eq!(Origin::from_name("http://a b"), None);
}
