#include "base/quantity.h"

#include <math.h>

uint64_t gp_mul(uint64_t a, uint64_t b) {
    /* Two factors below 2^32 cannot overflow: no division for the counts that most factors are. */
    if (((a | b) >> 32) == 0) return a * b;
    if (gp_overflowed(a) || gp_overflowed(b)) return UINT64_MAX;
    return b != 0 && a > UINT64_MAX / b ? UINT64_MAX : a * b;
}

uint64_t gp_mul3(uint64_t a, uint64_t b, uint64_t c) {
    return gp_mul(gp_mul(a, b), c);
}

uint64_t gp_div_ceil(uint64_t a, uint64_t b) {
    if (gp_overflowed(a) || b == 0) return UINT64_MAX;
    return a / b + (a % b != 0);
}

uint64_t gp_bytes_from_double(double value) {
    if (!(value > 0)) return 0;
    return value > 0x1p63 ? UINT64_MAX : (uint64_t)ceil(value);
}

uint64_t gp_bytes_of(uint64_t count, double bits_per_element) {
    if (!(bits_per_element > 0) || count == 0) return 0;
    if (gp_overflowed(count)) return UINT64_MAX;
    /* Block formats are whole multiples of 1/64 bit, so integers keep them exact where a double would round. */
    double parts = bits_per_element * 64;
    if (parts == floor(parts) && parts < 0x1p32) {
        uint64_t product = gp_mul(count, (uint64_t)parts);
        if (!gp_overflowed(product)) return gp_div_ceil(product, UINT64_C(8) * 64);
    }
    return gp_bytes_from_double((double)count * bits_per_element / 8);
}
