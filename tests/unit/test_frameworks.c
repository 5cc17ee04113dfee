/* What training frameworks do, apart from the arithmetic of test_ledger.c. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "ledger/activations.h"
#include "fixture.h"

#define LLAMA_8B "\"model\":{\"layers\":32,\"hidden\":4096,\"heads\":32,\"kv_heads\":8,\"head_dim\":128,\"ffn\":14336," \
                 "\"vocab\":128256,\"tied_embeddings\":false,\"style\":\"llama\"}"

static fixture *job_of(const char *task, const char *count, const char *train) {
    char text[1024];
    snprintf(text, sizeof text,
             "{\"task\":\"%s\"," LLAMA_8B ",\"hardware\":{\"gpu\":\"H100\",\"count\":%s},\"train\":{\"attention\":\"flash\","
             "%s}}", task, count, train);
    fixture *f = fixture_of(text);
    assert_true(f->valid);
    return f;
}

static gp_stage_ledger ledger_of(const fixture *f) {
    gp_stage_ledger ledger;
    gp_ledger_stage(&f->job, &f->model, &f->layout, 0, &ledger);
    return ledger;
}

/* The first allocation of a formula; NULL when there is none. */
static const gp_allocation *row_of(const gp_stage_ledger *ledger, const char *formula) {
    for (int i = 0; i < ledger->count; i++)
        if (strcmp(ledger->allocations[i].amount.formula->id, formula) == 0) return &ledger->allocations[i];
    return NULL;
}

static uint64_t bytes_of(const char *task, const char *count, const char *train, const char *formula) {
    fixture *f = job_of(task, count, train);
    gp_stage_ledger ledger = ledger_of(f);
    const gp_allocation *row = row_of(&ledger, formula);
    uint64_t bytes = row != NULL ? row->amount.bytes : 0;
    fixture_free(f);
    return bytes;
}

static double term_of(const char *train, const char *formula, const char *symbol) {
    fixture *f = job_of("pretrain", "8", train);
    gp_stage_ledger ledger = ledger_of(f);
    const gp_allocation *row = row_of(&ledger, formula);
    double value = -1;
    for (int i = 0; row != NULL && i < row->amount.term_count; i++)
        if (strcmp(row->amount.terms[i].symbol, symbol) == 0) value = row->amount.terms[i].value;
    fixture_free(f);
    return value;
}

static void test_pools_of_fsdp_keep_what_is_not_there_at_the_peak(void **state) {
    (void)state;
    double params = 8030261248.0;
    double idle = term_of("\"framework\":\"torchtitan\",\"zero\":3,\"recompute\":\"full\",\"micro_batch\":4,\"seq_len\":8192,"
                          "\"loss\":\"full\"", "fragmentation.allocator", "streams_bytes");
    /* The peak is at the loss: gradients, 4 bytes in 8 shards, wait in their pool, and the place of the 16-bit logits is
     * too small for what comes after them. */
    double logits = 4.0 * 8192 * 128256 * 2;
    assert_true(fabs(idle - (4 * params / 8 + logits)) < 16);
    assert_true(term_of("\"framework\":\"torchtitan\",\"zero\":3,\"recompute\":\"full\",\"compile\":\"SimpleFSDP\"",
                        "fragmentation.allocator", "streams_bytes") == 0);
    assert_true(term_of("\"framework\":\"megatron\",\"zero\":1", "fragmentation.allocator", "streams_bytes") == 0);
}

static void test_fsdp_that_does_not_reshard_holds_its_weights_twice(void **state) {
    (void)state;
    static const char *const never = "\"framework\":\"torchtitan\",\"fsdp\":\"FSDP2 reshard_after_forward=never\",\"zero\":2";
    uint64_t params = UINT64_C(8030261248);
    assert_int_equal(bytes_of("pretrain", "8", never, "weights.by_format"), params * 4 / 8);
    assert_int_equal(bytes_of("pretrain", "8", never, "gather_buffers.stage"), params * 2);
    /* A pipeline sums whole gradients as well. */
    fixture *f = job_of("pretrain", "8", "\"framework\":\"torchtitan\",\"zero\":3,\"pp\":2,\"micro_batch\":2");
    gp_stage_ledger ledger = ledger_of(f);
    const gp_allocation *row = row_of(&ledger, "gather_buffers.stage");
    assert_non_null(row);
    uint64_t stage = ledger.share.linear_params + ledger.share.other_params;
    assert_int_equal(row->amount.bytes, stage * (2 + 4));
    fixture_free(f);
}

