/* formulas_timing.c: how long serving takes. */
#include <math.h>
#include <stddef.h>

#include "formulas/formulas.h"

static const gp_formula step = GP_FORMULA(
    "time.step",
    "max(dense_bytes / rate, dense_flop / flops) + max(expert_bytes / expert_rate, expert_flop / flops) + "
    "cache_bytes / cache_rate + latency_s + reduce_s + host_s",
    "Williams et al. 2009 (roofline), doi:10.1145/1498765.1498785; Pope et al. 2022, arXiv:2211.05102, section 2: a step "
    "reads the weights once and the cache of every sequence; rates and latencies fitted on docs/accuracy.md's rows");
double gp_step_seconds(const gp_step_parts *p, gp_amount *why) {
    const gp_term terms[] = {{"dense_bytes", p->dense_bytes},   {"rate", p->rate},
                             {"dense_flop", p->dense_flop},     {"flops", p->flops},
                             {"expert_bytes", p->expert_bytes}, {"expert_rate", p->expert_rate},
                             {"expert_flop", p->expert_flop},   {"cache_bytes", p->cache_bytes},
                             {"cache_rate", p->cache_rate},     {"latency_s", p->latency_s},
                             {"reduce_s", p->reduce_s},
                             {"host_s", p->host_s}};
    *why = GP_AMOUNT(step, 0, terms);
    return fmax(p->dense_bytes / p->rate, p->dense_flop / p->flops) +
           fmax(p->expert_bytes / p->expert_rate, p->expert_flop / p->flops) + p->cache_bytes / p->cache_rate +
           p->latency_s + p->reduce_s + p->host_s;
}

static const gp_formula prompt = GP_FORMULA(
    "time.prompt",
    "(flop / flops + passes * (pass_bytes / rate + pass_s) + attention_flop / attention_flops) * overlap + reduce_s + host_s",
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
                             {"host_s", p->host_s}};
    *why = GP_AMOUNT(prompt, 0, terms);
    double passes = p->passes * (p->pass_bytes / p->rate + p->pass_s);
    return (p->flop / p->flops + passes + p->attention_flop / p->attention_flops) * p->overlap + p->reduce_s + p->host_s;
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

const gp_formula *const gp_formulas_timing[] = {&step, &prompt, &tpot, &ttft, &throughput, &decode, &prefill, NULL};
