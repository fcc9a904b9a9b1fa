// SPDX-License-Identifier: MIT OR Apache-2.0
//! Pins: outputs, which a model may watch, and inputs that are waited for.

use std::cell::Cell;
use std::convert::Infallible;
use std::rc::Rc;

use embassy_time::{Duration, Timer};
use embedded_hal::digital::{ErrorType, OutputPin};
use embedded_hal_async::digital::Wait;

/// An output.
#[derive(Clone, Debug, Default)]
pub struct Pin {
    is_high: Rc<Cell<bool>>,
    rises: Rc<Cell<u32>>,
}

impl Pin {
    /// Returns whether it is high.
    pub fn is_high(&self) -> bool {
        self.is_high.get()
    }

    /// Returns whether it rose since `seen`, which is updated.
    pub fn has_risen(&self, seen: &mut u32) -> bool {
        std::mem::replace(seen, self.rises.get()) != self.rises.get()
    }
}

impl ErrorType for Pin {
    type Error = Infallible;
}

impl OutputPin for Pin {
    fn set_low(&mut self) -> Result<(), Infallible> {
        self.is_high.set(false);
        Ok(())
    }

    fn set_high(&mut self) -> Result<(), Infallible> {
        if !self.is_high.replace(true) {
            self.rises.set(self.rises.get() + 1);
        }
        Ok(())
    }
}

/// An input of which the model tells the level.
pub struct Level<F>(pub F);

impl<F> ErrorType for Level<F> {
    type Error = Infallible;
}

impl<F: FnMut() -> bool> Level<F> {
    async fn wait_for(&mut self, level: bool) -> Result<(), Infallible> {
        while (self.0)() != level {
            Timer::after(Duration::from_millis(1)).await;
        }
        Ok(())
    }
}

impl<F: FnMut() -> bool> Wait for Level<F> {
    async fn wait_for_high(&mut self) -> Result<(), Infallible> {
        self.wait_for(true).await
    }

    async fn wait_for_low(&mut self) -> Result<(), Infallible> {
        self.wait_for(false).await
    }

    async fn wait_for_rising_edge(&mut self) -> Result<(), Infallible> {
        self.wait_for(false).await?;
        self.wait_for(true).await
    }

    async fn wait_for_falling_edge(&mut self) -> Result<(), Infallible> {
        self.wait_for(true).await?;
        self.wait_for(false).await
    }

    async fn wait_for_any_edge(&mut self) -> Result<(), Infallible> {
        let before = (self.0)();
        self.wait_for(!before).await
    }
}