static double kept(const char *train) {
    fixture *f = job_of("pretrain", "8", train);
    gp_stage_ledger ledger = ledger_of(f);
    double bytes = 0;
    for (int i = 0; i < ledger.count; i++)
        if (ledger.allocations[i].id == GP_ITEM_ACTIVATIONS) bytes += (double)ledger.allocations[i].amount.bytes;
    fixture_free(f);
    return bytes;
}

static void test_recomputation_of_some_layers(void **state) {
    (void)state;
    double none = kept("\"framework\":\"megatron\",\"recompute\":\"none\"");
    double all = kept("\"framework\":\"megatron\",\"recompute\":\"full\"");
    double some = kept("\"framework\":\"megatron\",\"recompute\":\"partial\",\"recompute_detail\":\"full block 8\"");
    double wanted = all + (none - all) * 24 / 32;
    assert_true(some > wanted - 1e3 && some < wanted + 1e3);
    assert_true(kept("\"framework\":\"megatron\",\"recompute\":\"full\",\"recompute_detail\":\"full block 32\"") == all);
    /* Checkpoints on the host leave the ends. */
    double moved = kept("\"framework\":\"unsloth\",\"recompute\":\"full\",\"recompute_detail\":\"unsloth offloaded\"");
    assert_true(moved < kept("\"framework\":\"unsloth\",\"recompute\":\"full\"") / 10);
}

static void test_buffers_of_data_parallelism(void **state) {
    (void)state;
    uint64_t params = UINT64_C(8030261248);
    static const char *const plain = "\"framework\":\"torchtune\",\"zero\":0";
    assert_int_equal(bytes_of("full", "8", plain, "gather_buffers.copies"), params * 2);
    assert_int_equal(bytes_of("full", "1", plain, "gather_buffers.copies"), 0);
    assert_int_equal(bytes_of("full", "8", "\"framework\":\"deepspeed\",\"zero\":2", "workspace.flat_copy"), params * 4);
    assert_int_equal(bytes_of("full", "8", "\"framework\":\"deepspeed\",\"zero\":3", "workspace.flat_copy"), 0);
    fixture *f = job_of("full", "8", "\"framework\":\"deepspeed\",\"zero\":2");
    gp_stage_ledger ledger = ledger_of(f);
    assert_int_equal(row_of(&ledger, "workspace.flat_copy")->phases, GP_PHASE_BIT(GP_PHASE_LOAD));
    fixture_free(f);
}

/* Bytes that a formula's rows hold in a phase. */
static uint64_t bytes_in(const char *task, const char *count, const char *train, const char *formula, gp_phase phase) {
    fixture *f = job_of(task, count, train);
    gp_stage_ledger ledger = ledger_of(f);
    uint64_t sum = 0;
    for (int i = 0; i < ledger.count; i++) {
        const gp_allocation *row = &ledger.allocations[i];
        bool there = (row->phases & GP_PHASE_BIT(phase)) != 0;
        if (there && strcmp(row->amount.formula->id, formula) == 0) sum += row->amount.bytes;
    }
    fixture_free(f);
    return sum;
}

static void test_second_fsdp_copies_what_it_gathers(void **state) {
    (void)state;
    static const char *const train = "\"framework\":\"torchtitan\",\"zero\":3";
    uint64_t head = UINT64_C(128256) * 4096, layer = UINT64_C(218112000);
    /* 16 bits: the buffers of the head and of the layer ahead; the head itself; its gradient, and that once more in fp32. */
    assert_int_equal(bytes_in("pretrain", "8", train, "gather_buffers.ahead", GP_PHASE_LOSS), (head + layer) * 2);
    assert_int_equal(bytes_in("pretrain", "8", train, "gather_buffers.ends", GP_PHASE_LOSS), head * 2);
    assert_int_equal(bytes_in("pretrain", "8", train, "gather_buffers.layers", GP_PHASE_BACKWARD), head * (2 + 4));
    assert_int_equal(bytes_in("pretrain", "8", train, "gather_buffers.layers", GP_PHASE_REDUCE), layer * (2 + 2 + 4));
    static const char *const first = "\"framework\":\"torchtitan\",\"zero\":3,\"fsdp\":\"FSDP1\"";
    assert_int_equal(bytes_in("pretrain", "8", first, "gather_buffers.ahead", GP_PHASE_LOSS), 0);
}

