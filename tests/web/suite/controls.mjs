/** The form: settings from the engine's table, origins and resets, comboboxes. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { hashOf, setField, settled, textOf, verdictOf, withPage } from "../support/browser.mjs";
import { examples, plan } from "../support/planner.mjs";

const first = examples[0].variants[0].job;
const MODEL = "#sentence-model";
const GPU = "#sentence-hardware-gpu";
const LINK = "#setting-hardware-interconnect";

test("settings hold a control for every field of the task, with origin and help", async () => {
  await withPage({}, async (page) => {
    const count = Number((await textOf(page, "#settings-button")).match(/\d+/)[0]);
    await page.click("#settings-button");
    assert.equal(await page.locator(".setting").count(), count);
    assert.ok(count > 40);
    const empty = await page.evaluate(() => [...document.querySelectorAll(".setting")].filter((box) => !box.querySelector("label").textContent || !box.querySelector(".origin").textContent || box.querySelector(".setting-note").textContent.trim() === box.querySelector(".origin").textContent.trim()).map((box) => box.querySelector("[data-path]").dataset.path));
    assert.deepEqual(empty.filter((path) => !path.endsWith("memory_gib")), []);
    for (const path of ["infer-engine", "infer-context"]) assert.equal(await page.locator(`#setting-${path}`).count(), 0);
  });
});

test("a changed field shows a dot and can be reset", async () => {
  await withPage({}, async (page) => {
    await page.click("#settings-button");
    const box = page.locator(".setting:has(#setting-train-optimizer)");
    assert.equal(await box.locator(".dot").isVisible(), false);
    await page.selectOption("#setting-train-optimizer", "sgd");
    await settled(page);
    assert.equal(await box.locator(".dot").isVisible(), true);
    assert.match(await box.innerText(), /Set by you/);
    assert.match(await hashOf(page), /sgd/);
    await box.locator(".reset").click();
    await settled(page);
    assert.equal(await box.locator(".dot").isVisible(), false);
    assert.equal(await page.inputValue("#setting-train-optimizer"), "adamw");
    assert.doesNotMatch(await hashOf(page), /sgd/);
  });
});

test("an assumption leads to its field", async () => {
  await withPage({}, async (page) => {
    const path = plan(first).assumptions.find((row) => row.path === "train.optimizer").path;
    await page.click(`.assumptions [data-action=goto][data-path="${path}"]`);
    assert.equal(await page.evaluate(() => document.activeElement.id), "setting-train-optimizer");
  });
});

test("the model combobox searches the catalogue and takes any text", async () => {
  await withPage({}, async (page) => {
    await page.locator(MODEL).click();
    assert.equal(await page.getAttribute(MODEL, "aria-expanded"), "true");
    await page.fill(MODEL, "qwen 7b");
    const options = page.locator(`${MODEL}-list [role=option]`);
    assert.ok(await options.count() > 0);
    for (const text of await options.allInnerTexts()) assert.match(text, /qwen/i);
    const chosen = (await options.first().locator("span").innerText()).trim();
    await options.first().click();
    await settled(page);
    assert.equal(await page.inputValue(MODEL), chosen);
    assert.equal(await verdictOf(page), plan({ ...first, model: chosen }).verdict);

    await setField(page, MODEL, "llama 2 7b hff");
    assert.match(await textOf(page, `${MODEL}-error`), /nearest/);
    await page.click(`${MODEL}-error [data-action=set]`);
    await settled(page);
    assert.equal(await page.locator(`${MODEL}-error`).isVisible(), false);

    await setField(page, MODEL, "3B");
    assert.equal(await verdictOf(page), plan({ ...first, model: { params: 3e9 } }).verdict);
  });
});

test("the GPU combobox takes a device that is only a memory size", async () => {
  await withPage({}, async (page) => {
    await setField(page, GPU, "6 GiB");
    assert.equal(await verdictOf(page), plan({ ...first, hardware: { gpu: { name: "6 GiB", memory_gib: 6 }, count: 1 } }).verdict);
    assert.equal(await page.inputValue(GPU), "6 GiB");
  });
});

test("links between GPUs are listed by name, and the one chosen sets the speed", async () => {
  await withPage({ page: "index.html#v=1&task=infer&model=llama-3.1-70b&gpu=h100&n=8" }, async (page) => {
    await page.click("#settings-button");
    await page.click(LINK);
    await page.waitForSelector(`${LINK}-list [role=option]`);
    const all = await page.locator(`${LINK}-list [role=option]`).count();
    await page.fill(LINK, "pcie 3");
    assert.ok(all > await page.locator(`${LINK}-list [role=option]`).count());
    await page.click(`${LINK}-list [role=option]:has-text("PCIe 3.0 x16")`);
    await settled(page);
    const job = { task: "infer", model: "llama-3.1-70b", hardware: { gpu: "h100", count: 8 } };
    const slow = plan({ ...job, hardware: { ...job.hardware, interconnect: "PCIe 3.0 x16" } });
    assert.ok(slow.time.prefill_tok_s < plan(job).time.prefill_tok_s / 2);
    assert.match(await page.evaluate(() => location.hash), /net=PCIe/);
    assert.equal(await page.inputValue(LINK), "PCIe 3.0 x16");
  });
});

test("a shape of a named model can be edited", async () => {
  await withPage({ page: "index.html" }, async (page) => {
    await page.click('[data-example="100k-context"]');
    await settled(page);
    await page.click("#settings-button");
    await setField(page, "#setting-model-kv_heads", "4");
    const job = structuredClone(examples[2].variants[0].job);
    job.model.kv_heads = 4;
    const report = plan(job);
    assert.equal(await page.inputValue("#setting-model-kv_heads"), "4");
    assert.ok(report.kv.bytes_per_token > 0);
    await page.click("#tab-ledger");
    assert.ok((await textOf(page, ".figures")).includes(`${report.kv.bytes_per_token / 1024}`));
  });
});

test("switching between training and serving changes the sentence and keeps both sides", async () => {
  await withPage({}, async (page) => {
    await page.focus("#sentence-task");
    await page.selectOption("#sentence-task", "infer");
    await settled(page);
    assert.equal(await page.locator("#sentence-train-seq_len").count(), 0);
    assert.equal(await page.locator("#sentence-infer-context").count(), 1);
    assert.equal(await page.evaluate(() => document.activeElement.id), "sentence-task");
    await page.selectOption("#sentence-task", "full");
    await settled(page);
    assert.equal(await page.inputValue("#sentence-train-micro_batch"), "4");
  });
});
