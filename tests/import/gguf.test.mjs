/** GGUF files: exact sums from the header alone, and one clear error for each way a file can be wrong. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { codes, file, importBounded, importFiles, planFile } from "./files.mjs";
import { TYPES, llama, makeGguf, string, u32, u64, value } from "./gguf.mjs";
import { planAll } from "../support/engine.mjs";

const whole = (name, model) => { const made = makeGguf(model); return { ...made, place: file(name, made.header, made.size) }; };

test("parameters, bytes and structure are those of the header", () => {
  const model = llama({ layers: 3 });
  const { place, bytes } = whole("small.gguf", model);
  const report = importFiles([place]);
  const params = model.tensors.reduce((sum, { shape }) => sum + shape.reduce((a, b) => a * b, 1), 0);
  assert.deepEqual([report.errors, report.warnings, report.status], [[], [], 0]);
  assert.equal(report.import.params, params);
  assert.equal(report.import.computed_params, params);
  assert.equal(report.import.bytes, bytes);
  assert.equal(report.import.types.reduce((sum, row) => sum + row.bytes, 0), bytes);
  assert.equal(report.import.groups.reduce((sum, row) => sum + row.bytes, 0), bytes);
  assert.equal(report.job.infer.weights, "gguf:Q4_K_M");
});

test("the plan's weights are the file's bytes, whatever its mix", () => {
  for (const [name, options] of [["q4", {}], ["tied", { tied: true }], ["half", { type: "F16" }], ["odd", { extra: { "general.file_type": 99 } }]]) {
    const { place, bytes } = whole(`${name}.gguf`, llama(options));
    const { job } = importFiles([place]);
    const [report] = planAll([{ task: "infer", hardware: { gpu: "H100" }, ...job }]);
    assert.equal(report.errors, undefined, name);
    const weights = report.memory.stages[0].items.filter(({ id }) => id === "weights");
    assert.equal(weights.reduce((sum, item) => sum + item.bytes, 0), bytes, name);
  }
});

test("under llama.cpp the file's token table stays in host memory, and layers go to devices by their share", () => {
  const model = llama({ layers: 4, hidden: 1024, heads: 8, kvHeads: 2, ffn: 4096, vocab: 32000 });
  model.tensors[0].type = "Q8_0"; // not what the mix would give it
  const { place, bytes } = whole("table.gguf", model);
  const { job } = importFiles([place]);
  const table = 32000 * 1024 / 32 * 34;
  const sum = (stages, there) => stages.flatMap(({ items }) => items).filter(({ id, phases }) => id === "weights" && (phases.length > 0) === there)
    .reduce((total, item) => total + item.bytes, 0);
  const [one, half, two] = planAll([{ ...job, infer: job.infer }, { ...job, infer: { ...job.infer, gpu_layers: 2 } },
    { ...job, hardware: { gpu: "RTX 4090", count: 2 }, infer: { ...job.infer, pp: 2 } }].map((each) => ({ task: "infer", hardware: { gpu: "RTX 4090" }, ...each })));
  for (const report of [one, half, two]) {
    assert.equal(report.errors, undefined, JSON.stringify(report.errors));
    assert.ok(Math.abs(sum(report.memory.stages, true) + sum(report.memory.stages, false) - bytes) <= 2);
  }
  assert.equal(sum(one.memory.stages, false), table);
  assert.equal(sum(two.memory.stages, false), table);
  assert.ok(sum(half.memory.stages, true) < 0.6 * (bytes - table));
});

test("another format of weights leaves the file's bytes behind", () => {
  const { place } = whole("other.gguf", llama());
  const { job } = importFiles([place]);
  const [report] = planAll([{ task: "infer", hardware: { gpu: "H100" }, ...job, infer: { ...job.infer, weights: "bf16" } }]);
  const [weights] = report.memory.stages[0].items.filter(({ id }) => id === "weights");
  assert.equal(report.memory.host_bytes, 2 * 512 * 256); // the token table
  assert.equal(weights.bytes + report.memory.host_bytes, 2 * report.params.total);
});

test("experts are a group of their own, and the config is that of a mixture", () => {
  const { place } = whole("moe.gguf", llama({ experts: 4 }));
  const report = importFiles([place]);
  assert.equal(report.job.model.config.model_type, "mixtral");
  assert.equal(report.job.model.config.num_local_experts, 4);
  assert.equal(report.import.computed_params, report.import.params);
  assert.ok(report.import.groups.some(({ group, bytes }) => group === "experts" && bytes > 0));
});

test("version 2 is read, version 1 and big-endian files are named", () => {
  const model = llama();
  assert.deepEqual(importFiles([whole("v2.gguf", { ...model, version: 2 }).place]).errors, []);
  assert.deepEqual(codes(importFiles([whole("v1.gguf", { ...model, version: 1 }).place])), ["gguf_version"]);
  const { header, size } = makeGguf(model);
  header.writeUInt32BE(3, 4);
  assert.deepEqual(codes(importFiles([file("big.gguf", header, size)])), ["gguf_big_endian"]);
});

test("a pipe is read like a file", () => {
  const { header } = makeGguf(llama());
  const { size } = makeGguf(llama());
  const input = Buffer.concat([header, Buffer.alloc(size - header.length)]);
  assert.equal(importFiles(["-"], { input }).import.tensors, llama().tensors.length);
});

test("of a large file only the beginning is read", () => {
  const { place, size, header } = whole("large.gguf", llama({ layers: 80, hidden: 8192, heads: 64, kvHeads: 8, ffn: 28672, vocab: 128256 }));
  assert.ok(size > 30e9 && header.length < 4e6);
  const { seconds, import: found } = importBounded(place);
  assert.ok(found.params > 70e9 && seconds < 0.3, `${seconds} s`);
});

test("a split model is the sum of its parts, and missing ones are told", () => {
  const model = llama({ layers: 4 });
  const split = (number, tensors, metadata) => whole(`model-0000${number + 1}-of-00003.gguf`,
    { metadata: { ...metadata, "split.no": { u16: number }, "split.count": { u16: 3 } }, tensors }).place;
  const parts = [split(0, model.tensors.slice(0, 10), model.metadata), split(1, model.tensors.slice(10, 20), {}), split(2, model.tensors.slice(20), {})];
  const { bytes } = makeGguf(model);
  assert.equal(importFiles(parts).import.bytes, bytes);
  assert.equal(importFiles([parts[2], parts[0], parts[1]]).import.bytes, bytes);
  const [fault] = importFiles([parts[0], parts[2]]).errors;
  assert.deepEqual([fault.code, fault.args.parts, fault.args.count], ["file_parts_missing", "2", 3]);
  assert.deepEqual(codes(importFiles([parts[0], parts[0], parts[1]])), ["files_conflict"]);
});

test("parts of another model, or that do not hold what they state together, are refused", () => {
  const part = (number, tensors, more = {}) => {
    const { header, size } = makeGguf({ metadata: { "split.no": number, "split.count": 2, "split.tensors.count": 21, ...more }, tensors });
    return file(`own-0000${number + 1}-of-00002.gguf`, header, size);
  };
  const { metadata, tensors } = llama({ layers: 2 });
  assert.equal(tensors.length, 21);
  const first = part(0, tensors.slice(0, 10), metadata), rest = tensors.slice(10);
  assert.equal(importFiles([first, part(1, rest)]).import.tensors, 21);
  const said = (report) => report.errors.map(({ code, path, args }) => [code, path, args]);
  const second = "own-00002-of-00002.gguf";
  assert.deepEqual(said(importFiles([first, part(1, rest.slice(1))])), [["tensor_count_differs", "own-00001-of-00002.gguf", { found: 20, stated: 21 }]]);
  assert.deepEqual(said(importFiles([first, part(1, rest, { "general.architecture": "qwen2" })])), [["files_conflict", second, {}]]);
  assert.deepEqual(said(importFiles([first, part(1, [...rest.slice(1), tensors[3]])])), [["files_conflict", second, {}]]);
});

/** Numbers of the metadata that no model has: what is refused, in its place, and by both commands alike. */
const MOST = 2 ** 31;
const ranged = (given, min = 0) => ["out_of_range", { value: given, min, max: MOST }];
const KEYS = { block_count: 1, embedding_length: 1, "attention.head_count": 0, "attention.head_count_kv": 0, feed_forward_length: 0 };
const FAULTS = Object.entries(KEYS).flatMap(([key, min]) => [
  [key, "0", 0, ranged(0, 1)], [key, "-3", { i32: -3 }, ranged(-3, min)], [key, "2^32 - 1", 2 ** 32 - 1, ranged(2 ** 32 - 1, min)],
  [key, "a text", "many", ["wrong_type", { expected: "integer" }]], [key, "4.5", { f32: 4.5 }, ["wrong_type", { expected: "integer" }]],
  [key, "a switch", { bool: 1 }, ["wrong_type", { expected: "integer" }]],
  ...(key === "attention.head_count_kv" ? [] : [[key, "absent", undefined, ["incomplete_model", { what: `llama.${key}` }]]]),
]);
FAULTS.push(
  ["attention.head_count_kv", "a list of 2 for 4 blocks", { u32: [2, 2] }, ["list_length", { value: 2, expected: 4 }]],
  ["attention.head_count_kv", "a list with -2", { i32: [2, 2, -2, 2] }, ranged(-2)],
  ["attention.head_count", "no divisor of the width", 7, ["inconsistent_model", { what: "llama.attention.head_count_kv", value: 2 }], "attention.head_count_kv"],
  ["context_length", "0", 0, ranged(0, 1)],
);
const refused = (report) => report.errors.map(({ code, path, args }) => [code, path, args]);
for (const [key, name, given, [code, args], place = key] of FAULTS) {
  test(`refused by import and plan: ${key} of ${name}`, () => {
    const model = llama({ layers: 4, extra: { [`llama.${key}`]: given } });
    if (given === undefined) delete model.metadata[`llama.${key}`];
    const made = whole("metadata.gguf", model).place;
    for (const report of [importFiles([made]), planFile(made)]) {
      assert.deepEqual([report.status, refused(report)], [2, [[code, `metadata.gguf: llama.${place}`, args]]]);
    }
  });
}

