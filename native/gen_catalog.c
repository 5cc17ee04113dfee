/* gen_catalog: turns core/data/ into the tables of core/catalog/catalog_data.h and core/formats/format_data.h.
 *   gen_catalog core/data build/generated/catalog_data.c
 * A model's shape is read and its parameters are counted by the code that does so at run time (core/config/config.c and
 * core/model/model_count.c). Refused, each with its row: a missing source, a duplicate id or alias, a config that cannot be
 * read, a count more than 0.1 % off the published one. Links neither core/catalog/catalog.c nor core/formats/format.c, which need the
 * tables. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cJSON.h"
#include "catalog/catalog_data.h"
#include "config/config.h"
#include "gen_output.h"
#include "model/model.h"

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
        gen_fault(name, what);
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

/* Field of a designated initialiser; the verb is a format for one value. */
static void write_field(const char *field, const char *verb, ...) {
    va_list values;
    va_start(values, verb);
    fprintf(gen_out, " .%s = ", field);
    vfprintf(gen_out, verb, values);
    fputc(',', gen_out);
    va_end(values);
}

static void write_text_field(const char *field, const char *text) {
    fprintf(gen_out, " .%s = ", field);
    gen_write_text(text);
    fputc(',', gen_out);
}

static void write_switch(const char *field, bool value) {
    if (value) write_field(field, "true");
}

static gp_confidence confidence_of(const cJSON *row, const char *name) {
    static const char *const words[] = {"low", "medium", "high"};
    for (int i = 0; i < 3; i++) {
        if (strcmp(text_of(row, "confidence"), words[i]) == 0) return (gp_confidence)i;
    }
    gen_fault(name, "confidence is none of high, medium, low");
    return GP_CONFIDENCE_LOW;
}

static void write_confidence(const cJSON *row, const char *name) {
    write_field("confidence", "%d", (int)confidence_of(row, name));
}

/* A text that is one of the pool's. */
static void write_place(const char *field, const char *text) {
    write_field(field, "gp_data_texts + %d", gen_place(text));
}

/* ---- models ---- */

/* Shapes, one after the other, and where each begins. */
static uint8_t shapes[1 << 16];
static int shape_bytes;

static int place_of_shape(const gp_shape *shape, const char *id) {
    int place = shape_bytes;
    int length = gp_shape_pack(shape, shapes + place, (int)sizeof shapes - place);
    if (length == 0) gen_fault(id, "too many shapes");
    shape_bytes += length;
    return place;
}

static void write_shapes(void) {
    fputs("const uint8_t gp_data_shapes[] = {", gen_out);
    for (int i = 0; i < shape_bytes; i++) fprintf(gen_out, "%s%d,", i % 24 == 0 ? "\n    " : "", shapes[i]);
    fputs("\n};\n\n", gen_out);
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
        gen_faults++;
        return;
    }
    /* "counts": what the published number holds beyond the model itself. */
    shape->mtp_counted = strcmp(text_of(row, "counts"), "mtp") == 0;
    model.shape = *shape;
    gp_model_count(NULL, &model);
    double published = number_of(row, "params"), computed = (double)model.total_params;
    if (published > 0 && fabs(computed / published - 1) > 0.001) {
        fprintf(stderr, "gen_catalog: %s: %.0f parameters, published are %.0f\n", id, computed, published);
        gen_faults++;
    }
}

