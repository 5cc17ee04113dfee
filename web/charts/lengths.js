/* The peak over longer sequences and larger batches, and the value at which the job stops fitting. */
import { h } from '../dom.js';
import { VERDICT_SHAPES } from '../views/terms.js';
import { drawCurve } from './curve.js';
import { speedFigures } from './speed.js';
import { placeButton, studyTable } from './table.js';
import { sweepOf } from './sweep.js';

/** @typedef {import('../types').Context} Context @typedef {import('./sweep.js').Sweep} Sweep */

const HEIGHT_PX = 260;
/* The table holds so many points of a curve, and those with a meaning of their own. */
const TABLE_POINTS = 8;

/** @param {Context} context */
const fieldsOf = ({ job }) => (job.task === 'infer' ? ['infer.context', 'infer.concurrency'] : ['train.seq_len', 'train.micro_batch']);

/** @param {Context} context @param {import('../types').Engine} engine @param {import('../types').Job} base @returns {import('./studies.js').Figure[]} */
export function lengthsStudy(context, engine, base) {
  const curves = fieldsOf(context).flatMap((path) => {
    const sweep = sweepOf(engine, context, base, path);
    return sweep && sweep.points.length > 1 ? [figure(context, sweep)] : [];
  });
  return [...curves, ...speedFigures(context, engine, base)];
}

/** @param {Context} context @param {Sweep} sweep @returns {import('./studies.js').Figure} */
function figure(context, sweep) {
  const { words } = context;
  return {
    key: sweep.path, title: words.t('study.lengths.title', { field: sweep.name }), height: HEIGHT_PX,
    label: words.t('study.lengths.label', { field: sweep.name, crossing: crossingWords(context, sweep) }),
    notes: [crossingWords(context, sweep)],
    draw: (canvas) => drawCurve(canvas, context, sweep),
    table: table(context, sweep),
  };
}

/** @param {Context} context @param {Sweep} sweep */
function crossingWords({ words, format, report }, { name, largest, fails }) {
  if (report.memory.usable_bytes === undefined) return '';
  if (largest === undefined) return words.t('study.lengths.never', { field: name });
  return fails === undefined ? words.t('study.lengths.always', { field: name, value: format.number(largest) })
    : words.t('verdict.largest', { field: name, value: format.number(largest), fails: format.number(fails) });
}

/** @param {Context} context @param {Sweep} sweep */
function table(context, { path, name, points, now, largest }) {
  const { words, format } = context;
  const every = Math.ceil(points.length / TABLE_POINTS);
  const shown = points.filter(({ value }, index) => index % every === every - 1 || value === now || value === largest);
  return studyTable(words.t('study.lengths.caption'), [name, words.t('table.peak'), words.t('table.range'), words.t('study.verdict')],
    shown.map(({ value, peak, low, high, verdict }) => ({
      key: String(value), isMarked: value === now,
      cells: [value === now ? format.number(value) : placeButton(context, format.number(value), { [path]: value }), format.bytes(peak, 2), words.t('table.range_of', { low: format.amount(low, 2), high: format.amount(high, 2) }),
        h('span', {}, h('span', { 'aria-hidden': 'true' }, `${VERDICT_SHAPES[verdict]} `), words.t(`verdict.${verdict}`))],
    })));
}
