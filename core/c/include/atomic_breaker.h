// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * atomic-breaker for C: a circuit breaker whose whole state is one atomic word. C99 and C++.
 *
 *   static ab_t radio;                          // {0} is closed
 *   static ab_rules radio_rules;                // or in flash: see docs/c.md
 *
 *   ab_permit permit = ab_acquire(&radio, &radio_rules, now_ms());
 *   if (!permit.admitted)
 *       return try_again_in(permit.wait_ms);
 *   bool ok = radio_send(packet);
 *   ab_report(&radio, &radio_rules, &permit.token, ok, now_ms());
 *
 * Report every permit on every path: one that is forgotten counts as nothing while the breaker is closed, and keeps a
 * probe's place for the lease when it is half-open. A last ab_report(..., false, ...) at a common exit sees to that: it
 * does nothing if the permit was reported before. Not with copies of the token: report one of them only.
 *
 * All functions may be called by any number of threads and interrupt handlers at once, take no lock, allocate nothing
 * and never wait. They keep nothing but the word that you pass: no global, no clock.
 *
 * Time is `now_ms`: milliseconds since any fixed origin, modulo 2^32, from a counter that does not jump. It may wrap at
 * 2^32 and nowhere else, and stand still, for instance asleep; docs/c.md shows how to make one of other counters.
 *
 * Misuse is defined, and never damages a word:
 *   a breaker or rules that are NULL, or rules that were not checked   every call is rejected, wait_ms is AB_NO_RULES;
 *   a breaker of 64 bits at an address that is no multiple of 8        reports and commands change nothing
 *   a token that is NULL, {0}, or was reported before                  nothing happens
 *   a copy of a token that was reported before                         may count once more
 *   a token of another breaker, or of before a reset                   counts once for this one, or nothing happens
 *   a word that no breaker writes                                      counts as closed, and is made so
 */
#ifndef ATOMIC_BREAKER_H
#define ATOMIC_BREAKER_H

#include <stdbool.h>
#include <stdint.h>

/* 32: a word of 4 bytes, in ticks of 64 ms; times up to 17 min. 64: 8 bytes, in ms; times up to 24 days. */
#ifndef AB_WORD_BITS
#if UINTPTR_MAX > 0xFFFFFFFFu
#define AB_WORD_BITS 64
#else
#define AB_WORD_BITS 32
#endif
#endif

#if AB_WORD_BITS == 64
typedef uint64_t ab_word;
#define AB_NAME(name) ab64_##name
#elif AB_WORD_BITS == 32
typedef uint32_t ab_word;
#define AB_NAME(name) ab32_##name
#else
#error "AB_WORD_BITS is 32 or 64"
#endif

#if defined(__GNUC__)
#define AB_USE_RESULT __attribute__((warn_unused_result))
#define AB_ALIGNED __attribute__((aligned(AB_WORD_BITS / 8)))
#else
#define AB_USE_RESULT
#define AB_ALIGNED
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* A breaker. Place it where you like; {0} is closed. Never touch the word while others may use it. */
typedef struct {
    ab_word word AB_ALIGNED;
} ab_t;

/* A breaker in memory that survives a reset (.noinit), with a mark that tells whether it did: ab_restore(). */
typedef struct {
    ab_t breaker;
    uint32_t mark[2];
} ab_retained;

/* Rules that were checked. Share them between breakers; do not change them while one is in use. */
typedef struct {
    uint32_t mark;
    uint32_t checked[25];
} ab_rules;

/* What a permit remembers. Copy it into a mailbox or an interrupt's state, and report it once. {0} is none. If an interrupt
 * reports it, or a timeout in its place, abort the transfer before you report the timeout: otherwise both may count, and a
 * late interrupt reports the token of the next transfer. */
typedef struct {
    ab_word word;
    uint32_t start_ms;
} ab_token;

typedef struct {
    bool admitted;    /* whether the call may be made */
    uint32_t wait_ms; /* if not: when it is worth asking again, or AB_UNTIL_RELEASED, AB_NO_RULES, which are 49 days:
                         sleep for 1 s at most, as the breaker may be released earlier */
    ab_token token;   /* if so: to be reported */
} ab_permit;

#define AB_UNTIL_RELEASED 0xFFFFFFFFu /* forced open: the time is not known */
#define AB_NO_RULES 0xFFFFFFFEu       /* there is no breaker, or its rules were not checked */

