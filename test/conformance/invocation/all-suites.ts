import { describe, test } from 'vitest';
import {
  changelogSuite,
  exchangeSuite,
  jobItemsSuite,
  type MakePorts,
  objectStoreSuite,
  stateTableSuite,
} from '../../../lib/testing/index.ts';

/** Every suite of the ports under the invocation runtime, for one way to make them. */
export function allSuites(name: string, make: MakePorts): void {
  for (const suite of [changelogSuite, stateTableSuite, jobItemsSuite, objectStoreSuite, exchangeSuite])
    suite(name, { describe, test }, make);
}
