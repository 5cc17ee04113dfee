/* How training is laid over GPUs: schedules of a pipeline, groups that shard, and modules beside the layers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "fixture.h"

static void test_schedules_hold_what_they_must(void **state) {
    (void)state;
    static const struct { const char *schedule; int64_t first, last; } rows[] = {{"1f1b", 4, 1}, {"gpipe", 16, 16}, {"zb-v", 4, 4}, {"zb-h1", 4, 4}, {"dualpipe", 5, 5}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char fields[128];
        snprintf(fields, sizeof fields, "\"pp\":4,\"grad_accum\":16,\"schedule\":\"%s\"", rows[i].schedule);
        fixture *f = fixture_training("4", fields);
        assert_true(f->valid);
        assert_int_equal(fixture_stage(f, 0).in_flight, rows[i].first);
        assert_int_equal(fixture_stage(f, 3).in_flight, rows[i].last);
        fixture_free(f);
    }
}

static void test_one_stage_holds_one_micro_batch_whatever_the_schedule(void **state) {
    (void)state;
    for (int i = 0; i < gp_choice_count(GP_FIELD_SCHEDULE); i++) {
        int length = 0;
        const char *schedule = gp_choice_text(GP_FIELD_SCHEDULE, i, &length);
        char fields[128];
        snprintf(fields, sizeof fields, "\"pp\":1,\"grad_accum\":16,\"schedule\":\"%.*s\"", length, schedule);
        fixture *f = fixture_training("4", fields);
        gp_stage_share only = fixture_stage(f, 0);
        assert_int_equal(only.in_flight, 1);
        assert_true(only.first && only.last && only.copies == 1);
        fixture_free(f);
    }
}

static void test_a_pipeline_both_ways_holds_each_stage_twice(void **state) {
    (void)state;
    fixture *f = fixture_training("4", "\"pp\":4,\"grad_accum\":16");
    fixture *both = fixture_training("4", "\"pp\":4,\"grad_accum\":16,\"schedule\":\"dualpipe\"");
    assert_true(f->valid && both->valid);
    for (int64_t i = 0; i < 4; i++) {
        gp_stage_share one = fixture_stage(f, i), mirror = fixture_stage(f, 3 - i), share = fixture_stage(both, i);
        assert_int_equal(share.layers, one.layers);
        assert_int_equal(share.linear_params, one.linear_params + mirror.linear_params);
        assert_int_equal(share.other_params, one.other_params + mirror.other_params);
        assert_int_equal(share.first, i == 0 || i == 3);
        assert_int_equal(share.last, i == 0 || i == 3);
    }
    fixture_free(f);
    fixture_free(both);
}

static void test_a_v_has_both_ends_on_its_first_gpu(void **state) {
    (void)state;
    fixture *f = fixture_training("4", "\"pp\":4,\"grad_accum\":16,\"schedule\":\"zb-v\"");
    for (int64_t i = 0; i < 4; i++) {
        gp_stage_share share = fixture_stage(f, i);
        assert_int_equal(share.first, i == 0);
        assert_int_equal(share.last, i == 0);
        assert_int_equal(share.embedding_params, i == 0 ? 128256 * 4096 : 0);
        assert_int_equal(share.head_params, i == 0 ? 128256 * 4096 : 0);
        assert_int_equal(share.layers, 8);
    }
    fixture_free(f);
}

static fixture *deepseek(const char *train) {
    char text[512];
    snprintf(text, sizeof text, "{\"task\":\"pretrain\",\"model\":\"deepseek-ai/DeepSeek-V3\",\"hardware\":{\"gpu\":\"H100\",\"count\":1024},"
             "\"train\":{\"framework\":\"megatron\",\"pp\":16,\"ep\":64,\"seq_len\":4096,\"grad_accum\":32%s}}", train);
    fixture *f = fixture_of(text);
    assert_true(f->valid);
    return f;
}

static uint64_t all_params(const gp_stage_share *share) { return share->linear_params + share->other_params; }

static void test_prediction_modules_are_layers_of_the_last_stage(void **state) {
    (void)state;
    const uint64_t h = 7168, latents = h * 1536 + UINT64_C(1536) * 128 * 192 + h * 576 +
                   UINT64_C(512) * 128 * 256 + UINT64_C(128) * 128 * h + 1536 + 512;
    const uint64_t experts = (UINT64_C(256) / 64 + 1) * 3 * h * 2048, router = h * 256 + 256, norms = 2 * h;
    const uint64_t module = latents + experts + router + norms + 2 * h * h + 3 * h, table = 129280 * h;
    fixture *without = deepseek(""), *one = deepseek(",\"mtp_layers\":1"), *two = deepseek(",\"mtp_layers\":2");
    gp_stage_share none = fixture_stage(without, 15), last = fixture_stage(one, 15), more = fixture_stage(two, 15), first = fixture_stage(one, 0);
    assert_int_equal(all_params(&last) - all_params(&none), module + table);
    assert_int_equal(all_params(&more) - all_params(&last), module);
    assert_int_equal(last.expert_params - none.expert_params, UINT64_C(4) * 3 * h * 2048);
    assert_int_equal(first.mtp, 0);
    assert_int_equal(last.layers, none.layers);
    gp_stage_ledger plain, predicts;
    gp_ledger_stage(&without->job, &without->model, &without->layout, 15, &plain);
    gp_ledger_stage(&one->job, &one->model, &one->layout, 15, &predicts);
    /* One layer of three more, what it norms and projects, and the logits twice. */
    uint64_t tokens = 4096, each = (item_bytes(&plain, GP_ITEM_ACTIVATIONS) - tokens * 6 * h) / 3;
    assert_int_equal(item_bytes(&predicts, GP_ITEM_ACTIVATIONS), 4 * each + tokens * (12 * h + 8 * h));
    assert_int_equal(item_bytes(&predicts, GP_ITEM_LOGITS), 2 * item_bytes(&plain, GP_ITEM_LOGITS));
    fixture_free(without);
    fixture_free(one);
    fixture_free(two);
}

