#include <string.h>

#include "ledger/ledger.h"

/* What the driver shows of a card is not all a process can have: driver and firmware keep 0.4 GiB and more (total memory as
 * torch sees it: T4 14.56 of 15, A10G 22.07 of 22.49, RTX 3090 23.58 of 24, A100 40GB 39.4 to 39.6 of 40, H100 79.2 of
 * 79.65, H200 139.8 of 140.4 GiB; github.com/vllm-project/vllm start-up logs), and up to 1 % of an A100 80GB (79.15 of 80).
 * macOS lets a GPU hold two thirds of up to 32 GB and three quarters of more (Metal's recommendedMaxWorkingSetSize, which
 * llama.cpp prints: 10922 MiB of 16 GB, 16384 of 24, 21845 of 32, 27648 of 36, 49152 of 64). */
static uint64_t held_by_driver(uint64_t capacity) {
    const uint64_t least = 430 * GP_MIB;
    uint64_t share = gp_div_ceil(capacity, 180);
    return share > least ? share : least;
}

static uint64_t bytes_of_gib(double gib) { return gp_bytes_from_double(gib * (double)GP_GIB); }

static void refuse(gp_diagnostics *diagnostics, gp_code code, const char *path, const char *name) {
    gp_diagnostic *row = gp_diagnose(diagnostics, code, path);
    gp_argue_text(row, "value", name);
    const char *nearest = code == GP_CODE_UNKNOWN_GPU ? gp_catalog_nearest_gpu(name) : "";
    if (nearest[0] != '\0') gp_argue_text(row, "nearest", nearest);
}

/* Visible bytes of a catalogue row; where nobody has published them, the nominal size as GiB. */
static uint64_t row_capacity(const gp_gpu_row *row, gp_diagnostics *diagnostics) {
    if (row->memory_bytes > 0) return row->memory_bytes;
    if (!(row->memory_gb_nominal > 0)) return 0;
    gp_diagnostic *note = gp_diagnose(diagnostics, GP_CODE_MEMORY_FROM_NOMINAL, "hardware.gpu");
    gp_argue_text(note, "gpu", row->name);
    return bytes_of_gib(row->memory_gb_nominal);
}

static void copy_name(gp_device *device, const char *name) {
    size_t length = strlen(name);
    if (length >= sizeof device->name) length = sizeof device->name - 1;
    memcpy(device->name, name, length);
    device->name[length] = '\0';
}

/* The host as a device: as much as the request says it has; without that, as much as is needed. */
static bool find_host(const gp_job *job, gp_device *device) {
    device->is_host = true;
    double gib = gp_known(job, GP_FIELD_HOST_RAM) ? gp_real(job, GP_FIELD_HOST_RAM) : job->gpu.memory_gib;
    device->capacity_bytes = gib > 0 ? bytes_of_gib(gib) : 0;
    device->nominal_gb = (double)device->capacity_bytes / 1e9;
    device->usable_bytes = gib > 0 ? device->capacity_bytes : GP_EXACT_MAX;
    return true;
}

/* No GPU stated: what a job needs is known all the same, whether it fits is not. */
static bool take_any(gp_device *device, gp_diagnostics *diagnostics) {
    gp_diagnose(diagnostics, GP_CODE_GPU_NOT_STATED, "hardware.gpu");
    copy_name(device, "GPU");
    device->usable_bytes = GP_EXACT_MAX;
    return true;
}

