/** Keys that a config leaves to its class, and numbers that no model can have. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { planAll } from "../support/engine.mjs";
import { file, importFiles } from "./files.mjs";

const imported = (config) => importFiles([file("config.json", JSON.stringify(config))]);
const without = (config, ...keys) => Object.fromEntries(Object.entries(config).filter(([key]) => !keys.includes(key)));
/** Faults of an import and of a plan, whose paths differ in what stands before the key. */
const faults = (config) => {
  const [plan] = planAll([{ task: "infer", hardware: { gpu: "H100" }, model: { config } }]);
  const rows = ({ errors = [] }) => errors.map(({ code, path }) => `${code} ${path.split(/[ .]/).at(-1)}`);
  assert.deepEqual(rows(imported(config)), rows(plan));
  return rows(plan);
};

const v3 = { model_type: "deepseek_v3", vocab_size: 129280, hidden_size: 7168, intermediate_size: 18432, moe_intermediate_size: 2048, num_hidden_layers: 61,
  num_attention_heads: 128, num_key_value_heads: 128, n_shared_experts: 1, n_routed_experts: 256, num_experts_per_tok: 8, kv_lora_rank: 512, q_lora_rank: 1536,
  qk_rope_head_dim: 64, qk_nope_head_dim: 128, v_head_dim: 128, first_k_dense_replace: 3 };
const qwen3 = { model_type: "qwen3_moe", vocab_size: 151936, hidden_size: 2048, intermediate_size: 6144, moe_intermediate_size: 768, num_hidden_layers: 48, head_dim: 128,
  num_attention_heads: 32, num_key_value_heads: 4, num_experts: 128, num_experts_per_tok: 8 };
const mixtral = { model_type: "mixtral", vocab_size: 32000, hidden_size: 4096, intermediate_size: 14336, num_hidden_layers: 32, num_attention_heads: 32,
  num_key_value_heads: 8, num_local_experts: 8, num_experts_per_tok: 2 };
const gemma2 = { model_type: "gemma2", vocab_size: 256000, hidden_size: 2304, intermediate_size: 9216, num_hidden_layers: 26, num_attention_heads: 8, num_key_value_heads: 4, head_dim: 256 };
const mistral = { model_type: "mistral", vocab_size: 32000, hidden_size: 4096, intermediate_size: 14336, num_hidden_layers: 32, num_attention_heads: 32, num_key_value_heads: 8 };
const gptOss = { model_type: "gpt_oss", vocab_size: 201088, hidden_size: 2880, intermediate_size: 2880, num_hidden_layers: 24, num_attention_heads: 64, num_key_value_heads: 8, head_dim: 64,
  num_local_experts: 32, num_experts_per_tok: 4 };

/** Configs whose numbers are those of their class: nothing changes without them. */
const CLASSES = {
  "DeepSeek-V3": [671026419200, v3, ["moe_intermediate_size", "n_shared_experts", "first_k_dense_replace", "q_lora_rank", "num_key_value_heads"]],
  "Qwen3-30B-A3B": [30532122624, qwen3, ["moe_intermediate_size", "num_key_value_heads"]],
  "Mixtral-8x7B": [46702792704, mixtral, ["num_key_value_heads"]],
  "Gemma-2-2B": [2614341888, gemma2, ["num_key_value_heads"]],
  "Mistral-7B": [7241732096, mistral, ["num_key_value_heads"]],
  "gpt-oss-20b": [20914757184, gptOss, ["num_key_value_heads"]],
};
for (const [name, [params, config, keys]] of Object.entries(CLASSES)) {
  test(`${name} has ${params.toLocaleString("en")} parameters with and without what its class says`, () => {
    for (const given of [config, without(config, ...keys), ...keys.map((key) => without(config, key))]) {
      const report = imported(given);
      assert.deepEqual([report.errors, report.import?.computed_params], [[], params]);
    }
  });
}

test("null is no absence: as many KV heads as heads, queries of full rank, no shared experts", () => {
  const difference = (config, key) => imported({ ...config, [key]: null }).import.computed_params - imported(config).import.computed_params;
  assert.equal(difference(mistral, "num_key_value_heads"), 32 * 2 * 4096 * 24 * 128);
  assert.equal(difference(v3, "n_shared_experts"), -58 * 3 * 7168 * 2048);
  assert.equal(difference(v3, "q_lora_rank"), 61 * (7168 * 128 * 192 - 7168 * 1536 - 1536 - 1536 * 128 * 192));
});

test("a number that a class published with the weights alone decides has to be given", () => {
  const kimi = { ...v3, model_type: "kimi_k2", num_attention_heads: 64, n_routed_experts: 384 };
  assert.deepEqual(faults(kimi), []);
  for (const key of ["moe_intermediate_size", "n_shared_experts", "first_k_dense_replace", "q_lora_rank"]) {
    assert.deepEqual(faults(without(kimi, key)), [`incomplete_model ${key}`]);
    assert.deepEqual(faults(without({ ...v3, model_type: "glm4_moe_lite" }, key)), [`incomplete_model ${key}`]);
  }
});

