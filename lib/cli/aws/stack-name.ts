import type { Call } from '../commands.ts';

/** That of --stack, or one that follows from the job's name. */
export function stackOf({ arguments: given }: Call, job: string): string {
  return given.flags.get('stack')?.[0] ?? stackNameOf(job);
}

const nameCharactersMax = 128;

/** Pure. A name of a stack has letters, digits and hyphens, and begins with a letter. */
export function stackNameOf(job: string): string {
  return `sluice-${job.replace(/[^A-Za-z0-9]+/g, '-')}`.replace(/-+$/, '').slice(0, nameCharactersMax);
}
