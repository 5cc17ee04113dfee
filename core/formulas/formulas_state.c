/* formulas_state.c: weights and what training keeps for each of them. */
#include <stddef.h>

#include "formulas/formulas.h"

static const gp_formula weights = GP_FORMULA(
    "weights.by_format", "(linear_params * linear_bits + other_params * other_bits) / 8 / shards",
    "Dettmers et al. 2023 (QLoRA), arXiv:2305.14314, section 3; packed formats leave embeddings, head and norms in 16 "
    "bits (bitsandbytes, AutoGPTQ and AutoAWQ replace linear layers only)");
static const gp_formula weights_apart = GP_FORMULA(
    "weights.experts_apart",
    "(expert_params * expert_bits + linear_params * linear_bits + other_params * other_bits) / 8 / shards",
    "DeepSeek-V4 as published (huggingface.co/deepseek-ai/DeepSeek-V4-Pro, safetensors metadata): routed experts in 4 bits, "
    "the other linear layers in 8");
static const gp_formula weights_average = GP_FORMULA(
    "weights.file_average", "(linear_params + other_params) * average_bits / 8",
    "github.com/ggml-org/llama.cpp tools/quantize: a GGUF mix names a type per tensor; its average over a whole file");
static const gp_formula weights_file = GP_FORMULA(
    "weights.file", "file_bytes * stage_bits / model_bits",
    "The header of the imported file: the bytes of its tensors; github.com/ggml-org/ggml docs/gguf.md, "
    "github.com/huggingface/safetensors README");
gp_amount gp_weights_amount(const gp_stage_share *share, const gp_recipe *recipe, double shards) {
    uint64_t packed = recipe->experts_only ? share->expert_params : share->linear_params;
    double linear = (double)packed;
    double other = (double)gp_sub_or_zero(gp_add(share->linear_params, share->other_params), packed);
    double linear_bits = recipe->linear_bits, other_bits = recipe->other_bits;
    if (recipe->file_bytes > 0 && recipe->model_bits > 0) {
        double bits = gp_recipe_bits(recipe, share->expert_params, share->linear_params, share->other_params);
        const gp_term terms[] = {
            {"file_bytes", recipe->file_bytes}, {"stage_bits", bits}, {"model_bits", recipe->model_bits}};
        return GP_AMOUNT(weights_file, recipe->file_bytes * bits / recipe->model_bits, terms);
    }
    if (recipe->whole_model) {
        const gp_term terms[] = {
            {"linear_params", linear}, {"other_params", other}, {"average_bits", linear_bits}};
        return GP_AMOUNT(weights_average, (linear + other) * linear_bits / 8, terms);
    }
    if (recipe->beside_bits > 0) {
        double bits = gp_recipe_bits(recipe, share->expert_params, share->linear_params, share->other_params);
        const gp_term terms[] = {{"expert_params", linear},
                                 {"expert_bits", linear_bits},
                                 {"linear_params", other - (double)share->other_params},
                                 {"linear_bits", recipe->beside_bits},
                                 {"other_params", (double)share->other_params},
                                 {"other_bits", other_bits},
                                 {"shards", shards}};
        return GP_AMOUNT(weights_apart, bits / 8 / shards, terms);
    }
    const gp_term terms[] = {{"linear_params", linear},
                             {"linear_bits", linear_bits},
                             {"other_params", other},
                             {"other_bits", other_bits},
                             {"shards", shards}};
    return GP_AMOUNT(weights, (linear * linear_bits + other * other_bits) / 8 / shards, terms);
}

static const gp_formula scales = GP_FORMULA(
    "weights.scales", "linear_params * scale_bits / 8",
    "github.com/bitsandbytes-foundation/bitsandbytes bitsandbytes/functional.py QuantState: scales of blocks are no "
    "parameters, so FSDP leaves them whole on every GPU");
gp_amount gp_scales_amount(double linear_params, double scale_bits) {
    const gp_term terms[] = {{"linear_params", linear_params}, {"scale_bits", scale_bits}};
    return GP_AMOUNT(scales, linear_params * scale_bits / 8, terms);
}

/* A state that takes the same bytes for every parameter and is divided among the data-parallel ranks. */
static gp_amount per_param(const gp_formula *formula, double params, double bytes_per_param, double shards) {
    const gp_term terms[] = {{"params", params}, {"bytes_per_param", bytes_per_param}, {"shards", shards}};
    return gp_amount_make(formula, params * bytes_per_param / shards, 3, terms);
}

static const gp_formula gradients = GP_FORMULA(
    "gradients.per_param", "params * bytes_per_param / shards",
    "Rajbhandari et al. 2020 (ZeRO), arXiv:1910.02054, section 5: sharded from stage 2 on; Megatron-LM "
    "docs/api-guide/dist_optimizer: fp32 main gradients, 4 bytes");
