/* shape.h: a model as plain numbers: what its layers have in common, the few distinct kinds of layer among them, and
 * which kind each layer is. A shape that is all zero but for its dimensions is a dense decoder whose layers are alike. */
#ifndef GP_SHAPE_H
#define GP_SHAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Largest dimension of a shape: the product of two stays below 2^63. */
#define GP_DIMENSION_MAX (INT64_C(1) << 31)
/* Most layers that a config may count, five hundred times those of the deepest published model. */
#define GP_LAYERS_MAX (INT64_C(1) << 16)

/* LAYER: LayerNorm with weight and bias; LAYER_NO_BIAS: weight alone (MPT, Command R); NONE: no parameters (OLMo). */
typedef enum { GP_NORM_RMS, GP_NORM_LAYER, GP_NORM_LAYER_NO_BIAS, GP_NORM_NONE } gp_norm;

/* Softmax attention of a layer: over all tokens before; over a window of them; over the chunk a token stands in
 * (Llama 4); over a compressed cache (MLA); bidirectional without a cache (encoders); to the states of another model
 * (cross attention, whose cache does not grow); over a window and, beyond it, entries that each stand for several tokens
 * (COMPRESSED, DeepSeek-V4). */
typedef enum {
    GP_ATTENTION_FULL, GP_ATTENTION_SLIDING, GP_ATTENTION_CHUNKED, GP_ATTENTION_LATENT, GP_ATTENTION_ENCODER,
    GP_ATTENTION_CROSS, GP_ATTENTION_COMPRESSED, GP_ATTENTION_NONE
} gp_attention;

/* What carries a state of fixed size along the sequence, instead of attention or beside it (Falcon-H1). */
typedef enum {
    GP_RECURRENCE_NONE, GP_RECURRENCE_MAMBA, GP_RECURRENCE_MAMBA2, GP_RECURRENCE_DELTA_NET, GP_RECURRENCE_KIMI_DELTA,
    GP_RECURRENCE_SHORT_CONV, GP_RECURRENCE_LIGHTNING
} gp_recurrence;

/* MOE_BESIDE_DENSE: experts and a dense block, both in every such layer (Arctic, Gemma 4). */
typedef enum { GP_FFN_DENSE, GP_FFN_MOE, GP_FFN_MOE_BESIDE_DENSE, GP_FFN_NONE } gp_feed_forward;

/* How the code of a layer in transformers differs from Llama's, where eager training keeps other tensors for it
 * (src/transformers/models/<model_type>/modeling_<model_type>.py). */
enum {
    GP_CODE_NORM_ADDS_ONE = 1u << 0,   /* a norm multiplies by 1 + its weight, in fp32, before it narrows (Gemma) */
    GP_CODE_NORM_WIDE = 1u << 1,       /* … by its weight, likewise (OLMo 2, gpt-oss) */
    GP_CODE_CAPS_SCORES = 1u << 2,     /* tanh bounds the attention scores (Gemma 2) … */
    GP_CODE_CAPS_LOGITS = 1u << 3,     /* … and the logits */
    GP_CODE_SCALES_EMBEDDING = 1u << 4, /* embeddings times a number made a tensor in each forward (Gemma, Gemma 2) … */
    GP_CODE_SCALED_TABLE = 1u << 5,    /* … or held by the table's module (Gemma 3) */
    GP_CODE_LOCAL_ROTARY = 1u << 6,    /* windowed layers have rotary tables of their own (Gemma 3) */
    GP_CODE_NORMS_AFTER = 1u << 7,     /* each block is normed after it instead of before (OLMo 2) */
    GP_CODE_WIDE_ROTARY = 1u << 8,     /* rotation in fp32, then back (OLMo 2, Cohere) */
    GP_CODE_MULTIPLIERS = 1u << 9,     /* embeddings, each block's result and the logits times a number (Granite) */
    GP_CODE_NORM_CENTRED = 1u << 10,   /* LayerNorm operator by operator, in fp32 (Cohere) */
    GP_CODE_SCALES_LOGITS = 1u << 11,  /* logits times a number (Cohere) */
    GP_CODE_COPIES_TABLES = 1u << 12,  /* each layer has rotary tables of its own, for half of a head (GLM) */
    GP_CODE_DROPS_BLOCKS = 1u << 13,   /* dropout of embeddings and of each block's result as well (StarCoder 2) */
    GP_CODE_GELU_GATE = 1u << 14,      /* GELU of the gate instead of SiLU (Gemma) */
    GP_CODE_CHUNKED_QKV = 1u << 15,    /* queries, keys and values of each head are parts of one product (GPT-NeoX) */
    GP_CODE_NORMS_BESIDE = 1u << 16,   /* both blocks take the layer's input, each through a norm of its own (GPT-NeoX) */
    GP_CODE_OTHER = 1u << 17           /* it differs in ways that are not written down here */
};

