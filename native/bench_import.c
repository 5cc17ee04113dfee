/* bench_import.c: how long the core takes to read what describes a model: a GGUF header of a thousand tensors with a
 * tokenizer of 128,000 tokens, and a config.json. Prints microseconds, median of many rounds. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "gpuplan.h"

enum { ROUNDS = 51, TENSORS = 1000, TOKENS = 128000, WIDTH = 256, HEADER_BYTES = 8 << 20, STRING = 8, ARRAY = 9, U32 = 4 };

static unsigned char header[HEADER_BYTES];
static size_t length;

static void put(uint64_t value, int bytes) {
    for (int i = 0; i < bytes; i++) header[length++] = (unsigned char)(value >> (8 * i) & 0xff);
}

static void put_text(const char *text) {
    put(strlen(text), 8);
    while (*text != '\0') header[length++] = (unsigned char)*text++;
}

static void put_number(const char *key, uint32_t value) {
    put_text(key);
    put(U32, 4);
    put(value, 4);
}

static void put_metadata(void) {
    put_text("general.architecture");
    put(STRING, 4);
    put_text("llama");
    put_number("llama.block_count", 64);
    put_number("llama.embedding_length", WIDTH);
    put_number("llama.feed_forward_length", WIDTH);
    put_number("llama.attention.head_count", 2);
    put_text("tokenizer.ggml.tokens");
    put(ARRAY, 4);
    put(STRING, 4);
    put(TOKENS, 8);
    for (int i = 0; i < TOKENS; i++) {
        char token[24];
        snprintf(token, sizeof token, "token%d", i);
        put_text(token);
    }
}

static void make_header(void) {
    length = 0;
    put(0x46554747, 4); /* "GGUF" */
    put(3, 4);
    put(TENSORS, 8);
    put(6, 8);
    put_metadata();
    for (uint64_t i = 0; i < TENSORS; i++) {
        char name[48];
        snprintf(name, sizeof name, "blk.%d.tensor_%d.weight", (int)(i / 16), (int)(i % 16));
        put_text(name);
        put(2, 4);
        put(WIDTH, 8);
        put(WIDTH, 8);
        put(0, 4);
        put(i * WIDTH * WIDTH * 4, 8);
    }
}

/* Time of this process on its processor: the machine may be busy with other things. */
static double now_us(void) {
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Median time of one import; a report with errors ends the program. */
static double import_us(const void *bytes, size_t count, double size) {
    char request[160];
    double rounds[ROUNDS];
    snprintf(request, sizeof request, "{\"op\":\"import\",\"parts\":[{\"name\":\"file\",\"bytes\":%zu,\"size\":%.0f}]}", count, size);
    for (int i = 0; i < ROUNDS; i++) {
        double start = now_us();
        char *report = gp_answer_with(request, strlen(request), bytes, count);
        rounds[i] = now_us() - start;
        if (report == NULL || strstr(report, "\"errors\":[]") == NULL || strstr(report, "\"import\":{") == NULL) {
            fprintf(stderr, "bench_import: %s\n", report == NULL ? "out of memory" : report);
            exit(1);
        }
        gp_free(report);
    }
    qsort(rounds, ROUNDS, sizeof rounds[0], by_size);
    return rounds[ROUNDS / 2];
}

int main(void) {
    static const char config[] =
        "{\"architectures\":[\"Qwen3ForCausalLM\"],\"model_type\":\"qwen3\",\"hidden_size\":4096,\"head_dim\":128,"
        "\"intermediate_size\":12288,\"max_position_embeddings\":40960,\"num_attention_heads\":32,"
        "\"num_hidden_layers\":36,\"num_key_value_heads\":8,\"rms_norm_eps\":1e-06,\"rope_theta\":1000000,"
        "\"tie_word_embeddings\":false,\"torch_dtype\":\"bfloat16\",\"vocab_size\":151936}";
    make_header();
    printf("import of a GGUF header, %d tensors, %zu bytes: %.0f us\n", TENSORS, length,
           import_us(header, length, (double)length + 4.0 * TENSORS * WIDTH * WIDTH + 32));
    printf("import of a config.json, %zu bytes: %.0f us\n", strlen(config),
           import_us(config, strlen(config), (double)strlen(config)));
    return 0;
}
