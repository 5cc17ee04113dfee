/* cache.h: what a stage's layers keep for each token and for each sequence, on one tensor-parallel rank. Layers that keep
 * the same are one group. */
#ifndef GP_CACHE_H
#define GP_CACHE_H

#include "layout.h"

typedef struct {
    int64_t layers;
    int64_t window;        /* tokens in view, 0 = all */
    int64_t kv_heads, head_dim; /* on this rank; 0 for a latent */
    int64_t elements;      /* of keys and values per token: 2 * kv_heads * head_dim, or a latent's, which is not split */
    int64_t index;         /* width of a sparse-attention indexer's key, 0 = none */
} gp_cache_group;

typedef struct {
    int count;
    gp_cache_group groups[GP_KINDS_MAX];
    int64_t recurrent_layers;
    double conv_elements, state_elements; /* per sequence, over the layers; states are split by their heads */
} gp_cache;

/* Caches of layers first … first + count - 1 under tensor parallelism of tp. */
void gp_cache_of(const gp_model *model, int64_t tp, int64_t first, int64_t count, gp_cache *cache);

/* First layer of a pipeline stage. */
int64_t gp_first_layer(const gp_model *model, const gp_layout *layout, int64_t stage);

/* Cached bytes of one token in all groups, windows not considered. */
double gp_cache_token_bytes(const gp_cache *cache, double bits);

/* Bytes per token of an indexer's key: vLLM and SGLang store it in fp8 with an fp32 scale for 128 values. */
double gp_index_bytes(int64_t index);

#endif
