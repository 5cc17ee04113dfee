#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "fixture.h"

static void test_data_parallelism_is_what_the_others_leave(void **state) {
    (void)state;
    fixture *f = fixture_training("64", "\"tp\":4,\"pp\":2,\"cp\":2,\"micro_batch\":2,\"global_batch\":64");
    assert_true(f->valid);
    assert_int_equal(f->layout.dp, 4);
    assert_int_equal(f->layout.grad_accum, 8);
    assert_int_equal(f->layout.global_batch, 64);
    assert_true(f->layout.sequence_parallel);
    fixture_free(f);
}

static void test_global_batch_follows_from_accumulation(void **state) {
    (void)state;
    fixture *f = fixture_training("8", "\"micro_batch\":2,\"grad_accum\":4");
    assert_true(f->valid);
    assert_int_equal(f->layout.global_batch, 64);
    fixture_free(f);
    f = fixture_training("8", "\"micro_batch\":2");
    assert_int_equal(f->layout.grad_accum, 1);
    assert_int_equal(f->layout.global_batch, 16);
    fixture_free(f);
}

static void test_all_contradictions_are_found_at_once(void **state) {
    (void)state;
    fixture *f = fixture_training("8", "\"tp\":3,\"pp\":64,\"micro_batch\":3,\"grad_accum\":1,\"global_batch\":7,\"dp\":1");
    assert_false(f->valid);
    assert_true(fixture_has(f, GP_CODE_HEADS_NOT_DIVISIBLE, "train.tp"));
    assert_true(fixture_has(f, GP_CODE_LAYERS_NOT_ENOUGH, "train.pp"));
    assert_true(fixture_has(f, GP_CODE_PARALLEL_MISMATCH, "hardware.count"));
    assert_true(fixture_has(f, GP_CODE_BATCH_MISMATCH, "train.global_batch"));
    fixture_free(f);
}

static void test_batch_that_does_not_divide_is_refused(void **state) {
    (void)state;
    fixture *f = fixture_training("8", "\"micro_batch\":4,\"global_batch\":100");
    assert_false(f->valid);
    assert_true(fixture_has(f, GP_CODE_BATCH_MISMATCH, "train.global_batch"));
    fixture_free(f);
}

static void test_kv_heads_are_copied_beyond_their_number(void **state) {
    (void)state;
    fixture *f = fixture_training("16", "\"tp\":16");
    assert_true(f->valid);
    assert_true(fixture_has(f, GP_CODE_KV_HEADS_REPLICATED, "train.tp"));
    assert_int_equal(fixture_stage(f, 0).kv_heads, 1);
    fixture_free(f);
}

static void test_expert_parallelism_leaves_a_dense_model_alone(void **state) {
    (void)state;
    fixture *plain = fixture_training("8", "\"dp\":8"), *expert = fixture_training("8", "\"dp\":8,\"ep\":8");
    assert_true(plain->valid && expert->valid);
    assert_int_equal(fixture_stage(plain, 0).linear_params, fixture_stage(expert, 0).linear_params);
    fixture_free(plain);
    fixture_free(expert);
}

/* Megatron-LM: 128 experts on 8 ranks are 16 on each, which have one copy of theirs among 8 data-parallel ranks and two
 * among 16; the rest has as many as there are ranks. Beyond the data-parallel ranks tensor parallelism leaves them whole. */
static void test_expert_parallelism_divides_the_experts(void **state) {
    (void)state;
    static const struct { const char *layout; int64_t experts, ranks, parts; } rows[] = {
        {"\"dp\":16", 128, 16, 1}, {"\"dp\":16,\"ep\":8", 16, 2, 8}, {"\"dp\":8,\"tp\":2,\"ep\":8", 16, 1, 16},
        {"\"dp\":4,\"tp\":4,\"ep\":8", 16, 2, 8},
    };
    const uint64_t experts = UINT64_C(48) * 128 * 3 * 2048 * 768;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[256];
        snprintf(text, sizeof text, "{\"task\":\"pretrain\",\"model\":\"Qwen3-30B-A3B\",\"hardware\":{\"gpu\":\"H100\","
                 "\"count\":16},\"train\":{%s}}", rows[i].layout);
        fixture *f = fixture_of(text);
        assert_true(f->valid);
        gp_stage_share share = fixture_stage(f, 0);
        assert_int_equal(share.local_experts, rows[i].experts);
        assert_int_equal(share.expert_ranks, rows[i].ranks);
        assert_int_equal(share.expert_params, experts / (uint64_t)rows[i].parts);
        fixture_free(f);
    }
}

