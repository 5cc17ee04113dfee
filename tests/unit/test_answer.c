#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cJSON.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "catalog/catalog.h"
#include "gpuplan.h"
#include "tree.h"

static cJSON *answer(const char *request) {
    char *text = gp_answer(request);
    assert_non_null(text);
    assert_null(strchr(text, '\n'));
    cJSON *report = cJSON_Parse(text);
    assert_non_null(report);
    assert_int_equal(cJSON_GetObjectItemCaseSensitive(report, "gpuplan")->valueint, 1);
    gp_free(text);
    return report;
}

/* The row of `errors` with that code and path, or NULL. */
static const cJSON *find_error(const cJSON *report, const char *code, const char *path) {
    const cJSON *row;
    cJSON_ArrayForEach(row, tree_get(report, "errors"))
        if (strcmp(tree_get(row, "code")->valuestring, code) == 0 && strcmp(tree_get(row, "path")->valuestring, path) == 0) return row;
    return NULL;
}

static void assert_errors(const char *request, int count, const char *code, const char *path) {
    cJSON *report = answer(request);
    if (find_error(report, code, path) == NULL) fail_msg("%s: no %s at %s", request, code, path);
    assert_int_equal(cJSON_GetArraySize(tree_get(report, "errors")), count);
    cJSON_Delete(report);
}

static void assert_nearest(const char *request, const char *code, const char *path, const char *nearest) {
    cJSON *report = answer(request);
    const cJSON *row = find_error(report, code, path);
    assert_non_null(row);
    assert_string_equal(tree_get(tree_get(row, "args"), "nearest")->valuestring, nearest);
    cJSON_Delete(report);
}

#define JOB "{\"task\":\"full\",\"model\":\"gpt2\",\"hardware\":{\"gpu\":\"H100\"}}"

static void test_what_is_no_request(void **state) {
    (void)state;
    assert_errors(NULL, 1, "invalid_json", "");
    assert_errors("", 1, "invalid_json", "");
    assert_errors("[]", 1, "not_an_object", "");
    assert_errors("{}", 1, "missing", "op");
    assert_errors("{\"op\":null}", 1, "missing", "op");
    assert_errors("{\"op\":7}", 1, "wrong_type", "op");
    assert_errors("{\"op\":\"plan\"}", 1, "missing", "job");
    assert_errors("{\"op\":\"plan\",\"job\":[]}", 1, "wrong_type", "job");
    assert_errors("{\"op\":\"plan\",\"link\":7}", 1, "wrong_type", "link");
    assert_errors("{\"op\":\"plan\",\"detail\":\"short\",\"job\":" JOB "}", 1, "unknown_choice", "detail");
    assert_errors("{\"op\":\"link\"}", 1, "missing", "job");
    assert_errors("{\"op\":\"catalog\"}", 1, "missing", "kind");
    assert_errors("{\"op\":\"catalog\",\"kind\":\"cars\"}", 1, "unknown_choice", "kind");
    assert_errors("{\"op\":\"explain\"}", 1, "missing", "id");
}

static void test_nearest_words(void **state) {
    (void)state;
    assert_nearest("{\"op\":\"paln\"}", "unknown_operation", "op", "plan");
    assert_nearest("{\"op\":\"plan\",\"jbo\":1,\"job\":" JOB "}", "unknown_key", "jbo", "job");
    assert_nearest("{\"op\":\"version\",\"gpuplam\":1}", "unknown_key", "gpuplam", "gpuplan");
    assert_nearest("{\"op\":\"explain\",\"id\":\"kv_cache.bloks\"}", "unknown_choice", "id", "kv_cache.blocks");
}