static bool find_capacity(const gp_job *job, gp_device *device, gp_diagnostics *diagnostics) {
    const gp_gpu_request *request = &job->gpu;
    const char *row_name = request->custom ? request->like : request->name;
    const char *path = request->custom ? "hardware.gpu.like" : "hardware.gpu";
    if (row_name[0] != '\0') {
        device->row = gp_catalog_gpu_of(request);
        if (device->row == NULL) {
            refuse(diagnostics, GP_CODE_UNKNOWN_GPU, path, row_name);
            return false;
        }
    }
    if (request->memory_gib > 0) {
        device->capacity_bytes = bytes_of_gib(request->memory_gib);
        device->nominal_gb = (double)device->capacity_bytes / 1e9;
        return true;
    }
    if (device->row != NULL) {
        device->capacity_bytes = row_capacity(device->row, diagnostics);
        device->nominal_gb = device->row->memory_gb_nominal;
    }
    if (device->capacity_bytes > 0) return true;
    refuse(diagnostics, GP_CODE_UNKNOWN_MEMORY, request->custom ? "hardware.gpu.memory_gib" : path, device->name);
    return false;
}

void gp_device_check_like(const gp_job *job, gp_diagnostics *diagnostics) {
    const char *like = job->gpu.like;
    if (job->gpu.custom && like[0] != '\0' && gp_catalog_find_gpu(like) == NULL)
        refuse(diagnostics, GP_CODE_UNKNOWN_GPU, "hardware.gpu.like", like);
}

uint64_t gp_device_free_bytes(const gp_device *device) {
    uint64_t capacity = device->capacity_bytes;
    if (device->is_host) return capacity; /* no driver lies between a program and the host */
    bool unified = device->row != NULL && strcmp(device->row->vendor, "Apple") == 0;
    uint64_t by_macos = capacity > 32 * GP_GIB ? capacity / 4 : capacity / 3;
    return gp_sub_or_zero(capacity, unified ? by_macos : held_by_driver(capacity));
}

bool gp_device_find(const gp_job *job, gp_device *device, gp_diagnostics *diagnostics) {
    *device = (gp_device){.row = NULL};
    copy_name(device, job->gpu.name);
    if (strcmp(job->gpu.name, "cpu") == 0) return find_host(job, device);
    if (!job->gpu.custom && job->gpu.name[0] == '\0') return take_any(device, diagnostics);
    if (!find_capacity(job, device, diagnostics)) return false;
    if (!job->gpu.custom && device->row != NULL) copy_name(device, device->row->name);
    device->usable_bytes = gp_device_free_bytes(device);
    if (gp_is_choice(job, GP_FIELD_LEDGER, GP_CHOICE_LEDGER_TEXTBOOK)) {
        double held_back = gp_known(job, GP_FIELD_TEXTBOOK_HELD_BACK) ? gp_real(job, GP_FIELD_TEXTBOOK_HELD_BACK) : 0;
        double usable = device->nominal_gb * 1e9 - held_back * 1e9;
        device->usable_bytes = usable > 0 ? (uint64_t)usable : 0;
    }
    return true;
}

/* Engines without a share take what they need; a share of what is free after loading limits the cache alone. */
void gp_device_limit(const gp_job *job, const gp_model *model, gp_device *device) {
    const double of_tgi = 0.9;
    bool shared = !gp_is_training(job) && gp_engine_takes_share(job) && gp_known(job, GP_FIELD_MEMORY_UTILIZATION);
    if (!shared || gp_engine_shares_rest(job)) return;
    if (device->is_host || !gp_device_is_measured(device)) return;
    if (gp_is_choice(job, GP_FIELD_LEDGER, GP_CHOICE_LEDGER_TEXTBOOK)) return;
    gp_beside_share beside = gp_engine_beside_share(job);
    double share = gp_real(job, GP_FIELD_MEMORY_UTILIZATION), all = (double)device->usable_bytes, bytes = share * all;
    if (gp_is_choice(job, GP_FIELD_ENGINE, GP_CHOICE_ENGINE_TGI)) bytes *= of_tgi;
    bytes += beside.device + beside.layer * (double)(model == NULL ? 0 : model->shape.layers);
    if (gp_is_choice(job, GP_FIELD_ENGINE, GP_CHOICE_ENGINE_SGLANG) && model != NULL) {
        gp_outside_share outside = gp_ledger_outside_share(job, model);
        bytes += (1 - share) * outside.before + outside.working;
    }
    if (bytes < all) device->usable_bytes = (uint64_t)bytes;
}
