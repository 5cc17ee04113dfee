#include "timing/timing_parts.h"

#include <math.h>
#include <string.h>

#include "formats/format.h"

static double multiplied(double value, const uint16_t percent[GP_SPEED_FORMATS], gp_speed_format format) {
    return percent[format] == 0 ? value : value * percent[format] / 100;
}

/* The harmonic mean of order 8: below the limit almost the rate, above it almost the limit. */
static double limited(double rate, double limit) {
    if (!(limit > 0)) return rate;
    double ratio = rate / limit, squared = ratio * ratio, fourth = squared * squared;
    return rate / sqrt(sqrt(sqrt(1 + fourth * fourth)));
}

static double peak_of(const gp_gpu_row *row, gp_speed_format format) {
    const gp_gpu_speed *speed = gp_catalog_gpu_speed(row);
    double plain = speed->bf16_flops > 0 ? speed->bf16_flops : speed->fp16_flops;
    if ((format != GP_SPEED_FP8 && format != GP_SPEED_FP4) || !(speed->fp8_flops > 0)) return plain;
    return format == GP_SPEED_FP4 && row->fp4 ? 2 * speed->fp8_flops : speed->fp8_flops;
}

/* Cards without units for a format unpack it. */
static gp_speed_format format_on(const gp_gpu_row *row, gp_speed_format format) {
    if (format == GP_SPEED_FP8 && !row->fp8) return GP_SPEED_W8;
    return format == GP_SPEED_FP4 && !row->fp4 ? GP_SPEED_FP4_UNPACKED : format;
}

/* Of what is beside experts. A model that is published with its experts alone in 4 bits (gpt-oss) has the rest in 16 in every
 * checkpoint of 4 bits. */
static gp_speed_format format_beside(const gp_replica *m) {
    gp_format scratch;
    const char *stored = m->model->row.id != NULL ? m->model->row.stored : "";
    const gp_format *published = stored[0] != '\0' ? gp_format_find(stored, &scratch) : NULL;
    bool fp4 = m->format == GP_SPEED_FP4 || m->format == GP_SPEED_FP4_UNPACKED;
    bool experts_only = published != NULL && published->experts_only && !(published->beside_bits > 0);
    return m->dense_bytes < 2 && !(fp4 && experts_only) ? m->format : GP_SPEED_16;
}

/* What kernels of a layer take to start, in plain layers. */
static double kernels_of(const gp_replica *m, const gp_layer *layer) {
    const gp_engine_speed *engine = m->engine;
    double layers = 1;
    if (layer->kind.attention == GP_ATTENTION_LATENT) layers += engine->latent_layers;
    if (layer->cache_index > 0) layers += engine->index_layers;
    if (layer->expert_params > 0 && m->model->shape.experts.shared_ffn > 0) layers += engine->shared_layers;
    return layers;
}

/* A latent of the cache is whole on every rank; with data parallelism of attention each group has its sequences. */
static void count_layers(gp_replica *m) {
    const gp_model *model = m->model;
    for (int i = 0; i < model->kind_count; i++) {
        const gp_layer *layer = &model->kinds[i];
        double layers = (double)model->kind_layers[i];
        m->layers += layers;
        m->experts += layers * (double)layer->expert_params;
        m->dense += layers * (double)(layer->params - layer->expert_params);
        if (layer->expert_params > 0) m->expert_layers += layers;
        m->kernel_layers += layers * kernels_of(m, layer);
    }
    int64_t tp = m->layout->attention.tp, groups = m->layout->tp / tp;
    m->attention_ways = (double)groups;
    m->expert_ranks = (double)m->layout->attention.expert_tp;
    m->expert_groups = m->expert_ranks > m->ranks ? (double)m->layout->attention.groups : 1;
    gp_cache_of_rank(model, m->layout, 0, model->shape.layers, &m->cache);
    m->head = (double)model->shape.vocab * (double)model->shape.hidden;
}

/* Ranks over which the dense parameters are spread: fewer than there are where every group of data-parallel attention holds
 * some of them. */
static void count_copies(gp_replica *m) {
    double whole = 0, share = 0;
    m->dense_ranks = m->ranks;
    m->head_ranks = (double)m->layout->attention.feed_forward_tp;
    if (m->layout->attention.tp == m->layout->tp) return;
    for (int i = 0; i < m->model->kind_count; i++) {
        const gp_layer *layer = &m->model->kinds[i];
        for (int j = 0; j < layer->matrix_count; j++) {
            const gp_matrix *matrix = &layer->matrices[j];
            if (matrix->copies > 1) continue;
            double params = (double)m->model->kind_layers[i] * (double)matrix->inputs * (double)matrix->outputs;
            whole += params;
            share += params / (double)gp_layout_ways(m->layout, matrix->tensor);
        }
    }
    if (share > 0) m->dense_ranks = whole / share;
}

