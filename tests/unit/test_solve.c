#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/derive.h"
#include "planned.h"

static gp_verdict verdict_with(const char *job, const char *path, double value) {
    char *changed = job_with_number(job, path, value);
    planned *p = planned_of(changed);
    assert_true(p->made);
    gp_verdict verdict = p->plan.verdict;
    planned_free(p);
    free(changed);
    return verdict;
}

/* The maximum fits and the value after it does not, each planned on its own with the choices held. */
static void assert_maximum(const char *job, int field, const char *path) {
    planned *p = planned_of(job);
    assert_true(p->made);
    const gp_solution *solution = planned_solution(p, field);
    assert_true(solution->value >= 1);
    assert_true(solution->fails_at > solution->value);
    assert_int_not_equal(verdict_with(job, path, solution->value), GP_NO);
    assert_int_equal(verdict_with(job, path, solution->fails_at), GP_NO);
    planned_free(p);
}

#define CHOICES "\"recompute\":\"none\",\"zero\":0,\"tp\":1,"

static void test_maxima_fit_and_the_next_value_does_not(void **state) {
    (void)state;
    assert_maximum("{\"task\":\"qlora\",\"model\":\"meta-llama/Llama-2-7b-hf\",\"hardware\":{\"gpu\":\"A100 SXM4 80GB\"},"
                   "\"train\":{" CHOICES "\"micro_batch\":\"max\"}}", GP_FIELD_MICRO_BATCH, "train.micro_batch");
    assert_maximum("{\"task\":\"lora\",\"model\":\"meta-llama/Llama-3.1-8B\",\"hardware\":{\"gpu\":\"H100\"},"
                   "\"train\":{" CHOICES "\"seq_len\":\"max\"}}", GP_FIELD_SEQ_LEN, "train.seq_len");
    assert_maximum("{\"task\":\"infer\",\"model\":\"meta-llama/Llama-3.1-8B\",\"hardware\":{\"gpu\":\"L4\"},"
                   "\"infer\":{\"context\":\"max\"}}", GP_FIELD_CONTEXT, "infer.context");
    assert_maximum("{\"task\":\"infer\",\"model\":\"meta-llama/Llama-3.1-70B\",\"hardware\":{\"gpu\":\"A100\",\"count\":4},"
                   "\"infer\":{\"concurrency\":\"max\",\"context\":4096}}", GP_FIELD_CONCURRENCY, "infer.concurrency");
    assert_maximum("{\"task\":\"infer\",\"model\":\"huggyllama/llama-7b\",\"hardware\":{\"gpu\":\"RTX 3090\"},"
                   "\"infer\":{\"engine\":\"llama.cpp\",\"weights\":\"gguf:Q4_K_M\",\"context\":\"max\"}}",
                   GP_FIELD_CONTEXT, "infer.context");
}

static void test_largest_model(void **state) {
    (void)state;
    const char *job = "{\"task\":\"full\",\"ledger\":\"textbook\",\"model\":{\"params\":\"max\"},"
                      "\"hardware\":{\"gpu\":\"A100 SXM4 80GB\",\"count\":8},\"train\":{\"zero\":3,\"tp\":1,\"recompute\":\"none\"},"
                      "\"textbook\":{\"state_bytes_per_parameter\":12,\"activation_coefficient\":40}}";
    assert_maximum(job, GP_FIELD_TOTAL, "model.params");
    planned *p = planned_of(job);
    /* 1.5 N + 40 B T h L: 45 + 32.7 GB at 30B, so the ceiling is a little above. */
    double params = planned_solution(p, GP_FIELD_TOTAL)->value;
    assert_true(params > 30e9 && params < 34e9);
    assert_true(p->plan.model.total_params > (uint64_t)(params * 0.99));
    assert_true(p->plan.model.total_params < (uint64_t)(params * 1.01));
    planned_free(p);
}

