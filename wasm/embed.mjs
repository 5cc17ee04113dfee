// Writes the module as a classic script: node wasm/embed.mjs build/gpuplan.wasm > build/gpuplan.wasm.js
//
// Each byte is the character of that number, which compresses almost as well as the module itself (base64, whose
// characters straddle the bytes, takes a quarter more). Bytes above 126, and those that a string literal cannot hold,
// take two bytes as text: the most frequent of them change places with the rarest others. The pairs stand in front.
// Bytes that a literal still cannot hold are written 256 higher. wasm/engine.js reads it back.
import { readFileSync } from "node:fs";

import { PAIRS } from "./engine.js";

const RAISED = new Set([0, 10, 13, 34, 92]);
const isShort = (/** @type {number} */ byte) => byte < 127 && !RAISED.has(byte);

/** Bytes that change places, each two. @param {Uint8Array} bytes */
function pairsOf(bytes) {
  const counts = new Uint32Array(256);
  for (const byte of bytes) counts[byte]++;
  const all = Array.from(counts.keys());
  const long = all.filter((byte) => !isShort(byte)).sort((a, b) => counts[b] - counts[a] || a - b);
  const short = all.filter(isShort).sort((a, b) => counts[a] - counts[b] || a - b);
  return Array.from({ length: PAIRS }, (_, i) => [long[i], short[i]]);
}

const bytes = readFileSync(process.argv[2]);
const pairs = pairsOf(bytes);
const swapped = new Map(pairs.flatMap(([a, b]) => [[a, b], [b, a]]));
const characterOf = (/** @type {number} */ byte) => String.fromCharCode(RAISED.has(byte) ? byte + 256 : byte);
const text = [...pairs.flat(), ...Array.from(bytes, (byte) => swapped.get(byte) ?? byte)].map(characterOf).join("");
process.stdout.write(`globalThis.gpuplanWasm="${text}";\n`);
