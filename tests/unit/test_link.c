#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cJSON.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "faults.h"
#include "request/link.h"
#include "tree.h"

static gp_diagnostics faults;

/* ---- Texts of links ---------------------------------------------------------------------------------------------- */

static void assert_link(const char *job, const char *link) {
    cJSON *tree = cJSON_Parse(job);
    assert_non_null(tree);
    char *text = gp_link_encode(tree);
    assert_string_equal(text, link);
    free(text);
    cJSON_Delete(tree);
}

static void test_links_are_readable(void **state) {
    (void)state;
    assert_link("{}", "v=1");
    assert_link("{\"task\":\"qlora\",\"model\":\"meta-llama/Llama-2-7b-hf\",\"hardware\":{\"gpu\":\"RTX 4090\",\"count\":1},"
                "\"train\":{\"seq_len\":2048,\"micro_batch\":\"max\",\"zero\":\"auto\",\"dropout\":0.05,\"packed\":true}}",
                "v=1&task=qlora&model=meta-llama/Llama-2-7b-hf&gpu=RTX+4090&n=1&mb=max&packed=true&dropout=0.05");
    assert_link("{\"task\":\"infer\",\"model\":{\"name\":\"7B\",\"params\":7e9,\"layers\":32,\"tied_embeddings\":false},"
                "\"hardware\":{\"gpu\":{\"memory_gib\":48,\"like\":\"L40S\"},\"count\":2},"
                "\"infer\":{\"context\":\"max\",\"weights\":{\"gguf\":\"IQ3_K\",\"bits\":3.43},\"tp\":2}}",
                "v=1&task=infer&m.name=7B&m.params=7000000000&m.layers=32&m.tied=false&gpu.mem=48&gpu.like=L40S&n=2"
                "&weights=gguf:IQ3_K&bits=3.43&ctx=max&tp=2");
    assert_link("{\"task\":\"lora\",\"train\":{\"lora\":{\"rank\":8,\"targets\":[\"q\",\"lm_head trainable\"]}}}",
                "v=1&task=lora&rank=8&targets=q,lm_head+trainable");
}

static void test_only_what_differs_from_the_default(void **state) {
    (void)state;
    assert_link("{\"ledger\":\"detailed\",\"train\":{\"precision\":\"auto\","
                "\"optimizer\":\"adamw\",\"dropout\":0,\"seq_len\":null},\"infer\":{\"kv\":\"auto\"}}", "v=1");
    /* These say something by being given. */
    assert_link("{\"hardware\":{\"count\":1,\"per_node\":8},\"train\":{\"pp\":1,\"lora\":{\"rank\":16}}}",
                "v=1&n=1&per_node=8&pp=1&rank=16");
    /* A text where a number belongs is a fault, not the default. */
    assert_link("{\"train\":{\"seq_len\":\"2048\"}}", "v=1&seq=2048");
}

/* Fields of the other kind of task keep their full path, so that a shared key stays unambiguous. */
static void test_shared_keys_belong_to_the_task(void **state) {
    (void)state;
    assert_link("{\"task\":\"infer\",\"train\":{\"tp\":2},\"infer\":{\"tp\":4}}", "v=1&task=infer&train.tp=2&tp=4");
    assert_link("{\"task\":\"full\",\"train\":{\"tp\":2},\"infer\":{\"tp\":4}}", "v=1&task=full&tp=2&infer.tp=4");
    assert_link("{\"train\":{\"tp\":2},\"infer\":{\"tp\":4}}", "v=1&tp=2&infer.tp=4");
}

static void test_characters_that_need_escapes(void **state) {
    (void)state;
    assert_link("{\"model\":\"a&b=c#d%e+f g\\u663e(h)\\\"/:,.-_~\"}",
                "v=1&model=a%26b%3Dc%23d%25e%2Bf+g%E6%98%BE%28h%29%22/:,.-_~");
}

