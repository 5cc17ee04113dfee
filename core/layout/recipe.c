#include "layout/recipe.h"

#include <math.h>
#include <string.h>

#include "formats/format.h"
#include "model/quantize.h"
#include "layout/recipe_parts.h"

static void make_file(const gp_model *model, int mix, struct gp_file_made *last, gp_file_bytes *file) {
    bool same = last != NULL && last->mix == mix && last->id == model->row.id && gp_shape_is_same(&last->shape, &model->shape);
    if (same) {
        *file = last->bytes;
        return;
    }
    gp_quantize(model, mix, file);
    if (last == NULL) return;
    last->mix = mix;
    last->id = model->row.id;
    last->bytes = *file;
    gp_shape_copy(&last->shape, &model->shape);
}

/* The tensors of a GGUF file; its average stands for the format's bits where one figure is asked for. */
static void set_file(const gp_job *job, const gp_model *model, gp_recipe *recipe) {
    gp_file_bytes file;
    make_file(model, recipe->mix, job->file, &file);
    recipe->file_layers = file.layers;
    recipe->file_embedding = file.embedding;
    recipe->file_output = file.output;
    recipe->file_ends = file.ends;
    double bytes = (double)file.layers + (double)file.embedding + (double)file.output + (double)file.ends;
    recipe->linear_bits = recipe->other_bits = 8 * bytes / (double)(model->total_params - model->vision_params - model->audio_params);
    recipe->whole_model = true;
}

