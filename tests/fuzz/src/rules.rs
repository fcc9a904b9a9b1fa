// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rules and settings as text: taken, or a message that says what to do; and what was taken is what was written.

use atomic_breaker::word::Bits;
use atomic_breaker::{Config, Rules};
use atomic_breaker_c::generate::generate;
use atomic_breaker_http::ClientConfig;

use crate::text;

fn fits<B: Bits>(config: Config) {
    if let Err(error) = Rules::<B>::try_new(config) {
        assert!(!error.to_string().is_empty());
    }
}

pub(crate) fn of_a_breaker(bytes: &[u8]) {
    let Some(text) = text(bytes) else {
        return;
    };
    match toml::from_str::<Config>(text) {
        Ok(config) => {
            fits::<u64>(config);
            fits::<u32>(config);
            let written = toml::to_string(&config).expect("as text");
            assert_eq!(toml::from_str::<Config>(&written), Ok(config), "{written}");
        }
        Err(error) => assert!(!error.message().is_empty()),
    }
}

pub(crate) fn of_a_client(bytes: &[u8]) {
    let Some(text) = text(bytes) else {
        return;
    };
    if let Ok(config) = toml::from_str::<ClientConfig>(text) {
        fits::<u64>(config.breaker_rules());
    }
}

/// The names in it become names in C and Rust.
pub(crate) fn of_c(bytes: &[u8]) {
    let Some(text) = text(bytes) else {
        return;
    };
    match generate(text) {
        Ok(made) => {
            assert!(made.header.contains("#ifndef") || made.header.contains("#pragma once"));
            assert_eq!(
                made.header.matches("/*").count(),
                made.header.matches("*/").count()
            );
            assert!(!made.rust.is_empty());
        }
        Err(error) => assert!(!error.is_empty()),
    }
}
