/* ledger_inference.c: one rank of a serving engine. The cache is what the job's sequences need, not the pool that an
 * engine would take in advance. */
#include <math.h>
#include <string.h>

#include "formulas/formulas.h"
#include "ledger/llama_cpp.h"
#include "ledger/states.h"
#include "model/quantize.h"

enum {
    ALWAYS = GP_PHASE_BIT(GP_PHASE_LOAD) | GP_PHASE_BIT(GP_PHASE_PREFILL) | GP_PHASE_BIT(GP_PHASE_DECODE),
    SERVING = GP_PHASE_BIT(GP_PHASE_PREFILL) | GP_PHASE_BIT(GP_PHASE_DECODE),
    PREFILL = GP_PHASE_BIT(GP_PHASE_PREFILL),
    DECODE = GP_PHASE_BIT(GP_PHASE_DECODE)
};

static const double spread_weights = 0.005, spread_cache = 0.005, spread_workspace = 0.35, spread_context = 0.40;

static double number(const gp_job *job, gp_field field, double fallback) {
    return gp_known(job, field) ? (double)gp_whole(job, field) : fallback;
}

/* The widest block that one token passes through: a dense one, or the experts chosen for it. */
static double widest_ffn(const gp_model *model) {
    const gp_experts *experts = &model->shape.experts;
    double widest = 0;
    for (int i = 0; i < model->kind_count; i++) {
        const gp_layer_kind *kind = &model->kinds[i].kind;
        double width = 0;
        if (kind->feed_forward == GP_FFN_DENSE || kind->feed_forward == GP_FFN_MOE_BESIDE_DENSE) width = (double)kind->ffn;
        if (kind->feed_forward == GP_FFN_MOE || kind->feed_forward == GP_FFN_MOE_BESIDE_DENSE)
            width += (double)experts->topk * (double)experts->ffn + (double)experts->shared_ffn;
        widest = fmax(widest, width);
    }
    return widest;
}

static gp_engine_widths widths_of(const gp_model *model, const gp_layout *layout) {
    const gp_shape *shape = &model->shape;
    return (gp_engine_widths){.hidden = (double)shape->hidden,
                              .ffn = widest_ffn(model) / (double)layout->tp,
                              .vocab = (double)shape->vocab};
}

/* Weights by the format's bits, or by the tensors of a GGUF file, which other engines read too. */
static gp_amount weights_of(const gp_model *model, const gp_layout *layout, const gp_stage_share *share) {
    const gp_recipe *recipe = &layout->recipe;
    gp_stage_share packed = *share;
    if (recipe->packs_head) {
        packed.linear_params = gp_add(share->linear_params, share->head_params);
        packed.other_params = gp_sub_or_zero(share->other_params, share->head_params);
    }
    if (recipe->mix < 0) return gp_weights_amount(&packed, recipe, 1);
    int64_t first = gp_first_layer(model, layout, share->index);
    gp_file_share file = {.layers = gp_recipe_file_layers(model, recipe, first, share->layers),
                          .imported = recipe->mix_layers > 0};
    if (share->first) file.embedding = recipe->file_embedding;
    if (share->last) {
        bool copied = recipe->file_output == 0 && !share->first;
        file.output = copied ? recipe->file_embedding : recipe->file_output;
        file.ends = recipe->file_ends;
    }
    return gp_weights_tensors_amount(&file, (double)layout->tp);
}

/* Appends the cache of one group of layers for `context` tokens of every sequence; returns its bytes. Compressed entries
 * stand in pages of 256 tokens where there are pages: vLLM and SGLang demand it for DeepSeek-V4. */
static double add_group(const gp_cache_group *group, const gp_layout *layout, double context, double page, unsigned phases,
                        gp_stage_ledger *ledger) {
    const double compressed_page = 256;
    bool pages = layout->recipe.engine == GP_ENGINE_PAGED && group->stride > 1;
    double sequences = (double)layout->sequences, block = pages ? compressed_page : page;
    gp_amount amount = gp_kv_cache_amount(group, sequences, context, block, layout->recipe.kv_bits);
    gp_ledger_append(ledger, GP_ITEM_KV_CACHE, phases, amount, spread_cache);
    if (group->index == 0) return (double)amount.bytes;
    gp_amount index = gp_kv_index_amount(group, sequences, context, block);
    gp_ledger_append(ledger, GP_ITEM_KV_CACHE, phases, index, spread_cache);
    return (double)amount.bytes + (double)index.bytes;
}

/* Appends the cache of every group of layers; returns all of its bytes. */
static double add_caches(const gp_cache *cache, const gp_layout *layout, double page, gp_stage_ledger *ledger) {
    double bytes = 0;
    for (int i = 0; i < cache->count; i++)
        bytes += add_group(&cache->groups[i], layout, (double)layout->context, page, SERVING, ledger);
    return bytes;
}