test("numbers that no model can have are faults at their keys", () => {
  const gemma4 = { ...without(gemma2, "num_key_value_heads"), model_type: "gemma4_text", hidden_size_per_layer_input: 0 };
  assert.deepEqual(faults(gemma4), []);
  assert.deepEqual(faults({ ...gemma4, num_kv_shared_layers: 26 }), ["out_of_range num_kv_shared_layers"]);
  assert.deepEqual(faults({ ...gemma4, num_kv_shared_layers: 25 }), []);
  assert.deepEqual(faults({ ...v3, first_k_dense_replace: 62 }), ["out_of_range first_k_dense_replace"]);
  assert.deepEqual(faults({ ...v3, num_nextn_predict_layers: 100000 }), ["out_of_range num_nextn_predict_layers"]);
  assert.deepEqual(faults({ ...qwen3, num_local_experts: 64 }), ["inconsistent_model num_experts"]);
  assert.deepEqual(faults({ ...qwen3, num_local_experts: 128 }), []);
});

test("DeepSeek-V4 has a ratio for each layer and one more", () => {
  const v4 = (ratios) => ({ model_type: "deepseek_v4", vocab_size: 129280, hidden_size: 4096, num_hidden_layers: 4, num_attention_heads: 64, num_key_value_heads: 1, head_dim: 512,
    n_routed_experts: 256, num_experts_per_tok: 6, num_nextn_predict_layers: 1, compress_ratios: ratios });
  for (const ratios of [[0, 4, 128, 4], [0, 4, 128, 4, 0]]) assert.deepEqual(faults(v4(ratios)), []);
  for (const ratios of [[0, 4, 128], [0, 4, 128, 4, 0, 0]]) assert.deepEqual(faults(v4(ratios)), ["inconsistent_model compress_ratios"]);
});

test("a layer of Kimi-Linear has one kind of attention", () => {
  const linear = (linear_attn_config) => ({ ...v3, model_type: "kimi_linear", num_hidden_layers: 4, num_shared_experts: 1, linear_attn_config });
  const lists = { kda_layers: [1, 2, 3], full_attn_layers: [4] };
  assert.deepEqual(faults(linear(lists)), []);
  assert.deepEqual(faults(linear({ ...lists, full_attn_layers: [3, 4] })), ["inconsistent_model full_attn_layers"]);
  assert.deepEqual(faults(linear({ ...lists, kda_layers: [1, 2] })), ["inconsistent_model full_attn_layers"]);
  assert.deepEqual(faults(linear({ full_attn_layers: [4] })), ["incomplete_model kda_layers"]);
});

test("an architecture that sees or hears, without a tower to count, is told to be incomplete", () => {
  const warned = (config) => imported(config).warnings.map(({ code }) => code);
  const text = { ...mistral, model_type: "llama" };
  assert.deepEqual(warned({ ...text, architectures: ["LlavaForConditionalGeneration"] }), ["structure_incomplete"]);
  assert.deepEqual(warned({ architectures: ["LlavaForConditionalGeneration"], text_config: text }), ["structure_incomplete"]);
  assert.deepEqual(warned({ ...text, architectures: ["LlamaForCausalLM"] }), []);
  assert.deepEqual(warned({ model_type: "t5", architectures: ["T5ForConditionalGeneration"], d_model: 768, d_kv: 64, d_ff: 3072, num_heads: 12, num_layers: 12, vocab_size: 32128 }), []);
});

test("a model whose weights are beyond 2^53 bytes is told at the model", () => {
  const config = (hidden_size) => ({ model_type: "llama", hidden_size, intermediate_size: 128, num_hidden_layers: 2, num_attention_heads: 4096, vocab_size: 100 });
  const path = (hidden) => planAll([{ task: "infer", hardware: { gpu: "H100" }, model: { config: config(hidden) } }])[0].errors.map((row) => `${row.code} ${row.path}`);
  for (const hidden of [4096 * 7000, 2 ** 31]) assert.deepEqual(path(hidden), ["number_too_large model"]);
});

test("a classifier and the bare model have no head of a language model", () => {
  const llama = { model_type: "llama", vocab_size: 128256, hidden_size: 4096, intermediate_size: 14336, num_hidden_layers: 32, num_attention_heads: 32, num_key_value_heads: 8 };
  const of = (name, more) => { const { import: { computed_params }, warnings } = imported({ ...llama, architectures: [name], ...more }); return [computed_params, warnings.map(({ code }) => code)]; };
  assert.deepEqual(of("LlamaForCausalLM"), [8030261248, []]);
  for (const name of ["LlamaForSequenceClassification", "LlamaForTokenClassification", "LlamaModel"]) assert.deepEqual(of(name), [7504924672, ["head_absent"]]);
  assert.deepEqual(of("LlamaModel", { tie_word_embeddings: true }), [7504924672, []]);
  assert.deepEqual(of("GPT2LMHeadModel")[0], 8030261248);
  const [plan] = planAll([{ task: "infer", hardware: { gpu: "H100" }, model: { config: { ...llama, architectures: ["LlamaModel"] } } }]);
  assert.deepEqual(plan.warnings.filter(({ code }) => code === "head_absent").map(({ path, args }) => [path, args.value]), [["model.config.architectures", "LlamaModel"]]);
});

test("an architecture of another structure than the model_type is told", () => {
  const codes = (model_type, name) => imported({ ...mistral, model_type, architectures: [name] }).warnings.map(({ code }) => code);
  assert.deepEqual(codes("llama", "MistralForCausalLM"), ["family_differs"]);
  assert.deepEqual(codes("llama", "LlamaForCausalLM"), []);
  assert.deepEqual(imported({ ...v3, model_type: "kimi_k2", architectures: ["DeepseekV3ForCausalLM"] }).warnings, []);
});
