// What has been printed. An entry may be delivered by several workers one after the other, and each prints all its rows; a person wants each once.
//   P1  Entries of a subtask are delivered in order, and each delivery of an entry prints the same lines. So a line is news exactly when it lies
//       behind the last one that was printed. What a restore works out again is printed again.

import type { LinePlace } from './ipc.ts';

export class PrintedLines {
  readonly #last = new Map<string, LinePlace>();

  /** @param place  `undefined`: of a line that nobody can place, which is always news */
  isNews(place: LinePlace | undefined): boolean {
    if (place === undefined) return true;
    const name = `${place.subtask}/${place.sink}`;
    const last = this.#last.get(name);
    if (last !== undefined && !isBehind(place, last)) return false;
    this.#last.set(name, place);
    return true;
  }
}

function isBehind(a: LinePlace, b: LinePlace): boolean {
  if (a.generation !== b.generation) return a.generation > b.generation;
  return a.n === b.n ? a.index > b.index : a.n > b.n;
}
