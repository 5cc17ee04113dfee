/* The pictures, as a script of its own that is loaded after the first answer. */
import { drawBars } from './charts/bars.js';
import { pictureOn } from './charts/library.js';
import { drawStudy } from './charts/studies.js';

/** @type {any} */ (globalThis).gpuplanCharts = { drawBars, drawStudy, pictureOn };
