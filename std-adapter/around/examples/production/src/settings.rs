// SPDX-License-Identifier: MIT OR Apache-2.0
//! Settings in a file, and new rules while the service runs.

use std::{error::Error, fs::read_to_string, net::SocketAddr};

use atomic_breaker_http::ClientConfig;
use tokio::signal::unix::{SignalKind, signal};

use crate::guard::Guard;

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    pub listen: SocketAddr,
    pub prices: url::Url,
    pub health: String,
    pub drain_ms: u32,
    pub client: ClientConfig,
}

pub fn read(path: &str) -> Result<Settings, Box<dyn Error>> {
    let text = read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    toml::from_str(&text).map_err(|error| format!("{path}: {error}").into())
}

/// After `kill -HUP`. A file with a mistake changes nothing.
pub async fn reload_on_hangup(path: String, guard: &'static Guard) {
    let mut hangups = signal(SignalKind::hangup()).expect("a runtime with signals");
    while hangups.recv().await.is_some() {
        match reload(&path, guard) {
            Ok(()) => tracing::info!("the rules in {path} are in force"),
            Err(error) => tracing::error!("the rules stay as they were: {error}"),
        }
    }
}

fn reload(path: &str, guard: &'static Guard) -> Result<(), Box<dyn Error>> {
    let (new, old) = (read(path)?.client, guard.config());
    guard.set_breaker_config(new.breaker_config())?;
    if new.breaker(old.breaker_config()) != *old {
        tracing::warn!("settings of [client] outside of [client.breaker] take a restart");
    }
    Ok(())
}
