/** Bad input is an answer, never a crash, and never takes long. */
import test from "node:test";
import assert from "node:assert/strict";
import { answerTexts, planRequest } from "../support/engine.mjs";
import { codesOf } from "../support/report.mjs";

const JOB = {
  task: "full", model: "meta-llama/Llama-3.1-8B", hardware: { gpu: "H100 SXM5 80GB", count: 8 },
  train: { seq_len: 4096, micro_batch: 1, global_batch: 256, zero: "auto" },
};
const REQUEST = JSON.stringify(planRequest(JOB));
const answer = (text) => JSON.parse(answerTexts([text])[0]);
const withText = (from, to) => REQUEST.replace(from, to);

/** Asserts one error of a code (at a path), and that nothing but errors is in the report. */
function refuses(text, code, path) {
  const report = answer(text);
  const error = report.errors?.find((one) => one.code === code);
  assert.ok(error, `no ${code} in ${JSON.stringify(report).slice(0, 400)}`);
  if (path !== undefined) assert.equal(error.path, path);
  for (const key of ["verdict", "memory", "binding", "advice"]) assert.equal(report[key], undefined);
  return error;
}

test("numbers that are none", () => {
  refuses(withText("4096", "1e999"), "not_finite", "train.seq_len");
  refuses(withText("4096", "-1e999"), "not_finite");
  for (const word of ["NaN", "Infinity", "-Infinity", "nan", "0x10", "1_000", "+1", ".5", "01"]) {
    refuses(withText("4096", word), "invalid_json");
  }
});

test("numbers at the edge of what a double holds", () => {
  for (const number of ["1e308", "9007199254740993", "-1", "0", "4096.5", "1e-300", "-0"]) {
    const report = answer(withText("4096", number));
    assert.ok(report.errors.length >= 1 && report.errors.every((error) => error.path === "train.seq_len"), number);
  }
});

test("the same key twice", () => {
  refuses(withText('"seq_len":4096', '"seq_len":4096,"seq_len":8192'), "duplicate_key", "train.seq_len");
  refuses(withText('"op":"plan"', '"op":"plan","op":"plan"'), "duplicate_key");
});

test("text after the request", () => {
  for (const tail of [" x", "{}", " {", ",", "]", "\u0000"]) assert.ok(answer(REQUEST + tail).errors.length >= 1, tail);
  refuses(`${REQUEST} true`, "trailing_text");
  assert.equal(answer(`  ${REQUEST}  \t `).errors, undefined);
});

test("something else than an object", () => {
  for (const text of ["[]", "1", '"plan"', "null", "true", '"é"']) refuses(text, "not_an_object");
});

test("deep nesting, as text and inside the job", () => {
  for (const depth of [33, 100, 100000]) {
    refuses("[".repeat(depth) + "]".repeat(depth), "nested_too_deeply");
    refuses(withText("4096", '{"a":'.repeat(depth) + "1" + "}".repeat(depth)), "nested_too_deeply");
  }
});

test("10 MB of anything is refused by its length", () => {
  for (const filler of ["[", " ", "a", '{"a":', '"', "\\"]) {
    const text = `{"x":${filler.repeat(Math.ceil(1e7 / filler.length))}`;
    assert.equal(refuses(text, "request_too_long").args.max_bytes, 1048576);
  }
});

test("a long request within the limit is answered", () => {
  const spaces = " ".repeat(2 ** 20 - REQUEST.length - 8);
  assert.equal(answer(REQUEST.replace('"job"', `${spaces}"job"`)).errors, undefined);
});

test("100,000 keys are answered, not chewed on", () => {
  const keys = Array.from({ length: 60000 }, (_, index) => `"k${index}":1`).join(",");
  const report = answer(`{"gpuplan":1,"op":"plan","job":{${keys}}}`);
  assert.ok(report.errors.length >= 1);
});

test("bytes that are not UTF-8", () => {
  const place = REQUEST.indexOf("Llama");
  for (const bytes of [[0xff], [0xc3], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0xf5, 0x80, 0x80, 0x80], [0xe2, 0x82]]) {
    const text = Buffer.concat([Buffer.from(REQUEST.slice(0, place)), Buffer.from(bytes), Buffer.from(REQUEST.slice(place))]);
    refuses(text, "invalid_utf8");
  }
});

test("NUL inside, raw and escaped", () => {
  for (const place of [0, 1, REQUEST.indexOf("Llama"), REQUEST.length]) {
    const report = answer(`${REQUEST.slice(0, place)}\u0000${REQUEST.slice(place)}`);
    assert.ok(report.errors.length >= 1, `at ${place}`);
  }
  assert.ok(answer(withText("meta-llama", "meta\\u0000llama")).errors.length >= 1);
});

test("escapes that are none, and lone surrogates", () => {
  for (const wrong of ["\\x41", "\\u12", "\\ud800", "\\udc00x", "\\q", "\t", "\u0001"]) {
    assert.ok(answer(withText("meta-llama", wrong)).errors.length >= 1, wrong);
  }
});

