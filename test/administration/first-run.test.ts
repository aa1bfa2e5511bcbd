import { readdirSync } from 'node:fs';
import { expect, it, onTestFinished } from 'vitest';
import { readFirstKey, writeFirstKey } from '../../src/administration/first-key.ts';
import { firstRun } from '../../src/administration/first-run.ts';
import { openStore } from '../../src/store/drivers/open.ts';
import { hashOf } from '../../src/store/key.ts';
import type { Store } from '../../src/store/store.ts';
import { temporaryFolder } from '../oriel.ts';
import { UNAUDITED } from './unaudited.ts';

const CREDITS = 1_000_000_000;
const CHOSEN = 'a-bootstrap-key-0123456789';

async function emptyStore(): Promise<Store> {
  const store = await openStore({ directory: temporaryFolder() });
  onTestFinished(() => store.close());
  return store;
}

async function keysOf(store: Store, account: string) {
  const found = await store.findAccount(account);
  return found ? store.listKeys(found.id) : undefined;
}

it('creates an owner with credits and a valid key', async () => {
  const store = await emptyStore();
  const made = await firstRun(store, { ...UNAUDITED, credits: CREDITS });
  expect(made).toMatchObject({ account: { name: 'owner', plan: 'paid', granted: CREDITS } });
  const holder = await store.findKey(hashOf(made!.key));
  expect(holder).toMatchObject({
    account: { name: 'owner' },
    key: { expiresAt: null, revokedAt: null, models: null, rpm: null, budget: null },
  });
});

it('saves the key before the store has it', async () => {
  const store = await emptyStore();
  const saveKey = async (key: string) => {
    expect(await store.findKey(hashOf(key))).toBeUndefined();
    throw new Error('the disk is full');
  };
  await expect(firstRun(store, { ...UNAUDITED, credits: CREDITS, saveKey })).rejects.toThrow(
    'the disk is full',
  );
  expect(await store.listKeys()).toEqual([]);
});

it('removes the file of a key that the store does not have or that was revoked', async () => {
  const store = await emptyStore();
  const folder = temporaryFolder();
  await writeFirstKey(folder, 'sk-oriel-of-a-start-that-crashed');
  expect(await readFirstKey(folder, store)).toBeUndefined();
  expect(readdirSync(folder)).toEqual([]);

  const made = await firstRun(store, {
    ...UNAUDITED,
    credits: CREDITS,
    saveKey: (key) => writeFirstKey(folder, key),
  });
  expect(await readFirstKey(folder, store)).toMatchObject({ key: made!.key });
  const [key] = await store.listKeys();
  await store.revokeKey(key!.id);
  expect(await readFirstKey(folder, store)).toBeUndefined();
  expect(readdirSync(folder)).toEqual([]);
});

it('creates nothing the second time', async () => {
  const store = await emptyStore();
  await firstRun(store, { ...UNAUDITED, credits: CREDITS });
  expect(await firstRun(store, { ...UNAUDITED, credits: CREDITS })).toBeUndefined();
  expect(await store.listAccounts()).toHaveLength(1);
  expect(await store.listKeys()).toHaveLength(1);
});

it('creates the key after a crash between account and key', async () => {
  const store = await emptyStore();
  await store.createAccount({ name: 'owner', plan: 'paid', credits: CREDITS });
  const made = await firstRun(store, { ...UNAUDITED, credits: CREDITS });
  expect(made?.account.granted).toBe(CREDITS);
  expect(await store.findKey(hashOf(made!.key))).toMatchObject({ account: { name: 'owner' } });
  expect(await store.listAccounts()).toHaveLength(1);
});

it('creates no key where the only one was revoked', async () => {
  const store = await emptyStore();
  await firstRun(store, { ...UNAUDITED, credits: CREDITS });
  const [key] = await store.listKeys();
  await store.revokeKey(key!.id);
  expect(await firstRun(store, { ...UNAUDITED, credits: CREDITS })).toBeUndefined();
});

it('creates no owner beside other accounts', async () => {
  const store = await emptyStore();
  await store.createAccount({ name: 'ci', plan: 'free', credits: 0 });
  expect(await firstRun(store, { ...UNAUDITED, credits: CREDITS })).toBeUndefined();
  expect(await store.findAccount('owner')).toBeUndefined();
  expect(await store.listKeys()).toEqual([]);
});

it('adds the bootstrap key and returns no key', async () => {
  const store = await emptyStore();
  const options = { ...UNAUDITED, credits: CREDITS, bootstrapKey: CHOSEN };
  expect(await firstRun(store, options)).toBeUndefined();
  expect(await firstRun(store, options)).toBeUndefined();
  expect(await store.findKey(hashOf(CHOSEN))).toMatchObject({
    account: { name: 'owner', plan: 'paid', granted: CREDITS },
  });
  expect(await store.listKeys()).toHaveLength(1);
});

it('adds a new bootstrap key beside earlier keys', async () => {
  const store = await emptyStore();
  await firstRun(store, { ...UNAUDITED, credits: CREDITS });
  await firstRun(store, { ...UNAUDITED, credits: CREDITS, bootstrapKey: CHOSEN });
  await firstRun(store, { ...UNAUDITED, credits: CREDITS, bootstrapKey: `${CHOSEN}-rotated` });
  expect(await keysOf(store, 'owner')).toHaveLength(3);
  expect(await store.findAccount('owner')).toMatchObject({ granted: CREDITS });
});

it('creates an owner for a bootstrap key beside other accounts', async () => {
  const store = await emptyStore();
  await store.createAccount({ name: 'ci', plan: 'free', credits: 0 });
  await firstRun(store, { ...UNAUDITED, credits: CREDITS, bootstrapKey: CHOSEN });
  expect(await keysOf(store, 'owner')).toHaveLength(1);
});

it('does not restore a revoked bootstrap key', async () => {
  const store = await emptyStore();
  const options = { ...UNAUDITED, credits: CREDITS, bootstrapKey: CHOSEN };
  await firstRun(store, options);
  const [key] = await store.listKeys();
  await store.revokeKey(key!.id);
  await firstRun(store, options);
  expect(await store.listKeys()).toMatchObject([{ id: key!.id, revokedAt: expect.any(Number) }]);
});

it.each(['', 'short', `${CHOSEN} with spaces`, `${CHOSEN}é`, `${CHOSEN}\n`])(
  'refuses %j as a chosen key, before anything is made',
  async (bootstrapKey) => {
    const store = await emptyStore();
    await expect(firstRun(store, { ...UNAUDITED, credits: CREDITS, bootstrapKey })).rejects.toThrow(
      'ORIEL_BOOTSTRAP_KEY: expected 24 to 512 printable ASCII characters',
    );
    expect(await store.listAccounts()).toEqual([]);
  },
);