/* Hosts of which nothing is said. One that holds much has the memory channels of a server: DeepSeek under ik_llama.cpp
 * read 240 to 345 GB/s and computed 4 to 6 TFLOP/s; two channels of DDR4 hold up to 64 GB at usual sizes and give 45 GB/s,
 * two of DDR5 up to 192 GB and 75 GB/s (github.com/ikawrakow/ik_llama.cpp, github.com/ggml-org/llama.cpp llama-bench). */
static const struct {
    double most_bytes, bytes_per_s, flops;
} hosts[] = {{64e9, 45e9, 3e12}, {128e9, 75e9, 3e12}, {0, 280e9, 5e12}};
enum { HOST_COUNT = sizeof hosts / sizeof hosts[0] };

/* llama.cpp leaves the first layers to the host when it sends fewer than all, with their caches; the output matrix counts
 * as one layer more. Until December 2023 the cache of all layers counted as the last three. */
static void set_host(const gp_job *job, gp_replica *m) {
    const double attention_flops = 0.13e12, copied_bytes_per_s = 12e9, cache_layers = 3;
    const gp_recipe *recipe = &m->layout->recipe;
    gp_host_part *host = &m->host;
    bool by_layers = recipe->engine == GP_ENGINE_LLAMA_CPP && gp_known(job, GP_FIELD_GPU_LAYERS) && !recipe->on_host;
    double sent = by_layers ? (double)gp_whole(job, GP_FIELD_GPU_LAYERS) : m->layers + cache_layers;
    host->layers = fmax(0, 1 - sent / m->layers);
    host->head = sent <= m->layers ? 1 : 0;
    host->attention = recipe->cache_after_layers && sent < m->layers + cache_layers ? 1 : host->layers;
    double held = gp_recipe_held_experts(m->model, recipe, 0, m->model->shape.layers);
    host->experts = fmax(host->layers, m->experts > 0 ? held / m->experts : 0);
    host->crossings = (host->attention - host->layers) * m->layers + (host->experts - host->layers) * m->expert_layers;
    double whole = (m->dense + m->experts) * recipe->linear_bits / 8; /* a host is no other for holding less of it */
    int row = 0;
    while (row < HOST_COUNT - 1 && whole > hosts[row].most_bytes) row++;
    host->bytes_per_s = hosts[row].bytes_per_s;
    host->stated = gp_known(job, GP_FIELD_HOST_BANDWIDTH);
    if (host->stated) host->bytes_per_s = gp_real(job, GP_FIELD_HOST_BANDWIDTH) * 1e9;
    host->flops = hosts[row].flops;
    host->attention_flops = attention_flops;
    host->copied_bytes_per_s = copied_bytes_per_s;
}

/* Seven of ten guesses are right where nothing else is said (Leviathan et al. 2023, table 2: 0.5 to 0.8). */
static void set_draft(const gp_job *job, gp_replica *m) {
    const double usual_acceptance = 0.7;
    m->draft = gp_known(job, GP_FIELD_DRAFT_TOKENS) ? (double)gp_whole(job, GP_FIELD_DRAFT_TOKENS) : 0;
    m->tokens_per_step = gp_tokens_per_step(m->draft, gp_real_or(job, GP_FIELD_DRAFT_ACCEPTANCE, usual_acceptance));
}

/* Per GPU and direction: the link that is stated, else the GPU's own, else what PCIe 4.0 x16 gives in practice. */
static double link_bytes_per_s(const gp_job *job, const gp_gpu_row *row) {
    const double pcie_bytes_per_s = 25e9, own = gp_catalog_gpu_speed(row)->nvlink_bytes_per_s;
    const char *stated = gp_known(job, GP_FIELD_INTERCONNECT) ? job->settings[GP_FIELD_INTERCONNECT].text : NULL;
    const gp_link_row *link = stated != NULL ? gp_catalog_find_link(stated) : NULL;
    if (link != NULL) return link->bytes_per_s;
    return own > 0 ? own : pcie_bytes_per_s;
}

