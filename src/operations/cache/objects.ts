import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import { join } from 'node:path';
import { valueOr } from '../../flow.ts';

/** How long a file that the index does not name may belong to a run in progress, in milliseconds. */
const GRACE = 60 * 60 * 1000;

/**
 * Bytes of outputs by their SHA-256. They are copies, never hard links: editing an output in place must not change the
 * object.
 */
export class CacheObjects {
  readonly #folder: string;
  #temporaries = 0;

  constructor(folder: string) {
    this.#folder = join(folder, 'objects');
  }

  #path(sha256: string): string {
    return join(this.#folder, sha256.slice(0, 2), sha256);
  }

  /** Reads an object; null if it is missing or damaged. A damaged one is removed. */
  read(sha256: string): Uint8Array | null {
    const path = this.#path(sha256);
    const bytes = valueOr(() => fs.readFileSync(path), null);
    if (bytes === null) return null;
    if (createHash('sha256').update(bytes).digest('hex') === sha256) return bytes;
    fs.rmSync(path, { force: true });
    return null;
  }

  /** Writes an object. It is not synced to disk: after a power cut, its hash shows the damage. */
  write(sha256: string, bytes: Uint8Array): void {
    const path = this.#path(sha256);
    if (fs.existsSync(path)) return;
    fs.mkdirSync(join(this.#folder, sha256.slice(0, 2)), { recursive: true });
    this.#temporaries += 1;
    const temporary = join(this.#folder, `${process.pid}-${this.#temporaries}.tmp`);
    try {
      fs.writeFileSync(temporary, bytes);
      fs.renameSync(temporary, path);
    } finally {
      fs.rmSync(temporary, { force: true });
    }
  }

  remove(sha256: string): void {
    fs.rmSync(this.#path(sha256), { force: true });
  }

  /** Removes objects that are not in the index, and temporary files of killed runs. */
  sweep(isKnown: (sha256: string) => boolean): void {
    for (const entry of entriesOf(this.#folder)) {
      const path = join(this.#folder, entry.name);
      if (!entry.isDirectory()) {
        removeIfOld(path);
        continue;
      }
      for (const { name } of entriesOf(path)) {
        if (!isKnown(name)) removeIfOld(join(path, name));
      }
    }
  }
}

function entriesOf(folder: string): fs.Dirent[] {
  return valueOr(() => fs.readdirSync(folder, { withFileTypes: true }), []);
}

function removeIfOld(path: string): void {
  try {
    if (Date.now() - fs.statSync(path).mtimeMs > GRACE) fs.rmSync(path, { force: true });
  } catch {
    // Another run removed it.
  }
}
