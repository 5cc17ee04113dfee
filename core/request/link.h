/* link.h: a job as readable key=value pairs for the fragment of a URL, "v=1&task=qlora&model=…". Only fields that
 * differ from their default are written, and the few that mean something by being given (a GPU count of 1, a rank).
 * Values are percent-encoded where needed. Links of this version work forever: keys are never reused or renamed
 * (tests/golden/links/ holds one link of every version). */
#ifndef GP_LINK_H
#define GP_LINK_H

#include "request/job.h"

struct cJSON;

#define GP_LINK_VERSION 1
#define GP_LINK_BYTES_MAX 16384

/* Writes the link of a `job` object, given as the request has it (so unknown values survive), NUL-terminated text
 * owned by the caller, without leading '#'. NULL when memory ran out. Faults of the job are not its concern. */
char *gp_link_encode(const struct cJSON *job);

/* Reads a link ("#v=1&…", with or without '#', or a whole URL with a fragment) into a `job` object owned by the
 * caller. Pairs that cannot be read become diagnostics and the rest is kept; a newer version is read as far as it is
 * known, with LINK_NEWER. NULL only when memory ran out. */
struct cJSON *gp_link_decode(const char *link, gp_diagnostics *diagnostics);

#endif
