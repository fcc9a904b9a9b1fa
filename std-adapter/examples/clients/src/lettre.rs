// SPDX-License-Identifier: MIT OR Apache-2.0
//! lettre, with its pool of connections to an SMTP server.

use std::pin::pin;

use atomic_breaker_server::{Config, Failure, Outcome, Resource, ServiceError, Timed, breaker};
use lettre::transport::smtp::Error;
use lettre::transport::smtp::response::Response;
use lettre::{AsyncSmtpTransport, AsyncTransport, Message, Tokio1Executor};

use crate::{Current, Errors, PART, guarded};

type Transport = AsyncSmtpTransport<Tokio1Executor>;

pub struct Mailer {
    host: String,
    port: u16,
    transport: Current<Transport>,
    server: Resource,
}

impl Mailer {
    pub fn new(host: &str, port: u16, rules: Config) -> Self {
        Self {
            host: host.to_owned(),
            port,
            transport: Current::new(connect(host, port)),
            server: Resource::new(breaker(rules)),
        }
    }

    pub async fn send(&self, mail: Message) -> Result<Response, ServiceError<Timed<Error>>> {
        let call = async {
            let transport = self.transport.get();
            let mut sending = pin!(transport.send(mail));
            // Below `sending`, so that it is dropped before it.
            let cut_off = CutOff(Some(self));
            let answer = sending.as_mut().await;
            cut_off.disarm();
            answer
        };
        guarded(&self.server, Errors(classify), || self.repair(), call).await
    }

    /// A new pool. The old one ends with the calls that have it.
    fn repair(&self) {
        self.transport.replace(connect(&self.host, self.port));
    }

    pub fn server(&self) -> &Resource {
        &self.server
    }
}

fn connect(host: &str, port: u16) -> Transport {
    // On loopback; for a server elsewhere it is `Transport::relay(host)`, with TLS.
    Transport::builder_dangerous(host)
        .port(port)
        // For a connect alone: it does not limit how long an answer takes.
        .timeout(Some(PART))
        .build()
}

/// A mail that is cut off goes back into the pool in the middle of its dialogue, where the next mail would read the answers
/// to this one. So the pool is left to it.
struct CutOff<'a>(Option<&'a Mailer>);

impl CutOff<'_> {
    fn disarm(mut self) {
        self.0 = None;
    }
}

impl Drop for CutOff<'_> {
    fn drop(&mut self) {
        if let Some(mailer) = self.0 {
            mailer.repair();
        }
    }
}

pub fn classify(error: &Error) -> Outcome {
    let Some(code) = error.status() else {
        return match error.is_client() {
            // A mail without a recipient, an extension that the server does not have.
            true => Outcome::Ignored,
            false => Failure::new().into(),
        };
    };
    match u16::from(code) {
        // It closes; a fault of its own; no space; no login at the moment, and none at all.
        421 | 451 | 452 | 454 | 530 | 534 | 535 => Failure::new().into(),
        // Of this mail and its recipients: greylisted, a mailbox that is full or unknown, a text that is refused.
        _ => Outcome::Success,
    }
}
