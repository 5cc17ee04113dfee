/* json.h: reading reports by dotted path, and asking the core. */
#ifndef GP_JSON_H
#define GP_JSON_H

#include <stdbool.h>

#include "buffer.h"

struct cJSON;

/* Member at a dotted path ("memory.peak_bytes"), NULL when any part is absent. */
const struct cJSON *gp_json_at(const struct cJSON *tree, const char *path);
/* Number or text at a path; 0 or "" when it is absent. */
double gp_json_number(const struct cJSON *tree, const char *path);
const char *gp_json_text(const struct cJSON *tree, const char *path);
bool gp_json_has(const struct cJSON *tree, const char *path);

/* The core's report for a request, parsed; `text` receives the report itself when it is not NULL. NULL when memory
 * ran out. The caller deletes the tree. */
struct cJSON *gp_json_ask(const gp_buffer *request, gp_buffer *text);
/* Appends a tree as JSON, on one line or indented by two blanks. */
void gp_json_print(gp_buffer *buffer, const struct cJSON *tree, bool indented);

#endif
