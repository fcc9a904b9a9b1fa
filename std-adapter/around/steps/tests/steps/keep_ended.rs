// SPDX-License-Identifier: MIT OR Apache-2.0
//! `call_or_keep` with the key of a job that has ended without success.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use atomic_breaker_steps::{Job, JobObserver, MemoryStore, Ran, Status, Store};
use futures_util::FutureExt;
use tokio::time::sleep;

use super::keep_calls::one_step;
use super::support::{Do, Script, builder, only_job, schedule};

const MINUTE: Duration = Duration::from_secs(60);

/// Notes the calls that are neither done nor kept.
#[derive(Clone, Default)]
struct Unkept(Arc<Mutex<Vec<(String, String)>>>);

impl JobObserver for Unkept {
    fn unkept(&self, job: &Job, error: &str) {
        let mut noted = self.0.lock().unwrap();
        noted.push((job.key.clone(), error.to_owned()));
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_whose_caller_has_gone_is_not_taken_for_a_job_that_has_ended() {
    for (is_cancelled, tries) in [(true, 9), (false, 1)] {
        let (store, unkept) = (MemoryStore::new(), Unkept::default());
        let script = Script::new([Do::Fail, Do::Fail, Do::Fail]);
        let workflow = one_step(&script).schedule(schedule(tries));
        let steps = builder(&store).workflow(&workflow).observer(unkept.clone());
        let steps = steps.build().unwrap();
        let state = "k".to_owned();
        if is_cancelled {
            steps.call_or_keep(&workflow, "k", &state).await.unwrap();
            assert!(store.cancel(only_job(&store).await.id).await.unwrap());
        } else {
            steps.run(&workflow, "k", &state).await.unwrap();
        }
        let status = only_job(&store).await.status;
        assert!(matches!(status, Status::Cancelled | Status::Dead));
        // A caller who waits is told.
        let ran = steps.call_or_keep(&workflow, "k", &state).await.unwrap();
        assert!(matches!(ran, Ran::Ended { .. }), "{ran:?}");
        sleep(MINUTE).await;
        assert_eq!(unkept.0.lock().unwrap().len(), 0);

        let mut call = Box::pin(steps.call_or_keep(&workflow, "k", &state));
        assert!(call.as_mut().now_or_never().is_none());
        drop(call);
        sleep(MINUTE).await;
        assert_eq!(script.calls().len(), 3);
        let noted = unkept.0.lock().unwrap();
        let says = format!("job 1 of the same key is {}", status.name());
        assert_eq!(*noted, [("k".to_owned(), says)]);
    }
}
