import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import sharp, { type Sharp } from 'sharp';
import { describe, expect, test } from 'vitest';
import { Failure } from '../../../src/failure.ts';
import type { BatchResult } from '../../../src/operations/batch/batch-record.ts';
import { readRecipe } from '../../../src/operations/recipe/read-recipe.ts';
import { animatedGif, disc, painted, photo, pngOf, quadrants } from '../../fixtures/images.ts';
import { temporaryFolder } from '../../oriel.ts';
import { decode } from '../../pixels.ts';
import { residentCommand } from '../../resident.ts';
import { runs } from '../../runs.ts';

const oriel = residentCommand();

interface Ran {
  readonly code: number | null;
  readonly stderr: string;
  readonly result: BatchResult;
  /** Outputs by file name. */
  readonly files: ReadonlyMap<string, Buffer>;
}

/** Runs a recipe, given as JSON, which is YAML, or as a text. */
async function runRecipe(
  recipe: object | string,
  images: Readonly<Record<string, Uint8Array>>,
  ...flags: string[]
): Promise<Ran> {
  const cwd = temporaryFolder();
  const text = typeof recipe === 'string' ? recipe : JSON.stringify(recipe);
  writeFileSync(join(cwd, 'recipe.yaml'), text);
  mkdirSync(join(cwd, 'out'));
  for (const [name, bytes] of Object.entries(images)) writeFileSync(join(cwd, name), bytes);
  const args = ['run', 'recipe.yaml', ...Object.keys(images), '--out', 'out', '--json'];
  const { code, out, stderr } = await oriel([...args, ...flags], { cwd });
  const names = readdirSync(join(cwd, 'out'));
  return {
    code,
    stderr,
    result: out === '' ? (undefined as never) : (JSON.parse(out) as BatchResult),
    files: new Map(names.map((name) => [name, readFileSync(join(cwd, 'out', name))])),
  };
}

/** What a command alone makes of an image. */
async function command(args: readonly string[], name: string, bytes: Uint8Array): Promise<Buffer> {
  const cwd = temporaryFolder();
  writeFileSync(join(cwd, name), bytes);
  const { code, stderr } = await oriel([...args, name, '--out', 'out', '-q'], { cwd });
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return readFileSync(join(cwd, 'out', readdirSync(join(cwd, 'out'))[0]!));
}

const flagsOf = (options: object) =>
  Object.entries(options).map(([name, value]) => `--${name}=${value}`);

/** Options of each step. */
const STEPS = {
  resize: { width: 40 },
  crop: { percent: 70, gravity: 'southeast' },
  rotate: { angle: 90 },
  trim: {},
  extend: { left: 4, top: 3, background: '#204080' },
  sharpen: { sigma: 1 },
  blur: { sigma: 1.5 },
  greyscale: {},
  modulate: { saturation: 1.4, hue: 30 },
} as const;

type Name = keyof typeof STEPS;

const NAMES = Object.keys(STEPS) as Name[];

const SIZE = { width: 60, height: 44 };
const DEEP = { ...SIZE, deep: true };
const IMAGES = {
  photo: () => pngOf(photo(SIZE)),
  disc: () => pngOf(disc(SIZE)),
  deep: () => pngOf(painted(DEEP, (x, y) => [x * 1000, y * 1400, 60_000 - x * 500])),
  grey: () => pngOf(painted({ ...SIZE, channels: 1 }, (x, y) => [(x * 4 + y * 2) % 256])),
};
const frames = [quadrants({ width: 40, height: 30 }), photo({ width: 40, height: 30 })];
const gif = await animatedGif(frames, { delay: [100, 200], loop: 2 });

