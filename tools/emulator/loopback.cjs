// Preloaded into a server that has no setting for its address: whatever it listens on, it listens on the loopback address only.
const net = require('node:net');

const { listen } = net.Server.prototype;

function portOf(first) {
  if (first !== null && typeof first === 'object') return first.path === undefined && first.fd === undefined ? first : undefined;
  return Number.isInteger(Number(first ?? 0)) ? { port: Number(first ?? 0) } : undefined;
}

net.Server.prototype.listen = function listenOnLoopback(first, ...rest) {
  const tcp = portOf(first);
  if (tcp === undefined) return listen.call(this, first, ...rest);
  const done = rest.find((argument) => typeof argument === 'function');
  return listen.call(this, { ...tcp, host: '127.0.0.1' }, ...(done === undefined ? [] : [done]));
};

// Whoever started the emulator holds the other end of its input. When that closes, even by a kill, the emulator ends too.
if (process.env.SLUICE_END_WITH_INPUT === '1') process.stdin.resume().once('end', () => process.exit(0));
