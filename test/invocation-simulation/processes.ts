// What the processes of a simulation are made of: a plan that is compiled from the job in each of them, and the ports of whoever it is.

import { ParamValues } from '../../lib/api/params.ts';
import { compile } from '../../lib/graph/compile.ts';
import type { Plan } from '../../lib/graph/plan.ts';
import type { Job } from '../../lib/index.ts';
import { patient } from '../../lib/invocation/patience.ts';
import type { InvocationPorts } from '../../lib/invocation/ports.ts';
import type { EnvironmentOptions } from '../../lib/invocation/unit/create-environment.ts';
import { describe } from '../../lib/operators/describe.ts';
import type { SimulatedProcess } from '../../lib/testing/index.ts';

export function planOf(job: Job): Plan {
  return compile(describe(job, new ParamValues(new Map()), {}), { keepsPartitions: true });
}

/** Ports of somebody who asks again when a service is busy, as coordinators and people do. */
export function patientPorts(process: SimulatedProcess, ports: InvocationPorts): InvocationPorts {
  return patient(ports, { clock: process.ports.clock, random: process.ports.random });
}

/** What an environment is given of the process that it lives in. */
export function hostOf({ ports }: SimulatedProcess): Pick<EnvironmentOptions, 'clock' | 'random' | 'files' | 'report' | 'print'> {
  return { clock: ports.clock, random: ports.random, files: ports.files, report: () => {}, print: () => {} };
}
