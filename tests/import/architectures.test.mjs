/** GGUF files of architectures that no family describes: the structure comes from the tensors, and is exact. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { planAll } from "../support/engine.mjs";
import { codes, file, importFiles, planFile } from "./files.mjs";
import { makeGguf } from "./gguf.mjs";

const HIDDEN = 64, HEAD = 16, VOCAB = 256;
const matrix = (name, ...shape) => ({ name: `${name}.weight`, shape, type: "F16" });
const vector = (name, width) => ({ name, shape: [width], type: "F32" });

const attention = (at, heads, kv) => (kv === 0 ? [] : [
  matrix(at("attn_q"), HIDDEN, heads * HEAD), matrix(at("attn_k"), HIDDEN, kv * HEAD), matrix(at("attn_v"), HIDDEN, kv * HEAD),
  matrix(at("attn_output"), heads * HEAD, HIDDEN), vector(at("attn_q.bias"), heads * HEAD)]);
const dense = (at, ffn, gated) => (ffn === 0 ? [] : [
  ...(gated ? [matrix(at("ffn_gate"), HIDDEN, ffn)] : []), matrix(at("ffn_up"), HIDDEN, ffn), matrix(at("ffn_down"), ffn, HIDDEN)]);
const experts = (at, count, ffn) => [
  { ...matrix(at("ffn_gate_inp"), HIDDEN, count), type: "F32" }, vector(at("exp_probs_b.bias"), count),
  ...["ffn_gate_exps", "ffn_up_exps"].map((name) => matrix(at(name), HIDDEN, ffn, count)), matrix(at("ffn_down_exps"), ffn, HIDDEN, count),
  ...["ffn_gate_shexp", "ffn_up_shexp"].map((name) => matrix(at(name), HIDDEN, ffn)), matrix(at("ffn_down_shexp"), ffn, HIDDEN)];

/** A file of an architecture with the given block tensors; numbers of the metadata may be lists, one for each layer. */
function decoder(architecture, blocks, metadata = {}) {
  const own = Object.fromEntries(Object.entries({ block_count: blocks.length, context_length: 4096, embedding_length: HIDDEN,
    feed_forward_length: 128, "attention.head_count": 4, "attention.head_count_kv": 2, "attention.key_length": HEAD,
    "attention.value_length": HEAD, ...metadata }).map(([key, one]) => [`${architecture}.${key}`, one]));
  const tensors = [matrix("token_embd", HIDDEN, VOCAB), matrix("output", HIDDEN, VOCAB), vector("output_norm.weight", HIDDEN),
    ...blocks.flatMap((block, i) => block((name) => `blk.${i}.${name}`))];
  return { metadata: { "general.architecture": architecture, "general.name": architecture, "general.file_type": 1, ...own }, tensors };
}

function imported(model) {
  const { header, size } = makeGguf(model);
  const report = importFiles([file(`${model.metadata["general.architecture"]}.gguf`, header, size)]);
  assert.deepEqual(report.errors, []);
  return report;
}

/** The plan of a file whose parameters are told exactly. */
function planned(model) {
  const report = imported(model);
  assert.deepEqual(report.warnings, []);
  assert.equal(report.import.computed_params, report.import.params);
  const [plan] = planAll([{ hardware: { gpu: "H100" }, task: "infer", ...report.job }]);
  assert.equal(plan.errors, undefined, JSON.stringify(plan.errors));
  return plan;
}

const plain = (at) => [vector(at("attn_norm.weight"), HIDDEN), ...attention(at, 4, 2), vector(at("ffn_norm.weight"), HIDDEN), ...dense(at, 128, true)];

/** Decoders of gguf-py/gguf/constants.py (github.com/ggml-org/llama.cpp) without a family of their own here. */
const OTHERS = ["deci", "refact", "plamo", "plamo3", "codeshell", "openelm", "bitnet", "jais", "jais2", "chameleon", "plm", "arcee",
  "afmoe", "bailingmoe", "bailingmoe2", "dots1", "exaone-moe", "hunyuan_vl", "dream", "smallthinker", "llada", "llada-moe", "grovemoe",
  "apertus", "cogvlm", "rnd1", "pangu-embedded", "mistral4", "paddleocr", "step35", "llama-embed", "maincoder", "an-architecture-of-tomorrow"];

for (const architecture of OTHERS) {
  test(`${architecture}: parameters and cache are those of the file`, () => {
    const plan = planned(decoder(architecture, [plain, plain, plain]));
    assert.equal(plan.kv.bytes_per_token, 3 * 2 * 2 * HEAD * 2);
  });
}

