// settings.ts owns the names of the settings that come from outside a job, and how their texts are read. The names are those of flink-conf.
// Where the texts come from (flags, variables, a file) is the command line's business.
//   G1  An unknown name is an error with the name that was most likely meant, never ignored.
//   G2  A name of a later version is refused by name when it would change what happens, and accepted when it could not.
//   G3  The stronger origin wins for each name by itself: `--set` over a `SLUICE_` variable over `sluice.yaml`.

import type { JobDefaults } from '../../api/options.ts';
import { RestartStrategies, type RestartStrategy } from '../../api/restart-strategy.ts';
import { isTableName } from '../../api/state-backend.ts';
import { parseDuration } from '../../core/duration.ts';
import { SluiceError } from '../../core/errors.ts';
import { nearest } from '../../core/suggest.ts';
import type { GlobalSettings } from './run-types.ts';

/** A setting as it was written, and where. */
export interface GivenSetting {
  readonly text: string;
  /** Named in errors, such as `sluice.yaml` or `--set`. */
  readonly origin: string;
}

type Mutable<T> = { -readonly [P in keyof T]: T[P] };
type Read = (into: Mutable<GlobalSettings>, text: string, name: string) => void;

const parallelismMax = 32_768; // the largest maximum parallelism of Flink, which a parallelism cannot exceed
const countMax = 1_000_000;
const redeliveryMsMin = 100; // shorter than a slow invocation takes, and nothing would ever be answered in time
const eventRecordsMax = 10_000; // as many as a mapping of Kinesis hands over

const readers: Readonly<Record<string, Read>> = {
  'state.backend': (into, text, name) => {
    if (text === 'rocksdb')
      throw invalid(name, `the ${text} backend is not available yet; choose jobmanager, filesystem or dynamodb`, text);
    into.backend = oneOf(name, text, ['jobmanager', 'filesystem', 'dynamodb']);
  },
  'state.backend.dynamodb.table': (into, text, name) => {
    if (!isTableName(text)) throw invalid(name, `'${text}' is not the name of a table: 3 to 255 letters, digits, '_', '-' and '.'`, text);
    into.stateTable = text;
  },
  'state.checkpoints.dir': (into, text, name) => {
    if (text === '') throw invalid(name, 'it is empty, but it must name a directory', text);
    const scheme = /^([a-z][a-z0-9+.-]+):/i.exec(text)?.[1];
    if (scheme !== undefined && scheme !== 'file')
      throw invalid(name, `'${text}' is on ${scheme}:, which is not available yet; use file: or a path`, text);
    into.checkpointsDirectory = text;
  },
  'state.checkpoints.num-retained': (into, text, name) => {
    into.numRetained = wholeNumber(name, text, 1, countMax);
  },
  'execution.checkpointing.interval': (into, text, name) => {
    into.checkpointIntervalMs = duration(name, text, 1);
  },
  'execution.checkpointing.mode': (into, text, name) => {
    into.checkpointMode = oneOf(name, constant(text), ['EXACTLY_ONCE', 'AT_LEAST_ONCE', 'AT_MOST_ONCE']);
  },
  'execution.checkpointing.timeout': (into, text, name) => {
    into.checkpointTimeoutMs = duration(name, text, 1);
  },
  'execution.checkpointing.min-pause': (into, text, name) => {
    into.minPauseBetweenCheckpointsMs = duration(name, text, 0);
  },
  'execution.checkpointing.max-concurrent-checkpoints': (into, text, name) => {
    into.maxConcurrentCheckpoints = wholeNumber(name, text, 1, countMax);
  },
  'execution.checkpointing.tolerable-failed-checkpoints': (into, text, name) => {
    into.tolerableFailures = wholeNumber(name, text, 0, countMax);
  },
  'execution.checkpointing.externalized-checkpoint-retention': (into, text, name) => {
    into.externalizedCleanup = oneOf(name, constant(text), [
      'RETAIN_ON_CANCELLATION',
      'DELETE_ON_CANCELLATION',
      'NO_EXTERNALIZED_CHECKPOINTS',
    ]);
  },
  'parallelism.default': (into, text, name) => {
    into.parallelism = wholeNumber(name, text, 1, parallelismMax);
  },
  'invocations.redelivery-time': (into, text, name) => {
    into.redeliveryMs = duration(name, text, redeliveryMsMin);
  },
  'invocations.event-records': (into, text, name) => {
    into.eventRecordsMax = wholeNumber(name, text, 1, eventRecordsMax);
  },
  'pipeline.max-parallelism': (into, text, name) => {
    into.maxParallelism = wholeNumber(name, text, 1, parallelismMax);
  },
};

