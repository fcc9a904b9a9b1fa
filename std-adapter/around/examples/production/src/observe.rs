// SPDX-License-Identifier: MIT OR Apache-2.0
//! Logs to standard error, and a page for Prometheus.

use metrics_exporter_prometheus::PrometheusBuilder;
use tracing_subscriber::EnvFilter;

/// Returns what renders the page. `RUST_LOG` says what is logged.
pub fn start() -> Result<impl Fn() -> String + Clone, Box<dyn std::error::Error>> {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    let log = tracing_subscriber::fmt().with_env_filter(filter);
    log.with_writer(std::io::stderr).init();

    let recorder = PrometheusBuilder::new().build_recorder();
    let page = recorder.handle();
    metrics::set_global_recorder(recorder)?;
    Ok(move || {
        atomic_breaker_observe::publish();
        page.render()
    })
}
