// SPDX-License-Identifier: MIT OR Apache-2.0
/* Registers that a driver would read. Never run, only measured. */
#include <stdint.h>

#define DEVICE (*(volatile uint32_t *)0x40000000)
#define MILLISECONDS (*(volatile uint32_t *)0x40000004)
