/* shim.c: the WebAssembly face of the core: one buffer in, one text out. The page owns no memory of the module, so it
 * cannot leak or free twice; the C interface (core/gpuplan.h) keeps the usual form. Not compiled natively. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "gpuplan.h"

#define EXPORT(name) __attribute__((export_name(#name)))

/* One byte more than a request may have: a longer one is cut to this length, which the core refuses as too long, so
 * that the answer is the same text as the command line's. */
static char request[GP_REQUEST_BYTES_MAX + 1];
static char *reply;
/* Bytes of files beside the next request. */
static unsigned char *files;
static uint32_t file_bytes;

EXPORT(gp_request) char *gp_wasm_request(void);
EXPORT(gp_request_bytes) uint32_t gp_wasm_request_bytes(void);
EXPORT(gp_files) unsigned char *gp_wasm_files(uint32_t bytes);
EXPORT(gp_call) const char *gp_wasm_call(uint32_t length);

/* Where a request is to be written, and how many bytes there are. */
char *gp_wasm_request(void) { return request; }
uint32_t gp_wasm_request_bytes(void) { return (uint32_t)sizeof request; }

/* Makes room for the files of the next request; NULL when there is none. */
unsigned char *gp_wasm_files(uint32_t bytes) {
    free(files);
    files = malloc(bytes);
    file_bytes = files != NULL ? bytes : 0;
    return files;
}

/* Answers the first `length` bytes of the buffer. The report is NUL-terminated and valid until the next call; NULL when
 * memory for it could not be had. */
const char *gp_wasm_call(uint32_t length) {
    gp_free(reply);
    reply = gp_answer_with(request, length < sizeof request ? length : sizeof request, files, file_bytes);
    free(files);
    files = NULL;
    file_bytes = 0;
    return reply;
}
