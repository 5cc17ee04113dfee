/**
 * Makes jobs for tests: the same seed gives the same jobs. Most are valid; generateJobs also mixes in jobs with a
 * fault (a typing error, a degree that does not divide, a value out of range), so both sides of the core are walked.
 */
import { createRandom } from "../support/random.mjs";

/** Dense models with what the choice of degrees needs: name, layers, heads. */
const MODELS = [
  ["openai-community/gpt2-xl", 48, 25],
  ["facebook/opt-6.7b", 32, 32],
  ["bigscience/bloom-7b1", 30, 32],
  ["EleutherAI/gpt-neox-20b", 44, 64],
  ["meta-llama/Llama-2-7b-hf", 32, 32],
  ["meta-llama/Llama-2-13b-hf", 40, 40],
  ["meta-llama/Llama-3.1-8B", 32, 32],
  ["meta-llama/Llama-3.1-70B", 80, 64],
  ["meta-llama/Llama-3.1-405B", 126, 128],
  ["meta-llama/Llama-3.2-1B", 16, 32],
  ["meta-llama/Llama-3.2-3B", 28, 24],
  ["mistralai/Mistral-7B-v0.1", 32, 32],
  ["Qwen/Qwen2.5-0.5B", 24, 14],
  ["Qwen/Qwen2.5-7B", 28, 28],
  ["Qwen/Qwen2.5-32B", 64, 40],
  ["Qwen/Qwen2.5-72B", 80, 64],
  ["Qwen/Qwen3-0.6B", 28, 16],
  ["Qwen/Qwen3-8B", 36, 32],
  ["Qwen/Qwen3-32B", 64, 64],
  ["01-ai/Yi-34B", 60, 56],
  ["microsoft/phi-2", 32, 32],
  [{ params: 7e9, layers: 32, hidden: 4096, heads: 32 }, 32, 32],
  [{ name: "7B MHA", layers: 32, hidden: 4096, heads: 32, kv_heads: 32, ffn: 11008, vocab: 32000 }, 32, 32],
  [{ name: "13B MQA", layers: 40, hidden: 5120, heads: 40, kv_heads: 1, ffn: 13824, vocab: 32000 }, 40, 40],
  [{ layers: 24, hidden: 2048, heads: 16, ffn: 8192, vocab: 50304, tied_embeddings: true, style: "gpt2" }, 24, 16],
  [{ config: { model_type: "llama", hidden_size: 3200, num_hidden_layers: 26, num_attention_heads: 32,
    intermediate_size: 8640, vocab_size: 32000, max_position_embeddings: 2048 } }, 26, 32],
];

/** GPUs with what they cannot do: name, bf16, FlashAttention-2. */
const GPUS = [
  ["Tesla V100 SXM2 32GB", false, false],
  ["T4", false, false],
  ["GeForce RTX 3090", true, true],
  ["GeForce RTX 4090", true, true],
  ["GeForce RTX 5090", true, true],
  ["RTX A6000", true, true],
  ["L4", true, true],
  ["L40S", true, true],
  ["A100 SXM4 40GB", true, true],
  ["A100 SXM4 80GB", true, true],
  ["H100 SXM5 80GB", true, true],
  ["H200 SXM5 141GB", true, true],
  ["B200 SXM 180GB", true, true],
  ["Instinct MI300X", true, true],
  [{ name: "a 64 GiB card", memory_gib: 64, like: "A100 SXM4 80GB" }, true, true],
];

const OPTIMIZERS = ["adamw", "adamw", "adamw8bit", "adamw-bf16-states", "sgd", "lion", "adafactor", "muon",
  "paged-adamw8bit"];
const FRAMEWORKS = ["auto", "hf-trainer", "megatron", "deepspeed", "fsdp", "torchtitan", "axolotl"];
const WEIGHTS = ["bf16", "fp16", "int8", "int4", "nf4", "awq", "gptq4", "gguf:Q4_K_M", "gguf:Q8_0", "w4a16"];
const ENGINES = ["vllm", "vllm", "sglang", "tensorrt-llm", "llama.cpp", "transformers"];
const DIVISORS = [1, 2, 4, 8];

const optional = (random, probability, name, value) => (random.chance(probability) ? { [name]: value } : {});

/** Tensor- and pipeline-parallel degrees that divide heads, layers and count. */
function pickDegrees(random, count, layers, heads) {
  const tp = random.pick(DIVISORS.filter((degree) => count % degree === 0 && heads % degree === 0));
  const rest = count / tp;
  const pp = random.chance(0.7) ? 1 : random.pick(DIVISORS.filter((degree) => rest % degree === 0 && degree <= layers));
  return { tp, pp };
}

