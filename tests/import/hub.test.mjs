/** The hub's files over real HTTP from a stand-in of this machine: ranges, redirects, errors, and stopping. */
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, test } from "node:test";
import { hubSources, modelIdOf, sites } from "../../web/hub.js";

const BIG = Buffer.alloc(4_000_000, 7);
const FILES = { "indexed/config.json": "{}", "indexed/model.safetensors.index.json": '{"weight_map":{}}', "single/config.json": "{}", "single/model.safetensors": BIG, "bare/config.json": "{}", "plain/config.json": "{}", "plain/model.safetensors": BIG };
const seen = [];

function answer(request, response) {
  const [, , model, , , file] = request.url.split("/");
  seen.push([request.url, request.headers.range, request.headers.cookie]);
  if (model === "gated") return response.writeHead(403).end();
  if (model === "busy") return response.writeHead(429).end();
  if (model === "slow") return setTimeout(() => response.destroy(), 20_000).unref();
  const content = FILES[`${model}/${file}`];
  if (content === undefined) return response.writeHead(404).end();
  const range = model !== "plain" && /bytes=0-(\d+)/.exec(request.headers.range ?? "");
  if (range) return response.writeHead(206).end(content.subarray(0, Number(range[1]) + 1));
  return response.writeHead(200).end(content);
}

const server = createServer(answer);
await new Promise((resolve) => { server.listen(0, "127.0.0.1", resolve); });
const base = `http://127.0.0.1:${server.address().port}`;
after(() => { server.closeAllConnections(); server.close(); });
const site = { id: "own", label: "own", address: (model, file) => `${base}/${model}/resolve/main/${file}` };
const options = (signal = new AbortController().signal) => ({ signal, progress: () => {} });
const read = async (model) => (await hubSources(site, model, options())).map(({ name }) => name);

test("an index is preferred to a single file, and a config alone is enough", async () => {
  assert.deepEqual(await read("own/indexed"), ["config.json", "model.safetensors.index.json"]);
  assert.deepEqual(await read("own/single"), ["config.json", "model.safetensors"]);
  assert.deepEqual(await read("own/bare"), ["config.json"]);
});

test("of a file of weights only the beginning is fetched, by a range or in spite of its absence", async () => {
  for (const model of ["own/single", "own/plain"]) {
    const [, weights] = await hubSources(site, model, options());
    assert.equal((await weights.read(65536)).length, 65536);
  }
  assert.ok(seen.some(([url, range]) => url.includes("single/resolve/main/model.safetensors") && range === "bytes=0-65535"));
  assert.ok(seen.every(([, , cookie]) => cookie === undefined));
});

test("failures have reasons", async () => {
  const reason = async (model, where = site) => hubSources(where, model, options()).then(() => "", (error) => error.reason);
  assert.equal(await reason("own/gated"), "gated");
  assert.equal(await reason("own/busy"), "busy");
  assert.equal(await reason("own/unknown"), "missing");
  assert.equal(await reason("own/x", { ...site, address: () => "http://127.0.0.1:1/" }), "unreachable");
});

test("what hangs can be stopped", async () => {
  const work = new AbortController();
  setTimeout(() => work.abort(), 50);
  await assert.rejects(hubSources(site, "own/slow", options(work.signal)), { reason: "stopped" });
});

test("ids are found in addresses, and nothing else is an id", () => {
  for (const typed of ["Qwen/Qwen3-8B", " https://huggingface.co/Qwen/Qwen3-8B/tree/main ", "https://modelscope.cn/models/Qwen/Qwen3-8B"]) assert.equal(modelIdOf(typed), "Qwen/Qwen3-8B");
  for (const typed of ["", "gpt2", "a b/c", "../..", "a/../b", "a/b c"]) assert.equal(modelIdOf(typed), null, typed);
});

test("the page's policy allows the hubs and no other host", async () => {
  const { readFileSync } = await import("node:fs");
  const policy = /connect-src ([^;]+)/.exec(readFileSync("index.html", "utf8"))[1].split(" ");
  for (const { address } of sites) assert.ok(policy.includes(new URL(address("a/b", "c")).origin));
  assert.match(readFileSync("embed.html", "utf8"), /connect-src 'none'/);
});
