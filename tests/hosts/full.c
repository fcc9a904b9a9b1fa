// SPDX-License-Identifier: MIT OR Apache-2.0
/* Fills a file of breakers, and goes on without one for the name that finds no place, as the header says. */
#include <atomic_breaker_map.h>
#include <stdio.h>

typedef struct {
    ab_map *map;
    int open;
} counted;

static void count(void *context, const char *name, size_t length, ab_t *breaker)
{
    (void)name, (void)length;
    counted *so_far = context;
    so_far->open += ab_state(breaker, ab_map_rules(so_far->map), ab_now_ms()) == AB_OPEN;
}

/* A call that fails; false if it was not made. */
static bool call(ab_map *map, const char *name)
{
    ab_map_error error;
    ab_t *breaker = ab_map_breaker(map, name, &error);
    ab_permit permit = {.admitted = true};
    if (breaker)
        permit = ab_acquire(breaker, ab_map_rules(map), ab_now_ms());
    if (!permit.admitted)
        return false;
    ab_report(breaker, ab_map_rules(map), &permit.token, false, ab_now_ms());
    return true;
}

int main(int arguments, char **argument)
{
    ab_settings settings = AB_DEFAULTS;
    ab_map_options options = {.keys = 2};
    ab_map_error error;
    ab_map *map = arguments == 2 ? ab_map_open(argument[1], &settings, &options, &error) : NULL;
    if (!map)
        return 1;
    int made[3] = {0};
    counted all = {map, 0};
    const char *names[] = {"a.example", "b.example", "c.example"};
    for (int turn = 0; turn < 3 * 8; turn++)
        made[turn % 3] += call(map, names[turn % 3]);
    ab_map_each(map, count, &all);
    printf("full: %d, %d and %d calls, %d open\n", made[0], made[1], made[2], all.open);
    ab_map_close(map);
    return made[0] == 5 && made[1] == 5 && made[2] == 8 && all.open == 2 ? 0 : 1;
}
