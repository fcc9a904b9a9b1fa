// SPDX-License-Identifier: MIT OR Apache-2.0
/* The kernel on an emulated Cortex-M3. */
#ifndef FREERTOS_CONFIG_H
#define FREERTOS_CONFIG_H

#include "semihosting.h"

#define configUSE_PREEMPTION 1
#define configUSE_IDLE_HOOK 0
#define configUSE_TICK_HOOK 0
#define configCPU_CLOCK_HZ CORE_CLOCK_HZ
/* `run` tries others, too. */
#ifndef TICKS
#define configTICK_RATE_HZ 1000
#define configTICK_TYPE_WIDTH_IN_BITS TICK_TYPE_WIDTH_32_BITS
#elif TICKS == 16
#define configTICK_RATE_HZ 1000
#define configTICK_TYPE_WIDTH_IN_BITS TICK_TYPE_WIDTH_16_BITS
#define configINITIAL_TICK_COUNT 0xFD00
#else
#define configTICK_RATE_HZ TICKS
#define configTICK_TYPE_WIDTH_IN_BITS TICK_TYPE_WIDTH_32_BITS
#endif
#ifndef configINITIAL_TICK_COUNT
#define configINITIAL_TICK_COUNT 0
#endif
#define configMAX_PRIORITIES 5
#define configMINIMAL_STACK_SIZE 128
#define configTOTAL_HEAP_SIZE 8192
#define configSUPPORT_DYNAMIC_ALLOCATION 1
#define configCHECK_FOR_STACK_OVERFLOW 2
#define configUSE_MUTEXES 0
#define configPRIO_BITS 3
#define configKERNEL_INTERRUPT_PRIORITY (7 << (8 - configPRIO_BITS))
#define configMAX_SYSCALL_INTERRUPT_PRIORITY (2 << (8 - configPRIO_BITS))
/* The vectors of ../bare-metal/startup.c lie in flash. */
#define configCHECK_HANDLER_INSTALLATION 0
#define INCLUDE_vTaskDelay 1
#define configASSERT(holds) CHECK(holds)

#define vPortSVCHandler sv_call
#define xPortPendSVHandler pend_sv
#define xPortSysTickHandler sys_tick

#endif
