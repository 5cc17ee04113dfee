/**
 * A small deterministic random source (mulberry32), so that a seed names a run on every machine.
 * @param {number} seed
 */
export function createRandom(seed) {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
  return {
    /** A number in [0, 1). */
    next,
    /** A whole number in [low, high]. */
    whole: (low, high) => low + Math.floor(next() * (high - low + 1)),
    /** One element of a list. */
    pick: (list) => list[Math.floor(next() * list.length)],
    /** True with the given probability. */
    chance: (probability) => next() < probability,
  };
}
