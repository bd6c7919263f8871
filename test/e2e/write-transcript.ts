// `npm run transcript`: calls every command for deployed jobs on an emulator of its own, and writes docs/aws-transcript.md.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Cloud } from './cloud.ts';
import { transcribe } from './transcript.ts';

const head = `# What commands for deployed jobs print

Made by \`npm run transcript\` with the [clicks example](../examples/clicks/job.ts) on the emulator. What the CDK says while it works goes to standard
error and is left out. On an account the commands are the same without \`--endpoint\`. How it fits together: [On AWS](aws.md).
`;

const file = join(import.meta.dirname, '../../docs/aws-transcript.md');
const cloud = await Cloud.start();
try {
  await transcribe(cloud, (text) => writeFileSync(file, `${head}${text}\n`));
} finally {
  await cloud.stop();
}
