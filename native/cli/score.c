#include "score.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cJSON.h"
#include "request/job.h"
#include "json.h"

#define GIB 1073741824.0
#define MIB 1048576.0

/* Rows that a quantity is taken from, by facts of the row alone. */
typedef enum {
    ROWS_TRACED,    /* every tensor of a training step on the host was counted */
    ROWS_TRAINING, ROWS_SERVING,
    ROWS_ONE_USER,  /* serving, one sequence at a time */
    ROWS_SHARED,    /* serving within a stated share of the device */
    ROWS_PLAIN_WEIGHTS, /* engines whose log says the weights alone, without what else was loaded */
    ROWS_TRANSFORMERS
} row_set;

/* How the prediction is read: a number of the report, or the bytes of an item on its worst stage, or on all GPUs of one
 * copy of the model. */
typedef enum { READ_NUMBER, READ_ITEM, READ_COPY } reading;

typedef struct {
    const char *id;
    row_set rows;
    const char *measured; /* member of `measured` */
    double unit;          /* of the measured number */
    reading reading;
    const char *predicted;
    bool ranged;          /* the report has `predicted` with _low and _high too */
    const char *tag;      /* rows with tags need this one */
} quantity;

static const quantity quantities[] = {
    {"saved_bytes", ROWS_TRACED, "saved_bytes", 1, READ_NUMBER, "memory.saved_bytes", false, NULL},
    {"peak_bytes", ROWS_TRACED, "peak_live_bytes", 1, READ_NUMBER, "memory.meters.allocated_bytes", false, NULL},
    {"train_memory", ROWS_TRAINING, "peak_gib", GIB, READ_NUMBER, NULL, true, "mem_gold"},
    {"train_speed", ROWS_TRAINING, "tokens_per_s_per_gpu", 1, READ_NUMBER, "time.tokens_per_s_per_gpu", true, "thr_gold"},
    {"weights", ROWS_PLAIN_WEIGHTS, "weights_gib", GIB, READ_ITEM, "weights", false, NULL},
    {"weights_of_copy", ROWS_PLAIN_WEIGHTS, "weights_gib", GIB, READ_COPY, "weights", false, NULL},
    {"kv_bytes_per_token", ROWS_SERVING, "kv_bytes_per_token", 1, READ_NUMBER, "kv.bytes_per_token", false, NULL},
    {"kv_pool", ROWS_SHARED, "kv_tokens", 1, READ_NUMBER, "kv.max_tokens", false, NULL},
    {"kv_cache", ROWS_SERVING, "kv_mib", MIB, READ_ITEM, "kv_cache", false, NULL},
    {"recurrent_state", ROWS_SERVING, "recurrent_mib", MIB, READ_ITEM, "recurrent_state", false, NULL},
    {"params", ROWS_SERVING, "params", 1, READ_NUMBER, "params.total", false, NULL},
    {"compute_buffer", ROWS_SERVING, "compute_buffer_mib", MIB, READ_ITEM, "workspace", false, NULL},
    {"serve_memory", ROWS_TRANSFORMERS, "total_gib", GIB, READ_NUMBER, "memory.meters.allocated_bytes", false, NULL},
    {"decode_speed", ROWS_ONE_USER, "decode_tok_s", 1, READ_NUMBER, "time.decode_tok_s", true, NULL},
    {"time_per_token", ROWS_SERVING, "tpot_s", 1, READ_NUMBER, "time.tpot_s", true, NULL},
    {"first_token", ROWS_ONE_USER, "ttft_s", 1, READ_NUMBER, "time.ttft_s", false, NULL},
    {"throughput", ROWS_SERVING, "throughput_tok_s", 1, READ_NUMBER, "time.throughput_tok_s", false, NULL},
    {"prefill_speed", ROWS_SERVING, "prefill_tok_s", 1, READ_NUMBER, "time.prefill_tok_s", false, NULL},
};
enum { QUANTITY_COUNT = sizeof quantities / sizeof quantities[0] };

const char *gp_quantity_id(int index) { return index < QUANTITY_COUNT ? quantities[index].id : NULL; }

