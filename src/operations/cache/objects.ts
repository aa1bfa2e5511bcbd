import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import { join } from 'node:path';

/** Milliseconds for which a file that the index does not name may belong to a run that goes on. */
const GRACE = 60 * 60 * 1000;

/**
 * Bytes of outputs by their SHA-256. They are copies, never hard links: an output that the user edits in
 * place would change the object with it.
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

  /** Bytes whose hash is right; null where there are none. A damaged object is removed. */
  read(sha256: string): Uint8Array | null {
    const path = this.#path(sha256);
    let bytes: Uint8Array;
    try {
      bytes = fs.readFileSync(path);
    } catch {
      return null;
    }
    if (createHash('sha256').update(bytes).digest('hex') === sha256) return bytes;
    fs.rmSync(path, { force: true });
    return null;
  }

  /** Not synced to disk: an object that a power cut damages has another hash. */
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

  /** Removes objects that the index lost, and temporary files of killed runs. */
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
  try {
    return fs.readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}

function removeIfOld(path: string): void {
  try {
    if (Date.now() - fs.statSync(path).mtimeMs > GRACE) fs.rmSync(path, { force: true });
  } catch {
    // Another run removed it.
  }
}