describe('a recipe of one step', () => {
  test.each(NAMES)('%s gives the bytes of its command', async (name) => {
    const images = {
      'a.jpg': await photo({ width: 300, height: 200 }).jpeg().toBuffer(),
      'b.png': await IMAGES.disc(),
    };
    const { files, code } = await runRecipe({ steps: [{ [name]: STEPS[name] }] }, images);
    expect(code).toBe(0);
    for (const [file, bytes] of Object.entries(images)) {
      const alone = await command([name, ...flagsOf(STEPS[name])], file, bytes);
      expect(files.get(file)?.equals(alone), file).toBe(true);
    }
  });

  test('changes the frames of an animation as its command does', async () => {
    for (const name of ['resize', 'blur', 'extend'] as const) {
      const { files } = await runRecipe({ steps: [{ [name]: STEPS[name] }] }, { 'a.gif': gif });
      const alone = await command([name, ...flagsOf(STEPS[name])], 'a.gif', gif);
      expect(files.get('a.gif')?.equals(alone), name).toBe(true);
    }
  });
});

describe('two steps give the pixels of two commands with a PNG between them', () => {
  const single = (name: Name) => ({
    name: `{name}.${name}.{ext}`,
    format: 'png',
    steps: [{ [name]: STEPS[name] }],
  });
  const pair = (first: Name) => (second: Name) => ({
    name: `{name}.${first}.${second}.{ext}`,
    format: 'png',
    steps: [{ [first]: STEPS[first] }, { [second]: STEPS[second] }],
  });

  test.each(Object.keys(IMAGES) as (keyof typeof IMAGES)[])('for %s', async (kind) => {
    const image = { 'a.png': await IMAGES[kind]() };
    const commands = { outputs: NAMES.map(single) };
    const once = await runRecipe(commands, image);
    const twice = await runRecipe(commands, Object.fromEntries(once.files));
    expect(twice.result.summary).toMatchObject({ succeeded: NAMES.length, failed: 0 });
    const worst: Record<string, number> = {};
    for (const part of [0, 3, 6]) {
      const outputs = NAMES.slice(part, part + 3).flatMap((first) => NAMES.map(pair(first)));
      const { files, code, stderr } = await runRecipe({ outputs }, image);
      expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' });
      for (const [name, bytes] of files) {
        const [one, other] = await Promise.all([bytes, twice.files.get(name)!].map(decode));
        expect([one!.width, one!.height], name).toEqual([other!.width, other!.height]);
        let most = 0;
        for (let y = 0; y < one!.height; y += 1) {
          for (let x = 0; x < one!.width; x += 1) {
            const [a, b] = [one!, other!].map((pixels) => {
              const opacity = pixels.alpha(x, y) / (pixels.deep ? 65_535 : 255);
              return pixels.rgb(x, y).map((sample) => (sample * opacity) / (pixels.deep ? 257 : 1));
            });
            most = Math.max(most, Math.abs(one!.alpha(x, y) - other!.alpha(x, y)));
            for (const [channel, sample] of a!.entries()) {
              most = Math.max(most, Math.abs(sample - b![channel]!));
            }
          }
        }
        if (most > 0) worst[name] = Math.round(most * 10) / 10;
      }
    }
    // Transparency is premultiplied and divided again in each pipeline, which rounds.
    const tolerance = kind === 'disc' || kind === 'grey' ? 2 : 1;
    expect(Object.entries(worst).filter(([, most]) => most > tolerance)).toEqual([]);
  });
});

