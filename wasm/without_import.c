/* without_import.c: stands for core/import_request.c in the module that the page starts with. Most readers never open a
 * file of a model, so the importers come with the full module when one does. Until then the operation is unknown. */
#include "import_request.h"

void gp_import_request(const struct cJSON *parts, const char *name, const unsigned char *files, size_t file_bytes,
                       gp_writer *writer, gp_diagnostics *faults) {
    (void)parts, (void)name, (void)files, (void)file_bytes, (void)writer;
    gp_argue_text(gp_diagnose(faults, GP_CODE_UNKNOWN_OPERATION, "op"), "value", "import");
}