typedef enum {
    AB_CLOSED = 0,      /* every call passes */
    AB_OPEN = 1,        /* every call is rejected until the open time is over */
    AB_HALF_OPEN = 2,   /* a few probes pass */
    AB_RETURNING = 3,   /* closed, but trips are not forgotten yet; with a gradual return a growing share of the calls passes */
    AB_FORCED_OPEN = 4, /* every call is rejected until ab_release() */
    AB_DISABLED = 5     /* every call passes, nothing is learned */
} ab_state_t;

/* What a breaker looks like at the moment, for displays and logs. */
typedef struct {
    ab_state_t state;
    uint32_t failures; /* counted while closed or returning */
    uint32_t trips;    /* that are not forgotten: in a row, at most 7, with 64 bits 31 */
    uint32_t epoch;    /* the number of changes of state, modulo 16, with 64 bits 512 */
    uint32_t wait_ms;  /* 0 if a call may pass now; otherwise as in ab_permit */
} ab_snapshot_t;

/* Asks for the right to one call: about two loads while the breaker is closed. The first probe makes it half-open, and the
 * first call after a return closes it: see `epoch` above. */
AB_USE_RESULT ab_permit AB_NAME(acquire)(ab_t *, const ab_rules *, uint32_t now_ms);

/* These report how the call went, clear the token, and return whether the state has changed. A success is a failure
 * nevertheless if it took slow_call_ms or longer. */
bool AB_NAME(report)(ab_t *, const ab_rules *, ab_token *, bool succeeded, uint32_t now_ms);

/* The call says nothing about the resource: the request was wrong, for example. */
bool AB_NAME(ignore)(ab_t *, const ab_rules *, ab_token *, uint32_t now_ms);

/* A failure that counts as `weight` of them; 0 counts nowhere while closed. */
bool AB_NAME(report_failures)(ab_t *, const ab_rules *, ab_token *, uint16_t weight, uint32_t now_ms);

/* A failure with which the resource asks for a pause: counts as one, and if the rules trip by it, or it is a probe's, the
 * breaker is open for at least this long (at most max_retry_after_ms). For one of several servers that is overloaded: on
 * its own it opens nothing. */
bool AB_NAME(report_retry_after)(ab_t *, const ab_rules *, ab_token *, uint32_t at_least_ms, uint32_t now_ms);

/* The whole resource said that it is down, as a radio does with its back-off: opens at once, for at least this long (at most
 * max_retry_after_ms). */
bool AB_NAME(report_down)(ab_t *, const ab_rules *, ab_token *, uint32_t at_least_ms, uint32_t now_ms);

/* The call was given up: nothing is known. Not for a timeout, which is ab_report(.., false, ..): while closed this counts as
 * nothing, unless slow_call_ms has passed. A probe that is cancelled after cancel_limit_ms counts as failed. */
bool AB_NAME(cancel)(ab_t *, const ab_rules *, ab_token *, uint32_t now_ms);

/* The call begins only now, for instance after waiting in a queue: false if its report would count nowhere. */
bool AB_NAME(renew)(ab_t *, const ab_rules *, ab_token *, uint32_t now_ms);

/* How far to repair before the call: the trips in a row if it is a probe, at least 1; otherwise 0, and for a token that is
 * NULL, {0} or was reported. What stays broken until it is reset fails every probe, unless the probe repairs it first: it
 * may take the time, as all other calls are rejected meanwhile. Of breakers of a breakers.toml, too. */
uint32_t AB_NAME(trips)(const ab_token *);

/* What a call would meet now: AB_OPEN only while calls are rejected, AB_HALF_OPEN as soon as the open time is over. */
ab_state_t AB_NAME(state)(const ab_t *, const ab_rules *, uint32_t now_ms);
ab_snapshot_t AB_NAME(snapshot)(const ab_t *, const ab_rules *, uint32_t now_ms);

/* Call one of these once after each reset, before anything else uses the breaker. False if the memory had lost its
 * content: it is closed now.
 *   restore          nothing is known of the time since: half of what was left of an open time counts as passed, so that
 *                    a device that is reset again and again probes after at most 15 boots, with 64 bits 32
 *   restore_after    at least this much time has passed, by an RTC or the timer that ended the sleep: it counts. Only the
 *                    time asleep, not the time awake before; 0 is as restore
 *   restore_running  now_ms has run on through the reset: all times go on. For sleeps of up to half the time of the word
 *                    (17 min, with 64 bits 24 days); after longer ones restore_after
 * After a watchdog's reset the call that hung has reported nothing: then ab_trip(), unless ab_state(..) is AB_OPEN. */
