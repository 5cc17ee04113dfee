// Serves a folder on this machine only: node native/setup/serve.mjs dist 8080
import { context } from "esbuild";

const [servedir, portText] = process.argv.slice(2);
const port = Number(portText);
if (!Number.isInteger(port) || port < 1 || port > 65535) {
  console.error(`PORT must be a number from 1 to 65535, not "${portText}"`);
  process.exit(2);
}
try {
  const server = await context({ logLevel: "silent" });
  await server.serve({ servedir, port, host: "127.0.0.1" });
  console.log(`gpuplan is on http://localhost:${port} (Ctrl-C ends it)`);
} catch (error) {
  const taken = String(error).includes("in use");
  console.error(taken ? `Port ${port} is taken. Choose another one: make run PORT=${port + 1}` : String(error));
  process.exit(1);
}
