// SPDX-License-Identifier: MIT OR Apache-2.0
//! The keys of the called hosts.

use std::convert::Infallible;
use std::hash::BuildHasher;
use std::sync::LazyLock;

use atomic_breaker_http::{Clock, Guard, KeyedObserver, Registry};

/// 64 keys of 37 bytes, as names of hosts in a cluster are.
pub static HOSTS: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let name = |host| format!("shard-{host:02}.search.internal.example:8443");
    (0..64).map(|host| &*name(host).leak()).collect()
});

/// Each host is clear, and has a slot since it failed.
pub fn take_slots<C, O, S>(hosts: &Registry<&'static str, C, (), O, S>)
where
    C: Clock,
    O: KeyedObserver<&'static str>,
    S: BuildHasher,
{
    for host in &**HOSTS {
        let _ = hosts.of(host).call(|| Err::<(), _>("once"));
        let clear = hosts.of(host).call(|| Ok::<_, Infallible>(()));
        clear.expect("closed");
    }
}
