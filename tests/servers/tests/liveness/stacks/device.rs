// SPDX-License-Identifier: MIT OR Apache-2.0
//! Devices whose guards own their drivers, with a repair; and a modem behind the guard of its port.

use std::cell::Cell;
use std::convert::Infallible;
use std::future::pending;
use std::marker::PhantomData;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use atomic_breaker_embassy::device::{AsyncRepair, Device};
use atomic_breaker_embassy::{GuardedError, GuardedIo};
use atomic_breaker_http::{Breaker, Config};
use atomic_breaker_server::{CallError, word::NativeWord};
use embedded_io_async::{ErrorType, Read, Write};
use tokio::sync::Mutex;
use tokio::time::sleep;

use crate::dice::{Dice, Time};
use crate::explore::explore;
use crate::host::{Health, Host, LIMIT, Trouble};
use crate::rules::{bound_of, command, let_go, open_of, rules, trips_of};
use crate::stack::{Answer, Caller, Calm, Ending, Look, Nervous, Stack, Trips, outcome, throw};

type Guarded = Arc<Breaker<Time, NativeWord, (), Nervous>>;

/// The kind of call to a device.
trait Kind: Sized + 'static {
    type Guards;

    /// `true` if a probe repairs first.
    const REPAIRS: bool = true;

    fn guards(driver: Driver, breaker: &Guarded) -> Self::Guards;
    fn call(of: &Devices<Self>, caller: Caller) -> impl Future<Output = Answer>;
}

struct Devices<K: Kind> {
    breaker: Guarded,
    config: Config,
    guards: K::Guards,
    repair_takes: Duration,
    kind: PhantomData<K>,
}

impl<K: Kind> Stack for Devices<K> {
    /// Calls of a device are made one after the other.
    const GAPS_MS: [u32; 3] = [100, 300, 1_000];

    fn answers_after(dice: &mut Dice) -> Duration {
        dice.ms(0..80)
    }

    fn new(host: &Host, dice: &mut Dice) -> Self {
        let config = rules(dice);
        let breaker = Breaker::builder(config, Time).observer(Nervous::draw(dice));
        let breaker = Arc::new(breaker.build());
        // Half of them take longer than half a try.
        let repair_takes = if K::REPAIRS {
            dice.ms(0..LIMIT.as_millis() as u32 * 9 / 10)
        } else {
            Duration::ZERO
        };
        Self {
            guards: K::guards(Driver::new(host, repair_takes), &breaker),
            repair_takes,
            breaker,
            config,
            kind: PhantomData,
        }
    }

    /// A device that has lost its settings fails until the breaker trips, perhaps once more in the place of another guard, and
    /// is repaired by the first probe of a round. Calls that began before wait for each other.
    fn bound(&self, calm: &Calm) -> Duration {
        let fails = trips_of(&[self.config]).after * (calm.answers_after + calm.gap);
        let begun_before = 8 * LIMIT;
        let calm = Calm {
            answers_after: calm.answers_after + self.repair_takes,
            ..*calm
        };
        2 * (bound_of(&[self.config], &calm) + open_of(&[self.config]) + fails) + begun_before
    }

    fn trips(&self) -> Option<Trips> {
        Some(trips_of(&[self.config]))
    }

    async fn call(self: Rc<Self>, caller: Caller) -> Answer {
        if caller.ending == Ending::Forgotten {
            std::mem::forget(self.breaker.acquire());
            return Answer::Other;
        }
        K::call(&self, caller).await
    }

    fn look(&self, _: usize) -> Look {
        Look::of(&self.breaker.snapshot())
    }

    fn disturb(&self, dice: &mut Dice) -> bool {
        let command = std::panic::AssertUnwindSafe(|| command(&*self.breaker, dice));
        drop(std::panic::catch_unwind(command));
        true
    }

    fn settle(&self) {
        let_go(&*self.breaker);
    }

    fn describe(&self) -> String {
        format!("{:?} by {:?}", self.breaker.snapshot(), self.config)
    }
}

/// The driver of a device that loses its settings whenever it is ill.
#[derive(Clone)]
struct Driver {
    host: Host,
    has_settings: Rc<Cell<bool>>,
    repair_takes: Duration,
}

impl Driver {
    fn new(host: &Host, repair_takes: Duration) -> Self {
        Self {
            host: host.clone(),
            has_settings: Rc::new(Cell::new(true)),
            repair_takes,
        }
    }

    async fn measure(&mut self, caller: Caller) -> Result<u32, Trouble> {
        if caller.ending.panics() {
            throw();
        }
        if self.host.health() != Health::Well {
            self.has_settings.set(false);
        }
        let value = self.host.answer_without_limit().await?;
        if self.has_settings.get() {
            Ok(value)
        } else {
            Err(Trouble { retry_after: None })
        }
    }