test("heads and widths of each layer, and layers without attention or feed-forward block", () => {
  const shapes = [[4, 2, 128], [4, 1, 96], [0, 0, 64], [2, 2, 0]];
  const lists = { feed_forward_length: { u32: shapes.map(([, , ffn]) => ffn) }, "attention.head_count": { u32: shapes.map(([heads]) => heads) },
    "attention.head_count_kv": { u32: shapes.map(([, kv]) => kv) } };
  const blocks = shapes.map(([heads, kv, ffn]) => (at) => [vector(at("attn_norm.weight"), HIDDEN), ...attention(at, heads, kv), ...dense(at, ffn, true)]);
  const plan = planned(decoder("deci", blocks, lists));
  assert.equal(plan.kv.bytes_per_token, 2 * 2 * HEAD * (2 + 1 + 2));
  assert.deepEqual(plan.model.layer_kinds.map(({ kv_heads, ffn }) => [kv_heads, ffn]), [[2, 128], [1, 96], [undefined, 64], [2, undefined]]);
});

test("a llama of unlike layers", () => {
  const lists = { feed_forward_length: { i32: [128, 64] }, "attention.head_count_kv": { i32: [4, 1] } };
  const norms = (at) => [vector(at("attn_norm.weight"), HIDDEN), vector(at("ffn_norm.weight"), HIDDEN)];
  const unbiased = (tensors) => tensors.filter(({ name }) => !name.endsWith(".bias"));
  const blocks = [[4, 128], [1, 64]].map(([kv, ffn]) => (at) => [...norms(at), ...unbiased(attention(at, 4, kv)), ...dense(at, ffn, true)]);
  assert.equal(planned(decoder("llama", blocks, lists)).kv.bytes_per_token, 2 * 2 * HEAD * (4 + 1));
});

test("a block of two matrices, without a gate", () => {
  const block = (at) => [vector(at("attn_norm.weight"), HIDDEN), vector(at("attn_norm.bias"), HIDDEN), ...attention(at, 4, 2), ...dense(at, 128, false)];
  assert.equal(planned(decoder("arcee", [block, block])).model.gated_ffn, false);
});

test("experts behind dense layers, and a prediction module behind the layers", () => {
  const sparse = (at) => [vector(at("attn_norm.weight"), HIDDEN), ...attention(at, 4, 2), ...experts(at, 8, 32)];
  const module = (at) => [...sparse(at), matrix(at("nextn.eh_proj"), 2 * HIDDEN, HIDDEN)];
  const plan = planned(decoder("bailingmoe2", [plain, sparse, sparse, module], { nextn_predict_layers: 1, expert_count: 8, expert_used_count: 2,
    expert_feed_forward_length: 32, expert_shared_count: 1 }));
  assert.deepEqual([plan.model.layers, plan.model.experts.count, plan.model.experts.topk, plan.model.experts.ffn], [3, 8, 2, 32]);
  assert.equal(plan.kv.bytes_per_token, 3 * 2 * 2 * HEAD * 2);
});

test("latent attention", () => {
  const [rank, rope, nope, value] = [32, 8, 16, 16];
  const block = (at) => [vector(at("attn_norm.weight"), HIDDEN), matrix(at("attn_q"), HIDDEN, 4 * (nope + rope)),
    matrix(at("attn_kv_a_mqa"), HIDDEN, rank + rope), vector(at("attn_kv_a_norm.weight"), rank), matrix(at("attn_kv_b"), rank, 4 * (nope + value)),
    matrix(at("attn_output"), 4 * value, HIDDEN), ...dense(at, 128, false)];
  const plan = planned(decoder("plm", [block, block], { "attention.kv_lora_rank": rank, "attention.key_length": nope + rope,
    "attention.value_length": value, "rope.dimension_count": rope }));
  assert.equal(plan.kv.bytes_per_token, 2 * 2 * (rank + rope));
});

test("windows, from a list and from the architecture", () => {
  const listed = planned(decoder("step35", [plain, plain, plain], { "attention.sliding_window": 512,
    "attention.sliding_window_pattern": { bool: [0, 1, 1] } }));
  assert.deepEqual(listed.model.layer_kinds.map(({ layers, attention: kind, window }) => [layers, kind, window]), [[1, "full", undefined], [2, "sliding", 512]]);
  const known = planned(decoder("smallthinker", Array(8).fill(plain), { "attention.sliding_window": 512 }));
  assert.deepEqual(known.model.layer_kinds.map(({ layers, attention: kind }) => [layers, kind]), [[6, "sliding"], [2, "full"]]);
});

test("an encoder has no cache", () => {
  const plan = planned(decoder("eurobert", [plain, plain], { "attention.causal": { bool: 0 } }));
  assert.equal(plan.kv.bytes_per_token, 0);
});