/* Stages of unlike layers hold what their layers hold, and no parameter is lost or counted twice. */
static void test_shares_of_unlike_layers_sum_to_the_model(void **state) {
    (void)state;
    static const char *const models[] = {"deepseek-v3", "Jamba-v0.1", "gemma-2-9b", "Nemotron-H-8B-Base-8K"};
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
        char text[256];
        snprintf(text, sizeof text, "{\"task\":\"pretrain\",\"model\":\"%s\",\"hardware\":{\"gpu\":\"H100\",\"count\":4},"
                 "\"train\":{\"pp\":4}}", models[i]);
        fixture *f = fixture_of(text);
        assert_true(f->valid);
        uint64_t params = f->model.head_params == 0 ? 0 - f->model.embedding_params : 0;
        for (int64_t index = 0; index < 4; index++) {
            gp_stage_share share = fixture_stage(f, index);
            params += share.linear_params + share.other_params;
        }
        assert_int_equal(params, f->model.total_params);
        fixture_free(f);
    }
}

static void test_shares_sum_to_the_model(void **state) {
    (void)state;
    fixture *f = fixture_training("5", "\"pp\":5");
    assert_true(f->valid);
    uint64_t params = 0;
    int64_t layers = 0;
    for (int64_t i = 0; i < 5; i++) {
        gp_stage_share share = fixture_stage(f, i);
        params += share.linear_params + share.other_params;
        layers += share.layers;
        assert_int_equal(share.layers, i < 2 ? 7 : 6);
        assert_int_equal(share.first, i == 0);
        assert_int_equal(share.last, i == 4);
    }
    assert_int_equal(layers, 32);
    assert_int_equal(params, f->model.total_params);
    fixture_free(f);
}

static void test_tensor_parallel_shares(void **state) {
    (void)state;
    fixture *f = fixture_training("4", "\"tp\":4");
    gp_stage_share share = fixture_stage(f, 0);
    /* Matrices are divided, the two norms of 4096 are on every rank. */
    uint64_t matrices = UINT64_C(4096) * (UINT64_C(2) * 4096 + UINT64_C(2) * 1024 + UINT64_C(3) * 14336) / 4;
    assert_int_equal(share.linear_params, UINT64_C(32) * matrices);
    assert_int_equal(share.layer_params, matrices + UINT64_C(2) * 4096);
    assert_int_equal(share.embedding_params, UINT64_C(128256) * 4096 / 4);
    assert_int_equal(share.kv_heads, 2);
    fixture_free(f);
}

static void test_micro_batches_in_flight(void **state) {
    (void)state;
    fixture *f = fixture_training("4", "\"pp\":4,\"grad_accum\":8");
    for (int64_t i = 0; i < 4; i++) assert_int_equal(fixture_stage(f, i).in_flight, 4 - i);
    fixture_free(f);
    f = fixture_training("4", "\"pp\":4,\"grad_accum\":2");
    assert_int_equal(fixture_stage(f, 0).in_flight, 2);
    assert_int_equal(fixture_stage(f, 3).in_flight, 1);
    fixture_free(f);
    /* Two chunks of 4 layers: (v p + p - 1) chunks at the first stage, factor 1 + (p - 1) / (p v) of v p. */
    f = fixture_training("4", "\"pp\":4,\"vpp\":2,\"grad_accum\":8");
    assert_int_equal(fixture_stage(f, 0).in_flight, 11);
    assert_int_equal(fixture_stage(f, 3).in_flight, 5);
    fixture_free(f);
}

