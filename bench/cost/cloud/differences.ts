// differences.ts compares what two services answered to one request, as far as the runtime looks at it.

interface Answer {
  readonly output: Readonly<Record<string, unknown>>;
  readonly error?: Error;
}

interface ServiceError extends Error {
  readonly Item?: unknown;
  readonly CancellationReasons?: readonly { readonly Code?: string; readonly Item?: unknown }[];
}

/** @returns `undefined` when there is none */
export function differenceOf(stand: Answer, other: Answer): string | undefined {
  const [ours, theirs] = [textOf(stand), textOf(other)];
  return ours === theirs ? undefined : `the stand-in says ${cut(ours)}, the emulator ${cut(theirs)}`;
}

const cut = (text: string): string => (text.length > 200 ? `${text.slice(0, 200)}…` : text);

function textOf({ output, error }: Answer): string {
  if (error !== undefined) {
    const { name, Item: item, CancellationReasons: reasons } = error as ServiceError;
    return canonical({ name, item, reasons: reasons?.map((reason) => [reason.Code, reason.Item]) });
  }
  const { Item, Items, Attributes, Responses, LastEvaluatedKey, UnprocessedKeys, UnprocessedItems, Contents } = output;
  return canonical({
    ...{ Item, Items, Attributes, LastEvaluatedKey },
    left: [UnprocessedKeys, UnprocessedItems].map((undone) => Object.keys((undone ?? {}) as object).length),
    responses: responsesOf(Responses),
    names: (Contents as readonly { readonly Key?: string }[] | undefined)?.map(({ Key: key }) => key) ?? [],
  });
}

/** Items of a batch read come in any order; outcomes of statements in that of the statements. */
function responsesOf(responses: unknown): unknown {
  if (Array.isArray(responses)) return responses.map((one: { readonly Error?: { readonly Code?: string } }) => one.Error?.Code ?? 'done');
  const byTable = Object.entries((responses ?? {}) as Record<string, readonly unknown[]>);
  return byTable.map(([table, items]) => [table, items.map(canonical).sort()]);
}

/** Attributes come in any order, and bytes as different classes. */
function canonical(value: unknown): string {
  return JSON.stringify(plain(value));
}

function plain(value: unknown): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).filter(([, one]) => one !== undefined);
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, one]) => [name, plain(one)]));
}
