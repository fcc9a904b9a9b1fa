// SPDX-License-Identifier: MIT OR Apache-2.0
//! The connection that a call was on, as far as its client says.

#[cfg(feature = "http2")]
use std::error::Error;

use http::{Extensions, Response, Version};
#[cfg(feature = "http2")]
use hyper_util::client::legacy::{self, connect::HttpInfo};

use crate::{ConnectionId, Outcome, Scope};

/// The calls that may have been on the connection of a call.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Carrier {
    /// This call alone.
    Own,
    /// Calls with the same connection.
    Shared(ConnectionId),
}

impl Carrier {
    /// The carrier of a call whose client says nothing. Without HTTP/2 no call shares a connection.
    pub(crate) const UNKNOWN: Self = if cfg!(feature = "http2") {
        Self::Shared(ConnectionId::UNKNOWN)
    } else {
        Self::Own
    };

    /// The carrier of a response, and so of its body.
    pub(crate) fn of_response<B>(response: &Response<B>) -> Self {
        if response.version() <= Version::HTTP_11 {
            return Self::Own;
        }
        Self::of_extensions(response.extensions())
    }

    #[cfg(feature = "http2")]
    fn of_extensions(extensions: &Extensions) -> Self {
        if let Some(&connection) = extensions.get() {
            return Self::Shared(connection);
        }
        extensions.get::<HttpInfo>().map_or(Self::UNKNOWN, |info| {
            Self::Shared(ConnectionId::named((info.local_addr(), info.remote_addr())))
        })
    }

    #[cfg(not(feature = "http2"))]
    fn of_extensions(_: &Extensions) -> Self {
        Self::UNKNOWN
    }

    /// The carrier of a request that ended with an error of hyper-util; `None` for other errors.
    #[cfg(feature = "http2")]
    pub(crate) fn of_error(error: &(dyn Error + 'static)) -> Option<Self> {
        let error = error.downcast_ref::<legacy::Error>()?;
        Some(match error.connect_info() {
            Some(connected) => {
                let mut extensions = Extensions::new();
                connected.get_extras(&mut extensions);
                Self::of_extensions(&extensions)
            }
            // It was being made, for this call.
            None => Self::Own,
        })
    }

    /// The scope of a failure that ended the connection, where it was not asked yet.
    pub(crate) fn refine(self, (outcome, scope): (Outcome, Scope)) -> (Outcome, Scope) {
        let scope = match (scope, self) {
            (Scope::Connection(ConnectionId::UNKNOWN), Self::Own) => Scope::Call,
            (Scope::Connection(ConnectionId::UNKNOWN), Self::Shared(connection)) => {
                Scope::Connection(connection)
            }
            (Scope::Unprocessed(ConnectionId::UNKNOWN), Self::Own) => {
                Scope::Unprocessed(ConnectionId::unique())
            }
            (Scope::Unprocessed(ConnectionId::UNKNOWN), Self::Shared(connection)) => {
                Scope::Unprocessed(connection)
            }
            _ => scope,
        };
        (outcome, scope)
    }
}
