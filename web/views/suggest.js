/* What the comboboxes offer: rows of the planner's catalogue, and sizes typed as numbers. */
import { PartMissing } from '../engine-client.js';

/** @typedef {import('./combobox.js').Option} Option @typedef {import('../types').Engine} Engine */
/** @typedef {import('../types').Translator} Translator @typedef {import('../types').Format} Format */

/** Weight formats that serving engines read; any other name may be typed. */
const WEIGHT_FORMATS = ['bf16', 'fp16', 'fp8', 'int8', 'awq', 'gptq4', 'gptq8', 'nf4', 'mxfp4', 'gguf:Q4_K_M', 'gguf:Q5_K_M',
  'gguf:Q6_K', 'gguf:Q8_0', 'gguf:IQ4_XS', 'exl2:4.0', 'mlx:q4-g64'];
const LORA_TARGETS = ['all-linear', 'attention', 'q,v'];

/** @param {Engine} engine @param {Translator} words @param {Format} format @returns {(typed: string) => Option[]} */
export const suggestModels = (engine, words, format) => (typed) => {
  /** @type {Option[]} */
  const options = engine.models(typed).map((row) => ({
    value: String(row.id), label: String(row.id), hint: format.count(Number(row.params)),
  }));
  if (typed === '' || typed === 'max') options.unshift({ value: { params: 'max' }, label: words.t('suggest.largest'), hint: words.t('suggest.scaled_model') });
  const size = /^\s*(\d+(?:\.\d+)?)\s*[bB]?\s*$/.exec(typed);
  if (!size || Number(size[1]) === 0) return options;
  const params = Number(size[1]) * 1e9;
  return [...options, { value: { params }, label: `${size[1]}B`, hint: words.t('suggest.scaled_model') }];
};

/** @param {Engine} engine @param {Translator} words @param {Format} format @returns {(typed: string) => Option[]} */
export const suggestGpus = (engine, words, format) => (typed) => {
  const options = engine.gpus(typed).map((row) => ({
    value: String(row.name), label: String(row.name), hint: row.nominal_gb ? `${format.number(Number(row.nominal_gb))} GB` : '',
  }));
  const memory = /^\s*(\d+(?:\.\d+)?)\s*(?:g|gb|gib)?\s*$/i.exec(typed);
  if (!memory || Number(memory[1]) === 0) return options;
  const label = `${memory[1]} GiB`;
  return [...options, { value: { name: label, memory_gib: Number(memory[1]) }, label, hint: words.t('suggest.custom_gpu') }];
};

/**
 * Links are known to the whole planner only: the list opens once that is there.
 * @param {Engine} engine @param {Format} format @param {() => void} again opens the list anew
 * @returns {(typed: string) => Option[]}
 */
export const suggestLinks = (engine, format, again) => (typed) => {
  try {
    return engine.links(typed).map((row) => ({
      value: String(row.name), label: String(row.name), hint: `${format.number(Number(row.bytes_per_s) / 1e9)} GB/s`,
    }));
  } catch (error) {
    if (!(error instanceof PartMissing)) throw error;
    engine.complete().then(again, () => {});
    return [];
  }
};

/** @param {import('../types').Field} field @param {Translator} words @returns {(typed: string) => Option[]} */
export const suggestChoices = (field, words) => (typed) => {
  const choices = field.path === 'infer.weights' ? WEIGHT_FORMATS
    : field.path === 'train.lora.targets' ? LORA_TARGETS : field.choices ?? [];
  const needle = typed.trim().toLowerCase();
  return choices.filter((choice) => choice.toLowerCase().includes(needle)).map((choice) => {
    const hint = words.word(`choice.${field.path}.${choice}`, choice);
    return { value: choice, label: choice, hint: hint === choice ? '' : hint };
  });
};

/** True for text fields for which there is something to suggest. @param {string} path */
export const hasSuggestions = (path) => path === 'hardware.interconnect' || path === 'infer.weights' || path === 'train.lora.targets';
