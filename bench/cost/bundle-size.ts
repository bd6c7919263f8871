// bundle-size.ts measures what a function of a stage loads before its first call: how large it is, and how long a fresh process takes to load it.

import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundleRole } from '../../lib/aws/bundle.ts';
import { median } from '../report.ts';

export interface BundleSize {
  readonly bytes: number;
  /** CPU time of the process while it loads: of the fastest load, which had the machine most to itself, and the median; ms. */
  readonly cpuMs: number;
  readonly medianCpuMs: number;
  /** What passed on the wall, of the fastest; ms. */
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
    const least = (at: 0 | 1): number => Math.min(...said.map((one) => one[at]));
    const medianCpuMs = median(said.map(([cpuMs]) => cpuMs));
    return { bytes: statSync(file).size, cpuMs: least(0), medianCpuMs, wallMs: least(1), loads };
  } finally {
    rmSync(outDir, { recursive: true, force: true });
  }
}
