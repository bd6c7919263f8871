// The user's middlewares around a stage.
import { describe, expect, it } from 'vitest';
import { around } from '../../../lib/aws/around.ts';

const context = { getRemainingTimeInMillis: () => 60_000 };
const answer = { batchItemFailures: [{ itemIdentifier: 'm1' }] };
const work = async (): Promise<typeof answer> => answer;

describe('around a stage', () => {
  it('middlewares run in their order, before and behind', async () => {
    const seen: string[] = [];
    const named = (name: string) => ({
      before: () => void seen.push(`before ${name}`),
      after: () => void seen.push(`after ${name}`),
    });
    await around([named('outer'), named('inner')], work)({}, context);
    expect(seen).toEqual(['before outer', 'before inner', 'after inner', 'after outer']);
  });

  it('none is needed', async () => {
    expect(await around([], work)({}, context)).toBe(answer);
  });

  it('a middleware that throws refuses the event', async () => {
    const refuses = {
      before: () => {
        throw new Error('not now');
      },
    };
    await expect(around([refuses], work)({}, context)).rejects.toThrow('not now');
  });

  it('a middleware that answers in the place of the stage acknowledges nothing', async () => {
    const early = { before: () => ({ batchItemFailures: [] }) };
    await expect(around([early], work)({}, context)).rejects.toThrow(/^MIDDLEWARE_ANSWERED: .*comes again\nnext: fix-the-job: /);
  });

  it('a middleware that changes the answer changes nothing', async () => {
    const changes = {
      after: (request: { response: unknown }) => {
        request.response = undefined;
      },
    };
    expect(await around([changes as never], work)({}, context)).toBe(answer);
  });

  it('a middleware that swallows the error of the stage does not make it a success', async () => {
    const swallows = {
      onError: (request: { response: unknown }) => {
        request.response = {};
      },
    };
    const fails = async (): Promise<never> => {
      throw new Error('the table is gone');
    };
    await expect(around([swallows as never], fails)({}, context)).rejects.toThrow('the table is gone');
  });

  it('a middleware that fails behind a committed stage fails the call: what comes again is a repeat', async () => {
    const fails = {
      after: () => {
        throw new Error('behind');
      },
    };
    await expect(around([fails], work)({}, context)).rejects.toThrow('behind');
  });
});
