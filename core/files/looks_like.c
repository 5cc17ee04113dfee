#include "files/looks_like.h"

#include <stdbool.h>
#include <string.h>

#include "base/text.h"

typedef struct {
    const char *word;
    const char *start;
    unsigned length, offset;
} signature;

#define AT(word, start, offset) {word, start, sizeof start - 1, offset}
/* The first that fits counts. */
static const signature signatures[] = {
    AT("zip", "PK\003\004", 0),
    AT("gzip", "\037\213", 0),
    AT("zstd", "\x28\xb5\x2f\xfd", 0),
    AT("xz", "\xfd" "7zXZ", 0),
    AT("bzip2", "BZh", 0),
    AT("seven_zip", "7z\xbc\xaf", 0),
    AT("tar", "ustar", 257),
    AT("pickle", "\200\002", 0),
    AT("pickle", "\200\003", 0),
    AT("pickle", "\200\004", 0),
    AT("pickle", "\200\005", 0),
    AT("pdf", "%PDF", 0),
    AT("lfs_pointer", "version https://git-lfs.github.com/spec/", 0),
    AT("hdf5", "\x89HDF\r\n", 0),
    AT("image", "\x89PNG", 0),
    AT("image", "\xff\xd8\xff", 0),
    AT("ggml", "tjgg", 0),
    AT("ggml", "lmgg", 0),
    AT("ggml", "fmgg", 0),
    AT("ggml", "algg", 0),
    AT("numpy", "\x93NUMPY", 0),
    AT("tflite", "TFL3", 4),
    AT("onnx", "\x08", 0),
    AT("program", "\x7f" "ELF", 0),
    AT("program", "MZ", 0),
};

static bool starts_with(const unsigned char *bytes, size_t length, const signature *row) {
    return length >= row->offset + row->length && memcmp(bytes + row->offset, row->start, row->length) == 0;
}

/* ONNX has no magic number: a protocol buffer whose first field is a small version number, followed by the name of the
 * program that wrote it. */
static bool is_onnx(const unsigned char *bytes, size_t length) {
    return length > 4 && bytes[1] < 32 && (bytes[2] == 0x12 || bytes[2] == 0x1a || bytes[2] == 0x3a);
}

static bool is_html(const char *text, size_t length) {
    static const char *const starts[] = {"<!doctype html", "<html", "<head", "<?xml", "<body"};
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
        if (gp_starts_folded(text, length, starts[i], strlen(starts[i]))) return true;
    }
    return false;
}

static const char *text_word(const unsigned char *bytes, size_t head) {
    size_t zeros = 0, controls = 0;
    for (size_t i = 0; i < head; i++) {
        zeros += bytes[i] == 0;
        controls += bytes[i] < 32 && bytes[i] != '\n' && bytes[i] != '\r' && bytes[i] != '\t';
    }
    if (zeros == head) return "zeros";
    size_t valid = gp_utf8_prefix((const char *)bytes, head);
    return controls == 0 && valid + 4 > head ? "text" : "binary";
}

/* Eight bytes that no text begins with, then the header's JSON: whether they are a length that a header may have is for
 * its reader to say. */
static bool is_safetensors(const unsigned char *bytes, size_t length) {
    if (length < 10 || bytes[8] != '{' || strchr("\"} \t\r\n", bytes[9]) == NULL || bytes[9] == 0) return false;
    size_t controls = 0;
    for (int i = 0; i < 8; i++) controls += bytes[i] < 9;
    return controls > 0 || gp_utf8_prefix((const char *)bytes, 8) < 8;
}

/* Text of two bytes a letter, as some editors save it: by its byte order mark, or by the zero beside a first brace. */
static bool is_utf16(const unsigned char *bytes, size_t length) {
    if (length < 2) return false;
    unsigned first = (unsigned)bytes[0] << 8 | bytes[1];
    return first == 0xfffe || first == 0xfeff || first == '{' << 8 || first == '{' || first == '[' << 8 || first == '[';
}

gp_looks gp_looks_like(const unsigned char *bytes, size_t length) {
    gp_looks other = {GP_LOOKS_OTHER, "empty"};
    if (length == 0) return other;
    if (length >= 4 && memcmp(bytes, "GGUF", 4) == 0) return (gp_looks){GP_LOOKS_GGUF, ""};
    if (is_safetensors(bytes, length)) return (gp_looks){GP_LOOKS_SAFETENSORS, ""};
    if (is_utf16(bytes, length)) return (gp_looks){GP_LOOKS_OTHER, "utf16"};
    for (size_t i = 0; i < sizeof signatures / sizeof signatures[0]; i++) {
        if (!starts_with(bytes, length, &signatures[i])) continue;
        other.word = signatures[i].word;
        if (strcmp(other.word, "onnx") != 0 || is_onnx(bytes, length)) return other;
    }
    size_t blanks = length >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    while (blanks < length && strchr(" \t\r\n", bytes[blanks]) != NULL && bytes[blanks] != 0) blanks++;
    if (blanks == length) return other;
    if (is_html((const char *)bytes + blanks, length - blanks)) {
        other.word = "html";
        return other;
    }
    if (bytes[blanks] == '{' || bytes[blanks] == '[') return (gp_looks){GP_LOOKS_JSON, ""};
    other.word = text_word(bytes, length < 512 ? length : 512);
    return other;
}
