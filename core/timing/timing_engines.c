/* timing_engines.c: what engines reach. The rows are fitted on public measurements (tests/reports/infer.jsonl), each on
 * all rows of its engine and release, never on one source: a device, a model or a table has no number here. */
#include <string.h>

#include "timing/timing.h"

#define US(value) ((value) / 1e6)

enum {
    LLAMA_CPP, LLAMA_CPP_EARLY, LLAMA_CPP_2023, LLAMA_CPP_METAL, TRANSFORMERS, TRANSFORMERS_2024, TRANSFORMERS_2023,
    VLLM_0, VLLM_1, SGLANG, SGLANG_0_4,
    TENSORRT_LLM, GPT_FAST, AWQ_LIBRARY, OWN_KERNELS, MLX, ROWS
};

/* What transformers reaches of a device in every release. */
#define TRANSFORMERS_DEVICE \
    .share = 0.82, .expert_share = 0.8, .cache_share = 0.115, .expert_layer_s = US(6600), .step_s = US(1000), \
    .hook_s = US(600), .reduce_s = US(20), .compute_share = 0.5, .prefill_share = 0.88, .attention_share = 0.3, \
    .pass_layer_s = US(17), .duty = 1, .host_bound = true, .expanded_cache = true, .spread_decode = 0.25, \
    .spread_serving = 0.5, .spread_prefill = 0.5, .rate = {[GP_SPEED_W4] = 34, [GP_SPEED_W8] = 73, [GP_SPEED_AWQ] = 34}

/* Kernels that a layer of a server has beyond those of plain attention, and what a link gives in a step: the same in all
 * three, fitted on all of them. */
#define SERVED_KERNELS .latent_layers = 0.23, .index_layers = 2.1, .shared_layers = 0.22, .step_link_share = 0.39