/* Choices left open are those that hold most, made anew for the size found; the maximum holds with them written out. */
static void test_largest_model_with_open_choices(void **state) {
    (void)state;
    const char *job = "{\"task\":\"full\",\"ledger\":\"textbook\",\"model\":{\"params\":\"max\"},"
                      "\"hardware\":{\"gpu\":\"A100 SXM4 80GB\",\"count\":8}}";
    planned *p = planned_of(job), *least = planned_of("{\"task\":\"full\",\"ledger\":\"textbook\",\"model\":{\"params\":\"max\"},"
                      "\"hardware\":{\"gpu\":\"A100 SXM4 80GB\",\"count\":8},\"train\":{\"zero\":0,\"tp\":1}}");
    const gp_solution *size = planned_solution(p, GP_FIELD_TOTAL);
    assert_true(size->value > 4 * planned_solution(least, GP_FIELD_TOTAL)->value);
    assert_int_not_equal(p->plan.verdict, GP_NO);
    char *held = job_with_number(job, "train.zero", planned_solution(p, GP_FIELD_ZERO)->value);
    char *also = job_with_number(held, "train.tp", planned_solution(p, GP_FIELD_TP)->value);
    char recompute[16];
    gp_setting_text(&p->plan.job, GP_FIELD_RECOMPUTE, recompute, sizeof recompute);
    char quoted[24];
    snprintf(quoted, sizeof quoted, "\"%s\"", recompute);
    char *all = job_with(also, "train.recompute", quoted);
    assert_int_not_equal(verdict_with(all, "model.params", size->value), GP_NO);
    assert_int_equal(verdict_with(all, "model.params", size->fails_at), GP_NO);
    assert_int_equal(p->plan.diagnostics.rows[0].code, GP_CODE_FAMILY_SCALED);
    planned_free(p);
    planned_free(least);
    free(held);
    free(also);
    free(all);
}

static void test_the_course_example_takes_zero_2(void **state) {
    (void)state;
    planned *p = planned_of("{\"task\":\"full\",\"ledger\":\"textbook\",\"model\":{\"params\":7e9,\"layers\":32,\"hidden\":4096},"
                            "\"hardware\":{\"gpu\":\"A100 SXM4 80GB\",\"count\":8},"
                            "\"train\":{\"micro_batch\":4,\"global_batch\":256}}");
    assert_true(p->made);
    assert_int_equal((int)planned_solution(p, GP_FIELD_ZERO)->value, 2);
    assert_int_equal((int)planned_solution(p, GP_FIELD_TP)->value, 1);
    assert_int_equal(p->plan.layout.grad_accum, 8);
    assert_int_equal(p->plan.verdict, GP_FITS);
    assert_int_equal(p->plan.peak.bytes, 26250000000 + UINT64_C(34) * 4 * 2048 * 4096 * 32);
    planned_free(p);
}

static void test_given_fields_stay(void **state) {
    (void)state;
    planned *p = planned_of("{\"task\":\"full\",\"ledger\":\"textbook\",\"model\":{\"params\":7e9,\"layers\":32,\"hidden\":4096},"
                            "\"hardware\":{\"gpu\":\"A100 SXM4 80GB\",\"count\":8},\"train\":{\"zero\":1,\"micro_batch\":8}}");
    assert_true(p->made);
    assert_int_equal(p->plan.layout.zero, 1);
    /* 38.5 + 73.0 GB: only recomputing everything brings it down to one card's size. */
    assert_true(gp_choice_is(&p->plan.job, GP_FIELD_RECOMPUTE, "full"));
    planned_free(p);
}

static void test_smallest_peak_when_nothing_fits(void **state) {
    (void)state;
    const char *job = "{\"task\":\"full\",\"ledger\":\"textbook\",\"model\":{\"params\":70e9,\"layers\":80,\"hidden\":8192},"
                      "\"hardware\":{\"gpu\":\"RTX 4090\",\"count\":2},\"train\":{\"tp\":1}}";
    planned *p = planned_of(job);
    assert_true(p->made);
    assert_int_equal(p->plan.verdict, GP_NO);
    for (int zero = 0; zero < 4; zero++) {
        char *changed = job_with_number(job, "train.zero", zero);
        planned *other = planned_of(changed);
        assert_true(other->plan.peak.bytes >= p->plan.peak.bytes);
        planned_free(other);
        free(changed);
    }
    planned_free(p);
}

