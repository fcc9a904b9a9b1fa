// SPDX-License-Identifier: MIT OR Apache-2.0
/* Four threads call a server that is down for a while: `make -C core/c posix` builds and runs it.
 *
 * Prints what happened, and fails if a healthy server was refused, or a dead one was hammered. 2 s. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "atomic_breaker.h"

#define THREADS 4
#define FAILURES 5
#define OPEN_MS 200

static ab_t server;
static ab_rules rules;

static atomic_bool is_down, is_over;
static atomic_uint served, wasted, rejected;

/* Milliseconds of a clock that nobody sets. */
static uint32_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint32_t)now.tv_sec * 1000u + (uint32_t)(now.tv_nsec / 1000000);
}

static void sleep_us(long us)
{
    const struct timespec time = {us / 1000000, us % 1000000 * 1000};
    nanosleep(&time, NULL);
}

/* The call that the breaker guards. */
static bool call(void)
{
    sleep_us(200);
    return !atomic_load(&is_down);
}

static void *caller(void *unused)
{
    (void)unused;
    while (!atomic_load(&is_over)) {
        ab_permit permit = ab_acquire(&server, &rules, now_ms());
        if (!permit.admitted) {
            atomic_fetch_add(&rejected, 1);
            sleep_us(1000); /* a server would answer its own caller with an error here */
            continue;
        }
        bool ok = call();
        atomic_fetch_add(ok ? &served : &wasted, 1);
        ab_report(&server, &rules, &permit.token, ok, now_ms());
    }
    return NULL;
}

static void check(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "failed: %s\n", what);
        exit(1);
    }
}

int main(void)
{
    ab_settings settings = AB_DEFAULTS;
    settings.failures = FAILURES;
    settings.open_ms = OPEN_MS;
    const char *error = ab_rules_init(&rules, &settings);
    if (error != NULL) {
        fprintf(stderr, "the rules do not fit: %s\n", error);
        return 1;
    }

    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        check(pthread_create(&threads[i], NULL, caller, NULL) == 0, "a thread starts");

    sleep_us(300 * 1000);
    check(atomic_load(&served) > 0 && atomic_load(&rejected) == 0, "a healthy server is served");
    check(ab_state(&server, &rules, now_ms()) == AB_CLOSED, "and its breaker is closed");

    uint32_t since = now_ms();
    atomic_store(&is_down, true);
    sleep_us(1000 * 1000);
    check(ab_state(&server, &rules, now_ms()) == AB_OPEN || ab_state(&server, &rules, now_ms()) == AB_HALF_OPEN, "a dead server trips");
    /* The failures that trip, calls that were under way, and a probe after each open time. */
    unsigned most = FAILURES + THREADS + (now_ms() - since) / OPEN_MS + 1;
    check(atomic_load(&wasted) <= most, "a dead server is called for probes only");

    atomic_store(&is_down, false);
    since = now_ms();
    while (ab_state(&server, &rules, now_ms()) != AB_CLOSED && now_ms() - since < 5000)
        sleep_us(1000);
    uint32_t took = now_ms() - since;
    check(took < 5000, "a server that is back is served again");

    atomic_store(&is_over, true);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    ab_snapshot_t seen = ab_snapshot(&server, &rules, now_ms());
    check(seen.state == AB_CLOSED && seen.wait_ms == 0 && seen.epoch >= 3, "its history is in the word");
    printf("passed: %u served, %u wasted of at most %u, %u rejected, served again after %u ms\n",
           atomic_load(&served), atomic_load(&wasted), most, atomic_load(&rejected), (unsigned)took);
    return 0;
}
