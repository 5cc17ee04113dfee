/* What one layer keeps for backward, as closed forms per token: h hidden, a heads, g KV heads, d their width, f the
 * feed-forward width, s the sequence. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "fixture.h"
#include "plan/plan.h"

enum { H = 256, A = 8, D = 32, F = 688, S = 64, B = 2 };
static const uint64_t h = H, a = A, g = 2, d = D, f = F, s = S, r = 8, tokens = UINT64_C(2) * S, q = UINT64_C(8) * D;

static fixture *job_of(int layers, const char *task, const char *style, const char *shape, const char *fields) {
    char text[1024];
    snprintf(text, sizeof text,
             "{\"task\":\"%s\",\"model\":{\"layers\":%d,\"hidden\":%d,\"heads\":%d,\"head_dim\":%d,\"ffn\":%d,\"vocab\":1000,"
             "\"tied_embeddings\":true,\"style\":\"%s\"%s},\"hardware\":{\"gpu\":\"cpu\"},\"train\":{\"framework\":"
             "\"hf-trainer\",\"micro_batch\":%d,\"seq_len\":%d,%s}}",
             task, layers, H, A, D, F, style, shape, B, S, fields);
    fixture *one = fixture_of(text);
    if (!one->valid) print_error("%s\n", text);
    assert_true(one->valid);
    return one;
}

static uint64_t saved(int layers, const char *task, const char *style, const char *shape, const char *fields) {
    fixture *one = job_of(layers, task, style, shape, fields);
    gp_stage_ledger ledger;
    gp_ledger_stage(&one->job, &one->model, &one->layout, 0, &ledger);
    fixture_free(one);
    return ledger.saved_bytes;
}

/* An inner layer: what four layers keep less what three keep. */
static void expect(const char *task, const char *style, const char *shape, const char *fields, uint64_t per_token,
                   uint64_t once) {
    uint64_t layer = saved(4, task, style, shape, fields) - saved(3, task, style, shape, fields);
    uint64_t wanted = per_token * tokens + once;
    if (layer != wanted)
        print_error("%s %s: %llu, wanted %llu\n", style, fields, (unsigned long long)layer, (unsigned long long)wanted);
    assert_int_equal(layer, wanted);
}

#define GQA ",\"kv_heads\":2"
#define MHA ",\"kv_heads\":8,\"positions\":64"
#define BF16 "\"precision\":\"bf16\",\"weights\":\"bf16\",\"autocast\":false,\"attention\":\"eager\""
#define FP32 "\"precision\":\"fp32\",\"weights\":\"fp32\",\"autocast\":false,\"attention\":\"eager\""
#define AUTOCAST "\"precision\":\"bf16\",\"weights\":\"fp32\",\"autocast\":true,\"attention\":\"eager\""


static void test_llama(void **state) {
    (void)state;
    expect("full", "llama", GQA, BF16, 16 * h + 8 + 8 * q + 6 * a * s + 8 * f, 8);
    expect("full", "llama", GQA, FP32, 24 * h + 8 + 16 * q + 4 * a * s + 16 * f, 8);
    expect("full", "llama", GQA, FP32 ",\"dropout\":0.1", 24 * h + 8 + 16 * q + 9 * a * s + 16 * f, 8);
    expect("full", "llama", GQA, AUTOCAST, 26 * h + 8 + 8 * q + 6 * a * s + 8 * f, 8 + 2 * (2 * h * q + 2 * h * g * d + 3 * h * f));
    expect("full", "llama", GQA, BF16 ",\"dropout\":0.1", 16 * h + 8 + 8 * q + 7 * a * s + 8 * f, 8);
    expect("full", "llama", GQA, BF16 ",\"rmsnorm_mean_saves_input\":true", 24 * h + 8 + 8 * q + 6 * a * s + 8 * f, 8);
    expect("full", "qwen3", GQA, BF16, 16 * h + 8 + 8 * q + 6 * a * s + 8 * f + (a + g) * (6 * d + 4), 8);
}

