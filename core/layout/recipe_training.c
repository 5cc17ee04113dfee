/* recipe_training.c: the habits of training frameworks, and what a training job makes of them. */
#include <string.h>

#include "layout/recipe_parts.h"

/* One row per choice of train.framework, in its order. `reserved` is the allocator's surplus over what torch counts as
 * allocated, of torchtitan's over all but the logits: Megatron 1.03-1.09 (median 1.04 of 43 runs), FSDP with the pools of its
 * streams 1.2-1.36. `below` and `above` are fitted: with the spread of the items, nine of ten measurements of tests/reports lie between. Where lengths
 * vary, as under the Trainer, the allocator's pool grows beyond what one length needs. */
static const gp_framework frameworks[] = {
    {.name = "hf-trainer", .kernels = GP_KERNELS_EAGER, .reserved = 0.06, .below = 0.12, .above = 0.30,
     .hugging_face = true, .loads_fp32 = true},
    {.name = "megatron", .kernels = GP_KERNELS_FUSED, .reserved = 0.04, .below = 0.05, .above = 0.08,
     .main_gradients = true, .master_weights = true, .separate_ends = true},
    {.name = "deepspeed", .kernels = GP_KERNELS_EAGER, .reserved = 0.10, .below = 0.10, .above = 0.12,
     .master_weights = true, .buckets = true, .hugging_face = true, .separate_ends = true},
    {.name = "fsdp", .kernels = GP_KERNELS_EAGER, .reserved = 0.09, .below = 0.20, .above = 0.25,
     .master_weights = true, .holds_logits = true, .fsdp = true},
    {.name = "torchtitan", .kernels = GP_KERNELS_EAGER, .reserved = 0.075, .below = 0.10, .above = 0.18,
     .fp32_weights = true, .expands_kv = true, .fsdp = true, .separate_ends = true, .splits_batch = true,
     .chunks_loss = true},
    {.name = "torchtune", .kernels = GP_KERNELS_EAGER, .reserved = 0.10, .below = 0.15, .above = 0.20,
     .expands_kv = true, .separate_ends = true, .narrow_adapters = true},
    {.name = "litgpt", .kernels = GP_KERNELS_EAGER, .reserved = 0.06, .below = 0.02, .above = 0.06,
     .expands_kv = true, .fused_qkv = true, .adapter_dropout = true, .loads_whole = true,
     .narrow_adapters = true},
    {.name = "llm-foundry", .kernels = GP_KERNELS_EAGER, .reserved = 0.12, .below = 0.15, .above = 0.20,
     .fp32_weights = true, .fsdp = true},
    {.name = "peft", .kernels = GP_KERNELS_EAGER, .reserved = 0.02, .below = 0.05, .above = 0.15,
     .hugging_face = true},
    {.name = "axolotl", .kernels = GP_KERNELS_EAGER, .reserved = 0.06, .below = 0.12, .above = 0.30,
     .hugging_face = true},
    {.name = "llama-factory", .kernels = GP_KERNELS_EAGER, .reserved = 0.06, .below = 0.15, .above = 0.30,
     .hugging_face = true, .loads_fp32 = true},
    {.name = "unsloth", .kernels = GP_KERNELS_FUSED, .reserved = 0.06, .below = 0.15, .above = 0.30,
     .hugging_face = true},
    {.name = "llmq", .kernels = GP_KERNELS_FUSED, .reserved = 0.02, .below = 0.15, .above = 0.15},
    {.name = "megatron-deepspeed", .kernels = GP_KERNELS_FUSED, .reserved = 0.12, .below = 0.08, .above = 0.26,
     .main_gradients = true, .master_weights = true, .buckets = true, .separate_ends = true, .sums_apart = true},
    {.name = "fsdp-qlora", .kernels = GP_KERNELS_EAGER, .reserved = 0.15, .below = 0.04, .above = 0.08,
     .holds_logits = true, .fsdp = true},
    {.name = "nemo-automodel", .kernels = GP_KERNELS_EAGER, .reserved = 0.12, .below = 0.15, .above = 0.20,
     .fsdp = true, .separate_ends = true},
    {.name = "maxtext", .kernels = GP_KERNELS_FUSED, .reserved = 0.02, .below = 0.15, .above = 0.20,
     .fp32_weights = true},
    {.name = "paxml", .kernels = GP_KERNELS_FUSED, .reserved = 0.02, .below = 0.15, .above = 0.20,
     .fp32_weights = true},
    {.name = "other", .kernels = GP_KERNELS_EAGER, .reserved = 0.08, .below = 0.20, .above = 0.35},
};
enum { FRAMEWORK_COUNT = sizeof frameworks / sizeof frameworks[0], FRAMEWORK_OTHER = FRAMEWORK_COUNT - 1 };

