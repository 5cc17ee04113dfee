/* timing_engines.c: what engines reach. The rows are fitted on public measurements (tests/reports/infer.jsonl), each on
 * all rows of its engine and release, never on one source: a device, a model or a table has no number here. */
#include <string.h>

#include "timing.h"

#define US(value) ((value) / 1e6)

enum { LLAMA_CPP, LLAMA_CPP_EARLY, TRANSFORMERS, VLLM_0, VLLM_1, SGLANG, TENSORRT_LLM, GPT_FAST, AWQ_LIBRARY, OWN_KERNELS, MLX, ROWS };

static const gp_engine_speed speeds[ROWS] = {
    /* As below, but a step is launched as one graph: 157 tokens/s of an 8B model in Q4_0 on an RTX 3090
     * (github.com/ggml-org/llama.cpp, pull request 15802, September 2025). */
    [LLAMA_CPP] = {.share = 0.90, .expert_share = 0.8, .cache_share = 0.8, .limit_bytes_per_s = 1.4e12,
                   .layer_s = US(28), .expert_layer_s = US(30), .step_s = US(100), .reduce_s = US(20),
                   .compute_share = 0.3, .prefill_share = 0.52, .attention_share = 0.19, .pass_layer_s = US(666),
                   .unpack_bytes = 6.6, .duty = 1, .pass_tokens = 512, .half_accumulate = true,
                   .spread_decode = 0.25, .spread_serving = 0.5, .spread_prefill = 0.6,
                   .rate = {[GP_SPEED_GGUF] = 95}, .prefill = {[GP_SPEED_GGUF] = 144}},
    /* One kernel per operation, matrix-vector products that no longer gain above 1.4 TB/s; prompts in micro-batches. */
    [LLAMA_CPP_EARLY] = {.share = 0.90, .expert_share = 0.8, .cache_share = 0.8, .limit_bytes_per_s = 1.4e12,
                   .layer_s = US(85), .expert_layer_s = US(30), .step_s = US(100), .reduce_s = US(20),
                   .compute_share = 0.3, .prefill_share = 0.52, .attention_share = 0.19, .pass_layer_s = US(666),
                   .unpack_bytes = 6.6, .duty = 1, .pass_tokens = 512, .half_accumulate = true,
                   .spread_decode = 0.25, .spread_serving = 0.5, .spread_prefill = 0.6,
                   .rate = {[GP_SPEED_GGUF] = 95}, .prefill = {[GP_SPEED_GGUF] = 144}},
    /* PyTorch operator by operator: the host is the limit until models are large. */
    [TRANSFORMERS] = {.share = 0.75, .expert_share = 0.8, .cache_share = 0.115, .layer_s = US(542),
                      .expert_layer_s = US(6600), .step_s = US(1000), .reduce_s = US(20), .compute_share = 0.5,
                      .prefill_share = 0.88, .attention_share = 0.3, .pass_layer_s = US(17), .duty = 1,
                      .host_bound = true, .expanded_cache = true,
                      .spread_decode = 0.45, .spread_serving = 0.5, .spread_prefill = 0.5,
                      .rate = {[GP_SPEED_W4] = 34, [GP_SPEED_W8] = 73},
                      .layer = {[GP_SPEED_W4] = 142, [GP_SPEED_W8] = 206, [GP_SPEED_FP8] = 357}},
    /* Releases before 0.8: the first engine. */
    [VLLM_0] = {.share = 0.88, .expert_share = 0.17, .cache_share = 0.23, .layer_s = US(110), .expert_layer_s = US(145),
                .step_s = US(860), .sequence_s = US(30), .reduce_s = US(4), .compute_share = 0.3, .prefill_share = 0.5,
                .attention_share = 0.3, .pass_layer_s = US(380), .duty = 0.8, .server = true,
                .spread_decode = 0.6, .spread_serving = 1, .spread_prefill = 0.6, .rate = {[GP_SPEED_W8] = 78}},
    [VLLM_1] = {.share = 0.75, .expert_share = 0.46, .cache_share = 0.91, .layer_s = US(30), .expert_layer_s = US(9),
                .step_s = US(900), .sequence_s = US(20), .reduce_s = US(8.5), .compute_share = 0.40,
                .prefill_share = 0.59, .attention_share = 0.3, .pass_layer_s = US(336), .duty = 0.72, .server = true,
                .spread_decode = 0.5, .spread_serving = 1.45, .spread_prefill = 0.6,
                .rate = {[GP_SPEED_FP8] = 119, [GP_SPEED_FP4] = 130}, .layer = {[GP_SPEED_FP8] = 105, [GP_SPEED_FP4] = 115},
                .compute = {[GP_SPEED_16] = 100, [GP_SPEED_FP4] = 100}},
    [SGLANG] = {.share = 0.80, .expert_share = 0.4, .cache_share = 0.9, .layer_s = US(35), .expert_layer_s = US(40),
                .step_s = US(1000), .sequence_s = US(10), .reduce_s = US(10), .compute_share = 0.213,
                .prefill_share = 0.45, .attention_share = 0.3, .pass_layer_s = US(96), .duty = 0.85, .most_sequences = 2048, .server = true,
                .spread_decode = 0.8, .spread_serving = 1, .spread_prefill = 0.6,
                .rate = {[GP_SPEED_16] = 47, [GP_SPEED_W8] = 27, [GP_SPEED_W4] = 33, [GP_SPEED_FP8] = 125, [GP_SPEED_FP4] = 125},
                .layer = {[GP_SPEED_FP8] = 39, [GP_SPEED_FP4] = 36}},
    [TENSORRT_LLM] = {.share = 0.80, .expert_share = 0.73, .cache_share = 0.91, .layer_s = US(21.3),
                      .expert_layer_s = US(55), .step_s = US(590), .sequence_s = US(6.6), .reduce_s = US(5.2),
                      .compute_share = 0.45, .prefill_share = 0.83, .attention_share = 0.3, .pass_layer_s = US(303),
                      .duty = 1, .most_sequences = 2048, .server = true,
                      .spread_decode = 0.4, .spread_serving = 0.85, .spread_prefill = 0.5,
                      .rate = {[GP_SPEED_FP8] = 116, [GP_SPEED_FP4] = 91}, .layer = {[GP_SPEED_FP8] = 200, [GP_SPEED_FP4] = 176},
                      .compute = {[GP_SPEED_FP4] = 60}, .prefill = {[GP_SPEED_W4] = 128}},
    /* torch.compile and one graph; the static cache goes through unfused attention. */
    [GPT_FAST] = {.share = 0.70, .expert_share = 1.1, .cache_share = 0.015, .layer_s = US(8), .expert_layer_s = US(19),
                  .step_s = US(100), .reduce_s = US(19), .compute_share = 0.5, .prefill_share = 0.5,
                  .attention_share = 0.3, .pass_layer_s = US(100), .duty = 1, .static_cache = true,
                  .spread_decode = 0.52, .spread_serving = 0.6, .spread_prefill = 0.6,
                  .rate = {[GP_SPEED_W8] = 96, [GP_SPEED_W4] = 74}},
    [AWQ_LIBRARY] = {.share = 0.80, .expert_share = 0.8, .cache_share = 0.44, .layer_s = US(16), .expert_layer_s = US(4),
                     .step_s = US(100), .reduce_s = US(20), .compute_share = 0.3, .prefill_share = 0.36,
                     .attention_share = 0.26, .pass_layer_s = US(915), .unpack_bytes = 1.7, .duty = 1,
                     .spread_decode = 0.35, .spread_serving = 0.5, .spread_prefill = 1.5},
    [OWN_KERNELS] = {.share = 0.97, .expert_share = 0.8, .cache_share = 0.8, .layer_s = US(71), .expert_layer_s = US(30),
                     .step_s = US(100), .reduce_s = US(20), .compute_share = 0.3, .prefill_share = 0.6,
                     .attention_share = 0.9, .pass_layer_s = US(14), .duty = 1, .half_accumulate = true,
                     .spread_decode = 0.25, .spread_serving = 0.5, .spread_prefill = 0.3},
    [MLX] = {.share = 0.85, .expert_share = 0.8, .cache_share = 0.8, .layer_s = US(85), .expert_layer_s = US(30),
             .step_s = US(100), .reduce_s = US(20), .compute_share = 0.3, .prefill_share = 0.65,
             .attention_share = 0.3, .pass_layer_s = US(100), .duty = 1,
             .spread_decode = 0.3, .spread_serving = 0.5, .spread_prefill = 0.6},
};

