import { createRequire } from 'node:module';
import { workerData } from 'node:worker_threads';
import type { SharpFactory } from '../src/images/input.ts';
import type { Limits } from '../src/images/limits.ts';

/** Loaders that read from memory. Loaders of files would parse options out of the path. */
const LOADERS = ['Jpeg', 'Png', 'Webp', 'Nsgif', 'Heif', 'Tiff'].map(
  (name) => `VipsForeignLoad${name}Buffer`,
);

/** State of `blockLoaders`, shared by all threads of the process. */
const blockState = new Int32Array(
  (workerData as { readonly blockState?: SharedArrayBuffer } | null)?.blockState ??
    new SharedArrayBuffer(4),
);
const STATE = { open: 0, blocking: 1, blocked: 2 } as const;

/**
 * Blocks all loaders except LOADERS. The switches apply to the whole process, and between the two
 * calls no image can be loaded: a second thread that repeated them would make a valid image of the
 * first one fail. So one thread does it, and the others wait.
 */
function blockLoaders(sharp: SharpFactory): void {
  const first = Atomics.compareExchange(blockState, 0, STATE.open, STATE.blocking) === STATE.open;
  // A thread may be terminated at any time, also here; after a second another thread repeats it.
  if (!first && Atomics.wait(blockState, 0, STATE.blocking, 1000) !== 'timed-out') return;
  sharp.block({ operation: ['VipsForeignLoad'] });
  sharp.unblock({ operation: LOADERS });
  Atomics.store(blockState, 0, STATE.blocked);
  Atomics.notify(blockState, 0);
}

let loaded: SharpFactory | undefined;

function load(): SharpFactory {
  // As CommonJS, which takes half the time to load (27 against 50 ms): one small file would notice.
  const sharp = createRequire(import.meta.url)('sharp') as SharpFactory;
  // Files are processed in parallel; more threads for one file only add memory and switching.
  sharp.concurrency(1);
  sharp.cache(false);
  blockLoaders(sharp);
  return sharp;
}

let svgIsOpen = false;

/** sharp with the loaders of formats that Oriel reads. Loaded at its first use: hashing needs none. */
export function loadDecoder({ svg }: Limits): SharpFactory {
  loaded ??= load();
  if (svg !== svgIsOpen) {
    // Only at a change: the switch iterates over all operations of libvips.
    const operation = ['VipsForeignLoadSvgBuffer'];
    if (svg) loaded.unblock({ operation });
    else loaded.block({ operation });
    svgIsOpen = svg;
  }
  return loaded;
}
