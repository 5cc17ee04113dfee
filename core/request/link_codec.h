/* link_codec.h: the two encodings inside a plan link: percent-encoding of pairs, and one opaque value for JSON that
 * has no pairs of its own. */
#ifndef GP_LINK_CODEC_H
#define GP_LINK_CODEC_H

#include <stdbool.h>
#include <stddef.h>

struct cJSON;

/* Text that grows; `failed` once memory ran out. */
typedef struct {
    char *bytes; /* NUL-terminated unless failed or empty */
    size_t length, capacity;
    bool failed;
} gp_link_text;

void gp_link_append(gp_link_text *text, const char *bytes, size_t length);
/* Appends a key or value: letters, digits and - . _ ~ / : , stay as they are, a space becomes '+', all else %XX. */
void gp_link_append_escaped(gp_link_text *text, const char *bytes, size_t length);
/* Undoes the escapes of `length` bytes into `buffer` (at least length + 1 bytes), NUL-terminated. False for a cut or
 * wrong escape, and for %00. */
bool gp_link_unescape(const char *bytes, size_t length, char *buffer);

/* An opaque value is a codec's name, a dot and its text in base64url (RFC 4648 section 5, no padding). Codec j1 is JSON
 * without blanks, z1 the same as deflate.h packs it. The shorter one is written, both are read for ever. Further codecs
 * get further names. */
void gp_link_append_json(gp_link_text *text, const struct cJSON *item);
/* The JSON of an opaque value, owned by the caller, or NULL when it does not decode. *codec_length receives the length
 * of the codec's name. */
struct cJSON *gp_link_read_json(const char *value, size_t *codec_length);

#endif
