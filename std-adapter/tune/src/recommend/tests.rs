//! The search against trying everything in a smaller space.

use super::*;
use crate::call::{Call, Ending, Met};
use crate::guard::Keys;
use crate::space::SETTINGS;

/// A log of three minutes, 50 calls a second of 20 ms, and what calls meet at a second of it.
fn log(meets: impl Fn(u64, &mut fastrand::Rng) -> Ending) -> Log {
    let mut random = fastrand::Rng::with_seed(3);
    let call = |number: u64| Call::new(number * 20_000, meets(number / 50, &mut random));
    Log::new((0..9_000).map(call).collect(), Vec::new())
}

fn ending(ok: bool, ms: u64) -> Ending {
    let met = if ok { Met::Success } else { Met::Failure };
    Ending::new(met, Duration::from_millis(ms))
}

fn logs() -> [(&'static str, Log, Keys); 6] {
    let down = |second: u64| second % 30 >= 20;
    let dead = log(|second, _| ending(!down(second), if down(second) { 1 } else { 20 }));
    let hangs = log(|second, _| ending(!down(second), if down(second) { 2_000 } else { 20 }));
    let errors =
        log(|second, random| ending(random.u32(..100) >= if down(second) { 40 } else { 2 }, 20));
    let flaps = log(|second, _| ending(!down(second) || second % 2 == 0, 20));
    let limited = log(|second, _| {
        let seconds = Duration::from_secs(30 - second % 30);
        if down(second) {
            ending(false, 5).retry_after(seconds)
        } else {
            ending(true, 20)
        }
    });
    let mut keys = dead.clone();
    for (number, call) in keys.calls.iter_mut().enumerate() {
        let key = number as u32 % 20;
        *call = call
            .of_key(key)
            .ending_with(ending(key != 7 || !down(call.start_us / 1_000_000), 20));
    }
    let each = Keys::Each { capacity: 64 };
    [
        ("dead", dead, Keys::One),
        ("hangs", hangs, Keys::One),
        ("errors", errors, Keys::One),
        ("flaps", flaps, Keys::One),
        ("limited", limited, Keys::One),
        ("keys", keys, each),
    ]
}

/// Few enough to try all: 11 rules, 7 open times, 2 growths, 3 ways to probe and 2 to return.
fn small() -> Space {
    let mut space = Space::new([]);
    let mut place = 0;
    space.trips.retain(|_| {
        place += 1;
        place % 6 == 1
    });
    place = 0;
    space.open.retain(|_| {
        place += 1;
        place % 2 == 0
    });
    space.growth.truncate(2);
    space.probes.truncate(3);
    space.returns.truncate(2);
    space
}

fn all(space: &Space) -> Vec<Point> {
    let mut points = vec![[0; SETTINGS]];
    for (setting, length) in space.lengths().into_iter().enumerate() {
        let with = |point: Point| {
            (0..length).map(move |value| {
                let mut point = point;
                point[setting] = value as u16;
                point
            })
        };
        points = points.into_iter().flat_map(with).collect();
    }
    points
}

#[test]
fn the_pick_is_within_five_percent_of_trying_everything() {
    for (name, mut log, keys) in logs() {
        let space = small();
        let recommend = Recommend::new().replay(Replay::new().keys(keys)).tries(150);
        let (incidents, parts) = recommend.divide(&mut log).expect("incidents");
        assert!(incidents.len() >= 6, "{name}: {incidents:?}");
        let ends = Ends::of(&log.calls, keys);
        let cost = |tried: &Tried| recommend.weights.cost(&tried.tuned_on);
        let points = all(&space);
        assert!(points.len() > 5 * 150, "{}", points.len());
        let costs = points.iter().map(|point| {
            cost(
                &recommend
                    .tried(&log, &space.config(*point), (parts, &ends))
                    .unwrap(),
            )
        });
        let best = costs.min_by(f64::total_cmp).unwrap();
        let found = recommend
            .search(&log, &space, incidents, parts, &())
            .unwrap();
        assert!(found.is_complete && found.tried <= 150);
        let pick = cost(&found.pick);
        println!("{name}: {pick:.1}, at best {best:.1} of {}", points.len());
        assert!(
            pick <= best * 1.05,
            "{name}: {pick} instead of {best}: {:?}",
            found.pick
        );
    }
}

#[test]
fn an_outage_of_several_keys_is_known_to_the_search_as_a_whole_or_not_at_all() {
    // Twenty keys, down together, and later two more times.
    let down = |second: u64| {
        [300..330, 900..930, 1_500..1_530]
            .iter()
            .any(|out| out.contains(&second))
    };
    for (outages, held_out) in [(1, 0), (3, 20)] {
        let calls = (0..outages * 60_000_u64).map(|number| {
            let met = if down(number / 100) {
                Met::Failure
            } else {
                Met::Success
            };
            Call::new(number * 10_000, Ending::new(met, Duration::from_millis(20)))
                .of_key(number as u32 % 20)
        });
        let mut log = Log::new(calls.collect(), Vec::new());
        let replay = Replay::new().keys(Keys::Each { capacity: 64 });
        let found = Recommend::new()
            .replay(replay)
            .tries(20)
            .run(&mut log, &())
            .unwrap();
        assert_eq!(found.incidents.len() as u64, 20 * outages);
        assert_eq!(found.held_out, held_out);
    }
}

#[test]
fn incidents_that_were_held_out_are_counted_apart() {
    for (name, mut log, keys) in logs() {
        let recommend = Recommend::new().replay(Replay::new().keys(keys)).tries(60);
        let found = recommend.run(&mut log, &()).unwrap();
        assert_eq!(found.held_out, found.incidents.len() / 3, "{name}");
        for tried in found.front.iter().chain([&found.pick]) {
            let mut sum = tried.tuned_on;
            sum += tried.checked_on;
            assert_eq!(sum, tried.all, "{name}");
            assert!(tried.checked_on.calls > 500 / 20, "{name}");
        }
        let healthy = |tried: &Tried| tried.tuned_on.healthy_rejected;
        assert!(
            found
                .front
                .windows(2)
                .all(|pair| healthy(&pair[0]) > healthy(&pair[1]))
        );
    }
}
