/* balance.c: a stage's peak grows with its layers, so a limit on all peaks is kept by giving each stage, from the first
 * on, as many layers as the limit allows. The lowest limit that can be kept is found by halving; then a dynamic
 * programme over (stage, layers given so far) chooses among the splits that keep it. */
#include "ledger/balance.h"

#include <stdlib.h>

#include "base/bisection.h"

/* Peaks that were computed before: limit after limit asks for the same ones. A later one takes an earlier one's place. */
enum { REMEMBERED_BITS = 9 };
typedef struct { uint64_t question, peak; } remembered;

typedef struct {
    const gp_job *job;
    const gp_model *model;
    gp_layout layout;       /* its split is that of the attempt */
    gp_stage_ledger ledger;
    int64_t stages, layers;
    remembered peaks[1 << REMEMBERED_BITS]; /* question 0: none yet */
} attempt;

static uint64_t compute_peak(attempt *a, int64_t stage, int64_t first, int64_t count) {
    for (int64_t i = 0; i < a->stages; i++) a->layout.split[i] = 0;
    if (stage > 0) a->layout.split[0] = (uint16_t)first;
    a->layout.split[stage] = (uint16_t)count;
    gp_ledger_stage(a->job, a->model, &a->layout, stage, &a->ledger);
    return a->ledger.peak_bytes;
}

/* Peak of one stage that holds `count` layers from `first` on. Of equal layers it does not matter which ones. */
static uint64_t peak_of(attempt *a, int64_t stage, int64_t first, int64_t count) {
    const uint64_t golden = UINT64_C(0x9e3779b97f4a7c15); /* 2^64 over the golden ratio spreads neighbours */
    uint64_t which = a->model->kind_count == 1 ? 0 : (uint64_t)first;
    uint64_t question = (uint64_t)(stage + 1) << 32 | which << 16 | (uint64_t)count;
    remembered *row = &a->peaks[question * golden >> (64 - REMEMBERED_BITS)];
    if (row->question != question) *row = (remembered){question, compute_peak(a, stage, first, count)};
    return row->peak;
}

/* Layers that a limit lets a stage take, were its peak a straight line. */
static int64_t guess_of(attempt *a, int64_t stage, int64_t first, uint64_t limit, int64_t most) {
    int64_t mean = a->layers / a->stages;
    uint64_t one = peak_of(a, stage, first, 1), many = mean < most ? peak_of(a, stage, first, mean) : one;
    if (many <= one || gp_overflowed(many)) return most;
    double each = (double)(many - one) / (double)(mean - 1), layers = 1 + (double)(limit - one) / each;
    return layers < (double)most ? (int64_t)layers : most;
}

/* Most layers from `first` on that a stage takes within the limit, at least one left for each later stage; 0: none. The
 * peak is nearly a straight line in them, so the answer is looked for around a guess, in steps that double. */
static int64_t reach(attempt *a, int64_t stage, int64_t first, uint64_t limit) {
    int64_t most = a->layers - first - (a->stages - 1 - stage), middle;
    if (most < 1 || peak_of(a, stage, first, 1) > limit) return 0;
    gp_bisection count = {1, most + 1, guess_of(a, stage, first, limit, most), 1};
    while (gp_bisection_next(&count, &middle))
        gp_bisection_take(&count, middle, peak_of(a, stage, first, middle) <= limit);
    return count.low;
}

static bool keeps(attempt *a, uint64_t limit, uint16_t split[GP_SPLIT_STAGES]) {
    int64_t first = 0;
    for (int64_t stage = 0; stage < a->stages; stage++) {
        int64_t rest = a->layers - first, last = stage + 1 == a->stages;
        int64_t count = reach(a, stage, first, limit);
        if (count < 1 || (last && count < rest)) return false;
        split[stage] = (uint16_t)count;
        first += count;
    }
    return true;
}

static uint64_t worst_of(attempt *a, const gp_layout *layout) {
    uint64_t worst = 0;
    for (int64_t stage = 0; stage < a->stages; stage++) {
        int64_t first = 0, count = gp_layout_layers(a->model, layout, stage, &first);
        uint64_t peak = peak_of(a, stage, first, count);
        if (peak > worst) worst = peak;
    }
    return worst;
}

#define UNREACHED INT64_MAX

/* One step of the programme: squares[l] and counts[l] for `stage` when l layers are given up to and with it. */
static void extend(attempt *a, int64_t stage, uint64_t limit, const int64_t *before, int64_t *squares, uint16_t *counts) {
    for (int64_t l = 0; l <= a->layers; l++) squares[l] = UNREACHED;
    for (int64_t first = 0; first < a->layers; first++) {
        if (before[first] == UNREACHED) continue;
        int64_t most = reach(a, stage, first, limit);
        for (int64_t n = 1; n <= most; n++) {
            int64_t sum = before[first] + n * n;
            if (sum >= squares[first + n]) continue;
            squares[first + n] = sum;
            counts[first + n] = (uint16_t)n;
        }
    }
}

/* The most even split within the limit; false when memory ran out. */
static bool even_out(attempt *a, uint64_t limit, uint16_t split[GP_SPLIT_STAGES]) {
    size_t width = (size_t)a->layers + 1;
    int64_t *squares = calloc(2 * width, sizeof *squares);
    uint16_t *counts = calloc((size_t)a->stages * width, sizeof *counts);
    bool found = squares != NULL && counts != NULL;
    if (found) {
        int64_t *before = squares, *after = squares + width;
        for (size_t l = 1; l < width; l++) before[l] = UNREACHED;
        for (int64_t stage = 0; stage < a->stages; stage++) {
            extend(a, stage, limit, before, after, counts + (size_t)stage * width);
            int64_t *spare = before;
            before = after;
            after = spare;
        }
        found = before[a->layers] != UNREACHED;
    }
    int64_t given = a->layers;
    for (int64_t stage = a->stages; found && stage-- > 0; given -= split[stage])
        split[stage] = counts[(size_t)stage * width + (size_t)given];
    free(squares);
    free(counts);
    return found;
}

static void take(gp_layout *layout, const uint16_t split[GP_SPLIT_STAGES]) {
    layout->split_stages = layout->pp;
    for (int64_t i = 0; i < layout->pp; i++) layout->split[i] = split[i];
}

void gp_balance_stages(const gp_job *job, const gp_model *model, gp_layout *layout, bool evenly) {
    if (!layout->balances) return;
    attempt a = {.job = job, .model = model, .layout = *layout, .stages = layout->pp, .layers = model->shape.layers};
    a.layout.split_stages = layout->pp;
    uint16_t split[GP_SPLIT_STAGES] = {0};
    uint64_t low = 0, high = worst_of(&a, layout);
    bool better = false;
    while (high - low > high / 1000) {
        uint64_t middle = low + (high - low) / 2;
        uint16_t tried[GP_SPLIT_STAGES];
        if (!keeps(&a, middle, tried)) {
            low = middle;
            continue;
        }
        high = middle;
        better = true;
        for (int64_t i = 0; i < a.stages; i++) split[i] = tried[i];
    }
    if (!better) return;
    take(layout, split);
    /* Never fuller than the split that was found first: what the solver saw must hold. */
    if (evenly && even_out(&a, worst_of(&a, layout), split)) take(layout, split);
}
