#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cJSON.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpuplan.h"
#include "planned.h"
#include "tree.h"

static const char *const jobs[] = {
    "{\"task\":\"qlora\",\"model\":\"meta-llama/Llama-2-7b-hf\",\"hardware\":{\"gpu\":\"RTX 4090\"},"
    "\"train\":{\"micro_batch\":\"max\"}}",
    "{\"task\":\"lora\",\"model\":\"meta-llama/Llama-3.1-8B\",\"hardware\":{\"gpu\":\"RTX 4090\",\"count\":2},"
    "\"train\":{\"zero\":2,\"seq_len\":8192}}",
    "{\"task\":\"full\",\"model\":\"meta-llama/Llama-3.1-8B\",\"hardware\":{\"gpu\":\"H100\",\"count\":8},"
    "\"train\":{\"seq_len\":4096,\"micro_batch\":2,\"global_batch\":256}}",
    "{\"task\":\"full\",\"ledger\":\"textbook\",\"model\":{\"params\":7e9,\"layers\":32,\"hidden\":4096},"
    "\"hardware\":{\"gpu\":\"RTX 4090\"}}",
    "{\"task\":\"pretrain\",\"model\":\"meta-llama/Llama-3.1-70B\",\"hardware\":{\"gpu\":\"H100\",\"count\":64},"
    "\"train\":{\"tp\":8,\"pp\":4,\"micro_batch\":1,\"global_batch\":128}}",
    "{\"task\":\"full\",\"model\":\"meta-llama/Llama-2-7b-hf\",\"hardware\":{\"gpu\":\"A100\",\"count\":8},"
    "\"train\":{\"zero\":3,\"tp\":1,\"recompute\":\"none\",\"seq_len\":\"max\",\"grad_accum\":4}}",
    "{\"task\":\"infer\",\"model\":\"meta-llama/Llama-3.1-70B\",\"hardware\":{\"gpu\":\"A100\",\"count\":4},"
    "\"infer\":{\"context\":\"max\"}}",
    "{\"task\":\"infer\",\"model\":\"meta-llama/Llama-3.1-8B\",\"hardware\":{\"gpu\":\"L4\"},"
    "\"infer\":{\"context\":8192,\"concurrency\":4}}",
    "{\"task\":\"infer\",\"model\":\"huggyllama/llama-13b\",\"hardware\":{\"gpu\":\"RTX 3090\"},"
    "\"infer\":{\"engine\":\"llama.cpp\",\"weights\":\"gguf:Q4_K_M\",\"context\":4096}}",
    "{\"task\":\"full\",\"ledger\":\"textbook\",\"model\":{\"params\":\"max\"},\"hardware\":{\"gpu\":\"A100\",\"count\":8}}",
    "{\"task\":\"full\",\"model\":\"gpt2\",\"hardware\":{\"gpu\":\"A100\",\"count\":\"auto\"},\"train\":{\"micro_batch\":\"auto\"}}",
};
enum { JOB_COUNT = sizeof jobs / sizeof jobs[0] };

static cJSON *report_of(const char *job) {
    char *request = job_with("{\"gpuplan\":1,\"op\":\"plan\"}", "job", job);
    char *text = gp_answer(request);
    cJSON *report = cJSON_Parse(text);
    assert_non_null(report);
    free(request);
    gp_free(text);
    return report;
}

static char *applied(const char *job, const cJSON *knob) {
    char *changed = job_with(job, "ledger", strstr(job, "textbook") != NULL ? "\"textbook\"" : "\"detailed\"");
    const cJSON *change;
    cJSON_ArrayForEach(change, tree_get(knob, "set")) {
        char *value = cJSON_PrintUnformatted(change);
        char *next = job_with(changed, change->string, value);
        free(value);
        free(changed);
        changed = next;
    }
    return changed;
}

static void test_a_knob_applied_gives_what_it_said(void **state) {
    (void)state;
    for (int i = 0; i < JOB_COUNT; i++) {
        cJSON *report = report_of(jobs[i]);
        const cJSON *knob;
        cJSON_ArrayForEach(knob, tree_get(report, "advice")) {
            char *changed = applied(jobs[i], knob);
            cJSON *after = report_of(changed);
            double before_bytes = tree_get(tree_get(report, "memory"), "peak_bytes")->valuedouble;
            double after_bytes = tree_get(tree_get(after, "memory"), "peak_bytes")->valuedouble;
            if (after_bytes != tree_get(knob, "peak_bytes_after")->valuedouble)
                fail_msg("job %d, %s: %.0f", i, tree_get(knob, "id")->valuestring, after_bytes);
            assert_true(tree_get(knob, "saves_bytes")->valuedouble == before_bytes - after_bytes);
            assert_string_equal(tree_get(after, "verdict")->valuestring, tree_get(knob, "verdict_after")->valuestring);
            cJSON_Delete(after);
            free(changed);
        }
        cJSON_Delete(report);
    }
}