function trainSection(random, task, [, bf16, flash], degrees) {
  const { tp, pp } = degrees;
  const maximum = random.chance(0.2) ? random.pick(["micro_batch", "seq_len"]) : "";
  const section = {
    ...optional(random, 0.5, "framework", random.pick(FRAMEWORKS)),
    ...optional(random, 0.5, "precision", bf16 ? random.pick(["bf16", "bf16", "fp16", "fp32"]) : "fp16"),
    ...optional(random, 0.2, "master_weights", random.chance(0.5)),
    ...optional(random, 0.6, "optimizer", random.pick(OPTIMIZERS)),
    seq_len: maximum === "seq_len" ? "max" : random.pick([256, 512, 1024, 2048, 4096, 8192]),
    micro_batch: maximum === "micro_batch" ? "max" : random.pick([1, 1, 2, 4, 8]),
    ...optional(random, 0.3, "grad_accum", random.pick([1, 2, 4, 8])),
    ...optional(random, 0.6, "recompute", random.pick(["none", "selective", "full", "auto"])),
    ...optional(random, 0.4, "attention", flash ? random.pick(["flash", "sdpa", "eager"]) : "eager"),
    ...optional(random, 0.3, "loss", random.pick(["full", "chunked", "fused"])),
    ...optional(random, 0.7, "zero", random.pick([0, 1, 2, 3, "auto"])),
    ...(random.chance(0.7) ? { tp, pp } : {}),
    ...optional(random, 0.15, "offload", "optimizer"),
  };
  if (task === "qlora") Object.assign(section, optional(random, 0.5, "quant", random.pick(["nf4", "nf4-dq", "int8"])));
  if (task === "lora" || task === "qlora") {
    const lora = { rank: random.pick([8, 16, 64]), targets: random.pick(["all-linear", "q,v", "attention"]) };
    Object.assign(section, optional(random, 0.7, "lora", lora));
  }
  return section;
}

function inferSection(random, degrees) {
  const engine = random.pick(ENGINES);
  const maximum = random.chance(0.3) ? random.pick(["context", "concurrency"]) : "";
  return {
    engine,
    ...optional(random, 0.7, "weights", engine === "llama.cpp" ? "gguf:Q4_K_M" : random.pick(WEIGHTS)),
    ...optional(random, 0.5, "kv", random.pick(["auto", "bf16", "fp8", "q8_0"])),
    ...(maximum === "context" ? { context: "max" } : optional(random, 0.6, "context", random.pick([2048, 8192, 32768]))),
    ...(maximum === "concurrency" ? { concurrency: "max" } : { concurrency: random.pick([1, 4, 16, 64]) }),
    ...optional(random, 0.4, "prompt", random.pick([128, 512, 1024])),
    ...optional(random, 0.4, "output", random.pick([64, 256])),
    ...optional(random, 0.3, "memory_utilization", random.pick([0.8, 0.9, 0.95])),
    ...(random.chance(0.5) && engine !== "llama.cpp" ? degrees : {}),
  };
}

/** One job without faults. */
function validJob(random) {
  const task = random.pick(["pretrain", "full", "full", "lora", "qlora", "infer", "infer", "infer"]);
  const [model, layers, heads] = random.pick(MODELS);
  const gpu = random.pick(GPUS);
  const count = random.pick([1, 1, 1, 2, 4, 8, 8, 16, 64]);
  const degrees = pickDegrees(random, count, layers, heads);
  const ledger = random.chance(0.25) ? "textbook" : "detailed";
  const section = task === "infer"
    ? { infer: inferSection(random, degrees) }
    : { train: trainSection(random, task, gpu, degrees) };
  const splitsLayers = section.infer?.engine === "llama.cpp";
  return {
    task,
    ...(ledger === "textbook" || random.chance(0.3) ? { ledger } : {}),
    model,
    hardware: { gpu: gpu[0], count: splitsLayers ? Math.min(count, 8) : count },
    ...section,
  };
}

/** Faults, each a change of a valid job that makes it wrong. */
const FAULTS = [
  (job) => ({ ...job, modle: job.model }),
  (job) => ({ ...job, task: "finetune" }),
  (job) => ({ ...job, model: "meta-llama/Lama-3.1-8B" }),
  (job) => ({ ...job, model: { layers: 32, hidden: 4096, heads: 33 } }),
  (job) => ({ ...job, hardware: { gpu: "H1000", count: 8 } }),
  (job) => ({ ...job, hardware: { ...job.hardware, count: 0 } }),
  (job) => ({ ...job, hardware: { ...job.hardware, count: 1e9 } }),
  (job) => ({ ...job, train: { ...job.train, tp: 7, zero: 4 } }),
  (job) => ({ ...job, train: { ...job.train, seq_len: "long", micro_batch: 1.5 } }),
  (job) => ({ ...job, train: { ...job.train, seq_len: "max", micro_batch: "max" } }),
  (job) => ({ ...job, infer: { ...job.infer, weights: "int5", concurrency: -1 } }),
  (job) => ({ task: job.task }),
];

/**
 * @param {number} count
 * @param {number} seed
 * @returns {object[]} jobs without faults
 */
export function generateValidJobs(count, seed) {
  const random = createRandom(seed);
  return Array.from({ length: count }, () => validJob(random));
}

/**
 * @param {number} count
 * @param {number} seed
 * @returns {object[]} jobs, about one in eight with a fault
 */
export function generateJobs(count, seed) {
  const random = createRandom(seed);
  return Array.from({ length: count }, () => {
    const job = validJob(random);
    return random.chance(0.125) ? random.pick(FAULTS)(job) : job;
  });
}
