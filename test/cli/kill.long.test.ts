import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { oriel, start, temporaryFolder, words } from '../oriel.ts';
import { contentBelow } from './folder.ts';
import { writeDifferent } from './photographs.ts';
import { printed } from './printed.ts';

const CONVERT = words`convert --format png`;
const RECIPE = '{ outputs: [{ widths: [120, 60], formats: [webp, jpeg] }] }';

it.each<
  [what: string, files: number, outputs: number, run: string[], again: string[], at: number[]]
>([
  ['a conversion', 120, 120, CONVERT, ['--skip-existing'], [1, 10, 36]],
  ['a recipe', 40, 160, words`run recipe.yaml`, ['--skip-existing'], [1, 14]],
  ['a conversion with a cache', 120, 120, CONVERT, words`--cache cache`, [1, 5, 1, 5]],
])(
  '%s that is killed leaves whole or temporary files, and the next run removes the latter and completes',
  async (...[, files, outputs, run, again, at]) => {
    const cwd = temporaryFolder();
    await writeDifferent(cwd, files, 'jpg');
    writeFileSync(join(cwd, 'recipe.yaml'), RECIPE);
    const batch = words`${run} -r in --jobs 2 --jsonl`;
    await oriel(words`${batch} --out undisturbed`, { cwd });
    const undisturbed = contentBelow(join(cwd, 'undisturbed'));
    expect(undisturbed.size).toBe(outputs);

    const round = words`${batch} --out out ${again}`;
    for (const [index, lines] of at.entries()) {
      // Outputs that went missing come from the cache.
      if (lines < (at[index - 1] ?? 0)) rmSync(join(cwd, 'out'), { recursive: true });
      const running = start(round, { cwd });
      expect(await printed(running, lines)).toBe(true);
      running.child.kill('SIGKILL');
      await running.ended;
      for (const [name, content] of contentBelow(join(cwd, 'out'))) {
        if (name.startsWith('.')) expect(name).toMatch(/^\.oriel-\w+-\d+-\d+\.tmp$/);
        else expect([name, content === undisturbed.get(name)]).toEqual([name, true]);
      }
    }
    expect((await oriel(round, { cwd })).status).toBe(0);
    expect(contentBelow(join(cwd, 'out'))).toEqual(undisturbed);
  },
);
