// bundle-size.ts measures what a function of a stage loads before its first call: how large it is, and how long a fresh process takes to load it.

import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundleRole } from '../../lib/aws/bundle.ts';
import { median } from '../report.ts';

export interface BundleSize {
  readonly bytes: number;
  /** CPU time of the process while it loads, and what passed on the wall; medians, ms. */
  readonly cpuMs: number;
  readonly wallMs: number;
  readonly loads: number;
}

export function measureBundle(loads: number): BundleSize {
  const outDir = mkdtempSync(join(tmpdir(), 'sluice-cost-bundle-'));
  try {
    bundleRole({ role: 'stage', entry: join(import.meta.dirname, 'bundled-job.ts'), outDir });
    const file = join(outDir, 'index.js');
    const code = `const from = process.cpuUsage(), at = performance.now(); require(${JSON.stringify(file)});
const { user, system } = process.cpuUsage(from); console.log(JSON.stringify([(user + system) / 1000, performance.now() - at]));`;
    const said = Array.from({ length: loads }, () => {
      const text = execFileSync(process.execPath, ['-e', code], { encoding: 'utf8', env: { PATH: process.env.PATH } });
      return JSON.parse(text) as readonly [cpuMs: number, wallMs: number];
    });
    const of = (at: 0 | 1): number => median(said.map((one) => one[at]));
    return { bytes: statSync(file).size, cpuMs: of(0), wallMs: of(1), loads };
  } finally {
    rmSync(outDir, { recursive: true, force: true });
  }
}
