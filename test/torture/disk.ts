import { spawnSync } from 'node:child_process';
import { mkdirSync, statfsSync } from 'node:fs';

const SIZE = '3g';

/** A separate tmpfs for the data folder, which can be filled; null where it cannot be mounted. */
export class Disk {
  readonly #folder: string;

  private constructor(folder: string) {
    this.#folder = folder;
  }

  static mount(folder: string): Disk | null {
    mkdirSync(folder, { recursive: true });
    if (process.getuid?.() !== 0) return null;
    const { status } = spawnSync('mount', [
      '-t',
      'tmpfs',
      '-o',
      `mode=700,size=${SIZE}`,
      'tmpfs',
      folder,
    ]);
    return status === 0 ? new Disk(folder) : null;
  }

  /** Fills the disk: remounts the tmpfs with the size of its content. */
  fill(): boolean {
    const { blocks, bfree, bsize } = statfsSync(this.#folder);
    return this.#resize(`${Math.ceil(((blocks - bfree) * bsize) / 1024) + 64}k`);
  }

  empty(): boolean {
    return this.#resize(SIZE);
  }

  unmount(): void {
    spawnSync('umount', ['-l', this.#folder]);
  }

  #resize(size: string): boolean {
    return spawnSync('mount', ['-o', `remount,size=${size}`, this.#folder]).status === 0;
  }
}
