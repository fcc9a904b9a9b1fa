// SPDX-License-Identifier: MIT OR Apache-2.0
//! The thread that owns the connection. Calls that arrive while it commits are committed together.

use std::any::Any;
use std::iter::once;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

use atomic_breaker_steps::StoreError;
use rusqlite::{Connection, Result, TransactionBehavior};
use tokio::sync::oneshot;

use crate::error::words;
use crate::linked::Files;
use crate::row::now;

/// The largest number of calls that are committed together.
const TOGETHER: usize = 512;

/// The effect of a call, the least one first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Does {
    Read,
    /// A change that need not survive a power cut, as the process that relies on it does not either: a claim.
    Claim,
    Write,
}

/// The result of a call: each has a type of its own.
type AnyResult = Box<dyn Any + Send>;

struct Asking {
    does: Does,
    run: Statement,
    answer: oneshot::Sender<Result<AnyResult, String>>,
}

/// Takes the time, too.
type Statement = Box<dyn FnOnce(&Connection, i64) -> Result<AnyResult> + Send>;

/// Sends calls to the thread, which ends with the last clone.
#[derive(Clone, Debug)]
pub(crate) struct Thread(Sender<Asking>);

impl Thread {
    pub(crate) fn start(connection: Connection, files: Files) -> std::io::Result<Self> {
        let (asks, asked) = mpsc::channel();
        let thread = thread::Builder::new().name("atomic-breaker-steps-sqlite".to_owned());
        thread.spawn(move || serve(connection, &files, &asked))?;
        Ok(Self(asks))
    }

    /// Done entirely and kept, or not at all. If dropped before its turn, it is not done.
    pub(crate) async fn ask<T: Send + 'static>(
        &self,
        does: Does,
        ask: impl FnOnce(&Connection, i64) -> Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (answer, answered) = oneshot::channel();
        let run: Statement = Box::new(move |connection, now| Ok(Box::new(ask(connection, now)?)));
        let ended = || StoreError::new("the thread of the database has panicked: open it again");
        let asked = self.0.send(Asking { does, run, answer });
        asked.map_err(|_| ended())?;
        let done = answered.await.map_err(|_| ended())?;
        let done = done.map_err(StoreError::new)?;
        Ok(*done.downcast().expect("the result of this very call"))
    }
}

fn serve(mut connection: Connection, files: &Files, asked: &Receiver<Asking>) {
    let mut is_durable = true;
    while let Ok(first) = asked.recv() {
        let calls = once(first).chain(asked.try_iter().take(TOGETHER - 1));
        // Their callers still wait.
        let calls: Vec<_> = calls.filter(|call| !call.answer.is_closed()).collect();
        let does = calls.iter().map(|call| call.does).max();
        let (runs, answers): (Vec<_>, Vec<_>) = calls
            .into_iter()
            .map(|call| (call.run, call.answer))
            .unzip();
        let Some(does) = does else {
            continue;
        };
        let done = durable(&connection, does, &mut is_durable)
            .and_then(|()| together(&mut connection, does, runs))
            // Behind the commit: what is acknowledged was in the files then.
            .and_then(|done| files.check().map(|()| done));
        let done = done.map_err(|error| words(&error));
        let mut done = done.map(Vec::into_iter);
        for answer in answers {
            let result = match &mut done {
                Ok(done) => done.next().expect("one for each call"),
                Err(words) => Err(words.clone()),
            };
            // The caller may have gone.
            let _ = answer.send(result);
        }
    }
}

/// Sets whether the next commit waits for the disk. One that does also makes all earlier ones durable.
fn durable(connection: &Connection, does: Does, is_durable: &mut bool) -> Result<()> {
    let wanted = does == Does::Write;
    if wanted != *is_durable {
        let mode = if wanted { "FULL" } else { "NORMAL" };
        connection.pragma_update(None, "synchronous", mode)?;
        *is_durable = wanted;
    }
    Ok(())
}

/// Runs them in one transaction; one that fails does not affect the others. A returned error applies to all.
fn together(
    connection: &mut Connection,
    does: Does,
    runs: Vec<Statement>,
) -> Result<Vec<Result<AnyResult, String>>> {
    let mut transaction = connection.transaction_with_behavior(match does {
        // Does not wait for any lock.
        Does::Read => TransactionBehavior::Deferred,
        Does::Claim | Does::Write => TransactionBehavior::Immediate,
    })?;
    let mut results = Vec::with_capacity(runs.len());
    for run in runs {
        let savepoint = transaction.savepoint()?;
        results.push(match now().and_then(|now| run(&savepoint, now)) {
            Ok(done) => {
                savepoint.commit()?;
                Ok(done)
            }
            // SQLite has rolled back everything, for example because the disk is full.
            Err(error) if savepoint.is_autocommit() => return Err(error),
            Err(error) => {
                savepoint.finish()?;
                Err(words(&error))
            }
        });
    }
    transaction.commit()?;
    Ok(results)
}
