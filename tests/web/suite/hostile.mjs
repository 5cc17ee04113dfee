/** Text from outside stays text: no field, link or name becomes markup or script. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { addressOf, follow, settled, withPage } from "../support/browser.mjs";
import { examples, linkOf } from "../support/planner.mjs";

const EVIL = `"><img src=x onerror="globalThis.hit=1"><script>globalThis.hit=2</script><svg onload=globalThis.hit=3>{{7*7}}\${7*7}`;

/** Nothing of the text became an element, and nothing of it ran. */
async function assertUnharmed(page, where) {
  await settled(page);
  const found = await page.evaluate(() => ({ hit: globalThis.hit, elements: document.querySelectorAll("img, svg, body script, [onerror], [onload]").length }));
  assert.deepEqual(found, { hit: undefined, elements: 0 }, where);
}

for (const task of ["qlora", "infer"]) {
  test(`${task}: every text field`, async () => {
    await withPage({}, async (page) => {
      await page.selectOption("#sentence-task", task);
      await settled(page);
      await page.click("#settings-button");
      // In the page, since a press for each of the fields through the driver takes minutes.
      const count = await page.evaluate(async (text) => {
        const ids = [...document.querySelectorAll("#sentence input, #settings input")].map((input) => input.id);
        for (const id of ids) {
          const input = document.getElementById(id);
          input.focus();
          input.value = text;
          input.dispatchEvent(new InputEvent("input", { bubbles: true }));
          input.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true }));
          input.dispatchEvent(new Event("change", { bubbles: true }));
          await new Promise((resolve) => { requestAnimationFrame(() => requestAnimationFrame(resolve)); });
          if (document.querySelector("img, svg, body script, [onerror], [onload]")) throw new Error(`markup from ${id}`);
        }
        return ids.length;
      }, EVIL);
      assert.ok(count > 20);
      await assertUnharmed(page, task);
    });
  });
}

test("links with hostile names", async () => {
  const named = structuredClone(examples[2].variants[0].job);
  named.model.name = EVIL;
  named.hardware.gpu = { name: EVIL, memory_gib: 80 };
  const links = [linkOf(named), `v=1&task=${encodeURIComponent(EVIL)}`, `v=1&${encodeURIComponent(EVIL)}=1`, `v=1&model=${encodeURIComponent(EVIL)}&gpu=${encodeURIComponent(EVIL)}`];
  for (const name of ["index.html", "embed.html"]) {
    await withPage({ page: `${name}#${links[0]}` }, async (page) => {
      for (const link of links) {
        await follow(page, link);
        await assertUnharmed(page, `${name} ${link}`);
        if (name === "embed.html") continue;
        const buttons = await page.locator("button[data-why]:visible").count();
        if (link === links[0]) assert.ok(buttons > 10);
        for (const index of buttons === 0 ? [] : [0, Math.floor(buttons / 2), buttons - 1]) {
          await page.locator("button[data-why]:visible").nth(index).click();
          await assertUnharmed(page, "why");
          await page.keyboard.press("Escape");
        }
      }
    });
  }
});

test("a hostile setting of the embedded page", async () => {
  await withPage({ page: `embed.html?lang=${encodeURIComponent(EVIL)}&theme=${encodeURIComponent(EVIL)}&x=${encodeURIComponent(EVIL)}` }, async (page) => {
    await assertUnharmed(page, "embed");
    assert.equal(await page.locator("#notices li").count(), 3);
  });
});

/** Hubs that the full page may ask for a model, when its reader does; the frame asks nobody. */
const CONNECTIONS = {
  "index.html": /^(https:\/\/(\*\.)?(huggingface\.co|hf\.co|hf-mirror\.com|modelscope\.cn) ?)+$/,
  "embed.html": /^'none'$/,
};

test("the policy lets no unasked connection, inline script or evaluated text through", async () => {
  await withPage({ faults: true }, async (page) => {
    const blocked = await page.evaluate(async () => {
      const outcome = {};
      outcome.fetch = await fetch(location.href).then(() => "open", () => "blocked");
      const script = document.createElement("script");
      script.textContent = "globalThis.inline = 1";
      document.head.append(script);
      outcome.inline = globalThis.inline ? "open" : "blocked";
      return outcome;
    });
    assert.deepEqual(blocked, { fetch: "blocked", inline: "blocked" });
  });
  for (const [name, allowed] of Object.entries(CONNECTIONS)) {
    const html = await (await fetch(await addressOf("http", name))).text();
    assert.match(html, /default-src 'none';/);
    assert.match(html.match(/connect-src ([^;"]*)/)[1], allowed, name);
    assert.doesNotMatch(html, /<script(?![^>]* src=)|<style|style=|\son\w+=/);
  }
});
