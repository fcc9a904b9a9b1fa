//! A breaker with this tally has a type that a user can write: here it is the field of a service.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use atomic_breaker_sliding::{
    Breaker, Config, Ratio, SlidingBreaker, SlidingRatio, StdClock, Transition, word::NativeWord,
};

struct Service {
    search: SlidingBreaker,
    shared: Arc<SlidingBreaker>,
    small: SlidingBreaker<StdClock, 1>,
    observed: Breaker<StdClock, NativeWord, SlidingRatio, OnChange>,
    tally: SlidingRatio,
}

type OnChange = atomic_breaker_sliding::OnTransition<fn(&Transition)>;

const HALF: Config = Config::new().failure_ratio(
    Ratio::percent(50)
        .within(Duration::from_secs(10))
        .min_calls(20),
);

static SEARCH: SlidingBreaker = Breaker::builder(HALF, StdClock)
    .const_tally(SlidingRatio::new())
    .build();
static LAZY: LazyLock<SlidingBreaker> = LazyLock::new(|| {
    Breaker::builder(HALF, StdClock)
        .tally(SlidingRatio::new())
        .build()
});

fn log(transition: &Transition) {
    eprintln!("{transition}");
}

#[test]
fn every_part_can_be_a_field() {
    let build = || Breaker::builder(HALF, StdClock).tally(SlidingRatio::default());
    let service = Service {
        search: build().build(),
        shared: Arc::new(build().build()),
        small: Breaker::builder(HALF, StdClock)
            .tally(SlidingRatio::by(StdClock))
            .build(),
        observed: build().on_transition(log as fn(&Transition)).build(),
        tally: SlidingRatio::new(),
    };
    for breaker in [&service.search, &service.shared, &SEARCH, &*LAZY] {
        breaker.acquire().unwrap().success();
        assert_eq!(breaker.tally().seen_and_failed(), (1, 0));
    }
    assert!(service.small.acquire().is_ok() && service.observed.acquire().is_ok());
    assert_eq!(service.tally.seen_and_failed(), (0, 0));
}
