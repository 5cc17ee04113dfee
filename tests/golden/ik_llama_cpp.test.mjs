/** What ik_llama.cpp prints when it loads DeepSeek-V3 with its experts in host memory:
 * github.com/ikawrakow/ik_llama.cpp, archived discussions 258 and 242, -mla 3 -fa -amb 512. */
import assert from "node:assert/strict";
import test from "node:test";
import { planAll } from "../support/engine.mjs";

const MIB = 2 ** 20;
const serve = (gpu, count, infer) => ({
  task: "infer", model: "deepseek-ai/DeepSeek-V3", hardware: { gpu, count },
  infer: { engine: "ik_llama.cpp", concurrency: 1, flash_attention: true, kv: "q8_0", ...infer },
});
const repacked = { gguf: "IQ4_K_R4", bits: 4.5 };
const [q8, named, long, short, file, pair] = planAll([
  serve("RTX 4090", 1, { weights: repacked, context: 32768, ubatch: 512 }),
  serve("RTX 4090", 1, { weights: "gguf:IQ4_K_R4", context: 65536, ubatch: 4096, batch_tokens: 4096 }),
  serve("RTX 6000 Ada", 1, { weights: repacked, context: 131072, ubatch: 1024 }),
  serve("RTX A6000", 1, { weights: repacked, context: 16384, ubatch: 512 }),
  serve("RTX 4090", 1, { weights: "gguf:Q4_K_M", context: 32768, ubatch: 512, kv: "fp16" }),
  serve("RTX 4090", 2, { weights: "gguf:Q4_K_M", context: 32768, ubatch: 512 }),
]);
const items = ({ memory }, id) => memory.stages.flatMap((stage) => stage.items.filter((item) => item.id === id));
const bytes = (report, id) => items(report, id).filter(({ phases }) => phases.length > 0).reduce((sum, item) => sum + item.bytes, 0);
const near = (found, mib, share) => assert.ok(Math.abs(found / MIB / mib - 1) < share, `${found / MIB} MiB, printed ${mib}`);

test("on the device: what is no expert in q8_0, both forms of the latent's second matrix, routers in 32 bits", () => {
  near(bytes(q8, "weights"), 17744.02, 0.002);
  near(bytes(named, "weights"), 17744.02, 0.002);
  near(bytes(file, "weights"), 9996.68, 0.01);
});

test("the compute buffer grows with the keys and values of the whole context, and the mask", () => {
  near(bytes(short, "workspace"), 2094, 0.005);
  near(bytes(q8, "workspace"), 3425, 0.005);
  near(bytes(long, "workspace"), 11718, 0.01);
  near(bytes(named, "workspace"), 7688, 0.04);
});

test("weights of a copy add up over GPUs and host, however many GPUs there are", () => {
  for (const report of [q8, file, pair]) assert.equal(report.memory.weights.device_bytes, bytes(report, "weights"));
  const whole = ({ memory: { weights } }) => weights.device_bytes + weights.host_bytes;
  near(whole(pair), whole(file) / MIB, 1e-6);
  near(file.memory.weights.host_bytes, 375732 + 497, 0.002); // of a file of 379.03 GiB
  assert.equal(pair.memory.host_bytes, pair.memory.weights.host_bytes);
  assert.ok(!items(file, "weights").some((item) => item.bytes > 300 * 2 ** 30), "experts are no row of the device's ledger");
});
