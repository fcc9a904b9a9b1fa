// SPDX-License-Identifier: MIT OR Apache-2.0
/* Four threads without a pause on one breaker: while the resource is dead, never more than one probe is in flight, whatever
 * they do with their tokens; when it is back, every call passes. 3 s. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "atomic_breaker.h"

#define THREADS 4

static ab_t breaker;
static ab_rules rules;
static atomic_bool is_dead = true, is_over;
static atomic_int in_flight;
static atomic_ulong calls, probes;

static uint32_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint32_t)now.tv_sec * 1000u + (uint32_t)(now.tv_nsec / 1000000);
}

static void sleep_ms(long ms)
{
    const struct timespec time = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&time, NULL);
}

static void check(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "failed: %s\n", what);
        exit(1);
    }
}

static void *hammer(void *number)
{
    uint32_t random = (uint32_t)(uintptr_t)number * 2654435761u + 1;
    unsigned long mine = 0;
    while (!atomic_load(&is_over)) {
        ab_permit permit = ab_acquire(&breaker, &rules, now_ms());
        if (!permit.admitted)
            continue;
        mine++;
        random = random * 1664525u + 1013904223u;
        if (!atomic_load(&is_dead)) {
            ab_report(&breaker, &rules, &permit.token, true, now_ms());
            continue;
        }
        check(atomic_fetch_add(&in_flight, 1) == 0, "two probes at once");
        atomic_fetch_add(&probes, 1);
        ab_token copy = permit.token;
        atomic_fetch_sub(&in_flight, 1);
        switch (random >> 28) {
        case 0: /* reported twice, by a copy as well */
            ab_report(&breaker, &rules, &permit.token, false, now_ms());
            ab_report(&breaker, &rules, &permit.token, true, now_ms());
            ab_report(&breaker, &rules, &copy, false, now_ms());
            break;
        case 1: /* given up late */
            sleep_ms(2);
            ab_cancel(&breaker, &rules, &permit.token, now_ms());
            break;
        case 2: /* nothing is known: the next one is a probe at once */
            ab_ignore(&breaker, &rules, &permit.token, now_ms());
            break;
        default:
            ab_report(&breaker, &rules, &permit.token, false, now_ms());
        }
    }
    atomic_fetch_add(&calls, mine);
    return NULL;
}

int main(void)
{
    ab_settings settings = AB_DEFAULTS;
    settings.failures = 1;
    settings.open_ms = 1;
    settings.cancel_limit_ms = 1;
    /* The lease is longer than any thread is held up: a probe that is only late would count as lost. */
    check(ab_rules_init(&rules, &settings) == NULL, "the rules fit");
    ab_trip(&breaker, &rules, 0, now_ms());

    pthread_t threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++)
        check(pthread_create(&threads[i], NULL, hammer, (void *)i) == 0, "a thread starts");
    sleep_ms(1500);
    unsigned long probed = atomic_load(&probes);
    check(probed >= 5, "a dead resource is probed");
    check(ab_state(&breaker, &rules, now_ms()) != AB_CLOSED, "and stays shut");

    atomic_store(&is_dead, false);
    uint32_t since = now_ms();
    /* Calls that were admitted before the resource came back may fail once more. */
    while (ab_state(&breaker, &rules, now_ms()) != AB_CLOSED && now_ms() - since < 10000)
        sleep_ms(1);
    uint32_t took = now_ms() - since;
    check(took < 10000, "a healthy resource is served again");
    sleep_ms(1000);
    atomic_store(&is_over, true);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    ab_snapshot_t seen = ab_snapshot(&breaker, &rules, now_ms());
    check(seen.state == AB_CLOSED && seen.wait_ms == 0, "it is closed at the end");
    printf("passed: %lu probes one at a time, served again after %u ms, %lu calls\n", probed, (unsigned)took,
           atomic_load(&calls));
    return 0;
}
