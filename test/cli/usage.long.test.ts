import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { inputFlags, limitFlags, outputFlags, runFlags } from '../../src/cli/batch/image-flags.ts';
import { type CommandDefinition, flagNames } from '../../src/cli/command/command.ts';
import { COMMANDS } from '../../src/cli/commands.ts';
import { OPERATIONS } from '../../src/operations/registry.ts';
import { fieldsOf } from '../../src/schema/fields.ts';
import { HAS_FONTS } from '../fixtures/fonts.ts';
import { oriel, ROOT, type Run, shell, temporaryFolder, words } from '../oriel.ts';
import { residentCommand } from '../resident.ts';
import { contentBelow, filesBelow, folderWith } from './folder.ts';
import { writePhotographs } from './photographs.ts';

const resident = residentCommand();

/** Runs several command lines at once in one folder, none of which may leave a trace in it. */
async function runAll(lines: readonly (readonly string[])[]): Promise<readonly Run[]> {
  const cwd = await folderWith('a.jpg', 'b.jpg');
  const before = contentBelow(cwd);
  const runs = await Promise.all(lines.map((args) => resident(args, { cwd })));
  expect(contentBelow(cwd)).toEqual(before);
  return runs;
}

const CONVERT = words`convert --format webp`;
const RESIZE = words`resize --width 20`;
const CROP = words`crop --left 0 --top 0 --width 9 --height 9`;

