// Writes GGUF files whose header is real and whose weights are a hole in the file: zeros that take no space on disk.
// The layout is that of github.com/ggml-org/ggml docs/gguf.md, version 3.
import { ftruncateSync, openSync, closeSync, writeSync } from "node:fs";

const ALIGNMENT = 32;

/** Number in files, values in a block and bytes of a block. */
export const TYPES = {
  f32: [0, 1, 4], f16: [1, 1, 2], q4_0: [2, 32, 18], q8_0: [8, 32, 34], q4_K: [12, 256, 144], q6_K: [14, 256, 210],
  mxfp4: [39, 32, 17],
};

const u32 = (value) => {
  const buffer = Buffer.alloc(4);
  buffer.writeUInt32LE(value);
  return buffer;
};
const u64 = (value) => {
  const buffer = Buffer.alloc(8);
  buffer.writeBigUInt64LE(BigInt(value));
  return buffer;
};
const f32 = (value) => {
  const buffer = Buffer.alloc(4);
  buffer.writeFloatLE(value);
  return buffer;
};
const string = (text) => Buffer.concat([u64(Buffer.byteLength(text)), Buffer.from(text)]);

/** Value types of metadata by what a JavaScript value is: whole numbers are uint32, { signed } int32, { real } float32. */
function typed(value) {
  if (typeof value === "boolean") return [7, Buffer.from([value ? 1 : 0])];
  if (typeof value === "string") return [8, string(value)];
  if (typeof value === "number") return [4, u32(value)];
  if (Array.isArray(value)) {
    const rows = value.map(typed);
    return [9, Buffer.concat([u32(rows[0][0]), u64(rows.length), ...rows.map((row) => row[1])])];
  }
  if ("signed" in value) return [5, u32(value.signed)];
  return [6, f32(value.real)];
}

/** Bytes of a tensor: the first dimension is the row. */
export function tensorBytes({ shape, type }) {
  const [, values, bytes] = TYPES[type];
  const [width, ...rest] = shape;
  return (width / values) * bytes * rest.reduce((product, size) => product * size, 1);
}

/** @param {{metadata: Record<string, unknown>, tensors: {name: string, shape: number[], type: string}[]}} model */
export function writeGguf(path, { metadata, tensors }) {
  const keys = Object.entries(metadata);
  const parts = [Buffer.from("GGUF"), u32(3), u64(tensors.length), u64(keys.length)];
  for (const [key, value] of keys) {
    const [type, bytes] = typed(value);
    parts.push(string(key), u32(type), bytes);
  }
  let offset = 0;
  for (const tensor of tensors) {
    parts.push(string(tensor.name), u32(tensor.shape.length), ...tensor.shape.map(u64), u32(TYPES[tensor.type][0]), u64(offset));
    offset += Math.ceil(tensorBytes(tensor) / ALIGNMENT) * ALIGNMENT;
  }
  const header = Buffer.concat(parts);
  const start = Math.ceil(header.length / ALIGNMENT) * ALIGNMENT;
  const file = openSync(path, "w");
  writeSync(file, header);
  ftruncateSync(file, start + offset);
  closeSync(file);
}
