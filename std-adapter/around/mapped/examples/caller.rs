// SPDX-License-Identifier: MIT OR Apache-2.0
//! A program that calls a server on this machine, through a breaker that it shares with programs in other languages:
//!
//! ```console
//! cargo run -p atomic-breaker-mapped --example caller -- /dev/shm/server 8080 [CALLS]
//! ```
//!
//! Each call is a connection on which it sends "probe" or "call", and which answers "ok". The rules are those of all others.

#[cfg(any(target_os = "linux", target_os = "android"))]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    use std::io::{Read, Write};
    use std::net::{Ipv4Addr, TcpStream};
    use std::time::Duration;
    use std::{env, io, thread};

    use atomic_breaker_mapped::{Config, open};

    const RULES: Config = Config::new()
        .open_for(Duration::from_millis(200))
        .probe_lease(Duration::from_secs(2));

    fn call(port: u16, is_probe: bool) -> io::Result<()> {
        let mut server = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
        // A breaker cannot end a call.
        server.set_read_timeout(Some(Duration::from_secs(1)))?;
        server.write_all(if is_probe { b"probe\n" } else { b"call\n" })?;
        let mut answer = [0; 2];
        server.read_exact(&mut answer)?;
        match &answer {
            b"ok" => Ok(()),
            _ => Err(io::Error::other("the server is down")),
        }
    }

    let arguments: Vec<String> = env::args().skip(1).collect();
    let [path, port, calls @ ..] = &arguments[..] else {
        return Err("usage: caller FILE PORT [CALLS]".into());
    };
    let (port, calls) = (port.parse()?, calls.first().map(|it| it.parse::<u64>()));
    let server = open(path, RULES)?;
    for _ in 0..calls.transpose()?.unwrap_or(u64::MAX) {
        if let Ok(permit) = server.acquire() {
            let made = call(port, permit.is_probe());
            permit.record(&made);
        }
        thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn main() {
    println!("Files of breakers are for Linux and Android.");
}
