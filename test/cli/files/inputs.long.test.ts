import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { handOver, oriel, type Run, shell, startProgram, words } from '../../oriel.ts';
import { type CallOptions, residentCommand } from '../../resident.ts';
import { linesOf, outcomes } from '../document.ts';
import { contentBelow, filesBelow, folderWith } from '../folder.ts';

const resident = residentCommand();
const HASH = ['hash', '--jsonl'];

/** What each input came to: the name of the file, and `succeeded` or an error code. */
function hashedBy(run: Run) {
  const records = linesOf(run);
  return {
    status: run.status,
    stderr: run.stderr,
    outcomes: outcomes(records),
    names: records.map(({ inputFilename }) => inputFilename),
    messages: records.map(({ error }) => error?.message),
  };
}

async function hashed(args: readonly string[], options: CallOptions) {
  return hashedBy(await resident([...HASH, ...args], options));
}

/** The names of the inputs that the arguments stand for, none of which is opened. */
async function found(args: readonly string[], options: CallOptions): Promise<string[]> {
  const run = await resident(words`hash --dry-run --jsonl ${args}`, options);
  expect(run).toMatchObject({ status: 0 });
  return linesOf(run).map(({ inputFilename }) => inputFilename);
}

describe('input files', () => {
  it('are processed in the given order, and once each for several paths of one file', async () => {
    const cwd = await folderWith('b.jpg', 'a.jpg');
    const { names, status } = await hashed(
      ['b.jpg', 'a.jpg', './b.jpg', join(cwd, 'a.jpg'), `../${cwd.split('/').at(-1)}/b.jpg`],
      { cwd },
    );
    expect(names).toEqual(['b.jpg', 'a.jpg']);
    expect(status).toBe(0);
  });

  it('that do not exist fail, and the others succeed', async () => {
    const cwd = await folderWith('a.jpg', 'b.jpg');
    const result = await hashed(['a.jpg', 'missing.jpg', '', 'b.jpg/inside.jpg', 'b.jpg'], { cwd });
    expect(result.status).toBe(1);
    expect(result.outcomes).toEqual([
      ['a.jpg', 'succeeded'],
      ['missing.jpg', 'not_found'],
      ['', 'not_found'],
      ['b.jpg/inside.jpg', 'not_found'],
      ['b.jpg', 'succeeded'],
    ]);
  });

  it('may have any valid file name', async () => {
    const names = [
      'new\nline.jpg',
      'escape\u001b[31m.jpg',
      'bidi\u202egpj.jpg',
      'a.jpg[page=1]',
      'sp ace .jpg',
      'quote\'".jpg',
      '$HOME`id`;&|.jpg',
      `${'x'.repeat(251)}.jpg`,
      `${'é'.repeat(125)}x.jpg`,
      '~.jpg',
      'no extension',
      'Ünï.JPG',
    ];
    const cwd = await folderWith(...names);
    expect(await hashed(names, { cwd })).toMatchObject({
      status: 0,
      outcomes: names.map((name) => [name, 'succeeded']),
    });
  });

  it('with a leading dash are accepted after --', async () => {
    const cwd = await folderWith('-q.jpg', '--json', 'a.jpg');
    expect(await hashed(['--', '-q.jpg', '--json', 'a.jpg'], { cwd })).toMatchObject({
      status: 0,
      names: ['-q.jpg', '--json', 'a.jpg'],
    });
    const { status, stderr } = await resident(['hash', '-z.jpg'], { cwd });
    expect({ status, stderr }).toEqual({
      status: 2,
      stderr: "oriel: unknown option '-z.jpg'; ./-z.jpg names a file\n(see --help)\n",
    });
  });

  it('with brackets in their names are opened without parsing libvips options', async () => {
    const cwd = await folderWith('a.jpg[shrink=4]', 'b.png[0]');
    const run = await resident(words`convert --format webp --jsonl a.jpg[shrink=4] b.png[0]`, {
      cwd,
    });
    expect(linesOf(run)).toMatchObject([
      { width: 48, height: 32 },
      { width: 48, height: 32 },
    ]);
  });

  it('that are symbolic links are followed', async () => {
    const cwd = await folderWith('real.jpg');
    symlinkSync('real.jpg', join(cwd, 'link.jpg'));
    symlinkSync('nowhere', join(cwd, 'dangling.jpg'));
    symlinkSync('loop.jpg', join(cwd, 'loop.jpg'));
    const result = await hashed(['link.jpg', 'dangling.jpg', 'loop.jpg'], { cwd });
    expect(result.status).toBe(1);
    expect(result.outcomes).toEqual([
      ['link.jpg', 'succeeded'],
      ['dangling.jpg', 'not_found'],
      ['loop.jpg', 'read_failed'],
    ]);
    expect(result.messages[2]).toBe('cannot be read: too many symbolic links');
  });

  it('that are pipes or devices fail without blocking', async () => {
    const cwd = await folderWith('a.jpg');
    execFileSync('mkfifo', [join(cwd, 'pipe.jpg')]);
    const result = await hashed(['pipe.jpg', '/dev/zero', '/dev/null', 'a.jpg'], { cwd });
    const refused = 'cannot be read: not a regular file';
    expect(result.status).toBe(1);
    expect(result.messages).toEqual([refused, refused, refused, undefined]);
    expect(result.outcomes[0]).toEqual(['pipe.jpg', 'read_failed']);
  });

  it('with too long names fail with that reason', async () => {
    const cwd = await folderWith('a.jpg');
    const result = await hashed([`${'n'.repeat(300)}.jpg`, 'a.jpg'], { cwd });
    expect(result.messages).toEqual(['cannot be read: the name is too long', undefined]);
  });

  it('whose names are not UTF-8 fail with that reason', async () => {
    const cwd = await folderWith('a.jpg');
    writeFileSync(
      Buffer.concat([Buffer.from(`${cwd}/latin`), Buffer.from([0xe9, 0x2e]), Buffer.from('jpg')]),
      'x',
    );
    const named = await shell(String.raw`oriel hash --jsonl "$(printf 'latin\351.jpg')"`, { cwd });
    const found = await resident(words`hash --jsonl -r .`, { cwd });
    const matched = await resident(words`hash --jsonl lat*`, { cwd });
    for (const run of [named, found, matched]) {
      expect(linesOf(run).at(-1)).toMatchObject({
        inputFilename: 'latin\ufffd.jpg',
        error: { code: 'not_found', message: 'its name is not UTF-8; rename the file' },
      });
    }
  });
});