/* Optimizer states per parameter of a matrix, one row per choice of train.optimizer, in its order. `follows_weights`:
 * without a master copy PyTorch's optimizers keep their states in the type of the parameter. Block-wise 8-bit states
 * carry one fp32 scale per 256 values (Dettmers et al. 2022, arXiv:2110.02861), 4-bit ones per 128 (torchao optim). */
typedef struct {
    double bytes, textbook_bytes;
    int states;
    bool follows_weights, on_host, factored;
} optimizer_row;

static const optimizer_row optimizers[] = {
    {8, 8, 2, true, false, false},                  /* adamw */
    {4, 4, 2, false, false, false},                 /* adamw-bf16-states */
    {2 + 4.0 * 2 / 256, 2, 2, false, false, false}, /* adamw8bit */
    {1 + 4.0 * 2 / 128, 1, 2, false, false, false}, /* adamw4bit */
    {8, 8, 2, true, true, false},                   /* paged-adamw */
    {2 + 4.0 * 2 / 256, 2, 2, false, true, false},  /* paged-adamw8bit */
    {0, 4, 0, false, false, false},                 /* sgd: none without momentum, which the course's has */
    {4, 4, 1, true, false, false},                  /* lion */
    {0, 0, 0, false, false, true},                  /* adafactor */
    {4, 4, 1, true, false, false},                  /* muon */
    {8, 8, 2, true, false, false},                  /* badam */
    {4, 4, 1, true, false, false},                  /* sgd-momentum */
};
enum { OPTIMIZER_COUNT = sizeof optimizers / sizeof optimizers[0], ADAMW_BF16_STATES = 1 };

static const gp_framework *framework_of(const gp_job *job) {
    int64_t index = gp_known(job, GP_FIELD_FRAMEWORK) ? gp_whole(job, GP_FIELD_FRAMEWORK) : -1;
    bool listed = index >= 0 && index < FRAMEWORK_COUNT;
    return &frameworks[listed ? index : FRAMEWORK_OTHER];
}

static const optimizer_row *optimizer_of(const gp_job *job) {
    int64_t index = gp_known(job, GP_FIELD_OPTIMIZER) ? gp_whole(job, GP_FIELD_OPTIMIZER) : 0;
    return &optimizers[index >= 0 && index < OPTIMIZER_COUNT ? index : 0];
}

int gp_recipe_float_bytes(const char *type) {
    if (gp_begins_with(type, "fp32")) return 4;
    return gp_begins_with(type, "bf16") || gp_begins_with(type, "fp16") ? 2 : 0;
}

/* Bytes of a stored trainable parameter. */
static double weight_bytes(const gp_job *job, const gp_framework *framework) {
    bool fp32_compute = gp_is_choice(job, GP_FIELD_PRECISION, GP_CHOICE_PRECISION_FP32);
    bool pretrain = gp_task_of(job) == GP_PRETRAIN;
    /* accelerate stores what FSDP trains in fp32 whenever mixed precision is on. */
    bool upcast = framework->hugging_face && gp_recipe_zero_of(gp_recipe_text(job, GP_FIELD_FSDP)) >= 0 && !gp_is_adapter(job);
    /* from_pretrained loads in fp32, and the Trainer's bf16 and fp16 are autocast. */
    bool sixteen = gp_known(job, GP_FIELD_MASTER_WEIGHTS) && gp_whole(job, GP_FIELD_MASTER_WEIGHTS) == 0;
    upcast = upcast || (framework->loads_fp32 && !sixteen && !gp_is_adapter(job));
    if (!gp_known(job, GP_FIELD_TRAIN_WEIGHTS))
        return fp32_compute || upcast || (framework->fp32_weights && pretrain) ? 4 : 2;
    int64_t choice = gp_whole(job, GP_FIELD_TRAIN_WEIGHTS);
    return choice == GP_CHOICE_TRAIN_WEIGHTS_FP32 ? 4 : choice == GP_CHOICE_TRAIN_WEIGHTS_FP8 ? 1 : 2;
}

