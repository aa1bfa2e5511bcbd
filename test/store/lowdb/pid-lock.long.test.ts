import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { diskFiles } from '../../../src/store/files.ts';
import { lockByPid } from '../../../src/store/lock.ts';
import { temporaryFolder } from '../../oriel.ts';
import { contender, expectOneWinner } from './lock-contender.ts';

const deadProcess = (): number => spawnSync(process.execPath, ['-e', '0']).pid;

const TOKEN = '01234567-89ab-cdef-0123-456789abcdef';
const OTHER = 'fedcba98-7654-3210-fedc-ba9876543210';

const lockIn = (directory: string) => lockByPid(diskFiles, join(directory, 'lock'));

/** The owner that this process writes. */
async function present(directory: string) {
  const lock = await lockIn(directory);
  const owner = JSON.parse(readFileSync(join(directory, 'lock'), 'utf8')) as object;
  await lock.release();
  return owner;
}

describe('the lock by pid', () => {
  it('of a killed process is taken over at once', async () => {
    const directory = temporaryFolder();
    const first = await contender(directory, { mode: 'pid' });
    first.proceed();
    expect(await first.readLine()).toBe('open');
    await expect(lockIn(directory)).rejects.toMatchObject({
      message: expect.stringContaining(`process ${first.child.pid} is using this store`),
    });
    await first.kill();
    expect(existsSync(join(directory, 'lock'))).toBe(true);
    await (await lockIn(directory)).release();
    expect(readdirSync(directory)).toEqual([]);
  });

  it('of another owner is not removed', async () => {
    const directory = temporaryFolder();
    const lock = await lockIn(directory);
    const path = join(directory, 'lock');
    const other = readFileSync(path, 'utf8').replace(/"token":"[^"]+"/, `"token":"${TOKEN}"`);
    writeFileSync(path, other);
    await lock.release();
    expect(readFileSync(path, 'utf8')).toBe(other);
  });

  it.each([
    ['a dead process', () => ({ pid: deadProcess() })],
    ['a process of another start', () => ({ started: '1' })],
    ['a system that was started again', () => ({ boot: 'another' })],
  ])('of %s is taken over', async (_, change) => {
    const directory = temporaryFolder();
    const owner = { ...(await present(directory)), token: TOKEN, ...change() };
    writeFileSync(join(directory, 'lock'), JSON.stringify(owner));
    const lock = await lockIn(directory);
    const now = JSON.parse(readFileSync(join(directory, 'lock'), 'utf8'));
    expect(now).toMatchObject({ pid: process.pid });
    expect(now.token).not.toBe(TOKEN);
    await lock.release();
    expect(readdirSync(directory).sort()).toEqual([]);
  });

  it('is taken over although another process died while it did so', async () => {
    const directory = temporaryFolder();
    const owner = await present(directory);
    const dead = (token: string) => JSON.stringify({ ...owner, pid: deadProcess(), token });
    writeFileSync(join(directory, 'lock'), dead(TOKEN));
    writeFileSync(join(directory, `lock.${TOKEN}.taken`), dead(OTHER));
    const lock = await lockIn(directory);
    expect(readdirSync(directory).sort()).toEqual(['lock']);
    await lock.release();
  });

  it('rejects while a live process takes it over', async () => {
    const directory = temporaryFolder();
    const owner = await present(directory);
    const dead = JSON.stringify({ ...owner, pid: deadProcess(), token: TOKEN });
    writeFileSync(join(directory, 'lock'), dead);
    const taken = join(directory, `lock.${TOKEN}.taken`);
    writeFileSync(taken, JSON.stringify({ ...owner, token: OTHER }));
    await expect(lockIn(directory)).rejects.toMatchObject({ code: 'store_locked' });
    expect(readFileSync(join(directory, 'lock'), 'utf8')).toBe(dead);
  });

  it.each(['null', '{}', '12345', '{"pid":"1","token":"../x"}'])(
    'with the content %j is not touched',
    async (text) => {
      const directory = temporaryFolder();
      writeFileSync(join(directory, 'lock'), text);
      await expect(lockIn(directory)).rejects.toMatchObject({ code: 'store_locked' });
      expect(readFileSync(join(directory, 'lock'), 'utf8')).toBe(text);
    },
  );

  it('of a dead process is acquired by one of six processes', async () => {
    for (let round = 0; round < 4; round += 1) {
      const directory = temporaryFolder();
      const owner = await present(directory);
      const dead = { ...owner, pid: deadProcess(), token: TOKEN };
      writeFileSync(join(directory, 'lock'), JSON.stringify(dead));
      await expectOneWinner(directory, { mode: 'pid' });
    }
  });
});
