// `npm run deploy:local`: bootstraps an emulator and deploys the app of this directory to it. Further words go to `cdk deploy`.
import { spawnSync } from 'node:child_process';

const endpoint = process.env.AWS_ENDPOINT_URL;
if (endpoint === undefined) {
  console.error('AWS_ENDPOINT_URL names no emulator; `npm run emulator` starts one and says what to export');
  process.exit(2);
}
const account = process.env.AWS_ACCESS_KEY_ID ?? '000000000000';
const region = process.env.AWS_REGION ?? 'us-east-1';
const env = { AWS_SECRET_ACCESS_KEY: 'test', ...process.env, AWS_ACCESS_KEY_ID: account, AWS_REGION: region };

function cdk(...words: readonly string[]): void {
  const { status } = spawnSync('cdk', [...words, '--no-notices'], { env, stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}

cdk('bootstrap', `aws://${account}/${region}`);
cdk('deploy', '--all', '--require-approval', 'never', ...process.argv.slice(2));
