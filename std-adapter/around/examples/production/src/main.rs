// SPDX-License-Identifier: MIT OR Apache-2.0
//! A service to copy: it asks another one for prices. See the README beside it.

mod admin;
mod guard;
mod observe;
mod prices;
mod settings;
mod stop;
#[cfg(test)]
mod tests;

use std::{env, error::Error, time::Duration};

use axum::{Router, routing::get};
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let path = env::args().nth(1).unwrap_or("settings.toml".into());
    let settings = settings::read(&path)?;
    let password = env::var("ADMIN_PASSWORD").map_err(|_| "ADMIN_PASSWORD is not set")?;
    let scrape = observe::start()?;
    let (guard, timeline) = guard::start(settings.client)?;
    let client = guard::around_reqwest(guard)?;
    guard::check_health(guard, &settings.health, client.clone())?;
    let prices = prices::Prices::new(client, settings.prices);
    let app = Router::new()
        .route("/price/{item}", get(prices::price))
        .with_state(prices)
        .route("/metrics", get(async move || scrape()))
        .route("/live", get(async || ()))
        .nest_service("/ready", admin::readiness(guard)?)
        .nest_service("/breakers", admin::page(guard, &timeline, password)?);
    tokio::spawn(settings::reload_on_hangup(path, guard));
    let listener = TcpListener::bind(settings.listen).await?;
    tracing::info!("listens on {}", listener.local_addr()?);
    let drain = Duration::from_millis(settings.drain_ms.into());
    Ok(stop::serve(listener, app, drain).await?)
}