/** What the names below `restart-strategy` gather, before the kind tells which of them count. */
interface RestartParts {
  kind?: (typeof restartKinds)[number];
  attempts?: number;
  delayMs?: number;
  maxFailures?: number;
  intervalMs?: number;
  initialMs?: number;
  maxMs?: number;
  multiplier?: number;
  resetAfterMs?: number;
  jitter?: number;
}

const restartKinds = ['none', 'fixed-delay', 'failure-rate', 'exponential-delay'] as const;

const restartReaders: Readonly<Record<string, (into: RestartParts, text: string, name: string) => void>> = {
  'restart-strategy.type': (into, text, name) => {
    into.kind = oneOf(name, ['off', 'disable'].includes(text) ? 'none' : text.replaceAll('_', '-'), restartKinds);
  },
  'restart-strategy.fixed-delay.attempts': (into, text, name) => {
    into.attempts = wholeNumber(name, text, 1, countMax);
  },
  'restart-strategy.fixed-delay.delay': (into, text, name) => {
    into.delayMs = duration(name, text, 0);
  },
  'restart-strategy.failure-rate.max-failures-per-interval': (into, text, name) => {
    into.maxFailures = wholeNumber(name, text, 1, countMax);
  },
  'restart-strategy.failure-rate.failure-rate-interval': (into, text, name) => {
    into.intervalMs = duration(name, text, 1);
  },
  'restart-strategy.failure-rate.delay': (into, text, name) => {
    into.delayMs = duration(name, text, 0);
  },
  'restart-strategy.exponential-delay.initial-backoff': (into, text, name) => {
    into.initialMs = duration(name, text, 1);
  },
  'restart-strategy.exponential-delay.max-backoff': (into, text, name) => {
    into.maxMs = duration(name, text, 1);
  },
  'restart-strategy.exponential-delay.backoff-multiplier': (into, text, name) => {
    into.multiplier = decimal(name, text);
  },
  'restart-strategy.exponential-delay.reset-backoff-threshold': (into, text, name) => {
    into.resetAfterMs = duration(name, text, 1);
  },
  'restart-strategy.exponential-delay.jitter-factor': (into, text, name) => {
    into.jitter = decimal(name, text);
  },
};

/** Names that matter only to what this version refuses anyway, so that one file serves several versions. */
const withoutEffectYet = [
  'state.savepoints.dir',
  'state.backend.rocksdb.localdir',
  'state.backend.local-recovery',
  'state.backend.incremental',
];

/** Every name that is understood. */
export const settingNames: readonly string[] = [...Object.keys(readers), ...Object.keys(restartReaders), ...withoutEffectYet];

export function isSettingName(name: string): boolean {
  return settingNames.includes(name);
}

/**
 * Reads settings that are already merged.
 *
 * @throws SluiceError `SETTING_UNKNOWN` with the nearest known name, `SETTING_INVALID` with the value and what would be right
 */
export function readSettings(given: ReadonlyMap<string, GivenSetting>): GlobalSettings {
  const settings: Mutable<GlobalSettings> = {};
  const restart: RestartParts = {};
  for (const [name, { text, origin }] of given) {
    const place = `${name} (${origin})`;
    if (Object.hasOwn(readers, name)) readers[name]!(settings, text.trim(), place);
    else if (Object.hasOwn(restartReaders, name)) {
      // A delay of the kind that was not chosen must not become that of the chosen one, so only the chosen kind's names are read.
      if (isOfChosenRestart(name, given)) restartReaders[name]!(restart, text.trim(), place);
    } else if (!withoutEffectYet.includes(name)) throw unknownSetting(name, origin);
  }
  const strategy = restartStrategyOf(restart);
  if (strategy !== undefined) settings.restartStrategy = strategy;
  return settings;
}

