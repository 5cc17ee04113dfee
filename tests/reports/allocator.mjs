/** A training step of torchtitan, allocation by allocation, through a model of PyTorch's caching allocator.
 * It shows what a job does not state and what the planner's pools (core/ledger/ledger_training.c) were taken from.
 * Sources: c10/cuda/CUDACachingAllocator.cpp (best fit, a pool for each stream, segments of 2 MiB steps, expandable segments);
 * torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py (what is gathered, copied and reduced when);
 * torchtitan/distributed/activation_checkpoint.py (the per-operator policy). Nothing here is fitted. */
const MIB = 2 ** 20, GIB = 2 ** 30;

class CachingAllocator {
  #free = new Map(); /* stream → blocks {bytes, segment, offset} */
  #expandable;
  #ends = new Map(); /* stream → end of its one segment, where segments can grow */
  #segments = 0;
  reserved = 0;

  constructor(expandable) { this.#expandable = expandable; }

  #blocks(stream) {
    if (!this.#free.has(stream)) this.#free.set(stream, []);
    return this.#free.get(stream);
  }

  #grown(bytes, stream, blocks) {
    const end = this.#ends.get(stream) ?? 0;
    const at = blocks.findIndex((block) => block.offset + block.bytes === end);
    const offset = at < 0 ? end : blocks.splice(at, 1)[0].offset;
    const more = Math.ceil((offset + bytes - end) / (20 * MIB)) * 20 * MIB;
    this.#ends.set(stream, end + more);
    this.reserved += more;
    return { bytes: end + more - offset, segment: stream, offset };
  }

  #segment(bytes) {
    const size = bytes < 10 * MIB ? 20 * MIB : Math.ceil(bytes / (2 * MIB)) * 2 * MIB;
    this.reserved += size;
    return { bytes: size, segment: this.#segments++, offset: 0 };
  }

  take(wanted, stream = "main") {
    const bytes = Math.max(MIB, Math.ceil(wanted / 512) * 512), blocks = this.#blocks(stream);
    let best = -1;
    blocks.forEach((block, index) => {
      if (block.bytes >= bytes && (best < 0 || block.bytes < blocks[best].bytes)) best = index;
    });
    let block = best >= 0 ? blocks.splice(best, 1)[0] : null;
    block ??= this.#expandable ? this.#grown(bytes, stream, blocks) : this.#segment(bytes);
    if (block.bytes - bytes > MIB) {
      blocks.push({ bytes: block.bytes - bytes, segment: block.segment, offset: block.offset + bytes });
      block = { ...block, bytes };
    }
    return { ...block, stream };
  }

  give(...given) {
    for (const { stream, ...block } of given) {
      const blocks = this.#blocks(stream);
      for (const side of [(other) => other.offset === block.offset + block.bytes, (other) => other.offset + other.bytes === block.offset]) {
        const at = blocks.findIndex((other) => other.segment === block.segment && side(other));
        if (at < 0) continue;
        const [other] = blocks.splice(at, 1);
        block.bytes += other.bytes;
        block.offset = Math.min(block.offset, other.offset);
      }
      blocks.push(block);
    }
  }
}

/** FSDP2: a unit's buffer on the gathering stream lives until the next has been copied out of; a gradient is copied to an
 * fp32 buffer, which lives until the next is reduced, and summed on the reducing stream. */
class Sharding {
  #memory;
  #ranks;
  #buffer = null;
  #reducing = null;
  sums = [];

  constructor(memory, ranks) {
    this.#memory = memory;
    this.#ranks = ranks;
  }

