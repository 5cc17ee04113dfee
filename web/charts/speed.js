/* What one more user costs the others: output of all and wait of each over concurrency. */
import { withChanges } from '../job.js';
import { currentStyle, paint } from './library.js';
import { placeButton, studyTable, withRange } from './table.js';

/** @typedef {import('../types').Context} Context @typedef {{ users: number, time: Record<string, number>, fits: boolean }} Point */

const HEIGHT_PX = 260;

/** @param {Context} context @param {import('../types').Engine} engine @param {import('../types').Job} base @returns {import('./studies.js').Figure[]} none where speeds are not known */
export function speedFigures(context, engine, base) {
  const { words, report, format, value } = context;
  if (report.time?.throughput_tok_s === undefined) return [];
  const now = Number(value('infer.concurrency')) || 1;
  const most = Math.max(report.kv?.max_concurrency ?? 0, now);
  const points = usersUpTo(most, now).flatMap((users) => {
    const plan = engine.brief(withChanges(base, { 'infer.concurrency': users }));
    return plan.errors || !plan.time ? [] : [{ users, time: plan.time, fits: plan.verdict !== 'no' }];
  });
  if (points.length < 2) return [];
  const milliseconds = (/** @type {number} */ seconds) => format.number(seconds * 1000, seconds < 0.1 ? 1 : 0);
  const wait = (/** @type {Record<string, number>} */ time, /** @type {string} */ name) => withRange(words, time, name, milliseconds, ' ms');
  const kept = report.time.within_targets;
  const columns = [words.t('study.speed.first'), words.t('study.speed.each'), words.t('study.gpus.speed')];
  return [{
    key: 'speed', title: words.t('study.speed.title'), height: HEIGHT_PX,
    label: words.t('study.speed.label', { least: points[0].users, most: points[points.length - 1].users }),
    notes: [words.t('study.speed.note'), kept === undefined ? '' : kept < 1 ? words.t('study.speed.targets_none') : words.t('study.speed.targets', { count: format.number(kept) })],
    draw: (canvas) => drawSpeed(canvas, context, points, now),
    table: studyTable(words.t('study.speed.caption'), [words.t('field.infer.concurrency'), ...columns, words.t('study.verdict')], points.map(({ users, time, fits }) => ({
      key: String(users), isMarked: users === now,
      cells: [users === now ? format.number(users) : placeButton(context, format.number(users), { 'infer.concurrency': users }), wait(time, 'ttft_s'), wait(time, 'tpot_s'),
        withRange(words, time, 'throughput_tok_s', (rate) => format.number(rate, rate < 100 ? 1 : 0)), words.t(fits ? 'verdict.fits' : 'verdict.no')],
    }))),
  }];
}

/** Powers of two, the present number and the most. @param {number} most @param {number} now */
function usersUpTo(most, now) {
  const users = new Set([now, most]);
  for (let count = 1; count < most; count *= 2) users.add(count);
  return [...users].sort((a, b) => a - b);
}

/** @param {HTMLCanvasElement} canvas @param {Context} context @param {Point[]} points @param {number} now */
function drawSpeed(canvas, context, points, now) {
  const style = currentStyle();
  const { words, format } = context;
  const ticks = { color: style.color('--ink-2'), font: { family: style.family } };
  /* Each doubling of the users takes the same room. */
  const line = (/** @type {(time: Record<string, number>) => number} */ figure) => points.map(({ users, time }) => ({ x: Math.log2(users), y: figure(time) }));
  const look = (/** @type {string} */ color) => ({
    borderColor: style.color(color), backgroundColor: style.color(color), borderWidth: 2, pointHitRadius: 12,
    pointRadius: points.map(({ users }) => (users === now ? 6 : 2)),
  });
  paint(canvas, {
    type: 'line', plugins: [],
    data: {
      datasets: [
        { label: words.t('time.throughput_tok_s'), data: line((time) => time.throughput_tok_s), yAxisID: 'y', ...look('--accent') },
        { label: words.t('time.tpot_s'), data: line((time) => time.tpot_s * 1000), yAxisID: 'wait', borderDash: [6, 4], ...look('--no') },
      ],
    },
    options: {
      locale: words.lang, interaction: { mode: 'index', intersect: false },
      scales: {
        x: { type: 'linear', min: 0, grid: { display: false }, title: { display: true, text: words.t('field.infer.concurrency'), ...ticks }, ticks: { ...ticks, stepSize: 1, maxRotation: 0, callback: (/** @type {number} */ power) => format.number(2 ** power, 0) } },
        y: { beginAtZero: true, grid: { color: style.color('--rule') }, border: { display: false }, title: { display: true, text: `${words.t('time.throughput_tok_s')} ──`, ...ticks, color: style.color('--accent') }, ticks },
        wait: { beginAtZero: true, position: 'right', grid: { display: false }, border: { display: false }, title: { display: true, text: `${words.t('time.tpot_s')}, ms ╌╌`, ...ticks, color: style.color('--no') }, ticks },
      },
      plugins: {
        legend: { display: false },
        tooltip: { callbacks: {
          title: (/** @type {any[]} */ [point]) => (point ? `${words.t('field.infer.concurrency')}: ${format.number(2 ** point.parsed.x, 0)}` : ''),
          label: (/** @type {any} */ point) => `${point.dataset.label}: ${format.number(point.parsed.y, 1)}${point.dataset.yAxisID === 'wait' ? ' ms' : ''}`,
        } },
      },
    },
  });
}
