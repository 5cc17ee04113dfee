/** Files whose values no model can have: each is a fault with its place, the same for `import` and `plan --model`; nothing is
 * planned as if it were right. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { PROGRAM, answerAll, planAll } from "../support/engine.mjs";
import { file, importFiles } from "./files.mjs";
import { makeSafetensors } from "./safetensors.mjs";

const LLAMA = { model_type: "llama", hidden_size: 4096, intermediate_size: 14336, num_hidden_layers: 32, num_attention_heads: 32, num_key_value_heads: 8,
  vocab_size: 128256, torch_dtype: "bfloat16" };
const BYTES = 2 * 8030261248;
const INDEX = { metadata: { total_size: BYTES }, weight_map: { "lm_head.weight": "model.safetensors" } };
const config = (text) => file("config.json", typeof text === "string" ? text : JSON.stringify(text));
const index = (text) => file("model.safetensors.index.json", typeof text === "string" ? text : JSON.stringify(text));
const rows = (list) => list.map(({ code, path }) => `${code} ${path}`);

/** What both commands say of a file on standard error, and how they end. */
function both(places) {
  const [imported, planned] = [["import", ...places], ["plan", ...places.flatMap((place) => ["--model", place]), "--set", "task=infer", "--set", "hardware.gpu=H100"]]
    .map((words) => spawnSync(PROGRAM, words, { encoding: "utf8" }));
  return { imported, planned };
}

const said = ({ stdout, stderr }) => `${stdout}${stderr}`.replace(/\s+/g, " ");

function refused(places, expected) {
  const { imported, planned } = both(places);
  assert.deepEqual([imported.status, imported.stdout, planned.status, planned.stdout], [2, "", 2, ""]);
  assert.equal(imported.stderr, planned.stderr);
  assert.deepEqual(rows(importFiles(places).errors), expected);
  return imported.stderr;
}

for (const key of ["hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads", "vocab_size"]) {
  const bad = { 0: "out_of_range", "-1": "out_of_range", "1e30": "out_of_range", '"4096"': "wrong_type", "[1]": "wrong_type", 4096.5: "not_a_whole_number",
    NaN: "not_finite", "-Infinity": "not_finite", "1e999": "not_finite" };
  for (const [value, code] of Object.entries(bad)) {
    test(`${key} ${value} is refused`, () => {
      const text = JSON.stringify({ ...LLAMA, [key]: "HERE" }).replace('"HERE"', value);
      const [first] = importFiles([config(text)]).errors;
      assert.deepEqual([first.code, first.path], [code, `config.json: ${key}`]);
      if (code === "out_of_range") assert.ok(first.args.min === 1 && first.args.max >= 65536);
    });
  }
}

test("every fault of a config is told at once, with its range, by both commands", () => {
  const lines = refused([config({ ...LLAMA, hidden_size: 0, vocab_size: "many", num_hidden_layers: 2147483647 })],
    ["out_of_range config.json: num_hidden_layers", "out_of_range config.json: hidden_size", "wrong_type config.json: vocab_size"]);
  assert.match(lines, /config\.json: num_hidden_layers: Must be from 1 to 65,536, not 2,147,483,647\./);
  assert.match(refused([config({ ...LLAMA, hidden_size: 4096.5 })], ["not_a_whole_number config.json: hidden_size"]), /not 4096\.5\./);
});

test("faults of the structure, of the weights' format and of the index are told together", () => {
  refused([config({ ...LLAMA, hidden_size: 0, quantization_config: { quant_method: "awq", bits: 0 } }), index({ ...INDEX, metadata: { total_size: -1 } })],
    ["out_of_range config.json: quantization_config.bits", "out_of_range model.safetensors.index.json: metadata.total_size", "out_of_range config.json: hidden_size"]);
});

test("a missing dimension, and one of a part inside", () => {
  refused([config({ ...LLAMA, hidden_size: undefined })], ["incomplete_model config.json: hidden_size"]);
  refused([config({ model_type: "llava", text_config: { ...LLAMA, vocab_size: -5 } })], ["out_of_range config.json: text_config.vocab_size"]);
});

