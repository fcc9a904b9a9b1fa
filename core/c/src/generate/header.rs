// SPDX-License-Identifier: MIT OR Apache-2.0
//! The side of C: what the breakers are called, and their functions.

use std::format;
use std::string::String;

use super::asked::{Breakers, RequestedBreaker};

pub(super) fn of(breakers: &Breakers) -> String {
    let each = breakers.iter().flat_map(|(log2, same_tick)| {
        let tick_ms = 1_u32 << log2;
        same_tick
            .iter()
            .map(move |breaker| functions(breaker, tick_ms))
    });
    let each: String = each.collect();
    format!(
        "/* Made by atomic-breaker-c: edit breakers.toml instead, and run it again. */
#ifndef BREAKERS_H
#define BREAKERS_H

#include \"atomic_breaker.h\"

#if AB_WORD_BITS != 32
#error \"these breakers have words of 32 bits: compile with -DAB_WORD_BITS=32\"
#endif

#ifdef __cplusplus
extern \"C\" {{
#endif
{each}
#ifdef __cplusplus
}}
#endif

#endif
"
    )
}

fn functions(breaker: &RequestedBreaker, tick_ms: u32) -> String {
    let name = &breaker.name;
    let kind = if breaker.retained {
        "ab_retained"
    } else {
        "ab_t"
    };
    let seed = match &breaker.seed_from {
        Some(seed) => format!(
            "/* The seed of its jitter. Your program defines it, and sets it before the breaker is used. */
extern uint32_t {seed};
"
        ),
        None => String::new(),
    };
    let restore = if breaker.retained {
        format!(
            "bool {name}_restore(uint32_t now_ms);
bool {name}_restore_after(uint32_t asleep_ms, uint32_t now_ms);
bool {name}_restore_running(uint32_t now_ms);
"
        )
    } else {
        String::new()
    };
    format!(
        "
/* In ticks of {tick_ms} ms. Your program defines it, where you like: {kind} {name}; */
extern {kind} {name};
{seed}AB_USE_RESULT ab_permit {name}_acquire(uint32_t now_ms);
bool {name}_report(ab_token *, bool succeeded, uint32_t now_ms);
bool {name}_ignore(ab_token *, uint32_t now_ms);
bool {name}_report_failures(ab_token *, uint16_t weight, uint32_t now_ms);
bool {name}_report_retry_after(ab_token *, uint32_t at_least_ms, uint32_t now_ms);
bool {name}_report_down(ab_token *, uint32_t at_least_ms, uint32_t now_ms);
bool {name}_cancel(ab_token *, uint32_t now_ms);
bool {name}_renew(ab_token *, uint32_t now_ms);
ab_state_t {name}_state(uint32_t now_ms);
ab_snapshot_t {name}_snapshot(uint32_t now_ms);
{restore}bool {name}_trip(uint32_t at_least_ms, uint32_t now_ms);
bool {name}_force_open(uint32_t now_ms);
bool {name}_release(uint32_t now_ms);
bool {name}_disable(uint32_t now_ms);
bool {name}_enable(uint32_t now_ms);
bool {name}_reset(uint32_t now_ms);
bool {name}_probe_now(uint32_t now_ms);
"
    )
}