bool AB_NAME(restore)(ab_retained *, const ab_rules *, uint32_t now_ms);
bool AB_NAME(restore_after)(ab_retained *, const ab_rules *, uint32_t asleep_ms, uint32_t now_ms);
bool AB_NAME(restore_running)(ab_retained *, const ab_rules *, uint32_t now_ms);

/* By hand; they return whether the state has changed. */
bool AB_NAME(trip)(ab_t *, const ab_rules *, uint32_t at_least_ms, uint32_t now_ms); /* 0: as long as a failure does */
bool AB_NAME(force_open)(ab_t *, const ab_rules *, uint32_t now_ms);                 /* until ab_release() */
bool AB_NAME(release)(ab_t *, const ab_rules *, uint32_t now_ms);                    /* to half-open */
bool AB_NAME(disable)(ab_t *, const ab_rules *, uint32_t now_ms);                    /* until ab_enable() */
bool AB_NAME(enable)(ab_t *, const ab_rules *, uint32_t now_ms);
bool AB_NAME(reset)(ab_t *, const ab_rules *, uint32_t now_ms);     /* closed, with nothing counted */
bool AB_NAME(probe_now)(ab_t *, const ab_rules *, uint32_t now_ms); /* ends the open time: the next call is a probe */

/* What to make rules of at run time. Start from AB_DEFAULTS. */
typedef struct {
    uint32_t failures;             /* in a row, or within the window, that trip: 1 to 255, with 64 bits 65535 */
    uint32_t window_ms;            /* 0: in a row */
    uint32_t lasting_ms;           /* in a row, at most 127, with 64 bits 32767: that trip once the first is so long ago; 0: at once */
    uint32_t open_ms;              /* how long the first trip lasts */
    uint32_t growth_percent;       /* of the open time of each further trip in a row: 200 doubles it, 0 is no growth */
    uint32_t growth_step_ms;       /* or this much longer each time; 0 is no growth */
    uint32_t max_open_ms;          /* with growth: the longest */
    uint32_t jitter_percent;       /* 0 to 100: lengthens each open time by a random part of it */
    uint32_t seed;                 /* of the jitter: the chip's unique number */
    uint32_t max_retry_after_ms;   /* the longest that ab_report_down() and ab_report_retry_after() may ask for */
    uint32_t probes;               /* in flight while half-open: 1 to 15, with 64 bits 255 */
    uint32_t close_after;          /* successes of probes that close; 0: as many as probes */
    uint32_t probe_lease_ms;       /* a probe without a report is lost after this time: longer than the longest call */
    uint32_t cancel_limit_ms;      /* a probe that is cancelled later counts as failed; 0: always */
    uint32_t slow_call_ms;         /* a success that took so long is a failure; 0: not measured */
    uint32_t return_first_percent; /* 1 to 100: traffic returns gradually, from this share on; 0: at once */
    uint32_t return_over_ms;       /* how long the gradual return takes */
} ab_settings;

#define AB_DEFAULTS {5, 0, 0, 5000, 0, 0, 0, 0, 0, 300000, 1, 0, 30000, 250, 0, 0, 0}

/* Checks settings and makes rules of them. NULL if they are right; otherwise what to change, and the rules are not
 * changed. */
AB_USE_RESULT const char *AB_NAME(rules_init)(ab_rules *, const ab_settings *);

/* On a chip without compare-and-swap (Cortex-M0), with the feature critical-section: your program provides these two.
 * They may nest. `leave` gets what `enter` returned, for example PRIMASK. */
uint32_t ab_enter_critical(void);
void ab_leave_critical(uint32_t state);

#ifdef __cplusplus
}
#endif

#define ab_acquire AB_NAME(acquire)
#define ab_report AB_NAME(report)
#define ab_ignore AB_NAME(ignore)
#define ab_report_failures AB_NAME(report_failures)
#define ab_report_retry_after AB_NAME(report_retry_after)
#define ab_report_down AB_NAME(report_down)
#define ab_cancel AB_NAME(cancel)
#define ab_renew AB_NAME(renew)
#define ab_trips AB_NAME(trips)
#define ab_state AB_NAME(state)
#define ab_snapshot AB_NAME(snapshot)
#define ab_restore AB_NAME(restore)
#define ab_restore_after AB_NAME(restore_after)
#define ab_restore_running AB_NAME(restore_running)
#define ab_trip AB_NAME(trip)
#define ab_force_open AB_NAME(force_open)
#define ab_release AB_NAME(release)
#define ab_disable AB_NAME(disable)
#define ab_enable AB_NAME(enable)
#define ab_reset AB_NAME(reset)
#define ab_probe_now AB_NAME(probe_now)
#define ab_rules_init AB_NAME(rules_init)

#endif