static void test_a_config_leaves_out_what_is_beside_the_point(void **state) {
    (void)state;
    cJSON *tree = cJSON_Parse("{\"model\":{\"config\":{\"model_type\":\"llama\",\"_name_or_path\":\"my-models/llama\","
                              "\"hidden_size\":8,\"bos_token_id\":1,\"torch_dtype\":\"bfloat16\","
                              "\"_remove_final_layer_norm\":true}}}");
    char *link = gp_link_encode(tree);
    gp_diagnostics_clear(&faults);
    cJSON *job = gp_link_decode(link, &faults);
    char *text = cJSON_PrintUnformatted(job);
    assert_string_equal(text, "{\"model\":{\"config\":{\"model_type\":\"llama\",\"hidden_size\":8,"
                              "\"_remove_final_layer_norm\":true}}}");
    assert_true(strlen(link) < 150);
    cJSON_free(text);
    cJSON_Delete(job);
    free(link);
    cJSON_Delete(tree);
}

/* ---- Links from outside ------------------------------------------------------------------------------------------ */

static void assert_read(const char *link, const char *job, const char *fault) {
    gp_diagnostics_clear(&faults);
    cJSON *tree = gp_link_decode(link, &faults);
    assert_non_null(tree);
    char *text = cJSON_PrintUnformatted(tree);
    assert_string_equal(text, job);
    assert_string_equal(faults_text(&faults), fault);
    cJSON_free(text);
    cJSON_Delete(tree);
}

static void test_links_as_people_paste_them(void **state) {
    (void)state;
    const char *job = "{\"task\":\"full\",\"train\":{\"seq_len\":4096}}";
    assert_read("v=1&task=full&seq=4096", job, "");
    assert_read("#v=1&task=full&seq=4096", job, "");
    assert_read("https://example.org/plan/?x=1#v=1&task=full&seq=4096", job, "");
    assert_read("  #v=1&task=full&seq=4096 \n", job, "");
    assert_read("&&v=1&&seq=4096&task=full&", "{\"train\":{\"seq_len\":4096},\"task\":\"full\"}", "");
    assert_read("v=1&task=full&train.seq_len=4096", job, "");
    assert_read("v=1&t%61sk=full&seq=%34096", job, "");
}

static void test_links_cut_in_half(void **state) {
    (void)state;
    assert_read("v=1&task=full&seq", "{\"task\":\"full\"}", "link_incomplete train.seq_len");
    assert_string_equal(fault_argument(&faults, GP_CODE_LINK_INCOMPLETE, "position"), "14");
    assert_read("#v=1&seq=", "{}", "link_incomplete train.seq_len");
    assert_string_equal(fault_argument(&faults, GP_CODE_LINK_INCOMPLETE, "position"), "5");
    assert_read("v=1&gpu=RTX%", "{}", "link_incomplete hardware.gpu");
    assert_read("v=1&gpu=RTX%2", "{}", "link_incomplete hardware.gpu");
    assert_read("v=1&gpu=RTX%zz", "{}", "link_incomplete hardware.gpu");
    assert_read("v=1&gpu=RTX%00", "{}", "link_incomplete hardware.gpu");
    assert_read("v=1&%=3&seq=8", "{\"train\":{\"seq_len\":8}}", "link_incomplete ");
    assert_read("v=1&m.config=j1.eyJh", "{}", "link_custom_unreadable model.config");
}

static void test_versions(void **state) {
    (void)state;
    assert_read("", "{}", "missing v");
    assert_read("seq=8", "{\"train\":{\"seq_len\":8}}", "missing v");
    assert_read("v=0&seq=8", "{\"train\":{\"seq_len\":8}}", "not_a_version v");
    assert_read("v=one", "{}", "not_a_version v");
    assert_read("v=1&v=1", "{}", "duplicate_key v");
    assert_read("seq=8&v=99999999999999999999", "{\"train\":{\"seq_len\":8},\"kept\":{\"v\":\"99999999999999999999\"}}",
                "link_newer v");
    assert_string_equal(fault_argument(&faults, GP_CODE_LINK_NEWER, "known"), "1");
}

/* What a newer version wrote is kept and written again. */
static void test_newer_links_lose_nothing(void **state) {
    (void)state;
    gp_diagnostics_clear(&faults);
    cJSON *job = gp_link_decode("v=2&task=full&seq=8&magic=on+%26+off&magic=x", &faults);
    assert_string_equal(faults_text(&faults), "link_newer v\nlink_key_kept \nduplicate_key magic");
    char *link = gp_link_encode(job);
    assert_string_equal(link, "v=2&task=full&seq=8&magic=on+%26+off");
    free(link);
    cJSON_Delete(job);
}

