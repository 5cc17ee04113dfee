#include "advise/knobs.h"

#include <string.h>

#include "base/decimal.h"
#include "plan/derive.h"
#include "base/text.h"

static gp_change *add_change(gp_draft *draft, int field) {
    gp_knob *knob = draft->knob;
    if (knob->change_count == GP_CHANGES_MAX) return NULL;
    gp_change *change = &knob->changes[knob->change_count++];
    *change = (gp_change){.field = field};
    return change;
}

static bool is_changed(const gp_draft *draft, int field) {
    for (int i = 0; i < draft->knob->change_count; i++)
        if (draft->knob->changes[i].field == field) return true;
    return false;
}

static bool note_change(gp_draft *draft, gp_field field) {
    gp_change *change = add_change(draft, (int)field);
    if (change == NULL) return false;
    gp_setting_text(&draft->plan->job, field, change->from, sizeof change->from);
    gp_setting_text(&draft->job, field, change->to, sizeof change->to);
    return true;
}

bool gp_draft_whole(gp_draft *draft, gp_field field, int64_t value) {
    const gp_field_row *row = gp_field_info(field);
    if ((double)value < row->min || (double)value > row->max) return false;
    gp_set_whole(&draft->job, field, value, GP_GIVEN);
    return note_change(draft, field);
}

bool gp_draft_real(gp_draft *draft, gp_field field, double value) {
    const gp_field_row *row = gp_field_info(field);
    if (value < row->min || value > row->max) return false;
    gp_set_real(&draft->job, field, value, GP_GIVEN);
    return note_change(draft, field);
}

bool gp_draft_choice(gp_draft *draft, gp_field field, const char *choice) {
    gp_set_choice(&draft->job, field, choice, GP_GIVEN);
    return note_change(draft, field);
}

static void copy_text(char *to, size_t size, const char *from) { gp_text_copy(to, size, from, strlen(from)); }

bool gp_draft_gpu(gp_draft *draft, const gp_gpu_row *row) {
    gp_change *change = add_change(draft, GP_CHANGE_GPU);
    if (change == NULL) return false;
    copy_text(change->from, sizeof change->from, draft->plan->device.name);
    copy_text(change->to, sizeof change->to, row->name);
    draft->job.gpu = (gp_gpu_request){.resolved = true, .row = row};
    copy_text(draft->job.gpu.name, sizeof draft->job.gpu.name, row->name);
    return true;
}

void gp_draft_hold(gp_draft *draft, const gp_solution *solution) {
    if (solution->field != GP_FIELD_TOTAL) {
        if (is_changed(draft, (int)solution->field)) return;
        gp_setting *setting = &draft->job.settings[solution->field];
        *setting = draft->plan->job.settings[solution->field];
        setting->origin = GP_GIVEN;
        note_change(draft, solution->field);
        return;
    }
    gp_change *change = add_change(draft, GP_CHANGE_PARAMS);
    if (change == NULL) return;
    draft->job.model = draft->plan->job.model;
    gp_decimal_write_whole(change->from, (int64_t)solution->value);
    copy_text(change->to, sizeof change->to, change->from);
}
