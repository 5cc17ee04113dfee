// Where the packages of this folder are installed: the Makefile does it, outside the sources.
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

export const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../..");
const packages = path.join(ROOT, "build/engine/node_modules");

export const ENGINE = pathToFileURL(path.join(packages, "node-llama-cpp/dist/index.js")).href;
export const SECOND_READER = pathToFileURL(path.join(packages, "@huggingface/gguf/dist/index.mjs")).href;