describe('outputs', () => {
  test('by width and format have the sizes and names that are asked for', async () => {
    const image = { 'a.jpg': await photo({ width: 500, height: 250 }).jpeg().toBuffer() };
    const outputs = [{ widths: [400, 100, 900, 1000], formats: ['webp', 'jpeg'] }];
    const { result, files } = await runRecipe({ outputs }, image);
    const [record] = result.results;
    expect(record!.outputs!.map(({ width, height, format }) => [width, height, format])).toEqual(
      [400, 100, 500].flatMap((width) => [
        [width, width / 2, 'webp'],
        [width, width / 2, 'jpeg'],
      ]),
    );
    expect([...files.keys()].sort()).toEqual(
      [100, 400, 500].flatMap((width) => [`a-${width}w.jpg`, `a-${width}w.webp`]),
    );
    const size = record!.outputs!.reduce((sum, output) => sum + output.size, 0);
    expect(result.summary).toMatchObject({ total: 1, succeeded: 1, outputBytes: size });
  });

  test.each([
    ['one output', [{ widths: [190, 120, 100], format: 'png' }]],
    ['several outputs', [190, 120, 100].map((width) => ({ widths: [width], format: 'png' }))],
  ])('widths below half of a JPEG are those of resize, in %s', async (_, outputs) => {
    for (const orientation of [1, 6]) {
      const jpeg = photo({ width: 401, height: 303 }).jpeg({ quality: 95 });
      const bytes = await jpeg.withMetadata({ orientation }).toBuffer();
      const { files } = await runRecipe(
        { outputs: outputs.map((one) => ({ ...one, name: '{width}.{ext}' })) },
        { 'a.jpg': bytes },
      );
      const widths = orientation === 1 ? [190, 120, 100] : [120, 100];
      for (const width of widths) {
        const alone = await command(['resize', `--width=${width}`, '--format=png'], 'a.jpg', bytes);
        const raw = (image: Uint8Array) =>
          sharp(image).removeAlpha().raw().toBuffer({ resolveWithObject: true });
        const [one, other] = [await raw(files.get(`${width}.png`)!), await raw(alone)];
        expect([one.info.width, one.info.height]).toEqual([other.info.width, other.info.height]);
        const sum = one.data.reduce(
          (total, sample, at) => total + Math.abs(sample - other.data[at]!),
          0,
        );
        expect(sum / one.data.length).toBeLessThan(3);
      }
    }
  });

  test('of a smaller width look as if made from the whole image', async () => {
    const bytes = await pngOf(photo({ width: 900, height: 600 }));
    const outputs = [{ widths: [800, 390, 100], format: 'png' }];
    const { files } = await runRecipe({ outputs }, { 'a.png': bytes });
    for (const width of [800, 390, 100]) {
      const raw = (image: Sharp) => image.removeAlpha().raw().toBuffer();
      const made = await raw(sharp(files.get(`a-${width}w.png`)));
      const whole = await raw(sharp(bytes).resize({ width }));
      const squares = made.reduce((sum, sample, index) => sum + (sample - whole[index]!) ** 2, 0);
      expect(10 * Math.log10(255 ** 2 / (squares / made.length || 1e-9))).toBeGreaterThan(36);
    }
  });

  test('keep the frames that their formats hold', async () => {
    const recipe = { steps: [{ resize: { width: 20 } }], outputs: [{ formats: ['webp', 'png'] }] };
    const { result } = await runRecipe(recipe, { 'a.gif': gif });
    const [record] = result.results;
    expect(record!.outputs!.map(({ pages }) => pages ?? 1)).toEqual([2, 1]);
    expect(record!.warnings?.map(({ code }) => code)).toEqual(['animation_lost']);
  });

  test('keep EXIF and the colour profile through several pipelines', async () => {
    const bytes = await photo({ width: 90, height: 60 })
      .withIccProfile('p3')
      .withExif({ IFD0: { Copyright: 'Somebody' } })
      .jpeg()
      .toBuffer();
    const steps = [{ blur: { sigma: 1 } }, { resize: { width: 40 } }, { rotate: { angle: 90 } }];
    const { files } = await runRecipe(
      { steps, outputs: [{ metadata: 'all' }] },
      { 'a.jpg': bytes },
    );
    const metadata = await sharp(files.get('a.jpg')).metadata();
    expect([metadata.hasProfile, metadata.exif !== undefined]).toEqual([true, true]);
    expect([metadata.width, metadata.height]).toEqual([27, 40]);
  });

  test('with one name for two of them are refused, before and while they are written', async () => {
    const image = { 'a.png': await IMAGES.photo() };
    const same = await runRecipe({ outputs: [{ format: 'webp' }, { format: 'webp' }] }, image);
    expect(same.code).toBe(2);
    expect(same.stderr).toContain('outputs[1]: expected a name of its own');
    const late = await runRecipe(
      { outputs: [{ format: 'webp' }, { format: 'webp', when: { width: 60 } }] },
      image,
    );
    expect(late.result.results[0]!.error?.code).toBe('output_exists');
    expect(late.result.results[0]!.outputs).toHaveLength(1);
  });

  test('that exist are skipped by --skip-existing, each by itself', async () => {
    const cwd = temporaryFolder();
    writeFileSync(join(cwd, 'a.png'), await IMAGES.photo());
    writeFileSync(join(cwd, 'r.yaml'), 'outputs: [{ formats: [webp, jpeg] }]');
    writeFileSync(join(cwd, 'a.webp'), 'old');
    const run = () => oriel(['run', 'r.yaml', 'a.png', '--skip-existing', '--json'], { cwd });
    const [first, again] = [await run(), await run()].map(
      ({ out }) => (JSON.parse(out) as BatchResult).results[0]!,
    );
    expect(first).toMatchObject({
      status: 'succeeded',
      outputs: [{ reason: {} }, { format: 'jpeg' }],
    });
    expect(again!.status).toBe('skipped');
    expect(readFileSync(join(cwd, 'a.webp'), 'utf8')).toBe('old');
  });
});