static void test_versions(void **state) {
    (void)state;
    assert_errors("{\"gpuplan\":2,\"op\":\"version\"}", 1, "unsupported_version", "gpuplan");
    assert_errors("{\"gpuplan\":0,\"op\":\"version\"}", 1, "not_a_version", "gpuplan");
    assert_errors("{\"gpuplan\":1.5,\"op\":\"version\"}", 1, "not_a_version", "gpuplan");
    assert_errors("{\"op\":\"link\",\"link\":\"v=x\"}", 1, "not_a_version", "v");
    assert_errors("{\"op\":\"link\",\"link\":\"v=0\"}", 1, "not_a_version", "v");
    assert_errors("{\"gpuplan\":\"1\",\"op\":\"version\"}", 1, "wrong_type", "gpuplan");
    cJSON *report = answer("{\"op\":\"version\"}");
    assert_string_equal(tree_get(report, "version")->valuestring, GP_VERSION);
    assert_string_equal(gp_version(), GP_VERSION);
    assert_int_equal(tree_get(report, "grammar")->valueint, 1);
    assert_int_equal(tree_get(report, "link")->valueint, 1);
    assert_null(cJSON_GetObjectItemCaseSensitive(report, "errors"));
    cJSON_Delete(report);
}

static void test_all_faults_in_one_answer(void **state) {
    (void)state;
    static const struct { const char *code, *path; } expected[] = {
        {"unsupported_version", "gpuplan"}, {"unknown_key", "jib"},           {"unknown_choice", "detail"},
        {"unknown_model", "model"},         {"unknown_gpu", "hardware.gpu"},  {"out_of_range", "train.seq_len"},
        {"unknown_key", "train.lorra"},     {"unknown_choice", "train.precision"},
    };
    cJSON *report = answer("{\"gpuplan\":9,\"op\":\"plan\",\"jib\":1,\"detail\":\"x\",\"job\":{\"task\":\"full\",\"model\":\"gpt7-zz\","
                           "\"hardware\":{\"gpu\":\"Z9000\"},\"train\":{\"seq_len\":0,\"lorra\":{},\"precision\":\"bf17\"}}}");
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++)
        if (find_error(report, expected[i].code, expected[i].path) == NULL)
            fail_msg("no %s at %s", expected[i].code, expected[i].path);
    assert_int_equal(cJSON_GetArraySize(tree_get(report, "errors")), (int)(sizeof expected / sizeof expected[0]));
    assert_null(cJSON_GetObjectItemCaseSensitive(report, "verdict"));
    cJSON_Delete(report);
}

static void assert_has(const char *request, const char *code, const char *path, bool wanted) {
    cJSON *report = answer(request);
    if ((find_error(report, code, path) != NULL) != wanted) fail_msg("%s: %s at %s", request, code, path);
    cJSON_Delete(report);
}

/* What contradicts itself is told although another field is at fault, and nothing is told of fields that are. */
static void test_contradictions_beside_other_faults(void **state) {
    (void)state;
#define FAULTY(train) "{\"op\":\"plan\",\"job\":{\"task\":\"full\",\"model\":\"nope-zz\",\"hardware\":{\"gpu\":\"H100\",\"count\":8}," \
                      "\"train\":{" train "}}}"
    const char *all = FAULTY("\"tp\":3,\"dp\":3,\"micro_batch\":3,\"global_batch\":7,\"cp\":2,\"seq_len\":4097,\"precision\":\"nvfp4\"");
    assert_has(all, "unknown_model", "model", true);
    assert_has(all, "parallel_mismatch", "hardware.count", true);
    assert_has(all, "batch_mismatch", "train.global_batch", true);
    assert_has(all, "sequence_not_divisible", "train.seq_len", true);
    assert_has(all, "format_not_on_gpu", "train.precision", true);
    assert_has(all, "heads_not_divisible", "train.tp", false);
    assert_has(FAULTY("\"micro_batch\":\"max\",\"seq_len\":\"max\""), "several_maxima", "train.micro_batch", true);
    const char *at_fault = FAULTY("\"tp\":0,\"dp\":4,\"micro_batch\":2,\"global_batch\":16");
    assert_has(at_fault, "out_of_range", "train.tp", true);
    assert_has(at_fault, "parallel_mismatch", "hardware.count", false);
    assert_has(at_fault, "batch_mismatch", "train.global_batch", false);
    assert_has(FAULTY("\"pp\":2,\"micro_batch\":2,\"global_batch\":16,\"grad_accum\":2,\"tp\":1"), "batch_mismatch",
               "train.global_batch", false);
    assert_has("{\"op\":\"plan\",\"job\":{\"task\":\"full\",\"model\":\"gpt2\",\"hardware\":{\"gpu\":\"H100\",\"count\":5},"
               "\"train\":{\"tp\":5,\"zero\":9}}}", "heads_not_divisible", "train.tp", true);
    assert_has("{\"op\":\"plan\",\"job\":{\"task\":\"ful\",\"model\":\"gpt2\",\"hardware\":{\"gpu\":\"H100\",\"count\":5},"
               "\"infer\":{\"context\":\"max\",\"concurrency\":\"max\"}}}", "several_maxima", "infer.concurrency", true);
#undef FAULTY
}

