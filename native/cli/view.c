#include "view.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cJSON.h"
#include "base/quantity.h"

static const char *style_sequence(gp_style style) {
    switch (style) {
    case GP_STRONG: return "\033[1m";
    case GP_DIM: return "\033[2m";
    case GP_GOOD: return "\033[1;32m";
    case GP_CAREFUL: return "\033[1;33m";
    case GP_BAD: return "\033[1;31m";
    case GP_ACCENT: return "\033[36m";
    case GP_PLAIN: break;
    }
    return "";
}

void gp_style_start(gp_buffer *buffer, const gp_view *view, gp_style style) {
    if (view->color) gp_buffer_text(buffer, style_sequence(style));
}

void gp_style_end(gp_buffer *buffer, const gp_view *view, gp_style style) {
    if (view->color && style != GP_PLAIN) gp_buffer_text(buffer, "\033[0m");
}

void gp_styled(gp_buffer *buffer, const gp_view *view, gp_style style, const char *text) {
    gp_style_start(buffer, view, style);
    gp_buffer_text(buffer, text);
    gp_style_end(buffer, view, style);
}

const char *gp_view_unit(const gp_view *view) {
    return view->decimal_units ? "GB" : "GiB";
}

void gp_view_gigabytes(gp_buffer *buffer, const gp_view *view, double bytes) {
    const double value = bytes / (view->decimal_units ? (double)GP_GB : (double)GP_GIB);
    const double least = 0.01;
    if (value > 0 && value < least / 2) gp_buffer_text(buffer, "<0.01");
    else gp_buffer_printf(buffer, fabs(value) < 100 ? "%.2f" : "%.1f", value);
}

void gp_view_size(gp_buffer *buffer, const gp_view *view, double bytes) {
    /* Bytes are spelt out: "5 B" are five billions elsewhere. */
    const char *bytes_word = gp_message(view->language, "unit.bytes");
    const char *const binary[] = {bytes_word, "KiB", "MiB", "GiB"};
    const char *const decimal[] = {bytes_word, "kB", "MB", "GB"};
    const double step = view->decimal_units ? 1000 : 1024;
    double value = bytes;
    int unit = 0;
    /* From a tenth of the next unit on, so that neighbouring figures mostly share one. */
    while (unit < 3 && fabs(value) >= (unit < 2 ? step : step / 10)) {
        value /= step;
        unit++;
    }
    const bool is_exact = unit == 0 || (unit < 3 && floor(value) == value);
    const int decimals = is_exact || fabs(value) >= 100 ? 0 : unit == 3 && fabs(value) < 1 ? 2 : 1;
    gp_buffer_printf(buffer, "%.*f %s", decimals, value, view->decimal_units ? decimal[unit] : binary[unit]);
}

static void whole_number(gp_buffer *buffer, double value) {
    char digits[32];
    snprintf(digits, sizeof digits, "%.0f", fabs(value));
    const size_t count = strlen(digits);
    if (value < 0) gp_buffer_text(buffer, "-");
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && (count - i) % 3 == 0) gp_buffer_text(buffer, ",");
        gp_buffer_bytes(buffer, &digits[i], 1);
    }
}

void gp_view_number(gp_buffer *buffer, double value) {
    const bool is_whole = floor(value) == value || fabs(value) >= 1000;
    if (fabs(value) < 1e15 && is_whole) whole_number(buffer, value);
    else gp_buffer_printf(buffer, "%.4g", value);
}

void gp_view_count(gp_buffer *buffer, double value) {
    static const struct {
        double size;
        const char *letter;
    } units[] = {{1e12, "T"}, {1e9, "B"}, {1e6, "M"}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (value < units[i].size) continue;
        const double scaled = value / units[i].size;
        gp_buffer_printf(buffer, "%.*f %s", scaled < 10 ? 2 : scaled < 100 ? 1 : 0, scaled, units[i].letter);
        return;
    }
    gp_view_number(buffer, value);
}

/* "85.2 ms", "1.4 s". */
static void seconds(gp_buffer *buffer, double value) {
    if (value < 1) gp_buffer_printf(buffer, value < 0.1 ? "%.1f ms" : "%.0f ms", 1000 * value);
    else gp_buffer_printf(buffer, value < 100 ? "%.1f s" : "%.0f s", value);
}

/* What someone wrote, with all its digits. */
static void exact_number(gp_buffer *buffer, double value) {
    if (floor(value) == value) gp_view_number(buffer, value);
    else gp_buffer_printf(buffer, "%.15g", value);
}

static bool is_share(const char *name) {
    return strcmp(name, "bubble") == 0 || strcmp(name, "efficiency") == 0;
}

static bool ends_with(const char *text, const char *ending) {
    const size_t length = strlen(text), size = strlen(ending);
    return length >= size && strcmp(text + length - size, ending) == 0;
}

/* "a, b" for a list "a|b". */
static void list_text(gp_buffer *buffer, const char *text) {
    for (const char *at = text; *at; at++) {
        if (*at == '|') gp_buffer_text(buffer, ", ");
        else gp_buffer_bytes(buffer, at, 1);
    }
}

/* What a person typed, or could type, is shown as it is; any other text is a key with words of its own
 * ("phase.backward"), or names a field. */
