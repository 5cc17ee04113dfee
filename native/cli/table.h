/* table.h: rows of cells, aligned by what a terminal shows. */
#ifndef GP_TABLE_H
#define GP_TABLE_H

#include "view.h"

#define GP_TABLE_COLUMNS_MAX 16

typedef struct {
    int columns, rows, capacity;
    bool right[GP_TABLE_COLUMNS_MAX]; /* numbers are flush right */
    gp_buffer *cells;                 /* row by row, the note of a row behind its cells */
    bool failed;
} gp_table;

/* An empty table; `alignment` holds 'l' or 'r' for each column. */
void gp_table_start(gp_table *table, const char *alignment);
/* Starts a row; its cells are appended to through gp_table_cell. */
void gp_table_row(gp_table *table);
/* Cell of the latest row. */
gp_buffer *gp_table_cell(gp_table *table, int column);
/* A note below the latest row, from its second column on, wrapped. */
gp_buffer *gp_table_note(gp_table *table);
/* Appends the table, each line indented by two blanks, the first row dim when it is a heading. Cells of the last
 * column that pass the width of a terminal are wrapped. Releases the table. */
void gp_table_print(gp_table *table, gp_buffer *buffer, const gp_view *view, bool heading);

#endif