/* vLLM: a pass is no longer than what its sequences have beyond their windows. */
static void add_window_passes(const gp_job *job, const gp_cache *cache, const gp_layout *layout, double page, gp_stage_ledger *ledger) {
    double sequences = (double)layout->sequences, context = (double)layout->context;
    if (!gp_is_choice(job, GP_FIELD_ENGINE, GP_CHOICE_ENGINE_VLLM)) return;
    for (int i = 0; i < cache->count; i++) {
        const gp_cache_group *group = &cache->groups[i];
        double beyond = fmin(layout->recipe.batched_tokens, sequences * (context - (double)group->window));
        if (group->window == 0 || group->recent || !(beyond > 0)) continue;
        gp_amount pass = gp_kv_pass_amount(group, beyond, page, layout->recipe.kv_bits);
        gp_ledger_append(ledger, GP_ITEM_WORKSPACE, SERVING, pass, spread_cache);
    }
}

/* Bytes of a cache that grows with what is generated: of the prompt, and of all of the context. */
typedef struct {
    double prompt, all;
} grown_cache;

static grown_cache add_grown_caches(const gp_cache *cache, const gp_layout *layout, double prompt, gp_stage_ledger *ledger) {
    double context = (double)layout->context, first = prompt >= 1 ? fmin(prompt, context) : context;
    grown_cache bytes = {0, 0};
    for (int i = 0; i < cache->count; i++) {
        gp_cache_group grown = cache->groups[i];
        double most = grown.window > 0 ? fmin(context, (double)grown.window) : context;
        bool whole = grown.stride > 1 || grown.recent; /* entries of many tokens do not add up */
        bytes.prompt += add_group(&grown, layout, whole ? context : first, 1, SERVING, ledger);
        if (whole) continue;
        grown.window = 0;
        if (most > first) bytes.all += add_group(&grown, layout, most - first, 1, DECODE, ledger);
    }
    bytes.all += bytes.prompt;
    return bytes;
}

/* Layers of Llama computed the sines of the positions at hand since release 4.38; others kept tables until the model got
 * one for all of its layers. Of Qwen2 the instruct models are run, made for 32,768 positions, though the catalogue's name
 * the 131,072 of the base models; no other model of the time goes further with tables. Returns the positions of a table. */
static double tabled_positions(const gp_shape *shape, int release) {
    const int llama_computes = 38, one_table = 45;
    const double most = 32768;
    bool llama = shape->model_type != NULL && strcmp(shape->model_type, "llama") == 0;
    if (release < 0 || release >= (llama ? llama_computes : one_table) || shape->learned_positions > 0) return 0;
    return fmin((double)shape->max_context, most);
}

/* Old releases of transformers: tables of rotary positions in every layer, and while a step runs the cache and the outputs
 * of the one before. */
static void add_transformers_2024(const gp_model *model, const gp_layout *layout, const grown_cache *cache,
                                  double logit_tokens, gp_stage_ledger *ledger) {
    const int one_cache = 42;
    const double element_bytes = 2;
    const gp_shape *shape = &model->shape;
    int release = layout->recipe.release;
    double positions = tabled_positions(shape, release);
    if (positions > 0 && cache->all > 0) {
        gp_amount tables =
            gp_rotary_tables_amount((double)ledger->share.layers, positions, (double)shape->head_dim, element_bytes);
        gp_ledger_append(ledger, GP_ITEM_WORKSPACE, ALWAYS, tables, spread_cache);
    }
    if (release >= 0 && release < one_cache)
        gp_ledger_append(ledger, GP_ITEM_WORKSPACE, DECODE,
                         gp_former_step_amount(cache->prompt, cache->all, logit_tokens, (double)shape->vocab),
                         spread_workspace);
}

/* Attention without a fused kernel: what the job says, else releases before 4.36 (torch's scaled_dot_product_attention). */
typedef enum { FUSED, EAGER, EITHER } attention_kind;
static attention_kind attention_of(const gp_job *job, const gp_layout *layout) {
    const int fuses = 36;
    if (!gp_is_choice(job, GP_FIELD_ENGINE, GP_CHOICE_ENGINE_TRANSFORMERS)) return FUSED;
    if (gp_known(job, GP_FIELD_FLASH_ATTENTION)) return gp_whole(job, GP_FIELD_FLASH_ATTENTION) != 0 ? FUSED : EAGER;
    return layout->recipe.release < 0 ? EITHER : layout->recipe.release < fuses ? EAGER : FUSED;
}

