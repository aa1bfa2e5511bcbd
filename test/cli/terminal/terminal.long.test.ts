import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { findOperation } from '../../../src/operations/registry.ts';
import { type Run, type RunOptions, temporaryFolder } from '../../oriel.ts';
import { filesBelow } from '../folder.ts';
import { HAS_TERMINAL, startInTerminal } from '../in-terminal.ts';
import { photograph, writePhotographs } from '../photographs.ts';

/** Columns that a terminal gives a text of ideographs, combining marks and plain characters. */
function widthOf(text: string): number {
  const wide = text.match(/\p{Script=Han}/gu)?.length ?? 0;
  const none = text.match(/\p{Mn}/gu)?.length ?? 0;
  return [...text].length + wide - none;
}

const ESCAPE = '\u001b';
const HIDE_CURSOR = `${ESCAPE}[?25l`;
const SHOW_CURSOR = `${ESCAPE}[?25h`;

async function inTerminal(line: string, options: RunOptions = {}): Promise<Run> {
  return startInTerminal(line, options).ended;
}

async function folderWith(count: number): Promise<string> {
  const folder = temporaryFolder();
  await writePhotographs(
    folder,
    Array.from({ length: count }, (_, index) => `${index}.jpg`),
  );
  return folder;
}

// Without such a program there is no terminal to be had, and vitest says that these were skipped.
describe.runIf(HAS_TERMINAL)('on a terminal (needs script of util-linux)', () => {
  it('a progress bar is shown while a batch runs, and removed before the table', async () => {
    const cwd = await folderWith(12);
    const { out, status } = await inTerminal('oriel convert --format png *.jpg', { cwd });
    expect(status).toBe(0);
    // It begins without a remaining time.
    const [first] = out.match(/░[^\u001b]* of 12[^\u001b]*/g) ?? [];
    expect(first).toMatch(/^░{40} 0% \| 0 of 12$/);
    expect(out).toContain('100% | 12 of 12 | ');
    expect(out.lastIndexOf(SHOW_CURSOR)).toBeGreaterThan(out.lastIndexOf(HIDE_CURSOR));
    const [bar, shown] = out.split(/\u001b\[2K(?!.*\u001b\[2K)/s);
    expect(bar).toContain('░');
    expect(shown).not.toMatch(/[\u001b░█]/);
    expect(shown?.trimEnd().split('\r\n')).toEqual([
      expect.stringMatching(/^FILE +OUTPUT/),
      ...Array.from({ length: 12 }, () => expect.stringMatching(/^\d+\.jpg +\d+\.png +48x32/)),
      expect.stringMatching(/^12 of 12 files done: /),
    ]);
  });

  describe('table rows fit into', () => {
    const names = [
      'short.jpg',
      `a folder with a long name/${'deep/'.repeat(8)}the photograph.jpg`,
      `${'写真'.repeat(20)}.jpg`,
      `${'e\u0301'.repeat(60)}.jpg`,
    ];

    /** What the terminal shows in each line, the last state of the bar included. */
    async function linesAt(columns: number, command: string): Promise<string[]> {
      const cwd = temporaryFolder();
      await writePhotographs(cwd, names);
      writeFileSync(join(cwd, 'no image, and told so in a sentence.jpg'), 'no image');
      const { out } = await inTerminal(`stty cols ${columns}; ${command}`, { cwd });
      return out
        .split(/\r?\n|\u001b\[[0-9;?]*[a-zA-Z]|\r/)
        .filter((line) => line !== '' && !/ of \d+ files? done/.test(line));
    }

    it.each([60, 20])('%i columns', async (columns) => {
      const commands = [
        'convert --format webp -r . --out out',
        'hash --perceptual phash -r .',
        'metadata --exif full -r .',
        'palette --count 12 -r .',
        'placeholder -r .',
      ];
      for (const command of commands) {
        const lines = await linesAt(columns, `oriel ${command}`);
        // A bar, a title and a row for each file.
        expect(lines.length).toBeGreaterThan(names.length + 2);
        for (const line of lines) expect([line, widthOf(line) <= columns]).toEqual([line, true]);
      }
    });

    it('80 and 40 columns, for accounts, keys and teams', async () => {
      const data = join(temporaryFolder(), 'data');
      const named = (noun: string) => `'${noun} of a long name, ${'x'.repeat(30)}'`;
      const out = async (line: string) => (await inTerminal(line)).out.trimEnd().split('\r\n');
      const account = `an account ${'y'.repeat(40)}`;
      await out(
        [
          `export ORIEL_CONFIG=; oriel accounts create '${account}' --data ${data}`,
          `oriel teams create --account '${account}' ${named('team')} --data ${data}`,
          `oriel keys create --account '${account}' --name ${named('key')} --budget 50 --data ${data}`,
        ].join(' && '),
      );
      for (const [list, title] of [
        ['accounts list', /^NAME +PLAN +AVAILABLE/],
        ['keys list', /^ID +ACCOUNT +NAME +STATUS( +EXPIRES +LIMITS +BUDGET LEFT)?$/],
        ['teams list', /^NAME +ACCOUNT/],
      ] as const) {
        for (const columns of [80, 40]) {
          const lines = await out(`stty cols ${columns}; oriel ${list} --data ${data}`);
          expect(lines).toEqual([
            expect.stringMatching(title),
            expect.stringMatching(list === 'keys list' ? /^key_\w{8,20} / : /…/),
          ]);
          for (const line of lines) expect([line, line.length <= columns]).toEqual([line, true]);
        }
      }
    });

    it('the width, with names shortened in the middle and columns left out in order', async () => {
      const convert = 'oriel convert --format webp -r . --out out';
      const wide = await linesAt(80, convert);
      expect(wide).toContainEqual(
        expect.stringMatching(/^FILE +OUTPUT +PIXELS +BEFORE +AFTER +CHANGE$/),
      );
      expect(wide).toContainEqual(
        expect.stringMatching(/^a folder.*…\S*raph\.jpg +out\/.*…\S+\.webp/),
      );
      const narrow = await linesAt(50, convert);
      expect(narrow).toContainEqual(expect.stringMatching(/^FILE +PIXELS +BEFORE +AFTER +CHANGE$/));
      expect(narrow.some((line) => line.startsWith('short.jpg  '))).toBe(true);
    });
  });

  it('names stay apart and errors are not cut at 40 columns', async () => {
    const cwd = temporaryFolder();
    const names = [1, 2, 3].map((number) => `a-day-at-the-sea-${number}-with-a-long-name.jpg`);
    await writePhotographs(cwd, names);
    writeFileSync(join(cwd, 'broken.jpg'), 'no image');
    const { out } = await inTerminal('stty cols 40; ! oriel convert --format webp *.jpg', { cwd });
    const rows = out.split('\r\n').filter((line) => /^a-day|^a-/.test(line));
    expect(new Set(rows.map((line) => line.split(/ {2,}/)[0])).size).toBe(3);
    expect(out.replace(/\s+/g, ' ')).toContain(
      'failed: not an image of a known format (unsupported_format)',
    );
  });

  it('a progress bar stays below the rows of 200 files and more', async () => {
    const cwd = temporaryFolder();
    await writePhotographs(cwd, ['0.jpg']);
    const { out } = await inTerminal(
      'for n in $(seq 220); do cp 0.jpg $n.jpg; done; oriel convert --format jpeg --out out *.jpg',
      { cwd },
    );
    const first = out.indexOf('FILE');
    expect(out.slice(0, first)).toContain(' 0 of 221');
    expect(out.slice(first)).toContain('221 of 221 | ');
    expect(out.lastIndexOf(SHOW_CURSOR)).toBeGreaterThan(out.lastIndexOf(HIDE_CURSOR));
  });

  it.each([
    ['one file', 'oriel convert --format png 0.jpg'],
    ['--quiet', 'oriel convert --format png *.jpg --quiet'],
    ['lines that come as files finish', 'oriel hash --jsonl *.jpg'],
    ['a document', 'oriel hash --json *.jpg'],
    ['help', 'oriel convert --help'],
    ['wrong usage', '! oriel convert *.jpg'],
    ['a terminal that cannot redraw', 'TERM=dumb oriel convert --format png *.jpg'],
  ])('no progress bar is shown for %s', async (_, line) => {
    const cwd = await folderWith(3);
    const { out, status } = await inTerminal(line, { cwd });
    expect(status).toBe(0);
    expect(out).not.toContain(ESCAPE);
  });

  it('a progress bar is shown where standard output is redirected', async () => {
    const cwd = await folderWith(3);
    const { out } = await inTerminal('oriel hash --jsonl *.jpg >lines', { cwd });
    expect(out).toContain('100% | 3 of 3 | ');
    expect(filesBelow(cwd)).toContain('lines');
  });

  it('images are neither read from nor written to a terminal', async () => {
    const cwd = await folderWith(1);
    const lines = [
      'oriel convert --format png 0.jpg --out -',
      'oriel convert --format png 0.jpg --zip -',
      'oriel convert --format png -',
    ];
    for (const line of lines) {
      const { out, status } = await inTerminal(line, { cwd });
      expect(status).toBe(2);
      expect(out).toMatch(/^oriel: .*, (received|which is) a terminal\r\n$/);
    }
    expect(filesBelow(cwd)).toEqual(['0.jpg']);
  });

  it('^C shows the cursor again', async () => {
    const cwd = temporaryFolder();
    for (const seed of [0, 1, 2, 3]) {
      const bytes = await photograph('png', { width: 64, height: 48, seed });
      writeFileSync(join(cwd, `${seed}.png`), bytes);
    }
    const convert = 'oriel convert --format avif --effort 9 --jobs 2 -r . --out out';
    const running = startInTerminal(convert, { cwd, input: null });
    const { child } = running;
    let seen = '';
    let typed = false;
    child.stdout?.on('data', (chunk: Buffer) => {
      seen += chunk;
      // Two files that finish at once are one step of the bar.
      if (typed || !/[123] of 4/.test(seen)) return;
      typed = true;
      child.stdin?.write('\u0003');
    });
    const { out, status } = await running.ended;
    expect(status).toBe(130);
    expect(out.match(/oriel: interrupted after \d of 4 files/g)).toHaveLength(1);
    expect(out.lastIndexOf(SHOW_CURSOR)).toBeGreaterThan(out.lastIndexOf(HIDE_CURSOR));
  });

  describe.runIf(findOperation('palette'))('colours', () => {
    // In CI Node counts colours by the kind of CI, not by the terminal.
    const show = async (env: Record<string, string | undefined>, line = 'oriel palette 0.jpg') =>
      (await inTerminal(line, { cwd: await folderWith(1), env: { CI: undefined, ...env } })).out;
    const SWATCH_24 = /\u001b\[48;2;(\d+;){2}\d+m {2}\u001b\[0m #[\da-f]{6}/;
    const SWATCH_8 = /\u001b\[48;5;\d+m {2}\u001b\[0m #[\da-f]{6}/;

    it('are shown by the colour depth of the terminal, and not with NO_COLOR', async () => {
      expect(await show({ NO_COLOR: undefined, COLORTERM: 'truecolor' })).toMatch(SWATCH_24);
      expect(await show({ NO_COLOR: undefined, COLORTERM: undefined })).toMatch(SWATCH_8);
      for (const env of [
        { NO_COLOR: '1', COLORTERM: 'truecolor' },
        { NO_COLOR: undefined, TERM: 'dumb', COLORTERM: undefined },
      ]) {
        const out = await show(env);
        expect(out).toMatch(/#[\da-f]{6}/);
        expect(out).not.toContain(ESCAPE);
      }
    });

    it('are written to files with FORCE_COLOR only', async () => {
      const env = { NO_COLOR: undefined, COLORTERM: 'truecolor' };
      expect(await show(env, 'oriel palette 0.jpg | cat')).not.toContain(ESCAPE);
      expect(await show({ ...env, FORCE_COLOR: '3' }, 'oriel palette 0.jpg | cat')).toMatch(
        SWATCH_24,
      );
      expect(await show(env, 'oriel palette --json 0.jpg')).not.toContain(ESCAPE);
    });
  });
});
