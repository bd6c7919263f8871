// The user's middlewares around the work of a stage.
//   M1  Input is acknowledged by what the stage answered, and by nothing else. A middleware may refuse an event by throwing; one that answers in the
//       stage's place, swallows its error or changes its answer would have the platform drop records that nobody has.

import middy from '@middy/core';
import { SluiceError } from '../core/errors.ts';
import { functionError } from './function-error.ts';

type Handle<E, C, A> = (event: E, context: C) => Promise<A>;

type Outcome<A> = { readonly kind: 'answered'; readonly answer: A } | { readonly kind: 'threw'; readonly error: unknown };

/** @param middlewares  of middy, the outermost first */
export function around<E, C, A>(middlewares: readonly middy.MiddlewareObj[], handle: Handle<E, C, A>): Handle<E, C, A> {
  return async (event, context) => {
    let outcome: Outcome<A> | undefined;
    const chain = middy();
    for (const middleware of middlewares) chain.use(middleware);
    const call = chain.handler(async (given: unknown, under: unknown) => {
      try {
        const answer = await handle(given as E, under as C);
        outcome = { kind: 'answered', answer };
        return answer;
      } catch (error) {
        outcome = { kind: 'threw', error };
        throw error;
      }
    }) as unknown as Handle<E, C, unknown>;
    await call(event, context);
    return answerOf(outcome);
  };
}

function answerOf<A>(outcome: Outcome<A> | undefined): A {
  if (outcome?.kind === 'answered') return outcome.answer;
  if (outcome?.kind === 'threw') throw outcome.error;
  throw functionError(
    new SluiceError('MIDDLEWARE_ANSWERED', {
      message: 'a middleware answered an event in the place of the stage, and nobody has its records; the event comes again',
      next: 'fix-the-job',
      advice: 'let a middleware throw to refuse an event; only the stage can say that it is done',
    }),
  );
}
