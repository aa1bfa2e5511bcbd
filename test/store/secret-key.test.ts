import { chmodSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, test } from 'vitest';
import { SecretKeys } from '../../src/store/secret-key.ts';
import { temporaryFolder } from '../oriel.ts';

const SECRETS = { apiKey: 'sk-0123456789' };
const unreadable = (message: RegExp) =>
  expect.objectContaining({
    code: 'secrets_unreadable',
    message: expect.stringMatching(message) as string,
  });

async function made() {
  const file = join(temporaryFolder(), 'below', 'secret.key');
  return { file, keys: await SecretKeys.readOrCreate(file) };
}

it('makes one key for all who come at once, which only its owner may read', async () => {
  const { file } = await made();
  const another = join(temporaryFolder(), 'secret.key');
  const all = await Promise.all([1, 2, 3].map(() => SecretKeys.readOrCreate(another)));
  const ids = new Set(all.map((one) => one.seal({}, '').keyId));
  expect(ids.size).toBe(1);
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

it('encrypts with a new nonce each time, and shows nothing of the secret', async () => {
  const { file, keys } = await made();
  const [one, two] = [keys.seal(SECRETS, 'a'), keys.seal(SECRETS, 'a')];
  expect(one.data).not.toBe(two.data);
  expect(Buffer.from(one.data, 'base64').toString('latin1')).not.toContain('0123456789');
  expect(SecretKeys.read(file).open(two, 'a')).toEqual(SECRETS);
});

it('decrypts with every key of the file, and encrypts with the first', async () => {
  const { file, keys } = await made();
  const old = keys.seal(SECRETS, 'a');
  writeFileSync(
    file,
    `# rotated\n${Buffer.alloc(32, 7).toString('base64')}\n${readFileSync(file, 'utf8')}`,
  );
  const both = SecretKeys.read(file);
  expect(both.open(old, 'a')).toEqual(SECRETS);
  expect(both.seal(SECRETS, 'a').keyId).not.toBe(old.keyId);
});

test.each([
  ['of another entry', (data: string) => data, 'b'],
  [
    'that were changed',
    (data: string) => data.replace(/^./, (first) => (first === 'A' ? 'B' : 'A')),
    'a',
  ],
  ['that were cut off', () => 'AAAA', 'a'],
  ['of a later version', () => ({}) as string, 'a'],
])('refuses secrets %s', async (_, change, context) => {
  const { keys } = await made();
  const { keyId, data } = keys.seal(SECRETS, 'a');
  const changed = { keyId, data: change(data) };
  expect(() => keys.open(changed, context)).toThrow(unreadable(/was changed in the store/));
});

test.each([
  ['that others may read', (file: string) => chmodSync(file, 0o640), /mode 0600, received 0640/],
  ['without a key', (file: string) => writeFileSync(file, '\n'), /expected lines of 32 bytes/],
  [
    'that is a folder',
    (file: string) => {
      rmSync(file);
      mkdirSync(file, { mode: 0o700 });
    },
    /the key cannot be read: EISDIR/,
  ],
  ['with half of a key', (file: string) => writeFileSync(file, 'AAAA'), /expected lines of 32/],
])('refuses a file %s', async (_, spoil, message) => {
  const { file } = await made();
  spoil(file);
  expect(() => SecretKeys.read(file)).toThrow(unreadable(message));
});

it('says which file is missing', async () => {
  const { keys } = await made();
  const gone = SecretKeys.read('/nowhere/secret.key');
  expect(() => gone.open(keys.seal(SECRETS, 'a'), 'a')).toThrow(
    unreadable(/^\/nowhere\/.* is missing/),
  );
});
