// SPDX-License-Identifier: MIT OR Apache-2.0
//! Retries around calls that are guarded already.
//!
//! A limit for each try belongs to the retry, not to a call through the same breaker inside it:
//! ```
//! use atomic_breaker_embassy::{Breaker, Config, EmbassyClock, Retry};
//! use core::time::Duration;
//! static RADIO: Breaker = Breaker::new(Config::new(), EmbassyClock);
//! async fn send() -> Result<(), ()> { Ok(()) }
//! let sent = RADIO.retry(Retry::new().try_limit(Duration::from_millis(200)), || send());
//! ```
//! ```compile_fail,E0277
//! use atomic_breaker_embassy::{Breaker, Config, EmbassyClock, Retry};
//! use core::time::Duration;
//! static RADIO: Breaker = Breaker::new(Config::new(), EmbassyClock);
//! async fn send() -> Result<(), ()> { Ok(()) }
//! let sent = RADIO.retry(Retry::new(), || RADIO.call_timeout(Duration::from_millis(200), || send()));
//! ```
//! ```compile_fail,E0277
//! use atomic_breaker_std::{Breaker, Config, Retry, breaker};
//! static RADIO: Breaker = breaker(Config::new());
//! async fn send() -> Result<(), ()> { Ok(()) }
//! let sent = RADIO.retry(Retry::new(), || RADIO.call_async(|| send()));
//! ```
//!
//! The same if the error contains that of a guarded call:
//! ```
//! use atomic_breaker_std::{Breaker, Config, Retry, breaker};
//! static RADIO: Breaker = breaker(Config::new());
//! enum Error { Radio(()) }
//! async fn send() -> Result<(), Error> { Err(Error::Radio(())) }
//! let sent = RADIO.retry(Retry::new(), || send());
//! ```
//! ```compile_fail,E0277
//! use atomic_breaker_std::{Breaker, CallError, Config, Retry, breaker};
//! static RADIO: Breaker = breaker(Config::new());
//! enum Error { Radio(CallError<()>) }
//! async fn send() -> Result<(), Error> { RADIO.call(|| Err(())).map_err(Error::Radio) }
//! let sent = RADIO.retry(Retry::new(), || send());
//! ```
//!
//! Or if the driver's bus is guarded, as the error of the driver shows:
//! ```
//! use atomic_breaker_embassy::{Breaker, Config, EmbassyClock, Mutating, Retry};
//! use embedded_hal::i2c::{ErrorKind, ErrorType, I2c, Operation};
//! # struct Bus;
//! # impl ErrorType for Bus { type Error = ErrorKind; }
//! # impl I2c for Bus {
//! #     fn transaction(&mut self, _: u8, _: &mut [Operation<'_>]) -> Result<(), ErrorKind> { Ok(()) }
//! # }
//! static SENSOR: Breaker = Breaker::new(Config::new(), EmbassyClock);
//! # enum Error<E> { I2c(E) }
//! fn read<I: I2c>(bus: &mut I) -> Result<(), Error<I::Error>> {
//!     bus.write(0x48, &[0]).map_err(Error::I2c)
//! }
//! let read = SENSOR.retry(Retry::new(), Mutating(async || read(&mut Bus)));
//! ```
//! ```compile_fail,E0277
//! use atomic_breaker_embassy::{Breaker, Config, EmbassyClock, GuardedI2c, Mutating, Retry};
//! use embedded_hal::i2c::{ErrorKind, ErrorType, I2c, Operation};
//! # struct Bus;
//! # impl ErrorType for Bus { type Error = ErrorKind; }
//! # impl I2c for Bus {
//! #     fn transaction(&mut self, _: u8, _: &mut [Operation<'_>]) -> Result<(), ErrorKind> { Ok(()) }
//! # }
//! static SENSOR: Breaker = Breaker::new(Config::new(), EmbassyClock);
//! # enum Error<E> { I2c(E) }
//! fn read<I: I2c>(bus: &mut I) -> Result<(), Error<I::Error>> {
//!     bus.write(0x48, &[0]).map_err(Error::I2c)
//! }
//! let read = SENSOR.retry(Retry::new(), Mutating(async || read(&mut GuardedI2c::new(Bus, &SENSOR))));
//! ```
//!
//! Or if a guard owns the driver:
//! ```
//! use atomic_breaker_embassy::{Breaker, Config, Device, EmbassyClock, Mutating, Retry};
//! # struct Sht4x;
//! # impl Sht4x { async fn measure(&mut self) -> Result<i32, ()> { Ok(21) } }
//! static SENSOR: Breaker = Breaker::new(Config::new(), EmbassyClock);
//! let mut sensor = Device::new(Sht4x, &SENSOR);
//! let read = SENSOR.retry(Retry::new(), Mutating(async || sensor.driver().measure().await));
//! ```
//! ```compile_fail,E0277
//! use atomic_breaker_embassy::{Breaker, Config, Device, EmbassyClock, Mutating, Retry};
//! # struct Sht4x;
//! # impl Sht4x { async fn measure(&mut self) -> Result<i32, ()> { Ok(21) } }
//! static SENSOR: Breaker = Breaker::new(Config::new(), EmbassyClock);
//! let mut sensor = Device::new(Sht4x, &SENSOR);
//! let read = SENSOR.retry(Retry::new(), Mutating(async || sensor.call_async(async |it| it.measure().await).await));
//! ```
//!
//! A ping through the breaker would be rejected while it is open, when pings are needed:
//! ```
//! use atomic_breaker_embassy::{Breaker, Config, EmbassyClock, Prober};
//! use core::time::Duration;
//! static RADIO: Breaker = Breaker::new(Config::new(), EmbassyClock);
//! async fn ping() -> Result<(), ()> { Ok(()) }
//! let pings = RADIO.run_prober(Prober::every(Duration::from_secs(5)), || ping());
//! ```
//! ```compile_fail,E0277
//! use atomic_breaker_embassy::{Breaker, Config, EmbassyClock, Prober};
//! use core::time::Duration;
//! static RADIO: Breaker = Breaker::new(Config::new(), EmbassyClock);
//! async fn ping() -> Result<(), ()> { Ok(()) }
//! let pings = RADIO.run_prober(Prober::every(Duration::from_secs(5)), || RADIO.call_async(|| ping()));
//! ```
//!
//! The same for a stream:
//! ```
//! use atomic_breaker_embassy::{Breaker, CallError, Config, EmbassyClock, Mutating, Retry, Unguarded};
//! use embedded_io_async::Write;
//! static MODEM: Breaker = Breaker::new(Config::new(), EmbassyClock);
//! async fn send<P: Write<Error: Unguarded>>(mut port: P) -> Result<(), CallError<P::Error>> {
//!     MODEM.retry(Retry::new(), Mutating(async || port.write_all(b"AT").await)).await
//! }
//! async fn start<P: Write<Error: Unguarded>>(port: P) -> bool { send(port).await.is_ok() }
//! ```
//! ```compile_fail,E0277
//! use atomic_breaker_embassy::{Breaker, CallError, Config, EmbassyClock, GuardedIo, Mutating, Retry, Unguarded};
//! use embedded_io_async::Write;
//! static MODEM: Breaker = Breaker::new(Config::new(), EmbassyClock);
//! async fn send<P: Write<Error: Unguarded>>(mut port: P) -> Result<(), CallError<P::Error>> {
//!     MODEM.retry(Retry::new(), Mutating(async || port.write_all(b"AT").await)).await
//! }
//! async fn start<P: Write<Error: Unguarded>>(port: P) -> bool { send(GuardedIo::new(port, &MODEM)).await.is_ok() }
//! ```
//!
//! A classifier that says what a rejection by another breaker means makes it possible:
//! ```
//! use atomic_breaker_std::{AnyError, Breaker, Config, Retry, breaker};
//! static RADIO: Breaker = breaker(Config::new());
//! static BUS: Breaker = breaker(Config::new());
//! async fn send() -> Result<(), ()> { Ok(()) }
//! let sent = RADIO.retry_with(AnyError, Retry::new(), || BUS.call_async(|| send()));
//! ```
//!
//! Generic code passes the bound on:
//! ```
//! use atomic_breaker_std::{Breaker, CallError, Config, Retry, Unguarded, breaker};
//! static RADIO: Breaker = breaker(Config::new());
//! async fn send<E: Unguarded>(frame: impl AsyncFn() -> Result<(), E>) -> Result<(), CallError<E>> {
//!     RADIO.retry(Retry::new(), || frame()).await
//! }
//! ```
//! ```compile_fail,E0277
//! use atomic_breaker_std::{Breaker, CallError, Config, Retry, breaker};
//! static RADIO: Breaker = breaker(Config::new());
//! async fn send<E>(frame: impl AsyncFn() -> Result<(), E>) -> Result<(), CallError<E>> {
//!     RADIO.retry(Retry::new(), || frame()).await
//! }
//! ```
