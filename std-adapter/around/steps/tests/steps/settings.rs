// SPDX-License-Identifier: MIT OR Apache-2.0
//! Invalid settings and their errors.

use std::time::Duration;

use atomic_breaker_steps::{
    EnqueueError, LARGEST_STATE, Lane, MemoryStore, Ran, Schedule, StepError, Steps, StepsBuilder,
    Workflow,
};

fn workflow(kind: &'static str, steps: &[(&'static str, &'static str)]) -> Workflow<String> {
    let steps = steps.iter();
    steps.fold(Workflow::new(kind), |workflow, (name, lane)| {
        workflow.step(name, lane, async |state| Ok::<_, StepError>(state))
    })
}

fn error(build: impl FnOnce(StepsBuilder<MemoryStore>) -> StepsBuilder<MemoryStore>) -> String {
    let builder = Steps::builder(MemoryStore::new()).lane(Lane::new("a"));
    build(builder).build().unwrap_err().to_string()
}

#[tokio::test]
async fn a_job_that_cannot_be_run_is_an_error() {
    let fine = [("first", "a")];
    let long: &'static str = Box::leak("x".repeat(65).into_boxed_str());
    let with = |schedule: Schedule| {
        error(|builder| builder.workflow(&workflow("k", &fine).schedule(schedule)))
    };
    for (told, says) in [
        (error(|it| it.lease(Duration::from_millis(999))), "lease"),
        (error(|it| it.time_limit(Duration::ZERO)), "limit"),
        (error(|it| it.poll(Duration::ZERO)), "poll"),
        (error(|it| it.lane(Lane::new("a"))), "\"a\" is used twice"),
        (error(|it| it.lane(Lane::new("b").at_once(0))), "at_once"),
        (error(|it| it.lane(Lane::new(long))), "1 to 64 bytes"),
        (error(|it| it.lane(Lane::new(""))), "1 to 64 bytes"),
        (error(|it| it.workflow(&workflow("k", &[]))), "no steps"),
        (
            error(|it| it.workflow(&workflow("k", &[("s", "b")]))),
            ".lane(Lane::new(\"b\"))",
        ),
        (
            error(|it| it.workflow(&workflow("k", &[("s", "a"), ("s", "a")]))),
            "twice",
        ),
        (error(|it| it.workflow(&workflow("a\0", &fine))), "NUL"),
        (
            error(|it| {
                it.workflow(&workflow("k", &fine))
                    .workflow(&workflow("k", &fine))
            }),
            "\"k\" is used twice",
        ),
        (with(Schedule::new().tries(0)), "tries"),
        (with(Schedule::new().growth(0.9)), "growth"),
        (with(Schedule::new().growth(f64::NAN)), "growth"),
        (with(Schedule::new().first(Duration::ZERO)), "first pause"),
        (
            with(Schedule::new().longest(Duration::from_secs(1))),
            "longest",
        ),
        (with(Schedule::new().jitter_percent(101)), "jitter"),
    ] {
        assert!(told.contains(says), "{told:?} says nothing of {says:?}");
    }
}

#[tokio::test]
async fn the_first_and_the_last_value_of_each_range_are_valid() {
    const DAY: Duration = Duration::from_secs(24 * 60 * 60);
    const TEN_YEARS: Duration = Duration::from_secs(10 * 366 * 24 * 60 * 60);
    let (nano, milli, second) = (
        Duration::from_nanos(1),
        Duration::from_millis(1),
        Duration::from_secs(1),
    );
    let builds = |build: &dyn Fn(StepsBuilder<MemoryStore>) -> StepsBuilder<MemoryStore>| {
        let builder = Steps::builder(MemoryStore::new()).lane(Lane::new("a"));
        build(builder).build().is_ok()
    };
    for time in [second, DAY] {
        assert!(builds(&|it| it.lease(time)), "{time:?}");
    }
    for time in [milli, DAY * 30] {
        assert!(builds(&|it| it.time_limit(time)), "{time:?}");
    }
    for time in [milli, second * 60 * 60] {
        assert!(builds(&|it| it.poll(time)), "{time:?}");
    }
    assert!(!builds(&|it| it.lease(DAY + nano)));
    assert!(!builds(&|it| it.time_limit(DAY * 30 + nano)));
    assert!(!builds(&|it| it.poll(second * 60 * 60 + nano)));
    let plain = Schedule::new().first(second);
    for (schedule, is_valid) in [
        (plain.first(nano), true),
        (plain.first(TEN_YEARS), true),
        (plain.first(TEN_YEARS + nano), false),
        (plain.longest(second), true),
        (plain.longest(milli), false),
        (plain.longest(TEN_YEARS), true),
        (plain.longest(TEN_YEARS + nano), false),
        (plain.growth(1.0), true),
        (plain.growth(100.0), true),
        (plain.growth(100.1), false),
        (plain.jitter_percent(100), true),
        (plain.tries(1), true),
    ] {
        let workflow = workflow("k", &[("first", "a")]).schedule(schedule);
        let built = builds(&|it| it.workflow(&workflow));
        assert_eq!(built, is_valid, "{schedule:?}");
    }
}

