/** A source of one split, whose records are handed to the job as a mapping does. */
export const pushed = {
  kind: 'pushed',
  isRereadable: false,
  isEager: true,
  isBounded: false,
  enumerate: async () => [{ id: 'a' }],
  open: () => {
    throw new Error('records are handed to the job');
  },
};
