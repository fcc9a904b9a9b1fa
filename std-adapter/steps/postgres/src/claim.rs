//! Which worker gets which jobs, and for how long.

use std::collections::HashSet;
use std::time::Duration;

use atomic_breaker_steps::{Claim, Claimed, JobId, Right, micros};

use crate::error::PostgresStoreError as Fault;
use crate::pool::Session;
use crate::row::{job, time};
use crate::sql::Sql;

pub(crate) async fn claim(
    session: &mut Session,
    sql: &Sql,
    lane: &str,
    most: u32,
    lease: Duration,
) -> Result<Claim, Fault> {
    let values = (i64::from(most), micros(lease)?);
    let rows = session
        .query(&sql.claim, &[&lane, &values.0, &values.1])
        .await?;
    let next_due = rows.first().and_then(|row| row.get("next_us"));
    let mut jobs = Vec::with_capacity(rows.len());
    // If none was claimed there is one row, which only tells when the next one is due.
    for row in rows
        .iter()
        .filter(|row| row.get::<_, Option<i64>>("id").is_some())
    {
        let job = job(row);
        jobs.push(Claimed {
            right: Right {
                id: job.id,
                fence: row.get("fence"),
            },
            job,
            is_lost: row.get("is_lost"),
            fault: row.get("fault"),
        });
    }
    Ok(Claim {
        jobs,
        next_due: next_due.map(time),
    })
}

pub(crate) async fn renew(
    session: &mut Session,
    sql: &Sql,
    rights: &[Right],
    lease: Duration,
) -> Result<Vec<bool>, Fault> {
    let ids: Vec<_> = rights.iter().map(|right| right.id.get()).collect();
    let fences: Vec<_> = rights.iter().map(|right| right.fence).collect();
    let values = (ids, fences, micros(lease)?);
    let rows = session
        .query(&sql.renew, &[&values.0, &values.1, &values.2])
        .await?;
    let held = rows.iter().map(|row| Right {
        id: JobId::new(row.get(0)),
        fence: row.get(1),
    });
    let held: HashSet<_> = held.collect();
    Ok(rights.iter().map(|right| held.contains(right)).collect())
}
