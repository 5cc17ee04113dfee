// Every .json file is one JSON text, every line of a .jsonl file is one, and no object has a key twice.
import { readFileSync } from "node:fs";

/** JSON.parse keeps the last of two equal keys without a word, so the keys are counted in the text. */
function duplicateKey(text) {
  const open = [];
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"\s*:?|[{}[\]]/g)) {
    if (token === "{" || token === "[") open.push(new Set());
    else if (token === "}" || token === "]") open.pop();
    else if (token.endsWith(":")) {
      const key = token.slice(0, -1).trimEnd();
      if (open.at(-1)?.has(key)) return key;
      open.at(-1)?.add(key);
    }
  }
  return "";
}

let faults = 0;
for (const file of process.argv.slice(2)) {
  const text = readFileSync(file, "utf8");
  const parts = file.endsWith(".jsonl") ? text.split("\n").filter((line) => line.trim()) : [text];
  parts.forEach((part, index) => {
    try {
      JSON.parse(part);
      const key = duplicateKey(part);
      if (key) throw new Error(`${key} stands twice in one object`);
    } catch (error) {
      console.error(`${file}${parts.length > 1 ? ` line ${index + 1}` : ""}: ${error.message}`);
      faults++;
    }
  });
}
process.exitCode = faults ? 1 : 0;
