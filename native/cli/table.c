#include "table.h"

#include <stdlib.h>
#include <string.h>

#include "columns.h"

#define GAP 2

void gp_table_start(gp_table *table, const char *alignment) {
    *table = (gp_table){0};
    for (; alignment[table->columns]; table->columns++) table->right[table->columns] = alignment[table->columns] == 'r';
}

static gp_buffer *row_at(const gp_table *table, int row) {
    return &table->cells[(size_t)row * (size_t)table->columns];
}

void gp_table_row(gp_table *table) {
    if (table->rows == table->capacity) {
        const int capacity = table->capacity ? 2 * table->capacity : 16;
        gp_buffer *cells = realloc(table->cells, (size_t)(capacity * table->columns) * sizeof *cells);
        if (!cells) {
            table->failed = true;
            return;
        }
        table->cells = cells;
        table->capacity = capacity;
    }
    memset(row_at(table, table->rows), 0, (size_t)table->columns * sizeof *table->cells);
    table->rows++;
}

gp_buffer *gp_table_cell(gp_table *table, int column) {
    /* After a failed allocation the cells of the row before are written to; the table is not printed then. */
    static gp_buffer spill = {.failed = true};
    return table->rows > 0 ? &table->cells[(table->rows - 1) * table->columns + column] : &spill;
}

static void print_row(const gp_table *table, const gp_buffer *cells, const int *widths, gp_buffer *buffer,
                      const gp_view *view) {
    int at = GAP;
    gp_buffer_repeat(buffer, " ", GAP);
    for (int column = 0; column < table->columns; column++) {
        const char *text = gp_buffer_string(&cells[column]);
        const bool last = column + 1 == table->columns;
        if (table->right[column]) gp_pad_left(buffer, text, widths[column]);
        else if (last) gp_wrap(buffer, text, at, at, at + 24 < view->width ? view->width : at + 24);
        else gp_pad_right(buffer, text, widths[column]);
        if (!last) gp_buffer_repeat(buffer, " ", GAP);
        at += widths[column] + GAP;
    }
    while (buffer->length > 0 && buffer->text[buffer->length - 1] == ' ') buffer->length--;
    gp_buffer_text(buffer, "\n");
}

void gp_table_print(gp_table *table, gp_buffer *buffer, const gp_view *view, bool heading) {
    int widths[GP_TABLE_COLUMNS_MAX] = {0};
    for (int cell = 0; cell < table->rows * table->columns; cell++) {
        const int columns = gp_columns(gp_buffer_string(&table->cells[cell]));
        if (columns > widths[cell % table->columns]) widths[cell % table->columns] = columns;
    }
    for (int row = 0; row < table->rows; row++) {
        const gp_style style = heading && row == 0 ? GP_DIM : GP_PLAIN;
        gp_style_start(buffer, view, style);
        print_row(table, row_at(table, row), widths, buffer, view);
        gp_style_end(buffer, view, style);
    }
    for (int cell = 0; cell < table->rows * table->columns; cell++) {
        if (table->cells[cell].failed) table->failed = true;
        gp_buffer_release(&table->cells[cell]);
    }
    free(table->cells);
    if (table->failed) buffer->failed = true;
}
