/* shape.h: the dimensions of a decoder-only transformer, as plain numbers. */
#ifndef GP_SHAPE_H
#define GP_SHAPE_H

#include <stdbool.h>
#include <stdint.h>

typedef enum { GP_NORM_RMS, GP_NORM_LAYER, GP_NORM_LAYER_NO_BIAS, GP_NORM_NONE } gp_norm;

typedef struct {
    int64_t layers, hidden, heads, kv_heads, head_dim, ffn, vocab;
    int64_t learned_positions;  /* rows of a learned position table, 0 for rotary or ALiBi */
    int64_t embedding_dim;      /* width of the token embedding where it differs from hidden (OPT-350m), else 0 */
    int64_t max_context;        /* positions the model was made for, 0 = unknown */
    int64_t sliding_window;     /* 0 = full attention in every layer */
    gp_norm norm;
    int norms_per_layer;        /* 2, or 1 for a shared parallel block (Falcon-7B, Phi-1), 4 with post-norms */
    bool final_norm;
    bool embedding_norm;        /* a norm right after the embedding (BLOOM) */
    bool gated_ffn;             /* SwiGLU, GeGLU: gate, up and down; else up and down */
    bool tied_embeddings;
    bool qkv_bias, output_bias, ffn_bias, head_bias;
    bool qk_norm;               /* RMSNorm over head_dim on q and k (Qwen3) */
    const char *model_type;     /* "llama", "gpt2", … static */
} gp_shape;

#endif
