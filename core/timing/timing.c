#include "timing/timing.h"

#include <math.h>
#include <string.h>

#include "timing/timing_parts.h"

static gp_range ranged(double value, double spread) {
    return (gp_range){value, value / (1 + spread), value * (1 + spread)};
}

/* The same of a figure that rests on a time of which a part is a host's: memory and processor of one that holds so much are
 * between 2.5 times as slow and as fast as what is taken (dual channels to a server's eight or twelve). */
static gp_range ranged_rate(double value, double spread, const gp_timed *over) {
    const double host_factor = 2.5;
    gp_range range = ranged(value, spread);
    range.low *= over->value / (over->value + over->unsure_s * (host_factor - 1));
    range.high *= over->value / (over->value - over->unsure_s * (1 - 1 / host_factor));
    return range;
}

static gp_range ranged_time(double value, double spread, const gp_timed *over) {
    gp_range rate = ranged_rate(1 / value, spread, over);
    return (gp_range){value, 1 / rate.high, 1 / rate.low};
}

static double number(const gp_job *job, gp_field field, double fallback) {
    return gp_known(job, field) ? (double)gp_whole(job, field) : fallback;
}

/* What is asked of the engine, and what it can take. */
typedef struct {
    double prompt, output, context; /* tokens; context: halfway through the output */
    double asked, most;             /* sequences over all replicas */
    double computed;                /* tokens of a prompt that no cached prefix holds */
    bool open;                      /* the job leaves open how many are served, or over how many GPUs a layer is split */
} traffic;

/* A job that names a context and no prompt fills the context, in speed as in memory. */
static double prompt_tokens(const gp_job *job, double output) {
    double prompt = number(job, GP_FIELD_PROMPT, 0);
    bool open = gp_origin_of(job, GP_FIELD_PROMPT) == GP_DEFAULT;
    gp_origin context = gp_origin_of(job, GP_FIELD_CONTEXT);
    if (!open || (context != GP_GIVEN && context != GP_SOLVED)) return prompt;
    return fmax(1, number(job, GP_FIELD_CONTEXT, 0) - output);
}

/* Servers of which nothing is asked are as busy as they can be: as many sequences as they take and the cache holds, and
 * no more than the job's own where there is no room for a cache. */
static traffic traffic_of(const gp_job *job, const gp_replica *m, const gp_serving_room *room) {
    traffic load = {.output = number(job, GP_FIELD_OUTPUT, 0)};
    load.prompt = prompt_tokens(job, load.output);
    load.context = load.prompt + load.output / 2;
    load.computed = load.prompt >= 1 ? fmax(1, floor(load.prompt * (1 - gp_real_or(job, GP_FIELD_PREFIX_HITS, 0)))) : 0;
    load.asked = load.most = number(job, GP_FIELD_CONCURRENCY, 1);
    load.open = gp_origin_of(job, GP_FIELD_CONCURRENCY) != GP_GIVEN;
    load.open = load.open || (m->layout->gpus > 1 && gp_origin_of(job, GP_FIELD_INFER_TP) != GP_GIVEN);
    if (!m->engine->server) return load;
    double most = m->engine->most_sequences > 0 ? m->engine->most_sequences : m->layout->recipe.prepared_sequences;
    if (gp_known(job, GP_FIELD_MAX_NUM_SEQS)) most = (double)gp_whole(job, GP_FIELD_MAX_NUM_SEQS);
    /* SGLang shares its most out among the groups within a replica; elsewhere each group has its own. */
    bool shares = gp_is_choice(job, GP_FIELD_ENGINE, GP_CHOICE_ENGINE_SGLANG);
    load.most = fmax(1, most) * (double)(shares ? m->layout->dp : gp_layout_caches(m->layout));
    double held = load.prompt + load.output / (m->engine->keeps_room ? 1 : 2);
    bool room_known = room->cache_tokens > 0;
    load.most = fmin(load.most, room_known ? room->cache_tokens / fmax(1, held + room->state_tokens) : load.asked);
    load.most = fmax(1, floor(load.most));
    gp_origin origin = gp_origin_of(job, GP_FIELD_CONCURRENCY);
    if (origin != GP_GIVEN && origin != GP_SOLVED) load.asked = load.most;
    return load;
}

