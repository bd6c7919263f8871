// One request to DynamoDB, its error put into the words of the ports.
import type { AttributeValue, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { SluiceError } from '../../core/errors.ts';
import { errorOf } from './errors.ts';

export type Item = Readonly<Record<string, AttributeValue>>;

/** A table of one job and how to reach it. */
export interface DynamoPlace {
  readonly client: DynamoDBClient;
  readonly table: string;
}

/**
 * @param otherwise  what an error is to the caller; `undefined`: an error
 * @throws SluiceError as errors.ts says
 */
export async function ask<T, U = never>(
  { table }: DynamoPlace,
  action: string,
  request: () => Promise<T>,
  otherwise: (error: unknown) => U | undefined = () => undefined,
): Promise<T | U> {
  try {
    return await request();
  } catch (error) {
    const meant = otherwise(error);
    if (meant !== undefined) return meant;
    throw errorOf(error, `dynamodb:${action} in table ${table}`);
  }
}

export function textOf(value: AttributeValue | undefined): string {
  if (value?.S !== undefined) return value.S;
  throw damaged('text', value);
}

export function numberOf(value: AttributeValue | undefined): number {
  if (value?.N !== undefined) return Number(value.N);
  throw damaged('a number', value);
}

export function bytesOf(value: AttributeValue | undefined): Uint8Array {
  if (value?.B !== undefined) return value.B;
  throw damaged('bytes', value);
}

function damaged(what: string, value: AttributeValue | undefined): SluiceError {
  return new SluiceError('DATA_DAMAGED', {
    message: `an item of the job's table lacks ${what} where it has to be: ${value === undefined ? 'nothing' : Object.keys(value).join()}`,
    next: 'repair-state',
  });
}