gp_amount gp_gradients_amount(double params, double bytes_per_param, double shards) {
    return per_param(&gradients, params, bytes_per_param, shards);
}

#define ACCUMULATE "github.com/pytorch/pytorch torch/csrc/autograd/functions/accumulate_grad.h: a gradient is there once its " \
    "operator has run backward; core/ledger/tape.c runs them in that order"
static const gp_formula gradients_made = GP_FORMULA("gradients.made", "all_gradients - later_bytes", ACCUMULATE);
static const gp_formula gradients_later = GP_FORMULA(
    "gradients.later", "params * bytes_per_param / shards - made_bytes", ACCUMULATE);
gp_amount gp_gradients_made_amount(double all, double later) {
    const gp_term terms[] = {{"all_gradients", all}, {"later_bytes", later}};
    return GP_AMOUNT(gradients_made, all - later, terms);
}
gp_amount gp_gradients_later_amount(double params, double bytes_per_param, double shards, double made) {
    const gp_term terms[] = {
        {"params", params}, {"bytes_per_param", bytes_per_param}, {"shards", shards}, {"made_bytes", made}};
    return GP_AMOUNT(gradients_later, params * bytes_per_param / shards - made, terms);
}

static const gp_formula master_weights = GP_FORMULA(
    "master_weights.per_param", "params * bytes_per_param / shards",
    "Micikevicius et al. 2018, arXiv:1710.03740, section 3.1: an fp32 copy; sharded with the optimizer (ZeRO stage 1)");
gp_amount gp_master_amount(double params, double bytes_per_param, double shards) {
    return per_param(&master_weights, params, bytes_per_param, shards);
}

static const gp_formula optimizer = GP_FORMULA(
    "optimizer.per_param", "(matrix_params * matrix_bytes + other_params * other_bytes) / shards",
    "Rajbhandari et al. 2020 (ZeRO), arXiv:1910.02054, section 3.1: Adam keeps two moments; Dettmers et al. 2022, "
    "arXiv:2110.02861: 8-bit states with one fp32 scale per block of 256; Chen et al. 2023 (Lion), arXiv:2302.06675, "
    "and Muon: one momentum");
gp_amount gp_optimizer_amount(double matrix_params, double matrix_bytes, double other_params, double other_bytes,
                              double shards) {
    const gp_term terms[] = {{"matrix_params", matrix_params},
                             {"matrix_bytes", matrix_bytes},
                             {"other_params", other_params},
                             {"other_bytes", other_bytes},
                             {"shards", shards}};
    return GP_AMOUNT(optimizer, (matrix_params * matrix_bytes + other_params * other_bytes) / shards, terms);
}

static const gp_formula optimizer_factored = GP_FORMULA(
    "optimizer.factored", "4 * (layers * layer_rows_and_columns + ends_rows_and_columns) / shards",
    "Shazeer and Stern 2018 (Adafactor), arXiv:1804.04235, section 3: one fp32 value per row and per column");
gp_amount gp_optimizer_factored_amount(double layers, double per_layer, double ends, double shards) {
    const gp_term terms[] = {{"layers", layers},
                             {"layer_rows_and_columns", per_layer},
                             {"ends_rows_and_columns", ends},
                             {"shards", shards}};
    return GP_AMOUNT(optimizer_factored, 4 * (layers * per_layer + ends) / shards, terms);
}

static const gp_formula adapter = GP_FORMULA(
    "adapter.full_state", "adapter_params * (kept_bytes + sharded_bytes / shards)",
    "Hu et al. 2021 (LoRA), arXiv:2106.09685, section 4.1: r * (inputs + outputs) per matrix, with weights, gradients "
    "and optimizer states of their own");
gp_amount gp_adapter_amount(double params, double kept_bytes, double sharded_bytes, double shards) {
    const gp_term terms[] = {{"adapter_params", params},
                             {"kept_bytes", kept_bytes},
                             {"sharded_bytes", sharded_bytes},
                             {"shards", shards}};
    return GP_AMOUNT(adapter, params * (kept_bytes + sharded_bytes / shards), terms);
}

static const gp_formula optimizer_temp = GP_FORMULA(
    "optimizer_temp.foreach", "lists * params * bytes_per_param / shards",
    "github.com/pytorch/pytorch torch/optim/adamw.py _multi_tensor_adamw: the list of square roots of the second "
    "moments lives beside the states; on the host before release 2.0 a second one, with epsilon added");
gp_amount gp_optimizer_temp_amount(double lists, double params, double bytes_per_param, double shards) {
    const gp_term terms[] = {
        {"lists", lists}, {"params", params}, {"bytes_per_param", bytes_per_param}, {"shards", shards}};
    return GP_AMOUNT(optimizer_temp, lists * params * bytes_per_param / shards, terms);
}

