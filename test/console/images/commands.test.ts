import { describe, expect, it } from 'vitest';
import { visible } from '../../../src/console/components/files.ts';
import { commandOf, requestOf } from '../../../src/console/views/images/commands.ts';
import {
  filesOfTransfer,
  sentName,
  withoutOthers,
} from '../../../src/console/views/images/intake.ts';
import type { Operation } from '../../../src/console/views/images/operations.ts';
import { coloursOf, factsOf, rgbOf } from '../../../src/console/views/images/report.ts';
import type { Job } from '../../../src/console/views/images/store.ts';

const OPERATION = {
  ...{ name: 'overlay', endpoint: '/api/free/batch-overlay-images', gives: 'image' },
  fields: [
    { name: 'image', type: 'file', repeatable: false },
    { name: 'text', type: 'string' },
    { name: 'chromaSubsampling', type: 'string' },
    { name: 'angle', type: 'number' },
    { name: 'tile', type: 'boolean', default: false },
    { name: 'keepIfSmaller', type: 'boolean', default: true },
    { name: 'set', type: 'string', repeatable: true },
  ],
} as unknown as Operation;

const RUN = {
  ...{ name: 'run', endpoint: '/api/free/batch-run', gives: 'image' },
  fields: [{ name: 'recipe', type: 'string', presets: [{ name: 'web', text: 'steps: []' }] }],
} as unknown as Operation;

const job = (operation: Operation, values: Job['values'], files: Job['files'] = {}): Job => ({
  ...{ operation, values, files, key: '' },
});

describe('the command line of a job', () => {
  it('has flags for fields, quotes for the shell, and no flags for defaults', () => {
    const values = {
      ...{ text: "it's © $HOME", angle: '-30', tile: 'true', keepIfSmaller: 'false' },
      ...{ chromaSubsampling: '4:4:4', set: 'a=1\nb=two words' },
    };
    const logo = new File([], 'my logo.png');
    expect(commandOf(job(OPERATION, values, { image: [logo] }), ['-a.jpg', 'b c.jpg'])).toBe(
      "oriel overlay --text 'it'\\''s © $HOME' --chroma-subsampling 4:4:4 --angle -30 --tile --no-keep-if-smaller" +
        " --set a=1 --set 'b=two words' --image 'my logo.png' --out results ./-a.jpg 'b c.jpg'",
    );
    const plain = { tile: 'false', keepIfSmaller: 'true' };
    expect(commandOf(job(OPERATION, plain), [])).toBe('oriel overlay --out results photo.jpg');
  });

  it('names folders and patterns for many files', () => {
    const many = (path: (index: number) => string) =>
      Array.from({ length: 9 }, (_, at) => path(at));
    const text = (paths: readonly string[]) => commandOf(job(OPERATION, {}), paths);
    expect(text(many((index) => `my trip/${index}.jpg`))).toContain("--recursive 'my trip'");
    expect(text([...many((index) => `${index}.jpg`), 'a.PNG'])).toContain('results *.jpg *.PNG');
  });

  it('writes a recipe of the reader into a file, and names a preset', () => {
    expect(commandOf(job(RUN, { recipe: 'web' }), ['a.jpg'])).toBe(
      'oriel run web --out results a.jpg',
    );
    expect(commandOf(job(RUN, { recipe: "steps: [it's]\n" }), ['a.jpg'])).toBe(
      "cat > recipe.yaml <<'RECIPE'\nsteps: [it's]\nRECIPE\noriel run recipe.yaml --out results a.jpg",
    );
  });
});

it('a request of a job has its first files, its fields and its further files', () => {
  const logo = new File([], 'logo.png');
  const paths = Array.from({ length: 9 }, (_, index) => `${index}.jpg`);
  const { path, form, output } = requestOf(
    job(OPERATION, { text: '@a' }, { image: [logo] }),
    paths,
  );
  expect([path, output]).toEqual(['api/free/batch-overlay-images', 'overlay.zip']);
  expect(form!.slice(0, 1)).toEqual([['files', { file: '0.jpg' }]]);
  expect(form!.slice(-2)).toEqual([
    ['text', '@a'],
    ['image', { file: 'logo.png' }],
  ]);
});