/* Seconds that a prompt takes when it is read with others, as many tokens at once as the engine takes. Groups of
 * data-parallel attention within a replica read one prompt each at the same time. */
static double shared_seconds(const gp_replica *m, double prompt, double prompt_s, double *full_s) {
    double tokens = m->layout->recipe.batched_tokens, groups = m->attention_ways;
    *full_s = prompt_s;
    if (!m->engine->server || !(tokens > 0) || !(prompt > 0)) return prompt_s;
    *full_s = gp_replica_prompt(m, tokens, fmin(prompt, tokens), groups).value;
    double together_s = groups > 1 ? gp_replica_prompt(m, prompt, prompt, groups).value : prompt_s;
    return (prompt < tokens ? fmin(together_s, *full_s * prompt / tokens) : together_s) / groups;
}

/* Libraries read the prompts of a batch at once and generate then; servers and llama.cpp read one after the other. */
static bool reads_batch(const gp_replica *m) { return m->layout->recipe.engine == GP_ENGINE_TRANSFORMERS; }

static const double wider = 1.4; /* a range for each fact that is open */

/* A release of transformers that is not stated may launch a layer 2.6 times as slowly as today's, or be patched by a library. */
static double decode_spread(const gp_replica *m) {
    const gp_recipe *recipe = &m->layout->recipe;
    bool open = recipe->engine == GP_ENGINE_TRANSFORMERS && m->engine->host_bound && recipe->release < 0;
    return (1 + m->engine->spread_decode) * (open ? wider : 1) - 1;
}

/* Hundreds at once come and go unevenly, and what a job leaves open its engine may settle otherwise: each widens the range. */
static double serving_spread(const gp_replica *m, const traffic *load) {
    const double many = 256;
    double factor = (load->asked >= many ? wider : 1) * (load->open ? wider : 1);
    return (1 + m->engine->spread_serving) * factor - 1;
}

/* Returns the seconds that a new request waits for others. */
static double generate(const gp_replica *m, const traffic *load, double batch, double prompt_s, gp_serving *serving) {
    const gp_engine_speed *engine = m->engine;
    double full_s = 0, shared_s = shared_seconds(m, load->computed, prompt_s, &full_s);
    bool at_once = reads_batch(m);
    if (at_once) shared_s /= batch;
    bool queues = engine->queue_duty > 0 && load->asked > serving->sequences;
    gp_throughput_parts parts = {queues ? engine->queue_duty : engine->duty, serving->sequences, load->output,
                                 serving->step.value, m->tokens_per_step, batch, shared_s};
    serving->throughput.value = gp_throughput_per_second(&parts, &serving->throughput.why);
    serving->throughput_tok_s = ranged_rate(serving->throughput.value, serving_spread(m, load), &serving->step);
    /* Groups that share experts wait for the prompts of each. */
    double others = at_once ? 0 : (batch * m->expert_groups - 1) * shared_s / load->output;
    if (engine->prompts_first > 0) others *= engine->prompts_first;
    else if (others > full_s) { /* bound by prompts: fewer decode at once */
        serving->step = gp_replica_step(m, fmax(1, batch * full_s / others), load->context);
        others = full_s;
    }
    serving->tpot.value = gp_tpot_seconds(serving->step.value, m->tokens_per_step, others, &serving->tpot.why);
    double spread = batch <= 1 ? decode_spread(m) : serving_spread(m, load);
    serving->tpot_s = ranged_time(serving->tpot.value, spread, &serving->step);
    /* For a place; for the step at hand; and behind prompts of its own time, as if one request in ten came in a burst. */
    const double burst_share = 0.1;
    double queue_s = fmax(0, load->asked - serving->sequences) / 2 * load->output / serving->throughput.value;
    return batch > 1 && !at_once ? queue_s + serving->step.value + burst_share * (batch - 1) / 2 * shared_s : queue_s;
}

/* Sequences of one step. Pipeline stages of a server work on their share of the sequences at the same time. */
static double batch_of(const gp_replica *m, double sequences) {
    double batch = fmax(1, sequences / (double)m->layout->dp);
    return m->engine->server ? fmax(1, batch / (double)m->layout->pp) : batch;
}

