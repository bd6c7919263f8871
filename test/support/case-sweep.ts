// A case is not one place where a fault falls but all of them: the same world again and again, with the fault one call later each time.

import type { CallInfo, Fate } from './case-process.ts';
import type { CaseWorld } from './case-world.ts';

export interface Sweep<W extends CaseWorld> {
  /** A new world, its job not created yet. */
  readonly world: () => W;
  /** What falls; a function does something on the way. */
  readonly fault: Fate | ((world: W, call: CallInfo) => Fate);
  /** Calls at which the fault may fall; all of them when absent. */
  readonly at?: (call: CallInfo, world: W) => boolean;
  /** What happens in every one of these worlds, besides the fault. */
  readonly always?: (call: CallInfo, world: W) => Fate;
  /** Runs the world to its end; `run` when absent. */
  readonly run?: (world: W) => Promise<void>;
  readonly check: (world: W) => void | Promise<void>;
  /** Every so many places, 1 when absent, from this one on: where sinks share the places among them, so that each place is somebody's. */
  readonly every?: number;
  readonly from?: number;
}

/** @returns how many faults fell: the last world is one without */
export async function sweep<W extends CaseWorld>(o: Sweep<W>): Promise<number> {
  for (let fell = 0; ; fell++) {
    const world = o.world();
    const where = await sweepOne(o, world, (o.from ?? 0) + fell * (o.every ?? 1));
    if (where === undefined) return fell;
  }
}

async function sweepOne<W extends CaseWorld>(o: Sweep<W>, world: W, k: number): Promise<string | undefined> {
  let seen = 0;
  let where: string | undefined;
  world.fate = (call) => {
    const always = o.always?.(call, world) ?? 'go';
    if (always !== 'go' || o.at?.(call, world) === false || seen++ !== k) return always;
    world.hasFallen = true;
    const fate = typeof o.fault === 'function' ? o.fault(world, call) : o.fault;
    where = `${fate} at call ${k}: ${call.process.name} ${call.method} ${call.place}`;
    return fate;
  };
  try {
    await (o.run?.(world) ?? world.run());
    await o.check(world);
  } catch (e) {
    throw new Error(`${where ?? 'without a fault'}: ${e instanceof Error ? e.message : String(e)}`, { cause: e });
  }
  return where;
}