describe('input folders', () => {
  it('without --recursive fail, and the other inputs succeed', async () => {
    const cwd = await folderWith('album/a.jpg', 'b.jpg');
    const result = await hashed(['album', 'b.jpg'], { cwd });
    expect(result).toMatchObject({
      status: 1,
      outcomes: [
        ['album', 'is_directory'],
        ['b.jpg', 'succeeded'],
      ],
    });
    expect(result.messages[0]).toContain('--recursive');
  });

  it('with --recursive add files with image extensions in any case, and no others', async () => {
    const images = ['a.jpg', 'b.JPEG', 'c.Png', 'sub/d.webp', 'sub/sub/e.TIF', 'f.bmp', 'g.heic'];
    const others = ['notes.txt', 'jpg', 'h.jpg.bak', '.hidden.jpg', '.cache/i.jpg', 'sub/.j.png'];
    const cwd = await folderWith(...images, ...others);
    mkdirSync(join(cwd, 'folder.jpg'));
    expect(await found(['-r', '.'], { cwd })).toEqual([...images].sort());
  });

  it('skip and count files of formats that are not read, which fail with --strict', async () => {
    const cwd = await folderWith('in/a.jpg', 'in/really-a-jpeg.heic');
    writeFileSync(join(cwd, 'in/b.heic'), '8BPS\0\x01', 'latin1');
    writeFileSync(join(cwd, 'in/c.svg'), '<svg xmlns="http://www.w3.org/2000/svg"/>');
    const convert = words`convert --format webp --jsonl --overwrite --out out`;
    const run = await resident(words`${convert} -r in --fail-fast`, { cwd });
    expect(run.status).toBe(0);
    expect(linesOf(run)).toMatchObject([
      { inputFilename: 'in/a.jpg', status: 'succeeded' },
      { inputFilename: 'in/b.heic', status: 'skipped', reason: { code: 'unsupported_format' } },
      {
        inputFilename: 'in/c.svg',
        status: 'skipped',
        reason: { message: 'SVG images are not read without --allow-svg' },
      },
      { inputFilename: 'in/really-a-jpeg.heic', status: 'succeeded' },
    ]);
    expect(run.stderr).toMatch(/^2 of 4 files done, 2 skipped \(format not read\): /);

    const strict = await resident(words`${convert} -r in --strict`, { cwd });
    const named = await resident(words`${convert} in/b.heic in/c.svg`, { cwd });
    for (const { status, stderr } of [strict, named]) {
      expect({ status, failed: / 2 failed/.test(stderr) }).toEqual({ status: 1, failed: true });
    }
  });

  it('report files with an image extension and other content as failed', async () => {
    const cwd = await folderWith('a.jpg');
    writeFileSync(join(cwd, 'zeros.jpg'), Buffer.alloc(100));
    const run = await resident(words`convert --format webp -r . --jsonl`, { cwd });
    expect(run.status).toBe(1);
    expect(outcomes(linesOf(run))[1]).toEqual(['zeros.jpg', 'unsupported_format']);
  });

  it('keep their subfolders below --out', async () => {
    const cwd = await folderWith('in/a.jpg', 'in/sub/a.jpg', 'in/sub/deep/b.png', 'other/a.png');
    const { status } = await resident(
      words`convert --format webp -r in other/ --out small --quiet`,
      {
        cwd,
      },
    );
    // in/a.jpg and other/a.png would both be small/a.webp.
    expect(status).toBe(2);
    const { stderr } = await resident(words`convert --format webp -r ./in/ --out small --quiet`, {
      cwd,
    });
    expect(stderr).toBe('');
    expect(filesBelow(join(cwd, 'small'))).toEqual(['a.webp', 'sub/a.webp', 'sub/deep/b.webp']);
  });

  it('exclude the output folder of an earlier run inside them', async () => {
    const cwd = await folderWith('a.jpg', 'sub/b.jpg');
    const args = words`convert --format jpeg -r . --out ./out/small --quiet`;
    expect(await resident(args, { cwd })).toMatchObject({ status: 0, stderr: '' });
    const after = contentBelow(cwd);
    expect([...after.keys()]).toEqual([
      'a.jpg',
      'out/small/a.jpg',
      'out/small/sub/b.jpg',
      'sub/b.jpg',
    ]);
    expect(await resident([...args, '--skip-existing'], { cwd })).toMatchObject({
      status: 0,
      stderr: '',
    });
    expect(contentBelow(cwd)).toEqual(after);
  });

  it('include their files where they are the output folder', async () => {
    const cwd = await folderWith('a.jpg', 'sub/b.jpg');
    const run = await resident(words`convert --format webp -r . --out . -q`, { cwd });
    expect(run).toMatchObject({ status: 0, stderr: '' });
    expect(filesBelow(cwd)).toEqual(['a.jpg', 'a.webp', 'sub/b.jpg', 'sub/b.webp']);
  });

  it('follow links to files and no links to folders', async () => {
    const cwd = await folderWith('album/a.jpg', 'album/sub/b.jpg', 'elsewhere/c.jpg');
    const link = (target: string, path: string) => symlinkSync(target, join(cwd, path));
    link('..', 'album/sub/up');
    link('.', 'album/self');
    link('../elsewhere', 'album/away');
    link('../elsewhere/c.jpg', 'album/c.jpg');
    link('nowhere.jpg', 'album/dangling.jpg');
    link('loop.jpg', 'album/loop.jpg');
    const walked = await hashed(['-r', 'album'], { cwd });
    expect(walked.outcomes).toEqual([
      ['album/a.jpg', 'succeeded'],
      ['album/c.jpg', 'succeeded'],
      ['album/dangling.jpg', 'not_found'],
      ['album/loop.jpg', 'read_failed'],
      ['album/sub/b.jpg', 'succeeded'],
    ]);
    // A link that was named is followed: that is what it was named for.
    link('album', 'named');
    expect(await found(['-r', 'named/sub'], { cwd })).toEqual(['named/sub/b.jpg']);
  });

  it('with pipes and devices in them are read without blocking', async () => {
    const cwd = await folderWith('a.jpg');
    execFileSync('mkfifo', [join(cwd, 'pipe.jpg')]);
    symlinkSync('pipe.jpg', join(cwd, 'link.jpg'));
    expect(await found(['-r', '.'], { cwd })).toEqual(['a.jpg']);
  });

  it('without images exit with 1 and a message', async () => {
    const cwd = await folderWith('notes.txt');
    for (const args of [
      words`hash -r .`,
      words`hash --files-from -`,
      words`convert --format png -r .`,
    ]) {
      const { status, out, stderr } = await resident(args, { cwd });
      expect({ status, out, stderr }).toEqual({
        status: 1,
        out: '',
        stderr: 'oriel: no image was found\n',
      });
    }
    const args = words`convert --format png --json --zip all.zip -r .`;
    const { status, out } = await resident(args, { cwd });
    expect([status, JSON.parse(out).summary.total]).toEqual([1, 0]);
    expect(filesBelow(cwd)).toEqual(['notes.txt']);
  });
});

