import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { Failure } from '../../failure.ts';
import { workerFile } from '../../threads/threads.ts';

interface SharpPackage {
  readonly version: string;
  readonly optionalDependencies: Readonly<Record<string, string>>;
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
export function encoderVersions(): unknown {
  const code = createHash('sha256')
    .update(readFileSync(workerFile('image')))
    .digest('hex');
  const entry = createRequire(import.meta.url).resolve('sharp');
  const require = createRequire(entry);
  const { version, optionalDependencies } = require('../package.json') as SharpPackage;
  const codecs = Object.keys(optionalDependencies).flatMap((name) => {
    try {
      // Not by `require`: sharp adds properties to the object that this returns.
      return [[name, readFileSync(require.resolve(`${name}/versions`), 'utf8')]];
    } catch {
      return [];
    }
  });
  if (codecs.length === 0 || existsSync(join(dirname(entry), '..', 'src', 'build'))) {
    throw new Failure(
      'invalid_request',
      '--cache: expected the libvips that sharp brings along, found one compiled on this machine, whose version is unknown; run without --cache and --incremental',
      { code: 'usage' },
    );
  }
  return [version, codecs, code];
}
