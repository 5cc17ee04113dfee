/* What was understood of the files, and the part of a job that follows from it. */
#include <math.h>

#include "cJSON.h"
#include "import/import.h"

static const char *const kinds[] = {"", "config", "safetensors_index", "safetensors", "gguf"};
static const char *const groups[GP_GROUP_COUNT] = {"embedding", "head", "layers", "experts", "norms", "towers", "other"};

static void write_sum(gp_writer *writer, const char *key, const char *name, const gp_import_sum *sum) {
    if (sum->tensors == 0) return;
    gp_write_open(writer, NULL, '{');
    gp_write_text(writer, key, name);
    gp_write_bytes(writer, "tensors", sum->tensors);
    gp_write_bytes(writer, "params", sum->params);
    gp_write_bytes(writer, "bytes", sum->bytes);
    gp_write_close(writer, '}');
}

static void write_tree(gp_writer *writer, const char *key, const cJSON *tree) {
    char *text = cJSON_PrintUnformatted(tree);
    if (text == NULL)
        writer->failed = true;
    else
        gp_write_raw(writer, key, text);
    cJSON_free(text);
}

static void write_facts(gp_writer *writer, const gp_import *import) {
    gp_write_open(writer, "import", '{');
    gp_write_text(writer, "kind", kinds[import->kind]);
    gp_write_known_text(writer, "name", import->name);
    gp_write_known_text(writer, "architecture", import->architecture);
    gp_write_text(writer, "format", import->quantization.format);
    gp_write_known_text(writer, "method", import->quantization.method);
    gp_write_known(writer, "tensors", (double)import->tensors);
    gp_write_known(writer, "params", (double)import->params);
    gp_write_known(writer, "computed_params", (double)import->computed_params);
    gp_write_known(writer, "prediction_params", (double)import->prediction_params);
    gp_write_known(writer, "bytes", (double)import->bytes);
    gp_write_open(writer, "types", '[');
    for (int i = 0; i < import->type_count; i++) write_sum(writer, "type", import->types[i].name, &import->types[i]);
    gp_write_close(writer, ']');
    gp_write_open(writer, "groups", '[');
    for (int i = 0; i < GP_GROUP_COUNT; i++) write_sum(writer, "group", groups[i], &import->groups[i]);
    gp_write_close(writer, ']');
    write_tree(writer, "ignored", import->ignored);
    gp_write_close(writer, '}');
}

/* Without a structure, the size alone: an index whose type is not known counts 16 bits for each parameter. */
static double stated_params(const gp_import *import) {
    if (import->params > 0) return (double)import->params;
    return import->config == NULL ? floor((double)import->bytes / 2) : 0;
}

static void write_job(gp_writer *writer, const gp_import *import) {
    const char *name = import->name[0] != '\0' ? import->name : import->architecture;
    gp_write_open(writer, "job", '{');
    gp_write_open(writer, "model", '{');
    gp_write_known_text(writer, "name", name);
    gp_write_known(writer, "params", stated_params(import));
    if (import->config != NULL) write_tree(writer, "config", import->config);
    if (import->bytes > 0) {
        gp_write_text(writer, "file_weights", import->quantization.format);
        gp_write_bytes(writer, "file_bytes", import->bytes);
        gp_write_known(writer, "file_embedding", (double)import->embedding_bytes);
        gp_write_known(writer, "file_output", (double)import->output_bytes);
    }
    gp_write_close(writer, '}');
    gp_write_open(writer, "infer", '{');
    if (import->kind == GP_IMPORT_GGUF) gp_write_text(writer, "engine", "llama.cpp");
    gp_write_text(writer, "weights", import->quantization.format);
    gp_write_close(writer, '}');
    gp_write_close(writer, '}');
}

void gp_import_report(gp_writer *writer, const gp_import *import) {
    write_facts(writer, import);
    write_job(writer, import);
}
