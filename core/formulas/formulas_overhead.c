/* formulas_overhead.c: what surrounds the tensors: CUDA context, collectives, the allocator's pool. */
#include <stddef.h>

#include "formulas/formulas.h"
#include "base/quantity.h"

static const gp_formula context = GP_FORMULA(
    "context.cuda", "context_mib * 1048576",
    "github.com/stas00/ml-engineering training/performance: 0.47 GiB with lazy loading (PyTorch 2.1, A100) to 0.92 GiB "
    "with all kernels loaded; github.com/ggml-org/llama.cpp logs: 310-340 MiB");
gp_amount gp_context_amount(double mib) {
    const gp_term terms[] = {{"context_mib", mib}};
    return GP_AMOUNT(context, mib * (double)GP_MIB, terms);
}

static const gp_formula context_engine = GP_FORMULA(
    "context.tensorrt_llm", "1250 * 1048576 + 0.08 * loaded_bytes",
    "fitted on 40 start-ups of TensorRT-LLM on H100 and GB300, github.com/ai-dynamo/aiconfigurator "
    "tests/integration/test_trtllm_kv_cache_capacity.py: context, libraries, graphs and the allocator's surplus");
gp_amount gp_context_engine_amount(double loaded_bytes) {
    const gp_term terms[] = {{"loaded_bytes", loaded_bytes}};
    return GP_AMOUNT(context_engine, 1250 * (double)GP_MIB + 0.08 * loaded_bytes, terms);
}

static const gp_formula kept_free = GP_FORMULA(
    "fragmentation.kept_free", "cache_bytes * (1 - free_share) / free_share",
    "github.com/NVIDIA/TensorRT-LLM tensorrt_llm/llmapi/llm_args.py (free_gpu_memory_fraction), github.com/InternLM/"
    "lmdeploy lmdeploy/messages.py (cache_max_entry_count): the cache takes a share of what is free after loading");
gp_amount gp_kept_free_amount(double cache_bytes, double free_share) {
    const gp_term terms[] = {{"cache_bytes", cache_bytes}, {"free_share", free_share}};
    return GP_AMOUNT(kept_free, cache_bytes * (1 - free_share) / free_share, terms);
}

static const gp_formula comm_buffers = GP_FORMULA(
    "comm_buffers.nccl", "groups * group_mib * 1048576",
    "github.com/NVIDIA/nccl docs: channels x 4 MiB buffers x protocols per communicator; 342-392 MiB per group measured "
    "by github.com/ai-dynamo/aiconfigurator, 1.5 GiB after the first collective by github.com/stas00/ml-engineering");
gp_amount gp_comm_amount(double groups, double group_mib) {
    const gp_term terms[] = {{"groups", groups}, {"group_mib", group_mib}};
    return GP_AMOUNT(comm_buffers, groups * group_mib * (double)GP_MIB, terms);
}

static const gp_formula fragmentation = GP_FORMULA(
    "fragmentation.allocator", "share * allocated_bytes + streams_bytes",
    "PyTorch caching allocator (c10/cuda/CUDACachingAllocator.cpp): a pool for each stream. max_memory_reserved over "
    "max_memory_allocated: Megatron-LM 1.03-1.09 on B200 (github.com/MooreThreads/SimuMax); FSDP, whose collectives "
    "have streams of their own, 1.20-1.36 (github.com/pytorch/torchtitan, github.com/huggingface/peft benchmarks)");
gp_amount gp_fragmentation_amount(double share, double allocated_bytes, double streams_bytes) {
    const gp_term terms[] = {
        {"share", share}, {"allocated_bytes", allocated_bytes}, {"streams_bytes", streams_bytes}};
    return GP_AMOUNT(fragmentation, share * allocated_bytes + streams_bytes, terms);
}

const gp_formula *const gp_formulas_overhead[] = {&context, &context_engine, &kept_free, &comm_buffers, &fragmentation, NULL};