static const gp_formula optimizer_single = GP_FORMULA(
    "optimizer_temp.single", "largest * bytes_per_element + previous * bytes_of_previous",
    "github.com/pytorch/pytorch torch/optim/adamw.py _single_tensor_adamw: root and quotient of a tensor's second moment, "
    "and the denominator of the tensor before, a name that still lives; github.com/huggingface/transformers "
    "optimization.py Adafactor: gradient, parameter, square and its sum with epsilon in fp32, and the update before");
gp_amount gp_optimizer_single_amount(double largest, double bytes, double previous, double previous_bytes) {
    const gp_term terms[] = {{"largest", largest},
                             {"bytes_per_element", bytes},
                             {"previous", previous},
                             {"bytes_of_previous", previous_bytes}};
    return GP_AMOUNT(optimizer_single, largest * bytes + previous * previous_bytes, terms);
}

static const gp_formula optimizer_gradient = GP_FORMULA(
    "optimizer_temp.gradient", "min(params / shards, group_params) * (gradient_bytes + fp32_bytes)",
    "github.com/deepspeedai/DeepSpeed deepspeed/runtime/zero/stage3.py and stage_1_and_2.py: the gradients of a group are "
    "laid end to end and cast to fp32 before its step, while the shards they come from are there; config.py "
    "sub_group_size, 1e9 (ZeRO-3)");
gp_amount gp_optimizer_gradient_amount(double params, double shards, double group_params, double gradient_bytes) {
    double fp32_bytes = gradient_bytes < 4 ? 4 : 0, share = params / shards;
    const gp_term terms[] = {{"params", params},
                             {"shards", shards},
                             {"group_params", group_params},
                             {"gradient_bytes", gradient_bytes},
                             {"fp32_bytes", fp32_bytes}};
    return GP_AMOUNT(optimizer_gradient, (share < group_params ? share : group_params) * (gradient_bytes + fp32_bytes),
                     terms);
}

static const gp_formula gather_layers = GP_FORMULA(
    "gather_buffers.layers", "layer_params * (units * weight_bytes + gradient_bytes)",
    "Zhao et al. 2023 (FSDP), arXiv:2304.11277, section 4: the unit in use and the one fetched ahead are whole, and so "
    "is the gradient being reduced; github.com/deepspeedai/DeepSpeed docs/_pages/config-json.md: "
    "stage3_max_live_parameters, 1e9");
gp_amount gp_gather_layers_amount(double layer_params, double units, double weight_bytes, double gradient_bytes) {
    const gp_term terms[] = {{"layer_params", layer_params},
                             {"units", units},
                             {"weight_bytes", weight_bytes},
                             {"gradient_bytes", gradient_bytes}};
    return GP_AMOUNT(gather_layers, layer_params * (units * weight_bytes + gradient_bytes), terms);
}

static const gp_formula gather_ends = GP_FORMULA(
    "gather_buffers.ends", "end_params * weight_bytes",
    "Zhao et al. 2023 (FSDP), arXiv:2304.11277, section 4: embedding and output matrix are units of their own");
gp_amount gp_gather_ends_amount(double end_params, double weight_bytes) {
    const gp_term terms[] = {{"end_params", end_params}, {"weight_bytes", weight_bytes}};
    return GP_AMOUNT(gather_ends, end_params * weight_bytes, terms);
}

static const gp_formula gather_ahead = GP_FORMULA(
    "gather_buffers.ahead", "(end_params + layer_params) * weight_bytes",
    "github.com/pytorch/pytorch torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py: the buffer of one unit is kept "
    "until that of the next has been copied out of");
gp_amount gp_gather_ahead_amount(double end_params, double layer_params, double weight_bytes) {
    const gp_term terms[] = {{"end_params", end_params}, {"layer_params", layer_params}, {"weight_bytes", weight_bytes}};
    return GP_AMOUNT(gather_ahead, (end_params + layer_params) * weight_bytes, terms);
}
bool gp_is_gathered_ahead(const gp_amount *amount) { return amount->formula == &gather_ahead; }

static const gp_formula gather_stage = GP_FORMULA(
    "gather_buffers.stage", "params * (weight_bytes + gradient_bytes)",
    "github.com/pytorch/torchtitan torchtitan/models/llama3/infra/parallelize.py: with a pipeline FSDP does not reshard "
    "after forward; github.com/pytorch/pytorch torch/distributed/pipelining/stage.py: it reduces after the last "
    "micro-batch");
gp_amount gp_gather_stage_amount(double params, double weight_bytes, double gradient_bytes) {
    const gp_term terms[] = {{"params", params}, {"weight_bytes", weight_bytes}, {"gradient_bytes", gradient_bytes}};
    return GP_AMOUNT(gather_stage, params * (weight_bytes + gradient_bytes), terms);
}

