/** The what-if pictures: each table holds what the core says of the same jobs. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { hashOf, setField, settled, textOf, withPage } from "../support/browser.mjs";
import { examples, gib, linkOf, plan, rank, words } from "../support/planner.mjs";

const first = examples[0].variants[0].job;
const serving = examples.flatMap(({ variants }) => variants).find(({ job }) => job.task === "infer").job;
const pipeline = { task: "pretrain", model: "meta-llama/Llama-2-7b-hf", hardware: { gpu: "A100 SXM4 80GB", count: 8 }, train: { pp: 4, dp: 2, seq_len: 2048, micro_batch: 1 } };
const plain = (text) => text.replace(/\s+/g, " ").trim();

async function open(page, study) {
  await page.click(`#tab-${study}`);
  await page.waitForSelector(`#panel-${study} [data-state=drawn]`);
}

/** Rows of the tables of a study: the cells' texts by the row's key. */
const rowsOf = (page, figure) => page.evaluate((key) => Object.fromEntries([...document.querySelectorAll(`[data-figure="${key}"] tbody tr`)]
  .map((row) => [row.dataset.key, [...row.children].map((cell) => cell.textContent)])), figure);

test("over one step, each phase holds what is alive in it, and the highest is the peak", async () => {
  for (const job of [first, pipeline]) {
    await withPage({ page: `index.html?lang=en#${linkOf(job)}` }, async (page) => {
      const { memory } = plan(job);
      const stage = memory.stages.find((row) => row.peak_bytes === memory.peak_bytes);
      await open(page, "step");
      const phases = (await page.locator("#panel-step thead th").allInnerTexts()).slice(1);
      const totals = (await rowsOf(page, "step")).total.slice(1);
      assert.equal(phases.length, 6);
      phases.forEach((phase, index) => {
        const id = ["load", "forward", "loss", "backward", "reduce", "optimizer"].find((name) => words.en[`phase.${name}`] === phase);
        const bytes = stage.items.filter((item) => item.phases.includes(id)).reduce((sum, item) => sum + item.bytes, 0);
        assert.equal(totals[index], gib(bytes, 2), phase);
        if (id === stage.peak_phase) assert.equal(totals[index], gib(memory.peak_bytes, 2));
      });
    });
  }
});

test("curves name the crossing that the solver finds, and their points are plans", async () => {
  for (const [job, fields] of [[first, ["seq_len", "micro_batch"]], [serving, ["context", "concurrency"]]]) {
    const branch = job.task === "infer" ? "infer" : "train";
    await withPage({ page: `index.html?lang=en#${linkOf(job)}` }, async (page) => {
      await open(page, "lengths");
      for (const field of fields) {
        const at = (value) => plan({ ...job, [branch]: { ...job[branch], [field]: value } });
        const top = at("max");
        const notes = await textOf(page, `[data-figure="${branch}.${field}"] .study-notes`);
        assert.ok(notes.includes(top.solved[field].toLocaleString("en")) && notes.includes(top.fails_at[field].toLocaleString("en")), notes);
        const rows = Object.entries(await rowsOf(page, `${branch}.${field}`));
        assert.ok(rows.length > 4);
        for (const [value, [, peak, , verdict]] of rows) {
          const report = at(Number(value));
          assert.equal(peak, gib(report.memory.peak_bytes, 2), `${field} ${value}`);
          assert.ok(verdict.endsWith(words.en[`verdict.${report.verdict}`]), `${field} ${value}: ${verdict}`);
        }
        assert.equal(await page.locator(`[data-figure="${branch}.${field}"] .is-marked`).count(), 1);
      }
    });
  }
});