static void test_what_a_request_must_not_say_twice_or_not_at_all(void **state) {
    (void)state;
    assert_errors("{\"op\":\"plan\",\"job\":" JOB ",\"link\":\"v=1&task=full&model=gpt2&gpu=H100\"}", 1, "not_together", "link");
    assert_errors("{\"op\":\"link\",\"job\":" JOB ",\"link\":\"v=1\"}", 1, "not_together", "link");
    assert_errors("{\"op\":\"link\",\"job\":{\"modle\":\"x\",\"train\":{\"seq_len\":0,\"lorra\":1}}}", 2, "unknown_key", "train.lorra");
    static const char *const nothing[] = {"[]", "\"\"", "\" , \"", "[\"\"]"};
    for (size_t i = 0; i < sizeof nothing / sizeof nothing[0]; i++) {
        char request[256];
        snprintf(request, sizeof request,
                 "{\"op\":\"plan\",\"job\":{\"task\":\"lora\",\"model\":\"gpt2\",\"hardware\":{\"gpu\":\"H100\"},"
                 "\"train\":{\"lora\":{\"targets\":%s}}}}", nothing[i]);
        assert_errors(request, 1, "missing", "train.lora.targets");
    }
}

static void test_unknown_formats(void **state) {
    (void)state;
    assert_errors("{\"op\":\"plan\",\"job\":{\"task\":\"infer\",\"model\":\"gpt2\",\"hardware\":{\"gpu\":\"H100\"},"
                  "\"infer\":{\"weights\":\"bf15\"}}}", 1, "unknown_format", "infer.weights");
    assert_errors("{\"op\":\"plan\",\"job\":{\"task\":\"infer\",\"model\":\"gpt2\",\"hardware\":{\"gpu\":\"H100\"},"
                  "\"infer\":{\"kv\":\"q9_9\"}}}", 1, "unknown_format", "infer.kv");
}

static void test_bytes_need_no_end(void **state) {
    (void)state;
    const char *request = "{\"op\":\"version\"}trailing";
    char *report = gp_answer_bytes(request, strlen("{\"op\":\"version\"}"));
    assert_non_null(strstr(report, "\"grammar\":1"));
    gp_free(report);
    report = gp_answer_bytes("{\"op\":\"ver\0ion\"}", 16);
    assert_non_null(strstr(report, "\"errors\":[{"));
    gp_free(report);
    gp_free(NULL);
}

static void test_the_same_request_gives_the_same_bytes(void **state) {
    (void)state;
    const char *request = "{\"op\":\"plan\",\"job\":" JOB "}";
    char *first = gp_answer(request), *other = gp_answer("{\"op\":\"plan\",\"job\":{\"task\":\"infer\",\"model\":\"gpt2\","
                                                         "\"hardware\":{\"gpu\":\"L4\"},\"infer\":{\"context\":\"max\"}}}");
    char *second = gp_answer(request);
    assert_string_equal(first, second);
    gp_free(first);
    gp_free(other);
    gp_free(second);
}