/** Layers that carry a state, or whose keys and values differ in width, are not guessed: the weights are exact all the same. */
const UNTOLD = {
  "rwkv7 has a state": ["rwkv7", { "wkv.head_size": 64 }, [matrix("blk.0.time_mix_key", HIDDEN, HIDDEN)]],
  "plamo2 has a state": ["plamo2", { "ssm.inner_size": 64 }, [matrix("blk.0.ssm_in", HIDDEN, 128)]],
  "keys wider than values": ["mimo2", { "attention.value_length": 8 }, []],
  "fewer blocks than stated": ["deci", { block_count: 5 }, []],
};
for (const [name, [architecture, metadata, tensors]] of Object.entries(UNTOLD)) {
  test(`not guessed: ${name}`, () => {
    const model = decoder(architecture, [plain], metadata);
    const report = imported({ ...model, tensors: [...model.tensors, ...tensors] });
    assert.deepEqual(codes({ errors: report.warnings }), metadata.block_count ? ["blocks_differ", "structure_not_read"] : ["structure_not_read"]);
    assert.equal(report.import.bytes, report.job.model.file_bytes);
  });
}

test("what a file holds is told with a warning, of which no plan can be made", () => {
  const model = decoder("rwkv7", [plain], { "wkv.head_size": 64 });
  model.tensors.push(matrix("blk.0.time_mix_key", HIDDEN, HIDDEN));
  const state = makeGguf(model), place = file("rwkv7.gguf", state.header, state.size);
  const told = importFiles([place]), answer = planFile(place);
  assert.deepEqual([told.status, codes(told), told.warnings.map(({ code }) => code)], [0, [], ["structure_not_read"]]);
  assert.deepEqual([answer.status, codes(answer)], [2, ["unsupported_architecture"]]);
});

test("lists that no layer can have are told", () => {
  const config = (extra) => ({ task: "infer", hardware: { gpu: "H100" }, model: { config: { model_type: "llama", hidden_size: 64, num_hidden_layers: 2,
    num_attention_heads: 4, intermediate_size: 128, vocab_size: 256, ...extra } } });
  const faults = planAll([config({ num_key_value_heads_per_layer: [3, 1] , num_attention_heads_per_layer: [4, 4] }), config({ intermediate_size_per_layer: [128, -1] }),
    config({ intermediate_size_per_layer: ["wide", 1] }), config({ num_attention_heads_per_layer: [2 ** 31, 4] })]).map(({ errors }) => errors.map(({ code, path }) => `${code} ${path}`).join());
  assert.deepEqual(faults, ["inconsistent_model model.config.num_key_value_heads_per_layer", "inconsistent_model model.config.intermediate_size_per_layer",
    "inconsistent_model model.config.intermediate_size_per_layer", "inconsistent_model model.config.num_attention_heads_per_layer"]);
});

/** Gemma 4 as llama.cpp converts it: one global layer of six, with wider heads, whose keys serve as values; experts beside a dense block. */
test("gemma4: wide global layers, shared keys and values, experts beside a dense block", () => {
  const [wide, count, ffn] = [32, 4, 32];
  const block = (i) => (at) => {
    const global = i % 6 === 5, head = global ? wide : HEAD, kv = global ? 1 : 2;
    return [...["attn_norm", "post_attention_norm", "ffn_norm", "post_ffw_norm", "pre_ffw_norm_2", "post_ffw_norm_1", "post_ffw_norm_2"]
      .map((name) => vector(at(`${name}.weight`), HIDDEN)), vector(at("layer_output_scale.weight"), 1),
    vector(at("attn_q_norm.weight"), head), vector(at("attn_k_norm.weight"), head), matrix(at("attn_q"), HIDDEN, 4 * head),
    matrix(at("attn_k"), HIDDEN, kv * head), ...(global ? [] : [matrix(at("attn_v"), HIDDEN, kv * head)]), matrix(at("attn_output"), 4 * head, HIDDEN),
    ...dense(at, 128, true), { ...matrix(at("ffn_gate_inp"), HIDDEN, count), type: "F32" }, vector(at("ffn_gate_inp.scale"), HIDDEN),
    vector(at("ffn_down_exps.scale"), count), matrix(at("ffn_gate_up_exps"), HIDDEN, 2 * ffn, count), matrix(at("ffn_down_exps"), ffn, HIDDEN, count)];
  };
  const layers = [0, 1, 2, 3, 4, 5];
  const model = decoder("gemma4", layers.map(block), { "attention.key_length": wide, "attention.value_length": wide, "attention.key_length_swa": HEAD,
    "attention.value_length_swa": HEAD, "attention.head_count_kv": { i32: layers.map((i) => (i === 5 ? 1 : 2)) }, "attention.sliding_window": 512,
    "attention.sliding_window_pattern": { bool: layers.map((i) => Number(i !== 5)) }, "attention.shared_kv_layers": 0, expert_count: count,
    expert_used_count: 2, expert_feed_forward_length: ffn, embedding_length_per_layer_input: 0 });
  const plan = planned({ ...model, tensors: model.tensors.filter(({ name }) => name !== "output.weight") });
  assert.equal(plan.kv.bytes_per_token, 2 * (5 * 2 * 2 * HEAD + 2 * wide));
  assert.deepEqual(plan.model.layer_kinds.map(({ layers: n, attention: kind, window }) => [n, kind, window]), [[5, "sliding", 512], [1, "full", undefined]]);
});