static void test_maximum_that_no_value_reaches(void **state) {
    (void)state;
    planned *p = planned_of("{\"task\":\"infer\",\"model\":\"meta-llama/Llama-3.1-70B\",\"hardware\":{\"gpu\":\"L4\"},"
                            "\"infer\":{\"context\":\"max\"}}");
    assert_true(p->made);
    assert_int_equal(p->plan.verdict, GP_NO);
    assert_int_equal((int)planned_solution(p, GP_FIELD_CONTEXT)->value, 1);
    assert_int_equal((int)planned_solution(p, GP_FIELD_CONTEXT)->fails_at, 1);
    assert_int_equal(p->plan.kv.max_context, 0);
    assert_int_equal(p->plan.kv.max_tokens, 0);
    planned_free(p);
}

static void test_fewest_gpus(void **state) {
    (void)state;
    const char *job = "{\"task\":\"infer\",\"model\":\"meta-llama/Llama-3.1-70B\",\"hardware\":{\"gpu\":\"H100\",\"count\":\"auto\"}}";
    planned *p = planned_of(job);
    assert_true(p->made);
    double count = planned_solution(p, GP_FIELD_COUNT)->value;
    assert_int_equal(p->plan.verdict, GP_FITS);
    assert_true(count > 1);
    assert_int_not_equal(verdict_with(job, "hardware.count", count / 2), GP_FITS);
    assert_int_equal(verdict_with(job, "hardware.count", count), GP_FITS);
    planned_free(p);
}

/* Whatever the framework, ZeRO and recompute; with the highest stage of ZeRO in place of the job's it is no more. */
static void test_states_alone_are_below_the_peak(void **state) {
    (void)state;
    static const char *const frameworks[] = {"deepspeed", "megatron", "fsdp", "torchtitan", "hf-trainer"};
    static const char *const policies[] = {"none", "selective", "full"};
    static const char *const models[] = {"meta-llama/Llama-2-7b-hf", "mistralai/Mixtral-8x7B-v0.1"};
    char job[400];
    for (int i = 0; i < 5 * 4 * 3 * 2 * 2; i++) {
        const char *framework = frameworks[i % 5], *policy = policies[i / 20 % 3], *model = models[i / 60 % 2];
        snprintf(job, sizeof job,
                 "{\"task\":\"full\",\"model\":\"%s\",\"hardware\":{\"gpu\":\"H100\",\"count\":8},\"train\":"
                 "{\"framework\":\"%s\",\"zero\":%d,\"recompute\":\"%s\",\"tp\":%d}}",
                 model, framework, i / 5 % 4, policy, i / 120 + 1);
        planned *p = planned_of(job);
        assert_true(p->made);
        gp_plan *plan = &p->plan;
        uint64_t least = gp_ledger_least(&plan->job, &plan->model, &plan->layout);
        assert_true(least > 0 && least <= plan->stages[0].peak_bytes);
        plan->layout.zero = 3;
        assert_true(gp_ledger_least(&plan->job, &plan->model, &plan->layout) <= least);
        planned_free(p);
    }
    /* Weights and gradients 2 bytes each, master copy 4, moments 8; the step's gradient, flat and in fp32, 6 more. */
    planned *p = planned_of("{\"task\":\"full\",\"model\":\"meta-llama/Llama-2-7b-hf\",\"hardware\":{\"gpu\":\"H100\",\"count\":8},"
                            "\"train\":{\"framework\":\"deepspeed\",\"zero\":3,\"tp\":1}}");
    assert_true(p->made);
    assert_int_equal(gp_ledger_least(&p->plan.job, &p->plan.model, &p->plan.layout), UINT64_C(6738415616) * 22 / 8);
    planned_free(p);
}

