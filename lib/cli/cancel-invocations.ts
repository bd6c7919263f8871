// `sluice cancel NAME` for a job of `--runtime invocations`: the request lies in the job's file, and whoever runs the job carries it out. When
// nobody does, this process seals what there is.
import { itemOf, type OpenedJob, ownerOf } from '../adapters/invocations/tools.ts';
import { requestCancel } from '../invocation/coordinator/job-life.ts';
import { askToCancel } from './ask-to-cancel.ts';
import type { Call } from './commands.ts';
import { patienceWith, stillnessOf } from './pause.ts';
import { pidOfOwner } from './ports.ts';

export async function cancelInvocations(call: Call, opened: OpenedJob): Promise<number> {
  const { output } = call;
  const { job, ports } = opened;
  try {
    const before = await itemOf(opened);
    if (before.status === 'cancelled' || before.status === 'finished') {
      output.text(`${job} is not running`);
      output.object({ job, state: 'not-running' });
      return 0;
    }
    const pid = pidOfOwner(await ownerOf(opened));
    await requestCancel(ports);
    if (pid !== undefined) askToCancel({ job, pid }); // so that it ends as one that was cancelled by a signal
    if (pid !== undefined) output.note(`${job} is asked to cancel; waiting for process ${pid}`);
    await stillnessOf(call, opened, 'cancelling');
    const patience = patienceWith(call, opened);
    for (let owner = await ownerOf(opened); owner !== undefined; owner = await ownerOf(opened)) await patience(owner);
    output.text(`${job} is cancelled`);
    output.object({ job, state: 'cancelled', pid });
    return 0;
  } finally {
    opened.close();
  }
}
