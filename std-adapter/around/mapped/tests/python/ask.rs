// SPDX-License-Identifier: MIT OR Apache-2.0
//! Questions to the reader in Python, and random numbers.

use std::env;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::LazyLock;
use std::thread;

use test_support::dice::Dice;

/// The reader, which answers each line by a line.
pub(crate) struct Python {
    child: Child,
    requests: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Python {
    pub(crate) fn start(command: &str) -> Self {
        let package = Path::new(env!("CARGO_MANIFEST_DIR"));
        let script = package.join("../../../tests/shared-file/check.py");
        let mut child = Command::new("python3")
            // No folder of compiled modules among the sources.
            .arg("-B")
            .arg(script)
            .arg(command)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("python3 starts");
        Self {
            requests: child.stdin.take(),
            answers: BufReader::new(child.stdout.take().unwrap()),
            child,
        }
    }

    pub(crate) fn request(&mut self, request: &str) {
        let requests = self.requests.as_mut().unwrap();
        writeln!(requests, "{request}").unwrap();
        requests.flush().unwrap();
    }

    /// `None` if it has ended.
    pub(crate) fn answer(&mut self) -> Option<String> {
        let mut line = String::new();
        let length = self.answers.read_line(&mut line).unwrap();
        (length > 0).then(|| line.trim_end().to_owned())
    }

    pub(crate) fn ask(&mut self, request: &str) -> Option<String> {
        self.request(request);
        self.answer()
    }

    /// Ends it, as its requests do, and returns its exit code.
    pub(crate) fn end(mut self) -> Option<i32> {
        self.requests = None;
        self.child.wait().unwrap().code()
    }
}

/// The answers to many requests.
pub(crate) fn ask(command: &str, requests: &[String]) -> Vec<String> {
    let mut python = Python::start(command);
    let mut to = python.requests.take().unwrap();
    let answers = thread::scope(|scope| {
        scope.spawn(move || {
            for request in requests {
                writeln!(to, "{request}").unwrap();
            }
        });
        let answers = Read::by_ref(&mut python.answers).lines();
        answers.map(Result::unwrap).collect::<Vec<_>>()
    });
    assert_eq!(python.end(), Some(0));
    assert_eq!(answers.len(), requests.len());
    answers
}

/// Numbers that differ from run to run, unless `BREAKER_SEED` is set, and from stream to stream.
pub(crate) fn dice(stream: u64) -> Dice {
    static SEED: LazyLock<u64> = LazyLock::new(|| {
        let seed = match env::var("BREAKER_SEED") {
            Ok(seed) => seed.parse().expect("the seed is a whole number"),
            Err(_) => std::time::UNIX_EPOCH
                .elapsed()
                .map_or(0, |time| time.as_nanos() as u64),
        };
        println!("BREAKER_SEED={seed}");
        seed
    });
    Dice::new(*SEED ^ stream << 48)
}

/// Text as JSON.
pub(crate) fn quoted(path: &Path) -> String {
    format!("{:?}", path.to_str().unwrap())
}
