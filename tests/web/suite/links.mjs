/** Plan links: they hold the whole job, and a damaged one loses only what is damaged. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { follow, hashOf, settled, textOf, verdictOf, withPage } from "../support/browser.mjs";
import { examples, linkOf, plan, words } from "../support/planner.mjs";

const jobs = examples.flatMap((example) => example.variants.map((variant) => [`${example.id}/${variant.id}`, variant.job]));

test("opening a link restores the plan, and the address keeps it", async () => {
  await withPage({ page: `index.html#${linkOf(jobs[3][1])}` }, async (page) => {
    for (const [name, job] of [jobs[3], ...jobs.slice(1)]) {
      const link = linkOf(job);
      await follow(page, link);
      await page.reload();
      await settled(page);
      const report = plan(job);
      assert.equal(await verdictOf(page), report.verdict, name);
      assert.equal(await page.evaluate(() => location.hash), `#${link}`, name);
      assert.equal(report.link, link, name);
      assert.equal(await page.locator(".problems").count(), 0, name);
    }
  });
});

test("a link pasted into an open page is followed, and Back returns", async () => {
  const job = jobs[3][1];
  await withPage({}, async (page) => {
    const start = await hashOf(page);
    await follow(page, linkOf(job));
    await page.waitForFunction((verdict) => document.querySelector("[data-verdict]").dataset.verdict === verdict
      && document.getElementById("sentence-task").value === "infer", plan(job).verdict);
    await page.goBack();
    await settled(page);
    assert.equal(await hashOf(page), start);
    assert.equal(await page.inputValue("#sentence-task"), "qlora");
  });
});

test("a link cut in half keeps what is readable and says what is wrong", async () => {
  const link = linkOf(examples[0].variants[0].job);
  await withPage({ page: `index.html#${link}&seq=%4` }, async (page) => {
    assert.equal(await page.inputValue("#sentence-model"), "meta-llama/Llama-2-7b-hf");
    assert.equal(await page.locator(".problems-link li").count(), 1);
    assert.ok((await textOf(page, ".problems-link")).length > 10);
  });
});

test("a link of a newer version is read as far as it goes", async () => {
  const link = linkOf(examples[0].variants[0].job).replace("v=1", "v=2");
  await withPage({ page: `index.html#${link}&shiny=new` }, async (page) => {
    assert.equal(await page.inputValue("#sentence-model"), "meta-llama/Llama-2-7b-hf");
    assert.match(await textOf(page, ".problems-link"), /version 2/);
  });
});

test("a link with a value that cannot be planned shows the rest, with the error at its field", async () => {
  const job = structuredClone(examples[0].variants[0].job);
  job.train.micro_batch = 0;
  await withPage({ page: `index.html#${linkOf(job)}` }, async (page) => {
    assert.match(await textOf(page, "#sentence-train-micro_batch-error"), /1 to/);
    assert.equal(await page.inputValue("#sentence-train-micro_batch"), "0");
    assert.equal(await page.locator(".verdict.is-stale").count(), 1);
    assert.ok((await textOf(page, "#verdict .eyebrow")).includes(words.en["verdict.readable"].split("{")[0].trim()));
  });
});

test("a link whose model is not known shows no answer of another job", async () => {
  await withPage({ page: "index.html#v=1&task=full&model=nope-zz&gpu=H100" }, async (page) => {
    assert.equal(await verdictOf(page), "none");
    assert.equal(await page.title(), words.en["top.title.none"]);
    for (const part of ["#bars", "#ledgers", ".columns", ".tabs", "#notes"]) assert.equal(await page.locator(part).isVisible(), false, part);
    assert.ok((await textOf(page, "#sentence-model-error")).includes("nope-zz"));
    await follow(page, "v=1&task=full&model=gpt2&gpu=H100");
    assert.equal(await verdictOf(page), "fits");
    assert.match(await page.title(), /gpt2/);
    assert.equal(await page.locator("#bars").isVisible(), true);
  });
});

test("a model without a name is called by its size", async () => {
  const job = { task: "infer", model: { layers: 2, hidden: 256, heads: 4, vocab: 1000 }, hardware: { gpu: "H100" } };
  await withPage({ page: `index.html#${linkOf(job)}` }, async (page) => {
    assert.match(await page.title(), /^gpuplan: \d[\d.]* M on 1 × H100/);
  });
});

test("a page is shown for whatever stands in the address", async () => {
  const hashes = ["v=1", "nonsense", "v=1&task=qlora", `v=1&model=${"x".repeat(3000)}`, "%", "v=1&task=qlora&model=%ff%fe", "v=99999999999999999999"];
  await withPage({ page: "index.html#" }, async (page) => {
    for (const hash of hashes) {
      await follow(page, hash);
      assert.ok(["fits", "tight", "no", "none"].includes(await verdictOf(page)), hash.slice(0, 40));
      assert.equal(await page.locator(".problems, .field-error:not([hidden])").count() > 0, hash !== "v=1", hash);
      assert.match(await page.evaluate(() => location.hash), /^#v=\d+/, hash.slice(0, 40));
    }
  });
});

test("the share box gives the link and the code that embeds it", async () => {
  await withPage({}, async (page) => {
    await page.click("#share-button");
    assert.equal(await page.inputValue("#share-link"), await page.evaluate(() => location.href));
    assert.match(await page.inputValue("#share-embed"), /^<iframe src="http.*embed\.html#v=1&/);
    await page.click("#share-box [data-action=copy]");
    await page.keyboard.press("Escape");
    assert.equal(await page.locator("#share-box").isVisible(), false);
    assert.equal(await page.evaluate(() => document.activeElement.id), "share-button");
  });
});
