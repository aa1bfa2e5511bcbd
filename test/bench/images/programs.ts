import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { findProgram, type Program, programVersion } from '../peers.ts';
import type { Contender, Run } from '../race.ts';
import type { Inputs } from './corpus.ts';

const cores = availableParallelism();

/** Installed image programs of the system. Each method makes a contender. */
export class Programs {
  readonly #vips = findProgram('vips', 'libvips-tools');
  readonly #vipsthumbnail = findProgram('vipsthumbnail', 'libvips-tools');
  readonly #vipsheader = findProgram('vipsheader', 'libvips-tools');
  readonly #cwebp = findProgram('cwebp', 'webp');
  readonly #avifenc = findProgram('avifenc', 'libavif-bin');
  readonly #mogrify = findProgram('mogrify', 'imagemagick');
  // Other programs are called convert too, for example a file system tool on Windows: only ImageMagick's is used.
  readonly #convert = findProgram('convert', 'imagemagick', this.#mogrify);
  readonly #identify = findProgram('identify', 'imagemagick', this.#mogrify);
  readonly #gm = findProgram('gm', 'graphicsmagick');
  readonly #exiftool = findProgram('exiftool', 'libimage-exiftool-perl');
  readonly #sha256sum = findProgram('sha256sum', 'coreutils');
  readonly #openssl = findProgram('openssl', 'openssl');

  readonly versions: Record<string, string> = {
    'vips (system)': programVersion(this.#vips, ['--version']),
    cwebp: programVersion(this.#cwebp, ['-version']),
    avifenc: programVersion(this.#avifenc, ['--version']),
    ImageMagick: programVersion(this.#mogrify, ['-version']),
    GraphicsMagick: programVersion(this.#gm, ['version']),
    ExifTool: programVersion(this.#exiftool, ['-ver']),
    sha256sum: programVersion(this.#sha256sum, ['--version']),
    OpenSSL: programVersion(this.#openssl, ['version']),
  };

  vips(operation: string, after: string, extension: string, inputs: Inputs): Contender {
    return this.#each('vips', this.#vips, inputs, {
      before: operation,
      output: extension,
      after,
      env: { VIPS_CONCURRENCY: '1' },
    });
  }

  cwebp(options: string, inputs: Inputs): Contender {
    return this.#each('cwebp', this.#cwebp, inputs, {
      before: options,
      middle: '-o',
      output: '.webp',
    });
  }

  avifenc(options: string, inputs: Inputs): Contender {
    return this.#each('avifenc', this.#avifenc, inputs, { before: options, output: '.avif' });
  }

  /** ImageMagick, one process a file on every core. `hint` comes before the file. */
  convert(options: string, extension: string, inputs: Inputs, hint = ''): Contender {
    return this.#each('convert', this.#convert, inputs, {
      before: hint,
      middle: options,
      output: extension,
      env: { MAGICK_THREAD_LIMIT: '1' },
    });
  }

  graphicsMagick(options: string, extension: string, inputs: Inputs, hint: string): Contender {
    return this.#each('gm convert', this.#gm, inputs, {
      before: `convert ${hint}`,
      middle: options,
      output: extension,
      env: { OMP_NUM_THREADS: '1' },
    });
  }

  /** ImageMagick, all files in one process with its own threads. */
  mogrify(options: string, { files }: Inputs): Contender {
    return {
      name: 'mogrify',
      role: 'peer',
      settings: `${options}, one process`,
      absent: missing(this.#mogrify),
      command: ({ folder }) => ({
        file: this.#mogrify.file!,
        args: ['-path', folder, ...words(options), ...files],
      }),
    };
  }

  vipsthumbnail(size: string, output: string, inputs: Inputs): Contender {
    return {
      ...this.#shared(
        'vipsthumbnail',
        this.#vipsthumbnail,
        `--size ${size} -o %s${output}`,
        inputs,
        {
          args: ({ folder }) => ['--size', size, '-o', join(folder, `%s${output}`)],
          env: { VIPS_CONCURRENCY: '1' },
        },
      ),
    };
  }

  sha256sum(inputs: Inputs): Contender {
    return this.#shared('sha256sum', this.#sha256sum, 'no options', inputs, {
      args: () => [],
      prints: true,
    });
  }

  openssl(inputs: Inputs): Contender {
    const options = 'dgst -sha256 -r';
    return this.#shared('openssl', this.#openssl, options, inputs, {
      args: () => words(options),
      prints: true,
    });
  }

  vipsheader({ files }: Inputs): Contender {
    return this.#whole('vipsheader', this.#vipsheader, '', files);
  }

  exiftool({ files }: Inputs): Contender {
    return this.#whole('exiftool', this.#exiftool, '-json -fast', files);
  }

  identify({ files }: Inputs): Contender {
    return this.#whole('identify', this.#identify, '-ping', files);
  }

  vipsVersion(): Contender {
    return this.#whole('vips', this.#vips, '--version', []);
  }

  mogrifyVersion(): Contender {
    return this.#whole('mogrify', this.#mogrify, '-version', []);
  }

  /** All files in one process. */
  #whole(name: string, program: Program, options: string, files: readonly string[]): Contender {
    return {
      name,
      role: 'peer',
      settings: [options, 'one process'].filter(Boolean).join(', '),
      absent: missing(program),
      command: () => ({ file: program.file!, args: [...words(options), ...files] }),
    };
  }

  /** The files split among two processes for each core, so that the cores end together. */
  #shared(
    name: string,
    program: Program,
    settings: string,
    { files, list }: Inputs,
    parts: { args(run: Run): readonly string[]; env?: Record<string, string>; prints?: boolean },
  ): Contender {
    const { args, env = {}, prints = false } = parts;
    // Concurrent processes that print to one file would interleave their lines.
    const apart = (folder: string) => ['sh', '-c', 'exec "$@" > "$0/$$"', folder];
    const share = Math.ceil(files.length / (cores * 2));
    return {
      name,
      role: 'peer',
      settings: `${settings}, xargs -P${cores}`,
      absent: missing(program),
      command: (run) => ({
        file: 'xargs',
        args: [
          ...['-0', '-P', `${cores}`, '-n', `${share}`],
          ...(prints ? apart(run.folder) : []),
          ...[program.file!, ...args(run)],
        ],
        stdin: list,
        env,
      }),
    };
  }

  /** A process for each file: `PROGRAM before INPUT middle OUTPUT after`. */
  #each(
    name: string,
    program: Program,
    { list }: Inputs,
    parts: {
      before: string;
      middle?: string;
      output: string;
      after?: string;
      env?: Record<string, string>;
    },
  ): Contender {
    const { before, middle = '', output, after = '', env = {} } = parts;
    const script =
      `name=\${1##*/}; exec '${program.file}' ${before} "$1" ${middle} ` +
      `"$0/\${name%.*}${output}" ${after}`;
    const shown = [before, middle.replace(/^-o$/, ''), output.replace(/^\.\w+/, ''), after];
    const options = shown.filter(Boolean).join(' ');
    return {
      name,
      role: 'peer',
      settings: `${options}, xargs -P${cores}`,
      absent: missing(program),
      command: ({ folder }) => ({
        file: 'xargs',
        args: ['-0', '-P', `${cores}`, '-n', '1', 'sh', '-c', script, folder],
        stdin: list,
        env,
      }),
    };
  }
}

function missing(program: Program): string | undefined {
  return program.file === undefined ? `not installed (apt-get install ${program.from})` : undefined;
}

function words(options: string): string[] {
  return options.split(' ').filter(Boolean);
}
