#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "fixture.h"
#include "planned.h"

/* Nine layers, the first three dense and the rest with experts, a wide vocabulary: no two stages are alike. */
#define JOB "{\"task\":\"pretrain\",\"model\":{\"layers\":9,\"hidden\":2048,\"heads\":16,\"kv_heads\":8,\"ffn\":8192,"      \
            "\"vocab\":128000,\"tied_embeddings\":false,\"moe\":{\"experts\":16,\"topk\":2,\"ffn\":4096,"              \
            "\"dense_layers\":3}},\"hardware\":{\"gpu\":\"H100\",\"count\":3},\"train\":{\"framework\":\"megatron\","    \
            "\"precision\":\"bf16\",\"attention\":\"flash\",\"recompute\":\"none\",\"zero\":0,\"tp\":1,\"pp\":3,"         \
            "\"grad_accum\":8,\"micro_batch\":2,\"seq_len\":4096,\"pp_layers\":\"%s\"}}"

static planned *plan_of(const char *split) {
    char text[1024];
    snprintf(text, sizeof text, JOB, split);
    planned *p = planned_of(text);
    assert_true(p->made);
    return p;
}

static void test_a_split_is_taken_as_it_is(void **state) {
    (void)state;
    planned *p = plan_of("2, 3,4");
    static const int64_t layers[] = {2, 3, 4}, first[] = {0, 2, 5};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(p->plan.stages[i].share.layers, layers[i]);
        assert_int_equal(p->plan.stages[i].share.first_layer, first[i]);
    }
    planned_free(p);
}

static void test_a_split_that_is_none_is_refused(void **state) {
    (void)state;
    static const char *const wrong[] = {"3,3", "3,3,4", "9,0,0", "3,3,3,", "3;3;3", "three", ",3,6", "3,3,3,0", "99999999,1,1"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char text[1024];
        snprintf(text, sizeof text, JOB, wrong[i]);
        planned *p = planned_of(text);
        assert_false(p->made);
        assert_true(planned_has(p, GP_CODE_STAGE_LAYERS_MISMATCH, "train.pp_layers"));
        planned_free(p);
    }
}

/* Every split there is, against the one that the planner chose. */
static void test_no_split_has_a_lower_worst_stage(void **state) {
    (void)state;
    planned *chosen = plan_of("balance");
    uint64_t worst = chosen->plan.peak.bytes, lowest = UINT64_MAX;
    int64_t squares = 0, fewest = INT64_MAX;
    for (int i = 0; i < 3; i++) squares += chosen->plan.stages[i].share.layers * chosen->plan.stages[i].share.layers;
    for (int a = 1; a <= 7; a++)
        for (int b = 1; a + b <= 8; b++) {
            char split[16];
            snprintf(split, sizeof split, "%d,%d,%d", a, b, 9 - a - b);
            planned *p = plan_of(split);
            if (p->plan.peak.bytes < lowest) lowest = p->plan.peak.bytes;
            int64_t sum = a * a + b * b + (9 - a - b) * (9 - a - b);
            if (p->plan.peak.bytes <= worst && sum < fewest) fewest = sum;
            planned_free(p);
        }
    assert_true((double)worst <= 1.001 * (double)lowest);
    assert_int_equal(squares, fewest);
    planned *even = plan_of("even");
    assert_true(worst < even->plan.peak.bytes);
    planned_free(even);
    planned_free(chosen);
}

static void test_one_stage_has_nothing_to_balance(void **state) {
    (void)state;
    fixture *f = fixture_of("{\"task\":\"pretrain\",\"model\":\"llama-3.1-8b\",\"hardware\":{\"gpu\":\"H100\",\"count\":8},"
                            "\"train\":{\"pp\":1,\"pp_layers\":\"balance\"}}");
    assert_true(f->valid);
    assert_false(f->layout.balances);
    fixture_free(f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_split_is_taken_as_it_is),
        cmocka_unit_test(test_a_split_that_is_none_is_refused),
        cmocka_unit_test(test_no_split_has_a_lower_worst_stage),
        cmocka_unit_test(test_one_stage_has_nothing_to_balance),
    };
    return cmocka_run_group_tests_name("balance", tests, NULL, NULL);
}
