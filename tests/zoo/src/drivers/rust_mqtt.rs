// SPDX-License-Identifier: MIT OR Apache-2.0
//! A broker behind a TCP stack, and `rust-mqtt`.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::fmt::Debug;
use std::net::{Ipv4Addr, SocketAddr};
use std::rc::Rc;

use embassy_time::{Duration, Instant, Timer};
use embedded_nal_async::TcpConnect;
use rust_mqtt::buffer::AllocBuffer;
use rust_mqtt::client::event::Event;
use rust_mqtt::client::options::{ConnectOptions, PublicationOptions, TopicReference};
use rust_mqtt::client::{Client, MqttError};
use rust_mqtt::types::{MqttString, TopicName};

use crate::bus::{Peer, Port};
use crate::condition::{Condition, Ill};
use crate::subject::{Reading, Subject};

/// The model of a connection to a broker.
#[derive(Debug)]
pub struct Broker {
    condition: Rc<Condition>,
    bytes: Vec<u8>,
    answers: VecDeque<(Instant, Vec<u8>)>,
}

impl Broker {
    fn packet(&mut self, packet: &[u8]) {
        let answer = match (self.condition.ill(), packet[0] >> 4) {
            (Some(Ill::Rubbish), _) => b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec(),
            // Connect.
            (None, 1) => vec![0x20, 3, 0, 0, 0],
            // Publish, with an acknowledgement: the identifier comes after the name of the topic.
            (None, 3) => {
                let topic = usize::from(packet[3]);
                vec![0x40, 2, packet[4 + topic], packet[5 + topic]]
            }
            _ => return,
        };
        let then = Instant::now() + Duration::from_millis(20);
        self.answers.push_back((then, answer));
    }
}

impl Peer for Broker {
    fn take(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        // No packet here is longer than 127 bytes.
        while self.bytes.len() > 1 && self.bytes.len() >= usize::from(self.bytes[1]) + 2 {
            let rest = self.bytes.split_off(usize::from(self.bytes[1]) + 2);
            let packet = std::mem::replace(&mut self.bytes, rest);
            self.packet(&packet);
        }
    }

    fn give(&mut self, bytes: &mut [u8]) -> usize {
        let ready = self
            .answers
            .front()
            .is_some_and(|(then, _)| *then <= Instant::now());
        if !ready {
            return 0;
        }
        let (then, mut answer) = self.answers.pop_front().unwrap();
        let given = answer.len().min(bytes.len());
        bytes[..given].copy_from_slice(&answer[..given]);
        if given < answer.len() {
            self.answers.push_front((then, answer.split_off(given)));
        }
        given
    }
}

/// The model of a TCP stack, through which the broker is reached.
#[derive(Debug)]
pub struct Stack(Rc<Condition>);

impl Stack {
    /// Creates a stack.
    pub fn new(condition: &Rc<Condition>) -> Self {
        Self(condition.clone())
    }
}

impl TcpConnect for Stack {
    type Error = Infallible;
    type Connection<'a> = Port<Broker>;

    async fn connect(&self, _: SocketAddr) -> Result<Port<Broker>, Infallible> {
        // The broker is repaired by others: its process is new.
        self.0.cure();
        while self.0.is(Ill::Silent) {
            Timer::after_secs(1).await;
        }
        Ok(Port::new(Broker {
            condition: self.0.clone(),
            bytes: Vec::new(),
            answers: VecDeque::new(),
        }))
    }
}

type Connected<N> = Client<
    'static,
    'static,
    <N as TcpConnect>::Connection<'static>,
    AllocBuffer,
    1,
    1,
    1,
    1,
    16,
    0,
    1,
>;

/// `rust-mqtt`: a message, and its acknowledgement; connected anew after an error.
pub struct Messages<N: TcpConnect + 'static> {
    stack: &'static N,
    client: Option<Connected<N>>,
}

impl Messages<Stack> {
    /// Creates the driver over the model.
    pub fn new(condition: &Rc<Condition>) -> Self {
        Self::over(Stack::new(condition))
    }
}

/// The driver's errors borrow from the client.
fn in_words(error: impl Debug) -> String {
    format!("{error:?}")
}

fn text(text: &'static str) -> MqttString<'static> {
    MqttString::from_str(text).unwrap()
}

impl<N: TcpConnect + 'static> Messages<N> {
    /// Creates the driver over a stack.
    pub fn over(stack: N) -> Self {
        Self {
            // In firmware it is a static.
            stack: Box::leak(Box::new(stack)),
            client: None,
        }
    }

    async fn connect(&self) -> Result<Connected<N>, MqttError<'static, 16>> {
        let broker = SocketAddr::from((Ipv4Addr::new(192, 0, 2, 1), 1_883));
        let connection = self.stack.connect(broker).await;
        let connection = connection
            .map_err(|error| MqttError::Network(embedded_io_async::Error::kind(&error)))?;
        let mut client = Connected::<N>::new(Box::leak(Box::new(AllocBuffer)));
        let options = ConnectOptions::new().clean_start();
        client
            .connect(connection, &options, Some(text("zoo")))
            .await?;
        Ok(client)
    }
}

impl<N: TcpConnect + 'static> Subject for Messages<N> {
    type Error = String;

    async fn measure(&mut self, truth: u32) -> Result<Reading, Self::Error> {
        // What is dropped half-way is not to be used again.
        let mut client = match self.client.take() {
            Some(client) => client,
            None => self.connect().await.map_err(in_words)?,
        };
        let topic = TopicName::new(text("readings")).unwrap();
        let options = PublicationOptions::new(TopicReference::Name(topic)).at_least_once();
        let message = truth.to_be_bytes();
        let sent = client.publish(&options, message.as_slice().into()).await;
        let sent = sent.map_err(in_words)?;
        loop {
            if let Event::PublishAcknowledged(answer) = client.poll().await.map_err(in_words)? {
                self.client = Some(client);
                return Ok(Reading::compared(Some(answer.packet_identifier) == sent));
            }
        }
    }

    async fn set_up(&mut self) -> Result<(), Self::Error> {
        self.client = None;
        Ok(())
    }
}
