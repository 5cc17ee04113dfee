/** The command line itself: options, faults, language, colour, exit codes. */
import test from "node:test";
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { spawnSync } from "node:child_process";
import { ROOT } from "../support/engine.mjs";
import { EXAMPLE, gpuplan, reportOf } from "./gpuplan.mjs";

const COMMANDS = ["plan", "batch", "link", "rank", "import", "catalog", "explain", "score", "version", "help"];

test("help of the program names every command and exit code", () => {
  const { status, stdout, stderr } = gpuplan(["help"]);
  assert.equal(status, 0);
  assert.equal(stderr, "");
  for (const command of COMMANDS) assert.match(stdout, new RegExp(`gpuplan ${command} `));
  for (const code of [0, 1, 2, 3]) assert.match(stdout, new RegExp(`^ {2}${code} `, "m"));
  for (const words of [[], ["--help"], ["-h"]]) assert.equal(gpuplan(words).stdout, stdout);
});

test("each command has help, the same by --help and by help", () => {
  for (const command of COMMANDS) {
    const { status, stdout } = gpuplan(["help", command]);
    assert.equal(status, 0);
    assert.match(stdout, new RegExp(`^gpuplan ${command}`));
    assert.equal(gpuplan([command, "--help"]).stdout, command === "help" ? gpuplan(["help"]).stdout : stdout);
  }
});

test("the manual page and the completions know every option", () => {
  const options = [...gpuplan(["help"]).stdout.matchAll(/--([a-z]+)/g)].map(([, name]) => name);
  assert.ok(options.length >= 9);
  for (const name of ["gpuplan.1", "completion/gpuplan.bash", "completion/_gpuplan"]) {
    const text = readFileSync(path.join(ROOT, "native/cli", name), "utf8").replaceAll("\\-", "-");
    for (const option of new Set(options)) assert.ok(text.includes(`--${option}`), `${name}: --${option}`);
    for (const command of COMMANDS) assert.ok(text.includes(command), `${name}: ${command}`);
  }
});

test("the bash completion completes", () => {
  const script = `source "${ROOT}/native/cli/completion/gpuplan.bash"
    try() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _gpuplan 2>/dev/null; echo "\${COMPREPLY[*]}"; }
    try gpuplan ca; try gpuplan catalog g; try gpuplan plan --ver; try gpuplan plan --unit G
    try gpuplan plan --set train.seq; try gpuplan explain kv
    try gpuplan plan seq_; try gpuplan plan train.micro; try gpuplan rank mo`;
  const run = spawnSync("bash", ["--norc", "-c", script], { encoding: "utf8", env: { PATH: `${ROOT}/build:${process.env.PATH}` } });
  const lines = run.stdout.split("\n");
  assert.equal(lines[0], "catalog");
  assert.equal(lines[1], "gpus");
  assert.match(lines[2], /--verbose/);
  assert.equal(lines[3], "GiB GB");
  assert.match(lines[4], /train\.seq_len=/);
  assert.match(lines[5], /kv_cache/);
  assert.deepEqual(lines.slice(6, 9), ["seq_len=", "train.micro_batch=", "models model="]);
});

test("faults of the command line: exit 2, one line each, nothing on standard output", () => {
  const cases = [
    [["plann"], /no command plann; nearest: plan$/],
    [["plan", "--jsn"], /no option --jsn; nearest: --json$/],
    [["plan", "-x"], /no option -x/],
    [["plan", "--unit=MB"], /MB is not allowed here; --unit=GiB\|GB$/],
    [["plan", "--color", "sometimes"], /sometimes is not allowed/],
    [["plan", "--lang", "fr"], /fr is not allowed/],
    [["plan", "--set"], /--set: needs KEY=VALUE$/],
    [["plan", "--set", "novalue"], /novalue is not allowed/],
    [["plan", "--json=yes"], /--json=yes: takes no value$/],
    [["batch", "--unit", "GB"], /--unit has no meaning for `batch`$/],
    [["plan", "a.json", "b.json"], /b\.json: one job at a time/],
    [["plan", "/nowhere/job.json"], /\/nowhere\/job\.json: No such file/],
    [["plan", "/"], /\/: Is a directory/],
    [["plan"], /no job; give a file, a link or settings/],
    [["catalog", "gpu"], /no catalogue of gpu; nearest: gpus$/],
    [["explain", "kv_cash"], /nothing is called kv_cash; nearest: /],
    [["help", "nothing"], /no command nothing/],
    [["batch", "/nowhere/jobs.jsonl"], /No such file/],
  ];
  for (const [words, pattern] of cases) {
    const { status, stdout, stderr } = gpuplan(words);
    assert.equal(status, 2, words.join(" "));
    assert.equal(stdout, "", words.join(" "));
    assert.match(stderr, /^gpuplan: .*\n$/, words.join(" "));
    assert.match(stderr.trimEnd(), pattern, words.join(" "));
  }
});

