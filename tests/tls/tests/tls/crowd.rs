// SPDX-License-Identifier: MIT OR Apache-2.0
//! Forty callers at once.

use atomic_breaker_http::State;
use futures_util::future::join_all;

use super::client::Client;
use super::host::{Fault, Host};

const CALLERS: usize = 40;
/// As many as a caller makes at most.
const CALLS: usize = 15;
const ALL: usize = CALLERS * CALLS;

/// The number of calls that were answered; the callers stop once the host is shut out.
async fn crowd(client: &Client, host: &Host) -> usize {
    let callers = (0..CALLERS).map(|_| async {
        let mut answered = 0;
        for _ in 0..CALLS {
            if client.state(host) == State::Open {
                break;
            }
            answered += usize::from(client.call(host).await);
        }
        answered
    });
    join_all(callers).await.into_iter().sum()
}

/// A host with this fault is shut out and served again once it has recovered; the one beside it is served all the time.
pub(crate) async fn is_noticed(fault: Fault) {
    for client in Client::all() {
        let (ill, well) = tokio::join!(Host::start(fault, true), Host::start(fault, false));
        let (some, all) = tokio::join!(crowd(&client, &ill), crowd(&client, &well));
        let seen = (client.name, some);
        assert_eq!(client.state(&ill), State::Open, "{seen:?}");
        assert_eq!((client.state(&well), all), (State::Closed, ALL), "{seen:?}");

        ill.recover();
        client.probe_now(&ill);
        assert!(client.call(&ill).await, "{seen:?}: the probe");
        assert_eq!(crowd(&client, &ill).await, ALL, "{seen:?}: served again");
        let state = client.state(&ill);
        assert!(
            matches!(state, State::Closed | State::Returning),
            "{seen:?}: {state:?}"
        );
    }
}

/// The loss of one connection is one failure, although all callers share it.
pub(crate) async fn shuts_out_no_host(fault: Fault) {
    for client in Client::all() {
        let host = Host::start(fault, true).await;
        // The others then share its connection.
        assert!(client.call(&host).await);
        let answered = crowd(&client, &host).await;
        assert_eq!(client.state(&host), State::Closed, "{}", client.name);
        assert_eq!(answered, ALL - CALLERS, "{}", client.name);
    }
}