test("a wrong config stays wrong beside weights, and a model beyond all numbers is one", () => {
  refused([config({ ...LLAMA, hidden_size: 0 }), index(INDEX)], ["out_of_range config.json: hidden_size"]);
  refused([config({ ...LLAMA, hidden_size: 2 ** 31, intermediate_size: 2 ** 31, num_hidden_layers: 65536 })], ["number_too_large config.json"]);
});

test("a structure that is not known is named: alone an error, beside weights their bytes are told", () => {
  refused([config({ ...LLAMA, model_type: "foo" })], ["unsupported_architecture config.json: model_type"]);
  const report = importFiles([config({ ...LLAMA, model_type: "foo" }), index(INDEX)]);
  assert.deepEqual([report.status, report.errors, report.import.bytes, rows(report.warnings), report.warnings[0].args.value], [0, [], BYTES, ["structure_not_read config.json"], "foo"]);
});

/** No number of a published config may be nonsense without a word. */
test("numbers of published configs, each spoilt in turn", () => {
  const requests = [], expected = [];
  for (const { config: whole } of JSON.parse(readFileSync("tests/data/released_counts.json", "utf8"))) {
    for (const [key, number] of Object.entries(whole)) {
      if (typeof number !== "number") continue;
      for (const bad of [-1, 1e30, "12x", [1], { a: 1 }, true]) {
        requests.push({ op: "import", parts: [{ name: "config.json", text: JSON.stringify({ ...whole, [key]: bad }) }] });
        expected.push([`config.json: ${key}`, whole.model_type, bad]);
      }
    }
  }
  assert.ok(requests.length > 500);
  for (const [i, { errors }] of answerAll(requests).entries()) {
    assert.ok(errors?.some(({ path }) => path === expected[i][0]), JSON.stringify(expected[i]));
  }
});

const QUANTIZATION = [
  [{ quant_method: "gptq", bits: 400, group_size: 128 }, "out_of_range config.json: quantization_config.bits"],
  [{ quant_method: "gptq", bits: -4 }, "out_of_range config.json: quantization_config.bits"],
  [{ quant_method: "gptq", group_size: 128 }, "incomplete_model config.json: quantization_config.bits"],
  [{ quant_method: "gptq", bits: "4" }, "wrong_type config.json: quantization_config.bits"],
  [{ quant_method: "exl2" }, "incomplete_model config.json: quantization_config.bits"],
  [{ quant_method: "awq", bits: 4, group_size: 0 }, "out_of_range config.json: quantization_config.group_size"],
  [{ quant_method: "awq", bits: 4, group_size: "128" }, "wrong_type config.json: quantization_config.group_size"],
  [{ quant_method: "fp8", weight_block_size: [0, 0] }, "out_of_range config.json: quantization_config.weight_block_size"],
  [{ quant_method: "fp8", weight_block_size: [128] }, "wrong_type config.json: quantization_config.weight_block_size"],
  [{ quant_method: "fp8", weight_block_size: 128 }, "wrong_type config.json: quantization_config.weight_block_size"],
  [{ quant_method: 5 }, "wrong_type config.json: quantization_config.quant_method"],
  [{ quant_method: "bitsandbytes", load_in_4bit: "yes" }, "wrong_type config.json: quantization_config.load_in_4bit"],
  [{ quant_method: "hqq", quant_config: { weight_quant_params: { nbits: 0, group_size: 64 } } }, "out_of_range config.json: quantization_config.quant_config.weight_quant_params.nbits"],
  [{ quant_method: "compressed-tensors", config_groups: { group_0: { weights: { num_bits: 99 } } } },
    "out_of_range config.json: quantization_config.config_groups.group_0.weights.num_bits"],
  [{ quant_method: "compressed-tensors", config_groups: [] }, "wrong_type config.json: quantization_config.config_groups"],
  [5, "wrong_type config.json: quantization_config"], ["awq", "wrong_type config.json: quantization_config"], [[], "wrong_type config.json: quantization_config"],
];
for (const [settings, expected] of QUANTIZATION) {
  test(`quantization_config ${JSON.stringify(settings)} is refused by both`, () => { refused([config({ ...LLAMA, quantization_config: settings })], [expected]); });
}

