// Which operators carry the causes of their records (lib/core/origins.ts), and where a cause alone would not tell two records apart.
//   O1  An operator carries causes when a sink that asks for them can be reached from it; elsewhere nobody pays for them.
//   O2  Within the output of one operator no text occurs twice; so it can occur twice only where several edges meet. Two edges can bring the same
//       text only if they share a source: a record's text begins with it, a timer's with an operator, and who shares that shares its sources.
//   O3  Such edges are marked by their sender, so a mark changes with what the user calls things and with the edges that meet, with nothing else.

import type { Edge, JobDescription, LogicalNode } from '../api/description.ts';

export interface OriginTracking {
  /** By node id. */
  readonly carries: readonly boolean[];
  /** What records of an edge get appended, by node id and index of the input; `undefined` where nothing is. */
  readonly marks: readonly (readonly (string | undefined)[])[];
}

export function trackOrigins({ nodes }: JobDescription, uids: readonly string[]): OriginTracking {
  const carries = carriers(nodes);
  const sources: ReadonlySet<number>[] = [];
  const marks = nodes.map(({ id, inputs }) => {
    sources.push(new Set(inputs.length === 0 ? [id] : inputs.flatMap(({ from }) => [...(sources[from] as ReadonlySet<number>)])));
    return carries[id] === true ? marksOf(inputs, sources, uids) : [];
  });
  return { carries, marks };
}

/** From the sinks that ask, against the edges; ids are in topological order. */
function carriers(nodes: readonly LogicalNode[]): readonly boolean[] {
  const carries = nodes.map(({ operator }) => operator.kind === 'sink' && operator.needsRowIdentity === true);
  for (const { id, inputs } of [...nodes].reverse()) {
    if (carries[id] === true) for (const { from } of inputs) carries[from] = true;
  }
  return carries;
}

function marksOf(
  inputs: readonly Edge[],
  sources: readonly ReadonlySet<number>[],
  uids: readonly string[],
): readonly (string | undefined)[] {
  const used = new Map<string, number>();
  return inputs.map((edge, index) => {
    const own = sources[edge.from] as ReadonlySet<number>;
    const isAlone = inputs.every((other, i) => i === index || own.isDisjointFrom(sources[other.from] as ReadonlySet<number>));
    if (isAlone) return undefined;
    const name = senderName(edge, uids);
    const times = (used.get(name) ?? 0) + 1;
    used.set(name, times);
    return times === 1 ? `(${name})` : `(${name}*${times})`;
  });
}

function senderName({ from, sideOutput }: Edge, uids: readonly string[]): string {
  const uid = uids[from] as string;
  return sideOutput === undefined ? uid : `${uid}:${escaped(sideOutput)}`;
}

/** Tags may have any characters; the text must stay readable from its end. */
function escaped(tag: string): string {
  return tag.replace(/[^A-Za-z0-9_.-]/g, (c) => `%${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
