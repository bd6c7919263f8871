// Thrown into user code that touches state which is not in memory. It ends the record, not the unit: the run is suspended from then on, whoever
// catches this.

export class StateNotResident extends Error {
  constructor() {
    super('this state is not in memory yet; the run is abandoned, the state is loaded, and the unit runs again');
    this.name = 'StateNotResident';
  }
}

/** One for all: nobody looks at where it was thrown, and there may be one for each record. */
export const stateNotResident: StateNotResident = new StateNotResident();

/** What a layer answers that would have to ask its store. */
export const notKnown: unique symbol = Symbol('not known');
export type NotKnown = typeof notKnown;