static void text_argument(gp_buffer *buffer, const gp_view *view, const char *name, const char *text) {
    static const char *const typed[] = {"value", "nearest", "what"};
    for (size_t i = 0; i < sizeof typed / sizeof *typed; i++) {
        if (strcmp(name, typed[i]) == 0) {
            gp_buffer_foreign(buffer, text);
            return;
        }
    }
    if (strcmp(name, "choices") == 0) {
        list_text(buffer, text);
        return;
    }
    char key[160];
    snprintf(key, sizeof key, "%s.%s", name, text);
    const char *words = gp_message_find(view->language, key);
    gp_buffer_foreign(buffer, words ? words : gp_view_field(view, text));
}

const char *gp_view_field(const gp_view *view, const char *path) {
    return gp_message_of(view->language, "field", path);
}

void gp_view_value(gp_buffer *buffer, const gp_view *view, const char *path, const cJSON *value) {
    const char *text = cJSON_IsString(value) ? value->valuestring : "";
    char key[320];
    snprintf(key, sizeof key, "choice.%s.%s", path, text);
    const char *words = gp_message_find(view->language, key);
    if (!words) {
        snprintf(key, sizeof key, "value.%s", text);
        words = gp_message_find(view->language, key);
    }
    const size_t length = strlen(text);
    const bool is_number = length > 0 && length < 16 && strspn(text, "0123456789") == length;
    if (words) gp_buffer_text(buffer, words);
    else if (is_number) whole_number(buffer, strtod(text, NULL));
    else gp_view_argument(buffer, view, value);
}

/* A predicted speed: its range is wider than a third digit. */
static void rate(gp_buffer *buffer, double value) {
    const double step = value >= 1000 ? pow(10, floor(log10(value)) - 2) : 1;
    if (value >= 100) whole_number(buffer, round(value / step) * step);
    else gp_buffer_printf(buffer, "%.*f", value >= 10 ? 1 : 2, value);
}

/* Times of serving, and the ends of their ranges. */
static bool is_time(const char *name) {
    static const char *const times[] = {"ttft_s", "tpot_s", "floor_s", "reduce_s", "exchange_s"};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        if (strncmp(name, times[i], strlen(times[i])) == 0) return true;
    return false;
}

void gp_view_argument(gp_buffer *buffer, const gp_view *view, const cJSON *argument) {
    if (!argument) return;
    const char *name = argument->string ? argument->string : "";
    if (cJSON_IsNumber(argument)) {
        const double value = argument->valuedouble;
        if (ends_with(name, "bytes") || strncmp(name, "bytes", 5) == 0) gp_view_size(buffer, view, value);
        else if (ends_with(name, "params")) gp_view_count(buffer, value);
        else if (is_time(name)) seconds(buffer, value);
        else if (strstr(name, "tok_s") != NULL || strcmp(name, "tokens_per_s") == 0) rate(buffer, value);
        else if (strcmp(name, "value") == 0) exact_number(buffer, value);
        else if (is_share(name)) gp_buffer_printf(buffer, "%.1f %%", 100 * value);
        else gp_view_number(buffer, value);
    } else if (cJSON_IsString(argument)) {
        text_argument(buffer, view, name, argument->valuestring);
    } else if (cJSON_IsBool(argument)) {
        gp_buffer_text(buffer, cJSON_IsTrue(argument) ? "true" : "false");
    } else if (cJSON_IsArray(argument)) {
        const cJSON *element;
        cJSON_ArrayForEach(element, argument) {
            if (element != argument->child) gp_buffer_text(buffer, ", ");
            gp_view_argument(buffer, view, element);
        }
    }
}

static void placeholder(gp_buffer *buffer, const gp_view *view, const char *name, const char *path,
                        const cJSON *arguments) {
    const cJSON *argument = cJSON_GetObjectItemCaseSensitive(arguments, name);
    if (argument) gp_view_argument(buffer, view, argument);
    else if (strcmp(name, "field") == 0) gp_buffer_foreign(buffer, gp_view_field(view, path));
    else if (strcmp(name, "path") == 0) gp_buffer_foreign(buffer, path);
    else gp_buffer_text(buffer, "?");
}

static const char *message_text(const gp_view *view, const char *key, const cJSON *arguments) {
    const char *nearest = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(arguments, "nearest"));
    if (nearest && *nearest) {
        char variant[160];
        snprintf(variant, sizeof variant, "%s.nearest", key);
        const char *text = gp_message_find(view->language, variant);
        if (text) return text;
    }
    return gp_message(view->language, key);
}

void gp_view_message(gp_buffer *buffer, const gp_view *view, const char *key, const char *path,
                     const cJSON *arguments) {
    const char *text = message_text(view, key, arguments);
    while (*text) {
        const char *open = strchr(text, '{');
        const char *close = open ? strchr(open, '}') : NULL;
        char name[64];
        if (!close || (size_t)(close - open) > sizeof name) {
            gp_buffer_text(buffer, text);
            return;
        }
        gp_buffer_bytes(buffer, text, (size_t)(open - text));
        const size_t length = (size_t)(close - open) - 1;
        memcpy(name, open + 1, length);
        name[length] = '\0';
        placeholder(buffer, view, name, path, arguments);
        text = close + 1;
    }
}
