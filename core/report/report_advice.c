#include "report/report.h"

void gp_report_steps(gp_writer *writer, const gp_plan *plan) {
    gp_write_open(writer, "steps", '[');
    for (int i = 0; i < GP_STEP_COUNT; i++) {
        const gp_step *step = &plan->steps[i];
        gp_write_open(writer, NULL, '{');
        gp_write_whole(writer, "step", i + 1);
        gp_write_text(writer, "id", step->id);
        gp_write_text(writer, "rule", step->rule);
        gp_write_text(writer, "constraint", step->constraint);
        gp_write_open(writer, "numbers", '{');
        for (int n = 0; n < step->number_count; n++)
            gp_write_number(writer, step->numbers[n].name, step->numbers[n].value);
        gp_write_close(writer, '}');
        gp_write_open(writer, "texts", '{');
        for (int t = 0; t < step->text_count; t++) gp_write_text(writer, step->texts[t].name, step->texts[t].value);
        gp_write_close(writer, '}');
        gp_write_close(writer, '}');
    }
    gp_write_close(writer, ']');
}

static const char *change_path(const gp_change *change) {
    if (change->field == GP_CHANGE_GPU) return "hardware.gpu";
    if (change->field == GP_CHANGE_PARAMS) return "model.params";
    return gp_field_info((gp_field)change->field)->path;
}

/* A value as the job's JSON has it. */
static void write_value(gp_writer *writer, const gp_change *change, const char *text) {
    bool plain = change->field == GP_CHANGE_PARAMS;
    if (change->field < GP_FIELD_TOTAL) {
        gp_kind kind = gp_field_info((gp_field)change->field)->kind;
        plain = kind == GP_KIND_WHOLE || kind == GP_KIND_REAL || kind == GP_KIND_SWITCH;
    }
    if (plain)
        gp_write_raw(writer, change_path(change), text);
    else
        gp_write_text(writer, change_path(change), text);
}

static void write_cost(gp_writer *writer, const gp_cost *cost) {
    static const char *const kinds[] = {"none", "time", "quality", "capacity", "hardware"};
    bool known = cost->low < 0 || cost->high > 0;
    gp_write_open(writer, "cost", '{');
    gp_write_text(writer, "kind", kinds[cost->kind]);
    if (known) {
        gp_write_number(writer, "low", cost->low);
        gp_write_number(writer, "high", cost->high);
    }
    gp_write_known_text(writer, "source", cost->source);
    gp_write_close(writer, '}');
}

static void write_knob(gp_writer *writer, const gp_plan *plan, const gp_knob *knob) {
    gp_write_open(writer, NULL, '{');
    gp_write_text(writer, "id", knob->id);
    gp_write_open(writer, "set", '{');
    for (int i = 0; i < knob->change_count; i++) write_value(writer, &knob->changes[i], knob->changes[i].to);
    gp_write_close(writer, '}');
    gp_write_open(writer, "from", '{');
    for (int i = 0; i < knob->change_count; i++) write_value(writer, &knob->changes[i], knob->changes[i].from);
    gp_write_close(writer, '}');
    gp_write_whole(writer, "saves_bytes", knob->saves_bytes);
    gp_write_bytes(writer, "peak_bytes_after", knob->peak_bytes_after);
    gp_write_text(writer, "verdict_after", gp_verdict_key(plan, knob->verdict_after));
    write_cost(writer, &knob->cost);
    gp_write_close(writer, '}');
}

void gp_report_advice(gp_writer *writer, const gp_plan *plan) {
    gp_write_open(writer, "advice", '[');
    for (int i = 0; i < plan->knob_count; i++) write_knob(writer, plan, &plan->knobs[i]);
    gp_write_close(writer, ']');
}
