//! The breaker on `std`: its clock, and real connections under its guard.

use std::cell::Cell;
use std::future::Future;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use atomic_breaker_std::{
    Breaker, CallError, Clock, Config, Rejected, State, StdClock, breaker, try_breaker,
};

#[test]
fn the_clock_never_goes_back_in_any_thread() {
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut last = StdClock.now_ms();
                for _ in 0..100_000 {
                    let now = StdClock.now_ms();
                    assert!(now >= last, "{last} then {now}");
                    last = now;
                }
            });
        }
    });
}

#[test]
fn the_clock_counts_milliseconds_from_one_origin() {
    let here = StdClock.now_ms();
    let there = thread::spawn(|| StdClock.now_ms()).join().unwrap();
    assert!(there >= here);

    let (begin, before) = (Instant::now(), StdClock.now_ms());
    thread::sleep(Duration::from_millis(30));
    let counted = u128::from(StdClock.now_ms() - before);
    assert!(counted >= 29, "{counted}");
    assert!(counted <= begin.elapsed().as_millis() + 1, "{counted}");
}

/// A kernel's step is at most 10 ms.
#[cfg(feature = "coarse")]
#[test]
fn the_coarse_clock_keeps_up_with_the_exact_one() {
    use atomic_breaker_std::CoarseClock;

    let (begin, before) = (Instant::now(), CoarseClock.now_ms());
    let mut last = before;
    for _ in 0..100 {
        thread::sleep(Duration::from_millis(1));
        let now = CoarseClock.now_ms();
        assert!(now.wrapping_sub(last) <= u32::MAX / 2, "{last} then {now}");
        last = now;
    }
    let counted = u128::from(last.wrapping_sub(before));
    assert!(counted >= 90, "{counted}");
    assert!(counted <= begin.elapsed().as_millis() + 10, "{counted}");
    assert_eq!(CoarseClock.entropy(), StdClock.entropy());
}

#[test]
fn the_entropy_is_drawn_once_per_process() {
    let drawn = StdClock.entropy();
    let elsewhere = thread::spawn(|| StdClock.entropy()).join().unwrap();
    assert_eq!(drawn, elsewhere);
}

/// A port on which nobody listens.
fn closed_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    listener.local_addr().unwrap().port()
}

#[test]
fn a_static_breaker_stops_calling_a_dead_port_and_finds_out_when_it_is_back() {
    static SERVER: Breaker = breaker(
        Config::new()
            .consecutive_failures(3)
            .open_for(Duration::from_millis(50)),
    );
    let port = closed_port();
    let connects = Cell::new(0);
    let connect = || {
        SERVER.call(|| {
            connects.set(connects.get() + 1);
            TcpStream::connect((Ipv4Addr::LOCALHOST, port))
        })
    };
    for _ in 0..3 {
        assert!(matches!(connect(), Err(CallError::Failed(_))));
    }
    let opened = Instant::now();
    let refused = connect();
    // A machine that halts here for 50 ms has let the open time pass.
    if opened.elapsed() < Duration::from_millis(40) {
        assert!(
            matches!(refused, Err(CallError::Rejected(_))),
            "{refused:?}"
        );
        assert_eq!(connects.get(), 3, "not even tried");
    }

    let _listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).unwrap();
    while let Err(error) = connect() {
        let wait = error.rejected().and_then(Rejected::retry_in);
        thread::sleep(wait.expect("a listening port answers"));
    }
    assert_eq!(SERVER.state(), State::Closed);
}

/// Polls a future to its end, parking between.
fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(value) => return value,
            Poll::Pending => thread::park(),
        }
    }
}

#[test]
fn a_future_that_another_thread_wakes_is_guarded_without_a_runtime() {
    let guard = breaker(Config::new());
    let answer = block_on(guard.call_async(|| {
        let (mut waker, mut begun) = (None::<thread::JoinHandle<()>>, false);
        std::future::poll_fn(move |context| {
            if begun {
                let _ = waker.take().map(thread::JoinHandle::join);
                return Poll::Ready(Ok::<_, ()>(42));
            }
            begun = true;
            let wake = context.waker().clone();
            waker = Some(thread::spawn(move || wake.wake()));
            Poll::Pending
        })
    }));
    assert_eq!(answer, Ok(42));
}

#[test]
fn a_configuration_from_outside_is_refused_with_a_reason() {
    let error = try_breaker(Config::new().probes(0)).unwrap_err();
    assert!(error.to_string().contains("set at least 1"), "{error}");
    assert!(try_breaker(Config::new()).is_ok());
}
