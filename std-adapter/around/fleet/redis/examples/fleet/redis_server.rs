// SPDX-License-Identifier: MIT OR Apache-2.0
//! A real Redis with its own port and folder, without persistence, ended by its handle.

use std::io;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

pub(crate) struct RedisServer {
    /// A shell that waits for the server, and ends it when its own input ends, however this process does.
    shell: Child,
    folder: PathBuf,
    pub(crate) port: u16,
}

const SHELL: &str = r#"
    exec 3<&0
    "$@" </dev/null &
    server=$!
    ( read -r _ <&3; kill -9 $server ) &
    wait $server
"#;

impl RedisServer {
    /// Starts it with additional arguments, on a free port.
    pub(crate) fn start_with(arguments: &[&str]) -> io::Result<Self> {
        let mut tries = 20;
        loop {
            // Below the ports that systems give to outgoing connections.
            match Self::start_at(fastrand::u16(10_000..30_000), arguments) {
                Err(error) if error.kind() == io::ErrorKind::AddrInUse && tries > 0 => tries -= 1,
                result => return result,
            }
        }
    }

    /// # Errors
    /// `AddrInUse` if another process has the port, `NotFound` if there is no such program.
    pub(crate) fn start_at(port: u16, arguments: &[&str]) -> io::Result<Self> {
        Command::new("redis-server")
            .arg("--version")
            .stdout(Stdio::null())
            .status()
            .map_err(missing)?;
        let folder = std::env::temp_dir().join(format!(
            "atomic-breaker-fleet-redis-{:x}",
            fastrand::u64(..)
        ));
        std::fs::create_dir_all(&folder)?;
        let spawned = Command::new("sh")
            .args(["-c", SHELL, "sh", "redis-server"])
            .args(["--bind", "127.0.0.1", "--save", "", "--appendonly", "no"])
            .args(["--port", &port.to_string()])
            .arg("--dir")
            .arg(&folder)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let mut server = Self {
            shell: spawned?,
            folder,
            port,
        };
        let began = Instant::now();
        // The server of another program may respond there.
        while !server.answers()? {
            if let Some(status) = server.shell.try_wait()? {
                let words = format!("no server on port {port}: {status}");
                return Err(io::Error::new(io::ErrorKind::AddrInUse, words));
            }
            if began.elapsed() > Duration::from_secs(20) {
                return Err(io::Error::other("redis-server does not answer"));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(server)
    }

    /// It is identified by its folder, which no other server has.
    fn answers(&self) -> io::Result<bool> {
        let folder = self.command(&["CONFIG", "GET", "dir"])?;
        // A server that requires a password cannot be queried.
        let is_ours = folder
            .lines()
            .any(|line| line.trim() == self.folder.to_string_lossy());
        Ok(is_ours || folder.contains("NOAUTH"))
    }

    pub(crate) fn address(&self) -> String {
        format!("redis://127.0.0.1:{}/", self.port)
    }

    /// Its process.
    #[allow(dead_code)]
    pub(crate) fn id(&self) -> io::Result<u32> {
        let info = self.command(&["INFO", "server"])?;
        let id = info
            .lines()
            .find_map(|line| line.strip_prefix("process_id:"));
        let id = id.and_then(|id| id.trim().parse().ok());
        id.ok_or_else(|| io::Error::other("redis-server does not report its process id"))
    }

    /// The output of Redis's own client for a command.
    pub(crate) fn command(&self, words: &[&str]) -> io::Result<String> {
        let done = Command::new("redis-cli")
            .args(["-p", &self.port.to_string()])
            .args(words)
            .stdin(Stdio::null())
            .output()
            .map_err(missing)?;
        Ok(String::from_utf8_lossy(&done.stdout).trim().to_owned())
    }

    /// The number of commands of this kind that it has executed, including those within scripts.
    pub(crate) fn done(&self, command: &str) -> io::Result<u64> {
        let stats = self.command(&["INFO", "commandstats"])?;
        let key = format!("cmdstat_{command}:calls=");
        let line = stats.lines().find_map(|line| line.strip_prefix(&key));
        let calls = line.and_then(|line| line.split(',').next()?.parse().ok());
        Ok(calls.unwrap_or(0))
    }
}

fn missing(error: io::Error) -> io::Error {
    if error.kind() == io::ErrorKind::NotFound {
        let words = "redis-server or redis-cli is missing: install Redis 7, on Debian by \
                     `apt-get install redis-server`";
        io::Error::new(io::ErrorKind::NotFound, words)
    } else {
        error
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        drop(self.shell.stdin.take());
        let _ = self.shell.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