test("axes say what they count, ticks are whole numbers once each, and the lines have their numbers", async () => {
  for (const [lang, names] of [["en", ["sequence length, tokens", "micro-batch, sequences"]], ["zh-Hans", ["序列长度（token）", "微批（条序列）"]]]) {
    await withPage({ page: `index.html?lang=${lang}#${linkOf({ ...pipeline, train: { ...pipeline.train, seq_len: 8192 } })}` }, async (page) => {
      await open(page, "lengths");
      const axes = await page.evaluate(() => [...document.querySelectorAll("#panel-lengths canvas")].map((canvas) => {
        const { scales: { x, y }, options: { plugins } } = globalThis.gpuplanCharts.pictureOn(canvas);
        return { x: x.options.title.text, y: y.options.title.text, ticks: x.ticks.map((tick) => tick.label), usable: plugins.usableLine.text, crossing: plugins.crossing.text };
      }));
      assert.deepEqual(axes.map((axis) => axis.x), names);
      for (const { y, ticks, usable, crossing } of axes) {
        assert.equal(y, words[lang]["table.peak"]);
        assert.equal(new Set(ticks).size, ticks.length, ticks.join(" "));
        assert.ok(usable.startsWith(words[lang]["bar.usable"]) && /\d/.test(usable) && /^[\d,]+$/.test(crossing), `${usable} ${crossing}`);
      }
      await open(page, "step");
      const bars = await page.evaluate(() => globalThis.gpuplanCharts.pictureOn(document.querySelector("#panel-step canvas")).scales.x.options.title.text);
      assert.equal(bars, words[lang]["knobs.frees"]);
    });
  }
});

test("a knob that makes a step shorter says how much time it gains", async () => {
  const job = { ...pipeline, train: { ...pipeline.train, recompute: "full" } };
  const { advice } = plan(job);
  const { low, high } = advice.find((knob) => knob.id === "less_recompute").cost;
  assert.ok(low < high && high < 0);
  for (const [lang, wanted] of [["en", `−${Math.round(-high * 100)}%to−${Math.round(-low * 100)}%time`], ["zh-Hans", `时间−${Math.round(-high * 100)}%到−${Math.round(-low * 100)}%`]]) {
    await withPage({ page: `index.html?lang=${lang}#${linkOf(job)}` }, async (page) => {
      const text = (await page.locator("body").innerText()).replace(/\s+/g, "");
      assert.ok(text.includes(wanted) && !text.includes("+-") && !text.includes("+−"), wanted);
    });
  }
});

test("output and wait over concurrency are those of a plan at each point", async () => {
  await withPage({ page: `index.html?lang=en#${linkOf(serving)}` }, async (page) => {
    await open(page, "lengths");
    const rows = Object.entries(await rowsOf(page, "speed"));
    assert.ok(rows.length > 2);
    const start = (text) => Number(text.split(" (")[0].replace(/,| ms/g, ""));
    const most = plan(serving).kv.max_concurrency;
    assert.equal(Number(rows[rows.length - 1][0]), Math.max(most, serving.infer.concurrency));
    for (const [users, [, , each, output]] of rows) {
      const { time } = plan({ ...serving, infer: { ...serving.infer, concurrency: Number(users) } });
      assert.ok(Math.abs(start(output) - time.throughput_tok_s) <= 0.5, `${users}: ${output}`);
      assert.ok(Math.abs(start(each) - time.tpot_s * 1000) <= 0.5, `${users}: ${each}`);
      const [low, high] = output.match(/[(]([\d.,]+) – ([\d.,]+)[)]/).slice(1).map((text) => Number(text.replaceAll(",", "")));
      assert.ok(Math.abs(low - time.throughput_tok_s_low) <= 0.5 && Math.abs(high - time.throughput_tok_s_high) <= 0.5, `${users}: ${output}`);
    }
    const other = rows.find(([users]) => Number(users) !== serving.infer.concurrency)[0];
    await page.click(`[data-figure=speed] [data-key="${other}"] [data-action=edit]`);
    await settled(page);
    assert.ok((await hashOf(page)).includes(`users=${other}`));
  });
});

test("pictures follow an edit", async () => {
  await withPage({}, async (page) => {
    await open(page, "step");
    const before = (await rowsOf(page, "step")).total;
    await setField(page, "#sentence-train-seq_len", "4096");
    await settled(page);
    assert.notDeepEqual((await rowsOf(page, "step")).total, before);
  });
});

test("training stands beside inference, and sizes beside each other", async () => {
  await withPage({ page: "index.html?lang=en" }, async (page) => {
    await open(page, "compare");
    const tasks = await rowsOf(page, "tasks");
    assert.deepEqual(Object.keys(tasks), ["pretrain", "full", "lora", "qlora", "infer"]);
    assert.equal(tasks.qlora[3], gib(plan(first).memory.peak_bytes, 2));
    const infer = plan({ task: "infer", model: first.model, hardware: first.hardware, infer: { context: first.train.seq_len, concurrency: first.train.micro_batch } });
    assert.equal(tasks.infer[3], gib(infer.memory.peak_bytes, 2));
    const sizes = await rowsOf(page, "sizes");
    for (const [params, cells] of Object.entries(sizes)) {
      assert.equal(cells[3], gib(plan({ ...first, model: { params: Number(params) } }).memory.peak_bytes, 2), params);
    }
    assert.equal(Object.keys(sizes).length, 6);
  });
});

