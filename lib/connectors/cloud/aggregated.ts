// Records that a producer's library (KPL) has packed into one record of a stream. They are told from data by their shape and refused by name, and
// parked where they are damaged: a format that passes over what it cannot read would pass over all of them.
//   A1  Such a record begins with four bytes and ends with the MD5 of what lies between. Where the sum is wrong, the record was damaged if what
//       lies between still is a list of fields as the library writes it; data that only begins like that is data.

import { createHash } from 'node:crypto';

const magic = [0xf3, 0x89, 0x9a, 0xc2];
const digestBytes = 16;

/** Pure: `whole` or `damaged`; `undefined` for plain data. */
export function aggregationOf(data: Uint8Array): 'whole' | 'damaged' | undefined {
  if (data.length <= magic.length + digestBytes || !magic.every((byte, i) => data[i] === byte)) return undefined;
  const body = data.subarray(magic.length, data.length - digestBytes);
  const digest = createHash('md5').update(body).digest();
  if (digest.equals(data.subarray(data.length - digestBytes))) return 'whole';
  return isAggregate(body) ? 'damaged' : undefined;
}

/** Its fields are a table of partition keys (1), one of hash keys (2) and records (3), each with its length in front. */
function isAggregate(body: Uint8Array): boolean {
  let at = 0;
  let hasRecord = false;
  while (at < body.length) {
    const tag = body[at++]!;
    if ((tag & 7) !== 2 || tag >> 3 < 1 || tag >> 3 > 3) return false;
    let length = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = body[at++];
      if (byte === undefined || shift > 21) return false;
      length |= (byte & 0x7f) << shift;
      if (byte < 0x80) break;
    }
    at += length;
    hasRecord ||= tag >> 3 === 3;
  }
  return at === body.length && hasRecord;
}
