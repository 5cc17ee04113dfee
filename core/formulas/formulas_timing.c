/* formulas_timing.c: how long serving takes. */
#include <math.h>
#include <stddef.h>

#include "formulas/formulas.h"

static const gp_formula step = GP_FORMULA(
    "time.step",
    "max(dense_bytes / rate, dense_flop / flops) + max(expert_bytes / expert_rate, expert_flop / flops) + "
    "cache_bytes / cache_rate + latency_s + reduce_s + exchange_s + host_s",
    "Williams et al. 2009 (roofline), doi:10.1145/1498765.1498785; Pope et al. 2022, arXiv:2211.05102, section 2: a step "
    "reads the weights once and the cache of every sequence; rates and latencies fitted on docs/accuracy.md's rows");
double gp_step_seconds(const gp_step_parts *p, gp_amount *why) {
    const gp_term terms[] = {{"dense_bytes", p->dense_bytes},   {"rate", p->rate},
                             {"dense_flop", p->dense_flop},     {"flops", p->flops},
                             {"expert_bytes", p->expert_bytes}, {"expert_rate", p->expert_rate},
                             {"expert_flop", p->expert_flop},   {"cache_bytes", p->cache_bytes},
                             {"cache_rate", p->cache_rate},     {"latency_s", p->latency_s},
                             {"reduce_s", p->reduce_s},         {"exchange_s", p->exchange_s},
                             {"host_s", p->host_s}};
    *why = GP_AMOUNT(step, 0, terms);
    return fmax(p->dense_bytes / p->rate, p->dense_flop / p->flops) +
           fmax(p->expert_bytes / p->expert_rate, p->expert_flop / p->flops) + p->cache_bytes / p->cache_rate +
           p->latency_s + p->reduce_s + p->exchange_s + p->host_s;
}

static const gp_formula prompt = GP_FORMULA(
    "time.prompt",
    "(flop / flops + passes * (pass_bytes / rate + pass_s) + attention_flop / attention_flops) * overlap + reduce_s + exchange_s + "
    "host_s",
    "Pope et al. 2022, arXiv:2211.05102, section 2: 2 FLOP for each parameter and token, and the attention's own; rates "
    "and latencies fitted on docs/accuracy.md's rows");
double gp_prompt_seconds(const gp_prompt_parts *p, gp_amount *why) {
    const gp_term terms[] = {{"flop", p->flop},
                             {"flops", p->flops},
                             {"passes", p->passes},
                             {"pass_bytes", p->pass_bytes},
                             {"rate", p->rate},
                             {"pass_s", p->pass_s},
                             {"attention_flop", p->attention_flop},
                             {"attention_flops", p->attention_flops},
                             {"overlap", p->overlap},
                             {"reduce_s", p->reduce_s},
                             {"exchange_s", p->exchange_s},
                             {"host_s", p->host_s}};
    *why = GP_AMOUNT(prompt, 0, terms);
    double passes = p->passes * (p->pass_bytes / p->rate + p->pass_s);
    return (p->flop / p->flops + passes + p->attention_flop / p->attention_flops) * p->overlap + p->reduce_s + p->exchange_s +
           p->host_s;
}

static const gp_formula tpot = GP_FORMULA(
    "time.tpot", "step_s / tokens_per_step + shared_prompt_s",
    "Agrawal et al. 2024 (Sarathi-Serve), arXiv:2403.02310, section 4: prompts of others are read between the steps, up "
    "to the tokens of one batch");
double gp_tpot_seconds(double step_s, double tokens_per_step, double shared_prompt_s, gp_amount *why) {
    const gp_term terms[] = {{"step_s", step_s}, {"tokens_per_step", tokens_per_step}, {"shared_prompt_s", shared_prompt_s}};
    *why = GP_AMOUNT(tpot, 0, terms);
    return step_s / tokens_per_step + shared_prompt_s;
}

static const gp_formula ttft = GP_FORMULA("time.ttft", "prompt_s + start_s + wait_s",
                                "Kwon et al. 2023 (vLLM), arXiv:2309.06180, section 4.5: what has no room waits");
double gp_ttft_seconds(double prompt_s, double start_s, double wait_s, gp_amount *why) {
    const gp_term terms[] = {{"prompt_s", prompt_s}, {"start_s", start_s}, {"wait_s", wait_s}};
    *why = GP_AMOUNT(ttft, 0, terms);
    return prompt_s + start_s + wait_s;
}

static const gp_formula throughput = GP_FORMULA(
    "time.throughput", "duty * sequences * output / (output * step_s / tokens_per_step + batch * prompt_s)",
    "Yu et al. 2022 (Orca), OSDI: sequences come and go step by step, so each lives through its own steps and the prompts "
    "of its batch");
double gp_throughput_per_second(const gp_throughput_parts *p, gp_amount *why) {
    const gp_term terms[] = {{"duty", p->duty},     {"sequences", p->sequences}, {"output", p->output},
                             {"step_s", p->step_s}, {"batch", p->batch},         {"prompt_s", p->prompt_s},
                             {"tokens_per_step", p->tokens_per_step}};
    *why = GP_AMOUNT(throughput, 0, terms);
    return p->duty * p->sequences * p->output / (p->output * p->step_s / p->tokens_per_step + p->batch * p->prompt_s);
}