test("the pictures speak Chinese, and change with the language", async () => {
  await withPage({ page: "index.html?lang=zh-Hans" }, async (page) => {
    await open(page, "compare");
    const text = await textOf(page, "#panel-compare");
    assert.ok(text.includes(plain(words["zh-Hans"]["study.tasks.note"])), text);
    await page.click("[data-action=lang]");
    await page.waitForFunction((note) => document.querySelector("#panel-compare").textContent.includes(note), words.en["study.tasks.note"]);
    assert.doesNotMatch(await textOf(page, "#panel-compare"), /\p{Script=Han}|study\./u);
  });
});

test("pictures that do not arrive leave a word, and come when they can", async () => {
  await withPage({ alone: true, faults: true }, async (page) => {
    await page.waitForSelector("#chart[data-state=drawn]");
  });
  await withPage({ alone: true, faults: true, ready: false }, async (page) => {
    await page.route("**/chart.js", (route) => route.abort());
    await page.reload();
    await settled(page);
    await page.click("#tab-step");
    await page.waitForSelector(".study-failed");
    assert.equal(await textOf(page, ".study-failed"), words.en["tabs.failed"]);
    await page.unroute("**/chart.js");
    await page.click("#tab-ledger");
    await open(page, "step");
    assert.equal(await page.locator(".study-failed").count(), 0);
  });
});

test("hardware that holds the job is listed as the planner ranks it, and a press plans with it", async () => {
  for (const job of [first, serving]) {
    await withPage({ page: `index.html?lang=en#${linkOf(job)}` }, async (page) => {
      await open(page, "hardware");
      for (const kind of ["gpus", "instances"]) {
        const rows = Object.values(await rowsOf(page, kind));
        const ranked = rank(job, kind).slice(0, rows.length);
        assert.equal(rows.length, 14);
        rows.forEach(([name, verdict, ...cells], index) => {
          const row = ranked[index];
          assert.ok(name.includes(`${row.count} × ${row.gpu}`), name);
          assert.ok(verdict.endsWith(words.en[`verdict.${row.verdict}`]), verdict);
          if (row.usd_per_hour) assert.ok(cells.includes(row.usd_per_hour.toFixed(2)) && cells.includes(row.date), cells.join());
        });
      }
      const [, wanted] = rank(job, "instances");
      await page.click("[data-key=instances-1] [data-action=edit]");
      await settled(page);
      const hash = await hashOf(page);
      assert.ok(hash.includes(`gpu=${wanted.gpu.replaceAll(" ", "+")}`) && hash.includes(`n=${wanted.count}`), hash);
    });
  }
});

/** KV heads of a job's model where its queries share them. */
function shared(job) {
  const { heads, kv_heads } = plan(job).model;
  return kv_heads < heads ? { kv_heads } : {};
}

test("weight formats show the largest model that the solver finds for each", async () => {
  await withPage({ page: `index.html?lang=en#${linkOf(serving)}` }, async (page) => {
    await open(page, "compare");
    const rows = Object.entries(await rowsOf(page, "formats"));
    assert.ok(rows.length > 6);
    for (const [weights, cells] of rows) {
      const { params } = plan({ ...serving, model: { params: "max", ...shared(serving) }, infer: { ...serving.infer, weights } });
      const [unit, letter] = params.total >= 1e12 ? [1e12, "T"] : [1e9, "B"];
      assert.equal(cells[1], `${new Intl.NumberFormat("en", { maximumFractionDigits: 2 }).format(params.total / unit)} ${letter}`, weights);
    }
  });
});