test("more experts for a token than there are", () => {
  const { place } = whole("moe.gguf", llama({ experts: 4, extra: { "llama.expert_used_count": 99 } }));
  for (const report of [importFiles([place]), planFile(place)]) {
    assert.deepEqual(refused(report), [["inconsistent_model", "moe.gguf: llama.expert_used_count", { what: "llama.expert_used_count", value: 99 }]]);
  }
});

test("every fault of a file's metadata is told at once", () => {
  const extra = { "llama.block_count": 0, "llama.embedding_length": "wide", "llama.feed_forward_length": { i32: -1 } };
  assert.deepEqual(codes(importFiles([whole("several.gguf", llama({ extra })).place])), ["out_of_range", "wrong_type", "out_of_range"]);
});

test("an architecture that is no text, and a file without a tensor", () => {
  const named = llama();
  named.metadata["general.architecture"] = 5;
  const empty = { ...llama(), tensors: [] };
  for (const [name, model, expected] of [["number", named, "wrong_type"], ["empty", empty, "file_empty"]]) {
    const { place } = whole(`${name}.gguf`, model);
    for (const report of [importFiles([place]), planFile(place)]) assert.deepEqual([report.status, codes(report)], [2, [expected]]);
  }
});

/** What both commands warn of. */
function warned(place) {
  const [imported, planned] = [importFiles([place]), planFile(place)].map(({ warnings }) => warnings.map(({ code, path, args }) => [code, path, args]));
  assert.deepEqual(planned, imported);
  return imported;
}

