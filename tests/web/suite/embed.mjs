/** A plan inside another page: sandboxed, sized by its message, with a way to the full page. */
import assert from "node:assert/strict";
import path from "node:path";
import { test } from "node:test";
import { addressOf, hostPage, ROOT, textOf, withPage } from "../support/browser.mjs";
import { examples, linkOf, plan, words } from "../support/planner.mjs";

const job = examples[1].variants[0].job;
const link = linkOf(job);

for (const scheme of ["http", "file"]) {
  test(`${scheme}: verdict, bar and link`, async () => {
    await withPage({ scheme, page: `embed.html?lang=en#${link}` }, async (page) => {
      const report = plan(job);
      assert.equal(await page.getAttribute("[data-verdict]", "data-verdict"), report.verdict);
      assert.match(await page.getAttribute("#foot a", "href"), new RegExp(`index\\.html#${link.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}$`));
      assert.equal(await page.locator(".legend").first().isVisible(), true);
      assert.equal(await page.locator("button").count(), 0);
    });
  });
}

test("works in a frame that is allowed scripts and nothing else, and tells its height", async () => {
  const address = await addressOf("http", `embed.html?ui=min&lang=zh-Hans&theme=dark#${link}`);
  const host = await hostPage("/host.html", `<!doctype html><title>host</title><link rel="icon" href="data:,"><script>
    globalThis.heights = [];
    addEventListener("message", (event) => { if (event.source === document.querySelector("iframe").contentWindow) heights.push(event.data); });
    </script><iframe title="plan" sandbox="allow-scripts" width="600" height="420" src="${address.replace(/&/g, "&amp;")}"></iframe>`);
  await withPage({ page: "embed.html", ready: false }, async (page) => {
    await page.goto(host);
    await page.waitForFunction(() => globalThis.heights.some((message) => message.height > 100));
    const message = await page.evaluate(() => globalThis.heights.at(-1));
    assert.deepEqual(Object.keys(message).sort(), ["height", "type", "v"]);
    assert.equal(message.type, "gpuplan:resize");
    assert.equal(message.v, 1);
    const frame = page.frames().at(-1);
    assert.equal(await frame.getAttribute("[data-verdict]", "data-verdict"), plan(job).verdict);
    assert.equal(await frame.getAttribute("html", "lang"), "zh-Hans");
    assert.equal(await frame.getAttribute("html", "data-theme"), "dark");
    assert.equal(await frame.locator(".legend").first().isVisible(), false);
    assert.equal(await frame.locator("#foot a").innerText(), words["zh-Hans"]["embed.open"]);
    await page.screenshot({ path: path.join(ROOT, "build/screenshots/embed-sandboxed.png") });
  });
});

test("settings are read strictly", async () => {
  await withPage({ page: `embed.html?lang=fr&theme=Dark&ui=&size=2#${link}` }, async (page) => {
    assert.equal(await page.locator("#notices li").count(), 4);
    assert.equal(await page.getAttribute("html", "lang"), "en");
    assert.match(await textOf(page, "#notices"), /lang=fr/);
  });
});

test("a damaged link shows what can be read and says so", async () => {
  await withPage({ page: `embed.html#${link}&seq=%4` }, async (page) => {
    assert.match(await textOf(page, "#notices"), new RegExp(words.en["embed.bad_plan"].slice(0, 20)));
    assert.equal(await page.getAttribute("[data-verdict]", "data-verdict"), plan(job).verdict);
  });
});

test("a link that holds no plan gets no verdict, and a way to the planner", async () => {
  for (const hash of ["nonsense", "v=1&task=full&model=nope-zz&gpu=H100", "v=1&model=%ff%fe", "v=1&task=fill&model=gpt2&gpu=H100"]) {
    await withPage({ page: `embed.html?lang=en#${hash}` }, async (page) => {
      assert.equal(await page.getAttribute("[data-verdict]", "data-verdict"), "none", hash);
      assert.equal(await page.locator("#bars *").count(), 0, hash);
      assert.equal(await textOf(page, "#verdict"), words.en["embed.no_plan"], hash);
      assert.ok(await page.locator("#notices li").count() > 0, hash);
      assert.ok((await page.getAttribute("#foot a", "href")).endsWith(`index.html#${hash}`), hash);
      assert.doesNotMatch(await textOf(page, "#notices"), /\|/, hash);
    });
  }
});

test("narrow frames do not scroll sideways", async () => {
  await withPage({ page: `embed.html#${link}`, viewport: { width: 320, height: 420 } }, async (page) => {
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth) <= 320);
  });
});
