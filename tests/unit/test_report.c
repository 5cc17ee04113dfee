#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cJSON.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "planned.h"
#include "report/report.h"

/* Ends the object in `writer` and compares it. */
static void assert_written(gp_writer *writer, const char *expected) {
    gp_write_close(writer, '}');
    char *text = gp_writer_finish(writer);
    assert_non_null(text);
    assert_string_equal(text, expected);
    free(text);
}

static void begin(gp_writer *writer) {
    gp_writer_start(writer);
    gp_write_open(writer, NULL, '{');
}

static void test_numbers(void **state) {
    (void)state;
    gp_writer writer;
    begin(&writer);
    gp_write_bytes(&writer, "most", UINT64_MAX);
    gp_write_whole(&writer, "least", INT64_MIN);
    gp_write_number(&writer, "exact", 9007199254740991.0);
    gp_write_number(&writer, "zero", -0.0);
    gp_write_number(&writer, "tenth", 0.1);
    gp_write_number(&writer, "third", 1.0 / 3);
    gp_write_number(&writer, "large", 1e300);
    gp_write_number(&writer, "negative", -2.5);
    assert_written(&writer, "{\"most\":18446744073709551615,\"least\":-9223372036854775808,\"exact\":9007199254740991,"
                            "\"zero\":0,\"tenth\":0.1,\"third\":0.33333333333333331,\"large\":1e+300,\"negative\":-2.5}");
}

static void test_what_is_not_finite_or_not_known_is_left_out(void **state) {
    (void)state;
    gp_writer writer;
    begin(&writer);
    gp_write_number(&writer, "nan", (double)NAN);
    gp_write_number(&writer, "inf", -(double)INFINITY);
    gp_write_known(&writer, "unknown", 0);
    gp_write_known_text(&writer, "empty", "");
    gp_write_known_text(&writer, "none", NULL);
    gp_write_known(&writer, "known", 1);
    assert_written(&writer, "{\"known\":1}");
}

static void test_texts_and_lists(void **state) {
    (void)state;
    gp_writer writer;
    begin(&writer);
    gp_write_text(&writer, "text", "a\"b\\c\n\x01\xe6\xbf\x80\x7f");
    gp_write_text_part(&writer, "part", "abc", 2);
    gp_write_open(&writer, "list", '[');
    gp_write_close(&writer, ']');
    gp_write_open(&writer, "rows", '[');
    gp_write_switch(&writer, NULL, true);
    gp_write_raw(&writer, NULL, "{}");
    gp_write_close(&writer, ']');
    assert_written(&writer, "{\"text\":\"a\\\"b\\\\c\\u000a\\u0001\xe6\xbf\x80\x7f\",\"part\":\"ab\",\"list\":[],\"rows\":[true,{}]}");
}

static void test_the_text_grows(void **state) {
    (void)state;
    enum { COUNT = 20000 };
    gp_writer writer;
    gp_writer_start(&writer);
    gp_write_open(&writer, NULL, '[');
    for (int i = 0; i < COUNT; i++) gp_write_whole(&writer, NULL, i);
    gp_write_close(&writer, ']');
    char *text = gp_writer_finish(&writer);
    cJSON *list = cJSON_Parse(text);
    assert_int_equal(cJSON_GetArraySize(list), COUNT);
    int expected = 0;
    const cJSON *item;
    cJSON_ArrayForEach(item, list) assert_int_equal(item->valueint, expected++);
    cJSON_Delete(list);
    free(text);
}

static cJSON *report_of(const planned *p, gp_detail detail) {
    gp_writer writer;
    gp_writer_start(&writer);
    gp_report_begin(&writer, "plan");
    gp_report_plan(&writer, &p->plan, detail, "v=1");
    gp_report_end(&writer);
    char *text = gp_writer_finish(&writer);
    cJSON *report = cJSON_Parse(text);
    assert_non_null(report);
    free(text);
    return report;
}

static const cJSON *get(const cJSON *tree, const char *key) {
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(tree, key);
    if (value == NULL) fail_msg("no %s", key);
    return value;
}

static bool lists(const cJSON *list, const char *word) {
    const cJSON *item;
    cJSON_ArrayForEach(item, list) if (strcmp(item->valuestring, word) == 0) return true;
    return false;
}

#define PIPELINE "{\"task\":\"pretrain\",\"model\":\"meta-llama/Llama-3.1-70B\",\"hardware\":{\"gpu\":\"H100\",\"count\":64}," \
                 "\"train\":{\"tp\":8,\"pp\":4,\"micro_batch\":1,\"global_batch\":"

static void test_items_of_the_peak_phase_sum_to_the_peak(void **state) {
    (void)state;
    planned *p = planned_of(PIPELINE "128}}");
    assert_true(p->made);
    cJSON *report = report_of(p, GP_DETAIL_FULL);
    const cJSON *stage;
    double worst = 0;
    cJSON_ArrayForEach(stage, get(get(report, "memory"), "stages")) {
        double sum = 0;
        const cJSON *item;
        cJSON_ArrayForEach(item, get(stage, "items"))
            if (lists(get(item, "phases"), get(stage, "peak_phase")->valuestring)) sum += get(item, "bytes")->valuedouble;
        assert_true(sum == get(stage, "peak_bytes")->valuedouble);
        if (sum > worst) worst = sum;
    }
    assert_true(worst == get(get(report, "memory"), "peak_bytes")->valuedouble);
    cJSON_Delete(report);
    planned_free(p);
}

/* With as many micro-batches as fill the pipeline each stage holds another number of them; with one, the stages between
 * the ends are the same. */
