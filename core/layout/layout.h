/* layout.h: which rank holds which share. All degrees are concrete here. */
#ifndef GP_LAYOUT_H
#define GP_LAYOUT_H

#include "layout/recipe.h"

#define GP_SPLIT_STAGES 64 /* pipelines of more stages are split evenly */

/* Data-parallel attention: groups of ranks that share the routed experts, while each attends for sequences of its own and
 * has a cache of its own for them. They lie within tensor parallelism or are replicas (layout_attention.c). */
typedef struct {
    int64_t groups;          /* 1: no such thing */
    int64_t tp;              /* ranks of a group, over which attention and token table are split */
    int64_t feed_forward_tp; /* ranks over which dense blocks, shared experts and output matrix are split */
    int64_t expert_tp;       /* ranks over which the routed experts are split, those of all groups */
} gp_attention_groups;

typedef struct {
    int64_t gpus, per_node;
    int64_t tp, pp, vpp, cp, ep, dp;
    gp_attention_groups attention;
    int64_t dcp;                 /* ranks of a group over which the tokens of each sequence are shared out, at least 1 */
    int64_t index_dcp;           /* the same for the keys of a sparse-attention indexer */
    int zero;                    /* 0 … 3, training */
    bool sequence_parallel;
    int64_t micro_batch, grad_accum, global_batch, seq_len;
    int64_t batch_parts;         /* micro-batches that a pipeline makes of one of the job's; counted in grad_accum */
    int64_t context, sequences;  /* inference: tokens of one sequence, sequences of one cache */
    int64_t split_stages;        /* pp when `split` says how many layers each stage holds; 0: as evenly as they go */
    uint16_t split[GP_SPLIT_STAGES];
    bool all_in_flight;          /* every micro-batch runs forward before any runs backward (GPipe) */
    bool level;                  /* every stage holds as many micro-batches as the first (zero-bubble H1 and V) */
    bool turned;                 /* the first GPU has both ends: half of each stage lies there and back (zero-bubble V) */
    bool both_ways;              /* micro-batches run from either end: a GPU holds a stage and its mirror (DualPipe) */
    int64_t mtp;                 /* multi-token prediction modules that are trained, behind the last layer */
    bool device_map;             /* the layers of one copy lie on all GPUs, which work one after the other */
    bool balances;               /* the job leaves the split to the planner (balance.h) */
    gp_recipe recipe;            /* follows from the job too: build the layout anew when the job changes */
} gp_layout;

/* One pipeline stage, as one of its GPUs sees it (the tensor-parallel share). Parameters of tied embeddings that
 * both ends hold are counted on each end. */
typedef struct {
    int64_t index, layers, first_layer;
    int64_t copies;              /* stages of so many layers that a GPU holds: 2 when the pipeline runs both ways */
    int64_t gpus;                /* GPUs that hold this stage: gpus / pp */
    bool first, last;
    uint64_t linear_params;      /* matrices of its layers, per GPU */
    uint64_t other_params;       /* norms, biases, embedding and head shares, per GPU */
    uint64_t embedding_params, head_params; /* parts of other_params: token table, output matrix (tied: the copy) */
    int64_t mtp;                 /* prediction modules, each a layer beside `layers`: on the last stage */
    uint64_t expert_params;      /* part of linear_params: routed experts, divided by expert parallelism as well */
    int64_t local_experts;       /* routed experts of one layer, per GPU */
    int64_t expert_ranks;        /* GPUs that hold the same experts: their states are sharded over these */
    uint64_t layer_params;       /* the largest layer with norms and biases, per GPU */
    uint64_t adapter_params;     /* adapters, per GPU */
    int64_t kv_heads;            /* KV heads per GPU: ceil(g / attention.tp), at least 1 */
    int64_t in_flight;           /* model chunks (layers / vpp each) of micro-batches whose activations are held:
                                    min(m, p - i) under 1F1B, the warm-up of the interleaved schedule, all under
                                    GPipe, min(m, p) under the zero-bubble H1 and V */
} gp_stage_share;

/* Degrees of a job whose training or inference fields are all known, with derived ones filled (dp from the count,
 * grad_accum or global_batch from each other). Contradictions become rows of `diagnostics`; returns false then. */
bool gp_layout_build(const gp_job *job, const gp_model *model, gp_layout *layout, gp_diagnostics *diagnostics);

/* Groups of data-parallel attention of a serving job with these degrees, of which `dp` are replicas; what cannot be shared
 * out becomes a row of `diagnostics`, and there are no groups then. */
gp_attention_groups gp_layout_attention(const gp_job *job, int64_t tp, int64_t dp, gp_diagnostics *diagnostics);

/* What the job says of the groups: infer.attention_dp, or infer.dp where SGLang has no more GPUs than tensor parallelism
 * and stages take. At least 1. */
int64_t gp_layout_groups(const gp_job *job);

/* True where infer.dp counts groups within tensor parallelism. */
bool gp_layout_dp_is_within(const gp_job *job);

/* True where the engine makes each group a replica, or tensor parallelism is not a multiple of them. */
bool gp_layout_groups_are_replicas(const gp_job *job);

/* Decode context parallelism: ranks that tensor parallelism gives copies of a cache share out its tokens instead. What the
 * job says of it, where its engine has it (vLLM and SGLang) and the ledger counts it; at least 1. */
int64_t gp_layout_dcp(const gp_job *job);
/* Sets the layout's. SGLang keeps the keys of an indexer on every rank. */
void gp_layout_share_tokens(const gp_job *job, gp_layout *layout);

/* Most ranks that can share out a sequence's tokens: the copies that `tp` ranks hold of every layer's cache. 1 where a layer
 * has none, or its tokens are not shared out: windows, compressed entries, and KV heads under SGLang. */
int64_t gp_layout_most_dcp(const gp_job *job, const gp_model *model, int64_t tp);

/* Ranks over which a matrix of a layer is split that is not a routed expert's. */
int64_t gp_layout_ways(const gp_layout *layout, gp_tensor tensor);

/* Caches that have sequences of their own: every group of every replica. */
int64_t gp_layout_caches(const gp_layout *layout);

/* The contradictions that can be told without a layout, for a job with other faults: among what is given and faultless,
 * and against the model where there is one (NULL: none). */
void gp_layout_check(const gp_job *job, const gp_model *model, gp_diagnostics *diagnostics);

/* Takes the split of the job, if it has one; one that does not fit becomes a row of `diagnostics`. */
void gp_layout_read_split(const gp_job *job, const gp_model *model, gp_layout *layout, gp_diagnostics *diagnostics);

/* True where embedding and output matrix count as layers of a pipeline that has a chunk too many for the layers alone
 * (Megatron-LM account_for_embedding_in_pipeline_split and account_for_loss_in_pipeline_split). */
bool gp_layout_counts_ends(const gp_model *model, const gp_layout *layout);

/* GPUs over which sharding divides what each copy of a stage holds: the data- and context-parallel ranks, or of them a
 * group that shares them evenly (HSDP). */
int64_t gp_layout_shards(const gp_layout *layout);

/* Layers of one stage and the first of them: as the split says, else as evenly as they go, the remainder on the
 * earliest stages. */
int64_t gp_layout_layers(const gp_model *model, const gp_layout *layout, int64_t stage, int64_t *first);

/* Share of one stage. */
void gp_layout_stage(const gp_job *job, const gp_model *model, const gp_layout *layout, int64_t index,
                     gp_stage_share *share);

#endif
