// SPDX-License-Identifier: MIT OR Apache-2.0
/* A driver whose transfers end in an interrupt, behind a breaker whose state survives a reset.
 *
 * First start: the radio works, then fails, and the breaker opens; the chip is reset. Second start: the breaker is still
 * open, one probe repairs the radio, and it closes. Then a transfer hangs until the watchdog resets the chip. Third
 * start: the breaker is tripped on behalf of that call, and the chip falls asleep. Fourth start: it has slept for longer
 * than the open time, so the first call is the probe. */
#include "breakers.h"
#include "semihosting.h"

/* Memory that start-up does not clear. */
__attribute__((section(".noinit"))) ab_retained radio;

/* As the chip's own register tells it. */
enum { BY_PIN = 0x50494E, BY_WATCHDOG = 0x444F47, AWAKE = 0x574B55 };
__attribute__((section(".noinit"))) static volatile uint32_t reset_reason;

#define ASLEEP_MS 600
#define LIMIT_MS 100

static volatile uint32_t milliseconds;
/* Whether it fails until it is repaired is kept by the radio, not by the chip. */
__attribute__((section(".noinit"))) static volatile uint32_t radio_fails;

/* The transfer that is under way: written by main while there is none, and by the interrupt when it ends. */
static ab_token transfer;
static volatile uint32_t transfer_left_ms;
static volatile uint32_t transfers_ended;

/* What the last probe was told: the trips in a row. */
static uint32_t repaired;

/* Longer repairs go here, a step further with each trip. */
static void repair(uint32_t trips)
{
    repaired = trips;
    radio_fails = 0;
}

/* Cortex-M0 has no compare-and-swap: the library asks for a critical section. Not needed with --single-core, nor on a
 * Cortex-M3 or later. */
uint32_t ab_enter_critical(void)
{
    uint32_t primask;
    __asm__ volatile("mrs %0, primask\n\tcpsid i" : "=r"(primask) : : "memory");
    return primask;
}

void ab_leave_critical(uint32_t primask)
{
    __asm__ volatile("msr primask, %0" : : "r"(primask) : "memory");
}

/* Every millisecond. The last one of a transfer stands for the interrupt of the radio. */
void sys_tick(void)
{
    milliseconds++;
    if (transfer_left_ms == 0 || --transfer_left_ms > 0)
        return;
    radio_report(&transfer, radio_fails == 0, milliseconds);
    transfers_ended++;
}

static void start_clock(uint32_t ticks_per_ms)
{
    *(volatile uint32_t *)0xE000E014 = ticks_per_ms - 1; /* reload */
    *(volatile uint32_t *)0xE000E018 = 0;                /* current */
    *(volatile uint32_t *)0xE000E010 = 7;                /* on, with its interrupt, by the core's clock */
}

static void reset_chip(uint32_t reason)
{
    reset_reason = reason;
    *(volatile uint32_t *)0xE000ED0C = 0x05FA0004; /* AIRCR: SYSRESETREQ */
    for (;;)
        ;
}

static void sleep_ms(uint32_t ms)
{
    for (uint32_t since = milliseconds; milliseconds - since < ms;)
        __asm__ volatile("wfi");
}

/* Sends a packet, and waits until it has ended. Returns 0, or how long not to try. */
static uint32_t send(void)
{
    ab_permit permit = radio_acquire(milliseconds);
    if (!permit.admitted)
        return permit.wait_ms;
    if (ab_trips(&permit.token) > 0)
        repair(ab_trips(&permit.token));
    transfer = permit.token;
    uint32_t before = transfers_ended;
    __asm__ volatile("" : : : "memory"); /* the compiler writes the token first */
    transfer_left_ms = 3;                /* from here on it is the interrupt's */
    uint32_t since = milliseconds;
    while (transfers_ended == before) {
        if (milliseconds - since < LIMIT_MS) {
            __asm__ volatile("wfi");
            continue;
        }
        transfer_left_ms = 0; /* abort it first: no interrupt of this transfer reports after that */
        radio_report(&transfer, false, milliseconds);
        break;
    }
    return 0;
}

static void first_start(void)
{
    for (int packet = 0; packet < 10; packet++)
        CHECK(send() == 0);
    CHECK(radio_state(milliseconds) == AB_CLOSED);

    radio_fails = 1;
    for (int packet = 0; packet < 3; packet++) {
        CHECK(radio_state(milliseconds) == AB_CLOSED);
        CHECK(send() == 0);
    }
    CHECK(radio_state(milliseconds) == AB_OPEN);
    uint32_t wait_ms = send();
    CHECK(wait_ms > 0 && wait_ms <= 512 + 64);
    CHECK(transfers_ended == 13);
    reset_chip(BY_PIN);
}

static void second_start(void)
{
    CHECK(radio_state(milliseconds) == AB_OPEN);
    uint32_t rejected = 0, wait_ms;
    while ((wait_ms = send()) != 0) {
        CHECK(transfers_ended == 0);
        rejected++;
        sleep_ms(wait_ms < 100 ? wait_ms : 100);
    }
    CHECK(transfers_ended == 1);
    /* The clock has started over: half of the open time is left. */
    CHECK(rejected >= 3 && milliseconds >= 256 && milliseconds <= 256 + 2 * 64 + 10);
    CHECK(radio_state(milliseconds) == AB_CLOSED && repaired == 1);
    CHECK(send() == 0);

    /* Its token was used up by the interrupt. */
    CHECK(!radio_report(&transfer, false, milliseconds) && radio_snapshot(milliseconds).failures == 0);

    ab_permit hangs = radio_acquire(milliseconds);
    CHECK(hangs.admitted);
    reset_chip(BY_WATCHDOG);
}

static void third_start(void)
{
    CHECK(radio_state(milliseconds) == AB_OPEN && send() > 0 && transfers_ended == 0);
    reset_chip(AWAKE);
}

static void fourth_start(void)
{
    CHECK(radio_state(milliseconds) == AB_HALF_OPEN && send() == 0);
    CHECK(transfers_ended == 1 && radio_state(milliseconds) == AB_CLOSED);
    print("passed: reports by interrupt, open through a reset, a hang and a sleep, closed by one probe each\n");
    finish(0);
}

int main(void)
{
    bool kept = reset_reason == AWAKE ? radio_restore_after(ASLEEP_MS, 0) : radio_restore(0);
    if (kept && reset_reason == BY_WATCHDOG && radio_state(0) != AB_OPEN)
        radio_trip(0, 0);
    start_clock(CORE_CLOCK_HZ / 1000);
    if (kept && reset_reason == BY_PIN)
        second_start();
    if (kept && reset_reason == BY_WATCHDOG)
        third_start();
    if (kept && reset_reason == AWAKE)
        fourth_start();
    CHECK(!kept && radio_state(milliseconds) == AB_CLOSED);
    radio_fails = 0;
    first_start();
}
