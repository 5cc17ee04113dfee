/* Describes a model by the files of a hub. Nothing is fetched before the reader asks for it, and nothing but the
 * description: config.json and the index, or the first bytes of a single file of weights. */
import { textSource } from './model-files.js';

/** @typedef {import('./model-files.js').Source} Source */

/**
 * @typedef {object} Site
 * @property {string} id
 * @property {string} label
 * @property {(model: string, file: string) => string} address
 */

/** @param {string} base @returns {Site['address']} */
const resolve = (base) => (model, file) => `${base}/${model}/resolve/main/${file}`;

/** The hosts stand in the page's policy too. @type {Site[]} */
export const sites = [
  { id: 'huggingface', label: 'Hugging Face', address: resolve('https://huggingface.co') },
  { id: 'hf-mirror', label: 'hf-mirror', address: resolve('https://hf-mirror.com') },
  { id: 'modelscope', label: 'ModelScope', address: (model, file) => `https://modelscope.cn/models/${model}/resolve/master/${file}` },
];

/** `reason` is the end of a key of page.json, "hub.error.…". */
export class HubError extends Error {
  /** @param {string} reason */
  constructor(reason) {
    super(reason);
    this.reason = reason;
  }
}

/** The id inside an id or an address of a model's page, or null. @param {string} typed */
export function modelIdOf(typed) {
  const path = typed.trim().replace(/^https?:\/\/[^/]+\//, '').replace(/^models\//, '');
  const found = /^([\w.-]+\/[\w.-]+)(?:[/?#].*)?$/.exec(path);
  return found && !found[1].includes('..') ? found[1] : null;
}

/** @param {number} status */
function reasonOf(status) {
  if (status === 401 || status === 403) return 'gated';
  if (status === 404) return 'missing';
  if (status === 429) return 'busy';
  return 'server';
}

/** @param {typeof fetch} fetcher @param {string} address @param {RequestInit} options */
async function request(fetcher, address, options) {
  /** @type {Response} */
  let response;
  try {
    response = await fetcher(address, { ...options, credentials: 'omit', referrerPolicy: 'no-referrer' });
  } catch (cause) {
    if (options.signal?.aborted) throw new HubError('stopped');
    throw new HubError(globalThis.navigator?.onLine === false ? 'offline' : 'unreachable');
  }
  if (!response.ok) throw new HubError(reasonOf(response.status));
  return response;
}

/* Reads until `length` bytes are there; a server that ignores the range is not heard to the end. */
/** @param {Response} response @param {number} length @param {(bytes: number) => void} progress */
async function firstBytes(response, length, progress) {
  const body = response.body?.getReader();
  const bytes = new Uint8Array(length);
  let filled = 0;
  while (body && filled < length) {
    const { done, value } = await body.read();
    if (done) break;
    const piece = value.subarray(0, length - filled);
    bytes.set(piece, filled);
    filled += piece.length;
    progress(filled);
  }
  body?.cancel().catch(() => {});
  return bytes.subarray(0, filled);
}

/**
 * @param {object} options
 * @param {typeof fetch} [options.fetcher]
 * @param {AbortSignal} options.signal
 * @param {(file: string, bytes: number) => void} options.progress
 */
function reader({ fetcher = fetch, signal, progress }) {
  /** Longest text that is taken. */
  const TEXT_BYTES_MAX = 32 * 2 ** 20;
  return {
    /** @param {string} address @param {string} name @returns {Promise<Source | null>} null when there is no such file */
    async text(address, name) {
      try {
        const response = await request(fetcher, address, { signal });
        const bytes = await firstBytes(response, TEXT_BYTES_MAX, (count) => progress(name, count));
        return textSource(name, new TextDecoder().decode(bytes));
      } catch (error) {
        if (error instanceof HubError && error.reason === 'missing') return null;
        if (signal.aborted) throw new HubError('stopped');
        throw error instanceof HubError ? error : new HubError('unreachable');
      }
    },
    /** @param {string} address @param {string} name @returns {Source} */
    beginning: (address, name) => ({
      name, size: null,
      async read(length) {
        const response = await request(fetcher, address, { signal, headers: { Range: `bytes=0-${length - 1}` } });
        return firstBytes(response, length, (count) => progress(name, count));
      },
    }),
  };
}

/**
 * The files that describe a model of a hub.
 * @param {Site} site
 * @param {string} model its id
 * @param {Parameters<typeof reader>[0]} options
 * @returns {Promise<Source[]>}
 */
export async function hubSources(site, model, options) {
  const files = reader(options);
  const [config, index] = await Promise.all(['config.json', 'model.safetensors.index.json']
    .map((name) => files.text(site.address(model, name), name)));
  if (!config) throw new HubError('missing');
  if (index) return [config, index];
  const single = files.beginning(site.address(model, 'model.safetensors'), 'model.safetensors');
  try {
    await single.read(8);
    return [config, single];
  } catch (error) {
    if (error instanceof HubError && error.reason === 'missing') return [config];
    throw error;
  }
}
