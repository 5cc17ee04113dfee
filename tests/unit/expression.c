#include "expression.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const char *at;
    int term_count;
    const gp_term *terms;
} reader;

static double sum(reader *r);

static bool accept(reader *r, char wanted) {
    while (*r->at == ' ') r->at++;
    if (*r->at != wanted) return false;
    r->at++;
    return true;
}

static double symbol(const reader *r, const char *name, size_t length) {
    for (int i = 0; i < r->term_count; i++)
        if (strlen(r->terms[i].symbol) == length && strncmp(r->terms[i].symbol, name, length) == 0)
            return r->terms[i].value;
    return (double)NAN;
}

static double call(reader *r, const char *name, size_t length) {
    double value = sum(r);
    bool smallest = length == 3 && strncmp(name, "min", 3) == 0;
    bool largest = length == 3 && strncmp(name, "max", 3) == 0;
    while ((smallest || largest) && accept(r, ',')) {
        double other = sum(r);
        value = isnan(value) || isnan(other) ? (double)NAN : smallest ? fmin(value, other) : fmax(value, other);
    }
    if (length == 4 && strncmp(name, "ceil", 4) == 0) value = ceil(value);
    else if (length == 5 && strncmp(name, "floor", 5) == 0) value = floor(value);
    else if (!smallest && !largest) value = (double)NAN;
    return accept(r, ')') ? value : (double)NAN;
}

static double factor(reader *r) {
    if (accept(r, '(')) {
        double value = sum(r);
        return accept(r, ')') ? value : (double)NAN;
    }
    if (accept(r, '-')) return -factor(r);
    if (isdigit((unsigned char)*r->at)) {
        char *end = NULL;
        double value = strtod(r->at, &end);
        r->at = end;
        return value;
    }
    const char *name = r->at;
    while (isalnum((unsigned char)*r->at) || *r->at == '_') r->at++;
    size_t length = (size_t)(r->at - name);
    if (length == 0) return (double)NAN;
    return accept(r, '(') ? call(r, name, length) : symbol(r, name, length);
}

static double product(reader *r) {
    double value = factor(r);
    for (;;) {
        if (accept(r, '*')) value *= factor(r);
        else if (accept(r, '/')) value /= factor(r);
        else return value;
    }
}

static double sum(reader *r) {
    double value = product(r);
    for (;;) {
        if (accept(r, '+')) value += product(r);
        else if (accept(r, '-')) value -= product(r);
        else return value;
    }
}

double expression_value(const char *expression, int term_count, const gp_term *terms) {
    reader r = {expression, term_count, terms};
    double value = sum(&r);
    while (*r.at == ' ') r.at++;
    return *r.at == '\0' ? value : (double)NAN;
}
