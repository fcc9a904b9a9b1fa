// SPDX-License-Identifier: MIT OR Apache-2.0
//! Real servers, each with its own port and folder, where they are wanted. They end with their handle, or with the thread of
//! their test.

use std::ffi::OsStr;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Once;
use std::time::{Duration, Instant};

/// Set by `tests/engines/run`, which installs them: the Python that has the servers of mail and of objects.
const WANTED: &str = "ATOMIC_BREAKER_CLIENTS_PYTHON";

static SKIPPED: Once = Once::new();

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Kind {
    Postgres,
    Redis,
    Mail,
    Objects,
}

pub(crate) struct Server {
    kind: Kind,
    child: Child,
    folder: PathBuf,
    pub(crate) port: u16,
}

impl Server {
    /// `None`, with a printed line, where no server is wanted.
    pub(crate) fn start(kind: Kind) -> Option<Self> {
        if std::env::var_os(WANTED).is_none() {
            SKIPPED.call_once(|| {
                // Bypasses the capture of printed output.
                let line = "skipped: needs servers, run tests/engines/run clients";
                let _ = writeln!(std::io::stderr(), "{line}");
            });
            return None;
        }
        let name = format!("atomic-breaker-clients-{:x}", fastrand::u64(..));
        let folder = std::env::temp_dir().join(name);
        if kind == Kind::Postgres {
            let options = ["--auth=trust", "--username=test", "--encoding=UTF8"];
            let mut initdb = program("initdb");
            let done = initdb.args(options).args(["--locale=C", "--no-sync", "-D"]);
            let done = done.arg(&folder).current_dir("/").output().unwrap();
            assert!(done.status.success(), "{done:?}");
        } else {
            fs::create_dir(&folder).unwrap();
        }
        // Free at this moment; below those that systems give to clients. Redis, in a cluster, takes the one 10,000 above, too.
        let is_free = |port| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok();
        let ports = std::iter::repeat_with(|| fastrand::u16(10_000..20_000));
        let are_free = |port: &u16| is_free(*port) && is_free(*port + 10_000);
        let port = ports.into_iter().find(are_free).unwrap();
        let child = spawn(kind, &folder, port, &[]);
        let mut server = Self {
            kind,
            child,
            folder,
            port,
        };
        server.wait();
        Some(server)
    }

    /// Until it answers.
    fn wait(&mut self) {
        let began = Instant::now();
        while !self.is_up() {
            let ended = self.child.try_wait().unwrap();
            assert!(ended.is_none(), "it has ended: {ended:?}");
            let limit = Duration::from_secs(60);
            assert!(began.elapsed() < limit, "it does not listen");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn is_up(&self) -> bool {
        if self.kind == Kind::Postgres {
            // It listens before it has recovered.
            let mut ready = program("pg_isready");
            ready.args(["-q", "-h", "127.0.0.1", "-p", &self.port.to_string()]);
            return ready.status().unwrap().success();
        }
        let Ok(mut stream) = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)) else {
            return false;
        };
        // It loads most of itself with the first request.
        self.kind != Kind::Objects || {
            let _ = stream.set_read_timeout(Some(Duration::from_secs(20)));
            let asked = stream.write_all(b"GET / HTTP/1.0\r\nHost: localhost\r\n\r\n");
            let mut answer = String::new();
            asked.is_ok() && stream.read_to_string(&mut answer).is_ok() && answer.contains("200 OK")
        }
    }

    /// It, and the processes that it has for its connections: these go on answering where it alone is stopped.
    fn processes(&self) -> Vec<u32> {
        let own = self.child.id();
        let parent = |process: &u32| {
            let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
            // Behind the name, which may have spaces and brackets in it.
            let (_, fields) = stat.rsplit_once(')')?;
            fields.split_whitespace().nth(1)?.parse().ok()
        };
        let all = fs::read_dir("/proc").unwrap().flatten();
        let all = all.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let children = all.filter(|process| parent(process) == Some(own));
        [own].into_iter().chain(children).collect()
    }

    fn signal(signal: &str, process: u32) {
        let kill = ["-s", signal, &process.to_string()];
        let _ = Command::new("kill")
            .args(kill)
            .stderr(Stdio::null())
            .status();
    }

    /// Stops it: it keeps its connections, takes new ones, and answers none.
    pub(crate) fn hang(&self) {
        for process in self.processes() {
            Self::signal("STOP", process);
        }
    }

    pub(crate) fn go_on(&self) {
        for process in self.processes() {
            Self::signal("CONT", process);
        }
    }

    pub(crate) fn kill(&mut self) {
        // PostgreSQL ends its other processes at this one, as it does not when it is killed.
        let signal = if self.kind == Kind::Postgres {
            "QUIT"
        } else {
            "KILL"
        };
        self.go_on();
        Self::signal(signal, self.child.id());
        self.child.wait().unwrap();
    }

    pub(crate) fn restart(&mut self) {
        self.restart_with(&[]);
    }

    /// With these arguments besides.
    pub(crate) fn restart_with(&mut self, more: &[&str]) {
        self.child = spawn(self.kind, &self.folder, self.port, more);
        self.wait();
    }

    pub(crate) fn of_postgres(&self, port: u16) -> tokio_postgres::Config {
        let address = format!("host=localhost port={port} user=test dbname=postgres");
        assert!(self.kind == Kind::Postgres);
        address.parse().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.child.try_wait().is_ok_and(|ended| ended.is_none()) {
            self.kill();
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn spawn(kind: Kind, folder: &Path, port: u16, more: &[&str]) -> Child {
    let port = port.to_string();
    let mut command = match kind {
        Kind::Postgres => {
            let mut command = program("postgres");
            command.arg("-D").arg(folder).args(["-p", &port]);
            command.args(["-h", "127.0.0.1", "-k", "", "-c", "max_connections=20"]);
            command
        }
        Kind::Redis => {
            let mut command = ended_with_test("redis-server");
            command.args(["--bind", "127.0.0.1", "--port", &port, "--save", ""]);
            command
        }
        Kind::Mail => python("mail.py", &port),
        Kind::Objects => python("objects.py", &port),
    };
    let command = command.args(more).current_dir(folder).stdin(Stdio::null());
    let command = command.stdout(Stdio::null()).stderr(Stdio::null());
    command
        .spawn()
        .expect("tests/engines/run clients installs it")
}

/// Ended by the system when the thread that starts it ends, however that does.
fn ended_with_test(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new("setpriv");
    command.arg("--pdeathsig=KILL").arg(program);
    command
}

fn python(script: &str, port: &str) -> Command {
    let python = std::env::var_os(WANTED).unwrap();
    let mut command = ended_with_test(&python);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients");
    command.arg(folder.join(script)).arg(port);
    command
}

/// A program of PostgreSQL, as an ordinary user, because the server does not run as root.
fn program(name: &str) -> Command {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten();
    let number = |path: &Path| path.file_name()?.to_str()?.parse::<u32>().ok();
    let latest = versions.flatten().map(|entry| entry.path());
    let latest = latest.max_by_key(|path| number(path));
    let latest = latest.expect("tests/engines/run clients installs it");
    let mut command = Command::new("setpriv");
    let is_root = Command::new("id").arg("-u").output();
    if is_root.is_ok_and(|id| id.stdout == b"0\n") {
        command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups"]);
    }
    command
        .arg("--pdeathsig=QUIT")
        .arg(latest.join("bin").join(name));
    command
}
