/** Headers of .safetensors files for tests (github.com/huggingface/safetensors, "Format"). */
const BITS = { BF16: 16, F16: 16, F32: 32, F8_E4M3: 8, I32: 32, U8: 8 };

/** The file's first bytes for tensors {name, dtype, shape}, one after the other; `change` may spoil the header. */
export function makeSafetensors(tensors, change = (header) => header) {
  const header = { __metadata__: { format: "pt" } };
  let offset = 0;
  for (const { name, dtype, shape } of tensors) {
    const bytes = shape.reduce((product, size) => product * size, 1) * BITS[dtype] / 8;
    header[name] = { dtype, shape, data_offsets: [offset, offset + bytes] };
    offset += bytes;
  }
  const changed = change(header);
  const text = Buffer.from(typeof changed === "string" ? changed : JSON.stringify(changed));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(text.length));
  return { header: Buffer.concat([length, text]), size: 8 + text.length + offset, bytes: offset };
}
