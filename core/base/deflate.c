#include "base/deflate.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { MATCH_MIN = 3, MATCH_MAX = 258, DISTANCE_MAX = 32768, HASHES = 4096, END_OF_BLOCK = 256, TRIES_MAX = 64 };

/* Extra bits and first value of the length codes 257 … 285 and of the distance codes 0 … 29: RFC 1951 section 3.2.5. */
static const unsigned char length_bits[29] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};
static const unsigned short length_base[29] = {3,  4,  5,  6,  7,  8,  9,  10, 11,  13,  15,  17,  19,  23, 27,
                                               31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258};
static const unsigned char distance_bits[30] = {0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13};
static const unsigned short distance_base[30] = {1,   2,   3,   4,   5,   7,    9,    13,   17,   25,   33,   49,   65,    97,    129,
                                                 193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577};

/* ---- Writing ----------------------------------------------------------------------------------------------------- */

typedef struct {
    unsigned char *bytes;
    size_t size, length; /* of bytes */
    uint32_t bits;       /* not yet written, the first lowest */
    int bit_count;
    bool full;
} bit_writer;

static void put_bits(bit_writer *to, uint32_t value, int count) {
    to->bits |= value << to->bit_count;
    to->bit_count += count;
    while (to->bit_count >= 8) {
        if (to->length == to->size) to->full = true;
        else to->bytes[to->length++] = (unsigned char)(to->bits & 0xff);
        to->bits >>= 8;
        to->bit_count -= 8;
    }
}

/* Codes are written from their highest bit on. */
static void put_code(bit_writer *to, uint32_t code, int count) {
    uint32_t turned = 0;
    for (int i = 0; i < count; i++) turned |= (code >> i & 1) << (count - 1 - i);
    put_bits(to, turned, count);
}

/* Fixed code of a literal or length: RFC 1951 section 3.2.6. */
static void put_symbol(bit_writer *to, uint32_t symbol) {
    if (symbol < 144) put_code(to, 48 + symbol, 8);
    else if (symbol < 256) put_code(to, 400 + symbol - 144, 9);
    else if (symbol < 280) put_code(to, symbol - 256, 7);
    else put_code(to, 192 + symbol - 280, 8);
}

static void put_match(bit_writer *to, size_t length, size_t distance) {
    uint32_t code = 28;
    while (length_base[code] > length) code--;
    put_symbol(to, 257 + code);
    put_bits(to, (uint32_t)(length - length_base[code]), length_bits[code]);
    code = 29;
    while (distance_base[code] > distance) code--;
    put_code(to, code, 5);
    put_bits(to, (uint32_t)(distance - distance_base[code]), distance_bits[code]);
}

/* What was read so far, by the hash of its next three bytes: the newest place of each, and the one before each. */
typedef struct {
    const unsigned char *text;
    size_t length;
    uint32_t *newest, *before; /* places + 1, 0 = none */
} history;

static uint32_t hash_at(const history *from, size_t at) {
    const unsigned char *text = from->text + at;
    return ((uint32_t)text[0] << 8 ^ (uint32_t)text[1] << 4 ^ text[2]) % HASHES;
}

static void remember(history *to, size_t at) {
    if (at + MATCH_MIN > to->length) return;
    uint32_t hash = hash_at(to, at);
    to->before[at] = to->newest[hash];
    to->newest[hash] = (uint32_t)at + 1;
}

static size_t longest_match(const history *from, size_t at, size_t *distance) {
    size_t best = 0, most = from->length - at;
    if (most < MATCH_MIN) return 0;
    if (most > MATCH_MAX) most = MATCH_MAX;
    uint32_t place = from->newest[hash_at(from, at)];
    for (int tries = 0; place != 0 && tries < TRIES_MAX && at - (place - 1) <= DISTANCE_MAX; tries++) {
        size_t length = 0, candidate = place - 1;
        while (length < most && from->text[candidate + length] == from->text[at + length]) length++;
        if (length > best) {
            best = length;
            *distance = at - candidate;
        }
        place = from->before[candidate];
    }
    return best >= MATCH_MIN ? best : 0;
}

