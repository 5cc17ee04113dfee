/* The page: one store, one drawing pass, one place where presses become edits. */
import { createContext } from './context.js';
import { byId, fill, h } from './dom.js';
import { allFields, changesOf } from './fields.js';
import { createFormat } from './format.js';
import { createTranslator, loadMoreWords, loadWords } from './i18n.js';
import { loadDetails, savesData, whenIdle } from './load.js';
import { remember } from './preferences.js';
import { createStore } from './state.js';
import { startTheme } from './theme.js';
import { barView } from './views/bar.js';
import { createChart } from './views/chart.js';
import { createDock } from './views/dock.js';
import { examplesView, findExample } from './views/examples.js';
import { knobsView } from './views/knobs.js';
import { ledgerView, memoryTable } from './views/ledger.js';
import { ledgersView } from './views/ledgers.js';
import { notesView } from './views/notes.js';
import { createProblems } from './views/problems.js';
import { createSentence } from './views/sentence.js';
import { createSettings } from './views/settings.js';
import { createShare } from './views/share.js';
import { stepsView } from './views/steps.js';
import { createStudies } from './views/studies.js';
import { createTabs } from './views/tabs.js';
import { drawTop } from './views/top.js';
import { staleText, verdictText, verdictView } from './views/verdict.js';

/** @typedef {import('./types').Context} Context @typedef {import('./types').Diagnostic} Diagnostic */
/** @typedef {{ explained: import('./types').DetailsScript['explainedAnswer'], panel: ReturnType<import('./types').DetailsScript['createWhyPanel']>, importer: ReturnType<import('./types').DetailsScript['createImport']> }} Details */
/** @typedef {import('./views/examples.js').Example} Example @typedef {import('./planner.js').Answer} Answer */

const ANNOUNCE_DELAY_MS = 500;
/* Up to so many columns the table of the memory tab stands beside the chart. */
const NARROW_STAGES = 3;

/** @param {Context} context */
function announcement(context) {
  return context.stale ? staleText(context) : verdictText(context);
}

export class App {
  /** @type {'GiB' | 'GB'} */
  unit = 'GiB';
  /** @type {Answer | null} */
  answer = null;
  /** @type {Diagnostic[]} */
  linkFaults = [];
  /** @type {Context | null} */
  context = null;
  announceTimer = 0;
  /** @type {Details | null} null until they are loaded */
  details = null;

  /** @param {import('./types').Engine} engine @param {Example[]} examples @param {string} lang */
  constructor(engine, examples, lang) {
    this.engine = engine;
    this.examples = examples;
    this.lang = lang;
    this.lastExample = '';
    this.words = createTranslator(lang);
    this.format = createFormat(lang, this.unit);
    this.fields = allFields(engine.fields());
    this.fieldMap = new Map(this.fields.map((field) => [field.path, field]));
    this.theme = startTheme(() => this.draw());
    this.chart = createChart(byId('chart'));
    this.studies = createStudies(engine);
    this.dock = createDock(byId('dock'), byId('verdict'));
    this.tabs = createTabs(byId('tablist'), () => this.draw());
    this.print = matchMedia('print');
    this.print.addEventListener('change', () => this.draw());
    this.share = createShare(() => this.words);
    this.form = this.buildForm();
    this.store = createStore({
      engine,
      initial: examples[0].variants[0].job,
      onChange: (answer, _job, linkFaults) => this.receive(answer, linkFaults),
      onWait: () => byId('result').setAttribute('aria-busy', 'true'),
    });
    document.addEventListener('click', (event) => this.press(event));
  }

  async start() {
    await this.store.start();
    await this.loadDetails();
    if (!savesData()) whenIdle(() => this.engine.complete().catch(() => {})); // Whoever needs it then tries again.
  }

  /* After the first answer, and again when something is pressed that they could not be loaded for. */
  async loadDetails() {
    try {
      const [script] = await Promise.all([loadDetails(), loadMoreWords(this.lang)]);
      if (this.details) return;
      this.details = {
        explained: script.explainedAnswer,
        panel: script.createWhyPanel(/** @type {HTMLDialogElement} */ (byId('why'))),
        importer: script.createImport(byId('import'), this.engine, (report) => this.takeModel(report)),
      };
      if (this.form.settings.isOpen()) this.speak(this.lang, this.unit); // Their help has its words now.
      else this.draw();
    } catch {
      // Without the network they cannot be opened; all else works.
    }
  }

  /** @param {(details: Details) => void} use */
  async withDetails(use) {
    if (!this.details) await this.loadDetails();
    if (this.details) use(this.details);
  }

  /* Controls carry their words with them, so another language or unit means other controls. */
  buildForm() {
    const { engine, words, format } = this;
    const tools = { engine, words, format, change: this.change.bind(this) };
    return {
      sentence: createSentence(byId('sentence'), tools, (path) => this.fieldMap.get(path)),
      settings: createSettings(byId('settings'), byId('settings-button'), tools, this.fields, () => this.draw()),
      problems: createProblems(byId('problems')),
    };
  }

  /** @param {string} path @param {import('./types').Value | undefined} value @param {boolean} commit */
  change(path, value, commit) {
    if (this.context) this.store.edit(changesOf(path, value, this.store.job, this.context.report), { commit });
  }

  /* What files say of weights and engine has a meaning for inference alone. */
  /** @param {import('./types').ImportReport} report */
  takeModel({ job }) {
    if (!job) return;
    const serving = this.store.job.task === 'infer' ? job.infer : {};
    const settings = Object.entries(serving).map(([key, value]) => [`infer.${key}`, value]);
    this.store.edit({ model: job.model, ...Object.fromEntries(settings) });
  }