describe('conditions', () => {
  test.each([
    [{ format: 'png' }, true],
    [{ format: ['jpeg', 'webp'] }, false],
    [{ width: 60 }, true],
    [{ width: '>60' }, false],
    [{ width: '>= 60', height: '<45' }, true],
    [{ megapixels: '<0.01', shape: 'landscape', alpha: false, grey: false, frames: 1 }, true],
    [{ shape: 'portrait' }, false],
    [{ deep: true }, false],
  ])('%j is %s for a PNG of 60x44', async (when, holds) => {
    const recipe = { outputs: [{ when, format: 'webp' }] };
    const { result } = await runRecipe(recipe, { 'a.png': await IMAGES.photo() });
    const [record] = result.results;
    expect(record!.outputs).toHaveLength(holds ? 1 : 0);
    expect(record!.warnings?.[0]?.code).toBe(holds ? undefined : 'no_output');
  });

  test('of a step see the image before it', async () => {
    const steps = [
      { when: { width: '>50' }, resize: { width: 50 } },
      { when: { width: '>50' }, rotate: { angle: 90 } },
      { when: { width: 50 }, crop: { percent: 50 } },
    ];
    const { result } = await runRecipe({ steps }, { 'a.png': await IMAGES.photo() });
    expect(result.results[0]!.outputs![0]).toMatchObject({ width: 25, height: 19 });
  });
});

describe('variables', () => {
  const recipe = {
    vars: { width: 30, format: 'webp' },
    steps: [{ resize: { width: '${width}' } }],
    outputs: [{ name: '{name}-${width}.{ext}', format: '${format}' }],
  };

  test('have defaults, which --set replaces', async () => {
    const image = { 'a.png': await IMAGES.photo() };
    expect([...(await runRecipe(recipe, image)).files.keys()]).toEqual(['a-30.webp']);
    const set = await runRecipe(recipe, image, '--set', 'width=20', '--set', 'format=png');
    expect([...set.files.keys()]).toEqual(['a-20.png']);
    expect((await decode(set.files.get('a-20.png')!)).width).toBe(20);
  });

  test.each([
    ['width', 'set: expected NAME=VALUE'],
    ['wdth=3', 'set: wdth: unknown; did you mean width?'],
    ['width=wide', 'recipe.yaml:1: steps[0].resize.width: expected an integer'],
  ])('--set %s is refused', async (set, message) => {
    const image = { 'a.png': await IMAGES.photo() };
    const { code, stderr } = await runRecipe(recipe, image, '--set', set);
    expect(code).toBe(2);
    expect(stderr).toContain(message);
  });

  test('of the environment are not read', () => {
    const home = 'steps: [{ crop: { ratio: "${HOME}" } }]';
    expect(() => readRecipe(home, { origin: 'r', set: [] })).toThrow(
      'r:1: steps[0].crop.ratio: the variable HOME is not declared in vars',
    );
  });
});

