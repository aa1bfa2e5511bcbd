import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { findProgram, type Program } from '../peers.ts';
import type { Contender, Run } from '../race.ts';
import { missing, versionsOf } from '../trial.ts';
import type { Files } from './trial.ts';

const cores = availableParallelism();

const mogrifyProgram = findProgram('mogrify', 'imagemagick');

/** Installed image programs of the system. */
const PROGRAMS = {
  vips: findProgram('vips', 'libvips-tools'),
  vipsthumbnail: findProgram('vipsthumbnail', 'libvips-tools'),
  vipsheader: findProgram('vipsheader', 'libvips-tools'),
  cwebp: findProgram('cwebp', 'webp'),
  avifenc: findProgram('avifenc', 'libavif-bin'),
  mogrify: mogrifyProgram,
  // Other programs are called convert too, for example a file system tool on Windows: only ImageMagick's is used.
  convert: findProgram('convert', 'imagemagick', mogrifyProgram),
  identify: findProgram('identify', 'imagemagick', mogrifyProgram),
  'gm convert': findProgram('gm', 'graphicsmagick'),
  exiftool: findProgram('exiftool', 'libimage-exiftool-perl'),
  sha256sum: findProgram('sha256sum', 'coreutils'),
  openssl: findProgram('openssl', 'openssl'),
} satisfies Record<string, Program>;

type Name = keyof typeof PROGRAMS;

/** One thread for each process, where as many processes as cores run. */
const ENVIRONMENT: Partial<Record<Name, Record<string, string>>> = {
  vips: { VIPS_CONCURRENCY: '1' },
  vipsthumbnail: { VIPS_CONCURRENCY: '1' },
  convert: { MAGICK_THREAD_LIMIT: '1' },
  'gm convert': { OMP_NUM_THREADS: '1' },
};

export function programVersions(): Record<string, string> {
  return versionsOf({
    'vips (system)': [PROGRAMS.vips, '--version'],
    cwebp: [PROGRAMS.cwebp, '-version'],
    avifenc: [PROGRAMS.avifenc, '--version'],
    ImageMagick: [PROGRAMS.mogrify, '-version'],
    GraphicsMagick: [PROGRAMS['gm convert'], 'version'],
    ExifTool: [PROGRAMS.exiftool, '-ver'],
    sha256sum: [PROGRAMS.sha256sum, '--version'],
    OpenSSL: [PROGRAMS.openssl, 'version'],
  });
}

function peer(
  name: Name,
  settings: string,
  command: (file: string, run: Run) => ReturnType<Contender['command']>,
): Contender {
  const program = PROGRAMS[name];
  const absent = missing(program);
  const env = ENVIRONMENT[name] ?? {};
  const start = (run: Run) => ({ env, ...command(program.file!, run) });
  return { name, role: 'peer', settings, absent, command: start };
}

/** All files in one process. */
export function whole(name: Name, options: string, { files }: Pick<Files, 'files'>): Contender {
  const settings = [options, 'one process'].filter(Boolean).join(', ');
  return peer(name, settings, (file) => ({ file, args: [...words(options), ...files] }));
}

/** ImageMagick, all files in one process with its own threads. */
export function mogrify(options: string, { files }: Files): Contender {
  return peer('mogrify', `${options}, one process`, (file, { folder }) => ({
    file,
    args: ['-path', folder, ...words(options), ...files],
  }));
}

/** The files split among two processes for each core, so that the cores end together. */
function shared(
  name: Name,
  settings: string,
  { files, list }: Files,
  args: (file: string, run: Run) => readonly string[],
): Contender {
  const share = Math.ceil(files.length / (cores * 2));
  return peer(name, `${settings}, xargs -P${cores}`, (file, run) => ({
    file: 'xargs',
    args: ['-0', '-P', `${cores}`, '-n', `${share}`, ...args(file, run)],
    stdin: list,
  }));
}

export function vipsthumbnail(size: string, output: string, inputs: Files): Contender {
  const settings = `--size ${size} -o %s${output}`;
  return shared('vipsthumbnail', settings, inputs, (file, { folder }) => {
    return [file, '--size', size, '-o', join(folder, `%s${output}`)];
  });
}

/** A program that prints a digest for each file. */
export function digests(name: Name, options: string, inputs: Files): Contender {
  // Concurrent processes that print to one file would interleave their lines.
  const apart = ['sh', '-c', 'exec "$@" > "$0/$$"'];
  return shared(name, options || 'no options', inputs, (file, { folder }) => {
    return [...apart, folder, file, ...words(options)];
  });
}

interface Parts {
  readonly before?: string;
  readonly middle?: string;
  /** File extension, with options of vips. */
  readonly output: string;
  readonly after?: string;
}

/** A process for each file on every core: `PROGRAM before INPUT middle OUTPUT after`. */
export function each(
  name: Name,
  { list }: Files,
  { before = '', middle = '', output, after = '' }: Parts,
): Contender {
  const shown = [before, middle.replace(/^-o$/, ''), output.replace(/^\.\w+/, ''), after];
  const options = shown.filter(Boolean).join(' ');
  return peer(name, `${options}, xargs -P${cores}`, (file, { folder }) => {
    const script =
      `name=\${1##*/}; exec '${file}' ${before} "$1" ${middle} ` +
      `"$0/\${name%.*}${output}" ${after}`;
    return {
      file: 'xargs',
      args: ['-0', '-P', `${cores}`, '-n', '1', 'sh', '-c', script, folder],
      stdin: list,
    };
  });
}

const words = (options: string): string[] => options.split(' ').filter(Boolean);