  /** @param {Answer} answer @param {Diagnostic[]} linkFaults */
  receive(answer, linkFaults) {
    this.answer = answer;
    this.linkFaults = linkFaults;
    const show = () => {
      this.draw();
      this.announce();
    };
    const isFlawless = [answer.errors, answer.warnings, linkFaults].every((rows) => rows.length === 0);
    if (isFlawless || this.details) show();
    else loadMoreWords(this.lang).catch(() => {}).then(show); // Faults have words of the second script.
  }

  draw() {
    if (!this.answer) return;
    const { words, format, fieldMap, form } = this;
    const answer = this.details ? this.details.explained(this.answer) : this.answer;
    const context = createContext({ answer, job: this.store.job, words, format, fields: fieldMap });
    this.context = context;
    const typedTask = String(context.given('task'));
    const task = fieldMap.get('task')?.choices?.includes(typedTask) ? typedTask : String(context.job.task);
    drawTop(context, { theme: this.theme.choice, share: this.share });
    form.sentence.update(context, task);
    if (this.details) this.details.importer.update(context);
    else fill(byId('import'), h('button', { type: 'button', class: 'disclosure', id: 'import-toggle', 'data-action': 'import', 'aria-expanded': 'false' }, words.t('import.open')));
    form.settings.update(context, task);
    form.problems.update(context, [...form.sentence.controls, ...form.settings.controls], this.linkFaults);
    this.lastExample = findExample(this.examples, this.store.job)?.example.id ?? this.lastExample;
    fill(byId('examples'), examplesView(this.examples, this.store.job, words, this.lastExample));
    this.drawResult(context);
    this.dock.update(context);
    this.details?.panel.refresh(context);
    byId('app').hidden = false;
  }

  /** @param {Context} context */
  drawResult(context) {
    byId('result').removeAttribute('aria-busy');
    byId('result').classList.toggle('is-stale', context.stale);
    byId('app').classList.toggle('is-unanswered', context.basis === 'example');
    fill(byId('verdict'), verdictView(context));
    fill(byId('bars'), barView(context));
    fill(byId('ledgers'), ledgersView(context));
    fill(byId('knobs'), knobsView(context));
    fill(byId('steps'), stepsView(context));
    fill(byId('memory-table'), memoryTable(context));
    byId('panel-memory').classList.toggle('is-narrow', context.report.memory.stages.length <= NARROW_STAGES);
    if (this.tabs.selected === 'ledger' || this.print.matches) fill(byId('panel-ledger'), ledgerView(context));
    fill(byId('notes'), notesView(context));
    this.chart.update(context, this.tabs.selected === 'memory');
    this.studies.update(context, this.tabs.selected);
  }

  /* Said once an edit has settled, not for each key. */
  announce() {
    clearTimeout(this.announceTimer);
    this.announceTimer = window.setTimeout(() => {
      const { context } = this;
      if (!context) return;
      byId('announcer').textContent = announcement(context);
    }, ANNOUNCE_DELAY_MS);
  }

  /** @param {string} lang @param {'GiB' | 'GB'} unit */
  speak(lang, unit) {
    const wasOpen = this.form.settings.isOpen();
    this.lang = lang;
    this.unit = unit;
    this.words = createTranslator(lang);
    this.format = createFormat(lang, unit);
    document.documentElement.lang = lang;
    this.form.settings.dispose();
    this.form = this.buildForm();
    this.draw();
    this.form.settings.setOpen(wasOpen);
  }

  /* Without its words, as when the network is gone, the page goes on in the language it has. */
  /** @param {string} lang */
  async changeLanguage(lang) {
    try {
      await loadWords(lang);
      await loadMoreWords(lang);
    } catch {
      return;
    }
    remember('lang', lang);
    this.speak(lang, this.unit);
  }

  /** @param {HTMLElement} target */
  openExample({ dataset }) {
    const example = this.examples.find(({ id }) => id === dataset.example);
    const variant = example?.variants.find(({ id }) => id === dataset.variant);
    if (!example || !variant) return;
    this.lastExample = example.id;
    this.store.replace(variant.job);
  }

  /** @param {MouseEvent} event */
  press(event) {
    const target = /** @type {HTMLElement | null} */ (/** @type {Element} */ (event.target).closest('[data-action]'));
    const { context } = this;
    if (!target || !context) return;
    const { action, path = '', value = '', why = '', copy = '', index } = target.dataset;
    switch (action) {
      case 'why': this.withDetails(({ panel }) => this.context && panel.open(this.context, why, target)); break;
      case 'why-back': this.details?.panel.back(context); break;
      case 'why-close': this.details?.panel.close(); break;
      case 'import': this.withDetails(() => byId('import-toggle').click()); break;
      case 'apply': this.store.edit(context.report.advice[Number(index)].set); break;
      case 'edit': this.store.edit(Object.fromEntries(Object.entries(JSON.parse(target.dataset.changes ?? '{}')).map(([key, to]) => [key, to ?? undefined]))); break;
      case 'example': this.openExample(target); break;
      case 'set': this.change(path, value, true); break;
      case 'goto': this.form.settings.reveal(path); break;
      case 'focus': // The address holds the plan, so a place on the page cannot stand in it.
        event.preventDefault();
        byId(target.dataset.target ?? '').focus();
        break;
      case 'copy': this.share.copy(copy, target); break;
      case 'share': this.share.toggle(); break;
      case 'ledger': this.store.edit({ ledger: value === 'textbook' ? 'textbook' : undefined }); break;
      case 'theme': this.theme.next(); break;
      case 'retry': this.store.again(); break;
      case 'unit': this.speak(this.lang, value === 'GB' ? 'GB' : 'GiB'); break;
      case 'lang': this.changeLanguage(value); break;
    }
  }
}
