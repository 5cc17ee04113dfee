#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "fixture.h"

/* The course's 7B: 32 layers of width 4096. */
#define MODEL_7B "\"model\":{\"params\":7e9,\"layers\":32,\"hidden\":4096}"

static gp_stage_ledger *ledger_of(fixture *f) {
    static gp_stage_ledger ledger;
    assert_true(f->valid);
    gp_ledger_stage(&f->job, &f->model, &f->layout, 0, &ledger);
    return &ledger;
}

static fixture *course(const char *task, const char *count, const char *train) {
    char text[1024];
    snprintf(text, sizeof text,
             "{\"task\":\"%s\",\"ledger\":\"textbook\"," MODEL_7B ",\"hardware\":{\"gpu\":\"A100-80GB\",\"count\":%s},\"train\":{%s}}",
             task, count, train);
    return fixture_of(text);
}

static uint64_t state_bytes(const gp_stage_ledger *ledger) {
    return item_bytes(ledger, GP_ITEM_WEIGHTS) + item_bytes(ledger, GP_ITEM_GRADIENTS) +
           item_bytes(ledger, GP_ITEM_MASTER_WEIGHTS) + item_bytes(ledger, GP_ITEM_OPTIMIZER);
}

static void expect_state(const char *count, const char *train, uint64_t bytes) {
    fixture *f = course("full", count, train);
    assert_int_equal(state_bytes(ledger_of(f)), bytes);
    fixture_free(f);
}

static void test_zero_stages_of_7b_on_8(void **state) {
    (void)state;
    expect_state("1", "\"zero\":0", UINT64_C(112000000000));
    expect_state("8", "\"zero\":1", UINT64_C(38500000000));
    expect_state("8", "\"zero\":2", UINT64_C(26250000000));
    expect_state("8", "\"zero\":3", UINT64_C(14000000000));
    /* Sharding over one rank divides by one. */
    expect_state("1", "\"zero\":3", UINT64_C(112000000000));
}

static void test_state_per_parameter(void **state) {
    (void)state;
    expect_state("1", "\"optimizer\":\"adamw8bit\"", UINT64_C(70000000000));
    expect_state("1", "\"optimizer\":\"paged-adamw8bit\"", UINT64_C(56000000000));
    expect_state("1", "\"optimizer\":\"sgd\"", UINT64_C(84000000000));
}

static void test_stated_state_leaves_out_the_master_copy(void **state) {
    (void)state;
    fixture *f = fixture_of("{\"task\":\"full\",\"ledger\":\"textbook\"," MODEL_7B ",\"hardware\":{\"gpu\":\"A100-80GB\"},"
                            "\"textbook\":{\"state_bytes_per_parameter\":12}}");
    const gp_stage_ledger *ledger = ledger_of(f);
    assert_int_equal(item_bytes(ledger, GP_ITEM_MASTER_WEIGHTS), 0);
    assert_int_equal(item_bytes(ledger, GP_ITEM_OPTIMIZER), UINT64_C(56000000000));
    assert_int_equal(state_bytes(ledger), UINT64_C(84000000000));
    fixture_free(f);
}

static void test_offload_moves_twelve_bytes_to_the_host(void **state) {
    (void)state;
    fixture *f = course("full", "8", "\"zero\":3,\"offload\":\"optimizer\"");
    const gp_stage_ledger *ledger = ledger_of(f);
    assert_int_equal(state_bytes(ledger), UINT64_C(3500000000));
    assert_int_equal(ledger->host_bytes, UINT64_C(10500000000));
    fixture_free(f);
}

static void test_activations_of_7b(void **state) {
    (void)state;
    fixture *f = course("full", "8", "\"zero\":2,\"seq_len\":2048,\"micro_batch\":2");
    /* 34 * 2 * 2048 * 4096 * 32 */
    assert_int_equal(item_bytes(ledger_of(f), GP_ITEM_ACTIVATIONS), UINT64_C(18253611008));
    fixture_free(f);
    f = course("full", "8", "\"zero\":2,\"seq_len\":2048,\"micro_batch\":2,\"recompute\":\"full\"");
    /* (2 * 32 + 34) * 2 * 2048 * 4096 */
    assert_int_equal(item_bytes(ledger_of(f), GP_ITEM_ACTIVATIONS), UINT64_C(98) * 2 * 2048 * 4096);
    fixture_free(f);
}

static void test_head_room_of_15_percent(void **state) {
    (void)state;
    fixture *f = course("full", "8", "\"zero\":2,\"seq_len\":2048,\"micro_batch\":4");
    const gp_stage_ledger *ledger = ledger_of(f);
    /* 26.25 GB + 36.51 GB, over 0.85. */
    assert_int_equal(ledger->peak_bytes, UINT64_C(26250000000) + UINT64_C(36507222016));
    assert_int_equal(ledger->low_bytes, ledger->peak_bytes);
    assert_in_range(ledger->high_bytes, UINT64_C(73832025901), UINT64_C(73832025902));
    fixture_free(f);
}

static void test_frozen_weights_are_sharded_by_stage_3_only(void **state) {
    (void)state;
    fixture *f = course("lora", "8", "\"zero\":2");
    assert_int_equal(item_bytes(ledger_of(f), GP_ITEM_WEIGHTS), UINT64_C(14000000000));
    fixture_free(f);
    f = course("lora", "8", "\"zero\":3");
    assert_int_equal(item_bytes(ledger_of(f), GP_ITEM_WEIGHTS), UINT64_C(1750000000));
    fixture_free(f);
    f = course("qlora", "8", "\"zero\":3");
    assert_int_equal(item_bytes(ledger_of(f), GP_ITEM_WEIGHTS), UINT64_C(3500000000));
    fixture_free(f);
}

