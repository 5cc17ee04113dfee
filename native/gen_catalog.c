/* gen_catalog: turns core/data/ into the tables of core/catalog_data.h and core/format_data.h.
 *   gen_catalog core/data build/generated/catalog_data.c
 * A model's shape is read and its parameters are counted by the code that does so at run time (core/config.c and
 * core/model_count.c). Refused, each with its row: a missing source, a duplicate id or alias, a config that cannot be
 * read, a count more than 0.1 % off the published one. Links neither core/catalog.c nor core/format.c, which need the
 * tables. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cJSON.h"
#include "catalog_key.h"
#include "config.h"
#include "format_key.h"
#include "model.h"

static FILE *out;
static int faults;

static void fault(const char *row, const char *what) {
    fprintf(stderr, "gen_catalog: %s: %s\n", row, what);
    faults++;
}

/* ---- reading ---- */

static void stop(const char *path, const char *what) {
    fprintf(stderr, "gen_catalog: %s: %s\n", path, what);
    exit(1);
}

static cJSON *read_json(const char *folder, const char *file) {
    enum { BYTES_MAX = 4 << 20 };
    static char text[BYTES_MAX];
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, file);
    FILE *in = fopen(path, "rb");
    if (in == NULL) stop(path, "cannot be opened");
    size_t length = fread(text, 1, sizeof text - 1, in);
    fclose(in);
    text[length] = '\0';
    cJSON *tree = cJSON_ParseWithLengthOpts(text, length + 1, NULL, 1);
    if (tree == NULL) stop(path, "is not JSON, or too long");
    return tree;
}

static const char *text_of(const cJSON *row, const char *key) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(row, key);
    return cJSON_IsString(item) ? item->valuestring : "";
}

/* A text that a row must have. */
static const char *needed(const cJSON *row, const char *name, const char *key) {
    const char *text = text_of(row, key);
    if (text[0] == '\0') {
        char what[64];
        snprintf(what, sizeof what, "no %s", key);
        fault(name, what);
    }
    return text;
}

static double number_of(const cJSON *row, const char *key) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(row, key);
    return cJSON_IsNumber(item) ? item->valuedouble : 0;
}

static bool is_true(const cJSON *row, const char *key) {
    return cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(row, key));
}

/* ---- writing ---- */

static void write_text(const char *text) {
    fputc('"', out);
    for (; *text != '\0'; text++) {
        unsigned char byte = (unsigned char)*text;
        if (byte == '"' || byte == '\\' || byte == '?') {
            fprintf(out, "\\%c", byte);
        } else if (byte < 32 || byte > 126) {
            fprintf(out, "\\%03o", byte);
        } else {
            fputc(byte, out);
        }
    }
    fputc('"', out);
}

/* Field of a designated initialiser; the verb is a format for one value. */
static void write_field(const char *field, const char *verb, ...) {
    va_list values;
    va_start(values, verb);
    fprintf(out, " .%s = ", field);
    vfprintf(out, verb, values);
    fputc(',', out);
    va_end(values);
}

static void write_text_field(const char *field, const char *text) {
    fprintf(out, " .%s = ", field);
    write_text(text);
    fputc(',', out);
}

static void write_switch(const char *field, bool value) {
    if (value) write_field(field, "true");
}

static void write_confidence(const cJSON *row, const char *name) {
    const char *text = text_of(row, "confidence");
    const char *value = strcmp(text, "high") == 0     ? "GP_CONFIDENCE_HIGH"
                        : strcmp(text, "medium") == 0 ? "GP_CONFIDENCE_MEDIUM"
                        : strcmp(text, "low") == 0    ? "GP_CONFIDENCE_LOW"
                                                      : NULL;
    if (value == NULL) fault(name, "confidence is none of high, medium, low");
    write_field("confidence", "%s", value == NULL ? "GP_CONFIDENCE_LOW" : value);
}

/* ---- the index ---- */

