import {
  appendFileSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import sharp from 'sharp';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { FileRecord } from '../../../src/operations/batch/batch-record.ts';
import { type Run, start, temporaryFolder, words } from '../../oriel.ts';
import { residentCommand } from '../../resident.ts';
import { filesBelow } from '../folder.ts';
import { photograph, writePhotographs } from '../photographs.ts';

const resident = residentCommand();

interface Watching {
  /** The next records, as `name: status`, sorted. */
  records(count: number): Promise<string[]>;
  /** The next line on standard error that matches. */
  message(pattern: RegExp): Promise<string>;
  /** Ends the run as Ctrl-C does. */
  end(): Promise<Run>;
}

/** Writes a file at once: a run that is quicker than the writer would find it empty. */
function replace(file: string, content: Buffer | string): void {
  const hidden = join(dirname(file), '.new');
  writeFileSync(hidden, content);
  renameSync(hidden, file);
}

/** Starts a run with --watch; resolves when it watches. */
async function watching(args: readonly string[], cwd: string): Promise<Watching> {
  const { child, ended } = start(words`${args} --watch --jsonl`, { cwd });
  onTestFinished(() => void child.kill('SIGKILL'));
  const lines = createInterface({ input: child.stdout! })[Symbol.asyncIterator]();
  const messages = createInterface({ input: child.stderr! });
  await new Promise<void>((resolve) => {
    messages.on('line', (line) => {
      if (line.startsWith('oriel: watching')) resolve();
    });
    void ended.then(() => resolve());
  });
  return {
    async records(count) {
      const found: string[] = [];
      while (found.length < count) {
        const { value } = await lines.next();
        const { inputFilename, status, error, cached } = JSON.parse(value) as FileRecord;
        found.push(`${inputFilename}: ${error?.code ?? (cached ? 'cached' : status)}`);
      }
      return found.sort();
    },
    message: (pattern) =>
      new Promise((resolve) => {
        const seen = (line: string) => {
          if (!pattern.test(line)) return;
          messages.off('line', seen);
          resolve(line);
        };
        messages.on('line', seen);
      }),
    async end() {
      child.kill('SIGINT');
      return ended;
    },
  };
}

describe('--watch', () => {
  it('redoes changed, new, replaced and moved files, and nothing else', async () => {
    const cwd = temporaryFolder();
    await writePhotographs(cwd, ['in/a.jpg', 'in/sub/b.png']);
    const run = await watching(words`convert --format webp -r in --out out`, cwd);
    expect(await run.records(2)).toEqual(['in/a.jpg: succeeded', 'in/sub/b.png: succeeded']);

    // In place, as some editors save. It is an image at all times.
    appendFileSync(join(cwd, 'in/a.jpg'), 'more');
    expect(await run.records(1)).toEqual(['in/a.jpg: succeeded']);

    replace(join(cwd, 'in/a.jpg'), await photograph('jpeg', { seed: 2 }));
    expect(await run.records(1)).toEqual(['in/a.jpg: succeeded']);

    mkdirSync(join(cwd, 'in/new/deep'), { recursive: true });
    replace(join(cwd, 'in/new/deep/c.png'), await photograph('png', { seed: 3 }));
    expect(await run.records(1)).toEqual(['in/new/deep/c.png: succeeded']);
    // Its folder is watched from now on. Its content is known, so that the output is restored.
    renameSync(join(cwd, 'in/new/deep/c.png'), join(cwd, 'in/new/deep/d.png'));
    expect(await run.records(1)).toEqual(['in/new/deep/d.png: cached']);

    replace(join(cwd, 'in/bad.jpg'), 'no image');
    expect(await run.records(1)).toEqual(['in/bad.jpg: unsupported_format']);
    // The bad file is not tried again before it changes.
    replace(join(cwd, 'in/e.png'), await photograph('png', { seed: 4 }));
    expect(await run.records(1)).toEqual(['in/e.png: succeeded']);
    replace(join(cwd, 'in/bad.jpg'), await photograph('jpeg', { seed: 5 }));
    expect(await run.records(1)).toEqual(['in/bad.jpg: succeeded']);

    expect(await run.end()).toMatchObject({ status: 130, signal: null });
    expect(filesBelow(join(cwd, 'out')).join(' ')).toBe(
      'a.webp bad.webp e.webp new/deep/c.webp new/deep/d.webp sub/b.webp',
    );
  });

  it('takes no output beside its inputs for a change, and restores one that is removed', async () => {
    const cwd = temporaryFolder();
    await writePhotographs(cwd, ['a.jpg']);
    const args = words`resize --width 9 *.* --name {name}-s.{ext}`;
    const run = await watching(args, cwd);
    expect(await run.records(1)).toEqual(['a.jpg: succeeded']);
    const made = readFileSync(join(cwd, 'a-s.jpg'));
    rmSync(join(cwd, 'a-s.jpg'));
    expect(await run.records(1)).toEqual(['a.jpg: cached']);
    expect(readFileSync(join(cwd, 'a-s.jpg'))).toEqual(made);
    const names = Array.from({ length: 30 }, (_, index) => `n${index}.jpg`);
    for (const [seed, name] of names.entries()) {
      replace(join(cwd, name), await photograph('jpeg', { seed: seed + 10 }));
    }
    // Exactly one record of each: the next one is that of the file after them.
    expect(await run.records(30)).toEqual(names.map((name) => `${name}: succeeded`).sort());
    replace(join(cwd, 'last.jpg'), await photograph('jpeg', { seed: 99 }));
    expect(await run.records(1)).toEqual(['last.jpg: succeeded']);
    expect((await run.end()).status).toBe(130);
    expect(filesBelow(cwd).filter((name) => name.includes('-s-s'))).toEqual([]);
  });

  it('of a recipe redoes all files when the recipe changes, and goes on after a fault in it', async () => {
    const cwd = temporaryFolder();
    await writePhotographs(cwd, ['in/a.jpg', 'in/b.jpg']);
    const recipe = join(cwd, 'recipes/r.yaml');
    mkdirSync(join(cwd, 'recipes'));
    const write = (width: number | string) =>
      replace(recipe, `steps: [{ resize: { width: ${width} } }]`);
    write(20);
    const run = await watching(words`run recipes/r.yaml -r in --out out`, cwd);
    const both = ['in/a.jpg: succeeded', 'in/b.jpg: succeeded'];
    expect(await run.records(2)).toEqual(both);
    write(10);
    expect(await run.records(2)).toEqual(both);
    write('broken');
    expect(await run.message(/r\.yaml:1: steps\[0\]\.resize\.width/)).toContain('broken');
    write(12);
    expect(await run.records(2)).toEqual(both);
    expect((await sharp(join(cwd, 'out/a.jpg')).metadata()).width).toBe(12);
    expect((await run.end()).status).toBe(130);
  });

  it.each([
    [['--json'], '--watch and --json cannot be combined'],
    [['--zip', 'a.zip'], '--watch and --zip cannot be combined'],
    [['--out', '-'], '--watch and standard input or output cannot be combined'],
    [['--files-from', '-'], '--watch and --files-from - cannot be combined'],
    [['--check'], '--watch and --check cannot be combined'],
  ])('with %j exits with 2', async (flags, message) => {
    const cwd = temporaryFolder();
    await writePhotographs(cwd, ['a.jpg']);
    const convert = words`convert --format png a.jpg --watch ${flags}`;
    const { status, stderr } = await resident(convert, { cwd });
    expect([status, stderr]).toEqual([2, `oriel: ${message}\n`]);
  });
});