/* A kind of layer. Numbers of 0 are the shape's own. */
typedef struct {
    gp_attention attention;
    gp_recurrence recurrence;
    gp_feed_forward feed_forward;
    bool shares_kv;         /* attends to an earlier layer's keys and values: no projections and no cache for them */
    bool keeps_projections; /* … but the file holds projections all the same (Gemma 3n) */
    bool keys_are_values;   /* one projection for both (Gemma 4, global layers); both are cached */
    bool without_index;     /* sparse attention that takes an earlier layer's choice of tokens (GLM-5.2) */
    bool crosses;           /* cross attention to an encoder beside self-attention (T5) */
    bool hashed;            /* experts by a table of the token, not by a router's scores (DeepSeek-V4) */
    bool borrowed;          /* attention by a block that several layers share, counted in shape.extra_params (Zamba 2) */
    int64_t heads, kv_heads, head_dim, ffn;
    int64_t value_dim;      /* size of a head's values where it is not that of its keys (MiMo-V2) */
    int64_t compress;       /* tokens behind an entry of a COMPRESSED layer's cache; 0 = the window alone */
    int64_t extra_params;   /* outside matrices and norms: gates, scalars, shared blocks held once by this layer */
} gp_layer_kind;
#define GP_KINDS_MAX 36
/* Layers of unlike kinds that can be told apart; a model of one kind may have any number. */
#define GP_MAPPED_LAYERS 256

/* Experts of an MoE layer: `count` of width `ffn`, `topk` of them per token. */
typedef struct {
    int64_t count, topk, ffn;
    int64_t shared_ffn;       /* width of all shared experts together, 0 = none */
    int64_t latent;           /* width the tokens are projected to before the routed experts, 0 = none (Nemotron 3) */
    int64_t dense_ffn;        /* dense block beside the experts (MOE_BESIDE_DENSE); 0 = the layer's ffn */
    bool shared_gate;         /* a gate of one column on the shared experts (Qwen) */
    bool correction_bias;     /* a bias per expert added for choosing alone (DeepSeek-V3) */
    bool router_bias, bias;   /* biases of the router, of the experts' matrices (gpt-oss) */
    bool latent_norm;         /* a norm over the latent (Kimi K3) */
} gp_experts;

/* Multi-head latent attention: DeepSeek-V2, arXiv:2405.04434, section 2.1. */
typedef struct {
    int64_t q_lora;           /* 0 = queries come straight from the hidden state */
    int64_t kv_lora, nope, rope, value;
    bool output_gate;         /* a gate as wide as the heads' values (Kimi K3) */
    int64_t index_heads, index_dim, index_topk; /* the indexer of sparse attention (DeepSeek-V3.2), 0 = none */
    int64_t output_groups, output_lora; /* groups of heads, each with an output projection of that rank (DeepSeek-V4) */
} gp_latent;

/* State-space and linear-attention layers. */
typedef struct {
    int64_t inner;            /* width inside: Mamba's d_inner, value heads * value dim of linear attention */
    int64_t state;            /* Mamba's d_state, key dim of linear attention */
    int64_t heads, key_heads, groups, kernel;
    int64_t rank;             /* of the time step (Mamba 1), of the gates (Kimi delta attention) */
    bool conv_bias, bias;
    bool inner_norms;         /* norms over time step, B and C (Jamba), over the gated output (Mamba 2) */
} gp_state_space;

