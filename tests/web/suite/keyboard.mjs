/** The main tasks with the keyboard alone. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { hashOf, settled, textOf, verdictOf, withPage } from "../support/browser.mjs";
import { examples, plan } from "../support/planner.mjs";

const first = examples[0].variants[0].job;
const active = (page) => page.evaluate(() => document.activeElement.id || document.activeElement.dataset.why || document.activeElement.className);

/** Tabs until `selector` has the focus. */
async function tabTo(page, selector, limit = 120) {
  for (let step = 0; step < limit; step++) {
    await page.keyboard.press("Tab");
    if (await page.evaluate((wanted) => document.activeElement?.matches(wanted), selector)) return;
  }
  assert.fail(`${selector} is not reached by Tab`);
}

test("the first stop leads past the form to the result", async () => {
  await withPage({}, async (page) => {
    await page.keyboard.press("Tab");
    assert.equal(await active(page), "skip");
    await page.keyboard.press("Enter");
    assert.equal(await active(page), "result");
    assert.equal(await page.evaluate(() => location.hash.startsWith("#v=1")), true, "the plan link stays");
  });
});

test("choosing a model, a GPU and a length", async () => {
  await withPage({}, async (page) => {
    await tabTo(page, "#sentence-model");
    await page.keyboard.press("Control+a");
    await page.keyboard.type("llama-3.1-8b");
    await page.keyboard.press("ArrowDown");
    const option = await page.getAttribute("#sentence-model", "aria-activedescendant");
    assert.equal(await page.getAttribute(`#${option}`, "aria-selected"), "true");
    const model = await page.locator(`#${option} span`).innerText();
    await page.keyboard.press("Enter");
    await tabTo(page, "#sentence-hardware-gpu");
    await page.keyboard.press("Control+a");
    await page.keyboard.type("h100 sxm");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await tabTo(page, "#sentence-train-seq_len");
    await page.keyboard.press("PageUp");
    await page.keyboard.press("Tab");
    await settled(page);
    const gpu = await page.inputValue("#sentence-hardware-gpu");
    assert.match(gpu, /H100 SXM/);
    const job = { ...first, model, hardware: { ...first.hardware, gpu }, train: { ...first.train, seq_len: 4096 } };
    assert.equal(await page.inputValue("#sentence-train-seq_len"), "4,096");
    assert.equal(await verdictOf(page), plan(job).verdict);
    assert.equal(await page.evaluate(() => location.hash), `#${plan(job).link}`);
  });
});

test("Escape closes the suggestions and brings the value back", async () => {
  await withPage({}, async (page) => {
    await tabTo(page, "#sentence-model");
    await page.keyboard.type("zzz");
    await page.keyboard.press("Escape");
    assert.equal(await page.inputValue("#sentence-model"), "meta-llama/Llama-2-7b-hf");
    assert.equal(await page.getAttribute("#sentence-model", "aria-expanded"), "false");
  });
});

test("arrow keys step a number; the whole walk is one step back", async () => {
  await withPage({}, async (page) => {
    const start = await hashOf(page);
    await tabTo(page, "#sentence-train-micro_batch");
    for (let press = 0; press < 3; press++) await page.keyboard.press("ArrowUp");
    await settled(page);
    assert.equal(await page.inputValue("#sentence-train-micro_batch"), "7");
    await page.keyboard.press("Tab");
    await page.goBack();
    await settled(page);
    assert.equal(await hashOf(page), start);
  });
});

test("asking why, applying a knob, undoing it", async () => {
  await withPage({}, async (page) => {
    await tabTo(page, "#bars .legend .why");
    await page.keyboard.press("Enter");
    assert.equal(await active(page), "why-title");
    await page.keyboard.press("Escape");
    assert.match(await active(page), /^item:0:/);
    await tabTo(page, ".knob");
    const start = await hashOf(page);
    await page.keyboard.press("Enter");
    await settled(page);
    assert.notEqual(await hashOf(page), start);
    assert.match(await active(page), /knob/);
    await page.goBack();
    await settled(page);
    assert.equal(await hashOf(page), start);
  });
});

test("tabs follow the arrows; settings open and close", async () => {
  await withPage({}, async (page) => {
    await tabTo(page, "#tab-memory");
    await page.keyboard.press("ArrowRight");
    assert.equal(await active(page), "tab-step");
    await page.keyboard.press("End");
    assert.equal(await active(page), "tab-ledger");
    assert.equal(await page.locator("#panel-ledger").isVisible(), true);
    assert.equal(await page.locator("#panel-memory").isVisible(), false);
    await page.keyboard.press("Home");
    assert.equal(await active(page), "tab-memory");
    await page.focus("#settings-button");
    await page.keyboard.press("Enter");
    assert.equal(await page.getAttribute("#settings-button", "aria-expanded"), "true");
    await page.keyboard.press("Enter");
    assert.equal(await page.locator("#settings").isVisible(), false);
  });
});

test("opening an example and a variant", async () => {
  await withPage({}, async (page) => {
    await tabTo(page, '[data-example="70b-on-8x80gb"]');
    await page.keyboard.press("Enter");
    await settled(page);
    await tabTo(page, '.lesson [data-variant="full"]');
    await page.keyboard.press("Enter");
    await settled(page);
    assert.equal(await verdictOf(page), "no");
    assert.ok((await textOf(page, "#verdict")).length > 20);
  });
});