/* A match waits for the next place when that has a longer one. */
static void pack(history *from, size_t start, bit_writer *to) {
    put_bits(to, 3, 3); /* the last block, fixed codes */
    for (size_t at = 0; at < start; at++) remember(from, at);
    for (size_t at = start; at < from->length && !to->full;) {
        size_t distance = 0, later = 0;
        size_t length = longest_match(from, at, &distance);
        remember(from, at);
        if (length > 0 && at + 1 < from->length && longest_match(from, at + 1, &later) > length) length = 0;
        if (length == 0) {
            put_symbol(to, from->text[at++]);
            continue;
        }
        put_match(to, length, distance);
        for (size_t i = 1; i < length; i++) remember(from, at + i);
        at += length;
    }
    put_symbol(to, END_OF_BLOCK);
    put_bits(to, 0, (8 - to->bit_count) % 8);
}

size_t gp_deflate(const char *text, size_t length, unsigned char *packed, size_t size) {
    size_t start = strlen(gp_deflate_dictionary), whole = start + length;
    if (length > GP_DEFLATE_TEXT_MAX) return 0;
    unsigned char *bytes = malloc(whole + 1);
    uint32_t *places = calloc(HASHES + whole, sizeof *places);
    bit_writer to = {.size = size};
    to.bytes = packed;
    if (bytes != NULL && places != NULL) {
        memcpy(bytes, gp_deflate_dictionary, start + 1);
        memcpy(bytes + start, text, length);
        history from = {bytes, whole, places, places + HASHES};
        pack(&from, start, &to);
    }
    free(bytes);
    free(places);
    return to.full ? 0 : to.length;
}

/* ---- Reading ----------------------------------------------------------------------------------------------------- */

typedef struct {
    const unsigned char *bytes;
    size_t length, at; /* at: in bits */
    bool ended;
} bit_reader;

static uint32_t take_bits(bit_reader *from, int count) {
    uint32_t value = 0;
    for (int i = 0; i < count; i++, from->at++) {
        if (from->at / 8 >= from->length) from->ended = true;
        else value |= (uint32_t)(from->bytes[from->at / 8] >> from->at % 8 & 1) << i;
    }
    return value;
}

static uint32_t take_code(bit_reader *from, uint32_t code, int count) {
    for (int i = 0; i < count; i++) code = code << 1 | take_bits(from, 1);
    return code;
}

static uint32_t take_symbol(bit_reader *from) {
    uint32_t code = take_code(from, 0, 7);
    if (code < 24) return 256 + code;
    code = take_code(from, code, 1);
    if (code >= 48 && code < 192) return code - 48;
    if (code >= 192 && code < 200) return 280 + code - 192;
    return take_code(from, code, 1) - 400 + 144;
}

/* Copies a match; false when it reaches before the dictionary or beyond the room. */
static bool take_match(bit_reader *from, uint32_t symbol, char *text, size_t size, size_t *length) {
    const size_t start = strlen(gp_deflate_dictionary);
    if (symbol > 285) return false;
    size_t count = length_base[symbol - 257] + take_bits(from, length_bits[symbol - 257]);
    uint32_t code = take_code(from, 0, 5);
    if (code > 29) return false;
    size_t distance = distance_base[code] + take_bits(from, distance_bits[code]);
    if (from->ended || distance > *length + start || count > size - *length) return false;
    for (size_t i = 0; i < count; i++, (*length)++) {
        size_t place = *length + start - distance;
        const char *copied = place < start ? &gp_deflate_dictionary[place] : &text[place - start];
        text[*length] = *copied;
    }
    return true;
}

bool gp_inflate(const unsigned char *packed, size_t length, char *text, size_t size, size_t *text_length) {
    bit_reader from = {.bytes = packed, .length = length};
    *text_length = 0;
    if (take_bits(&from, 3) != 3) return false;
    while (!from.ended) {
        uint32_t symbol = take_symbol(&from);
        if (from.ended) return false;
        if (symbol == END_OF_BLOCK) return from.at / 8 + (from.at % 8 != 0) == length;
        if (symbol > END_OF_BLOCK) {
            if (!take_match(&from, symbol, text, size, text_length)) return false;
        } else {
            if (*text_length == size) return false;
            text[(*text_length)++] = (char)symbol;
        }
    }
    return false;
}
