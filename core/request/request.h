/* request.h: from the bytes of a request to a tree that later parts can trust: valid UTF-8, bounded depth and size,
 * no key twice, every number finite. */
#ifndef GP_REQUEST_H
#define GP_REQUEST_H

#include <stddef.h>

#include "base/diagnostics.h"

struct cJSON;

/* Parses `length` bytes (at most GP_REQUEST_BYTES_MAX; NULL counts as no text). Time is linear in the length up to the
 * sorting of keys, depth and memory are bounded by the limits of json_scan.h, whatever the text.
 * Returns the tree, owned by the caller (cJSON_Delete), or NULL after an error row with the offset of the fault. A
 * tree may come with rows too: DUPLICATE_KEY and NOT_FINITE, whose path omits a leading "job." as all paths do; it is
 * returned so that the faults of the job can be told in the same answer. */
struct cJSON *gp_request_parse(const char *text, size_t length, gp_diagnostics *diagnostics);

#endif