describe('what the reader drops', () => {
  const fileEntry = (path: string) => ({
    ...{ isFile: true, name: path.split('/').at(-1), fullPath: path },
    file: (resolve: (file: File) => void) => resolve(new File(['a'], path.split('/').at(-1)!)),
  });
  /** A folder whose reader gives two entries at a time, as browsers give a hundred. */
  const folderEntry = (path: string, children: object[]) => ({
    ...{ isFile: false, name: path.split('/').at(-1), fullPath: path },
    createReader: () => {
      const left = [...children];
      return { readEntries: (resolve: (list: object[]) => void) => resolve(left.splice(0, 2)) };
    },
  });
  const locked = {
    ...{ isFile: true, name: 'z', fullPath: '/z' },
    file: (_: unknown, reject: (error: Error) => void) => reject(new Error('NotReadableError')),
  };
  const transfer = (...entries: readonly object[]) =>
    ({
      items: entries.map((entry) => ({ kind: 'file', webkitGetAsEntry: () => entry })),
    }) as unknown as DataTransfer;

  it('is searched for files in all folders, without those that cannot be read', async () => {
    const deep = folderEntry('/a/deep', [fileEntry('/a/deep/4.jpg')]);
    const folder = folderEntry(
      '/a',
      ['1', '2', '3'].map((name) => fileEntry(`/a/${name}.png`)).concat(deep as never),
    );
    const found = await filesOfTransfer(transfer(folder, fileEntry('/top.jpg'), locked));
    expect(found.map(({ path }) => path)).toEqual([
      ...['a/1.png', 'a/2.png', 'a/3.png', 'a/deep/4.jpg', 'top.jpg'],
    ]);
  });

  it('loses what is no image only where it comes from a folder', () => {
    const chosen = ['notes.txt', 'a/notes.txt', 'a/.hidden.png', 'a/b.HEIC', 'a/.git/c.png'].map(
      (path) => ({ path, file: new File([], path.split('/').at(-1)!) }),
    );
    const { images, others } = withoutOthers(chosen);
    expect(images.map(({ path }) => path)).toEqual(['notes.txt', 'a/b.HEIC']);
    expect(others).toBe(3);
  });

  it('is sent by a name that the server accepts', () => {
    expect(sentName('')).toBe('image');
    expect(sentName('a.jpg')).toBe('a.jpg');
    const long = sentName(`${'😀'.repeat(5000)}.jpeg`);
    expect(long.length).toBeLessThanOrEqual(200);
    expect(long.endsWith('😀.jpeg')).toBe(true);
    expect(() => encodeURIComponent(long)).not.toThrow();
  });

  it('is shown without characters that turn or hide a part of its name', () => {
    expect(visible('a\u202egpj.exe\n\u0000')).toBe('a\ufffdgpj.exe\ufffd\ufffd');
    expect(visible('عربي 日本.jpg')).toBe('عربي 日本.jpg');
  });
});

describe('a report', () => {
  it('is a palette where it has colours', () => {
    expect(coloursOf({ colors: [{ hex: '#e9e0d1', proportion: 1 }] })).toHaveLength(1);
    expect(coloursOf({ sha256: 'a' })).toBeNull();
    expect(rgbOf('#e9e0d1')).toBe('rgb(233 224 209)');
  });

  it('is flattened to lines with the names of its groups', () => {
    const data = {
      ...{ width: 4000, hasAlpha: false, loop: null, delay: [1, 2] },
      exif: { make: 'A', photo: { fNumber: 2.8 } },
    };
    expect(factsOf(data).map(({ label, text }) => [label, text])).toEqual([
      ['Width', (4000).toLocaleString()],
      ['Has alpha', 'no'],
      ['Delay', '[1,2]'],
      ['EXIF: Make', 'A'],
      ['EXIF: Photo: F number', '2.8'],
    ]);
  });
});
