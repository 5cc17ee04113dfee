/** The reader's own model: files that stay in the tab, and a hub that is asked on request alone. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { llama, makeGguf } from "../../import/gguf.mjs";
import { hashOf, savingData, setField, settled, textOf, verdictOf, withPage } from "../support/browser.mjs";
import { examples, gib, linkOf, plan } from "../support/planner.mjs";

const CONFIG = { model_type: "llama", architectures: ["LlamaForCausalLM"], hidden_size: 64, intermediate_size: 128, num_hidden_layers: 2,
  num_attention_heads: 4, num_key_value_heads: 2, vocab_size: 256, torch_dtype: "bfloat16" };
const INDEX = { metadata: { total_size: 1_000_000 }, weight_map: { a: "model-00001-of-00001.safetensors" } };
const serving = examples.flatMap(({ variants }) => variants).find(({ job }) => job.task === "infer").job;
const page = `index.html?lang=en#${linkOf(serving)}`;

const open = (tab) => tab.click("#import-toggle");
const found = (tab) => tab.waitForSelector(".import-found");

test("a pasted config is shown first, then planned", async () => {
  await withPage({ page }, async (tab) => {
    const before = await hashOf(tab);
    await open(tab);
    await tab.fill("#import-text", JSON.stringify(CONFIG));
    await tab.click("[data-import=paste]");
    await found(tab);
    assert.match(await textOf(tab, ".import-found"), /llama.*bf16/);
    assert.equal(await hashOf(tab), before);
    await tab.click("[data-import=apply]");
    await settled(tab);
    assert.match(await hashOf(tab), /m\.config=z1\./);
    assert.equal(await verdictOf(tab), "fits");
    await tab.goBack();
    await settled(tab);
    assert.equal(await hashOf(tab), before);
  });
});

test("a config that no model can have names its faults, and is not offered", async () => {
  await withPage({ page }, async (tab) => {
    await open(tab);
    await tab.fill("#import-text", JSON.stringify({ ...CONFIG, hidden_size: 0, vocab_size: "many", quantization_config: { quant_method: "gptq", bits: 400 } }));
    await tab.click("[data-import=paste]");
    await tab.waitForSelector(".import-errors");
    const lines = await tab.locator(".import-errors li").allTextContents();
    assert.deepEqual(lines, ["config.json: quantization_config.bits Must be from 1 to 32, not 400.", "config.json: hidden_size Must be from 1 to 2,147,483,648, not 0.",
      "config.json: vocab_size Must be a whole number."]);
    assert.equal(await tab.locator("[data-import=apply]").count(), 0);
  });
});

test("weights of another size than the structure has are told before they are planned", async () => {
  await withPage({ page }, async (tab) => {
    await open(tab);
    const part = (name, value) => ({ name, mimeType: "application/json", buffer: Buffer.from(JSON.stringify(value)) });
    await tab.setInputFiles("#import-files", [part("config.json", CONFIG), part("model.safetensors.index.json", { ...INDEX, metadata: { total_size: 1e9 } })]);
    await found(tab);
    assert.match(await textOf(tab, ".import-found"), /hold 0\.9 GiB of weights, but the structure in config\.json has 208\.6 KiB in bf16: 0\.9 GiB apart/);
  });
});

for (const file of ["index.html", "embed.html"]) {
  test(`${file}: a link that carries a config waits for the planner that reads it`, async () => {
    const job = { ...serving, model: { config: CONFIG, name: "own/model" } };
    await withPage({ page: `${file}?lang=en#${linkOf(job)}` }, async (tab) => {
      assert.equal(await verdictOf(tab), plan(job).verdict);
      assert.match(await tab.title(), /own\/model/);
    });
  });
}

test("back to a job that holds a config, before any file was opened", async () => {
  const job = { ...serving, model: { config: CONFIG, name: "own/model" } };
  await withPage({ page }, async (tab) => {
    await tab.evaluate((link) => { location.hash = link; }, linkOf(job));
    await tab.waitForFunction(() => document.title.includes("own/model"));
    assert.equal(await verdictOf(tab), plan(job).verdict);
  });
});

test("the full planner comes once the page has nothing else to do", async () => {
  await withPage({ page: "index.html?lang=en", alone: true }, async (tab, seen) => {
    await tab.waitForFunction(() => performance.getEntriesByType("resource").some(({ name }) => name.includes("gpuplan-full")));
    const order = ["gpuplan.wasm.js", "details.js", "gpuplan-full.wasm.js"].map((name) => seen.requests.findIndex((url) => url.endsWith(name)));
    assert.deepEqual(order, [...order].sort((a, b) => a - b));
  });
});

test("an edit that only the full planner answers waits for it where data are saved", async () => {
  const first = examples[0].variants[0].job;
  const job = { ...first, task: "infer" };
  await withPage({ page: "index.html?lang=en", alone: true, init: savingData }, async (tab, seen) => {
    await setField(tab, "#sentence-train-seq_len", "1024");
    assert.ok(!seen.requests.some((url) => url.includes("gpuplan-full")));
    await setField(tab, "#sentence-train-seq_len", String(first.train.seq_len));
    await tab.selectOption("#sentence-task", "infer");
    await tab.waitForFunction((text) => document.getElementById("verdict").textContent.includes(text), gib(plan(job).memory.peak_bytes));
    assert.equal(await verdictOf(tab), plan(job).verdict);
    assert.ok(seen.requests.some((url) => url.includes("gpuplan-full")));
  });
});

test("a GGUF file is chosen, and its weights are those of its header", async () => {
  const { header, size, bytes } = makeGguf(llama());
  const buffer = Buffer.concat([header, Buffer.alloc(size - header.length)]);
  await withPage({ page }, async (tab) => {
    await open(tab);
    await tab.setInputFiles("#import-files", { name: "small.gguf", mimeType: "application/octet-stream", buffer });
    await found(tab);
    await tab.click("[data-import=apply]");
    await settled(tab);
    const hash = await hashOf(tab);
    assert.match(hash, new RegExp(`m\\.file_bytes=${bytes}\\b`));
    assert.match(hash, /engine=llama\.cpp/);
  });
});

test("a file dropped anywhere is read, and one of another kind is named", async () => {
  await withPage({ page }, async (tab) => {
    const drop = (name, text) => tab.evaluate(([file, content]) => {
      const data = new DataTransfer();
      data.items.add(new File([content], file));
      document.getElementById("verdict").dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
    }, [name, text]);
    await drop("config.json", JSON.stringify(CONFIG));
    await found(tab);
    await drop("paper.pdf", "%PDF-1.7");
    await tab.waitForSelector(".import-errors");
    assert.match(await textOf(tab, ".import-errors"), /paper\.pdf.*PDF/);
  });
});

/** Types an id, asks the hub, and returns what the page says then. */
async function ask(tab, id = "own/model", site = "huggingface") {
  await open(tab);
  await tab.fill("#import-id", id);
  await tab.selectOption("#import-site", site);
  await tab.click("[data-import=fetch]");
}

