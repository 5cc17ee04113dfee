#include "formats/format.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "formats/format_data.h"
#include "base/text.h"

/* Decimal number without sign or exponent, such as "4.25"; the end goes to *rest. 0 when there is none. */
static double read_decimal(const char *text, const char **rest) {
    double value = 0, scale = 1;
    const char *at = text;
    for (; gp_is_digit(*at) && at - text < 5; at++) value = value * 10 + (*at - '0');
    if (at > text && *at == '.') {
        const char *fraction = ++at;
        for (; gp_is_digit(*at) && at - fraction < 6; at++) {
            scale *= 10;
            value = value * 10 + (*at - '0');
        }
    }
    *rest = at;
    return value / scale;
}

static double round_figure(double bits) {
    return bits <= 5 ? 4 : bits <= 9 ? 8 : 16;
}

/* EXL2: the stated bits hold for the linear layers, scales included; the embedding stays 16 bit.
 * turboderp-org/exllamav2 doc/convert.md. EXL3 adds two 16-bit vectors for each matrix, some hundredths of a bit.
 * turboderp-org/exllamav3 doc/exl3.md. */
static const gp_format *exl(const char *rest, double least, const gp_format *family, gp_format *scratch) {
    double bits = read_decimal(rest, &rest);
    if (*rest != '\0' || bits < least || bits > 8.5) return NULL;
    *scratch = *family;
    scratch->linear_bits = bits;
    scratch->textbook_bits = round_figure(bits);
    return scratch;
}

/* MLX affine quantisation packs all matrices, the embedding too: q bits + a 16-bit scale and bias for each group. Its
 * floating-point modes have an 8-bit scale for 32 weights, of 16 in nvfp4.
 * ml-explore/mlx python/mlx/nn/layers/quantized.py. */
static const gp_format *mlx(const char *rest, gp_format *scratch) {
    static const gp_format modes[] = {{"mxfp4", 4.25, 4.25, 4, true, false, 0}, {"nvfp4", 4.5, 4.5, 4, true, false, 0},
                                      {"mxfp8", 8.25, 8.25, 8, true, false, 0}};
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        if (strcmp(rest, modes[i].name) != 0) continue;
        *scratch = modes[i];
        scratch->name = "mlx";
        return scratch;
    }
    if (*rest != 'q') return NULL;
    double bits = read_decimal(rest + 1, &rest);
    double group = 64;
    if (rest[0] == '-' && rest[1] == 'g') group = read_decimal(rest + 2, &rest);
    bool known = (bits == 2 || bits == 3 || bits == 4 || bits == 5 || bits == 6 || bits == 8) &&
                 (group == 32 || group == 64 || group == 128);
    if (*rest != '\0' || !known) return NULL;
    double all = bits + 32 / group;
    *scratch = (gp_format){"mlx", all, all, round_figure(bits), true, false, 0};
    return scratch;
}

/* Integers with a scale for each group of a row: "<method><bits><tail>-g<group>", or "-channel" for one in each row, which
 * is left out like that of int8 (below 0.02 bit). GPTQ and AWQ keep a 16-bit scale and a zero point as wide as a weight,
 * symmetric weights of compressed-tensors ("w4a16") a 16-bit scale, torchao and HQQ ("int4") two numbers of 16 bits. */
static const gp_format *grouped(const char *key, gp_format *scratch) {
    static const struct {
        const char *name, *tail;
        double scale_bits;
        bool zero_point;
    } methods[] = {{"gptq", "", 16, true}, {"awq", "", 16, true}, {"w", "a16", 16, false}, {"int", "", 32, false}};
    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++) {
        size_t name = strlen(methods[i].name), tail = strlen(methods[i].tail);
        if (strncmp(key, methods[i].name, name) != 0) continue;
        const char *rest;
        double bits = read_decimal(key + name, &rest), beside = methods[i].scale_bits;
        bool known = bits == 2 || bits == 3 || bits == 4 || bits == 8;
        if (!known || strncmp(rest, methods[i].tail, tail) != 0) continue;
        rest += tail;
        if (methods[i].zero_point) beside += bits;
        double group = 0;
        bool channel = strcmp(rest, "-channel") == 0;
        if (strncmp(rest, "-g", 2) == 0) group = read_decimal(rest + 2, &rest);
        if (!channel && (*rest != '\0' || group < 1 || group != floor(group))) return NULL;
        double all = channel ? bits : bits + beside / group;
        *scratch = (gp_format){methods[i].name, all, 16, round_figure(bits), false, false, 0};
        return scratch;
    }
    return NULL;
}

