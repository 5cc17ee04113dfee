/** config.json as families publish it: old names, parts inside parts, keys left to the class, and the many ways to say how weights are packed. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { planAll } from "../support/engine.mjs";
import { file, importFiles } from "./files.mjs";

const imported = (config) => importFiles([file("config.json", JSON.stringify(config))]);

const dims = (hidden_size, intermediate_size, num_hidden_layers, num_attention_heads, num_key_value_heads, vocab_size, more = {}) =>
  ({ hidden_size, intermediate_size, num_hidden_layers, num_attention_heads, num_key_value_heads, vocab_size, ...more });
const vicuna = { architectures: ["LlamaForCausalLM"], model_type: "llama", max_position_embeddings: 4096, vocab_size: 32064 };
const deepseek = dims(2048, 10944, 27, 16, 16, 102400, { model_type: "deepseek_v2", moe_intermediate_size: 1408, n_routed_experts: 64, n_shared_experts: 2,
  num_experts_per_tok: 6, first_k_dense_replace: 1, kv_lora_rank: 512, q_lora_rank: null, qk_nope_head_dim: 128, qk_rope_head_dim: 64, v_head_dim: 128 });

const openelm = (model_dim, query_heads, ffn_multipliers) => ({ model_type: "openelm", model_dim, num_transformer_layers: query_heads.length, head_dim: 64,
  num_query_heads: query_heads, num_kv_heads: query_heads.map((heads) => heads / 4), ffn_multipliers, ffn_dim_divisor: 256, ffn_with_glu: true, vocab_size: 32000,
  normalize_qk_projections: true, share_input_output_layers: true, max_context_length: 2048 });
/** Layers with a window are 1. */
const mimo = (hybrid_layer_pattern, more) => ({ model_type: "mimo_v2_flash", vocab_size: 152576, num_hidden_layers: hybrid_layer_pattern.length, head_dim: 192, v_head_dim: 128,
  swa_head_dim: 192, swa_v_head_dim: 128, sliding_window: 128, swa_num_key_value_heads: 8, hybrid_layer_pattern, moe_layer_freq: hybrid_layer_pattern.map((_, i) => Number(i > 0)),
  add_swa_attention_sink_bias: true, add_full_attention_sink_bias: false, intermediate_size: 16384, num_experts_per_tok: 8, moe_intermediate_size: 2048, n_shared_experts: null, ...more });
const flash = mimo(Array.from({ length: 48 }, (_, i) => Number(i > 0 && i % 6 !== 5)),
  { hidden_size: 4096, num_attention_heads: 64, num_key_value_heads: 4, swa_num_attention_heads: 64, n_routed_experts: 256 });
const pro = mimo(Array.from({ length: 70 }, (_, i) => Number(![0, 7, 15, 23, 31, 39, 47, 55, 62, 69].includes(i))),
  { model_type: "mimo_v2", hidden_size: 6144, num_attention_heads: 128, num_key_value_heads: 8, swa_num_attention_heads: 128, n_routed_experts: 384 });
const runs = (...pairs) => pairs.flatMap(([value, count]) => Array(count).fill(value));
const mistral7b = { dim: 4096, n_layers: 32, head_dim: 128, hidden_dim: 14336, n_heads: 32, n_kv_heads: 8, norm_eps: 1e-5, vocab_size: 32000 };

