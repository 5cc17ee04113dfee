/* import_file.h: the first bytes of a file, read in order with every step checked against what is there. Nothing is
 * allocated by a number that the file claims. Private to the importers. */
#ifndef GP_IMPORT_FILE_H
#define GP_IMPORT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diagnostics.h"

/* Size of a file that is still being read, as from a pipe. */
#define GP_SIZE_UNKNOWN UINT64_MAX
/* Longest beginning of a file that is looked at; the largest headers published take a quarter of it. */
#define GP_IMPORT_HEADER_MAX (UINT64_C(32) << 20)
/* Most entries (metadata keys, tensors) of one file, a hundred times what the largest published ones hold. */
#define GP_IMPORT_ENTRIES_MAX 262144

typedef struct {
    const char *name; /* as the reader of the report knows it */
    const unsigned char *bytes;
    uint64_t length;  /* bytes at hand, the first of the file */
    uint64_t size;    /* of the whole file */
    uint64_t at;      /* next byte to read */
    uint64_t need;    /* bytes to ask for, 0 = none: reading stopped for lack of bytes */
    bool faulty;      /* reading stopped after an error row */
    gp_diagnostics *faults;
} gp_import_file;

/* True when reading can go on. */
static inline bool gp_file_good(const gp_import_file *file) { return file->need == 0 && !file->faulty; }

/* Path of a fault inside a file, "config.json: hidden_size": the name, cut where the key leaves it no room; the name alone
 * for the key "". */
void gp_file_path(const char *name, const char *key, char path[GP_PATH_BYTES]);
/* Error row at a key of the file, which reads no further; returned for gp_argue_* calls. */
gp_diagnostic *gp_file_fault(gp_import_file *file, gp_code code, const char *key);

/* Error row FILE_DAMAGED: a word of the group DAMAGE in messages.def and the place. The first one counts. */
void gp_file_damage(gp_import_file *file, const char *damage, uint64_t offset);

/* Asks for `count` more bytes than are at hand, or tells that the file ends before. Returns false. */
bool gp_file_lack(gp_import_file *file, uint64_t count);

/* The reading below is inline: a header may hold millions of numbers. */

/* True when `count` more bytes are at hand. */
static inline bool gp_file_has(gp_import_file *file, uint64_t count) {
    if (!gp_file_good(file)) return false;
    return count <= file->length - file->at || gp_file_lack(file, count);
}

/* Two or four or eight bytes at `bytes`. */
static inline uint64_t gp_little_endian(const unsigned char *bytes, int count) {
    uint64_t value = 0;
    for (int i = 0; i < count; i++) value |= (uint64_t)bytes[i] << (8 * i);
    return value;
}

/* Passes over `count` bytes and returns where they start; NULL after a fault. */
static inline const unsigned char *gp_file_take(gp_import_file *file, uint64_t count) {
    if (!gp_file_has(file, count)) return NULL;
    const unsigned char *start = file->bytes + file->at;
    file->at += count;
    return start;
}

/* Little-endian numbers; 0 after a fault. */
static inline uint32_t gp_file_u32(gp_import_file *file) {
    const unsigned char *bytes = gp_file_take(file, 4);
    return bytes == NULL ? 0 : (uint32_t)gp_little_endian(bytes, 4);
}

static inline uint64_t gp_file_u64(gp_import_file *file) {
    const unsigned char *bytes = gp_file_take(file, 8);
    return bytes == NULL ? 0 : gp_little_endian(bytes, 8);
}

#endif