test("from the card's name to its users: the picture's rows are the report's, and each number says why", async () => {
  await withPage({ page: `index.html?lang=en#${linkOf(serving)}` }, async (page) => {
    await open(page, "step");
    const { waterfall } = plan(serving);
    const rows = await rowsOf(page, "fall");
    assert.deepEqual(Object.keys(rows), waterfall.rows.map(({ id }) => id));
    for (const { id, left_bytes } of waterfall.rows) assert.equal(rows[id][2], gib(left_bytes, 2), id);
    const caption = await textOf(page, '[data-figure="fall"] caption');
    assert.ok(caption.includes(waterfall.tokens.toLocaleString("en")) && caption.includes(waterfall.sequences.toLocaleString("en")), caption);
    for (const button of await page.locator('[data-figure="fall"] .why').all()) {
      await button.click();
      assert.match(await textOf(page, "#why"), /waterfall\.rows|memory\.stages/);
      await page.keyboard.press("Escape");
    }
  });
});

test("the longest context by model and card is what the solver finds for one card, and a press plans it", async () => {
  await withPage({ page: `index.html?lang=en#${linkOf(serving)}` }, async (page) => {
    await open(page, "compare");
    const rows = await rowsOf(page, "contexts");
    const longest = (gpu, model) => {
      const { solved, verdict } = plan({ task: "infer", model, hardware: { gpu, count: 1 }, infer: { ...serving.infer, context: "max", concurrency: 1 } });
      return verdict === "no" ? "–" : solved.context.toLocaleString("en");
    };
    assert.ok(Object.keys(rows).length >= 9);
    for (const gpu of ["GeForce RTX 4090", "H200 SXM5 141GB"]) {
      assert.deepEqual(rows[gpu].slice(1), [longest(gpu, serving.model), ...[7e9, 13e9, 34e9, 70e9].map((params) => longest(gpu, { params, ...shared(serving) }))], gpu);
    }
    await page.click('[data-figure="contexts"] [data-key="H200 SXM5 141GB"] td:nth-child(3) [data-action=edit]');
    await settled(page);
    const hash = await hashOf(page);
    assert.ok(hash.includes("gpu=H200") && hash.includes("ctx=max") && hash.includes("m.params=7e9".replace("7e9", "7000000000")), hash);
  });
});

test("models of the catalogue that the hardware holds are listed as the planner ranks them", async () => {
  await withPage({ page: `index.html?lang=en#${linkOf(serving)}` }, async (page) => {
    await open(page, "compare");
    const rows = Object.entries(await rowsOf(page, "models"));
    const ranked = rank(serving, "models");
    assert.equal(rows.length, 14);
    rows.forEach(([key, cells], index) => {
      assert.equal(key, ranked[index].model);
      assert.equal(cells[4], ranked[index].max_context.toLocaleString("en"));
    });
    await page.click(`[data-figure="models"] [data-key="${rows[3][0]}"] [data-action=edit]`);
    await settled(page);
    assert.ok(decodeURIComponent((await hashOf(page)).replaceAll("+", " ")).includes(`model=${rows[3][0]}`));
  });
});

test("prices and their dates are in view at the width of a desktop, and all columns fit", async () => {
  await withPage({ page: `index.html?lang=en#${linkOf(serving)}` }, async (page) => {
    await open(page, "hardware");
    const heads = await page.locator('[data-figure="instances"] thead th').allInnerTexts();
    for (const key of ["study.instances.hour", "study.instances.date", "study.instances.tokens", "study.instances.user"]) assert.ok(heads.includes(words.en[key]), key);
    assert.ok(await page.evaluate(() => [...document.querySelectorAll("#panel-hardware .scroll")].every((box) => box.scrollWidth <= box.clientWidth + 1)));
  });
});

test("speeds say how many are served at once, where it is more than one", async () => {
  for (const concurrency of [32, 1]) {
    const job = { task: "infer", model: "meta-llama/Llama-3.1-8B", hardware: { gpu: "H100 SXM5 80GB", count: 1 }, infer: { engine: "vllm", concurrency } };
    await withPage({ page: `index.html?lang=zh-Hans#${linkOf(job)}` }, async (page) => {
      await page.waitForSelector(".speeds");
      const label = await textOf(page, ".speeds [data-key=tpot_s] dt"), alone = await textOf(page, ".speeds [data-key=decode_tok_s] dt");
      assert.equal(label, words["zh-Hans"]["time.tpot_s"] + (concurrency > 1 ? `（${concurrency} 路并发）` : ""));
      assert.equal(alone, words["zh-Hans"]["time.decode_tok_s"]);
    });
  }
});
