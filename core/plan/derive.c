#include "plan/derive.h"

#include <math.h>
#include <string.h>

#include "formats/format.h"
#include "base/text.h"

static int64_t choice_index(gp_field field, const char *choice) {
    const char *at = gp_field_info(field)->choices;
    for (int64_t index = 0; *at != '\0'; index++) {
        size_t same = 0;
        while (choice[same] != '\0' && choice[same] != '|' && at[same] == choice[same]) same++;
        at += same;
        if (choice[same] == '\0' && (*at == '|' || *at == '\0')) return index;
        while (*at != '\0' && *at != '|') at++;
        if (*at == '|') at++;
    }
    return -1;
}

void gp_set_choice(gp_job *job, gp_field field, const char *choice, gp_origin origin) {
    gp_set_whole(job, field, choice_index(field, choice), origin);
    job->settings[field].text = choice;
}

bool gp_choice_is(const gp_job *job, gp_field field, const char *choice) {
    return gp_known(job, field) && gp_whole(job, field) == choice_index(field, choice);
}

static bool is_given(const gp_job *job, gp_field field) { return gp_origin_of(job, field) == GP_GIVEN; }
static bool is_auto(const gp_job *job, gp_field field) { return gp_origin_of(job, field) == GP_AUTO; }

static void derive_choice(gp_job *job, gp_field field, const char *choice) {
    if (is_auto(job, field)) gp_set_choice(job, field, choice, GP_DERIVED);
}

/* Degrees that are given fix the count when it is not given: each GPU has one place in the grid. */
static void derive_count(gp_job *job) {
    static const gp_field training[] = {GP_FIELD_TP, GP_FIELD_PP, GP_FIELD_CP, GP_FIELD_DP};
    static const gp_field inference[] = {GP_FIELD_INFER_TP, GP_FIELD_INFER_PP, GP_FIELD_INFER_DP};
    bool train = gp_is_training(job);
    const gp_field *fields = train ? training : inference;
    int count = train ? 4 : 3;
    if (is_given(job, GP_FIELD_COUNT) || is_auto(job, GP_FIELD_COUNT)) return;
    uint64_t product = 1;
    for (int i = 0; i < count; i++)
        if (is_given(job, fields[i])) product = gp_mul(product, (uint64_t)gp_whole(job, fields[i]));
    if (!train && !is_given(job, GP_FIELD_INFER_DP) && gp_layout_groups_are_replicas(job))
        product = gp_mul(product, (uint64_t)gp_layout_groups(job));
    double most = gp_field_info(GP_FIELD_COUNT)->max;
    if (product > 1 && (double)product <= most) gp_set_whole(job, GP_FIELD_COUNT, (int64_t)product, GP_DERIVED);
}

static bool is_above_one(const gp_job *job, gp_field field) { return gp_known(job, field) && gp_whole(job, field) > 1; }

/* The framework a task is usually run with: Megatron where the model itself is split, PEFT for adapters, DeepSpeed
 * otherwise. Its mixed precision is the course's, 16-bit weights and an fp32 master copy, on one GPU as on many: a
 * second GPU must not make the states of a parameter larger, as it would after a plain trainer's 16-bit ones. */
void gp_derive_framework(gp_job *job) {
    if (!gp_is_training(job)) return;
    if (!is_auto(job, GP_FIELD_FRAMEWORK) && gp_origin_of(job, GP_FIELD_FRAMEWORK) != GP_DERIVED) return;
    bool split = is_above_one(job, GP_FIELD_TP) || is_above_one(job, GP_FIELD_PP);
    const char *name = gp_is_adapter(job) ? "peft" : "deepspeed";
    if (gp_task_of(job) == GP_PRETRAIN || (split && !gp_is_adapter(job))) name = "megatron";
    gp_set_choice(job, GP_FIELD_FRAMEWORK, name, GP_DERIVED);
}

/* torchtitan's trainer computes the loss in chunks unless it is told otherwise. */
static void derive_loss(gp_job *job) {
    bool chunks = is_given(job, GP_FIELD_FRAMEWORK) && gp_choice_is(job, GP_FIELD_FRAMEWORK, "torchtitan");
    derive_choice(job, GP_FIELD_LOSS, chunks ? "chunked" : "full");
}

/* A named way of FSDP is a ZeRO stage. Weights on the host are fetched layer by layer: DeepSpeed's offload_param is one
 * of stage 3 (deepspeed/runtime/zero/config.py), and so is FSDP's. */
