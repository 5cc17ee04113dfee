#include "table.h"

#include <stdlib.h>
#include <string.h>

#include "columns.h"

#define GAP 2
/* Narrower than this the last column is not wrapped to. */
#define LAST_COLUMN_LEAST 10

void gp_table_start(gp_table *table, const char *alignment) {
    *table = (gp_table){0};
    for (; alignment[table->columns]; table->columns++) table->right[table->columns] = alignment[table->columns] == 'r';
}

static size_t row_size(const gp_table *table) {
    return (size_t)table->columns + 1;
}

static gp_buffer *row_at(const gp_table *table, int row) {
    return &table->cells[(size_t)row * row_size(table)];
}

void gp_table_row(gp_table *table) {
    if (table->rows == table->capacity) {
        const int capacity = table->capacity ? 2 * table->capacity : 16;
        gp_buffer *cells = realloc(table->cells, (size_t)capacity * row_size(table) * sizeof *cells);
        if (!cells) {
            table->failed = true;
            return;
        }
        table->cells = cells;
        table->capacity = capacity;
    }
    memset(row_at(table, table->rows), 0, row_size(table) * sizeof *table->cells);
    table->rows++;
}

gp_buffer *gp_table_cell(gp_table *table, int column) {
    /* After a failed allocation the cells of the row before are written to; the table is not printed then. */
    static gp_buffer spill = {.failed = true};
    return table->rows > 0 ? row_at(table, table->rows - 1) + column : &spill;
}

gp_buffer *gp_table_note(gp_table *table) {
    return gp_table_cell(table, table->columns);
}

static void print_row(const gp_table *table, const gp_buffer *cells, const int *widths, gp_buffer *buffer,
                      const gp_view *view) {
    int at = GAP;
    gp_buffer_repeat(buffer, " ", GAP);
    for (int column = 0; column < table->columns; column++) {
        const char *text = gp_buffer_string(&cells[column]);
        const bool last = column + 1 == table->columns;
        const int width = at + LAST_COLUMN_LEAST;
        if (table->right[column]) gp_pad_left(buffer, text, widths[column]);
        else if (last) gp_wrap(buffer, text, at, at, width > view->width ? width : view->width);
        else gp_pad_right(buffer, text, widths[column]);
        if (!last) gp_buffer_repeat(buffer, " ", GAP);
        at += widths[column] + GAP;
    }
    while (buffer->length > 0 && buffer->text[buffer->length - 1] == ' ') buffer->length--;
    gp_buffer_text(buffer, "\n");
    const char *note = gp_buffer_string(&cells[table->columns]);
    if (!*note) return;
    const int indent = GAP + widths[0] + GAP;
    gp_style_start(buffer, view, GP_DIM);
    gp_buffer_repeat(buffer, " ", indent);
    gp_wrap(buffer, note, indent, indent, view->width);
    gp_style_end(buffer, view, GP_DIM);
    gp_buffer_text(buffer, "\n");
}

void gp_table_print(gp_table *table, gp_buffer *buffer, const gp_view *view, bool heading) {
    int widths[GP_TABLE_COLUMNS_MAX] = {0};
    for (int row = 0; row < table->rows; row++) {
        for (int column = 0; column < table->columns; column++) {
            const int columns = gp_columns(gp_buffer_string(row_at(table, row) + column));
            if (columns > widths[column]) widths[column] = columns;
        }
    }
    for (int row = 0; row < table->rows; row++) {
        const gp_style style = heading && row == 0 ? GP_DIM : GP_PLAIN;
        gp_style_start(buffer, view, style);
        print_row(table, row_at(table, row), widths, buffer, view);
        gp_style_end(buffer, view, style);
    }
    for (size_t cell = 0; cell < (size_t)table->rows * row_size(table); cell++) {
        if (table->cells[cell].failed) table->failed = true;
        gp_buffer_release(&table->cells[cell]);
    }
    free(table->cells);
    if (table->failed) buffer->failed = true;
}
