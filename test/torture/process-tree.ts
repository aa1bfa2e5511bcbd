import { readdirSync, readFileSync } from 'node:fs';
import { valueOr } from '../../src/flow.ts';

const PAGE = 4096;

function children(pid: number): number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
      readFileSync(`/proc/${pid}/task/${thread}/children`, 'latin1')
        .split(' ')
        .filter((text) => text !== '')
        .map(Number),
    );
  } catch {
    return [];
  }
}

/** Descendants of a process, without itself. */
export function descendants(pid: number): number[] {
  return children(pid).flatMap((child) => [child, ...descendants(child)]);
}

/** Resident bytes of a process and all below it; shared pages count for each of them. */
export function residentBytes(pid: number): number {
  return [pid, ...descendants(pid)].reduce((sum, one) => sum + resident(one), 0);
}

function resident(pid: number): number {
  return valueOr(
    () => Number(readFileSync(`/proc/${pid}/statm`, 'latin1').split(' ')[1]) * PAGE,
    0,
  );
}

/** Open descriptors of a process. */
export function descriptors(pid: number): number {
  return valueOr(() => readdirSync(`/proc/${pid}/fd`).length, 0);
}

/** Samples the peak memory and descriptors of a process, which may be replaced by another. */
export class Watch {
  peakBytes = 0;
  peakDescriptors = 0;
  readonly #timer: NodeJS.Timeout;

  constructor(pid: () => number, interval = 200) {
    this.#timer = setInterval(() => {
      this.peakBytes = Math.max(this.peakBytes, residentBytes(pid()));
      this.peakDescriptors = Math.max(this.peakDescriptors, descriptors(pid()));
    }, interval);
  }

  end(): void {
    clearInterval(this.#timer);
  }
}