/* By choice of infer.engine, in its order; engines without measurements of their own take the row of their kin. */
static const uint8_t rows[] = {VLLM_1,      SGLANG,   TENSORRT_LLM, LLAMA_CPP,   LLAMA_CPP,   TRANSFORMERS, OWN_KERNELS, OWN_KERNELS,
                               GPT_FAST,    AWQ_LIBRARY, OWN_KERNELS, OWN_KERNELS, MLX,       VLLM_1,       SGLANG,      LLAMA_CPP};
enum { ENGINE_COUNT = sizeof rows / sizeof rows[0] };

const gp_engine_speed *gp_engine_speed_of(const gp_job *job, const gp_recipe *recipe) {
    const int second_engine = 8; /* vLLM 0.8 */
    int64_t engine = gp_known(job, GP_FIELD_ENGINE) ? gp_whole(job, GP_FIELD_ENGINE) : GP_CHOICE_ENGINE_VLLM;
    if (engine == GP_CHOICE_ENGINE_VLLM && recipe->release >= 0 && recipe->release < second_engine)
        return &speeds[VLLM_0];
    /* A step in which the host takes part is not one graph. */
    bool by_kernel = recipe->before_graphs || recipe->experts_on_host;
    uint8_t row = engine >= 0 && engine < ENGINE_COUNT ? rows[engine] : VLLM_1;
    return &speeds[row == LLAMA_CPP && by_kernel ? LLAMA_CPP_EARLY : row];
}

gp_speed_format gp_speed_format_of(const gp_job *job, const gp_recipe *recipe) {
    const char *name = gp_known(job, GP_FIELD_WEIGHTS) ? job->settings[GP_FIELD_WEIGHTS].text : NULL;
    double bits = recipe->linear_bits;
    if (bits >= 16) return GP_SPEED_16;
    if (name != NULL && strncmp(name, "gguf", 4) == 0) return GP_SPEED_GGUF;
    if (name != NULL && strstr(name, "fp8") != NULL) return GP_SPEED_FP8;
    if (name != NULL && strstr(name, "fp4") != NULL) return GP_SPEED_FP4;
    return bits > 6 ? GP_SPEED_W8 : GP_SPEED_W4;
}