static void serve(const gp_replica *m, const traffic *load, gp_serving *serving) {
    const gp_engine_speed *engine = m->engine;
    memset(serving, 0, sizeof *serving);
    serving->sequences = fmin(load->asked, load->most);
    double batch = batch_of(m, serving->sequences);
    serving->alone = gp_replica_step(m, 1, load->context);
    serving->step = gp_replica_step(m, batch, load->context);
    serving->decode.value = gp_decode_per_second(serving->alone.value, m->tokens_per_step, &serving->decode.why);
    serving->decode_tok_s = ranged_rate(serving->decode.value, decode_spread(m), &serving->alone);
    if (load->prompt >= 1) {
        double prompts = reads_batch(m) ? batch : 1;
        serving->prompt = gp_replica_prompt(m, load->computed * prompts, load->computed, 1);
        serving->prefill.value = gp_prefill_per_second(load->prompt * prompts, serving->prompt.value, &serving->prefill.why);
        serving->prefill_tok_s = ranged_rate(serving->prefill.value, engine->spread_prefill, &serving->prompt);
    }
    double wait_s = 0;
    if (load->output >= 1) wait_s = generate(m, load, batch, serving->prompt.value, serving);
    if (load->prompt < 1) return;
    serving->ttft.value = gp_ttft_seconds(serving->prompt.value, engine->step_s, wait_s, &serving->ttft.why);
    serving->ttft_s = ranged_time(serving->ttft.value, engine->spread_prefill, &serving->prompt);
}

/* Doublings up to what the engine takes at once, and that. */
static void draw_curve(const gp_replica *m, traffic load, gp_serving_curve *curve) {
    gp_serving at;
    double most = load.most;
    for (uint64_t n = 1; curve->count < GP_CURVE_MAX; n *= 2) {
        load.asked = fmin((double)n, most);
        serve(m, &load, &at);
        curve->points[curve->count++] = (gp_serving_point){at.sequences, at.ttft_s, at.tpot_s, at.throughput_tok_s};
        if ((double)n >= most) return;
    }
}

/* More sequences never make a token faster, so the largest that keeps the targets is found by halving. */
static void meet_targets(const gp_job *job, const gp_replica *m, traffic load, gp_serving_curve *curve) {
    double ttft_s = gp_known(job, GP_FIELD_TTFT_TARGET) ? gp_real(job, GP_FIELD_TTFT_TARGET) : 0;
    double tpot_s = gp_known(job, GP_FIELD_TPOT_TARGET) ? gp_real(job, GP_FIELD_TPOT_TARGET) : 0;
    curve->has_targets = ttft_s > 0 || tpot_s > 0;
    if (!curve->has_targets) return;
    double low = 0, high = load.most;
    while (low < high) {
        gp_serving at;
        load.asked = floor((low + high + 1) / 2);
        serve(m, &load, &at);
        bool meets = (!(ttft_s > 0) || at.ttft_s.value <= ttft_s) && (!(tpot_s > 0) || at.tpot_s.value <= tpot_s);
        if (meets) low = load.asked;
        else high = load.asked - 1;
    }
    curve->within_targets = low;
}

/* Engines that are no servers take a batch as large as memory holds, llama.cpp of no more sequences than LLAMA_MAX_SEQ
 * (src/llama-cparams.h). */
static double largest_batch(const gp_layout *layout, const traffic *load, double held) {
    const double llama_max_seq = 256;
    double most = held;
    if (layout->recipe.engine == GP_ENGINE_LLAMA_CPP) most = fmin(most, llama_max_seq * (double)layout->dp);
    return fmax(most, load->asked);
}

void gp_timing_serving(const gp_job *job, const gp_model *model, const gp_layout *layout, const gp_device *device,
                       const gp_serving_room *room, gp_serving *serving, gp_serving_curve *curve) {
    gp_replica m;
    memset(serving, 0, sizeof *serving);
    memset(curve, 0, sizeof *curve);
    if (!gp_replica_describe(job, model, layout, device, &m)) return;
    traffic load = traffic_of(job, &m, room);
    serve(&m, &load, serving);
    serving->insight = gp_replica_insight(&m, batch_of(&m, serving->sequences));
    if (load.output < 1) return;
    if (!m.engine->server) load.most = largest_batch(layout, &load, room->sequences);
    draw_curve(&m, load, curve);
    meet_targets(job, &m, load, curve);
}