test("tensors that contradict the metadata are told, the first by name", () => {
  const head = (options, key, stated) => { const { place } = whole("odd.gguf", llama({ ...options, extra: { [key]: stated } })); return warned(place).find(([code]) => code === "tensors_differ"); };
  const differ = (named, tensors, found, expected) => ["tensors_differ", "odd.gguf", { value: named, tensors, found, expected }];
  assert.deepEqual(head({}, "llama.attention.head_count_kv", 1), differ("blk.0.attn_k.weight", 4, 256 * 128, 256 * 64));
  assert.deepEqual(head({}, "llama.attention.head_count", 8), differ("blk.0.attn_k.weight", 4, 256 * 128, 256 * 64));
  assert.deepEqual(head({}, "llama.attention.key_length", 32), differ("blk.0.attn_q.weight", 8, 256 * 256, 256 * 128));
  assert.deepEqual(head({}, "llama.embedding_length", 128), differ("blk.0.attn_q.weight", 14, 256 * 256, 128 * 128));
  assert.deepEqual(head({}, "llama.feed_forward_length", 256), differ("blk.0.ffn_gate.weight", 6, 256 * 512, 256 * 256));
  assert.deepEqual(head({ experts: 4 }, "llama.expert_count", 8), differ("blk.0.ffn_gate_inp.weight", 8, 256 * 4, 256 * 8));
  assert.equal(head({}, "llama.rope.freq_base", 10000), undefined);
});

