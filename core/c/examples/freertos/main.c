// SPDX-License-Identifier: MIT OR Apache-2.0
/* Three tasks of FreeRTOS share a modem and its breaker. They hand their calls to a task that drives the modem, with the
 * token in the queue, and that task reports. The modem is down for a second. */
#include <stdatomic.h>

#include "FreeRTOS.h"
#include "atomic_breaker.h"
#include "queue.h"
#include "semihosting.h"
#include "task.h"

#define CALLERS 3
#define FAILURES 3
#define OPEN_MS 256
#define DOWN_MS 1000

static ab_t modem;
static ab_rules rules;
static QueueHandle_t calls;

static atomic_bool is_down;
/* Counted by the task that drives the modem. */
static volatile uint32_t served, wasted;
static volatile uint32_t rejected[CALLERS];

/* For any configTICK_RATE_HZ and any TickType_t. Tasks call it, at least once while the ticks go round. */
uint32_t now_ms(void)
{
    static TickType_t last;
    static uint64_t ticks;
    taskENTER_CRITICAL();
    TickType_t now = xTaskGetTickCount();
    ticks += (TickType_t)(now - last);
    last = now;
    uint32_t ms = (uint32_t)(ticks * 1000 / configTICK_RATE_HZ);
    taskEXIT_CRITICAL();
    return ms;
}

static void caller(void *number)
{
    volatile uint32_t *count = &rejected[(uintptr_t)number];
    for (;;) {
        ab_permit permit = ab_acquire(&modem, &rules, now_ms());
        if (!permit.admitted) {
            (*count)++;
            /* usually at most OPEN_MS and two ticks of 64 ms; forced open 49 days, yet it may be released earlier */
            vTaskDelay(pdMS_TO_TICKS(permit.wait_ms < 1000 ? permit.wait_ms : 1000));
            continue;
        }
        if (xQueueSend(calls, &permit.token, pdMS_TO_TICKS(100)) != pdTRUE)
            ab_cancel(&modem, &rules, &permit.token, now_ms());
        vTaskDelay(pdMS_TO_TICKS(10));
    }
}

static void driver(void *unused)
{
    (void)unused;
    ab_token token;
    for (;;) {
        xQueueReceive(calls, &token, portMAX_DELAY);
        vTaskDelay(pdMS_TO_TICKS(2)); /* the call */
        bool ok = !is_down;
        if (ok)
            served++;
        else
            wasted++;
        ab_report(&modem, &rules, &token, ok, now_ms());
    }
}

static void check(void *unused)
{
    (void)unused;
    uint32_t start = now_ms();
    vTaskDelay(pdMS_TO_TICKS(100));
    CHECK(now_ms() - start >= 99 && now_ms() - start <= 104);
    vTaskDelay(pdMS_TO_TICKS(300));
    CHECK(served > 20 && wasted == 0 && ab_state(&modem, &rules, now_ms()) == AB_CLOSED);
    for (int i = 0; i < CALLERS; i++)
        CHECK(rejected[i] == 0);

    is_down = true;
    vTaskDelay(pdMS_TO_TICKS(DOWN_MS));
    CHECK(ab_state(&modem, &rules, now_ms()) == AB_OPEN || ab_state(&modem, &rules, now_ms()) == AB_HALF_OPEN);
    /* The failures that trip, what was in the queue, and a probe after each open time. */
    CHECK(wasted >= FAILURES && wasted <= FAILURES + CALLERS + DOWN_MS / OPEN_MS + 1);
    for (int i = 0; i < CALLERS; i++)
        CHECK(rejected[i] > 0);

    is_down = false;
    uint32_t since = now_ms(), before = served;
    while (served == before) {
        CHECK(now_ms() - since <= OPEN_MS + 2 * 64 + 100);
        vTaskDelay(1);
    }
#if configINITIAL_TICK_COUNT > 0
    CHECK(xTaskGetTickCount() < configINITIAL_TICK_COUNT); /* the ticks have gone round meanwhile */
#endif
    vTaskDelay(pdMS_TO_TICKS(300));
    CHECK(ab_state(&modem, &rules, now_ms()) == AB_CLOSED && served > before + 20);
    print("passed: 3 tasks and a driver, the token through a queue, down for 1 s\n");
    finish(0);
}

void vApplicationStackOverflowHook(TaskHandle_t task, char *name)
{
    (void)task;
    print("failed: the stack of ");
    print(name);
    print(" overflowed\n");
    finish(1);
}

int main(void)
{
    ab_settings settings = AB_DEFAULTS;
    settings.failures = FAILURES;
    settings.open_ms = OPEN_MS;
    settings.jitter_percent = 101;
    const char *error = ab_rules_init(&rules, &settings);
    CHECK(error != NULL && error[0] == 'j'); /* jitter_percent: at most 100 */

    settings.jitter_percent = 10;
    settings.seed = 0x1234; /* the chip's unique number, on a real one */
    error = ab_rules_init(&rules, &settings);
    if (error != NULL)
        print(error);
    CHECK(error == NULL);

    calls = xQueueCreate(4, sizeof(ab_token));
    CHECK(calls != NULL);
    CHECK(xTaskCreate(driver, "driver", 256, NULL, 3, NULL) == pdPASS);
    for (uintptr_t i = 0; i < CALLERS; i++)
        CHECK(xTaskCreate(caller, "caller", 192, (void *)i, 1 + i % 2, NULL) == pdPASS);
    CHECK(xTaskCreate(check, "check", 256, NULL, 4, NULL) == pdPASS);
    vTaskStartScheduler();
    CHECK(!"the scheduler returned");
}
