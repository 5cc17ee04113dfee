/** The commands of README.md and what they print: `node tests/cli/readme.mjs` writes the outputs anew. */
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { ROOT } from "../support/engine.mjs";

export const README = path.join(ROOT, "README.md");

/** What a terminal shows for the commands of a block, each after its prompt. */
function played(block) {
  const commands = block.split("\n").filter((line) => line.startsWith("$ ")).map((line) => line.slice(2));
  return commands.map((command) => {
    const run = spawnSync("bash", ["--norc", "-c", command], {
      cwd: ROOT, encoding: "utf8", input: "", env: { PATH: process.env.PATH, LC_ALL: "C" },
    });
    if (run.stderr) throw new Error(`${command}: ${run.stderr}`);
    return `$ ${command}\n${run.stdout}`;
  }).join("");
}

/** The text with the output of every command as it is now. */
export function refreshed(text) {
  return text.replaceAll(/^```console\n([^]*?)^```$/gm, (_, block) => `\`\`\`console\n${played(block)}\`\`\``);
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) writeFileSync(README, refreshed(readFileSync(README, "utf8")));
