/* formulas.h: the amounts that the ledgers are made of. Each function computes one gp_formula of its family's file and
 * returns it with its terms. Products are formed in double: every factor is a count, so results are exact up to 2^53
 * bytes, the largest that a report carries. */
#ifndef GP_FORMULAS_H
#define GP_FORMULAS_H

#include "layout/cache.h"
#include "formulas/formula.h"

/* Amount of `formula` with a value in bytes (rounded up) and its terms. */
gp_amount gp_amount_make(const gp_formula *formula, double bytes, int term_count, const gp_term *terms);
#define GP_AMOUNT(formula, bytes, terms) \
    gp_amount_make(&(formula), (bytes), (int)(sizeof(terms) / sizeof((terms)[0])), (terms))

/* NULL-terminated lists, one per file formulas_*.c. */
extern const gp_formula *const gp_formulas_state[];
extern const gp_formula *const gp_formulas_activations[];
extern const gp_formula *const gp_formulas_overhead[];
extern const gp_formula *const gp_formulas_inference[];
extern const gp_formula *const gp_formulas_llama_cpp[];
extern const gp_formula *const gp_formulas_textbook[];
extern const gp_formula *const gp_formulas_timing[];

/* formulas_state.c. `shards`: data-parallel ranks that divide the state, 1 = whole on each. */
gp_amount gp_weights_amount(const gp_stage_share *share, const gp_recipe *recipe, double shards);
gp_amount gp_scales_amount(double linear_params, double scale_bits);
gp_amount gp_gradients_amount(double params, double bytes_per_param, double shards);
/* Made by the worst moment of backward, and after it. */
gp_amount gp_gradients_made_amount(double all, double later);
gp_amount gp_gradients_later_amount(double params, double bytes_per_param, double shards, double made);
gp_amount gp_master_amount(double params, double bytes_per_param, double shards);
gp_amount gp_optimizer_amount(double matrix_params, double matrix_bytes, double other_params, double other_bytes,
                              double shards);
gp_amount gp_optimizer_factored_amount(double layers, double per_layer, double ends, double shards);
gp_amount gp_adapter_amount(double params, double kept_bytes, double sharded_bytes, double shards);
gp_amount gp_optimizer_temp_amount(double lists, double params, double bytes_per_param, double shards);
/* Of the tensor whose update takes most, in elements, and of the one updated before it. */
gp_amount gp_optimizer_single_amount(double largest, double bytes, double previous, double previous_bytes);
/* group_params: parameters that one step of the optimizer takes. */
gp_amount gp_optimizer_gradient_amount(double params, double shards, double group_params, double gradient_bytes);
gp_amount gp_gather_layers_amount(double layer_params, double units, double weight_bytes, double gradient_bytes);
gp_amount gp_gather_ends_amount(double end_params, double weight_bytes);
/* In the pool of FSDP2's gathering stream: `gp_is_gathered_ahead` knows it again. */
gp_amount gp_gather_ahead_amount(double end_params, double layer_params, double weight_bytes);
bool gp_is_gathered_ahead(const gp_amount *amount);
gp_amount gp_gradient_dummies_amount(double distinct_params, double element_bytes);
gp_amount gp_whole_model_amount(const gp_stage_share *share, const gp_recipe *recipe);
gp_amount gp_flat_copy_amount(double params, double bytes_per_param);
gp_amount gp_gather_stage_amount(double params, double weight_bytes, double gradient_bytes);
gp_amount gp_gathered_sequence_amount(double tokens, double hidden, double element_bytes);
gp_amount gp_gather_copies_amount(double params, double gradient_bytes);
gp_amount gp_gather_buckets_amount(double buckets, double bucket_elements, double params, double element_bytes);

