// generator.mjs makes the event stream of flink/GENERATOR.md as fast as plain JavaScript can: whole event objects, one
// hidden class for each kind, texts from tables. Bare loops and Sluice jobs both import it, so its cost is in every number
// alike. `flink/reference/reference.mjs` is the slow twin that follows the page line by line; both print the same bytes:
//
//   node bench/generator.mjs 200000 | md5sum

const words = (text) => text.split(' ');
const FIRST = words('Ada Bram Chloe Dmitri Elif Farid Greta Hugo Ines Jonas Keiko Liam Mona Nils Olga Pavel');
const LAST = words('Adler Brandt Costa Dumont Eriksen Fischer Garcia Haddad Ivanov Jansen Kovacs Lindgren Moreau Novak Okafor Petrov');
const CITIES = words('Phoenix Oakland Boise Reno Portland Provo Seattle Cheyenne');
const STATES = words('AZ CA ID NV OR UT WA WY');
const ITEMS = words('atlas bicycle camera drum easel flute globe hammock inkwell jigsaw kettle lantern mirror notebook oboe pendulum');
const CHANNELS = words('web ios android kiosk phone partner-a partner-b partner-c');
const SPREAD = [900, 9_000, 90_000, 900_000, 9_000_000, 90_000_000];
const BASE_TIME = 1_700_000_000_000;
export const distinctWords = 100_000;

/** Joins character codes into a flat string, so that no reader pays for flattening a rope. */
const flat = (codes) => String.fromCharCode(...codes);
const EXTRA = Array.from({ length: 64 }, (_, j) =>
  flat(Array.from({ length: 16 + ((j * 7) % 32) }, (_, p) => 97 + ((j * 31 + p * 17) % 26))),
);
const URLS = Array.from({ length: 32 }, (_, j) => `https://auctions.example/${EXTRA[j].slice(0, 8)}/item?q=${j}`);
const NAMES = Array.from({ length: 256 }, (_, j) => `${FIRST[j & 15]} ${LAST[j >>> 4]}`);
const EMAILS = Array.from({ length: 256 }, (_, j) => `${FIRST[j & 15]}.${LAST[j >>> 4]}@mail.example`.toLowerCase());
const WORDS = Array.from({ length: distinctWords }, (_, j) => `w${j}`);
const FOUR = Array.from({ length: 10_000 }, (_, j) => String(j).padStart(4, '0'));

/** The 32-bit finaliser of MurmurHash3. */
export function mix(h) {
  h ^= h >>> 16;
  h = Math.imul(h, 0x85ebca6b);
  h ^= h >>> 13;
  h = Math.imul(h, 0xc2b2ae35);
  return h ^ (h >>> 16);
}

const draw = (base, k) => mix((base + Math.imul(k, 0x9e3779b9)) | 0);
const price = (magnitude, mantissa) => 100 + ((mantissa >>> 0) % SPREAD[(magnitude >>> 0) % 6]);

function person(b, epoch, dateTime) {
  const r2 = draw(b, 2);
  const r3 = draw(b, 3);
  const r4 = draw(b, 4);
  return {
    kind: 'P',
    id: epoch,
    name: NAMES[r2 & 255],
    email: EMAILS[r2 & 255],
    creditCard: `${FOUR[(r3 >>> 0) % 10_000]} ${FOUR[(r3 >>> 16) % 10_000]} ${FOUR[(r4 >>> 0) % 10_000]} ${FOUR[(r4 >>> 16) % 10_000]}`,
    city: CITIES[(r2 >>> 8) & 7],
    state: STATES[(r2 >>> 11) & 7],
    dateTime,
    extra: EXTRA[(r2 >>> 14) & 63],
  };
}

function auction(b, epoch, n, dateTime) {
  const r2 = draw(b, 2);
  const r5 = draw(b, 5);
  const r7 = draw(b, 7);
  const initialBid = price(draw(b, 3), draw(b, 4));
  return {
    kind: 'A',
    id: epoch * 3 + n - 1,
    itemName: ITEMS[r2 & 15],
    description: EXTRA[(r2 >>> 4) & 63],
    initialBid,
    reserve: initialBid + price(r5 >>> 16, r5),
    dateTime,
    expires: dateTime + 300 + ((draw(b, 6) >>> 0) % 1700),
    seller: (r7 & 3) !== 0 ? epoch - (epoch % 100) : epoch - ((draw(b, 8) >>> 0) % Math.min(epoch + 1, 1000)),
    category: 10 + ((r2 >>> 10) % 5),
    extra: EXTRA[(r7 >>> 2) & 63],
  };
}

function bid(b, epoch, dateTime) {
  const r2 = draw(b, 2);
  const r6 = draw(b, 6);
  const last = epoch * 3 + 2;
  return {
    kind: 'B',
    auction: (r2 & 1) !== 0 ? last - (last % 100) : last - ((draw(b, 3) >>> 0) % Math.min(last + 1, 100)),
    bidder: (r2 & 6) !== 0 ? Math.min(epoch - (epoch % 100) + 1, epoch) : epoch - ((draw(b, 4) >>> 0) % Math.min(epoch + 1, 1000)),
    price: price(r2 >>> 3, draw(b, 5)),
    channel: CHANNELS[r6 & 7],
    url: URLS[(r6 >>> 3) & 31],
    dateTime,
    extra: EXTRA[(r6 >>> 8) & 63],
  };
}

/** `event(i)` and `word(i)` for 0 ≤ i < 2³¹; both depend on `i` and the seed only. */
export function generator(seed = 42) {
  const salt = mix((seed + 0x9e3779b9) | 0);
  return {
    event(i) {
      const b = mix(i ^ salt);
      const dateTime = BASE_TIME + ((i / 10) | 0) + ((draw(b, 1) >>> 0) % 50);
      const epoch = (i / 50) | 0;
      const n = i - epoch * 50;
      if (n > 3) return bid(b, epoch, dateTime);
      return n > 0 ? auction(b, epoch, n, dateTime) : person(b, epoch, dateTime);
    },
    word: (i) => WORDS[(draw(mix(i ^ salt), 1) >>> 0) % distinctWords],
  };
}

if (import.meta.main) {
  const { event, word } = generator(Number(process.argv[3] ?? 42));
  let lines = '';
  for (let i = 0; i < Number(process.argv[2] ?? 6); i++) lines += `${i} ${word(i)} ${Object.values(event(i)).join('|')}\n`;
  process.stdout.write(lines);
}
