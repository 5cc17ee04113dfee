/** One browser, one static server, and pages that note everything that goes wrong on them. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createReadStream, existsSync } from "node:fs";
import { createServer } from "node:http";
import path from "node:path";
import { pathToFileURL, fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

export const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../../..");
export const DIST = path.join(ROOT, "dist");
/** Served below a path, since the site must not depend on where it stands. */
const PREFIX = "/courses/llm/gpuplan/";
const TYPES = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".txt": "text/plain" };
const TIMEOUT_MS = 10_000;

let browser;
let server;
/** Pages of the test's own that the server also hands out, by name. */
const extraPages = new Map();

function serve(request, response) {
  const name = new URL(request.url, "http://localhost").pathname;
  if (extraPages.has(name)) {
    response.writeHead(200, { "content-type": "text/html" }).end(extraPages.get(name));
    return;
  }
  const file = path.join(DIST, name.slice(PREFIX.length));
  if (!name.startsWith(PREFIX) || !file.startsWith(DIST) || !existsSync(file)) {
    response.writeHead(404).end();
    return;
  }
  response.writeHead(200, { "content-type": TYPES[path.extname(file)] ?? "application/octet-stream" });
  createReadStream(file).pipe(response);
}

async function origin() {
  if (!server) {
    server = createServer(serve);
    await new Promise((resolve) => { server.listen(0, "127.0.0.1", resolve); });
  }
  return `http://127.0.0.1:${server.address().port}`;
}

/** Hands out a page of the test's own; returns its address. */
export async function hostPage(name, html) {
  extraPages.set(name, html);
  return (await origin()) + name;
}

/** @param {"http" | "file"} scheme @param {string} page "index.html?lang=en#v=1" */
export async function addressOf(scheme, page) {
  return scheme === "file" ? pathToFileURL(`${DIST}/`).href + page : (await origin()) + PREFIX + page;
}

async function sharedBrowser() {
  browser ??= await chromium.launch({
    executablePath: execFileSync("sh", [path.join(ROOT, "native/setup/browser.sh")], { encoding: "utf8" }).trim(),
    args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--force-color-profile=srgb"],
  });
  return browser;
}

export async function closeAll() {
  await browser?.close();
  server?.closeAllConnections();
  await new Promise((resolve) => { if (server) server.close(resolve); else resolve(); });
}

/** A visitor who asks that pages load no more than is needed: for `init` of withPage. */
export const savingData = "Object.defineProperty(navigator, 'connection', { value: { saveData: true } })";

/** A new context costs a process, about a second; tests that ask for the same kind of page share one. */
const POOL_MAX = 3;
const pool = new Map();

/** @returns {Promise<{ context, page, seen: { errors: string[], requests: string[] } }>} */
async function pageOf(key, init, options) {
  const kept = pool.get(key);
  if (kept) {
    pool.delete(key);
    pool.set(key, kept);
    return kept;
  }
  const context = await (await sharedBrowser()).newContext({
    locale: "en-US", viewport: { width: 1200, height: 900 }, reducedMotion: "reduce", ...options,
  });
  const page = await context.newPage();
  page.setDefaultTimeout(TIMEOUT_MS);
  if (init) await page.addInitScript(init);
  const entry = { context, page, seen: { errors: [], requests: [] } };
  page.on("console", (message) => { if (["error", "warning"].includes(message.type())) entry.seen.errors.push(message.text()); });
  page.on("pageerror", (error) => entry.seen.errors.push(String(error)));
  page.on("request", (request) => entry.seen.requests.push(request.url()));
  pool.set(key, entry);
  if (pool.size > POOL_MAX) await drop(pool.keys().next().value);
  return entry;
}

async function drop(key) {
  const entry = pool.get(key);
  pool.delete(key);
  await entry?.context.close();
}

/**
 * Runs `body` with a freshly loaded page that must end without errors and without a request to anywhere else.
 * @param {object} options scheme, page, `init` (a script that runs first) and the options of a browser context; `faults`
 *   true allows console errors, `alone` true keeps the context from other tests, `answers` stands in for other hosts: an
 *   address gives what page.route fulfils with, or null for no connection
 * @param {(page: import("playwright-core").Page, seen: { errors: string[], requests: string[] }) => Promise<void>} body
 */
export async function withPage({ scheme = "http", page: name = "index.html", ready = true, faults = false, alone = false, init, answers, ...options }, body) {
  const key = JSON.stringify([options, String(init).slice(0, 1000)]);
  if (alone) await drop(key);
  const entry = await pageOf(key, init, options);
  const { page } = entry;
  const seen = { errors: [], requests: [] };
  entry.seen = seen;
  let isClean = false;
  try {
    if (answers) await page.route(ELSEWHERE, (route) => standIn(route, answers));
    await page.goto("about:blank"); // A change of the fragment alone would not load the page anew.
    await page.goto(await addressOf(scheme, name));
    if (ready) await settled(page);
    await body(page, seen);
    if (!faults) assert.deepEqual(seen.errors, [], "console of the page");
    const home = scheme === "file" ? "file://" : await origin();
    assert.deepEqual(seen.requests.filter((url) => !url.startsWith(home) && !/^(data|blob|about):/.test(url) && !(answers && ELSEWHERE.test(url))), [], "requests to elsewhere");
    if (!alone) await page.evaluate(() => { try { localStorage.clear(); } catch { /* closed on purpose */ } });
    if (answers) await page.unroute(ELSEWHERE);
    isClean = !alone;
  } finally {
    if (!isClean) await drop(key);
  }
}

/** The page itself is served without encryption, so these are other hosts. */
const ELSEWHERE = /^https:/;

function standIn(route, answers) {
  const answer = answers(route.request().url(), route.request().headers());
  if (!answer) return route.abort();
  const { status = 200, headers = {}, body = "" } = answer;
  return route.fulfill({ status, body, headers: { "access-control-allow-origin": "*", ...headers } });
}

/** Waits until the page has drawn what was last asked of it. */
export async function settled(page) {
  await page.waitForSelector("[data-verdict]");
  // What a press opens comes a moment after the answer; the embedded plan opens nothing.
  await page.waitForFunction(() => !document.getElementById("import") || document.querySelector("[data-import=toggle]"));
  await page.evaluate(() => new Promise((resolve) => { requestAnimationFrame(() => requestAnimationFrame(resolve)); }));
}

/** Puts a link into the address bar and waits until the page has followed it. */
export async function follow(page, link) {
  const address = await page.evaluate(() => location.hash.slice(1));
  if (address !== link) {
    await page.evaluate((text) => new Promise((resolve) => {
      // The page's own listener came first.
      addEventListener("hashchange", resolve, { once: true });
      location.hash = text;
    }), link);
  }
  await settled(page);
}

/** Text of the first element, without the gaps of the markup. */
export const textOf = async (page, selector) => (await page.locator(selector).first().innerText()).replace(/\s+/g, " ").trim();

export const verdictOf = (page) => page.locator("#verdict [data-verdict]").getAttribute("data-verdict");

/** The job's link as the address bar holds it. */
export const hashOf = (page) => page.evaluate(() => decodeURIComponent(location.hash));

/** Types into a field of the sentence or the settings, and leaves it. */
export async function setField(page, selector, text) {
  await page.fill(selector, text);
  await page.locator(selector).press("Tab");
  await settled(page);
}