static void test_wrong_pairs(void **state) {
    (void)state;
    assert_read("v=1&sqe=8&tp=2", "{\"train\":{\"tp\":2}}", "unknown_key sqe");
    assert_string_equal(fault_argument(&faults, GP_CODE_UNKNOWN_KEY, "nearest"), "seq");
    assert_read("v=1&seq=8&seq=9", "{\"train\":{\"seq_len\":8}}", "duplicate_key train.seq_len");
    assert_read("v=1&gpu=%ff", "{}", "invalid_utf8 hardware.gpu");
    assert_read("v=1&m.layers=4&model=gpt2", "{\"model\":{\"layers\":4}}", "duplicate_key model");
    assert_read("v=1&model=gpt2&m.layers=4", "{\"model\":\"gpt2\"}", "duplicate_key model");
    assert_read("v=1&m.config=z9.abc", "{}", "link_custom_unreadable model.config");
    assert_string_equal(fault_argument(&faults, GP_CODE_LINK_CUSTOM_UNREADABLE, "codec"), "z9");
    assert_read("v=1&m.config=j1.W10", "{}", "link_custom_unreadable model.config");
    assert_read("v=1&m.config=j1.%3D%3D", "{}", "link_custom_unreadable model.config");
    assert_read("v=1&kept=1", "{}", "unknown_key kept");
    assert_read("v=1&train=1", "{}", "unknown_key train");
    assert_read("v=1&seq=long", "{\"train\":{\"seq_len\":\"long\"}}", "");
}

static void test_long_links(void **state) {
    (void)state;
    size_t length = 10000000;
    char *link = malloc(length + 1);
    assert_non_null(link);
    memset(link, '&', length);
    link[length] = '\0';
    assert_read(link, "{}", "request_too_long ");
    for (size_t i = 0; i < GP_LINK_BYTES_MAX; i++) link[i] = "a=1&"[i % 4];
    link[GP_LINK_BYTES_MAX] = '\0';
    gp_diagnostics_clear(&faults);
    cJSON_Delete(gp_link_decode(link, &faults));
    assert_int_equal(faults.count, GP_DIAGNOSTICS_MAX);
    free(link);
}

static void test_every_prefix_of_a_link(void **state) {
    (void)state;
    const char *link = "v=1&task=infer&m.config=j1.eyJhIjoxfQ&gpu=RTX+4090%2B&gpu.mem=48&ctx=max&weights=gguf:Q4_K_M";
    for (size_t length = 0; length <= strlen(link); length++) {
        char *prefix = malloc(length + 1);
        assert_non_null(prefix);
        memcpy(prefix, link, length);
        prefix[length] = '\0';
        gp_diagnostics_clear(&faults);
        cJSON *job = gp_link_decode(prefix, &faults);
        assert_non_null(job);
        if (length < 3) assert_true(faults.count > 0);
        cJSON_Delete(job);
        free(prefix);
    }
}

/* ---- Round trips ------------------------------------------------------------------------------------------------- */

static uint32_t seed;

static uint32_t below(uint32_t limit) {
    seed = seed * 1664525u + 1013904223u;
    return (uint32_t)(((uint64_t)seed * limit) >> 32);
}

static bool chance(uint32_t percent) {
    return below(100) < percent;
}

static cJSON *random_text(void) {
    static const char *const texts[] = {"plain", "a b+c&d=e#f%g", "\xe6\x98\xbe\xe5\xad\x98 24 GB", "1,024", "true", "null",
                                        "{not json", "\"quoted\"", "4096", "..", "j1.x", "auto", "100%"};
    return cJSON_CreateString(texts[below(sizeof texts / sizeof texts[0])]);
}

static cJSON *random_choice(gp_field field) {
    char text[64];
    int length = 0;
    const char *choice = gp_choice_text(field, below((uint32_t)gp_choice_count(field)), &length);
    snprintf(text, sizeof text, "%.*s", length, choice);
    return cJSON_CreateString(text);
}

