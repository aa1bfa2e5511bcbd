import * as fs from 'node:fs';
import { dirname } from 'node:path';
import type { Config } from '../../config/settings/schema.ts';

/** Where the log is written, and how it is rotated. */
type LogFileSettings = Pick<Config['log'], 'maxSize' | 'maxAge' | 'keep'> & {
  readonly file: string;
};

interface LogFileObserver {
  /** Called with the number of lines that could not be written. */
  readonly lost: (lines: number) => void;
  /** Called when writes or rotations start to fail, and with null when they succeed again. */
  readonly failed: (reason: string | null) => void;
}

/** Only the owner may read the log: it has addresses and paths of requests. */
const MODE = 0o600;
const FOLDER_MODE = 0o700;

/** A pipe without a reader must not stop the daemon, hence not blocking. */
const { O_APPEND, O_CREAT, O_NONBLOCK, O_WRONLY } = fs.constants;
const FLAGS = O_APPEND | O_CREAT | O_NONBLOCK | O_WRONLY;

/** Milliseconds between two attempts to rotate a file that cannot be renamed. */
const ROTATION_RETRY_MS = 60_000;

/**
 * A log file that rotates itself. Each write looks at the path first, which takes 5 µs for many lines: a file that
 * was renamed by logrotate or another daemon, or removed with its folder, is opened anew.
 *
 * Nothing that the file system does throws here: lines that cannot be written are lost, and counted.
 */
export class LogFile {
  readonly #settings: LogFileSettings;
  readonly #observer: LogFileObserver;
  readonly #now: () => number;
  #descriptor: number | null = null;
  #failure: string | null = null;
  /** Whether the file ends within a line, of which the disk had no space for the rest. */
  #isTorn = false;
  #rotatesAfter = 0;

  constructor(settings: LogFileSettings, observer: LogFileObserver, now: () => number = Date.now) {
    this.#settings = settings;
    this.#observer = observer;
    this.#now = now;
  }

  /** Writes whole lines, in one write where the disk has space. */
  write(lines: string): void {
    const bytes = Buffer.from(this.#isTorn ? `\n${lines}` : lines);
    let written = 0;
    try {
      const descriptor = this.#prepare();
      while (written < bytes.length) written += fs.writeSync(descriptor, bytes, written);
      this.#isTorn = false;
      if (this.#rotatesAfter <= this.#now()) this.#report(null);
    } catch (error) {
      if (written > 0) this.#isTorn = bytes[written - 1] !== NEWLINE;
      this.#observer.lost(bytes.subarray(written).toString().split('\n').length - 1);
      this.#report((error as Error).message);
    }
  }

  /** Closes the file; the next write opens the one of that name. */
  reopen(): void {
    const descriptor = this.#descriptor;
    this.#descriptor = null;
    this.#isTorn = false;
    try {
      if (descriptor !== null) fs.closeSync(descriptor);
    } catch {
      // A disk that reports a failed write only now.
    }
  }

  /** The descriptor of the file to append to. @throws the system's error */
  #prepare(): number {
    const { file, maxSize, maxAge } = this.#settings;
    const named = fs.statSync(file, { throwIfNoEntry: false });
    const open = this.#descriptor === null ? null : fs.fstatSync(this.#descriptor);
    const isSame = named && open && named.ino === open.ino && named.dev === open.dev;
    // Some file systems have no time of creation.
    const begun = named?.birthtimeMs || named?.ctimeMs || 0;
    const isDue = named && (named.size >= maxSize || this.#now() - begun >= maxAge);
    // Never a device or a pipe, whose name is not the daemon's.
    if (isDue && named.isFile() && named.size > 0 && this.#now() >= this.#rotatesAfter) {
      this.#rotate();
    } else if (isSame) return this.#descriptor!;
    this.reopen();
    if (!named) this.#makeFolder();
    this.#descriptor = fs.openSync(file, FLAGS, MODE);
    return this.#descriptor;
  }

  /** One folder, as the one that was lost: a missing volume must not be replaced by a tree on another disk. */
  #makeFolder(): void {
    const folder = dirname(this.#settings.file);
    if (!fs.existsSync(folder)) fs.mkdirSync(folder, { mode: FOLDER_MODE });
  }

  #rotate(): void {
    const { file, keep } = this.#settings;
    const former = (number: number) => (number === 0 ? file : `${file}.${number}`);
    try {
      // Files that a larger `keep` has left.
      for (let last = keep + 1; fs.existsSync(former(last)); last += 1) fs.rmSync(former(last));
      if (keep === 0) fs.rmSync(file);
      for (let number = keep; number > 0; number -= 1) {
        if (fs.existsSync(former(number - 1))) fs.renameSync(former(number - 1), former(number));
      }
    } catch (error) {
      this.#rotatesAfter = this.#now() + ROTATION_RETRY_MS;
      this.#report(`it cannot be rotated: ${(error as Error).message}`);
    }
  }

  #report(reason: string | null): void {
    const changed = (reason === null) !== (this.#failure === null);
    this.#failure = reason;
    if (changed) this.#observer.failed(reason);
  }
}

const NEWLINE = 10;
