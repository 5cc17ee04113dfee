#include "import/import_request.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cJSON.h"
#include "import/import.h"
#include "base/quantity.h"

typedef struct {
    gp_import_part *parts;
    int count;
    const unsigned char *files;
    uint64_t left; /* bytes of files that no part has taken */
    gp_diagnostics *faults;
} reader;

static void path_of(int index, const char *key, char *path) {
    snprintf(path, GP_PATH_BYTES, "parts.%d%s%s", index, key[0] != '\0' ? "." : "", key);
}

static void wrong_type(reader *to, int index, const char *key, const char *expected) {
    char path[GP_PATH_BYTES];
    path_of(index, key, path);
    gp_argue_text(gp_diagnose(to->faults, GP_CODE_WRONG_TYPE, path), "expected", expected);
}

/* A count of bytes; false after an error row. */
static bool read_count(reader *to, int index, const char *key, const cJSON *item, double max, uint64_t *value) {
    double number = cJSON_IsNumber(item) ? item->valuedouble : -1;
    if (!cJSON_IsNumber(item) || floor(number) != number) {
        wrong_type(to, index, key, "integer");
        return false;
    }
    if (number < 0 || number > max) {
        char path[GP_PATH_BYTES];
        path_of(index, key, path);
        gp_diagnostic *row = gp_diagnose(to->faults, GP_CODE_OUT_OF_RANGE, path);
        gp_argue_number(row, "value", number);
        gp_argue_number(row, "min", 0);
        gp_argue_number(row, "max", max);
        return false;
    }
    *value = (uint64_t)number;
    return true;
}

static void read_bytes(reader *to, int index, const cJSON *item, gp_import_part *part) {
    const cJSON *size = cJSON_GetObjectItemCaseSensitive(item, "size");
    const cJSON *bytes = cJSON_GetObjectItemCaseSensitive(item, "bytes");
    if (!read_count(to, index, "bytes", bytes, (double)to->left, &part->length)) return;
    part->bytes = to->files;
    to->files = to->files == NULL ? NULL : to->files + part->length;
    to->left -= part->length;
    part->size = part->length;
    if (cJSON_IsNull(size))
        part->size = GP_SIZE_UNKNOWN;
    else if (size != NULL && read_count(to, index, "size", size, (double)GP_EXACT_MAX, &part->size) &&
             part->size < part->length)
        part->size = part->length;
}

static void read_part(reader *to, int index, const cJSON *item) {
    gp_import_part *part = &to->parts[index];
    const cJSON *name = cJSON_GetObjectItemCaseSensitive(item, "name");
    const cJSON *text = cJSON_GetObjectItemCaseSensitive(item, "text");
    part->name = "";
    part->bytes = (const unsigned char *)"";
    if (name != NULL) {
        if (cJSON_IsString(name)) part->name = name->valuestring;
        else wrong_type(to, index, "name", "text");
    }
    if (!cJSON_IsObject(item)) {
        wrong_type(to, index, "", "object");
    } else if (text == NULL) {
        read_bytes(to, index, item, part);
    } else if (cJSON_IsString(text)) {
        part->bytes = (const unsigned char *)text->valuestring;
        part->length = part->size = strlen(text->valuestring);
    } else {
        wrong_type(to, index, "text", "text");
    }
}

static void write_needs(const reader *from, gp_writer *writer) {
    gp_write_open(writer, "need", '[');
    for (int i = 0; i < from->count; i++) {
        if (from->parts[i].need == 0) continue;
        gp_write_open(writer, NULL, '{');
        gp_write_whole(writer, "part", i);
        gp_write_bytes(writer, "bytes", from->parts[i].need);
        gp_write_close(writer, '}');
    }
    gp_write_close(writer, ']');
}

static void answer(reader *from, const char *name, gp_writer *writer) {
    gp_import import;
    if (gp_import_read(from->parts, from->count, name, &import, from->faults))
        gp_import_report(writer, &import);
    else if (!gp_has_errors(from->faults))
        write_needs(from, writer);
    gp_import_release(&import);
}

void gp_import_request(const cJSON *parts, const char *name, const unsigned char *files, size_t file_bytes,
                       gp_writer *writer, gp_diagnostics *faults) {
    int count = cJSON_GetArraySize(parts);
    if (!cJSON_IsArray(parts) || count == 0) {
        gp_argue_text(gp_diagnose(faults, GP_CODE_WRONG_TYPE, "parts"), "expected", "list");
        return;
    }
    if (count > GP_IMPORT_PARTS_MAX) {
        gp_argue_number(gp_diagnose(faults, GP_CODE_TOO_MANY_VALUES, "parts"), "max", GP_IMPORT_PARTS_MAX);
        return;
    }
    reader from = {calloc((size_t)count, sizeof *from.parts), count, files, file_bytes, faults};
    if (from.parts == NULL) {
        gp_diagnose(faults, GP_CODE_OUT_OF_MEMORY, "");
        return;
    }
    int index = 0;
    const cJSON *item = NULL;
    cJSON_ArrayForEach(item, parts) read_part(&from, index++, item);
    if (!gp_has_errors(faults)) answer(&from, name, writer);
    free(from.parts);
}