/** Parameters of the language model: the totals of the safetensors files where the name is that of a published model. */
const FAMILIES = {
  "ByteDance-Seed/Seed-OSS-36B-Base": [36151104512, dims(5120, 27648, 64, 80, 8, 155136, { model_type: "seed_oss", head_dim: 128, attention_bias: true, attention_out_bias: false })],
  "swiss-ai/Apertus-8B-2509": [8053338176, dims(4096, 21504, 32, 32, 8, 131072, { model_type: "apertus", qk_norm: true })],
  "rednote-hilab/dots.llm1.base": [142774381696, dims(4096, 10944, 62, 32, 32, 152064, { model_type: "dots1", head_dim: 128, moe_intermediate_size: 1408,
    n_routed_experts: 128, n_shared_experts: 2, num_experts_per_tok: 6, first_k_dense_replace: 1 })],
  "inclusionAI/Ling-lite": [16801974272, dims(2048, 5632, 28, 16, 4, 126464, { model_type: "bailing_moe", head_dim: 128, moe_intermediate_size: 1408, num_experts: 64,
    num_shared_experts: 2, num_experts_per_tok: 6, first_k_dense_replace: 0 })],
  "EleutherAI/gpt-neo-125m": [125198592, { model_type: "gpt_neo", hidden_size: 768, num_layers: 12, num_heads: 12, vocab_size: 50257, max_position_embeddings: 2048, intermediate_size: null }],
  "Salesforce/codegen-350M-mono": [356712448, { model_type: "codegen", n_embd: 1024, n_layer: 20, n_head: 16, n_positions: 2048, vocab_size: 51200 }],
  "google-t5/t5-base": [222903552, { model_type: "t5", d_model: 768, d_kv: 64, d_ff: 3072, num_heads: 12, num_layers: 12, vocab_size: 32128, tie_word_embeddings: true }],
  "LLaVA 1.5, whose text part states its vocabulary alone": [6738415616 + 2 * 64 * 4096, { model_type: "llava", text_config: vicuna }],
  "DeepSeek-VL2, in language_config": [15706484224, { model_type: "deepseek_vl_v2", language_config: deepseek }],
  "Qwen2.5-Omni, in thinker_config's text_config": [7615616512, { model_type: "qwen2_5_omni", thinker_config: { model_type: "qwen2_5_omni_thinker",
    text_config: dims(3584, 18944, 28, 28, 4, 152064, { model_type: "qwen2_5_omni_text" }) } }],
  "microsoft/bitnet-b1.58-2B-4T-bf16": [2412820480, dims(2560, 6912, 30, 20, 5, 128256, { model_type: "bitnet", tie_word_embeddings: true })],
  "tiiuae/falcon-7b, as first published": [6921720704, { model_type: "RefinedWebModel", hidden_size: 4544, n_layer: 32, n_head: 71, vocab_size: 65024, multi_query: true,
    parallel_attn: true, bias: false, alibi: false }],
  "tiiuae/falcon-40b, as first published": [41303293952, { model_type: "RefinedWeb", hidden_size: 8192, n_layer: 60, n_head: 128, n_head_kv: 8, vocab_size: 65024,
    parallel_attn: true, bias: false, alibi: false }],
  "apple/OpenELM-270M": [271527168, openelm(1280, runs([12, 5], [16, 7], [20, 4]),
    [0.5, 0.73, 0.97, 1.2, 1.43, 1.67, 1.9, 2.13, 2.37, 2.6, 2.83, 3.07, 3.3, 3.53, 3.77, 4])],
  "apple/OpenELM-1_1B": [1079891456, openelm(2048, runs([16, 3], [20, 7], [24, 8], [28, 6], [32, 4]), [0.5, 0.63, 0.76, 0.89, 1.02, 1.15, 1.28, 1.41, 1.54, 1.67,
    1.8, 1.93, 2.06, 2.19, 2.31, 2.44, 2.57, 2.7, 2.83, 2.96, 3.09, 3.22, 3.35, 3.48, 3.61, 3.74, 3.87, 4])],
  "mistralai/Mistral-7B-v0.1, params.json": [7241732096, mistral7b],
  "mistralai/Mixtral-8x7B-v0.1, params.json": [46702792704, { ...mistral7b, moe: { num_experts_per_tok: 2, num_experts: 8 } }],
  "meta-llama/Meta-Llama-3-8B, params.json": [8030261248, { dim: 4096, n_layers: 32, n_heads: 32, n_kv_heads: 8, vocab_size: 128256, multiple_of: 1024,
    ffn_dim_multiplier: 1.3, norm_eps: 1e-5, rope_theta: 5e5 }],
  "XiaomiMiMo/MiMo-V2-Flash, of 309 B": [308778780864, flash],
  "XiaomiMiMo/MiMo-V2.6-Pro, of 1.02 T": [1021248126336, pro],
  "Ministral 3, alone": [3429006336, dims(3072, 9216, 26, 32, 8, 131072, { model_type: "ministral3", head_dim: 128, tie_word_embeddings: true })],
};
for (const [name, [params, config]] of Object.entries(FAMILIES)) {
  test(`${name} has ${params.toLocaleString("en")} parameters`, () => {
    const report = imported(config);
    assert.deepEqual([report.errors, report.warnings], [[], []]);
    assert.equal(report.import.computed_params, params);
  });
}

