//! Two stores, whose jobs have the same numbers; answers that come when another job is looked at.

use std::time::Duration;

use atomic_breaker_admin::Operator;
use atomic_breaker_std::steps::{JobId, Lane, Status, Steps, Store};
use tokio::runtime::Runtime;

use super::{Shop, manage, orders, result, row};
use crate::browser::{Browser, browser};
use test_support::faulty_store::{Fault, FaultyStore};

/// The first job of each store, of the same number.
const FIRST: JobId = JobId::new(1);

/// A site with two stores, of a job each.
struct Stores {
    ours: Shop,
    store: FaultyStore,
    runtime: Runtime,
}

impl Stores {
    fn open(browser: &Browser) -> Self {
        let (store, runtime) = (FaultyStore::default(), Runtime::new().unwrap());
        let others = runtime.block_on(async {
            let others = Steps::builder(store.clone()).lane(Lane::new("billing"));
            let others = others.workflow(&orders()).build().unwrap();
            others
                .enqueue(&orders(), "other", &String::new())
                .await
                .unwrap();
            others
        });
        let ours = Shop::with(Operator::new("alice"), |admin, steps| {
            admin.steps("shop", steps).steps("others", &others)
        });
        assert_eq!(ours.order("ours"), FIRST);
        ours.open(browser);
        browser.wait_for(&row("ours"));
        Self {
            ours,
            store,
            runtime,
        }
    }

    /// How they stand: ours, and the other one.
    fn statuses(&self) -> (Status, Status) {
        let other = self.runtime.block_on(self.store.jobs.job(FIRST));
        let other = other.unwrap().unwrap();
        assert_eq!(other.key, "other");
        (self.ours.status(FIRST), other.status)
    }
}

fn look_at_others(browser: &Browser) {
    browser.run("const of = document.querySelector('#jobs-of'); of.value = 'others'; of.dispatchEvent(new Event('change'));");
}

fn cancel(browser: &Browser) {
    browser.press("#job-commands", "Cancel job");
    browser.press("#job-confirm", "Cancel job");
}

/// Until the page has had an answer from there.
fn answered(browser: &Browser, path: &str) {
    browser.wait_for(&format!(
        "performance.getEntriesByType('resource').some((it) => it.name.includes({path:?}))"
    ));
}

#[test]
fn each_shows_its_own_jobs_and_a_command_reaches_the_one_that_is_shown() {
    let Some(browser) = browser() else { return };
    let stores = Stores::open(&browser);
    stores.store.set(Some(Fault::Silence));
    look_at_others(&browser);
    let rows = "return document.querySelectorAll('#jobs-rows tr, #lanes li').length;";
    assert_eq!(browser.run(rows), 0, "nothing of the first stays");
    browser.wait_for("document.querySelector('#jobs-notice').textContent.includes('others')");
    stores.store.set(None);
    manage(&browser, "other");
    cancel(&browser);
    assert!(result(&browser).starts_with("Done"));
    assert_eq!(stores.statuses(), (Status::Waiting, Status::Cancelled));
}

#[test]
fn what_was_asked_of_a_job_does_not_come_to_another_that_is_looked_at() {
    let Some(browser) = browser() else { return };
    let stores = Stores::open(&browser);
    // It is asked for the job and for its history.
    let slowly = Fault::Late(Duration::from_secs(2));
    stores.ours.store.set(Some(slowly));
    manage(&browser, "ours");
    browser.press("#job", "Close");
    look_at_others(&browser);
    manage(&browser, "other");
    answered(&browser, "/job?of=shop");
    cancel(&browser);
    assert!(result(&browser).starts_with("Done"));
    assert_eq!(stores.statuses(), (Status::Waiting, Status::Cancelled));
}

#[test]
fn what_came_of_a_command_is_not_said_of_another_job() {
    let Some(browser) = browser() else { return };
    let stores = Stores::open(&browser);
    manage(&browser, "ours");
    let slowly = Fault::Late(Duration::from_secs(1));
    stores.ours.store.set(Some(slowly));
    cancel(&browser);
    browser.press("#job", "Close");
    look_at_others(&browser);
    manage(&browser, "other");
    browser.press("#job-commands", "Cancel job");
    answered(&browser, "/jobs/control");
    let question = browser.text("return document.querySelector('#job-question').innerText;");
    assert!(question.contains("other"), "it is still asked: {question}");
    let said = browser.text("return document.querySelector('#job-result').textContent;");
    assert_eq!(said, "");
    browser.press("#job-confirm", "Cancel job");
    assert!(result(&browser).starts_with("Done"));
    assert_eq!(stores.statuses(), (Status::Cancelled, Status::Cancelled));
}
