/* shape.h: the dimensions of a decoder-only transformer, as plain numbers. */
#ifndef GP_SHAPE_H
#define GP_SHAPE_H

#include <stdbool.h>
#include <stdint.h>

/* Largest dimension of a shape: the product of two stays below 2^63. */
#define GP_DIMENSION_MAX (INT64_C(1) << 31)

/* LAYER: LayerNorm with weight and bias; LAYER_NO_BIAS: weight alone (MPT, Command R); NONE: no parameters (OLMo). */
typedef enum { GP_NORM_RMS, GP_NORM_LAYER, GP_NORM_LAYER_NO_BIAS, GP_NORM_NONE } gp_norm;

typedef struct {
    int64_t layers, hidden, heads, kv_heads, head_dim, ffn, vocab;
    int64_t learned_positions;  /* rows of a learned position table, 0 for rotary or ALiBi */
    int64_t embedding_dim;      /* width of the token embedding where it differs from hidden (OPT-350m), else 0 */
    int64_t max_context;        /* positions the model was made for, 0 = unknown */
    int64_t sliding_window;     /* 0 = full attention; else every layer sees this many tokens (Mistral-7B-v0.1) */
    gp_norm norm;
    int norms_per_layer;        /* 2, or 1 for a shared parallel block (Falcon-7B, Phi-2), 4 with post-norms (GLM-4) */
    bool final_norm;
    bool embedding_norm;        /* a norm right after the embedding (BLOOM) */
    bool gated_ffn;             /* SwiGLU, GeGLU: gate, up and down; else up and down */
    bool tied_embeddings;
    bool qkv_bias, output_bias, ffn_bias, head_bias;
    bool qk_norm;               /* a norm without bias over q and k: one weight of head_dim for each (Qwen3) … */
    bool qk_norm_per_head;      /* … or one of heads * head_dim (OLMo-2, Command R+) */
    bool fused_qkv;             /* one matrix holds q, k and v (GPT-2, Phi-3): a LoRA adapter spans all three */
    bool fused_gate_up;         /* one matrix holds gate and up (Phi-3, GLM-4) */
    const char *model_type;     /* "llama", "gpt2", … static; "" for a structure without a family */
} gp_shape;

#endif