/* A norm that multiplies in fp32 keeps 2 h more for its weight, and 1 + weight; one after a block has an output that
 * nothing keeps; a cap of the scores keeps tanh of them and two numbers. */
static void test_gemma(void **state) {
    (void)state;
    expect("full", "gemma", GQA, BF16, 20 * h + 8 + 8 * q + 6 * a * s + 8 * f, 8 + 8 * h);
    expect("full", "gemma", GQA, FP32, 24 * h + 8 + 16 * q + 4 * a * s + 16 * f, 8 + 8 * h);
    expect("full", "gemma2", GQA, BF16, 36 * h + 16 + 8 * q + 8 * a * s + 8 * f, 24 + 16 * h);
    expect("full", "gemma2", GQA, FP32, 40 * h + 16 + 16 * q + 8 * a * s + 16 * f, 24 + 16 * h);
    expect("full", "gemma3_text", GQA, BF16, 36 * h + 16 + 8 * q + 6 * a * s + 8 * f + (a + g) * (8 * d + 4),
           8 + 16 * h + 8 * d);
}

/* OLMo 2 norms what the blocks give, and queries and keys whole; Cohere centres operator by operator and has one norm;
 * Granite multiplies each block's result by a number; a layer of GLM's keeps tables for half of a head. */
static void test_other_layers(void **state) {
    (void)state;
    expect("full", "olmo2", GQA, BF16, 20 * h + 8 + 8 * q + 6 * a * s + 8 * f + 8 * q + 8 * g * d + 8, 8);
    expect("full", "exaone4", GQA, BF16, 16 * h + 8 + 8 * q + 6 * a * s + 8 * f + (a + g) * (6 * d + 4), 8);
    expect("full", "cohere", GQA, BF16, 14 * h + 4 + 8 * q + 6 * a * s + 8 * f, 8 + 4 * h);
    expect("full", "granite", GQA, BF16, 16 * h + 8 + 8 * q + 6 * a * s + 8 * f, 24);
    expect("full", "glm", GQA, BF16, 16 * h + 8 + 8 * q + 6 * a * s + 8 * f, 8 + 2 * s * d);
    expect("full", "phi3", GQA, BF16, 16 * h + 8 + 8 * q + 6 * a * s + 8 * f, 8);
    /* Two norms of one input, or one for both blocks; GELU in one operator, or in eight with three numbers. */
    expect("full", "gpt_neox", ",\"kv_heads\":8", BF16, 6 * h + 8 + 8 * q + 6 * a * s + 4 * f, 8);
    expect("full", "phi", ",\"kv_heads\":8", BF16, 4 * h + 4 + 8 * q + 6 * a * s + 10 * f, 8 + 24);
}

/* The scores are gone, the kernel keeps a log-sum-exp; keys and values are whole, or as they are. */
static void test_flash_kernels(void **state) {
    (void)state;
    expect("full", "llama", GQA, "\"precision\":\"bf16\",\"weights\":\"bf16\",\"autocast\":false,\"attention\":\"sdpa\"",
           16 * h + 8 + 8 * q + 4 * a + 8 * f, 0);
    expect("full", "llama", GQA, "\"precision\":\"bf16\",\"weights\":\"bf16\",\"autocast\":false,\"attention\":\"flash\"",
           16 * h + 8 + 4 * q + 4 * g * d + 4 * a + 8 * f, 0);
}

/* Four fused layers without the parts that are computed again. */
static uint64_t fused(const char *recompute) {
    char text[512];
    snprintf(text, sizeof text,
             "{\"task\":\"pretrain\",\"model\":{\"layers\":4,\"hidden\":%d,\"heads\":%d,\"kv_heads\":2,\"head_dim\":%d,\"ffn\":%d,"
             "\"vocab\":1000},\"hardware\":{\"gpu\":\"H100\"},\"train\":{\"framework\":\"megatron\",\"micro_batch\":%d,\"seq_len\":%d,%s}}",
             H, A, D, F, B, S, recompute);
    fixture *one = fixture_of(text);
    gp_stage_ledger ledger;
    assert_true(one->valid);
    gp_ledger_stage(&one->job, &one->model, &one->layout, 0, &ledger);
    fixture_free(one);
    return ledger.saved_bytes;
}

