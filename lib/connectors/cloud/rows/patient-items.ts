import type { ItemTable } from '../../../api/row-table.ts';
import { isSluiceError } from '../../../core/errors.ts';
import type { Clock } from '../../../core/ports.ts';

const triesMax = 6;
const pauseMs = 50; // doubled for each further try: one and a half seconds in all

/**
 * Asks again what was throttled, or got no answer. A change that did happen is answered by a conflict then, and whoever asked reads what is there. Of changes
 * each by itself those that are left are the asker's: it reads them first.
 */
export function patientItems(table: ItemTable, clock: Clock): ItemTable {
  const again = async <T>(ask: () => Promise<T>): Promise<T> => {
    for (let tries = 1; ; tries++) {
      try {
        return await ask();
      } catch (error) {
        if (tries === triesMax || !mayPass(error)) throw error;
      }
      await clock.sleep(pauseMs * 2 ** (tries - 1)).done;
    }
  };
  return {
    read: (keys) => again(() => table.read(keys)),
    changeEach: (changes) => table.changeEach(changes),
    changeAll: (changes) => again(() => table.changeAll(changes)),
  };
}

function mayPass(error: unknown): boolean {
  return isSluiceError(error) && (error.code === 'STORE_THROTTLED' || error.code === 'STORE_UNCERTAIN');
}
