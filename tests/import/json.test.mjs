/** config.json, indexes and safetensors headers, and files that are none of these. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { readFileSync } from "node:fs";
import { gzipSync, inflateRawSync } from "node:zlib";
import { codes, file, importBounded, importFiles } from "./files.mjs";
import { makeSafetensors } from "./safetensors.mjs";
import { answerAll, planAll } from "../support/engine.mjs";

const CONFIG = { architectures: ["LlamaForCausalLM"], model_type: "llama", hidden_size: 64, intermediate_size: 128, num_hidden_layers: 2,
  num_attention_heads: 4, num_key_value_heads: 2, vocab_size: 256, torch_dtype: "float16", _name_or_path: "own/path", bos_token_id: 1 };
const config = (changes = {}) => file("config.json", JSON.stringify({ ...CONFIG, ...changes }));
const formatOf = (changes) => importFiles([config(changes)]).import.format;

test("a config gives structure and format, without what is beside the point", () => {
  const report = importFiles([config()]);
  assert.deepEqual([report.errors, report.warnings], [[], []]);
  assert.equal(report.import.format, "fp16");
  assert.ok(report.import.computed_params > 50_000);
  assert.deepEqual(report.import.ignored.sort(), ["_name_or_path", "bos_token_id", "torch_dtype"]);
  assert.equal("_name_or_path" in report.job.model.config, false);
});

const QUANTIZED = [
  [{ quant_method: "gptq", bits: 4, group_size: 128 }, "gptq4"], [{ quant_method: "gptq", bits: 8, group_size: 128 }, "gptq8"],
  [{ quant_method: "gptq", bits: 4, group_size: 32 }, "gptq4-g32"], [{ quant_method: "awq", bits: 4, group_size: 128 }, "awq"],
  [{ quant_method: "bitsandbytes", load_in_4bit: true }, "nf4"], [{ quant_method: "bitsandbytes", load_in_8bit: true }, "int8"],
  [{ quant_method: "fp8", weight_block_size: [128, 128] }, "fp8-block"], [{ quant_method: "fbgemm_fp8" }, "fp8"], [{ quant_method: "mxfp4" }, "mxfp4"],
  [{ quant_method: "exl2", bits: 4.5 }, "exl2:4.5"], [{ quant_algo: "FP8", producer: { name: "modelopt" } }, "fp8"],
  [{ quant_method: "modelopt", quant_algo: "NVFP4" }, "nvfp4"],
  [{ quant_method: "compressed-tensors", config_groups: { group_0: { weights: { num_bits: 4, type: "int", group_size: 32 } } } }, "w4a16-g32"],
  [{ quant_method: "compressed-tensors", config_groups: { group_0: { weights: { num_bits: 8, type: "float" } } } }, "fp8"],
];
for (const [settings, expected] of QUANTIZED) {
  test(`weights quantised by ${JSON.stringify(settings)} are ${expected}`, () => assert.equal(formatOf({ quantization_config: settings }), expected));
}
test("MLX states bits and group alone", () => assert.equal(formatOf({ quantization: { bits: 4, group_size: 64 } }), "mlx:q4-g64"));
test("a method without a name among the formats is told", () => {
  assert.deepEqual(importFiles([config({ quantization_config: { quant_method: "aqlm" } })]).warnings.map(({ code, args }) => [code, args.value]), [["format_not_named", "aqlm"]]);
});

test("numbers that only Python writes, and keys that stand twice, are let pass", () => {
  const text = JSON.stringify(CONFIG).replace("{", '{"hidden_size":1,"time_step_limit":[0.0,Infinity],"x":NaN,"y":-Infinity,');
  const report = importFiles([file("config.json", text)]);
  assert.deepEqual(report.errors, []);
  assert.equal(report.job.model.config.hidden_size, 64);
  assert.deepEqual(report.job.model.config.time_step_limit, [0, null]);
});

test("an index gives the exact bytes, and the plan takes them", () => {
  const total = 2 * importFiles([config()]).import.computed_params;
  const index = file("model.safetensors.index.json", JSON.stringify({ metadata: { total_size: total }, weight_map: { a: "model-00001-of-00002.safetensors", b: "model-00002-of-00002.safetensors" } }));
  const report = importFiles([index, config()]);
  assert.deepEqual([report.import.kind, report.import.bytes, report.import.params, report.import.tensors], ["safetensors_index", total, total / 2, 2]);
  const [plan] = planAll([{ task: "infer", hardware: { gpu: "H100" }, ...report.job }]);
  assert.equal(plan.memory.stages[0].items.find(({ id }) => id === "weights").bytes, total);
});

test("an index of 100,000 tensors is walked, not refused", () => {
  const map = Object.fromEntries(Array.from({ length: 100_000 }, (_, i) => [`model.layers.${i}.mlp.experts.gate_proj.weight`, "model-00001-of-00001.safetensors"]));
  const report = importFiles([file("model.safetensors.index.json", JSON.stringify({ metadata: { total_size: 1e12 }, weight_map: map })), config()]);
  assert.deepEqual([report.errors, report.import.tensors, report.import.bytes], [[], 100_000, 1e12]);
});

const TENSORS = [{ name: "a.weight", dtype: "BF16", shape: [64, 64] }, { name: "b.weight", dtype: "F32", shape: [64] }, { name: "c", dtype: "BF16", shape: [] }];
const single = (change, extra = 0) => { const made = makeSafetensors(TENSORS, change); return file("model.safetensors", made.header, made.size + extra); };

test("a single file's header gives bytes of each type", () => {
  const report = importFiles([single(), config()]);
  assert.deepEqual(report.import.types.map(({ type, tensors, params, bytes }) => [type, tensors, params, bytes]), [["BF16", 2, 4097, 8194], ["F32", 1, 64, 256]]);
  assert.deepEqual([report.import.bytes, report.import.params, report.import.format], [8450, 4161, "bf16"]);
  assert.deepEqual(importFiles([single()]).warnings.map(({ code }) => code), ["structure_missing"]);
});

const DAMAGED = {
  "a shape that does not match": [(h) => { h["a.weight"].shape = [64, 65]; return h; }, "tensor_size"],
  "an overlap": [(h) => { h["b.weight"].data_offsets = [8000, 8256]; return h; }, "overlap"],
  "a hole": [(h) => { h["b.weight"].data_offsets = [8200, 8456]; return h; }, "hole"],
  "offsets the wrong way round": [(h) => { h["b.weight"].data_offsets = [9000, 8]; return h; }, "tensor_entry"],
  "a negative dimension": [(h) => { h["a.weight"].shape = [-1]; return h; }, "tensor_entry"],
  "an entry without type": [(h) => { delete h["a.weight"].dtype; return h; }, "tensor_entry"],
  "an entry that is a number": [(h) => { h["a.weight"] = 5; return h; }, "tensor_entry"],
  "a name twice": [(h) => JSON.stringify(h).replace('"b.weight"', '"a.weight"'), "repeated_tensor"],
  "a header that is no JSON": [() => "{\"a\":", "json"],
  "metadata that is a list": [(header) => ({ ...header, __metadata__: [1, 2] }), "metadata"],
  "metadata that holds a number": [(header) => ({ ...header, __metadata__: { format: 1 } }), "metadata"],
  "nesting without end": [() => `{"a":${"[".repeat(5000)}`, "json"],
};
for (const [name, [change, damage]] of Object.entries(DAMAGED)) {
  test(`a header is refused for ${name}`, () => assert.deepEqual(codes(importBounded(single(change))), [`file_damaged ${damage}`]));
}
test("a file that is cut, or longer than its tensors, is refused", () => {
  assert.deepEqual(codes(importFiles([single(undefined, -1)])), ["file_damaged cut_short"]);
  assert.deepEqual(codes(importFiles([single(undefined, 1)])), ["file_damaged trailing"]);
});
test("shards without an index are told when some are missing", () => {
  const { header, size } = makeSafetensors(TENSORS);
  const [fault] = importFiles([file("model-00002-of-00003.safetensors", header, size), config()]).errors;
  assert.deepEqual([fault.code, fault.args.parts], ["file_parts_missing", "1, 3"]);
});

const OTHERS = {
  empty: "", zip: "PK\u0003\u0004data", pdf: "%PDF-1.7\n", html: "\n<!DOCTYPE html><html>", text: "hello, these are words\n", zeros: Buffer.alloc(600),
  gzip: gzipSync("{}"), pickle: Buffer.from([0x80, 2, 0x8a, 10]), ggml: "lmgg\u0001\u0000\u0000\u0000", hdf5: Buffer.from("\x89HDF\r\n\x1a\n", "latin1"),
  lfs_pointer: "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", onnx: Buffer.from([8, 7, 0x12, 7, 112, 121, 116]),
  binary: Buffer.from([1, 2, 3, 4, 5, 6, 7, 200]), tokenizer: '{"version":"1.0","added_tokens":[]}', adapter: '{"peft_type":"LORA","r":8}',
  generation: '{"eos_token_id":2}', diffusers: '{"_class_name":"UNet"}', job: '{"task":"infer"}', json: "[1,2]", program: "\x7fELF\x02",
};
for (const [looks, content] of Object.entries(OTHERS)) {
  test(`a file that is none of the known kinds is named: ${looks}`, () => {
    assert.deepEqual(codes(importFiles([file("model.bin", content)])), [`file_unknown ${looks}`]);
  });
}

test("100 MB of config, and a bomb of nesting, are refused in bounds", () => {
  assert.deepEqual(codes(importBounded(file("config.json", '{"model_type":', 100e6))), ["file_header_too_long"]);
  for (const text of ["[".repeat(400_000), `{"a":${"[".repeat(400_000)}`, '{"a":1,'.repeat(60_000)]) {
    const report = importBounded(file("config.json", text));
    assert.equal(report.errors.length, 1);
    assert.ok(report.seconds < 0.1, `${report.seconds} s`);
  }
});

test("two million keys, a list of 30 MB and an index of 30 MB take less than a tenth of a second", () => {
  const keys = (count, of) => Array.from({ length: count }, (_, i) => of(i)).join(",");
  const files = { file_header_too_long: `{"model_type":"llama",${keys(2e6, (i) => `"k${i}":1`)}}`, file_unknown: `[${"1,".repeat(15e6)}1]`,
    structure_missing: `{"metadata":{"total_size":5000},"weight_map":{${keys(6e5, (i) => `"model.layers.${i}.mlp.up_proj.weight":"m"`)}}}` };
  for (const [code, text] of Object.entries(files)) {
    const place = file("large.json", text);
    /* The fastest: what else the machine does costs caches. */
    const tries = [1, 2, 3].map(() => importBounded(place));
    for (const { errors, warnings = [] } of tries) assert.deepEqual([...errors, ...warnings].map((row) => row.code), [code]);
    const fastest = Math.min(...tries.map(({ seconds }) => seconds));
    assert.ok(fastest < 0.1, `${code}: ${fastest} s`);
  }
});

