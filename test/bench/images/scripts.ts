import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Command } from '../measure.ts';
import { installPackages } from '../peers.ts';
import type { Contender, Run } from '../race.ts';
import type { Work } from './contenders/work.ts';
import type { Inputs } from './corpus.ts';

/** The project's folder, from the compiled place test/bench/.out/images. */
const project = fileURLToPath(new URL('../../../../', import.meta.url));
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
  constructor(scratch: string, log: (line: string) => void) {
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

  /** Oriel as it is built. `args` come before the files. */
  oriel(settings: string, args: (run: Run) => readonly string[], inputs?: Inputs): Contender {
    const binary = join(project, 'dist/bin/oriel.cjs');
    // Ten thousand names exceed the length of a command line: such work is given as a folder.
    const named = inputs === undefined ? [] : inputs.files;
    const files = named.length > 1000 ? ['--recursive', inputs!.folder] : named;
    return {
      name: 'oriel',
      role: 'subject',
      settings,
      absent: existsSync(binary) ? undefined : 'not built: dist/bin/oriel.cjs is missing',
      sameEncoder: true,
      command: (run) => ({ file: process.execPath, args: [binary, ...args(run), ...files] }),
    };
  }

  /** Several commands, in which `oriel` is the built one, over the files `$@` into the folder `$0`. */
  shell(name: string, settings: string, { files }: Inputs, lines: readonly string[]): Contender {
    const binary = join(project, 'dist/bin/oriel.cjs');
    const script = ['set -e', 'oriel() { "$NODE" "$BINARY" "$@"; }', ...lines].join('\n');
    return {
      name,
      role: 'peer',
      settings,
      command: ({ folder }) => ({
        file: 'sh',
        args: ['-c', script, folder, ...files],
        env: { NODE: process.execPath, BINARY: binary },
      }),
    };
  }

  /** Oriel's search for similar hashes; without a threshold, only the hashes. */
  duplicates(hashes: number, threshold: number | null): Contender {
    const module = new URL('../../../.modules/src/images/similar.js', import.meta.url).href;
    const given = threshold === null ? [] : [`${threshold}`];
    return {
      name: threshold === null ? 'limit' : 'oriel',
      role: 'peer',
      settings: threshold === null ? 'the hashes alone' : `threshold ${threshold}`,
      command: () => this.#node('scripts/duplicates.js', `${hashes}`, module, ...given),
    };
  }

  /** The limit of image work: a minimal sharp program, with two or more files in flight. */
  limit(work: Work, inputs: Inputs): Contender {
    const settings = `${cores} in flight, sharp.concurrency(1), no cache`;
    return { ...this.#script('limit', 'loop.js', settings, work, inputs), role: 'limit' };
  }

  piscina(work: Work, inputs: Inputs): Contender {
    return this.#script('piscina', 'pool.js', `${cores} threads, paths in, no cache`, work, inputs);
  }

  naive(work: Work, inputs: Inputs): Contender {
    return this.#script('naive', 'naive.js', 'Promise.all, sharp with its defaults', work, inputs);
  }

  #script(name: string, file: string, settings: string, work: Work, inputs: Inputs): Contender {
    return {
      name,
      role: 'peer',
      settings,
      sameEncoder: true,
      command: ({ folder }) =>
        this.#node(`scripts/${file}`, JSON.stringify(work), inputs.list, folder),
    };
  }

  #node(file: string, ...args: string[]): Command {
    return { file: process.execPath, args: [join(this.#folder, file), ...args] };
  }

  /** The limit of digests. */
  hashLimit({ list }: Inputs): Contender {
    return {
      name: 'limit',
      role: 'limit',
      settings: `readFile ${cores} in flight, crypto`,
      command: () => this.#node('scripts/hash-loop.js', list),
    };
  }

  /** The limit of starting. */
  nodeStart(): Contender {
    return {
      name: 'limit',
      role: 'limit',
      settings: 'node -e 0',
      command: () => ({ file: process.execPath, args: ['-e', '0'] }),
    };
  }

  palettePeer(name: string, settings: string, count: number, { list }: Inputs): Contender {
    return {
      name,
      role: 'peer',
      settings,
      command: () => this.#node('scripts/palette-peer.js', name, String(count), list),
    };
  }

  sharpCli(args: readonly string[], { files }: Inputs): Contender {
    return {
      name: 'sharp-cli',
      role: 'peer',
      settings: args.join(' '),
      sameEncoder: true,
      command: ({ folder }) =>
        this.#node('node_modules/sharp-cli/bin/cli.js', '-i', ...files, '-o', folder, ...args),
    };
  }

  sharpCliVersion(): Contender {
    return {
      name: 'sharp-cli',
      role: 'peer',
      settings: '--version',
      command: () => this.#node('node_modules/sharp-cli/bin/cli.js', '--version'),
    };
  }
}