double gp_quantity_unit(int index, const char **name) {
    double unit = quantities[index].unit;
    *name = unit == GIB ? "GiB" : unit == MIB ? "MiB" : "";
    return unit;
}

static bool is_text(const cJSON *tree, const char *path, const char *text) {
    return strcmp(gp_json_text(tree, path), text) == 0;
}

static bool is_serving(const cJSON *row) { return is_text(row, "job.task", "infer"); }

static const char *engine_of(const cJSON *row) {
    const char *stated = gp_json_text(row, "job.infer.engine");
    return *stated ? stated : gp_field_info(GP_FIELD_ENGINE)->initial;
}

static bool is_one_user(const cJSON *row) {
    double users = gp_json_number(row, "job.infer.concurrency");
    return users < 2;
}

static bool is_of(const cJSON *row, row_set set) {
    bool traced = gp_json_has(row, "measured.peak_live_bytes"), serving = is_serving(row);
    switch (set) {
    case ROWS_TRACED: return traced;
    case ROWS_TRAINING: return !traced && !serving;
    case ROWS_SERVING: return serving;
    case ROWS_ONE_USER: return serving && is_one_user(row);
    case ROWS_SHARED: return serving && gp_json_number(row, "job.infer.memory_utilization") > 0;
    case ROWS_PLAIN_WEIGHTS: return serving && strcmp(engine_of(row), "vllm") != 0;
    default: return serving && is_text(row, "job.infer.engine", "transformers");
    }
}

static bool has_tag(const cJSON *row, const char *tag) {
    const cJSON *each;
    cJSON_ArrayForEach(each, gp_json_at(row, "tags")) {
        if (cJSON_IsString(each) && strcmp(each->valuestring, tag) == 0) return true;
    }
    return false;
}

/* The report's figure for what the row's meter shows; NULL for a meter that is not known. The device's own includes
 * what every process on it holds; "active" is what torch cannot give back. */
static const char *meter_path(const cJSON *row) {
    static const char *const meters[][2] = {{"allocated", "memory.meters.allocated_bytes"},
                                            {"active", "memory.meters.reserved_bytes"},
                                            {"reserved", "memory.meters.reserved_bytes"},
                                            {"nvidia-smi", "memory.meters.device_bytes"}};
    for (size_t i = 0; i < sizeof meters / sizeof *meters; i++)
        if (is_text(row, "measured.meter_class", meters[i][0])) return meters[i][1];
    return NULL;
}

/* Rows without tags all count; where there are tags, memory of sequences of varying length is no fair question. */
static bool is_scored(const cJSON *row, const quantity *q) {
    if (!gp_json_has(row, q->predicted == NULL ? "measured.meter_class" : "measured")) return false;
    if (q->predicted == NULL && meter_path(row) == NULL) return false;
    if (q->tag == NULL || !gp_json_has(row, "tags")) return true;
    return has_tag(row, q->tag) && (q->predicted != NULL || !has_tag(row, "varlen"));
}

static double item_bytes(const cJSON *report, const char *id, reading how) {
    double most = 0, all = 0, copies = gp_json_number(report, "parallel.dp");
    const cJSON *stage, *item;
    cJSON_ArrayForEach(stage, gp_json_at(report, "memory.stages")) {
        double sum = 0;
        cJSON_ArrayForEach(item, gp_json_at(stage, "items"))
            if (is_text(item, "id", id)) sum += gp_json_number(item, "bytes");
        if (sum > most) most = sum;
        all += sum * gp_json_number(stage, "gpus");
    }
    return how == READ_COPY && copies > 0 ? all / copies : most;
}

/* The range of the peak, on the scale of the meter. */
static void memory_range(const cJSON *report, double predicted, double *low, double *high) {
    double peak = gp_json_number(report, "memory.peak_bytes"), scale = peak > 0 ? predicted / peak : 1;
    *low = gp_json_number(report, "memory.low_bytes") * scale;
    *high = gp_json_number(report, "memory.high_bytes") * scale;
}

