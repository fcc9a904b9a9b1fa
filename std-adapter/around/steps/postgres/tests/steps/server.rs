// SPDX-License-Identifier: MIT OR Apache-2.0
//! A real server with its own port and folder, where one is wanted, ended by its handle.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Once;
use std::time::{Duration, Instant};

use atomic_breaker_steps_postgres::{
    PostgresStore,
    tokio_postgres::{Client, Config, NoTls},
};

use super::programs::{command, programs};

pub(crate) struct Server {
    child: Child,
    folder: PathBuf,
    port: u16,
}

static SKIPPED: Once = Once::new();

/// Set by `tests/engines/run`, which installs a server.
const WANTED: &str = "ATOMIC_BREAKER_NEEDS_POSTGRES";

fn done(command: &mut Command) {
    let done = command.current_dir("/").output().unwrap();
    let words = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{command:?}: {words}");
}

impl Server {
    /// `None`, with a printed line, where no server is wanted.
    pub(crate) async fn start() -> Option<Self> {
        if std::env::var_os(WANTED).is_none() {
            SKIPPED.call_once(|| {
                // Bypasses the capture of printed output.
                let line = "skipped: needs PostgreSQL, run tests/engines/run postgres";
                let _ = writeln!(std::io::stderr(), "{line}");
            });
            return None;
        }
        let programs = programs().expect("PostgreSQL: tests/engines/run postgres installs it");
        let name = format!("atomic-breaker-steps-postgres-{:x}", fastrand::u64(..));
        let folder = std::env::temp_dir().join(name);
        done(
            command(&programs.join("initdb"))
                .args([
                    "--auth=trust",
                    "--username=test",
                    "--encoding=UTF8",
                    "--locale=C",
                ])
                .arg("--no-sync")
                .arg("-D")
                .arg(&folder),
        );
        // Below the ports that systems give to clients.
        loop {
            let port = fastrand::u16(10_000..30_000);
            let child = Self::spawn(&folder, port);
            let mut server = Self {
                child,
                folder: folder.clone(),
                port,
            };
            if server.is_up().await {
                return Some(server);
            }
            // Another process has the port. The folder is still needed.
            server.folder = PathBuf::new();
        }
    }

    fn spawn(folder: &Path, port: u16) -> Child {
        let programs = programs().expect("it was there");
        command(&programs.join("postgres"))
            .arg("-D")
            .arg(folder)
            .args(["-p", &port.to_string(), "-h", "127.0.0.1", "-k", ""])
            .args(["-c", "max_connections=300", "-c", "shared_buffers=256MB"])
            .current_dir("/")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    }

    /// Returns whether this very server responds.
    async fn is_up(&mut self) -> bool {
        let began = Instant::now();
        loop {
            if self.child.try_wait().unwrap().is_some() {
                return false;
            }
            if let Ok((client, connection)) = self.config().connect(NoTls).await {
                let connection = tokio::spawn(connection);
                let folder = client.query_one("SHOW data_directory", &[]).await;
                connection.abort();
                let is_ours = |folder: &str| Path::new(folder) == self.folder;
                return folder.is_ok_and(|row| is_ours(row.get(0)));
            }
            assert!(
                began.elapsed() < Duration::from_secs(60),
                "it does not listen"
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    pub(crate) fn address(&self) -> String {
        format!(
            "host=127.0.0.1 port={} user=test dbname=postgres",
            self.port
        )
    }

    pub(crate) fn config(&self) -> Config {
        self.address().parse().unwrap()
    }

    pub(crate) async fn store(&self) -> PostgresStore {
        PostgresStore::connect(&self.address()).await.unwrap()
    }

    /// The application's own connection.
    pub(crate) async fn client(&self) -> Client {
        let (client, connection) = self.config().connect(NoTls).await.unwrap();
        tokio::spawn(connection);
        client
    }

    /// `STOP`, `CONT` and others: by the id of this process alone.
    pub(crate) fn signal(&self, signal: &str) {
        let id = self.child.id().to_string();
        let sent = Command::new("kill")
            .arg(format!("-{signal}"))
            .arg(id)
            .status();
        assert!(sent.unwrap().success());
    }

    /// Ends it at once, and restarts it on the same port.
    pub(crate) async fn restart(&mut self) {
        self.stop();
        self.restart_stopped().await;
    }

    pub(crate) async fn restart_stopped(&mut self) {
        self.child = Self::spawn(&self.folder, self.port);
        assert!(self.is_up().await, "the server does not come back");
    }

    /// Connections are cut off; committed data is kept.
    pub(crate) fn stop(&mut self) {
        self.signal("QUIT");
        self.child.wait().unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.child.try_wait().is_ok_and(|status| status.is_none()) {
            // It ends its own processes at this one.
            self.signal("QUIT");
            let _ = self.child.wait();
        }
        if self.folder != Path::new("") {
            let _ = std::fs::remove_dir_all(&self.folder);
        }
    }
}
