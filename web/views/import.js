/* The reader's own model: files dropped anywhere, chosen, pasted, or fetched from a hub on request. What was understood
 * is shown before it becomes the plan's model. */
import { byId, fill, h } from '../dom.js';
import { HubError, hubSources, modelIdOf, sites } from '../hub.js';
import { fileSource, importModel, textSource } from '../model-files.js';
import { sentenceOf } from './terms.js';

/** @typedef {import('../types').Context} Context @typedef {import('../types').ImportReport} ImportReport */
/** @typedef {import('../model-files.js').Source} Source */

/**
 * @typedef {object} State
 * @property {boolean} open
 * @property {AbortController | null} work
 * @property {string} progress
 * @property {string} failure key of page.json, "" when there is none
 * @property {ImportReport | null} report
 */

/**
 * @param {HTMLElement} element
 * @param {import('../types').Engine} engine
 * @param {(report: ImportReport) => void} apply
 */
export function createImport(element, engine, apply) {
  /** @type {State} */
  const state = { open: false, work: null, progress: '', failure: '', report: null };
  /** @type {Context | null} */
  let latest = null;

  function draw() {
    if (latest) fill(element, ...view(latest, state));
  }

  /** @param {Partial<State>} changes */
  function set(changes) {
    Object.assign(state, changes);
    draw();
  }

  /** @param {(signal: AbortSignal) => Promise<Source[]>} find @param {string} [name] */
  async function read(find, name) {
    state.work?.abort();
    const work = new AbortController();
    set({ open: true, work, progress: '', failure: '', report: null });
    try {
      const report = await importModel(engine, await find(work.signal), name);
      if (state.work === work) set({ work: null, report });
    } catch (error) {
      const failure = error instanceof HubError ? `hub.error.${error.reason}` : 'import.unreadable';
      if (state.work === work) set({ work: null, failure });
    }
  }

  /** @param {Iterable<File>} files */
  function readFiles(files) {
    const sources = [...files].map(fileSource);
    if (sources.length > 0) read(async () => sources);
  }

  function fetchModel() {
    const typed = /** @type {HTMLInputElement} */ (byId('import-id')).value;
    const chosen = /** @type {HTMLSelectElement} */ (byId('import-site')).value;
    const site = sites.find(({ id }) => id === chosen) ?? sites[0];
    const model = modelIdOf(typed);
    if (!model) {
      set({ failure: 'hub.error.id', report: null });
      return;
    }
    read((signal) => hubSources(site, model, {
      signal,
      progress: (file, bytes) => { if (latest) set({ progress: latest.words.t('hub.progress', { file, size: latest.format.bytes(bytes) }) }); },
    }), model);
  }

  function usePasted() {
    const { value } = /** @type {HTMLTextAreaElement} */ (byId('import-text'));
    if (value.trim()) read(async () => [textSource('config.json', value)]);
  }

  /** @type {Record<string, () => void>} */
  const actions = {
    toggle: () => set({ open: !state.open }),
    choose: () => byId('import-files').click(),
    paste: usePasted,
    fetch: fetchModel,
    stop: () => state.work?.abort(),
    apply() {
      if (!state.report?.job) return;
      apply(state.report);
      set({ open: false, report: null, failure: '' });
      byId('import-toggle').focus();
    },
  };
  element.addEventListener('click', (event) => {
    const button = /** @type {HTMLElement | null} */ (/** @type {Element} */ (event.target).closest('[data-import]'));
    if (button) actions[button.dataset.import ?? '']?.();
  });
  element.addEventListener('change', ({ target }) => {
    if (!(target instanceof HTMLInputElement) || target.type !== 'file') return;
    readFiles(target.files ?? []);
    target.value = '';
  });
  element.addEventListener('keydown', ({ key, target }) => {
    if (key === 'Enter' && /** @type {Element} */ (target).id === 'import-id') fetchModel();
  });
  acceptDrops(readFiles);

  return {
    /** @param {Context} context */
    update(context) {
      latest = context;
      draw();
    },
  };
}