static void test_fewest_gpus_of_training(void **state) {
    (void)state;
    const char *job = "{\"task\":\"full\",\"model\":\"meta-llama/Llama-3.1-70B\",\"hardware\":{\"gpu\":\"H100\",\"count\":\"auto\"}}";
    planned *p = planned_of(job);
    assert_true(p->made);
    assert_int_equal(p->plan.verdict, GP_FITS);
    assert_int_equal(planned_solution(p, GP_FIELD_COUNT)->value, 24);
    planned_free(p);
    for (int count = 1; count <= 16; count += count < 8 ? 1 : 8)
        assert_int_equal(verdict_with(job, "hardware.count", count), GP_NO);
}

/* Without sharding no number of GPUs holds it: the count with the smallest peak is found all the same. */
static void test_fewest_gpus_when_no_count_fits(void **state) {
    (void)state;
    const char *job = "{\"task\":\"full\",\"model\":\"meta-llama/Llama-3.1-70B\",\"hardware\":{\"gpu\":\"H100\",\"count\":\"auto\"},"
                      "\"train\":{\"zero\":1,\"tp\":1}}";
    planned *p = planned_of(job);
    assert_true(p->made);
    assert_int_equal(p->plan.verdict, GP_NO);
    int64_t count = (int64_t)planned_solution(p, GP_FIELD_COUNT)->value;
    uint64_t least = p->plan.peak.bytes;
    planned_free(p);
    for (int64_t other = 1; other <= 64; other = other < 8 ? other + 1 : other * 2) {
        char *changed = job_with_number(job, "hardware.count", (double)other);
        p = planned_of(changed);
        assert_true(p->made);
        assert_true(p->plan.peak.bytes >= least + (other < count ? 1 : 0));
        planned_free(p);
        free(changed);
    }
    assert_true(count > 8);
}

static void test_micro_batch_divides_the_global_batch(void **state) {
    (void)state;
    planned *p = planned_of("{\"task\":\"full\",\"ledger\":\"textbook\",\"model\":{\"params\":7e9,\"layers\":32,\"hidden\":4096},"
                            "\"hardware\":{\"gpu\":\"A100 SXM4 80GB\",\"count\":8},"
                            "\"train\":{\"zero\":2,\"tp\":1,\"recompute\":\"none\",\"micro_batch\":\"max\",\"global_batch\":96}}");
    assert_true(p->made);
    /* 12 sequences a replica: 5 would fit, but of the divisors 4 is the largest that does and 6 the next. */
    assert_int_equal((int)planned_solution(p, GP_FIELD_MICRO_BATCH)->value, 4);
    assert_int_equal((int)planned_solution(p, GP_FIELD_MICRO_BATCH)->fails_at, 6);
    assert_int_equal(p->plan.layout.grad_accum, 3);
    planned_free(p);
}

static void test_micro_batch_between_batch_and_accumulation(void **state) {
    (void)state;
    static const char *const wanted[] = {"\"auto\"", "\"max\""};
    for (int i = 0; i < 2; i++) {
        char *job = job_with("{\"task\":\"full\",\"model\":\"gpt2\",\"hardware\":{\"gpu\":\"A100\",\"count\":4},"
                             "\"train\":{\"tp\":1,\"global_batch\":64,\"grad_accum\":4,\"seq_len\":128}}",
                             "train.micro_batch", wanted[i]);
        planned *p = planned_of(job);
        assert_true(p->made);
        assert_int_equal((int)planned_solution(p, GP_FIELD_MICRO_BATCH)->value, 4);
        planned_free(p);
        free(job);
    }
}

static void test_open_batch_is_the_largest_power_of_two_that_fits(void **state) {
    (void)state;
    const char *job = "{\"task\":\"full\",\"ledger\":\"textbook\",\"model\":{\"params\":7e9,\"layers\":32,\"hidden\":4096},"
                      "\"hardware\":{\"gpu\":\"A100 SXM4 80GB\",\"count\":8},"
                      "\"train\":{\"zero\":2,\"tp\":1,\"recompute\":\"none\",\"micro_batch\":\"auto\",\"global_batch\":256}}";
    planned *p = planned_of(job);
    assert_true(p->made);
    assert_int_equal((int)planned_solution(p, GP_FIELD_MICRO_BATCH)->value, 4);
    assert_int_not_equal(verdict_with(job, "train.micro_batch", 8), GP_FITS);
    planned_free(p);
}

