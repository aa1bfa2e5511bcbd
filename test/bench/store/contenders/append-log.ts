import { type FileHandle, open } from 'node:fs/promises';

/**
 * A minimal durable log: appends all lines that arrived during the last write in one write, and acknowledges them
 * after fdatasync.
 */
export class AppendLog {
  readonly #handle: FileHandle;
  #gathered: { line: string; resolve: () => void }[] = [];
  #isWriting = false;

  private constructor(handle: FileHandle) {
    this.#handle = handle;
  }

  static async open(file: string): Promise<AppendLog> {
    return new AppendLog(await open(file, 'w'));
  }

  append(line: string): Promise<void> {
    return new Promise((resolve) => {
      this.#gathered.push({ line, resolve });
      if (!this.#isWriting) void this.#write();
    });
  }

  /** One write and one fsync. */
  async appendAlone(line: string): Promise<void> {
    await this.#handle.write(line);
    await this.#handle.sync();
  }

  close(): Promise<void> {
    return this.#handle.close();
  }

  async #write(): Promise<void> {
    this.#isWriting = true;
    // Lines of the same turn of the event loop share a write.
    await new Promise<void>((resolve) => process.nextTick(resolve));
    while (this.#gathered.length > 0) {
      const batch = this.#gathered;
      this.#gathered = [];
      await this.#handle.write(batch.map((one) => one.line).join(''));
      await this.#handle.datasync();
      for (const { resolve } of batch) resolve();
      await new Promise<void>((resolve) => process.nextTick(resolve));
    }
    this.#isWriting = false;
  }
}

/** A line of the given number of bytes. */
export function lineOf(length: number): string {
  return `${'x'.repeat(Math.max(1, Math.round(length) - 1))}\n`;
}