/* Tensor parallelism over more GPUs than the job says a machine has goes over the network: 400 Gbit/s for each GPU of
 * machines with eight, 100 Gbit/s for smaller ones, and 30 us more (github.com/NVIDIA/nccl-tests, all_reduce_perf of few
 * bytes over two nodes). The trays of a GB200 are one NVLink domain of 72. */
static void set_network(const gp_job *job, const gp_gpu_row *row, gp_replica *m) {
    const double fabric_bytes_per_s = 50e9, ethernet_bytes_per_s = 12.5e9, hop_s = 30e-6;
    const int64_t fabric_gpus = 8, domain_gpus = 72;
    if (gp_origin_of(job, GP_FIELD_PER_NODE) != GP_GIVEN) return;
    int64_t near = gp_whole(job, GP_FIELD_PER_NODE);
    double network = near >= fabric_gpus ? fabric_bytes_per_s : ethernet_bytes_per_s;
    if (strncmp(row->name, "GB", 2) == 0 && near < domain_gpus) near = domain_gpus;
    if (m->layout->tp <= near) return;
    m->link_bytes_per_s = fmin(m->link_bytes_per_s, network);
    m->hop_s = hop_s;
}

/* Tokens of a context up to which a step is one graph. vLLM 0.4.2 launches steps beyond 8192 tokens (its
 * max_seq_len_to_capture) kernel by kernel, 0.6.3 does not (qwen.readthedocs.io, benchmarks of Qwen2 and Qwen2.5). */
static double captured_tokens(const gp_job *job, const gp_recipe *recipe) {
    const int captures_all = 6;
    const double captured = 8192;
    bool without_graphs = gp_is_choice(job, GP_FIELD_ENGINE, GP_CHOICE_ENGINE_LMDEPLOY); /* TurboMind's kernels are its own */
    if (!without_graphs && gp_known(job, GP_FIELD_ENFORCE_EAGER) && gp_whole(job, GP_FIELD_ENFORCE_EAGER) != 0) return 0;
    bool vllm = gp_is_choice(job, GP_FIELD_ENGINE, GP_CHOICE_ENGINE_VLLM);
    return vllm && recipe->release >= 0 && recipe->release < captures_all ? captured : (double)GP_EXACT_MAX;
}

bool gp_replica_describe(const gp_job *job, const gp_model *model, const gp_layout *layout, const gp_device *device,
                     gp_replica *m) {
    const gp_recipe *recipe = &layout->recipe;
    const gp_gpu_row *row = device->row;
    memset(m, 0, sizeof *m);
    m->bandwidth = job->gpu.bandwidth_gb_s > 0 ? job->gpu.bandwidth_gb_s * 1e9 : row != NULL ? row->bandwidth_bytes_per_s : 0;
    if (!(m->bandwidth > 0) || row == NULL) return false;
    m->engine = gp_engine_speed_of(job, recipe, model->expert_params > 0);
    m->model = model;
    m->layout = layout;
    m->format = format_on(row, gp_speed_format_of(job, recipe));
    m->ranks = (double)layout->tp;
    m->flops = peak_of(row, m->format);
    m->half_flops = peak_of(row, GP_SPEED_16);
    m->half_gain = strncmp(row->name, "GeForce", 7) == 0 ? 2 : 1;
    m->link_bytes_per_s = link_bytes_per_s(job, row);
    set_network(job, row, m);
    m->captured_tokens = captured_tokens(job, recipe);
    m->pass_tokens = m->engine->pass_tokens;
    if (m->pass_tokens > 0 && gp_known(job, GP_FIELD_UBATCH)) m->pass_tokens = (double)gp_whole(job, GP_FIELD_UBATCH);
    if (m->engine->static_cache && gp_known(job, GP_FIELD_CONTEXT)) m->places = (double)gp_whole(job, GP_FIELD_CONTEXT);
    count_layers(m);
    count_copies(m);
    set_host(job, m);
    set_draft(job, m);
    double dense_bits = recipe->beside_bits > 0 ? recipe->beside_bits : recipe->other_bits;
    m->expert_bytes = recipe->linear_bits / 8;
    m->dense_bytes = (recipe->experts_only ? dense_bits : recipe->linear_bits) / 8;
    m->dense_format = format_beside(m);
    m->head_bytes = (recipe->whole_model || recipe->packs_head ? recipe->linear_bits : recipe->other_bits) / 8;
    return m->flops > 0;
}

