// Writes the module as a classic script: node wasm/embed.mjs build/gpuplan.wasm > build/gpuplan.wasm.js
//
// Each byte is the character of that number, which compresses almost as well as the module itself (base64, whose
// characters straddle the bytes, takes a quarter more). NUL, the most frequent byte, changes places with "~", and the
// bytes that a string literal cannot hold are written 256 higher. wasm/engine.js reads it back.
import { readFileSync } from "node:fs";

const TILDE = 126;
const RAISED = new Set([0, 10, 13, 34, 92]);

/** @param {number} byte */
function characterOf(byte) {
  const swapped = byte === 0 ? TILDE : byte === TILDE ? 0 : byte;
  return String.fromCharCode(RAISED.has(swapped) ? swapped + 256 : swapped);
}

const bytes = readFileSync(process.argv[2]);
process.stdout.write(`globalThis.gpuplanWasm="${Array.from(bytes, characterOf).join("")}";\n`);
