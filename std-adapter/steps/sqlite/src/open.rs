//! Opens a file.

use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::error::Fault;
use crate::schema;

/// How long another connection may hold the write lock.
const PATIENCE: Duration = Duration::from_secs(5);

pub(crate) fn open(path: &Path) -> Result<Connection, Fault> {
    // Used by one thread at a time; a path is taken literally, not as a URI.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags)?;
    connection.busy_handler(Some(wait))?;
    if connection.is_readonly("main")? {
        let words =
            "it can only be read: give this process the right to write to the file and its folder";
        return Err(Fault::Other(words.to_owned()));
    }
    // Acknowledged changes survive a power cut.
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    let mode = journal_mode(&connection)?;
    // An in-memory database has no other mode.
    if mode != "wal" && mode != "memory" {
        return Err(Fault::Other(format!(
            "it stays in journal mode {mode:?}: put it on a local file system, which supports \"wal\""
        )));
    }
    schema::migrate(&mut connection)?;
    connection.set_prepared_statement_cache_capacity(64);
    Ok(connection)
}

/// WAL: readers and one writer at the same time. If two connections switch at once, SQLite itself does not wait.
fn journal_mode(connection: &Connection) -> Result<String, Fault> {
    let began = Instant::now();
    loop {
        let mode = connection.query_one("PRAGMA journal_mode = WAL", [], |row| row.get(0));
        match mode {
            Err(error)
                if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
                    && began.elapsed() < PATIENCE =>
            {
                sleep(Duration::from_millis(1));
            }
            mode => return Ok(mode?),
        }
    }
}

/// Often enough that a process that writes all the time does not starve others: SQLite's own pauses grow to 100 ms.
/// Each pause here is a little longer than requested, so together they are no shorter than [`PATIENCE`].
fn wait(times: i32) -> bool {
    sleep(Duration::from_millis(1));
    u128::try_from(times).is_ok_and(|times| times < PATIENCE.as_millis())
}
