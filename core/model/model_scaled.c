/* The Llama-like family in which only the size is known. */
#include <string.h>

#include "base/bisection.h"
#include "model/model_shapes.h"

/* HEAD_DIM: of every Llama. EVEN: head counts of published models are multiples of 8, so that a node of 8 GPUs can
 * share them out; the smallest models have 1, 2 or 4. */
enum { HEAD_DIM = 128, EVEN = 8, SMALL_COUNTS = 3, HEADS_MOST = 16384, LAYERS_MOST = 1024 };

/* Width and depth of the published line: Touvron et al. 2023, arXiv:2302.13971, table 2 (7B … 65B); Llama 3.2 1B;
 * Grattafiori et al. 2024, arXiv:2407.21783, table 3 (70B, 405B). */
static const struct {
    int64_t hidden, layers;
} line[] = {{0, 0}, {2048, 16}, {4096, 32}, {5120, 40}, {6656, 60}, {8192, 80}, {16384, 126}};
enum { POINTS = sizeof line / sizeof line[0] };

/* Depth at a width, on the straight line between its neighbours; beyond the last point the last line goes on. */
static int64_t depth_at(int64_t hidden) {
    int right = 1;
    while (right < POINTS - 1 && line[right].hidden < hidden) right++;
    int64_t run = line[right].hidden - line[right - 1].hidden, rise = line[right].layers - line[right - 1].layers;
    int64_t over = (hidden - line[right - 1].hidden) * rise;
    int64_t layers = line[right - 1].layers + (over + run / 2) / run;
    return layers > 0 ? layers : 1;
}

static int64_t common_divisor(int64_t a, int64_t b) {
    while (b != 0) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Least common multiple; 1 for what no member of the family could have. */
static int64_t common_multiple(int64_t a, int64_t b) {
    if (a > HEADS_MOST || b > HEADS_MOST) return 1;
    int64_t multiple = a / common_divisor(a, b) * b;
    return multiple <= HEADS_MOST ? multiple : 1;
}

static int64_t at_least_one(int64_t value) { return value > 0 ? value : 1; }

/* Heads of the family's members, in order: 1, 2, 4, 8, 16, 24 …, rounded up to what they must divide by. */
static int64_t heads_of(int64_t number, int64_t divisor) {
    bool small = number <= SMALL_COUNTS;
    int64_t heads = small ? INT64_C(1) << (number - 1) : EVEN * (number - SMALL_COUNTS);
    int64_t step = small ? divisor : common_multiple(EVEN, divisor);
    return (heads + step - 1) / step * step;
}

/* A width that a stated number of heads divides, or the width of the family's own heads. */
static int64_t width_of(const gp_family *family, int64_t number) {
    if (family->hidden > 0) return family->hidden;
    if (family->heads > 0 && family->head_dim == 0) return common_multiple(family->heads, EVEN) * number;
    int64_t divisor = common_multiple(at_least_one(family->divisor), at_least_one(family->kv_heads));
    int64_t size = family->heads > 0 || family->head_dim == 0 ? HEAD_DIM : family->head_dim;
    return size * heads_of(number, divisor);
}

static int64_t depth_of(const gp_family *family, int64_t number, int64_t hidden) {
    int64_t depth = family->hidden > 0 ? number : depth_at(hidden);
    return family->layers > 0 ? family->layers : depth > family->least_layers ? depth : family->least_layers;
}

static void member(const gp_family *family, int64_t number, gp_shape *shape) {
    memset(shape, 0, sizeof *shape);
    shape->hidden = width_of(family, number);
    shape->layers = depth_of(family, number, shape->hidden);
    shape->head_dim = family->head_dim > 0 ? family->head_dim : HEAD_DIM;
    shape->heads = family->heads > 0 ? family->heads : at_least_one(shape->hidden / shape->head_dim);
    shape->kv_heads = family->kv_heads > 0 ? family->kv_heads : shape->heads;
    shape->ffn = family->ffn > 0 ? family->ffn : ((8 * shape->hidden + 2) / 3 + 255) / 256 * 256;
    shape->vocab = family->vocab > 0 ? family->vocab : GP_VOCAB_DEFAULT;
    shape->norm = GP_NORM_RMS;
    shape->norms_per_layer = 2;
    shape->final_norm = true;
    shape->gated_ffn = true;
    shape->model_type = "llama";
}

/* The last number whose width stays a dimension, or depth a model. */
static int64_t last_member(const gp_family *family) {
    if (family->hidden > 0) return LAYERS_MOST;
    int64_t low = 1, high = HEADS_MOST;
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (width_of(family, middle) <= GP_WIDTH_MOST)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* About which member has so many parameters: layers have some 12 h^2 each (Kaplan et al. 2020, arXiv:2001.08361). */
static int64_t guess_of(double params, const gp_family *family, int64_t last) {
    int64_t low = 1, high = last;
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2, hidden = width_of(family, middle);
        double width = (double)hidden, ends = 2 * (double)(family->vocab > 0 ? family->vocab : GP_VOCAB_DEFAULT);
        if ((12 * width * (double)depth_of(family, middle, hidden) + ends) * width <= params)
            low = middle;
        else
            high = middle;
    }
    return low;
}

void gp_model_scaled(double params, const gp_family *family, gp_shape *shape) {
    bool fixed = family->layers > 0 && family->hidden > 0;
    int64_t most = fixed ? 1 : last_member(family), middle;
    gp_bisection count = {1, most, guess_of(params, family, most), 1};
    while (gp_bisection_next(&count, &middle)) {
        member(family, middle, shape);
        gp_bisection_take(&count, middle, gp_shape_params(shape) <= params);
    }
    member(family, count.low, shape);
    double below = params - gp_shape_params(shape);
    member(family, count.high, shape);
    double above = gp_shape_params(shape) - params;
    if (family->ffn == 0) gp_shape_fit_ffn(shape, params);
    /* The larger member cannot always shrink to a small size. */
    if (above < below && shape->ffn > 1) return;
    member(family, count.low, shape);
    if (family->ffn == 0) gp_shape_fit_ffn(shape, params);
}
