/** What a person meets first: an answer, in their language, wherever the page lies. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { hashOf, settled, textOf, verdictOf, withPage } from "../support/browser.mjs";
import { examples, gib, linkOf, plan, words } from "../support/planner.mjs";

const first = examples[0].variants[0].job;

for (const scheme of ["http", "file"]) {
  test(`${scheme}: opens on the first example with its answer`, async () => {
    await withPage({ scheme }, async (page) => {
      const report = plan(first);
      assert.equal(report.verdict, "fits");
      assert.equal(await verdictOf(page), "fits");
      assert.ok((await textOf(page, "#verdict")).includes(gib(report.memory.peak_bytes)));
      assert.equal(await hashOf(page), `#${decodeURIComponent(linkOf(first))}`);
      await page.waitForSelector("#chart[data-state=drawn]");
      assert.equal(await page.locator("#memory-table tbody tr").count(), report.memory.stages[0].items.length);
    });
  });
}

test("the chart, and what a press opens, come after the numbers, as scripts of their own", async () => {
  await withPage({}, async (page, seen) => {
    await page.waitForSelector("#chart[data-state=drawn]");
    const names = seen.requests.map((url) => url.split("/").pop().split("#")[0]).filter((name) => !name.endsWith(".svg"));
    const shown = names.indexOf("words-en.js") + 1;
    // The full planner comes when the page has nothing else to do, which may be now.
    const late = names.slice(shown).filter((name) => name.endsWith(".js") && name !== "gpuplan-full.wasm.js");
    assert.deepEqual(late.sort(), ["chart.js", "details.js", "reference.js", "words-en-more.js"]);
    assert.ok(shown <= 8, names.join());
  });
});

test("a press before the rest has come waits for it", async () => {
  await withPage({ ready: false }, async (page) => {
    let release;
    const held = new Promise((resolve) => { release = resolve; });
    await page.route("**/details.js", async (route) => { await held; await route.continue(); });
    await page.reload({ waitUntil: "commit" }); // The held script holds "load" back.
    await page.click(".verdict-number .why");
    await page.click("#import-toggle");
    assert.equal(await page.locator("#why[open], .import-form").count(), 0);
    release();
    await page.waitForSelector("#why[open] .why-numbers");
    await page.keyboard.press("Escape");
    await page.waitForSelector(".import-form");
    await page.unroute("**/details.js");
  });
});

test("the language is the reader's, can be changed, and is remembered", async () => {
  await withPage({ locale: "zh-CN" }, async (page) => {
    assert.equal(await page.getAttribute("html", "lang"), "zh-Hans");
    assert.ok((await textOf(page, "#knobs-title")).includes(words["zh-Hans"]["knobs.title"]));
    await page.click("[data-action=lang]");
    await page.waitForSelector("html[lang=en]");
    await settled(page);
    assert.equal(await textOf(page, "#knobs-title"), words.en["knobs.title"]);
    await page.reload();
    await settled(page);
    assert.equal(await page.getAttribute("html", "lang"), "en");
  });
});

/** Keys look like "verdict.fits"; one on the screen has no words. */
const KEY = /\b(?:action|bar|choice|constraint|cost|dock|embed|error|example|examples|fatal|field|foot|formula|item|knob|knobs|kv|ledgers|memory|meter|notes|number|origin|params|phase|problems|rule|sentence|settings|share|solve|step|steps|suggest|symbol|table|tabs|theme|top|unit|value|verdict|warning|weights|why)\.[a-z][\w.-]*\b/g;

/** Words of the trade and of products that stand in Latin letters in both languages. */
const LATIN_SENTENCE = /(?:\b[a-z]{2,}\b[ ,.]+){4,}/;

for (const lang of ["en", "zh-Hans"]) {
  test(`${lang}: every text has its words, with the settings open and in each example`, async () => {
    await withPage({ page: `index.html?lang=${lang}` }, async (page) => {
      await page.click("#settings-button");
      for (const example of examples) {
        for (const variant of example.variants) {
          await page.click(`.examples-row [data-example="${example.id}"]`);
          await settled(page);
          await page.click(`.lesson [data-variant="${variant.id}"]`);
          await settled(page);
          await page.click("#tab-ledger");
          const found = await page.evaluate(() => {
            const texts = [];
            const skip = "code, pre, [lang=en], option, #examples input";
            const walker = document.createTreeWalker(document.getElementById("app"), NodeFilter.SHOW_TEXT);
            for (let node = walker.nextNode(); node; node = walker.nextNode()) if (!node.parentElement.closest(skip)) texts.push(node.data);
            for (const element of document.querySelectorAll("[aria-label], [placeholder], [title]")) for (const name of ["aria-label", "placeholder", "title"]) texts.push(element.getAttribute(name) ?? "");
            return { texts, title: document.title };
          });
          assert.deepEqual(found.texts.flatMap((text) => text.match(KEY) ?? []), [], `${example.id}/${variant.id}`);
          assert.deepEqual(found.texts.filter((text) => /\{\w+\}/.test(text)), [], "placeholders left open");
          if (lang !== "en") assert.deepEqual(found.texts.filter((text) => LATIN_SENTENCE.test(text)), [], "English left in Chinese");
          await page.click("#tab-memory");
        }
      }
    });
  });
}

test("theme and unit change at once; the theme is remembered", async () => {
  await withPage({ colorScheme: "light", alone: true }, async (page) => {
    const theme = () => page.getAttribute("html", "data-theme");
    assert.equal(await theme(), "light");
    await page.emulateMedia({ colorScheme: "dark" });
    await page.waitForFunction(() => document.documentElement.dataset.theme === "dark");
    await page.click("[data-action=theme]");
    assert.equal(await theme(), "light");
    await page.reload();
    await settled(page);
    assert.equal(await theme(), "light");
    await page.click("[data-action=unit][data-value=GB]");
    await settled(page);
    const report = plan(first);
    assert.ok((await textOf(page, "#verdict")).includes(`${(report.memory.peak_bytes / 1e9).toFixed(1)} GB`));
  });
});

test("without WebAssembly the page says what is missing", async () => {
  await withPage({ alone: true, ready: false, init: () => { delete globalThis.WebAssembly; } }, async (page) => {
    await page.waitForSelector("#fatal:not([hidden])");
    assert.ok((await textOf(page, "#fatal")).includes(words.en["fatal.webassembly"]));
    assert.equal(await page.locator("#app").isVisible(), false);
  });
});

test("without JavaScript the page says so in both languages", async () => {
  await withPage({ alone: true, ready: false, javaScriptEnabled: false }, async (page) => {
    assert.equal(await page.locator("noscript .notice, .notice:visible").count(), 2);
    assert.match(await page.locator("body").innerText(), /needs JavaScript[\s\S]*需要开启 JavaScript/);
  });
});

test("a closed storage changes nothing", async () => {
  const init = () => Object.defineProperty(globalThis, "localStorage", { get() { throw new DOMException("closed", "SecurityError"); } });
  await withPage({ alone: true, init }, async (page) => {
    await page.click("[data-action=lang]");
    await page.waitForSelector("html[lang=zh-Hans]");
    await settled(page);
  });
});
