/* Memory over the phases of one step, on the fullest GPU. */
import { gpuRange, itemName, phaseName, worstStage } from '../views/terms.js';
import { ITEM_ORDER, phasesOf } from '../views/ledger.js';
import { drawBars } from './bars.js';
import { barsHeight, studyTable } from './table.js';

/** @param {import('../types').Context} context @returns {import('./studies.js').Figure[]} */
export function stepStudy(context) {
  const { report, words, format } = context;
  const stage = report.memory.stages[worstStage(context)];
  const rows = phasesOf(context).map((phase) => ({ phase, label: phaseName(context, phase), items: stage.items.filter((item) => item.phases.includes(phase)) }));
  const sum = (/** @type {{ bytes: number }[]} */ items) => items.reduce((total, { bytes }) => total + bytes, 0);
  const present = ITEM_ORDER.filter((id) => stage.items.some((item) => item.id === id));
  const cells = (/** @type {string} */ id) => rows.map(({ items }) => {
    const bytes = sum(items.filter((item) => item.id === id));
    return bytes ? format.bytes(bytes, 2) : words.t('table.none');
  });
  const title = words.t('study.step.title', { gpu: gpuRange(context, stage) });
  return [{
    key: 'step', title, height: barsHeight(rows.length),
    label: words.t('study.step.label', { phase: phaseName(context, stage.peak_phase), peak: format.bytes(stage.peak_bytes) }),
    notes: [words.t('study.step.note')],
    draw: (canvas) => drawBars(canvas, context, rows),
    table: studyTable(words.t('study.step.caption'), [words.t('table.item'), ...rows.map(({ label }) => label)], [
      ...present.map((id) => ({ key: id, item: id, cells: [itemName(context, id), ...cells(id)] })),
      { key: 'total', cells: [words.t('study.total'), ...rows.map(({ items }) => format.bytes(sum(items), 2))], isMarked: true },
    ]),
  }];
}
