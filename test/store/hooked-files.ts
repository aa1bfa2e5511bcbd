import { writeSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import * as disk from 'node:fs/promises';
import type { Files } from '../../src/store/files.ts';

/** Called before each operation, which is not performed if it throws. All but `writeSync` wait for it. */
export type Hook = (operation: string, path: string) => void | Promise<void>;

const HANDLED = ['write', 'writeFile', 'sync', 'datasync', 'truncate'] as const;

/**
 * The real file system with a hook before everything that changes it.
 *
 * @param alone whether operations run one at a time, so that the hook sees one moment
 */
export function hookedFiles(hook: Hook, alone = false): Files {
  let last: Promise<unknown> = Promise.resolve();
  const hooked = <Result>(operation: string, path: unknown, go: () => Promise<Result>) => {
    const step = async () => {
      await hook(operation, String(path));
      return go();
    };
    const done = alone ? last.then(step, step) : step();
    last = done;
    return done;
  };
  const paths = new Map<number, string>();
  const watched = (handle: FileHandle, path: unknown) => {
    paths.set(handle.fd, String(path));
    return new Proxy(handle, {
      get(target, name: keyof FileHandle) {
        const value = target[name];
        if (typeof value !== 'function') return value;
        const bound = (value as (...args: unknown[]) => Promise<unknown>).bind(target);
        return (HANDLED as readonly PropertyKey[]).includes(name)
          ? (...args: unknown[]) => hooked(String(name), path, () => bound(...args))
          : bound;
      },
    });
  };
  return {
    ...disk,
    writeSync: (fd, ...rest) => {
      void hook('writeSync', paths.get(fd)!);
      return writeSync(fd, ...rest);
    },
    open: (path, ...rest) =>
      hooked('open', path, async () => watched(await disk.open(path, ...rest), path)),
    link: (from, to) => hooked('link', to, () => disk.link(from, to)),
    rename: (from, to) => hooked('rename', to, () => disk.rename(from, to)),
    unlink: (path) => hooked('unlink', path, () => disk.unlink(path)),
  };
}

/** The real file system without syncs, for tests that open a store thousands of times. */
export const unsyncedFiles: Files = {
  ...disk,
  writeSync,
  open: async (...args) => {
    const handle = await disk.open(...args);
    handle.sync = async () => {};
    return handle;
  },
};

/** An error as a system call throws it. */
export function systemError(code: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${code}: no`), { code });
}