test("a matrix that one block lacks is told, of mixtures too, and one under another name is not lacking", () => {
  const lack = (name, options = {}, put = []) => {
    const model = llama({ layers: 4, ...options });
    const [gone] = model.tensors.filter((tensor) => tensor.name === name);
    model.tensors = [...model.tensors.filter((tensor) => tensor !== gone), ...put];
    return warned(whole("lacks.gguf", model).place).filter(([code]) => code === "tensors_differ").map(([, , { value: named, tensors, found, expected }]) => [named, tensors, found, expected]);
  };
  for (const [name, params] of [["attn_q", 256 * 256], ["attn_output", 256 * 256], ["attn_k", 256 * 128], ["attn_v", 256 * 128], ["ffn_gate", 256 * 512], ["ffn_up", 256 * 512], ["ffn_down", 256 * 512]])
    assert.deepEqual(lack(`blk.3.${name}.weight`), [[`blk.3.${name}.weight`, 1, 0, params]]);
  for (const [name, params] of [["ffn_up_exps", 4 * 256 * 512], ["ffn_down_exps", 4 * 256 * 512], ["ffn_gate_inp", 4 * 256]])
    assert.deepEqual(lack(`blk.2.${name}.weight`, { experts: 4 }), [[`blk.2.${name}.weight`, 1, 0, params]]);
  assert.deepEqual(lack("none"), []);
  assert.deepEqual(lack("blk.1.attn_k.weight", {}, [{ name: "blk.1.attn_qkv.weight", shape: [256, 256 + 2 * 128], type: "F16" }]), []);
});

test("blocks that are too few or too many for the metadata are told", () => {
  const model = llama({ layers: 4 });
  model.tensors = model.tensors.filter(({ name }) => !name.startsWith("blk.3."));
  const computed = llama({ layers: 4 }).tensors.reduce((sum, { shape }) => sum + shape.reduce((a, b) => a * b, 1), 0);
  const stated = model.tensors.reduce((sum, { shape }) => sum + shape.reduce((a, b) => a * b, 1), 0);
  assert.deepEqual(warned(whole("fewer.gguf", model).place), [["blocks_differ", "fewer.gguf", { found: 3, stated: 4 }], ["count_differs", "model.params", { computed, stated }]]);
  const [more] = warned(whole("more.gguf", llama({ layers: 4, extra: { "llama.block_count": 3 } })).place);
  assert.deepEqual(more, ["blocks_differ", "more.gguf", { found: 4, stated: 3 }]);
});

test("a tensor of a type that is not known is told, and how far it is taken to reach", () => {
  const model = llama();
  const { header, size } = makeGguf(model);
  const at = header.indexOf("output_norm.weight") + "output_norm.weight".length + 4 + 8;
  header.writeUInt32LE(99, at);
  assert.deepEqual(warned(file("type.gguf", header, size)), [["type_not_known", "type.gguf", { value: "99", tensors: 1, bytes: 1024 }]]);
  const last = header.lastIndexOf("ffn_down.weight") + "ffn_down.weight".length + 4 + 16;
  header.writeUInt32LE(99, at);
  header.writeUInt32LE(98, last);
  for (const report of [importFiles([file("rest.gguf", header, size + 1e9)]), planFile(file("rest.gguf", header, size + 1e9))]) {
    assert.deepEqual(codes(report), ["file_damaged tensor_size"]);
  }
});