    /// As `new` does.
    async fn set_up(&mut self) -> Result<(), Trouble> {
        sleep(self.repair_takes).await;
        self.host.answer_without_limit().await?;
        self.has_settings.set(true);
        Ok(())
    }
}

type Answering<'a> = Pin<Box<dyn Future<Output = Answer> + 'a>>;

/// A guard of a driver, with a repair or without.
trait Measures {
    fn measure(&mut self, caller: Caller) -> Answering<'_>;
}

impl<K, R: AsyncRepair<Driver, Trouble>> Measures for Device<Driver, Guarded, K, Duration, R> {
    fn measure(&mut self, caller: Caller) -> Answering<'_> {
        let measure = async move |driver: &mut Driver| driver.measure(caller).await;
        Box::pin(async move {
            match self.call_async_with(outcome, measure).await {
                Ok(_) => Answer::Served,
                Err(CallError::Failed(_)) => Answer::Failed,
                Err(CallError::Rejected(_)) => Answer::Rejected,
            }
        })
    }
}

type Guard = Mutex<Box<dyn Measures>>;

fn guard(driver: &Driver, breaker: &Guarded, repairs: bool) -> Guard {
    let device = Device::new(driver.clone(), Arc::clone(breaker)).time_limit(LIMIT);
    let set_up = async |driver: &mut Driver, _| driver.set_up().await;
    Mutex::new(if repairs {
        Box::new(device.before_probe_async(LIMIT, set_up))
    } else {
        Box::new(device)
    })
}

/// One guard, which repairs.
struct Alone;

impl Kind for Alone {
    type Guards = Guard;

    fn guards(driver: Driver, breaker: &Guarded) -> Guard {
        guard(&driver, breaker, true)
    }

    async fn call(of: &Devices<Self>, caller: Caller) -> Answer {
        of.guards.lock().await.measure(caller).await
    }
}

/// One guard that repairs and one that does not, with the same breaker and the same device.
struct Beside;

impl Kind for Beside {
    type Guards = ([Guard; 2], Cell<usize>);

    fn guards(driver: Driver, breaker: &Guarded) -> Self::Guards {
        let guards = [true, false].map(|repairs| guard(&driver, breaker, repairs));
        (guards, Cell::new(0))
    }

    async fn call(of: &Devices<Self>, caller: Caller) -> Answer {
        let (guards, turn) = &of.guards;
        turn.set(turn.get() + 1);
        guards[turn.get() % 2].lock().await.measure(caller).await
    }
}

/// The port of a modem, which answers each command with a byte, or not at all.
struct Port {
    host: Host,
    commands: usize,
}

impl ErrorType for Port {
    type Error = Infallible;
}

impl Write for Port {
    async fn write(&mut self, bytes: &[u8]) -> Result<usize, Infallible> {
        self.commands += 1;
        Ok(bytes.len())
    }

    async fn flush(&mut self) -> Result<(), Infallible> {
        Ok(())
    }
}

impl Read for Port {
    async fn read(&mut self, bytes: &mut [u8]) -> Result<usize, Infallible> {
        if self.commands == 0 {
            return pending().await;
        }
        // It has heard it; whoever leaves meanwhile hears the answer no more.
        self.commands = 0;
        match self.host.answer_without_limit().await {
            Ok(value) => {
                bytes[0] = value as u8;
                Ok(1)
            }
            Err(_) => pending().await,
        }
    }
}

/// A driver that knows nothing of a breaker: a command, and its answer.
async fn ask<P: Read + Write>(port: &mut P) -> Result<u8, P::Error> {
    port.write(b"?").await?;
    port.flush().await?;
    let mut answer = [0];
    port.read(&mut answer).await?;
    Ok(answer[0])
}

struct Modem;

impl Kind for Modem {
    type Guards = Mutex<GuardedIo<Port, Guarded>>;
    const REPAIRS: bool = false;

    fn guards(driver: Driver, breaker: &Guarded) -> Self::Guards {
        let port = Port {
            host: driver.host,
            commands: 0,
        };
        Mutex::new(GuardedIo::new(port, Arc::clone(breaker)).time_limit(LIMIT))
    }

    async fn call(of: &Devices<Self>, _: Caller) -> Answer {
        match ask(&mut *of.guards.lock().await).await {
            Ok(_) => Answer::Served,
            Err(GuardedError::Rejected(_)) => Answer::Rejected,
            Err(_) => Answer::Failed,
        }
    }
}

#[test]
fn a_driver_whose_guard_repairs() {
    explore::<Devices<Alone>>("stacks::device::a_driver_whose_guard_repairs", 40);
}

#[test]
fn a_driver_in_a_guard_that_repairs_and_in_one_that_does_not() {
    explore::<Devices<Beside>>(
        "stacks::device::a_driver_in_a_guard_that_repairs_and_in_one_that_does_not",
        40,
    );
}

#[test]
fn a_modem_behind_a_guarded_port() {
    explore::<Devices<Modem>>("stacks::device::a_modem_behind_a_guarded_port", 40);
}