/* Share of the experts that a step of so many tokens uses, when each token chooses on its own: 1 - (1 - k / E)^n. */
static double touched(const gp_experts *experts, double tokens) {
    if (experts->count == 0) return 0;
    double missed = 1, base = 1 - (double)experts->topk / (double)experts->count;
    for (uint64_t n = (uint64_t)fmax(1, floor(tokens + 0.5)); n > 0; n /= 2) {
        if (n % 2 == 1) missed *= base;
        base *= base;
    }
    return 1 - missed;
}

static double chosen(const gp_experts *experts) {
    return experts->count > 0 ? (double)experts->topk / (double)experts->count : 0;
}

/* Heads times their size times the tokens that one at the end of a sequence sees, over all layers. */
static double attended(const gp_model *model, double tokens) {
    double sum = 0;
    for (int i = 0; i < model->kind_count; i++) {
        const gp_layer *layer = &model->kinds[i];
        if (layer->cache_keys == 0) continue;
        double seen = layer->window > 0 ? fmin(tokens, (double)layer->window) : tokens;
        if (layer->kind.compress > 0) {
            double entries = floor(tokens / (double)layer->kind.compress);
            seen += layer->cache_index > 0 ? fmin(entries, (double)model->shape.latent.index_topk) : entries;
        }
        sum += (double)model->kind_layers[i] * gp_head_width(&layer->kind) * seen;
    }
    return sum;
}

/* Scores and sums of a prompt over compressed layers: each token sees the window, and of the entries before it, half of
 * the last one's in the mean, all or as many as an indexer chooses, which scores all of them with heads of its own. */
static double compressed_flop(const gp_model *model, double tokens) {
    const gp_latent *latent = &model->shape.latent;
    double flop = 0;
    for (int i = 0; i < model->kind_count; i++) {
        const gp_layer *layer = &model->kinds[i];
        if (layer->kind.attention != GP_ATTENTION_COMPRESSED) continue;
        double entries = layer->kind.compress > 0 ? tokens / (double)layer->kind.compress / 2 : 0, scored = 0;
        if (layer->cache_index > 0) {
            scored = 2 * (double)latent->index_heads * (double)latent->index_dim * entries;
            entries = fmin(entries, (double)latent->index_topk);
        }
        double seen = fmin(tokens, (double)layer->window) + entries;
        double width = (double)layer->kind.heads * (double)layer->kind.head_dim;
        flop += (double)model->kind_layers[i] * tokens * (4 * width * seen + scored);
    }
    return flop;
}

/* Cached bytes that one token of a sequence of `context` tokens reads, on one rank. */
static double cache_read(const gp_replica *m, double context) {
    double bits = m->layout->recipe.kv_bits, bytes = 0;
    if (m->engine->static_cache) bits = fmax(bits, 16); /* unpacked before it is read */
    double places = fmax(context, m->places);
    if (m->engine->expanded_cache) return 2 * attended(m->model, places) * bits / 8 / m->ranks;
    for (int i = 0; i < m->cache.count; i++) {
        const gp_cache_group *group = &m->cache.groups[i];
        double entries = places / (double)group->stride;
        double seen = group->window > 0 ? fmin(entries, (double)group->window) : entries;
        if (group->chosen > 0) {
            bytes += (double)group->layers * gp_index_bytes(group->index) * seen / (double)group->index_shared;
            seen = fmin(seen, (double)group->chosen);
        }
        bytes += (double)group->layers * gp_cache_entry_bytes(group, bits) * seen / (double)group->shared;
    }
    return bytes;
}

/* Seconds of a step or pass in the host's layers and experts, and in crossing to them and back; the device's parts are less
 * by what this leaves out. The weights of a pass over many tokens may be copied to the device and multiplied there. */
static double host_seconds(const gp_replica *m, double tokens, double device_flops) {
    const double crossing_s = 200e-6, copied_from = 32;
    const gp_experts *experts = &m->model->shape.experts;
    const gp_host_part *host = &m->host;
    double dense = m->dense * host->layers, of_experts = host->experts * m->experts, head = m->head * host->head;
    double bytes = dense * m->dense_bytes + of_experts * touched(experts, tokens) * m->expert_bytes + head * m->head_bytes;
    double flop = 2 * (dense + of_experts * chosen(experts)) * tokens;
    double seconds = fmax(bytes / host->bytes_per_s, flop / host->flops);
    if (tokens >= copied_from) seconds = fmin(seconds, bytes / host->copied_bytes_per_s + flop / device_flops);
    return seconds + host->crossings * crossing_s;
}