/* formulas_activations.c: the micro-batches whose activations a rank holds. */
typedef struct {
    double tokens;            /* of one micro-batch on one context-parallel rank */
    double layers_in_flight;  /* layers times the micro-batches held */
    double layer_bytes, end_bytes; /* per token; the ends are there on the last stage only */
    double weight_copies;     /* bytes of the 16-bit copies that autocast keeps */
} gp_kept_activations;
gp_amount gp_activations_amount(const gp_kept_activations *kept, gp_recompute policy);
gp_amount gp_layer_backward_amount(double tokens, double recomputed, double gradients);
/* Of a step replayed operator by operator (activations.h), in bytes. BATCH: the rest of the step. */
typedef enum { GP_REPLAY_FORWARD, GP_REPLAY_LOSS, GP_REPLAY_BACKWARD, GP_REPLAY_BATCH } gp_replay_phase;
gp_amount gp_replay_kept_amount(gp_replay_phase phase, double of_layers, double outside);
gp_amount gp_replay_left_amount(double saved, double released);
gp_amount gp_replay_logits_amount(gp_replay_phase phase, double bytes, double tokens, double vocab);
/* … with the numbers of tokens and labels, and the masks that a model holds. */
gp_amount gp_replay_working_amount(gp_replay_phase phase, double bytes, double tokens, double masks);
/* `bytes`: per logit around the loss; with more than one chunk, of one chunk only, and `kept_bytes` of all. */
typedef struct {
    double tokens, vocab, tp, chunks, bytes, kept_bytes;
} gp_logits;
gp_amount gp_logits_amount(const gp_logits *logits);

/* formulas_inference.c. A group's cache; of its window, where it has one, where the context is longer. */
gp_amount gp_kv_cache_amount(const gp_cache_group *group, double sequences, double context, double block, double bits);
/* Entries of `tokens` of a pass in layers with a window, as long as the pass runs. */
gp_amount gp_kv_pass_amount(const gp_cache_group *group, double tokens, double block, double bits);
gp_amount gp_kv_index_amount(const gp_cache_group *group, double sequences, double context, double block);
/* `each`: states that a sequence holds, of elements of so many bytes. */
gp_amount gp_recurrent_state_amount(const gp_cache *cache, double sequences, double each, double conv_bytes, double state_bytes);
gp_amount gp_recurrent_pages_amount(double layers, double group, double states, double page_bytes);
/* What a pass of `tokens` adds to the windows and unfinished entries of COMPRESSED layers. */
gp_amount gp_pass_state_amount(const gp_cache *cache, double tokens, double bits);
typedef struct { double hidden, ffn, vocab; } gp_engine_widths; /* on one rank */
gp_amount gp_workspace_paged_amount(const gp_engine_widths *widths, double batched_tokens, double max_sequences);
gp_amount gp_workspace_transformers_amount(const gp_engine_widths *widths, double tokens, double logit_tokens);
/* `scores`: bytes of one layer's scores in 16 bits; `blocks`: of that size, which the allocator ends up with. */
gp_amount gp_workspace_eager_amount(const gp_engine_widths *widths, double blocks, double scores, double tokens,
                                    double logit_tokens);
gp_amount gp_rotary_tables_amount(double layers, double positions, double head_dim, double element_bytes);
gp_amount gp_former_step_amount(double prompt_cache, double cache, double logit_tokens, double vocab);
gp_amount gp_graphs_amount(double layers, double mib_per_layer);

/* formulas_llama_cpp.c. Bytes of a file's tensors on one device; `ways` divides all but the ends. */
typedef struct {
    uint64_t layers, embedding, output, ends;
    bool imported; /* of a file whose bytes are known, rather than those that its mix makes */
} gp_file_share;
gp_amount gp_weights_tensors_amount(const gp_file_share *share, double ways);
/* Elements per token that are alive in each part of a graph; bytes where the name says so. */
typedef struct {
    double tokens, outputs, hidden, vocab;
    double kept;      /* hidden rows alive beside the logits */
    double mask;      /* bytes of the attention masks */
    double ffn, attention, score_cells, recurrent, scan_bytes;
} gp_llama_widths;
gp_amount gp_workspace_llama_amount(const gp_llama_widths *widths);
gp_amount gp_workspace_llama_2023_amount(const gp_llama_widths *widths, double context, double objects);
/* Latent attention of ik_llama.cpp: cells of the cache; per cell the elements of keys and values of all heads, and of them
 * those that are made of the latent. */
typedef struct { double cells, whole, made; } gp_ik_latent_widths;
gp_amount gp_workspace_ik_latent_amount(const gp_llama_widths *widths, const gp_ik_latent_widths *of);
gp_amount gp_weights_ik_latent_amount(double layers, double made, double bits);
gp_amount gp_weights_routers_amount(double params, double more_bits);
gp_amount gp_workspace_llama_copies_amount(const gp_llama_widths *widths);

