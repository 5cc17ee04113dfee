/* plan_view.h: a plan's report for people. */
#ifndef GP_PLAN_VIEW_H
#define GP_PLAN_VIEW_H

#include "view.h"

/* Everything, in the order a reader asks: verdict, memory, what was solved, steps, knobs, warnings, assumptions,
 * link. */
void gp_plan_view(gp_buffer *buffer, const gp_view *view, const struct cJSON *report);

/* The parts, one per file. */
void gp_memory_view(gp_buffer *buffer, const gp_view *view, const struct cJSON *report); /* memory_view.c */
void gp_advice_view(gp_buffer *buffer, const gp_view *view, const struct cJSON *report); /* advice_view.c */
void gp_notes_view(gp_buffer *buffer, const gp_view *view, const struct cJSON *report);  /* notes_view.c */

/* The style of a verdict: good, careful, bad, or plain where there is none. */
gp_style gp_verdict_style(const char *verdict);
/* A blank line and a heading. */
void gp_view_heading(gp_buffer *buffer, const gp_view *view, const char *key);

#endif