test("the hub is asked on a press alone, for the description alone", async () => {
  const asked = [];
  const answers = (url) => {
    asked.push(url);
    if (url.endsWith("/config.json")) return { body: JSON.stringify(CONFIG) };
    return url.endsWith("index.json") ? { body: JSON.stringify(INDEX) } : { status: 404 };
  };
  await withPage({ page, answers }, async (tab) => {
    await open(tab);
    await tab.fill("#import-id", "https://huggingface.co/own/model/tree/main");
    assert.deepEqual(asked, []);
    await tab.selectOption("#import-site", "modelscope");
    await tab.click("[data-import=fetch]");
    await found(tab);
    assert.deepEqual(asked.sort(), ["config.json", "model.safetensors.index.json"].map((name) => `https://modelscope.cn/models/own/model/resolve/master/${name}`));
    assert.match(await textOf(tab, ".import-found"), /own\/model.*safetensors index/);
  });
});

const FAILURES = {
  "a login is needed": [{ status: 401 }, /login/], "access is refused": [{ status: 403 }, /login/], "there is no such model": [{ status: 404 }, /no such model/],
  "there were too many requests": [{ status: 429 }, /too many/], "the hub fails": [{ status: 500 }, /error of its own/], "nothing answers": [null, /cannot be reached/],
};
for (const [name, [answer, words]] of Object.entries(FAILURES)) {
  test(`the page explains when ${name}`, async () => {
    await withPage({ page, answers: () => answer, faults: true }, async (tab) => {
      await ask(tab);
      await tab.waitForSelector(".import-status .field-error");
      assert.match(await textOf(tab, ".import-status"), words);
    });
  });
}

test("a page that is no config is named as such", async () => {
  const answers = (url) => (url.endsWith("/config.json") ? { body: "<!doctype html><title>Sign in</title>" } : { status: 404 });
  await withPage({ page, answers, faults: true }, async (tab) => {
    await ask(tab);
    await tab.waitForSelector(".import-errors");
    assert.match(await textOf(tab, ".import-errors"), /web page/);
  });
});

test("what is no id is not asked for", async () => {
  await withPage({ page }, async (tab) => {
    await ask(tab, "not an id");
    assert.match(await textOf(tab, ".import-status"), /looks like/);
  });
});
