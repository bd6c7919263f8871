import type { PulseRun } from './pulse-run.ts';
export async function move(_run: PulseRun): Promise<void> {}
