/* Memory over the phases of one step, on the fullest GPU. */
import { gpuRange, phaseName, rowName, rowsByKey, worstStage } from '../views/terms.js';
import { phasesOf } from '../views/ledger.js';
import { drawBars } from './bars.js';
import { fallFigures } from './fall.js';
import { barsHeight, studyTable } from './table.js';

/** @param {import('../types').Context} context @returns {import('./studies.js').Figure[]} */
export function stepStudy(context) {
  const { report, words, format } = context;
  const stage = report.memory.stages[worstStage(context)];
  const rows = phasesOf(context).map((phase) => ({ phase, label: phaseName(context, phase), items: stage.items.filter((item) => item.phases.includes(phase)) }));
  const life = (/** @type {import('../types').Item} */ item) => rows.map(({ phase }) => (item.phases.includes(phase) ? format.bytes(item.bytes, 2) : words.t('table.none')));
  const title = words.t('study.step.title', { gpu: gpuRange(context, stage) });
  return [...fallFigures(context), {
    key: 'step', title, height: barsHeight(rows.length),
    label: words.t('study.step.label', { phase: phaseName(context, stage.peak_phase), peak: format.bytes(stage.peak_bytes) }),
    notes: [words.t('study.step.note')],
    draw: (canvas) => drawBars(canvas, context, rows),
    table: studyTable(words.t('study.step.caption'), [words.t('table.item'), ...rows.map(({ label }) => label)], [
      ...[...rowsByKey(stage)].map(([key, item]) => ({ key, item: item.id, cells: [rowName(context, item), ...life(item)] })),
      { key: 'total', cells: [words.t('study.total'), ...rows.map(({ phase }) => format.bytes(stage.phases[phase].peak_bytes, 2))], isMarked: true },
    ]),
  }];
}
