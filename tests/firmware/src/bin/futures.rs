//! What the futures take in RAM, beside what the operation itself takes: the buffers and drivers that it holds.
#![no_std]
#![no_main]

use core::convert::Infallible;
use core::future::pending;
use core::mem::size_of_val;
use core::time::Duration;

use atomic_breaker_embassy::word::AtomicU32;
use atomic_breaker_embassy::{Breaker, BreakerExt, Config, EmbassyClock, EmbassyTimer, Retry};
use atomic_breaker_journal::{Entry, Journal, JournalConfig};
use embassy_executor::Spawner;
use embedded_storage_async::nor_flash::{ErrorType, NorFlash, ReadNorFlash};
use firmware::pass;

static WORD: AtomicU32 = AtomicU32::new(0);
static RADIO: Breaker<EmbassyClock, &AtomicU32> = Breaker::over(&WORD, Config::new(), EmbassyClock);

/// Erased flash whose driver holds nothing.
struct Flash;

impl ErrorType for Flash {
    type Error = Infallible;
}

impl ReadNorFlash for Flash {
    const READ_SIZE: usize = 4;

    async fn read(&mut self, _: u32, bytes: &mut [u8]) -> Result<(), Infallible> {
        bytes.fill(0xFF);
        Ok(())
    }

    fn capacity(&self) -> usize {
        0x4_0000
    }
}

impl NorFlash for Flash {
    const WRITE_SIZE: usize = 4;
    const ERASE_SIZE: usize = 4096;

    async fn erase(&mut self, _: u32, _: u32) -> Result<(), Infallible> {
        Ok(())
    }

    async fn write(&mut self, _: u32, _: &[u8]) -> Result<(), Infallible> {
        Ok(())
    }
}

#[embassy_executor::main]
async fn main(_spawner: Spawner) {
    firmware::start();
    let send = pending::<Result<(), ()>>;
    let limit = Duration::from_secs(1);
    let policy = Retry::new();
    let ready = size_of_val(&RADIO.ready());
    let call = size_of_val(&RADIO.call_async(send));
    let timeout = size_of_val(&RADIO.call_timeout(limit, send));
    let retry = size_of_val(&RADIO.retry(policy, send));
    let limited = size_of_val(&RADIO.retry(policy.try_limit(limit), send));

    let opening = Journal::<_, 32>::open(Flash, 0x3_0000..0x4_0000, JournalConfig::new());
    let open = size_of_val(&opening);
    let mut journal = opening.await.unwrap();
    let keep = size_of_val(&journal.keep(&[0; 32]));
    let send = async |_: Entry<'_>| Ok::<(), ()>(());
    let send_all = size_of_val(&journal.send_all(&RADIO, EmbassyTimer, limit, send));
    pass!(
        "bytes: ready {ready}, call_async {call}, call_timeout {timeout}, retry {retry}, with try_limit {limited}, \
         open {open}, keep {keep}, send_all {send_all}"
    );
}