test('--dry-run shows the outputs with their sizes and steps, and writes nothing', async () => {
  const recipe = {
    steps: [{ crop: { ratio: '1:1' } }, 'greyscale'],
    outputs: [{ widths: [20, 30], format: 'webp' }],
  };
  const { result, files } = await runRecipe(recipe, { 'a.png': await IMAGES.photo() }, '--dry-run');
  expect(files.size).toBe(0);
  const first = ['crop to 44x44', 'greyscale to 44x44', 'resize to 20x20'];
  const outputs = [{ width: 20, height: 20, format: 'webp', steps: first }, { width: 30 }];
  expect(result.results[0]).toMatchObject({ status: 'planned', data: { outputs } });
});

test('the ending of a name sets the format', async () => {
  const recipe = { outputs: [{ name: '{name}-s.webp' }] };
  const { files } = await runRecipe(recipe, { 'a.png': await IMAGES.photo() });
  expect(files.get('a-s.webp')!.toString('latin1', 8, 12)).toBe('WEBP');
});

test('names of outputs have the placeholders of --name, in files and in an archive', async () => {
  const cwd = temporaryFolder();
  const name = '{index}-{parent}-{name}-{date:YYYYMMDD}-{width}x{height}-{format}.{ext}';
  writeFileSync(join(cwd, 'r.yaml'), JSON.stringify({ outputs: [{ name, format: 'webp' }] }));
  mkdirSync(join(cwd, 'in/trip'), { recursive: true });
  const exif = { IFD2: { DateTimeOriginal: '2024:05:06 07:08:09' } };
  const dated = photo({ width: 30, height: 20 }).withExif(exif).jpeg();
  writeFileSync(join(cwd, 'in/trip/a.jpg'), await dated.toBuffer());
  writeFileSync(join(cwd, 'in/trip/b.png'), await pngOf(photo({ width: 9, height: 8 })));
  const names = ['1-trip-a-20240506-30x20-webp.webp', '2-trip-b-undated-9x8-webp.webp'];
  const files = await oriel(['run', 'r.yaml', '-r', 'in', '--out', 'out', '-q'], { cwd });
  expect([files.code, files.stderr]).toEqual([0, '']);
  expect(readdirSync(join(cwd, 'out/trip')).sort()).toEqual(names);
  const zip = await oriel(['run', 'r.yaml', '-r', 'in', '--zip', 'a.zip', '--json'], { cwd });
  const { results } = JSON.parse(zip.out) as BatchResult;
  expect(results.map(({ outputs }) => outputs?.[0]?.outputFilename)).toEqual(
    names.map((one) => `trip/${one}`),
  );
});

test('PNG outputs of raw pixels keep the density of the input, as those of commands do', async () => {
  const jpeg = await photo({ width: 80, height: 60 })
    .withMetadata({ density: 300 })
    .jpeg()
    .toBuffer();
  const plain = await pngOf(photo({ width: 80, height: 60 }));
  const steps = [{ blur: { sigma: 1 } }, { resize: { width: 40 } }, { sharpen: {} }];
  const outputs = [{ format: 'png' }, { name: 's.{ext}', format: 'png', widths: [9] }];
  const { files } = await runRecipe({ steps, outputs }, { 'a.jpg': jpeg });
  const alone = await command(['resize', '--width', '40', '--format', 'png'], 'a.jpg', jpeg);
  const without = await runRecipe({ steps, outputs: [{ format: 'png' }] }, { 'b.png': plain });
  const all = [files.get('a.png'), files.get('s.png'), alone, without.files.get('b.png')];
  const seen = await Promise.all(all.map(async (bytes) => (await sharp(bytes).metadata()).density));
  expect(seen).toEqual([300, 300, 300, undefined]);
});

