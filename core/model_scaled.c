/* The Llama-like family in which only the size is known. */
#include <string.h>

#include "model_shapes.h"

enum { STEP = 128, MEMBERS = 16384 };

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

static void member(int64_t number, gp_shape *shape) {
    memset(shape, 0, sizeof *shape);
    shape->hidden = STEP * number;
    shape->layers = depth_at(shape->hidden);
    shape->heads = shape->kv_heads = number;
    shape->head_dim = STEP;
    shape->ffn = ((8 * shape->hidden + 2) / 3 + 255) / 256 * 256;
    shape->vocab = 32000;
    shape->norm = GP_NORM_RMS;
    shape->norms_per_layer = 2;
    shape->final_norm = true;
    shape->gated_ffn = true;
    shape->model_type = "llama";
}

void gp_model_scaled(double params, gp_shape *shape) {
    int64_t low = 1, high = MEMBERS;
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        member(middle, shape);
        if (gp_shape_params(shape) <= params) {
            low = middle;
        } else {
            high = middle;
        }
    }
    member(low, shape);
    double below = params - gp_shape_params(shape);
    member(high, shape);
    double above = gp_shape_params(shape) - params;
    gp_shape_fit_ffn(shape, params);
    /* The larger member cannot always shrink to a small size. */
    if (above < below && shape->ffn > 1) return;
    member(low, shape);
    gp_shape_fit_ffn(shape, params);
}