/* formulas_timing.c: seconds, and tokens per second. The amounts hold formula and terms; their bytes are not used. */
typedef struct {
    double dense_bytes, rate, dense_flop, flops;         /* matrices that every token uses, and the head */
    double expert_bytes, expert_rate, expert_flop;       /* experts that some token of the step uses */
    double cache_bytes, cache_rate, latency_s, reduce_s, exchange_s;
    double host_s;                                       /* what the host computes */
} gp_step_parts;
double gp_step_seconds(const gp_step_parts *parts, gp_amount *why);
typedef struct {
    double flop, flops, passes, pass_bytes, rate, pass_s, attention_flop, attention_flops, reduce_s, exchange_s;
    double host_s;
    double overlap;                                      /* of pipeline stages: 1 = one after the other */
} gp_prompt_parts;
double gp_prompt_seconds(const gp_prompt_parts *parts, gp_amount *why);
/* All-reduces of a step or a pass; `moved_bytes` by each of them. */
typedef struct { double reduces, passes, start_s, moved_bytes, link_rate; } gp_reduce_parts;
double gp_reduce_seconds(const gp_reduce_parts *parts, gp_amount *why);
/* Tokens that go to the ranks of their experts and back, in a step or a pass; `sent_bytes` in each layer of experts. */
typedef struct { double expert_layers, passes, start_s, sent_bytes, link_rate; } gp_exchange_parts;
double gp_exchange_seconds(const gp_exchange_parts *parts, gp_amount *why);
/* `kernels` of a layer, in those of one with plain attention and a dense block. */
typedef struct { double layers, kernels, layer_s, expert_layers, expert_layer_s, step_start_s; } gp_floor_parts;
double gp_floor_seconds(const gp_floor_parts *parts, gp_amount *why);
/* Of a layer's experts those that a step uses; `missed` is the share that no token of it chose. */
double gp_experts_touched(double experts, double missed, gp_amount *why);
double gp_tpot_seconds(double step_s, double tokens_per_step, double shared_prompt_s, gp_amount *why);
double gp_ttft_seconds(double prompt_s, double start_s, double wait_s, gp_amount *why);
typedef struct { double duty, sequences, output, step_s, tokens_per_step, batch, prompt_s; } gp_throughput_parts;
double gp_throughput_per_second(const gp_throughput_parts *parts, gp_amount *why);
double gp_decode_per_second(double step_s, double tokens_per_step, gp_amount *why);
/* Tokens that a step gives on average when `draft` tokens are guessed, each right with probability `acceptance`. */
double gp_tokens_per_step(double draft, double acceptance);
double gp_prefill_per_second(double tokens, double prompt_s, gp_amount *why);

/* formulas_overhead.c */
gp_amount gp_context_amount(double mib);
gp_amount gp_context_engine_amount(double loaded_bytes);
gp_amount gp_kept_free_amount(double cache_bytes, double free_share);
gp_amount gp_comm_amount(double groups, double group_mib);
/* `streams_bytes`: in the pools of other streams, and in no use when most is allocated. */
gp_amount gp_fragmentation_amount(double share, double allocated_bytes, double streams_bytes);

/* formulas_textbook.c: what the course notes compute by hand. `ways` = tp * pp. */
typedef struct {
    double params;        /* N: as stated, else computed */
    double ways, shards;  /* tp * pp, and ZeRO's data-parallel shards of this state */
} gp_textbook_share;
gp_amount gp_textbook_weights(gp_textbook_share share, double bytes_per_param);
gp_amount gp_textbook_gradients(gp_textbook_share share, double bytes_per_param);
gp_amount gp_textbook_master(gp_textbook_share share, double bytes_per_param);
gp_amount gp_textbook_optimizer(gp_textbook_share share, double bytes_per_param);
/* Adapters with their gradients, master copy and states: `kept` bytes per parameter on every rank, `sharded` divided. */
gp_amount gp_textbook_adapter(gp_textbook_share share, double kept, double sharded);
gp_amount gp_textbook_activations(const gp_layout *layout, const gp_stage_share *share, int64_t hidden,
                                  double coefficient, bool recompute);
gp_amount gp_textbook_kv(const gp_layout *layout, const gp_stage_share *share, const gp_shape *shape, double tokens);

#endif