/** Layers of a search: one as usual, one without attention, one with a matrix in place of the feed-forward block. */
test("Nemotron of the Puzzle search", () => {
  const attention = (n) => ({ n_heads_in_group: n, no_op: n === null, replace_with_linear: false });
  const ffn = (m) => ({ ffn_mult: m, no_op: false, replace_with_linear: m === null });
  const [hidden, vocab] = [1024, 1000];
  const report = imported({ model_type: "nemotron-nas", hidden_size: hidden, intermediate_size: null, num_hidden_layers: 3, num_attention_heads: 8, num_key_value_heads: null,
    vocab_size: vocab, block_configs: [{ attention: attention(4), ffn: ffn(5.25) }, { attention: attention(null), ffn: ffn(1.3) }, { attention: attention(8), ffn: ffn(null) }] });
  const queries = 2 * hidden * hidden, width = [3584, 1024];
  const layers = [queries + 2 * hidden * 256 + 3 * hidden * width[0] + 2 * hidden, 3 * hidden * width[1] + hidden, queries + 2 * hidden * 128 + hidden * hidden + 2 * hidden];
  assert.equal(report.import.computed_params, layers.reduce((a, b) => a + b) + 2 * vocab * hidden + hidden);
  assert.deepEqual(imported({ model_type: "nemotron-nas", ...dims(64, null, 3, 8, null, 100), block_configs: [] }).errors.map(({ code, path }) => `${code} ${path}`),
    ["unsupported_architecture config.json: block_configs"]);
});

/** arXiv:2601.02780: 15 B active, prediction blocks of 0.33 B each; keys of 192 and values of 128 are cached. */
test("MiMo-V2: values narrower than keys, KV heads of layers with a window", () => {
  const report = imported(flash);
  assert.deepEqual([report.import.prediction_params, Math.round(report.import.prediction_params / 3e7)], [987820224, 33]);
  const [plan] = planAll([{ ...report.job, task: "infer", hardware: { gpu: "H200", count: 8 }, infer: { tp: 4, context: 8192 } }]);
  assert.equal(Math.round(plan.params.active / 1e9), 15);
  assert.equal(plan.kv.bytes_per_token, 2 * (9 * 4 + 39 * 8) * (192 + 128));
  const cache = plan.memory.stages[0].items.filter(({ id }) => id === "kv_cache").map((item) => [item.formula_id, item.bytes]);
  assert.deepEqual(cache, [["kv_cache.unlike", 9 * 1 * 320 * 8192 * 2], ["kv_cache.unlike_window", 39 * 2 * 320 * 128 * 2]]);
  assert.deepEqual(imported({ ...flash, hybrid_layer_pattern: [0, 1] }).errors.map(({ code, path }) => `${code} ${path}`), ["inconsistent_model config.json: hybrid_layer_pattern"]);
  assert.deepEqual(imported({ ...flash, v_head_dim: 0 }).errors.map(({ code, path }) => `${code} ${path}`), ["out_of_range config.json: v_head_dim"]);
  const named = { ...flash, hybrid_layer_pattern: undefined, layer_types: flash.hybrid_layer_pattern.map((near) => (near ? "sliding_attention" : "full_attention")) };
  assert.equal(imported(named).import.computed_params, 308778780864);
});