  fetch(unit) { return this.#memory.take(2 * total(unit), "gather"); }

  whole(unit, buffer = this.fetch(unit)) {
    const copies = unit.map((elements) => this.#memory.take(2 * elements));
    if (this.#buffer) this.#memory.give(this.#buffer);
    this.#buffer = buffer;
    return copies;
  }

  reduce(unit, gradients) {
    if (this.#reducing) this.#memory.give(this.#reducing);
    this.#reducing = this.#memory.take(4 * total(unit));
    this.#memory.give(...gradients);
    this.sums.push(this.#memory.take((4 * total(unit)) / this.#ranks, "reduce"));
  }

  finish() {
    this.#memory.give(...[this.#buffer, this.#reducing].filter(Boolean));
    this.#buffer = this.#reducing = null;
  }

  clear() { this.#memory.give(...this.sums.splice(0)); }
}

const total = (elements) => elements.reduce((sum, each) => sum + each, 0);

/** One layer forward; what the policy keeps of it, and its output. Every tensor of the tokens is in 16 bits but where eager
 * norms and rotations go through fp32. */
function forward({ take, give, wide, keys, inner }, { compiled, recompute }) {
  const norm = () => {
    if (compiled) return take(wide);
    const cast = take(2 * wide), square = take(2 * wide);
    give(square);
    const scaled = take(2 * wide);
    give(cast);
    const narrow = take(wide);
    give(scaled);
    const out = take(wide);
    give(narrow);
    return out;
  };
  const rotate = (bytes) => {
    if (compiled) return take(bytes);
    const pair = take(2 * bytes), turned = take(2 * bytes);
    give(pair);
    const out = take(bytes);
    give(turned);
    return out;
  };
  const normed = norm(), query = take(wide), key = take(keys), value = take(keys);
  const turned = rotate(wide), turnedKey = rotate(keys);
  give(key);
  const allKeys = take(wide), allValues = take(wide);
  give(turnedKey);
  const attended = take(wide);
  give(turned, allKeys, allValues, normed);
  const projected = take(wide), middle = compiled ? projected : take(wide);
  if (!compiled) give(projected);
  const second = norm(), gate = take(inner), active = take(inner), up = take(inner);
  if (compiled) give(active);
  const product = take(inner);
  if (!compiled) give(active);
  give(up, second);
  const down = take(wide);
  give(product);
  const out = take(wide);
  give(middle);
  const all = [query, value, attended, gate];
  if (recompute === "full") give(...all, down);
  else if (compiled) give(down);
  else all.push(down);
  return { out, kept: recompute === "full" ? [] : all };
}

/** The layer computed again, and its backward: the gradient of its input and those of its matrices. */
function backward({ take, give, wide, keys, inner, matrices }, { compiled, recompute }, { input, kept }, gradient) {
  const norm = () => {
    if (compiled) return { out: take(wide), saved: [] };
    const cast = take(2 * wide), square = take(2 * wide);
    give(square);
    return { saved: [cast, take(2 * wide), take(wide)], out: take(wide) };
  };
  const through = () => {
    if (compiled) return;
    const wider = [take(2 * wide), take(2 * wide)];
    give(...wider);
  };
  const weight = (index) => take(2 * matrices[index]);
  const full = recompute === "full";
  const first = norm();
  const [query, value] = full ? [take(wide), take(keys)] : kept;
  const key = take(keys), casts = compiled ? [] : [take(2 * wide), take(2 * keys)];
  const turned = take(wide), turnedKey = take(keys);
  give(key);
  const allKeys = take(wide), allValues = take(wide);
  give(turnedKey);
  const attended = full ? take(wide) : kept[2];
  give(...casts);
  const projected = take(wide), middle = take(wide);
  give(projected);
  const second = norm();
  const gate = full ? take(inner) : kept[3], active = take(inner), up = take(inner), product = take(inner);
  const ofProduct = take(inner), ofDown = weight(6);
  give(product, ...kept.slice(4));
  const ofActive = take(inner), ofUp = take(inner);
  give(ofProduct, up);
  const ofGate = take(inner);
  give(ofActive, active, gate);
  const fromUp = take(wide), upWeight = weight(5);
  give(ofUp);
  const fromGate = take(wide), gateWeight = weight(4);
  give(ofGate);
  const summed = take(wide);
  give(fromUp, fromGate, second.out);
  through();
  give(...second.saved);
  const ofNorm = take(wide);
  give(summed);
  const residual = take(wide);
  give(ofNorm, gradient, middle);
  const ofAttended = take(wide), outWeight = weight(3);
  const ofQuery = take(wide), ofKeys = take(wide), ofValues = take(wide);
  give(ofAttended, attended, turned, allKeys, allValues);
  const ofKey = take(keys), ofValue = take(keys);
  give(ofKeys, ofValues);
  through();
  give(query, value);
  const fromQuery = take(wide), queryWeight = weight(0);
  give(ofQuery);
  const fromKey = take(wide), keyWeight = weight(1);
  give(ofKey);
  const fromValue = take(wide), valueWeight = weight(2);
  give(ofValue, fromKey, fromValue);
  through();
  give(...first.saved, first.out);
  const last = take(wide);
  give(fromQuery);
  const next = take(wide);
  give(last, residual, input);
  return { gradient: next, weights: [gateWeight, ofDown, upWeight, outWeight, queryWeight, keyWeight, valueWeight] };
}

/** The 16-bit logits, and around an eager loss the fp32 copy, the log-softmax and two gradients; the 16-bit gradient stays. */
function loss({ take, give }, logits, eager) {
  const narrow = take(2 * logits);
  if (!eager) {
    const gradient = take(2 * logits);
    give(narrow);
    return gradient;
  }
  const copy = take(4 * logits), kept = take(4 * logits);
  give(copy, narrow);
  const ofLoss = take(4 * logits), wide = take(4 * logits);
  give(ofLoss, kept);
  const gradient = take(2 * logits);
  give(wide);
  return gradient;
}

/** GiB that the allocator has reserved after three steps on one of `ranks` GPUs. `layer` = {hidden, keys, inner}. */
export function reserved(settings) {
  const { ranks, sequences, length, layers, vocab, hidden, keys, inner, expandable = false, eagerLoss = true } = settings;
  const memory = new CachingAllocator(expandable), tokens = sequences * length;
  const matrices = [hidden * hidden, hidden * keys, hidden * keys, hidden * hidden, hidden * inner, hidden * inner, hidden * inner, hidden, hidden];
  const embedding = [vocab * hidden], head = [vocab * hidden, hidden];
  const step = { take: (bytes, stream) => memory.take(bytes, stream), give: (...given) => memory.give(...given), matrices,
                 wide: 2 * tokens * hidden, keys: 2 * tokens * keys, inner: 2 * tokens * inner };
  const tensors = [...Array(layers).fill(matrices), embedding, head].flat();
  const shards = () => tensors.forEach((elements) => memory.take((4 * elements) / ranks));
  const sharding = new Sharding(memory, ranks);
  shards();
  for (let pass = 0; pass < 3; pass++) {
    const table = sharding.whole(embedding);
    let input = memory.take(step.wide);
    memory.give(...table);
    const stack = [];
    for (let layer = 0; layer < layers; layer++) {
      const weights = sharding.whole(matrices), { out, kept } = forward(step, settings);
      stack.push({ input, kept });
      input = out;
      memory.give(...weights);
    }
    const normed = memory.take(step.wide), matrix = sharding.whole(head);
    const ofLogits = loss(step, tokens * vocab, eagerLoss);
    let ahead = sharding.fetch(matrices);
    const ofNorm = memory.take(step.wide), ofMatrix = memory.take(2 * head[0]);
    memory.give(ofLogits);
    let gradient = memory.take(step.wide);
    memory.give(ofNorm, normed, ...matrix);
    sharding.reduce(head, [ofMatrix]);
    for (let layer = layers - 1; layer >= 0; layer--) {
      const weights = sharding.whole(matrices, ahead);
      if (layer > 0) ahead = sharding.fetch(matrices);
      const made = backward(step, settings, stack.pop(), gradient);
      gradient = made.gradient;
      memory.give(...weights);
      sharding.reduce(matrices, made.weights);
    }
    const ofTable = memory.take(2 * embedding[0]);
    memory.give(gradient, input);
    sharding.reduce(embedding, [ofTable]);
    sharding.finish();
    if (pass === 0) [shards, shards].forEach((moment) => moment());
    sharding.clear();
  }
  return memory.reserved / GIB;
}
