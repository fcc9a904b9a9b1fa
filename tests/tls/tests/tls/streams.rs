// SPDX-License-Identifier: MIT OR Apache-2.0
//! A host that speaks HTTP/2, whose connections die.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::task::{Context, Poll};
use std::time::Duration;

use http::{Request, Response};
use hyper::body::{Body, Bytes, Frame, Incoming};
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio::time::sleep;
use tokio_rustls::server::TlsStream;

use super::host::{Fault, Host};

/// The body of an answer: data, and its end if it has one.
struct Answer {
    data: Option<Bytes>,
    ends: bool,
}

impl Answer {
    fn new(ends: bool) -> Response<Self> {
        Response::new(Self {
            data: Some(Bytes::from_static(b"whole")),
            ends,
        })
    }
}

impl Body for Answer {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.data.take() {
            Some(data) => Poll::Ready(Some(Ok(Frame::data(data)))),
            None if self.ends => Poll::Ready(None),
            // Until its connection dies.
            None => Poll::Pending,
        }
    }
}

/// The fate of a request.
enum Fate {
    Answered,
    /// It waits until the connection dies.
    Waits,
    /// Its body does.
    Begun,
}

/// One connection.
#[derive(Default)]
struct Served {
    number: OnceLock<u32>,
    requests: AtomicU32,
    dies: Notify,
}

impl Served {
    fn fate(self: &Arc<Self>, host: &Host) -> Fate {
        let request = self.requests.fetch_add(1, Relaxed);
        let fate = match host.fault() {
            Some(Fault::OneDies) => {
                // Clients make some connections that they do not use.
                let is_first = *self.number.get_or_init(|| host.next()) == 0;
                if !is_first || request < 20 {
                    return Fate::Answered;
                }
                if request + 1 == 20 + 40 {
                    self.dies.notify_one();
                }
                return Fate::Waits;
            }
            Some(Fault::Streams) => Fate::Waits,
            Some(Fault::StreamedBodies) => Fate::Begun,
            _ => return Fate::Answered,
        };
        if host.next() % 20 == 1 {
            return Fate::Answered;
        }
        // Together with those that come until then.
        let this = Arc::clone(self);
        tokio::spawn(async move {
            sleep(Duration::from_millis(20)).await;
            this.dies.notify_one();
        });
        fate
    }
}

pub(crate) async fn serve(host: Arc<Host>, stream: TlsStream<TcpStream>) {
    let served = Arc::<Served>::default();
    let answering = Arc::clone(&served);
    let answer = service_fn(move |_: Request<Incoming>| {
        let fate = answering.fate(&host);
        async move {
            Ok::<_, Infallible>(match fate {
                Fate::Answered => Answer::new(true),
                Fate::Begun => Answer::new(false),
                Fate::Waits => std::future::pending().await,
            })
        }
    });
    let connection =
        http2::Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(stream), answer);
    tokio::select! {
        _ = connection => {}
        () = served.dies.notified() => {
            // Begun bodies get through before.
            tokio::task::yield_now().await;
        }
    }
}
