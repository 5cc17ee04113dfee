#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cJSON.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "faults.h"
#include "request/job_parts.h"
#include "job_text.h"
#include "tree.h"

/* ---- The table --------------------------------------------------------------------------------------------------- */

static void test_rows_make_sense(void **state) {
    (void)state;
    for (int i = 0; i < GP_FIELD_TOTAL; i++) {
        const gp_field_row *row = gp_field_info((gp_field)i);
        assert_int_equal(row->field, i);
        assert_int_equal(gp_field_of_path(row->path), i);
        assert_true(row->min <= row->max);
        assert_true(row->link[0] != '\0');
        bool listed = row->kind == GP_KIND_CHOICE || row->kind == GP_KIND_OPEN;
        assert_true(listed == (gp_choice_count(row->field) > 0));
        bool is_number = row->kind == GP_KIND_WHOLE || row->kind == GP_KIND_REAL;
        bool open = strcmp(row->initial, "auto") == 0 && (row->solve & GP_SOLVE_AUTO) != 0;
        if (!is_number || row->initial[0] == '\0' || open) continue;
        assert_int_equal(strspn(row->initial, "0123456789"), strlen(row->initial));
    }
    assert_int_equal(gp_field_of_path("train"), GP_FIELD_TOTAL);
    assert_int_equal(gp_field_of_path(""), GP_FIELD_TOTAL);
}

/* Two fields may share a link key only when no task has both. */
static void test_link_keys_are_unique_within_a_task(void **state) {
    (void)state;
    for (int i = 0; i < GP_FIELD_TOTAL; i++) {
        for (int j = 0; j < i; j++) {
            const gp_field_row *a = gp_field_info((gp_field)i);
            const gp_field_row *b = gp_field_info((gp_field)j);
            assert_true(strcmp(a->link, b->link) != 0 || (a->tasks & b->tasks) == 0);
            assert_true(strcmp(a->path, b->path) != 0);
        }
    }
}

static void test_choices(void **state) {
    (void)state;
    int length = 0;
    assert_int_equal(gp_choice_count(GP_FIELD_TASK), 5);
    assert_memory_equal(gp_choice_text(GP_FIELD_TASK, GP_QLORA, &length), "qlora", 5);
    assert_int_equal(length, 5);
    gp_choice_text(GP_FIELD_TASK, 5, &length);
    assert_int_equal(length, 0);
    gp_choice_text(GP_FIELD_TASK, -1, &length);
    assert_int_equal(length, 0);
    gp_choice_text(GP_FIELD_SEQ_LEN, 0, &length);
    assert_int_equal(length, 0);
}

/* ---- Defaults and values ----------------------------------------------------------------------------------------- */

static const char *text_of(gp_field field) {
    static char text[GP_TEXT_BYTES];
    gp_setting_text(&job, field, text, (int)sizeof text);
    return text;
}

static void test_defaults(void **state) {
    (void)state;
    assert_string_equal(read_job("{\"task\":\"full\",\"model\":\"gpt2\"}"), "");
    for (int i = 0; i < GP_FIELD_TOTAL; i++) {
        if (i != GP_FIELD_TASK) assert_string_equal(text_of((gp_field)i), gp_field_info((gp_field)i)->initial);
    }
    assert_int_equal(gp_task_of(&job), GP_FULL);
    assert_int_equal(gp_whole(&job, GP_FIELD_SEQ_LEN), 2048);
    assert_int_equal(gp_origin_of(&job, GP_FIELD_SEQ_LEN), GP_DEFAULT);
    assert_int_equal(gp_origin_of(&job, GP_FIELD_ZERO), GP_AUTO);
    assert_int_equal(gp_origin_of(&job, GP_FIELD_CONTEXT), GP_ABSENT);
    assert_string_equal(job.settings[GP_FIELD_KV].text, "auto");
    assert_int_equal(job.model.tied_embeddings, -1);
}

