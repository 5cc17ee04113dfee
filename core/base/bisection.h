/* bisection.h: the last whole number for which something holds that holds up to one number and for none beyond it. */
#ifndef GP_BISECTION_H
#define GP_BISECTION_H

#include <stdbool.h>
#include <stdint.h>

/* It holds for `low` and not for `high`. The search begins at the guess and moves away from it in steps that
 * double, so that a good guess takes few tries; beyond the bounds it halves. step: 1 at first. */
typedef struct {
    int64_t low, high, guess, step;
} gp_bisection;

/* The number to try next; false once `low` is the last. */
static inline bool gp_bisection_next(const gp_bisection *between, int64_t *number) {
    int64_t low = between->low, high = between->high, guess = between->guess;
    *number = guess > low && guess < high ? guess : low + (high - low) / 2;
    return high - low > 1;
}

/* Says whether it holds for that number. */
static inline void gp_bisection_take(gp_bisection *between, int64_t number, bool holds) {
    if (holds) {
        between->low = number;
        between->guess = number + between->step;
    } else {
        between->high = number;
        between->guess = number - between->step;
    }
    between->step *= 2;
}

#endif