test("params.json names its own keys when they are wrong, and says what it does not know", () => {
  const faults = (more) => imported({ ...mistral7b, ...more }).errors.map(({ code, path }) => `${code} ${path}`);
  assert.deepEqual(faults({ dim: 0 }), ["out_of_range config.json: dim"]);
  assert.deepEqual(faults({ n_kv_heads: "8", vocab_size: -1 }), ["wrong_type config.json: n_kv_heads", "out_of_range config.json: vocab_size"]);
  assert.deepEqual(faults({ hidden_dim: null }), ["incomplete_model config.json: hidden_dim"]);
  assert.deepEqual(faults({ moe: { num_experts: 8, num_experts_per_tok: 9 } }), ["out_of_range config.json: moe.num_experts_per_tok"]);
  assert.deepEqual(faults({ moe: 5 }).slice(0, 1), ["wrong_type config.json: moe"]);
  assert.deepEqual(faults({ kv_lora_rank: 512 }), ["unsupported_architecture config.json: kv_lora_rank"]);
  assert.equal(imported({ ...mistral7b, quantization: { qformat_weight: "fp8_e4m3", qscheme_act: "TENSOR" } }).import.format, "fp8");
});

test("OpenELM's lists have a number for each layer", () => {
  const small = openelm(256, [4, 4], [1, 2]);
  const faults = (more) => imported({ ...small, ...more }).errors.map(({ code, path }) => `${code} ${path}`);
  assert.deepEqual(faults({}), []);
  assert.deepEqual(faults({ num_query_heads: [4] }), ["inconsistent_model config.json: num_query_heads"]);
  assert.deepEqual(faults({ num_kv_heads: [1, 0] }), ["out_of_range config.json: num_kv_heads"]);
  assert.deepEqual(faults({ num_kv_heads: [1, 3] }), ["inconsistent_model config.json: num_kv_heads"]);
  for (const ffn_multipliers of [[1], [1, 2, 3], [1, "2"], [1, 1e30], 4]) assert.equal(faults({ ffn_multipliers }).length, 1, JSON.stringify(ffn_multipliers));
  assert.deepEqual(faults({ model_dim: -1 }).slice(0, 1), ["out_of_range config.json: model_dim"]);
});

test("KV heads of each layer, as DeciLM states them", () => {
  const heads = [4, 4, 2, 1];
  const report = imported(dims(4096, 14336, 4, 32, null, 32000, { model_type: "deci", num_key_value_heads_per_layer: heads }));
  const layer = 2 * 4096 * 4096 + 3 * 4096 * 14336 + 2 * 4096, head = 2 * 4096 * 128;
  assert.equal(report.import.computed_params, 4 * layer + head * heads.reduce((x, y) => x + y) + 2 * 32000 * 4096 + 4096);
});

test("a config on its own leaves no dimension to its class", () => {
  const report = imported({ ...vicuna });
  assert.deepEqual(report.errors.map(({ code, args }) => `${code} ${args.what}`), ["num_hidden_layers", "hidden_size", "num_attention_heads", "intermediate_size"].map((key) => `incomplete_model ${key}`));
  const nameless = imported({ hidden_size: 64, num_hidden_layers: 2 });
  assert.deepEqual(nameless.errors.map(({ code, path }) => [code, path]), [["incomplete_model", "config.json: model_type"]]);
});