describe('unreadable inputs', () => {
  it('fail with permission denied, and the other inputs succeed', async ({ skip }) => {
    const cwd = await folderWith('a.jpg', 'closed.jpg', 'closed/b.jpg', 'open/c.jpg');
    handOver(cwd);
    chmodSync(join(cwd, 'closed.jpg'), 0o000);
    chmodSync(join(cwd, 'closed'), 0o000);
    try {
      const options = { cwd, unprivileged: true };
      const able = await startProgram('true', [], options).ended.then(
        () => oriel(['--version'], options),
        () => null,
      );
      if (able?.status !== 0) skip('an unprivileged user cannot run this checkout');
      const denied = 'cannot be read: permission denied';
      const walked = hashedBy(await oriel(words`${HASH} -r .`, options));
      expect(walked.names).toEqual(['a.jpg', 'closed', 'closed.jpg', 'open/c.jpg']);
      expect(walked.messages).toEqual([undefined, denied, denied, undefined]);
      expect(walked.outcomes.slice(1, 3).map(([, code]) => code)).toEqual([
        'read_failed',
        'read_failed',
      ]);
      expect(walked.status).toBe(1);
      const named = hashedBy(
        await oriel(words`${HASH} closed/b.jpg closed/*.jpg a.jpg closed.jpg`, options),
      );
      expect(named.messages).toEqual([denied, denied, undefined, denied]);
      const recipe = await oriel(words`run closed/r.yaml a.jpg`, options);
      expect(recipe.stderr).toBe('oriel: closed/r.yaml: no permission to read it\n');
      expect(recipe.status).toBe(2);
    } finally {
      // Otherwise only root could remove it.
      chmodSync(join(cwd, 'closed'), 0o700);
    }
  });
});

