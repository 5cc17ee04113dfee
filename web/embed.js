/* A plan without its form: the verdict, the bar, and the way to the full page. */
import { createContext } from './context.js';
import { byId, fill, h } from './dom.js';
import { startEngine, whenAble } from './engine-client.js';
import { allFields } from './fields.js';
import { createFormat } from './format.js';
import { chooseLanguage, createTranslator, hasWords, languages, loadMoreWords, loadWords } from './i18n.js';
import { gpuLabel } from './job.js';
import { pageParsed } from './load.js';
import { answer } from './planner.js';
import { oneOf } from './preferences.js';
import { startTheme, THEMES } from './theme.js';
import { barView } from './views/bar.js';
import { modelName, sentenceOf, valueWords } from './views/terms.js';
import { noVerdict, verdictView } from './views/verdict.js';
import { examples } from './worked-examples.js';

/** @typedef {import('./types').Context} Context */

/** Settings of the address and what each may be. @type {Record<string, readonly string[]>} */
const SETTINGS = { ui: ['min', 'full'], lang: languages, theme: THEMES };

function readSettings() {
  const query = new URLSearchParams(location.search);
  const unknown = [...query].filter(([name, value]) => !(Object.hasOwn(SETTINGS, name) && SETTINGS[name].includes(value)));
  const read = (/** @type {string} */ name) => oneOf(query.get(name), SETTINGS[name]);
  return { ui: read('ui') ?? 'full', lang: read('lang') ?? chooseLanguage(navigator.languages), theme: read('theme'), unknown };
}

/* Numbers are text here: a figure has no panel to open. */
/** @param {HTMLElement} view */
function asFigure(view) {
  for (const button of view.querySelectorAll('.why')) button.replaceWith(h('span', { class: 'value' }, button.textContent));
  for (const segment of view.querySelectorAll('[data-action]')) segment.removeAttribute('data-action');
  return view;
}

/** @param {Context} context */
function jobLine({ words, format, job, report, value }) {
  const kind = job.task === 'infer' ? 'infer' : 'train';
  const print = (/** @type {string} */ path) => valueWords({ words, format }, path, value(path));
  return words.t(`embed.job.${kind}`, {
    task: words.t(`choice.task.${job.task}`), model: modelName({ report, format, job }),
    gpu: gpuLabel(value('hardware.gpu')), count: report.hardware.count,
    seq_len: print('train.seq_len'), micro_batch: print('train.micro_batch'),
    context: print('infer.context'), concurrency: print('infer.concurrency'),
  });
}

/* The host may set the frame's height from this. It holds no data of the plan. */
function postHeight() {
  parent.postMessage({ type: 'gpuplan:resize', v: 1, height: Math.ceil(document.documentElement.getBoundingClientRect().height) }, '*');
}

/** @param {import('./types').Engine} engine @param {ReturnType<typeof readSettings>} settings */
function draw(engine, settings) {
  const words = createTranslator(settings.lang);
  const fallback = examples[0].variants[0].job;
  /** @type {ReturnType<typeof engine.decode>} */
  const decoded = location.hash.length > 1 ? engine.decode(location.hash) : { job: fallback };
  const isRead = decoded.job !== undefined && Object.keys(decoded.job).length > 0;
  const result = answer(engine, isRead ? decoded.job ?? fallback : fallback, null, fallback);
  const isPlanned = isRead && result.basis !== 'example';
  const fields = new Map(allFields(engine.fields()).map((field) => [field.path, field]));
  const faults = [...(decoded.errors ?? []), ...(isRead ? result.errors : [])];
  const context = { ...createContext({ answer: result, job: result.planned, words, format: createFormat(settings.lang, 'GiB'), fields }), stale: false };

  document.title = isPlanned ? `gpuplan: ${jobLine(context)}` : words.t('top.title.none');
  byId('title').textContent = document.title;
  byId('job').textContent = isPlanned ? jobLine(context) : '';
  fill(byId('verdict'), isPlanned ? asFigure(verdictView(context)) : noVerdict(words.t('embed.no_plan')));
  fill(byId('bars'), isPlanned ? asFigure(barView(context)) : null);
  fill(byId('notices'),
    settings.unknown.map(([name, value]) => h('li', {}, words.t('embed.unknown_setting', { name, value }))),
    isPlanned && faults.length > 0 ? h('li', {}, words.t('embed.bad_plan')) : null,
    faults.map((row) => h('li', {}, row.path, ' ', sentenceOf(context, 'error', row))));
  const address = new URL('index.html', location.href);
  address.hash = isPlanned ? result.link : location.hash;
  fill(byId('foot'), h('a', { href: address.href, target: '_blank', rel: 'noopener' }, words.t('embed.open')));
  byId('embed').classList.toggle('is-min', settings.ui === 'min');
  byId('embed').hidden = false;
  postHeight();
}

/** @param {string} lang @param {unknown} error */
function fail(lang, error) {
  const box = byId('fatal');
  box.hidden = false;
  // The box itself says in both languages that the page is not whole.
  if (hasWords(lang)) box.textContent = `${createTranslator(lang).t(typeof WebAssembly === 'object' ? 'fatal.planner' : 'fatal.webassembly')} ${error instanceof Error ? error.message : error}`;
}

async function main() {
  const settings = readSettings();
  document.body.classList.toggle('is-alone', parent === window);
  document.documentElement.lang = settings.lang;
  try {
    startTheme(() => {}, settings.theme);
    await Promise.all([loadWords(settings.lang).then(() => loadMoreWords(settings.lang)), pageParsed()]);
    const engine = await startEngine();
    const show = () => whenAble(engine, () => draw(engine, settings));
    await show();
    window.addEventListener('hashchange', () => show().catch((error) => fail(settings.lang, error)));
    new ResizeObserver(postHeight).observe(document.documentElement);
  } catch (error) {
    fail(settings.lang, error);
  }
}

main();
