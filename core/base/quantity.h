/* quantity.h: numbers with a unit. Bytes and counts are uint64_t with checked arithmetic, rates and times are double.
 * SI base units inside (byte, second, FLOP); GiB and GB exist only in views. */
#ifndef GP_QUANTITY_H
#define GP_QUANTITY_H

#include <stdbool.h>
#include <stdint.h>

#define GP_GIB (UINT64_C(1) << 30)
#define GP_MIB (UINT64_C(1) << 20)
#define GP_GB UINT64_C(1000000000)

/* Largest integer that a JSON number (an IEEE double) carries exactly: 2^53. Results above it are refused. */
#define GP_EXACT_MAX (UINT64_C(1) << 53)

/* Checked arithmetic. A result that does not fit saturates at UINT64_MAX, which every later operation keeps, so one
 * test at the end of a computation (gp_overflowed) finds any overflow on the way. */
static inline uint64_t gp_add(uint64_t a, uint64_t b) { return b > UINT64_MAX - a ? UINT64_MAX : a + b; }
uint64_t gp_mul(uint64_t a, uint64_t b);
/* a * b * c, checked. */
uint64_t gp_mul3(uint64_t a, uint64_t b, uint64_t c);
/* a - b, or 0 when b is larger. Saturated a stays saturated. */
static inline uint64_t gp_sub_or_zero(uint64_t a, uint64_t b) {
    return a == UINT64_MAX ? a : b > a ? 0 : a - b;
}
/* Quotient rounded up; b = 0 gives UINT64_MAX. Saturated a stays saturated. */
uint64_t gp_div_ceil(uint64_t a, uint64_t b);
static inline bool gp_overflowed(uint64_t value) { return value == UINT64_MAX; }

/* value rounded up to a whole number of bytes; negative or NaN gives 0, beyond 2^63 saturates. */
uint64_t gp_bytes_from_double(double value);

/* Bytes of `count` elements of `bits` bits each (bits may be fractional, as for block formats), rounded up.
 * Exact while count * bits stays below 2^53 * 8. */
uint64_t gp_bytes_of(uint64_t count, double bits_per_element);

#endif