/* QLoRA, and LoRA over a base that the job names a packed format for. */
static bool is_quantised(const gp_job *job) {
    bool named = gp_origin_of(job, GP_FIELD_QUANT) == GP_GIVEN;
    return gp_task_of(job) == GP_QLORA || (gp_task_of(job) == GP_LORA && named);
}

static void set_trained_weights(const gp_job *job, const gp_model *model, gp_recipe *recipe) {
    double bytes = weight_bytes(job, recipe->framework);
    recipe->linear_bits = recipe->other_bits = 8 * bytes;
    recipe->textbook_bits = 8 * bytes;
    if (!is_quantised(job)) return;
    int length = 0;
    int64_t choice = gp_known(job, GP_FIELD_QUANT) ? gp_whole(job, GP_FIELD_QUANT) : 0;
    const char *quant = gp_choice_text(GP_FIELD_QUANT, choice, &length);
    char name[32] = "";
    if (length < (int)sizeof name) memcpy(name, quant, (size_t)length);
    gp_recipe_set_format(job, name, model, recipe);
    recipe->packed_frozen = true;
}

/* PEFT keeps the adapters of a 16-bit base in fp32 (autocast_adapter_dtype), unless the job says otherwise. torchtune and
 * litgpt make them in the type of the model (torchtune/modules/peft/lora.py, litgpt/finetune/lora.py: bf16-true). */
static double adapter_bytes(const gp_job *job, const gp_framework *framework, const char *gradient) {
    int stated = gp_recipe_float_bytes(gp_recipe_text(job, GP_FIELD_LORA_DTYPE));
    if (stated == 0) stated = gp_recipe_float_bytes(gradient);
    if (stated > 0) return stated;
    return framework->narrow_adapters && weight_bytes(job, framework) <= 2 ? 2 : 4;
}

/* What the job says outright counts; habits of frameworks do not reach the course notes. fp32 training keeps weights and
 * gradients in 4 bytes, without another copy. Adapters are trained parameters like any other. */
static gp_textbook_state textbook_state_of(const gp_job *job, double optimizer_bytes) {
    bool fp32 = gp_is_choice(job, GP_FIELD_PRECISION, GP_CHOICE_PRECISION_FP32);
    double weights = fp32 ? 4 : 2;
    if (!gp_is_adapter(job) && gp_origin_of(job, GP_FIELD_TRAIN_WEIGHTS) == GP_GIVEN) {
        int64_t choice = gp_whole(job, GP_FIELD_TRAIN_WEIGHTS);
        weights = choice == GP_CHOICE_TRAIN_WEIGHTS_FP32 ? 4 : choice == GP_CHOICE_TRAIN_WEIGHTS_FP8 ? 1 : 2;
    }
    gp_textbook_state state = {weights, weights < 2 ? 2 : weights, weights < 4 ? 4 : 0, optimizer_bytes};
    if (gp_origin_of(job, GP_FIELD_MASTER_WEIGHTS) == GP_GIVEN && gp_whole(job, GP_FIELD_MASTER_WEIGHTS) == 0)
        state.master = 0;
    if (gp_origin_of(job, GP_FIELD_GRAD_DTYPE) != GP_GIVEN) return state;
    const char *gradient = gp_recipe_text(job, GP_FIELD_GRAD_DTYPE);
    if (gp_recipe_float_bytes(gradient) > 0) state.gradients = gp_recipe_float_bytes(gradient);
    return state;
}