for (const [what, more] of [["quantization_config", { quantization_config: {} }], ["quantization_config", { quantization_config: { modules_to_not_convert: [] } }],
  ["quantization_config", { quantization_config: { quant_method: "bitsandbytes" } }], ["torch_dtype", { torch_dtype: 5 }], ["torch_dtype", { torch_dtype: "complex64" }]]) {
  test(`${JSON.stringify(more)} tells no format, and both commands say what is counted`, () => {
    const { imported, planned } = both([config({ ...LLAMA, ...more })]);
    assert.deepEqual([imported.status, planned.status], [0, 0]);
    const sentence = `${what} does not say how the weights are stored: they are counted in bf16.`;
    assert.ok(said(imported).includes(sentence) && said(planned).includes(sentence), said(planned));
  });
}

test("weights whose bits no format has are not taken for those of another", () => {
  const { imported, planned } = both([config({ ...LLAMA, quantization_config: { quant_method: "gptq", bits: 5 } })]);
  assert.match(imported.stdout, /no name for: gptq-5bit/);
  assert.deepEqual([planned.status, /no name for: gptq-5bit/.test(planned.stderr)], [2, true]);
});

test("a job's own config with a quantization_config says that only the stated format counts", () => {
  const job = { task: "infer", hardware: { gpu: "H100" }, model: { config: { ...LLAMA, quantization_config: { quant_method: "awq", bits: 4 } } } };
  const notes = planAll([job, { ...job, infer: { weights: "awq" } }]).map(({ assumptions }) => assumptions.filter(({ args }) => args.value === "quantization_config"));
  assert.deepEqual([notes[0].map(({ code, path }) => `${code} ${path}`), notes[1]], [["not_modelled infer.weights"], []]);
});

const total = (value) => JSON.stringify(INDEX).replace(String(BYTES), value);
for (const [value, code] of [["-5", "out_of_range"], ["0", "out_of_range"], [String(2n ** 63n), "out_of_range"], ["1e300", "out_of_range"], ["NaN", "out_of_range"],
  ['"16381470720"', "wrong_type"], ["[1]", "wrong_type"], ["0.5", "out_of_range"], ["1.5", "not_a_whole_number"]]) {
  test(`an index of total_size ${value} is refused by both`, () => {
    refused([index(total(value)), config(LLAMA)], [`${code} model.safetensors.index.json: metadata.total_size`]);
  });
}
test("a total is read in any form of the number", () => {
  for (const form of [`${BYTES}.0`, "1.6060522496e10"]) assert.equal(importFiles([index(total(form)), config(LLAMA)]).import.bytes, BYTES);
});
test("an index may begin with a byte order mark and blanks", () => {
  for (const start of ["\n ", "\ufeff"]) assert.equal(importFiles([index(start + JSON.stringify(INDEX)), config(LLAMA)]).import.bytes, BYTES);
});
test("an index without tensors, and metadata of another kind, are refused", () => {
  refused([index({ ...INDEX, weight_map: {} }), config(LLAMA)], ["file_empty model.safetensors.index.json"]);
  refused([index({ ...INDEX, metadata: 5 }), config(LLAMA)], ["wrong_type model.safetensors.index.json: metadata"]);
});
test("an index alone says what to add; without a total that is all it can say", () => {
  const { imported, planned } = both([index(INDEX)]);
  assert.deepEqual([imported.status, planned.status], [0, 0]);
  assert.match(said(imported), /add config\.json/);
  assert.match(said(planned), /add config\.json/);
  assert.match(refused([index({ ...INDEX, metadata: {} })], ["file_alone model.safetensors.index.json"]), /add the config\.json/);
});