static const gp_engine_speed speeds[ROWS] = {
    /* As below, but a step is launched as one graph: 157 tokens/s of an 8B model in Q4_0 on an RTX 3090
     * (github.com/ggml-org/llama.cpp, pull request 15802, September 2025); prompts are multiplied with packed weights on
     * 8-bit tensor cores, not unpacked first (pull requests 7676 and 8062, June 2024). */
    [LLAMA_CPP] = {.share = 0.90, .expert_share = 0.8, .cache_share = 0.8, .limit_bytes_per_s = 1.4e12,
                   .layer_s = US(28), .expert_layer_s = US(30), .step_s = US(100), .reduce_s = US(20),
                   .compute_share = 0.3, .prefill_share = 0.52, .attention_share = 0.4, .pass_layer_s = US(80),
                   .stage_s = US(200), .duty = 1, .pass_tokens = 512, .half_accumulate = true,
                   .spread_decode = 0.25, .spread_serving = 0.5, .spread_prefill = 0.4,
                   .rate = {[GP_SPEED_GGUF] = 95}},
    /* One kernel per operation, matrix-vector products that no longer gain above 1.4 TB/s; prompts in micro-batches. */
    [LLAMA_CPP_EARLY] = {.share = 0.90, .expert_share = 0.8, .cache_share = 0.8, .limit_bytes_per_s = 1.4e12,
                   .layer_s = US(85), .expert_layer_s = US(30), .step_s = US(100), .reduce_s = US(20),
                   .compute_share = 0.3, .prefill_share = 0.65, .attention_share = 0.053, .pass_layer_s = US(450),
                   .unpack_bytes = 5.2, .stage_s = US(200), .duty = 1, .pass_tokens = 512,
                   .half_accumulate = true, .half_scores = true,
                   .spread_decode = 0.25, .spread_serving = 0.5, .spread_prefill = 0.4,
                   .rate = {[GP_SPEED_GGUF] = 95}, .prefill = {[GP_SPEED_GGUF] = 118}},
    /* Builds of 2023, before the scheduler: the same kernels for a token, a prompt launched far more slowly. */
    [LLAMA_CPP_2023] = {.share = 0.90, .expert_share = 0.8, .cache_share = 0.8, .limit_bytes_per_s = 1.4e12,
                   .layer_s = US(85), .expert_layer_s = US(30), .step_s = US(100), .reduce_s = US(20),
                   .compute_share = 0.3, .prefill_share = 0.80, .attention_share = 0.12, .pass_layer_s = US(1600),
                   .unpack_bytes = 7.1, .stage_s = US(200), .duty = 1, .pass_tokens = 512,
                   .half_accumulate = true, .half_scores = true,
                   .spread_decode = 0.25, .spread_serving = 0.5, .spread_prefill = 0.4,
                   .rate = {[GP_SPEED_GGUF] = 95}, .prefill = {[GP_SPEED_GGUF] = 135}},
    /* On Apple's devices a token's weights are unpacked by the shader cores, which is what limits the smaller of them. */
    [LLAMA_CPP_METAL] = {.share = 0.865, .expert_share = 0.8, .cache_share = 0.8, .unpack_flop = 29,
                   .layer_s = US(132), .expert_layer_s = US(30), .step_s = US(100), .reduce_s = US(20),
                   .compute_share = 0.3, .prefill_share = 0.75, .attention_share = 0.21, .pass_layer_s = US(80),
                   .duty = 1, .pass_tokens = 512,
                   .spread_decode = 0.25, .spread_serving = 0.5, .spread_prefill = 0.4,
                   .prefill = {[GP_SPEED_GGUF] = 83}},
    /* PyTorch operator by operator: the host is the limit until models are large, and releases have made it faster. */
    [TRANSFORMERS] = {TRANSFORMERS_DEVICE, .layer_s = US(605),
                      .layer = {[GP_SPEED_W8] = 222, [GP_SPEED_AWQ] = 90, [GP_SPEED_FP8] = 270}},
    [TRANSFORMERS_2024] = {TRANSFORMERS_DEVICE, .layer_s = US(870),
                           .layer = {[GP_SPEED_W4] = 93, [GP_SPEED_W8] = 127, [GP_SPEED_AWQ] = 120}},
    [TRANSFORMERS_2023] = {TRANSFORMERS_DEVICE, .layer_s = US(1600), .layer = {[GP_SPEED_W4] = 75}},
    /* Releases before 0.8: the first engine. */
    [VLLM_0] = {.share = 0.88, .expert_share = 0.17, .cache_share = 0.23, .layer_s = US(110), .expert_layer_s = US(145),
                .kernel_layer_s = US(340),
                .step_s = US(860), .sequence_s = US(30), .reduce_s = US(4), .compute_share = 0.3, .prefill_share = 0.5,
                .attention_share = 0.3, .pass_layer_s = US(380), .duty = 0.8, .server = true,
                .spread_decode = 0.42, .spread_serving = 1, .spread_prefill = 0.6, .rate = {[GP_SPEED_W8] = 90}},
    [VLLM_1] = {.share = 0.608, .expert_share = 1, .cache_share = 0.804, .layer_s = US(41.1),
                .expert_layer_s = US(13.8), SERVED_KERNELS, .routed_s = US(0.27), .step_s = US(378),
                .sequence_s = US(4.05), .answer_s = US(70.4), .kernel_layer_s = US(340), .reduce_s = US(8.64),
                .compute_share = 0.231, .prefill_share = 0.792, .attention_share = 0.3, .pass_layer_s = US(609),
                .duty = 0.56, .queue_duty = 0.83, .server = true,
                .spread_decode = 0.5, .spread_serving = 0.95, .spread_prefill = 0.6,
                .expert_layer = {[GP_SPEED_W4] = 137, [GP_SPEED_FP4_UNPACKED] = 128, [GP_SPEED_FP8] = 292,
                                 [GP_SPEED_FP4] = 43},
                .rate = {[GP_SPEED_W8] = 38, [GP_SPEED_W4] = 70, [GP_SPEED_FP4_UNPACKED] = 116,
                         [GP_SPEED_FP8] = 150, [GP_SPEED_FP4] = 150},
                .layer = {[GP_SPEED_W8] = 133, [GP_SPEED_W4] = 151, [GP_SPEED_FP4_UNPACKED] = 123,
                          [GP_SPEED_FP8] = 112, [GP_SPEED_FP4] = 118},
                .compute = {[GP_SPEED_FP8] = 106, [GP_SPEED_FP4] = 137},
                .prefill = {[GP_SPEED_W8] = 94, [GP_SPEED_W4] = 67, [GP_SPEED_FP4_UNPACKED] = 67,
                            [GP_SPEED_FP8] = 147, [GP_SPEED_FP4] = 66}},
    [SGLANG] = {.share = 0.964, .expert_share = 0.761, .cache_share = 0.97, .layer_s = US(28),
                .expert_layer_s = US(51.8), SERVED_KERNELS, .routed_s = US(1.36), .step_s = US(2260),
                .sequence_s = US(12.4), .reduce_s = US(3.92), .compute_share = 0.296, .prefill_share = 0.69,
                .attention_share = 0.609, .pass_layer_s = US(27.1), .duty = 0.692, .prompts_first = 0.688,
                .kernel_layer_s = US(340), /* without graphs PyTorch launches the same kernels as under vLLM */
                .most_sequences = 2048, .server = true,
                .spread_decode = 0.4, .spread_serving = 0.5, .spread_prefill = 0.6,
                .expert_layer = {[GP_SPEED_FP8] = 50, [GP_SPEED_FP4] = 39},
                .rate = {[GP_SPEED_FP8] = 128, [GP_SPEED_FP4] = 150},
                .layer = {[GP_SPEED_FP8] = 126, [GP_SPEED_FP4] = 128},
                .compute = {[GP_SPEED_FP8] = 74, [GP_SPEED_FP4] = 145},
                .prefill = {[GP_SPEED_FP8] = 52, [GP_SPEED_FP4] = 64}},
    /* Releases before 0.5. */
    [SGLANG_0_4] = {.share = 0.37, .expert_share = 0.8, .cache_share = 0.9, .layer_s = US(60), .expert_layer_s = US(40),
                    .kernel_layer_s = US(340),
                    .step_s = US(100), .sequence_s = US(10), .reduce_s = US(10), .compute_share = 0.213,
                    .prefill_share = 0.45, .attention_share = 0.3, .pass_layer_s = US(96), .duty = 0.85,
                    .most_sequences = 2048, .server = true,
                    .spread_decode = 0.25, .spread_serving = 1, .spread_prefill = 0.6,
                    .rate = {[GP_SPEED_W8] = 75, [GP_SPEED_W4] = 75, [GP_SPEED_AWQ] = 75, [GP_SPEED_FP8] = 127},
                    .layer = {[GP_SPEED_W8] = 115, [GP_SPEED_W4] = 115, [GP_SPEED_AWQ] = 118, [GP_SPEED_FP8] = 110},
                    /* Experts of GPTQ take as long whatever their size (qwen.readthedocs.io, Qwen3: 30B on one GPU
                     * and 235B on four). */
                    .expert_layer = {[GP_SPEED_W4] = 1500}},
    [TENSORRT_LLM] = {.share = 0.79, .expert_share = 0.998, .cache_share = 0.776, .layer_s = US(27),
                      .expert_layer_s = US(36.8), SERVED_KERNELS, .routed_s = US(0.278), .step_s = US(655),
                      .sequence_s = US(1.68), .reduce_s = US(1.83), .compute_share = 0.36,
                      .prefill_share = 0.833, .attention_share = 0.321, .pass_layer_s = US(236),
                      .duty = 0.957, .most_sequences = 2048, .keeps_room = true, .server = true,
                      .spread_decode = 0.4, .spread_serving = 0.6, .spread_prefill = 0.5,
                      .expert_layer = {[GP_SPEED_FP4_UNPACKED] = 220, [GP_SPEED_FP8] = 294, [GP_SPEED_FP4] = 20},
                      .rate = {[GP_SPEED_FP4_UNPACKED] = 122, [GP_SPEED_FP8] = 110, [GP_SPEED_FP4] = 105},
                      .layer = {[GP_SPEED_FP4_UNPACKED] = 198, [GP_SPEED_FP8] = 139, [GP_SPEED_FP4] = 200},
                      .compute = {[GP_SPEED_FP4_UNPACKED] = 90, [GP_SPEED_FP8] = 149, [GP_SPEED_FP4] = 91},
                      .prefill = {[GP_SPEED_W4] = 128, [GP_SPEED_AWQ] = 128, [GP_SPEED_FP4_UNPACKED] = 50,
                                  [GP_SPEED_FP8] = 82, [GP_SPEED_FP4] = 67}},
    /* torch.compile and one graph; the static cache is repeated for every query head and goes through unfused attention
     * (github.com/pytorch-labs/gpt-fast model.py). */
    [GPT_FAST] = {.share = 0.70, .expert_share = 1.1, .cache_share = 0.06, .layer_s = US(8), .expert_layer_s = US(19),
                  .step_s = US(100), .reduce_s = US(19), .compute_share = 0.5, .prefill_share = 0.5,
                  .attention_share = 0.3, .pass_layer_s = US(100), .duty = 1, .static_cache = true,
                  .expanded_cache = true,
                  .spread_decode = 0.52, .spread_serving = 0.6, .spread_prefill = 0.6,
                  .rate = {[GP_SPEED_W8] = 96, [GP_SPEED_W4] = 74, [GP_SPEED_AWQ] = 74}},
    [AWQ_LIBRARY] = {.share = 0.80, .expert_share = 0.8, .cache_share = 0.44, .layer_s = US(16), .expert_layer_s = US(4),
                     .step_s = US(100), .reduce_s = US(20), .compute_share = 0.3, .prefill_share = 0.36,
                     .attention_share = 0.26, .pass_layer_s = US(915), .unpack_bytes = 1.7,
                     .packed_experts = true, .duty = 1,
                     .spread_decode = 0.35, .spread_serving = 0.5, .spread_prefill = 1.5},
    [OWN_KERNELS] = {.share = 0.97, .expert_share = 0.8, .cache_share = 0.8, .limit_bytes_per_s = 1.4e12, .layer_s = US(71), .expert_layer_s = US(30),
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

/* Transformers 4.36 came with the year 2024, 4.48 with 2025. */
static int transformers_row(int release) {
    const int first_of_2024 = 36, first_of_2025 = 48;
    if (release < 0 || release >= first_of_2025) return TRANSFORMERS;
    return release < first_of_2024 ? TRANSFORMERS_2023 : TRANSFORMERS_2024;
}

const gp_engine_speed *gp_engine_speed_of(const gp_job *job, const gp_recipe *recipe, bool experts) {
    const int vllm_1 = 8, sglang_0_5 = 5; /* the second engine of vLLM came with 0.8 */
    int64_t engine = gp_known(job, GP_FIELD_ENGINE) ? gp_whole(job, GP_FIELD_ENGINE) : GP_CHOICE_ENGINE_VLLM;
    int release = recipe->release;
    if (engine == GP_CHOICE_ENGINE_VLLM && release >= 0 && release < vllm_1) return &speeds[VLLM_0];
    if (engine == GP_CHOICE_ENGINE_SGLANG && release >= 0 && release < sglang_0_5) return &speeds[SGLANG_0_4];
    if (engine == GP_CHOICE_ENGINE_TRANSFORMERS) return &speeds[transformers_row(release)];
    /* A step in which the host takes part is not one graph, nor is one with experts in ik_llama.cpp. */
    bool by_kernel = recipe->before_graphs || recipe->host_expert_layers > 0;
    by_kernel = by_kernel || (engine == GP_CHOICE_ENGINE_IK_LLAMA_CPP && experts);
    uint8_t row = engine >= 0 && engine < ENGINE_COUNT ? rows[engine] : VLLM_1;
    if (row != LLAMA_CPP) return &speeds[row];
    if (recipe->unified_memory) return &speeds[LLAMA_CPP_METAL];
    if (recipe->before_scheduler) return &speeds[LLAMA_CPP_2023];
    return &speeds[by_kernel ? LLAMA_CPP_EARLY : LLAMA_CPP];
}

gp_speed_format gp_speed_format_of(const gp_job *job, const gp_recipe *recipe) {
    const char *name = gp_known(job, GP_FIELD_WEIGHTS) ? job->settings[GP_FIELD_WEIGHTS].text : NULL;
    double bits = recipe->linear_bits;
    if (bits >= 16) return GP_SPEED_16;
    if (recipe->engine == GP_ENGINE_LLAMA_CPP) return GP_SPEED_GGUF;
    if (name != NULL && strncmp(name, "gguf", 4) == 0) return GP_SPEED_GGUF;
    if (name != NULL && strstr(name, "fp8") != NULL) return GP_SPEED_FP8;
    if (name != NULL && strstr(name, "fp4") != NULL) return GP_SPEED_FP4;
    if (name != NULL && strncmp(name, "awq", 3) == 0) return GP_SPEED_AWQ;
    return bits > 6 ? GP_SPEED_W8 : GP_SPEED_W4;
}
