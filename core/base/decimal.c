/* A double is m * 2^e. Written out, it is an integer times a power of ten (2^-1 is 5 / 10); read in, it is a quotient of
 * two integers. Both are computed with plain big integers, so there is nothing to approximate and nothing to correct. */
#include "base/decimal.h"

#include <stdbool.h>
#include <string.h>

/* Limbs for the largest integers: 800 digits, 5^1130 under them, or 2^53 * 5^1074; each below 2^2700. */
#define LIMBS 96
/* No two doubles, and no middle between two, need more digits than 768 to be told apart. */
#define DIGITS_MAX 800

typedef struct {
    int count;
    uint32_t limbs[LIMBS]; /* lowest first, base 2^32 */
} big;

static void big_multiply_add(big *number, uint32_t factor, uint32_t addend) {
    uint64_t carry = addend;
    for (int i = 0; i < number->count; i++) {
        carry += (uint64_t)number->limbs[i] * factor;
        number->limbs[i] = (uint32_t)carry;
        carry >>= 32;
    }
    if (carry > 0) number->limbs[number->count++] = (uint32_t)carry;
}

static void big_multiply_power(big *number, uint32_t base, int power, uint32_t chunk, int chunk_power) {
    for (; power >= chunk_power; power -= chunk_power) big_multiply_add(number, chunk, 0);
    for (; power > 0; power--) big_multiply_add(number, base, 0);
}

static void big_multiply_power_of_5(big *number, int power) { big_multiply_power(number, 5, power, 1220703125, 13); }

static void big_shift_left(big *number, int bits) { big_multiply_power(number, 2, bits, UINT32_C(1) << 31, 31); }

/* Divides by a small number and returns the remainder. */
static uint32_t big_divide(big *number, uint32_t divisor) {
    uint64_t rest = 0;
    for (int i = number->count - 1; i >= 0; i--) {
        rest = rest << 32 | number->limbs[i];
        number->limbs[i] = (uint32_t)(rest / divisor);
        rest %= divisor;
    }
    while (number->count > 0 && number->limbs[number->count - 1] == 0) number->count--;
    return (uint32_t)rest;
}

static int big_compare(const big *a, const big *b) {
    if (a->count != b->count) return a->count < b->count ? -1 : 1;
    for (int i = a->count - 1; i >= 0; i--)
        if (a->limbs[i] != b->limbs[i]) return a->limbs[i] < b->limbs[i] ? -1 : 1;
    return 0;
}

/* a - b, which must not be negative. */
static void big_subtract(big *a, const big *b) {
    uint64_t borrow = 0;
    for (int i = 0; i < a->count; i++) {
        uint64_t taken = borrow + (i < b->count ? b->limbs[i] : 0);
        borrow = a->limbs[i] < taken;
        a->limbs[i] -= (uint32_t)taken;
    }
    while (a->count > 0 && a->limbs[a->count - 1] == 0) a->count--;
}

static int big_bits(const big *number) {
    if (number->count == 0) return 0;
    int bits = (number->count - 1) * 32;
    for (uint32_t top = number->limbs[number->count - 1]; top > 0; top >>= 1) bits++;
    return bits;
}

static void big_set(big *number, uint64_t value) {
    number->count = 0;
    for (; value > 0; value >>= 32) number->limbs[number->count++] = (uint32_t)value;
}

/* ---- Writing ---- */

/* All digits of a positive number, which is 0.d1d2d3… * 10^point. */
typedef struct {
    int count, point;
    char digits[DIGITS_MAX];
} digit_string;

static void digits_of(digit_string *text, uint64_t mantissa, int exponent) {
    big number;
    big_set(&number, mantissa);
    if (exponent > 0) big_shift_left(&number, exponent);
    if (exponent < 0) big_multiply_power_of_5(&number, -exponent);

    char reversed[DIGITS_MAX + 9];
    int count = 0;
    do {
        uint32_t nine = big_divide(&number, 1000000000);
        for (int i = 0; i < 9; i++, nine /= 10) reversed[count++] = (char)(nine % 10);
    } while (number.count > 0);
    while (count > 0 && reversed[count - 1] == 0) count--;
    text->count = count;
    text->point = count + (exponent < 0 ? exponent : 0);
    for (int i = 0; i < count; i++) text->digits[i] = reversed[count - 1 - i];
}