enum { KEYS_MAX = 4096 };
typedef struct {
    char key[GP_KEY_BYTES];
    int row;
} index_key;

static index_key keys[KEYS_MAX];
static int key_count;

static int find(const char *key) {
    for (int i = 0; i < key_count; i++) {
        if (strcmp(keys[i].key, key) == 0) return keys[i].row;
    }
    return -1;
}

static void add_key(const char *key, int row) {
    if (key_count == KEYS_MAX) {
        fault(key, "too many names");
        return;
    }
    snprintf(keys[key_count].key, GP_KEY_BYTES, "%s", key);
    keys[key_count++].row = row;
}

/* A name of its own: no other row may have it. */
static void add_name(const char *name, const char *key, int row) {
    int other = find(key);
    if (key[0] == '\0') fault(name, "no letters to look up");
    if (other >= 0) fault(name, other == row ? "is there already" : "also names another row");
    add_key(key, row);
}

static int compare_keys(const void *a, const void *b) {
    return strcmp(((const index_key *)a)->key, ((const index_key *)b)->key);
}

static void write_index(const char *name) {
    qsort(keys, (size_t)key_count, sizeof keys[0], compare_keys);
    fprintf(out, "static const gp_name_key %s_keys[] = {\n", name);
    for (int i = 0; i < key_count; i++) {
        fputs("    {", out);
        write_text(keys[i].key);
        fprintf(out, ", %d},\n", keys[i].row);
    }
    fprintf(out, "};\nconst gp_name_index %s = {%s_keys, %d};\n\n", name, name, key_count);
    key_count = 0;
}

/* ---- models ---- */

/* The packed shape as a text literal: octal escapes of three digits never run into what follows. */
static void write_shape(const gp_shape *shape, const char *id) {
    static uint8_t bytes[2048];
    int length = gp_shape_pack(shape, bytes, sizeof bytes);
    if (length == 0) fault(id, "a shape too long to pack");
    write_text_field("model_type", shape->model_type);
    fputs(" .shape = (const uint8_t *)\"", out);
    for (int i = 0; i < length; i++) fprintf(out, "\\%03o", bytes[i]);
    fputs("\",", out);
}

static void read_shape(const cJSON *row, const char *id, gp_shape *shape) {
    static gp_diagnostics diagnostics;
    static gp_model model;
    gp_diagnostics_clear(&diagnostics);
    if (!gp_config_read(cJSON_GetObjectItemCaseSensitive(row, "config"), "config", shape, &diagnostics)) {
        for (int i = 0; i < diagnostics.count; i++) {
            fprintf(stderr, "gen_catalog: %s: %s at %s\n", id, gp_code_key(diagnostics.rows[i].code),
                    diagnostics.rows[i].path);
        }
        faults++;
        return;
    }
    /* "counts": what the published number holds beyond the model itself. */
    shape->mtp_counted = strcmp(text_of(row, "counts"), "mtp") == 0;
    model.shape = *shape;
    gp_model_count(NULL, &model);
    double published = number_of(row, "params"), computed = (double)model.total_params;
    if (published > 0 && fabs(computed / published - 1) > 0.001) {
        fprintf(stderr, "gen_catalog: %s: %.0f parameters, published are %.0f\n", id, computed, published);
        faults++;
    }
}

static void write_models(const cJSON *models) {
    fputs("const gp_model_row gp_data_models[] = {\n", out);
    const cJSON *row;
    int count = 0;
    cJSON_ArrayForEach(row, models) {
        gp_shape shape = {0};
        const char *id = needed(row, "a model", "id");
        shape.model_type = "";
        read_shape(row, id, &shape);
        fputs("    {", out);
        write_text_field("id", id);
        write_text_field("family", needed(row, id, "family"));
        write_field("release_year", "%d", (int)number_of(row, "year"));
        write_field("published_params", "%.0f", number_of(row, "params"));
        write_text_field("published_active", text_of(row, "active"));
        write_text_field("source", needed(row, id, "source"));
        write_confidence(row, id);
        write_shape(&shape, id);
        fputs("},\n", out);
        count++;
    }
    fprintf(out, "};\nconst int gp_data_model_count = %d;\n\n", count);
}