static void set_states(const gp_job *job, gp_recipe *recipe) {
    const gp_framework *framework = recipe->framework;
    const optimizer_row *optimizer = optimizer_of(job);
    bool adapter = gp_is_adapter(job);
    const char *gradient = gp_recipe_text(job, GP_FIELD_GRAD_DTYPE);
    double stored = adapter ? adapter_bytes(job, framework, gradient) : weight_bytes(job, framework);
    bool habit = framework->master_weights && optimizer != &optimizers[ADAMW_BF16_STATES];
    bool wants_master =
        gp_known(job, GP_FIELD_MASTER_WEIGHTS) ? gp_whole(job, GP_FIELD_MASTER_WEIGHTS) != 0 : habit;
    recipe->adapter_bytes = stored;
    recipe->master_bytes = wants_master && stored < 4 ? 4 : 0;
    recipe->gradient_bytes = framework->main_gradients && !adapter ? 4 : stored < 2 ? 2 : stored;
    if (gp_recipe_float_bytes(gradient) > 0) recipe->gradient_bytes = gp_recipe_float_bytes(gradient);
    bool half = gp_is_choice(job, GP_FIELD_PRECISION, GP_CHOICE_PRECISION_FP16);
    if (framework->sums_apart && !adapter) recipe->gradient_bytes = half ? 2 : 6;
    bool narrow = optimizer->follows_weights && recipe->master_bytes <= 0 && stored < 4;
    recipe->optimizer_bytes = narrow ? 2.0 * optimizer->states : optimizer->bytes;
    recipe->textbook_state = textbook_state_of(job, optimizer->textbook_bytes);
    recipe->factored_optimizer = optimizer->factored;
    recipe->optimizer_on_host = optimizer->on_host;
}

bool gp_recipe_offloads_weights(const gp_job *job) {
    int64_t choice = gp_known(job, GP_FIELD_OFFLOAD) ? gp_whole(job, GP_FIELD_OFFLOAD) : 0;
    if (choice < 0) return strstr(gp_recipe_text(job, GP_FIELD_OFFLOAD), "param") != NULL;
    return choice == GP_CHOICE_OFFLOAD_OPTIMIZER_AND_PARAM || choice == GP_CHOICE_OFFLOAD_PARAMS_AND_OPTIMIZER ||
           choice == GP_CHOICE_OFFLOAD_PARAMS;
}

/* A text beyond the list is read for what it names: "offload-opt-m", "offload-master" and "offload-gradients" are
 * LLMQ's. DeepSpeed and FSDP update offloaded states on the host, so gradients go there as they are made; Megatron's main
 * gradients stay in their buffer and are copied from it (core/optimizer/cpu_offloading/hybrid_optimizer.py). */
static void set_offload(const gp_job *job, gp_recipe *recipe) {
    const char *text = gp_recipe_text(job, GP_FIELD_OFFLOAD);
    int64_t choice = gp_known(job, GP_FIELD_OFFLOAD) ? gp_whole(job, GP_FIELD_OFFLOAD) : 0;
    bool free_text = choice < 0, own_step = free_text && strstr(text, "opt-m") != NULL;
    bool both = choice == GP_CHOICE_OFFLOAD_OPTIMIZER_AND_PARAM || choice == GP_CHOICE_OFFLOAD_PARAMS_AND_OPTIMIZER;
    bool optimizer = both || choice == GP_CHOICE_OFFLOAD_OPTIMIZER || own_step ||
                     (free_text && strstr(text, "optim") != NULL);
    recipe->optimizer_on_host = recipe->optimizer_on_host || optimizer;
    recipe->master_on_host = own_step ? strstr(text, "master") != NULL : optimizer;
    bool stay = recipe->framework->main_gradients && !recipe->framework->buckets;
    recipe->gradients_on_host = own_step ? strstr(text, "gradients") != NULL : optimizer && !stay;
    recipe->weights_on_host = gp_recipe_offloads_weights(job);
    recipe->reads_offload = optimizer || recipe->weights_on_host || recipe->master_on_host || recipe->gradients_on_host;
}

static int64_t number_in(const char *text) {
    int64_t number = 0;
    while (*text != '\0' && (*text < '0' || *text > '9')) text++;
    for (int digits = 0; *text >= '0' && *text <= '9' && digits < 6; digits++) number = 10 * number + (*text++ - '0');
    return number;
}

