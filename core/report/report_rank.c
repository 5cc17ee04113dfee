#include "report/report.h"

static void write_price(gp_writer *writer, const gp_rank_row *row) {
    const gp_instance_row *instance = row->instance;
    gp_write_text(writer, "type", instance->type);
    gp_write_text(writer, "provider", instance->provider);
    gp_write_whole(writer, "instances", row->instances);
    gp_write_known(writer, "usd_per_hour", row->usd_per_hour);
    gp_write_known(writer, "usd_per_million_tokens", row->usd_per_million_tokens.value);
    gp_write_known(writer, "usd_per_million_tokens_low", row->usd_per_million_tokens.low);
    gp_write_known(writer, "usd_per_million_tokens_high", row->usd_per_million_tokens.high);
    gp_write_known(writer, "usd_per_user_hour", row->usd_per_user_hour);
    gp_write_known_text(writer, "date", instance->date);
    gp_write_known_text(writer, "region", instance->region);
    gp_write_text(writer, "source", instance->source);
}

/* What makes the plan's job this row's. */
static void write_settings(gp_writer *writer, const gp_rank_row *row) {
    gp_write_open(writer, "set", '{');
    if (row->gpu == NULL) {
        gp_write_text(writer, "model", row->model.id);
        gp_write_close(writer, '}');
        return;
    }
    gp_write_text(writer, "hardware.gpu", row->gpu->name);
    gp_write_whole(writer, "hardware.count", row->count);
    if (row->instance != NULL) gp_write_whole(writer, "hardware.per_node", row->instance->gpus);
    gp_write_close(writer, '}');
}

static void write_row(gp_writer *writer, const gp_rank_row *row) {
    gp_write_open(writer, NULL, '{');
    if (row->gpu != NULL) gp_write_text(writer, "gpu", row->gpu->name);
    else gp_write_text(writer, "model", row->model.id);
    if (row->instance != NULL) write_price(writer, row);
    if (row->answered) {
        gp_write_whole(writer, "count", row->count);
        gp_write_text(writer, "verdict", gp_verdict_name(row->verdict));
        gp_write_bytes(writer, "peak_bytes", row->peak_bytes);
        gp_write_bytes(writer, "usable_bytes", row->usable_bytes);
        if (row->serves) gp_write_bytes(writer, "max_context", row->max_context);
        if (row->serves) gp_write_bytes(writer, "max_concurrency", row->max_concurrency);
        if (row->gpu == NULL) gp_write_bytes(writer, "params", row->params);
        if (row->gpu == NULL) gp_write_known(writer, "trained_context", (double)row->trained_context);
        gp_write_known(writer, "tokens_per_s", row->tokens_per_s.value);
        gp_write_known(writer, "tokens_per_s_low", row->tokens_per_s.low);
        gp_write_known(writer, "tokens_per_s_high", row->tokens_per_s.high);
        gp_write_known(writer, "sequences", row->sequences);
        if (row->has_targets) gp_write_number(writer, "within_targets", row->within_targets);
        write_settings(writer, row);
    } else {
        gp_write_open(writer, "errors", '[');
        gp_report_diagnostic(writer, &row->fault);
        gp_write_close(writer, ']');
    }
    gp_write_close(writer, '}');
}

void gp_report_rank(gp_writer *writer, const gp_rank_row *rows, int count) {
    gp_write_open(writer, "rank", '[');
    for (int i = 0; i < count; i++) write_row(writer, &rows[i]);
    gp_write_close(writer, ']');
}
