/** Published identities: parameter counts, KV-cache bytes, bits per weight, the ZeRO table, the pipeline bubble. */
import { readFileSync } from "node:fs";
import path from "node:path";
import test, { describe } from "node:test";
import assert from "node:assert/strict";
import { ROOT, planAll } from "../support/engine.mjs";
import { itemBytes, stateBytes } from "../support/report.mjs";

const DATA = JSON.parse(readFileSync(path.join(ROOT, "tests/data/identities.json"), "utf8"));
const GPU = { gpu: "B200 SXM 180GB", count: 1 };

/** Plans one job for each row and tests each answer on its own. */
function eachRow(group, nameOf, jobOf, check) {
  describe(group, () => {
    const { rows } = DATA[group];
    const reports = planAll(rows.map(jobOf));
    for (const [index, row] of rows.entries()) {
      test(nameOf(row), () => {
        assert.equal(reports[index].errors, undefined);
        check(reports[index], row);
      });
    }
  });
}

eachRow("parameters", (row) => row.model.name,
  ({ model }) => ({ task: "infer", model, hardware: GPU }),
  (report, { params }) => assert.equal(report.params.total, params));

eachRow("kvCache", (row) => `${row.model.name}, ${row.tokens} tokens, ${row.kv}`,
  ({ model, tokens, kv }) => ({ task: "infer", model, hardware: GPU, infer: { engine: "transformers", context: tokens, kv } }),
  (report, { bytes, tokens }) => {
    assert.equal(report.kv.bytes_per_token, bytes / tokens);
    assert.equal(report.kv.bytes, bytes);
    assert.equal(itemBytes(report, "kv_cache"), bytes);
  });

test("OPT-13B keeps 819,200 bytes a token", () => {
  const [report] = planAll([{ task: "infer", model: "facebook/opt-13b", hardware: GPU }]);
  assert.equal(report.kv.bytes_per_token, 2 * 40 * 5120 * 2);
});

// Llama-2-7B: what the packed layers hold is found from the whole, less embedding, head and norms in 16 bits.
const LINEAR = 32 * (4 * 4096 * 4096 + 3 * 4096 * 11008);
const OTHER = 6738415616 - LINEAR;
eachRow("bitsPerWeight", (row) => row.format,
  ({ format }) => ({ task: "infer", model: "meta-llama/Llama-2-7b-hf", hardware: GPU, infer: { weights: format } }),
  (report, { format, bits }) => {
    const weights = itemBytes(report, "weights");
    if (format.startsWith("gguf:")) {
      // A whole file: its tables may use another block, so the average is near the block's.
      const average = (weights * 8) / 6738415616;
      assert.ok(Math.abs(average - bits) / bits < 0.03, `${average} bits`);
    } else {
      const found = ((weights - OTHER * 2) * 8) / LINEAR;
      assert.ok(Math.abs(found - bits) < 0.0005, `${found} bits`);
    }
  });

test("double quantisation saves 0.373 bits", () => {
  const [plain, doubled] = planAll(["nf4", "nf4-dq"].map((quant) => ({
    task: "qlora", model: "meta-llama/Llama-2-7b-hf", hardware: GPU, train: { quant },
  }))).map((report) => itemBytes(report, "weights"));
  assert.ok(Math.abs(((plain - doubled) * 8) / LINEAR - (0.5 - 8 / 64 - 32 / (64 * 256))) < 1e-6);
});

describe("zero", () => {
  for (const { params, gpus, printed_gb: printed } of DATA.zero.rows) {
    test(`${params / 1e9}B on ${gpus} GPUs`, () => {
      const reports = planAll([0, 1, 2, 3].map((zero) => ({
        task: "full", ledger: "textbook", model: { params, layers: 48, hidden: 6144, heads: 48 },
        hardware: { gpu: "A100 SXM4 80GB", count: gpus }, train: { zero, tp: 1, micro_batch: 1, recompute: "full" },
      })));
      const exact = [16 * params, 4 * params + (12 * params) / gpus, 2 * params + (14 * params) / gpus, (16 * params) / gpus];
      for (const [zero, report] of reports.entries()) {
        // The four states are each rounded up to a byte.
        assert.ok(Math.abs(stateBytes(report) - exact[zero]) <= 4, `ZeRO-${zero}: ${stateBytes(report)}`);
        assert.ok(Math.abs(exact[zero] / 1e9 / printed[zero] - 1) < 0.01, `${exact[zero] / 1e9} printed as ${printed[zero]}`);
      }
    });
  }
});

eachRow("bubble", (row) => `${row.pp} stages, ${row.micro_batches} micro-batches, ${row.vpp} chunks`,
  ({ pp, micro_batches: steps, vpp }) => ({
    task: "pretrain", ledger: "textbook", model: { params: 530e9, layers: 3 * pp, hidden: 20480, heads: 128 },
    hardware: { gpu: "A100 SXM4 80GB", count: pp }, train: { tp: 1, pp, vpp, grad_accum: steps, micro_batch: 1, zero: 0 },
  }),
  (report, { ratio }) => {
    // The report gives the share of the whole step; the paper compares with the time without a bubble.
    const { bubble } = report.time;
    assert.ok(Math.abs(bubble / (1 - bubble) / ratio - 1) < 1e-6, `${bubble}`);
  });
