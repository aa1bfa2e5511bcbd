import { createRequire } from 'node:module';
import { constants } from 'node:os';
import { valueOr } from './flow.ts';

type NativeFunction = (...values: readonly number[]) => number;

/** koffi returns values up to 2^53 as numbers, larger ones as bigint. */
interface ResourceLimits {
  soft: number | bigint;
  hard: number | bigint;
}

/** Functions of Linux. */
interface Linux {
  readonly getrlimit: (resource: number, limits: Partial<ResourceLimits>) => number;
  readonly setrlimit: (resource: number, limits: ResourceLimits) => number;
  readonly prctl: NativeFunction;
}

/** The functions of the C library that Node does not offer. */
interface Libc {
  /** flock(2): 0, or -1 where another open descriptor holds the lock. */
  readonly flock: NativeFunction;
  /** _exit(2): ends the process without running exit handlers. */
  readonly exit: NativeFunction;
  /** mallopt(3) of glibc: 1 on success; null where the C library has none (musl). */
  readonly mallopt: NativeFunction | null;
  /** Null on other systems. */
  readonly linux: Linux | null;
  /** errno of the last call. */
  readonly errno: () => number;
}

/** flock(2): exclusive, and fail instead of waiting. */
const LOCK_EXCLUSIVE_NONBLOCKING = 2 | 4;

/** mallopt(3): the number of arenas that threads share, and the size from which a block has a mapping of its own. */
const M_ARENA_MAX = -8;
const M_MMAP_THRESHOLD = -3;

let loaded: Libc | null | undefined;

/**
 * Loads koffi at the first use; null on a platform without a binary of it. The package of the platform is all that is
 * needed of it: the package `koffi` has an install script, of which npm warns.
 */
function libc(): Libc | null {
  if (loaded !== undefined) return loaded;
  try {
    const name = `@koromix/koffi-${process.platform}-${process.arch}`;
    const koffi = createRequire(import.meta.url)(name) as typeof import('koffi');
    // The symbols of the running process: the C library's file has another name on each system.
    const symbols = koffi.load(null);
    loaded = {
      flock: symbols.func('int flock(int descriptor, int operation)'),
      exit: symbols.func('void _exit(int status)'),
      mallopt: valueOr(() => symbols.func('int mallopt(int parameter, int value)'), null),
      linux: process.platform === 'linux' ? linuxFunctions(koffi, symbols) : null,
      errno: () => koffi.errno(),
    };
  } catch {
    loaded = null;
  }
  return loaded;
}

function linuxFunctions(
  koffi: typeof import('koffi'),
  symbols: ReturnType<typeof koffi.load>,
): Linux {
  // rlim_t has 64 bits in glibc on 64-bit systems and in musl; koffi has no binaries for others.
  koffi.struct('rlimit', { soft: 'uint64_t', hard: 'uint64_t' });
  return {
    getrlimit: symbols.func('int getrlimit(int resource, _Out_ rlimit *limits)'),
    setrlimit: symbols.func('int setrlimit(int resource, const rlimit *limits)'),
    prctl: symbols.func('int prctl(int option, unsigned long value)'),
  };
}

/**
 * Locks an open file exclusively, without waiting. The kernel releases the lock when the last
 * descriptor of this open file is closed, at the latest when the process ends.
 *
 * @returns `unsupported` where flock(2) cannot be called, or the file system has no locks
 */
export function lockDescriptor(descriptor: number): 'locked' | 'taken' | 'unsupported' {
  const library = libc();
  if (library === null) return 'unsupported';
  if (library.flock(descriptor, LOCK_EXCLUSIVE_NONBLOCKING) === 0) return 'locked';
  return library.errno() === constants.errno.EWOULDBLOCK ? 'taken' : 'unsupported';
}

/**
 * Ends the process at once with an exit code. `process.exit` waits for libuv's threads, and so for
 * an encoder that may run for minutes. Falls back to `process.exit` where _exit(2) cannot be called.
 */
export function exitImmediately(code: number): never {
  libc()?.exit(code);
  process.exit(code);
}

/**
 * Limits the arenas of glibc's allocator, as MALLOC_ARENA_MAX does. Arenas that exist already stay.
 *
 * @returns whether the limit is set; musl and other systems have no such setting
 */
export function limitArenas(count: number): boolean {
  return libc()?.mallopt?.(M_ARENA_MAX, count) === 1;
}

/**
 * Makes glibc return freed blocks of a megabyte and more to the system. Without a limit it raises its own to 32 MB as
 * such blocks are freed, and each thread that encodes keeps an arena of them: 680 MB after 7 encodings of 12 megapixels,
 * 290 with it, at equal CPU.
 */
export function unmapFreedBlocks(): void {
  libc()?.mallopt?.(M_MMAP_THRESHOLD, 2 ** 20);
}

/** setrlimit(2) of Linux: private writable memory, without reservations that have no access. */
const RLIMIT_DATA = 2;

/**
 * Limits the private writable memory of this process: further allocations fail.
 *
 * @returns whether the limit is set; only Linux has it
 */
export function limitData(bytes: number): boolean {
  const linux = libc()?.linux;
  if (!linux) return false;
  const limits: Partial<ResourceLimits> = {};
  if (linux.getrlimit(RLIMIT_DATA, limits) !== 0) return false;
  const hard = limits.hard!;
  const soft = Math.ceil(bytes);
  return hard >= soft && linux.setrlimit(RLIMIT_DATA, { soft, hard }) === 0;
}

/** prctl(2) of Linux: the signal that the process gets when its parent ends. */
const PR_SET_PDEATHSIG = 1;

/** Makes the kernel kill this process when its parent ends. Linux only. */
export function endWithParent(): void {
  libc()?.linux?.prctl(PR_SET_PDEATHSIG, constants.signals.SIGKILL);
}