static void test_two_maxima(void **state) {
    (void)state;
    planned *p = planned_of("{\"task\":\"infer\",\"model\":\"gpt2\",\"hardware\":{\"gpu\":\"L4\"},"
                            "\"infer\":{\"context\":\"max\",\"concurrency\":\"max\"}}");
    assert_false(p->made);
    assert_true(planned_has(p, GP_CODE_SEVERAL_MAXIMA, "infer.concurrency"));
    planned_free(p);
}

static void test_impossible_layouts_are_errors(void **state) {
    (void)state;
    planned *p = planned_of("{\"task\":\"full\",\"model\":\"meta-llama/Llama-2-7b-hf\",\"hardware\":{\"gpu\":\"H100\",\"count\":8},"
                            "\"train\":{\"tp\":3,\"pp\":64}}");
    assert_false(p->made);
    assert_true(planned_has(p, GP_CODE_HEADS_NOT_DIVISIBLE, "train.tp"));
    assert_true(planned_has(p, GP_CODE_LAYERS_NOT_ENOUGH, "train.pp"));
    assert_true(planned_has(p, GP_CODE_PARALLEL_MISMATCH, "hardware.count"));
    planned_free(p);
}

static void test_count_follows_degrees(void **state) {
    (void)state;
    planned *p = planned_of("{\"task\":\"pretrain\",\"model\":\"meta-llama/Llama-2-7b-hf\",\"hardware\":{\"gpu\":\"H100\"},"
                            "\"train\":{\"tp\":4,\"pp\":2,\"dp\":3}}");
    assert_true(p->made);
    assert_int_equal(p->plan.layout.gpus, 24);
    assert_int_equal(gp_origin_of(&p->plan.job, GP_FIELD_COUNT), GP_DERIVED);
    planned_free(p);
}

static void test_old_devices_give_way_or_refuse(void **state) {
    (void)state;
    const char *job = "{\"task\":\"lora\",\"model\":\"meta-llama/Llama-2-7b-hf\",\"hardware\":{\"gpu\":\"V100\"}}";
    planned *p = planned_of(job);
    assert_true(p->made);
    assert_true(gp_choice_is(&p->plan.job, GP_FIELD_PRECISION, "fp16"));
    assert_true(planned_has(p, GP_CODE_BF16_NOT_ON_GPU, "train.precision"));
    assert_true(planned_has(p, GP_CODE_FLASH_NOT_ON_GPU, "train.attention"));
    planned_free(p);
    char *insisting = job_with(job, "train", "{\"precision\":\"bf16\",\"attention\":\"flash\"}");
    p = planned_of(insisting);
    assert_false(p->made);
    assert_true(planned_has(p, GP_CODE_FORMAT_NOT_ON_GPU, "train.precision"));
    assert_true(planned_has(p, GP_CODE_ATTENTION_NOT_ON_GPU, "train.attention"));
    planned_free(p);
    free(insisting);
}

static void test_the_longest_sequence_divides_by_context_parallelism(void **state) {
    (void)state;
    planned *p = planned_of("{\"task\":\"pretrain\",\"model\":\"llama-2-7b\",\"hardware\":{\"gpu\":\"H100\",\"count\":24},"
                            "\"train\":{\"tp\":8,\"cp\":3,\"seq_len\":\"max\"}}");
    assert_true(p->made);
    const gp_solution *found = planned_solution(p, GP_FIELD_SEQ_LEN);
    assert_int_equal((int64_t)found->value % 3, 0);
    assert_int_equal((int64_t)(found->fails_at - found->value), 3);
    planned_free(p);
}

