// SPDX-License-Identifier: MIT OR Apache-2.0
/* Calls each function of the header as a C program does, for the tests in Rust: so that what they see has gone through
 * the header's types and a C compiler. */
#include "atomic_breaker.h"

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define F(name) JOIN(PREFIX, name)

void F(acquire)(ab_t *breaker, const ab_rules *rules, uint32_t now_ms, ab_permit *permit)
{
    *permit = ab_acquire(breaker, rules, now_ms);
}

void F(snapshot)(const ab_t *breaker, const ab_rules *rules, uint32_t now_ms, ab_snapshot_t *seen)
{
    *seen = ab_snapshot(breaker, rules, now_ms);
}

int F(state)(const ab_t *breaker, const ab_rules *rules, uint32_t now_ms)
{
    return (int)ab_state(breaker, rules, now_ms);
}

enum { REPORT, IGNORE, FAILURES, DOWN, CANCEL, RENEW, RETRY_AFTER };

bool F(report)(int how, ab_t *breaker, const ab_rules *rules, ab_token *token, uint32_t number, uint32_t now_ms)
{
    switch (how) {
    case REPORT:
        return ab_report(breaker, rules, token, number != 0, now_ms);
    case IGNORE:
        return ab_ignore(breaker, rules, token, now_ms);
    case FAILURES:
        return ab_report_failures(breaker, rules, token, (uint16_t)number, now_ms);
    case DOWN:
        return ab_report_down(breaker, rules, token, number, now_ms);
    case RETRY_AFTER:
        return ab_report_retry_after(breaker, rules, token, number, now_ms);
    case CANCEL:
        return ab_cancel(breaker, rules, token, now_ms);
    default:
        return ab_renew(breaker, rules, token, now_ms);
    }
}

uint32_t F(trips)(const ab_token *token)
{
    return ab_trips(token);
}

enum { TRIP, FORCE_OPEN, RELEASE, DISABLE, ENABLE, RESET, PROBE_NOW };

bool F(command)(int which, ab_t *breaker, const ab_rules *rules, uint32_t number, uint32_t now_ms)
{
    switch (which) {
    case TRIP:
        return ab_trip(breaker, rules, number, now_ms);
    case FORCE_OPEN:
        return ab_force_open(breaker, rules, now_ms);
    case RELEASE:
        return ab_release(breaker, rules, now_ms);
    case DISABLE:
        return ab_disable(breaker, rules, now_ms);
    case ENABLE:
        return ab_enable(breaker, rules, now_ms);
    case RESET:
        return ab_reset(breaker, rules, now_ms);
    default:
        return ab_probe_now(breaker, rules, now_ms);
    }
}

enum { UNKNOWN, AFTER, RUNNING };

bool F(restore)(int how, ab_retained *kept, const ab_rules *rules, uint32_t asleep_ms, uint32_t now_ms)
{
    switch (how) {
    case UNKNOWN:
        return ab_restore(kept, rules, now_ms);
    case AFTER:
        return ab_restore_after(kept, rules, asleep_ms, now_ms);
    default:
        return ab_restore_running(kept, rules, now_ms);
    }
}

const char *F(rules_init)(ab_rules *rules, const ab_settings *settings)
{
    return ab_rules_init(rules, settings);
}

void F(defaults)(ab_settings *settings)
{
    const ab_settings defaults = AB_DEFAULTS;
    *settings = defaults;
}

/* What the compiler of C makes of the types, for comparison with Rust. */
void F(sizes)(uint32_t *sizes)
{
    sizes[0] = sizeof(ab_t);
    sizes[1] = sizeof(ab_retained);
    sizes[2] = sizeof(ab_rules);
    sizes[3] = sizeof(ab_token);
    sizes[4] = sizeof(ab_permit);
    sizes[5] = sizeof(ab_snapshot_t);
    sizes[6] = sizeof(ab_settings);
}