static void index_names(const cJSON *rows, gp_key_kind kind) {
    char key[GP_KEY_BYTES];
    int number = 0;
    const cJSON *row;
    cJSON_ArrayForEach(row, rows) {
        gp_key_of_model(text_of(row, "id"), kind, key);
        if (kind == GP_KEY_STEM) {
            if (find(key) < 0) add_key(key, number);
        } else {
            add_name(text_of(row, "id"), key, number);
        }
        number++;
    }
}

/* Aliases of the other list are left to it. */
static void index_aliases(const cJSON *aliases) {
    char key[GP_KEY_BYTES], target[GP_KEY_BYTES];
    const cJSON *alias;
    cJSON_ArrayForEach(alias, aliases) {
        gp_key_of_model(alias->valuestring, GP_KEY_NAME, target);
        gp_key_of_model(alias->string, GP_KEY_NAME, key);
        if (find(target) >= 0) add_name(alias->string, key, find(target));
    }
}

/* Every id, then its aliases, then, where still free, the stems. */
static void index_models(const char *name, const cJSON *rows, const cJSON *aliases) {
    index_names(rows, GP_KEY_NAME);
    index_aliases(aliases);
    index_names(rows, GP_KEY_STEM);
    write_index(name);
}

static void check_aliases(const cJSON *models, const cJSON *unsupported, const cJSON *aliases) {
    const cJSON *alias, *row;
    cJSON_ArrayForEach(alias, aliases) {
        bool known = false;
        cJSON_ArrayForEach(row, models) known = known || strcmp(text_of(row, "id"), alias->valuestring) == 0;
        cJSON_ArrayForEach(row, unsupported) known = known || strcmp(text_of(row, "id"), alias->valuestring) == 0;
        if (!known) fault(alias->string, "an alias of no model");
    }
}

static void write_unsupported(const cJSON *rows) {
    fputs("const gp_unsupported_row gp_data_unsupported[] = {\n", out);
    const cJSON *row;
    cJSON_ArrayForEach(row, rows) {
        fputs("    {", out);
        write_text_field("id", needed(row, "an unsupported model", "id"));
        write_text_field("model_type", needed(row, text_of(row, "id"), "model_type"));
        fputs("},\n", out);
    }
    fputs("};\n\n", out);
}

/* ---- GPUs ---- */

static void write_aliases(const cJSON *row) {
    char joined[512] = "";
    size_t used = 0;
    const cJSON *alias;
    cJSON_ArrayForEach(alias, cJSON_GetObjectItemCaseSensitive(row, "aliases")) {
        used += (size_t)snprintf(joined + used, sizeof joined - used, "%s%s", used > 0 ? "|" : "", alias->valuestring);
        if (used >= sizeof joined) {
            fault(text_of(row, "name"), "too many aliases");
            return;
        }
    }
    write_text_field("aliases", joined);
}