static void test_a_sequence_that_does_not_divide(void **state) {
    (void)state;
#define UNEVEN(framework) "{\"task\":\"full\",\"model\":\"llama-2-7b\",\"hardware\":{\"gpu\":\"H100\",\"count\":2}," \
                          "\"train\":{\"cp\":2,\"seq_len\":8055,\"framework\":\"" framework "\"}}"
    planned *refused = planned_of(UNEVEN("megatron")), *padded = planned_of(UNEVEN("hf-trainer"));
    assert_false(refused->made);
    assert_true(planned_has(refused, GP_CODE_SEQUENCE_NOT_DIVISIBLE, "train.seq_len"));
    assert_true(padded->made);
    assert_true(planned_has(padded, GP_CODE_SEQUENCE_PADDED, "train.seq_len"));
    planned_free(refused);
    planned_free(padded);
#undef UNEVEN
}

/* A family's own dimensions would not split or stack as the job asks; those tried for it do. */
static void test_largest_model_with_stated_dimensions(void **state) {
    (void)state;
    static const char *const jobs[] = {
        "{\"task\":\"infer\",\"model\":{\"params\":\"max\",\"layers\":32},\"hardware\":{\"gpu\":\"H100\"}}",
        "{\"task\":\"infer\",\"model\":{\"params\":\"max\",\"hidden\":4096},\"hardware\":{\"gpu\":\"H100\"}}",
        "{\"task\":\"infer\",\"model\":{\"params\":\"max\",\"kv_heads\":8},\"hardware\":{\"gpu\":\"H100\"}}",
        "{\"task\":\"infer\",\"model\":{\"params\":\"max\"},\"hardware\":{\"gpu\":\"H100\",\"count\":2},\"infer\":{\"tp\":2}}",
        "{\"task\":\"full\",\"model\":{\"params\":\"max\"},\"hardware\":{\"gpu\":\"H100\",\"count\":8},\"train\":{\"tp\":8,"
        "\"recompute\":\"full\",\"zero\":0}}",
        "{\"task\":\"full\",\"model\":{\"params\":\"max\"},\"hardware\":{\"gpu\":\"H100\",\"count\":8},\"train\":{\"pp\":2,"
        "\"tp\":4,\"recompute\":\"full\",\"zero\":0}}",
    };
    for (size_t i = 0; i < sizeof jobs / sizeof jobs[0]; i++) {
        assert_maximum(jobs[i], GP_FIELD_TOTAL, "model.params");
        planned *p = planned_of(jobs[i]);
        assert_true(planned_solution(p, GP_FIELD_TOTAL)->value > 20e9);
        planned_free(p);
    }
    planned *p = planned_of("{\"task\":\"infer\",\"model\":{\"params\":\"max\",\"layers\":32,\"hidden\":4096,\"ffn\":11008},"
                            "\"hardware\":{\"gpu\":\"H100\"}}");
    assert_false(p->made);
    assert_true(planned_has(p, GP_CODE_NOT_SOLVABLE, "model.params"));
    planned_free(p);
}

static void test_a_plan_that_fails_says_why(void **state) {
    (void)state;
    planned *p = planned_of("{\"task\":\"infer\",\"model\":\"gpt2\",\"hardware\":{\"gpu\":\"L4\"}}");
    gp_diagnostics_clear(&p->plan.diagnostics);
    gp_diagnostics_clear(&p->plan.scratch);
    gp_plan_explain(&p->plan);
    assert_true(planned_has(p, GP_CODE_UNSOLVED, ""));
    gp_diagnostics_clear(&p->plan.diagnostics);
    for (int i = 0; i < GP_DIAGNOSTICS_MAX; i++) gp_diagnose(&p->plan.diagnostics, GP_CODE_DEFAULT_VALUE, "task");
    gp_diagnose(&p->plan.scratch, GP_CODE_NO_HEADROOM, "");
    gp_diagnose(&p->plan.scratch, GP_CODE_LAYERS_NOT_ENOUGH, "train.pp");
    gp_plan_explain(&p->plan);
    assert_true(planned_has(p, GP_CODE_LAYERS_NOT_ENOUGH, "train.pp"));
    assert_false(planned_has(p, GP_CODE_UNSOLVED, ""));
    planned_free(p);
}

