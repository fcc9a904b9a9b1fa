// SPDX-License-Identifier: MIT OR Apache-2.0
//! As much of PostgreSQL and of Redis as a few tests need: they take as long as a query says, and refuse writes.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Result};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::sleep;

pub(crate) struct Fake {
    /// `true` if writes are refused.
    pub(crate) is_full: Arc<AtomicBool>,
    pub(crate) port: u16,
}

impl Fake {
    pub(crate) async fn postgres() -> Self {
        Self::start(postgres).await
    }

    pub(crate) async fn redis() -> Self {
        Self::start(redis).await
    }

    async fn start<F: Future<Output = Result<()>> + Send + 'static>(
        serve: impl Fn(TcpStream, Arc<AtomicBool>) -> F + Send + 'static,
    ) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let is_full = Arc::new(AtomicBool::new(false));
        let shared = Arc::clone(&is_full);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(serve(client, Arc::clone(&shared)));
            }
        });
        Self { is_full, port }
    }
}

/// A message of PostgreSQL.
fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + 4).unwrap().to_be_bytes();
    [&[kind], &length[..], body].concat()
}

/// `SELECT 200` takes 200 ms; `INSERT` finds a disk that may be full.
async fn postgres(mut client: TcpStream, is_full: Arc<AtomicBool>) -> Result<()> {
    let ready = message(b'Z', b"I");
    let mut startup = vec![0; usize::try_from(client.read_u32().await?).unwrap() - 4];
    client.read_exact(&mut startup).await?;
    client
        .write_all(&[message(b'R', &[0; 4]), ready.clone()].concat())
        .await?;
    loop {
        let kind = client.read_u8().await?;
        let mut body = vec![0; usize::try_from(client.read_u32().await?).unwrap() - 4];
        client.read_exact(&mut body).await?;
        let sql = String::from_utf8_lossy(&body);
        let sql = sql.trim_end_matches('\0');
        if let Some(ms) = sql.strip_prefix("SELECT ") {
            sleep(Duration::from_millis(ms.parse().unwrap())).await;
        }
        let answer = match kind {
            b'Q' if sql.starts_with("INSERT") && is_full.load(SeqCst) => {
                message(b'E', b"SERROR\0VERROR\0C53100\0Mno space left\0\0")
            }
            b'Q' => message(b'C', b"SELECT 0\0"),
            _ => Vec::new(),
        };
        client.write_all(&[answer, ready.clone()].concat()).await?;
    }
}

/// `SET` finds memory that may be full.
async fn redis(client: TcpStream, is_full: Arc<AtomicBool>) -> Result<()> {
    let mut client = BufReader::new(client);
    loop {
        let mut words = Vec::new();
        let count = line(&mut client).await?;
        for _ in 0..count[1..].parse().unwrap() {
            line(&mut client).await?;
            words.push(line(&mut client).await?);
        }
        let answer = match &*words[0] {
            "SET" if is_full.load(SeqCst) => "-OOM command not allowed\r\n",
            "GET" => "$3\r\nann\r\n",
            _ => "+OK\r\n",
        };
        client.get_mut().write_all(answer.as_bytes()).await?;
    }
}

async fn line(client: &mut BufReader<TcpStream>) -> Result<String> {
    let mut line = String::new();
    if client.read_line(&mut line).await? == 0 {
        return Err(std::io::ErrorKind::UnexpectedEof.into());
    }
    Ok(line.trim_end().to_owned())
}
