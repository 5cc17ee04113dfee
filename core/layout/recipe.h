/* recipe.h: the choices that a job leaves to its framework, its engine or a text, resolved once per layout so that
 * the ledger compares no strings and the solver may ask for thousands of ledgers. */
#ifndef GP_RECIPE_H
#define GP_RECIPE_H

#include "model/model.h"

/* How a framework computes a layer, which decides what the forward pass keeps for the backward pass. */
typedef enum {
    GP_KERNELS_FUSED, /* Megatron with Transformer Engine, or torch.compile: one kernel per norm, SwiGLU, attention */
    GP_KERNELS_EAGER  /* PyTorch operator by operator: each keeps its own inputs */
} gp_kernels;

/* How numbers are held while a layer is computed. */
typedef enum {
    GP_NUMERICS_16_BIT,   /* 16-bit parameters, or fp32 ones cast when they are gathered */
    GP_NUMERICS_FP32,
    GP_NUMERICS_AUTOCAST, /* 16-bit products over fp32 parameters and an fp32 residual stream */
    GP_NUMERICS_COUNT
} gp_numerics;

/* What of a training run is a property of the framework rather than of the job. */
typedef struct {
    const char *name;           /* as in the choices of train.framework */
    gp_kernels kernels;
    double reserved;            /* allocator: reserved over allocated, less 1 */
    double below, above;        /* of the 90 % range: shares of a peak, beside the spread of its items */
    bool fp32_weights;          /* 16-bit pretraining keeps fp32 parameters and casts them when it gathers */
    bool main_gradients;        /* gradients live in one fp32 buffer through the whole step */
    bool loads_whole;           /* every GPU holds the whole model until its units are sharded */
    bool loads_fp32;            /* what is trained whole stays as it was loaded, in fp32 */
    bool sums_apart;            /* bf16 gradients are summed in an fp32 copy, fp16 ones in place (DeepSpeed's pipeline) */
    bool master_weights;        /* 16-bit full training keeps an fp32 copy in the optimizer */
    bool buckets;               /* flat buffers for reducing and gathering (DeepSpeed) */
    bool hugging_face;          /* the Trainer of transformers on accelerate */
    bool expands_kv;            /* repeats keys and values to every query head before attention */
    bool holds_logits;          /* the training loop keeps the fp32 logits through backward */
    bool fsdp;                  /* shards with PyTorch's FSDP, which gathers and reduces on streams of its own */
    bool fused_qkv;             /* values are a view that keeps the whole product of queries, keys and values alive */
    bool adapter_dropout;       /* adapters drop inputs out unless told otherwise */
    bool narrow_adapters;       /* adapters are made in the type of the model, not in fp32 as PEFT makes them */
    bool separate_ends;         /* embedding and output matrix are units of their own, let go like a layer (FSDP2) */
    bool chunks_loss;           /* computes the loss in chunks unless told otherwise */
    bool splits_batch;          /* a pipeline's micro-batches are parts of what the job calls one */
} gp_framework;

typedef enum { GP_RECOMPUTE_NONE, GP_RECOMPUTE_SELECTIVE, GP_RECOMPUTE_FULL, GP_RECOMPUTE_PARTIAL } gp_recompute;
/* Parts of a layer that are computed again where a job names some (GP_RECOMPUTE_PARTIAL, or Megatron's modules). */
enum {
    GP_PART_NORMS = 1 << 0, GP_PART_ACTIVATION = 1 << 1, GP_PART_FEED_FORWARD = 1 << 2, GP_PART_ATTENTION = 1 << 3
};
typedef enum {
    GP_LOSS_FULL, GP_LOSS_CHUNKED, GP_LOSS_FUSED,
    GP_LOSS_LIGER, /* in chunks, which give their gradients, that of the output matrix among them, as forward runs */
    GP_LOSS_CUT    /* no logits outside a kernel's blocks */
} gp_loss;
typedef enum {
    GP_ENGINE_PAGED,       /* servers with a block-wise cache: vLLM, SGLang, TensorRT-LLM, TGI, LMDeploy */
    GP_ENGINE_LLAMA_CPP,
    GP_ENGINE_TRANSFORMERS /* libraries that generate one batch: transformers, gpt-fast, AutoAWQ, ExLlama … */
} gp_engine_kind;