function isOfChosenRestart(name: string, given: ReadonlyMap<string, GivenSetting>): boolean {
  const kind = given.get('restart-strategy.type')?.text.trim().replaceAll('_', '-');
  return name === 'restart-strategy.type' || name.startsWith(`restart-strategy.${kind}.`);
}

function restartStrategyOf(parts: RestartParts): RestartStrategy | undefined {
  if (parts.kind === undefined) return undefined;
  try {
    switch (parts.kind) {
      case 'none':
        return RestartStrategies.none();
      case 'fixed-delay':
        return RestartStrategies.fixedDelay({ attempts: parts.attempts ?? 1, delay: parts.delayMs ?? 1_000 });
      case 'failure-rate':
        return RestartStrategies.failureRate({
          maxFailures: parts.maxFailures ?? 1,
          interval: parts.intervalMs ?? 60_000,
          delay: parts.delayMs ?? 1_000,
        });
      case 'exponential-delay':
        return RestartStrategies.exponentialDelay({
          ...(parts.initialMs === undefined ? {} : { initial: parts.initialMs }),
          ...(parts.maxMs === undefined ? {} : { max: parts.maxMs }),
          ...(parts.multiplier === undefined ? {} : { multiplier: parts.multiplier }),
          ...(parts.resetAfterMs === undefined ? {} : { resetAfter: parts.resetAfterMs }),
          ...(parts.jitter === undefined ? {} : { jitter: parts.jitter }),
        });
    }
  } catch (error) {
    throw invalid(`restart-strategy.${parts.kind}`, error instanceof Error ? error.message : String(error), parts.kind);
  }
}

/** The settings as defaults of a job, and the parallelism that was asked for on the command line. */
export function defaultsOf(settings: GlobalSettings, forcedParallelism: number | undefined): JobDefaults {
  return { ...settings, forcedParallelism };
}

/** @param others  further names that could have been meant, such as parameters of the job */
export function unknownSetting(name: string, origin: string, others: Iterable<string> = []): SluiceError {
  const known = [...settingNames, ...others];
  const meant = nearest(name, known) ?? known.find((candidate) => candidate.startsWith(`${name}.`) || candidate.endsWith(`.${name}`));
  return new SluiceError('SETTING_UNKNOWN', {
    message: `${origin} has an unknown key '${name}'${meant === undefined ? '' : `; did you mean '${meant}'?`}`,
    next: 'fix-the-command',
    setting: name,
  });
}

function invalid(name: string, why: string, value: string, cause?: unknown): SluiceError {
  return new SluiceError('SETTING_INVALID', { message: `${name}: ${why}`, next: 'fix-the-command', cause, value });
}

function constant(text: string): string {
  return text.toUpperCase().replaceAll('-', '_');
}

function oneOf<T extends string>(name: string, text: string, choices: readonly T[]): T {
  const choice = choices.find((candidate) => candidate === text);
  if (choice === undefined) throw invalid(name, `'${text}' is not one of ${choices.join(', ')}`, text);
  return choice;
}

function wholeNumber(name: string, text: string, min: number, max: number): number {
  const n = Number(text);
  if (!/^[0-9]+$/.test(text) || n < min || n > max) throw invalid(name, `'${text}' is not a whole number from ${min} to ${max}`, text);
  return n;
}

function decimal(name: string, text: string): number {
  if (!/^[0-9]+(\.[0-9]+)?$/.test(text)) throw invalid(name, `'${text}' is not a number such as 1.5`, text);
  return Number(text);
}

function duration(name: string, text: string, minMs: number): number {
  const ms = parseDuration(text, { lenient: true, name });
  if (ms < minMs) throw invalid(name, `'${text}' is too short, the least is ${minMs} ms`, text);
  return ms;
}
