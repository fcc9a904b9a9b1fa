// SPDX-License-Identifier: MIT OR Apache-2.0
//! Streams of bytes: a serial port, a connection.

use std::cell::RefCell;
use std::convert::Infallible;
use std::rc::Rc;

use embassy_time::Timer;

/// A model of what is at the other end of a stream.
pub trait Peer {
    /// Takes what arrives.
    fn take(&mut self, bytes: &[u8]);

    /// Sends what there is to send, and returns how much; 0 if there is nothing yet.
    fn give(&mut self, bytes: &mut [u8]) -> usize;
}

/// This end of a stream. Writes end at once, as there is a buffer; reads wait.
#[derive(Debug)]
pub struct Port<P>(Rc<RefCell<P>>);

impl<P> Port<P> {
    /// Creates a stream to this peer.
    pub fn new(peer: P) -> Self {
        Self(Rc::new(RefCell::new(peer)))
    }

    /// Returns the peer, to look at.
    pub fn peer(&self) -> Rc<RefCell<P>> {
        self.0.clone()
    }
}

impl<P> Clone for Port<P> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<P: Peer> Port<P> {
    async fn wait(&self, bytes: &mut [u8]) -> usize {
        loop {
            let given = self.0.borrow_mut().give(bytes);
            if given > 0 || bytes.is_empty() {
                return given;
            }
            Timer::after_millis(1).await;
        }
    }
}

/// The traits of both versions.
macro_rules! stream {
    ($($version:ident)*) => {$(
        impl<P> $version::ErrorType for Port<P> {
            type Error = Infallible;
        }

        impl<P: Peer> $version::Read for Port<P> {
            async fn read(&mut self, bytes: &mut [u8]) -> Result<usize, Infallible> {
                Ok(self.wait(bytes).await)
            }
        }

        impl<P: Peer> $version::Write for Port<P> {
            async fn write(&mut self, bytes: &[u8]) -> Result<usize, Infallible> {
                self.0.borrow_mut().take(bytes);
                Ok(bytes.len())
            }

            async fn flush(&mut self) -> Result<(), Infallible> {
                Ok(())
            }
        }
    )*};
}

stream!(embedded_io_async embedded_io_async_06);

/// A stream of today's traits for a driver that was written against those of 0.6.
#[derive(Debug)]
pub struct Older<P>(pub P);

/// The error of such a stream.
#[derive(Clone, Copy, Debug)]
pub struct OlderError;

impl embedded_io_async_06::Error for OlderError {
    fn kind(&self) -> embedded_io_async_06::ErrorKind {
        embedded_io_async_06::ErrorKind::Other
    }
}

impl<P> embedded_io_async_06::ErrorType for Older<P> {
    type Error = OlderError;
}

impl<P: embedded_io_async::Read> embedded_io_async_06::Read for Older<P> {
    async fn read(&mut self, bytes: &mut [u8]) -> Result<usize, OlderError> {
        self.0.read(bytes).await.map_err(|_| OlderError)
    }
}

impl<P: embedded_io_async::Write> embedded_io_async_06::Write for Older<P> {
    async fn write(&mut self, bytes: &[u8]) -> Result<usize, OlderError> {
        self.0.write(bytes).await.map_err(|_| OlderError)
    }

    async fn flush(&mut self) -> Result<(), OlderError> {
        self.0.flush().await.map_err(|_| OlderError)
    }
}
