/* score_view.h: scores, as tables for people and as JSON. */
#ifndef GP_SCORE_VIEW_H
#define GP_SCORE_VIEW_H

#include "arguments.h"
#include "score.h"

void gp_score_print(gp_buffer *buffer, const gp_arguments *arguments, const gp_score *score);
/* {"rows", "faulty", "quantities": [{"id", figures, "groups", "methods", "worst"}], "verdicts"}: errors as shares. */
void gp_score_json(gp_buffer *buffer, const gp_arguments *arguments, const gp_score *score);

#endif
