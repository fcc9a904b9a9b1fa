// SPDX-License-Identifier: MIT OR Apache-2.0
/* The same without a breaker, in a program that copies and clears memory already, as nearly every one does. */
#include <string.h>

#include "device.h"

char from[8], to[8];

uint32_t entry(void)
{
    volatile unsigned n = sizeof to;
    memcpy(to, from, n);
    memset(from, 0, n);
    return DEVICE;
}
