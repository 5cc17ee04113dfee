/* derive.h: fields that follow from others. What a request leaves to the device, the task or the framework gets its
 * value here, with origin GP_DERIVED, so that a report can say where each value comes from. */
#ifndef GP_DERIVE_H
#define GP_DERIVE_H

#include "ledger/ledger.h"

/* Before the layout: GPU count from given degrees, framework, precision, attention, master weights, context, cache
 * format. A choice the request insists on and the device lacks is an error; one that gives way is a warning.
 * Unknown weight and cache formats are errors. */
void gp_derive_job(gp_job *job, const gp_device *device, gp_diagnostics *diagnostics);

/* The framework, when the request leaves it open. Again after the solver has set the count or a degree, so that a
 * choice it found is the same job as that choice written out. */
void gp_derive_framework(gp_job *job);

/* After the layout: degrees, batch and storage types, as the layout settled them. */
void gp_derive_from_layout(gp_job *job, const gp_layout *layout);

/* Sets a CHOICE or OPEN field to one of its choices; `choice` is static text. */
void gp_set_choice(gp_job *job, gp_field field, const char *choice, gp_origin origin);
/* True when the field's value is that choice. */
bool gp_choice_is(const gp_job *job, gp_field field, const char *choice);

#endif
