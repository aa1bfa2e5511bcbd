import { appendFileSync, existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { oriel, start, temporaryFolder } from '../../oriel.ts';
import { contentBelow, filesBelow } from '../folder.ts';
import { writePhotographs } from '../photographs.ts';
import { printed } from '../printed.ts';

const MANY = 1000;

/** Loads a module before the command that writes which files of images libraries were loaded. */
const PROBE = `if (require('node:worker_threads').isMainThread) {
  const { writeFileSync } = require('node:fs');
  process.on('exit', () => {
    const native = process.report.getReport().sharedObjects.filter((path) => /vips|sharp/.test(path));
    writeFileSync('probe.json', JSON.stringify({ native }));
  });
}`;

describe('--incremental', () => {
  it('leaves libvips unloaded and writes nothing in an unchanged run of 1,000 files', async () => {
    const cwd = temporaryFolder();
    await writePhotographs(
      cwd,
      Array.from({ length: MANY }, (_, index) => `in/${index % 100}/${index}.png`),
    );
    for (let index = 0; index < MANY; index += 1) {
      appendFileSync(join(cwd, `in/${index % 100}/${index}.png`), String(index));
    }
    const run = ['convert', '--format', 'jpeg', '-r', 'in', '--out', 'out', '--incremental', '-q'];
    expect((await oriel(run, { cwd })).status).toBe(0);
    // The youngest outputs are read once more: they might have changed within the same clock tick.
    expect((await oriel(run, { cwd })).status).toBe(0);
    const index = join(cwd, '.oriel-cache/index-1.log');
    const before = readFileSync(index);
    writeFileSync(join(cwd, 'probe.cjs'), PROBE);
    const env = { NODE_OPTIONS: `--require ${join(cwd, 'probe.cjs')}` };
    expect((await oriel(run, { cwd, env })).status).toBe(0);
    expect(readFileSync(index).equals(before)).toBe(true);
    const { native } = JSON.parse(readFileSync(join(cwd, 'probe.json'), 'utf8'));
    expect(native).toEqual([]);
  });

  it('killed at any moment makes wrong outputs never, and completes in the next run', async () => {
    const cwd = temporaryFolder();
    const names = Array.from({ length: 120 }, (_, index) => `in/${index}.jpg`);
    for (const [seed, name] of names.entries()) {
      await writePhotographs(cwd, [name], { width: 160, height: 120, seed });
    }
    const convert = ['convert', '--format', 'png', '-r', 'in', '--jobs', '2', '--jsonl'];
    await oriel([...convert, '--out', 'undisturbed'], { cwd });
    const undisturbed = contentBelow(join(cwd, 'undisturbed'));
    const round = [...convert, '--out', 'out', '--cache', 'cache'];
    let killed = 0;
    for (let lines = 1; lines <= 6; lines += 1) {
      const done = existsSync(join(cwd, 'out')) ? filesBelow(join(cwd, 'out')) : [];
      const running = start(round, { cwd });
      if (await printed(running, done.filter((name) => !name.startsWith('.')).length + lines)) {
        killed += 1;
      }
      running.child.kill('SIGKILL');
      await running.ended;
      for (const [name, content] of contentBelow(join(cwd, 'out'))) {
        if (!name.startsWith('.')) {
          expect([name, content === undisturbed.get(name)]).toEqual([name, true]);
        }
      }
      if (lines % 3 === 0) rmSync(join(cwd, 'out'), { recursive: true });
    }
    expect(killed).toBe(6);
    const last = await oriel(round, { cwd });
    expect(last.status).toBe(0);
    expect(contentBelow(join(cwd, 'out'))).toEqual(undisturbed);
  });

  it('keeps outputs right in runs at the same time that clean the cache', async () => {
    const cwd = temporaryFolder();
    const names = Array.from({ length: 60 }, (_, index) => `in/${index}.png`);
    for (const [seed, name] of names.entries()) {
      await writePhotographs(cwd, [name], { width: 160, height: 120, seed });
    }
    const convert = ['convert', '--format', 'png', '-r', 'in', '--jobs', '1', '-q'];
    await oriel([...convert, '--out', 'undisturbed'], { cwd });
    const undisturbed = contentBelow(join(cwd, 'undisturbed'));
    // 3.4 MB of outputs: each run removes results of the others.
    const cached = [...convert, '--cache', 'cache', '--cache-size', '2'];
    for (let round = 0; round < 2; round += 1) {
      const runs = ['a', 'b', 'a', 'c'].map((out) => oriel([...cached, '--out', out], { cwd }));
      for (const { status, stderr } of await Promise.all(runs)) {
        expect([status, stderr]).toEqual([0, '']);
      }
      for (const out of ['a', 'b', 'c']) expect(contentBelow(join(cwd, out))).toEqual(undisturbed);
      rmSync(join(cwd, 'b'), { recursive: true });
    }
    const bytes = filesBelow(join(cwd, 'cache')).reduce(
      (sum, name) => sum + statSync(join(cwd, 'cache', name)).size,
      0,
    );
    expect(bytes).toBeLessThan(2.5 * 1024 * 1024);
  });
});
