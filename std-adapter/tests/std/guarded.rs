// SPDX-License-Identifier: MIT OR Apache-2.0
//! The breaker on `std`: real connections under its guard.

use std::cell::Cell;
use std::io::ErrorKind;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use atomic_breaker_std::{Breaker, CallError, Config, State, StdClock, Wait, breaker};

/// A port without a listener.
fn closed_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    listener.local_addr().unwrap().port()
}

/// `None` if another process on this machine took the port meanwhile.
fn dead_port_and_back(server: &Breaker) -> Option<()> {
    let port = closed_port();
    let connects = Cell::new(0);
    let connect = || {
        server.call(|| {
            connects.set(connects.get() + 1);
            TcpStream::connect((Ipv4Addr::LOCALHOST, port))
        })
    };
    for _ in 0..3 {
        match connect() {
            Ok(_) => return None,
            Err(error) => assert!(error.rejected().is_none(), "{error}"),
        }
    }
    let Err(CallError::Rejected(rejected)) = connect() else {
        panic!("three failures trip");
    };
    assert!(matches!(rejected.wait(), Wait::For(_)), "{rejected}");
    assert_eq!(connects.get(), 3, "not even tried");

    let _listener = match TcpListener::bind((Ipv4Addr::LOCALHOST, port)) {
        Err(error) if error.kind() == ErrorKind::AddrInUse => return None,
        listener => listener.unwrap(),
    };
    server.probe_now();
    while let Err(error) = connect() {
        let wait = error.rejected().and_then(|rejected| rejected.retry_in());
        thread::sleep(wait.expect("a listening port responds"));
    }
    assert_eq!(server.state(), State::Closed);
    Some(())
}

#[test]
fn a_static_breaker_stops_calling_a_dead_port_and_finds_out_when_it_is_back() {
    static SERVER: Breaker = breaker(
        Config::new()
            .consecutive_failures(3)
            // Longer than any machine pauses.
            .open_for(Duration::from_secs(3_600)),
    );
    while dead_port_and_back(&SERVER).is_none() {
        SERVER.reset();
    }
}

#[test]
fn an_open_time_is_over_when_the_rejection_said_it_would_be() {
    let guard = breaker(Config::new().open_for(Duration::from_millis(50)));
    guard.trip();
    if let Err(rejected) = guard.acquire() {
        let wait = rejected.retry_in().expect("it is not forced open");
        assert!(wait <= Duration::from_millis(50), "{wait:?}");
        thread::sleep(wait);
    }
    assert!(guard.acquire().is_ok_and(|permit| permit.is_probe()));
}

#[test]
fn a_configuration_from_outside_is_rejected_with_a_reason() {
    let error = Breaker::try_new(Config::new().probes(0), StdClock).unwrap_err();
    assert!(error.to_string().contains("set at least 1"), "{error}");
    assert!(Breaker::try_new(Config::new(), StdClock).is_ok());
}