test("names that look like something else", () => {
  const names = ["", " ", "\u202e8B", "<script>alert(1)</script>", "../../etc/passwd", "%s%n", "'; drop", "a".repeat(5000),
    "模型", "\ud83e\udd99".repeat(60)];
  for (const name of names) {
    const report = answer(JSON.stringify(planRequest({ ...JOB, model: name })));
    const [error] = report.errors;
    assert.ok(["unknown_model", "text_too_long", "missing"].includes(error.code), JSON.stringify(error));
    assert.equal(error.path, "model");
  }
});

test("every prefix of a request is an error, and only the whole is a plan", () => {
  const prefixes = Array.from(REQUEST, (_, length) => REQUEST.slice(0, length)).filter((text) => text.trim());
  for (const [index, text] of answerTexts(prefixes).entries()) {
    const report = JSON.parse(text);
    assert.ok(codesOf(report.errors).length >= 1, prefixes[index]);
  }
});

test("a request with one character taken out, doubled or changed never stops the program", () => {
  const changed = Array.from(REQUEST, (letter, place) => {
    const [before, after] = [REQUEST.slice(0, place), REQUEST.slice(place + 1)];
    return [before + after, before + letter + letter + after, `${before}}${after}`, `${before}"${after}`];
  }).flat();
  for (const [index, text] of answerTexts(changed).entries()) {
    const report = JSON.parse(text);
    assert.ok(report.verdict || report.errors.length >= 1, changed[index]);
  }
});

test("a report is one line of valid JSON whatever was asked", () => {
  const texts = ['{"op":"plan"}', '{"op":"nothing"}', '{"gpuplan":2}', '{"op":5}', '{"gpuplan":"1","op":"plan"}',
    '{"op":"link"}', '{"op":"link","link":5}', '{"op":"catalog"}', '{"op":"catalog","kind":"cars"}',
    '{"op":"explain","id":"nothing"}', '{"op":"plan","job":{},"link":"#v=1"}', '{"op":"plan","detail":"long","job":{}}'];
  for (const [index, text] of answerTexts(texts).entries()) {
    assert.ok(JSON.parse(text).errors.length >= 1, texts[index]);
  }
});

test("experts spread over other than the GPUs of a stage", () => {
  const serve = (count, ep) => JSON.stringify(planRequest({ task: "infer", model: "mixtral-8x7b", hardware: { gpu: "H100", count }, infer: { ep } }));
  const train = (settings) => JSON.stringify(planRequest({ ...JOB, model: "mixtral-8x7b", train: settings }));
  assert.deepEqual(refuses(serve(1, 7), "experts_mismatch", "infer.ep").args, { ep: 7, gpus: 1 });
  assert.deepEqual(refuses(serve(8, 64), "experts_mismatch", "infer.ep").args, { ep: 64, gpus: 8 });
  assert.deepEqual(refuses(train({ pp: 2, ep: 8 }), "experts_mismatch", "train.ep").args, { ep: 8, gpus: 4 });
  refuses(train({ ep: 3, tp: 5 }), "experts_mismatch", "train.ep");
  for (const fine of [serve(8, 8), serve(8, 0), train({ ep: 8 }), train({ pp: 2, ep: 4 })]) {
    const report = answer(fine);
    assert.equal(report.errors, undefined, fine);
    // A server's experts take as much of each GPU whether they are split or spread, and all-to-alls are not timed.
    const isServing = fine.includes('"infer"');
    assert.equal(report.assumptions.some((row) => row.code === "not_modelled"), isServing, fine);
  }
  const dense = answer(JSON.stringify(planRequest({ ...JOB, train: { ep: 8 } })));
  assert.ok(dense.assumptions.some((row) => row.code === "not_modelled" && row.path === "train.ep"));
});

test("experts in layers that are not there", () => {
  const moe = (where) => JSON.stringify(planRequest({ ...JOB, train: {}, model: { layers: 4, hidden: 64, heads: 4, moe: { experts: 4, topk: 2, ffn: 64, ...where } } }));
  for (const [frequency, described] of [["([0]*3+[1]*2)", 5], ["[0,1]", 2], ["every", 0], [[0, 1], 2], [0, 0], [true, 0]]) {
    assert.equal(refuses(moe({ layer_freq: frequency }), "inconsistent_model", "model.moe.layer_freq").args.value, described);
  }
  refuses(moe({ dense_layers: 4 }), "inconsistent_model", "model.moe.dense_layers");
  refuses(moe({ interleave: 5 }), "inconsistent_model", "model.moe.interleave");
  for (const fine of [{ layer_freq: "([0]*3+[1]*1)" }, { layer_freq: [0, 1, 1, 1] }, { layer_freq: 2 }, { dense_layers: 3 }, { interleave: 4 }]) {
    assert.equal(answer(moe(fine)).errors, undefined, JSON.stringify(fine));
  }
});

test("what a GPU of one's own is like is checked beside its numbers", () => {
  const text = JSON.stringify(planRequest({ ...JOB, hardware: { gpu: { name: "x", memory_gib: -5, like: "H1000" } } }));
  refuses(text, "out_of_range", "hardware.gpu.memory_gib");
  assert.equal(refuses(text, "unknown_gpu", "hardware.gpu.like").args.nearest, "H100 SXM5 80GB");
});