static void write_models(const cJSON *models) {
    static int columns[GP_MODEL_COLUMNS][GEN_ROWS_MAX], all[GP_MODEL_COLUMNS * GEN_ROWS_MAX], sources[GEN_ROWS_MAX];
    const cJSON *row;
    int count = 0, written = 0;
    fputs("const uint64_t gp_data_published[] = {\n", gen_out);
    cJSON_ArrayForEach(row, models) {
        gp_shape shape = {0};
        const char *id = needed(row, "a model", "id");
        shape.model_type = "";
        read_shape(row, id, &shape);
        columns[GP_COLUMN_ID][count] = gen_place(id);
        columns[GP_COLUMN_FAMILY][count] = gen_place(needed(row, id, "family"));
        columns[GP_COLUMN_TYPE][count] = gen_place(shape.model_type);
        sources[count] = gen_place_in(&gen_sources, needed(row, id, "source"));
        columns[GP_COLUMN_ACTIVE][count] = gen_place(text_of(row, "active"));
        columns[GP_COLUMN_STORED][count] = gen_place(text_of(row, "stored"));
        columns[GP_COLUMN_SHAPE][count] = place_of_shape(&shape, id);
        int years = (int)number_of(row, "year") - 2000;
        columns[GP_COLUMN_YEAR_CONFIDENCE][count++] = 4 * years + (int)confidence_of(row, id);
        fprintf(gen_out, "    %.0f,\n", number_of(row, "params"));
    }
    fprintf(gen_out, "};\nconst int gp_data_model_count = %d;\n\n", count);
    gen_distances(columns[GP_COLUMN_ID], count);
    gen_distances(columns[GP_COLUMN_SHAPE], count);
    for (int i = 0; i < GP_MODEL_COLUMNS * count; i++) all[written++] = columns[i / count][i % count];
    gen_write_numbers("gp_data_models", all, written);
    gen_write_numbers("gp_data_model_sources", sources, count);
    write_shapes();
}

static void name_aliases(const cJSON *aliases) {
    char target[GP_KEY_BYTES];
    const cJSON *alias;
    cJSON_ArrayForEach(alias, aliases) {
        gp_key_of_model(alias->valuestring, GP_KEY_NAME, target);
        int row = gen_find(target);
        if (row >= 0) gen_name_alias(alias->string, gen_place(alias->string), row, gp_key_of_model);
    }
}

/* Every id, its aliases, and the stems. */
static void index_models(const char *name, const cJSON *rows, const cJSON *aliases) {
    const cJSON *row;
    cJSON_ArrayForEach(row, rows) gen_name_row(text_of(row, "id"), gp_key_of_model);
    name_aliases(aliases);
    gen_name_stems();
    gen_write_index(name, gp_key_of_model, "gp_key_of_model");
}

static void check_aliases(const cJSON *models, const cJSON *aliases) {
    const cJSON *alias, *row;
    cJSON_ArrayForEach(alias, aliases) {
        bool known = false;
        cJSON_ArrayForEach(row, models) known = known || strcmp(text_of(row, "id"), alias->valuestring) == 0;
        if (!known) gen_fault(alias->string, "an alias of no model");
    }
}

/* ---- GPUs ---- */

/* The names of a row and where they stand: its aliases are one text, separated by '|'. */
static int name_with_aliases(const cJSON *row, int number, gp_key_writer *write_key) {
    char joined[512] = "";
    size_t used = 0;
    const cJSON *alias, *aliases = cJSON_GetObjectItemCaseSensitive(row, "aliases");
    gen_name_row(text_of(row, "name"), write_key);
    cJSON_ArrayForEach(alias, aliases) {
        used += (size_t)snprintf(joined + used, sizeof joined - used, "%s%s", used > 0 ? "|" : "", alias->valuestring);
        if (used >= sizeof joined) {
            gen_fault(text_of(row, "name"), "too many aliases");
            return gen_place("");
        }
    }
    int place = gen_place(joined), from = place;
    cJSON_ArrayForEach(alias, aliases) {
        gen_name_alias(alias->valuestring, from, number, write_key);
        from += (int)strlen(alias->valuestring) + 1;
    }
    return place;
}

