/* report.h: the only writer of reports. docs/report.md is the contract. */
#ifndef GP_REPORT_H
#define GP_REPORT_H

#include "advise/rank.h"
#include "base/writer.h"

/* The head of every report, `op` being a word of the program or NULL for a request whose operation is not known; the
 * caller writes members and then gp_report_end. */
void gp_report_begin(gp_writer *writer, const char *op);
void gp_report_end(gp_writer *writer);

/* How much is told. BRIEF: numbers only, without formulas, terms, steps, advice, assumptions and link. FIGURES: without the
 * texts behind them, which are the same in every plan: expressions of formulas, and sources of formulas and rows. */
typedef enum { GP_DETAIL_BRIEF, GP_DETAIL_FIGURES, GP_DETAIL_FULL } gp_detail;

/* The module of the page's first view has no such texts, and stops where one is asked for (wasm/first_view.c). */
static inline bool gp_tells_texts(gp_detail detail) {
#ifdef GP_FIRST_VIEW
    if (detail == GP_DETAIL_FULL) __builtin_trap();
    return false;
#else
    return detail == GP_DETAIL_FULL;
#endif
}

/* Members of a plan's report. `link` may be NULL. */
void gp_report_plan(gp_writer *writer, const gp_plan *plan, gp_detail detail, const char *link);

/* A list member with the rows of one severity: "errors", "warnings" or "assumptions". */
void gp_report_diagnostics(gp_writer *writer, const char *key, const gp_diagnostics *diagnostics,
                           gp_severity severity);

/* Members of the other operations. kind: "models", "gpus", "instances", "links", "fields" or "formulas"; false for
 * another one. */
bool gp_report_catalog(gp_writer *writer, const char *kind, const char *filter, gp_detail detail);
/* Formulas with this id, or of the item with this id; false when there are none. */
bool gp_report_explain(gp_writer *writer, const char *id);

/* The list of rank.h, member "rank". */
void gp_report_rank(gp_writer *writer, const gp_rank_row *rows, int count);
/* One row of a diagnostics list. */
void gp_report_diagnostic(gp_writer *writer, const gp_diagnostic *row);

/* The kinds that no plan needs: "instances", "links" and "formulas". */
bool gp_report_reference(gp_writer *writer, const char *kind, const char *filter);

/* The parts of a plan's report: report_model.c, report_memory.c, report_advice.c. */
void gp_report_model(gp_writer *writer, const gp_plan *plan, gp_detail detail);
/* Members that name the size of a model: layers, hidden, heads … vocab. */
void gp_report_shape(gp_writer *writer, const gp_shape *shape);
void gp_report_memory(gp_writer *writer, const gp_plan *plan, gp_detail detail);
/* Members formula_id, formula, terms and source. */
void gp_report_explanation(gp_writer *writer, const gp_amount *amount, gp_detail detail);
void gp_report_steps(gp_writer *writer, const gp_plan *plan);
void gp_report_advice(gp_writer *writer, const gp_plan *plan);

#endif
