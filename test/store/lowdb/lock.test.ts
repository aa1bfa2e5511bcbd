import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openStore } from '../../../src/store/lowdb/open.ts';
import { temporaryFolder } from '../../oriel.ts';

const CONTENDER = fileURLToPath(new URL('contender.mjs', import.meta.url));

/** Another process that wants a store. */
class Contender {
  readonly child: ChildProcess;
  readonly #exited: Promise<unknown>;
  readonly #lines: AsyncIterator<string>;

  constructor(directory: string) {
    this.child = spawn(process.execPath, [CONTENDER, directory], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    this.#exited = once(this.child, 'exit');
    this.#lines = createInterface({ input: this.child.stdout! })[Symbol.asyncIterator]();
    onTestFinished(() => {
      this.child.kill('SIGKILL');
    });
  }

  tell(): void {
    this.child.stdin!.write('go\n');
  }

  async says(): Promise<string> {
    return (await this.#lines.next()).value as string;
  }

  async kill(): Promise<void> {
    this.child.kill('SIGKILL');
    await this.#exited;
  }
}

async function contender(directory: string): Promise<Contender> {
  const made = new Contender(directory);
  expect(await made.says()).toBe('ready');
  return made;
}

function deadProcess(): number {
  return spawnSync(process.execPath, ['-e', '0']).pid;
}

const TOKEN = '01234567-89ab-cdef-0123-456789abcdef';
const OTHER = 'fedcba98-7654-3210-fedc-ba9876543210';

/** A lock as this process would have made it. */
async function present(directory: string) {
  const store = await openStore({ directory });
  const owner = JSON.parse(readFileSync(join(directory, 'lock'), 'utf8')) as object;
  await store.close();
  return owner;
}

describe('the lock', () => {
  it('keeps a second process out, and names the first', async () => {
    const directory = temporaryFolder();
    const store = await openStore({ directory });
    const other = await contender(directory);
    other.tell();
    const said = await other.says();
    expect(said).toContain('store_locked');
    expect(said).toContain(`process ${process.pid} is using this store`);
    await expect(openStore({ directory })).rejects.toMatchObject({
      name: 'Failure',
      code: 'store_locked',
      status: 503,
    });
    await store.close();
    const third = await contender(directory);
    third.tell();
    expect(await third.says()).toBe('open');
    await expect(openStore({ directory })).rejects.toMatchObject({
      message: expect.stringContaining(`process ${third.child.pid} `),
    });
    third.tell();
    expect(await third.says()).toBe('closed');
    await (await openStore({ directory })).close();
  });

  it('of a killed process is taken over at once', async () => {
    const directory = temporaryFolder();
    const first = await contender(directory);
    first.tell();
    expect(await first.says()).toBe('open');
    await first.kill();
    expect(existsSync(join(directory, 'lock'))).toBe(true);
    const store = await openStore({ directory });
    await store.close();
    expect(readdirSync(directory).sort()).toEqual(['journal', 'shards']);
  });

  it('is not left by a store that could not be opened', async () => {
    const directory = temporaryFolder();
    writeFileSync(join(directory, 'checkpoint.json'), '');
    for (let time = 0; time < 2; time += 1) {
      await expect(openStore({ directory })).rejects.toMatchObject({ code: 'store_corrupt' });
    }
    expect(readdirSync(directory)).toEqual(['checkpoint.json']);
  });

  it.each([
    ['a dead process', () => ({ pid: deadProcess() })],
    ['a process of another start', () => ({ started: '1' })],
    ['a system that was started again', () => ({ boot: 'another' })],
  ])('of %s is taken over', async (_, change) => {
    const directory = temporaryFolder();
    const owner = { ...(await present(directory)), token: TOKEN, ...change() };
    writeFileSync(join(directory, 'lock'), JSON.stringify(owner));
    const store = await openStore({ directory });
    const now = JSON.parse(readFileSync(join(directory, 'lock'), 'utf8'));
    expect(now).toMatchObject({ pid: process.pid });
    expect(now.token).not.toBe(TOKEN);
    await store.close();
    expect(readdirSync(directory).sort()).toEqual(['journal', 'shards']);
  });

  it('is taken over even where somebody died taking it over', async () => {
    const directory = temporaryFolder();
    const owner = await present(directory);
    const dead = (token: string) => JSON.stringify({ ...owner, pid: deadProcess(), token });
    writeFileSync(join(directory, 'lock'), dead(TOKEN));
    writeFileSync(join(directory, `lock.${TOKEN}.taken`), dead(OTHER));
    const store = await openStore({ directory });
    expect(readdirSync(directory).sort()).toEqual(['journal', 'lock', 'shards']);
    await store.close();
  });

  it('waits for nobody who is taking it over', async () => {
    const directory = temporaryFolder();
    const owner = await present(directory);
    const dead = JSON.stringify({ ...owner, pid: deadProcess(), token: TOKEN });
    writeFileSync(join(directory, 'lock'), dead);
    const taken = join(directory, `lock.${TOKEN}.taken`);
    writeFileSync(taken, JSON.stringify({ ...owner, token: OTHER }));
    await expect(openStore({ directory })).rejects.toMatchObject({ code: 'store_locked' });
    expect(readFileSync(join(directory, 'lock'), 'utf8')).toBe(dead);
  });

  it.each(['', 'null', '{}', '12345', '{"pid":"1","token":"../x"}'])(
    'that holds %j is not touched',
    async (text) => {
      const directory = temporaryFolder();
      writeFileSync(join(directory, 'lock'), text);
      await expect(openStore({ directory })).rejects.toMatchObject({ code: 'store_locked' });
      expect(readFileSync(join(directory, 'lock'), 'utf8')).toBe(text);
    },
  );

  it('is won by one of many who take it over at once', async () => {
    for (let round = 0; round < 4; round += 1) {
      const directory = temporaryFolder();
      const owner = await present(directory);
      const dead = { ...owner, pid: deadProcess(), token: TOKEN };
      writeFileSync(join(directory, 'lock'), JSON.stringify(dead));
      const many = await Promise.all(Array.from({ length: 6 }, () => contender(directory)));
      for (const one of many) one.tell();
      const said = await Promise.all(many.map((one) => one.says()));
      expect(said.filter((line) => line === 'open')).toHaveLength(1);
      expect(said.filter((line) => line.startsWith('store_locked'))).toHaveLength(5);
      await Promise.all(many.map((one) => one.kill()));
    }
  });

  it('is won by one of many within a process', async () => {
    const directory = temporaryFolder();
    const owner = await present(directory);
    for (let round = 0; round < 20; round += 1) {
      const dead = { ...owner, pid: 2 ** 22 + 1, token: TOKEN };
      writeFileSync(join(directory, 'lock'), JSON.stringify(dead));
      const tries = await Promise.allSettled(
        Array.from({ length: 8 }, () => openStore({ directory })),
      );
      const open = tries.flatMap((tried) => (tried.status === 'fulfilled' ? [tried.value] : []));
      expect(open).toHaveLength(1);
      await open[0]!.close();
    }
    expect(readdirSync(directory).sort()).toEqual(['journal', 'shards']);
  });
});
