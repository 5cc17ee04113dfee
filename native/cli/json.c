#include "json.h"

#include <string.h>

#include "cJSON.h"
#include "gpuplan.h"

const cJSON *gp_json_at(const cJSON *tree, const char *path) {
    char part[96];
    while (tree && *path) {
        const size_t length = strcspn(path, ".");
        if (length >= sizeof part) return NULL;
        memcpy(part, path, length);
        part[length] = '\0';
        tree = cJSON_GetObjectItemCaseSensitive(tree, part);
        path += length + (path[length] == '.');
    }
    return tree;
}

double gp_json_number(const cJSON *tree, const char *path) {
    const cJSON *value = gp_json_at(tree, path);
    return cJSON_IsNumber(value) ? value->valuedouble : 0;
}

const char *gp_json_text(const cJSON *tree, const char *path) {
    const cJSON *value = gp_json_at(tree, path);
    return cJSON_IsString(value) ? value->valuestring : "";
}

bool gp_json_has(const cJSON *tree, const char *path) {
    return gp_json_at(tree, path) != NULL;
}

cJSON *gp_json_ask(const gp_buffer *request, gp_buffer *text) {
    if (request->failed) return NULL;
    char *report = gp_answer_bytes(gp_buffer_string(request), request->length);
    if (!report) return NULL;
    if (text) gp_buffer_text(text, report);
    cJSON *tree = cJSON_Parse(report);
    gp_free(report);
    return tree;
}

static void newline(gp_buffer *buffer, bool indented, int depth) {
    if (!indented) return;
    gp_buffer_text(buffer, "\n");
    gp_buffer_repeat(buffer, "  ", depth);
}

static void print_value(gp_buffer *buffer, const cJSON *value, bool indented, int depth) {
    if (!cJSON_IsObject(value) && !cJSON_IsArray(value)) {
        char *text = cJSON_PrintUnformatted(value);
        if (text) gp_buffer_text(buffer, text);
        else buffer->failed = true;
        cJSON_free(text);
        return;
    }
    gp_buffer_text(buffer, cJSON_IsObject(value) ? "{" : "[");
    const cJSON *member;
    cJSON_ArrayForEach(member, value) {
        if (member != value->child) gp_buffer_text(buffer, ",");
        newline(buffer, indented, depth + 1);
        if (cJSON_IsObject(value)) {
            const cJSON key = {.type = cJSON_String, .valuestring = member->string};
            print_value(buffer, &key, indented, depth);
            gp_buffer_text(buffer, indented ? ": " : ":");
        }
        print_value(buffer, member, indented, depth + 1);
    }
    if (value->child) newline(buffer, indented, depth);
    gp_buffer_text(buffer, cJSON_IsObject(value) ? "}" : "]");
}

void gp_json_print(gp_buffer *buffer, const cJSON *tree, bool indented) {
    print_value(buffer, tree, indented, 0);
}
