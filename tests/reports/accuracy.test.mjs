/** How far off the predictions are may not get worse unseen, and what is written of it is what is so. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { PAGE, README, pageOf, readmeOf, scores } from "./accuracy.mjs";

const all = scores();
const quantity = (id) => all.quantities.find((each) => each.id === id);

/** Upper bounds of median and 90th percentile; they are only ever lowered. */
const BOUNDS = {
  train_memory: [0.035, 0.175],
  weights: [0.01, 0.72],
  weights_of_copy: [0.002, 0.071],
  kv_pool: [0.05, 2.9],
  compute_buffer: [0.001, 0.037],
  serve_memory: [0.035, 0.3],
  decode_speed: [0.074, 0.245],
  time_per_token: [0.118, 0.59],
  throughput: [0.24, 0.96],
  prefill_speed: [0.11, 0.39],
};
/** The same for the median of a group of training memory. */
const GROUPS = { "fsdp-qlora": 0.046, liger: 0.06, litgpt: 0.03, "megatron-lm-ci": 0.06, "simumax-b200": 0.003, torchao: 0.081, torchtitan: 0.031 };

for (const [id, [median, p90]] of Object.entries(BOUNDS)) {
  test(`${id}: median within ${100 * median} %, nine of ten within ${100 * p90} %`, () => {
    const figures = quantity(id);
    assert.ok(figures.median <= median, `median ${figures.median}`);
    assert.ok(figures.p90 <= p90, `p90 ${figures.p90}`);
  });
}

test("training memory: the median of each group", () => {
  const found = Object.fromEntries(quantity("train_memory").groups.map(({ name, median }) => [name, median]));
  assert.deepEqual(Object.keys(found), Object.keys(GROUPS));
  for (const [name, bound] of Object.entries(GROUPS)) assert.ok(found[name] <= bound, `${name}: ${found[name]}`);
});

test("training memory: the 90 % range holds nine of ten, and no more than that", () => {
  const { coverage } = quantity("train_memory");
  assert.ok(coverage >= 0.85 && coverage <= 0.95, `${coverage}`);
});

test("serving: the 90 % range of speeds holds nine of ten, and no more than that", () => {
  for (const id of ["decode_speed", "time_per_token"]) {
    const { coverage } = quantity(id);
    assert.ok(coverage >= 0.85 && coverage <= 0.95, `${id}: ${coverage}`);
  }
});

test("serving: jobs that ran are not called too large, and jobs that ran out of memory are mostly called so", () => {
  const { ran, oom } = all.verdicts.serving;
  const sum = (said) => said.fits + said.tight + said.no;
  assert.ok(ran.no <= 0.01 * sum(ran), `${ran.no} of ${sum(ran)}`);
  assert.ok(oom.no + oom.tight >= 0.95 * sum(oom), `${oom.no + oom.tight} of ${sum(oom)}`);
});

test("jobs that ran are not called too large, and jobs that ran out of memory are not called fitting", () => {
  const { ran, oom } = all.verdicts.training;
  const sum = (said) => said.fits + said.tight + said.no + said.none;
  assert.ok(ran.no <= 0.03 * sum(ran), `${ran.no} of ${sum(ran)}`);
  assert.ok(oom.no + oom.tight >= 0.8 * sum(oom), `${oom.no + oom.tight} of ${sum(oom)}`);
});

test("docs/accuracy.md and README.md say what `gpuplan score` says now: `make accuracy` renews them", () => {
  assert.equal(readFileSync(PAGE, "utf8"), pageOf(all));
  const readme = readFileSync(README, "utf8");
  assert.equal(readme, readmeOf(readme, all));
});