static void test_buffers_of_deepspeed(void **state) {
    (void)state;
    static const char *const third = "\"framework\":\"deepspeed\",\"zero\":3,\"recompute\":\"full\"";
    static const char *const moved = "\"framework\":\"deepspeed\",\"zero\":3,\"offload\":\"optimizer+param\"";
    static const char *const second = "\"framework\":\"deepspeed\",\"zero\":2";
    static const char *const buckets = "gather_buffers.buckets", *const wide = "optimizer_temp.gradient";
    uint64_t params = UINT64_C(8030261248), bucket = UINT64_C(1000000000), whole = UINT64_C(2000000000);
    /* One bucket of 5e8 elements throughout, and a second while gradients are reduced; no communication is needed. */
    assert_int_equal(bytes_in("full", "8", third, buckets, GP_PHASE_FORWARD), bucket);
    assert_int_equal(bytes_in("full", "8", third, buckets, GP_PHASE_BACKWARD), 2 * bucket);
    assert_int_equal(bytes_in("full", "8", third, buckets, GP_PHASE_OPTIMIZER), bucket);
    assert_int_equal(bytes_in("full", "1", moved, buckets, GP_PHASE_BACKWARD), 2 * bucket);
    assert_int_equal(bytes_in("full", "8", second, buckets, GP_PHASE_FORWARD), 0);
    assert_int_equal(bytes_in("full", "8", second, buckets, GP_PHASE_BACKWARD), 2 * bucket);
    /* Gradients of adapters need less of the second. */
    assert_true(bytes_in("lora", "8", third, buckets, GP_PHASE_BACKWARD) < bucket + bucket / 5);
    /* 1e9 parameters are whole at the loss, more than the output matrix alone; other frameworks hold that. */
    assert_int_equal(bytes_in("full", "8", third, "gather_buffers.layers", GP_PHASE_LOSS), whole);
    assert_int_equal(bytes_in("full", "8", third, "gather_buffers.ends", GP_PHASE_LOSS), 0);
    assert_int_equal(bytes_in("full", "8", "\"framework\":\"torchtitan\",\"zero\":3", "gather_buffers.ends", GP_PHASE_LOSS),
                     UINT64_C(128256) * 4096 * 2);
    /* The step's gradient, flat in 16 bits and cast to fp32: of all shards, or of 1e9 parameters at a time. */
    assert_int_equal(bytes_in("full", "16", third, wide, GP_PHASE_OPTIMIZER), params / 16 * (2 + 4));
    assert_int_equal(bytes_in("full", "2", third, wide, GP_PHASE_OPTIMIZER), UINT64_C(1000000000) * (2 + 4));
    assert_int_equal(bytes_in("full", "2", second, wide, GP_PHASE_OPTIMIZER), params / 2 * (2 + 4));
    assert_int_equal(bytes_in("full", "8", moved, wide, GP_PHASE_OPTIMIZER), 0);
    assert_int_equal(bytes_in("full", "8", "\"framework\":\"torchtitan\",\"zero\":3", wide, GP_PHASE_OPTIMIZER), 0);
}

static double live(const char *task, const char *train) {
    fixture *f = job_of(task, "1", train);
    gp_stage_share share;
    gp_layout_stage(&f->job, &f->model, &f->layout, 0, &share);
    gp_layer_bytes bytes = gp_layer_activations(&f->job, &f->model, &f->layout, &share);
    fixture_free(f);
    return bytes.live;
}

static void expect(double found, double wanted) {
    if (found < wanted - 0.5 || found > wanted + 0.5) fail_msg("%f, wanted %f", found, wanted);
}

static void test_adapters_of_litgpt(void **state) {
    (void)state;
    /* The product of queries, keys and values stays whole behind the values; keys and values are repeated to 32 heads. */
    double h = 4096, kv = 1024, f = 14336, heads = 32;
    double base = 2 * (4 * h + 4) + 2 * h + 2 * (2 * h) + 2 * h + 4 * heads + 2 * (h + kv) + 6 * f;
    double repeated = live("lora", "\"framework\":\"litgpt\",\"lora\":{\"kind\":\"adapter\"}");
    double scaled = live("lora", "\"framework\":\"litgpt\",\"lora\":{\"kind\":\"adapter_v2\"}");
    assert_true(repeated >= base - 4 * h && repeated <= base + 4 * h);
    /* A scale keeps the output of q, k, v, o, gate, up and down; trained norms keep what they scale. */
    expect(scaled - repeated, 2 * (h + 2 * kv) + 2 * h * 2 + 2 * 2 * f + 2 * 2 * h);
    /* One dropout and one mask serve the adapters of q and v. */
    double lora = live("lora", "\"framework\":\"litgpt\",\"lora\":{\"rank\":8,\"targets\":\"q,v\",\"adapter_dtype\":\"bf16\"}");
    expect(lora - repeated, 3 * h + 2 * 2 * 8);
}

