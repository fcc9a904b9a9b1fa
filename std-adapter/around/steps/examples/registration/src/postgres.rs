// SPDX-License-Identifier: MIT OR Apache-2.0
//! A separate PostgreSQL: Debian's programs, a folder that stays, and a server that ends with this process.

use std::error::Error;
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use atomic_breaker_steps_postgres::tokio_postgres::{self, NoTls};
use tokio::time::sleep;

use super::programs::{command, programs};

/// Ended when this is dropped, and however this process ends: then its input ends, for which a shell waits.
pub(crate) struct Server {
    shell: Child,
    pub(crate) address: String,
}

const SHELL: &str = r#"
    exec 3<&0
    "$@" </dev/null &
    server=$!
    ( read -r _ <&3; kill -QUIT $server ) &
    wait $server
"#;

impl Server {
    /// Starts a server on the database in this folder, which is created if it does not exist.
    pub(crate) async fn start(folder: &Path) -> Result<Self, Box<dyn Error>> {
        let programs = programs().ok_or(
            "no PostgreSQL on this machine: install the package `postgresql`, or give the address of a running one, \
             --postgres=\"host=… user=… dbname=…\"",
        )?;
        if !folder.exists() {
            make(&programs, folder)?;
        }
        // A killed run may have left a server that is about to end.
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?
            .local_addr()?
            .port();
        let address = format!("host=127.0.0.1 port={port} user=registration dbname=postgres");
        let began = Instant::now();
        loop {
            let mut server = Self {
                shell: spawn(&programs, folder, port)?,
                address: address.clone(),
            };
            while server.shell.try_wait()?.is_none() {
                if tokio_postgres::connect(&address, NoTls).await.is_ok() {
                    return Ok(server);
                }
                sleep(Duration::from_millis(50)).await;
            }
            if began.elapsed() > Duration::from_secs(20) {
                return Err(format!("no server can be started in {}", folder.display()).into());
            }
            sleep(Duration::from_millis(200)).await;
        }
    }
}

/// Created elsewhere first, so that the folder is complete even if this process is killed.
fn make(programs: &Path, folder: &Path) -> Result<(), Box<dyn Error>> {
    let name = |ending: &str| format!("{}-{ending}", folder.display());
    for left in std::fs::read_dir(folder.parent().ok_or("a folder without a parent")?)?.flatten() {
        if left.path().display().to_string().starts_with(&name("")) {
            let _ = std::fs::remove_dir_all(left.path());
        }
    }
    let new = name(&std::process::id().to_string());
    let settings = [
        "--auth=trust",
        "--username=registration",
        "--encoding=UTF8",
        "--locale=C",
    ];
    let mut initdb = command(&programs.join("initdb"));
    let done = initdb
        .args(settings)
        .args(["-D", &new])
        .current_dir("/")
        .output()?;
    if !done.status.success() {
        return Err(String::from_utf8_lossy(&done.stderr).into());
    }
    Ok(std::fs::rename(new, folder)?)
}

fn spawn(programs: &Path, folder: &Path, port: u16) -> std::io::Result<Child> {
    let mut server = command(&programs.join("postgres"));
    server.arg("-D").arg(folder);
    server.args(["-p", &port.to_string(), "-h", "127.0.0.1", "-k", ""]);
    Command::new("sh")
        .args(["-c", SHELL, "sh"])
        .arg(server.get_program())
        .args(server.get_args())
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
}

impl Drop for Server {
    fn drop(&mut self) {
        // Its input ends.
        drop(self.shell.stdin.take());
        let _ = self.shell.wait();
    }
}
