/** axe-core finds nothing, in both languages and themes, wide and narrow, on the page and in the frame. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { test } from "node:test";
import { follow, settled, withPage } from "../support/browser.mjs";
import { examples, linkOf } from "../support/planner.mjs";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const RULES = { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] };
const WIDE = { width: 1200, height: 900 };
const NARROW = { width: 320, height: 640 };

/** @param {string} [part] of the page, where the rest has been looked at already */
async function assertAccessible(page, where, part) {
  const violations = await page.evaluate(async ([rules, include]) => {
    const result = await globalThis.axe.run(include ? { include: [[include]] } : document, rules);
    return result.violations.map((row) => `${row.id}: ${row.nodes.slice(0, 4).map((node) => `${node.target} ${node.any[0]?.message ?? ""}`).join(" | ")}`);
  }, [RULES, part]);
  assert.deepEqual(violations, [], where);
}

const DOES_NOT_FIT = linkOf(examples[1].variants.find((row) => row.id === "full").job);

for (const colorScheme of ["light", "dark"]) {
  for (const viewport of [WIDE, NARROW]) {
    for (const lang of ["en", "zh-Hans"]) {
      const name = `${lang}, ${colorScheme}, ${viewport.width} px`;
      test(`${name}: the page`, async () => {
        // The page's policy keeps scripts out; what the test brings along comes before it.
        await withPage({ page: `index.html?lang=${lang}`, colorScheme, viewport, init: axe }, async (page) => {
          await page.waitForSelector("#chart[data-state=drawn]");
          await assertAccessible(page, "first view");
          await page.locator("#sentence-model").click();
          await assertAccessible(page, "suggestions", "#sentence");
          await page.keyboard.press("Escape");
          await page.locator(".verdict-number .why").click();
          await assertAccessible(page, "why", "#why");
          await page.keyboard.press("Escape");
          await page.click("#share-button");
          await assertAccessible(page, "share", ".top");
          await page.keyboard.press("Escape");
          await page.click("#settings-button");
          await page.fill("#sentence-train-seq_len", "0");
          await page.click("#tab-ledger");
          await settled(page);
          await assertAccessible(page, "settings and an error", ".job");
          await assertAccessible(page, "the answer before", "#result");
          await assertAccessible(page, "the ledger", ".tabs");
          for (const study of ["step", "lengths", "compare", "hardware"]) {
            await page.click(`#tab-${study}`);
            await page.waitForSelector(`#panel-${study} [data-state=drawn]`);
            await assertAccessible(page, study, ".tabs");
          }
          await page.click("#settings-button");
          await follow(page, DOES_NOT_FIT);
          await assertAccessible(page, "a plan that does not fit", "#result");
        });
      });
      test(`${name}: the frame`, async () => {
        await withPage({ page: `embed.html?lang=${lang}#${DOES_NOT_FIT}`, colorScheme, viewport, init: axe }, (page) => assertAccessible(page, "frame"));
      });
    }
  }
}