/* Rank 16 on every linear layer of Llama 3 8B. */
static const double lora_16 = 16 * 32.0 * (2 * (4096 + 4096) + 2 * (4096 + 1024) + 3 * (4096 + 14336));

static void expect_adapters(const char *fields, double device, double host) {
    fixture *f = job_of("lora", "1", fields);
    gp_stage_ledger ledger = ledger_of(f);
    double bytes = (double)item_bytes(&ledger, GP_ITEM_ADAPTER);
    if (bytes != lora_16 * device) print_error("%s: %f a parameter\n", fields, bytes / lora_16);
    assert_true(bytes == lora_16 * device && (double)ledger.host_bytes == lora_16 * host);
    fixture_free(f);
}

static void test_adapters_are_of_the_type_of_their_framework_and_their_states_may_be_on_the_host(void **state) {
    (void)state;
    /* Weights, and states with the gradients where the step is not replayed. */
    expect_adapters("\"framework\":\"torchtune\"", 2 + 2 + 4, 0);
    expect_adapters("\"framework\":\"torchtune\",\"lora\":{\"adapter_dtype\":\"fp32\"}", 4 + 4 + 8, 0);
    expect_adapters("\"framework\":\"torchtune\",\"weights\":\"fp32\"", 4 + 4 + 8, 0);
    expect_adapters("\"framework\":\"fsdp\"", 4 + 4 + 8, 0);
    expect_adapters("\"framework\":\"peft\"", 4 + 8, 0);
    expect_adapters("\"framework\":\"peft\",\"optimizer\":\"paged-adamw\"", 4, 8);
    expect_adapters("\"framework\":\"torchtune\",\"offload\":\"optimizer\"", 2, 2 + 4);
    expect_adapters("\"framework\":\"fsdp\",\"optimizer\":\"paged-adamw8bit\"", 4 + 4, 2.03125);
}

static void expect_on_device(const char *fields, double weights, double gradients, double master, double optimizer) {
    fixture *f = job_of("full", "8", fields);
    gp_stage_ledger ledger = ledger_of(f);
    const double wanted[] = {weights, gradients, master, optimizer};
    const gp_item_id ids[] = {GP_ITEM_WEIGHTS, GP_ITEM_GRADIENTS, GP_ITEM_MASTER_WEIGHTS, GP_ITEM_OPTIMIZER};
    for (int i = 0; i < 4; i++) {
        double bytes = (double)item_bytes(&ledger, ids[i]), params = (double)f->model.total_params;
        if (bytes != wanted[i] * params) print_error("%s: item %d, %f\n", fields, i, bytes / params);
        assert_true(bytes == wanted[i] * params);
    }
    fixture_free(f);
}

static void test_what_is_updated_on_the_host_depends_on_the_framework(void **state) {
    (void)state;
    expect_on_device("\"framework\":\"megatron\",\"zero\":1,\"offload\":\"optimizer\"", 2, 4, 0, 0);
    expect_on_device("\"framework\":\"deepspeed\",\"zero\":1,\"offload\":\"optimizer\"", 2, 0, 0, 0);
    expect_on_device("\"framework\":\"deepspeed\",\"zero\":3,\"offload\":\"params\"", 0, 0.25, 0.5, 1);
    expect_on_device("\"framework\":\"fsdp\",\"zero\":3,\"offload\":\"params\"", 0, 0, 0, 0);
    expect_on_device("\"framework\":\"torchtune\",\"zero\":3,\"fsdp\":\"FULL_SHARD\",\"offload\":\"params\"", 0, 0, 0, 0);
}

