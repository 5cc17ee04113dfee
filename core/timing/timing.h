/* timing.h: how fast an engine serves: a roofline per operation. One decode step reads the weights that its tokens use
 * and the cache of every sequence; a pass over a prompt computes; every layer takes the engine a moment besides. Of
 * each figure there is a range that held nine of ten public measurements of the engine (docs/accuracy.md). */
#ifndef GP_TIMING_H
#define GP_TIMING_H

#include "formulas/formulas.h"
#include "ledger/ledger.h"

/* 0 = not known. */
typedef struct { double value, low, high; } gp_range;

/* A figure with the formula that gave it; `why.bytes` is not used. */
typedef struct {
    double value;
    double unsure_s; /* of a time: what a host takes of which nothing is said */
    gp_amount why;
} gp_timed;

/* Of a decode step at the job's concurrency: the experts of a layer that it uses, the seconds that its layers take at least,
 * those of its all-reduces, and those in which tokens go to the ranks of their experts and back. 0 where there are none. */
typedef struct { gp_timed touched, floor, reduce, exchange; } gp_step_insight;

typedef struct {
    gp_range ttft_s;            /* from a request to its first token, waiting for a place included */
    gp_range tpot_s;            /* between two tokens of one sequence at the job's concurrency */
    gp_range prefill_tok_s;     /* prompt tokens per second of one prompt, of a library of the prompts of its batch */
    gp_range decode_tok_s;      /* tokens per second of one user alone */
    gp_range throughput_tok_s;  /* output tokens per second over all GPUs at the job's concurrency; where the job names
                                   none, at what a server holds at once */
    double sequences;           /* that run at once, over all replicas */
    gp_timed alone, step, prompt; /* seconds: a decode step of one user and of `sequences`, reading one prompt or, of a
                                     library, those of its batch */
    gp_timed ttft, tpot, prefill, decode, throughput;
    gp_step_insight insight;
} gp_serving;

/* Latency against throughput: one point for each number of sequences at once, over all replicas. */
typedef struct {
    double sequences;
    gp_range ttft_s, tpot_s, throughput_tok_s;
} gp_serving_point;
#define GP_CURVE_MAX 24
typedef struct {
    int count;
    gp_serving_point points[GP_CURVE_MAX];
    bool has_targets;       /* infer.ttft_target_s, infer.tpot_target_s */
    double within_targets;  /* most sequences that keep them, 0 = not even one */
} gp_serving_curve;

/* What memory leaves room for, over all replicas: tokens of the cache and sequences of the job's context. 0 = not known. A
 * state of fixed size takes as much as so many tokens; those of the job's sequences are in cache_tokens. */
typedef struct { double cache_tokens, sequences, state_tokens; } gp_serving_room;

/* Speeds of an inference job on a device with known bandwidth; all 0 otherwise, and where nothing is generated those of
 * decoding. The curve goes up to what a server takes at once; elsewhere to the largest batch that memory holds. */
void gp_timing_serving(const gp_job *job, const gp_model *model, const gp_layout *layout, const gp_device *device,
                       const gp_serving_room *room, gp_serving *serving, gp_serving_curve *curve);

/* Formats by how kernels treat them: 16 bits and more; 8 and 4 bits that are unpacked to 16, AWQ by its own; GGUF blocks; fp8 and fp4
 * that are multiplied as they are, on cards with units for them; fp4 on others, where fp8 is as any 8 bits. */
typedef enum {
    GP_SPEED_16, GP_SPEED_W8, GP_SPEED_W4, GP_SPEED_AWQ, GP_SPEED_GGUF, GP_SPEED_FP8, GP_SPEED_FP4, GP_SPEED_FP4_UNPACKED,
    GP_SPEED_FORMATS
} gp_speed_format;

/* What an engine reaches of a device. Shares are of the peak of the data sheet, times in seconds. Multipliers by format
 * are percent; 0 stands for 100. */
typedef struct {
    double share;             /* of the bandwidth, reading weights */
    double expert_share;      /* of that, reading experts */
    double cache_share;       /* of the bandwidth, reading the cache */
    double limit_bytes_per_s; /* that kernels reach on any device, 0 = none */
    double unpack_flop;       /* of the device for each packed weight that a step reads, 0 = unpacking is no limit */
    double layer_s, expert_layer_s, step_s, sequence_s; /* each layer, layer of experts, step, sequence of a step */
    double latent_layers, index_layers, shared_layers; /* kernels that a layer has besides, as so many layers more: for a latent,
                                 its indexer, shared experts */
    double routed_s;          /* each token of a step in each layer of experts: it is routed, sorted and added up again */
    double kernel_layer_s;    /* each layer of a step that no graph holds: the host launches it while the device works */
    double answer_s;          /* each sequence's token on its way through the server, while the device works on */
    double hook_s;            /* each layer, where layers are spread over devices */
    double stage_s;           /* each device but the first of those, which hands a step's state on */
    double reduce_s;          /* an all-reduce of few bytes */
    double step_link_share;   /* of the link's rate, in the all-reduces of a step; 0 = as in those of a prompt */
    double compute_share;     /* of the FLOP rate, decoding many sequences */
    double prefill_share, attention_share; /* of the FLOP rate, reading prompts */
    double pass_layer_s;      /* each layer of a pass over a prompt */
    double unpack_bytes;      /* written and read for each packed weight of a pass */
    bool packed_experts;      /* but not for those of experts */
    double duty;              /* share of the time that a busy server computes */
    double queue_duty;        /* the same while others wait, so that every place is taken; 0 = no other */
    double prompts_first;     /* what waits is read before a step goes on: share of the others' prompts that a sequence waits
                                 for; 0 = they are read between steps, up to the tokens of one batch */
    int most_sequences;       /* of one replica at once; 0 = what it prepares for */
    int pass_tokens;          /* of a prompt in one pass, 0 = all */
    bool host_bound;          /* the host launches kernel by kernel, while the device works */
    bool half_accumulate;     /* products are summed in 16 bits, at twice the rate on GeForce cards */
    bool half_scores;         /* those of attention too */
    bool expanded_cache;      /* keys and values are read once for every query head */
    bool static_cache;        /* all places of the cache are read, filled or not */
    bool keeps_room;          /* a sequence is let in when its whole output has room, not when its prompt has */
    bool server;              /* takes what waits into one batch, up to what it holds */
    double spread_decode, spread_serving, spread_prefill; /* half-widths of the 90 % ranges, relative */
    uint16_t expert_layer[GP_SPEED_FORMATS];
    uint16_t rate[GP_SPEED_FORMATS], layer[GP_SPEED_FORMATS], compute[GP_SPEED_FORMATS], prefill[GP_SPEED_FORMATS];
} gp_engine_speed;

/* timing_engines.c: the row of the job's engine and release, for a model with or without routed experts. */
const gp_engine_speed *gp_engine_speed_of(const gp_job *job, const gp_recipe *recipe, bool experts);
gp_speed_format gp_speed_format_of(const gp_job *job, const gp_recipe *recipe);

#endif
