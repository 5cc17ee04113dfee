/* first_view.c: stands in the module that the page starts with for what its first view does not need: files of a model
 * and config.json (core/import*.c, core/config*.c), links that carry packed JSON (core/deflate.c), the choice of hardware
 * (core/rank.c), and what is looked up apart from any plan (core/report_reference.c). The full module has them; the page
 * loads it before it asks for any. */
#include "config.h"
#include "deflate.h"
#include "import_request.h"
#include "report.h"

void gp_import_request(const struct cJSON *parts, const char *name, const unsigned char *files, size_t file_bytes,
                       gp_writer *writer, gp_diagnostics *faults) {
    (void)parts, (void)name, (void)files, (void)file_bytes, (void)writer;
    gp_argue_text(gp_diagnose(faults, GP_CODE_UNKNOWN_OPERATION, "op"), "value", "import");
}

bool gp_config_read(const struct cJSON *config, const char *path, gp_shape *shape, gp_diagnostics *diagnostics) {
    (void)config, (void)shape;
    gp_argue_text(gp_diagnose(diagnostics, GP_CODE_UNSUPPORTED_ARCHITECTURE, path), "value", "config");
    return false;
}

/* As if nothing could be packed, and nothing packed were whole. */
size_t gp_deflate(const char *text, size_t length, unsigned char *packed, size_t size) {
    (void)text, (void)length;
    if (size > 0) packed[0] = 0;
    return 0;
}

bool gp_inflate(const unsigned char *packed, size_t length, char *text, size_t size, size_t *text_length) {
    (void)packed, (void)length;
    if (size > 0) text[0] = '\0';
    *text_length = 0;
    return false;
}

/* As if memory had run out. */
gp_rank_row *gp_rank(const gp_job *request, gp_rank_kind kind, const char *filter, gp_plan *plan, int *count) {
    (void)request, (void)kind, (void)filter, (void)plan;
    *count = 0;
    return NULL;
}

void gp_report_rank(gp_writer *writer, const gp_rank_row *rows, int count) {
    (void)writer, (void)rows, (void)count;
}

bool gp_report_reference(gp_writer *writer, const char *kind, const char *filter) {
    (void)writer, (void)kind, (void)filter;
    return false;
}

bool gp_report_explain(gp_writer *writer, const char *id) {
    (void)writer, (void)id;
    return false;
}
