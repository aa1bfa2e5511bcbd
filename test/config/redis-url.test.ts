import { expect, test } from 'vitest';
import { BLANK, configFile, faultsOf, load, resident } from './configuration.ts';

const FORM =
  'expected a URL such as redis://user:password@host:6379/0, or rediss:// for TLS, with the password percent-encoded';

const settingsOf = (shared: string) => JSON.stringify({ limits: { shared } });

test.each([
  'http://127.0.0.1:6379',
  'redis://',
  'redis://:a/b@127.0.0.1',
  'redis://:a#b@127.0.0.1',
  'redis://:%zz@127.0.0.1',
  'redis://127.0.0.1/first',
  'redis://127.0.0.1/0?family=6',
  'redis://127.0.0.1:70000',
])('limits.shared %s is refused with the form that is expected', async (shared) => {
  const faults = await faultsOf(settingsOf(shared));
  expect(faults).toEqual([expect.stringContaining(`limits.shared: ${FORM}`)]);
  expect(faults[0]).not.toMatch(/:a|zz@/);
});

test.each([
  'redis://127.0.0.1',
  'rediss://user:p%40ss@redis.example:6380/15',
  'redis://[::1]:6379/',
])('limits.shared %s is accepted', (shared) => {
  expect(load(settingsOf(shared)).config.limits).toMatchObject({ shared, sharedPrefix: 'oriel' });
});

test('limits.shared is printed without its credentials', async () => {
  const file = configFile(settingsOf('redis://user:secret@127.0.0.1:6379'));
  const { out } = await resident(['config', 'print', file], { env: BLANK });
  expect(out).toContain('shared: redis://***@127.0.0.1:6379');
  expect(out).not.toMatch(/user|secret@/);
});