static void test_values_of_every_kind(void **state) {
    (void)state;
    const char *text = "{\"task\":\"LoRA\",\"model\":\"gpt2\",\"hardware\":{\"gpu\":\"H100\",\"count\":\"auto\"},"
                       "\"train\":{\"micro_batch\":\"max\",\"seq_len\":4096,\"dropout\":0.1,\"precision\":\"BF16\","
                       "\"packed\":true,\"framework\":\"my own\",\"fsdp\":\"FSDP2\",\"compile\":true,\"zero\":3,"
                       "\"lora\":{\"rank\":8,\"targets\":\"q,v\"}}}";
    assert_string_equal(read_job(text), "");
    assert_int_equal(gp_task_of(&job), GP_LORA);
    assert_true(gp_is_adapter(&job));
    assert_int_equal(gp_origin_of(&job, GP_FIELD_COUNT), GP_AUTO);
    assert_int_equal(gp_origin_of(&job, GP_FIELD_MICRO_BATCH), GP_MAX);
    assert_false(gp_known(&job, GP_FIELD_MICRO_BATCH));
    assert_string_equal(text_of(GP_FIELD_SEQ_LEN), "4096");
    assert_string_equal(text_of(GP_FIELD_DROPOUT), "0.1");
    assert_string_equal(text_of(GP_FIELD_PRECISION), "bf16");
    assert_string_equal(text_of(GP_FIELD_PACKED), "true");
    assert_string_equal(text_of(GP_FIELD_FRAMEWORK), "my own");
    assert_int_equal(gp_whole(&job, GP_FIELD_FRAMEWORK), -1);
    assert_string_equal(text_of(GP_FIELD_COMPILE), "true");
    assert_string_equal(text_of(GP_FIELD_MICRO_BATCH), "max");
    assert_int_equal(job.lora_targets, GP_TARGET_Q | GP_TARGET_V);
    assert_string_equal(job.gpu.name, "H100");
    assert_false(job.gpu.custom);
}

static void test_null_is_absent(void **state) {
    (void)state;
    assert_string_equal(read_job("{\"task\":\"full\",\"model\":\"gpt2\",\"hardware\":null,\"infer\":null,\"ledger\":null,"
                                 "\"calibration\":null,\"train\":{\"lora\":null,\"seq_len\":null,\"optimizer\":null}}"), "");
    assert_int_equal(gp_origin_of(&job, GP_FIELD_SEQ_LEN), GP_DEFAULT);
    assert_string_equal(read_job("{\"task\":null,\"model\":null}"), "missing task\nmissing model");
}

static void test_setting_values(void **state) {
    (void)state;
    read_job("{\"task\":\"full\",\"model\":\"gpt2\"}");
    gp_set_whole(&job, GP_FIELD_ZERO, 2, GP_SOLVED);
    assert_string_equal(text_of(GP_FIELD_ZERO), "2");
    gp_set_real(&job, GP_FIELD_MEMORY_UTILIZATION, 0.9, GP_DERIVED);
    assert_string_equal(text_of(GP_FIELD_MEMORY_UTILIZATION), "0.9");
    gp_set_whole(&job, GP_FIELD_FRAMEWORK, 1, GP_DERIVED);
    assert_string_equal(text_of(GP_FIELD_FRAMEWORK), "megatron");
    char small[4];
    assert_int_equal(gp_setting_text(&job, GP_FIELD_FRAMEWORK, small, sizeof small), 3);
    assert_string_equal(small, "meg");
}

/* ---- Faults ------------------------------------------------------------------------------------------------------ */

/* Reads a job of a task that has the field, with the field set to the JSON text `value`. */
static const char *read_with(const gp_field_row *row, const char *value) {
    cJSON *tree = cJSON_CreateObject();
    tree_put(tree, "task", cJSON_CreateString(row->tasks == GP_TASKS_INFER ? "infer" : "qlora"));
    tree_put(tree, "model", cJSON_CreateString("gpt2"));
    tree_put(tree, row->path, cJSON_Parse(value));
    return read_job_tree(tree);
}

static void assert_field_fault(const gp_field_row *row, const char *value, const char *code) {
    char expected[GP_PATH_BYTES + 64];
    snprintf(expected, sizeof expected, "%s %s", code, row->path);
    assert_string_equal(read_with(row, value), code[0] == '\0' ? "" : expected);
}

static const char *expected_type(gp_kind kind) {
    static const char *const names[] = {"integer", "number", "boolean", "choice", "text", "text"};
    return names[kind];
}

