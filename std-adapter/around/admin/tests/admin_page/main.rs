// SPDX-License-Identifier: MIT OR Apache-2.0
//! The page of the admin in headless Chromium, by `WebDriver`.
//!
//! | file | what |
//! |---|---|
//! | `browser` | chromedriver, a session of it, and what is asked of it |
//! | `site` | a service whose admin is on loopback |
//! | `live` | the page follows what happens |
//! | `commands` | commands by mouse and by keyboard, which ask before they act |
//! | `bulk` | commands for all that a filter shows; narrow windows |
//! | `explained` | what a view, a state and a command mean, before anything is pressed |
//! | `hostile` | keys that would like to be more than text |
//! | `many` | ten thousand keys |
//! | `operator` | what operators do, in any tab |
//! | `jobs` | the tab of durable steps |
//! | `access` | names, roles, focus, contrast, narrow windows |
//!
//! Ignored unless `tests/engines/run page` runs them, which installs what they need.
#![cfg(all(feature = "fleet", unix))]

mod access;
mod browser;
mod bulk;
mod commands;
mod explained;
mod hostile;
#[cfg(feature = "steps")]
mod jobs;
mod live;
mod many;
mod operator;
mod site;
