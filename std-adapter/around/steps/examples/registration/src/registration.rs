// SPDX-License-Identifier: MIT OR Apache-2.0
//! A registration: five steps over three services, and the handling of a request for one.

use std::error::Error;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use atomic_breaker_http::{Breaker, Config, HttpClassifier, StdClock};
use atomic_breaker_steps::{
    EnqueueError, Lane, Notifier, Ran, Schedule, StepContext, StepError, Steps, StepsError, Store,
    Stuck, Workflow, step_result,
};
use reqwest::{Client, StatusCode};
use serde::{Deserialize, Serialize};

use super::diary::{Diary, LaneDiary};

/// The data known so far: kept with the next step, in one write.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Registration {
    pub(crate) address: String,
    pub(crate) card: String,
    pub(crate) account: Option<String>,
    pub(crate) payment: Option<String>,
    /// The secret that its user shows to see the progress. Empty, and shown to no one, if it did not come by the front
    /// end.
    #[serde(default)]
    pub(crate) token: String,
}

impl Registration {
    pub(crate) const fn new(address: String, card: String, token: String) -> Self {
        Self {
            address,
            card,
            account: None,
            payment: None,
            token,
        }
    }
}

/// Its steps, each with the service that it needs.
pub(crate) fn workflow() -> Workflow<Registration> {
    Workflow::new("registration")
        .step_in_context("check the address", "accounts", check_address)
        .step_in_context("create the account", "accounts", create_account)
        .step_in_context("charge the card", "bank", charge_card)
        .step_in_context("send the mail", "office", send_mail)
        .step_in_context("tell the CRM", "office", tell_crm)
        .schedule(SCHEDULE)
}

async fn check_address(user: Registration, job: StepContext) -> Step {
    ask("accounts", "check", &job, &user.address).await?;
    Ok(user)
}

async fn create_account(mut user: Registration, job: StepContext) -> Step {
    user.account = Some(ask("accounts", "create", &job, &user.address).await?);
    Ok(user)
}

async fn charge_card(mut user: Registration, job: StepContext) -> Step {
    user.payment = Some(ask("bank", "charge", &job, &user.card).await?);
    Ok(user)
}

async fn send_mail(user: Registration, job: StepContext) -> Step {
    ask("office", "mail", &job, &user.address).await?;
    Ok(user)
}

async fn tell_crm(user: Registration, job: StepContext) -> Step {
    let account = user.account.as_deref().ok_or("no account")?;
    ask("office", "crm", &job, account).await?;
    Ok(user)
}

/// The result of a step: the state for the next one, or an error.
type Step = Result<Registration, StepError>;

/// A step may run again although it had succeeded, so the service gets a key by which it recognises the request.
async fn ask(
    service: &str,
    what: &str,
    job: &StepContext,
    body: &str,
) -> Result<String, StepError> {
    let url = std::env::var(format!("{}_URL", service.to_uppercase()))?;
    let request = HTTP
        .post(format!("{url}/{what}"))
        .header("idempotency-key", &job.key);
    let answer = request.body(body.to_owned()).send().await?;
    if answer.status() == StatusCode::UNPROCESSABLE_ENTITY {
        // With the details that a person will want to know.
        return Err(StepError::end(answer.text().await?));
    }
    step_result(&ANSWERS, &answer)?;
    Ok(answer.text().await?)
}

static ANSWERS: HttpClassifier = HttpClassifier::new();

static HTTP: LazyLock<Client> = LazyLock::new(|| {
    Client::builder()
        .no_proxy()
        .build()
        .expect("a client without TLS")
});

/// Short times, so that the example is short; the usual ones are ten tries over 36 hours.
const SCHEDULE: Schedule = Schedule::new()
    .first(Duration::from_millis(300))
    .growth(1.6)
    .longest(Duration::from_secs(2))
    .tries(30)
    .tell_after(Duration::from_secs(5));

const RULES: Config = Config::new()
    .consecutive_failures(3)
    .open_for(Duration::from_millis(500))
    .exponential(2, Duration::from_secs(2))
    .jitter_percent(20);

/// Created once by each process of the application. Any number of processes may share the store.
pub(crate) fn steps<D: Store>(
    store: D,
    registrations: &Workflow<Registration>,
    diary: &Diary,
) -> Result<Steps<D>, StepsError> {
    Steps::builder(store)
        .lane(lane("accounts", diary))
        .lane(lane("bank", diary))
        .lane(lane("office", diary))
        .workflow(registrations)
        .notifier(Person(diary.clone()))
        // A service that hangs has failed.
        .time_limit(Duration::from_millis(500))
        // When a worker is killed, its jobs go to others after this.
        .lease(Duration::from_secs(1))
        .poll(Duration::from_millis(100))
        .build()
}

fn lane(service: &'static str, diary: &Diary) -> Lane {
    let breaker = Breaker::builder(RULES, StdClock).observer(LaneDiary::new(service, diary));
    Lane::new(service)
        .at_once(4)
        .guarded(Arc::new(breaker.build()))
}

/// Handles a request for a registration: at best its user gets the result at once. A user without a response asks
/// again: there is one job per key.
pub(crate) async fn register<D: Store>(
    steps: &Steps<D>,
    registrations: &Workflow<Registration>,
    key: &str,
    user: &Registration,
) -> Result<&'static str, EnqueueError> {
    Ok(match steps.run(registrations, key, user).await? {
        Ran::Done(_) => "welcome",
        Ran::Later { .. } => "accepted: you will have mail",
        Ran::Ended { .. } => "rejected",
    })
}

/// Notifies a person of registrations that are stuck; here with a line in the diary.
struct Person(Diary);

impl Notifier for Person {
    async fn notify(&self, stuck: &Stuck) -> Result<(), Box<dyn Error + Send + Sync>> {
        Ok(self
            .0
            .note(&format!("told {} {}", stuck.job.id, stuck.status.name()))?)
    }
}
