// SPDX-License-Identifier: MIT OR Apache-2.0
/* Text and the end of the program, through the emulator or a debugger. */
#ifndef SEMIHOSTING_H
#define SEMIHOSTING_H

#include <stdint.h>

static inline int32_t semihosting(uint32_t operation, const void *argument)
{
    register uint32_t r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory");
    return (int32_t)r0;
}

static inline void print(const char *text)
{
    semihosting(0x04, text); /* SYS_WRITE0 */
}

/* SYS_EXIT_EXTENDED, as SYS_EXIT knows no status. */
static inline void finish(uint32_t status)
{
    const uint32_t block[2] = {0x20026, status}; /* ADP_Stopped_ApplicationExit */
    semihosting(0x20, block);
    for (;;)
        ;
}

/* Ends the program where a check does not hold. */
#define TEXT_(line) #line
#define TEXT(line) TEXT_(line)
#define CHECK(holds)                                                                     \
    do {                                                                                 \
        if (!(holds)) {                                                                  \
            print("failed: " __FILE__ ":" TEXT(__LINE__) ": " #holds "\n");              \
            finish(1);                                                                   \
        }                                                                                \
    } while (0)

#endif