static void test_there_are_three_knobs_and_they_are_ordered_by_cost(void **state) {
    (void)state;
    for (int i = 0; i < JOB_COUNT; i++) {
        planned *p = planned_of(jobs[i]);
        assert_true(p->made);
        if (p->plan.knob_count < 3) fail_msg("job %d has %d knobs", i, p->plan.knob_count);
        int falls = 0;
        for (int k = 1; k < p->plan.knob_count; k++)
            if (p->plan.knobs[k].cost.kind < p->plan.knobs[k - 1].cost.kind) falls++;
        /* Savers and what uses room are two lists, one after the other. */
        assert_true(falls <= (p->plan.verdict == GP_NO ? 0 : 1));
        for (int k = 0; k < p->plan.knob_count; k++)
            if (p->plan.verdict == GP_NO)
                assert_true(p->plan.knobs[k].saves_bytes > 0 || p->plan.knobs[k].verdict_after < GP_NO);
        planned_free(p);
    }
}

typedef struct { const char *group, *key, *arguments; } message;
static const message messages[] = {
#define GP_MESSAGE(group, key, arguments) {#group, #key, arguments},
#include "base/messages.def"
#undef GP_MESSAGE
};

static const message *assert_message(const char *group, const char *key) {
    for (size_t i = 0; i < sizeof messages / sizeof messages[0]; i++)
        if (strcmp(messages[i].group, group) == 0 && strcmp(messages[i].key, key) == 0) return &messages[i];
    fail_msg("%s.%s has no row in messages.def", group, key);
    return NULL;
}

static bool has_argument(const gp_step *step, const char *name, size_t length) {
    for (int i = 0; i < step->number_count; i++)
        if (strlen(step->numbers[i].name) == length && memcmp(step->numbers[i].name, name, length) == 0) return true;
    for (int i = 0; i < step->text_count; i++)
        if (strlen(step->texts[i].name) == length && memcmp(step->texts[i].name, name, length) == 0) return true;
    return false;
}

/* The words of a message may use its arguments, so the step has to give them. */
static void assert_arguments(const gp_step *step, const message *row) {
    for (const char *name = row->arguments; *name != '\0'; name += strspn(name, " ")) {
        size_t length = strcspn(name, " ");
        if (!has_argument(step, name, length)) fail_msg("%s lacks %.*s", row->key, (int)length, name);
        name += length;
    }
}

static void test_every_key_is_a_message_with_its_arguments(void **state) {
    (void)state;
    for (int i = 0; i < JOB_COUNT; i++) {
        planned *p = planned_of(jobs[i]);
        for (int k = 0; k < p->plan.knob_count; k++) assert_message("KNOB", p->plan.knobs[k].id);
        for (int s = 0; s < GP_STEP_COUNT; s++) {
            const gp_step *step = &p->plan.steps[s];
            assert_message("STEP", step->id);
            assert_arguments(step, assert_message("RULE", step->rule));
            if (step->constraint[0] != '\0') assert_arguments(step, assert_message("CONSTRAINT", step->constraint));
        }
        planned_free(p);
    }
    for (int id = 0; id < GP_ITEM_COUNT; id++) assert_message("ITEM", gp_item_key((gp_item_id)id));
    for (int phase = 0; phase < GP_PHASE_COUNT; phase++) assert_message("PHASE", gp_phase_key((gp_phase)phase));
}

static double step_number(const planned *p, int index, const char *name) {
    const gp_step *step = &p->plan.steps[index];
    for (int i = 0; i < step->number_count; i++)
        if (strcmp(step->numbers[i].name, name) == 0) return step->numbers[i].value;
    fail_msg("step %d has no %s", index + 1, name);
    return 0;
}

static void test_five_steps_of_the_course_example(void **state) {
    (void)state;
    planned *p = planned_of("{\"task\":\"full\",\"ledger\":\"textbook\",\"model\":{\"params\":7e9,\"layers\":32,\"hidden\":4096},"
                            "\"hardware\":{\"gpu\":\"A100 SXM4 80GB\",\"count\":8},"
                            "\"train\":{\"micro_batch\":4,\"global_batch\":256}}");
    assert_true(step_number(p, 0, "state_bytes") == 112e9);
    assert_true(step_number(p, 0, "gpu_state_bytes") == 26.25e9);
    assert_true(step_number(p, 1, "zero0_bytes") == 112e9);
    assert_true(step_number(p, 1, "zero1_bytes") == 38.5e9);
    assert_true(step_number(p, 1, "zero2_bytes") == 26.25e9);
    assert_true(step_number(p, 1, "zero3_bytes") == 14e9);
    assert_string_equal(p->plan.steps[1].rule, "zero2_enough");
    assert_string_equal(p->plan.steps[2].rule, "layer_fits");
    assert_true(step_number(p, 3, "grad_accum") == 8);
    assert_string_equal(p->plan.steps[3].rule, "accumulate");
    assert_string_equal(p->plan.steps[3].constraint, "memory");
    assert_string_equal(p->plan.steps[4].rule, "recompute_not_needed");
    planned_free(p);
}