/* Leviathan et al. 2023, equation 1: (1 - a^(k + 1)) / (1 - a). */
double gp_tokens_per_step(double draft, double acceptance) {
    double tokens = 1, right = 1;
    for (int64_t i = 0; i < (int64_t)draft; i++) {
        right *= acceptance;
        tokens += right;
    }
    return tokens;
}

static const gp_formula reduce = GP_FORMULA(
    "time.reduce", "reduces * (passes * start_s + moved_bytes / link_rate)",
    "Shoeybi et al. 2019 (Megatron-LM), arXiv:1909.08053, section 3: two all-reduces of the hidden rows a layer; "
    "github.com/NVIDIA/nccl-tests doc/PERFORMANCE.md: a ring moves 2 (n - 1) / n of the data; starts fitted on docs/accuracy.md's rows");
double gp_reduce_seconds(const gp_reduce_parts *p, gp_amount *why) {
    const gp_term terms[] = {{"reduces", p->reduces},
                             {"passes", p->passes},
                             {"start_s", p->start_s},
                             {"moved_bytes", p->moved_bytes},
                             {"link_rate", p->link_rate}};
    *why = GP_AMOUNT(reduce, 0, terms);
    return p->reduces * (p->passes * p->start_s + p->moved_bytes / p->link_rate);
}

static const gp_formula exchange = GP_FORMULA(
    "time.exchange", "expert_layers * (passes * start_s + sent_bytes / link_rate)",
    "DeepSeek-AI 2024 (DeepSeek-V3), arXiv:2412.19437, section 3.4: attention in groups of ranks, experts over all of them, and "
    "two all-to-alls a layer; github.com/deepseek-ai/DeepEP docs/legacy.md: 77 and 114 us for 128 tokens on each of 8 ranks");
double gp_exchange_seconds(const gp_exchange_parts *p, gp_amount *why) {
    const gp_term terms[] = {{"expert_layers", p->expert_layers},
                             {"passes", p->passes},
                             {"start_s", p->start_s},
                             {"sent_bytes", p->sent_bytes},
                             {"link_rate", p->link_rate}};
    *why = GP_AMOUNT(exchange, 0, terms);
    return p->expert_layers * (p->passes * p->start_s + p->sent_bytes / p->link_rate);
}

static const gp_formula floor_of_step = GP_FORMULA(
    "time.floor", "layers * kernels * layer_s + expert_layers * expert_layer_s + step_start_s",
    "what a decode step takes at least, whatever the bandwidth: the kernels of a layer start one after the other; fitted on "
    "docs/accuracy.md's rows");
double gp_floor_seconds(const gp_floor_parts *p, gp_amount *why) {
    const gp_term terms[] = {{"layers", p->layers},
                             {"kernels", p->kernels},
                             {"layer_s", p->layer_s},
                             {"expert_layers", p->expert_layers},
                             {"expert_layer_s", p->expert_layer_s},
                             {"step_start_s", p->step_start_s}};
    *why = GP_AMOUNT(floor_of_step, 0, terms);
    return p->layers * p->kernels * p->layer_s + p->expert_layers * p->expert_layer_s + p->step_start_s;
}

static const gp_formula touched = GP_FORMULA(
    "time.experts", "experts * (1 - missed)",
    "tokens that choose k of E experts on their own, each as often as any other: n of them miss a share of (1 - k / E)^n; "
    "training keeps the loads even (DeepSeek-V3, arXiv:2412.19437, section 2.1.2)");
double gp_experts_touched(double experts, double missed, gp_amount *why) {
    const gp_term terms[] = {{"experts", experts}, {"missed", missed}};
    *why = GP_AMOUNT(touched, 0, terms);
    return experts * (1 - missed);
}

static const gp_formula decode = GP_FORMULA(
    "time.decode", "tokens_per_step / step_s",
    "with one user alone; Leviathan et al. 2023 (speculative decoding), arXiv:2211.17192, equation 1: 1 token a step without "
    "a draft, else 1 + a + ... + a^k of k guesses, each right with probability a");
double gp_decode_per_second(double step_s, double tokens_per_step, gp_amount *why) {
    const gp_term terms[] = {{"step_s", step_s}, {"tokens_per_step", tokens_per_step}};
    *why = GP_AMOUNT(decode, 0, terms);
    return tokens_per_step / step_s;
}

static const gp_formula prefill = GP_FORMULA("time.prefill", "tokens / prompt_s", "the tokens of one prompt over the time it takes");
double gp_prefill_per_second(double tokens, double prompt_s, gp_amount *why) {
    const gp_term terms[] = {{"tokens", tokens}, {"prompt_s", prompt_s}};
    *why = GP_AMOUNT(prefill, 0, terms);
    return tokens / prompt_s;
}

const gp_formula *const gp_formulas_timing[] = {&step, &prompt, &tpot, &ttft, &throughput, &decode, &prefill,
                                                &reduce, &exchange, &floor_of_step, &touched, NULL};