static double twin(const cJSON *report, const char *path, const char *suffix) {
    gp_buffer name = {0};
    gp_buffer_text(&name, path);
    gp_buffer_text(&name, suffix);
    double value = gp_json_number(report, gp_buffer_string(&name));
    gp_buffer_release(&name);
    return value;
}

static void compare(const quantity *q, const cJSON *row, const cJSON *report, gp_sample *sample) {
    const char *path = q->predicted != NULL ? q->predicted : meter_path(row);
    sample->predicted = q->reading == READ_NUMBER ? gp_json_number(report, path) : item_bytes(report, path, q->reading);
    sample->answered = sample->predicted > 0;
    if (!sample->answered) return;
    sample->error = sample->predicted / sample->measured - 1;
    if (!q->ranged) return;
    double low = 0, high = 0;
    if (q->predicted == NULL) {
        memory_range(report, sample->predicted, &low, &high);
    } else {
        low = twin(report, path, "_low");
        high = twin(report, path, "_high");
    }
    sample->has_range = low > 0 && high > 0;
    sample->inside = sample->has_range && low <= sample->measured && sample->measured <= high;
}

static char *copy_of(const char *text) {
    size_t size = strlen(text) + 1;
    char *copy = malloc(size);
    if (copy != NULL) memcpy(copy, text, size);
    return copy;
}

static gp_sample *next_sample(gp_score *score) {
    if (score->count == score->capacity) {
        int capacity = score->capacity > 0 ? 2 * score->capacity : 256;
        gp_sample *samples = realloc(score->samples, (size_t)capacity * sizeof *samples);
        if (samples == NULL) return NULL;
        score->samples = samples;
        score->capacity = capacity;
    }
    gp_sample *sample = &score->samples[score->count++];
    *sample = (gp_sample){0};
    return sample;
}

static void add_sample(gp_score *score, int index, const cJSON *row, const cJSON *report) {
    const quantity *q = &quantities[index];
    gp_sample *sample = next_sample(score);
    if (sample == NULL) {
        score->failed = true;
        return;
    }
    sample->quantity = index;
    const char *id = gp_json_text(row, "id");
    char number[16];
    snprintf(number, sizeof number, "%d", score->rows);
    sample->row = copy_of(*id ? id : number);
    sample->group = copy_of(gp_json_text(row, "group"));
    sample->method = copy_of(is_serving(row) ? engine_of(row) : gp_json_text(row, "job.task"));
    if (sample->row == NULL || sample->group == NULL || sample->method == NULL) score->failed = true;
    sample->measured = gp_json_number(gp_json_at(row, "measured"), q->measured) * q->unit;
    compare(q, row, report, sample);
}

/* Of the jobs that ran those count whose memory was read. */
static void add_verdict(gp_score *score, const cJSON *row, const cJSON *report) {
    static const char *const names[] = {"fits", "tight", "no"};
    bool serving = is_serving(row), failed = cJSON_IsFalse(gp_json_at(row, "measured.fits"));
    bool read = serving ? gp_json_number(row, "measured.total_gib") > 0 || gp_json_number(row, "measured.weights_gib") > 0
                        : gp_json_has(row, "measured.peak_gib");
    if (!failed && !read) return;
    int column = 0;
    while (column < GP_VERDICT_NONE && !is_text(report, "verdict", names[column])) column++;
    score->verdicts[serving][failed][column]++;
}

void gp_score_add(gp_score *score, const cJSON *row, const cJSON *report) {
    score->rows++;
    if (gp_json_has(report, "errors")) score->faulty++;
    add_verdict(score, row, report);
    for (int i = 0; i < QUANTITY_COUNT; i++) {
        const quantity *q = &quantities[i];
        bool measured = gp_json_number(gp_json_at(row, "measured"), q->measured) > 0;
        if (measured && is_of(row, q->rows) && is_scored(row, q)) add_sample(score, i, row, report);
    }
}

void gp_score_release(gp_score *score) {
    for (int i = 0; i < score->count; i++) {
        free(score->samples[i].row);
        free(score->samples[i].group);
        free(score->samples[i].method);
    }
    free(score->samples);
    *score = (gp_score){0};
}
