// The build itself: nothing is made twice, the same sources give the same bytes in any folder, and what is installed works.
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, existsSync, lstatSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";

const PRODUCTS = ["build/gpuplan.wasm", "build/gpuplan.wasm.js", "build/generated/catalog_data.c", "build/generated/messages_data.c"];

/** A folder of this test alone, removed after it. */
function scratch(t) {
  const folder = mkdtempSync(path.join(tmpdir(), "gpuplan-build-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Copies the files under version control, and links what a download would bring. */
function copyOfSources(folder) {
  const files = execFileSync("git", ["ls-files", "-z"], { encoding: "utf8" }).split("\0").filter(Boolean);
  for (const file of files.filter((name) => lstatSync(name, { throwIfNoEntry: false })?.isFile())) {
    cpSync(file, path.join(folder, file), { preserveTimestamps: true });
  }
  mkdirSync(path.join(folder, "build"));
  cpSync("build/deps", path.join(folder, "build/deps"), { recursive: true, preserveTimestamps: true });
  symlinkSync(path.resolve("node_modules"), path.join(folder, "node_modules"));
}

test("a second make has nothing to do", () => {
  for (const target of ["cli", "wasm", "site", "sanitized", "fuzzers"]) {
    assert.equal(spawnSync("make", ["--question", target]).status, 0, target);
  }
});

test("another folder gives the same bytes", (t) => {
  const folder = scratch(t);
  copyOfSources(folder);
  execFileSync("make", ["-j2", "wasm", "site", "build/generated/messages_data.c"], { cwd: folder, stdio: "pipe" });
  for (const file of [...PRODUCTS, ...readdirSync("dist").map((name) => `dist/${name}`)]) {
    assert.ok(readFileSync(file).equals(readFileSync(path.join(folder, file))), file);
  }
  assert.deepEqual(readdirSync(path.join(folder, "dist")), readdirSync("dist"));
});

test("no product names the folder it was built in", () => {
  for (const file of [...PRODUCTS, ...readdirSync("dist").map((name) => `dist/${name}`)]) {
    assert.ok(!readFileSync(file).includes(process.cwd()), file);
  }
});

test("make install puts the program, its manual page and its completions under the prefix", (t) => {
  const folder = scratch(t);
  execFileSync("make", ["install", `DESTDIR=${folder}`, "PREFIX=/usr"], { stdio: "pipe" });
  const installed = path.join(folder, "usr");
  for (const file of ["share/man/man1/gpuplan.1", "share/bash-completion/completions/gpuplan", "share/zsh/site-functions/_gpuplan"]) {
    assert.ok(existsSync(path.join(installed, file)), file);
  }
  const version = JSON.parse(readFileSync("package.json", "utf8")).version;
  assert.match(execFileSync(path.join(installed, "bin/gpuplan"), ["version"], { encoding: "utf8", cwd: folder }), new RegExp(version));
});

test("the version is the same everywhere", () => {
  const version = JSON.parse(readFileSync("package.json", "utf8")).version;
  assert.equal(readFileSync("core/gpuplan.h", "utf8").match(/#define GP_VERSION "(.*)"/)[1], version);
  assert.equal(JSON.parse(readFileSync("package-lock.json", "utf8")).version, version);
});

test("a folder of the user's serves as the source of cJSON, and a wrong one is refused", (t) => {
  const target = path.join(scratch(t), "cjson");
  const fetch = (folder) => spawnSync("native/setup/cjson.sh", [target], { env: { ...process.env, CJSON_DIR: folder }, encoding: "utf8" });
  const wrong = fetch("core");
  assert.equal(wrong.status, 1);
  assert.match(wrong.stderr, /no cJSON\.c and cJSON\.h in core/);
  assert.equal(fetch("build/deps/cjson").status, 0);
  assert.deepEqual(readFileSync(path.join(target, "cJSON.c")), readFileSync("build/deps/cjson/cJSON.c"));
});

test("each release of Emscripten gets the name it has for the size of the stack", () => {
  const names = { "3.1.6": "TOTAL_STACK", "3.1.24": "TOTAL_STACK", "3.1.25": "STACK_SIZE", "4.0.0": "STACK_SIZE", "6.0.8": "STACK_SIZE" };
  for (const [version, name] of Object.entries(names)) {
    const input = `emcc (Emscripten gcc/clang-like replacement + linker emulating GNU ld) ${version} (abc)\nsecond line 1.2.3\n`;
    assert.equal(execFileSync("wasm/stack_setting.sh", { input, encoding: "utf8" }).trim(), name, version);
  }
});

test("make help names every target that a person types", () => {
  const help = execFileSync("make", ["help"], { encoding: "utf8" });
  for (const target of ["all", "bench-core", "bless", "clean", "cli", "fuzz", "help", "install", "lint", "run", "site", "test", "unit", "wasm"]) {
    assert.match(help, new RegExp(`^${target} `, "m"));
  }
});

test("the server names its address, and says so when the port is taken", async () => {
  const { createServer } = await import("node:net");
  const taken = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => taken.once("listening", resolve));
  const { port } = taken.address();
  const refused = spawnSync(process.execPath, ["native/setup/serve.mjs", "dist", String(port)], { encoding: "utf8" });
  taken.close();
  assert.equal(refused.status, 1);
  assert.match(refused.stderr, new RegExp(`Port ${port} is taken`));
  assert.equal(spawnSync(process.execPath, ["native/setup/serve.mjs", "dist", "eighty"]).status, 2);
});
