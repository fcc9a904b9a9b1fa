// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * A program that calls a server on this machine, through a breaker that it shares with programs in other languages:
 *
 *   cc caller.c $(pkg-config --cflags --libs atomic-breaker) -o caller
 *   ./caller /dev/shm/server 8080 [CALLS]
 *
 * Each call is a connection on which it sends "probe" or "call", and which answers "ok". The rules are those of all others.
 */
#include <arpa/inet.h>
#include <atomic_breaker_map.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static void sleep_ms(uint32_t ms)
{
    struct timespec time = {ms / 1000, (long)(ms % 1000) * 1000000};
    nanosleep(&time, NULL);
}

static bool call(uint16_t port, bool is_probe)
{
    struct timeval limit = {1, 0}; /* a breaker cannot end a call */
    struct sockaddr_in server = {.sin_family = AF_INET, .sin_port = htons(port)};
    server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int connection = socket(AF_INET, SOCK_STREAM, 0);
    if (connection < 0)
        return false;
    setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    char answer[8] = "";
    const char *words = is_probe ? "probe\n" : "call\n";
    bool ok = connect(connection, (struct sockaddr *)&server, sizeof server) == 0 &&
              send(connection, words, strlen(words), MSG_NOSIGNAL) > 0 &&
              recv(connection, answer, sizeof answer - 1, 0) > 0 && strncmp(answer, "ok", 2) == 0;
    close(connection);
    return ok;
}

int main(int count, char **arguments)
{
    if (count < 3) {
        fprintf(stderr, "usage: caller FILE PORT [CALLS]\n");
        return 2;
    }
    uint16_t port = (uint16_t)atoi(arguments[2]);
    long calls = count > 3 ? atol(arguments[3]) : -1;

    ab_settings settings = AB_DEFAULTS;
    settings.open_ms = 200;
    settings.probe_lease_ms = 2000;
    ab_map_error error;
    ab_map *map = ab_map_open(arguments[1], &settings, NULL, &error);
    ab_t *server = ab_map_breaker(map, NULL, NULL);
    const ab_rules *rules = ab_map_rules(map);
    if (!server) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    for (; calls != 0; calls -= calls > 0) {
        ab_permit permit = ab_acquire(server, rules, ab_now_ms());
        if (permit.admitted) {
            bool ok = call(port, ab_trips(&permit.token) > 0);
            ab_report(server, rules, &permit.token, ok, ab_now_ms());
        }
        sleep_ms(10);
    }
    ab_map_close(map);
    return 0;
}