describe('flag values', () => {
  const integer = (from: number, to: number) => `an integer from ${from} to ${to}`;
  const formats = 'one of jpeg, png, webp, avif, gif, tiff, jxl, jpg, tif';
  const colour = 'a colour such as #ff8800, #ff880080, white or transparent';
  const number = (from: number, to: number) => `a number from ${from} to ${to}`;

  it.each<[flag: string, expected: string, command: string[], refused: string[]]>([
    ['--format', formats, ['convert'], ['', 'bmp', 'webp,png', '-1']],
    ['--quality', integer(1, 100), CONVERT, ['0', '101', '-1', '80.5', '1e1', 'high', '', '0x10']],
    ['--effort', integer(0, 10), CONVERT, ['-1', '11', 'max']],
    ['--chroma-subsampling', 'one of auto, 4:2:0, 4:4:4', CONVERT, ['420', '4:2:2']],
    ['--background', colour, CONVERT, ['#ff', 'ff8800', 'hotpink', '#ggg', '']],
    ['--metadata', 'one of none, copyright, icc, all', CONVERT, ['some']],
    ['--animated', 'one of auto, first, all', CONVERT, ['true']],
    ['--files-from', 'a file, or -', CONVERT, ['']],
    ['--out', 'a folder, a file for one image, or -', CONVERT, ['']],
    [
      '--name',
      '{name} {ext} {width} {height} {index} {format} {hash} {parent} {date} {date:YYYY-MM-DD}',
      CONVERT,
      [''],
    ],
    ['--zip', 'a file, or -', CONVERT, ['']],
    ['--jobs', integer(1, 256), CONVERT, ['0', '257', '-1', '1.5', '99999999999999999999']],
    ['--max-file-size', number(0.001, 4096), CONVERT, ['0', '-1', '4097', 'all', '1,5']],
    ['--max-pixels', number(0.001, 10_000), CONVERT, ['0', '10001']],
    ['--max-frames', integer(1, 100_000), CONVERT, ['0', '100001', '2.5']],
    ['--max-side', integer(1, 65_535), CONVERT, ['0', '65536', '1e9']],
    ['--timeout', number(0.001, 86_400), CONVERT, ['0', '86401', '10s']],
    ['--width', 'an integer of at least 1', RESIZE, ['0', '-5', '50%', '100px']],
    ['--height', 'an integer of at least 1', RESIZE, ['0']],
    ['--percent', 'a number from 1 to 400', ['resize'], ['0.99', '400.5', '50%']],
    ['--fit', 'one of inside, cover, contain, fill, outside', RESIZE, ['stretch']],
    ['--position', expect.stringContaining('one of center, north'), RESIZE, ['middle']],
    ['--kernel', expect.stringContaining('one of lanczos3'), RESIZE, ['gauss']],
    ['--left', 'an integer of at least 0', CROP, ['-1', '1.5']],
    ['--top', 'an integer of at least 0', CROP, ['-1']],
    ['--width', 'an integer of at least 1', CROP, ['0']],
    ['--height', 'an integer of at least 1', CROP, ['0']],
    ['--format', 'one of jpeg, png, webp, avif, gif, tiff, jxl, jpg, tif', CROP, ['bmp']],
    ['--angle', 'a number from -360 to 360', ['rotate'], ['-361', '360.5', 'left', '']],
    ['--exif', 'one of none, basic, full', ['metadata'], ['all']],
    ['--count', integer(1, 20), ['palette'], ['0', '21', '2.5']],
    ['--perceptual', 'one of none, dhash, phash', ['hash'], ['md5']],
    ['--resolution', 'one of 1K, 2K, 4K', ['size-map'], ['8K', '2k']],
  ])('%s: a value other than %s exits with 2', async (flag, expected, command, refused) => {
    const runs = await runAll(refused.map((value) => [...command, `${flag}=${value}`, 'a.jpg']));
    for (const [index, { status, out, stderr }] of runs.entries()) {
      expect({ status, out }).toEqual({ status: 2, out: '' });
      const [, named, wanted, got] =
        /^oriel: (\S+): expected (.*), received (.*)\n$/.exec(stderr) ?? [];
      expect([named, wanted]).toEqual([flag, expected]);
      // Numbers are shown as numbers, anything else in quotes.
      expect([refused[index], JSON.stringify(refused[index])]).toContain(got);
    }
  });

  it('minimum and maximum of each range are accepted', async () => {
    const limits = (...values: string[]) =>
      ['jobs', 'max-file-size', 'max-pixels', 'max-frames', 'max-side', 'timeout'].map(
        (name, index) => `--${name}=${values[index]}`,
      );
    const runs = await runAll(
      [
        words`${CONVERT} --quality 1 --effort 0 --background #FfF`,
        words`${CONVERT} --quality 100 --effort 10 --background #ff880080`,
        [...CONVERT, '--background', 'Transparent', ...limits('1', '.001', '1e-3', '1', '1', '.5')],
        [...CONVERT, ...limits('256', '4096', '1e4', '100000', '65535', '86400')],
        words`resize --width 1 --height 8192`,
        words`resize --width 8192 --height 1`,
        words`resize --percent 1`,
        words`resize --percent 400`,
        words`crop --left 0 --top 0 --width 1 --height 8192`,
        words`crop --left 99999 --top 99999 --width 8192 --height 1`,
        words`rotate --angle -360`,
        ['rotate', '--angle=+360.0'],
      ].map((args) => [...args, 'a.jpg', '--dry-run', '--overwrite', '-q']),
    );
    for (const { status, stderr } of runs)
      expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  });

  it('width and height are limited by --max-side', async () => {
    const sides = (side: string) => [
      words`resize --width ${side}`,
      words`resize --height ${side}`,
      words`crop --left 0 --top 0 --width 9 --height ${side}`,
    ];
    const all = (lines: string[][], ...flags: string[]) =>
      runAll(lines.map((args) => [...args, ...flags, 'a.jpg', '--dry-run', '--overwrite', '-q']));
    for (const { status, stderr } of await all(sides('9000'))) {
      expect(status).toBe(2);
      expect(stderr).toMatch(
        /^oriel: --(width|height): expected an integer from 1 to 8192, received 9000; --max-side moves the bound\n$/,
      );
    }
    for (const { status, stderr } of await all(sides('9000'), '--max-side', '10000')) {
      expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    }
    for (const { status } of await all(sides('101'), '--max-side', '100')) expect(status).toBe(2);
  });

  it('--format accepts every name of a format', async () => {
    const names = ['jpeg', 'jpg', 'png', 'webp', 'avif', 'gif', 'tiff', 'tif'];
    const runs = await runAll(
      names.map((name) => words`convert --format ${name} a.jpg --dry-run --jsonl --overwrite`),
    );
    const outputs = runs.map(
      ({ out }) => (JSON.parse(out) as { outputFilename: string }).outputFilename,
    );
    expect(outputs.join(' ')).toBe('a.jpg a.jpg a.png a.webp a.avif a.gif a.tiff a.tiff');
  });
});

