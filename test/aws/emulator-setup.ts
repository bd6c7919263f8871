// One emulator for all files of a run; they keep apart by the names of what they make.
import type { TestProject } from 'vitest/node';
import { startEmulator } from '../../tools/emulator/emulator.ts';

declare module 'vitest' {
  interface ProvidedContext {
    readonly emulator: { readonly endpoint: string; readonly variables: Readonly<Record<string, string>> };
  }
}

/** Five minutes on AWS. */
export const queueMemorySeconds = 4;

export default async function setUp(project: TestProject): Promise<() => Promise<void>> {
  const { endpoint, variables, stop } = await startEmulator({ variables: { SLUICE_QUEUE_MEMORY_SECONDS: String(queueMemorySeconds) } });
  project.provide('emulator', { endpoint, variables });
  return stop;
}