static void test_warnings(void **state) {
    (void)state;
    static const struct { gp_code code; const char *path, *job; } cases[] = {
        {GP_CODE_ZERO3_BEFORE_NEEDED, "train.zero",
         "{\"task\":\"full\",\"model\":\"gpt2\",\"hardware\":{\"gpu\":\"H100\",\"count\":8},\"train\":{\"zero\":3,\"tp\":1}}"},
        {GP_CODE_SPLIT_NOT_NEEDED, "train.tp",
         "{\"task\":\"pretrain\",\"model\":\"gpt2\",\"hardware\":{\"gpu\":\"H100\",\"count\":8},\"train\":{\"tp\":2,\"pp\":2}}"},
        {GP_CODE_TP_ACROSS_NODES, "train.tp",
         "{\"task\":\"pretrain\",\"model\":\"meta-llama/Llama-3.1-70B\",\"hardware\":{\"gpu\":\"H100\",\"count\":16},\"train\":{\"tp\":16}}"},
        {GP_CODE_UNEVEN_STAGES, "train.pp",
         "{\"task\":\"pretrain\",\"model\":\"meta-llama/Llama-2-7b-hf\",\"hardware\":{\"gpu\":\"H100\",\"count\":3},\"train\":{\"pp\":3}}"},
        {GP_CODE_FROZEN_NOT_SHARDED, "train.zero",
         "{\"task\":\"lora\",\"model\":\"gpt2\",\"hardware\":{\"gpu\":\"H100\",\"count\":2},\"train\":{\"zero\":2,\"tp\":1}}"},
        {GP_CODE_ZERO3_NF4_NOT_SHARDED, "train.zero",
         "{\"task\":\"qlora\",\"model\":\"gpt2\",\"hardware\":{\"gpu\":\"H100\",\"count\":2},\"train\":{\"zero\":3,\"tp\":1}}"},
        {GP_CODE_RANK_NOT_A_MEMORY_KNOB, "train.lora.rank",
         "{\"task\":\"lora\",\"model\":\"meta-llama/Llama-2-7b-hf\",\"hardware\":{\"gpu\":\"T4\"},\"train\":{\"lora\":{\"rank\":4}}}"},
        {GP_CODE_CONTEXT_BEYOND_MODEL, "train.seq_len",
         "{\"task\":\"full\",\"model\":\"gpt2\",\"hardware\":{\"gpu\":\"H100\"},\"train\":{\"seq_len\":2048}}"},
        {GP_CODE_FP16_OVERFLOW, "train.precision",
         "{\"task\":\"full\",\"model\":\"gpt2\",\"hardware\":{\"gpu\":\"H100\"},\"train\":{\"precision\":\"fp16\"}}"},
        {GP_CODE_HOST_MEMORY_EXCEEDED, "hardware.host_ram_gib",
         "{\"task\":\"full\",\"model\":\"meta-llama/Llama-2-7b-hf\",\"hardware\":{\"gpu\":\"H100\",\"host_ram_gib\":16},"
         "\"train\":{\"offload\":\"optimizer\"}}"},
        {GP_CODE_LOGITS_DOMINATE, "train.loss",
         "{\"task\":\"full\",\"model\":\"gpt2\",\"hardware\":{\"gpu\":\"H100\"},\"train\":{\"recompute\":\"full\",\"micro_batch\":16,\"seq_len\":1024}}"},
        {GP_CODE_NO_HEADROOM, "",
         "{\"task\":\"infer\",\"model\":\"meta-llama/Llama-3.1-8B\",\"hardware\":{\"gpu\":\"L4\"},\"infer\":{\"context\":\"max\"}}"},
        {GP_CODE_WINDOW_IGNORED, "infer.context",
         "{\"task\":\"infer\",\"ledger\":\"textbook\",\"model\":\"mistralai/Mistral-7B-v0.1\",\"hardware\":{\"gpu\":\"H100\"},\"infer\":{\"context\":16384}}"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        planned *p = planned_of(cases[i].job);
        if (!planned_has(p, cases[i].code, cases[i].path)) fail_msg("%s is missing", gp_code_key(cases[i].code));
        planned_free(p);
    }
}

static void test_a_plain_plan_has_no_warnings(void **state) {
    (void)state;
    planned *p = planned_of("{\"task\":\"full\",\"model\":\"gpt2\",\"hardware\":{\"gpu\":\"H100\"},\"train\":{\"seq_len\":512}}");
    assert_true(p->made);
    for (int i = 0; i < p->plan.diagnostics.count; i++)
        assert_int_equal(gp_code_severity(p->plan.diagnostics.rows[i].code), GP_SEVERITY_ASSUMPTION);
    planned_free(p);
}

static void test_assumptions(void **state) {
    (void)state;
    planned *p = planned_of("{\"task\":\"qlora\",\"model\":\"meta-llama/Llama-2-7b-hf\",\"hardware\":{\"gpu\":\"RTX 4090\","
                            "\"interconnect\":\"PCIe\"},\"train\":{\"micro_batch\":\"max\"},\"infer\":{\"context\":4096}}");
    assert_true(planned_has(p, GP_CODE_DEFAULT_VALUE, "train.lora.targets"));
    assert_true(planned_has(p, GP_CODE_DEFAULT_VALUE, "train.seq_len"));
    assert_true(planned_has(p, GP_CODE_DERIVED_VALUE, "train.precision"));
    assert_true(planned_has(p, GP_CODE_SOLVED_VALUE, "train.micro_batch"));
    assert_true(planned_has(p, GP_CODE_NOT_MODELLED, "hardware.interconnect"));
    assert_true(planned_has(p, GP_CODE_NOT_MODELLED, "infer.context"));
    assert_false(planned_has(p, GP_CODE_DEFAULT_VALUE, "infer.engine"));
    planned_free(p);
}

static void test_a_prompt_beyond_the_context(void **state) {
    (void)state;
#define SERVING(infer) "{\"task\":\"infer\",\"model\":\"llama-2-7b\",\"hardware\":{\"gpu\":\"H100\"},\"infer\":{" infer "}}"
    planned *beyond = planned_of(SERVING("\"context\":512,\"prompt\":494,\"output\":1024"));
    planned *within = planned_of(SERVING("\"context\":1518,\"prompt\":494,\"output\":1024"));
    planned *unsaid = planned_of(SERVING("\"context\":512"));
    assert_true(planned_has(beyond, GP_CODE_PROMPT_BEYOND_CONTEXT, "infer.context"));
    assert_false(planned_has(within, GP_CODE_PROMPT_BEYOND_CONTEXT, "infer.context"));
    assert_false(planned_has(unsaid, GP_CODE_PROMPT_BEYOND_CONTEXT, "infer.context"));
    planned_free(beyond);
    planned_free(within);
    planned_free(unsaid);
#undef SERVING
}

/* Each knob is a job that can be planned, sums over a million GPUs included. */
static void test_knobs_of_a_million_gpus_can_be_planned(void **state) {
    (void)state;
    const char *job = "{\"task\":\"infer\",\"model\":\"gpt2-xl\",\"hardware\":{\"gpu\":\"H200\",\"count\":1048576},"
                      "\"infer\":{\"concurrency\":\"max\"}}";
    planned *p = planned_of(job);
    assert_true(p->made);
    for (int i = 0; i < p->plan.knob_count; i++) {
        const gp_knob *knob = &p->plan.knobs[i];
        char *changed = job_with(job, "task", "\"infer\"");
        for (int k = 0; k < knob->change_count; k++) {
            const gp_change *change = &knob->changes[k];
            if (change->field >= GP_FIELD_TOTAL) continue;
            bool number = gp_field_info((gp_field)change->field)->kind == GP_KIND_WHOLE;
            char value[GP_CHANGE_BYTES + 2];
            snprintf(value, sizeof value, number ? "%s" : "\"%s\"", change->to);
            char *next = job_with(changed, gp_field_info((gp_field)change->field)->path, value);
            free(changed);
            changed = next;
        }
        planned *after = planned_of(changed);
        if (!after->made) fail_msg("%s: %s", knob->id, changed);
        planned_free(after);
        free(changed);
    }
    planned_free(p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_knob_applied_gives_what_it_said),
        cmocka_unit_test(test_there_are_three_knobs_and_they_are_ordered_by_cost),
        cmocka_unit_test(test_every_key_is_a_message_with_its_arguments),
        cmocka_unit_test(test_five_steps_of_the_course_example),
        cmocka_unit_test(test_warnings),
        cmocka_unit_test(test_a_plain_plan_has_no_warnings),
        cmocka_unit_test(test_assumptions),
        cmocka_unit_test(test_a_prompt_beyond_the_context),
        cmocka_unit_test(test_knobs_of_a_million_gpus_can_be_planned),
    };
    return cmocka_run_group_tests_name("advise", tests, NULL, NULL);
}