const llama = dims(256, 512, 2, 4, 2, 1000, { model_type: "llama" });
const weights = (given, more) => ({ quantization_config: { quant_method: "compressed-tensors", config_groups: { group_0: { weights: given } }, ...more } });
/** What quantization_config says, and the format it is: configurations as published with packed weights. */
const FORMATS = [
  ["gptq4", { quantization_config: { quant_method: "gptq", bits: 4, group_size: 128, desc_act: true } }],
  ["mxfp4-fp8", { expert_dtype: "fp4", quantization_config: { quant_method: "fp8", fmt: "e4m3", scale_fmt: "ue8m0", activation_scheme: "dynamic", weight_block_size: [128, 128] } }],
  ["gptq8-channel", { quantization_config: { quant_method: "gptq", bits: 8, group_size: -1 } }],
  ["gptq4", { quantization_config: { quant_method: "auto-round", bits: 4, group_size: 128, packing_format: "auto_round:auto_gptq" } }],
  ["awq", { quantization_config: { quant_method: "awq", bits: 4, group_size: 128, version: "gemm", zero_point: true } }],
  ["nf4-dq", { quantization_config: { quant_method: "bitsandbytes", load_in_4bit: true, bnb_4bit_use_double_quant: true } }],
  ["int8", { quantization_config: { quant_method: "bitsandbytes", load_in_8bit: true } }],
  ["fp8-block", { quantization_config: { quant_method: "fp8", fmt: "e4m3", weight_block_size: [128, 128] } }],
  ["fp8", { quantization_config: { quant_method: "fbgemm_fp8" } }],
  ["fp8", weights({ num_bits: 8, type: "float", strategy: "channel" })],
  ["w4a16", weights({ num_bits: 4, type: "int", group_size: 128 }, { format: "pack-quantized" })],
  ["nvfp4", weights({ num_bits: 4, type: "float", group_size: 16 }, { format: "nvfp4-pack-quantized" })],
  ["nvfp4", { quantization_config: { quant_method: "modelopt", quant_algo: "NVFP4" } }],
  ["nvfp4", { quantization_config: { producer: { name: "modelopt" }, quantization: { quant_algo: "NVFP4", group_size: 16 } } }],
  ["int4-g64", { quantization_config: { quant_method: "hqq", quant_config: { weight_quant_params: { nbits: 4, group_size: 64 } } } }],
  ["exl2:4.25", { quantization_config: { quant_method: "exl2", bits: 4.25 } }],
  ["mlx:q4-g64", { quantization: { group_size: 64, bits: 4 } }],
  ["w4a16", { quantization_config: { quant_method: "torchao", quant_type: "int4_weight_only", quant_type_kwargs: { group_size: 128 } } }],
  ["w4a16", { quantization_config: { quant_method: "torchao", quant_type: { default: { _type: "Int4WeightOnlyConfig", _data: { group_size: 128 } } } } }],
  ["fp8", { quantization_config: { quant_method: "torchao", quant_type: "float8dq" } }],
  ["int8", { quantization_config: { quant_method: "eetq", weights: "int8" } }],
  ["w4a16", { quantization_config: { quant_method: "quanto", weights: "int4" } }],
  ["fp8", { quantization_config: { quant_method: "quark", global_quant_config: { weight: { dtype: "fp8_e4m3" } } } }],
  ["mxfp4", { quantization_config: { quant_method: "fp_quant", forward_dtype: "mxfp4" } }],
  ["mxfp4", { quantization_config: { quant_method: "mxfp4" } }],
  ["int8", weights({ strategy: "channel" })], ["nvfp4", { quantization_config: { quant_method: "compressed-tensors", config_groups: {
    group_0: { targets: ["kv_cache"], weights: null }, FP4: { targets: ["Linear"], weights: { num_bits: 4, type: "float", group_size: 16 } } } } }],
  ["gptq3", { quantization_config: { quant_method: "gptq", bits: 3, group_size: 128 } }], ["exl3:3.5", { quantization_config: { quant_method: "exl3", bits: 3.5 } }],
  ["nf4", { quantization_config: { load_in_4bit: true } }],
  ["bf16", { quantization_config: null }],
  ["awq4-g256", { quantization_config: { quant_method: "awq", bits: 4, group_size: 256 } }], ["fp8-b1x32", { quantization_config: { quant_method: "fp8", weight_block_size: [1, 32] } }],
  ["int8-g64", { quantization_config: { quant_method: "hqq", quant_config: { weight_quant_params: { nbits: 8 } } } }],
  ["awq", weights({ num_bits: 4, type: "int", group_size: 128, symmetric: false })], ["w4a16-channel", weights({ num_bits: 4, type: "int", strategy: "channel" })],
  ["mlx:mxfp4", { quantization: { group_size: 32, bits: 4, mode: "mxfp4" } }],
  ["mlx:q8-g64", { quantization: { group_size: 64, bits: 8 }, quantization_config: { group_size: 64, bits: 8 } }],
  ["fp16", { dtype: "float16" }], ["bf16", { torch_dtype: "torch.bfloat16" }],
];
for (const [format, more] of FORMATS) {
  test(`${JSON.stringify(more)} is ${format}`, () => {
    const report = imported({ ...llama, ...more });
    assert.deepEqual([report.errors, report.warnings, report.import.format], [[], [], format]);
  });
}

