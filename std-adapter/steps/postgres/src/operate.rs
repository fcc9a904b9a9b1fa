//! What operators and the passing of time do.

use std::time::Duration;

use atomic_breaker_steps::{Counts, Failed, Filter, Job, JobId, Status, micros};

use tokio_postgres::types::ToSql;

use crate::error::PostgresStoreError as Fault;
use crate::pool::Session;
use crate::row::{job, status, time, within};
use crate::sql::Sql;

pub(crate) async fn find(
    session: &mut Session,
    sql: &Sql,
    id: JobId,
) -> Result<Option<Job>, Fault> {
    let rows = session.query(&sql.by_id, &[&id.get()]).await?;
    Ok(rows.first().map(job))
}

pub(crate) async fn list(
    session: &mut Session,
    sql: &Sql,
    filter: &Filter,
    most: u32,
) -> Result<Vec<Job>, Fault> {
    let is_one = filter.kind.is_some() && filter.key.is_some();
    let list = sql.list(filter.status.map(Status::name), is_one);
    let after = filter.after.map_or(0, JobId::get);
    let most = i64::from(most);
    let rows = session
        .query(&list, &[&after, &filter.kind, &filter.key, &most])
        .await?;
    Ok(rows.iter().map(job).collect())
}

pub(crate) async fn history(
    session: &mut Session,
    sql: &Sql,
    id: JobId,
) -> Result<Vec<Failed>, Fault> {
    let rows = session.query(&sql.history, &[&id.get()]).await?;
    let failed = rows.iter().map(|row| Failed {
        step: row.get("step"),
        failures: within(row.get("failures")),
        error: row.get("error"),
        ago: time(row.get("ago_us")),
    });
    Ok(failed.collect())
}

/// Runs in a transaction of its own, as it reads the whole table.
pub(crate) async fn counts(session: &mut Session, sql: &Sql) -> Result<Counts, Fault> {
    let begin = "BEGIN; SET LOCAL enable_seqscan = on";
    session.client.batch_execute(begin).await?;
    let rows = session.query(&sql.counts, &[]).await?;
    let oldest = session.query(&sql.oldest, &[]).await?;
    session.client.batch_execute("COMMIT").await?;
    let mut jobs = Vec::with_capacity(rows.len());
    let mut due = Vec::new();
    for row in &rows {
        let lane: String = row.get(0);
        let [count, of_them]: [i64; 2] = [row.get(2), row.get(3)];
        if of_them > 0 {
            due.push((lane.clone(), of_them.cast_unsigned()));
        }
        jobs.push((lane, status(row.get(1)), count.cast_unsigned()));
    }
    jobs.sort_unstable();
    due.sort_unstable();
    let oldest: Option<i64> = oldest.first().and_then(|row| row.get(0));
    Ok(Counts {
        jobs,
        due,
        oldest_due: oldest.map(time),
    })
}

/// Longer ago than anything can have ended.
const LONGEST: Duration = Duration::from_secs(2_000 * 365 * 24 * 60 * 60);

pub(crate) async fn forget(
    session: &mut Session,
    sql: &Sql,
    ended_before: Duration,
    most: u32,
) -> Result<u64, Fault> {
    if ended_before > LONGEST {
        return Ok(0);
    }
    let before = micros(ended_before)?;
    session
        .execute(&sql.forget, &[&before, &i64::from(most)])
        .await
}

pub(crate) async fn unpark(
    session: &mut Session,
    sql: &Sql,
    kind: &str,
    steps: &[&str],
    parked_before: Duration,
    most: u32,
) -> Result<u64, Fault> {
    if parked_before > LONGEST {
        return Ok(0);
    }
    let before = micros(parked_before)?;
    let values: [&(dyn ToSql + Sync); 4] = [&kind, &steps, &before, &i64::from(most)];
    session.execute(&sql.unpark, &values).await
}

pub(crate) async fn retry_now(session: &mut Session, sql: &Sql, id: JobId) -> Result<bool, Fault> {
    let changed = session.execute(&sql.retry_now, &[&id.get()]).await?;
    Ok(changed == 1)
}

pub(crate) async fn cancel(session: &mut Session, sql: &Sql, id: JobId) -> Result<bool, Fault> {
    let changed = session.execute(&sql.cancel, &[&id.get()]).await?;
    Ok(changed == 1)
}
