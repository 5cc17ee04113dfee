#include "timing.h"

#include <math.h>
#include <string.h>

#include "cache.h"

/* One replica as the roofline sees it: what stands on it, and what its devices reach. */
typedef struct {
    const gp_engine_speed *engine;
    const gp_model *model;
    const gp_layout *layout;
    gp_speed_format format;
    double ranks, bandwidth, flops, half_flops, link_bytes_per_s;
    double half_gain;                         /* of sums in 16 bits over sums in 32 */
    double dense, experts, head;              /* parameters */
    double linear_bytes, head_bytes;          /* of one parameter */
    double layers, expert_layers, query_width; /* query_width: heads times their size, over all layers */
    gp_cache cache;                           /* of one rank, or of all where each rank attends for its sequences */
    double attention_ways;                    /* ranks that share the sequences */
    double places;                            /* of a static cache, else 0 */
} machine;

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
    double plain = row->bf16_flops > 0 ? row->bf16_flops : row->fp16_flops;
    bool narrow = format == GP_SPEED_FP8 || format == GP_SPEED_FP4;
    if (!narrow || !(row->fp8_flops > 0)) return plain;
    return format == GP_SPEED_FP4 && row->fp4 ? 2 * row->fp8_flops : row->fp8_flops;
}

/* A latent of the cache is whole on every rank; with data parallelism of attention each has its sequences. */
static void count_layers(const gp_job *job, machine *m) {
    const gp_model *model = m->model;
    for (int i = 0; i < model->kind_count; i++) {
        const gp_layer *layer = &model->kinds[i];
        double layers = (double)model->kind_layers[i];
        m->layers += layers;
        m->experts += layers * (double)layer->expert_params;
        m->dense += layers * (double)(layer->params - layer->expert_params);
        if (layer->expert_params > 0) m->expert_layers += layers;
        if (layer->cache_keys > 0)
            m->query_width += layers * (double)layer->kind.heads * (double)layer->kind.head_dim;
    }
    int64_t ways = gp_known(job, GP_FIELD_ATTENTION_DP) ? gp_whole(job, GP_FIELD_ATTENTION_DP) : 1;
    m->attention_ways = (double)(ways < m->layout->tp ? ways : m->layout->tp);
    gp_cache_of(model, ways > 1 ? 1 : m->layout->tp, 0, model->shape.layers, &m->cache);
    m->head = (double)model->shape.vocab * (double)model->shape.hidden;
}

