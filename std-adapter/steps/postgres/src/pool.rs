//! Connections, one for each call at a time, dropped as soon as they are in doubt.

use std::collections::HashMap;
use std::ops::{Deref, DerefMut};
use std::pin::Pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_postgres::tls::{MakeTlsConnect, TlsConnect};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Config, Row, Socket, Statement};

use crate::error::PostgresStoreError as Fault;

type Connecting = Pin<Box<dyn Future<Output = Result<Session, Fault>> + Send>>;

pub(crate) struct Pool {
    connect: Box<dyn Fn() -> Connecting + Send + Sync>,
    idle: Mutex<Vec<Session>>,
    free: Semaphore,
    limit: Duration,
}

/// A connection with its prepared statements.
pub(crate) struct Session {
    pub(crate) client: Client,
    prepared: HashMap<String, Statement>,
    task: JoinHandle<()>,
}

impl Session {
    async fn statement(&mut self, sql: &str) -> Result<Statement, Fault> {
        if let Some(statement) = self.prepared.get(sql) {
            return Ok(statement.clone());
        }
        let statement = self.client.prepare(sql).await?;
        self.prepared.insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }

    /// Prepares the statement once.
    pub(crate) async fn query(
        &mut self,
        sql: &str,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, Fault> {
        let statement = self.statement(sql).await?;
        Ok(self.client.query(&statement, values).await?)
    }

    pub(crate) async fn execute(
        &mut self,
        sql: &str,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<u64, Fault> {
        let statement = self.statement(sql).await?;
        Ok(self.client.execute(&statement, values).await?)
    }
}

impl Pool {
    pub(crate) fn new<T>(config: Config, tls: T, connections: usize, limit: Duration) -> Self
    where
        T: MakeTlsConnect<Socket> + Clone + Send + Sync + 'static,
        T::Stream: Send,
        T::TlsConnect: Send,
        <T::TlsConnect as TlsConnect<Socket>>::Future: Send,
    {
        let connect = move || {
            let (config, tls) = (config.clone(), tls.clone());
            Box::pin(async move { connect(&config, tls, limit).await }) as Connecting
        };
        Self {
            connect: Box::new(connect),
            idle: Mutex::default(),
            free: Semaphore::new(connections),
            limit,
        }
    }

    /// Returns an error if it takes longer than the limit.
    pub(crate) async fn limited<T>(
        &self,
        call: impl Future<Output = Result<T, Fault>>,
    ) -> Result<T, Fault> {
        let done = timeout(self.limit, call).await;
        done.unwrap_or_else(|_| {
            let limit = self.limit;
            Err(Fault::new(format!(
                "no answer within {limit:?}: it may be done or not"
            )))
        })
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Session>> {
        // Nothing under the lock panics.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A connection for one call. It is closed afterwards, unless the call reports that it was
    /// [answered](InUse::answered).
    pub(crate) async fn get(&self) -> Result<InUse<'_>, Fault> {
        // Never closed.
        let turn = self.free.acquire().await.ok();
        let session = loop {
            let idle = self.idle().pop();
            match idle {
                Some(session) if session.client.is_closed() => {}
                Some(session) => break session,
                None => break (self.connect)().await?,
            }
        };
        Ok(InUse {
            of: self,
            session: Some(session),
            is_answered: false,
            _turn: turn,
        })
    }
}

pub(crate) struct InUse<'a> {
    of: &'a Pool,
    /// Present until it is dropped.
    session: Option<Session>,
    is_answered: bool,
    _turn: Option<SemaphorePermit<'a>>,
}

impl InUse<'_> {
    pub(crate) fn answered(mut self) {
        self.is_answered = true;
    }
}

impl Deref for InUse<'_> {
    type Target = Session;

    fn deref(&self) -> &Session {
        self.session.as_ref().expect("until it is dropped")
    }
}

impl DerefMut for InUse<'_> {
    fn deref_mut(&mut self) -> &mut Session {
        self.session.as_mut().expect("until it is dropped")
    }
}

impl Drop for InUse<'_> {
    fn drop(&mut self) {
        let Some(session) = self.session.take() else {
            return;
        };
        if self.is_answered {
            self.of.idle().push(session);
        } else {
            // It may hang.
            session.task.abort();
        }
    }
}

async fn connect<T>(config: &Config, tls: T, limit: Duration) -> Result<Session, Fault>
where
    T: MakeTlsConnect<Socket>,
    T::Stream: Send + 'static,
{
    let (client, connection) = config.connect(tls).await?;
    let task = tokio::spawn(async move {
        // The caller that uses it sees the error.
        let _ = connection.await;
    });
    // The server enforces limits of its own, so that it does not go on with work that no caller waits for. Plans that
    // read or sort whole tables are disabled: each of these statements has an index, and a fixed plan, as planning
    // takes longer than a claim.
    let limit = limit.as_millis();
    let settings = format!(
        "SET statement_timeout = {limit}; SET lock_timeout = {limit};
         SET idle_in_transaction_session_timeout = {limit};
         SET default_transaction_isolation = 'read committed';
         SET jit = off; SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; SET enable_bitmapscan = off;
         SET enable_hashjoin = off; SET enable_mergejoin = off"
    );
    client.batch_execute(&settings).await?;
    Ok(Session {
        client,
        prepared: HashMap::new(),
        task,
    })
}
