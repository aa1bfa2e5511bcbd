import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { codedFailure } from '../../failure.ts';
import { valueOr } from '../../flow.ts';
import { PNG_PACKER } from '../../images/program-formats.ts';
import { missingPrograms } from '../../images/programs/run-program.ts';
import { workerFile } from '../../threads/threads.ts';
import type { Job } from '../definition/job.ts';

interface SharpPackage {
  readonly version: string;
  readonly optionalDependencies: Readonly<Record<string, string>>;
}

/** The version of sharp, and the texts in which its packages name the versions of libvips and its codecs. */
export function sharpPackages() {
  const entry = createRequire(import.meta.url).resolve('sharp');
  const require = createRequire(entry);
  const { version, optionalDependencies } = require('../package.json') as SharpPackage;
  const codecs = Object.keys(optionalDependencies).flatMap((name) => {
    // Not by `require`: sharp adds properties to the object that this returns.
    return valueOr(
      () => [[name, readFileSync(require.resolve(`${name}/versions`), 'utf8')] as const],
      [],
    );
  });
  return { entry, version, codecs };
}

/**
 * Everything but input and options on which a result depends: versions of sharp, libvips and its codecs, and
 * the hash of Oriel's own code that the threads run. Its bundle imports others by names that contain their
 * hashes. A version number could be forgotten when code changes.
 *
 * Read from files, because loading libvips takes longer than an unchanged run.
 *
 * @throws Failure where libvips is that of the system, of which only sharp knows the version
 */
function encoderVersions(): unknown {
  const code = createHash('sha256')
    .update(readFileSync(workerFile('image')))
    .digest('hex');
  const { entry, version, codecs } = sharpPackages();
  if (codecs.length === 0 || existsSync(join(dirname(entry), '..', 'src', 'build'))) {
    throw codedFailure(
      'usage',
      '--cache: expected the libvips that sharp brings along, found one compiled on this machine, whose version is unknown; run without --cache and --incremental',
    );
  }
  return [version, codecs, code];
}

/** Keys of operations with their options and the versions of the encoders. */
export class ResultKeys {
  readonly #versions = encoderVersions();
  readonly #makers = new WeakMap<object, string>();

  /** Key of an operation with its options, for all inputs unless they have variables. */
  makerOf(job: Omit<Job, 'source'>): string {
    const maker = this.#makerOfAll(job);
    const { variables } = job;
    return variables ? hashOf([maker, variables]).slice(0, 32) : maker;
  }

  #makerOfAll({
    operation,
    options,
    images = {},
    limits,
    taken = false,
  }: Omit<Job, 'source'>): string {
    const known = this.#makers.get(options as object);
    if (known !== undefined) return known;
    // Time is left out: a file that exceeds it fails, and failures are not stored.
    const { deadline: _, svgSwitch: __, ...bounds } = limits;
    // Shortened, because it is in every line of the index.
    const content = Object.entries(images).map(([name, { sha256 }]) => [name, sha256]);
    const parts = [operation, options, content, bounds, taken, this.#versions];
    // The one program that changes what is written without it.
    const { effort = 0 } = options as { readonly effort?: number };
    const isPacked = operation === 'optimize' && effort >= 9 && limits.programs;
    if (isPacked && missingPrograms(PNG_PACKER) === null) parts.push(PNG_PACKER.label);
    const maker = hashOf(parts).slice(0, 32);
    this.#makers.set(options as object, maker);
    return maker;
  }
}

/** The key of a result: of an operation on an input with this hash. */
export function keyOf(maker: string, sha256: string): string {
  return createHash('sha256').update(maker).update(sha256).digest('hex').slice(0, 32);
}

/** Properties are sorted, and bytes are hashed. */
function hashOf(value: unknown): string {
  const text = JSON.stringify(value, (_, part: unknown) => {
    if (part instanceof Uint8Array) return createHash('sha256').update(part).digest('hex');
    if (typeof part !== 'object' || part === null || Array.isArray(part)) return part;
    const entries = Object.entries(part).sort(([one], [other]) => (one < other ? -1 : 1));
    return Object.fromEntries(entries);
  });
  return createHash('sha256').update(text).digest('hex');
}