static void test_adapters_are_counted_per_stage(void **state) {
    (void)state;
    fixture *f = fixture_of("{\"task\":\"lora\"," LLAMA_8B ",\"hardware\":{\"gpu\":\"H100\",\"count\":2},"
                            "\"train\":{\"pp\":2,\"lora\":{\"rank\":8,\"targets\":[\"q_proj\",\"v_proj\"]}}}");
    assert_true(f->valid);
    uint64_t per_layer = UINT64_C(8) * (4096 + 4096) + UINT64_C(8) * (4096 + 1024);
    assert_int_equal(f->model.adapter_params, 32 * per_layer);
    assert_int_equal(fixture_stage(f, 0).adapter_params, 16 * per_layer);
    assert_int_equal(fixture_stage(f, 1).adapter_params, 16 * per_layer);
    fixture_free(f);
}

static fixture *serving(const char *count, const char *infer) {
    char text[1024];
    snprintf(text, sizeof text, "{\"task\":\"infer\"," LLAMA_8B ",\"hardware\":{\"gpu\":\"H100\",\"count\":%s},\"infer\":{%s}}",
             count, infer);
    return fixture_of(text);
}

static void test_serving_takes_the_node_as_tensor_parallel(void **state) {
    (void)state;
    fixture *f = serving("16", "\"context\":4096,\"concurrency\":7");
    assert_true(f->valid);
    assert_int_equal(f->layout.tp, 8);
    assert_int_equal(f->layout.dp, 2);
    assert_int_equal(f->layout.context, 4096);
    assert_int_equal(f->layout.sequences, 4);
    fixture_free(f);
    f = serving("6", "\"prompt\":100,\"output\":28");
    assert_int_equal(f->layout.tp, 2);
    assert_int_equal(f->layout.dp, 3);
    assert_int_equal(f->layout.context, 128);
    fixture_free(f);
}

static void test_llama_cpp_splits_by_layers(void **state) {
    (void)state;
    fixture *f = serving("3", "\"engine\":\"llama.cpp\",\"weights\":\"gguf:Q4_K_M\"");
    assert_true(f->valid);
    assert_int_equal(f->layout.tp, 1);
    assert_int_equal(f->layout.pp, 3);
    fixture_free(f);
}

static fixture *deepseek(const char *engine, const char *count, const char *infer) {
    char text[512];
    snprintf(text, sizeof text, "{\"task\":\"infer\",\"model\":\"deepseek-ai/DeepSeek-V3\",\"infer\":{\"engine\":\"%s\","
             "\"weights\":\"fp8\",\"concurrency\":64,%s},\"hardware\":{\"gpu\":\"H200\",\"count\":%s}}", engine, infer, count);
    return fixture_of(text);
}

/* DeepSeek-V3: attention of 15,138,816 copied and 171,966,464 split parameters in each of 61 layers, 3 dense blocks of
 * 396,361,728, in 58 layers 256 experts and a shared one of 44,040,192, token table and head of 926,679,040 each. */
static void test_groups_within_tensor_parallelism(void **state) {
    (void)state;
    fixture *f = deepseek("sglang", "8", "\"tp\":8,\"attention_dp\":8");
    assert_true(f->valid);
    gp_stage_share share = fixture_stage(f, 0);
    assert_int_equal(f->layout.dp, 1);
    assert_int_equal(f->layout.attention.tp, 1);
    assert_int_equal(f->layout.sequences, 8);
    assert_int_equal(gp_layout_caches(&f->layout), 8);
    assert_int_equal(share.linear_params, 61 * 187105280LL + 3 * 396361728LL / 8 + 58LL * 257 * 44040192 / 8);
    assert_int_equal(share.embedding_params, 926679040);
    assert_int_equal(share.head_params, 926679040 / 8);
    fixture_free(f);
    f = deepseek("sglang", "16", "\"tp\":16,\"attention_dp\":8");
    share = fixture_stage(f, 0);
    assert_int_equal(f->layout.attention.tp, 2);
    assert_int_equal(share.linear_params, 61 * (15138816LL + 171966464LL / 2) + 3 * 396361728LL / 16 + 58LL * 257 * 44040192 / 16);
    assert_int_equal(share.embedding_params, 926679040 / 2);
    fixture_free(f);
    f = deepseek("tensorrt-llm", "8", "\"tp\":8,\"attention_dp\":8");
    share = fixture_stage(f, 0);
    assert_int_equal(share.linear_params, 61 * 187105280LL + 3 * 396361728LL + 58LL * (44040192LL + 256 * 44040192LL / 8));
    assert_int_equal(share.head_params, 926679040);
    fixture_free(f);
}

