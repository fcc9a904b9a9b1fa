// SPDX-License-Identifier: MIT OR Apache-2.0
//! CAN controllers behind a breaker.
#![cfg(feature = "embedded-can")]

use atomic_breaker_embassy::{GuardedCan, GuardedError, Outcome, State};
use embedded_can::blocking::Can;
use embedded_can::{Error as _, ErrorKind, Frame, Id, StandardId};

use super::sim::{RULES, Sim, breaker};

#[derive(Clone, Debug, PartialEq)]
struct Empty(Id);

impl Frame for Empty {
    fn new(id: impl Into<Id>, data: &[u8]) -> Option<Self> {
        data.is_empty().then(|| Self(id.into()))
    }

    fn new_remote(_: impl Into<Id>, _: usize) -> Option<Self> {
        None
    }

    fn is_extended(&self) -> bool {
        false
    }

    fn is_remote_frame(&self) -> bool {
        false
    }

    fn id(&self) -> Id {
        self.0
    }

    fn dlc(&self) -> usize {
        0
    }

    fn data(&self) -> &[u8] {
        &[]
    }
}

fn frame() -> Empty {
    Empty::new(StandardId::ZERO, &[]).unwrap()
}

/// Fails as a test tells it to, and counts what reaches it.
struct Controller {
    answer: nb::Result<(), ErrorKind>,
    reached: u32,
}

impl Controller {
    const fn new(answer: nb::Result<(), ErrorKind>) -> Self {
        Self { answer, reached: 0 }
    }

    fn answer(&mut self) -> nb::Result<(), ErrorKind> {
        self.reached += 1;
        self.answer
    }
}

impl Can for Controller {
    type Frame = Empty;
    type Error = ErrorKind;

    fn transmit(&mut self, _: &Empty) -> Result<(), ErrorKind> {
        nb::block!(self.answer())
    }

    fn receive(&mut self) -> Result<Empty, ErrorKind> {
        nb::block!(self.answer()).map(|()| frame())
    }
}

impl embedded_can::nb::Can for Controller {
    type Frame = Empty;
    type Error = ErrorKind;

    fn transmit(&mut self, _: &Empty) -> nb::Result<Option<Empty>, ErrorKind> {
        self.answer().map(|()| None)
    }

    fn receive(&mut self) -> nb::Result<Empty, ErrorKind> {
        self.answer().map(|()| frame())
    }
}

const ALONE: nb::Result<(), ErrorKind> = Err(nb::Error::Other(ErrorKind::Acknowledge));

#[test]
fn a_bus_without_another_node_is_left_alone_and_comes_back() {
    let mut sim = Sim::new();
    let breaker = breaker(RULES);
    let mut can = GuardedCan::new(Controller::new(ALONE), &breaker);
    for _ in 0..3 {
        let error = can.transmit(&frame()).unwrap_err();
        assert_eq!(error, GuardedError::Device(ErrorKind::Acknowledge));
        assert_eq!(error.kind(), ErrorKind::Acknowledge);
    }
    let rejected = can.receive().unwrap_err();
    assert!(rejected.rejected().is_some());
    assert_eq!(rejected.kind(), ErrorKind::Other);
    assert_eq!(can.device().reached, 3, "then left alone");

    can.device().answer = Ok(());
    sim.pass(1_000);
    assert_eq!(can.transmit(&frame()), Ok(()));
    assert_eq!(breaker.state(), State::HalfOpen, "accepted is not received");
    assert_eq!(can.receive(), Ok(frame()));
    assert_eq!(breaker.state(), State::Closed);
}

#[test]
fn sent_frames_close_the_breaker_of_a_controller_that_is_trusted() {
    let mut sim = Sim::new();
    let breaker = breaker(RULES);
    let can = GuardedCan::new(Controller::new(Ok(())), &breaker);
    let mut can = can.trusting_sent_frames();
    breaker.trip();
    sim.pass(1_000);
    assert_eq!(can.transmit(&frame()), Ok(()));
    assert_eq!(breaker.state(), State::Closed);
}

#[test]
fn a_controller_that_would_block_is_asked_again_and_holds_no_probe() {
    use embedded_can::nb::Can;
    let mut sim = Sim::new();
    let breaker = breaker(RULES);
    let blocks = Controller::new(Err(nb::Error::WouldBlock));
    let mut can = GuardedCan::new(blocks, &breaker).trusting_sent_frames();
    for _ in 0..100 {
        assert_eq!(
            Can::transmit(&mut can, &frame()),
            Err(nb::Error::WouldBlock)
        );
        assert_eq!(Can::receive(&mut can), Err(nb::Error::WouldBlock));
    }
    assert_eq!(breaker.state(), State::Closed);
    breaker.trip();
    sim.pass(1_000);
    for _ in 0..10 {
        assert_eq!(Can::receive(&mut can), Err(nb::Error::WouldBlock));
        assert_eq!(breaker.state(), State::HalfOpen);
    }
    can.device().answer = Ok(());
    assert_eq!(nb::block!(Can::receive(&mut can)), Ok(frame()));
    assert_eq!(breaker.state(), State::Closed);
    can.device().answer = ALONE;
    for _ in 0..3 {
        assert!(Can::transmit(&mut can, &frame()).is_err());
    }
    assert_eq!(breaker.state(), State::Open);
    let rejected = nb::block!(Can::transmit(&mut can, &frame())).unwrap_err();
    assert!(rejected.rejected().is_some());
}