test("text parts need no bytes beside the request", () => {
  const [report, none, wrong] = answerAll([{ op: "import", parts: [{ name: "config.json", text: JSON.stringify(CONFIG) }] }, { op: "import", parts: [] },
    { op: "import", parts: [{ name: "a", bytes: 5 }] }]);
  assert.equal(report.import.architecture, "llama");
  assert.deepEqual(none.errors.map(({ code }) => code), ["wrong_type"]);
  assert.deepEqual(wrong.errors.map(({ code, path }) => [code, path]), [["out_of_range", "parts.0.bytes"]]);
});

test("an imported model travels in a short link and comes back whole", () => {
  const types = Array.from({ length: 64 }, (_, i) => (i % 6 === 5 ? "full_attention" : "sliding_attention"));
  const { job } = importFiles([config({ num_hidden_layers: 64, sliding_window: 512, layer_types: types, quantization_config: { quant_method: "fp8", modules_to_not_convert: Array(300).fill("model.layers.0.mlp") } })]);
  const [{ link }] = answerAll([{ op: "link", job }]);
  assert.match(link, /m\.config=z1\./);
  assert.ok(link.length < 600, `${link.length} characters`);
  const [back] = answerAll([{ op: "link", link }]);
  assert.deepEqual(back.job.model, job.model);
});

test("any inflater that takes the dictionary reads a packed config", () => {
  const { job } = importFiles([config()]);
  const [{ link }] = answerAll([{ op: "link", job }]);
  const source = readFileSync("core/base/deflate_dictionary.c", "utf8");
  const dictionary = [...source.slice(source.indexOf("[] =")).matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(([, text]) => JSON.parse(`"${text}"`)).join("");
  const packed = Buffer.from(/m\.config=z1\.([\w-]+)/.exec(link)[1], "base64url");
  assert.deepEqual(JSON.parse(inflateRawSync(packed, { dictionary: Buffer.from(dictionary) }).toString()), job.model.config);
});
