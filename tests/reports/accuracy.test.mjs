/** How far off the predictions are may not get worse unseen, and what is written of it is what is so. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { PAGE, README, pageOf, readmeOf, scores } from "./accuracy.mjs";

const all = scores();
const quantity = (id) => all.quantities.find((each) => each.id === id);

/** Upper bounds of median and 90th percentile; they are only ever lowered. */
const BOUNDS = {
  train_memory: [0.093, 0.345],
};

for (const [id, [median, p90]] of Object.entries(BOUNDS)) {
  test(`${id}: median within ${100 * median} %, nine of ten within ${100 * p90} %`, () => {
    const figures = quantity(id);
    assert.ok(figures.median <= median, `median ${figures.median}`);
    assert.ok(figures.p90 <= p90, `p90 ${figures.p90}`);
  });
}

test("docs/accuracy.md and README.md say what `gpuplan score` says now: `make accuracy` renews them", () => {
  assert.equal(readFileSync(PAGE, "utf8"), pageOf(all));
  const readme = readFileSync(README, "utf8");
  assert.equal(readme, readmeOf(readme, all));
});
