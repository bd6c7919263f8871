// What the log says of input that was left where it is, so that whoever looks for a reason finds the subtask.
import type { Refusal } from '../invocation/invocation.ts';

const reasons: Readonly<Record<Refusal, string>> = {
  sealed: 'its changelog is sealed: a restore or a change of owners is under way, or the job stands still',
  'not-an-owner': 'the job does not list it as an owner',
  'not-running': 'the job is not running',
  ended: 'it has taken its input to the end',
  'replay-first': 'it has to read again first what a restore took back; pulses do that',
  contended: 'other environments were faster, too often',
  gap: 'a message before these has not come; if it has expired it never will, and the job has to be restored',
  'record-failed': 'a record failed, and is tried again',
  'ring-full': 'the table did not take enough of its changelog',
  'out-of-time': 'the time of the invocation is over',
  'other-generation': 'they are of a generation that has passed or has not begun',
};

export function refusalLine(subtask: string, why: Refusal): string {
  return JSON.stringify({ level: 'warn', subtask, refused: why, message: `subtask ${subtask} takes them later: ${reasons[why]}` });
}