bool gp_recipe_names_chunks(const gp_job *job) { return strstr(gp_recipe_text(job, GP_FIELD_LOSS), "chunks") != NULL; }

/* "none" names no special loss kernel, so the logits are there; words that nothing here knows leave the framework's own. */
static gp_loss loss_of(const gp_job *job, const gp_framework *framework) {
    switch (gp_known(job, GP_FIELD_LOSS) ? gp_whole(job, GP_FIELD_LOSS) : GP_CHOICE_LOSS_FULL) {
    case GP_CHOICE_LOSS_FUSED:
    case GP_CHOICE_LOSS_FUSED_CE:
        return GP_LOSS_FUSED;
    case GP_CHOICE_LOSS_CHUNKED:
    case GP_CHOICE_LOSS_CHUNKED_CE:
        return GP_LOSS_CHUNKED;
    case GP_CHOICE_LOSS_LIGER:
        return GP_LOSS_LIGER;
    case GP_CHOICE_LOSS_CUT:
        return GP_LOSS_CUT;
    case GP_CHOICE_LOSS_FULL:
    case GP_CHOICE_LOSS_NONE:
        return GP_LOSS_FULL;
    default:
        return framework->chunks_loss || gp_recipe_names_chunks(job) ? GP_LOSS_CHUNKED : GP_LOSS_FULL;
    }
}

int gp_recipe_zero_of(const char *fsdp) {
    if (fsdp[0] == '\0') return -1;
    if (strstr(fsdp, "NO_SHARD") != NULL || strstr(fsdp, "ddp") != NULL) return 0;
    if (strstr(fsdp, "GRAD_OP") != NULL || strstr(fsdp, "ZERO2") != NULL || strstr(fsdp, "never") != NULL) return 2;
    bool whole = strstr(fsdp, "SHARD") != NULL || strstr(fsdp, "shard") != NULL || strstr(fsdp, "SDP") != NULL;
    return whole ? 3 : -1;
}

/* HSDP shards within a group of GPUs, by default a node (torch/distributed/fsdp HYBRID_SHARD), and replicates between
 * groups; "HSDP=16" and "FSDP=128" beside "DP" name the GPUs of a group. */
static int64_t shard_ranks_of(const gp_job *job) {
    const char *fsdp = gp_recipe_text(job, GP_FIELD_FSDP), *number = strstr(fsdp, "SDP=");
    if (number != NULL) return number_in(number);
    bool hybrid = strstr(fsdp, "HYBRID") != NULL || strstr(fsdp, "HSDP") != NULL;
    return hybrid ? gp_whole(job, GP_FIELD_PER_NODE) : 0;
}

/* Sequence parallelism on top of the Trainer pads: ms-swift (swift/trainers/sequence_parallel). */
bool gp_recipe_pads_sequences(const gp_job *job) { return framework_of(job)->hugging_face; }

/* Compiled code fuses norms, activations and casts as Transformer Engine does by hand. */
bool gp_recipe_compiles(const gp_job *job) {
    const char *compile = gp_recipe_text(job, GP_FIELD_COMPILE);
    return compile[0] != '\0' && !gp_begins_with(compile, "false") && !gp_begins_with(compile, "none");
}

static gp_kernels kernels_of(const gp_job *job, const gp_framework *framework) {
    return gp_recipe_compiles(job) ? GP_KERNELS_FUSED : framework->kernels;
}

/* FSDP gathers and reduces on streams of its own, and PyTorch's allocator keeps a pool for each stream. A compiler that
 * has the collectives in its graph (SimpleFSDP) runs all on one stream. The first FSDP marks what a stream uses and frees
 * it later than the second, which needs 7 % less (github.com/pytorch/torchtitan docs/fsdp.md). */