static void derive_sharding(gp_job *job) {
    const char *fsdp = job->settings[GP_FIELD_FSDP].text;
    int zero = is_given(job, GP_FIELD_FSDP) && fsdp != NULL ? gp_recipe_zero_of(fsdp) : gp_recipe_offloads_weights(job) ? 3 : -1;
    if (is_auto(job, GP_FIELD_ZERO) && zero >= 0) gp_set_whole(job, GP_FIELD_ZERO, zero, GP_DERIVED);
}

static void refuse(const gp_job *job, gp_code code, gp_field field, const gp_device *device,
                   gp_diagnostics *diagnostics) {
    char value[48];
    gp_setting_text(job, field, value, sizeof value);
    gp_diagnostic *row = gp_diagnose(diagnostics, code, gp_field_info(field)->path);
    gp_argue_text(row, "value", value);
    gp_argue_text(row, "gpu", device->name);
}

static void give_way(gp_code code, const char *path, const gp_device *device, const char *used,
                     gp_diagnostics *diagnostics) {
    gp_diagnostic *row = gp_diagnose(diagnostics, code, path);
    gp_argue_text(row, "gpu", device->name);
    gp_argue_text(row, "used", used);
}

/* A device without a catalogue row is taken to have every format: nothing is known against it. */
static void derive_precision(gp_job *job, const gp_device *device, gp_diagnostics *diagnostics) {
    const gp_gpu_row *row = device->row;
    bool bf16 = row == NULL || row->bf16;
    if (is_auto(job, GP_FIELD_PRECISION)) {
        gp_set_choice(job, GP_FIELD_PRECISION, bf16 ? "bf16" : "fp16", GP_DERIVED);
        if (!bf16) give_way(GP_CODE_BF16_NOT_ON_GPU, "train.precision", device, "fp16", diagnostics);
        return;
    }
    bool wants_fp8 = gp_choice_is(job, GP_FIELD_PRECISION, "fp8");
    bool wants_block = gp_choice_is(job, GP_FIELD_PRECISION, "mxfp8") || gp_choice_is(job, GP_FIELD_PRECISION, "nvfp4");
    bool lacks = (!bf16 && gp_choice_is(job, GP_FIELD_PRECISION, "bf16")) || (row != NULL && wants_fp8 && !row->fp8) ||
                 (row != NULL && wants_block && !row->fp4);
    if (lacks) refuse(job, GP_CODE_FORMAT_NOT_ON_GPU, GP_FIELD_PRECISION, device, diagnostics);
}

static void derive_attention(gp_job *job, const gp_device *device, gp_diagnostics *diagnostics) {
    bool flash = device->row == NULL ? !device->is_host : device->row->flash_attention_2;
    if (is_auto(job, GP_FIELD_ATTENTION)) {
        gp_set_choice(job, GP_FIELD_ATTENTION, flash ? "flash" : "sdpa", GP_DERIVED);
        if (!flash) give_way(GP_CODE_FLASH_NOT_ON_GPU, "train.attention", device, "sdpa", diagnostics);
    } else if (!flash && gp_choice_is(job, GP_FIELD_ATTENTION, "flash")) {
        refuse(job, GP_CODE_ATTENTION_NOT_ON_GPU, GP_FIELD_ATTENTION, device, diagnostics);
    }
}

static void refuse_format(gp_field field, const char *name, const char *nearest, gp_diagnostics *diagnostics) {
    gp_diagnostic *row = gp_diagnose(diagnostics, GP_CODE_UNKNOWN_FORMAT, gp_field_info(field)->path);
    gp_argue_text(row, "value", name);
    if (nearest[0] != '\0') gp_argue_text(row, "nearest", nearest);
}

static void check_weight_format(const gp_job *job, gp_diagnostics *diagnostics) {
    gp_format scratch;
    const char *name = job->settings[GP_FIELD_WEIGHTS].text;
    if (!gp_known(job, GP_FIELD_WEIGHTS) || name == NULL || gp_known(job, GP_FIELD_WEIGHT_BITS) ||
        gp_weights_are_file(job))
        return;
    if (gp_format_find(name, &scratch) == NULL)
        refuse_format(GP_FIELD_WEIGHTS, name, gp_format_nearest(name), diagnostics);
}

/* Checkpoints in NVFP4 come from NVIDIA's Model Optimizer, which has the cache in fp8 too, and TensorRT-LLM takes what the
 * checkpoint says (docs/source/features/quantization.md: dtype "auto"; hf_quant_config.json: kv_cache_quant_algo). */
