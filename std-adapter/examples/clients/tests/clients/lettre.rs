// SPDX-License-Identifier: MIT OR Apache-2.0
//! lettre, against an SMTP server.

use atomic_breaker_server::{Failure, Outcome, ServiceError, Timed};
use clients::lettre::{Mailer, classify};
use clients::rules;
use lettre::Message;
use lettre::transport::smtp::Error;
use lettre::transport::smtp::response::Response;

use crate::outage::{is_closed, survive};
use crate::proxy::Proxy;
use crate::server::{Kind, Server};

type Answer = Result<Response, ServiceError<Timed<Error>>>;

async fn send(mailer: &Mailer, to: &str, subject: &str) -> Answer {
    let mail = Message::builder()
        .from("shop@example.org".parse().unwrap())
        .to(format!("{to}@example.org").parse().unwrap())
        .subject(subject);
    mailer.send(mail.body("Hello".to_owned()).unwrap()).await
}

fn judged(answer: Answer) -> (Outcome, u16) {
    let Err(ServiceError::Failed(Timed::Failed(error))) = answer else {
        panic!("{answer:?}");
    };
    (classify(&error), error.status().map_or(0, u16::from))
}

#[tokio::test]
async fn is_closed_through_errors_of_callers_and_knows_those_of_the_server() {
    let Some(host) = Server::start(Kind::Mail) else {
        return;
    };
    let mailer = Mailer::new("127.0.0.1", host.port, rules());
    for _ in 0..100 {
        assert_eq!(
            judged(send(&mailer, "unknown", "a").await),
            (Outcome::Success, 550)
        );
    }
    assert_eq!(
        judged(send(&mailer, "greylisted", "a").await),
        (Outcome::Success, 450)
    );
    let snapshot = mailer.server().breaker().snapshot();
    assert!(is_closed(mailer.server()) && snapshot.failures() == 0);

    let failure = Failure::new().into();
    assert_eq!(judged(send(&mailer, "full", "a").await), (failure, 452));
    assert_eq!(judged(send(&mailer, "closing", "a").await), (failure, 421));
}

#[tokio::test]
async fn opens_while_the_server_hangs_or_is_dead_and_is_served_after_it() {
    let Some(mut host) = Server::start(Kind::Mail) else {
        return;
    };
    let mailer = Mailer::new("127.0.0.1", host.port, rules());
    survive("lettre", &mut host, mailer.server(), async || {
        send(&mailer, "ann", "a").await
    })
    .await;
}

/// The first mail that is cut off takes the other connections with it, so the next one is served.
#[tokio::test]
async fn lost_connections_cost_one_mail() {
    let Some(host) = Server::start(Kind::Mail) else {
        return;
    };
    let proxy = Proxy::start(host.port).await;
    let mailer = Mailer::new("127.0.0.1", proxy.port, rules());
    let call = async || send(&mailer, "ann", "a").await;
    let calls = async { tokio::join!(call(), call(), call(), call(), call(), call()) };
    assert!(calls.await.0.is_ok());
    // Their connections go back into the pool in tasks of its own.
    tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    proxy.lose_connections();
    assert!(matches!(
        call().await,
        Err(ServiceError::Failed(Timed::TimedOut))
    ));
    assert!(call().await.is_ok() && is_closed(mailer.server()));
}

/// A mail is cut off in the middle of its dialogue. Those after it read their own answers.
#[tokio::test]
async fn no_mail_reads_the_answer_to_another() {
    let Some(host) = Server::start(Kind::Mail) else {
        return;
    };
    let mailer = Mailer::new("127.0.0.1", host.port, rules());
    let cut_off = send(&mailer, "slow", "cut off").await;
    assert!(matches!(
        cut_off,
        Err(ServiceError::Failed(Timed::TimedOut))
    ));
    for subject in ["1", "2", "3"] {
        let answer = send(&mailer, "ann", subject).await.unwrap();
        assert_eq!(answer.first_line(), Some(subject));
    }
}
