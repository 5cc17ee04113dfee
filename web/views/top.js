/* The head of the page and every fixed text of the frame. */
import { byId, fill, h } from '../dom.js';
import { modelName } from './terms.js';

/** @typedef {import('../types').Context} Context */

/** Id of an element and the key of its words. */
const TEXTS = {
  tagline: 'top.tagline', 'job-title': 'job.title', 'result-title': 'result.title', 'knobs-title': 'knobs.title',
  'steps-title': 'steps.title', 'tab-memory': 'tabs.memory', 'tab-step': 'tabs.step', 'tab-lengths': 'tabs.lengths',
  'tab-compare': 'tabs.compare', 'tab-hardware': 'tabs.hardware', 'tab-ledger': 'tabs.ledger', skip: 'top.skip',
};

/** @param {Context} context @param {{ theme: string, share: import('./share.js').Share }} page */
export function drawTop(context, { theme, share }) {
  const { words, format, report } = context;
  document.title = context.basis === 'example' ? words.t('top.title.none')
    : words.t('top.title', { verdict: words.t(`verdict.${report.verdict}`), model: modelName(context), gpu: report.hardware.gpu, count: report.hardware.count });
  for (const [id, key] of Object.entries(TEXTS)) byId(id).textContent = words.t(key);
  byId('tablist').setAttribute('aria-label', words.t('tabs.title'));
  byId('knobs-title').textContent = words.t('knobs.title');
  fill(byId('top-tools'),
    h('div', { class: 'segmented', role: 'group', 'aria-label': words.t('top.unit') }, ['GiB', 'GB'].map((unit) => h('button', {
      type: 'button', 'data-action': 'unit', 'data-value': unit, 'aria-pressed': String(format.unit === unit),
    }, unit))),
    words.lang === 'en'
      ? h('button', { type: 'button', class: 'plain', 'data-action': 'lang', 'data-value': 'zh-Hans', lang: 'zh-Hans' }, '中文')
      : h('button', { type: 'button', class: 'plain', 'data-action': 'lang', 'data-value': 'en', lang: 'en' }, 'English'),
    h('button', { type: 'button', class: 'plain', 'data-action': 'theme', 'data-theme-choice': theme, 'aria-label': words.t('top.theme', { theme: words.t(`theme.${theme}`) }) },
      h('span', { 'aria-hidden': 'true' }, { auto: '◐', light: '○', dark: '●' }[theme]), h('span', { class: 'theme-name' }, ' ', words.t(`theme.${theme}`))),
    share.view());
  fill(byId('foot'), h('p', {}, words.t('foot.private')), h('p', {}, words.t('foot.version', { version: report.version })),
    h('p', { class: 'print-link' }, location.href));
}