test("without an architecture the label comes from the tensors", () => {
  for (const [type, label] of [["Q8_0", "gguf:q8_0"], ["F16", "gguf:f16"]]) {
    const model = llama({ type, hidden: 1024, ffn: 4096 });
    delete model.metadata["general.architecture"];
    const { place, bytes } = whole("bare.gguf", model);
    const report = importFiles([place]);
    assert.deepEqual([report.import.format, report.job.infer.weights, report.import.bytes], [label, label, bytes]);
    assert.deepEqual(warned(place).map(([code]) => code), ["structure_missing"]);
  }
});

test("millions of empty lists cost no more than their bytes", () => {
  const count = 1_600_000, lists = Buffer.alloc(12 * count);
  for (let i = 0; i < count; i++) lists.writeUInt32LE(4, 12 * i);
  const report = importBounded(file("lists.gguf", raw({ keys: 1, body: [string("a"), u32(9), u32(9), u64(count), lists] })));
  assert.deepEqual(codes(report), ["file_empty"]);
  assert.ok(report.seconds < 0.1, `${report.seconds} s`);
});

/** A value of so many u8 of one number. */
const longList = (count, number) => [u32(9), u32(0), u64(count), Buffer.alloc(count, number)];
for (const architecture of ["llama", "gemma4"]) {
  test(`${architecture}: a list of 20 million numbers is refused by its length, not by its numbers`, () => {
    const text = (key, one) => [string(key), value(one)], count = 20_000_000;
    const body = [...text("general.architecture", architecture), string(`${architecture}.attention.head_count`), ...longList(count, 255),
      ...text(`${architecture}.block_count`, count), ...info("output_norm.weight", [1], 0, 0)];
    const report = importBounded(file("list.gguf", raw({ tensors: 1, keys: 3, body: [...body, Buffer.alloc(64)] })));
    const found = report.errors.filter(({ code }) => code === "list_length").map(({ path, args }) => [path, args]);
    assert.deepEqual(found, [[`list.gguf: ${architecture}.attention.head_count`, { value: count, expected: 2 ** 16 }]]);
    assert.ok(report.seconds < 0.1, `${report.seconds} s`);
  });
  test(`${architecture}: the number of blocks is no list`, () => {
    const body = [string("general.architecture"), value(architecture), string(`${architecture}.block_count`), ...longList(3_000_000, 255)];
    const report = importBounded(file("blocks.gguf", raw({ tensors: 1, keys: 2, body: [...body, ...info("output_norm.weight", [1], 0, 0), Buffer.alloc(64)] })));
    const [fault] = report.errors;
    assert.deepEqual([fault.code, fault.path, fault.args], ["wrong_type", `blocks.gguf: ${architecture}.block_count`, { expected: "integer" }]);
    assert.ok(report.seconds < 0.1, `${report.seconds} s`);
  });
}

test("200,000 tensors and as many keys are found by name, not one after the other", () => {
  const model = llama({ layers: 2 }), many = 200_000, keys = [], tensors = [];
  model.metadata["general.architecture"] = "gemma4";
  const named = Object.entries(model.metadata).map(([key, one]) => [key.replace(/^llama\./, "gemma4."), one]);
  const blocks = named.find(([key]) => key === "gemma4.block_count");
  blocks[1] = 256;
  for (let i = 0; i < many; i++) {
    keys.push(string(`k${i}`), u32(0), Buffer.from([1]));
    tensors.push(...info(`blk.${i % 256}.attn_k.${i}`, [1], 0, 32 * i));
  }
  const body = [...named.flatMap(([key, one]) => [string(key), value(one)]), ...keys, ...tensors];
  const header = raw({ tensors: many, keys: many + named.length, body });
  const report = importFiles([file("many.gguf", header, header.length + 32 * many + 64)]);
  assert.equal(report.import.tensors, many);
  assert.deepEqual([report.import.bytes, report.import.params], [4 * many, many]);
  const seconds = importBounded(file("many.gguf", header, header.length + 32 * many + 64), 2 ** 17).seconds;
  assert.ok(seconds < 0.3, `${seconds} s`);
});

