// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Breakers that the processes of one machine share, in a mapped file: Linux and Android, with atomic_breaker.h.
 *
 *   static const ab_settings rules_of_database = AB_DEFAULTS;
 *
 *   ab_map_error error;
 *   ab_map *map = ab_map_open("/run/shop/database", &rules_of_database, NULL, &error);
 *   if (!map)
 *       return fail(error.text);                 // names the file, and says what to do
 *   ab_t *database = ab_map_breaker(map, NULL, &error);
 *   const ab_rules *rules = ab_map_rules(map);
 *
 *   ab_permit permit = ab_acquire(database, rules, ab_now_ms());
 *   if (!permit.admitted)
 *       return try_again_in(permit.wait_ms);
 *   bool ok = query(connection);
 *   ab_report(database, rules, &permit.token, ok, ab_now_ms());
 *
 * What one process learns, all of them know, and one of them probes for all, whatever language each is written in. A process
 * that is killed holds up no other. docs/mapped.md says what becomes of the file when processes are killed, restarted or
 * given other rules, docs/shared-file.md what is in it.
 *
 * ab_map_open() waits for others that open or create the file at the same moment: usually microseconds, at most 2 s.
 * Everything else returns at once. All functions may be called by any number of threads at once; only ab_map_close() must be
 * the last one of its map. Open a file before you fork, or in each process after it: both is right.
 *
 * Time must be that of ab_now_ms(), the same in all processes. Words have 64 bits.
 */
#ifndef ATOMIC_BREAKER_MAP_H
#define ATOMIC_BREAKER_MAP_H

#ifndef AB_WORD_BITS
#define AB_WORD_BITS 64
#endif
#include "atomic_breaker.h"
#if AB_WORD_BITS != 64
#error "breakers in a mapped file have AB_WORD_BITS 64"
#endif

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A file that is open here. */
typedef struct ab_map ab_map;

/* Why something failed: by this decide whether to try again, or to go on without the file. Each function that takes an
 * ab_map_error writes it: one that succeeds makes it AB_MAP_OK and its text empty. */
typedef enum {
    AB_MAP_OK = 0,
    AB_MAP_SETTINGS = 1,     /* a setting or an argument does not fit */
    AB_MAP_DISAGREEMENT = 2, /* the file was made with other rules, keys, another clock or version */
    AB_MAP_BUSY = 3,         /* another process has kept it locked for 2 s: trying again later may succeed */
    AB_MAP_NOT_TRUSTED = 4,  /* others may reach it: a link, another owner or mode, a file system that machines share */
    AB_MAP_FOREIGN = 5,      /* it is no file of breakers, or was made shorter or longer */
    AB_MAP_SYSTEM = 6,       /* the system refused */
    AB_MAP_FULL = 7          /* all keys are taken */
} ab_map_status;

typedef struct {
    ab_map_status status;
    char text[500]; /* for people, in UTF-8: names the file, and says what to do; "..." stands for what does not fit */
} ab_map_error;

/* What a file is like beside the rules. {0} is a file of one breaker. */
typedef struct {
    uint32_t keys;          /* how many breakers fit, each with a name: at most 2^20; 0: a single one, without a name */
    uint32_t key_bytes;     /* of the longest name: at most 1000; 0: 98 */
    bool replace_unused;    /* replace a file that was made with other rules if no process uses it; with other keys or
                               key_bytes it must be removed by hand */
} ab_map_options;

/* Where the memory came from. */
typedef enum {
    AB_MAP_CREATED = 1,          /* this process created it */
    AB_MAP_JOINED = 2,           /* the file was there already */
    AB_MAP_AFTER_RESTART = 3,    /* created in place of one from before a restart of the machine */
    AB_MAP_AFTER_OTHER_RULES = 4 /* created in place of one with other rules: replace_unused */
} ab_map_origin_t;

/* Opens the file, or creates it with mode 0600. All processes must give the same settings (but for the seed) and options.
 * NULL as path: memory for this process and those that it forks from now on, which no other program shares: check what
 * getenv() returned. NULL as options: {0}. NULL as error: not told.
 * Returns NULL if it fails. A seed of 0 is replaced by a random one. */
AB_USE_RESULT ab_map *ab_map_open(const char *path, const ab_settings *, const ab_map_options *, ab_map_error *);

/* The breaker in the file, with NULL as name; or that of a name, which gets a place if it has none. It stays where it is until
 * ab_map_close(). A name is UTF-8 of any length from 0 to key_bytes. NULL if all places are taken, the name does not fit, or the
 * file is of the other kind; or on NULL, which leaves the error as ab_map_open() has told it. Then make the call without ab_acquire(), which rejects every call on NULL:
 *
 *   ab_t *host = ab_map_breaker(hosts, name, &error);       // log error.text once
 *   ab_permit permit = {true, 0, {0, 0}};
 *   if (host)
 *       permit = ab_acquire(host, rules, ab_now_ms());
 *   if (!permit.admitted)
 *       return try_again_in(permit.wait_ms);
 *   bool ok = query(name);
 *   ab_report(host, rules, &permit.token, ok, ab_now_ms()); // on NULL nothing happens
 */
AB_USE_RESULT ab_t *ab_map_breaker(ab_map *, const char *name, ab_map_error *);

/* The checked rules, for each function of atomic_breaker.h. Never NULL, but for NULL. */
AB_USE_RESULT const ab_rules *ab_map_rules(const ab_map *);

/* Calls `each` with all names that have a breaker, in no particular order; with NULL for a single breaker. The name is not
 * terminated. */
void ab_map_each(ab_map *, void (*each)(void *context, const char *name, size_t length, ab_t *), void *context);

ab_map_origin_t ab_map_origin(const ab_map *);

/* Whether the file was removed while it is in use here: processes that come later make another one. One system call. */
AB_USE_RESULT bool ab_map_is_removed(const ab_map *);

/* Ends the use of the file by this process. Its breakers and rules must not be used any more. */
void ab_map_close(ab_map *);

/* Milliseconds since the machine was started, with the time that it slept, modulo 2^32: CLOCK_BOOTTIME. */
uint32_t ab_now_ms(void);

/* Reads the settings of the table [name] from a TOML file of rules, with the names of docs/c.md:
 *
 *   [database]
 *   consecutive_failures = 3
 *   open_for_ms = 2000
 *   exponential = { factor = 2, max_ms = 60000 }
 *
 * Settings that the table does not name become the defaults, whatever was there before. False if it fails; the settings are
 * not changed then. */
AB_USE_RESULT bool ab_settings_read(ab_settings *, const char *file, const char *name, ab_map_error *);

#ifdef __cplusplus
}
#endif

#endif