static void test_links(void **state) {
    (void)state;
    cJSON *made = answer("{\"op\":\"link\",\"job\":" JOB "}");
    char request[512];
    const char *link = tree_get(made, "link")->valuestring;
    snprintf(request, sizeof request, "{\"op\":\"link\",\"link\":\"#%s\"}", link);
    cJSON *read = answer(request);
    assert_string_equal(tree_get(read, "link")->valuestring, link);
    assert_string_equal(tree_get(tree_get(read, "job"), "model")->valuestring, "gpt2");
    snprintf(request, sizeof request, "{\"op\":\"plan\",\"link\":\"%s\"}", link);
    cJSON *planned = answer(request);
    assert_string_equal(tree_get(planned, "link")->valuestring, link);
    cJSON_Delete(made);
    cJSON_Delete(read);
    cJSON_Delete(planned);
    cJSON *broken = answer("{\"op\":\"link\",\"link\":\"v=1&task=full&model=gpt2&gpu\"}");
    assert_non_null(tree_get(broken, "errors"));
    assert_string_equal(tree_get(tree_get(broken, "job"), "model")->valuestring, "gpt2");
    cJSON_Delete(broken);
}

static int rows_of(const char *request, const char *list) {
    cJSON *report = answer(request);
    int count = cJSON_GetArraySize(tree_get(report, list));
    cJSON_Delete(report);
    return count;
}

static void test_catalogue_and_formulas(void **state) {
    (void)state;
    assert_int_equal(rows_of("{\"op\":\"catalog\",\"kind\":\"models\"}", "models"), gp_catalog_model_count());
    assert_int_equal(rows_of("{\"op\":\"catalog\",\"kind\":\"gpus\",\"filter\":\"\"}", "gpus"), gp_catalog_gpu_count());
    int some = rows_of("{\"op\":\"catalog\",\"kind\":\"models\",\"filter\":\"llama 70\"}", "models");
    assert_true(some > 0 && some < gp_catalog_model_count());
    assert_int_equal(rows_of("{\"op\":\"catalog\",\"kind\":\"fields\",\"filter\":\"seq_len\"}", "fields"), 1);
    int all = rows_of("{\"op\":\"catalog\",\"kind\":\"formulas\"}", "formulas");
    int cache = rows_of("{\"op\":\"explain\",\"id\":\"kv_cache\"}", "formulas");
    assert_true(cache >= 2 && cache < all);
    assert_int_equal(rows_of("{\"op\":\"explain\",\"id\":\"kv_cache.blocks\"}", "formulas"), 1);
}

static void test_rank(void **state) {
    (void)state;
    /* A job that names no framework is not planned for Apple's GPUs. */
    int others = 0;
    for (int i = 0; i < gp_catalog_gpu_count(); i++) others += strcmp(gp_catalog_gpu(i)->vendor, "Apple") != 0;
    assert_true(others < gp_catalog_gpu_count());
    assert_int_equal(rows_of("{\"op\":\"rank\",\"job\":" JOB "}", "rank"), others);
    assert_int_equal(rows_of("{\"op\":\"rank\",\"filter\":\"nothing\",\"job\":" JOB "}", "rank"), 0);
    int rented = rows_of("{\"op\":\"rank\",\"kind\":\"instances\",\"job\":" JOB "}", "rank");
    assert_true(rented > 50 && rented <= gp_catalog_instance_count());
    assert_errors("{\"op\":\"rank\",\"kind\":\"cars\",\"job\":" JOB "}", 1, "unknown_choice", "kind");
    assert_errors("{\"op\":\"rank\"}", 1, "missing", "job");
    assert_errors("{\"op\":\"rank\",\"job\":{\"tusk\":1}}", 3, "unknown_key", "tusk");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_no_request),
        cmocka_unit_test(test_nearest_words),
        cmocka_unit_test(test_versions),
        cmocka_unit_test(test_all_faults_in_one_answer),
        cmocka_unit_test(test_contradictions_beside_other_faults),
        cmocka_unit_test(test_what_a_request_must_not_say_twice_or_not_at_all),
        cmocka_unit_test(test_unknown_formats),
        cmocka_unit_test(test_bytes_need_no_end),
        cmocka_unit_test(test_the_same_request_gives_the_same_bytes),
        cmocka_unit_test(test_links),
        cmocka_unit_test(test_catalogue_and_formulas),
        cmocka_unit_test(test_rank),
    };
    return cmocka_run_group_tests_name("answer", tests, NULL, NULL);
}
