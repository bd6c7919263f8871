// The texts of `--help`, made from the same shapes that parse the words, so that they cannot disagree.
import { type CommandShape, commonFlags, type Flag } from './arguments.ts';

export interface Described {
  readonly shape: CommandShape;
  /** What it does, in one line. */
  readonly summary: string;
}

function columns(rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(...rows.map(([left]) => left.length)) + 2;
  return rows.map(([left, right]) => `  ${left.padEnd(width)}${right}`).join('\n');
}

function usageOf(shape: CommandShape): string {
  return ['sluice', shape.name, ...shape.positionals, ...(shape.optional ?? []).map((name) => `[${name}]`)].join(' ');
}

export function overview(commands: readonly Described[], version: string): string {
  return [
    `sluice ${version}: stateful stream processing in one process`,
    '',
    columns(commands.map(({ shape, summary }) => [usageOf(shape), summary])),
    '',
    '`sluice COMMAND --help` shows the flags of one command. `sluice --version` shows the version.',
    'Exit codes: 0 done, 1 the job failed, 2 wrong use, 130 or 143 cancelled by SIGINT or SIGTERM.',
  ].join('\n');
}

export function helpOf({ shape, summary }: Described): string {
  const flagRow = (flag: Flag): readonly [string, string] => [
    `--${flag.name}${flag.value === undefined ? '' : ` ${flag.value}`}`,
    flag.help,
  ];
  const rows = [...shape.flags.filter((flag) => flag.notYet !== true), ...commonFlags].map(flagRow);
  if (shape.takesParams)
    rows.push(['--NAME value', 'a parameter that the job reads by `params`; behind `--` also one that is named like a flag above']);
  return [`${usageOf(shape)}${shape.takesParams ? ' [--NAME value …]' : ''}`, `  ${summary}`, '', columns(rows)].join('\n');
}