describe('the command line', () => {
  it.each<[args: string[], message: string]>([
    [
      ['convert', 'a.jpg'],
      `--format is required: one of jpeg, png, webp, avif, gif, tiff, jxl, jpg, tif`,
    ],
    [words`convert --format jpeg --lossless a.jpg`, '--lossless: jpeg cannot be lossless'],
    [['resize', 'a.jpg'], 'oriel: one of --width, --height and --percent is required'],
    [words`resize --width 9 --percent 50 a.jpg`, 'cannot be used with --width or --height'],
    [words`resize --width 9 --position entropy a.jpg`, 'entropy only with --fit cover'],
    [words`crop --left 1 --top 1 --width 9 a.jpg`, '--height is required: an integer of at least'],
    [['rotate', 'a.jpg'], 'oriel: one of --angle, --flip and --flop is required'],
    [words`${CONVERT} --json --jsonl a.jpg`, '--json and --jsonl cannot be combined'],
    [
      words`${CONVERT} --overwrite --skip-existing a.jpg`,
      '--overwrite and --skip-existing cannot be combined',
    ],
    [words`${CONVERT} --zip x.zip --out x a.jpg`, '--zip and --out cannot be combined'],
    [words`convert --out x.webp --name y a.jpg`, '--name and a file as --out cannot be combined'],
    [words`${CONVERT} --zip x.zip --name x a.jpg`, '--zip and --name cannot be combined'],
    [words`${CONVERT} --zip x.zip --keep-mtime a.jpg`, '--zip and --keep-mtime cannot be combined'],
    [
      words`${CONVERT} --zip x.zip --skip-existing a.jpg`,
      '--zip and --skip-existing cannot be combined',
    ],
    [
      words`${CONVERT} --out x.bmp a.jpg`,
      '--out x.bmp: expected the ending of jpeg, png, webp, avif, gif or tiff; x.bmp/ is a folder',
    ],
    [words`${CONVERT} --zip - --json a.jpg`, 'an image on - and --json cannot be combined'],
    [
      ['size-map', '0x0'],
      'size: expected auto, WIDTHxHEIGHT or a ratio such as 16:9, received "0x0"',
    ],
    [['size-map', '16:'], 'received "16:"'],
    [words`convert --formt webp a.jpg`, "unknown option '--formt'\n(Did you mean --format?)"],
    [
      words`convert --no-lossless a.jpg`,
      "unknown option '--no-lossless'\n(Did you mean one of --lossless, --near-lossless?)",
    ],
    [words`hash --out x a.jpg`, "unknown option '--out'"],
    [words`hash -x.jpg a.jpg`, "unknown option '-x.jpg'; ./-x.jpg names a file"],
    [['--json', 'hash', 'a.jpg'], "unknown option '--json'"],
    [['convret', 'a.jpg'], "unknown command 'convret'\n(Did you mean convert?)"],
    [['convert', '--format'], "option '--format <format>' argument missing"],
  ])('%j exits with 2 and a message', async (args, message) => {
    const [run] = await runAll([args]);
    expect(run).toMatchObject({ status: 2, out: '' });
    expect(run?.stderr).toMatch(/^oriel: /);
    expect(run?.stderr).toContain(message);
  });

  it('accepts flags anywhere, joined, short and repeated', async () => {
    const cwd = await folderWith('a.jpg', 'sub/b.jpg');
    for (const args of [
      words`convert a.jpg --out=1 --format png --quiet`,
      words`convert -q --format=png -o 2 a.jpg`,
      words`convert -qr -j1 -o3 --format webp --format png . --out 3`,
    ]) {
      expect(await resident(args, { cwd })).toMatchObject({ status: 0, out: '', stderr: '' });
    }
    expect(
      filesBelow(cwd)
        .filter((name) => /^\d/.test(name))
        .join(' '),
    ).toBe('1/a.png 2/a.png 3/1/a.png 3/2/a.png 3/a.png 3/sub/b.png');
  });

  it('without a command prints the help to standard error and exits with 2', async () => {
    const bare = await oriel([]);
    const asked = await resident(['--help']);
    expect(bare).toMatchObject({ status: 2, out: '' });
    const command = await resident(['help']);
    expect(asked).toMatchObject({ status: 0, stderr: '' });
    expect(command).toMatchObject({ status: 0, out: asked.out, stderr: '' });
    expect(bare.stderr).toBe(asked.out);
  });

  it('--version and -V print the version', async () => {
    const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
      version: string;
    };
    for (const args of [['--version'], ['-V'], ['--version', 'hash']]) {
      expect(await oriel(args)).toMatchObject({ status: 0, out: `${version}\n`, stderr: '' });
    }
  });
});

