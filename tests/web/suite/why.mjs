/** Every number answers "why", and the formula shown gives the number shown. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { settled, textOf, withPage } from "../support/browser.mjs";
import { examples, linkOf, plan } from "../support/planner.mjs";

/** A formula as the panel sets it, worked out: signs and digit groups back to arithmetic. */
function work(text) {
  const plain = text.replace(/\u202f/g, "").replace(/×/g, "*").replace(/÷/g, "/").replace(/\u2212/g, "-");
  const tokens = plain.match(/\d+\.?\d*(?:e[+-]?\d+)?|[a-z]+|\S/gi);
  let at = 0;
  const take = (sign) => { if (tokens[at] !== sign) return false; at++; return true; };
  const FUNCTIONS = { min: Math.min, max: Math.max, ceil: Math.ceil, floor: Math.floor };
  function atom() {
    if (take("(")) { const value = sum(); assert.ok(take(")")); return value; }
    if (take("-")) return -atom();
    const token = tokens[at++];
    if (!Object.hasOwn(FUNCTIONS, token)) { assert.match(token, /^\d/, `"${token}" in ${text}`); return Number(token); }
    const values = [];
    assert.ok(take("("));
    do values.push(sum()); while (take(","));
    assert.ok(take(")"));
    return FUNCTIONS[token](...values);
  }
  function product() {
    let value = atom();
    for (;;) { if (take("*")) value *= atom(); else if (take("/")) value /= atom(); else return value; }
  }
  function sum() {
    let value = product();
    for (;;) { if (take("+")) value += product(); else if (take("-")) value -= product(); else return value; }
  }
  const value = sum();
  assert.equal(at, tokens.length, `all of ${text}`);
  return value;
}

const digits = (text) => Number(text.replace(/[^\d\u2212]/g, "").replace("\u2212", "-"));

for (const example of examples) {
  test(`${example.id}: the formulas of all rows give the values shown`, async () => {
    await withPage({}, async (page) => {
      await page.click("#tab-ledger");
      for (const variant of example.variants) {
        const report = plan(variant.job);
        await page.click(`.examples-row [data-example="${example.id}"]`);
        await page.click(`.lesson [data-variant="${variant.id}"]`);
        await settled(page);
        const keys = await page.locator("#panel-ledger .ledger [data-why]").evaluateAll((buttons) => buttons.map((button) => button.dataset.why));
        assert.equal(keys.length, report.memory.stages.reduce((sum, stage) => sum + stage.items.length + 1, 0));
        for (const key of keys) {
          await page.locator(`#panel-ledger .ledger [data-why="${key}"]`).evaluate((button) => button.click());
          const shown = await page.evaluate(() => ({
            numbers: document.querySelector("#why [data-formula=numbers]").textContent,
            exact: document.querySelector("#why .why-value span").textContent,
            row: document.querySelector("#why pre").textContent,
          }));
          const bytes = digits(shown.exact);
          const worked = work(shown.numbers);
          assert.ok(Math.abs(worked - bytes) <= Math.max(1, bytes * 1e-9), `${variant.id} ${key}: ${shown.numbers} = ${worked}, shown ${bytes}`);
          const row = JSON.parse(shown.row);
          assert.equal(row.bytes ?? row.peak_bytes, bytes, key);
          await page.keyboard.press("Escape");
        }
      }
    });
  });
}