static void test_adapter_of_64_matrices(void **state) {
    (void)state;
    fixture *f = course("qlora", "1", "\"lora\":{\"rank\":8,\"targets\":[\"q_proj\",\"v_proj\"]}");
    /* 16 bytes * 8 * (4096 + 4096) for each of 64 square matrices. */
    assert_int_equal(item_bytes(ledger_of(f), GP_ITEM_ADAPTER), UINT64_C(16) * 8 * 8192 * 64);
    fixture_free(f);
}

static void test_kv_cache_of_13b(void **state) {
    (void)state;
    fixture *f = fixture_of("{\"task\":\"infer\",\"ledger\":\"textbook\",\"model\":{\"params\":13e9,\"layers\":40,\"hidden\":5120,"
                            "\"heads\":40},\"hardware\":{\"gpu\":\"RTX 4090\"},\"infer\":{\"weights\":\"int4\",\"context\":1000,"
                            "\"concurrency\":2}}");
    const gp_stage_ledger *ledger = ledger_of(f);
    assert_int_equal(gp_kv_bytes_per_token(&f->job, &f->model), 819200);
    assert_int_equal(item_bytes(ledger, GP_ITEM_KV_CACHE), 2000 * 819200);
    assert_int_equal(item_bytes(ledger, GP_ITEM_WEIGHTS), UINT64_C(6500000000));
    fixture_free(f);
}

/* Stage i of P holds min(m, P - i) micro-batches of its L / P layers (Korthikanti et al. 2022, section 4.2.3). */
static void test_stages_hold_micro_batches_in_flight(void **state) {
    (void)state;
    fixture *f = course("full", "4", "\"pp\":4,\"grad_accum\":8,\"seq_len\":2048,\"micro_batch\":1");
    assert_true(f->valid);
    for (int64_t stage = 0; stage < 4; stage++) {
        gp_stage_ledger ledger;
        gp_ledger_stage(&f->job, &f->model, &f->layout, stage, &ledger);
        uint64_t in_flight = (uint64_t)(4 - stage);
        assert_int_equal(item_bytes(&ledger, GP_ITEM_ACTIVATIONS), UINT64_C(34) * 2048 * 4096 * 8 * in_flight);
    }
    fixture_free(f);
    f = course("full", "4", "\"pp\":4,\"grad_accum\":2,\"seq_len\":2048,\"micro_batch\":1,\"recompute\":\"full\"");
    assert_int_equal(item_bytes(ledger_of(f), GP_ITEM_ACTIVATIONS), UINT64_C(66) * 2048 * 4096);
    fixture_free(f);
    /* Two chunks a stage: 2 (p - 1) + p + 1 = 11 of them, of 4 layers each. */
    f = course("full", "4", "\"pp\":4,\"vpp\":2,\"grad_accum\":8,\"seq_len\":2048,\"micro_batch\":1");
    assert_int_equal(item_bytes(ledger_of(f), GP_ITEM_ACTIVATIONS), UINT64_C(34) * 2048 * 4096 * 4 * 11);
    fixture_free(f);
}

static void test_one_kv_head_is_copied_to_every_gpu(void **state) {
    (void)state;
    fixture *f = fixture_of("{\"task\":\"infer\",\"ledger\":\"textbook\",\"model\":{\"params\":7e9,\"layers\":32,\"hidden\":4096,"
                            "\"heads\":32,\"kv_heads\":1},\"hardware\":{\"gpu\":\"H100\",\"count\":8},\"infer\":{\"tp\":8,"
                            "\"context\":100000}}");
    assert_int_equal(item_bytes(ledger_of(f), GP_ITEM_KV_CACHE), UINT64_C(1638400000));
    fixture_free(f);
}

static void test_states_that_the_job_states(void **state) {
    (void)state;
    expect_state("1", "\"master_weights\":false,\"optimizer\":\"adamw8bit\"", UINT64_C(6) * 7000000000);
    expect_state("1", "\"precision\":\"fp32\"", UINT64_C(16) * 7000000000);
    expect_state("1", "\"weights\":\"fp32\"", UINT64_C(16) * 7000000000);
    expect_state("1", "\"grad_dtype\":\"fp32\"", UINT64_C(18) * 7000000000);
    expect_state("1", "\"master_weights\":false", UINT64_C(12) * 7000000000);
    expect_state("8", "\"zero\":3,\"cp\":2,\"dp\":4", UINT64_C(14000000000));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_zero_stages_of_7b_on_8),
        cmocka_unit_test(test_state_per_parameter),
        cmocka_unit_test(test_stated_state_leaves_out_the_master_copy),
        cmocka_unit_test(test_offload_moves_twelve_bytes_to_the_host),
        cmocka_unit_test(test_activations_of_7b),
        cmocka_unit_test(test_head_room_of_15_percent),
        cmocka_unit_test(test_frozen_weights_are_sharded_by_stage_3_only),
        cmocka_unit_test(test_adapter_of_64_matrices),
        cmocka_unit_test(test_kv_cache_of_13b),
        cmocka_unit_test(test_stages_hold_micro_batches_in_flight),
        cmocka_unit_test(test_one_kv_head_is_copied_to_every_gpu),
        cmocka_unit_test(test_states_that_the_job_states),
    };
    return cmocka_run_group_tests_name("textbook", tests, NULL, NULL);
}