/* Eager attention and logits of `logit_tokens`. fp16 is cast to fp32 within the softmax, bf16 before it. */
static gp_amount eager_workspace(const gp_job *job, const gp_model *model, const gp_layout *layout, double prompt,
                                 double logit_tokens) {
    const double fp16_blocks = 4, bf16_blocks = 6, score_bytes = 2;
    const char *weights = gp_known(job, GP_FIELD_WEIGHTS) ? job->settings[GP_FIELD_WEIGHTS].text : NULL;
    bool fp16 = weights != NULL && strcmp(weights, "fp16") == 0;
    double tokens = prompt * (double)layout->sequences;
    double scores = score_bytes * (double)model->shape.heads / (double)layout->tp * tokens * fmax(1, prompt);
    gp_engine_widths widths = widths_of(model, layout);
    return gp_workspace_eager_amount(&widths, fp16 ? fp16_blocks : bf16_blocks, fmax(1, scores), tokens, logit_tokens);
}

/* Where neither release nor attention is stated, the range reaches up to what eager attention and the logits of the whole
 * prompt would take. */
static void reach_up(const gp_amount *fused, const gp_amount *eager, gp_stage_ledger *ledger) {
    ledger->more_in_prefill = fmax(0, (double)eager->bytes - (double)fused->bytes);
}

/* exllamav2 and MLX read prompts in pieces (exllamav2/config.py: max_input_len; mlx_lm/generate.py: prefill_step_size). */
static double tokens_of_pass(const gp_job *job, double prompt) {
    const double piece = 2048;
    bool pieces = gp_is_choice(job, GP_FIELD_ENGINE, GP_CHOICE_ENGINE_EXLLAMAV2) ||
                  gp_is_choice(job, GP_FIELD_ENGINE, GP_CHOICE_ENGINE_EXLLAMA) || gp_is_choice(job, GP_FIELD_ENGINE, GP_CHOICE_ENGINE_MLX);
    return pieces ? fmin(prompt, piece) : prompt;
}

static void add_transformers(const gp_job *job, const gp_model *model, const gp_layout *layout, const gp_cache *cache,
                             gp_stage_ledger *ledger) {
    const double conv_bytes = 2, state_bytes = 4;
    double prompt = fmin(number(job, GP_FIELD_PROMPT, 0), (double)layout->context);
    double tokens = prompt * (double)layout->sequences;
    double logit_tokens = layout->recipe.prompt_logits ? tokens : (double)layout->sequences;
    grown_cache bytes = add_grown_caches(cache, layout, prompt, ledger);
    add_transformers_2024(model, layout, &bytes, logit_tokens, ledger);
    if (gp_cache_has_states(cache))
        gp_ledger_append(ledger, GP_ITEM_RECURRENT_STATE, SERVING,
                         gp_recurrent_state_amount(cache, (double)layout->sequences, 1, conv_bytes, state_bytes),
                         spread_cache);
    gp_engine_widths widths = widths_of(model, layout);
    attention_kind attention = attention_of(job, layout);
    double made = ledger->share.last ? logit_tokens : 0;
    gp_amount workspace = attention == EAGER ? eager_workspace(job, model, layout, prompt, made)
                                             : gp_workspace_transformers_amount(&widths, tokens_of_pass(job, prompt) * (double)layout->sequences, made);
    gp_ledger_append(ledger, GP_ITEM_WORKSPACE, PREFILL, workspace, spread_workspace);
    gp_amount eager = eager_workspace(job, model, layout, prompt, ledger->share.last ? tokens : 0);
    if (attention == EITHER) reach_up(&workspace, &eager, ledger);
}

/* TensorRT-LLM's are in its context; LMDeploy's TurboMind has none. */
static bool captures_graphs(const gp_job *job) {
    bool eager = gp_known(job, GP_FIELD_ENFORCE_EAGER) && gp_whole(job, GP_FIELD_ENFORCE_EAGER) != 0;
    return !eager && !gp_is_choice(job, GP_FIELD_ENGINE, GP_CHOICE_ENGINE_TENSORRT_LLM) &&
           !gp_is_choice(job, GP_FIELD_ENGINE, GP_CHOICE_ENGINE_LMDEPLOY);
}