static void test_a_latent_layer_with_experts_keeps_what_is_published(void **state) {
    (void)state;
    fixture *f = deepseek(",\"tp\":1");
    gp_stage_ledger ledger;
    gp_ledger_stage(&f->job, &f->model, &f->layout, 2, &ledger);
    /* Stage 2 of 16 holds 14 micro-batches of 4 layers. 2,236 MiB by github.com/yanring/Megatron-MoE-ModelZoo's memory
     * estimator; beside the tensors ours has 12 bytes for each expert and token. */
    double layer = (double)item_bytes(&ledger, GP_ITEM_ACTIVATIONS) / (14.0 * 4) / 1048576;
    assert_true(layer > 2236 && layer < 2236 * 1.002);
    fixture_free(f);
}

static void expect_shards(const char *count, const char *train, int64_t shards) {
    fixture *f = fixture_training(count, train);
    if (!f->valid || gp_layout_shards(&f->layout) != shards) print_error("%s\n", train);
    assert_true(f->valid);
    assert_int_equal(gp_layout_shards(&f->layout), shards);
    fixture_free(f);
}

static void test_hybrid_sharding_divides_within_a_group(void **state) {
    (void)state;
    expect_shards("32", "\"framework\":\"fsdp\",\"zero\":3", 32);
    expect_shards("32", "\"framework\":\"fsdp\",\"zero\":3,\"fsdp\":\"FULL_SHARD\"", 32);
    expect_shards("32", "\"framework\":\"fsdp\",\"zero\":3,\"fsdp\":\"HYBRID_SHARD\"", 8);
    expect_shards("32", "\"framework\":\"torchtitan\",\"zero\":3,\"fsdp\":\"HSDP\"", 8);
    expect_shards("32", "\"framework\":\"torchtitan\",\"zero\":3,\"fsdp\":\"HSDP=16\"", 16);
    expect_shards("32", "\"framework\":\"maxtext\",\"zero\":3,\"fsdp\":\"FSDP+DP FSDP=4\"", 4);
    expect_shards("32", "\"framework\":\"torchtitan\",\"zero\":3,\"cp\":2,\"fsdp\":\"HSDP\"", 8);
    /* A group that does not divide the ranks is none. */
    expect_shards("12", "\"framework\":\"fsdp\",\"zero\":3,\"fsdp\":\"HSDP\"", 12);
    assert_int_equal(gp_recipe_zero_of("HSDP"), 3);
    assert_int_equal(gp_recipe_zero_of("_HYBRID_SHARD_ZERO2"), 2);
    assert_int_equal(gp_recipe_zero_of("our own"), -1);
}

