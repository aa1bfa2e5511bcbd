import { execFileSync } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { findProgram } from '../peers.ts';

/** Sets the cores of a process, which programs that it starts inherit. */
export const taskset = findProgram('taskset', 'util-linux');

/** Read before any pinning, which it would follow. */
const LAST_CORE = availableParallelism() - 1;

/** Runs work whose programs start on one core and stay there. */
export type OnCore = <Result>(work: () => Promise<Result>) => Promise<Result>;

/** Cores of the gateway, and of everything that it is measured with. */
export interface Cores {
  readonly gateway: OnCore;
  readonly others: OnCore;
}

/** Every program may use every core. */
export const SHARED: Cores = { gateway: (work) => work(), others: (work) => work() };

/** The gateway has core 0 for itself: threads of its own that another core would hide take its time. */
export const SEPARATE: Cores = { gateway: onCore(0), others: onCore(1) };

function onCore(core: number): OnCore {
  return async (work) => {
    pin(String(core));
    try {
      return await work();
    } finally {
      pin(`0-${LAST_CORE}`);
    }
  };
}

/** Threads of this process that exist already keep their cores; they start no programs. */
function pin(cores: string): void {
  execFileSync(taskset.file!, ['-p', '-c', cores, String(process.pid)]);
}