test('the JSON Schema for editors takes names of steps that need no options', async () => {
  const { out } = await oriel(['recipe', 'schema']);
  const { properties } = JSON.parse(out);
  for (const { items } of [properties.steps, properties.outputs.items.properties.steps]) {
    const [names, step] = items.anyOf;
    expect(names.enum).toEqual(expect.arrayContaining(['greyscale', 'sharpen', 'trim']));
    expect(names.enum).not.toContain('resize');
    expect(step.properties.greyscale).toBeDefined();
  }
});

describe('faults', () => {
  const read = (source: string) => () => readRecipe(source, { origin: 'r.yaml', set: [] });

  test.each([
    ['steps:\n  - resize: { widht: 3 }', '2: steps[0].resize.widht: unknown; did you mean width?'],
    ['steps:\n  - blurr:', '2: steps[0].blurr: unknown; did you mean blur?'],
    [
      'steps:\n  - blur:\n      sigma: 900',
      '3: steps[0].blur.sigma: expected a number from 0.3 to 250, received 900',
    ],
    ['steps:\n  - {}', '2: steps[0].when: expected one of resize'],
    ['steps:\n  - { trim: {}, greyscale: {} }', '2: steps[0].greyscale: expected one step'],
    ['steps: {}', '1: steps: expected a list'],
    ['outputs: []', '1: outputs: expected a list of 1 to 32 outputs, received an empty list'],
    ['outputs:\n  - { format: webp, formats: [jpeg] }', '2: outputs[0].format: cannot be used'],
    ['outputs:\n  - name: "../x"', '2: outputs[0].name: expected a file name, received a path'],
    ['outputs:\n  - name: "{indeks}"', '2: outputs[0].name: expected {name}'],
    ['outputs:\n  - name: "{date:yy}"', '2: outputs[0].name: expected YYYY'],
    ['outputs:\n  - widths: [1, 2]\n    name: a', '3: outputs[0].name: expected {width} in it'],
    [
      'outputs:\n  - formats: [webp, png]\n    name: a',
      '3: outputs[0].name: expected {ext} or {format}',
    ],
    [
      'outputs:\n  - when: { width: ">x" }',
      "2: outputs[0].when.width: expected a number, or a comparison such as '>2000'",
    ],
    ['- a', '1: expected a map of steps and outputs, or one of web, '],
    ['a: [', '1: column'],
    ['steps: *none', '1'],
    [`steps: ${'['.repeat(5000)}`, '1: nested too deeply'],
    [`steps: [${'greyscale,'.repeat(10_000)}]`, ' larger than 32 KB'],
    [`steps: [${'greyscale,'.repeat(40)}]`, '1: steps: expected a list of at most 32 steps'],
    [`outputs: [${'{},'.repeat(1000)}]`, '1: outputs: expected a list of 1 to 32 outputs'],
    [
      `outputs: [${Array.from({ length: 20 }, (_, index) => `{ name: "${index}-{width}", widths: [1,2,3,4,5,6,7,8,9] }`).join()}]`,
      '1: outputs: expected at most 100 outputs for an image, received 180',
    ],
  ])('%s', (source, message) => {
    expect(read(source)).toThrow(`r.yaml:${message}`);
  });

  test.each([
    ['quotes', '"'.repeat(30_000), 1],
    ['items', '- x: 1\n'.repeat(4000), 445],
    ['comments', '#\n'.repeat(15_000), 2001],
    ['aliases', `a: &a 1\n${'- *a\n'.repeat(6000)}`, 999],
  ])(
    'of thousands of %s end at a line, since parsing all would block the daemon',
    (_, source, line) => {
      expect(read(source)).toThrow(`r.yaml:${line}: too many values, signs and lines from here on`);
    },
  );

  test('of a billion laughs and of huge numbers are named', () => {
    const laughs = ['a: &a [x, x, x, x, x, x, x, x, x]'];
    for (let level = 1; level < 12; level += 1) {
      const before = String.fromCharCode(96 + level);
      const name = String.fromCharCode(97 + level);
      laughs.push(`${name}: &${name} [${Array(9).fill(`*${before}`).join(', ')}]`);
    }
    expect(read(laughs.join('\n'))).toThrow(/aliases/);
    const repeated = `vars: { a: &a [${'1,'.repeat(900)}] }\nsteps: [${'*a,'.repeat(9)}]`;
    expect(read(repeated)).toThrow('aliases repeat too many values');
    for (const huge of ['1e999', '9'.repeat(20), '-1', '.nan', '.inf', '0x7fffffffffffffff']) {
      const source = `steps: [{ resize: { width: ${huge} } }]`;
      expect(read(source)).toThrow('steps[0].resize.width: expected');
    }
  });

  test('of any text or structure have the file and a line, and nothing else is thrown', () => {
    const word = fc.constantFrom(
      ...NAMES,
      ...'steps outputs vars when widths formats name width sigma format'.split(' '),
      ...'${a} {name} >1 __proto__ toString constructor'.split(' '),
    );
    const value = fc.letrec((tie) => ({
      any: fc.oneof(
        { maxDepth: 4 },
        fc.oneof(word, fc.integer(), fc.double(), fc.boolean(), fc.constant(null), fc.string()),
        fc.array(tie('any'), { maxLength: 4 }),
        fc.dictionary(word, tie('any'), { maxKeys: 4 }),
      ),
    })).any;
    const text = fc.oneof(
      fc.string(),
      value.map((one) => JSON.stringify(one) ?? ''),
    );
    fc.assert(
      fc.property(text, (source) => {
        try {
          readRecipe(source, { origin: 'r.yaml', set: [] });
        } catch (error) {
          expect(error).toBeInstanceOf(Failure);
          expect((error as Failure).code).toBe('invalid_recipe');
          for (const line of (error as Failure).message.split('\n')) {
            expect(line).toMatch(/^(?:r\.yaml:\d+: |and \d+ more$)/);
          }
        }
      }),
      { numRuns: runs(800) },
    );
  });
});

