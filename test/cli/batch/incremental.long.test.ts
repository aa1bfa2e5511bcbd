import { appendFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { oriel, temporaryFolder, words } from '../../oriel.ts';
import { bytesBelow, contentBelow } from '../folder.ts';
import { writeDifferent, writePhotographs } from '../photographs.ts';

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
    const names = Array.from({ length: MANY }, (_, index) => `in/${index % 100}/${index}.png`);
    await writePhotographs(cwd, names);
    for (const name of names) appendFileSync(join(cwd, name), name);
    const run = words`convert --format jpeg -r in --out out --incremental -q`;
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

  it('keeps outputs right in runs at the same time that clean the cache', async () => {
    const cwd = temporaryFolder();
    await writeDifferent(cwd, 60, 'png');
    const convert = words`convert --format png -r in --jobs 1 -q`;
    await oriel(words`${convert} --out undisturbed`, { cwd });
    const undisturbed = contentBelow(join(cwd, 'undisturbed'));
    // 3.4 MB of outputs: each run removes results of the others.
    const cached = words`${convert} --cache cache --cache-size 2`;
    for (let round = 0; round < 2; round += 1) {
      const runs = ['a', 'b', 'a', 'c'].map((out) => oriel(words`${cached} --out ${out}`, { cwd }));
      for (const { status, stderr } of await Promise.all(runs)) {
        expect([status, stderr]).toEqual([0, '']);
      }
      for (const out of ['a', 'b', 'c']) expect(contentBelow(join(cwd, out))).toEqual(undisturbed);
      rmSync(join(cwd, 'b'), { recursive: true });
    }
    expect(bytesBelow(join(cwd, 'cache'))).toBeLessThan(2.5 * 1024 * 1024);
  });
});
