/* The form's fields: the engine's table, and the few fields whose grammar is their own. */
import { gpuLabel, modelLabel, valueAt } from './job.js';

/** @typedef {import('./types').Field} Field @typedef {import('./types').Job} Job @typedef {import('./types').Report} Report */
/** @typedef {import('./types').Value} Value @typedef {import('./types').Changes} Changes */

const ALL = ['pretrain', 'full', 'lora', 'qlora', 'infer'];
const SHAPES = ['layers', 'hidden', 'heads', 'kv_heads', 'head_dim', 'ffn', 'vocab'];
const SHAPE_MAX = 2 ** 31;

/** @type {Field[]} */
const OWN_GRAMMAR = [
  { path: 'model', kind: 'open', auto: false, max_allowed: false, tasks: ALL },
  ...SHAPES.map((name) => /** @type {Field} */ ({ path: `model.${name}`, kind: 'whole', min: 1, max: SHAPE_MAX, auto: false, max_allowed: false, tasks: ALL })),
  { path: 'model.tied_embeddings', kind: 'switch', auto: false, max_allowed: false, tasks: ALL },
  { path: 'hardware.gpu', kind: 'open', auto: false, max_allowed: false, tasks: ALL },
  { path: 'hardware.gpu.memory_gib', kind: 'real', min: 0.001, max: 1048576, auto: false, max_allowed: false, tasks: ALL, unit: 'GiB' },
  { path: 'train.lora.targets', kind: 'text', auto: false, max_allowed: false, tasks: ['lora', 'qlora'], default: 'all-linear' },
];

/* A weight format and its bits are one value; the combobox of the format takes both. */
const LEFT_OUT = new Set(['infer.weights.bits']);

/** @param {Field[]} table the engine's fields @returns {Field[]} */
export function allFields(table) {
  const known = new Set(table.map((field) => field.path));
  return [...OWN_GRAMMAR.filter((field) => !known.has(field.path)), ...table.filter((field) => !LEFT_OUT.has(field.path))];
}

/** @type {[string, (path: string, field: Field) => boolean][]} the first group that takes a field has it */
const GROUPS = [
  ['job', (path) => path === 'task' || path === 'ledger'],
  ['model', (path) => path === 'model' || path.startsWith('model.')],
  ['hardware', (path) => path.startsWith('hardware.')],
  ['adapter', (path) => path === 'train.quant' || path.startsWith('train.lora.')],
  ['parallel', (path) => /\.(zero|tp|pp|vpp|cp|ep|dp|sequence_parallel|attention_dp|dcp|offload|fsdp)$/.test(path)],
  ['batch', (path) => /\.(seq_len|micro_batch|grad_accum|global_batch|packed|context|concurrency|prompt|output|max_num_seqs|max_batched_tokens|sequences|context_per_sequence)$/.test(path)],
  ['recipe', (path) => path.startsWith('train.')],
  ['serving', (path) => path.startsWith('infer.')],
  ['textbook', () => true],
];

/**
 * Fields of a task in groups, in the order of the form.
 * @param {Field[]} fields
 * @param {string} task
 * @returns {[string, Field[]][]}
 */
export function groupedFields(fields, task) {
  const groups = new Map(GROUPS.map(([name]) => [name, /** @type {Field[]} */ ([])]));
  for (const field of fields) {
    if (field.tasks.length > 0 && !field.tasks.includes(task)) continue;
    const group = GROUPS.find(([, takes]) => takes(field.path, field));
    if (group) groups.get(group[0])?.push(field);
  }
  return [...groups].filter(([, members]) => members.length > 0);
}

/**
 * An edit of one field as changes of the job.
 * @param {string} path
 * @param {Value | undefined} value
 * @param {Job} job
 * @param {Report} report the report of the job as it stands
 * @returns {Changes}
 */
export function changesOf(path, value, job, report) {
  if (path.startsWith('model.') && typeof valueAt(job, 'model') === 'string') return { model: shapesWith(path.slice(6), value, report) };
  if (path === 'hardware.gpu.memory_gib') return { 'hardware.gpu': gpuWith(value, valueAt(job, 'hardware.gpu')) };
  return { [path]: value };
}

/* A named model whose shape is edited becomes a model stated by its shapes. */
/** @param {string} name @param {Value | undefined} value @param {Report} report @returns {Value} */
function shapesWith(name, value, report) {
  const { model } = report;
  /** @type {Record<string, Value>} */
  const shapes = { name: modelLabel(String(model.name ?? '')) };
  for (const key of [...SHAPES, 'tied_embeddings', 'gated_ffn']) if (model[key] !== undefined) shapes[key] = model[key];
  if (typeof model.model_type === 'string') shapes.style = model.model_type;
  if (value === undefined) delete shapes[name];
  else shapes[name] = value;
  return shapes;
}

/** @param {Value | undefined} memory @param {Value | undefined} gpu @returns {Value} */
function gpuWith(memory, gpu) {
  const isObject = gpu !== null && typeof gpu === 'object' && !Array.isArray(gpu);
  const like = isObject ? gpu.like : gpu;
  if (memory === undefined) return like ?? null;
  return { name: `${gpuLabel(like) || 'GPU'}, ${memory} GiB`, memory_gib: memory, ...(like === undefined ? {} : { like }) };
}
