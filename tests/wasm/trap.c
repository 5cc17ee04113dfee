/* A module with the exports of the core that stops in the middle of a request of one byte. Its reply is the number of
 * requests answered so far, which shows when a fresh instance has taken over. */
#include <stdint.h>

#define EXPORT(name) __attribute__((export_name(#name)))

static char request[16];
static char reply[2];
static int answered;

EXPORT(gp_request) char *gp_wasm_request(void);
EXPORT(gp_request_bytes) uint32_t gp_wasm_request_bytes(void);
EXPORT(gp_call) const char *gp_wasm_call(uint32_t length);

char *gp_wasm_request(void) { return request; }
uint32_t gp_wasm_request_bytes(void) { return (uint32_t)sizeof request; }

const char *gp_wasm_call(uint32_t length) {
    if (length == 1) __builtin_trap();
    reply[0] = (char)('0' + ++answered);
    return reply;
}
