#include "recipe.h"

#include <string.h>

#include "format.h"
#include "quantize.h"

/* One row per choice of train.framework, in its order. `reserved` is the allocator's surplus over what torch counts as
 * allocated: Megatron 1.03-1.09 (median 1.04 of 43 runs), FSDP2 1.20, FSDP1 1.27-1.36. */
static const gp_framework frameworks[] = {
    {.name = "hf-trainer", .kernels = GP_KERNELS_EAGER, .reserved = 0.06, .hugging_face = true},
    {.name = "megatron", .kernels = GP_KERNELS_FUSED, .reserved = 0.04, .main_gradients = true, .master_weights = true},
    {.name = "deepspeed", .kernels = GP_KERNELS_EAGER, .reserved = 0.10, .master_weights = true, .buckets = true, .hugging_face = true},
    {.name = "fsdp", .kernels = GP_KERNELS_EAGER, .reserved = 0.07, .master_weights = true, .holds_logits = true, .fsdp = true},
    {.name = "torchtitan", .kernels = GP_KERNELS_EAGER, .reserved = 0.07, .fp32_weights = true, .expands_kv = true, .fsdp = true,
     .splits_batch = true},
    {.name = "torchtune", .kernels = GP_KERNELS_EAGER, .reserved = 0.10, .expands_kv = true},
    {.name = "litgpt", .kernels = GP_KERNELS_EAGER, .reserved = 0.06, .expands_kv = true, .fused_qkv = true,
     .adapter_dropout = true},
    {.name = "llm-foundry", .kernels = GP_KERNELS_EAGER, .reserved = 0.10, .fp32_weights = true, .fsdp = true},
    {.name = "peft", .kernels = GP_KERNELS_EAGER, .reserved = 0.02, .hugging_face = true},
    {.name = "axolotl", .kernels = GP_KERNELS_EAGER, .reserved = 0.06, .hugging_face = true},
    {.name = "llama-factory", .kernels = GP_KERNELS_EAGER, .reserved = 0.06, .hugging_face = true},
    {.name = "unsloth", .kernels = GP_KERNELS_FUSED, .reserved = 0.06, .hugging_face = true},
    {.name = "llmq", .kernels = GP_KERNELS_FUSED, .reserved = 0.02},
    {.name = "megatron-deepspeed", .kernels = GP_KERNELS_FUSED, .reserved = 0.06, .main_gradients = true, .master_weights = true, .buckets = true},
    {.name = "fsdp-qlora", .kernels = GP_KERNELS_EAGER, .reserved = 0.10, .holds_logits = true, .fsdp = true},
    {.name = "nemo-automodel", .kernels = GP_KERNELS_EAGER, .reserved = 0.10, .fsdp = true},
    {.name = "maxtext", .kernels = GP_KERNELS_FUSED, .reserved = 0.02, .fp32_weights = true},
    {.name = "paxml", .kernels = GP_KERNELS_FUSED, .reserved = 0.02, .fp32_weights = true},
    {.name = "other", .kernels = GP_KERNELS_EAGER, .reserved = 0.08},
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
    {4, 4, 1, true, false, false},                  /* sgd */
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

static const char *text_of(const gp_job *job, gp_field field) {
    const char *text = gp_known(job, field) ? job->settings[field].text : NULL;
    return text != NULL ? text : "";
}

static bool begins_with(const char *text, const char *prefix) { return strncmp(text, prefix, strlen(prefix)) == 0; }

/* Bytes of a stored trainable parameter. */
static double weight_bytes(const gp_job *job, const gp_framework *framework) {
    bool fp32_compute = gp_is_choice(job, GP_FIELD_PRECISION, GP_CHOICE_PRECISION_FP32);
    bool pretrain = gp_task_of(job) == GP_PRETRAIN;
    /* accelerate stores what FSDP trains in fp32 whenever mixed precision is on. */
    bool upcast = framework->hugging_face && text_of(job, GP_FIELD_FSDP)[0] != '\0' && !gp_is_adapter(job);
    if (!gp_known(job, GP_FIELD_TRAIN_WEIGHTS))
        return fp32_compute || upcast || (framework->fp32_weights && pretrain) ? 4 : 2;
    int64_t choice = gp_whole(job, GP_FIELD_TRAIN_WEIGHTS);
    return choice == GP_CHOICE_TRAIN_WEIGHTS_FP32 ? 4 : choice == GP_CHOICE_TRAIN_WEIGHTS_FP8 ? 1 : 2;
}

/* The tensors of a GGUF file; its average stands for the format's bits where one figure is asked for. */
static void set_file(const gp_model *model, gp_recipe *recipe) {
    gp_file_bytes file;
    gp_quantize(model, recipe->mix, &file);
    recipe->file_layers = file.layers;
    recipe->file_embedding = file.embedding;
    recipe->file_output = file.output;
    recipe->file_ends = file.ends;
    double bytes = (double)file.layers + (double)file.embedding + (double)file.output + (double)file.ends;
    recipe->linear_bits = recipe->other_bits = 8 * bytes / (double)(model->total_params - model->vision_params - model->audio_params);
    recipe->whole_model = true;
}

static void set_format(const char *name, const gp_model *model, gp_recipe *recipe) {
    gp_format scratch;
    const gp_format *format = gp_format_find(name, &scratch);
    recipe->linear_bits = format != NULL ? format->linear_bits : 16;
    recipe->other_bits = format != NULL ? format->other_bits : 16;
    recipe->textbook_bits = format != NULL ? format->textbook_bits : 16;
    recipe->whole_model = format != NULL && format->whole_model;
    recipe->mix = format != NULL ? gp_mix_find(format->name) : -1;
    if (recipe->mix >= 0) set_file(model, recipe);
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
    set_format(name, model, recipe);
    recipe->packed_frozen = true;
}

/* PEFT keeps the adapters of a 16-bit base in fp32 (autocast_adapter_dtype), unless the job says otherwise. */
static double adapter_bytes(const gp_job *job, const char *gradient) {
    const char *type = text_of(job, GP_FIELD_LORA_DTYPE);
    if (type[0] == '\0') type = gradient;
    return begins_with(type, "bf16") || begins_with(type, "fp16") ? 2 : 4;
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
    const char *gradient = text_of(job, GP_FIELD_GRAD_DTYPE);
    if (begins_with(gradient, "fp32")) state.gradients = 4;
    if (begins_with(gradient, "bf16") || begins_with(gradient, "fp16")) state.gradients = 2;
    return state;
}

static void set_states(const gp_job *job, gp_recipe *recipe) {
    const gp_framework *framework = recipe->framework;
    const optimizer_row *optimizer = optimizer_of(job);
    bool adapter = gp_is_adapter(job);
    const char *gradient = text_of(job, GP_FIELD_GRAD_DTYPE);
    double stored = adapter ? adapter_bytes(job, gradient) : weight_bytes(job, framework);
    bool habit = framework->master_weights && optimizer != &optimizers[ADAMW_BF16_STATES];
    bool wants_master =
        gp_known(job, GP_FIELD_MASTER_WEIGHTS) ? gp_whole(job, GP_FIELD_MASTER_WEIGHTS) != 0 : habit;
    recipe->adapter_bytes = stored;
    recipe->master_bytes = wants_master && stored < 4 ? 4 : 0;
    recipe->gradient_bytes = framework->main_gradients && !adapter ? 4 : stored < 2 ? 2 : stored;
    if (begins_with(gradient, "bf16") || begins_with(gradient, "fp16")) recipe->gradient_bytes = 2;
    if (begins_with(gradient, "fp32")) recipe->gradient_bytes = 4;
    bool narrow = optimizer->follows_weights && recipe->master_bytes <= 0 && stored < 4;
    recipe->optimizer_bytes = narrow ? 2.0 * optimizer->states : optimizer->bytes;
    recipe->textbook_state = textbook_state_of(job, optimizer->textbook_bytes);
    recipe->factored_optimizer = optimizer->factored;
    recipe->optimizer_on_host = optimizer->on_host;
}

/* A text beyond the list is read for what it names. */
static void set_offload(const gp_job *job, gp_recipe *recipe) {
    const char *text = text_of(job, GP_FIELD_OFFLOAD);
    int64_t choice = gp_known(job, GP_FIELD_OFFLOAD) ? gp_whole(job, GP_FIELD_OFFLOAD) : 0;
    bool both = choice == GP_CHOICE_OFFLOAD_OPTIMIZER_AND_PARAM || choice == GP_CHOICE_OFFLOAD_PARAMS_AND_OPTIMIZER;
    bool optimizer = both || choice == GP_CHOICE_OFFLOAD_OPTIMIZER || (choice < 0 && strstr(text, "optim") != NULL);
    bool params = both || choice == GP_CHOICE_OFFLOAD_PARAMS || (choice < 0 && strstr(text, "param") != NULL);
    recipe->optimizer_on_host = recipe->optimizer_on_host || optimizer;
    recipe->master_on_host = optimizer;
    recipe->weights_on_host = params;
}

/* "none" names no special loss kernel, so the logits are there. */
static gp_loss loss_of(const gp_job *job) {
    switch (gp_known(job, GP_FIELD_LOSS) ? gp_whole(job, GP_FIELD_LOSS) : GP_CHOICE_LOSS_FULL) {
    case GP_CHOICE_LOSS_FUSED:
    case GP_CHOICE_LOSS_FUSED_CE:
        return GP_LOSS_FUSED;
    case GP_CHOICE_LOSS_CHUNKED:
    case GP_CHOICE_LOSS_CHUNKED_CE:
    case GP_CHOICE_LOSS_LIGER:
    case GP_CHOICE_LOSS_CUT:
        return GP_LOSS_CHUNKED;
    default:
        return GP_LOSS_FULL;
    }
}

int gp_recipe_zero_of(const char *fsdp) {
    if (strstr(fsdp, "NO_SHARD") != NULL || strstr(fsdp, "ddp") != NULL) return 0;
    if (strstr(fsdp, "GRAD_OP") != NULL || strstr(fsdp, "never") != NULL) return 2;
    bool whole = strstr(fsdp, "SHARD") != NULL || strstr(fsdp, "shard") != NULL || strstr(fsdp, "FSDP") != NULL;
    return whole ? 3 : -1;
}

/* Sequence parallelism on top of the Trainer pads: ms-swift (swift/trainers/sequence_parallel). */
bool gp_recipe_pads_sequences(const gp_job *job) { return framework_of(job)->hugging_face; }

/* Compiled code fuses norms, activations and casts as Transformer Engine does by hand. */
static gp_kernels kernels_of(const gp_job *job, const gp_framework *framework) {
    const char *compile = text_of(job, GP_FIELD_COMPILE);
    bool compiled = compile[0] != '\0' && !begins_with(compile, "false") && !begins_with(compile, "none");
    return compiled ? GP_KERNELS_FUSED : framework->kernels;
}

/* FSDP gathers and reduces on streams of its own, and PyTorch's allocator keeps a pool for each stream. A compiler that
 * has the collectives in its graph (SimpleFSDP) runs all on one stream. */
static bool has_streams(const gp_job *job, const gp_framework *framework) {
    const char *compile = text_of(job, GP_FIELD_COMPILE);
    bool graph = strstr(compile, "SimpleFSDP") != NULL || strstr(compile, "graph") != NULL;
    bool shards = gp_known(job, GP_FIELD_ZERO) && gp_whole(job, GP_FIELD_ZERO) >= 2;
    return shards && !graph && framework->fsdp;
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
 * writes the gradient out (16); a fused loss works in place. */
static double logit_bytes_of(const gp_job *job, const gp_recipe *recipe) {
    bool split = gp_known(job, GP_FIELD_TP) && gp_whole(job, GP_FIELD_TP) > 1;
    if (recipe->loss == GP_LOSS_FUSED) return recipe->kernels == GP_KERNELS_FUSED ? 2 : 6;
    if (recipe->framework->main_gradients) return 8;
    bool narrow = gp_known(job, GP_FIELD_LOGITS_UPCAST) && gp_whole(job, GP_FIELD_LOGITS_UPCAST) == 0;
    double fp32_tensors = split || recipe->framework->holds_logits ? 4 : 3;
    return fp32_tensors * (narrow ? recipe->activation_bytes : 4);
}

/* LoRA and its kin multiply the layer's input by two small matrices. Other ways of adapting (prompts, prefixes, scaled
 * activations, tuned norms) keep no copy of each matrix's input. */
static bool is_plain_adapter(const gp_job *job) {
    const char *kind = text_of(job, GP_FIELD_LORA_KIND);
    return kind[0] == '\0' || strstr(kind, "LORA") != NULL || strstr(kind, "lora") != NULL || strstr(kind, "LoRA") != NULL;
}

/* GPT-2's own GELU ("gelu_new") is written out in elementary operators, each of which keeps its input. */
static bool computes_gelu_by_elements(const gp_job *job, const gp_model *model) {
    if (job->model.activation[0] != '\0') return strcmp(job->model.activation, "gelu_new") == 0;
    return model->shape.model_type != NULL && strcmp(model->shape.model_type, "gpt2") == 0;
}

static void build_training(const gp_job *job, const gp_model *model, gp_recipe *recipe) {
    int64_t attention = gp_known(job, GP_FIELD_ATTENTION) ? gp_whole(job, GP_FIELD_ATTENTION) : GP_CHOICE_ATTENTION_FLASH;
    bool fp32_compute = gp_is_choice(job, GP_FIELD_PRECISION, GP_CHOICE_PRECISION_FP32);
    recipe->framework = framework_of(job);
    recipe->kernels = kernels_of(job, recipe->framework);
    set_trained_weights(job, model, recipe);
    set_states(job, recipe);
    set_offload(job, recipe);
    recipe->loss = loss_of(job);
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
    recipe->scales_outputs = strcmp(text_of(job, GP_FIELD_LORA_KIND), "adapter_v2") == 0;
    recipe->adapter_dropout = gp_known(job, GP_FIELD_LORA_DROPOUT) ? gp_real(job, GP_FIELD_LORA_DROPOUT) > 0
                                                                   : recipe->framework->adapter_dropout;
    recipe->elementwise_gelu = recipe->framework->hugging_face && recipe->kernels == GP_KERNELS_EAGER && computes_gelu_by_elements(job, model);
    recipe->reduce_bytes = recipe->gradient_bytes > 2 ? 2 + recipe->gradient_bytes : 2;
    recipe->logit_bytes = logit_bytes_of(job, recipe);
    recipe->streams = has_streams(job, recipe->framework);
    recipe->reserved = recipe->framework->reserved;
    recipe->shards_packed = begins_with(recipe->framework->name, "fsdp");
    recipe->foreach_temporaries = gp_known(job, GP_FIELD_FOREACH) ? gp_whole(job, GP_FIELD_FOREACH) != 0
                                                                  : recipe->framework == &frameworks[0];
}

/* Minor version after `name` and a major version in `text`, such as 44 for "transformers 4.44.2"; -1 without one. */
static int minor_version(const char *text, const char *name) {
    const char *at = strstr(text, name);
    if (at == NULL) return -1;
    at += strlen(name);
    int minor = 0;
    for (int digits = 0; *at >= '0' && *at <= '9' && digits < 3; at++, digits++) minor = minor * 10 + (*at - '0');
    return minor;
}

/* Before transformers 4.45, of the days of PyTorch 2.4, the logits of the whole prompt were computed. */
static bool computes_prompt_logits(const char *version) {
    int transformers = minor_version(version, "transformers 4."), torch = minor_version(version, "torch 2.");
    if (transformers < 0 && begins_with(version, "4.")) transformers = minor_version(version, "4.");
    if (transformers >= 0) return transformers < 45;
    return torch >= 0 && torch < 5;
}

static gp_engine_kind engine_of(const gp_job *job) {
    switch (gp_known(job, GP_FIELD_ENGINE) ? gp_whole(job, GP_FIELD_ENGINE) : GP_CHOICE_ENGINE_VLLM) {
    case GP_CHOICE_ENGINE_LLAMA_CPP:
    case GP_CHOICE_ENGINE_IK_LLAMA_CPP:
        return GP_ENGINE_LLAMA_CPP;
    case GP_CHOICE_ENGINE_VLLM:
    case GP_CHOICE_ENGINE_SGLANG:
    case GP_CHOICE_ENGINE_TENSORRT_LLM:
    case GP_CHOICE_ENGINE_TGI:
    case GP_CHOICE_ENGINE_LMDEPLOY:
        return GP_ENGINE_PAGED;
    default:
        return gp_whole(job, GP_FIELD_ENGINE) < 0 ? GP_ENGINE_PAGED : GP_ENGINE_TRANSFORMERS;
    }
}

/* Engines that go by a share of memory, with the defaults of their own options: gpu_memory_utilization (vllm/config),
 * mem_fraction_static (sglang/srt/server_args.py, single GPU), free_gpu_memory_fraction (tensorrt_llm KvCacheConfig),
 * cache_max_entry_count (lmdeploy/messages.py). TGI's cuda_memory_fraction is 1 (launcher/src/main.rs). */
static const struct {
    int64_t engine; /* choice of infer.engine */
    double share;
    bool of_rest;   /* of what is free after loading */
} shares[] = {{GP_CHOICE_ENGINE_VLLM, 0.9, false}, {GP_CHOICE_ENGINE_SGLANG, 0.88, false},
            {GP_CHOICE_ENGINE_TENSORRT_LLM, 0.9, true}, {GP_CHOICE_ENGINE_TGI, 0, false},
            {GP_CHOICE_ENGINE_LMDEPLOY, 0.8, true}};
enum { SHARE_COUNT = sizeof shares / sizeof shares[0] };

static int share_row(const gp_job *job) {
    int64_t engine = gp_known(job, GP_FIELD_ENGINE) ? gp_whole(job, GP_FIELD_ENGINE) : 0;
    int row = 0;
    while (row < SHARE_COUNT && shares[row].engine != engine) row++;
    return row;
}

bool gp_engine_takes_share(const gp_job *job) { return share_row(job) < SHARE_COUNT; }

double gp_engine_share(const gp_job *job) {
    int row = share_row(job);
    return row < SHARE_COUNT ? shares[row].share : 0;
}

bool gp_engine_shares_rest(const gp_job *job) {
    int row = share_row(job);
    return row < SHARE_COUNT && shares[row].of_rest;
}

static int vllm_release(const gp_job *job) {
    bool vllm = gp_is_choice(job, GP_FIELD_ENGINE, GP_CHOICE_ENGINE_VLLM);
    return vllm ? minor_version(text_of(job, GP_FIELD_ENGINE_VERSION), "0.") : -1;
}

gp_beside_share gp_engine_beside_share(const gp_job *job) {
    const double mib = (double)GP_MIB, counted_mib = 130;
    const int counts_context = 7, counts_graphs = 21;
    if (!gp_is_choice(job, GP_FIELD_ENGINE, GP_CHOICE_ENGINE_VLLM)) return (gp_beside_share){0, 0};
    int release = vllm_release(job);
    bool known = release >= 0;
    return (gp_beside_share){known && release < counts_context ? 0 : (GP_CONTEXT_MIB - counted_mib) * mib,
                             known && release < counts_graphs ? GP_GRAPH_MIB * mib : 0};
}

/* What vLLM prepares for when it is not told (vllm/engine/arg_utils.py): 1024 sequences and 8192 tokens a pass on
 * devices with 70 GiB or more other than the A100, else 256 and 2048. Before release 0.8: 256 sequences, and a whole
 * context at once up to 32768 tokens. Release 0.8 did not run the sampler when it measured its peak. TensorRT-LLM
 * prepares 8192 tokens (tensorrt_llm/llmapi: max_num_tokens) and keeps the cache in blocks of 32. */
static void set_engine_limits(const gp_job *job, gp_recipe *recipe) {
    const double large_bytes = 70.0 * (double)GP_GIB, whole_context = 32768, chunk = 2048;
    const gp_gpu_row *row = gp_catalog_find_gpu(job->gpu.custom ? job->gpu.like : job->gpu.name);
    const int without_sampler = 8;
    int release = vllm_release(job);
    bool vllm = gp_is_choice(job, GP_FIELD_ENGINE, GP_CHOICE_ENGINE_VLLM), old = release >= 0 && release < 8;
    bool tensorrt = gp_is_choice(job, GP_FIELD_ENGINE, GP_CHOICE_ENGINE_TENSORRT_LLM);
    double bytes = job->gpu.memory_gib * (double)GP_GIB;
    if (!(bytes > 0) && row != NULL) bytes = (double)row->memory_bytes;
    recipe->block = tensorrt ? 32 : 16;
    bool large = !old && bytes >= large_bytes && (row == NULL || strstr(row->name, "A100") == NULL);
    double context = gp_known(job, GP_FIELD_CONTEXT) ? (double)gp_whole(job, GP_FIELD_CONTEXT) : 0;
    double whole = context < whole_context ? context : whole_context;
    recipe->batched_tokens = large || tensorrt ? 8192 : old && whole > chunk ? whole : chunk;
    recipe->prepared_sequences = large && vllm ? 1024 : 256;
    if (gp_known(job, GP_FIELD_MAX_BATCHED_TOKENS))
        recipe->batched_tokens = (double)gp_whole(job, GP_FIELD_MAX_BATCHED_TOKENS);
    if (gp_known(job, GP_FIELD_MAX_NUM_SEQS))
        recipe->prepared_sequences = (double)gp_whole(job, GP_FIELD_MAX_NUM_SEQS);
    if (tensorrt || release == without_sampler) recipe->prepared_sequences = 0;
    if (gp_engine_shares_rest(job) && gp_known(job, GP_FIELD_MEMORY_UTILIZATION))
        recipe->free_share = gp_real(job, GP_FIELD_MEMORY_UTILIZATION);
}

/* Number of the build that "b1680" or "b2795-b2843" begins with; -1 without one. */
static int build_number(const char *version) {
    int number = 0;
    if (version[0] != 'b') return -1;
    for (const char *at = version + 1; *at >= '0' && *at <= '9' && number < 1000000; at++) number = number * 10 + (*at - '0');
    return number > 0 ? number : -1;
}

/* Graphs of src/models/ in llama.cpp whose buffers differ from Llama's: rows of the hidden width alive in the
 * feed-forward block and beside the logits, and whether the queries' rows are alive in the former. */
static void set_graph(const gp_model *model, gp_recipe *recipe) {
    static const struct {
        const char *prefix; /* of model_type */
        double ffn_rows, logit_rows;
        bool ffn_query;
    } graphs[] = {
        {"gemma", 3, 1, true},      {"phi3", 3, 1, false},        {"gpt2", 4, 2, false},    {"starcoder2", 4, 2, false},
        {"mamba", 4, 2, false},     {"qwen3_next", 4, 2, false},  {"qwen3_5", 4, 2, false}, {"deepseek", 4, 2, false},
        {"gpt_oss", 4, 2, false},   {"granitemoehybrid", 4, 3, false}, {"kimi_k2", 4, 2, false},
    };
    const char *type = model->shape.model_type != NULL ? model->shape.model_type : "";
    recipe->ffn_rows = 4;
    recipe->logit_rows = 1;
    for (size_t i = 0; i < sizeof graphs / sizeof graphs[0]; i++) {
        if (!begins_with(type, graphs[i].prefix)) continue;
        recipe->ffn_rows = graphs[i].ffn_rows;
        recipe->logit_rows = graphs[i].logit_rows;
        recipe->ffn_query = graphs[i].ffn_query;
    }
    recipe->mask_gap = begins_with(type, "phi3");
    /* The last layer's outputs of the chosen experts lie below the logits where shared experts are added to them. */
    bool summed = begins_with(type, "deepseek") || begins_with(type, "kimi_k2");
    if (summed && model->shape.experts.shared_ffn > 0) recipe->logit_rows = (double)model->shape.experts.topk + 3;
    /* A window on every layer is not used, nor is Qwen's on the last ones. */
    bool full = false;
    for (int i = 0; i < model->kind_count; i++)
        full = full || (model->kinds[i].cache_keys > 0 && model->kinds[i].window == 0);
    recipe->ignores_windows = !full || begins_with(type, "qwen");
}

/* A whole model in the recipe's bits; layers beyond the map are alike. */
static double model_bits(const gp_model *model, const gp_recipe *recipe) {
    uint64_t linear = 0;
    int64_t layers = model->shape.layers, mapped = layers < GP_MAPPED_LAYERS ? layers : GP_MAPPED_LAYERS;
    for (int64_t i = 0; i < mapped; i++) linear = gp_add(linear, gp_model_layer(model, i)->linear_params);
    if (layers > mapped)
        linear = gp_add(linear, gp_mul((uint64_t)(layers - mapped), gp_model_layer(model, mapped)->linear_params));
    double other = (double)gp_sub_or_zero(model->total_params, linear);
    return (double)linear * recipe->linear_bits + other * (recipe->whole_model ? recipe->linear_bits : recipe->other_bits);
}

static void build_inference(const gp_job *job, const gp_model *model, gp_recipe *recipe) {
    set_format(text_of(job, GP_FIELD_WEIGHTS), model, recipe);
    if (gp_known(job, GP_FIELD_WEIGHT_BITS)) {
        recipe->linear_bits = gp_real(job, GP_FIELD_WEIGHT_BITS);
        recipe->whole_model = true;
        recipe->mix = -1;
    }
    if (gp_weights_are_file(job)) {
        recipe->file_bytes = job->model.file_bytes;
        recipe->model_bits = model_bits(model, recipe);
        recipe->mix = -1; /* the file's own bytes count more than what its mix would give */
    }
    recipe->kv_bits = gp_kv_bits(text_of(job, GP_FIELD_KV));
    if (!(recipe->kv_bits > 0)) recipe->kv_bits = 16;
    recipe->engine = engine_of(job);
    if (recipe->engine == GP_ENGINE_PAGED) set_engine_limits(job, recipe);
    if (recipe->engine == GP_ENGINE_LLAMA_CPP) {
        const int scheduler = 1842; /* the build of January 2024 that brought ggml-backend's scheduler */
        int build = build_number(text_of(job, GP_FIELD_ENGINE_VERSION));
        set_graph(model, recipe);
        recipe->before_scheduler = build >= 0 && build < scheduler;
    }
    recipe->prompt_logits = computes_prompt_logits(text_of(job, GP_FIELD_ENGINE_VERSION));
}

void gp_recipe_build(const gp_job *job, const gp_model *model, gp_recipe *recipe) {
    *recipe = (gp_recipe){.linear_bits = 16, .other_bits = 16, .textbook_bits = 16, .kv_bits = 16, .mix = -1};
    recipe->on_host = strcmp(job->gpu.name, "cpu") == 0;
    const gp_gpu_row *row = gp_catalog_find_gpu(job->gpu.custom ? job->gpu.like : job->gpu.name);
    recipe->unified_memory = row != NULL && strcmp(row->vendor, "Apple") == 0;
    if (gp_is_training(job))
        build_training(job, model, recipe);
    else
        build_inference(job, model, recipe);
}