static void test_groups_that_are_replicas_share_the_experts(void **state) {
    (void)state;
    const int64_t beside = 61 * 187105280LL + 3 * 396361728LL, experts = 58LL * 256 * 44040192, shared = 58 * 44040192LL;
    fixture *f = deepseek("vllm", "8", "\"tp\":1,\"attention_dp\":8");
    gp_stage_share share = fixture_stage(f, 0);
    assert_true(f->valid);
    assert_int_equal(f->layout.dp, 8);
    assert_int_equal(gp_layout_caches(&f->layout), 8);
    assert_int_equal(share.linear_params, beside + shared + experts / 8);
    fixture_free(f);
    f = deepseek("vllm", "16", "\"tp\":2,\"attention_dp\":8,\"ep\":16");
    share = fixture_stage(f, 0);
    assert_int_equal(f->layout.attention.tp, 2);
    assert_int_equal(share.local_experts, 16);
    assert_int_equal(share.expert_params, experts / 16);
    fixture_free(f);
    f = deepseek("vllm", "16", "\"tp\":1,\"attention_dp\":8,\"ep\":4"); /* twice 8 GPUs */
    share = fixture_stage(f, 0);
    assert_int_equal(f->layout.dp, 16);
    assert_int_equal(share.expert_params, experts / 8);
    fixture_free(f);
}

static void test_sglang_counts_groups_as_data_parallelism(void **state) {
    (void)state;
    fixture *f = deepseek("sglang", "8", "\"tp\":8,\"dp\":4");
    assert_true(f->valid);
    assert_int_equal(f->layout.dp, 1);
    assert_int_equal(f->layout.attention.groups, 4);
    assert_int_equal(f->layout.attention.tp, 2);
    fixture_free(f);
    f = deepseek("sglang", "8", "\"attention_dp\":4");
    assert_int_equal(f->layout.attention.groups, 4);
    fixture_free(f);
    f = deepseek("sglang", "16", "\"tp\":8,\"dp\":2");
    assert_true(f->valid);
    assert_int_equal(f->layout.dp, 2);
    assert_int_equal(f->layout.attention.groups, 1);
    fixture_free(f);
    f = deepseek("vllm", "8", "\"tp\":8,\"dp\":4");
    assert_true(fixture_has(f, GP_CODE_PARALLEL_MISMATCH, "hardware.count"));
    fixture_free(f);
}

static void test_heads_are_shared_out_in_a_group(void **state) {
    (void)state;
    fixture *f = deepseek("sglang", "12", "\"tp\":12,\"attention_dp\":12");
    assert_true(f->valid);
    fixture_free(f);
    f = deepseek("sglang", "12", "\"tp\":12,\"attention_dp\":2");
    assert_true(fixture_has(f, GP_CODE_HEADS_NOT_DIVISIBLE, "infer.tp"));
    fixture_free(f);
    f = deepseek("sglang", "8", "\"tp\":8,\"attention_dp\":3");
    assert_true(fixture_has(f, GP_CODE_ATTENTION_DP_MISMATCH, "infer.attention_dp"));
    fixture_free(f);
}

