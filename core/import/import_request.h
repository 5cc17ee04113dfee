/* import_request.h: the members of an import request and of its report. */
#ifndef GP_IMPORT_REQUEST_H
#define GP_IMPORT_REQUEST_H

#include "base/diagnostics.h"
#include "base/writer.h"

struct cJSON;

/* Reads `parts`, a list of {name, bytes, size} whose bytes stand one after the other in `files`, or {name, text}, and
 * writes `import` and `job`, or `need`: for each part that must come back with more bytes {part, bytes}. `size` is that
 * of the whole file; absent, the part is whole, and null, it is not known yet. Faults become rows. */
void gp_import_request(const struct cJSON *parts, const char *name, const unsigned char *files, size_t file_bytes,
                       gp_writer *writer, gp_diagnostics *faults);

#endif