static void test_equal_neighbours_fold(void **state) {
    (void)state;
    static const struct { const char *job; int rows, middle; } cases[] = {{PIPELINE "128}}", 4, 1}, {PIPELINE "2}}", 3, 2}};
    for (int i = 0; i < 2; i++) {
        planned *p = planned_of(cases[i].job);
        assert_true(p->made);
        cJSON *report = report_of(p, GP_DETAIL_BRIEF);
        const cJSON *stages = get(get(report, "memory"), "stages"), *stage;
        assert_int_equal(cJSON_GetArraySize(stages), cases[i].rows);
        assert_int_equal(get(cJSON_GetArrayItem(stages, 1), "stages")->valueint, cases[i].middle);
        int gpus = 0;
        cJSON_ArrayForEach(stage, stages) {
            assert_int_equal(get(stage, "first_gpu")->valueint, gpus);
            gpus += get(stage, "gpus")->valueint;
        }
        assert_int_equal(gpus, 64);
        cJSON_Delete(report);
        planned_free(p);
    }
}

static void test_brief_reports_hold_numbers_only(void **state) {
    (void)state;
    static const char *const allowed[] = {"gpuplan", "op", "version", "verdict", "binding", "solved", "fails_at", "params",
                                          "parallel", "memory", "kv", "time", "warnings"};
    planned *p = planned_of("{\"task\":\"infer\",\"model\":\"gpt2\",\"hardware\":{\"gpu\":\"L4\"}}");
    cJSON *report = report_of(p, GP_DETAIL_BRIEF);
    const cJSON *member;
    cJSON_ArrayForEach(member, report) {
        bool known = false;
        for (size_t i = 0; i < sizeof allowed / sizeof allowed[0]; i++) known = known || strcmp(allowed[i], member->string) == 0;
        if (!known) fail_msg("%s in a brief report", member->string);
    }
    const cJSON *item = cJSON_GetArrayItem(get(cJSON_GetArrayItem(get(get(report, "memory"), "stages"), 0), "items"), 0);
    assert_int_equal(cJSON_GetArraySize(item), 3);
    cJSON_Delete(report);
    planned_free(p);
}

static void test_figures_beyond_2_to_the_53_are_refused(void **state) {
    (void)state;
    planned *p = planned_of("{\"task\":\"infer\",\"model\":\"meta-llama/Llama-3.1-70B\",\"hardware\":{\"gpu\":\"H100\"},"
                            "\"infer\":{\"context\":1073741824,\"concurrency\":16777216}}");
    assert_false(p->made);
    assert_true(planned_has(p, GP_CODE_NUMBER_TOO_LARGE, ""));
    planned_free(p);
}

static void test_time_of_the_course(void **state) {
    (void)state;
    planned *p = planned_of("{\"task\":\"full\",\"ledger\":\"textbook\",\"model\":{\"params\":7e9,\"layers\":32,\"hidden\":4096},"
                            "\"hardware\":{\"gpu\":\"A100 SXM4 80GB\",\"count\":8},\"train\":{\"micro_batch\":4,\"tp\":1,\"pp\":1},"
                            "\"textbook\":{\"effective_flops\":1e14,\"measured_speedup\":6}}");
    assert_true(p->made);
    cJSON *report = report_of(p, GP_DETAIL_BRIEF);
    const cJSON *time = get(report, "time");
    assert_true(fabs(get(time, "step_s")->valuedouble - 3.44064) < 1e-9);
    assert_true(fabs(get(time, "tokens_per_s_per_gpu")->valuedouble - 2380.952) < 1e-3);
    assert_true(fabs(get(time, "tokens_per_s")->valuedouble - 19047.619) < 1e-3);
    assert_true(get(time, "efficiency")->valuedouble == 0.75);
    assert_null(cJSON_GetObjectItemCaseSensitive(time, "bubble"));
    cJSON_Delete(report);
    planned_free(p);
    p = planned_of(PIPELINE "128}}");
    report = report_of(p, GP_DETAIL_BRIEF);
    /* 64 micro-batches on each of 2 replicas through 4 stages. */
    assert_true(fabs(get(get(report, "time"), "bubble")->valuedouble - 3.0 / 67) < 1e-12);
    cJSON_Delete(report);
    planned_free(p);
}

static void test_cache_figures(void **state) {
    (void)state;
    planned *p = planned_of("{\"task\":\"infer\",\"ledger\":\"textbook\",\"model\":{\"params\":13e9,\"layers\":40,\"hidden\":5120,\"heads\":40},"
                            "\"hardware\":{\"gpu\":\"RTX 4090\"},\"infer\":{\"weights\":\"int4\",\"context\":2000,\"concurrency\":3},"
                            "\"textbook\":{\"held_back_gb\":0.5}}");
    assert_true(p->made);
    const gp_kv_figures *kv = &p->plan.kv;
    assert_int_equal(kv->bytes_per_token, 819200);
    assert_int_equal(kv->bytes, UINT64_C(819200) * 2000 * 3);
    assert_int_equal(kv->pool_bytes, 17000000000);
    assert_int_equal(kv->max_tokens, 20751);
    assert_int_equal(kv->max_context, 20751 / 3);
    assert_int_equal(kv->max_concurrency, 10);
    planned_free(p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_what_is_not_finite_or_not_known_is_left_out),
        cmocka_unit_test(test_texts_and_lists),
        cmocka_unit_test(test_the_text_grows),
        cmocka_unit_test(test_items_of_the_peak_phase_sum_to_the_peak),
        cmocka_unit_test(test_equal_neighbours_fold),
        cmocka_unit_test(test_brief_reports_hold_numbers_only),
        cmocka_unit_test(test_figures_beyond_2_to_the_53_are_refused),
        cmocka_unit_test(test_time_of_the_course),
        cmocka_unit_test(test_cache_figures),
    };
    return cmocka_run_group_tests_name("report", tests, NULL, NULL);
}
