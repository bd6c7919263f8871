// `npm run emulator`: starts the emulator on port 4566 (or `--port N`) and says how to reach it, until it is interrupted.
import { parseArgs } from 'node:util';
import { startEmulator } from './emulator.ts';

const { values } = parseArgs({ options: { port: { type: 'string', default: '4566' } } });
const emulator = await startEmulator({ port: Number(values.port) });
console.log(
  Object.entries(emulator.variables)
    .map(([name, value]) => `export ${name}=${value}`)
    .join('\n'),
);
console.error(`the emulator answers at ${emulator.endpoint}; its log is ${emulator.log}; Ctrl-C stops it`);
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void emulator.stop().then(() => process.exit(0)));