static void set_sharding(const gp_job *job, gp_recipe *recipe) {
    const char *compile = gp_recipe_text(job, GP_FIELD_COMPILE), *fsdp = gp_recipe_text(job, GP_FIELD_FSDP);
    bool graph = strstr(compile, "SimpleFSDP") != NULL || strstr(compile, "graph") != NULL;
    bool shards = gp_known(job, GP_FIELD_ZERO) && gp_whole(job, GP_FIELD_ZERO) >= 2;
    bool named = gp_recipe_zero_of(fsdp) >= 2 && !recipe->framework->main_gradients;
    recipe->fsdp = shards && (recipe->framework->fsdp || named);
    /* What FSDP keeps on the host it also updates there (torch/distributed/fsdp/api.py CPUOffload). */
    if (recipe->fsdp && recipe->weights_on_host)
        recipe->optimizer_on_host = recipe->master_on_host = recipe->gradients_on_host = true;
    if (shards) recipe->shard_ranks = shard_ranks_of(job);
    recipe->streams = shards && !graph && recipe->framework->fsdp;
    recipe->copies_gathered = recipe->streams && recipe->framework->separate_ends && strstr(fsdp, "FSDP1") == NULL;
    recipe->reserved = recipe->framework->reserved;
    if (recipe->streams && recipe->framework->separate_ends && strstr(fsdp, "FSDP1") != NULL) recipe->reserved += 0.07;
}

static bool separates(char character) { return character == '\0' || character == ' ' || character == ',' || character == '-'; }

static bool has_word(const char *text, const char *word) {
    size_t length = strlen(word);
    for (const char *at = strstr(text, word); at != NULL; at = strstr(at + 1, word))
        if ((at == text || separates(at[-1])) && separates(at[length])) return true;
    return false;
}

/* Modules of Megatron-LM (--recompute-modules) and options of LLMQ (--recompute-ffn …). */
static unsigned recomputed_parts(const char *detail) {
    static const struct { const char *name; unsigned part; } parts[] = {
        {"layernorm", GP_PART_NORMS},     {"norm", GP_PART_NORMS},          {"moe_act", GP_PART_ACTIVATION},
        {"swiglu", GP_PART_ACTIVATION},   {"mlp", GP_PART_FEED_FORWARD},    {"ffn", GP_PART_FEED_FORWARD},
        {"moe", GP_PART_FEED_FORWARD},    {"att", GP_PART_ATTENTION},
    };
    unsigned all = 0;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (has_word(detail, parts[i].name)) all |= parts[i].part;
    return all;
}

/* "full block 21" (Megatron-LM recompute_method, recompute_num_layers): so many layers of a stage and no others; "full
 * with saved ops" keeps little more than the layers' inputs; "offloaded": Unsloth's checkpoints on the host. */
static void set_recompute(const gp_job *job, gp_recipe *recipe) {
    const char *detail = gp_recipe_text(job, GP_FIELD_RECOMPUTE_DETAIL);
    const char *offload = gp_recipe_text(job, GP_FIELD_OFFLOAD);
    if (gp_known(job, GP_FIELD_RECOMPUTE)) recipe->recompute = (gp_recompute)gp_whole(job, GP_FIELD_RECOMPUTE);
    bool full = gp_begins_with(detail, "full") || gp_begins_with(detail, "recompute-block");
    bool named = recipe->recompute == GP_RECOMPUTE_PARTIAL && full;
    if (named) recipe->recompute = GP_RECOMPUTE_FULL;
    if (recipe->recompute == GP_RECOMPUTE_PARTIAL || (recipe->recompute == GP_RECOMPUTE_SELECTIVE && recipe->core_only))
        recipe->recomputed_parts = recomputed_parts(detail);
    recipe->reads_detail = named || recipe->recomputed_parts != 0;
    /* Parts that nothing names are none. */
    if (recipe->recompute == GP_RECOMPUTE_PARTIAL && !recipe->reads_detail) recipe->recompute = GP_RECOMPUTE_NONE;
    if (recipe->recompute != GP_RECOMPUTE_FULL) return;
    bool detailed = strstr(detail, "offload") != NULL;
    bool offloads = strstr(offload, "activation") != NULL || strstr(offload, "residual") != NULL;
    if (strstr(detail, "block ") != NULL) recipe->recomputed_layers = number_in(detail);
    recipe->reads_detail = named || detailed || recipe->recomputed_layers > 0;
    recipe->reads_offload = recipe->reads_offload || offloads;
    recipe->checkpoints_on_host = detailed || offloads;
}