/* 8-bit floats with an fp32 scale for each block of rows and columns: "fp8-b128x128". */
static const gp_format *blocks(const char *rest, gp_format *scratch) {
    double rows = read_decimal(rest, &rest);
    if (*rest != 'x') return NULL;
    double columns = read_decimal(rest + 1, &rest);
    if (*rest != '\0' || rows < 1 || columns < 1 || rows != floor(rows) || columns != floor(columns)) return NULL;
    *scratch = (gp_format){"fp8", 8 + 32 / (rows * columns), 16, 8, false, false, 0};
    return scratch;
}

/* "…-r4", "…-r8": the same blocks, interleaved for a processor's vector units. */
static void drop_repacking(char *key) {
    size_t length = strlen(key);
    if (length > 3 && key[length - 3] == '-' && key[length - 2] == 'r' && gp_is_digit(key[length - 1])) {
        key[length - 3] = '\0';
    }
}

/* A mix by its own name, as files and llama.cpp's tools write it: "Q4_K_M". */
static int find_mix(const char *name) {
    char key[GP_KEY_BYTES] = "gguf:";
    size_t length = strlen(name);
    if (length > sizeof key - sizeof "gguf:") return -1;
    memcpy(key + 5, name, length + 1);
    drop_repacking(key);
    return gp_name_find(&gp_data_format_names, key);
}

static const gp_format *find_key(char *key, gp_format *scratch) {
    static const gp_format exl2 = {"exl2", 0, 16, 0, false, false, 0};
    static const gp_format exl3 = {"exl3", 0, 16, 0, false, false, 0};
    if (strncmp(key, "exl2:", 5) == 0) return exl(key + 5, 2, &exl2, scratch);
    if (strncmp(key, "exl3:", 5) == 0) return exl(key + 5, 1, &exl3, scratch);
    if (strncmp(key, "mlx:", 4) == 0) return mlx(key + 4, scratch);
    if (strncmp(key, "gguf:", 5) == 0) drop_repacking(key);
    int row = gp_name_find(&gp_data_format_names, key);
    if (row < 0 && strchr(key, ':') == NULL) row = find_mix(key);
    if (row >= 0) return &gp_data_formats[row];
    if (strncmp(key, "fp8-b", 5) == 0) return blocks(key + 5, scratch);
    return grouped(key, scratch);
}

/* "…-experts": a format whose bits are those of the routed experts alone. */
static const gp_format *of_experts(char *key, gp_format *scratch) {
    const char *tail = "-experts";
    size_t length = strlen(key), rest = strlen(tail);
    if (length <= rest || strcmp(key + length - rest, tail) != 0) return NULL;
    key[length - rest] = '\0';
    const gp_format *format = find_key(key, scratch);
    if (format == NULL || format->whole_model || format->linear_bits >= 16) return NULL;
    if (format != scratch) *scratch = *format;
    scratch->experts_only = true;
    return scratch;
}

const gp_format *gp_format_find(const char *name, gp_format *scratch) {
    char key[GP_KEY_BYTES];
    gp_key_of_format(name, GP_KEY_NAME, key);
    const gp_format *format = find_key(key, scratch);
    return format != NULL ? format : of_experts(key, scratch);
}

const char *gp_format_nearest(const char *name) {
    char key[GP_KEY_BYTES];
    gp_key_of_format(name, GP_KEY_NAME, key);
    int row = gp_name_nearest(&gp_data_format_names, key);
    return row < 0 ? "" : gp_data_formats[row].name;
}

double gp_kv_bits(const char *name) {
    char key[GP_KEY_BYTES];
    gp_key_of_format(name, GP_KEY_NAME, key);
    int row = gp_name_find(&gp_data_kv_format_names, key);
    return row < 0 ? 0 : gp_data_kv_bits[row];
}
