// Loads GGUF files with llama.cpp, creates contexts and prints what its debug log says of them, as JSON:
// node probe.mjs FILE … An own process, since the engine ends its process on a file it does not like.
import { ENGINE } from "./engine.mjs";

const { getLlama, LlamaLogLevel } = await import(ENGINE);

/** Contexts by the options of node-llama-cpp. */
const CONTEXTS = [
  { contextSize: 2048, batchSize: 512, sequences: 1, flashAttention: true },
  { contextSize: 1000, batchSize: 256, sequences: 3, flashAttention: true },
];

let log = "";
const llama = await getLlama({
  gpu: false, build: "never", skipDownload: true, logLevel: LlamaLogLevel.debug, logger: (_, text) => { log += `${text}\n`; },
});

const numbers = (pattern) => [...log.matchAll(pattern)].map(([, value]) => Number(value));
const sum = (pattern) => numbers(pattern).reduce((total, value) => total + value, 0);
const last = (pattern) => numbers(pattern).at(-1);

/** The log arrives a little later than what it tells of. */
async function logged(pattern) {
  for (let waited = 0; !pattern.test(log) && waited < 5000; waited += 5) await new Promise((resolve) => { setTimeout(resolve, 5); });
  if (!pattern.test(log)) throw new Error(`the log never said ${pattern}`);
}

function contextFigures() {
  return {
    n_ctx: last(/llama_context: n_ctx +=\s+(\d+)/g), n_seq_max: last(/llama_context: n_seq_max +=\s+(\d+)/g),
    n_batch: last(/llama_context: n_batch +=\s+(\d+)/g), n_ubatch: last(/llama_context: n_ubatch +=\s+(\d+)/g),
    unified: /llama_context: kv_unified +=\s+true/.test(log), flash: /Flash Attention enabled|flash_attn += enabled/.test(log),
    kv_mib: sum(/KV buffer size =\s+([\d.]+) MiB/g), recurrent_mib: sum(/RS buffer size =\s+([\d.]+) MiB/g),
    compute_mib: last(/compute buffer size is\s+([\d.]+) MiB/g), output_mib: sum(/output buffer size =\s+([\d.]+) MiB/g),
  };
}

async function probe(file) {
  const model = await llama.loadModel({ modelPath: file, useMmap: true });
  await logged(/CPU_Mapped model buffer size/);
  const figures = {
    file, bytes: model.size, mapped_mib: sum(/CPU_Mapped model buffer size =\s+([\d.]+) MiB/g),
    params_text: log.match(/model params +=\s+(\S+ \S+)/)?.[1], contexts: [],
  };
  for (const options of CONTEXTS) {
    log = "";
    const context = await model.createContext({ ...options, ignoreMemorySafetyChecks: true, failedCreationRemedy: false });
    await context.dispose();
    await logged(/compute buffer size is/);
    figures.contexts.push(contextFigures());
  }
  await model.dispose();
  return figures;
}

const results = [];
for (const file of process.argv.slice(2)) {
  log = "";
  try {
    results.push(await probe(file));
  } catch (error) {
    results.push({ file, error: `${error.message}\n${log.split("\n").slice(-8).join("\n")}` });
  }
}
process.stdout.write(`${JSON.stringify(results)}\n`);
process.exit(0);