static bool checkpoint_has_fp8_cache(const gp_job *job) {
    const char *name = job->settings[GP_FIELD_WEIGHTS].text;
    gp_format scratch;
    const gp_format *format = gp_known(job, GP_FIELD_WEIGHTS) && name != NULL ? gp_format_find(name, &scratch) : NULL;
    return format != NULL && strcmp(format->name, "nvfp4") == 0 && gp_choice_is(job, GP_FIELD_ENGINE, "tensorrt-llm");
}

/* Engines keep the cache in the 16-bit type they compute in, but for one that the checkpoint names. */
static void derive_cache_format(gp_job *job, const gp_device *device, gp_diagnostics *diagnostics) {
    const char *name = job->settings[GP_FIELD_KV].text;
    bool bf16 = device->row == NULL || device->row->bf16;
    bool llama_cpp =
        gp_choice_is(job, GP_FIELD_ENGINE, "llama.cpp") || gp_choice_is(job, GP_FIELD_ENGINE, "ik_llama.cpp");
    if (!gp_known(job, GP_FIELD_KV) || gp_choice_is(job, GP_FIELD_KV, "auto"))
        gp_set_choice(job, GP_FIELD_KV, llama_cpp ? "f16" : checkpoint_has_fp8_cache(job) ? "fp8" : bf16 ? "bf16" : "fp16", GP_DERIVED);
    else if (gp_whole(job, GP_FIELD_KV) < 0 && name != NULL && !(gp_kv_bits(name) > 0))
        refuse_format(GP_FIELD_KV, name, "", diagnostics);
}

/* llama.cpp shares its context out among its sequences; elsewhere each has its own. */
static void derive_context(gp_job *job) {
    if (gp_origin_of(job, GP_FIELD_CONTEXT) != GP_ABSENT) return;
    double most = gp_field_info(GP_FIELD_CONTEXT)->max;
    double tokens = (double)(gp_whole(job, GP_FIELD_PROMPT) + gp_whole(job, GP_FIELD_OUTPUT));
    bool total = gp_engine_of(job) == GP_ENGINE_LLAMA_CPP;
    if (gp_known(job, GP_FIELD_CONTEXT_PER_SEQUENCE)) {
        double sequences = total && gp_known(job, GP_FIELD_SEQUENCES) ? (double)gp_whole(job, GP_FIELD_SEQUENCES) : 1;
        tokens = fmin(sequences * (double)gp_whole(job, GP_FIELD_CONTEXT_PER_SEQUENCE), most);
    }
    gp_set_whole(job, GP_FIELD_CONTEXT, tokens > 0 ? (int64_t)tokens : 1, GP_DERIVED);
}

/* Without a word about it, the weights are those that are published. llama.cpp's files are made from them. */
static void derive_weights(gp_job *job) {
    gp_setting *weights = &job->settings[GP_FIELD_WEIGHTS];
    bool llama_cpp =
        gp_choice_is(job, GP_FIELD_ENGINE, "llama.cpp") || gp_choice_is(job, GP_FIELD_ENGINE, "ik_llama.cpp");
    gp_model_row row;
    if (weights->origin != GP_DEFAULT || llama_cpp || job->model.source != GP_MODEL_NAMED) return;
    if (!gp_catalog_find_model(job->model.name, &row) || row.stored[0] == '\0') return;
    weights->text = row.stored;
    weights->origin = GP_DERIVED;
}

static void derive_inference(gp_job *job, const gp_device *device, gp_diagnostics *diagnostics) {
    bool bf16 = device->row == NULL || device->row->bf16;
    derive_weights(job);
    const char *weights = job->settings[GP_FIELD_WEIGHTS].text;
    if (!bf16 && weights != NULL && strcmp(weights, "bf16") == 0) {
        job->settings[GP_FIELD_WEIGHTS].text = "fp16";
        job->settings[GP_FIELD_WEIGHTS].origin = GP_DERIVED;
        give_way(GP_CODE_BF16_NOT_ON_GPU, "infer.weights", device, "fp16", diagnostics);
    }
    check_weight_format(job, diagnostics);
    derive_cache_format(job, device, diagnostics);
    derive_context(job);
    bool detailed = gp_is_choice(job, GP_FIELD_LEDGER, GP_CHOICE_LEDGER_DETAILED);
    double share = gp_engine_share(job);
    if (detailed && share > 0 && !device->is_host && gp_origin_of(job, GP_FIELD_MEMORY_UTILIZATION) == GP_ABSENT)
        gp_set_real(job, GP_FIELD_MEMORY_UTILIZATION, share, GP_DERIVED);
}

