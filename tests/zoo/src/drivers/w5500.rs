// SPDX-License-Identifier: MIT OR Apache-2.0
//! An Ethernet chip with sockets of its own, and a host that answers: W5500 and `w5500-hl`.

use std::rc::Rc;

use embassy_time::{Duration, Instant, Timer};
use embedded_hal::spi::SpiDevice;
use w5500_hl::ll::eh1::vdm::W5500;
use w5500_hl::ll::net::{Eui48Addr, Ipv4Addr, SocketAddrV4};
use w5500_hl::ll::{Mode, Registers, Sn, VERSION};
use w5500_hl::{Error, Udp};

use crate::bus::{SpiBus, SpiChip};
use crate::condition::{Condition, Ill};
use crate::subject::{Reading, Subject};

/// The model of a W5500 with one socket for UDP, and of a host that sends back what it gets.
#[derive(Debug)]
pub struct Ethernet {
    condition: Rc<Condition>,
    cycles: u32,
    /// Of the chip, of the socket; its buffers to send and to receive. Others are not here.
    blocks: [Vec<u8>; 4],
    header: Vec<u8>,
    answer: Option<(Instant, Vec<u8>)>,
}

const SIZE: u16 = 2_048;
const OWN_ADDRESS: usize = 0x0F;
const COMMAND: usize = 0x01;
const STATUS: usize = 0x03;
const TO: usize = 0x0C;
const FREE: usize = 0x20;
const SENT_TO: usize = 0x22;
const SEND_TO: usize = 0x24;
const WAITING: usize = 0x26;
const READ_TO: usize = 0x28;
const CAME_TO: usize = 0x2A;

impl Ethernet {
    fn power_on(&mut self) {
        self.blocks = [vec![0; 256], vec![0; 256], vec![0; 2_048], vec![0; 2_048]];
        self.blocks[0][0x39] = VERSION;
        self.set(FREE, SIZE);
        self.answer = None;
    }

    fn get(&self, at: usize) -> u16 {
        u16::from_be_bytes([self.blocks[1][at], self.blocks[1][at + 1]])
    }

    fn set(&mut self, at: usize, value: u16) {
        self.blocks[1][at..at + 2].copy_from_slice(&value.to_be_bytes());
    }

    fn command(&mut self, command: u8) {
        match command {
            0x01 => self.blocks[1][STATUS] = 0x22,
            0x10 => self.blocks[1][STATUS] = 0,
            0x20 => self.send(),
            0x40 => self.set(WAITING, self.get(CAME_TO).wrapping_sub(self.get(READ_TO))),
            _ => {}
        }
    }

    fn send(&mut self) {
        let (from, to) = (self.get(SENT_TO), self.get(SEND_TO));
        let sent = (0..to.wrapping_sub(from)).map(|at| from.wrapping_add(at) % SIZE);
        let sent = sent.map(|at| self.blocks[2][usize::from(at)]);
        // The datagram as it will lie in the buffer: whence, how long, what.
        let mut answer = self.blocks[1][TO..TO + 6].to_vec();
        answer.extend(to.wrapping_sub(from).to_be_bytes());
        answer.extend(sent);
        self.set(SENT_TO, to);
        let has_address = self.blocks[0][OWN_ADDRESS..OWN_ADDRESS + 4] != [0; 4];
        if has_address && self.blocks[1][STATUS] == 0x22 && !self.condition.is(Ill::Mute) {
            self.answer = Some((Instant::now() + Duration::from_millis(5), answer));
        }
    }

    fn receive(&mut self) {
        if self
            .answer
            .as_ref()
            .is_none_or(|(then, _)| *then > Instant::now())
        {
            return;
        }
        let (_, answer) = self.answer.take().unwrap();
        let to = self.get(CAME_TO);
        for (at, byte) in (0..SIZE).zip(&answer) {
            let place = to.wrapping_add(at) % SIZE;
            let is_payload = at >= 8 && self.condition.is(Ill::Rubbish);
            self.blocks[3][usize::from(place)] = if is_payload {
                self.condition.noise()
            } else {
                *byte
            };
        }
        self.set(CAME_TO, to.wrapping_add(answer.len() as u16));
        self.set(WAITING, self.get(CAME_TO).wrapping_sub(self.get(READ_TO)));
    }
}