test("every number on the page that looks like a button opens the panel", async () => {
  for (const [example, ledger] of [[examples[0], "detailed"], [examples[1], "textbook"], [examples[2], "detailed"]]) {
    await withPage({}, async (page) => {
      await page.click(`.examples-row [data-example="${example.id}"]`);
      await settled(page);
      if (ledger === "textbook") await page.click("#ledgers [data-value=textbook]");
      await settled(page);
      await page.click("#tab-ledger");
      const keys = [...new Set(await page.locator("button[data-why]:visible").evaluateAll((buttons) => buttons.map((button) => button.dataset.why)))];
      assert.ok(keys.length > 15);
      if (example === examples[2]) assert.ok(keys.includes("weights:device_bytes"), "weights of a copy where a model is served");
      for (const key of keys) {
        const shown = await page.evaluate((wanted) => {
          [...document.querySelectorAll(`button[data-why="${wanted}"]`)].find((button) => button.checkVisibility()).click();
          const dialog = document.getElementById("why");
          return { open: dialog.open, title: dialog.querySelector("h2").textContent, value: dialog.querySelector(".why-value strong").textContent };
        }, key);
        assert.equal(shown.open, true, key);
        assert.ok(shown.title.length > 0, key);
        assert.match(shown.value, /\d/, key);
        await page.keyboard.press("Escape");
        assert.equal(await page.locator("#why").evaluate((dialog) => dialog.open), false, key);
      }
    });
  }
});

test("the panel walks from the peak to its parts and back; focus returns to the number", async () => {
  await withPage({}, async (page) => {
    const opener = page.locator(".verdict-number .why");
    await opener.focus();
    await page.keyboard.press("Enter");
    assert.equal(await page.evaluate(() => document.activeElement.id), "why-title");
    await page.locator("#why .parts .why").first().click();
    assert.match(await textOf(page, "#why-title"), /weights/);
    await page.click("#why [data-action=why-back]");
    assert.match(await textOf(page, "#why-title"), /Peak/);
    await page.keyboard.press("Escape");
    assert.equal(await opener.evaluate((button) => button === document.activeElement), true);
    await page.locator(".segment").first().click();
    await page.mouse.click(100, 400);
    assert.equal(await page.locator("#why").evaluate((dialog) => dialog.open), false);
  });
});

test("weights on the device and those in host memory are rows of their own, which sum to all", async () => {
  const job = { task: "infer", model: "Qwen/Qwen3-30B-A3B", hardware: { gpu: "RTX 4090" }, infer: { engine: "llama.cpp", weights: "q8_0", context: 4096 } };
  const items = plan(job).memory.stages[0].items.filter(({ id }) => id === "weights");
  assert.equal(items.length, 2);
  await withPage({ page: `index.html?lang=en#${linkOf(job)}` }, async (page) => {
    await page.waitForSelector('#memory-table [data-item="weights"]');
    const rows = await page.locator('#memory-table [data-item="weights"]').allInnerTexts();
    assert.deepEqual(rows.map((row) => row.replace(/\s+/g, " ").trim()).sort(),
      items.map(({ bytes, phases }) => `weights${phases.length ? "" : " in host memory"} ${(bytes / 2 ** 30).toFixed(2)} GiB`).sort());
  });
});

test("times of serving stand in units of time, rates as numbers", async () => {
  const job = { task: "infer", model: "deepseek-ai/DeepSeek-V3", hardware: { gpu: "H200 SXM5 141GB", count: 8 }, infer: { engine: "sglang", weights: "fp8", tp: 8, attention_dp: 8, concurrency: 64 } };
  await withPage({ page: `index.html?lang=en#${linkOf(job)}` }, async (page) => {
    await page.waitForSelector(".speeds");
    await page.click("#tab-ledger");
    const { time } = plan(job), shown = (name) => textOf(page, `#panel-ledger [data-why="time:${name}"]`);
    for (const name of ["ttft_s", "tpot_s", "floor_s", "exchange_s"]) {
      const [, figure, unit] = /^([\d.]+) (m?s)$/.exec(await shown(name));
      const seconds = Number(figure) * (unit === "ms" ? 1e-3 : 1);
      assert.ok(Math.abs(seconds / time[name] - 1) < 0.02, `${name}: ${figure} ${unit}, ${time[name]}`);
    }
    assert.match(await shown("decode_tok_s"), /^[\d.]+$/);
  });
});
