import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Command } from '../measure.ts';
import { installPackages } from '../peers.ts';
import type { Contender, Run } from '../race.ts';
import { built, type Log } from '../trial.ts';
import type { Work } from './contenders/work.ts';
import type { Inputs } from './corpus.ts';

/** The project's folder, from the compiled place test/bench/.out/images. */
const project = fileURLToPath(new URL('../../../../', import.meta.url));
const binary = join(project, 'dist/bin/oriel.cjs');
const cores = availableParallelism();

/** Peers from the registry, at exact versions so that the figures of two runs can be compared. */
const packages: Record<string, string> = {
  'sharp-cli': '6.1.0',
  colorthief: '3.5.0',
  'node-vibrant': '4.0.4',
  'image-q': '4.0.0',
  '@lokesh.dhakar/quantize': '1.4.0',
};

/** Contenders on Node: Oriel, the minimal scripts and peers of the registry. Each method makes a contender. */
export class Scripts {
  readonly #folder: string;
  readonly versions: Record<string, string>;

  /** Installs missing packages, and copies the minimal scripts beside them. */
  constructor(scratch: string, log: Log) {
    const { dependencies } = JSON.parse(readFileSync(join(project, 'package.json'), 'utf8')) as {
      dependencies: Record<string, string>;
    };
    const own = { sharp: dependencies['sharp']!, piscina: dependencies['piscina']! };
    this.#folder = join(scratch, 'packages');
    this.versions = { piscina: own.piscina, ...packages };
    installPackages(this.#folder, { ...own, ...packages }, log);
    const compiled = fileURLToPath(new URL('./contenders/', import.meta.url));
    mkdirSync(join(this.#folder, 'scripts'), { recursive: true });
    for (const name of readdirSync(compiled)) {
      copyFileSync(join(compiled, name), join(this.#folder, 'scripts', name));
    }
  }

  /**
   * Oriel as it is built.
   *
   * @param args arguments before the files: a command line, or a function of the run
   */
  oriel(settings: string, args: string | ((run: Run) => string[]), inputs?: Inputs): Contender {
    const given = typeof args === 'string' ? () => args.split(' ') : args;
    // Ten thousand names exceed the length of a command line: such work is given as a folder.
    const named = inputs?.files ?? [];
    const files = named.length > 1000 ? ['--recursive', inputs!.folder] : named;
    return {
      name: 'oriel',
      role: 'subject',
      settings,
      absent: existsSync(binary) ? undefined : 'not built: dist/bin/oriel.cjs is missing',
      sameEncoder: true,
      command: (run) => ({ file: process.execPath, args: [binary, ...given(run), ...files] }),
    };
  }

  /** Oriel with a command that writes files. */
  orielWriting(command: string, inputs: Inputs): Contender {
    const settings = command.slice(command.indexOf(' ') + 1);
    const args = ({ folder }: Run) => [...command.split(' '), '--out', folder, '--quiet'];
    return this.oriel(settings, args, inputs);
  }

  /** Several commands, in which `oriel` is the built one, over the files `$@` into the folder `$0`. */
  shell(name: string, settings: string, { files }: Inputs, lines: readonly string[]): Contender {
    const script = ['set -e', 'oriel() { "$NODE" "$BINARY" "$@"; }', ...lines].join('\n');
    return this.#peer(name, settings, ({ folder }) => ({
      file: 'sh',
      args: ['-c', script, folder, ...files],
      env: { NODE: process.execPath, BINARY: binary },
    }));
  }

  /** Oriel's search for similar hashes, and as the limit the hashes alone. */
  duplicates(hashes: number, threshold: number): Contender[] {
    const module = built('images/similarity/similar.js');
    const script = (...more: string[]) =>
      this.#node('scripts/duplicates.js', `${hashes}`, module, ...more);
    return [
      { ...this.#peer('limit', 'the hashes alone', () => script()), role: 'limit' },
      {
        ...this.#peer('oriel', `threshold ${threshold}`, () => script(`${threshold}`)),
        role: 'subject',
      },
    ];
  }

  /** The limit of image work: a minimal sharp program, with two or more files in flight. */
  limit(work: Work, inputs: Inputs): Contender {
    const settings = `${cores} in flight, sharp.concurrency(1), no cache`;
    return { ...this.#script('limit', 'loop.js', settings, work, inputs), role: 'limit' };
  }

  /** The two fastest minimal sharp programs. */
  loops(work: Work, inputs: Inputs): Contender[] {
    const settings = `${cores} threads, paths in, no cache`;
    const pool = this.#script('piscina', 'pool.js', settings, work, inputs);
    return [this.limit(work, inputs), pool];
  }

  naive(work: Work, inputs: Inputs): Contender {
    return this.#script('naive', 'naive.js', 'Promise.all, sharp with its defaults', work, inputs);
  }

  #script(name: string, file: string, settings: string, work: Work, { list }: Inputs): Contender {
    const command = ({ folder }: Run) =>
      this.#node(`scripts/${file}`, JSON.stringify(work), list, folder);
    return { ...this.#peer(name, settings, command), sameEncoder: true };
  }

  #peer(name: string, settings: string, command: (run: Run) => Command): Contender {
    return { name, role: 'peer', settings, command };
  }

  #node(file: string, ...args: string[]): Command {
    return { file: process.execPath, args: [join(this.#folder, file), ...args] };
  }

  /** The limit of digests. */
  hashLimit({ list }: Inputs): Contender {
    const settings = `readFile ${cores} in flight, crypto`;
    const command = () => this.#node('scripts/hash-loop.js', list);
    return { ...this.#peer('limit', settings, command), role: 'limit' };
  }

  /** The limit of starting. */
  nodeStart(): Contender {
    const command = () => ({ file: process.execPath, args: ['-e', '0'] });
    return { ...this.#peer('limit', 'node -e 0', command), role: 'limit' };
  }

  palettePeer(name: string, settings: string, count: number, { list }: Inputs): Contender {
    const command = () => this.#node('scripts/palette-peer.js', name, String(count), list);
    return this.#peer(name, settings, command);
  }

  /** sharp-cli over files, or without inputs the program alone. */
  sharpCli(options: string, inputs?: Inputs): Contender {
    const command = ({ folder }: Run) =>
      this.#node(
        'node_modules/sharp-cli/bin/cli.js',
        ...(inputs ? ['-i', ...inputs.files, '-o', folder] : []),
        ...options.split(' '),
      );
    return { ...this.#peer('sharp-cli', options, command), sameEncoder: inputs !== undefined };
  }
}
