import { expect, test } from 'vitest';
import { defineJob, print } from '../../../../lib/index.ts';
import { changeJob } from '../../../../lib/invocation/coordinator/read-job.ts';
import type { InvocationPorts } from '../../../../lib/invocation/ports.ts';
import { recover } from '../../../../lib/invocation/unit/admit.ts';
import { createServices } from '../../../../lib/invocation/unit/create-environment.ts';
import { InvocationWorld } from '../../../support/invocation-world.ts';

test('A2: what is known of checkpoints is not older than the ring: the job item is read again behind it', async () => {
  let meanwhile: (() => Promise<unknown>) | undefined;
  const wrap = (ports: InvocationPorts): InvocationPorts => ({
    ...ports,
    changelog: {
      ...ports.changelog,
      readPage: async (p) => {
        const now = meanwhile;
        meanwhile = undefined;
        await now?.();
        return ports.changelog.readPage(p);
      },
    },
  });
  const job = defineJob('recovers', (env) => {
    env.enableCheckpointing('1 h');
    env.fromCollection([1], { uid: 'in' }).sinkTo(print(), { uid: 'print' });
  });
  const world = new InvocationWorld({ job, wrap });
  await world.create();
  const { plan, ports, clock, random } = world;
  const nothing = () => undefined;
  const services = createServices({ plan, ports, clock, random, files: undefined as never, report: nothing, print: nothing });
  meanwhile = () => changeJob(ports, (item) => ({ ...item, begun: 7 }));
  const admission = await recover('0-0', services);
  expect(admission).toMatchObject({ kind: 'admitted', warm: { item: { begun: 7 } } });
});
