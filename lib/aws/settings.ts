// What a function of a deployed job is told by its environment (docs/decisions/007).
import type { ExchangePlaces } from '../adapters/aws/exchange-place.ts';
import { SluiceError } from '../core/errors.ts';

export interface FunctionSettings {
  readonly job: string;
  readonly planHash: string;
  readonly table: string;
  readonly bucket: string;
  /** Index of the stage in the plan; of functions that belong to none, absent. */
  readonly stage: number | undefined;
  readonly params: Readonly<Record<string, string>>;
  /** Settings, as `sluice.yaml` spells them. */
  readonly set: Readonly<Record<string, string>>;
  /** Stage → its exchange queue, or stream. */
  readonly queues: ExchangePlaces;
  /** Stage → name of its control function. */
  readonly controls: Readonly<Record<string, string>>;
  /** UUIDs of the event source mappings. */
  readonly mappings: readonly string[];
  /** Name in the job → what it is bound to. */
  readonly bind: Readonly<Record<string, BoundTarget>>;
}

export interface BoundTarget {
  readonly kind: string;
  readonly [property: string]: unknown;
}

type Variables = Readonly<Record<string, string | undefined>>;

/** @throws SluiceError `SETTING_INVALID` naming the variable */
export function readFunctionSettings(variables: Variables): FunctionSettings {
  const stage = variables.SLUICE_STAGE;
  return {
    job: text(variables, 'SLUICE_JOB'),
    planHash: text(variables, 'SLUICE_PLAN_HASH'),
    table: text(variables, 'SLUICE_TABLE'),
    bucket: text(variables, 'SLUICE_BUCKET'),
    stage: stage === undefined ? undefined : Number(stage),
    params: json(variables, 'SLUICE_PARAMS', {}),
    set: json(variables, 'SLUICE_SET', {}),
    queues: json(variables, 'SLUICE_QUEUES', {}),
    controls: json(variables, 'SLUICE_CONTROLS', {}),
    mappings: json(variables, 'SLUICE_MAPPINGS', []),
    bind: json(variables, 'SLUICE_BIND', {}),
  };
}

function text(variables: Variables, name: string): string {
  const value = variables[name];
  if (value !== undefined && value !== '') return value;
  throw invalid(name, 'is missing');
}

function json<T>(variables: Variables, name: string, otherwise: T): T {
  const value = variables[name];
  if (value === undefined || value === '') return otherwise;
  try {
    return JSON.parse(value) as T;
  } catch (cause) {
    throw invalid(name, `is no JSON: ${value}`, cause);
  }
}

function invalid(name: string, why: string, cause?: unknown): SluiceError {
  return new SluiceError('SETTING_INVALID', {
    message: `the variable ${name} of this function ${why}`,
    next: 'fix-the-command',
    advice: 'deploy the stack again; its construct sets it',
    cause,
  });
}
