/** Whether input is to be delivered: closed while a restore is under way or the job is paused, and over at its end. */
export class Gate {
  /** Resolves when the run is over. */
  readonly over: Promise<void>;
  #end: () => void = () => {};
  #isOpen = false;
  #isOver = false;
  #waiting: ((mayGoOn: boolean) => void)[] = [];

  constructor() {
    this.over = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  set(isOpen: boolean): void {
    this.#isOpen = isOpen;
    if (isOpen) this.#wake();
  }

  end(): void {
    this.#isOver = true;
    this.#end();
    this.#wake();
  }

  /** Waits while it is closed. `false`: the run is over. */
  async mayGoOn(): Promise<boolean> {
    if (this.#isOver) return false;
    if (this.#isOpen) return true;
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #wake(): void {
    for (const wake of this.#waiting.splice(0)) wake(!this.#isOver);
  }
}