void gp_recipe_set_format(const gp_job *job, const char *name, const gp_model *model, gp_recipe *recipe) {
    gp_format scratch;
    const gp_format *format = gp_format_find(name, &scratch);
    recipe->linear_bits = format != NULL ? format->linear_bits : 16;
    recipe->other_bits = format != NULL ? format->other_bits : 16;
    recipe->textbook_bits = format != NULL ? format->textbook_bits : 16;
    recipe->whole_model = format != NULL && format->whole_model;
    recipe->experts_only = format != NULL && format->experts_only && model->expert_params > 0;
    recipe->beside_bits = recipe->experts_only ? format->beside_bits : 0;
    recipe->mix = format != NULL ? gp_mix_find(format->name) : -1;
    if (recipe->mix >= 0) set_file(job, model, recipe);
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

/* The number after "4." of the release of transformers that "transformers 4.44.2", "4.44", "torch 2.1.2" (one release of
 * PyTorch came with two or three of transformers: 4.36 with 2.1, 4.44 with 2.4) or the year "2023" mean; -1 otherwise. */
static int transformers_release(const char *version) {
    const int with_torch_1 = 33, of_2023 = 30;
    int release = minor_version(version, "transformers 4."), torch = minor_version(version, "torch 2.");
    if (release < 0 && gp_begins_with(version, "4.")) release = minor_version(version, "4.");
    if (release < 0 && torch >= 0) release = with_torch_1 + 3 * torch - torch / 4;
    return release < 0 && gp_begins_with(version, "2023") ? of_2023 : release;
}

/* Before transformers 4.45 the logits of the whole prompt were computed. */
static bool computes_prompt_logits(const char *version) {
    const int last_token_only = 45;
    int release = transformers_release(version);
    return release >= 0 && release < last_token_only;
}

gp_engine_kind gp_engine_of(const gp_job *job) {
    switch (gp_known(job, GP_FIELD_ENGINE) ? gp_whole(job, GP_FIELD_ENGINE) : GP_CHOICE_ENGINE_VLLM) {
    case GP_CHOICE_ENGINE_LLAMA_CPP:
    case GP_CHOICE_ENGINE_IK_LLAMA_CPP:
    case GP_CHOICE_ENGINE_KTRANSFORMERS:
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

static int vllm_release(const gp_job *job) {
    bool vllm = gp_is_choice(job, GP_FIELD_ENGINE, GP_CHOICE_ENGINE_VLLM);
    return vllm ? minor_version(gp_recipe_text(job, GP_FIELD_ENGINE_VERSION), "0.") : -1;
}

static int engine_release(const gp_job *job) {
    bool transformers = gp_is_choice(job, GP_FIELD_ENGINE, GP_CHOICE_ENGINE_TRANSFORMERS);
    const char *version = gp_recipe_text(job, GP_FIELD_ENGINE_VERSION);
    if (gp_is_choice(job, GP_FIELD_ENGINE, GP_CHOICE_ENGINE_SGLANG)) return minor_version(version, "0.");
    return transformers ? transformers_release(version) : vllm_release(job);
}

/* Engines that go by a share of memory, with the defaults of their own options: gpu_memory_utilization (vllm/config),
 * mem_fraction_static (sglang/srt/server_args.py until release 0.4), free_gpu_memory_fraction (tensorrt_llm KvCacheConfig),
 * cache_max_entry_count (lmdeploy/messages.py), cuda_memory_fraction (TGI, launcher/src/main.rs), of which TGI takes nine
 * tenths (TGI_WIGGLE_ROOM, server/text_generation_server/models/globals.py). */
static const struct {
    int64_t engine; /* choice of infer.engine */
    double share;
    bool of_rest;   /* of what is free after loading */
} shares[] = {{GP_CHOICE_ENGINE_VLLM, 0.9, false}, {GP_CHOICE_ENGINE_SGLANG, 0.88, false},
            {GP_CHOICE_ENGINE_TENSORRT_LLM, 0.9, true}, {GP_CHOICE_ENGINE_TGI, 1, false},
            {GP_CHOICE_ENGINE_LMDEPLOY, 0.8, true}};
enum { SHARE_COUNT = sizeof shares / sizeof shares[0] };

static int share_row(const gp_job *job) {
    int64_t engine = gp_known(job, GP_FIELD_ENGINE) ? gp_whole(job, GP_FIELD_ENGINE) : 0;
    int row = 0;
    while (row < SHARE_COUNT && shares[row].engine != engine) row++;
    return row;
}

bool gp_engine_takes_share(const gp_job *job) { return share_row(job) < SHARE_COUNT; }

static double device_bytes(const gp_job *job) {
    const gp_gpu_row *row = gp_catalog_gpu_of(&job->gpu);
    if (job->gpu.memory_gib > 0) return job->gpu.memory_gib * (double)GP_GIB;
    return row == NULL ? 0 : row->memory_bytes > 0 ? (double)row->memory_bytes : row->memory_gb_nominal * (double)GP_GIB;
}

static double degree_of(const gp_job *job, gp_field field) { return gp_known(job, field) ? (double)gp_whole(job, field) : 1; }

/* SGLang by the size of the device (server_args.py, _handle_gpu_memory_settings): tokens of a pass, sequences of its graphs. */
static const struct {
    double below_gib, pass_tokens, graphs, graphs_of_four; /* the last: from tensor parallel 4 on */
} sglang_sizes[] = {{20, 2048, 8, 8}, {35, 2048, 24, 80}, {60, 4096, 32, 160}, {90, 8192, 256, 512}, {160, 8192, 256, 512},
                    {0, 16384, 512, 512}};
enum { SGLANG_SIZES = sizeof sglang_sizes / sizeof sglang_sizes[0] };

static int sglang_size(const gp_job *job) {
    double gib = device_bytes(job) / (double)GP_GIB;
    int size = 0;
    while (size < SGLANG_SIZES - 1 && gib >= sglang_sizes[size].below_gib) size++;
    return size;
}

/* Since 0.5 SGLang sets aside what it expects a pass, its graphs and many GPUs to take, 10 GiB at least of large devices. */
static double sglang_share(const gp_job *job) {
    const double meta = 512, each_token = 1.5, each_graph = 2, eight_gpus = 1024, large_mib = 60 * 1024, least = 10 * 1024, four = 4;
    double mib = device_bytes(job) / (double)GP_MIB, tp = degree_of(job, GP_FIELD_INFER_TP);
    int release = engine_release(job), size = sglang_size(job);
    if (!(mib > 0) || (release >= 0 && release < 5)) return shares[share_row(job)].share;
    double tokens = gp_known(job, GP_FIELD_MAX_BATCHED_TOKENS) ? degree_of(job, GP_FIELD_MAX_BATCHED_TOKENS) : sglang_sizes[size].pass_tokens;
    double aside = meta + each_token * (tokens > 2048 ? tokens : 2048);
    aside += each_graph * (tp < four ? sglang_sizes[size].graphs : sglang_sizes[size].graphs_of_four);
    aside += tp * degree_of(job, GP_FIELD_INFER_PP) / 8 * eight_gpus;
    if (mib > large_mib && aside < least) aside = least;
    double share = floor((mib - aside) / mib * 1000 + 0.5) / 1000;
    return share > 0.01 ? share : 0.01;
}

double gp_engine_share(const gp_job *job) {
    int row = share_row(job);
    if (row >= SHARE_COUNT) return 0;
    return shares[row].engine == GP_CHOICE_ENGINE_SGLANG ? sglang_share(job) : shares[row].share;
}

bool gp_engine_shares_rest(const gp_job *job) {
    int row = share_row(job);
    return row < SHARE_COUNT && shares[row].of_rest;
}

gp_beside_share gp_engine_beside_share(const gp_job *job) {
    const double mib = (double)GP_MIB, counted_mib = 130;
    const int counts_context = 7, counts_graphs = 21;
    if (gp_is_choice(job, GP_FIELD_ENGINE, GP_CHOICE_ENGINE_TGI)) return (gp_beside_share){0, GP_GRAPH_MIB * mib};
    if (!gp_is_choice(job, GP_FIELD_ENGINE, GP_CHOICE_ENGINE_VLLM)) return (gp_beside_share){0, 0};
    int release = vllm_release(job);
    bool known = release >= 0;
    return (gp_beside_share){known && release < counts_context ? 0 : (GP_CONTEXT_MIB - counted_mib) * mib,
                             known && release < counts_graphs ? GP_GRAPH_MIB * mib : 0};
}

/* What vLLM prepares for when it is not told (vllm/engine/arg_utils.py): 1024 sequences and 8192 tokens a pass on
 * devices with 70 GiB or more other than the A100, else 256 and 2048. Before release 0.8: 256 sequences, and a whole
 * context at once up to 32768 tokens. Release 0.8 did not run the sampler when it measured its peak. TensorRT-LLM
 * prepares 8192 tokens (tensorrt_llm/llmapi: max_num_tokens) and keeps the cache in blocks of 32, LMDeploy as many in blocks
 * of 64 (lmdeploy/messages.py: max_prefill_token_num, cache_block_seq_len), SGLang token by token (page_size). */
static void set_engine_limits(const gp_job *job, gp_recipe *recipe) {
    const double large_bytes = 70.0 * (double)GP_GIB, whole_context = 32768, chunk = 2048;
    const gp_gpu_row *row = gp_catalog_gpu_of(&job->gpu);
    const int without_sampler = 8;
    int release = vllm_release(job);
    bool vllm = gp_is_choice(job, GP_FIELD_ENGINE, GP_CHOICE_ENGINE_VLLM), old = release >= 0 && release < 8;
    bool tensorrt = gp_is_choice(job, GP_FIELD_ENGINE, GP_CHOICE_ENGINE_TENSORRT_LLM);
    double bytes = device_bytes(job);
    bool sglang = gp_is_choice(job, GP_FIELD_ENGINE, GP_CHOICE_ENGINE_SGLANG);
    bool lmdeploy = gp_is_choice(job, GP_FIELD_ENGINE, GP_CHOICE_ENGINE_LMDEPLOY);
    recipe->block = tensorrt ? 32 : sglang ? 1 : lmdeploy ? 64 : 16;
    bool large = !old && bytes >= large_bytes && (row == NULL || strstr(row->name, "A100") == NULL);
    double context = gp_known(job, GP_FIELD_CONTEXT) ? (double)gp_whole(job, GP_FIELD_CONTEXT) : 0;
    double whole = context < whole_context ? context : whole_context;
    recipe->batched_tokens = large || tensorrt || lmdeploy ? 8192 : old && whole > chunk ? whole : chunk;
    if (sglang) recipe->batched_tokens = sglang_sizes[sglang_size(job)].pass_tokens;
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
        {"gpt_oss", 4, 2, false},   {"lfm2", 3, 1, false},   {"granitemoehybrid", 4, 3, false}, {"kimi_k2", 4, 2, false},
    };
    const char *type = model->shape.model_type != NULL ? model->shape.model_type : "";
    recipe->ffn_rows = 4;
    recipe->logit_rows = 1;
    for (size_t i = 0; i < sizeof graphs / sizeof graphs[0]; i++) {
        if (!gp_begins_with(type, graphs[i].prefix)) continue;
        recipe->ffn_rows = graphs[i].ffn_rows;
        recipe->logit_rows = graphs[i].logit_rows;
        recipe->ffn_query = graphs[i].ffn_query;
    }
    recipe->mask_gap = gp_begins_with(type, "phi3");
    /* The last layer's outputs of the chosen experts lie below the logits where shared experts are added to them. */
    bool summed = gp_begins_with(type, "deepseek") || gp_begins_with(type, "kimi_k2");
    if (summed && model->shape.experts.shared_ffn > 0) recipe->logit_rows = (double)model->shape.experts.topk + 3;
    /* A window on every layer is not used, nor is Qwen's on the last ones. */
    bool full = false;
    for (int i = 0; i < model->kind_count; i++) {
        const gp_layer *layer = &model->kinds[i];
        full = full || layer->kind.attention == GP_ATTENTION_COMPRESSED || (layer->cache_keys > 0 && layer->window == 0);
    }
    recipe->ignores_windows = !full || gp_begins_with(type, "qwen");
}

/* Matrices of all layers; layers beyond the map are alike. */
static uint64_t linear_params(const gp_model *model) {
    uint64_t linear = 0;
    int64_t layers = model->shape.layers, mapped = layers < GP_MAPPED_LAYERS ? layers : GP_MAPPED_LAYERS;
    for (int64_t i = 0; i < mapped; i++) linear = gp_add(linear, gp_model_layer(model, i)->linear_params);
    if (layers > mapped)
        linear = gp_add(linear, gp_mul((uint64_t)(layers - mapped), gp_model_layer(model, mapped)->linear_params));
    return linear;
}

double gp_recipe_bits(const gp_recipe *recipe, uint64_t experts, uint64_t linear, uint64_t other) {
    uint64_t packed = recipe->experts_only ? experts : linear;
    double beside = (double)gp_sub_or_zero(linear, packed), rest = (double)other;
    if (recipe->whole_model) return ((double)packed + beside + rest) * recipe->linear_bits;
    double beside_bits = recipe->beside_bits > 0 ? recipe->beside_bits : recipe->other_bits;
    return (double)packed * recipe->linear_bits + beside * beside_bits + rest * recipe->other_bits;
}

static double model_bits(const gp_model *model, const gp_recipe *recipe) {
    uint64_t linear = linear_params(model);
    return gp_recipe_bits(recipe, model->expert_params, linear, gp_sub_or_zero(model->total_params, linear));
}

/* An imported file: its own bytes count more than what its mix would give, which tells how the ends are packed where the
 * job does not. What is not in them is in the layers. Without a mix, or with one that cannot be, the file is one piece. */
static void take_file(const gp_model_request *file, gp_recipe *recipe) {
    if (file->file_embedding > 0) recipe->file_embedding = (uint64_t)file->file_embedding;
    if (file->file_output > 0 && recipe->file_output > 0) recipe->file_output = (uint64_t)file->file_output;
    uint64_t ends = gp_add(gp_add(recipe->file_embedding, recipe->file_output), recipe->file_ends);
    if (recipe->mix >= 0 && recipe->file_bytes > (double)ends) {
        recipe->mix_layers = recipe->file_layers;
        recipe->file_layers = (uint64_t)recipe->file_bytes - ends;
    } else {
        recipe->mix = -1;
    }
}

uint64_t gp_recipe_file_layers(const gp_model *model, const gp_recipe *recipe, int64_t first, int64_t count) {
    if (count == model->shape.layers) return recipe->file_layers;
    uint64_t bytes = gp_quantize_layers(model, recipe->mix, first, count);
    if (recipe->mix_layers == 0) return bytes;
    return gp_bytes_from_double((double)bytes * ((double)recipe->file_layers / (double)recipe->mix_layers));
}

/* Types of ik_llama.cpp's own: those repacked in rows of four or eight, which are for its products on the host, and its
 * IQ2_K to IQ6_K. In a model with experts they are those of the experts; what is beside them is packed in about 8 bits
 * (q8_0: 17.3 GiB of DeepSeek-V3 in its start-up logs). */
static bool packs_experts_only(const gp_job *job, const gp_model *model) {
    const char *name = gp_recipe_text(job, GP_FIELD_WEIGHTS);
    size_t length = strlen(name);
    bool rows = length > 3 && (strcmp(name + length - 3, "_R4") == 0 || strcmp(name + length - 3, "_R8") == 0);
    const char *iq = strstr(name, "IQ");
    bool own = iq != NULL && strlen(iq) >= 5 && iq[3] == '_' && iq[4] == 'K';
    return (rows || own) && model->expert_params > 0;
}

/* Weights of so many bits: all of them, or the experts alone. */
static void take_bits(double bits, const gp_job *job, const gp_model *model, gp_recipe *recipe) {
    const double q8_0_bits = 8.5;
    recipe->linear_bits = bits;
    recipe->experts_only = packs_experts_only(job, model);
    recipe->whole_model = !recipe->experts_only;
    recipe->other_bits = q8_0_bits;
    recipe->beside_bits = 0;
    recipe->mix = -1;
}

/* vLLM keeps latents that an indexer chooses from in fp8 unless told otherwise (pull request 25988; DeepSeek-V4 in nothing
 * else). */
static bool packs_sparse_cache(const gp_job *job, const gp_model *model) {
    gp_origin origin = gp_origin_of(job, GP_FIELD_KV);
    bool told = origin == GP_GIVEN || origin == GP_SOLVED;
    if (told || !gp_is_choice(job, GP_FIELD_ENGINE, GP_CHOICE_ENGINE_VLLM)) return false;
    for (int i = 0; i < model->kind_count; i++)
        if (model->kinds[i].cache_index > 0) return true;
    return false;
}

static void build_inference(const gp_job *job, const gp_model *model, gp_recipe *recipe) {
    gp_recipe_set_format(job, gp_recipe_text(job, GP_FIELD_WEIGHTS), model, recipe);
    if (gp_known(job, GP_FIELD_WEIGHT_BITS))
        take_bits(gp_real(job, GP_FIELD_WEIGHT_BITS), job, model, recipe);
    else if (packs_experts_only(job, model))
        take_bits(recipe->linear_bits, job, model, recipe);
    if (gp_weights_are_file(job)) {
        recipe->file_bytes = job->model.file_bytes;
        recipe->model_bits = model_bits(model, recipe);
        take_file(&job->model, recipe);
    }
    recipe->kv_bits = gp_kv_bits(gp_recipe_text(job, GP_FIELD_KV));
    if (!(recipe->kv_bits > 0)) recipe->kv_bits = 16;
    if (packs_sparse_cache(job, model)) recipe->kv_bits = 8;
    recipe->engine = gp_engine_of(job);
    /* Every nn.Linear is replaced, the output matrix too (gpt-fast quantize.py; torchao quantize_). */
    recipe->packs_head = gp_is_choice(job, GP_FIELD_ENGINE, GP_CHOICE_ENGINE_GPT_FAST) && model->head_params > 0;
    recipe->release = engine_release(job);
    if (recipe->engine == GP_ENGINE_PAGED) set_engine_limits(job, recipe);
    if (recipe->engine == GP_ENGINE_LLAMA_CPP) {
        gp_recipe_place_experts(job, model, recipe);
        const int graphs = 3000; /* builds since June 2024 launch a step as one graph (pull request 6766) */
        const int layered_cache = 1620; /* the build of December 2023 that keeps the cache by layer (pull request 4309) */
        const int scheduler = 1842; /* the build of January 2024 that brought ggml-backend's scheduler */
        const int rows_known = 5200; /* of April 2025: logs up to then print buffers of 560 and 832 MiB without FlashAttention */
        const int limits_outputs = 9479; /* the first tag known to have pull request 23861 of June 2026 */
        int build = build_number(gp_recipe_text(job, GP_FIELD_ENGINE_VERSION));
        set_graph(model, recipe);
        bool of_2023 = gp_begins_with(gp_recipe_text(job, GP_FIELD_ENGINE_VERSION), "2023");
        recipe->before_scheduler = of_2023 || (build >= 0 && build < scheduler);
        recipe->cache_after_layers = of_2023 || (build >= 0 && build < layered_cache);
        recipe->few_outputs = build >= limits_outputs;
        bool ik = gp_is_choice(job, GP_FIELD_ENGINE, GP_CHOICE_ENGINE_IK_LLAMA_CPP);
        recipe->few_rows = ik || (build >= 0 && build < rows_known);
        recipe->before_graphs = of_2023 || (build >= 0 && build < graphs);
    }
    bool transformers = gp_is_choice(job, GP_FIELD_ENGINE, GP_CHOICE_ENGINE_TRANSFORMERS);
    recipe->prompt_logits = transformers && computes_prompt_logits(gp_recipe_text(job, GP_FIELD_ENGINE_VERSION));
}

void gp_recipe_build(const gp_job *job, const gp_model *model, gp_recipe *recipe) {
    *recipe = (gp_recipe){.linear_bits = 16, .other_bits = 16, .textbook_bits = 16, .kv_bits = 16, .mix = -1};
    recipe->on_host = strcmp(job->gpu.name, "cpu") == 0;
    const gp_gpu_row *row = gp_catalog_gpu_of(&job->gpu);
    recipe->unified_memory = row != NULL && strcmp(row->vendor, "Apple") == 0;
    if (gp_is_training(job))
        gp_recipe_training(job, model, recipe);
    else
        build_inference(job, model, recipe);
}
