/** Changing the job: numbers follow at once, errors stand beside their field, Back undoes. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { hashOf, setField, settled, textOf, verdictOf, withPage } from "../support/browser.mjs";
import { examples, gib, plan, words } from "../support/planner.mjs";

const first = examples[0].variants[0].job;
const withTrain = (change) => ({ ...first, train: { ...first.train, ...change } });
const peakText = (job) => gib(plan(job).memory.peak_bytes);
const SEQ = "#sentence-train-seq_len";
const BATCH = "#sentence-train-micro_batch";

test("typing plans at once, without leaving the field", async () => {
  await withPage({}, async (page) => {
    await page.fill(SEQ, "1024");
    await settled(page);
    assert.ok((await textOf(page, "#verdict")).includes(peakText(withTrain({ seq_len: 1024 }))));
    assert.equal(await page.evaluate(() => document.activeElement.id), SEQ.slice(1));
  });
});

test("an error stands beside its field with the allowed range, and the last good answer stays", async () => {
  await withPage({}, async (page) => {
    const before = await textOf(page, ".verdict-number");
    await page.fill(SEQ, "0");
    await settled(page);
    const error = page.locator(`${SEQ}-error`);
    assert.match(await error.innerText(), /from 1 to 16,777,216, not 0/);
    assert.equal(await page.getAttribute(SEQ, "aria-invalid"), "true");
    assert.equal(await page.getAttribute(SEQ, "aria-describedby"), `${SEQ.slice(1)}-error`);
    assert.equal(await textOf(page, ".verdict-number"), before);
    assert.ok((await textOf(page, "#verdict .eyebrow")).includes(words.en["verdict.stale"].split("{")[0].trim()));
    assert.equal(await page.locator(".knob:enabled").count(), 0);
    const box = await error.boundingBox();
    const field = await page.locator(SEQ).boundingBox();
    assert.ok(box.y >= field.y && box.y - (field.y + field.height) < 16 && Math.abs(box.x - field.x) < 8, "beside the field");

    await page.fill(SEQ, "abc");
    await settled(page);
    assert.match(await error.innerText(), /number/);
    await page.fill(SEQ, "2,048");
    await settled(page);
    assert.equal(await error.isVisible(), false);
    assert.equal(await page.getAttribute(SEQ, "aria-invalid"), null);
    assert.equal(await page.locator(".is-stale").count(), 0);
  });
});

test("all errors of the job show at the same time; hidden fields are named in a summary that leads there", async () => {
  const job = { ...withTrain({ seq_len: 0, lora: { rank: 0 } }) };
  const link = await import("../support/planner.mjs").then(({ linkOf }) => linkOf(job));
  await withPage({ page: `index.html#${link}` }, async (page) => {
    assert.match(await textOf(page, `${SEQ}-error`), /1 to/);
    assert.match(await textOf(page, ".problems-errors"), /LoRA rank/i);
    await page.click(".problems-errors [data-action=goto]");
    await settled(page);
    assert.equal(await page.evaluate(() => document.activeElement.id), "setting-train-lora-rank");
    await settled(page);
    assert.match(await textOf(page, "#setting-train-lora-rank-error"), /1 to/);
    await setField(page, "#setting-train-lora-rank", "8");
    await setField(page, SEQ, "2048");
    assert.equal(await page.locator(".problems").count(), 0);
    assert.equal(await verdictOf(page), plan(withTrain({ seq_len: 2048, lora: { rank: 8 } })).verdict);
  });
});

test("Back and Forward undo and redo; typing a number is one step", async () => {
  await withPage({}, async (page) => {
    const start = await hashOf(page);
    await page.locator(SEQ).focus();
    await page.locator(SEQ).press("Control+a");
    await page.locator(SEQ).pressSequentially("4096");
    await page.locator(SEQ).press("Tab");
    await settled(page);
    const one = await hashOf(page);
    assert.notEqual(one, start);
    await setField(page, BATCH, "2");
    const two = await hashOf(page);

    await page.goBack();
    await settled(page);
    assert.equal(await hashOf(page), one);
    assert.equal(await page.inputValue(BATCH), "4");
    assert.ok((await textOf(page, "#verdict")).includes(peakText(withTrain({ seq_len: 4096 }))));
    await page.goBack();
    await settled(page);
    assert.equal(await hashOf(page), start);
    assert.equal(await page.inputValue(SEQ), "2,048");
    await page.goForward();
    await page.goForward();
    await settled(page);
    assert.equal(await hashOf(page), two);
    assert.equal(await page.inputValue(BATCH), "2");
  });
});

test("max shows the value found and the value that fails", async () => {
  await withPage({}, async (page) => {
    const report = plan(withTrain({ micro_batch: "max" }));
    const max = page.locator(`.number-field:has(${BATCH}) [data-mode=max]`);
    await max.click();
    await settled(page);
    assert.equal(await page.inputValue(BATCH), String(report.solved.micro_batch));
    assert.equal(await max.getAttribute("aria-pressed"), "true");
    assert.ok((await textOf(page, ".verdict-reason")).includes(String(report.fails_at.micro_batch)));
    assert.match(await hashOf(page), /max/);
    await max.click();
    await settled(page);
    assert.equal(await max.getAttribute("aria-pressed"), "false");
    assert.equal(await page.inputValue(BATCH), String(report.solved.micro_batch));
    assert.doesNotMatch(await hashOf(page), /max/);
  });
});

test("a knob applies with one press and does what it says", async () => {
  await withPage({}, async (page) => {
    const { advice } = plan(first);
    assert.ok(advice.length >= 3);
    for (let index = 0; index < advice.length; index++) {
      const start = await hashOf(page);
      await page.locator(".knob").nth(index).click();
      await settled(page);
      assert.equal(await verdictOf(page), advice[index].verdict_after, advice[index].id);
      assert.ok((await textOf(page, ".verdict-number")).includes(gib(advice[index].peak_bytes_after)), advice[index].id);
      await page.goBack();
      await settled(page);
      assert.equal(await hashOf(page), start);
    }
  });
});

test("the other ledger is shown beside this one, and can be taken", async () => {
  await withPage({}, async (page) => {
    const textbook = plan({ ...first, ledger: "textbook" });
    assert.ok((await textOf(page, "#ledgers")).includes(gib(textbook.memory.peak_bytes)));
    await page.click("#ledgers [data-value=textbook]");
    await settled(page);
    assert.equal(await verdictOf(page), textbook.verdict);
    assert.ok((await textOf(page, ".verdict-number")).includes(gib(textbook.memory.peak_bytes)));
    assert.ok((await textOf(page, "#ledgers")).includes(gib(plan(first).memory.peak_bytes)));
  });
});

test("the result is announced once an edit has settled", async () => {
  await withPage({}, async (page) => {
    await page.evaluate(() => {
      globalThis.said = [];
      new MutationObserver(() => globalThis.said.push(document.getElementById("announcer").textContent)).observe(document.getElementById("announcer"), { childList: true, characterData: true, subtree: true });
    });
    const wanted = peakText(withTrain({ seq_len: 1536 }));
    await page.locator(SEQ).focus();
    await page.locator(SEQ).press("Control+a");
    await page.locator(SEQ).pressSequentially("1536");
    await page.waitForFunction((text) => document.getElementById("announcer").textContent.includes(text), wanted);
    const said = await page.evaluate(() => globalThis.said);
    assert.ok(said.length <= 2, said.join(" / "));
    assert.equal(await page.getAttribute("#announcer", "role"), "status");
  });
});