static void write_gpu(const cJSON *row) {
    const char *name = needed(row, "a GPU", "name");
    const cJSON *tflops = cJSON_GetObjectItemCaseSensitive(row, "tflops");
    fputs("    {", out);
    write_text_field("name", name);
    write_aliases(row);
    write_text_field("vendor", needed(row, name, "vendor"));
    write_text_field("architecture", needed(row, name, "architecture"));
    write_field("memory_gb_nominal", "%.17g", number_of(row, "memory_gb"));
    write_field("memory_bytes", "%.0f", number_of(row, "memory_bytes"));
    write_field("bandwidth_bytes_per_s", "%.17g", number_of(row, "bandwidth_gb_s") * 1e9);
    write_field("bf16_flops", "%.17g", number_of(tflops, "bf16") * 1e12);
    write_field("fp16_flops", "%.17g", number_of(tflops, "fp16") * 1e12);
    write_field("fp8_flops", "%.17g", number_of(tflops, "fp8") * 1e12);
    write_field("fp32_flops", "%.17g", number_of(tflops, "fp32") * 1e12);
    write_switch("bf16", is_true(row, "bf16"));
    write_switch("fp8", is_true(row, "fp8"));
    write_switch("fp4", is_true(row, "fp4"));
    write_switch("flash_attention_2", is_true(row, "flash_attention_2"));
    write_field("nvlink_bytes_per_s", "%.17g", number_of(row, "nvlink_gb_s") * 1e9);
    write_field("release_year", "%d", (int)number_of(row, "year"));
    write_text_field("source", needed(row, name, "source"));
    bool visible = number_of(row, "memory_bytes") > 0;
    write_text_field("memory_source", visible ? needed(row, name, "memory_source") : "");
    write_confidence(row, name);
    fputs("},\n", out);
    if (number_of(row, "memory_gb") <= 0) fault(name, "no memory_gb");
}

static void write_gpus(const cJSON *gpus) {
    char key[GP_KEY_BYTES];
    const cJSON *row, *alias;
    int count = 0;
    fputs("const gp_gpu_row gp_data_gpus[] = {\n", out);
    cJSON_ArrayForEach(row, gpus) {
        write_gpu(row);
        gp_key_of_gpu(text_of(row, "name"), key);
        add_name(text_of(row, "name"), key, count);
        cJSON_ArrayForEach(alias, cJSON_GetObjectItemCaseSensitive(row, "aliases")) {
            gp_key_of_gpu(alias->valuestring, key);
            add_name(alias->valuestring, key, count);
        }
        count++;
    }
    fprintf(out, "};\nconst int gp_data_gpu_count = %d;\n\n", count);
    write_index("gp_data_gpu_names");
}

/* ---- instances and links ---- */

static void write_instances(const cJSON *rows) {
    const cJSON *row;
    fputs("const gp_instance_row gp_data_instances[] = {\n", out);
    cJSON_ArrayForEach(row, rows) {
        const char *name = needed(row, "an instance", "type");
        fputs("    {", out);
        write_text_field("type", name);
        write_text_field("provider", needed(row, name, "provider"));
        write_text_field("gpu", needed(row, name, "gpu"));
        write_field("gpus", "%d", (int)number_of(row, "gpus"));
        write_field("vcpus", "%d", (int)number_of(row, "vcpus"));
        write_field("ram_gib", "%.17g", number_of(row, "ram_gib"));
        write_field("network_bytes_per_s", "%.17g", number_of(row, "network_gb_s") * 1e9);
        write_field("usd_per_hour", "%.17g", number_of(row, "usd_per_hour"));
        write_text_field("date", number_of(row, "usd_per_hour") > 0 ? needed(row, name, "date") : text_of(row, "date"));
        write_text_field("region", text_of(row, "region"));
        write_text_field("source", needed(row, name, "source"));
        write_confidence(row, name);
        fputs("},\n", out);
        if (number_of(row, "gpus") < 1) fault(name, "no gpus");
    }
    fprintf(out, "};\nconst int gp_data_instance_count = %d;\n\n", cJSON_GetArraySize(rows));
}

static void write_links(const cJSON *rows) {
    const cJSON *row;
    fputs("const gp_link_row gp_data_links[] = {\n", out);
    cJSON_ArrayForEach(row, rows) {
        const char *name = needed(row, "a link", "name");
        fputs("    {", out);
        write_text_field("name", name);
        write_text_field("kind", needed(row, name, "kind"));
        write_text_field("note", text_of(row, "note"));
        write_field("bytes_per_s", "%.17g", number_of(row, "gb_s") * 1e9);
        write_text_field("source", needed(row, name, "source"));
        write_confidence(row, name);
        fputs("},\n", out);
        if (number_of(row, "gb_s") <= 0) fault(name, "no gb_s");
    }
    fprintf(out, "};\nconst int gp_data_link_count = %d;\n\n", cJSON_GetArraySize(rows));
}

