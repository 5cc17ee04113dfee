/* What-if pictures of one job: over one step, at other lengths, for other tasks and sizes. Each has a table of the same rows. */
import { h } from '../dom.js';
import { addWords } from '../i18n.js';
import english from '../i18n/en/charts.json';
import chinese from '../i18n/zh-Hans/charts.json';
import { withFixed } from '../planner.js';
import { compareStudy } from './compare.js';
import { hardwareStudy } from './hardware.js';
import { lengthsStudy } from './lengths.js';
import { stepStudy } from './step.js';

/** @typedef {import('../types').Context} Context @typedef {import('../types').Engine} Engine @typedef {import('../types').Job} Job */
/** @typedef {{ key: string, title: string, height: number, label: string, draw: ((canvas: HTMLCanvasElement) => void) | null, notes: (string | Node)[], table: HTMLElement }} Figure */

/** @type {Record<string, (context: Context, engine: Engine, base: Job) => Figure[]>} */
const STUDIES = { step: stepStudy, lengths: lengthsStudy, compare: compareStudy, hardware: hardwareStudy };

/** @param {HTMLElement} panel @param {string} name of the study @param {Context} context @param {Engine} engine */
export function drawStudy(panel, name, context, engine) {
  addWords('en', english);
  addWords('zh-Hans', chinese);
  const figures = STUDIES[name](context, engine, withFixed(context.job, context.report));
  for (const box of [...panel.children]) {
    if (!figures.some(({ key }) => key === /** @type {HTMLElement} */ (box).dataset.figure)) box.remove();
  }
  for (const figure of figures) drawFigure(panel, figure);
}

/* A canvas must stay the element it is, so the frame is built once and what is in it changes. */
/** @param {HTMLElement} panel @param {Figure} figure */
function drawFigure(panel, { key, title, height, label, draw, notes, table }) {
  let box = /** @type {HTMLElement | null} */ (panel.querySelector(`[data-figure="${key}"]`));
  if (!box) {
    box = h('section', { class: 'study', 'data-figure': key }, h('h3'), h('div', { class: 'study-notes' }),
      h('div', { class: 'chart' }, h('canvas', { role: 'img' })), h('div', { class: 'scroll', role: 'region', tabindex: '0' }));
    panel.append(box);
  }
  const [heading, text, chart, scroll] = /** @type {HTMLElement[]} */ ([...box.children]);
  const canvas = /** @type {HTMLCanvasElement} */ (chart.firstElementChild);
  heading.textContent = title;
  text.replaceChildren(...notes.filter(Boolean).map((note) => (note instanceof Node ? note : h('p', { class: 'quiet' }, note))));
  chart.hidden = !draw;
  chart.style.height = `${height}px`;
  canvas.setAttribute('aria-label', label);
  scroll.setAttribute('aria-label', title);
  scroll.replaceChildren(table);
  draw?.(canvas);
  box.dataset.state = 'drawn';
}