#define SELECTIVE(modules) "\"recompute\":\"selective\",\"recompute_detail\":\"" modules "\""

static void test_named_parts_are_computed_again(void **state) {
    (void)state;
    uint64_t all = fused("\"recompute\":\"none\""), norms = 2 * (2 * h), product = 2 * f, ffn = 3 * product;
    assert_int_equal(all - fused(SELECTIVE("layernorm")), 4 * tokens * norms);
    assert_int_equal(all - fused(SELECTIVE("moe_act")), 4 * tokens * product);
    assert_int_equal(all - fused(SELECTIVE("layernorm, mlp")), 4 * tokens * (norms + ffn));
    assert_int_equal(all - fused(SELECTIVE("core_attn")), 0); /* a fused kernel keeps no scores */
    assert_int_equal(all - fused("\"recompute\":\"partial\",\"recompute_detail\":\"recompute-ffn, recompute-norm\""),
                     4 * tokens * (norms + ffn));
    uint64_t attention = 4 * q + 4 * g * d + 4 * a;
    assert_int_equal(all - fused("\"recompute\":\"partial\",\"recompute_detail\":\"recompute-att\""), 4 * tokens * attention);
}

/* What the loss holds of logits and of gradients. */
static uint64_t in_loss(const char *loss, gp_item_id id) {
    char fields[256];
    snprintf(fields, sizeof fields, BF16 ",\"recompute\":\"none\",\"loss\":\"%s\"", loss);
    fixture *one = job_of(2, "full", "llama", GQA, fields);
    gp_stage_ledger ledger;
    gp_ledger_stage(&one->job, &one->model, &one->layout, 0, &ledger);
    fixture_free(one);
    return gp_plan_item_bytes(&ledger, id, GP_PHASE_LOSS);
}

static void test_losses_hold_what_they_must(void **state) {
    (void)state;
    const uint64_t vocab = 1000, logits = tokens * vocab;
    /* The log-softmax of every chunk is kept; the two other fp32 tensors are of one of 8. Compiled, 16 bits of each. */
    assert_int_equal(in_loss("chunked", GP_ITEM_LOGITS), logits * 4 + logits / 8 * 8);
    assert_int_equal(in_loss("chunked\",\"compile\":\"true", GP_ITEM_LOGITS), logits * 2 + logits / 8 * 2);
    assert_int_equal(in_loss("lmhead chunks 16", GP_ITEM_LOGITS), logits / 16 * 12);
    /* ceil(1000 / 256) = 4 parts: 32 tokens at a time, and the gradient of the output matrix. */
    assert_int_equal(in_loss("liger FLCE", GP_ITEM_LOGITS), 32 * vocab * 2);
    assert_int_equal(in_loss("liger FLCE", GP_ITEM_GRADIENTS), vocab * h * 2);
    assert_int_equal(in_loss("cut cross entropy", GP_ITEM_LOGITS), 0);
    assert_int_equal(in_loss("cut cross entropy", GP_ITEM_GRADIENTS), 0);
}

static void test_gpt(void **state) {
    (void)state;
    expect("full", "gpt2", MHA ",\"activation\":\"gelu\"", BF16, 16 * h + 4 * f + 8 + 2 * a * s, 2);
    expect("full", "gpt2", MHA ",\"activation\":\"gelu_new\"", BF16, 16 * h + 10 * f + 8 + 2 * a * s, 2 + 24);
    /* Where f is 4 h the textbook's 34 h + 5 a s, and the statistics of the norms. */
    expect("full", "gpt2", MHA ",\"activation\":\"gelu\"", BF16 ",\"dropout\":0.1", 18 * h + 4 * f + 8 + 5 * a * s, 2);
    expect("full", "gpt2", MHA ",\"activation\":\"gelu\"", FP32, 32 * h + 8 * f + 16 + 4 * a * s, 4);
}