/* A file may be let fall anywhere; text that is dragged stays what it is. */
/** @param {(files: Iterable<File>) => void} readFiles */
function acceptDrops(readFiles) {
  const holdsFiles = (/** @type {DragEvent} */ event) => event.dataTransfer?.types.includes('Files');
  document.addEventListener('dragover', (event) => { if (holdsFiles(event)) event.preventDefault(); });
  document.addEventListener('drop', (event) => {
    if (!holdsFiles(event)) return;
    event.preventDefault();
    readFiles(event.dataTransfer?.files ?? []);
  });
}

/** @param {Context} context @param {State} state */
function view(context, state) {
  const { words } = context;
  return [
    h('button', { type: 'button', class: 'disclosure', id: 'import-toggle', 'data-import': 'toggle', 'aria-expanded': String(state.open), 'aria-controls': 'import-box' }, words.t('import.open')),
    h('div', { class: 'import-box', id: 'import-box', hidden: !state.open }, state.open ? [form(words), status(context, state)] : null),
  ];
}

/** @param {import('../types').Translator} words */
function form({ t }) {
  const button = (/** @type {string} */ action, /** @type {string} */ text) => h('button', { type: 'button', class: 'plain', 'data-import': action }, text);
  return h('div', { class: 'import-form' },
    h('p', { class: 'quiet' }, t('import.intro')),
    h('div', { class: 'import-row' }, button('choose', t('import.choose')), h('span', { class: 'quiet' }, t('import.drop')),
      h('input', { type: 'file', id: 'import-files', class: 'hidden', multiple: true, tabindex: '-1', 'aria-label': t('import.choose') })),
    h('div', { class: 'import-row' }, h('label', { for: 'import-text' }, t('import.paste')),
      h('textarea', { id: 'import-text', rows: '2', spellcheck: 'false', autocomplete: 'off' }), button('paste', t('import.read'))),
    h('div', { class: 'import-row' }, h('label', { for: 'import-id' }, t('hub.id')),
      h('input', { id: 'import-id', type: 'text', spellcheck: 'false', autocomplete: 'off', autocapitalize: 'off', placeholder: 'Qwen/Qwen3-8B' }),
      h('select', { id: 'import-site', 'aria-label': t('hub.site') }, sites.map(({ id, label }) => h('option', { value: id }, label))),
      button('fetch', t('hub.fetch')), h('span', { class: 'quiet' }, t('hub.note'))));
}

/** @param {Context} context @param {State} state */
function status(context, { work, progress, failure, report }) {
  const { t } = context.words;
  return h('div', { class: 'import-status', role: 'status' },
    work ? h('p', {}, progress || t('import.reading'), ' ', h('button', { type: 'button', class: 'link', 'data-import': 'stop' }, t('import.stop'))) : null,
    failure ? h('p', { class: 'field-error' }, t(failure)) : null,
    report?.errors?.length ? h('ul', { class: 'import-errors' }, report.errors.map((row) => h('li', {}, row.path ? [h('strong', {}, row.path), ' '] : null, sentenceOf(context, 'error', row)))) : null,
    report?.import ? understood(context, report) : null);
}

/** @param {Context} context @param {ImportReport} report */
function understood(context, report) {
  const { words: { t, word }, format } = context;
  const { import: facts, job, warnings = [] } = report;
  if (!facts || !job) return null;
  const rows = [
    [t('import.fact.kind'), word(`kind.${facts.kind}`, facts.kind)],
    [t('import.fact.architecture'), facts.architecture],
    [t('import.fact.format'), facts.method ? `${facts.format} (${facts.method})` : facts.format],
    [t('import.fact.params'), facts.params ?? facts.computed_params ? format.count(facts.params ?? facts.computed_params ?? 0) : ''],
    [t('import.fact.prediction'), facts.prediction_params ? format.count(facts.prediction_params) : ''],
    [t('import.fact.bytes'), facts.bytes ? format.bytes(facts.bytes) : ''],
    [t('import.fact.types'), facts.types.map(({ type, bytes }) => `${type} ${format.bytes(bytes)}`).join(', ')],
  ].filter(([, text]) => text);
  return h('div', { class: 'import-found' }, h('h3', {}, String(job.model.name ?? facts.architecture ?? '')),
    h('dl', {}, rows.flatMap(([name, text]) => [h('dt', {}, name), h('dd', {}, text)])),
    warnings.map((row) => h('p', { class: 'quiet' }, sentenceOf(context, 'warning', row))),
    h('button', { type: 'button', class: 'primary', 'data-import': 'apply' }, t('import.apply')));
}