/* ---- formats ---- */

static void index_format(const cJSON *row, int number) {
    char key[GP_FORMAT_KEY_BYTES];
    const cJSON *alias;
    gp_key_of_format(text_of(row, "name"), key);
    add_name(text_of(row, "name"), key, number);
    cJSON_ArrayForEach(alias, cJSON_GetObjectItemCaseSensitive(row, "aliases")) {
        gp_key_of_format(alias->valuestring, key);
        add_name(alias->valuestring, key, number);
    }
}

static void write_formats(const cJSON *formats) {
    const cJSON *row;
    int number = 0;
    fputs("const gp_format gp_data_formats[] = {\n", out);
    cJSON_ArrayForEach(row, cJSON_GetObjectItemCaseSensitive(formats, "weights")) {
        const char *name = needed(row, "a format", "name");
        fputs("    {", out);
        write_text_field("name", name);
        write_field("linear_bits", "%.17g", number_of(row, "linear_bits"));
        write_field("other_bits", "%.17g", number_of(row, "other_bits"));
        write_field("textbook_bits", "%.17g", number_of(row, "textbook_bits"));
        write_switch("whole_model", is_true(row, "whole_model"));
        write_text_field("source", needed(row, name, "source"));
        fputs("},\n", out);
        if (number_of(row, "linear_bits") <= 0 || number_of(row, "textbook_bits") <= 0) fault(name, "no bits");
        index_format(row, number++);
    }
    fputs("};\n\n", out);
    write_index("gp_data_format_names");
}

static void write_kv_formats(const cJSON *formats) {
    const cJSON *row;
    int number = 0;
    fputs("const gp_kv_row gp_data_kv_formats[] = {\n", out);
    cJSON_ArrayForEach(row, cJSON_GetObjectItemCaseSensitive(formats, "kv")) {
        const char *name = needed(row, "a KV format", "name");
        fputs("    {", out);
        write_text_field("name", name);
        write_field("bits", "%.17g", number_of(row, "bits"));
        write_text_field("source", needed(row, name, "source"));
        fputs("},\n", out);
        if (number_of(row, "bits") <= 0) fault(name, "no bits");
        index_format(row, number++);
    }
    fputs("};\n\n", out);
    write_index("gp_data_kv_format_names");
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fputs("usage: gen_catalog DATA_FOLDER OUTPUT.c\n", stderr);
        return 2;
    }
    cJSON *models = read_json(argv[1], "models.json"), *gpus = read_json(argv[1], "gpus.json");
    cJSON *formats = read_json(argv[1], "formats.json"), *aliases = read_json(argv[1], "aliases.json");
    cJSON *unsupported = read_json(argv[1], "unsupported.json");
    cJSON *instances = read_json(argv[1], "instances.json"), *links = read_json(argv[1], "links.json");
    out = fopen(argv[2], "wb");
    if (out == NULL) {
        fprintf(stderr, "gen_catalog: %s: cannot be written\n", argv[2]);
        return 1;
    }
    fputs("/* Generated by native/gen_catalog.c from core/data/. */\n"
          "#include \"catalog_data.h\"\n#include \"format_data.h\"\n\n", out);
    write_models(models);
    check_aliases(models, unsupported, aliases);
    index_models("gp_data_model_names", models, aliases);
    write_unsupported(unsupported);
    index_models("gp_data_unsupported_names", unsupported, aliases);
    write_gpus(gpus);
    write_instances(instances);
    write_links(links);
    write_formats(formats);
    write_kv_formats(formats);
    bool written = fclose(out) == 0;
    cJSON_Delete(models);
    cJSON_Delete(gpus);
    cJSON_Delete(formats);
    cJSON_Delete(aliases);
    cJSON_Delete(unsupported);
    cJSON_Delete(instances);
    cJSON_Delete(links);
    if (faults > 0 || !written) {
        remove(argv[2]);
        return 1;
    }
    return 0;
}
