#!/usr/bin/env node
// CommonJS, because libuv reads UV_THREADPOOL_SIZE once, at the first use of its pool, and loading an
// ES module uses the pool. All image threads share its four threads by default, so that on a machine
// with more cores the fifth image would wait for the first.
const setsPoolSize = process.env['UV_THREADPOOL_SIZE'] === undefined;
if (setsPoolSize) {
  const { availableParallelism } = require('node:os') as typeof import('node:os');
  // Four more than cores for file operations, also in the daemon, which itself runs no decoder.
  process.env['UV_THREADPOOL_SIZE'] = String(Math.max(8, availableParallelism() + 4));
}

const [, , first, ...rest] = process.argv;
const isDaemon = first === 'serve' || first === 'with';
if (isDaemon) {
  // Loading makes garbage for which V8 doubles the young generation to 24 MB and keeps it. The daemon lets it grow
  // once it has started.
  const { setFlagsFromString } = require('node:v8') as typeof import('node:v8');
  setFlagsFromString('--semi-space-growth-factor=1');
}
// glibc creates up to eight arenas a core for threads, which share no free memory: the daemon grew to
// twice the memory. The limit applies only before the threads that load ES modules have created theirs.
const { MALLOC_ARENA_MAX } = process.env;
if (isDaemon && MALLOC_ARENA_MAX === undefined && process.features.require_module) {
  const { availableParallelism } = require('node:os') as typeof import('node:os');
  const { limitArenas }: typeof import('../src/libc.js') = require('../src/libc.js');
  limitArenas(Math.max(2, availableParallelism()));
}
if ((first === '--version' || first === '-V') && rest.length === 0) {
  const { version } = require('../../package.json') as { version: string };
  process.stdout.write(`${version}\n`);
} else {
  void import('../src/cli/main.js').then(({ main }) => {
    // The pool has its size by now. A command that `with` runs gets the environment as it was.
    if (setsPoolSize && first === 'with') delete process.env['UV_THREADPOOL_SIZE'];
    return main(process.argv);
  });
}
