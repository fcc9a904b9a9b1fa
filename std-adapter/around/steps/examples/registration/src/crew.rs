// SPDX-License-Identifier: MIT OR Apache-2.0
//! The child processes: services and workers.

use std::error::Error;
use std::process::Stdio;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::mpsc;

use super::chaos::Chaos;
use super::service::{self, Mood};
use super::worker;

/// A child process, killed when this is dropped.
pub(crate) struct Process {
    pub(crate) child: Child,
    pub(crate) input: ChildStdin,
}

impl Process {
    pub(crate) fn start(command: &mut Command) -> Result<Self, Box<dyn Error>> {
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.kill_on_drop(true).spawn()?;
        let input = child.stdin.take().ok_or("a child without an input")?;
        Ok(Self { child, input })
    }

    /// A process that was killed gets no message.
    pub(crate) async fn tell(&mut self, line: &str) {
        let _ = self.input.write_all(format!("{line}\n").as_bytes()).await;
    }

    pub(crate) async fn kill(mut self) -> Result<(), std::io::Error> {
        self.child.kill().await
    }
}

pub(crate) struct Service {
    pub(crate) name: &'static str,
    pub(crate) port: u16,
    /// `None` while it is dead.
    pub(crate) process: Option<Process>,
    pub(crate) mood: Mood,
}

pub(crate) struct Worker {
    pub(crate) process: Process,
    pub(crate) id: u32,
}

impl Chaos {
    /// Port 0 selects a free one.
    pub(crate) async fn service(
        &self,
        name: &'static str,
        port: u16,
    ) -> Result<Service, Box<dyn Error>> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args([service::ARGUMENT, &port.to_string()]);
        let mut process = Process::start(command.arg(self.folder.join(format!("{name}.effects"))))?;
        let output = process
            .child
            .stdout
            .take()
            .ok_or("a service without an output")?;
        let mut port = String::new();
        BufReader::new(output).read_line(&mut port).await?;
        Ok(Service {
            name,
            port: port.trim().parse()?,
            process: Some(process),
            mood: Mood::Well,
        })
    }

    pub(crate) async fn set(
        &self,
        service: &mut Service,
        mood: Mood,
    ) -> Result<(), Box<dyn Error>> {
        if service.mood == mood {
            return Ok(());
        }
        if mood == Mood::Dead {
            if let Some(process) = service.process.take() {
                process.kill().await?;
            }
        } else if service.process.is_none() {
            *service = self.service(service.name, service.port).await?;
        }
        if let Some(process) = &mut service.process {
            process.tell(mood.name()).await;
        }
        service.mood = mood;
        Ok(self
            .diary
            .note(&format!("mood {} {}", service.name, mood.name()))?)
    }

    /// Port 0 is for a worker without a front end.
    pub(crate) fn worker(
        &self,
        services: &[Service],
        answers: &mpsc::UnboundedSender<(u64, String)>,
        port: u16,
    ) -> Result<Worker, Box<dyn Error>> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args([worker::ARGUMENT, &self.place, &self.begin_us.to_string()]);
        for service in services {
            let url = format!("http://127.0.0.1:{}", service.port);
            command.env(format!("{}_URL", service.name.to_uppercase()), url);
        }
        let mut process = Process::start(command.arg(&self.folder).arg(port.to_string()))?;
        let output = process
            .child
            .stdout
            .take()
            .ok_or("a worker without an output")?;
        let answers = answers.clone();
        tokio::spawn(async move {
            let mut lines = BufReader::new(output).lines();
            while let Ok(Some(line)) = lines.next_line().await {
                if let Some((number, answer)) = line.split_once(' ')
                    && let Ok(number) = number.parse()
                {
                    let _ = answers.send((number, answer.to_owned()));
                }
            }
        });
        let id = process.child.id().ok_or("a worker that has ended")?;
        Ok(Worker { process, id })
    }
}
