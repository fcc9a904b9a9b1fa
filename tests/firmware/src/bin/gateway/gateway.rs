// SPDX-License-Identifier: MIT OR Apache-2.0
//! The gateway, as it would be written for real devices: it knows nothing of what befalls them, and of its breakers only
//! what it resets.

use core::fmt::Debug;
use core::net::{IpAddr, Ipv4Addr, SocketAddr};

use embassy_sync::blocking_mutex::raw::NoopRawMutex;
use embassy_sync::mutex::Mutex;
use embassy_time::{Duration, Ticker, Timer, with_timeout};
use embedded_can::{Frame, nb::Can};
use embedded_io::{Read, Write};
use embedded_io_async::{Read as _, Write as _};
use embedded_nal_async::TcpConnect;
use embedded_storage_async::nor_flash::NorFlash;
use flash_journal::Journal;

use crate::SERVER;
use crate::day::{Day, add};

/// The bytes of a measurement.
pub const ENTRY: usize = 8;
const ADDRESS: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), 4_040);

pub type Shared<F> = Mutex<NoopRawMutex, Journal<F, ENTRY>>;

/// Something failed, and is tried again later.
pub struct Failed;

impl<E: Debug> From<E> for Failed {
    fn from(_: E) -> Self {
        Self
    }
}

/// Keeps what comes from the bus.
pub async fn listen<F: NorFlash>(mut bus: impl Can, journal: &Shared<F>, day: &Day) -> ! {
    let mut every_second = Ticker::every(Duration::from_secs(1));
    loop {
        while let Ok(frame) = bus.receive() {
            add(&day.received);
            if journal.lock().await.keep(frame.data()).await.is_ok() {
                add(&day.kept);
            }
        }
        every_second.next().await;
    }
}

/// Sends what was kept, if it has the time.
pub async fn send<F: NorFlash>(server: impl TcpConnect, journal: &Shared<F>) -> ! {
    let mut every_half_minute = Ticker::every(Duration::from_secs(30));
    loop {
        // Also in the middle of an entry, and of what the journal writes.
        let _ = with_timeout(Duration::from_secs(20), upload(&server, journal)).await;
        every_half_minute.next().await;
    }
}

async fn upload<F: NorFlash>(server: &impl TcpConnect, journal: &Shared<F>) -> Result<(), Failed> {
    if journal.lock().await.waiting() == 0 {
        return Ok(());
    }
    let mut connection = server.connect(ADDRESS).await?;
    loop {
        let mut request = [0; size_of::<u32>() + ENTRY];
        match journal.lock().await.oldest().await? {
            None => return Ok(()),
            Some(entry) => {
                request[..4].copy_from_slice(&entry.number.to_le_bytes());
                request[4..].copy_from_slice(entry.bytes);
            }
        }
        connection.write_all(&request).await?;
        connection.flush().await?;
        let mut received = [0; size_of::<u32>()];
        connection.read_exact(&mut received).await?;
        let received = u32::from_le_bytes(received);
        journal.lock().await.remove_through(received).await?;
    }
}

/// Joins the network again whenever it is lost.
pub async fn stay_joined(mut modem: impl Read + Write) -> ! {
    loop {
        if let Ok(true) = joins(&mut modem) {
            // What made it fail is over.
            SERVER.reset();
        }
        Timer::after_secs(10).await;
    }
}

/// Returns whether it had to join.
fn joins(modem: &mut (impl Read + Write)) -> Result<bool, Failed> {
    if &ask(modem, b"AT+JOIN?\r")? == b"OK" {
        return Ok(false);
    }
    ask(modem, b"AT+JOIN\r")?;
    Ok(true)
}

fn ask(modem: &mut (impl Read + Write), command: &[u8]) -> Result<[u8; 2], Failed> {
    modem.write_all(command)?;
    modem.flush()?;
    let mut answer = [0; 2];
    modem.read_exact(&mut answer)?;
    Ok(answer)
}
