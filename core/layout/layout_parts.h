/* layout_parts.h: arithmetic of degrees that the sources layout*.c share. */
#ifndef GP_LAYOUT_PARTS_H
#define GP_LAYOUT_PARTS_H

#include "layout/layout.h"

static inline int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
static inline int64_t at_least_one(int64_t value) { return value < 1 ? 1 : value; }

/* Product of degrees; each is at most 2^20 and the factors are few, so saturation only guards hostile input. */
static inline int64_t product(int64_t a, int64_t b) {
    uint64_t value = gp_mul((uint64_t)a, (uint64_t)b);
    return value > GP_EXACT_MAX ? (int64_t)GP_EXACT_MAX : (int64_t)value;
}

#endif