/* fp32 parameters under a 16-bit precision are cast by autocast, unless they are sharded: FSDP casts what it
 * gathers. */
static gp_numerics numerics_of(const gp_job *job, const gp_recipe *recipe) {
    bool fp32_compute = gp_is_choice(job, GP_FIELD_PRECISION, GP_CHOICE_PRECISION_FP32);
    bool sharded = gp_known(job, GP_FIELD_ZERO) && gp_whole(job, GP_FIELD_ZERO) >= 2;
    if (fp32_compute) return GP_NUMERICS_FP32;
    if (gp_known(job, GP_FIELD_AUTOCAST))
        return gp_whole(job, GP_FIELD_AUTOCAST) != 0 && recipe->other_bits > 16 ? GP_NUMERICS_AUTOCAST
                                                                                : GP_NUMERICS_16_BIT;
    bool wide = recipe->other_bits > 16;
    return wide && !sharded && recipe->kernels == GP_KERNELS_EAGER ? GP_NUMERICS_AUTOCAST : GP_NUMERICS_16_BIT;
}

/* Bytes of one logit around the loss: in eager code the fp32 log-softmax that is kept and two more fp32 tensors while
 * its gradient is made (12), a third where the training loop holds the logits or where DTensor's loss parallelism
 * writes the gradient out (16); a fused loss works in place, Liger's in the type of the products. */
static double logit_bytes_of(const gp_job *job, const gp_recipe *recipe) {
    bool split = gp_known(job, GP_FIELD_TP) && gp_whole(job, GP_FIELD_TP) > 1;
    if (recipe->loss == GP_LOSS_FUSED) return recipe->kernels == GP_KERNELS_FUSED ? 2 : 6;
    if (recipe->loss == GP_LOSS_LIGER) return recipe->activation_bytes;
    if (recipe->framework->main_gradients) return 8;
    bool narrow = gp_known(job, GP_FIELD_LOGITS_UPCAST) && gp_whole(job, GP_FIELD_LOGITS_UPCAST) == 0;
    double fp32_tensors = split || recipe->framework->holds_logits ? 4 : 3;
    return fp32_tensors * (narrow ? recipe->activation_bytes : 4);
}

/* Autograd keeps the log-softmax of every chunk, a compiled loss the 16-bit logits, whose place their gradient takes.
 * LLMQ's chunks of the output matrix have their backward at once ("lmhead chunks"). */
static void set_logits(const gp_job *job, gp_recipe *recipe) {
    recipe->logit_bytes = logit_bytes_of(job, recipe);
    recipe->kept_logit_bytes = 0;
    if (recipe->loss != GP_LOSS_CHUNKED || gp_begins_with(gp_recipe_text(job, GP_FIELD_LOSS), "lmhead")) return;
    bool compiled = recipe->kernels == GP_KERNELS_FUSED;
    recipe->kept_logit_bytes = compiled ? 2 : 4;
    recipe->logit_bytes = compiled ? 2 : recipe->logit_bytes - recipe->kept_logit_bytes;
}

/* LoRA and its kin, DoRA among them, multiply the layer's input by two small matrices. Other ways of adapting (prompts,
 * prefixes, scaled activations, tuned norms) keep no copy of each matrix's input. */
static bool is_plain_adapter(const gp_job *job) {
    static const char *const kin[] = {"LORA", "lora", "LoRA", "DORA", "dora", "DoRA"};
    const char *kind = gp_recipe_text(job, GP_FIELD_LORA_KIND);
    bool plain = kind[0] == '\0';
    for (size_t i = 0; i < sizeof kin / sizeof kin[0]; i++) plain = plain || strstr(kind, kin[i]) != NULL;
    return plain;
}

/* GPT-2's own GELU ("gelu_new"), which Phi has as well, is written out in elementary operators, each of which keeps its input. */
static bool computes_gelu_by_elements(const gp_job *job, const gp_model *model) {
    if (job->model.activation[0] != '\0') return strcmp(job->model.activation, "gelu_new") == 0;
    const char *type = model->shape.model_type != NULL ? model->shape.model_type : "";
    return strcmp(type, "gpt2") == 0 || strcmp(type, "phi") == 0;
}