static void write_gpu(const cJSON *row, int number) {
    const char *name = needed(row, "a GPU", "name");
    fputs("    {", gen_out);
    write_place("name", name);
    write_field("aliases", "gp_data_texts + %d", name_with_aliases(row, number, gp_key_of_gpu));
    write_place("vendor", needed(row, name, "vendor"));
    write_place("architecture", needed(row, name, "architecture"));
    write_field("memory_gb_nominal", "%.17g", number_of(row, "memory_gb"));
    write_field("memory_bytes", "%.0f", number_of(row, "memory_bytes"));
    write_field("bandwidth_bytes_per_s", "%.17g", number_of(row, "bandwidth_gb_s") * 1e9);
    write_switch("bf16", is_true(row, "bf16"));
    write_switch("fp8", is_true(row, "fp8"));
    write_switch("fp4", is_true(row, "fp4"));
    write_switch("flash_attention_2", is_true(row, "flash_attention_2"));
    write_field("release_year", "%d", (int)number_of(row, "year"));
    write_confidence(row, name);
    fputs("},\n", gen_out);
    if (number_of(row, "memory_gb") <= 0) gen_fault(name, "no memory_gb");
}

static void write_gpu_speed(const cJSON *row) {
    const cJSON *tflops = cJSON_GetObjectItemCaseSensitive(row, "tflops");
    fputs("    {", gen_out);
    write_field("bf16_flops", "%.17g", number_of(tflops, "bf16") * 1e12);
    write_field("fp16_flops", "%.17g", number_of(tflops, "fp16") * 1e12);
    write_field("fp8_flops", "%.17g", number_of(tflops, "fp8") * 1e12);
    write_field("fp32_flops", "%.17g", number_of(tflops, "fp32") * 1e12);
    write_field("nvlink_bytes_per_s", "%.17g", number_of(row, "nvlink_gb_s") * 1e9);
    fputs("},\n", gen_out);
}

static void write_gpu_sources(const cJSON *gpus) {
    static int sources[GEN_ROWS_MAX], memory_sources[GEN_ROWS_MAX];
    const cJSON *row;
    int count = 0;
    cJSON_ArrayForEach(row, gpus) {
        const char *name = text_of(row, "name");
        bool visible = number_of(row, "memory_bytes") > 0;
        sources[count] = gen_place_in(&gen_sources, needed(row, name, "source"));
        memory_sources[count++] = gen_place_in(&gen_sources, visible ? needed(row, name, "memory_source") : "");
    }
    gen_write_numbers("gp_data_gpu_sources", sources, count);
    gen_write_numbers("gp_data_gpu_memory_sources", memory_sources, count);
}

static void write_gpus(const cJSON *gpus) {
    const cJSON *row;
    int count = 0;
    fputs("const gp_gpu_row gp_data_gpus[] = {\n", gen_out);
    cJSON_ArrayForEach(row, gpus) write_gpu(row, count++);
    fprintf(gen_out, "};\nconst int gp_data_gpu_count = %d;\n\n", count);
    fputs("const gp_gpu_speed gp_data_gpu_speeds[] = {\n", gen_out);
    cJSON_ArrayForEach(row, gpus) write_gpu_speed(row);
    fputs("};\n\n", gen_out);
    write_gpu_sources(gpus);
    gen_write_index("gp_data_gpu_names", gp_key_of_gpu, "gp_key_of_gpu");
}

/* ---- instances and links ---- */

static void write_instances(const cJSON *rows) {
    const cJSON *row;
    fputs("const gp_instance_row gp_data_instances[] = {\n", gen_out);
    cJSON_ArrayForEach(row, rows) {
        const char *name = needed(row, "an instance", "type");
        fputs("    {", gen_out);
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
        fputs("},\n", gen_out);
        if (number_of(row, "gpus") < 1) gen_fault(name, "no gpus");
    }
    fprintf(gen_out, "};\nconst int gp_data_instance_count = %d;\n\n", cJSON_GetArraySize(rows));
}

static void write_links(const cJSON *rows) {
    const cJSON *row;
    fputs("const gp_link_row gp_data_links[] = {\n", gen_out);
    cJSON_ArrayForEach(row, rows) {
        const char *name = needed(row, "a link", "name");
        fputs("    {", gen_out);
        write_text_field("name", name);
        write_text_field("kind", needed(row, name, "kind"));
        write_text_field("note", text_of(row, "note"));
        write_field("bytes_per_s", "%.17g", number_of(row, "gb_s") * 1e9);
        write_text_field("source", needed(row, name, "source"));
        write_confidence(row, name);
        fputs("},\n", gen_out);
        if (number_of(row, "gb_s") <= 0) gen_fault(name, "no gb_s");
    }
    fprintf(gen_out, "};\nconst int gp_data_link_count = %d;\n\n", cJSON_GetArraySize(rows));
}

