import { availableParallelism, cpus, release, totalmem, type } from 'node:os';

/** Facts about the machine that figures depend on. */
export function machine(): Record<string, string> {
  return {
    CPU: cpus()[0]?.model.trim() ?? 'unknown',
    Cores: String(availableParallelism()),
    Memory: `${(totalmem() / 2 ** 30).toFixed(1)} GiB`,
    System: `${type()} ${release()} ${process.arch}`,
    Node: process.versions.node,
    Date: new Date().toISOString().slice(0, 16).replace('T', ' '),
  };
}