static void test_offloaded_checkpoints_lie_on_the_host(void **state) {
    (void)state;
    static const char *const jobs[] = {
        "\"framework\":\"unsloth\",\"seq_len\":4096,\"micro_batch\":2,\"recompute\":\"full\",\"recompute_detail\":\"offloaded\"",
        "\"framework\":\"fsdp\",\"seq_len\":4096,\"micro_batch\":2,\"recompute\":\"full\",\"offload\":\"activation\"",
        "\"framework\":\"peft\",\"seq_len\":4096,\"micro_batch\":2,\"recompute\":\"full\",\"offload\":\"activation\""};
    for (int i = 0; i < 3; i++) {
        fixture *f = job_of("lora", "1", jobs[i]);
        gp_stage_ledger ledger = ledger_of(f);
        assert_int_equal(ledger.host_bytes, UINT64_C(32) * 2 * 4096 * 4096 * 2);
        fixture_free(f);
    }
}

static void test_dropout_in_megatron_keeps_a_mask_of_each_block(void **state) {
    (void)state;
    const char *base = "\"framework\":\"megatron\",\"tp\":2,\"seq_len\":4096,\"recompute\":\"none\"";
    const char *drops = "\"framework\":\"megatron\",\"tp\":2,\"seq_len\":4096,\"recompute\":\"none\",\"dropout\":0.1";
    uint64_t plain = bytes_of("pretrain", "8", base, "activations.layers");
    uint64_t masks = bytes_of("pretrain", "8", drops, "activations.layers") - plain;
    /* Two masks of a byte, divided by sequence parallelism (arXiv:2205.05198, table 2). */
    assert_int_equal(masks, UINT64_C(32) * 2 * 4096 * 4096 / 2);
}

static void test_float8_without_a_compiler_keeps_casts(void **state) {
    (void)state;
    double eager = live("pretrain", "\"framework\":\"torchtitan\",\"precision\":\"fp8\"");
    double narrow = live("pretrain", "\"framework\":\"torchtitan\"");
    expect(eager - narrow, 15 * 4096.0 + 3 * 4096 + 3 * 14336);
    expect(live("pretrain", "\"framework\":\"torchtitan\",\"precision\":\"fp8\",\"compile\":\"true\""),
           live("pretrain", "\"framework\":\"torchtitan\",\"compile\":\"true\""));
}

static void test_a_step_within_backward_keeps_one_gradient(void **state) {
    (void)state;
    uint64_t head = UINT64_C(128256) * 4096, params = UINT64_C(8030261248);
    static const char *const fused = "\"framework\":\"torchtune\",\"optimizer_in_backward\":true";
    assert_int_equal(bytes_of("full", "1", fused, "gradients.per_param"), head * 2);
    static const char *const summed = "\"framework\":\"torchtune\",\"optimizer_in_backward\":true,\"grad_accum\":4";
    assert_int_equal(bytes_of("full", "1", summed, "gradients.per_param"), params * 2);
}

static void test_gradients_of_megatron_deepspeed(void **state) {
    (void)state;
    uint64_t params = UINT64_C(8030261248);
    static const char *const whole = "\"framework\":\"megatron-deepspeed\",\"zero\":0";
    assert_int_equal(bytes_of("pretrain", "1", whole, "gradients.per_param"), params * 6);
    static const char *const half = "\"framework\":\"megatron-deepspeed\",\"zero\":0,\"precision\":\"fp16\"";
    assert_int_equal(bytes_of("pretrain", "1", half, "gradients.per_param"), params * 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pools_of_fsdp_keep_what_is_not_there_at_the_peak),
        cmocka_unit_test(test_second_fsdp_copies_what_it_gathers),
        cmocka_unit_test(test_fsdp_that_does_not_reshard_holds_its_weights_twice),
        cmocka_unit_test(test_recomputation_of_some_layers),
        cmocka_unit_test(test_buffers_of_data_parallelism),
        cmocka_unit_test(test_adapters_of_litgpt),
        cmocka_unit_test(test_adapters_are_of_the_type_of_their_framework_and_their_states_may_be_on_the_host),
        cmocka_unit_test(test_what_is_updated_on_the_host_depends_on_the_framework),
        cmocka_unit_test(test_offloaded_checkpoints_lie_on_the_host),
        cmocka_unit_test(test_dropout_in_megatron_keeps_a_mask_of_each_block),
        cmocka_unit_test(test_float8_without_a_compiler_keeps_casts),
        cmocka_unit_test(test_a_step_within_backward_keeps_one_gradient),
        cmocka_unit_test(test_buffers_of_deepspeed),
        cmocka_unit_test(test_gradients_of_megatron_deepspeed),
    };
    return cmocka_run_group_tests_name("frameworks", tests, NULL, NULL);
}