test("several faults are told together", () => {
  const { stderr } = gpuplan(["plan", "--jsn", "--unit=MB", "--lang=fr"]);
  assert.equal(stderr.trimEnd().split("\n").length, 3);
});

test("`--` ends the options", () => {
  assert.match(gpuplan(["plan", "--", "--json"]).stderr, /--json: No such file/);
});

test("the language comes from the locale or --lang, also for faults", () => {
  const chinese = /没有命令/;
  assert.match(gpuplan(["x"], { env: { LC_ALL: "zh_CN.UTF-8" } }).stderr, chinese);
  assert.match(gpuplan(["x"], { env: { LC_ALL: "", LC_MESSAGES: "zh_CN", LANG: "en_US.UTF-8" } }).stderr, chinese);
  assert.match(gpuplan(["x"], { env: { LC_ALL: "", LANG: "zh_CN.UTF-8" } }).stderr, chinese);
  assert.match(gpuplan(["x", "--lang", "zh-Hans"]).stderr, chinese);
  assert.match(gpuplan(["x", "--lang=zh"]).stderr, chinese);
  assert.match(gpuplan(["x"], { env: { LC_ALL: "en_GB.UTF-8", LANG: "zh_CN.UTF-8" } }).stderr, /no command/);
  assert.match(gpuplan(["x", "--lang=en"], { env: { LC_ALL: "zh_CN.UTF-8" } }).stderr, /no command/);
  assert.match(gpuplan(["x"], { env: { LC_ALL: "de_DE.UTF-8" } }).stderr, /no command/);
});

test("colour only where it is wanted", () => {
  const plan = ["plan", ...EXAMPLE], escape = "\u001b[";
  const coloured = gpuplan([...plan, "--color=always"]).stdout;
  assert.ok(!gpuplan(plan).stdout.includes(escape));
  assert.ok(coloured.includes(escape));
  assert.equal(gpuplan([...plan, "--color=always"], { env: { NO_COLOR: "1" } }).stdout, coloured);
  const bare = coloured.split(escape).map((part, index) => (index === 0 ? part : part.slice(part.indexOf("m") + 1))).join("");
  assert.equal(bare, gpuplan(plan).stdout);
});

test("version in words and as JSON", () => {
  const report = JSON.parse(gpuplan(["version", "--json"]).stdout);
  assert.match(report.version, /^\d+\.\d+\.\d+$/);
  assert.ok(gpuplan(["--version"]).stdout.includes(report.version));
  assert.equal(gpuplan(["-V"]).stdout, gpuplan(["version"]).stdout);
});

test("a setting that no field has hides no other fault", () => {
  const words = ["plan", "task=infer", "model=gpt2", "contxt=5", "gpu=H1000", "--set", "users=0"];
  const run = gpuplan(words);
  assert.equal(run.status, 2);
  assert.deepEqual(run.stderr.trim().split("\n").map((line) => line.split(": ")[1]), ["contxt", "infer.concurrency", "hardware.gpu"]);
  const { errors, ...rest } = reportOf(words);
  assert.deepEqual(errors.map((error) => [error.code, error.path]),
    [["unknown_key", "contxt"], ["out_of_range", "infer.concurrency"], ["unknown_gpu", "hardware.gpu"]]);
  assert.deepEqual(Object.keys(rest), ["gpuplan", "op", "version"]);
});
