//! A real server: on a port of its own, in a folder of its own, without persistence, ended by its handle.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Once;
use std::time::{Duration, Instant};

use atomic_breaker_redis::RedisFleet;

pub(crate) struct Server {
    child: Child,
    folder: PathBuf,
    port: u16,
}

static SKIPPED: Once = Once::new();

/// Set by `tests/engines/run`: a missing server is then a failure.
const REQUIRED: &str = "ATOMIC_BREAKER_NEEDS_REDIS";

impl Server {
    /// None, and a line that says so, where there is no server on this machine.
    pub(crate) fn start() -> Option<Self> {
        // Below the ports that systems give to whoever connects.
        let mut ports = std::iter::repeat_with(|| fastrand::u16(10_000..30_000));
        loop {
            match Self::spawn(ports.next()?)? {
                Ok(server) => return Some(server),
                Err(taken) => eprintln!("{taken}"),
            }
        }
    }

    pub(crate) fn start_at(port: u16) -> Option<Self> {
        Some(Self::spawn(port)?.unwrap())
    }

    /// An error if another process has the port.
    fn spawn(port: u16) -> Option<Result<Self, String>> {
        let folder =
            std::env::temp_dir().join(format!("atomic-breaker-redis-{:x}", fastrand::u64(..)));
        std::fs::create_dir_all(&folder).unwrap();
        let spawned = Command::new("redis-server")
            .args(["--bind", "127.0.0.1", "--save", "", "--appendonly", "no"])
            .args(["--port", &port.to_string()])
            .arg("--dir")
            .arg(&folder)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let Ok(child) = spawned else {
            assert!(std::env::var_os(REQUIRED).is_none(), "no redis-server");
            SKIPPED.call_once(|| {
                // Not captured, as what is printed is.
                let line = "skipped: needs redis-server, run tests/engines/run";
                let _ = writeln!(std::io::stderr(), "{line}");
            });
            return None;
        };
        let mut server = Self {
            child,
            folder,
            port,
        };
        let began = Instant::now();
        // Whoever answers there may be the server of another test.
        while !server.answers() {
            if let Some(status) = server.child.try_wait().unwrap() {
                return Some(Err(format!("no server on port {port}: {status}")));
            }
            assert!(
                began.elapsed() < Duration::from_secs(20),
                "it does not listen"
            );
            std::thread::sleep(Duration::from_millis(5));
        }
        Some(Ok(server))
    }

    fn answers(&self) -> bool {
        let id = format!("process_id:{}", self.child.id());
        let info = self.command(&["INFO", "server"]);
        info.lines().any(|line| line.trim() == id)
    }

    pub(crate) fn fleet(&self) -> RedisFleet {
        let address = format!("redis://127.0.0.1:{}/", self.port);
        RedisFleet::new(&address, "test").unwrap()
    }

    pub(crate) const fn port(&self) -> u16 {
        self.port
    }

    /// `STOP`, `CONT`: by the id of this process alone.
    pub(crate) fn signal(&self, signal: &str) {
        let id = self.child.id().to_string();
        let sent = Command::new("kill")
            .arg(format!("-{signal}"))
            .arg(id)
            .status();
        assert!(sent.unwrap().success());
    }

    /// A command of its own client.
    pub(crate) fn command(&self, words: &[&str]) -> String {
        let done = Command::new("redis-cli")
            .args(["-p", &self.port.to_string()])
            .args(words)
            .output()
            .unwrap();
        String::from_utf8_lossy(&done.stdout).trim().to_owned()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
