import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { codedFailure, Failure } from '../failure.ts';
import type { SealedSecrets } from './config-entry.ts';
import { diskFiles, makeFolder, remove, syncFolder, writeSynced } from './files.ts';
import { newId } from './identifier.ts';

const CIPHER = 'aes-256-gcm';

/** Bytes of a key of AES-256, and of the nonce and the tag of GCM. */
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Name of the file in the data folder, beside `store/` and `assets/`, of which backups are made. */
const FILE = 'secret.key';

/** The file of the key: the configured one, or that in the data folder. */
export function secretKeyFile(dataDir: string, configured: string | undefined): string {
  return configured ?? join(dataDir, FILE);
}

function unreadable(message: string, cause?: unknown): Failure {
  return codedFailure('secrets_unreadable', message, { cause });
}

/** Encrypts a text. @param context what it belongs to: as that of anything else it cannot be decrypted */
export function sealText(key: Buffer, text: string, context: string): string {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, key, nonce);
  cipher.setAAD(Buffer.from(context));
  const sealed = Buffer.concat([cipher.update(text), cipher.final()]);
  return Buffer.concat([nonce, sealed, cipher.getAuthTag()]).toString('base64');
}

/** @throws Error where it was changed, or sealed with another key or context */
export function openText(key: Buffer, data: string, context: string): string {
  const bytes = Buffer.from(data, 'base64');
  const options = { authTagLength: TAG_BYTES };
  const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, NONCE_BYTES), options);
  decipher.setAAD(Buffer.from(context));
  decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
  const text = decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES), undefined, 'utf8');
  return text + decipher.final('utf8');
}

const idOf = (key: Buffer) => createHash('sha256').update(key).digest('hex').slice(0, 16);

/** The keys of a file. The first one encrypts; each decrypts what it has encrypted. */
export class SecretKeys {
  readonly #file: string;
  readonly #keys: ReadonlyMap<string, Buffer>;

  private constructor(file: string, keys: readonly Buffer[]) {
    this.#file = file;
    this.#keys = new Map(keys.map((key) => [idOf(key), key]));
  }

  /**
   * Reads the file: a line for each key, 32 bytes as Base64. A missing file has no keys.
   *
   * @throws Failure `secrets_unreadable` for a file that others may read, and for one without keys
   */
  static read(file: string): SecretKeys {
    let text: string;
    try {
      const { mode } = statSync(file);
      if ((mode & 0o077) !== 0) {
        const received = (mode & 0o777).toString(8).padStart(4, '0');
        throw unreadable(`${file}: expected mode 0600, received ${received}; run chmod 600`);
      }
      text = readFileSync(file, 'utf8');
    } catch (error) {
      if (error instanceof Failure) throw error;
      const { code, message } = error as NodeJS.ErrnoException;
      if (code === 'ENOENT') return new SecretKeys(file, []);
      throw unreadable(`${file}: the key cannot be read: ${message}`, error);
    }
    const lines = text.split('\n').filter((line) => line.trim() !== '' && !line.startsWith('#'));
    const keys = lines.map((line) => Buffer.from(line.trim(), 'base64'));
    if (keys.length === 0 || keys.some(({ length }) => length !== KEY_BYTES)) {
      const expected = `expected lines of ${KEY_BYTES} bytes as Base64, as openssl rand -base64 32 prints`;
      throw unreadable(`${file}: ${expected}`);
    }
    return new SecretKeys(file, keys);
  }

  /** Reads the file, which is made where there is none, with mode 0600 and synced. @throws Failure */
  static async readOrCreate(file: string): Promise<SecretKeys> {
    const known = SecretKeys.read(file);
    if (!known.isEmpty) return known;
    const temporary = `${file}.${newId('new')}`;
    try {
      await makeFolder(diskFiles, dirname(file));
      await writeSynced(diskFiles, temporary, `${randomBytes(KEY_BYTES).toString('base64')}\n`);
      // Never over the key that another process has made meanwhile.
      await diskFiles.link(temporary, file).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'EEXIST') throw error;
      });
      await remove(diskFiles, temporary);
      await syncFolder(diskFiles, dirname(file));
    } catch (error) {
      throw unreadable(`${file}: the key cannot be written: ${(error as Error).message}`, error);
    }
    return SecretKeys.read(file);
  }

  get isEmpty(): boolean {
    return this.#keys.size === 0;
  }

  /** @param context what the secrets belong to: they cannot be decrypted as those of anything else */
  seal(secrets: object, context: string): SealedSecrets {
    const [[keyId, key]] = [...this.#keys] as [[string, Buffer]];
    const data = sealText(key, JSON.stringify(secrets), context);
    return { keyId, data, names: Object.keys(secrets) };
  }

  /** @throws Failure `secrets_unreadable` */
  open({ keyId, data }: SealedSecrets, context: string): Readonly<Record<string, unknown>> {
    const key = this.#keys.get(keyId);
    if (!key) {
      const what = this.isEmpty ? 'is missing' : `does not have the key ${keyId}`;
      throw unreadable(
        `${this.#file} ${what}, so the API key cannot be decrypted; restore the file, or enter the API key again with oriel providers set`,
      );
    }
    try {
      return JSON.parse(openText(key, data, context)) as Readonly<Record<string, unknown>>;
    } catch (error) {
      const message =
        'the encrypted API key was changed in the store; enter it again with oriel providers set';
      throw unreadable(message, error);
    }
  }
}
