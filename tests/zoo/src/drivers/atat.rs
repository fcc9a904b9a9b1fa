// SPDX-License-Identifier: MIT OR Apache-2.0
//! A modem with AT commands on a serial port, and `atat`.

use std::collections::VecDeque;
use std::rc::Rc;

use atat::asynch::{AtatClient, Client};
use atat::atat_derive::{AtatCmd, AtatResp, AtatUrc};
use atat::{AtDigester, AtatIngress, Config, Error, Ingress, ResponseSlot, UrcChannel};
use embassy_futures::select::{Either, select};
use embassy_time::{Duration, Instant};
use embedded_io_async_06::{Read, Write};

use crate::bus::{Peer, Port};
use crate::condition::{Condition, Ill};
use crate::subject::{Reading, Subject};

/// Asks for the quality of the signal.
#[derive(Clone, Debug, AtatCmd)]
#[at_cmd("+CSQ", Signal, timeout_ms = 1_000)]
pub struct GetSignal;

/// The quality of the signal.
#[derive(Clone, Debug, AtatResp)]
pub struct Signal {
    /// The strength.
    #[at_arg(position = 0)]
    pub strength: u8,
    /// The errors.
    #[at_arg(position = 1)]
    pub errors: u8,
}

/// Resets the modem.
#[derive(Clone, Debug, AtatCmd)]
#[at_cmd("Z", Done, timeout_ms = 1_000)]
pub struct Reset;

/// No more than that it was done.
#[derive(Clone, Debug, AtatResp)]
pub struct Done;

/// Messages that the modem sends unasked.
#[derive(Clone, Debug, AtatUrc)]
pub enum Unasked {
    /// It has looked for its network.
    #[at_urc("+CREG")]
    Network,
}

/// The model of a modem.
#[derive(Debug)]
pub struct Modem {
    condition: Rc<Condition>,
    line: Vec<u8>,
    answers: VecDeque<(Instant, Vec<u8>)>,
}

impl Modem {
    fn answer(&mut self, text: Vec<u8>) {
        let then = Instant::now() + Duration::from_millis(30);
        self.answers.push_back((then, text));
    }

    fn command(&mut self, line: &[u8]) {
        if line == b"ATZ" {
            self.condition.reset();
        }
        match (self.condition.ill(), line) {
            (Some(Ill::Silent), _) => {}
            // It says that it looks for its network, and does not answer.
            (Some(Ill::Mute), _) => self.answer(b"\r\n+CREG: 2\r\n".to_vec()),
            (Some(Ill::Rubbish), _) => {
                let noise = (0..24).map(|_| self.condition.noise()).collect();
                self.answer(noise);
            }
            (None, b"AT+CSQ") => {
                let strength = self.condition.truth() % 100;
                let text = format!("\r\n+CSQ: {strength},99\r\n\r\nOK\r\n");
                self.answer(text.into_bytes());
            }
            (None, _) => self.answer(b"\r\nOK\r\n".to_vec()),
        }
    }
}

impl Peer for Modem {
    fn take(&mut self, bytes: &[u8]) {
        for byte in bytes {
            if *byte == b'\r' {
                let line = std::mem::take(&mut self.line);
                self.command(&line);
            } else {
                self.line.push(*byte);
            }
        }
    }

    fn give(&mut self, bytes: &mut [u8]) -> usize {
        let ready = self
            .answers
            .front()
            .is_some_and(|(then, _)| *then <= Instant::now());
        if !ready {
            return 0;
        }
        let (then, mut text) = self.answers.pop_front().unwrap();
        let given = text.len().min(bytes.len());
        bytes[..given].copy_from_slice(&text[..given]);
        if given < text.len() {
            self.answers.push_front((then, text.split_off(given)));
        }
        given
    }
}

type Answers = Ingress<'static, AtDigester<Unasked>, Unasked, 128, 4, 1>;

/// `atat` with its loop that reads, which runs while a command does.
pub struct Commands<W: Write, R> {
    port: R,
    client: Client<'static, W, 128>,
    answers: Answers,
}

impl Commands<Port<Modem>, Port<Modem>> {
    /// Creates the driver over the model.
    pub fn new(condition: &Rc<Condition>) -> Self {
        let port = port(condition);
        Self::over(port.clone(), port)
    }
}

/// Creates the port of the model.
pub fn port(condition: &Rc<Condition>) -> Port<Modem> {
    Port::new(Modem {
        condition: condition.clone(),
        line: Vec::new(),
        answers: VecDeque::new(),
    })
}

impl<W: Write, R: Read> Commands<W, R> {
    /// Creates the driver over a port: its half that writes, its half that reads.
    pub fn over(writer: W, port: R) -> Self {
        // In firmware these are statics.
        let slot: &'static ResponseSlot<128> = Box::leak(Box::new(ResponseSlot::new()));
        let channel: &'static UrcChannel<Unasked, 4, 1> = Box::leak(Box::new(UrcChannel::new()));
        let buffer = |size| Box::leak(vec![0; size].into_boxed_slice());
        Self {
            port,
            client: Client::new(writer, slot, buffer(128), Config::new()),
            answers: Ingress::new(AtDigester::new(), buffer(128), slot, channel),
        }
    }
}

impl<W: Write, R: Read> Subject for Commands<W, R> {
    type Error = Error;

    async fn measure(&mut self, truth: u32) -> Result<Reading, Self::Error> {
        let reading = self.answers.read_from(&mut self.port);
        match select(self.client.send(&GetSignal), reading).await {
            Either::First(signal) => {
                let strength = signal?.strength;
                Ok(Reading {
                    right: u32::from(strength) == truth % 100,
                    plausible: strength < 100,
                })
            }
        }
    }

    async fn set_up(&mut self) -> Result<(), Self::Error> {
        self.answers.clear();
        let reading = self.answers.read_from(&mut self.port);
        match select(self.client.send(&Reset), reading).await {
            Either::First(done) => done.map(|Done| ()),
        }
    }
}