test("weights of another size than the structure has are told, with the difference", () => {
  const report = importFiles([index(total("1e12")), config(LLAMA)]);
  const [warning] = report.warnings;
  assert.deepEqual([warning.code, warning.args], ["weights_differ", { file_bytes: 1e12, structure_bytes: BYTES, difference_bytes: 1e12 - BYTES, value: "bf16" }]);
  assert.equal(report.import.params, undefined);
  const { planned } = both([index(total("1e12")), config(LLAMA)]);
  assert.match(said(planned), /931 GiB of weights.*15\.0 GiB in bf16: 916 GiB apart/);
  for (const good of [BYTES, Math.round(1.05 * BYTES)]) assert.deepEqual(importFiles([index(total(String(good))), config(LLAMA)]).warnings, []);
  const packed = (bytes) => importFiles([index(total(String(bytes))), config({ ...LLAMA, quantization_config: { quant_method: "awq", bits: 4 } })]).warnings.length;
  assert.deepEqual([packed(5.7e9), packed(1e9), packed(60e9)], [0, 1, 1]);
});

const { header, size } = makeSafetensors([{ name: "a", dtype: "BF16", shape: [64, 64] }]);
const part = (name, length) => { const own = Buffer.from(header); if (length !== undefined) own.writeBigUInt64LE(length); return file(name, own, size); };
test("a header of a length that no header has is told to be one", () => {
  for (const length of [0n, 1n, 2n ** 35n, 2n ** 50n, 2n ** 64n - 1n, BigInt(size)]) {
    const [fault] = importFiles([part("model.safetensors", length)]).errors;
    assert.deepEqual([fault.code, fault.args.damage], ["file_damaged", "header_length"], String(length));
  }
  const [empty] = importFiles([file("empty.safetensors", Buffer.from("\x02\0\0\0\0\0\0\0{}"))]).errors;
  assert.equal(empty.code, "file_empty");
});
test("parts are told by their names, of five or six digits, and each counts once", () => {
  const missing = (names) => importFiles([config(LLAMA), ...names.map((name) => part(name))]).errors.map(({ code, path, args }) => [code, path, args.parts]);
  assert.deepEqual(missing(["model-00002-of-00003.safetensors"]), [["file_parts_missing", "model-00002-of-00003.safetensors", "1, 3"]]);
  assert.deepEqual(missing(["model-00002-of-000003.safetensors"]), [["file_parts_missing", "model-00002-of-000003.safetensors", "1, 3"]]);
  assert.deepEqual(missing(["model-00001-of-00002.safetensors", "model-00001-of-00002.safetensors"]), [["files_conflict", "model-00001-of-00002.safetensors", undefined]]);
});

const SMALL = { model_type: "llama", hidden_size: 64, intermediate_size: 128, num_hidden_layers: 2, num_attention_heads: 4, num_key_value_heads: 2, vocab_size: 256, torch_dtype: "bfloat16" };
const SMALL_PARAMS = 106816;
const weights = (name, dtype = "BF16") => { const made = makeSafetensors([{ name: "a", dtype, shape: [SMALL_PARAMS] }]); return file(name, made.header, made.size); };
const small = (stated) => index({ metadata: { total_size: stated }, weight_map: { a: "model.safetensors" } });
test("headers of all files count, not what an index states of them", () => {
  const bytes = 2 * SMALL_PARAMS;
  for (const stated of [2 * bytes, Math.round(1.09 * bytes), bytes]) {
    const { import: found, warnings } = importFiles([config(SMALL), small(stated), weights("model.safetensors")]);
    assert.deepEqual([found.kind, found.bytes, found.params], ["safetensors", bytes, SMALL_PARAMS]);
    const told = stated === bytes ? [] : [["index_differs", { file_bytes: bytes, stated_bytes: stated, difference_bytes: stated - bytes }]];
    assert.deepEqual(warnings.map(({ code, args }) => [code, args]), told);
  }
  const { planned } = both([config(SMALL), small(2 * bytes), weights("model.safetensors")]);
  assert.match(said(planned), /but the index states/);
});
test("a tensor in two files is told, not counted twice", () => {
  const fault = importFiles([config(SMALL), weights("model.safetensors"), weights("consolidated.safetensors")]).errors;
  assert.deepEqual(fault.map(({ code, path }) => [code, path]), [["files_conflict", "consolidated.safetensors"]]);
});
test("weights that are stored in BF16 are, whatever the config says of them", () => {
  for (const settings of [{ quant_method: "fp8" }, { quant_method: "bitsandbytes", load_in_4bit: true }]) {
    const { import: found, job, warnings } = importFiles([config({ ...SMALL, quantization_config: settings }), weights("model.safetensors")]);
    assert.deepEqual([found.bytes, found.params, found.format, warnings], [2 * SMALL_PARAMS, SMALL_PARAMS, "bf16", []]);
    assert.equal(job.infer?.weights ?? "bf16", "bf16");
  }
});
test("all files together are read up to 64 MiB", () => {
  const text = `${" ".repeat(1000)}{"weight_map":{}}`.padEnd(20 * 2 ** 20), many = Array.from({ length: 40 }, (_, i) => file(`m${i}.json`, text));
  const { errors } = importFiles(many);
  assert.deepEqual(errors.map(({ code, path, args }) => [code, path, args]).at(-1), ["file_header_too_long", "m3.json", { max_bytes: 2 ** 26 }]);
});