/* The tokens of a sequence go over the ranks that would hold copies of its cache: at most as many as there are copies. */
static void test_context_parallelism_shares_out_copies(void **state) {
    (void)state;
    static const struct { const char *engine, *model, *infer; gp_code code; int64_t dcp, index_dcp; } jobs[] = {
        {"vllm", "deepseek-ai/DeepSeek-V3", "\"tp\":8,\"dcp\":8", GP_CODE_COUNT, 8, 8},
        {"vllm", "deepseek-ai/DeepSeek-V3", "\"tp\":8,\"dcp\":16", GP_CODE_DCP_MISMATCH, 0, 0},
        {"sglang", "deepseek-ai/DeepSeek-V3", "\"tp\":8,\"dcp\":4", GP_CODE_COUNT, 4, 1},
        {"sglang", "deepseek-ai/DeepSeek-V3", "\"tp\":8,\"attention_dp\":4,\"dcp\":2", GP_CODE_COUNT, 2, 1},
        {"sglang", "deepseek-ai/DeepSeek-V3", "\"tp\":8,\"attention_dp\":4,\"dcp\":4", GP_CODE_DCP_MISMATCH, 0, 0},
        {"vllm", "Qwen/Qwen3-235B-A22B", "\"tp\":8,\"dcp\":2", GP_CODE_COUNT, 2, 2},
        {"vllm", "Qwen/Qwen3-235B-A22B", "\"tp\":8,\"dcp\":4", GP_CODE_DCP_BEYOND_COPIES, 0, 0},
        {"vllm", "Qwen/Qwen3-235B-A22B", "\"tp\":4,\"dcp\":2", GP_CODE_DCP_BEYOND_COPIES, 0, 0},
        {"sglang", "Qwen/Qwen3-235B-A22B", "\"tp\":8,\"dcp\":2", GP_CODE_DCP_BEYOND_COPIES, 0, 0},
        {"vllm", "google/gemma-3-27b-it", "\"tp\":8,\"dcp\":2", GP_CODE_DCP_BEYOND_COPIES, 0, 0},
        {"tensorrt-llm", "deepseek-ai/DeepSeek-V3", "\"tp\":8,\"dcp\":8", GP_CODE_COUNT, 1, 1},
    };
    for (size_t i = 0; i < sizeof jobs / sizeof jobs[0]; i++) {
        char text[512];
        snprintf(text, sizeof text, "{\"task\":\"infer\",\"model\":\"%s\",\"infer\":{\"engine\":\"%s\",%s},"
                 "\"hardware\":{\"gpu\":\"H200\",\"count\":8}}", jobs[i].model, jobs[i].engine, jobs[i].infer);
        fixture *f = fixture_of(text);
        bool refused = jobs[i].code != GP_CODE_COUNT;
        assert_int_equal(f->valid, !refused);
        if (refused) assert_true(fixture_has(f, jobs[i].code, "infer.dcp"));
        else assert_true(f->layout.dcp == jobs[i].dcp && f->layout.index_dcp == jobs[i].index_dcp);
        fixture_free(f);
    }
}

static void test_hostile_degrees_do_not_overflow(void **state) {
    (void)state;
    fixture *f = fixture_training("1048576", "\"tp\":1024,\"pp\":1024,\"cp\":1024,\"dp\":1048576,\"micro_batch\":1048576,"
                                     "\"grad_accum\":1048576,\"global_batch\":1073741824");
    assert_false(f->valid);
    assert_true(f->layout.global_batch > 0);
    fixture_free(f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_data_parallelism_is_what_the_others_leave),
        cmocka_unit_test(test_global_batch_follows_from_accumulation),
        cmocka_unit_test(test_all_contradictions_are_found_at_once),
        cmocka_unit_test(test_batch_that_does_not_divide_is_refused),
        cmocka_unit_test(test_kv_heads_are_copied_beyond_their_number),
        cmocka_unit_test(test_expert_parallelism_leaves_a_dense_model_alone),
        cmocka_unit_test(test_expert_parallelism_divides_the_experts),
        cmocka_unit_test(test_shares_of_unlike_layers_sum_to_the_model),
        cmocka_unit_test(test_shares_sum_to_the_model),
        cmocka_unit_test(test_tensor_parallel_shares),
        cmocka_unit_test(test_micro_batches_in_flight),
        cmocka_unit_test(test_adapters_are_counted_per_stage),
        cmocka_unit_test(test_serving_takes_the_node_as_tensor_parallel),
        cmocka_unit_test(test_llama_cpp_splits_by_layers),
        cmocka_unit_test(test_groups_within_tensor_parallelism),
        cmocka_unit_test(test_groups_that_are_replicas_share_the_experts),
        cmocka_unit_test(test_sglang_counts_groups_as_data_parallelism),
        cmocka_unit_test(test_heads_are_shared_out_in_a_group),
        cmocka_unit_test(test_context_parallelism_shares_out_copies),
        cmocka_unit_test(test_hostile_degrees_do_not_overflow),
    };
    return cmocka_run_group_tests_name("layout", tests, NULL, NULL);
}