/* `from` cut to `count` digits, half to even, without zeros at the end. */
static void rounded(const digit_string *from, int count, digit_string *to) {
    to->point = from->point;
    to->count = from->count < count ? from->count : count;
    memcpy(to->digits, from->digits, (size_t)to->count);
    if (from->count > count) {
        bool beyond_half = from->digits[count] > 5;
        for (int i = count + 1; from->digits[count] == 5 && i < from->count; i++) beyond_half |= from->digits[i] > 0;
        bool half = from->digits[count] == 5 && !beyond_half;
        if (beyond_half || (half && from->digits[count - 1] % 2 == 1)) {
            int last = count - 1;
            while (last >= 0 && to->digits[last] == 9) to->digits[last--] = 0;
            if (last >= 0) {
                to->digits[last]++;
            } else {
                to->digits[0] = 1;
                to->point++;
            }
        }
    }
    while (to->count > 1 && to->digits[to->count - 1] == 0) to->count--;
}

static char *write_digits(char *out, const char *digits, int count) {
    for (int i = 0; i < count; i++) *out++ = (char)('0' + digits[i]);
    return out;
}

static char *write_zeros(char *out, int count) {
    for (int i = 0; i < count; i++) *out++ = '0';
    return out;
}

static char *write_exponent(char *out, int exponent) {
    int size = exponent < 0 ? -exponent : exponent;
    *out++ = 'e';
    *out++ = exponent < 0 ? '-' : '+';
    if (size >= 100) *out++ = (char)('0' + size / 100);
    *out++ = (char)('0' + size / 10 % 10);
    *out++ = (char)('0' + size % 10);
    return out;
}

/* The layout of "%.*g". */
static char *lay_out(char *out, const digit_string *text, int precision) {
    int exponent = text->point - 1;
    if (exponent < -4 || exponent >= precision) {
        out = write_digits(out, text->digits, 1);
        if (text->count > 1) *out++ = '.';
        out = write_digits(out, text->digits + 1, text->count - 1);
        return write_exponent(out, exponent);
    }
    if (text->point <= 0) {
        *out++ = '0';
        *out++ = '.';
        out = write_zeros(out, -text->point);
        return write_digits(out, text->digits, text->count);
    }
    if (text->count <= text->point) {
        out = write_digits(out, text->digits, text->count);
        return write_zeros(out, text->point - text->count);
    }
    out = write_digits(out, text->digits, text->point);
    *out++ = '.';
    return write_digits(out, text->digits + text->point, text->count - text->point);
}

size_t gp_decimal_write(char *buffer, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    char *out = buffer;
    if (bits >> 63) *out++ = '-';
    int exponent = (int)(bits >> 52 & 0x7ff);
    uint64_t fraction = bits & ((UINT64_C(1) << 52) - 1);
    char *start = out;
    if (exponent == 0 && fraction == 0) {
        *out++ = '0';
    } else {
        digit_string exact;
        digit_string text;
        digits_of(&exact, exponent > 0 ? fraction | UINT64_C(1) << 52 : fraction, (exponent > 0 ? exponent : 1) - 1075);
        rounded(&exact, 15, &text);
        out = lay_out(start, &text, 15);
        *out = '\0';
        if (gp_decimal_read(start, NULL) != (value < 0 ? -value : value)) {
            rounded(&exact, 17, &text);
            out = lay_out(start, &text, 17);
        }
    }
    *out = '\0';
    return (size_t)(out - buffer);
}

size_t gp_decimal_write_bytes(char *buffer, uint64_t value) {
    char reversed[20] = "";
    int count = 0;
    /* Nine digits at a time: 32-bit divisions are fast everywhere. */
    do {
        uint32_t nine = (uint32_t)(value % 1000000000);
        value /= 1000000000;
        for (int i = 0; i < 9 && (value > 0 || nine > 0 || count == 0); i++, nine /= 10)
            reversed[count++] = (char)('0' + (int)(nine % 10));
    } while (value > 0);
    char *out = buffer;
    while (count > 0) *out++ = reversed[--count];
    *out = '\0';
    return (size_t)(out - buffer);
}

size_t gp_decimal_write_whole(char *buffer, int64_t value) {
    if (value >= 0) return gp_decimal_write_bytes(buffer, (uint64_t)value);
    *buffer = '-';
    return 1 + gp_decimal_write_bytes(buffer + 1, 0 - (uint64_t)value);
}

/* ---- Reading ---- */

/* A number as it is spelt: digits * 10^exponent. Leading zeros are skipped; digits beyond DIGITS_MAX only leave the
 * mark that they are not all zero. */
typedef struct {
    bool negative;
    int count;
    int64_t exponent;
    const char *end;
    char digits[DIGITS_MAX + 1];
} spelling;

static bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }

static const char *spell_digits(spelling *number, const char *at, bool after_point) {
    for (; is_digit(*at); at++) {
        if (after_point) number->exponent--;
        if (number->count == 0 && *at == '0') continue;
        if (number->count < DIGITS_MAX) {
            number->digits[number->count++] = (char)(*at - '0');
            continue;
        }
        number->exponent++;
        if (*at != '0') number->digits[DIGITS_MAX - 1] |= 1;
    }
    return at;
}

/* A part "e-12" when there is a whole one. */
static const char *spell_exponent(spelling *number, const char *at) {
    if (*at != 'e' && *at != 'E') return at;
    const char *digits = at + 1;
    bool negative = *digits == '-';
    if (*digits == '-' || *digits == '+') digits++;
    if (!is_digit(*digits)) return at;
    int64_t value = 0;
    for (; is_digit(*digits); digits++)
        if (value < 1000000) value = value * 10 + (*digits - '0');
    number->exponent += negative ? -value : value;
    return digits;
}

static bool spell(spelling *number, const char *text) {
    number->count = 0;
    number->exponent = 0;
    number->negative = *text == '-';
    const char *first = *text == '-' || *text == '+' ? text + 1 : text;
    const char *at = spell_digits(number, first, false);
    bool any = at > first;
    if (*at == '.') {
        const char *fraction = at + 1;
        at = spell_digits(number, fraction, true);
        any |= at > fraction;
    }
    number->end = any ? spell_exponent(number, at) : text;
    return any;
}

/* quotient * 2^exponent (plus a little more when `rest`), rounded to a double. `quotient` has its top bit set. */
static double assemble(uint64_t quotient, int exponent, bool rest) {
    int top = exponent + 63;
    if (top > 1023) return 1.0 / 0.0;
    int dropped = top < -1022 ? 11 + (-1022 - top) : 11;
    if (dropped > 64) return 0;
    uint64_t kept = dropped == 64 ? 0 : quotient >> dropped;
    uint64_t half = UINT64_C(1) << (dropped - 1);
    uint64_t below = quotient & (half - 1);
    bool up = (quotient & half) != 0 && (below > 0 || rest || (kept & 1) != 0);
    /* A mantissa that overflows on rounding carries into the exponent, which is what it should do. */
    uint64_t bits = top < -1022 ? kept : ((uint64_t)(top + 1022) << 52) + kept;
    bits += up;
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* digits * 10^exponent as a quotient of big integers, divided bit by bit. */
static double divide_exactly(const spelling *number) {
    int exponent = (int)number->exponent;
    big above = {0};
    big below;
    big_set(&below, 1);
    for (int i = 0; i < number->count; i++) big_multiply_add(&above, 10, (uint32_t)number->digits[i]);
    big_multiply_power_of_5(exponent < 0 ? &below : &above, exponent < 0 ? -exponent : exponent);

    /* Scaled so that the quotient lies between 2^-1 and 2; its first bit decides where counting starts. */
    int shift = big_bits(&above) - big_bits(&below);
    big_shift_left(shift < 0 ? &above : &below, shift < 0 ? -shift : shift);
    if (big_compare(&above, &below) < 0) {
        big_shift_left(&above, 1);
        shift--;
    }
    uint64_t quotient = 0;
    for (int i = 0; i < 64; i++) {
        bool one = big_compare(&above, &below) >= 0;
        if (one) big_subtract(&above, &below);
        quotient = quotient << 1 | one;
        big_shift_left(&above, 1);
    }
    return assemble(quotient, exponent + shift - 63, above.count > 0);
}

/* Up to 15 digits and powers up to 10^22 are doubles themselves, so one operation rounds once. */
static bool read_short(const spelling *number, double *value) {
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    if (number->count > 15 || number->exponent < -22 || number->exponent > 22) return false;
    uint64_t digits = 0;
    for (int i = 0; i < number->count; i++) digits = digits * 10 + (uint64_t)number->digits[i];
    *value = number->exponent < 0 ? (double)digits / powers[-number->exponent] : (double)digits * powers[number->exponent];
    return true;
}

double gp_decimal_read(const char *text, char **end) {
    spelling number;
    bool any = spell(&number, text);
    if (end) *end = (char *)number.end;
    double value = 0;
    if (any && number.count > 0 && !read_short(&number, &value)) {
        int64_t magnitude = number.count + number.exponent;
        value = magnitude > 310 ? 1.0 / 0.0 : magnitude < -330 ? 0 : divide_exactly(&number);
    }
    return any && number.negative ? -value : value;
}
