import { expect, test } from 'vitest';
import { Verification } from '../../src/assets/storage/verification.ts';
import { sha256 } from '../torture/tenants/tenant.ts';

const content = Buffer.from('a picture');
const HASH = sha256(content);

async function read(verification: Verification, id: string, version: number, sha256 = HASH) {
  const file = { id, bytes: content.length, sha256 };
  async function* chunks() {
    yield content;
  }
  for await (const _ of verification.verified(file, version, chunks()));
}

test('a file is verified once for each of its versions, until it is deleted', async () => {
  const verification = new Verification(() => {});
  await read(verification, 'a', 1);
  await read(verification, 'b', 1);
  // The same version is not hashed again.
  await read(verification, 'a', 1, 'of other content');
  await expect(read(verification, 'a', 2, 'of other content')).rejects.toThrow('damaged');
  verification.forget(['a', 'never read']);
  expect(verification.isVerified('a', 1)).toBe(false);
  expect(verification.isVerified('b', 1)).toBe(true);
});

test('of too many files the oldest is forgotten, and no other', async () => {
  const verification = new Verification(() => {}, 3);
  const names = ['a', 'b', 'c', 'd'];
  for (const name of names) await read(verification, name, 1);
  const known = names.map((name) => verification.isVerified(name, 1));
  expect(known).toEqual([false, true, true, true]);
});