static cJSON *random_value(const gp_field_row *row) {
    if ((row->solve & GP_SOLVE_AUTO) != 0 && chance(20)) return cJSON_CreateString("auto");
    if ((row->solve & GP_SOLVE_MAX) != 0 && chance(20)) return cJSON_CreateString("max");
    double part = (double)below(1000000) / 1000000;
    switch (row->kind) {
    case GP_KIND_WHOLE: return cJSON_CreateNumber(floor(row->min + part * fmin(row->max - row->min, 1e5)));
    case GP_KIND_REAL: return cJSON_CreateNumber(row->min + part * (row->max - row->min));
    case GP_KIND_SWITCH: return cJSON_CreateBool(chance(50));
    case GP_KIND_CHOICE: return random_choice(row->field);
    case GP_KIND_OPEN: return chance(70) ? random_choice(row->field) : random_text();
    case GP_KIND_TEXT: break;
    }
    return row->field == GP_FIELD_COMPILE && chance(50) ? cJSON_CreateBool(chance(50)) : random_text();
}

static cJSON *one_of(const char *const *texts, size_t count) {
    return cJSON_Parse(texts[below((uint32_t)count)]);
}

static void put_special_parts(cJSON *job) {
    static const char *const models[] = {
        "\"meta-llama/Llama-3.1-8B\"", "\"a name & more\"", "{\"params\":\"max\"}",
        ("{\"name\":\"x y\",\"params\":6738415616,\"layers\":32,\"hidden\":4096,\"heads\":32,\"kv_heads\":8,\"head_dim\":128,"
         "\"ffn\":11008,\"vocab\":32000,\"positions\":512,\"tied_embeddings\":true,\"gated_ffn\":false,\"bias\":true,"
         "\"qkv_bias\":false,\"qk_norm\":true,\"style\":\"llama\",\"attention\":\"MLA\",\"activation\":\"gelu_new\"}"),
        ("{\"layers\":4,\"moe\":{\"experts\":8,\"topk\":2,\"ffn\":1,\"shared\":0,\"shared_ffn\":3,\"dense_layers\":1,"
         "\"interleave\":2,\"layer_freq\":\"([0]*3+[1]*11)\"}}"),
        "{\"config\":{\"model_type\":\"llama\",\"layer_types\":[\"a\",\"b\"],\"x\":{\"y\":1.5}},\"name\":\"own\"}",
    };
    static const char *const gpus[] = {"\"H100 SXM5 80GB\"", "{\"name\":\"Gaudi2\",\"memory_gib\":96}",
                                       "{\"memory_gib\":47.5,\"bandwidth_gb_s\":864,\"like\":\"L40S\"}", "\"cpu\""};
    static const char *const targets[] = {"\"all-linear\"", "[\"q\",\"v\"]", "[\"attention\",\"up_proj\"]", "\"q+v\"",
                                          "[\"wte\",\"lm_head trainable\"]", "\"DEFAULT (attention qkv)\""};
    static const char *const weights[] = {"\"nf4\"", "{\"gguf\":\"IQ3_K\",\"bits\":3.4325}", "{\"gguf\":\"Q4_0\"}"};
    static const char *const types[] = {"{\"output\":\"q6_K\",\"attn_v\":{\"q4_K\":3}}", "{}"};
    tree_put(job, "model", one_of(models, sizeof models / sizeof models[0]));
    if (chance(80)) tree_put(job, "hardware.gpu", one_of(gpus, sizeof gpus / sizeof gpus[0]));
    if (chance(40)) tree_put(job, "train.lora.targets", one_of(targets, sizeof targets / sizeof targets[0]));
    if (chance(20)) tree_put(job, "infer.tensor_types", one_of(types, 2));
    if (chance(10)) tree_put(job, "calibration", one_of(types, 2));
    if (!chance(30)) return;
    tree_put(job, "infer.weights", one_of(weights, sizeof weights / sizeof weights[0]));
    tree_put(job, "infer.weight_bits", cJSON_CreateNull());
}

static cJSON *random_job(uint32_t percent) {
    cJSON *job = cJSON_CreateObject();
    for (int i = 0; i < GP_FIELD_TOTAL; i++) {
        const gp_field_row *row = gp_field_info((gp_field)i);
        if (i == GP_FIELD_TASK || chance(percent)) tree_put(job, row->path, random_value(row));
    }
    put_special_parts(job);
    return job;
}

static bool same_text(const char *a, const char *b) {
    return strcmp(a == NULL ? "" : a, b == NULL ? "" : b) == 0;
}

/* Equal after defaults: a value given as the default is the default. */
static bool same_setting(const gp_setting *a, const gp_setting *b) {
    gp_origin origin_a = a->origin == GP_GIVEN ? GP_DEFAULT : a->origin;
    gp_origin origin_b = b->origin == GP_GIVEN ? GP_DEFAULT : b->origin;
    return origin_a == origin_b && a->whole == b->whole && !(a->real < b->real) && !(a->real > b->real) &&
           same_text(a->text, b->text);
}

