// SPDX-License-Identifier: MIT OR Apache-2.0
//! Secrets in the texts of errors.

use std::time::Duration;

use atomic_breaker_steps::{
    Change, LONGEST_ERROR, Lane, MemoryStore, Ran, Save, StepError, Steps, Store, Workflow,
    redacted,
};
use tokio::time::sleep;

use super::support::{Mailbox, only_job, schedule};

const FAILED: &str = "GET https://app:hunter2@api.example/pay?api_key=s3cret&x=1: refused";

#[derive(Debug)]
struct Wrapped(std::io::Error);

impl std::fmt::Display for Wrapped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("not paid")
    }
}

impl std::error::Error for Wrapped {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}

fn is_clean(words: &str) {
    for secret in ["s3cret", "hunter2", "api_key"] {
        assert!(!words.contains(secret), "{words}");
    }
    assert!(words.contains("api.example/pay"), "{words}");
}

#[tokio::test(start_paused = true)]
async fn no_secret_of_a_url_is_in_history_message_or_result() {
    type Fails = fn() -> Result<u32, StepError>;
    let ways: [Fails; 4] = [
        || Err(FAILED.into()),
        || Err(Wrapped(std::io::Error::other(FAILED)).into()),
        || Err(StepError::end(FAILED)),
        || panic!("{FAILED}"),
    ];
    for fails in ways {
        let (store, mail) = (MemoryStore::new(), Mailbox::default());
        let step = move |_: u32| async move { fails() };
        let workflow = Workflow::new("kind")
            .step("only", "a", step)
            .schedule(schedule(2));
        let steps = Steps::builder(store.clone())
            .lane(Lane::new("a"))
            .workflow(&workflow)
            .notifier(mail.clone())
            .build()
            .unwrap();
        let _worker = steps.work();
        let ran = steps.run(&workflow, "k", &0).await.unwrap();
        if let Ran::Ended { error, .. } = ran {
            is_clean(&error);
        }
        sleep(Duration::from_secs(60)).await;
        let history = store.history(only_job(&store).await.id).await.unwrap();
        assert!(!history.is_empty());
        for line in &history {
            is_clean(&line.error);
        }
        let told = mail.told.lock().unwrap();
        assert_eq!(told.len(), 1);
        is_clean(&told[0].error);
    }
}

#[tokio::test(start_paused = true)]
async fn no_secret_is_kept_by_any_save() {
    let store = MemoryStore::new();
    let workflow = Workflow::new("kind").step("only", "a", async |n: u32| Ok::<_, StepError>(n));
    let job = workflow.job("k", &0).unwrap();
    store.put(&job, None).await.unwrap();
    let right = store
        .claim("a", 1, Duration::from_secs(9))
        .await
        .unwrap()
        .jobs[0]
        .right;
    let change = Change::again(Duration::ZERO, FAILED.to_owned());
    store.save(&[Save { right, change }]).await.unwrap();
    is_clean(&store.history(right.id).await.unwrap()[0].error);
}

/// The state of another release, and one that is no longer JSON.
#[tokio::test(start_paused = true)]
async fn an_unreadable_state_is_located_but_not_shown() {
    for (state, says) in [
        ("\"hunter2\"", "JSON of another type, at line 1 column "),
        ("{\"hunter2\":1}", "JSON of another type, at line 1"),
        ("\"hunter2", "truncated JSON, at line 1 column "),
        ("hunter2", "not JSON, at line 1 column"),
    ] {
        let (store, mail) = (MemoryStore::new(), Mailbox::default());
        let workflow =
            Workflow::new("kind").step("only", "a", async |n: u32| Ok::<_, StepError>(n));
        let mut job = workflow.job("k", &0).unwrap();
        job.state = state.to_owned();
        store.put(&job, None).await.unwrap();
        let steps = Steps::builder(store.clone())
            .lane(Lane::new("a"))
            .workflow(&workflow);
        let steps = steps.notifier(mail.clone()).build().unwrap();
        let worker = steps.work();
        sleep(Duration::from_secs(2 * 60 * 60)).await;
        let id = only_job(&store).await.id;
        let history = store.history(id).await.unwrap();
        assert!(history[0].error.contains(says), "{history:?}");
        let told = mail.told.lock().unwrap().clone();
        assert_eq!((told.len(), &told[0].error), (1, &history[0].error));
        assert!(!history[0].error.contains("hunter2"), "{history:?}");
        worker.stop().await;
    }
    // Done by another release, which has its own state.
    let store = MemoryStore::new();
    let step = async |text: String| Ok::<_, StepError>(text);
    let before = Workflow::new("kind").step("only", "a", step);
    let steps = Steps::builder(store.clone())
        .lane(Lane::new("a"))
        .workflow(&before);
    let state = "hunter2".to_owned();
    steps
        .build()
        .unwrap()
        .run(&before, "k", &state)
        .await
        .unwrap();
    let now = Workflow::new("kind").step("only", "a", async |n: u32| Ok::<_, StepError>(n));
    let steps = Steps::builder(store).lane(Lane::new("a")).workflow(&now);
    let ran = steps.build().unwrap().run(&now, "k", &0).await.unwrap();
    let Ran::Ended { error, .. } = ran else {
        panic!("{ran:?}");
    };
    assert!(
        error.contains("at line 1 column ") && !error.contains("hunter2"),
        "{error}"
    );
}

#[test]
fn the_error_of_a_step_is_shown_by_its_own_words() {
    for error in [
        StepError::end("no such address"),
        StepError::from(std::io::Error::other("no such address")),
        StepError::retry_after(Duration::ZERO, "no such address"),
    ] {
        assert_eq!(error.to_string(), "no such address");
    }
}

#[test]
fn text_without_secrets_is_unchanged() {
    for (words, left) in [
        ("refused", "refused"),
        ("is that so? a=b", "is that so? a=b"),
        ("what?? no", "what?? no"),
        (
            "(see https://a.example/?q=1).",
            "(see https://a.example/?…).",
        ),
        ("/v1/pay?token=1 failed", "/v1/pay?… failed"),
        ("https://a.example/#access_token=1", "https://a.example/?…"),
        (
            "redis://:pw@cache:6379/0 is down",
            "redis://cache:6379/0 is down",
        ),
        ("\"https://u:p@h/x?y=z\"", "\"https://h/x?…\""),
        ("mail ann@example.com", "mail ann@example.com"),
        ("ä://ö@ü?é=\u{1F600}", "ä://ü?…"),
        ("", ""),
    ] {
        assert_eq!(redacted(words), left);
        assert_eq!(redacted(left), left, "once is enough");
    }
    // Truncating the text cuts no secret in two.
    let long = format!(
        "{} https://u:p@h/?key=s3cret",
        "x".repeat(LONGEST_ERROR - 12)
    );
    assert!(!redacted(&long).contains("u:"), "{}", redacted(&long));
}