/* ---- formats ---- */

static void write_formats(const cJSON *formats) {
    const cJSON *row;
    int number = 0;
    fputs("const gp_format gp_data_formats[] = {\n", gen_out);
    cJSON_ArrayForEach(row, cJSON_GetObjectItemCaseSensitive(formats, "weights")) {
        const char *name = needed(row, "a format", "name");
        fputs("    {", gen_out);
        write_place("name", name);
        write_field("linear_bits", "%.17g", number_of(row, "linear_bits"));
        write_field("other_bits", "%.17g", number_of(row, "other_bits"));
        write_field("textbook_bits", "%.17g", number_of(row, "textbook_bits"));
        write_switch("whole_model", is_true(row, "whole_model"));
        write_switch("experts_only", is_true(row, "experts_only"));
        write_field("beside_bits", "%.17g", number_of(row, "beside_bits"));
        fputs("},\n", gen_out);
        needed(row, name, "source");
        if (number_of(row, "linear_bits") <= 0 || number_of(row, "textbook_bits") <= 0) gen_fault(name, "no bits");
        name_with_aliases(row, number++, gp_key_of_format);
    }
    fputs("};\n\n", gen_out);
    gen_write_index("gp_data_format_names", gp_key_of_format, "gp_key_of_format");
}

static void write_kv_formats(const cJSON *formats) {
    const cJSON *row;
    int number = 0;
    fputs("const double gp_data_kv_bits[] = {\n", gen_out);
    cJSON_ArrayForEach(row, cJSON_GetObjectItemCaseSensitive(formats, "kv")) {
        const char *name = needed(row, "a KV format", "name");
        fprintf(gen_out, "    %.17g,\n", number_of(row, "bits"));
        needed(row, name, "source");
        if (number_of(row, "bits") <= 0) gen_fault(name, "no bits");
        name_with_aliases(row, number++, gp_key_of_format);
    }
    fputs("};\n\n", gen_out);
    gen_write_index("gp_data_kv_format_names", gp_key_of_format, "gp_key_of_format");
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fputs("usage: gen_catalog DATA_FOLDER OUTPUT.c\n", stderr);
        return 2;
    }
    cJSON *models = read_json(argv[1], "models.json"), *gpus = read_json(argv[1], "gpus.json");
    cJSON *formats = read_json(argv[1], "formats.json"), *aliases = read_json(argv[1], "aliases.json");
    cJSON *instances = read_json(argv[1], "instances.json"), *links = read_json(argv[1], "links.json");
    gen_out = fopen(argv[2], "wb");
    if (gen_out == NULL) {
        fprintf(stderr, "gen_catalog: %s: cannot be written\n", argv[2]);
        return 1;
    }
    fputs("/* Generated by native/gen_catalog.c from core/data/. */\n"
          "#include \"catalog/catalog_data.h\"\n#include \"formats/format_data.h\"\n\n", gen_out);
    write_models(models);
    check_aliases(models, aliases);
    index_models("gp_data_model_names", models, aliases);
    write_gpus(gpus);
    write_instances(instances);
    write_links(links);
    write_formats(formats);
    write_kv_formats(formats);
    gen_write_pool("gp_data_texts", &gen_texts);
    gen_write_pool("gp_data_sources", &gen_sources);
    bool written = fclose(gen_out) == 0;
    cJSON_Delete(models);
    cJSON_Delete(gpus);
    cJSON_Delete(formats);
    cJSON_Delete(aliases);
    cJSON_Delete(instances);
    cJSON_Delete(links);
    if (gen_faults > 0 || !written) {
        remove(argv[2]);
        return 1;
    }
    return 0;
}
