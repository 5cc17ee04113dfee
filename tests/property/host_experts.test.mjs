/** Experts that llama.cpp keeps in host memory, layer by layer. */
import test from "node:test";
import assert from "node:assert/strict";
import { planAll } from "../support/engine.mjs";

const job = (engine, infer, hardware, model) => ({ task: "infer", model, hardware, infer: { engine, prompt: 1024, output: 256, concurrency: 1, ...infer } });

test("experts of the first so many layers on the host: as much memory as they leave, the slower the more", () => {
  const model = "Qwen/Qwen3-235B-A22B", infer = { weights: "gguf:Q4_K_M", context: 8192 };
  const plans = planAll([0, 20, 57, 94, 500].map((host_expert_layers) => job("llama.cpp", { ...infer, host_expert_layers }, { gpu: "B200", count: 1 }, model)));
  const [none, , , all, beyond] = plans, [whole] = planAll([job("llama.cpp", { ...infer, experts_on_host: true }, { gpu: "B200", count: 1 }, model)]);
  const { weights: { device_bytes: before, host_bytes: table } } = none.memory;
  plans.forEach(({ memory: { weights } }) => assert.ok(Math.abs(weights.device_bytes + weights.host_bytes - before - table) <= 2));
  plans.slice(1, 4).forEach(({ memory, time }, i) => {
    assert.ok(memory.weights.device_bytes < plans[i].memory.weights.device_bytes && time.decode_tok_s < plans[i].time.decode_tok_s);
  });
  for (const other of [beyond, whole]) assert.deepEqual([other.memory.peak_bytes, other.time.decode_tok_s], [all.memory.peak_bytes, all.time.decode_tok_s]);
});

test("a model of experts that does not fit is told how many layers' experts to leave on the host, and one with room how few", () => {
  const model = "Qwen/Qwen3-235B-A22B", infer = { weights: "gguf:Q4_K_M", context: 8192 }, gpu = { gpu: "RTX 5090", count: 1 };
  const [plain, ik] = planAll([job("llama.cpp", infer, gpu, model), job("ik_llama.cpp", infer, gpu, model)]);
  const [down, up] = [plain.advice.find(({ id }) => id === "experts_on_host"), ik.advice.find(({ id }) => id === "experts_on_device")];
  assert.deepEqual([plain.verdict, down.verdict_after, ik.verdict, up.verdict_after], ["no", "fits", "fits", "fits"]);
  assert.deepEqual([down.from, up.from], [{ "infer.host_expert_layers": 0 }, { "infer.host_expert_layers": 94 }]);
  const few = down.set["infer.host_expert_layers"];
  const [after, fewer] = planAll([few, few - 3].map((host_expert_layers) => job("llama.cpp", { ...infer, host_expert_layers }, gpu, model)));
  assert.deepEqual([after.verdict, fewer.verdict], ["fits", "no"]);
  assert.ok(up.peak_bytes_after > 0.85 * ik.memory.usable_bytes && after.memory.peak_bytes === down.peak_bytes_after);
});

test("rules of tensor names place the experts that they name, the first that names one", () => {
  const model = "Qwen/Qwen3-235B-A22B", infer = { weights: "gguf:Q4_K_M", context: 8192 }, gpu = { gpu: "B200", count: 1 };
  const serve = (more) => job("llama.cpp", { ...infer, ...more }, gpu, model);
  const rules = ["exps=CPU", String.raw`blk\.[0-9]*\.ffn_(gate|up|down)_exps\.weight$=CPU`, String.raw`^blk\.\d+\.ffn_.+exps=CPU_REPACK`, "output=CUDA0,ffn_.*_(?:exps|x)=CPU",
    String.raw`blk\.(9[0-3]|[1-8][0-9]|[2-9])\.ffn=CPU,exps=CUDA0`, String.raw`blk\.[01]\.=CUDA0,exps=CPU`, "exps=CUDA0,exps=CPU", "ffn_(up|down)_exps=CPU", "attn=CPU", "(((((.*)*)*)*)*)*x=CPU",
    `${"b*".repeat(70)}Q=CPU`, `${"(".repeat(70)}Q${")".repeat(70)}=CPU`, "Q=CPU,".repeat(25), "[=CPU", "a\\\\", `${"(a|b)?".repeat(24)}Q=CPU`];
  const [all, most, none, ...placed] = planAll([{ experts_on_host: true }, { host_expert_layers: 92 }, {}, ...rules.map((override_tensors) => ({ override_tensors }))].map(serve));
  const device = ({ memory }) => memory.weights.device_bytes, experts = device(none) - device(all);
  for (const report of placed.slice(0, 4)) assert.deepEqual([device(report), report.time.decode_tok_s], [device(all), all.time.decode_tok_s]);
  // all but two layers, which differ in their types by little
  for (const report of placed.slice(4, 6)) assert.ok(Math.abs(device(report) / device(most) - 1) < 0.05, `${device(report)}`);
  assert.equal(device(placed[6]), device(none));
  assert.ok(Math.abs((device(none) - device(placed[7])) / experts - 2 / 3) < 0.01);
  const said = ({ assumptions }) => assumptions.filter(({ path, code }) => path === "infer.override_tensors" && code === "not_modelled").length;
  assert.deepEqual(placed.map(said), [...Array(8).fill(0), ...Array(8).fill(1)]);
});

test("the steps tell the weights on a device apart from all there are, wherever they lie", () => {
  for (const placed of [{}, { experts_on_host: true }, { host_expert_layers: 10 }, { gpu_layers: 20 }]) {
    const [report] = planAll([{ task: "infer", model: "Qwen/Qwen3-30B-A3B", hardware: { gpu: "RTX 4090" },
      infer: { engine: "llama.cpp", weights: "q8_0", context: 8192, ...placed } }]);
    const { device_bytes, host_bytes = 0 } = report.memory.weights, numbers = (id) => report.steps.find((step) => step.id === id).numbers;
    assert.ok(host_bytes > 0, JSON.stringify(placed));
    assert.equal(numbers("memory").gpu_weights_bytes, device_bytes);
    assert.equal(numbers("memory").weights_bytes, device_bytes + host_bytes);
    assert.equal(numbers("precision").weights_bytes, device_bytes + host_bytes);
  }
});