static void add_paged(const gp_job *job, const gp_model *model, const gp_layout *layout, const gp_cache *cache,
                      gp_stage_ledger *ledger) {
    const gp_stage_share *share = &ledger->share;
    gp_states states;
    gp_states_of(job, model, layout, cache, &states);
    if (gp_cache_has_states(cache))
        gp_ledger_append(ledger, GP_ITEM_RECURRENT_STATE, SERVING,
                         gp_states_amount(&states, cache, (double)layout->sequences), spread_cache);
    double block = states.page_tokens > 0 ? states.page_tokens : layout->recipe.block;
    if (cache->gathered_elements > 0 && gp_is_choice(job, GP_FIELD_ENGINE, GP_CHOICE_ENGINE_VLLM)) {
        gp_amount pass = gp_pass_state_amount(cache, layout->recipe.batched_tokens, layout->recipe.kv_bits);
        gp_ledger_append(ledger, GP_ITEM_RECURRENT_STATE, SERVING, pass, spread_workspace);
    }
    double bytes = add_caches(cache, layout, block, ledger), share_free = layout->recipe.free_share;
    if (share_free > 0)
        gp_ledger_append(ledger, GP_ITEM_FRAGMENTATION, SERVING, gp_kept_free_amount(bytes, share_free), spread_cache);
    add_window_passes(job, cache, layout, block, ledger);
    gp_engine_widths widths = widths_of(model, layout);
    const gp_recipe *recipe = &layout->recipe;
    gp_ledger_append(ledger, GP_ITEM_WORKSPACE, SERVING,
                     gp_workspace_paged_amount(&widths, recipe->batched_tokens, recipe->prepared_sequences),
                     spread_workspace);
    if (captures_graphs(job))
        gp_ledger_append(ledger, GP_ITEM_GRAPHS, SERVING, gp_graphs_amount((double)share->layers, GP_GRAPH_MIB),
                         spread_workspace);
}

/* TensorRT-LLM: measured start-ups on H100 and GB300 (tests/golden/engines.test.mjs) leave less than others do, by the size
 * of the weights and with every doubling of the tensor-parallel group. */
static void add_tensorrt(const gp_layout *layout, gp_stage_ledger *ledger) {
    const double spread = 0.15, doubling_mib = 1434;
    double doublings = 0, weights = (double)ledger->allocations[0].amount.bytes;
    for (int64_t ranks = 1; ranks < layout->tp; ranks *= 2) doublings++;
    gp_ledger_append(ledger, GP_ITEM_CONTEXT, ALWAYS, gp_context_engine_amount(weights), spread);
    if (layout->tp > 1)
        gp_ledger_append(ledger, GP_ITEM_COMM_BUFFERS, SERVING, gp_comm_amount(doublings, doubling_mib), spread);
}

enum { GROUP_MIB = 380 };

gp_outside_share gp_ledger_outside_share(const gp_job *job, const gp_model *model) {
    gp_layout layout = {.tp = gp_known(job, GP_FIELD_INFER_TP) ? gp_whole(job, GP_FIELD_INFER_TP) : 1};
    gp_recipe_build(job, model, &layout.recipe);
    gp_engine_widths widths = widths_of(model, &layout);
    gp_amount pass = gp_workspace_paged_amount(&widths, layout.recipe.batched_tokens, layout.recipe.prepared_sequences);
    double graphs = captures_graphs(job) ? (double)model->shape.layers * GP_GRAPH_MIB * (double)GP_MIB : 0;
    double group = layout.tp > 1 ? GROUP_MIB : 0;
    return (gp_outside_share){(GP_CONTEXT_MIB + group) * (double)GP_MIB, (double)pass.bytes + graphs};
}

/* Metal has no context of a size that matters. */
static void add_overhead(const gp_job *job, const gp_layout *layout, gp_stage_ledger *ledger) {
    if (layout->recipe.on_host || layout->recipe.unified_memory) return;
    if (gp_is_choice(job, GP_FIELD_ENGINE, GP_CHOICE_ENGINE_TENSORRT_LLM)) {
        add_tensorrt(layout, ledger);
        return;
    }
    gp_ledger_append(ledger, GP_ITEM_CONTEXT, ALWAYS, gp_context_amount(GP_CONTEXT_MIB), spread_context);
    if (layout->tp > 1)
        gp_ledger_append(ledger, GP_ITEM_COMM_BUFFERS, SERVING, gp_comm_amount(1, GROUP_MIB), spread_context);
}

void gp_ledger_inference(const gp_job *job, const gp_model *model, const gp_layout *layout, gp_stage_ledger *ledger) {
    ledger->phases = ALWAYS;
    if (layout->recipe.engine == GP_ENGINE_LLAMA_CPP) {
        gp_ledger_llama(job, model, layout, ledger);
        add_overhead(job, layout, ledger);
        return;
    }
    const gp_stage_share *share = &ledger->share;
    gp_ledger_append(ledger, GP_ITEM_WEIGHTS, ALWAYS, weights_of(model, layout, share), spread_weights);
    gp_cache cache;
    gp_cache_of_rank(model, layout, gp_first_layer(model, layout, share->index), share->layers, &cache);
    if (layout->recipe.engine == GP_ENGINE_TRANSFORMERS)
        add_transformers(job, model, layout, &cache, ledger);
    else
        add_paged(job, model, layout, &cache, ledger);
    add_overhead(job, layout, ledger);
}
