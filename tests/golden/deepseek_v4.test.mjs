/** DeepSeek-V4: what its publisher and engines say of it, element for element and byte for byte. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { answerTexts, planAll } from "../support/engine.mjs";

const MIB = 2 ** 20, GIB = 2 ** 30;
const plan = (model, infer, hardware = { gpu: "B200", count: 1 }) => planAll([{ task: "infer", model, hardware, infer }])[0];
const report = (name, infer = {}) => plan(`deepseek-ai/DeepSeek-V4-${name}`, { context: 4096, ...infer });
const itemsOf = ({ memory }, id) => memory.stages[0].items.filter((item) => item.id === id);
const bytesOf = (rows) => rows.reduce((sum, { bytes }) => sum + bytes, 0);

/** Elements by type: metadata of the safetensors files (github.com/huggingface/huggingface.js
 * packages/hub/src/lib/parse-safetensors-metadata.spec.ts has those of Pro). */
const PRO = { BF16: 2_816_899_328, I64: 2_327_040, F32: 87_776_414, F8_E4M3: 23_169_335_296, F4: 1_572_763_336_704, F8_E8M0: 49_150_268_416 };

test("parameters are those of the published files, prediction modules and tables of experts among them", () => {
  assert.equal(report("Flash").params.total, 290_944_616_402);
  assert.equal(report("Pro").params.total, 1_598_839_674_782);
  assert.equal(PRO.BF16 + PRO.I64 + PRO.F32 + PRO.F8_E4M3 + PRO.F4, 1_598_839_674_782);
});

test("without the module they are the 284.33 B that llama.cpp prints, and 13 B and 49 B are active beside the token table", () => {
  const [flash, pro] = [report("Flash").params, report("Pro").params];
  assert.equal(((flash.total - flash.prediction) / 1e9).toFixed(2), "284.33"); // github.com/ggml-org/llama.cpp/issues/27680
  assert.equal(Math.round((flash.active - 129280 * 4096) / 1e9), 13);
  assert.equal(Math.round((pro.active - 129280 * 7168) / 1e9), 49);
});

test("experts in 4 bits, other matrices in 8: parameters of each as in the files", () => {
  const [hidden, heads, width, queries, groups, rank, ffn, experts] = [7168, 128, 512, 1536, 16, 1024, 3072, 384];
  const [{ terms }] = itemsOf(report("Pro"), "weights");
  const attention = hidden * queries + queries * heads * width + hidden * width + (heads * width / groups) * groups * rank + groups * rank * hidden;
  assert.equal(terms.expert_params + 3 * hidden * ffn * experts, PRO.F4);
  assert.equal(terms.linear_params + attention + 3 * hidden * ffn + 2 * hidden * hidden, PRO.F8_E4M3);
  // The module's other parameters: router and bias, norms, sinks, two mixers of 4 streams and their end.
  const mixes = 6 * 4, module = hidden * experts + experts + 5 * hidden + queries + width + heads + 2 * (4 * hidden * mixes + mixes + 3) + 4 * 4 * hidden + 5;
  assert.equal(terms.other_params + module, PRO.BF16 + PRO.F32 + PRO.I64);
});

test("their bytes are those of the files to a thousandth", () => {
  const { params, memory } = report("Pro");
  const files = PRO.BF16 * 2 + PRO.I64 * 8 + PRO.F32 * 4 + PRO.F8_E4M3 + PRO.F4 / 2 + PRO.F8_E8M0;
  const own = bytesOf(itemsOf({ memory }, "weights"));
  assert.ok(Math.abs(own / (params.total - params.prediction) / (files / params.total) - 1) < 1e-3);
});

test("layers: the window alone, one entry for 4 tokens with an indexer, one for 128", () => {
  const kinds = (name) => report(name).model.layer_kinds.map(({ layers, attention, window, compress, cache_elements_per_token: cached }) => [layers, attention, window, compress, cached]);
  assert.deepEqual(kinds("Flash"), [[2, "compressed", 128, undefined, 512], [1, "compressed", 128, 4, 160], [20, "compressed", 128, 128, 4], [20, "compressed", 128, 4, 160]]);
  assert.deepEqual(kinds("Pro"), [[2, "compressed", 128, 128, 4], [1, "compressed", 128, 4, 160], [29, "compressed", 128, 128, 4], [29, "compressed", 128, 4, 160]]);
});

test("a sequence of 1,048,576 tokens takes the 9.62 GiB that vLLM states for Pro with every key in bf16", () => {
  const caches = itemsOf(report("Pro", { context: 2 ** 20, concurrency: 1, kv: "bf16", engine: "vllm" }), "kv_cache");
  const [index] = caches.filter(({ terms }) => "index" in terms);
  const wide = bytesOf(caches) - index.bytes + index.bytes / 132 * 256;
  assert.equal((wide / GIB).toFixed(2), "9.62"); // vllm.ai/blog/deepseek-v4
  assert.deepEqual(caches.map(({ terms }) => [terms.layers, terms.stride ?? terms.window]), [[61, 128], [31, 128], [30, 4], [30, 4]]);
});