const BITS = { "gptq 4 32": 4 + 20 / 32, "gptq 4 64": 4 + 20 / 64, "gptq 4 128": 4 + 20 / 128, "gptq 4 1024": 4 + 20 / 1024, "gptq 8 32": 8 + 24 / 32, "gptq 4 -1": 4,
  "gptq 3 128": 3 + 19 / 128, "gptq 2 64": 2 + 18 / 64, "awq 4 32": 4 + 20 / 32 };
for (const [settings, bits] of Object.entries(BITS)) {
  test(`${settings}: ${bits} bits a weight`, () => {
    const [quant_method, width, group] = settings.split(" "), quantization_config = { quant_method, bits: Number(width), group_size: Number(group) };
    const { job } = imported({ ...llama, quantization_config });
    const [plan] = planAll([{ ...job, task: "infer", hardware: { gpu: "H100" } }]);
    assert.equal(plan.memory.stages[0].items.find(({ id }) => id === "weights").terms.linear_bits, bits);
  });
}

const numbered = (num_bits, more) => ({ targets: ["Linear"], weights: { num_bits, type: "int", group_size: 128 }, ...more });
const MIXED = [
  ["quantization_config.config_groups", "w4a16", { quantization_config: { quant_method: "compressed-tensors", config_groups: { a: numbered(4), b: numbered(8) } } }],
  ["quantization_config.load_in_8bit", "nf4", { quantization_config: { quant_method: "bitsandbytes", load_in_4bit: true, load_in_8bit: true } }],
  ["quantization", "gptq4", { quantization_config: { quant_method: "gptq", bits: 4, group_size: 128 }, quantization: { bits: 8, group_size: 64 } }],
];
for (const [what, taken, more] of MIXED) {
  test(`two formats: ${what} says which is taken`, () => {
    const report = imported({ ...llama, ...more });
    assert.deepEqual(report.warnings.map(({ code, path, args }) => [code, path, args.value]), [["formats_mixed", `config.json: ${what}`, taken]]);
    assert.equal(report.import.format, taken);
  });
}
const moe = dims(64, 128, 2, 4, 2, 1000, { model_type: "qwen3_moe", head_dim: 16, num_experts: 4, num_experts_per_tok: 2, moe_intermediate_size: 32, decoder_sparse_step: 1, mlp_only_layers: [] });
const attention = "re:.*self_attn.*", dense = "re:.*mlp\\.(gate|up|gate_up|down)_proj.*", shared = "re:.*shared_experts.*";
const packs = (list, targets = ["Linear"]) => ({ quantization_config: { quant_method: "compressed-tensors", format: "pack-quantized", ignore: list,
  config_groups: { a: { targets, weights: { num_bits: 4, type: "int", group_size: 32, symmetric: true } } } } });