/* Frozen matrices keep no inputs; each adapter its own. */
static void test_adapters(void **state) {
    (void)state;
    const uint64_t frozen = 8 * h + 8 + 6 * q + 6 * a * s + 6 * f;
#define LORA(more) BF16 ",\"lora\":{\"rank\":8,\"targets\":[\"q_proj\",\"v_proj\"]," more "}"
    expect("lora", "llama", GQA, LORA("\"dropout\":0,\"adapter_dtype\":\"fp32\""), frozen + 2 * (4 * h + 4 * r), 8 + 2 * 8);
    expect("lora", "llama", GQA, LORA("\"dropout\":0.05,\"adapter_dtype\":\"fp32\""), frozen + 2 * (5 * h + 4 * r), 8 + 2 * 8);
    expect("lora", "llama", GQA, LORA("\"dropout\":0,\"adapter_dtype\":\"bf16\""), frozen + 2 * h + 4 * r, 8 + 2 * 8);
    expect("lora", "llama", GQA, LORA("\"dropout\":0.05,\"adapter_dtype\":\"bf16\""), frozen + 2 * (3 * h + 2 * r), 8 + 2 * 8);
    /* Other kinds than low-rank matrices: gradients pass through all layers all the same. */
    expect("lora", "llama", GQA, LORA("\"kind\":\"PROMPT_TUNING\""), frozen, 8);
}

static void test_checkpoints_keep_the_input(void **state) {
    (void)state;
    expect("full", "llama", GQA, BF16 ",\"recompute\":\"full\"", 2 * h, 0);
    expect("full", "llama", GQA, AUTOCAST ",\"recompute\":\"full\"", 4 * h, 0);
    expect("full", "gpt2", MHA, BF16 ",\"recompute\":\"full\",\"dropout\":0.1", 2 * h, 0);
}

static void test_experts(void **state) {
    (void)state;
    const uint64_t experts = 4, topk = 2;
    expect("full", "mixtral", GQA ",\"moe\":{\"experts\":4,\"topk\":2}", BF16,
           16 * h + 8 + 8 * q + 6 * a * s + 4 * experts + 12 * topk + 4 + topk * (18 + 6 * h + 8 * f), 8);
}

/* The same model, with every layer as a kind of its own, which are replayed one by one. */
static void tell_layers_apart(gp_model *model) {
    int layers = (int)model->shape.layers;
    model->kind_count = model->shape.kind_count = layers;
    for (int i = 0; i < layers; i++) {
        model->kinds[i] = model->kinds[0];
        model->kind_layers[i] = 1;
        model->shape.kind_of[i] = (uint8_t)i;
    }
}

