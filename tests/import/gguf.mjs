/** GGUF headers for tests, written as the format's description has them (github.com/ggml-org/ggml docs/gguf.md). */
const KINDS = { u8: 0, i8: 1, u16: 2, i16: 3, u32: 4, i32: 5, f32: 6, bool: 7, string: 8, array: 9, u64: 10, i64: 11, f64: 12 };
const WIDTHS = { u8: 1, i8: 1, u16: 2, i16: 2, u32: 4, i32: 4, f32: 4, bool: 1, u64: 8, i64: 8, f64: 8 };
/** [number, values in a block, bytes of a block] */
export const TYPES = { F32: [0, 1, 4], F16: [1, 1, 2], BF16: [30, 1, 2], Q8_0: [8, 32, 34], Q4_0: [2, 32, 18], Q4_K: [12, 256, 144], Q6_K: [14, 256, 210] };

const integer = (number, width) => {
  const bytes = Buffer.alloc(width);
  for (let i = 0, rest = BigInt.asUintN(64, BigInt(number)); i < width; i++, rest >>= 8n) bytes[i] = Number(rest & 255n);
  return bytes;
};
export const u32 = (number) => integer(number, 4);
export const u64 = (number) => integer(number, 8);
export const string = (text) => Buffer.concat([u64(Buffer.byteLength(text)), Buffer.from(text)]);

function scalar(kind, one) {
  if (kind === "string") return string(one);
  if (kind !== "f32" && kind !== "f64") return integer(Number(one), WIDTHS[kind]);
  const bytes = Buffer.alloc(WIDTHS[kind]);
  if (kind === "f32") bytes.writeFloatLE(one);
  else bytes.writeDoubleLE(one);
  return bytes;
}

/** A value is {kind: value}, or {kind: [values]} for an array; a number is u32, a text a string. */
export function value(given) {
  if (typeof given === "number") return Buffer.concat([u32(KINDS.u32), u32(given)]);
  if (typeof given === "string") return Buffer.concat([u32(KINDS.string), string(given)]);
  const [[kind, content]] = Object.entries(given);
  if (!Array.isArray(content)) return Buffer.concat([u32(KINDS[kind]), scalar(kind, content)]);
  return Buffer.concat([u32(KINDS.array), u32(KINDS[kind]), u64(content.length), ...content.map((one) => scalar(kind, one))]);
}

export const bytesOf = ({ shape, type }) => shape.reduce((product, size) => product * size, 1) / TYPES[type][1] * TYPES[type][2];

/**
 * @param {{metadata: Record<string, any>, tensors: {name: string, shape: number[], type: keyof typeof TYPES}[], version?: number, alignment?: number}} model
 * @returns {{header: Buffer, size: number, bytes: number}} the header, the file's size, and the bytes of the tensors
 */
export function makeGguf({ metadata, tensors, version = 3, alignment = 32 }) {
  const aligned = (offset) => Math.ceil(offset / alignment) * alignment;
  const infos = [];
  let offset = 0, bytes = 0, end = 0;
  for (const tensor of tensors) {
    infos.push(string(tensor.name), u32(tensor.shape.length), ...tensor.shape.map(u64), u32(TYPES[tensor.type][0]), u64(offset));
    bytes += bytesOf(tensor);
    end = offset + bytesOf(tensor);
    offset = aligned(end);
  }
  const header = Buffer.concat([Buffer.from("GGUF"), u32(version), u64(tensors.length), u64(Object.keys(metadata).length),
    ...Object.entries(metadata).flatMap(([key, one]) => [string(key), value(one)]), ...infos]);
  return { header, size: aligned(header.length) + end, bytes };
}

/** A Llama as llama.cpp converts it: the mix's types for matrices, F32 for norms. */
export function llama({ layers = 2, hidden = 256, heads = 4, kvHeads = 2, ffn = 512, vocab = 512, type = "Q4_K", tied = false, experts = 0, extra = {} } = {}) {
  const head = hidden / heads;
  const matrix = (name, inputs, outputs, kind = type) => ({ name: `${name}.weight`, shape: [inputs, outputs], type: kind });
  const norm = (name, width) => ({ name: `${name}.weight`, shape: [width], type: "F32" });
  const block = (i) => {
    const at = (name) => `blk.${i}.${name}`;
    const dense = [matrix(at("ffn_gate"), hidden, ffn), matrix(at("ffn_up"), hidden, ffn), matrix(at("ffn_down"), ffn, hidden)];
    const sparse = [{ name: at("ffn_gate_inp.weight"), shape: [hidden, experts], type: "F32" },
      ...[["ffn_gate_exps", hidden, ffn], ["ffn_up_exps", hidden, ffn], ["ffn_down_exps", ffn, hidden]]
        .map(([name, inputs, outputs]) => ({ name: at(`${name}.weight`), shape: [inputs, outputs, experts], type }))];
    return [norm(at("attn_norm"), hidden), matrix(at("attn_q"), hidden, heads * head), matrix(at("attn_k"), hidden, kvHeads * head),
      matrix(at("attn_v"), hidden, kvHeads * head), matrix(at("attn_output"), heads * head, hidden), norm(at("ffn_norm"), hidden),
      ...(experts ? sparse : dense)];
  };
  const metadata = {
    "general.architecture": "llama", "general.name": "Small", "general.file_type": 15,
    "llama.block_count": layers, "llama.context_length": 4096, "llama.embedding_length": hidden, "llama.feed_forward_length": ffn,
    "llama.attention.head_count": heads, "llama.attention.head_count_kv": kvHeads,
    ...(experts ? { "llama.expert_count": experts, "llama.expert_used_count": 2 } : {}),
    "tokenizer.ggml.model": "llama", "tokenizer.ggml.tokens": { string: Array.from({ length: vocab }, (_, i) => `t${i}`) },
    "tokenizer.ggml.scores": { f32: Array(vocab).fill(0) }, ...extra,
  };
  const tensors = [matrix("token_embd", hidden, vocab), ...(tied ? [] : [matrix("output", hidden, vocab, "Q6_K")]), norm("output_norm", hidden),
    ...Array.from({ length: layers }, (_, i) => block(i)).flat()];
  return { metadata, tensors };
}