static void test_every_field_refuses_wrong_types(void **state) {
    (void)state;
    for (int i = 0; i < GP_FIELD_TOTAL; i++) {
        const gp_field_row *row = gp_field_info((gp_field)i);
        assert_field_fault(row, "[1]", "wrong_type");
        assert_string_equal(fault_argument(&faults, GP_CODE_WRONG_TYPE, "expected"), expected_type(row->kind));
        if (i != GP_FIELD_WEIGHTS) assert_field_fault(row, "{}", "wrong_type");
        bool is_number = row->kind == GP_KIND_WHOLE || row->kind == GP_KIND_REAL;
        assert_field_fault(row, is_number ? "true" : "7", "wrong_type");
        if (is_number || row->kind == GP_KIND_SWITCH) assert_field_fault(row, "\"many\"", "wrong_type");
    }
}

static void test_every_number_keeps_its_range(void **state) {
    (void)state;
    for (int i = 0; i < GP_FIELD_TOTAL; i++) {
        const gp_field_row *row = gp_field_info((gp_field)i);
        if (row->kind != GP_KIND_WHOLE && row->kind != GP_KIND_REAL) continue;
        char value[64];
        double step = row->kind == GP_KIND_WHOLE ? 1 : 0.001;
        snprintf(value, sizeof value, "%.17g", row->min);
        assert_field_fault(row, value, "");
        snprintf(value, sizeof value, "%.17g", row->max);
        assert_field_fault(row, value, "");
        snprintf(value, sizeof value, "%.17g", row->min - step);
        assert_field_fault(row, value, "out_of_range");
        snprintf(value, sizeof value, "%.17g", row->max * 1.01 + step);
        assert_field_fault(row, value, "out_of_range");
        snprintf(value, sizeof value, "%.15g", row->max);
        assert_string_equal(fault_argument(&faults, GP_CODE_OUT_OF_RANGE, "max"), value);
        if (row->kind == GP_KIND_WHOLE) {
            snprintf(value, sizeof value, "%.17g", row->min + 0.5);
            assert_field_fault(row, value, "not_a_whole_number");
        }
        assert_field_fault(row, "1e999", "not_finite");
    }
}

static void test_every_field_knows_what_is_solvable(void **state) {
    (void)state;
    for (int i = 0; i < GP_FIELD_TOTAL; i++) {
        const gp_field_row *row = gp_field_info((gp_field)i);
        bool text = row->kind == GP_KIND_TEXT || row->kind == GP_KIND_OPEN;
        bool takes_auto = text || (row->solve & GP_SOLVE_AUTO) != 0;
        bool takes_max = text || (row->solve & GP_SOLVE_MAX) != 0;
        assert_field_fault(row, "\"auto\"", takes_auto ? "" : "not_solvable");
        assert_field_fault(row, "\"max\"", takes_max ? "" : "not_solvable");
    }
}

static void test_every_choice_list(void **state) {
    (void)state;
    for (int i = 0; i < GP_FIELD_TOTAL; i++) {
        const gp_field_row *row = gp_field_info((gp_field)i);
        for (int j = 0; j < gp_choice_count(row->field); j++) {
            int length = 0;
            const char *choice = gp_choice_text(row->field, j, &length);
            char value[64];
            snprintf(value, sizeof value, "\"%.*s\"", length, choice);
            assert_field_fault(row, value, "");
            assert_int_equal(gp_whole(&job, row->field), j);
            if (row->kind != GP_KIND_CHOICE) continue;
            snprintf(value, sizeof value, "\"%.*sx\"", length, choice);
            assert_field_fault(row, value, "unknown_choice");
            assert_true(strlen(fault_argument(&faults, GP_CODE_UNKNOWN_CHOICE, "nearest")) > 0);
        }
    }
}

static void test_long_texts(void **state) {
    (void)state;
    char value[256] = "\"";
    memset(value + 1, 'x', GP_TEXT_BYTES);
    value[GP_TEXT_BYTES + 1] = '"';
    assert_field_fault(gp_field_info(GP_FIELD_FSDP), value, "text_too_long");
    assert_string_equal(fault_argument(&faults, GP_CODE_TEXT_TOO_LONG, "max_bytes"), "159");
    value[GP_TEXT_BYTES] = '"';
    value[GP_TEXT_BYTES + 1] = '\0';
    assert_field_fault(gp_field_info(GP_FIELD_FSDP), value, "");
}

