import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { DiskStorage } from '../../src/assets/disk/disk-storage.ts';
import { filesBelow } from '../cli/folder.ts';
import { temporaryFolder } from '../oriel.ts';

const WRITER = fileURLToPath(new URL('asset-writer-process.mjs', import.meta.url));
/** Each finds up to eight writers at other places of their files. */
const KILLS = 4;

describe('DiskStorage after kill -9', () => {
  it('has whole files, and unfinished ones that a sweep removes', async () => {
    const folder = join(temporaryFolder(), 'assets');
    const acknowledged = new Map<string, number>();
    let halves = 0;
    for (let kill = 0; kill < KILLS; kill += 1) {
      const child = spawn(process.execPath, [WRITER, folder], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      const exited = once(child, 'exit');
      const after = 1 + Math.floor(Math.random() * 150);
      let lines = 0;
      for await (const line of createInterface({ input: child.stdout })) {
        const [id, bytes] = line.split(' ') as [string, string];
        acknowledged.set(id, Number(bytes));
        lines += 1;
        if (lines === after) child.kill('SIGKILL');
      }
      expect(await exited).toEqual([null, 'SIGKILL']);
      halves += filesBelow(folder).filter((name) => name.endsWith('.new')).length;
      const files = await DiskStorage.open(folder);
      // A file may be whole although its write was not acknowledged.
      await files.sweep(async (id) => acknowledged.has(id), {
        from: 0,
        to: Infinity,
      });
      const left = filesBelow(folder)
        .filter((name) => !name.startsWith('quarantine'))
        .map((name) => name.slice(3));
      expect(left.sort()).toEqual([...acknowledged.keys()].sort());
      for (const [id, bytes] of acknowledged) {
        const content = await files.read({ id, bytes, sha256: null });
        expect(content.length).toBe(bytes);
        expect(content.every((byte) => byte === (bytes / 8) % 251)).toBe(true);
        expect(existsSync(`${files.pathOf(id)}.new`)).toBe(false);
      }
    }
    // Of eight concurrent writers, some are always in the middle of a file.
    expect(halves).toBeGreaterThan(0);
  });
});