/** A header by hand: counts, metadata and tensor infos as given. */
const raw = ({ tensors = 0, keys = 0, body = [] }) => Buffer.concat([Buffer.from("GGUF"), u32(3), u64(tensors), u64(keys), ...body]);
const info = (name, dimensions, type, offset) => [string(name), u32(dimensions.length), ...dimensions.map(u64), u32(type), u64(offset)];
const nested = (depth) => (depth === 0 ? [u32(4), u64(0)] : [u32(9), u64(1), ...nested(depth - 1)]);

const HOSTILE = {
  "version 0": [Buffer.concat([Buffer.from("GGUF"), u32(0), Buffer.alloc(64)]), "gguf_version"],
  "2^60 tensors": [raw({ tensors: 2n ** 60n, body: [Buffer.alloc(64)] }), "file_damaged count"],
  "2^60 keys": [raw({ keys: 2n ** 60n, body: [Buffer.alloc(64)] }), "file_damaged count"],
  "more keys than bytes": [raw({ keys: 1000, body: [Buffer.alloc(64)] }), "file_damaged count"],
  "a key of 2^63 bytes": [raw({ keys: 1, body: [u64(2n ** 63n), Buffer.alloc(64)] }), "file_damaged cut_short"],
  "an empty key": [raw({ keys: 1, body: [string(""), value(1)] }), "file_damaged key_length"],
  "a value of no kind": [raw({ keys: 1, body: [string("a"), u32(77), u64(0)] }), "file_damaged value_kind"],
  "an array of 2^61": [raw({ keys: 1, body: [string("a"), u32(9), u32(4), u64(2n ** 61n), Buffer.alloc(64)] }), "file_damaged count"],
  "deep arrays": [raw({ keys: 1, body: [string("a"), u32(9), ...nested(30)] }), "file_damaged nesting"],
  "a key twice": [raw({ keys: 2, body: [string("a"), value(1), string("a"), value(2)] }), "file_damaged repeated_key"],
  "an alignment of 24": [raw({ keys: 1, body: [string("general.alignment"), value(24)] }), "file_damaged alignment"],
  "an alignment of 0": [raw({ keys: 1, body: [string("general.alignment"), value(0)] }), "file_damaged alignment"],
  "nine dimensions": [raw({ tensors: 1, body: info("a", Array(9).fill(1), 0, 0) }), "file_damaged dimensions"],
  "a negative dimension": [raw({ tensors: 1, body: info("a", [-4n], 0, 0) }), "file_damaged dimensions"],
  "a product beyond 2^64": [raw({ tensors: 1, body: info("a", [2n ** 40n, 2n ** 40n], 0, 0) }), "file_damaged dimensions"],
  "a type of no kind": [raw({ tensors: 1, body: info("a", [32], 70000, 0) }), "file_damaged tensor_type"],
  "a broken block": [raw({ tensors: 1, body: info("a", [33], TYPES.Q8_0[0], 0) }), "file_damaged row_length"],
  "an offset off the grid": [raw({ tensors: 1, body: info("a", [32], 0, 5) }), "file_damaged tensor_offset"],
  "a tensor beyond the end": [raw({ tensors: 1, body: info("a", [32], 0, 2n ** 50n) }), "file_damaged cut_short"],
  "an overlap": [raw({ tensors: 2, body: [...info("a", [32], 0, 0), ...info("b", [32], 0, 32), Buffer.alloc(512)] }), "file_damaged overlap"],
  "a tensor twice": [raw({ tensors: 2, body: [...info("a", [8], 0, 0), ...info("a", [8], 0, 32), Buffer.alloc(512)] }), "file_damaged repeated_tensor"],
};

for (const [name, [bytes, expected]] of Object.entries(HOSTILE)) {
  test(`refused in bounds: ${name}`, () => {
    const report = importBounded(file("hostile.gguf", bytes));
    assert.deepEqual(codes(report), [expected]);
    assert.ok(report.seconds < 0.1, `${report.seconds} s`);
  });
}

test("cut anywhere, a file is refused with one error", () => {
  const { header } = makeGguf(llama({ vocab: 256 }));
  for (let length = 4; length < header.length; length += 997) {
    const found = codes(importFiles([file("cut.gguf", header.subarray(0, length))]));
    assert.equal(found.length, 1, `${length}: ${found}`);
    assert.match(found[0], /^file_damaged (cut_short|count)$/, String(length));
  }
});