/* The course notes' state bytes per trained parameter: 2 weights + 2 gradients + 4 master copy + 8 moments, or what the
 * job states in their place. */
typedef struct { double weights, gradients, master, optimizer; } gp_textbook_state;

typedef struct {
    /* Both. */
    double file_bytes, model_bits; /* tensors of an imported file; the model in the bits below, 0 = not imported */
    double linear_bits, other_bits; /* stored weights: layer matrices, everything else */
    double textbook_bits;           /* the course notes' round figure for the same format */
    bool whole_model;               /* linear_bits is an average over all tensors */
    bool experts_only;              /* linear_bits are those of the routed experts, other_bits those of all else … */
    double beside_bits;             /* … but for the linear layers beside them, where this is not 0 */
    bool on_host;                   /* the device is the host: no CUDA context, no allocator pool */
    bool unified_memory;            /* host and device share theirs (Apple) */
    int mix;                        /* of a GGUF file (quantize.h), -1 = none; its tensors' bytes: */
    uint64_t file_layers, file_embedding, file_output, file_ends;
    uint64_t mix_layers;            /* of the layers under the mix, where file_layers are those of an imported file */
    /* Training. */
    const gp_framework *framework;
    double gradient_bytes, master_bytes; /* per trainable parameter, 0 = none */
    double optimizer_bytes;              /* states per trainable parameter of a matrix */
    gp_textbook_state textbook_state;
    double adapter_bytes;                /* stored bytes of an adapter's parameter */
    double activation_bytes;             /* per element of a matrix product's result */
    gp_kernels kernels;
    gp_numerics numerics;
    bool core_only;                      /* selective recomputation means the attention core (Megatron) */
    bool expanded_kv, elementwise_gelu, mean_keeps_input;
    bool steps_in_backward;              /* a gradient is used and let go as soon as it is made */
    bool foreach_temporaries;            /* the optimizer step makes lists of temporaries */
    bool factored_optimizer;             /* states grow with rows + columns, not with their product */
    bool optimizer_on_host, master_on_host, weights_on_host, gradients_on_host;
    bool flash;                          /* attention keeps no score matrix */
    bool packed_frozen, shards_packed;   /* frozen weights in a packed format; whether ZeRO-3 can divide them */
    bool keeps_inputs;                   /* products with packed weights keep their input (bitsandbytes MatMul4Bit) */
    bool autocast_adapters;              /* fp32 adapters are multiplied in 16 bits */
    bool plain_adapter;                  /* adapters are low-rank matrices beside a layer's own */
    bool scales_outputs;                 /* trains a scale and a bias of every matrix product, and the norms */
    bool adapter_dropout;                /* inputs of adapters are dropped out */
    double reduce_bytes;                 /* per element of a whole gradient that is about to be sharded */
    double logit_bytes;                  /* per logit around the loss; of a chunk where it goes by chunks */
    double kept_logit_bytes;             /* per logit of every chunk until its turn in backward */
    gp_recompute recompute;
    int64_t recomputed_layers;           /* of a stage, where recomputation stops after some; 0 = all */
    unsigned recomputed_parts;           /* GP_PART_* */
    bool checkpoints_on_host;            /* what recomputation starts from is moved to the host */
    bool wide_casts;                     /* 8-bit products without a compiler: each keeps the casts of its input */
    bool fsdp;                           /* PyTorch's FSDP shards */
    double reserved;                     /* allocator: reserved over allocated, less 1 */
    bool streams;                        /* what is gathered and reduced has memory pools of its own */
    int64_t shard_ranks;                 /* GPUs that share one copy of the states, the others being replicas (HSDP); 0 = all */
    bool reads_detail, reads_offload;    /* train.recompute_detail, or a text in train.offload, says something known */
    bool copies_gathered;                /* FSDP2: the gathered buffer is there beside the parameters made of it */
    gp_loss loss;
    double loss_chunks;                  /* of a loss in chunks */
    /* Inference. */
    double kv_bits;
    gp_engine_kind engine;
    double batched_tokens, prepared_sequences; /* what a server prepares for in one pass */
    double free_share;                   /* the cache takes this share of what is free after loading; 0 = goes by the total */
    int release;                         /* of vLLM and SGLang the number after "0.", of transformers that after "4."; -1 = unknown or
                                            another engine */
    double block;                        /* tokens of a block of the cache */
    bool prompt_logits;                  /* logits of every prompt token, not of the last only */
    bool packs_head;                     /* the output matrix is packed like the matrices of the layers */
    /* How llama.cpp builds the graph of this architecture. */
    int64_t host_expert_layers;          /* routed experts of the first so many layers stay in host memory, where they
                                            are computed, or of those up to it … */
    bool placed_by_rules;                /* … so many of the three tensors of each layer's, where rules name tensors */
    uint8_t held_thirds[GP_MAPPED_LAYERS];
    bool ignores_windows;                /* gives windowed layers a whole cache */
    bool ffn_query;                      /* the queries' rows are alive in the feed-forward block */
    double ffn_rows, logit_rows;         /* hidden rows alive in the feed-forward block, beside the logits */
    bool before_graphs;                  /* a build of the first half of 2024 or older, before CUDA graphs */
    bool cache_after_layers;             /* a build before December 2023: the cache counts as three layers after all others */
    bool few_rows;                       /* a build of 2024 or of ik_llama.cpp: attention holds four hidden rows beside scores */
    bool few_outputs;                    /* a build since June 2026, whose server reserves logits of one token a sequence */
    bool before_scheduler;               /* a build of 2023, before buffers had a scheduler */
    bool mask_gap;                       /* a mask smaller than a hidden row set leaves a gap below the logits */
} gp_recipe;