#[tokio::test]
async fn what_is_built_is_shown_by_its_names_and_settings() {
    let lane = Lane::new("mail").at_once(7);
    let workflow = workflow("welcome", &[("send", "mail")]);
    let shown = [format!("{lane:?}"), format!("{workflow:?}")];
    let builder = Steps::builder(MemoryStore::new()).lane(lane);
    let builder = builder.workflow(&workflow).lease(Duration::from_secs(77));
    let [lane, workflow] = shown;
    let builder_shown = format!("{builder:?}");
    let steps = format!("{:?}", builder.build().unwrap());
    for (shown, names) in [
        (lane, ["Lane", "mail", "7"]),
        (workflow, ["Workflow", "welcome", "send"]),
        (builder_shown, ["StepsBuilder", "mail", "77s"]),
        (steps, ["Steps", "workflows", "welcome"]),
    ] {
        for name in names {
            assert!(shown.contains(name), "{shown} does not name {name}");
        }
    }
}

#[tokio::test]
async fn the_known_kinds_are_listed_in_order() {
    let kinds = ["b", "c", "a"];
    let builder = Steps::builder(MemoryStore::new()).lane(Lane::new("lane"));
    let builder = kinds.into_iter().fold(builder, |builder, kind| {
        builder.workflow(&workflow(kind, &[("first", "lane")]))
    });
    assert_eq!(builder.build().unwrap().kinds(), ["a", "b", "c"]);
}

#[test]
fn a_clone_of_a_workflow_may_get_steps_of_its_own() {
    let short = workflow("k", &[("first", "a")]);
    let step = async |state| Ok::<_, StepError>(state);
    let long = short.clone().step("second", "a", step);
    assert!(format!("{long:?}").contains(r#"["first", "second"]"#));
    assert!(format!("{short:?}").contains(r#"["first"]"#));
}

#[test]
fn outside_of_a_runtime_it_says_so() {
    let told = Steps::builder(MemoryStore::new()).build().unwrap_err();
    assert!(told.to_string().contains("runtime"), "{told}");
}

#[tokio::test]
async fn a_job_that_cannot_be_kept_is_an_error() {
    let known = workflow("known", &[("first", "a")]);
    let steps = Steps::builder(MemoryStore::new())
        .lane(Lane::new("a"))
        .workflow(&known)
        .build()
        .unwrap();
    let large = "x".repeat(LARGEST_STATE);
    for (key, state, says) in [
        ("", "", "1 to 255 bytes"),
        ("a\0b", "", "NUL"),
        (&*"k".repeat(256), "", "256 bytes"),
        ("k", &*large, "keep 1048576 at most"),
    ] {
        let error = steps
            .enqueue(&known, key, &state.to_owned())
            .await
            .unwrap_err();
        assert!(error.to_string().contains(says), "{error}");
        let error = steps.run(&known, key, &state.to_owned()).await.unwrap_err();
        assert!(matches!(error, EnqueueError::Job(_)), "{error}");
    }
    let unknown = workflow("unknown", &[("first", "a")]);
    let error = steps
        .enqueue(&unknown, "k", &String::new())
        .await
        .unwrap_err();
    assert!(
        error.to_string().contains("give it to the builder"),
        "{error}"
    );
}

#[tokio::test]
async fn the_longest_key_and_the_largest_state_are_kept() {
    let workflow = workflow("k", &[("first", "a")]);
    let steps = Steps::builder(MemoryStore::new())
        .lane(Lane::new("a"))
        .workflow(&workflow)
        .build()
        .unwrap();
    // With its quotes it is as large as a state may be; the step returns it as it is.
    let state = "x".repeat(LARGEST_STATE - 2);
    let ran = steps.run(&workflow, "k".repeat(255), &state).await.unwrap();
    assert_eq!(ran, Ran::Done(state));
}

#[tokio::test]
async fn the_last_pause_of_the_longest_schedule_does_not_overflow() {
    let wild = Schedule::new().growth(100.0).tries(u32::MAX);
    let workflow = workflow("k", &[("first", "a")]).schedule(wild);
    let steps = Steps::builder(MemoryStore::new()).lane(Lane::new("a"));
    assert!(steps.workflow(&workflow).build().is_ok());
    assert!(wild.pause(u32::MAX - 1).unwrap() > Duration::from_secs(300_000_000));
    assert_eq!(wild.pause(u32::MAX), None);
}