describe('limits', () => {
  test('refuse enormous steps and outputs before any pixel is decoded', async () => {
    const image = { 'a.png': await IMAGES.photo() };
    const codeOf = async (recipe: object) =>
      (await runRecipe(recipe, image)).result.results[0]!.error?.code;
    expect(await codeOf({ steps: [{ extend: { left: 1e15 } }] })).toBe('output_too_large');
    expect(await codeOf({ steps: [{ extend: { left: 9000 } }] })).toBe('output_too_large');
    const grow = { resize: { percent: 400, enlarge: true } };
    expect(await codeOf({ steps: Array(32).fill(grow) })).toBe('output_too_large');
    const large = { resize: { width: 8000, height: 8000, fit: 'fill', enlarge: true } };
    const outputs = [1, 2, 3, 4].map((name) => ({ name: `${name}.{ext}`, format: 'jpeg' }));
    expect(await codeOf({ steps: [large], outputs })).toBe('output_too_large');
  });

  test('on the side hold for outputs, not between steps', async () => {
    const steps = [{ extend: { left: 9000 } }, { resize: { width: 500 } }];
    const { result } = await runRecipe({ steps }, { 'a.png': await IMAGES.photo() });
    expect(result.results[0]!.outputs![0]).toMatchObject({ width: 500 });
  });
});

test.each(['web', 'thumbnails', 'srcset', 'favicon', 'archive'])(
  'the preset %s is good',
  async (preset) => {
    expect(await oriel(['recipe', 'check', preset])).toMatchObject({ code: 0 });
    const { out } = await oriel(['recipe', 'show', preset]);
    expect(readRecipe(out, { origin: preset, set: [] }).outputs.length).toBeGreaterThan(0);
  },
);
