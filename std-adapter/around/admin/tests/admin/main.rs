// SPDX-License-Identifier: MIT OR Apache-2.0
//! The admin over HTTP: requests to the router itself, and to servers on loopback.
//!
//! | file | what |
//! |---|---|
//! | `support` | a registry, a breaker, and an admin that shows them; requests and responses |
//! | `status`, `fleets` | what is read of registries, breakers and fleets |
//! | `slabs` | breakers that other processes have opened |
//! | `control`, `rules` | what is changed, by whom, and what is refused |
//! | `timeline` | since when and why; what is remembered, and what is not |
//! | `outages` | since when something has been down, through all its probes |
//! | `acting` | whose act a transition is |
//! | `rejections` | how many calls are rejected |
//! | `labels` | the names that people know keys by, and the link to a runbook |
//! | `events` | streams: live, bounded, ended |
//! | `requests`, `gate` | hosts, operators, methods |
//! | `forged` | origins, content types, bodies |
//! | `logged` | what is changed, as events of `tracing` |
//! | `nested` | below a path, behind proxies, over HTTP/2 |
//! | `settings` | what contradicts itself |
//! | `instances` | several processes behind one address |
//! | `attacked` | growth, floods, many keys while calls run |
//! | `jobs` | jobs of durable steps, read and changed |
//! | `docs` | the commands of `docs/admin-json.md`, the buttons of `docs/runbook.md` |
//! | `together` | two instances with small registries in one fleet, commanded through their pages |
//! | `types` | a service that keeps all of it in fields |

mod acting;
mod attacked;
mod control;
mod docs;
mod events;
#[cfg(feature = "fleet")]
mod fleets;
mod forged;
mod gate;
mod instances;
#[cfg(feature = "steps")]
mod jobs;
mod labels;
mod logged;
mod nested;
mod outages;
mod readiness;
mod rejections;
mod requests;
mod rules;
mod settings;
#[cfg(all(feature = "mapped", unix))]
mod slabs;
mod status;
mod support;
mod timeline;
#[cfg(feature = "fleet")]
mod together;
mod types;
