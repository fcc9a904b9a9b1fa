// SPDX-License-Identifier: MIT OR Apache-2.0
//! Invalid settings and their errors.

use std::time::Duration;

use atomic_breaker_steps::{
    EnqueueError, LARGEST_STATE, Lane, MemoryStore, Schedule, StepError, Steps, StepsBuilder,
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
async fn the_last_pause_of_the_longest_schedule_does_not_overflow() {
    let wild = Schedule::new().growth(100.0).tries(u32::MAX);
    let workflow = workflow("k", &[("first", "a")]).schedule(wild);
    let steps = Steps::builder(MemoryStore::new()).lane(Lane::new("a"));
    assert!(steps.workflow(&workflow).build().is_ok());
    assert!(wild.pause(u32::MAX - 1).unwrap() > Duration::from_secs(300_000_000));
    assert_eq!(wild.pause(u32::MAX), None);
}
