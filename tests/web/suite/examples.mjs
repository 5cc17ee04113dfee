/** The worked examples teach what they say they teach. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { settled, textOf, verdictOf, withPage } from "../support/browser.mjs";
import { examples, gib, linkOf, plan, words } from "../support/planner.mjs";

const job = (id, variant) => examples.find((row) => row.id === id).variants.find((row) => row.id === variant).job;
const verdict = (id, variant) => plan(job(id, variant)).verdict;

test("7B on 24 GB: QLoRA fits, full fine-tuning does not", () => {
  assert.equal(verdict("7b-on-24gb", "qlora"), "fits");
  assert.equal(verdict("7b-on-24gb", "full"), "no");
  const textbook = plan({ ...job("7b-on-24gb", "full"), ledger: "textbook" });
  assert.ok(textbook.memory.peak_bytes > 16 * 6.7e9, "16 bytes for each parameter");
});

test("70B on 8 × 80 GB: serving and LoRA with ZeRO-3 fit, full fine-tuning only with lean states", () => {
  assert.equal(verdict("70b-on-8x80gb", "serve"), "fits");
  assert.notEqual(verdict("70b-on-8x80gb", "lora"), "no");
  assert.equal(verdict("70b-on-8x80gb", "full"), "no");
  assert.notEqual(verdict("70b-on-8x80gb", "lean"), "no");
});

test("100K tokens: the cache follows the KV heads", () => {
  const cache = (variant) => plan(job("100k-context", variant)).kv.bytes;
  const perToken = (variant) => plan(job("100k-context", variant)).kv.bytes_per_token;
  assert.equal(perToken("mha"), 524288);
  assert.equal(perToken("gqa"), 524288 / 4);
  assert.equal(perToken("mqa"), 16384);
  assert.equal(perToken("mla"), 32 * (512 + 64) * 2);
  assert.equal(perToken("mha-fp8"), 524288 / 2);
  assert.ok(cache("mha") / cache("gqa") > 3.9 && cache("mha") / cache("gqa") < 4.1);
});

/** Both ledgers are shown for one plan: what the first has solved is given to the second. */
function fixed(given, solved) {
  const branch = given.task === "infer" ? "infer" : "train";
  return { ...given, [branch]: { ...given[branch], ...solved } };
}

for (const lang of ["en", "zh-Hans"]) {
  test(`${lang}: each is one press away, with its lesson and both ledgers`, async () => {
    await withPage({ page: `index.html?lang=${lang}` }, async (page) => {
      for (const example of examples) {
        await page.click(`.examples-row [data-example="${example.id}"]`);
        await settled(page);
        for (const variant of example.variants) {
          await page.click(`.lesson [data-variant="${variant.id}"]`);
          await settled(page);
          const report = plan(variant.job);
          assert.equal(await verdictOf(page), report.verdict, variant.id);
          assert.equal(await page.getAttribute(`.lesson [data-variant="${variant.id}"]`, "aria-pressed"), "true");
          assert.equal(await textOf(page, ".lesson p"), words[lang][`example.${example.id}.lesson`]);
          const other = plan({ ...fixed(variant.job, report.solved), ledger: "textbook" });
          if (lang === "en") assert.ok((await textOf(page, "#ledgers")).includes(gib(other.memory.peak_bytes)), variant.id);
        }
      }
    });
  });
}

test("a job that came by a link has no lesson of an example, and where nothing fits no value is the largest", async () => {
  const linked = { task: "infer", model: "meta-llama/Llama-2-13b-hf", hardware: { gpu: "RTX 4090" }, infer: { context: "max" } };
  await withPage({ page: `index.html?lang=en#${linkOf(linked)}` }, async (page) => {
    await page.waitForSelector('[data-verdict="no"]');
    assert.equal(await page.locator(".lesson").count(), 0);
    const reasons = await textOf(page, "#verdict");
    assert.match(reasons, /Not even a context of 1 fits\./);
    assert.doesNotMatch(reasons, /1 does not\./);
  });
});