static void test_one_copy_of_the_trainer_is_laid_over_its_gpus(void **state) {
    (void)state;
    fixture *f = fixture_training("4", "\"framework\":\"hf-trainer\",\"tp\":1,\"pp\":1,\"dp\":1,\"grad_accum\":16");
    assert_true(f->valid && f->layout.device_map);
    assert_true(fixture_has(f, GP_CODE_DEVICE_MAP, "hardware.count"));
    for (int64_t i = 0; i < 4; i++) {
        assert_int_equal(fixture_stage(f, i).layers, 8);
        assert_int_equal(fixture_stage(f, i).in_flight, 1);
    }
    fixture_free(f);
    /* Megatron has no such way: the GPUs have no place. */
    f = fixture_training("4", "\"framework\":\"megatron\",\"tp\":1,\"pp\":1,\"dp\":1");
    assert_true(fixture_has(f, GP_CODE_PARALLEL_MISMATCH, "hardware.count"));
    fixture_free(f);
}

static void test_ends_count_as_layers_where_chunks_are_too_many(void **state) {
    (void)state;
    /* 32 layers and both ends are 34: two for each of 17 stages. */
    fixture *f = fixture_training("17", "\"framework\":\"megatron\",\"tp\":1,\"pp\":17,\"vpp\":2");
    assert_true(f->valid);
    int64_t layers = 0;
    for (int64_t i = 0; i < 17; i++) {
        assert_int_equal(fixture_stage(f, i).first_layer, layers);
        layers += fixture_stage(f, i).layers;
        assert_int_equal(fixture_stage(f, i).layers, i == 0 || i == 16 ? 1 : 2);
    }
    assert_int_equal(layers, 32);
    fixture_free(f);
    f = fixture_training("18", "\"framework\":\"megatron\",\"tp\":1,\"pp\":18,\"vpp\":2");
    assert_true(fixture_has(f, GP_CODE_LAYERS_NOT_ENOUGH, "train.pp"));
    fixture_free(f);
}

static void test_torchtitan_cuts_the_batch_for_its_pipeline(void **state) {
    (void)state;
    fixture *f = fixture_training("8", "\"framework\":\"torchtitan\",\"tp\":1,\"pp\":4,\"micro_batch\":8");
    assert_true(f->valid);
    assert_int_equal(f->layout.micro_batch, 2);
    assert_int_equal(f->layout.grad_accum, 4);
    assert_int_equal(f->layout.global_batch, 16);
    fixture_free(f);
    f = fixture_training("8", "\"framework\":\"torchtitan\",\"tp\":1,\"pp\":4,\"micro_batch\":3");
    assert_int_equal(f->layout.micro_batch, 1);
    assert_int_equal(f->layout.grad_accum, 3);
    fixture_free(f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_schedules_hold_what_they_must),
        cmocka_unit_test(test_one_stage_holds_one_micro_batch_whatever_the_schedule),
        cmocka_unit_test(test_a_pipeline_both_ways_holds_each_stage_twice),
        cmocka_unit_test(test_a_v_has_both_ends_on_its_first_gpu),
        cmocka_unit_test(test_prediction_modules_are_layers_of_the_last_stage),
        cmocka_unit_test(test_a_latent_layer_with_experts_keeps_what_is_published),
        cmocka_unit_test(test_hybrid_sharding_divides_within_a_group),
        cmocka_unit_test(test_one_copy_of_the_trainer_is_laid_over_its_gpus),
        cmocka_unit_test(test_ends_count_as_layers_where_chunks_are_too_many),
        cmocka_unit_test(test_torchtitan_cuts_the_batch_for_its_pipeline),
    };
    return cmocka_run_group_tests_name("layout of training", tests, NULL, NULL);
}