gp_step_insight gp_replica_insight(const gp_replica *m, double batch) {
    const gp_engine_speed *engine = m->engine;
    const gp_experts *experts = &m->model->shape.experts;
    double tokens = batch * (1 + m->draft);
    gp_step_insight insight = {.reduce = gp_replica_reduces(m, 1, tokens, gp_replica_step_link_share(m)),
                               .exchange = gp_replica_exchange(m, 1, tokens)};
    const gp_floor_parts floors = {m->layers, m->kernel_layers / m->layers,
                                   multiplied(engine->layer_s, engine->layer, m->dense_format),
                                   m->expert_layers, multiplied(engine->expert_layer_s, engine->expert_layer, m->format),
                                   engine->step_s};
    insight.floor.value = gp_floor_seconds(&floors, &insight.floor.why);
    if (m->expert_layers > 0)
        insight.touched.value =
            gp_experts_touched((double)experts->count, 1 - touched(experts, tokens * m->expert_groups), &insight.touched.why);
    return insight;
}

gp_timed gp_replica_step(const gp_replica *m, double batch, double context) {
    const gp_engine_speed *engine = m->engine;
    const gp_experts *experts = &m->model->shape.experts;
    double rate = multiplied(limited(m->bandwidth * engine->share, engine->limit_bytes_per_s), engine->rate, m->format);
    if (engine->unpack_flop > 0 && m->format != GP_SPEED_16)
        rate = fmin(rate, m->flops / engine->unpack_flop * m->dense_bytes);
    const double draft_share = 0.05;
    gp_step_parts parts = {.rate = rate, .expert_rate = rate * engine->expert_share};
    if (m->dense_format != m->format && !(engine->limit_bytes_per_s > 0))
        parts.rate = multiplied(m->bandwidth * engine->share, engine->rate, m->dense_format);
    double sent = m->dense * (1 - m->host.layers), sent_experts = m->experts * (1 - m->host.experts);
    parts.dense_bytes = sent * m->dense_bytes / m->dense_ranks + m->head * (1 - m->host.head) * m->head_bytes / m->head_ranks;
    double tokens = batch * (1 + m->draft);
    parts.dense_flop = 2 * (sent + m->head * (1 - m->host.head)) * tokens / m->ranks;
    parts.flops = multiplied(m->flops * engine->compute_share, engine->compute, m->format);
    double routed = tokens * m->expert_groups; /* tokens that come to the experts */
    parts.expert_bytes = sent_experts * touched(experts, routed) * m->expert_bytes / m->expert_ranks;
    parts.expert_flop = 2 * sent_experts * chosen(experts) * routed / m->expert_ranks / engine->expert_share;
    double cache_bytes = batch * cache_read(m, context) / m->attention_ways;
    parts.host_s = host_seconds(m, tokens, parts.flops) + m->host.attention * cache_bytes / m->host.bytes_per_s;
    parts.cache_bytes = (1 - m->host.attention) * cache_bytes;
    parts.cache_rate = m->bandwidth * engine->cache_share;
    parts.reduce_s = gp_replica_reduces(m, 1, tokens, gp_replica_step_link_share(m)).value +
                     gp_replica_merge_seconds(m, tokens / m->attention_ways);
    parts.exchange_s = gp_replica_exchange(m, 1, tokens).value;
    double latency = multiplied(m->kernel_layers * engine->layer_s, engine->layer, m->dense_format) +
                     multiplied(m->expert_layers * engine->expert_layer_s, engine->expert_layer, m->format) +
                     m->expert_layers * routed * engine->routed_s + engine->step_s +
                     batch / m->attention_ways * engine->sequence_s;
    if (m->layout->pp > 1) latency += m->layers * engine->hook_s + ((double)m->layout->pp - 1) * engine->stage_s;
    gp_timed result;
    double device_s = gp_step_seconds(&parts, &result.why);
    if (engine->host_bound) latency = fmax(0, latency - device_s);
    latency = fmax(latency, batch / m->attention_ways * engine->answer_s - device_s);
    if (context > m->captured_tokens) latency = fmax(latency, m->layers * engine->kernel_layer_s - device_s);
    parts.latency_s = latency;
    /* A guess costs a small model or one layer: a twentieth of a step. */
    parts.latency_s += m->draft * draft_share * gp_step_seconds(&parts, &result.why);
    result.value = gp_step_seconds(&parts, &result.why);
    result.unsure_s = m->host.stated ? 0 : parts.host_s;
    return result;
}