test("UTF-16 is told, and a byte order mark of UTF-8 is let pass", () => {
  const text = JSON.stringify(LLAMA), little = Buffer.from(text, "utf16le");
  for (const bytes of [little, Buffer.from(little).swap16(), Buffer.concat([Buffer.from([0xff, 0xfe]), little])]) {
    const [fault] = importFiles([file("config.json", bytes)]).errors;
    assert.deepEqual([fault.code, fault.args.looks], ["file_unknown", "utf16"]);
  }
  assert.equal(importFiles([file("config.json", Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from(text)]))]).import.computed_params, BYTES / 2);
});

test("prediction modules and parts that are not counted are told beside the count", () => {
  const qwen = { model_type: "qwen3_next", hidden_size: 64, num_hidden_layers: 4, num_attention_heads: 4, num_key_value_heads: 2, head_dim: 16, vocab_size: 256,
    num_experts: 4, num_experts_per_tok: 2, moe_intermediate_size: 32, shared_expert_intermediate_size: 32 };
  assert.ok(importFiles([config(qwen)]).import.prediction_params > 0);
  assert.match(both([config(qwen)]).imported.stdout, /more in multi-token prediction modules, which are not counted above/);
  const tower = { model_type: "llava", text_config: LLAMA, vision_config: { model_type: "clip_vision_model", hidden_size: 1024 } };
  assert.deepEqual(rows(importFiles([config(tower)]).warnings), ["structure_incomplete model"]);
  assert.match(both([config(tower)]).imported.stdout, /structure is not published are not counted/);
});

test("a tower that leaves a size to its class is not counted, and says so", () => {
  const vision = { depth: 2, hidden_size: 64, intermediate_size: 128, patch_size: 16, num_position_embeddings: 16, out_hidden_size: 4096 };
  const qwen = (vision_config) => importFiles([config({ model_type: "qwen3_vl", text_config: { ...LLAMA, model_type: "qwen3_vl_text" }, vision_config })]);
  const counted = qwen(vision).import.computed_params, alone = qwen(undefined).import.computed_params;
  assert.ok(counted > alone);
  for (const key of ["depth", "hidden_size", "intermediate_size"]) {
    const report = qwen({ ...vision, [key]: undefined });
    assert.deepEqual([report.import.computed_params, rows(report.warnings)], [alone, ["structure_incomplete model"]], key);
    assert.deepEqual(rows(qwen({ ...vision, [key]: 0 }).errors), [`out_of_range config.json: vision_config.${key}`]);
  }
});

test("sizes under a kibibyte are spelt out", () => {
  assert.match(both([index(total("5"))]).imported.stdout, /^5 bytes of weights/m);
});
