/* timing_parts.h: one replica of an engine, and how long it takes for a step and for prompts. */
#ifndef GP_TIMING_PARTS_H
#define GP_TIMING_PARTS_H

#include "layout/cache.h"
#include "timing/timing.h"

/* What llama.cpp and its kin leave to the host: shares of the layers, of their attention, of the experts and of the output
 * matrix, how often a step crosses between host and device, and what the host and the way to it reach. */
typedef struct {
    double layers, attention, experts, head, crossings;
    double bytes_per_s, flops, attention_flops, copied_bytes_per_s;
    bool stated;                              /* the job says what the host's memory reaches */
} gp_host_part;

/* One replica as the roofline sees it: what stands on it, and what its devices reach. */
typedef struct {
    const gp_engine_speed *engine;
    const gp_model *model;
    const gp_layout *layout;
    gp_speed_format format, dense_format;     /* of the experts, and of what is beside them */
    double ranks, bandwidth, flops, half_flops, link_bytes_per_s;
    double hop_s;                             /* an all-reduce takes longer where its ranks are in several machines */
    double half_gain;                         /* of sums in 16 bits over sums in 32 */
    double dense, experts, head;              /* parameters */
    double dense_bytes, expert_bytes, head_bytes; /* of one parameter */
    double layers, expert_layers;
    double kernel_layers;                     /* layers, those with more kernels than usual counted for more */
    double dense_ranks, head_ranks;           /* ranks that share what is not an expert's, and the output matrix */
    gp_cache cache;                           /* of one rank */
    double attention_ways;                    /* groups of ranks that share the sequences */
    double expert_ranks;                      /* ranks that share the routed experts */
    double expert_groups;                     /* replicas that do: experts see as many times the tokens of this one */
    double places;                            /* of a static cache, else 0 */
    double captured_tokens;                   /* a longer context is not in the engine's graphs */
    double pass_tokens;                       /* of a prompt in one pass, 0 = all */
    gp_host_part host;
    double draft, tokens_per_step;            /* guessed tokens of a step, and what it gives on average */
} gp_replica;

/* False where the device's bandwidth or FLOP rate is not known. The replica, m for machine, refers to `model` and `layout`. */
bool gp_replica_describe(const gp_job *job, const gp_model *model, const gp_layout *layout, const gp_device *device,
                         gp_replica *m);

/* One decode step of `batch` sequences of one replica. A host that launches every kernel hides the device's work, or is
 * hidden by it. */
gp_timed gp_replica_step(const gp_replica *m, double batch, double context);

/* timing_links.c: what ranks tell each other in a step or in the passes over prompts of `tokens`. All-reduces of those that
 * share layers; tokens sent to the ranks of their experts and back, where groups of data-parallel attention share them;
 * queries and sums of those that share the tokens of a sequence. 0 seconds where there is none. */
gp_timed gp_replica_reduces(const gp_replica *m, double passes, double tokens, double link_share);
gp_timed gp_replica_exchange(const gp_replica *m, double passes, double tokens);
double gp_replica_merge_seconds(const gp_replica *m, double tokens);
double gp_replica_step_link_share(const gp_replica *m);
#define GP_PROMPT_LINK_SHARE 0.7 /* of a link's rate, in transfers of many bytes */

/* Products with keys and with values take as long as two with their mean. */
static inline double gp_head_width(const gp_layer_kind *kind) {
    double size = kind->value_dim > 0 ? (double)(kind->head_dim + kind->value_dim) / 2 : (double)kind->head_dim;
    return (double)kind->heads * size;
}

/* What such a step is made of. */
gp_step_insight gp_replica_insight(const gp_replica *m, double batch);

/* Reading `tokens` of prompts that are `length` long, in passes as large as the engine makes them. Pipeline stages overlap
 * the passes. `groups` of data-parallel attention read as much each at the same time, and share the experts. */
gp_timed gp_replica_prompt(const gp_replica *m, double tokens, double length, double groups);

/* A REAL field's value, or `fallback` while it is open. */
static inline double gp_real_or(const gp_job *job, gp_field field, double fallback) {
    return gp_known(job, field) ? gp_real(job, field) : fallback;
}

#endif