void gp_derive_job(gp_job *job, const gp_device *device, gp_diagnostics *diagnostics) {
    derive_count(job);
    if (!gp_is_training(job)) {
        derive_inference(job, device, diagnostics);
        return;
    }
    derive_precision(job, device, diagnostics);
    derive_attention(job, device, diagnostics);
    gp_derive_framework(job);
    derive_loss(job);
    derive_sharding(job);
}

static void derive_whole(gp_job *job, gp_field field, int64_t value) {
    bool follows = gp_origin_of(job, field) == GP_DEFAULT && gp_whole(job, field) != value;
    if (!gp_known(job, field) || follows) gp_set_whole(job, field, value, GP_DERIVED);
}

static void derive_text(gp_job *job, gp_field field, const char *text) {
    gp_setting *setting = &job->settings[field];
    if (setting->origin == GP_AUTO) *setting = (gp_setting){.origin = GP_DERIVED, .text = text};
}

/* What the course notes store, whatever the framework would. A stated sum of bytes has no types. */
static void derive_textbook_storage(gp_job *job, const gp_recipe *recipe) {
    const gp_textbook_state *state = &recipe->textbook_state;
    const char *compute = gp_choice_is(job, GP_FIELD_PRECISION, "fp16") ? "fp16" : "bf16";
    bool stated = gp_known(job, GP_FIELD_TEXTBOOK_STATE);
    gp_setting *master = &job->settings[GP_FIELD_MASTER_WEIGHTS];
    if (master->origin == GP_DERIVED) master->origin = GP_AUTO;
    if (stated) return;
    if (!gp_is_adapter(job)) derive_choice(job, GP_FIELD_TRAIN_WEIGHTS, state->weights > 2 ? "fp32" : compute);
    if (master->origin == GP_AUTO) gp_set_whole(job, GP_FIELD_MASTER_WEIGHTS, state->master > 0, GP_DERIVED);
    derive_text(job, GP_FIELD_GRAD_DTYPE, state->gradients > 2 ? "fp32" : compute);
}

/* Storage types of full training, as the framework chose them. */
static void derive_storage(gp_job *job, const gp_recipe *recipe) {
    const char *compute = gp_choice_is(job, GP_FIELD_PRECISION, "fp16") ? "fp16" : "bf16";
    if (!gp_is_adapter(job))
        derive_choice(job, GP_FIELD_TRAIN_WEIGHTS,
                      recipe->other_bits > 16 ? "fp32" : recipe->other_bits < 16 ? "fp8" : compute);
    derive_whole(job, GP_FIELD_MASTER_WEIGHTS, recipe->master_bytes > 0);
    derive_text(job, GP_FIELD_GRAD_DTYPE, recipe->gradient_bytes > 2 ? "fp32" : compute);
}

void gp_derive_from_layout(gp_job *job, const gp_layout *layout) {
    bool train = gp_is_training(job);
    derive_whole(job, GP_FIELD_COUNT, layout->gpus);
    derive_whole(job, train ? GP_FIELD_TP : GP_FIELD_INFER_TP, layout->tp);
    if (!layout->device_map) derive_whole(job, train ? GP_FIELD_PP : GP_FIELD_INFER_PP, layout->pp);
    derive_whole(job, train ? GP_FIELD_DP : GP_FIELD_INFER_DP, layout->dp);
    if (!train) {
        derive_whole(job, GP_FIELD_ATTENTION_DP, layout->attention.groups);
        bool packs = layout->recipe.kv_bits == 8 && gp_origin_of(job, GP_FIELD_KV) == GP_DERIVED;
        if (packs) gp_set_choice(job, GP_FIELD_KV, "fp8", GP_DERIVED);
        return;
    }
    derive_whole(job, GP_FIELD_GRAD_ACCUM, layout->grad_accum / layout->batch_parts);
    derive_whole(job, GP_FIELD_GLOBAL_BATCH, layout->global_batch);
    derive_whole(job, GP_FIELD_SEQUENCE_PARALLEL, layout->sequence_parallel);
    if (gp_is_choice(job, GP_FIELD_LEDGER, GP_CHOICE_LEDGER_TEXTBOOK))
        derive_textbook_storage(job, &layout->recipe);
    else
        derive_storage(job, &layout->recipe);
}