describe('help', () => {
  // Makes loading any native module an error: sharp is one, and slow to load.
  const trap = ['--import', `data:text/javascript,process.dlopen=()=>{throw(Error('trapped'))}`];
  const trapped = residentCommand(trap);

  it('of every command and subcommand fits into 80 columns and says no words twice', async () => {
    const lines = (commands: readonly CommandDefinition[], above: readonly string[]): string[][] =>
      commands.flatMap(({ name, subcommands = [] }) => [
        [...above, name],
        ...lines(subcommands, [...above, name]),
      ]);
    for (const line of [[], ...lines(COMMANDS, [])]) {
      const { out } = await trapped([...line, '--help']);
      expect([line, out.split('\n').filter((row) => row.length > 80)]).toEqual([line, []]);
      const twice = /\b([a-z]+(?: [a-z]+)?) \1\b/.exec(out);
      expect([line, twice?.[0]]).toEqual([line, undefined]);
    }
  });

  it('lists every command with its summary', async () => {
    const { out } = await trapped(['--help']);
    for (const { name, summary } of OPERATIONS) {
      expect(out).toMatch(new RegExp(`^  ${name} `, 'm'));
      expect(out.replace(/\s+/g, ' ')).toContain(summary);
    }
  });

  it.each(OPERATIONS.map(({ name }) => name))(
    'of %s lists all its flags and loads no native module',
    async (name) => {
      const operation = OPERATIONS.find((candidate) => candidate.name === name)!;
      const schemas = [operation.options, inputFlags, runFlags, limitFlags];
      if (operation.edit) schemas.push(operation.edit.options);
      if (operation.gives === 'image' || operation.edit) schemas.push(outputFlags);
      const run = await trapped([name, '--help']);
      expect(run).toMatchObject({ status: 0, stderr: '' });
      const listed = [...run.out.matchAll(/^ {2}(?:-\w, )?(--[\w-]+)/gm)].map(([, flag]) => flag);
      const flags = schemas.flatMap((schema) =>
        fieldsOf(schema)
          .filter(({ name: option }) => option !== operation.document?.option)
          .map((field) => flagNames(field).at(-1)!),
      );
      const own = flags.filter((flag) => flag !== '--sha256sum' || operation.checksum);
      expect([...listed].sort()).toEqual([...own, '--help'].sort());
      // Each says something, and none of it is undefined.
      for (const schema of schemas) {
        for (const { description } of fieldsOf(schema)) expect(description).not.toBe('');
      }
      expect(run.out).not.toMatch(/undefined|\[object/);
      const whole = run.out.replace(/ \\\n +/g, ' ');
      for (const example of operation.examples) expect(whole).toContain(`  oriel ${example}\n`);
    },
  );

  it.each([
    ['help convrt', 'unknown command "convrt"; did you mean convert?'],
    ['help keys creat', 'unknown command "creat"; did you mean create?'],
    ['help nothing-like-it', 'unknown command "nothing-like-it"; oriel help lists all'],
    ['-v', 'unknown option "-v"; did you mean --version?'],
    ['version', 'unknown command "version"; did you mean --version?'],
  ])('%s exits with 2 and gives a hint', async (line, hint) => {
    const run = await resident(line.split(' '));
    expect([run.status, run.stderr]).toEqual([2, `oriel: ${hint}\n`]);
  });

  it('--help, -h and help COMMAND are equal, and usage errors load no native module', async () => {
    const [long, short, command] = await Promise.all([
      trapped(['hash', '--help']),
      trapped(['hash', '-h']),
      trapped(['help', 'hash']),
    ]);
    expect(short?.out).toBe(long?.out);
    expect(command?.out).toBe(long?.out);
    expect(await trapped(['convert', 'a.jpg'])).toMatchObject({ status: 2 });
    // The trap does what it says.
    const cwd = await folderWith('a.jpg');
    const env = { NODE_OPTIONS: trap.join('=') };
    const run = await oriel(words`convert --format png a.jpg -q`, { cwd, env });
    expect(run).toMatchObject({ status: 1 });
    expect(run.stderr).toContain('trapped');
  });
});

describe('examples in the help', () => {
  const examples = OPERATIONS.flatMap(({ examples }) => examples);

  const known = examples.filter((example) => HAS_FONTS || !example.includes('--text'));

  it.each(known)('oriel %s', async (example) => {
    const cwd = temporaryFolder();
    const size = { width: 320, height: 240 };
    await writePhotographs(
      cwd,
      ['first photo.jpg', 'second.jpg', 'drawing.png', 'logo.png', 'sub/d.jpg'],
      size,
    );
    // The shell expands patterns and removes quotes; starting the command for each example takes longer than its work.
    const { out } = await shell(`printf '%s\\n' ${example}`, { cwd });
    const run = await resident(out.trimEnd().split('\n'), { cwd });
    expect(run.stderr).toMatch(/^(\d+) of \1 files? done/);
    expect(run.status).toBe(0);
    expect(run.out).not.toBe('');
  });
});
