// SPDX-License-Identifier: MIT OR Apache-2.0
/* One breaker of a breakers.toml. */
#include "breakers.h"
#include "device.h"

ab_t radio;

uint32_t entry(void)
{
    ab_permit permit = radio_acquire(MILLISECONDS);
    if (!permit.admitted)
        return permit.wait_ms;
    uint32_t value = DEVICE;
    radio_report(&permit.token, value != 0, MILLISECONDS);
    return value;
}
