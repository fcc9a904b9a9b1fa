// SPDX-License-Identifier: MIT OR Apache-2.0
/* Breakers of a breakers.toml and breakers with the same rules at run time, through the same random events: the words
 * must be the same after each. Takes a seed. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "breakers.h"

ab_t plain, growing, gentle, lasting;
ab_retained within;

/* The functions of one breaker of the file. */
typedef struct {
    const char *name;
    ab_t *breaker;
    ab_settings settings;
    ab_permit (*acquire)(uint32_t);
    bool (*report)(ab_token *, bool, uint32_t);
    bool (*ignore)(ab_token *, uint32_t);
    bool (*report_failures)(ab_token *, uint16_t, uint32_t);
    bool (*report_retry_after)(ab_token *, uint32_t, uint32_t);
    bool (*report_down)(ab_token *, uint32_t, uint32_t);
    bool (*cancel)(ab_token *, uint32_t);
    bool (*renew)(ab_token *, uint32_t);
    bool (*trip)(uint32_t, uint32_t);
    bool (*commands[6])(uint32_t);
    ab_state_t (*state)(uint32_t);
    ab_snapshot_t (*snapshot)(uint32_t);
} generated;

#define GENERATED(name, place)                                                                                       \
    {#name, place, AB_DEFAULTS, name##_acquire, name##_report, name##_ignore, name##_report_failures,                \
     name##_report_retry_after, name##_report_down, name##_cancel, name##_renew, name##_trip,                                                   \
     {name##_force_open, name##_release, name##_disable, name##_enable, name##_reset, name##_probe_now},             \
     name##_state, name##_snapshot}

static bool (*const by_rules[6])(ab_t *, const ab_rules *, uint32_t) = {
    ab_force_open, ab_release, ab_disable, ab_enable, ab_reset, ab_probe_now};

static uint64_t state;

static uint32_t any(uint32_t end)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % end;
}

static void differ(const generated *of, const char *what, unsigned long step)
{
    fprintf(stderr, "failed: %s differs for %s at event %lu\n", what, of->name, step);
    exit(1);
}

#define HELD 8

static void play(const generated *of, unsigned long events)
{
    ab_rules rules;
    const char *error = ab_rules_init(&rules, &of->settings);
    if (error != NULL) {
        fprintf(stderr, "failed: %s: %s\n", of->name, error);
        exit(1);
    }
    ab_t other = {of->breaker->word};
    ab_token tokens[HELD], others[HELD];
    memset(tokens, 0, sizeof tokens);
    memset(others, 0, sizeof others);
    uint32_t now = any(UINT32_MAX);
    unsigned long admitted = 0, states[6] = {0};

    for (unsigned long step = 0; step < events; step++) {
        now += any(4) == 0 ? any(3000) : any(80);
        unsigned which = any(HELD);
        ab_token *token = &tokens[which], *second = &others[which];
        bool one = false, two = false;
        uint32_t number;
        switch (any(16)) {
        case 0: case 1: case 2: case 3: case 4: {
            ab_permit permit = of->acquire(now), twin = ab_acquire(&other, &rules, now);
            if (permit.admitted != twin.admitted || permit.wait_ms != twin.wait_ms)
                differ(of, "an admission", step);
            if (ab_trips(&permit.token) != ab_trips(&twin.token) ||
                (ab_trips(&permit.token) > 0) != (permit.admitted && of->state(now) == AB_HALF_OPEN))
                differ(of, "the trips of a permit", step);
            admitted += permit.admitted;
            *token = permit.token;
            *second = twin.token;
            break;
        }
        case 5: case 6: case 7:
            one = of->report(token, true, now);
            two = ab_report(&other, &rules, second, true, now);
            break;
        case 8: case 9: case 10:
            one = of->report(token, false, now);
            two = ab_report(&other, &rules, second, false, now);
            break;
        case 11:
            if (any(4) == 0) {
                number = any(5000);
                one = of->report_retry_after(token, number, now);
                two = ab_report_retry_after(&other, &rules, second, number, now);
                break;
            }
            number = any(4);
            one = of->report_failures(token, (uint16_t)number, now);
            two = ab_report_failures(&other, &rules, second, (uint16_t)number, now);
            break;
        case 12:
            if (any(4) == 0) {
                number = any(5000);
                one = of->report_down(token, number, now);
                two = ab_report_down(&other, &rules, second, number, now);
            } else {
                one = of->ignore(token, now);
                two = ab_ignore(&other, &rules, second, now);
            }
            break;
        case 13:
            one = of->cancel(token, now);
            two = ab_cancel(&other, &rules, second, now);
            break;
        case 14:
            one = of->renew(token, now);
            two = ab_renew(&other, &rules, second, now);
            break;
        default:
            number = any(40);
            if (number < 6) {
                one = of->commands[number](now);
                two = by_rules[number](&other, &rules, now);
            } else if (number == 6) {
                number = any(3000);
                one = of->trip(number, now);
                two = ab_trip(&other, &rules, number, now);
            }
        }
        if (one != two)
            differ(of, "an answer", step);
        if (of->breaker->word != other.word)
            differ(of, "the word", step);
        if (token->word != second->word || token->start_ms != second->start_ms)
            differ(of, "a token", step);
        ab_snapshot_t seen = of->snapshot(now), twin = ab_snapshot(&other, &rules, now);
        if (memcmp(&seen, &twin, sizeof seen) != 0 || seen.state != of->state(now))
            differ(of, "what is seen", step);
        states[seen.state]++;
        /* A breaker that is held learns nothing. */
        if ((seen.state == AB_DISABLED || seen.state == AB_FORCED_OPEN) && any(20) == 0)
            if (of->commands[4](now) != ab_reset(&other, &rules, now))
                differ(of, "a reset", step);
    }
    for (int i = 0; i < 6; i++)
        if (states[i] < events / 2000 && (i != AB_RETURNING || of->settings.return_over_ms != 0 || of->settings.max_open_ms != 0))
            differ(of, "too little happens: a state that was hardly ever seen", (unsigned long)i);
    if (admitted < events / 50)
        differ(of, "too little happens: the number of admissions", admitted);
}

int main(int argc, char **argv)
{
    state = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    unsigned long events = 500000;
    printf("seed %" PRIu64 "\n", state);

    generated all[] = {GENERATED(plain, &plain), GENERATED(growing, &growing), GENERATED(within, &within.breaker),
                       GENERATED(gentle, &gentle), GENERATED(lasting, &lasting)};
    ab_settings *set = &all[1].settings;
    set->failures = 2;
    set->open_ms = 300;
    set->growth_percent = 200;
    set->max_open_ms = 4000;
    set->jitter_percent = 30;
    set->seed = 99;
    set->probes = 2;
    set->close_after = 3;
    set = &all[2].settings;
    set->failures = 3;
    set->window_ms = 900;
    set->growth_step_ms = 500;
    set->max_open_ms = 7000;
    set->probe_lease_ms = 2000;
    set->cancel_limit_ms = 0;
    set = &all[3].settings;
    set->slow_call_ms = 400;
    set->return_first_percent = 20;
    set->return_over_ms = 3000;
    set->max_retry_after_ms = 10000;
    set->growth_percent = 150;
    set->max_open_ms = 9000;
    set = &all[4].settings;
    set->failures = 2;
    set->lasting_ms = 100;
    set->open_ms = 300;
    set->growth_percent = 200;
    set->max_open_ms = 2000;

    for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
        play(&all[i], events);

    /* Memory that survives a reset. */
    memset(&within, 0x5A, sizeof within);
    if (within_restore(5) || within_state(5) != AB_CLOSED || !within_trip(0, 5) || !within_restore(7) ||
        within_state(7) != AB_OPEN) {
        fprintf(stderr, "failed: memory that survives a reset\n");
        return 1;
    }
    printf("passed: 5 breakers of a file are as those made at run time, %lu events each\n", events);
    return 0;
}
