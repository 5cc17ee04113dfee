/* What the page needs of Chart.js, as a script of its own that is loaded after the first answer. */
import { BarController, BarElement, CategoryScale, Chart, LinearScale, Tooltip } from 'chart.js';

Chart.register(BarController, BarElement, CategoryScale, LinearScale, Tooltip);
/** @type {any} */ (globalThis).gpuplanChart = Chart;
