/** Changing the job: numbers follow at once, errors stand beside their field, Back undoes. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { hashOf, savingData, setField, settled, textOf, verdictOf, withPage } from "../support/browser.mjs";
import { examples, gib, linkOf, plan, words } from "../support/planner.mjs";

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

/** The address of the full planner, which is asked for once an answer needs it. */
const FULL = "**/gpuplan-full.wasm.js";
const serving = { ...first, task: "infer" };

for (const lang of ["en", "zh-Hans"]) {
  test(`${lang}: an answer that needs the full planner, which does not come, says so; the last one stays`, async () => {
    await withPage({ page: `index.html?lang=${lang}`, faults: true, alone: true, init: savingData }, async (page) => {
      const before = await textOf(page, ".verdict-number");
      await page.route(FULL, (route) => route.abort());
      await page.selectOption("#sentence-task", "infer");
      await page.waitForSelector("#verdict [data-action=retry]");
      assert.ok((await textOf(page, "#verdict .eyebrow")).startsWith(words[lang]["verdict.missing"]));
      assert.equal(await textOf(page, ".verdict-number"), before);
      assert.equal(await page.locator(".knob:enabled").count(), 0);
      assert.equal(await page.locator("#result[aria-busy]").count(), 0);
      assert.equal(await hashOf(page), `#${decodeURIComponent(linkOf(serving))}`);
      await page.waitForFunction((text) => document.getElementById("announcer").textContent === text, words[lang]["verdict.missing"]);

      await page.selectOption("#sentence-task", "lora");
      await settled(page);
      assert.equal(await page.locator("[data-action=retry]").count(), 0);
      assert.ok((await textOf(page, "#verdict")).includes(peakText({ ...first, task: "lora" })));

      await page.selectOption("#sentence-task", "infer");
      await page.waitForSelector("[data-action=retry]");
      await page.unroute(FULL);
      await page.click("[data-action=retry]");
      await page.waitForFunction((text) => document.getElementById("verdict").textContent.includes(text), peakText(serving));
      assert.equal(await page.locator("[data-action=retry]").count(), 0);
    });
  });
}

const ownModel = { model_type: "llama", architectures: ["LlamaForCausalLM"], hidden_size: 64, intermediate_size: 128, num_hidden_layers: 2, num_attention_heads: 4, vocab_size: 256 };
for (const [what, job] of [["a serving job", serving], ["a config", { ...first, model: { config: ownModel } }]]) {
  test(`a link to ${what}, without the full planner, shows no number of another job, and its own once the network is back`, async () => {
    await withPage({ page: `index.html?lang=en#${linkOf(job)}`, ready: false, faults: true, alone: true }, async (page) => {
      await page.route(FULL, (route) => route.abort());
      await page.reload();
      await page.waitForSelector("#verdict [data-action=retry]");
      assert.equal(await verdictOf(page), "none");
      assert.ok((await textOf(page, "#verdict")).startsWith(words.en["verdict.missing.none"]));
      await page.unroute(FULL);
      await page.evaluate(() => dispatchEvent(new Event("online")));
      await page.waitForFunction((text) => document.getElementById("verdict").textContent.includes(text), peakText(job));
      assert.equal(await hashOf(page), `#${decodeURIComponent(linkOf(job))}`);
    });
  });
}

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
  await withPage({ page: `index.html#${linkOf(job)}` }, async (page) => {
    assert.match(await textOf(page, `${SEQ}-error`), /1 to/);
    assert.match(await textOf(page, ".problems-errors"), /LoRA rank/i);
    await page.click(".problems-errors [data-action=goto]");
    await settled(page);
    await page.waitForFunction(() => document.activeElement?.id === "setting-train-lora-rank");
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