static void assert_same_job(const cJSON *a, const cJSON *b, const char *link) {
    static gp_job jobs[2];
    static gp_diagnostics lists[2];
    const cJSON *trees[] = {a, b};
    for (int i = 0; i < 2; i++) {
        gp_diagnostics_clear(&lists[i]);
        gp_job_read(trees[i], &jobs[i], &lists[i]);
    }
    assert_false(gp_has_errors(&lists[0]));
    for (int i = 0; i < GP_FIELD_TOTAL; i++) {
        if (!same_setting(&jobs[0].settings[i], &jobs[1].settings[i]))
            fail_msg("%s differs after %s", gp_field_info((gp_field)i)->path, link);
    }
    assert_true(cJSON_Compare(jobs[0].model.config, jobs[1].model.config, 1) || jobs[0].model.config == NULL);
    jobs[0].model.config = jobs[1].model.config = NULL;
    const cJSON *frequency = jobs[0].model.moe.layer_freq;
    assert_true(cJSON_Compare(frequency, jobs[1].model.moe.layer_freq, 1) || frequency == NULL);
    jobs[0].model.moe.layer_freq = jobs[1].model.moe.layer_freq = NULL;
    assert_memory_equal(&jobs[0].model, &jobs[1].model, sizeof jobs[0].model);
    assert_memory_equal(&jobs[0].gpu, &jobs[1].gpu, sizeof jobs[0].gpu);
    assert_int_equal(jobs[0].lora_targets, jobs[1].lora_targets);
    assert_int_equal(jobs[0].tensor_types_given, jobs[1].tensor_types_given);
    assert_int_equal(lists[0].count, lists[1].count);
}

static void test_every_job_comes_back(void **state) {
    (void)state;
    seed = 20;
    for (int round = 0; round < 1000; round++) {
        cJSON *job = random_job(round % 10 == 0 ? 100 : 20);
        char *link = gp_link_encode(job);
        assert_non_null(link);
        assert_int_equal(strcspn(link, " \"<>#\\^`{|}\n"), strlen(link));
        gp_diagnostics_clear(&faults);
        cJSON *back = gp_link_decode(link, &faults);
        assert_string_equal(faults_text(&faults), "");
        assert_same_job(job, back, link);
        char *again = gp_link_encode(back);
        assert_string_equal(again, link);
        free(again);
        cJSON_Delete(back);
        free(link);
        cJSON_Delete(job);
    }
}

/* Links with random bytes put in: whatever comes back is a job, and its link can be read again. */
static void test_damaged_links(void **state) {
    (void)state;
    seed = 7;
    for (int round = 0; round < 1000; round++) {
        cJSON *job = random_job(15);
        char *link = gp_link_encode(job);
        size_t length = strlen(link);
        for (int i = 0; i < 4; i++) link[below((uint32_t)length)] = (char)(1 + below(255));
        gp_diagnostics_clear(&faults);
        cJSON *back = gp_link_decode(link, &faults);
        assert_non_null(back);
        char *again = gp_link_encode(back);
        assert_non_null(again);
        assert_memory_equal(again, "v=", 2);
        free(again);
        cJSON_Delete(back);
        free(link);
        cJSON_Delete(job);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_links_are_readable),
        cmocka_unit_test(test_only_what_differs_from_the_default),
        cmocka_unit_test(test_shared_keys_belong_to_the_task),
        cmocka_unit_test(test_characters_that_need_escapes),
        cmocka_unit_test(test_a_config_leaves_out_what_is_beside_the_point),
        cmocka_unit_test(test_links_as_people_paste_them),
        cmocka_unit_test(test_links_cut_in_half),
        cmocka_unit_test(test_versions),
        cmocka_unit_test(test_newer_links_lose_nothing),
        cmocka_unit_test(test_wrong_pairs),
        cmocka_unit_test(test_long_links),
        cmocka_unit_test(test_every_prefix_of_a_link),
        cmocka_unit_test(test_every_job_comes_back),
        cmocka_unit_test(test_damaged_links),
    };
    return cmocka_run_group_tests_name("link", tests, NULL, NULL);
}