/** DeepSeek-V4 as llama.cpp reads it (src/models/deepseek4.cpp): the window alone, then entries of 4 and of 128 tokens. */
test("deepseek4: windows, compressed entries with and without an indexer, a table of experts, streams", () => {
  const [heads, width, queries, groups, rank, streams, count, used, ffn, indexHeads, key] = [4, 32, 16, 2, 8, 2, 4, 2, 32, 2, 16];
  const mixes = (2 + streams) * streams;
  const compressor = (at, name, size, parts, ratio) => [matrix(at(`${name}_kv`), HIDDEN, parts * size), matrix(at(`${name}_gate`), HIDDEN, parts * size),
    { ...matrix(at(`${name}_ape`), parts * size, ratio), type: "F32" }, vector(at(`${name}_norm.weight`), size)];
  const block = (ratio, hashed) => (at) => [
    ...["attn_norm", "ffn_norm"].map((name) => vector(at(`${name}.weight`), HIDDEN)), vector(at("attn_sinks.weight"), heads), matrix(at("attn_q_a"), HIDDEN, queries),
    vector(at("attn_q_a_norm.weight"), queries), matrix(at("attn_q_b"), queries, heads * width), matrix(at("attn_kv"), HIDDEN, width), vector(at("attn_kv_a_norm.weight"), width),
    matrix(at("attn_output_a"), heads * width / groups, groups * rank), matrix(at("attn_output_b"), groups * rank, HIDDEN),
    ...["attn", "ffn"].flatMap((half) => [{ ...matrix(at(`hc_${half}_fn`), streams * HIDDEN, mixes), type: "F32" }, vector(at(`hc_${half}_base.weight`), mixes), vector(at(`hc_${half}_scale.weight`), 3)]),
    ...(ratio ? compressor(at, "attn_compressor", width, ratio === 4 ? 2 : 1, ratio) : []),
    ...(ratio === 4 ? [matrix(at("indexer.proj"), HIDDEN, indexHeads), matrix(at("indexer.attn_q_b"), queries, indexHeads * key), ...compressor(at, "indexer_compressor", key, 2, 4)] : []),
    ...experts(at, count, ffn).filter(({ name }) => !(hashed && name.endsWith("exp_probs_b.bias"))),
    ...(hashed ? [{ ...matrix(at("ffn_gate_tid2eid"), used, VOCAB), type: "F32" }] : [])];
  const model = decoder("deepseek4", [block(0, true), block(4, false), block(128, false)], { feed_forward_length: ffn, "attention.head_count": heads, "attention.head_count_kv": 1,
    "attention.key_length": width, "attention.value_length": width, "attention.q_lora_rank": queries, "attention.sliding_window": 32, "rope.dimension_count": 8,
    "attention.output_group_count": groups, "attention.output_lora_rank": rank, "attention.compress_ratios": { u32: [0, 4, 128, 0] }, "attention.indexer.head_count": indexHeads,
    "attention.indexer.key_length": key, "attention.indexer.top_k": 8, "hyper_connection.count": streams, hash_layer_count: 1, expert_count: count, expert_used_count: used,
    expert_feed_forward_length: ffn, expert_shared_count: 1, nextn_predict_layers: 1 });
  model.tensors.push({ ...matrix("output_hc_fn", streams * HIDDEN, streams), type: "F32" }, vector("output_hc_base.weight", streams), vector("output_hc_scale.weight", 1));
  const report = imported(model);
  assert.deepEqual([report.warnings, report.import.computed_params], [[], report.import.params]);
  const [plan] = planAll([{ hardware: { gpu: "H100" }, task: "infer", ...report.job, infer: { ...report.job.infer, context: 4096, ubatch: 512 } }]);
  assert.deepEqual(plan.model.layer_kinds.map(({ window, compress }) => [window, compress]), [[32, undefined], [32, 4], [32, 128]]);
  const caches = plan.memory.stages[0].items.filter(({ id }) => id === "kv_cache").map(({ bytes }) => bytes);
  assert.deepEqual(caches, [3 * 768 * 2 * width, 1024 * 2 * width, 1024 * 2 * key, 256 * 2 * width]);
});
