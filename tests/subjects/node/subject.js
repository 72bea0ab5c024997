// Node.js and the OpenSSL in it: the contract is in ../rust/src/lib.rs.
'use strict';

const crypto = require('node:crypto');

const LENGTH = 256 << 10;

function input() {
  let state = 1;
  const out = Buffer.alloc(LENGTH);
  for (let i = 0; i < LENGTH; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    out[i] = state >>> 24;
  }
  return out;
}

function repeat(seconds, once) {
  const begin = process.hrtime.bigint();
  const first = Buffer.from(once());
  let best = 1e18;
  while (Number(process.hrtime.bigint() - begin) < seconds * 1e9) {
    const start = process.hrtime.bigint();
    const again = once();
    best = Math.min(best, Number(process.hrtime.bigint() - start));
    if (!first.equals(again)) throw new Error('a repetition has another result');
  }
  console.log(first.toString('hex'));
  console.error(`${(LENGTH / (best / 1e9) / 1e6).toFixed(1)} MB/s`);
}

const [mode, seconds] = process.argv.slice(2);
const data = input();
const sha256 = (bytes) => crypto.createHash('sha256').update(bytes).digest();
if (mode === 'aes-gcm') {
  let sealed;
  repeat(Number(seconds), () => {
    const cipher = crypto.createCipheriv('aes-128-gcm', Buffer.alloc(16, 7), Buffer.alloc(12, 9));
    sealed = cipher.update(data);
    cipher.final();
    return cipher.getAuthTag();
  });
  console.log(sha256(sealed).toString('hex'));
} else if (mode === 'sha256') {
  repeat(Number(seconds), () => sha256(data));
} else {
  throw new Error('aes-gcm or sha256');
}
