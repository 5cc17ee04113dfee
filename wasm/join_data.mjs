// Joins the pieces of the module's data: node wasm/join_data.mjs build/gpuplan.wasm
//
// The toolchain leaves out runs of zeros, which gives hundreds of pieces. Zeros compress to nothing and the heads of the
// pieces do not: as one piece the module is larger, and a fortieth smaller once it is compressed. A module whose data is
// not all placed at fixed addresses stays as it is. https://webassembly.github.io/spec/core/binary/modules.html
import { readFileSync, writeFileSync } from "node:fs";

const SECTION_DATA = 11, SECTION_DATA_COUNT = 12;
const ACTIVE = 0, I32_CONST = 0x41, END = 0x0b;
/** Zeros that may be put in: more than this is memory that the program means to start empty. */
const ZEROS_MAX = 65536;

/** @param {Uint8Array} bytes */
function readerOf(bytes) {
  let at = 0;
  const take = () => {
    let value = 0, shift = 0, byte;
    do {
      byte = bytes[at++];
      value += (byte & 127) * 2 ** shift;
      shift += 7;
    } while (byte >= 128);
    return { value, shift, sign: byte & 64 };
  };
  return {
    ended: () => at >= bytes.length,
    byte: () => bytes[at++],
    whole: () => take().value,
    signed: () => { const { value, shift, sign } = take(); return sign ? value - 2 ** shift : value; },
    slice: (/** @type {number} */ length) => bytes.subarray(at, at += length),
  };
}

/** @param {number} value from 0 @param {number} last bits of the last byte that a value may fill: 7, or 6 beside a sign */
function numberBytes(value, last = 7) {
  const bytes = [];
  for (; value >= 2 ** last; value = Math.floor(value / 128)) bytes.push(value % 128 + 128);
  return [...bytes, value];
}

/** The pieces of a data section by address, or null when one is not at a fixed address. @param {Uint8Array} section */
function piecesOf(section) {
  const reader = readerOf(section);
  const pieces = [];
  for (let count = reader.whole(); count > 0; count--) {
    if (reader.whole() !== ACTIVE || reader.byte() !== I32_CONST) return null;
    const address = reader.signed();
    if (reader.byte() !== END) return null;
    pieces.push({ address, bytes: reader.slice(reader.whole()) });
  }
  return pieces.sort((a, b) => a.address - b.address);
}

/** @param {NonNullable<ReturnType<typeof piecesOf>>} pieces */
function joined(pieces) {
  const first = pieces[0].address;
  const last = pieces[pieces.length - 1];
  const memory = new Uint8Array(last.address + last.bytes.length - first);
  const held = pieces.reduce((sum, { bytes }) => sum + bytes.length, 0);
  if (first < 0 || memory.length - held > ZEROS_MAX) return null;
  for (const { address, bytes } of pieces) memory.set(bytes, address - first);
  return Buffer.concat([Buffer.from([1, ACTIVE, I32_CONST, ...numberBytes(first, 6), END, ...numberBytes(memory.length)]), memory]);
}

/** @param {Uint8Array} module */
function withJoinedData(module) {
  const reader = readerOf(module);
  const head = reader.slice(8);
  const sections = [];
  while (!reader.ended()) sections.push({ id: reader.byte(), body: reader.slice(reader.whole()) });
  const data = sections.find(({ id }) => id === SECTION_DATA);
  const pieces = data ? piecesOf(data.body) : null;
  const body = pieces && pieces.length > 1 ? joined(pieces) : null;
  if (!data || !body) return module;
  data.body = body;
  for (const section of sections) if (section.id === SECTION_DATA_COUNT) section.body = Buffer.from([1]);
  return Buffer.concat([head, ...sections.map((section) =>
    Buffer.concat([Buffer.from([section.id, ...numberBytes(section.body.length)]), section.body]))]);
}

const file = process.argv[2];
writeFileSync(file, withJoinedData(readFileSync(file)));