/// Only non-blocking; off the bus until it is restarted.
struct Polled {
    is_off: bool,
    waiting: u32,
    restarts: Vec<u8>,
}

impl embedded_can::nb::Can for Polled {
    type Frame = Empty;
    type Error = ErrorKind;

    fn transmit(&mut self, _: &Empty) -> nb::Result<Option<Empty>, ErrorKind> {
        if self.is_off {
            return Err(nb::Error::Other(ErrorKind::Other));
        }
        Ok(None)
    }

    fn receive(&mut self) -> nb::Result<Empty, ErrorKind> {
        if self.is_off {
            return Err(nb::Error::Other(ErrorKind::Other));
        }
        self.waiting = self.waiting.checked_sub(1).ok_or(nb::Error::WouldBlock)?;
        Ok(frame())
    }
}

#[test]
fn a_controller_that_is_polled_is_restarted_once_and_not_in_each_try_that_would_block() {
    use embedded_can::nb::Can;
    let mut sim = Sim::new();
    let breaker = breaker(RULES);
    let off = Polled {
        is_off: true,
        waiting: 0,
        restarts: Vec::new(),
    };
    let mut can = GuardedCan::new(off, &breaker).before_probe_nb(|can, trips| {
        can.restarts.push(trips);
        can.is_off = trips < 2;
        Ok(())
    });
    assert!((0..9).all(|_| can.receive().is_err()));
    for trips in 1..=2 {
        assert_eq!(
            (breaker.state(), breaker.snapshot().trips()),
            (State::Open, trips)
        );
        sim.pass(1_000);
        let _ = can.receive();
    }
    for _ in 0..9 {
        assert_eq!(can.receive(), Err(nb::Error::WouldBlock));
        assert_eq!(can.transmit(&frame()), Ok(None));
    }
    assert_eq!(breaker.state(), State::HalfOpen, "nothing came yet");
    can.device().waiting = 1;
    assert_eq!(can.receive(), Ok(frame()));
    assert_eq!(
        (breaker.state(), &can.device().restarts[..]),
        (State::Closed, &[1, 2][..])
    );
}

#[test]
fn a_receive_buffer_that_overran_is_no_failure_of_the_bus() {
    let _time = Sim::new();
    let breaker = breaker(RULES);
    let full = Controller::new(Err(nb::Error::Other(ErrorKind::Overrun)));
    let mut can = GuardedCan::new(full, &breaker);
    assert!((0..10).all(|_| can.receive().is_err()));
    let snapshot = breaker.snapshot();
    assert_eq!((snapshot.state(), snapshot.failures()), (State::Closed, 0));
    let mut can = can.with_classifier(|_| Outcome::Failure(atomic_breaker_embassy::Failure::new()));
    assert!((0..3).all(|_| can.receive().is_err()));
    assert_eq!(breaker.state(), State::Open);
}

/// A bus without another node: the mailboxes are full, and the driver knows no error of the bus.
#[test]
fn a_frame_that_cannot_be_sent_for_a_second_is_a_failure() {
    use embedded_can::nb::Can;
    let mut sim = Sim::new();
    let breaker = breaker(RULES);
    let full = Controller::new(Err(nb::Error::WouldBlock));
    let mut can = GuardedCan::new(full, &breaker);
    for _ in 0..350 {
        let _ = Can::transmit(&mut can, &frame());
        sim.pass(10);
        if breaker.state() == State::Open {
            break;
        }
    }
    assert_eq!(breaker.state(), State::Open);
    // One that was full only for a while.
    breaker.reset();
    for _ in 0..50 {
        can.device().answer = Err(nb::Error::WouldBlock);
        for _ in 0..50 {
            let _ = Can::transmit(&mut can, &frame());
            sim.pass(10);
        }
        can.device().answer = Ok(());
        assert_eq!(Can::transmit(&mut can, &frame()), Ok(None));
    }
    assert_eq!(breaker.snapshot().failures(), 0);
}

/// A receive that blocks waits until a frame is sent; meanwhile an interrupt may have a frame to send.
#[test]
fn a_receive_that_waits_holds_no_place_of_a_probe() {
    struct Waiting<'a>(&'a atomic_breaker_embassy::Breaker);
    impl Can for Waiting<'_> {
        type Frame = Empty;
        type Error = ErrorKind;

        fn transmit(&mut self, _: &Empty) -> Result<(), ErrorKind> {
            Ok(())
        }

        fn receive(&mut self) -> Result<Empty, ErrorKind> {
            assert!(self.0.acquire().is_ok(), "meanwhile");
            Ok(frame())
        }
    }
    let mut sim = Sim::new();
    let breaker = breaker(RULES);
    let mut can = GuardedCan::new(Waiting(&breaker), &breaker);
    breaker.trip();
    sim.pass(1_000);
    assert_eq!(can.receive(), Ok(frame()));
    assert_eq!(breaker.state(), State::Closed);
}