describe('glob patterns', () => {
  it('in quotes are expanded and sorted', async () => {
    const cwd = await folderWith('b.jpg', 'a.JPG', 'c.png', 'sub/d.jpg', 'sub/sub/e.jpg', '.f.jpg');
    const find = (...args: string[]) => found(args, { cwd });
    expect(await find('*.jpg')).toEqual(['a.JPG', 'b.jpg']);
    expect(await find('**/*.jpg')).toEqual(['a.JPG', 'b.jpg', 'sub/d.jpg', 'sub/sub/e.jpg']);
    expect(await find('[ab].*', 'sub/?.jpg')).toEqual(['a.JPG', 'b.jpg', 'sub/d.jpg']);
    expect(await find('{c,b}.{png,jpg}', '*.jpg')).toEqual(['b.jpg', 'c.png', 'a.JPG']);
    expect(await find(`${cwd}/sub/*`)).toEqual([`${cwd}/sub/d.jpg`]);
    expect(await find('sub/../*.png')).toEqual(['c.png']);
  });

  it('may start with ../', async () => {
    const folder = await folderWith('a.jpg', 'work/b.jpg');
    const cwd = join(folder, 'work');
    expect(await found(['../*.jpg', '*.jpg'], { cwd })).toEqual(['../a.jpg', 'b.jpg']);
  });

  it('without a match fail, and the other inputs succeed', async () => {
    const cwd = await folderWith('a.jpg');
    expect(await hashed(['*.gif', '[', 'a.jpg'], { cwd })).toMatchObject({
      status: 1,
      outcomes: [
        ['*.gif', 'not_found'],
        ['[', 'not_found'],
        ['a.jpg', 'succeeded'],
      ],
    });
  });

  it('that are names of existing files select these files', async () => {
    const special = ['*.jpg', '[a].jpg', 'what?.jpg', '{a,b}.jpg'];
    const cwd = await folderWith(...special, 'a.jpg', 'whatX.jpg');
    expect(await hashed(special, { cwd })).toMatchObject({ status: 0, names: special });
    rmSync(join(cwd, '*.jpg'));
    expect(await found(['*.jpg'], { cwd })).toEqual(
      ['[a].jpg', 'a.jpg', 'what?.jpg', 'whatX.jpg', '{a,b}.jpg'].sort(),
    );
  });

  it('with ** follow no links to folders', async () => {
    const cwd = await folderWith('album/a.jpg', 'album/sub/b.jpg');
    symlinkSync('..', join(cwd, 'album/sub/up'));
    symlinkSync('a.jpg', join(cwd, 'album/link.jpg'));
    const find = (pattern: string) => found([pattern], { cwd });
    expect(await find('album/**/*.jpg')).toEqual([
      'album/a.jpg',
      'album/link.jpg',
      'album/sub/b.jpg',
    ]);
    expect(await find('album/sub/up/*.jpg')).toEqual([
      'album/sub/up/a.jpg',
      'album/sub/up/link.jpg',
    ]);
  });

  it('keep subfolders below their fixed part with --recursive only', async () => {
    const cwd = await folderWith('in/a.jpg', 'in/sub/b.jpg');
    const convert = words`convert --format webp in/**/*.jpg -q --out`;
    await resident([...convert, 'flat'], { cwd });
    await resident(words`${convert} tree -r`, { cwd });
    expect(filesBelow(join(cwd, 'flat'))).toEqual(['a.webp', 'b.webp']);
    expect(filesBelow(join(cwd, 'tree'))).toEqual(['a.webp', 'sub/b.webp']);
  });
});