static void test_unknown_keys_name_the_nearest(void **state) {
    (void)state;
    static const struct { const char *text, *fault, *nearest; } bad[] = {
        {"{\"task\":\"full\",\"modle\":1,\"model\":\"x\"}", "unknown_key modle", "model"},
        {"{\"task\":\"full\",\"model\":\"x\",\"train\":{\"seqlen\":1}}", "unknown_key train.seqlen", "seq_len"},
        {"{\"task\":\"full\",\"model\":\"x\",\"seq_len\":1}", "unknown_key seq_len", "train.seq_len"},
        {"{\"task\":\"full\",\"model\":\"x\",\"train\":{\"lora\":{\"rnak\":1}}}", "unknown_key train.lora.rnak", "rank"},
        {"{\"task\":\"full\",\"model\":{\"layer\":1}}", "unknown_key model.layer", "layers"},
        {"{\"task\":\"full\",\"model\":{\"layers\":1,\"moe\":{\"expert\":8}}}", "unknown_key model.moe.expert", "experts"},
        {"{\"task\":\"full\",\"model\":\"x\",\"hardware\":{\"gpu\":{\"memory\":1}}}", "unknown_key hardware.gpu.memory",
         "memory_gib"},
        {"{\"task\":\"full\",\"model\":\"x\",\"train\":{\"lora.rank\":1}}", "unknown_key train.lora.rank", "lora"},
        {"{\"task\":\"full\",\"model\":\"x\",\"wxyz\":1}", "unknown_key wxyz", ""},
        {"{\"task\":\"infer\",\"model\":\"x\",\"infer\":{\"weights\":{\"gguf\":\"Q2\",\"bit\":1}}}",
         "unknown_key infer.weights.bit", ""},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_string_equal(read_job(bad[i].text), bad[i].fault);
        assert_string_equal(fault_argument(&faults, GP_CODE_UNKNOWN_KEY, "nearest"), bad[i].nearest);
    }
}

static void test_all_faults_are_told_at_once(void **state) {
    (void)state;
    assert_string_equal(read_job("{\"task\":\"ful\",\"hardware\":{\"count\":0,\"gpus\":1},\"train\":{\"tp\":\"max\","
                                 "\"micro_batch\":1.5,\"packed\":1},\"textbook\":3}"),
                        "unknown_choice task\nout_of_range hardware.count\nunknown_key hardware.gpus\n"
                        "not_solvable train.tp\nnot_a_whole_number train.micro_batch\nwrong_type train.packed\n"
                        "wrong_type textbook\nmissing model");
    assert_string_equal(read_job("{}"), "missing task\nmissing model");
    assert_string_equal(read_job("[]"), "not_an_object job");
    assert_string_equal(read_job("{\"task\":\"full\",\"model\":\"\"}"), "missing model");
}

static void test_thousands_of_faults_are_bounded(void **state) {
    (void)state;
    cJSON *many = cJSON_CreateObject();
    char key[16];
    for (int i = 0; i < 30000; i++) {
        snprintf(key, sizeof key, "key%d", i);
        cJSON_AddNullToObject(many, key);
    }
    gp_diagnostics_clear(&faults);
    gp_job_read(many, &job, &faults);
    cJSON_Delete(many);
    assert_int_equal(faults.count, GP_DIAGNOSTICS_MAX);
    assert_int_equal(faults.count + faults.dropped, 30002);
}

static void test_named_choices_stand_where_the_field_has_them(void **state) {
    (void)state;
#define GP_CHOICE(field, name, index, text) \
    assert_int_equal(gp_choice_find(GP_FIELD_##field, text, strlen(text)), index); \
    assert_int_equal(GP_CHOICE_##field##_##name, index);
#include "request/choices.def"
#undef GP_CHOICE
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_make_sense),
        cmocka_unit_test(test_link_keys_are_unique_within_a_task),
        cmocka_unit_test(test_choices),
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_values_of_every_kind),
        cmocka_unit_test(test_null_is_absent),
        cmocka_unit_test(test_setting_values),
        cmocka_unit_test(test_every_field_refuses_wrong_types),
        cmocka_unit_test(test_every_number_keeps_its_range),
        cmocka_unit_test(test_every_field_knows_what_is_solvable),
        cmocka_unit_test(test_every_choice_list),
        cmocka_unit_test(test_long_texts),
        cmocka_unit_test(test_unknown_keys_name_the_nearest),
        cmocka_unit_test(test_all_faults_are_told_at_once),
        cmocka_unit_test(test_thousands_of_faults_are_bounded),
        cmocka_unit_test(test_named_choices_stand_where_the_field_has_them),
    };
    return cmocka_run_group_tests_name("job", tests, NULL, drop_job);
}
