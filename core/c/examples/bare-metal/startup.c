// SPDX-License-Identifier: MIT OR Apache-2.0
/* What runs before main, and the vectors. */
#include <stdint.h>

#include "semihosting.h"

extern uint32_t data_load[], data_start[], data_end[], bss_start[], bss_end[], stack_top[];

int main(void);
void reset(void);
void sv_call(void);
void pend_sv(void);
void sys_tick(void);

void reset(void)
{
    const uint32_t *from = data_load;
    for (uint32_t *to = data_start; to < data_end; to++)
        *to = *from++;
    for (uint32_t *to = bss_start; to < bss_end; to++)
        *to = 0;
    /* .noinit is left alone. */
    main();
    finish(1);
}

static void fault(void)
{
    print("failed: an exception that nobody expects\n");
    finish(1);
}

/* An operating system brings its own. */
__attribute__((weak)) void sv_call(void)
{
    fault();
}

__attribute__((weak)) void pend_sv(void)
{
    fault();
}

typedef union {
    void (*handler)(void);
    const uint32_t *stack;
} vector;

__attribute__((section(".vectors"), used)) static const vector vectors[16] = {
    {.stack = stack_top}, {reset}, {fault}, {fault}, {fault}, {fault}, {fault}, {fault},
    {fault}, {fault}, {fault}, {sv_call}, {fault}, {fault}, {pend_sv}, {sys_tick},
};