/* Sparse attention to a latent (DeepSeek-V3.2, arXiv:2512.02556, section 2.1): every head multiplies with the latent itself
 * and its rotary key, for the tokens that are chosen; the indexer scores all of them. */
static double sparse_latent_flop(const gp_model *model, const gp_layer *layer, double tokens) {
    const gp_latent *latent = &model->shape.latent;
    double seen = fmin(tokens, (double)latent->index_topk), width = (double)(2 * latent->kv_lora + latent->rope);
    double flop = (double)layer->kind.heads * width * seen * (2 * tokens - seen);
    if (layer->cache_index > 0) flop += (double)latent->index_heads * (double)latent->index_dim * tokens * tokens;
    return flop;
}

/* FLOP of causal attention over a sequence, of which windows see but the last tokens. */
static double attention_flop(const gp_model *model, double tokens) {
    double flop = compressed_flop(model, tokens);
    for (int i = 0; i < model->kind_count; i++) {
        const gp_layer *layer = &model->kinds[i];
        if (layer->cache_keys == 0 || layer->kind.attention == GP_ATTENTION_COMPRESSED) continue;
        if (layer->kind.attention == GP_ATTENTION_LATENT && model->shape.latent.index_topk > 0) {
            flop += (double)model->kind_layers[i] * sparse_latent_flop(model, layer, tokens);
            continue;
        }
        double seen = layer->window > 0 ? fmin(tokens, (double)layer->window) : tokens;
        double pairs = seen * (2 * tokens - seen); /* twice as many as are seen */
        flop += 2 * (double)model->kind_layers[i] * gp_head_width(&layer->kind) * pairs;
    }
    return flop;
}

gp_timed gp_replica_prompt(const gp_replica *m, double tokens, double length, double groups) {
    const gp_engine_speed *engine = m->engine;
    const gp_experts *experts = &m->model->shape.experts;
    double pass = m->pass_tokens > 0 ? fmin(tokens, m->pass_tokens) : tokens;
    double stages = (double)m->layout->pp;
    bool packed = m->format == GP_SPEED_GGUF || m->format == GP_SPEED_W4 || m->format == GP_SPEED_AWQ ||
                  m->format == GP_SPEED_W8 || m->format == GP_SPEED_FP4_UNPACKED;
    gp_prompt_parts parts = {.passes = ceil(tokens / pass), .overlap = 1};
    double peak = engine->half_accumulate ? m->half_flops * m->half_gain : m->flops;
    double sent = m->dense * (1 - m->host.layers), sent_experts = m->experts * (1 - m->host.experts);
    /* A group of data-parallel attention reads a prompt of its own alone, but for the experts. */
    double readers = (double)m->layout->attention.tp;
    parts.flop = 2 * (sent / readers + sent_experts * chosen(experts) * groups / m->expert_ranks) * tokens;
    parts.flops = multiplied(peak * engine->prefill_share, engine->prefill, m->format);
    double used = sent_experts * touched(experts, pass * groups), unpacked = packed ? engine->unpack_bytes : 0;
    double of_experts = m->expert_bytes + (engine->packed_experts ? 0 : unpacked);
    parts.pass_bytes = sent * (m->dense_bytes + unpacked) / m->dense_ranks + used * of_experts / m->expert_ranks;
    parts.rate = limited(m->bandwidth * engine->share, engine->limit_bytes_per_s);
    parts.pass_s = multiplied(m->layers * engine->pass_layer_s, engine->layer, m->format) + engine->step_s;
    double attention = attention_flop(m->model, length) * tokens / length;
    parts.attention_flop = (1 - m->host.attention) * attention / readers;
    parts.host_s = parts.passes * host_seconds(m, pass, parts.flops) +
                   m->host.attention * attention / m->host.attention_flops;
    parts.attention_flops = m->half_flops * engine->attention_share * (engine->half_scores ? m->half_gain : 1);
    parts.reduce_s = gp_replica_reduces(m, parts.passes, tokens * m->attention_ways, GP_PROMPT_LINK_SHARE).value;
    parts.exchange_s = gp_replica_exchange(m, parts.passes, tokens * groups / m->expert_groups).value;
    if (m->pass_tokens > 0 && stages > 1 && parts.passes > 1)
        parts.overlap = (parts.passes + stages - 1) / (parts.passes * stages);
    gp_timed result;
    result.value = gp_prompt_seconds(&parts, &result.why);
    result.unsure_s = m->host.stated ? 0 : parts.host_s;
    return result;
}
