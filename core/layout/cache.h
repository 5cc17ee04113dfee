/* cache.h: what a stage's layers keep for each token and for each sequence, on one tensor-parallel rank. Layers that keep
 * the same are one group. */
#ifndef GP_CACHE_H
#define GP_CACHE_H

#include "layout/layout.h"

typedef struct {
    int64_t layers;
    int64_t window;        /* tokens in view, 0 = all */
    int64_t kv_heads, head_dim, value_dim; /* on this rank; 0 for a latent */
    int64_t elements;      /* of keys and values per entry: kv_heads * (head_dim + value_dim), or a latent's, which is not split */
    int64_t stride;        /* tokens for which one entry stands: 1, or more in a COMPRESSED layer */
    int64_t rotary;        /* of the elements, those that the 8-bit cache of a COMPRESSED or sparsely read layer keeps in 16 bits */
    int64_t chosen;        /* entries that one token reads, by the indexer's choice; 0 = all */
    bool recent;           /* the window beside compressed entries: a buffer of fixed size, which no token adds to */
    int64_t index;         /* width of a sparse-attention indexer's key, 0 = none */
    int64_t shared, index_shared; /* ranks over which a sequence's entries, and its indexer keys, are shared out; at least 1 */
} gp_cache_group;

#define GP_CACHE_GROUPS_MAX (2 * GP_KINDS_MAX)

typedef struct {
    int count;
    gp_cache_group groups[GP_CACHE_GROUPS_MAX];
    int64_t recurrent_layers; /* without those that only gather tokens for an entry */
    double conv_elements, state_elements; /* per sequence, over the layers; states are split by their heads */
    double gathered_elements; /* of a token that COMPRESSED layers have yet to put into entries, over the layers */
} gp_cache;

/* Caches of layers first … first + count - 1 under tensor parallelism of tp. */
void gp_cache_of(const gp_model *model, int64_t tp, int64_t first, int64_t count, gp_cache *cache);

/* The same for one rank of a layout, among which tokens may be shared out. */
void gp_cache_of_rank(const gp_model *model, const gp_layout *layout, int64_t first, int64_t count, gp_cache *cache);

/* True when a sequence has a state of fixed size beside its cache. */
bool gp_cache_has_states(const gp_cache *cache);

/* First layer of a pipeline stage. */
int64_t gp_first_layer(const gp_model *model, const gp_layout *layout, int64_t stage);

/* Bytes of one entry. Caches of 8 bits of latents that an indexer chooses from: an fp32 scale for 128 elements and 16 bits for
 * the rotary ones (github.com/deepseek-ai/FlashMLA README: 512 + 16 + 128); of a COMPRESSED layer: one scale of 8 bits for 64 elements, rounded up to 8 of them,
 * and 16 bits for the rotary ones (github.com/sgl-project/sglang mem_cache/deepseek_v4_memory_pool.py: 448 + 128 + 8). */
double gp_cache_entry_bytes(const gp_cache_group *group, double bits);

/* Cached bytes of one token in all groups, windows not considered. */
double gp_cache_token_bytes(const gp_cache *cache, double bits);

/* Bytes per token of an indexer's key: vLLM and SGLang store it in fp8 with an fp32 scale for 128 values. */
double gp_index_bytes(int64_t index);

#endif
