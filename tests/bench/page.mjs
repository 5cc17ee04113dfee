// Prints how long an edit of the page keeps its script busy: typing into a field, planning, drawing numbers and chart.
import { closeAll, withPage } from "../web/support/browser.mjs";
import { examples, linkOf } from "../web/support/planner.mjs";

const WARM = 10, ROUNDS = 5, EDITS = 40;
/** A number of the sentence, by the task of the example. */
const fieldOf = ({ task }) => (task === "infer" ? "#sentence-infer-concurrency" : "#sentence-train-seq_len");

const edit = (page, selector, count) => page.evaluate(async ([field, edits]) => {
  const input = document.querySelector(field);
  for (let index = 0; index < edits; index++) {
    input.value = String(16 + 16 * index);
    input.dispatchEvent(new Event("input", { bubbles: true }));
    await new Promise((resolve) => { requestAnimationFrame(() => requestAnimationFrame(resolve)); });
  }
}, [selector, count]);

/** Milliseconds of script for one edit. */
async function measure(job) {
  let milliseconds = 0;
  await withPage({ page: `index.html?lang=en#${linkOf(job)}` }, async (page) => {
    await page.waitForSelector("#chart[data-state=drawn]");
    const session = await page.context().newCDPSession(page);
    // Time on the processor, which another program's load lengthens little; time on the wall would measure that load.
    await session.send("Performance.enable", { timeDomain: "threadTicks" });
    const scriptSeconds = async () => (await session.send("Performance.getMetrics")).metrics.find((row) => row.name === "ScriptDuration").value;
    await edit(page, fieldOf(job), WARM);
    const rounds = [];
    for (let round = 0; round < ROUNDS; round++) {
      const begun = await scriptSeconds();
      await edit(page, fieldOf(job), EDITS);
      rounds.push(1000 * (await scriptSeconds() - begun) / EDITS);
    }
    milliseconds = rounds.sort((a, b) => a - b)[ROUNDS >> 1];
  });
  return milliseconds;
}

console.log("script of one edit, ms");
for (const { id, variants } of examples) {
  for (const variant of variants) console.log((await measure(variant.job)).toFixed(1).padStart(6), `${id}/${variant.id}`);
}
await closeAll();
