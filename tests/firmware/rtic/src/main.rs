// SPDX-License-Identifier: MIT OR Apache-2.0
//! An RTIC application, which owns a sensor through a breaker: it is silent for a while, then hangs in the middle of an answer.
#![no_std]
#![no_main]

#[rtic::app(device = lm3s6965, dispatchers = [UART0])]
mod app {
    use core::future::pending;
    use core::time::Duration;

    use atomic_breaker::{Breaker, CallError, Clock, Config, State};
    use rtic_monotonics::systick::prelude::*;

    systick_monotonic!(Mono, 1_000);

    struct Uptime;

    impl Clock for Uptime {
        fn now_ms(&self) -> u32 {
            // At 1,000 Hz it wraps at 2³² ms, as a breaker expects. For other rates turn on `systick-64bit`.
            Mono::now().duration_since_epoch().to_millis() as u32
        }
    }

    static SENSOR: Breaker<Uptime> = Breaker::new(
        Config::new()
            .consecutive_failures(3)
            .open_for(Duration::from_secs(5)),
        Uptime,
    );

    /// Silent from its tenth second on, hangs from the twentieth on, and is back after the thirtieth.
    struct Thermometer;

    #[derive(Debug)]
    enum Fault {
        Silent,
        Late,
    }

    impl Thermometer {
        async fn measure(&mut self) -> Result<i32, Fault> {
            match Uptime.now_ms() / 10_000 {
                1 => Err(Fault::Silent),
                2 => pending().await,
                _ => Ok(21),
            }
        }
    }

    #[shared]
    struct Shared {}

    #[local]
    struct Local {
        sensor: Thermometer,
    }

    #[init]
    fn init(context: init::Context) -> (Shared, Local) {
        Mono::start(context.core.SYST, 12_000_000);
        measure::spawn().unwrap();
        let sensor = Thermometer;
        (Shared {}, Local { sensor })
    }

    #[task(local = [sensor], priority = 1)]
    async fn measure(context: measure::Context) {
        let (mut answered, mut silent, mut late, mut rejected) = (0, 0, 0, 0);
        for _ in 0..45 {
            Mono::delay(1.secs()).await;
            let reading = SENSOR.call_async(async || {
                // The limit goes inside, where it counts as a failure.
                let answer = Mono::timeout_after(200.millis(), context.local.sensor.measure());
                answer.await.unwrap_or(Err(Fault::Late))
            });
            match reading.await {
                Ok(_) => answered += 1,
                Err(CallError::Failed(Fault::Silent)) => silent += 1,
                Err(CallError::Failed(Fault::Late)) => late += 1,
                Err(CallError::Rejected(_)) => rejected += 1,
            }
        }
        assert_eq!(SENSOR.state(), State::Closed);
        semihosting::println!(
            "passed: {answered} answers, {silent} silent, {late} late, {rejected} rejected in 45 readings by RTIC"
        );
        semihosting::process::exit(0)
    }
}