const each = (names) => [0, 1].flatMap((layer) => names.map((name) => `model.layers.${layer}.self_attn.${name}`));
/** What is packed where some modules are not, and the first name in the list that this depends on where formats cannot tell. */
const SKIPS = [
  ["head and router alone", moe, packs(["lm_head", "re:.*mlp.gate$"]), "w4a16-g32"],
  ["attention", moe, packs(["lm_head", attention]), "int4-experts"],
  ["attention by its layers", moe, packs(["lm_head", ...each(["q_proj", "k_proj", "v_proj", "o_proj"])]), "int4-experts"],
  ["experts as targets", moe, packs([], ["re:.*mlp.experts.*"]), "int4-experts"],
  ["half of the attention", moe, packs(each(["k_proj", "o_proj"])), "w4a16-g32", "model.layers.0.self_attn.k_proj"],
  ["attention of one layer", moe, packs(["model.layers.0.self_attn"]), "w4a16-g32", "model.layers.0.self_attn"],
  ["several names in a pattern", moe, packs(["re:.*(lm_head|mlp).*"]), "w4a16-g32", "re:.*(lm_head|mlp).*"],
  ["all but the routed experts", deepseek, packs(["lm_head", attention, shared, dense]), "int4-experts"],
  ["all but the routed and shared experts", deepseek, packs([attention, dense]), "w4a16-g32", attention],
  ["experts too", deepseek, packs([attention, shared, dense, "re:.*experts.0.*"]), "w4a16-g32", attention],
  ["attention of a dense model", llama, packs([attention]), "w4a16-g32", attention],
  ["one matrix as target", llama, packs([], ["re:.*down_proj"]), "w4a16-g32", "re:.*down_proj"],
];
for (const [what, model, more, format, warned] of SKIPS) {
  test(`not packed: ${what}`, () => {
    const report = imported({ ...model, ...more });
    assert.deepEqual(report.errors, []);
    assert.deepEqual(report.warnings.map(({ code, args }) => [code, args.value]), warned === undefined ? [] : [["modules_unpacked", warned]]);
    assert.equal(report.import.format, format);
  });
}
for (const key of ["modules_to_not_convert", "exclude_modules", "llm_int8_skip_modules"]) {
  test(`${key} is read`, () => {
    const report = imported({ ...llama, quantization_config: { quant_method: "bitsandbytes", load_in_4bit: true, [key]: ["lm_head", "mlp"] } });
    assert.deepEqual(report.warnings.map(({ code, path, args }) => [code, path, args]), [["modules_unpacked", `config.json: quantization_config.${key}`, { what: key, value: "mlp" }]]);
  });
}
test("experts alone: 4.5 bits for them, 16 for all else", () => {
  const report = imported({ ...moe, ...packs([attention]) }), [plan] = planAll([{ ...report.job, task: "infer", hardware: { gpu: "H100" } }]);
  const experts = 2 * 4 * 3 * 64 * 32, bytes = experts * 4.5 / 8 + (report.import.computed_params - experts) * 2;
  assert.equal(plan.memory.stages[0].items.find(({ id }) => id === "weights").bytes, bytes);
});
test("layers with settings of their own are told", () => {
  const report = imported({ ...llama, quantization: { group_size: 64, bits: 4, "model.layers.0.mlp.down_proj": { group_size: 64, bits: 8 } } });
  assert.deepEqual(report.warnings.map(({ code, args }) => [code, args.value]), [["formats_mixed", "mlx:q4-g64"]]);
});
for (const [key, settings] of [["head_bits", { quant_method: "exl2", bits: 4.25, head_bits: 6 }], ["lm_head", { quant_method: "gptq", bits: 4, group_size: 128, lm_head: true }]]) {
  test(`a packed output matrix is told: ${key}`, () => {
    const { warnings } = imported({ ...llama, quantization_config: settings });
    assert.deepEqual(warnings.map(({ code, path }) => [code, path]), [["head_unpacked", `config.json: quantization_config.${key}`]]);
  });
}
test("weights of 32 bits are counted so, and what vLLM makes of them is told", () => {
  const report = imported({ ...llama, torch_dtype: "float32" });
  assert.deepEqual([report.warnings.map(({ code, args }) => [code, args]), report.job.infer.weights], [[["loaded_in_half", { value: "fp16" }]], "fp32"]);
});
test("bits alone are of no method that is named", () => {
  const report = imported({ ...llama, quantization_config: { bits: 4 } });
  assert.deepEqual(report.warnings.map(({ code, args }) => [code, args.value]), [["format_not_told", "mlx:q4-g64"]]);
});

test("a format without a name here is told, and labels the weights", () => {
  const report = imported({ ...llama, quantization_config: { quant_method: "vptq" } });
  assert.deepEqual([report.warnings.map(({ code }) => code), report.import.format], [["format_not_named"], "vptq"]);
});