test("a token in 8 bits is 584 bytes in a window or an entry, as SGLang stores it, and an index key 132", () => {
  const { kv, memory } = report("Flash", { context: 2 ** 20, kv: "fp8" });
  assert.deepEqual(itemsOf({ memory }, "kv_cache").map(({ terms }) => terms.entry_bytes ?? terms.index + 4), [584, 584, 132, 584]);
  assert.equal(kv.bytes_per_token, Math.ceil(21 * (584 + 132) / 4 + 20 * 584 / 128));
});

/** github.com/ikawrakow/ik_llama.cpp pull request 2266: DeepSeek-V4-Flash, micro-batches of 512, cache in q8_0, index keys
 * in f16; MiB of the window's cells, and of entries, index keys and compressor states together. */
const LLAMA_CPP = [[32, 17.13, 145.55], [128, 17.13, 547.27], [768, 17.13, 3225.39]];
for (const [thousands, window, compressed] of LLAMA_CPP) {
  test(`llama.cpp at ${thousands}K tokens: ${window} MiB for windows, ${compressed} MiB compressed`, () => {
    const infer = (kv) => ({ engine: "llama.cpp", weights: "gguf:Q4_K_M", context: thousands * 1024, concurrency: 1, ubatch: 512, kv });
    const [narrow, wide] = ["q8_0", "f16"].map((kv) => report("Flash", infer(kv)));
    const [windows, entries, , heavy] = itemsOf(narrow, "kv_cache"), [, , index] = itemsOf(wide, "kv_cache");
    assert.equal((windows.bytes / MIB).toFixed(2), window.toFixed(2));
    const all = entries.bytes + heavy.bytes + index.bytes + bytesOf(itemsOf(narrow, "recurrent_state"));
    assert.equal((all / MIB).toFixed(2), compressed.toFixed(2));
  });
}

test("sequences under llama.cpp have caches of their own, even of one stream: as long as the whole context", () => {
  const caches = (unified) => itemsOf(report("Flash", { engine: "llama.cpp", weights: "gguf:Q4_K_M", context: 65536, sequences: 2, ubatch: 512, kv_unified: unified }), "kv_cache")
    .map(({ bytes }) => bytes);
  const [apart, unified] = [caches(false), caches(true)];
  assert.deepEqual(unified, [apart[0], ...apart.slice(1).map((bytes) => 2 * bytes)]);
});

test("what is estimated is said", () => {
  assert.deepEqual(report("Flash").warnings.filter(({ code }) => code === "not_measured").map(({ args }) => args.value), ["deepseek_v4"]);
});

const SMALL = { model_type: "deepseek_v4", hidden_size: 256, num_hidden_layers: 3, num_attention_heads: 8, num_key_value_heads: 1, head_dim: 64, vocab_size: 1000,
  moe_intermediate_size: 128, n_routed_experts: 8, n_shared_experts: 1, num_experts_per_tok: 2, q_lora_rank: 64, o_lora_rank: 32, o_groups: 2, qk_rope_head_dim: 16,
  index_n_heads: 4, index_head_dim: 32, index_topk: 16, sliding_window: 32, num_hash_layers: 1, hc_mult: 2, num_nextn_predict_layers: 0, max_position_embeddings: 4096 };
const small = (changes) => plan({ config: { ...SMALL, compress_ratios: [0, 4, 128], ...changes } }, { context: 4096 });

test("layers named as transformers names them are the same", () => {
  const names = { compress_ratios: undefined, num_hash_layers: undefined, layer_types: ["sliding_attention", "compressed_sparse_attention", "heavily_compressed_attention"],
    mlp_layer_types: ["hash_moe", "moe", "moe"] };
  const [given, named] = [small({}), small(names)];
  assert.deepEqual(named.params, given.params);
  assert.deepEqual(named.model.layer_kinds, given.model.layer_kinds);
});

test("a module's layer may be like a layer of the model", () => {
  const without = small({}), own = small({ num_nextn_predict_layers: 1 }), like = small({ num_nextn_predict_layers: 1, num_hash_layers: 0 });
  assert.deepEqual(own.model.layer_kinds, without.model.layer_kinds);
  assert.equal(own.params.prediction, like.params.prediction);
  assert.equal(own.params.total, without.params.total);
});

/** @type {Record<string, [object, string, string]>} */
const FAULTS = {
  "a ratio of 16": [{ compress_ratios: [0, 16, 128] }, "unsupported_architecture", "compress_ratios"],
  "no ratios": [{ compress_ratios: undefined }, "incomplete_model", "compress_ratios"],
  "fewer ratios than layers": [{ compress_ratios: [0, 4] }, "inconsistent_model", "compress_ratios"],
  "groups that share heads": [{ o_groups: 3 }, "inconsistent_model", "o_groups"],
  "a thousand streams": [{ hc_mult: 1000 }, "out_of_range", "hc_mult"],
  "two KV heads": [{ num_key_value_heads: 2 }, "out_of_range", "num_key_value_heads"],
  "a negative rank": [{ o_lora_rank: -1 }, "out_of_range", "o_lora_rank"],
};
for (const [name, [changes, code, key]] of Object.entries(FAULTS)) {
  test(`refused: ${name}`, () => {
    const job = { task: "infer", hardware: { gpu: "H100" }, model: { config: { ...SMALL, compress_ratios: [0, 4, 128], ...changes } } };
    const { errors } = JSON.parse(answerTexts([JSON.stringify({ op: "plan", job })])[0]);
    assert.deepEqual(errors.map((row) => [row.code, row.path]), [[code, `model.config.${key}`]]);
  });
}