static const gp_formula gathered_sequence = GP_FORMULA(
    "workspace.gathered_sequence", "2 * tokens * hidden * element_bytes",
    "Korthikanti et al. 2022, arXiv:2205.05198, section 4.2.2: the output matrix takes the whole sequence, and gives its "
    "whole gradient back");
gp_amount gp_gathered_sequence_amount(double tokens, double hidden, double element_bytes) {
    const gp_term terms[] = {{"tokens", tokens}, {"hidden", hidden}, {"element_bytes", element_bytes}};
    return GP_AMOUNT(gathered_sequence, 2 * tokens * hidden * element_bytes, terms);
}

static const gp_formula gather_buckets = GP_FORMULA(
    "gather_buffers.buckets", "buckets * min(bucket_elements, params) * element_bytes",
    "github.com/deepspeedai/DeepSpeed deepspeed/runtime/zero/config.py: reduce_bucket_size and allgather_bucket_size, "
    "5e8 elements each; stage3.py: one bucket is there from the start, reduce_scatter_coalesced fills another");
gp_amount gp_gather_buckets_amount(double buckets, double bucket_elements, double params, double element_bytes) {
    const gp_term terms[] = {{"buckets", buckets},
                             {"bucket_elements", bucket_elements},
                             {"params", params},
                             {"element_bytes", element_bytes}};
    double elements = bucket_elements < params ? bucket_elements : params;
    return GP_AMOUNT(gather_buckets, buckets * elements * element_bytes, terms);
}

static const gp_formula gather_copies = GP_FORMULA(
    "gather_buffers.copies", "params * gradient_bytes",
    "Li et al. 2020 (PyTorch Distributed), arXiv:2006.15704, section 3.2: gradients are copied into buckets, unless "
    "gradient_as_bucket_view says otherwise");
gp_amount gp_gather_copies_amount(double params, double gradient_bytes) {
    const gp_term terms[] = {{"params", params}, {"gradient_bytes", gradient_bytes}};
    return GP_AMOUNT(gather_copies, params * gradient_bytes, terms);
}

static const gp_formula flat_copy = GP_FORMULA(
    "workspace.flat_copy", "params * bytes_per_param",
    "github.com/deepspeedai/DeepSpeed deepspeed/runtime/zero/stage_1_and_2.py: parameters are flattened into one buffer "
    "before each rank keeps its part; fp32 as they were loaded");
gp_amount gp_flat_copy_amount(double params, double bytes_per_param) {
    const gp_term terms[] = {{"params", params}, {"bytes_per_param", bytes_per_param}};
    return GP_AMOUNT(flat_copy, params * bytes_per_param, terms);
}

static const gp_formula whole_model = GP_FORMULA(
    "workspace.whole_model", "(linear_params * linear_bits + other_params * other_bits) / 8",
    "github.com/Lightning-AI/pytorch-lightning src/lightning/fabric/strategies/fsdp.py: a model that was built on the GPU "
    "is whole there until its units are sharded; peaks of github.com/Lightning-AI/litgpt tutorials/resource-tables.md");
gp_amount gp_whole_model_amount(const gp_stage_share *share, const gp_recipe *recipe) {
    double linear = (double)share->linear_params, other = (double)share->other_params;
    const gp_term terms[] = {{"linear_params", linear},
                             {"linear_bits", recipe->linear_bits},
                             {"other_params", other},
                             {"other_bits", recipe->other_bits}};
    return GP_AMOUNT(whole_model, (linear * recipe->linear_bits + other * recipe->other_bits) / 8, terms);
}

static const gp_formula gradient_dummies = GP_FORMULA(
    "workspace.weight_gradients", "distinct_params * element_bytes",
    "github.com/NVIDIA/TransformerEngine transformer_engine/pytorch/module/base.py: dummy weight gradients, one per "
    "distinct matrix shape, when gradients are accumulated in the main buffer");
gp_amount gp_gradient_dummies_amount(double distinct_params, double element_bytes) {
    const gp_term terms[] = {{"distinct_params", distinct_params}, {"element_bytes", element_bytes}};
    return GP_AMOUNT(gradient_dummies, distinct_params * element_bytes, terms);
}

const gp_formula *const gp_formulas_state[] = {
    &weights, &weights_apart, &weights_average, &weights_file, &scales, &gradients, &gradients_made, &gradients_later, &master_weights, &optimizer, &optimizer_factored,
    &adapter, &optimizer_temp, &optimizer_single, &optimizer_gradient, &gather_layers, &gather_ends, &gather_ahead, &gather_buckets,
    &gather_stage, &gathered_sequence, &gather_copies, &flat_copy, &whole_model, &gradient_dummies, NULL,
};
