// A process that appends, puts and sends for as long as it lives, in a race with others like it, and says on a line of its own what was answered.
// Arguments: path of the store, name of this writer.
import { writeSync } from 'node:fs';
import { systemClock, systemRandom } from '../../../lib/adapters/embedded/system-clock.ts';
import { openSqlitePorts } from '../../../lib/adapters/sqlite/sqlite-ports.ts';
import { patient } from '../../../lib/invocation/patience.ts';

const [path = '', name = ''] = process.argv.slice(2);
const ports = patient(openSqlitePorts({ path, job: 'killed', clock: systemClock }), {
  clock: systemClock,
  random: systemRandom,
  triesMax: 1_000,
});
const ring = { generation: 0, subtask: '1-0' };
const payload = (n: number): Uint8Array => new Uint8Array(2_000).fill(n % 251);

for (let n = 0, tries = 0; ; tries++) {
  const writer = `${name}-${tries}`;
  const put = await ports.changelog.put({ ring, slot: n, entry: { n, writer, bytes: payload(n) }, expects: 'absent' });
  if (put.kind === 'stored') {
    await ports.table.putMany(
      Array.from({ length: 25 }, (_, i) => ({
        address: { partition: `n${n}`, sort: `s${i}` },
        tags: writer,
        bytes: payload(i),
        expects: 'absent' as const,
      })),
    );
    await ports.exchange.send([{ group: name, id: `${n}`, bytes: new TextEncoder().encode(`${n}`) }]);
    writeSync(1, `${n} ${writer}\n`);
  }
  n++;
}
