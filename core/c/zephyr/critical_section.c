// SPDX-License-Identifier: MIT OR Apache-2.0
/* The critical section of the library on chips without compare-and-swap. */
#include <zephyr/irq.h>

#include "atomic_breaker.h"

uint32_t ab_enter_critical(void)
{
	return irq_lock();
}

void ab_leave_critical(uint32_t state)
{
	irq_unlock(state);
}