/* What follows from the task is the same job when it is written out. */
static void test_a_derived_framework_written_out(void **state) {
    (void)state;
    static const char *const tasks[] = {"pretrain", "full", "lora", "qlora"};
    for (int i = 0; i < 8; i++) {
        char job[256], quoted[32], name[24];
        snprintf(job, sizeof job, "{\"task\":\"%s\",\"model\":\"meta-llama/Llama-3.1-8B\",\"hardware\":{\"gpu\":\"B200\",\"count\":%d},"
                 "\"train\":{\"recompute\":\"full\"}}", tasks[i % 4], i < 4 ? 1 : 8);
        planned *p = planned_of(job);
        gp_setting_text(&p->plan.job, GP_FIELD_FRAMEWORK, name, sizeof name);
        snprintf(quoted, sizeof quoted, "\"%s\"", name);
        char *written = job_with(job, "train.framework", quoted);
        planned *again = planned_of(written);
        assert_int_equal(again->plan.peak.bytes, p->plan.peak.bytes);
        assert_int_equal(gp_whole(&again->plan.job, GP_FIELD_MASTER_WEIGHTS), gp_whole(&p->plan.job, GP_FIELD_MASTER_WEIGHTS));
        if (i == 1) {
            assert_string_equal(name, "deepspeed");
            assert_true(gp_whole(&p->plan.job, GP_FIELD_MASTER_WEIGHTS) != 0);
        }
        free(written);
        planned_free(p);
        planned_free(again);
    }
}

/* ZeRO-1 fits with two sequences, ZeRO-2 at the same price with four. */
static void test_open_zero_lets_an_open_batch_grow(void **state) {
    (void)state;
    planned *p = planned_of("{\"task\":\"full\",\"ledger\":\"textbook\",\"model\":{\"params\":7e9,\"layers\":32,\"hidden\":4096},"
                            "\"hardware\":{\"gpu\":\"H100\",\"count\":8},"
                            "\"train\":{\"micro_batch\":\"auto\",\"global_batch\":256}}");
    assert_int_equal((int)planned_solution(p, GP_FIELD_ZERO)->value, 2);
    assert_int_equal((int)planned_solution(p, GP_FIELD_MICRO_BATCH)->value, 4);
    assert_int_equal(p->plan.layout.grad_accum, 8);
    assert_int_equal(p->plan.verdict, GP_FITS);
    planned_free(p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_maxima_fit_and_the_next_value_does_not),
        cmocka_unit_test(test_largest_model),
        cmocka_unit_test(test_largest_model_with_open_choices),
        cmocka_unit_test(test_largest_model_with_stated_dimensions),
        cmocka_unit_test(test_a_plan_that_fails_says_why),
        cmocka_unit_test(test_a_derived_framework_written_out),
        cmocka_unit_test(test_open_zero_lets_an_open_batch_grow),
        cmocka_unit_test(test_the_course_example_takes_zero_2),
        cmocka_unit_test(test_given_fields_stay),
        cmocka_unit_test(test_smallest_peak_when_nothing_fits),
        cmocka_unit_test(test_maximum_that_no_value_reaches),
        cmocka_unit_test(test_fewest_gpus),
        cmocka_unit_test(test_states_alone_are_below_the_peak),
        cmocka_unit_test(test_fewest_gpus_of_training),
        cmocka_unit_test(test_fewest_gpus_when_no_count_fits),
        cmocka_unit_test(test_micro_batch_divides_the_global_batch),
        cmocka_unit_test(test_micro_batch_between_batch_and_accumulation),
        cmocka_unit_test(test_open_batch_is_the_largest_power_of_two_that_fits),
        cmocka_unit_test(test_two_maxima),
        cmocka_unit_test(test_impossible_layouts_are_errors),
        cmocka_unit_test(test_count_follows_degrees),
        cmocka_unit_test(test_old_devices_give_way_or_refuse),
        cmocka_unit_test(test_the_longest_sequence_divides_by_context_parallelism),
        cmocka_unit_test(test_a_sequence_that_does_not_divide),
    };
    return cmocka_run_group_tests_name("solve", tests, NULL, NULL);
}