typedef struct {
    int64_t layers, hidden, heads, kv_heads, head_dim, ffn, vocab;
    int64_t value_dim;          /* size of a head's values, 0 = head_dim */
    int64_t learned_positions;  /* rows of a learned position table, 0 for rotary or ALiBi */
    int64_t embedding_dim;      /* width of the token embedding where it differs from hidden (OPT-350m), else 0 */
    int64_t max_context;        /* positions the model was made for, 0 = unknown */
    int64_t sliding_window;     /* tokens seen by SLIDING layers, and by CHUNKED ones the chunk; 0 = none */
    gp_norm norm;
    int norms_per_layer;        /* 2, or 1 for a shared parallel block (Falcon-7B, Phi-2), 4 with post-norms (GLM-4) */
    bool final_norm;
    bool embedding_norm;        /* a norm right after the embedding (BLOOM) */
    bool gated_ffn;             /* SwiGLU, GeGLU: gate, up and down; else up and down */
    bool tied_embeddings;
    bool qkv_bias, output_bias, ffn_bias, head_bias;
    bool qk_norm;               /* a norm without bias over q and k: one weight of head_dim for each (Qwen3) … */
    bool qk_norm_per_head;      /* … or one of heads * head_dim (OLMo-2, Command R+) */
    bool q_gate;                /* q holds a gate as wide as itself (Qwen3-Next) */
    bool sinks;                 /* one logit per head that no token answers to (gpt-oss) */
    bool fused_qkv;             /* one matrix holds q, k and v (GPT-2, Phi-3): a LoRA adapter spans all three */
    bool fused_gate_up;         /* one matrix holds gate and up (Phi-3, GLM-4) */
    gp_experts experts;
    gp_latent latent;
    gp_state_space recurrent;
    int64_t vision_params, audio_params; /* towers and their projectors; 0 = none */
    int64_t streams;            /* copies of the residual stream, mixed before and after each half layer (hyper-connections,
                                   arXiv:2409.19606); 0 = one, unmixed */
    int64_t extra_params;       /* around the layers, beyond embeddings, head and norms (Gemma 3n, Zamba 2) */
    /* Multi-token prediction modules beside the layers: one layer of each of the given kinds, a projection of the
     * embedding and the hidden state to hidden, and norms. */
    int64_t mtp_layers;
    int mtp_kind_count, mtp_norms;
    uint8_t mtp_kinds[2];       /* a kind may be one that no layer has */
    bool mtp_copies;            /* each holds the embedding and the head again (DeepSeek-V3) */
    bool mtp_counted;           /* the published count holds them */
    uint32_t code;              /* GP_CODE_* */
    bool incomplete;            /* parts whose structure is not known are left out of every count */
    const char *model_type;     /* "llama", "gpt2", … static; "" for a structure without a family */
    int kind_count;             /* 0 and 1: all layers are of kinds[0] */
    gp_layer_kind kinds[GP_KINDS_MAX];
    uint8_t kind_of[GP_MAPPED_LAYERS]; /* by layer; later layers are of kinds[0] */
} gp_shape;

/* Kind of a layer. */
static inline int gp_shape_kind(const gp_shape *shape, int64_t layer) {
    return layer >= 0 && layer < GP_MAPPED_LAYERS && shape->kind_count > 1 ? shape->kind_of[layer] : 0;
}

/* Copies what a shape uses of its kinds and no more: `to` may hold anything before. */
static inline void gp_shape_copy(gp_shape *to, const gp_shape *from) {
    size_t count = from->kind_count > 1 ? (size_t)from->kind_count : 1;
    memcpy(to, from, offsetof(gp_shape, kinds) + count * sizeof from->kinds[0]);
    if (count > 1) memcpy(to->kind_of, from->kind_of, sizeof to->kind_of);
}

/* True for shapes of the same bytes as far as they use them: equal ones, but for chance contents between members. */
bool gp_shape_is_same(const gp_shape *a, const gp_shape *b);

/* A shape as bytes, without its model_type, as the catalogue holds them: most numbers of a shape are 0. Packing gives
 * the length, or 0 when `size` is too small. */
int gp_shape_pack(const gp_shape *shape, uint8_t *bytes, int size);
void gp_shape_unpack(const uint8_t *bytes, gp_shape *shape);

#endif
