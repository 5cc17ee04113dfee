/** Shape on the screen: nothing overflows, nothing jumps, targets are large enough; pictures for people. */
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { follow, ROOT, settled, withPage } from "../support/browser.mjs";
import { examples, linkOf } from "../support/planner.mjs";

const PICTURES = path.join(ROOT, "build/screenshots");
mkdirSync(PICTURES, { recursive: true });
const DOES_NOT_FIT = linkOf(examples[1].variants.find((row) => row.id === "full").job);
const STAGES = linkOf({ ...examples[1].variants[2].job, train: { ...examples[1].variants[2].job.train, pp: 4, tp: 2, zero: 0, micro_batch: 1 } });

const widthOf = (page) => page.evaluate(() => document.documentElement.scrollWidth);

for (const lang of ["en", "zh-Hans"]) {
  for (const width of [320, 768, 1200]) {
    test(`${lang}, ${width} px: no sideways scroll; pictures in both themes`, async () => {
      for (const colorScheme of ["light", "dark"]) {
        await withPage({ page: `index.html?lang=${lang}`, colorScheme, viewport: { width, height: 900 } }, async (page) => {
          await page.waitForSelector("#chart[data-state=drawn]");
          const isShown = (lang === "en") === (colorScheme === "light");
          const shoot = (name) => (name === "page" || isShown) && page.screenshot({ path: path.join(PICTURES, `${name}-${lang}-${width}-${colorScheme}.png`), fullPage: true });
          await shoot("page");
          assert.ok(await widthOf(page) <= width, "first view");
          await page.click("#settings-button");
          await page.click("#tab-ledger");
          await settled(page);
          await shoot("settings");
          assert.ok(await widthOf(page) <= width, "settings and ledger");
          await follow(page, STAGES);
          await page.waitForFunction(() => document.querySelectorAll(".bar").length > 1);
          assert.ok(await widthOf(page) <= width, "stages");
          await shoot("stages");
          await follow(page, DOES_NOT_FIT);
          await page.waitForSelector('[data-verdict="no"] ~ *, [data-verdict="no"]');
          await settled(page);
          assert.ok(await widthOf(page) <= width, "does not fit");
          await page.locator(".verdict-number .why").click();
          if (isShown) await page.screenshot({ path: path.join(PICTURES, `why-${lang}-${width}-${colorScheme}.png`) });
        });
      }
    });
  }
}

test("targets are 24 px or more", async () => {
  await withPage({ viewport: { width: 360, height: 640 }, hasTouch: true, alone: true }, async (page) => {
    await page.click("#settings-button");
    await page.click("#tab-ledger");
    await settled(page);
    const small = await page.evaluate(() => [...document.querySelectorAll("button, input, select, a[href]")].filter((element) => {
      const box = element.getBoundingClientRect();
      return element.id !== "skip" && box.width > 0 && (box.width < 24 || box.height < 23.5);
    }).map((element) => `${element.tagName}.${element.className} ${element.textContent.slice(0, 20)}`));
    assert.deepEqual(small, []);
  });
});

test("nothing jumps while the page comes up or a value changes", async () => {
  const init = () => {
    globalThis.shifts = 0;
    new PerformanceObserver((list) => { for (const entry of list.getEntries()) if (!entry.hadRecentInput) globalThis.shifts += entry.value; }).observe({ type: "layout-shift", buffered: true });
  };
  await withPage({ alone: true, init }, async (page) => {
    await page.waitForSelector("#chart[data-state=drawn]");
    const top = () => page.evaluate(() => document.getElementById("knobs-title").getBoundingClientRect().top);
    const before = await top();
    await page.fill("#sentence-train-seq_len", "1024");
    await settled(page);
    assert.equal(await top(), before);
    assert.ok(await page.evaluate(() => globalThis.shifts) < 0.02);
  });
});

test("on a phone the answer stays in sight", async () => {
  await withPage({ viewport: { width: 360, height: 640 } }, async (page) => {
    const seen = () => page.evaluate(() => {
      const place = (selector) => document.querySelector(selector).getBoundingClientRect();
      const verdict = place("#verdict");
      const dock = place("#dock");
      return (verdict.top >= 0 && verdict.top < innerHeight) || (dock.height > 0 && dock.bottom <= innerHeight + 1);
    });
    for (const target of ["#examples", "#sentence", "#knobs", "#notes", "#foot"]) {
      await page.locator(target).scrollIntoViewIfNeeded();
      await page.waitForFunction((selector) => {
        const box = document.querySelector(selector).getBoundingClientRect();
        const verdict = document.getElementById("verdict").getBoundingClientRect();
        const part = (Math.min(verdict.bottom, innerHeight) - Math.max(verdict.top, 0)) / verdict.height;
        return box.top < innerHeight && document.getElementById("dock").classList.contains("is-shown") === part < 0.6;
      }, target);
      assert.ok(await seen(), target);
    }
  });
});

test("prints as one column with ledger, assumptions and link", async () => {
  await withPage({ alone: true }, async (page) => {
    await page.emulateMedia({ media: "print" });
    for (const selector of ["#verdict", "#panel-ledger", "#panel-memory", "#notes", ".print-link"]) assert.equal(await page.locator(selector).isVisible(), true, selector);
    for (const selector of ["#top-tools", "#examples", "[role=tablist]"]) assert.equal(await page.locator(selector).isVisible(), false, selector);
    const pdf = await page.pdf();
    assert.equal(pdf.subarray(0, 5).toString(), "%PDF-");
  });
});

test("high contrast keeps segments apart", async () => {
  await withPage({ forcedColors: "active", alone: true }, async (page) => {
    const border = await page.locator(".segment").first().evaluate((element) => getComputedStyle(element).borderTopWidth);
    assert.equal(border, "1px");
    await page.screenshot({ path: path.join(PICTURES, "forced-colors.png") });
  });
});