static bool describe(const gp_job *job, const gp_model *model, const gp_layout *layout, const gp_device *device,
                     machine *m) {
    const gp_recipe *recipe = &layout->recipe;
    const gp_gpu_row *row = device->row;
    const double pcie_bytes_per_s = 25e9;
    memset(m, 0, sizeof *m);
    m->bandwidth = job->gpu.bandwidth_gb_s > 0 ? job->gpu.bandwidth_gb_s * 1e9 : row != NULL ? row->bandwidth_bytes_per_s : 0;
    if (!(m->bandwidth > 0) || row == NULL) return false;
    m->engine = gp_engine_speed_of(job, recipe);
    m->model = model;
    m->layout = layout;
    m->format = gp_speed_format_of(job, recipe);
    m->ranks = (double)layout->tp;
    m->flops = peak_of(row, m->format);
    m->half_flops = peak_of(row, GP_SPEED_16);
    m->half_gain = strncmp(row->name, "GeForce", 7) == 0 ? 2 : 1;
    m->link_bytes_per_s = row->nvlink_bytes_per_s > 0 ? row->nvlink_bytes_per_s : pcie_bytes_per_s;
    if (m->engine->static_cache && gp_known(job, GP_FIELD_CONTEXT)) m->places = (double)gp_whole(job, GP_FIELD_CONTEXT);
    count_layers(job, m);
    m->linear_bytes = recipe->linear_bits / 8;
    m->head_bytes = (recipe->whole_model ? recipe->linear_bits : recipe->other_bits) / 8;
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

/* Cached bytes that one token of a sequence of `context` tokens reads, on one rank. */
static double cache_read(const machine *m, double context) {
    double bits = m->layout->recipe.kv_bits, bytes = 0;
    if (m->engine->static_cache) bits = fmax(bits, 16); /* unpacked before it is read */
    if (m->engine->expanded_cache) return 2 * m->query_width * context * bits / 8 / m->ranks;
    double places = fmax(context, m->places);
    for (int i = 0; i < m->cache.count; i++) {
        const gp_cache_group *group = &m->cache.groups[i];
        double seen = group->window > 0 ? fmin(places, (double)group->window) : places;
        bytes += (double)group->layers * (double)group->elements * seen * bits / 8;
    }
    return bytes;
}

/* Two all-reduces a layer: their latency, and what a ring moves of 16-bit hidden rows. */
static double reduce_seconds(const machine *m, double passes, double tokens) {
    const double link_share = 0.7, each_layer = 2, element_bytes = 2;
    if (m->ranks <= 1) return 0;
    double moved = 2 * (m->ranks - 1) / m->ranks * tokens * (double)m->model->shape.hidden * element_bytes;
    return each_layer * m->layers * (passes * m->engine->reduce_s + moved / (m->link_bytes_per_s * link_share));
}

/* One decode step of `batch` sequences of one replica. A host that launches every kernel hides the device's work, or is
 * hidden by it. */
static gp_timed step_of(const machine *m, double batch, double context) {
    const gp_engine_speed *engine = m->engine;
    const gp_experts *experts = &m->model->shape.experts;
    double rate = multiplied(limited(m->bandwidth * engine->share, engine->limit_bytes_per_s), engine->rate, m->format);
    gp_step_parts parts = {.rate = rate, .expert_rate = rate * engine->expert_share};
    parts.dense_bytes = (m->dense * m->linear_bytes + m->head * m->head_bytes) / m->ranks;
    parts.dense_flop = 2 * (m->dense + m->head) * batch / m->ranks;
    parts.flops = multiplied(m->flops * engine->compute_share, engine->compute, m->format);
    parts.expert_bytes = m->experts * touched(experts, batch) * m->linear_bytes / m->ranks;
    parts.expert_flop = 2 * m->experts * chosen(experts) * batch / m->ranks;
    parts.cache_bytes = batch * cache_read(m, context) / m->attention_ways;
    parts.cache_rate = m->bandwidth * engine->cache_share;
    parts.reduce_s = reduce_seconds(m, 1, batch);
    double latency = multiplied(m->layers * engine->layer_s, engine->layer, m->format) +
                     m->expert_layers * engine->expert_layer_s + engine->step_s + batch * engine->sequence_s;
    gp_timed result;
    if (engine->host_bound) latency = fmax(0, latency - gp_step_seconds(&parts, &result.why));
    parts.latency_s = latency;
    result.value = gp_step_seconds(&parts, &result.why);
    return result;
}

/* Reading `tokens` of prompts, in passes as large as the engine makes them. Pipeline stages overlap the passes. */
static gp_timed prompt_of(const machine *m, double tokens) {
    const gp_engine_speed *engine = m->engine;
    const gp_experts *experts = &m->model->shape.experts;
    double pass = engine->pass_tokens > 0 ? fmin(tokens, engine->pass_tokens) : tokens;
    double stages = (double)m->layout->pp;
    bool packed = m->format == GP_SPEED_GGUF || m->format == GP_SPEED_W4 || m->format == GP_SPEED_W8;
    gp_prompt_parts parts = {.passes = ceil(tokens / pass), .overlap = 1};
    double peak = engine->half_accumulate ? m->half_flops * m->half_gain : m->flops;
    parts.flop = 2 * (m->dense + m->experts * chosen(experts)) * tokens / m->ranks;
    parts.flops = multiplied(peak * engine->prefill_share, engine->prefill, m->format);
    double used = m->dense + m->experts * touched(experts, pass);
    parts.pass_bytes = used * (m->linear_bytes + (packed ? engine->unpack_bytes : 0)) / m->ranks;
    parts.rate = m->bandwidth * engine->share;
    parts.pass_s = multiplied(m->layers * engine->pass_layer_s, engine->layer, m->format) + engine->step_s;
    parts.attention_flop = 2 * m->query_width * tokens * tokens / m->ranks;
    parts.attention_flops = m->half_flops * engine->attention_share;
    parts.reduce_s = reduce_seconds(m, parts.passes, tokens);
    if (engine->pass_tokens > 0 && stages > 1 && parts.passes > 1)
        parts.overlap = (parts.passes + stages - 1) / (parts.passes * stages);
    gp_timed result;
    result.value = gp_prompt_seconds(&parts, &result.why);
    return result;
}

static gp_range ranged(double value, double spread) {
    return (gp_range){value, value / (1 + spread), value * (1 + spread)};
}

static double number(const gp_job *job, gp_field field, double fallback) {
    return gp_known(job, field) ? (double)gp_whole(job, field) : fallback;
}

/* Sequences that run at once: what is asked for, what the engine takes and what the cache holds. Servers of which
 * nothing is asked are as busy as they can be. */
static double running(const gp_job *job, const machine *m, double exchange, double cache_tokens, double *asked) {
    const double most = 1024;
    bool open = gp_origin_of(job, GP_FIELD_CONCURRENCY) != GP_GIVEN && gp_origin_of(job, GP_FIELD_CONCURRENCY) != GP_SOLVED;
    double replicas = (double)m->layout->dp, held = cache_tokens > 0 ? fmax(1, cache_tokens / exchange) : most * replicas;
    double taken = m->layout->recipe.prepared_sequences > 0 ? m->layout->recipe.prepared_sequences : most;
    *asked = number(job, GP_FIELD_CONCURRENCY, 1);
    if (!m->engine->server) return *asked;
    double limit = fmin(held, taken * replicas);
    if (open) *asked = floor(limit);
    return fmax(1, fmin(*asked, floor(limit)));
}

void gp_timing_serving(const gp_job *job, const gp_model *model, const gp_layout *layout, const gp_device *device,
                       double cache_tokens, gp_serving *serving) {
    machine m;
    memset(serving, 0, sizeof *serving);
    if (!describe(job, model, layout, device, &m)) return;
    const gp_engine_speed *engine = m.engine;
    double prompt = number(job, GP_FIELD_PROMPT, 0), output = number(job, GP_FIELD_OUTPUT, 0), asked = 1;
    double context = prompt + output / 2, exchange = fmax(1, prompt + output);
    serving->sequences = running(job, &m, exchange, cache_tokens, &asked);
    double batch = fmax(1, serving->sequences / (double)layout->dp);
    /* Pipeline stages of a server work on their share of the sequences at the same time. */
    if (engine->server) batch = fmax(1, batch / (double)layout->pp);
    serving->alone = step_of(&m, 1, context);
    serving->step = step_of(&m, batch, context);
    serving->decode.value = gp_decode_per_second(serving->alone.value, &serving->decode.why);
    serving->decode_tok_s = ranged(serving->decode.value, engine->spread_decode);
    double prompt_s = 0, shared_s = 0, full_s = 0, wait_s = 0;
    if (prompt >= 1) {
        serving->prompt = prompt_of(&m, prompt);
        prompt_s = shared_s = full_s = serving->prompt.value;
        serving->prefill.value = gp_prefill_per_second(prompt, prompt_s, &serving->prefill.why);
        serving->prefill_tok_s = ranged(serving->prefill.value, engine->spread_prefill);
        if (engine->server && layout->recipe.batched_tokens > 0) {
            double tokens = layout->recipe.batched_tokens;
            full_s = prompt_of(&m, tokens).value;
            if (prompt < tokens) shared_s = fmin(prompt_s, full_s * prompt / tokens);
        }
    }
    if (output >= 1) {
        gp_throughput_parts parts = {engine->duty, serving->sequences, output, serving->step.value, batch, shared_s};
        serving->throughput.value = gp_throughput_per_second(&parts, &serving->throughput.why);
        serving->throughput_tok_s = ranged(serving->throughput.value, engine->spread_serving);
        double others = (batch - 1) * shared_s / output;
        if (others > full_s) { /* bound by prompts: fewer decode at once */
            serving->step = step_of(&m, fmax(1, batch * full_s / others), context);
            others = full_s;
        }
        serving->tpot.value = gp_tpot_seconds(serving->step.value, others, &serving->tpot.why);
        bool one = batch <= 1;
        serving->tpot_s = ranged(serving->tpot.value, one ? engine->spread_decode : engine->spread_serving);
        wait_s = fmax(0, asked - serving->sequences) / 2 * output / serving->throughput.value;
    }
    if (prompt_s > 0) {
        serving->ttft.value = gp_ttft_seconds(prompt_s, engine->step_s, wait_s, &serving->ttft.why);
        serving->ttft_s = ranged(serving->ttft.value, engine->spread_prefill);
    }
}
