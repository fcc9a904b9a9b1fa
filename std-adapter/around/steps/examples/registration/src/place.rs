// SPDX-License-Identifier: MIT OR Apache-2.0
//! The location of the database, and the options on the command line.

use std::error::Error;
use std::fmt;
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;

use atomic_breaker_steps::StoreError;
use atomic_breaker_steps_postgres::{
    PostgresStore,
    tokio_postgres::{self, NoTls},
};
use atomic_breaker_steps_sqlite::SqliteStore;
use tokio::time::sleep;

use super::postgres::Server;

/// Of the tables in a PostgreSQL that others may use.
const SCHEMA: &str = "registration_example";

pub(crate) enum Place {
    Sqlite(PathBuf),
    /// The server at this address.
    Postgres(String),
}

impl Place {
    /// For a worker.
    pub(crate) fn argument(&self) -> String {
        match self {
            Self::Sqlite(path) => format!("sqlite:{}", path.display()),
            Self::Postgres(address) => address.clone(),
        }
    }

    pub(crate) fn of(argument: &str) -> Self {
        match argument.strip_prefix("sqlite:") {
            Some(path) => Self::Sqlite(path.into()),
            None => Self::Postgres(argument.to_owned()),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Sqlite(_) => "Registrations in SQLite",
            Self::Postgres(_) => "Registrations in PostgreSQL",
        })
    }
}

pub(crate) fn sqlite(path: &Path) -> Result<SqliteStore, StoreError> {
    SqliteStore::open(path)
}

pub(crate) async fn postgres(address: &str) -> Result<PostgresStore, Box<dyn Error>> {
    let builder = PostgresStore::builder(address.parse()?).schema(SCHEMA);
    Ok(builder.connect().await?)
}

/// The command line.
pub(crate) struct Settings {
    is_fresh: bool,
    /// The address of a server, empty for a separate one.
    postgres: Option<String>,
    pub(crate) folder: PathBuf,
    pub(crate) picture: PathBuf,
    /// The port of the front end, instead of the events.
    pub(crate) port: Option<u16>,
}

impl Settings {
    pub(crate) fn of(words: &[&str]) -> Result<Self, String> {
        let (mut is_fresh, mut postgres, mut picture, mut port) = (false, None, None, None);
        for word in words {
            match *word {
                "--fresh" => is_fresh = true,
                "--postgres" => postgres = Some(String::new()),
                word if word.starts_with("--postgres=") => {
                    postgres = Some(word["--postgres=".len()..].to_owned());
                }
                word if word.starts_with("--serve=") => {
                    let number = word["--serve=".len()..].parse();
                    port = Some(number.map_err(|error| format!("{word}: {error}"))?);
                }
                word if word.starts_with('-') || picture.is_some() => {
                    return Err(format!(
                        "unknown argument {word:?}: use --fresh, --postgres, --postgres=ADDRESS, --serve=PORT or PICTURE.svg"
                    ));
                }
                path => picture = Some(PathBuf::from(path)),
            }
        }
        let name = if postgres.is_some() {
            "postgres"
        } else {
            "sqlite"
        };
        let folder = Path::new("target/registration").join(name);
        Ok(Self {
            is_fresh,
            postgres,
            picture: picture.unwrap_or_else(|| folder.join("picture.svg")),
            folder,
            port,
        })
    }

    /// The place, and the handle that must be held as long as it is used.
    pub(crate) async fn open(&self) -> Result<((File, Option<Server>), Place), Box<dyn Error>> {
        let folder = self.folder.display();
        std::fs::create_dir_all(&self.folder).map_err(|error| format!("{folder}: {error}"))?;
        let lock = lock(&self.folder.with_extension("lock")).await?;
        // Made by a user of its own, so outside of folders that are private.
        let cluster = std::env::temp_dir().join("atomic-breaker-registration");
        if self.is_fresh {
            std::fs::remove_dir_all(&self.folder)?;
            std::fs::create_dir_all(&self.folder)?;
            if self.postgres.as_deref() == Some("") && cluster.exists() {
                std::fs::remove_dir_all(&cluster)?;
            }
        }
        match self.postgres.as_deref() {
            None => Ok(((lock, None), Place::Sqlite(self.folder.join("jobs.db")))),
            Some("") => {
                let server = Server::start(&cluster).await?;
                let place = Place::Postgres(server.address.clone());
                Ok(((lock, Some(server)), place))
            }
            Some(address) => {
                if self.is_fresh {
                    let (client, connection) = tokio_postgres::connect(address, NoTls).await?;
                    tokio::spawn(connection);
                    client
                        .batch_execute(&format!("DROP SCHEMA IF EXISTS {SCHEMA} CASCADE"))
                        .await?;
                }
                Ok(((lock, None), Place::Postgres(address.to_owned())))
            }
        }
    }
}

/// A server that was killed just now may need a moment to end.
async fn lock(path: &Path) -> Result<File, Box<dyn Error>> {
    let file = File::create(path)?;
    for _ in 0..100 {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => sleep(Duration::from_millis(20)).await,
            result => return Ok(result.map(|()| file)?),
        }
    }
    Err(format!("another run uses {}: wait until it ends", path.display()).into())
}
