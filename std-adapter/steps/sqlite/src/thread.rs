//! The thread that owns the connection. Calls that arrive while it commits are committed together.

use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

use atomic_breaker_steps::StoreError;
use rusqlite::{Connection, Result, TransactionBehavior};
use tokio::sync::oneshot;

use crate::error::words;

/// How many calls are committed together, at most.
const TOGETHER: usize = 512;

/// The effect of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Does {
    Read,
    /// A change that need not survive a power cut, as the process that relies on it does not either: a claim.
    Claim,
    Write,
}

trait Call: Send {
    /// Whether the caller still waits for the answer.
    fn is_wanted(&self) -> bool;
    fn does(&self) -> Does;
    fn run(&mut self, connection: &Connection) -> Result<()>;
    /// With an error if nothing it did remains.
    fn answer(self: Box<Self>, failed: Option<&str>);
}

struct Asked<T, F> {
    does: Does,
    ask: F,
    result: Option<T>,
    answer: oneshot::Sender<Result<T, String>>,
}

impl<T, F> Call for Asked<T, F>
where
    T: Send,
    F: FnMut(&Connection) -> Result<T> + Send,
{
    fn is_wanted(&self) -> bool {
        !self.answer.is_closed()
    }

    fn does(&self) -> Does {
        self.does
    }

    fn run(&mut self, connection: &Connection) -> Result<()> {
        self.result = Some((self.ask)(connection)?);
        Ok(())
    }

    fn answer(self: Box<Self>, failed: Option<&str>) {
        let result = match (failed, self.result) {
            (None, Some(result)) => Ok(result),
            (failed, _) => Err(failed.unwrap_or("it was not done").to_owned()),
        };
        // The caller may have gone.
        let _ = self.answer.send(result);
    }
}

/// Sends calls to the thread, which ends with the last clone.
#[derive(Clone, Debug)]
pub(crate) struct Thread(Sender<Box<dyn Call>>);

impl Thread {
    pub(crate) fn start(connection: Connection) -> std::io::Result<Self> {
        let (asks, asked) = mpsc::channel();
        let thread = thread::Builder::new().name("atomic-breaker-sqlite".to_owned());
        thread.spawn(move || serve(&connection, &asked))?;
        Ok(Self(asks))
    }

    /// Done entirely and kept, or not at all. If dropped before its turn, it is not done.
    pub(crate) async fn ask<T, F>(&self, does: Does, ask: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnMut(&Connection) -> Result<T> + Send + 'static,
    {
        let (answer, answered) = oneshot::channel();
        let result = None;
        let asked = Box::new(Asked {
            does,
            ask,
            result,
            answer,
        });
        let ended = || StoreError::new("the thread of the database has panicked: open it again");
        self.0.send(asked).map_err(|_| ended())?;
        let answer = answered.await.map_err(|_| ended())?;
        answer.map_err(StoreError::new)
    }
}

fn serve(connection: &Connection, asked: &Receiver<Box<dyn Call>>) {
    let mut is_durable = true;
    while let Ok(first) = asked.recv() {
        let mut calls: Vec<_> = std::iter::once(first)
            .chain(asked.try_iter().take(TOGETHER - 1))
            .filter(|call| call.is_wanted())
            .collect();
        let mut failed = vec![None; calls.len()];
        let all = durable(connection, &calls, &mut is_durable)
            .and_then(|()| together(connection, &mut calls, &mut failed));
        let all = all.err().map(|error| words(&error));
        for (call, failed) in calls.into_iter().zip(failed) {
            call.answer(all.as_deref().or(failed.as_deref()));
        }
    }
}

/// Sets whether the next commit waits for the disk. One that does also makes all earlier ones durable.
fn durable(connection: &Connection, calls: &[Box<dyn Call>], is_durable: &mut bool) -> Result<()> {
    let wanted = calls.iter().any(|call| call.does() == Does::Write);
    if wanted != *is_durable {
        let mode = if wanted { "FULL" } else { "NORMAL" };
        connection.pragma_update(None, "synchronous", mode)?;
        *is_durable = wanted;
    }
    Ok(())
}

/// Runs them in one transaction; one that fails does not affect the others. A returned error applies to all.
fn together(
    connection: &Connection,
    calls: &mut [Box<dyn Call>],
    failed: &mut [Option<String>],
) -> Result<()> {
    let writes = calls.iter().any(|call| call.does() != Does::Read);
    let behavior = if writes {
        TransactionBehavior::Immediate
    } else {
        // Does not wait for any lock.
        TransactionBehavior::Deferred
    };
    let transaction = rusqlite::Transaction::new_unchecked(connection, behavior)?;
    for (call, failed) in calls.iter_mut().zip(failed) {
        let is_write = call.does() != Does::Read;
        if is_write {
            transaction.prepare_cached("SAVEPOINT call")?.execute([])?;
        }
        let ran = call.run(&transaction);
        if let Err(error) = ran {
            if transaction.is_autocommit() {
                // SQLite has rolled back everything, for example because the disk is full.
                return Err(error);
            }
            *failed = Some(words(&error));
            if is_write {
                transaction
                    .prepare_cached("ROLLBACK TO call")?
                    .execute([])?;
            }
        }
        if is_write {
            transaction.prepare_cached("RELEASE call")?.execute([])?;
        }
    }
    transaction.commit()
}