/* Layers that are alike, of which a replay takes one or two, come to what they come to one by one. */
static void test_alike_layers_are_what_they_are_one_by_one(void **state) {
    (void)state;
#define FULL_RECOMPUTE ",\"recompute\":\"full\""
    static const struct { const char *task, *style, *shape, *fields; } rows[] = {
        {"full", "llama", GQA, BF16},
        {"full", "llama", GQA, BF16 FULL_RECOMPUTE},
        {"full", "llama", GQA, FP32 ",\"dropout\":0.1"},
        {"full", "llama", GQA, AUTOCAST},
        {"full", "llama", GQA, AUTOCAST FULL_RECOMPUTE ",\"loss\":\"fused\""},
        {"full", "llama", GQA, AUTOCAST FULL_RECOMPUTE ",\"loss_impl\":\"hf-old\""},
        {"full", "llama", GQA, BF16 FULL_RECOMPUTE ",\"grad_accum\":4"},
        {"full", "gemma2", GQA, BF16},
        {"full", "gemma3_text", GQA, AUTOCAST FULL_RECOMPUTE},
        {"full", "olmo2", GQA, BF16 FULL_RECOMPUTE},
        {"full", "gpt2", MHA, AUTOCAST ",\"dropout\":0.1"},
        {"full", "gpt2", MHA, BF16 FULL_RECOMPUTE ",\"dropout\":0.1"},
        {"full", "mixtral", GQA ",\"moe\":{\"experts\":4,\"topk\":2}", BF16},
        {"full", "mixtral", GQA ",\"moe\":{\"experts\":4,\"topk\":2}", AUTOCAST FULL_RECOMPUTE},
        {"lora", "llama", GQA, LORA("\"dropout\":0.05,\"adapter_dtype\":\"fp32\"")},
        {"lora", "llama", GQA, LORA("\"dropout\":0,\"adapter_dtype\":\"fp32\"") FULL_RECOMPUTE},
        {"qlora", "llama", GQA, LORA("\"dropout\":0,\"adapter_dtype\":\"fp32\"") FULL_RECOMPUTE},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fixture *one = job_of(5, rows[i].task, rows[i].style, rows[i].shape, rows[i].fields);
        gp_stage_ledger alike, apart;
        gp_ledger_stage(&one->job, &one->model, &one->layout, 0, &alike);
        tell_layers_apart(&one->model);
        gp_ledger_stage(&one->job, &one->model, &one->layout, 0, &apart);
        fixture_free(one);
        uint64_t by_operators = 0;
        for (int op = 0; op <= GP_OP_COUNT; op++) by_operators += apart.saved_by[op];
        assert_int_equal(by_operators, apart.saved_bytes); /* it is replayed */
        assert_int_equal(alike.saved_bytes, apart.saved_bytes);
        assert_memory_equal(alike.saved_by, apart.saved_by, sizeof apart.saved_by);
        assert_memory_equal(alike.phase_bytes, apart.phase_bytes, sizeof apart.phase_bytes);
        assert_int_equal(alike.count, apart.count);
        for (int row = 0; row < apart.count; row++)
            assert_int_equal(alike.allocations[row].amount.bytes, apart.allocations[row].amount.bytes);
    }
}

/* A replay that is remembered is the one that would be made. */
static void test_replays_are_remembered(void **state) {
    (void)state;
    fixture *one = job_of(5, "full", "llama", GQA, BF16);
    static struct gp_replays replays;
    gp_eager_step first, again, other;
    one->job.replays = &replays;
    assert_true(gp_eager_replay(&one->job, &one->model, &one->layout, &first));
    assert_true(gp_eager_replay(&one->job, &one->model, &one->layout, &again));
    assert_memory_equal(&first, &again, sizeof first);
    assert_int_equal(replays.count, 1);
    for (int batch = 1; batch <= 2 * GP_REPLAYS_MAX; batch++) {
        one->layout.micro_batch = batch;
        one->job.replays = &replays;
        assert_true(gp_eager_replay(&one->job, &one->model, &one->layout, &again));
        one->job.replays = NULL;
        assert_true(gp_eager_replay(&one->job, &one->model, &one->layout, &other));
        assert_memory_equal(&again, &other, sizeof again);
    }
    assert_int_equal(replays.count, GP_REPLAYS_MAX);
    /* One layer less. */
    one->model.shape.layers = 4;
    one->model.kind_layers[0] = 4;
    one->job.replays = &replays;
    assert_true(gp_eager_replay(&one->job, &one->model, &one->layout, &other));
    assert_int_equal(replays.count, 1);
    assert_true(other.saved < again.saved);
    fixture_free(one);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_llama),
        cmocka_unit_test(test_gemma),
        cmocka_unit_test(test_other_layers),
        cmocka_unit_test(test_flash_kernels),
        cmocka_unit_test(test_named_parts_are_computed_again), cmocka_unit_test(test_losses_hold_what_they_must),
        cmocka_unit_test(test_gpt),
        cmocka_unit_test(test_adapters),
        cmocka_unit_test(test_checkpoints_keep_the_input),
        cmocka_unit_test(test_experts),
        cmocka_unit_test(test_alike_layers_are_what_they_are_one_by_one),
        cmocka_unit_test(test_replays_are_remembered),
    };
    return cmocka_run_group_tests_name("activations", tests, NULL, NULL);
}
