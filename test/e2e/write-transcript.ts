// `npm run transcript`: calls every command for deployed jobs on an emulator of its own, and writes docs/aws-transcript.md. What is written holds what
// came so far when something fails in the middle.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ClicksScene } from './clicks-scene.ts';
import { Cloud } from './cloud.ts';
import { page, transcribe } from './transcript.ts';

const file = join(import.meta.dirname, '../../docs/aws-transcript.md');
const cloud = await Cloud.start();
try {
  await transcribe(new ClicksScene(cloud), (text) => writeFileSync(file, page(text)));
} finally {
  await cloud.stop();
}
