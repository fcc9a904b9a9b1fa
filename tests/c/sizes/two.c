// SPDX-License-Identifier: MIT OR Apache-2.0
/* Two breakers of a breakers.toml. */
#include "breakers.h"
#include "device.h"

ab_t radio, modem;

static uint32_t read_radio(void)
{
    ab_permit permit = radio_acquire(MILLISECONDS);
    if (!permit.admitted)
        return permit.wait_ms;
    uint32_t value = DEVICE;
    radio_report(&permit.token, value != 0, MILLISECONDS);
    return value;
}

static uint32_t read_modem(void)
{
    ab_permit permit = modem_acquire(MILLISECONDS);
    if (!permit.admitted)
        return permit.wait_ms;
    uint32_t value = DEVICE;
    modem_report(&permit.token, value != 0, MILLISECONDS);
    return value;
}

uint32_t entry(void)
{
    return read_radio() + read_modem();
}
