/* gen_output.h: what gen_catalog.c writes with: faults of rows, pools of texts, columns of numbers, and indexes of
 * names (core/base/name_index.h). One generator is one run, so all of it is global. */
#ifndef GP_GEN_OUTPUT_H
#define GP_GEN_OUTPUT_H

#include <stdio.h>

#include "base/name_key.h"

/* Where everything is written, and how many faults there were: with one, nothing written is kept. */
extern FILE *gen_out;
extern int gen_faults;
void gen_fault(const char *row, const char *what);

enum { GEN_ROWS_MAX = 4096 };

enum { GEN_PLACES = 1 << 16 };
typedef struct {
    char texts[GEN_PLACES];
    int bytes;
} gen_pool;
/* Names and the like; where rows come from. */
extern gen_pool gen_texts, gen_sources;

/* Place of a text in a pool, where each is there once. At most 65535. */
int gen_place_in(gen_pool *pool, const char *text);
/* … in gen_texts. */
int gen_place(const char *text);
/* Writes a pool, to which none may be added after that; one text as a literal. */
void gen_write_pool(const char *name, const gen_pool *pool);
void gen_write_text(const char *text);

/* Each number but the first as its distance from the one before, modulo 2^16: rising ones give small numbers, which
 * compress well. */
void gen_distances(int *values, int count);
/* Writes numbers as an array of uint16_t, or of uint8_t. */
void gen_write_numbers(const char *name, const int *values, int count);
void gen_write_bytes(const char *name, const int *values, int count);

/* ---- names: of one table at a time ---- */

/* Row of a key, or -1. */
int gen_find(const char *key);
/* The rows' own names, in order. A row's name and an alias are its own: no other row may have one with the same key. */
void gen_name_row(const char *text, gp_key_writer *write_key);
/* `place` is where the alias stands among the texts. */
void gen_name_alias(const char *text, int place, int row, gp_key_writer *write_key);
/* The rows' stems are names, too. */
void gen_name_stems(void);
/* Writes the index, and starts the next one. */
void gen_write_index(const char *name, gp_key_writer *write_key, const char *writer_name);

#endif
