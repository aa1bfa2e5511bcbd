import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { FileRecord } from '../../src/operations/batch/batch-record.ts';
import { oriel, start, temporaryFolder } from '../oriel.ts';
import { linesOf } from './document.ts';
import { contentBelow, filesBelow } from './folder.ts';
import { writePhotographs } from './photographs.ts';
import { printed } from './printed.ts';

describe('SIGKILL at any moment', () => {
  it('leaves whole or temporary files, and the next run removes the latter and completes', async () => {
    const cwd = temporaryFolder();
    const names = Array.from({ length: 120 }, (_, index) => `in/${index}.jpg`);
    await writePhotographs(cwd, names, { width: 160, height: 120 });
    const convert = ['convert', '--format', 'png', '-r', 'in', '--jobs', '2', '--jsonl'];
    await oriel([...convert, '--out', 'undisturbed'], { cwd });
    const undisturbed = contentBelow(join(cwd, 'undisturbed'));
    expect(undisturbed.size).toBe(120);

    const round = [...convert, '--out', 'out', '--skip-existing'];
    let killed = 0;
    for (let lines = 1; lines <= 10; lines += 1) {
      const before = existsSync(join(cwd, 'out')) ? filesBelow(join(cwd, 'out')) : [];
      const skipped = before.filter((name) => name.endsWith('.png')).length;
      const running = start(round, { cwd });
      if (await printed(running, skipped + lines)) killed += 1;
      running.child.kill('SIGKILL');
      await running.ended;
      for (const [name, content] of contentBelow(join(cwd, 'out'))) {
        if (name.startsWith('.')) expect(name).toMatch(/^\.oriel-\d+-\d+\.tmp$/);
        else expect([name, content === undisturbed.get(name)]).toEqual([name, true]);
      }
    }
    expect(killed).toBe(10);

    const last = await oriel(round, { cwd });
    expect(last.status).toBe(0);
    const statuses = new Set(linesOf(last).map(({ status }: FileRecord) => status));
    expect([...statuses].sort()).toEqual(['skipped', 'succeeded']);
    expect(contentBelow(join(cwd, 'out'))).toEqual(undisturbed);
  });

  it('of a recipe leaves whole outputs, and the next run completes those of each file', async () => {
    const cwd = temporaryFolder();
    const names = Array.from({ length: 40 }, (_, index) => `in/${index}.jpg`);
    await writePhotographs(cwd, names, { width: 160, height: 120 });
    const recipe = '{ outputs: [{ widths: [120, 60], formats: [webp, jpeg] }] }';
    writeFileSync(join(cwd, 'recipe.yaml'), recipe);
    const run = ['run', 'recipe.yaml', '-r', 'in', '--jobs', '2', '--jsonl'];
    await oriel([...run, '--out', 'undisturbed'], { cwd });
    const undisturbed = contentBelow(join(cwd, 'undisturbed'));
    expect(undisturbed.size).toBe(160);

    const round = [...run, '--out', 'out', '--skip-existing'];
    for (const lines of [1, 4, 9]) {
      const running = start(round, { cwd });
      await printed(running, lines);
      running.child.kill('SIGKILL');
      await running.ended;
      for (const [name, content] of contentBelow(join(cwd, 'out'))) {
        if (name.startsWith('.')) expect(name).toMatch(/^\.oriel-\d+-\d+\.tmp$/);
        else expect([name, content === undisturbed.get(name)]).toEqual([name, true]);
      }
    }
    expect((await oriel(round, { cwd })).status).toBe(0);
    expect(contentBelow(join(cwd, 'out'))).toEqual(undisturbed);
  });
});