/* Bits of weights: `linear` are the matrices of layers, `experts` those of them that are routed experts, `other` all else. */
double gp_recipe_bits(const gp_recipe *recipe, uint64_t experts, uint64_t linear, uint64_t other);


/* ZeRO stage that a name of FSDP's sharding means ("FULL_SHARD" and "HSDP" 3, "SHARD_GRAD_OP" 2, "NO_SHARD" 0), -1 for
 * others. */
int gp_recipe_zero_of(const char *fsdp);

/* Bytes of an element of the type that a text begins with ("fp32 reduce" 4, "bf16" 2); 0: it names none of them. */
int gp_recipe_float_bytes(const char *type);

/* True when train.loss is a text that computes it in chunks ("lmhead chunks 16"). */
bool gp_recipe_names_chunks(const gp_job *job);

/* True when train.compile asks for a compiler. */
bool gp_recipe_compiles(const gp_job *job);

/* True when the job's weights stay in host memory and are fetched as they are needed. */
bool gp_recipe_offloads_weights(const gp_job *job);

/* True when the job's framework fills sequences up to what context parallelism divides evenly. */
bool gp_recipe_pads_sequences(const gp_job *job);

gp_engine_kind gp_engine_of(const gp_job *job);

/* True for engines that are given a share of the device's memory (infer.memory_utilization), and the share they take
 * when none is named; 0 = all that is left to them. */
bool gp_engine_takes_share(const gp_job *job);
double gp_engine_share(const gp_job *job);

/* MiB of the CUDA context, and of the captured graphs of one layer. */
enum { GP_CONTEXT_MIB = 400, GP_GRAPH_MIB = 18 };

/* True when the engine's share is of what is free after loading (TensorRT-LLM, LMDeploy), not of the whole device. */
bool gp_engine_shares_rest(const gp_job *job);
/* What the engine uses beside the share it is given, on a device and for each layer: bytes. vLLM counts of the CUDA
 * context what grows after start-up (before release 0.7: all of it), and no captured graphs before release 0.21. */
typedef struct { double device, layer; } gp_beside_share;
gp_beside_share gp_engine_beside_share(const gp_job *job);

/* Resolves a job. Fields that are still open take what the framework would do on its own; an unknown weight format
 * counts as 16 bits (plan.c refuses it before). */
void gp_recipe_build(const gp_job *job, const gp_model *model, gp_recipe *recipe);

/* recipe_experts.c: places the routed experts of llama.cpp and its kin; the parameters of layers first … first + count - 1
 * that are on the host. */
void gp_recipe_place_experts(const gp_job *job, const gp_model *model, gp_recipe *recipe);
double gp_recipe_held_experts(const gp_model *model, const gp_recipe *recipe, int64_t first, int64_t count);

/* Bytes of layers first … first + count - 1 in the GGUF file of a recipe with a mix. */
uint64_t gp_recipe_file_layers(const gp_model *model, const gp_recipe *recipe, int64_t first, int64_t count);

#endif
