// SPDX-License-Identifier: MIT OR Apache-2.0
/* Rules at run time, with the message if they do not fit. */
#include "atomic_breaker.h"
#include <stddef.h>

#include "device.h"

static ab_t radio;
static ab_rules rules;

uint32_t entry(void)
{
    ab_settings settings = AB_DEFAULTS;
    settings.failures = DEVICE;
    settings.open_ms = DEVICE;
    const char *error = ab_rules_init(&rules, &settings);
    if (error != NULL)
        return (uint32_t)(uintptr_t)error;
    ab_permit permit = ab_acquire(&radio, &rules, MILLISECONDS);
    if (!permit.admitted)
        return permit.wait_ms;
    uint32_t value = DEVICE;
    ab_report(&radio, &rules, &permit.token, value != 0, MILLISECONDS);
    return value;
}