describe('--files-from', () => {
  const cases: readonly [string, string, string[]][] = [
    ['one name a line', 'a.jpg\nb c.jpg\n', ['a.jpg', 'b c.jpg']],
    ['no newline at the end', 'a.jpg\nb c.jpg', ['a.jpg', 'b c.jpg']],
    ['carriage returns', 'a.jpg\r\nb c.jpg\r\n', ['a.jpg', 'b c.jpg']],
    ['a byte order mark', '\ufeffa.jpg\nb c.jpg', ['a.jpg', 'b c.jpg']],
    ['empty lines', '\n\na.jpg\n\n\nb c.jpg\n\n', ['a.jpg', 'b c.jpg']],
    ['NUL between names', 'a.jpg\0new\nline.jpg\0', ['a.jpg', 'new\nline.jpg']],
    [
      'spaces that belong to names',
      'a.jpg\n lead.jpg\ntrail.jpg \n',
      ['a.jpg', ' lead.jpg', 'trail.jpg '],
    ],
    ['glob patterns', '*.jpg\n', [' lead.jpg', 'a.jpg', 'b c.jpg', 'new\nline.jpg']],
    ['names with a dash in front', '-d.png\n--json\na.jpg\n', ['-d.png', '--json', 'a.jpg']],
  ];
  const files = [
    'a.jpg',
    'b c.jpg',
    'new\nline.jpg',
    ' lead.jpg',
    'trail.jpg ',
    '-d.png',
    '--json',
  ];

  it.each(cases)('reads %s', async (_, list, expected) => {
    const cwd = await folderWith(...files);
    writeFileSync(join(cwd, 'list'), list);
    expect(await found(['--files-from', 'list'], { cwd })).toEqual(expected);
  });

  it('reads standard input for -', async () => {
    const cwd = await folderWith('a.jpg', 'b.jpg');
    const input = 'a.jpg\nb.jpg\n';
    expect(await found(['--files-from', '-'], { cwd, input })).toEqual(['a.jpg', 'b.jpg']);
  });

  it('adds to the arguments, each file once', async () => {
    const cwd = await folderWith('a.jpg', 'b.jpg');
    const { names } = await hashed(['b.jpg', '--files-from', '-'], {
      cwd,
      input: './b.jpg\na.jpg\nmissing.jpg\n',
    });
    expect(names).toEqual(['b.jpg', 'a.jpg', 'missing.jpg']);
  });

  it('reads paths separated by NUL, as of find -print0', async () => {
    const cwd = await folderWith('a.jpg', 'sub/new\nline.jpg');
    const run = await shell(
      `find . -name '*.jpg' -print0 | sort -z | oriel hash --jsonl --files-from -`,
      { cwd },
    );
    expect(linesOf(run).map(({ inputFilename }) => inputFilename)).toEqual([
      './a.jpg',
      './sub/new\nline.jpg',
    ]);
  });

  it('exits with 2 where the list cannot be read', async () => {
    const cwd = await folderWith('a.jpg');
    for (const list of ['missing', '.']) {
      const { status, out, stderr } = await resident(words`hash a.jpg --files-from ${list}`, {
        cwd,
      });
      expect({ status, out }).toEqual({ status: 2, out: '' });
      expect(stderr).toMatch(/^oriel: --files-from \S+ cannot be read: (no|illegal) [a-z ]+\n$/);
    }
  });
});

describe('no inputs', () => {
  it.each([[['hash']], [words`convert --format webp`], [['hash', '--recursive']], [['size-map']]])(
    'exit with 2: %j',
    async (args) => {
      expect(await resident(args)).toMatchObject({
        status: 2,
        out: '',
        stderr:
          'oriel: no input: name files, folders with --recursive, quoted patterns, or - for standard input\n',
      });
    },
  );
});