impl SpiChip for Ethernet {
    fn select(&mut self) {
        if self.condition.was_cycled(&mut self.cycles) {
            self.power_on();
        }
        self.receive();
        self.header.clear();
    }

    fn exchange(&mut self, byte: u8) -> u8 {
        if self.condition.is(Ill::Silent) {
            return 0;
        }
        let [high, low, control] = self.header[..] else {
            self.header.push(byte);
            return 0;
        };
        let address = u16::from_be_bytes([high, low]);
        let next = address.wrapping_add(1).to_be_bytes();
        self.header[..2].copy_from_slice(&next);
        let block = usize::from(control >> 3);
        let Some(bytes) = self.blocks.get_mut(block) else {
            return 0;
        };
        let place = usize::from(address) % bytes.len();
        if control & 0x04 == 0 {
            return bytes[place];
        }
        match (block, place) {
            (0, 0) if byte & 0x80 != 0 => {
                self.condition.reset();
                self.power_on();
            }
            (1, COMMAND) => self.command(byte),
            _ => bytes[place] = byte,
        }
        0
    }
}

/// The error of a measurement: the driver's own, or that of the user's check.
#[derive(Debug)]
pub enum NetError<E> {
    /// The driver says so.
    Driver(Error<E>),
    /// No W5500 answers: the one thing that a user can read of it. Without a look at it, `udp_bind` never returns.
    NotThere,
}

impl<E> From<E> for NetError<E> {
    fn from(error: E) -> Self {
        Self::Driver(Error::Other(error))
    }
}

/// `w5500-hl`: a datagram, and its answer.
pub struct Datagrams<B> {
    driver: W5500<B>,
}

/// Creates the bus with the chip.
pub fn bus(condition: &Rc<Condition>) -> SpiBus<Ethernet> {
    let mut chip = Ethernet {
        condition: condition.clone(),
        cycles: 0,
        blocks: [const { Vec::new() }; 4],
        header: Vec::new(),
        answer: None,
    };
    chip.power_on();
    SpiBus::new(chip)
}

impl Datagrams<SpiBus<Ethernet>> {
    /// Creates the driver over the model, and sets the chip up.
    pub fn new(condition: &Rc<Condition>) -> Self {
        Self::over(bus(condition))
    }
}

impl<B: SpiDevice> Datagrams<B> {
    /// Creates the driver over a bus, and sets the chip up.
    pub fn over(bus: B) -> Self {
        let mut driver = W5500::new(bus);
        set_up(&mut driver).unwrap();
        Self { driver }
    }
}

fn check<R: Registers>(driver: &mut R) -> Result<(), NetError<R::Error>> {
    match driver.version()? {
        VERSION => Ok(()),
        _ => Err(NetError::NotThere),
    }
}

fn set_up<R: Registers>(driver: &mut R) -> Result<(), NetError<R::Error>> {
    driver.set_mr(Mode::DEFAULT.rst())?;
    check(driver)?;
    let own = [2, 0, 0, 0, 0, 1];
    driver.set_shar(&Eui48Addr { octets: own })?;
    driver.set_sipr(&Ipv4Addr::new(192, 0, 2, 2))?;
    driver.set_subr(&Ipv4Addr::new(255, 255, 255, 0))?;
    driver.udp_bind(Sn::Sn0, 4_000)?;
    Ok(())
}

impl<B: SpiDevice> Subject for Datagrams<B> {
    type Error = NetError<B::Error>;

    async fn measure(&mut self, truth: u32) -> Result<Reading, Self::Error> {
        let host = SocketAddrV4::new(Ipv4Addr::new(192, 0, 2, 1), 4_000);
        let question = truth.to_be_bytes();
        check(&mut self.driver)?;
        self.driver.udp_send_to(Sn::Sn0, &question, &host)?;
        let mut answer = [0; 16];
        loop {
            match self.driver.udp_recv_from(Sn::Sn0, &mut answer) {
                Ok((length, _)) => {
                    return Ok(Reading::compared(answer[..length.into()] == question));
                }
                Err(Error::WouldBlock) => Timer::after_millis(1).await,
                Err(error) => return Err(NetError::Driver(error)),
            }
        }
    }

    async fn set_up(&mut self) -> Result<(), Self::Error> {
        set_up(&mut self.driver)
    }
}
