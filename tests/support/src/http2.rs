// SPDX-License-Identifier: MIT OR Apache-2.0
//! A minimal HTTP/2 server, for hosts that violate the protocol.

use std::io::{Read, Write};
use std::net::TcpStream;

/// A connection whose client speaks HTTP/2 from the start.
pub struct Http2(TcpStream);

pub const NO_ERROR: u32 = 0;
pub const INTERNAL_ERROR: u32 = 2;
pub const REFUSED_STREAM: u32 = 7;
pub const ENHANCE_YOUR_CALM: u32 = 11;

impl Http2 {
    /// Reads the preface and responds with settings.
    pub fn accept(mut connection: TcpStream) -> Self {
        let mut preface = [0; 24];
        let _ = connection.read_exact(&mut preface);
        let mut this = Self(connection);
        this.write(4, 0, 0, &[]);
        this
    }

    fn write(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
        let mut frame = vec![length[1], length[2], length[3], kind, flags];
        frame.extend_from_slice(&stream.to_be_bytes());
        frame.extend_from_slice(payload);
        // The client may have gone.
        let _ = self.0.write_all(&frame);
    }

    /// The stream of the next request, or `None` if the client has gone.
    pub fn request(&mut self) -> Option<u32> {
        loop {
            let mut head = [0; 9];
            self.0.read_exact(&mut head).ok()?;
            let [a, b, c, kind, flags, stream @ ..] = head;
            let mut payload = vec![0; u32::from_be_bytes([0, a, b, c]) as usize];
            self.0.read_exact(&mut payload).ok()?;
            match (kind, flags & 1) {
                (1, _) => return Some(u32::from_be_bytes(stream)),
                // Settings and pings must be acknowledged.
                (4, 0) => self.write(4, 1, 0, &[]),
                (6, 0) => self.write(6, 1, 0, &payload),
                _ => {}
            }
        }
    }

    /// "200 OK", without a body.
    pub fn answer(&mut self, stream: u32) {
        self.write(1, 0b101, stream, &[0x88]);
    }

    /// "200 OK", and the start of a body.
    pub fn begin(&mut self, stream: u32) {
        self.write(1, 0b100, stream, &[0x88]);
        self.write(0, 0, stream, b"begun");
    }

    pub fn reset(&mut self, stream: u32, reason: u32) {
        self.write(3, 0, stream, &reason.to_be_bytes());
    }

    /// Says that no stream after `last` was processed.
    pub fn go_away(&mut self, last: u32, reason: u32) {
        let payload = [last.to_be_bytes(), reason.to_be_bytes()].concat();
        self.write(7, 0, 0, &payload);
    }
}
