// SPDX-License-Identifier: MIT OR Apache-2.0
//! A server, and the network in front of it: a number and a measurement come, and the number goes back.

use core::future::pending;
use core::net::SocketAddr;

use embassy_time::{Instant, Timer};
use embedded_io_async::{ErrorKind, ErrorType, Read, Write};
use embedded_nal_async::TcpConnect;

use crate::day::{Day, add};
use crate::gateway::ENTRY;

#[derive(PartialEq)]
enum Server {
    Answers,
    Refuses,
    /// Its system accepts connections.
    Hangs,
    /// After the request has arrived.
    Drops,
    /// Its proxy accepts connections, and closes them.
    IsGone,
}

impl Server {
    fn now() -> Self {
        match Instant::now().as_secs() / 3_600 {
            12 => Self::Refuses,
            15 => Self::Hangs,
            18 => Self::Drops,
            21 => Self::IsGone,
            _ => Self::Answers,
        }
    }
}

pub struct Stack<'d>(pub &'d Day);

pub struct Connection<'d> {
    day: &'d Day,
    number: u32,
}

impl<'d> TcpConnect for Stack<'d> {
    type Error = ErrorKind;
    type Connection<'a>
        = Connection<'d>
    where
        Self: 'a;

    async fn connect(&self, _: SocketAddr) -> Result<Connection<'d>, ErrorKind> {
        let day = self.0;
        if !day.is_joined.get() {
            let _call = day.call_in_vain();
            return pending().await;
        }
        if Server::now() == Server::Refuses {
            let _call = day.call_in_vain();
            return Err(ErrorKind::ConnectionRefused);
        }
        Timer::after_millis(60).await;
        Ok(Connection { day, number: 0 })
    }
}

impl ErrorType for Connection<'_> {
    type Error = ErrorKind;
}

impl Write for Connection<'_> {
    async fn write(&mut self, request: &[u8]) -> Result<usize, ErrorKind> {
        let (number, _) = request.split_first_chunk().expect("in one piece");
        assert_eq!(request.len(), size_of::<u32>() + ENTRY);
        self.number = u32::from_le_bytes(*number);
        Ok(request.len())
    }

    async fn flush(&mut self) -> Result<(), ErrorKind> {
        Ok(())
    }
}

impl Read for Connection<'_> {
    async fn read(&mut self, answer: &mut [u8]) -> Result<usize, ErrorKind> {
        let (day, server) = (self.day, Server::now());
        if server == Server::Hangs || !day.is_joined.get() {
            let _call = day.call_in_vain();
            return pending().await;
        }
        Timer::after_millis(60).await;
        if server == Server::IsGone {
            let _call = day.call_in_vain();
            return Ok(0);
        }
        if day.last.get().is_some_and(|last| self.number <= last) {
            add(&day.repeated);
        } else {
            day.last.set(Some(self.number));
            add(&day.arrived);
        }
        if server == Server::Drops {
            let _call = day.call_in_vain();
            return Err(ErrorKind::ConnectionReset);
        }
        answer.copy_from_slice(&self.number.to_le_bytes()[..answer.len()]);
        Ok(answer.len())
    }
}