void gp_recipe_training(const gp_job *job, const gp_model *model, gp_recipe *recipe) {
    int64_t attention = gp_known(job, GP_FIELD_ATTENTION) ? gp_whole(job, GP_FIELD_ATTENTION) : GP_CHOICE_ATTENTION_FLASH;
    bool fp32_compute = gp_is_choice(job, GP_FIELD_PRECISION, GP_CHOICE_PRECISION_FP32);
    recipe->framework = framework_of(job);
    recipe->kernels = kernels_of(job, recipe->framework);
    set_trained_weights(job, model, recipe);
    set_states(job, recipe);
    set_offload(job, recipe);
    recipe->loss = loss_of(job, recipe->framework);
    int64_t chunks = number_in(gp_recipe_text(job, GP_FIELD_LOSS)); /* "lmhead chunks 16" (LLMQ) */
    recipe->loss_chunks = chunks > 0 ? (double)chunks : 8;
    recipe->numerics = numerics_of(job, recipe);
    recipe->activation_bytes = fp32_compute ? 4 : 2;
    recipe->flash = attention != GP_CHOICE_ATTENTION_EAGER;
    recipe->keeps_inputs = recipe->packed_frozen;
    recipe->autocast_adapters = gp_known(job, GP_FIELD_AUTOCAST) ? gp_whole(job, GP_FIELD_AUTOCAST) != 0
                                                                 : recipe->framework->hugging_face && !fp32_compute;
    recipe->plain_adapter = is_plain_adapter(job);
    recipe->expanded_kv = recipe->kernels == GP_KERNELS_EAGER &&
                          (recipe->framework->expands_kv || attention != GP_CHOICE_ATTENTION_FLASH);
    recipe->mean_keeps_input =
        gp_known(job, GP_FIELD_RMSNORM_SAVES_INPUT) && gp_whole(job, GP_FIELD_RMSNORM_SAVES_INPUT) != 0;
    recipe->core_only = recipe->framework->main_gradients;
    recipe->scales_outputs = gp_is_adapter(job) && strcmp(gp_recipe_text(job, GP_FIELD_LORA_KIND), "adapter_v2") == 0;
    recipe->adapter_dropout = gp_known(job, GP_FIELD_LORA_DROPOUT) ? gp_real(job, GP_FIELD_LORA_DROPOUT) > 0
                                                                   : recipe->framework->adapter_dropout;
    recipe->elementwise_gelu = recipe->framework->hugging_face && recipe->kernels == GP_KERNELS_EAGER && computes_gelu_by_elements(job, model);
    recipe->reduce_bytes = recipe->gradient_bytes > 2 ? 2 + recipe->gradient_bytes : 2;
    set_logits(job, recipe);
    /* tanh of the logits is kept beside them. */
    bool capped = (model->shape.code & GP_CODE_CAPS_LOGITS) != 0 && recipe->loss == GP_LOSS_FULL;
    if (capped && recipe->framework->hugging_face) recipe->logit_bytes += recipe->activation_bytes;
    set_sharding(job, recipe);
    bool accumulates = gp_known(job, GP_FIELD_GRAD_ACCUM) && gp_whole(job, GP_FIELD_GRAD_ACCUM) > 1;
    recipe->steps_in_backward = gp_known(job, GP_FIELD_STEP_IN_BACKWARD) && !accumulates && !gp_is_adapter(job) &&
                                gp_whole(job, GP_FIELD_STEP_IN_BACKWARD) != 0;
    set_recompute(job, recipe);
    bool narrow = gp_is_choice(job, GP_FIELD_PRECISION, GP_CHOICE_PRECISION_FP8);
    recipe->wide_casts = narrow && recipe->kernels == GP_KERNELS_EAGER && !recipe->framework->main_gradients;
    recipe->shards_packed = recipe->fsdp || !recipe->framework->buckets;
    recipe->foreach_temporaries = gp_known(job, GP_FIELD_FOREACH) ? gp_whole(job, GP_FIELD_FOREACH) != 0
                                                                  : recipe->framework == &frameworks[0];
}
